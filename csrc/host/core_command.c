// SPDX-License-Identifier: Apache-2.0
/* One command of an application: who may ask for what, and what it is told. */
#include "host/core.h"

#include <errno.h>
#include <string.h>

/* Commands whose outcome an application waits for. */
static bool is_answered(uint8_t kind)
{
	return kind == ND_COMMAND_CONNECT || kind == ND_COMMAND_REQUEST ||
	       kind == ND_COMMAND_LISTEN || kind == ND_STACK_COMMAND_PEER;
}

/* Commands whose failure it has to know: their payload is free again. */
static bool is_missed(uint8_t kind)
{
	return is_answered(kind) || kind == ND_COMMAND_SEND || kind == ND_COMMAND_REPLY;
}

static bool names_a_peer(uint8_t kind)
{
	return kind == ND_COMMAND_CONNECT || kind == ND_COMMAND_REQUEST ||
	       kind == ND_COMMAND_PATHS || kind == ND_COMMAND_WINDOW;
}

/* What is said of a peer holds for everybody who talks to it, and stays. */
static bool steers_everybody(uint8_t kind)
{
	return kind == ND_COMMAND_PATHS || kind == ND_COMMAND_WINDOW;
}

static bool is_of_host(uint8_t kind)
{
	return kind == ND_COMMAND_MSS || kind == ND_COMMAND_LINK || kind == ND_COMMAND_LEVELS;
}

static struct nd_event event_about(const struct nd_submission *submission)
{
	const struct nd_command *command = &submission->command;

	return (struct nd_event){
		.priority = command->priority,
		.protocol = submission->protocol,
		.peer = command->peer,
		.port = command->port,
		.id = command->id,
		.message = command->message,
		.cookie = command->cookie,
	};
}

static void refuse(struct nd_core *core, uint32_t app, const struct nd_submission *submission,
		   uint32_t detail, int code)
{
	struct nd_event event = event_about(submission);

	core->counters.commands_refused++;
	if (!is_missed(submission->command.kind))
		return;
	event.kind = ND_EVENT_FAILED;
	event.error = code;
	event.detail = detail;
	nd_core_post(core, app, &event, 0);
}

/* The address of a handle. */
static int name_handle(const struct nd_core *core, uint32_t handle, struct nd_event *event)
{
	const struct nd_peer *peer = nd_peers_find(&core->peers, handle);
	uint8_t own[16];
	const uint8_t *address;

	if (!peer)
		return -ESTALE;
	memcpy(own, nd_peers_first_own(&core->peers), sizeof(own));
	address = handle == ND_PEERS_SELF ? own : peer->frame.target;
	memcpy(&event->id, address, sizeof(event->id));
	memcpy(&event->message, address + sizeof(event->id), sizeof(event->message));
	return 0;
}

/*
 * The handle of an address, or the address of a handle. event->kind is set when it can be
 * answered now.
 */
static int resolve(struct nd_core *core, uint32_t app, const struct nd_command *command,
		   struct nd_event *event, nd_ns now)
{
	struct nd_core_port *port = &core->ports[0];
	uint8_t address[16];
	struct nd_peer *peer;

	event->kind = ND_EVENT_OPENED;
	if (!command->bytes)
		return name_handle(core, command->peer, event);
	if (command->bytes != sizeof(address))
		return -EINVAL;
	memcpy(address, command->payload, sizeof(address)); /* once: it is shared */
	event->peer = nd_peers_get(&core->peers, address, 0, port->mac, port->derive, now);
	if (event->peer == ND_NONE) {
		event->detail = nd_peers_has_family(&core->peers, address)
					? ND_UNREACHABLE_PEERS_FULL
					: ND_UNREACHABLE_NO_ADDRESS;
		return -EHOSTUNREACH;
	}
	peer = nd_peers_name(&core->peers, event->peer, now);
	if (core->resolver.bell < 0 || event->peer == ND_PEERS_SELF ||
	    peer->way != ND_PEER_NO_WAY)
		return 0;
	if (!nd_core_ask_way(core, peer, now)) {
		event->detail = peer->lost;
		return peer->lost ? -EHOSTUNREACH : -EAGAIN;
	}
	event->kind = 0;
	return nd_core_await_way(core, app, event, now);
}

/* Whether the peer that a command names can be talked to, as far as is known. */
static int check_peer(struct nd_core *core, uint32_t handle, uint32_t *detail, nd_ns now)
{
	struct nd_peer *peer = nd_peers_name(&core->peers, handle, now);

	if (!peer)
		return -ESTALE;
	*detail = handle == ND_PEERS_SELF ? ND_UNREACHABLE_SELF : peer->lost;
	if (peer->lost)
		nd_core_ask_way(core, peer, now);
	return *detail ? -EHOSTUNREACH : 0;
}

/*
 * Nobody but root and our own user has more of an engine than stays free, as of places, or says how
 * everybody reaches a peer.
 */
static ND_NOINLINE int check_share(struct nd_core *core, uint32_t app,
				   const struct nd_core_engine *engine,
				   const struct nd_command *command)
{
	uint64_t apps = 0;

	if (steers_everybody(command->kind))
		return -EPERM;
	for (uint32_t i = 0; i < core->apps_limit; i++)
		if (core->apps[i].used && core->apps[i].group == core->apps[app].group)
			apps |= UINT64_C(1) << i;
	if (engine->ops->leaves_room(engine->endpoint, command, apps))
		return 0;
	core->counters.commands_over_share++;
	return -ENOBUFS;
}

/* An engine's command; its outputs go to *command. *detail: why the peer cannot be talked to. */
static int submit(struct nd_core *core, uint32_t app, uint8_t protocol, struct nd_command *command,
		  uint32_t *detail, nd_ns now)
{
	struct nd_core_engine *engine = nd_core_engine_of(core, protocol);
	uint64_t *last;
	int code = 0;

	if (command->kind == ND_COMMAND_DETACH || is_of_host(command->kind) ||
	    command->priority > ND_PRIORITY_MAX)
		return -EINVAL;
	if (!engine)
		return -EPROTONOSUPPORT;
	if (ND_UNLIKELY(core->apps[app].group))
		code = check_share(core, app, engine, command);
	if (code == 0 && names_a_peer(command->kind))
		code = check_peer(core, command->peer, detail, now);
	if (code < 0)
		return code;
	last = &core->apps[app].last[protocol];
	if (command->id == ND_STACK_ID_LAST)
		command->id = *last;
	command->app = (uint16_t)app;
	code = engine->ops->submit(engine->endpoint, command, now);
	nd_core_stir(core, engine);
	if (code == 0 &&
	    (command->kind == ND_COMMAND_CONNECT || command->kind == ND_COMMAND_REQUEST))
		*last = command->id;
	return code;
}

static void answer(struct nd_core *core, uint32_t app, const struct nd_submission *submission,
		   const struct nd_command *taken, nd_ns now)
{
	struct nd_event event = event_about(submission);

	event.kind = ND_EVENT_OPENED;
	event.id = taken->id;
	event.message = taken->message;
	/* An RPC's id is for later use: who waits for the response is not woken twice if that comes soon. */
	nd_core_post(core, app, &event, taken->kind == ND_COMMAND_REQUEST ? now + ND_CORE_TELL_AFTER : 0);
}

static void command_peer(struct nd_core *core, uint32_t app,
			 const struct nd_submission *submission, nd_ns now)
{
	struct nd_event event = event_about(submission);
	int code = resolve(core, app, &submission->command, &event, now);

	if (code < 0)
		refuse(core, app, submission, event.detail, code);
	else if (event.kind)
		nd_core_post(core, app, &event, 0);
}

void nd_core_command(struct nd_core *core, uint32_t app, const struct nd_submission *submission,
		     nd_ns now)
{
	struct nd_command command = submission->command;
	uint32_t detail = 0;
	int code;

	core->counters.commands++;
	if (command.kind == ND_STACK_COMMAND_PEER) {
		command_peer(core, app, submission, now);
		return;
	}
	code = submit(core, app, submission->protocol, &command, &detail, now);
	if (ND_UNLIKELY(code < 0))
		refuse(core, app, submission, detail, code);
	else if (is_answered(command.kind))
		answer(core, app, submission, &command, now);
}
