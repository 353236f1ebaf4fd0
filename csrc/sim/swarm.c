// SPDX-License-Identifier: Apache-2.0
/* Phases of a swarm run, and its report. */
#include "sim/swarm.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "sim/swarm_fault.h"
#include "sim/swarm_memory.h"

#define EVENTS_MAX 5000000        /* of one run, idle polls left out; more is a storm */
#define SETTLE_NS (20 * ND_SEC)   /* all that is outstanding ends within it */
#define SETTLE_RTTS 500           /* ... and so many round trips */
#define REST_NS (300 * ND_SEC)    /* everything is at rest within it */
#define REST_RTTS 100             /* ... and so many round trips: memory of resets grows with them */
#define NETWORK_AUDIT_EVENTS 4096 /* between two audits of every queue */

struct nd_swarm *nd_swarm_new(void)
{
	struct nd_swarm *swarm = aligned_alloc(64, (sizeof(*swarm) + 63) & ~(size_t)63);

	if (swarm)
		memset(swarm, 0, sizeof(*swarm));
	return swarm;
}

void nd_swarm_free(struct nd_swarm *swarm)
{
	if (!swarm)
		return;
	nd_swarm_ndp_reset(swarm);
	nd_swarm_homa_reset(swarm);
	nd_swarm_hosts_free(swarm);
	nd_swarm_network_free(swarm);
	nd_swarm_check_free(swarm);
	nd_swarm_loop_free(&swarm->loop);
	free(swarm);
}

void nd_swarm_fail(struct nd_swarm *swarm, const char *format, ...)
{
	va_list arguments;

	if (!swarm->report.ok)
		return;
	swarm->report.ok = false;
	swarm->report.time = swarm->loop.now;
	va_start(arguments, format);
	vsnprintf(swarm->report.failure, sizeof(swarm->report.failure), format, arguments);
	va_end(arguments);
}

/* ---- set-up ---- */

static int configure(struct nd_swarm *swarm)
{
	for (uint32_t p = 0; p < ND_SWARM_PROTOCOLS; p++) {
		const struct nd_swarm_protocol *protocol = swarm->protocols[p];
		const char *why = "no reason given";

		if (!(swarm->options.protocols >> p & 1))
			continue;
		if (!protocol) {
			nd_swarm_fail(swarm, "no engine of protocol %" PRIu32, p);
			return -1;
		}
		memset(swarm->configs[p], 0, ND_SWARM_CONFIG_BYTES);
		protocol->configure(swarm, swarm->configs[p]);
		swarm->homa.at_least_once |= protocol->runs_again &&
					     protocol->runs_again(swarm->configs[p]);
		if (protocol->ops->check(swarm->configs[p], &why) != 0) {
			nd_swarm_fail(swarm, "%s refuses its configuration: %s", protocol->ops->name,
				      why);
			return -1;
		}
	}
	return 0;
}

static void open_swarm(struct nd_swarm *swarm, const struct nd_swarm_options *options)
{
	for (uint32_t i = 0; i < ND_SWARM_HOSTS_MAX; i++) {
		for (uint32_t p = 0; p < ND_SWARM_PROTOCOLS; p++)
			nd_swarm_memory_reset(&swarm->hosts[i].endpoints[p].rx);
	}
	nd_swarm_ndp_reset(swarm);
	nd_swarm_homa_reset(swarm);
	nd_swarm_check_reset(swarm);
	nd_swarm_loop_reset(&swarm->loop);
	swarm->options = *options;
	swarm->trace.count = 0;
	swarm->hold_count = 0;
	swarm->calm = false;
	swarm->finishing = false;
	swarm->faults = nd_rng_make(options->seed, 3);
	swarm->workload = nd_rng_make(options->seed, 4);
	swarm->actions_left = options->actions;
	swarm->idle_polls = 0;
	swarm->report = (struct nd_swarm_report){ .ok = true };
	nd_swarm_wire_open(swarm);
	if (configure(swarm) != 0)
		return;
	if (nd_swarm_network_open(swarm) != 0 || nd_swarm_hosts_open(swarm) != 0)
		nd_swarm_fail(swarm, "out of memory");
}

/* ---- events ---- */

static void act(struct nd_swarm *swarm)
{
	const struct nd_swarm_options *options = &swarm->options;
	uint32_t host = nd_rng_below(&swarm->workload, options->hosts);
	uint32_t slot = nd_rng_below(&swarm->workload, ND_SWARM_PROTOCOLS);

	if (!(options->protocols >> slot & 1))
		slot = 1 - slot;
	if (swarm->hosts[host].resume_at <= swarm->loop.now) {
		if (nd_swarm_percent(&swarm->workload, options->detach_percent))
			nd_swarm_host_detach(swarm, host,
					     nd_rng_below(&swarm->workload, options->apps));
		else
			swarm->protocols[slot]->action(swarm, host);
		nd_swarm_host_run(swarm, host);
	}
	if (--swarm->actions_left != 0)
		nd_swarm_loop_add(&swarm->loop,
				  swarm->loop.now + nd_rng_below(&swarm->workload,
								 2 * options->action_ns),
				  ND_SWARM_ACTION, 0);
}

static void handle(struct nd_swarm *swarm, const struct nd_swarm_event *event)
{
	switch ((enum nd_swarm_event_kind)event->kind) {
	case ND_SWARM_ARRIVE:
		nd_swarm_network_arrive(swarm, event->arg);
		break;
	case ND_SWARM_PORT:
		nd_swarm_network_port(swarm, event->arg);
		break;
	case ND_SWARM_NIC:
		nd_swarm_host_nic(swarm, event->arg);
		break;
	case ND_SWARM_TIMER:
		nd_swarm_host_timer(swarm, event->arg);
		break;
	case ND_SWARM_POLL:
		swarm->idle_polls += !nd_swarm_host_poll(swarm, event->arg);
		break;
	case ND_SWARM_RESUME:
		nd_swarm_host_resume(swarm, event->arg);
		break;
	case ND_SWARM_RELEASE:
		nd_swarm_host_release(swarm, event->arg);
		break;
	case ND_SWARM_REPLY:
		nd_swarm_homa_reply(swarm, event->arg);
		break;
	case ND_SWARM_ACTION:
		act(swarm);
		break;
	case ND_SWARM_FLAP:
	case ND_SWARM_PARTITION:
	case ND_SWARM_RESTART:
	case ND_SWARM_PAUSE:
		nd_swarm_fault_event(swarm, event);
		break;
	}
}

static void audit(struct nd_swarm *swarm, bool deep)
{
	const char *wrong = nd_swarm_network_audit(swarm, deep);

	if (wrong)
		nd_swarm_fail(swarm, "%s", wrong);
}

/* Runs one event; false at the limit of time, of events, or after a failure. */
static bool step(struct nd_swarm *swarm, nd_ns until)
{
	struct nd_swarm_event event;

	if (!swarm->report.ok || !nd_swarm_loop_next(&swarm->loop, until, &event))
		return false;
	handle(swarm, &event);
	audit(swarm, swarm->loop.done % NETWORK_AUDIT_EVENTS == 0);
	if (swarm->loop.done - swarm->idle_polls > EVENTS_MAX)
		nd_swarm_fail(swarm, "more than %d events: a storm that does not end", EVENTS_MAX);
	return swarm->report.ok;
}

/* ---- phases ---- */

static uint32_t outstanding(const struct nd_swarm *swarm)
{
	uint32_t count = 0;

	for (uint32_t p = 0; p < ND_SWARM_PROTOCOLS; p++) {
		if (swarm->options.protocols >> p & 1)
			count += swarm->protocols[p]->outstanding(swarm);
	}
	return count;
}

static void each_protocol(struct nd_swarm *swarm, bool finish)
{
	if (!swarm->report.ok)
		return;
	for (uint32_t p = 0; p < ND_SWARM_PROTOCOLS; p++) {
		if (!(swarm->options.protocols >> p & 1))
			continue;
		if (finish)
			swarm->protocols[p]->finish(swarm);
		else
			swarm->protocols[p]->probe(swarm);
	}
	for (uint32_t host = 0; host < swarm->options.hosts; host++)
		nd_swarm_host_run(swarm, host);
}

static void verify(struct nd_swarm *swarm)
{
	for (uint32_t p = 0; p < ND_SWARM_PROTOCOLS; p++) {
		if (swarm->options.protocols >> p & 1)
			swarm->protocols[p]->verify(swarm);
	}
}

/*
 * What settling may take: the smallest windows let a packet through in a round trip, of a message and
 * then of its reply. That is enough for Homa on a path slower than its hosts as well, where a RESEND
 * brings one queue of packets in two round trips and the rest of what it asked for is dropped.
 */
static nd_ns settle_ns(const struct nd_swarm_options *options)
{
	uint64_t bytes = (uint64_t)options->actions * options->message_max;
	uint64_t rtts = SETTLE_RTTS + 2 * bytes / options->mtu;

	return SETTLE_NS + rtts * nd_swarm_options_rtt_ns(options);
}

/* Runs until nothing is outstanding; what is so at the limit is a failure. */
static void settle(struct nd_swarm *swarm)
{
	nd_ns until = swarm->loop.now + settle_ns(&swarm->options);

	while (outstanding(swarm) != 0 && step(swarm, until))
		;
	if (swarm->report.ok && outstanding(swarm) != 0)
		verify(swarm);
}

static void start(struct nd_swarm *swarm)
{
	for (uint32_t host = 0; host < swarm->options.hosts; host++) {
		for (uint32_t p = 0; p < ND_SWARM_PROTOCOLS; p++) {
			if (swarm->options.protocols >> p & 1)
				swarm->protocols[p]->start(swarm, host, ND_NONE);
		}
		nd_swarm_host_run(swarm, host);
	}
	nd_swarm_fault_start(swarm);
	if (swarm->actions_left)
		nd_swarm_loop_add(&swarm->loop, 0, ND_SWARM_ACTION, 0);
}

static void check_rest(struct nd_swarm *swarm)
{
	for (uint32_t i = 0; i < swarm->options.hosts; i++) {
		const char *wrong = nd_swarm_host_audit(swarm, i);

		if (wrong)
			nd_swarm_fail(swarm, "host %" PRIu32 " at the end: %s", i, wrong);
		if (!nd_swarm_host_idle(swarm, i))
			nd_swarm_fail(swarm, "host %" PRIu32 " does not come to rest", i);
		for (uint32_t p = 0; p < ND_SWARM_PROTOCOLS; p++) {
			if (swarm->hosts[i].endpoints[p].rx.count != 0)
				nd_swarm_fail(swarm, "host %" PRIu32 " leaks %" PRIu32
					      " blocks of received messages", i,
					      swarm->hosts[i].endpoints[p].rx.count);
		}
	}
	audit(swarm, true);
	if (swarm->network.pool.used != 0)
		nd_swarm_fail(swarm, "%" PRIu32 " packets are left in the network",
			      swarm->network.pool.used);
}

static void safety(struct nd_swarm *swarm)
{
	nd_ns until;

	start(swarm);
	while (swarm->actions_left != 0 && step(swarm, ND_NEVER))
		;
	until = swarm->loop.now + 20 * swarm->options.action_ns;
	while (step(swarm, until))
		;
}

static void liveness(struct nd_swarm *swarm)
{
	nd_swarm_fault_stop(swarm);
	settle(swarm);
	each_protocol(swarm, false);
	settle(swarm);
	if (!swarm->report.ok)
		return;
	swarm->finishing = true;
	each_protocol(swarm, true);
	settle(swarm);
}

static void rest(struct nd_swarm *swarm)
{
	nd_ns until = swarm->loop.now + REST_NS +
		      REST_RTTS * nd_swarm_options_rtt_ns(&swarm->options);

	while (swarm->loop.count != 0 && step(swarm, until))
		;
	verify(swarm);
	check_rest(swarm);
}

static void (*const phases[])(struct nd_swarm *) = { safety, liveness, rest };

/* ---- report ---- */

static void count(struct nd_swarm *swarm)
{
	struct nd_swarm_report *report = &swarm->report;
	const struct nd_swarm_network *network = &swarm->network;

	report->events = swarm->loop.done;
	report->packets = network->sent;
	report->lost = network->lost;
	report->dropped = network->dropped;
	report->duplicated = network->duplicated;
	for (uint32_t i = 0; i < network->port_count; i++) {
		report->trimmed += network->ports[i].counters.trimmed_packets;
		report->returned += network->ports[i].returned;
	}
	if (report->ok)
		report->time = swarm->loop.now;
}

bool nd_swarm_run(struct nd_swarm *swarm, const struct nd_swarm_options *options,
		  const struct nd_swarm_protocol *const protocols[ND_SWARM_PROTOCOLS], FILE *live)
{
	for (uint32_t p = 0; p < ND_SWARM_PROTOCOLS; p++)
		swarm->protocols[p] = protocols[p];
	swarm->trace.live = live;
	open_swarm(swarm, options);
	for (uint32_t i = 0; i < ND_ARRAY_SIZE(phases) && swarm->report.ok; i++)
		phases[i](swarm);
	count(swarm);
	return swarm->report.ok;
}

void nd_swarm_print(struct nd_swarm *swarm, FILE *out)
{
	fprintf(out, "last events:\n");
	nd_swarm_trace_print(&swarm->trace, out);
	fprintf(out, "\noptions of seed %" PRIu64 ":\n", swarm->options.seed);
	for (uint32_t i = 0; i < nd_swarm_option_count; i++)
		fprintf(out, "  %-20s %10" PRIu32 "  %s\n", nd_swarm_option_texts[i].name,
			*nd_swarm_options_at(&swarm->options, i), nd_swarm_option_texts[i].help);
	if (!swarm->report.ok)
		fprintf(out, "\nat %.3f us: %s\n", (double)swarm->report.time / 1e3,
			swarm->report.failure);
}
