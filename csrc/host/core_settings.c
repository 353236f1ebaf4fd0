// SPDX-License-Identifier: Apache-2.0
/* What may change while a core runs: marks of packets, the link's rate and MTU, Homa's levels. */
#include "host/core.h"

#include "transport/homa.h"

#include <errno.h>
#include <string.h>

#define LINK_BPS_MIN UINT64_C(1000000)
#define LINK_BPS_MAX UINT64_C(10000000000000)
#define MTU_MIN 576u /* that every host takes; headers of all kinds leave room for a message */

uint64_t nd_core_link_bps(const struct nd_core *core)
{
	uint64_t link_bps = core->settings.link_bps;

	if (!link_bps && core->ports[0].port)
		link_bps = core->ports[0].port->link_bps;
	return link_bps;
}

/* ---- checks ---- */

static bool have_cutoffs(const struct nd_stack_settings *settings)
{
	for (uint32_t i = 0; i < ND_HOMA_PRIORITIES; i++)
		if (settings->cutoffs[i])
			return true;
	return false;
}

static int check(const struct nd_stack_settings *settings, struct nd_error *error)
{
	uint8_t levels = settings->levels;
	const char *why;

	if (nd_frame_config_check(&settings->frame, &why) < 0)
		return nd_error_set(error, -EINVAL, "settings: %s", why);
	if (settings->link_bps &&
	    (settings->link_bps < LINK_BPS_MIN || settings->link_bps > LINK_BPS_MAX))
		return nd_error_set(error, -EINVAL,
				    "settings: a link of %llu bit/s; give 1 Mb/s to 10 Tb/s",
				    (unsigned long long)settings->link_bps);
	if (settings->mtu && (settings->mtu < MTU_MIN || settings->mtu > ND_PORT_MTU_MAX))
		return nd_error_set(error, -EINVAL, "settings: an MTU of %u bytes; give %u to %u",
				    settings->mtu, MTU_MIN, ND_PORT_MTU_MAX);
	if (levels & (levels - 1) || levels > ND_HOMA_PRIORITIES)
		return nd_error_set(error, -EINVAL,
				    "settings: %u priority levels; give 8, 4, 2 or 1", levels);
	if (have_cutoffs(settings) && !nd_homa_cutoffs_are_sound(settings->cutoffs))
		return nd_error_set(error, -EINVAL,
				    "settings: cutoffs; begin with the highest priority's, and let "
				    "none be below the one before it or above 2^31 - 1");
	return 0;
}

/* ---- what they come to ---- */

int nd_core_tell(struct nd_core *core, uint32_t index, struct nd_command *command, nd_ns now)
{
	const struct nd_core_engine *engine = &core->engines[index];

	nd_recorder_tell(core->recorder, index, command, now);
	nd_core_stir(core, engine);
	return engine->ops->submit(engine->endpoint, command, now);
}

static void take_marks(struct nd_frame_config *frame, const struct nd_frame_config *marks)
{
	frame->dscp_data = marks->dscp_data;
	frame->dscp_trimmable = marks->dscp_trimmable;
	frame->dscp_trimmed = marks->dscp_trimmed;
	frame->dscp_trimmed_last_hop = marks->dscp_trimmed_last_hop;
	frame->dscp_control = marks->dscp_control;
	memcpy(frame->dscp_homa, marks->dscp_homa, sizeof(frame->dscp_homa));
	memcpy(frame->pcp, marks->pcp, sizeof(frame->pcp));
}

void nd_core_set_wire(struct nd_core *core, const struct nd_frame_config *frame,
		      uint64_t link_bps, nd_ns now)
{
	nd_recorder_wire(core->recorder, frame, link_bps, now);
	take_marks(&core->frame, frame);
	for (uint32_t slot = 0; slot < core->peers.count; slot++)
		core->peers.entries[slot].prepared = false;
	if (link_bps != core->nic.link_bps)
		nd_nic_set_rate(&core->nic, link_bps);
}

/* Engines that were made by this core's own reckoning; others keep what they were given. */
static void tell_link(struct nd_core *core, nd_ns now)
{
	for (uint32_t i = 0; i < core->engine_count; i++) {
		struct nd_command command = { .kind = ND_COMMAND_LINK,
					      .message = nd_core_link_bps(core) };

		if (!core->engines[i].mss_given)
			nd_core_tell(core, i, &command, now);
	}
}

static void tell_levels(struct nd_core *core, nd_ns now)
{
	const struct nd_stack_settings *settings = &core->settings;
	struct nd_command command = {
		.kind = ND_COMMAND_LEVELS,
		.bytes = settings->levels,
		.payload = have_cutoffs(settings) ? (const uint8_t *)settings->cutoffs : NULL,
	};

	for (uint32_t i = 0; i < core->engine_count; i++)
		if (core->engines[i].ops->protocol == ND_PROTO_HOMA)
			nd_core_tell(core, i, &command, now);
}

int nd_core_set(struct nd_core *core, const struct nd_stack_settings *settings, nd_ns now,
		struct nd_error *error)
{
	struct nd_stack_settings before = core->settings;
	int code = check(settings, error);

	if (code < 0) {
		core->counters.settings_refused++;
		return code;
	}
	core->settings = *settings;
	nd_core_set_wire(core, &settings->frame, settings->link_bps, now);
	core->settings.frame = core->frame;
	/* What does not change is not told: engines would forget what they have learned. */
	if (settings->link_bps != before.link_bps)
		tell_link(core, now);
	if (settings->levels != before.levels ||
	    memcmp(settings->cutoffs, before.cutoffs, sizeof(before.cutoffs)) != 0)
		tell_levels(core, now);
	nd_core_follow_mtu(core, now);
	core->counters.settings_taken++;
	return 0;
}

/* ---- the public calls ---- */

static void copy_settings(struct nd_core *core, void *argument)
{
	*(struct nd_stack_settings *)argument = core->settings;
}

int nd_stack_settings(struct nd_stack *stack, struct nd_stack_settings *settings)
{
	struct nd_core *core = nd_stack_core(stack);

	return core ? nd_core_call(core, copy_settings, settings) : -ENOTSUP;
}

struct set_call {
	const struct nd_stack_settings *settings;
	struct nd_error *error;
	int code;
};

static void set(struct nd_core *core, void *argument)
{
	struct set_call *call = argument;

	call->code = nd_core_set(core, call->settings, nd_core_now(), call->error);
}

int nd_stack_set(struct nd_stack *stack, const struct nd_stack_settings *settings,
		 struct nd_error *error)
{
	struct set_call call = { .settings = settings, .error = error };
	struct nd_core *core = nd_stack_core(stack);
	int code = core ? nd_core_call(core, set, &call) : -ENOTSUP;

	if (code < 0)
		return nd_error_set(error, code, core ? "stack: a polled one is set by its own thread"
						      : "stack: its core is in another process");
	return call.code;
}
