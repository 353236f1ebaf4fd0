// SPDX-License-Identifier: Apache-2.0
/* One command of an application: who may ask for what, and what it is told. */
#include "host/core.h"

#include <errno.h>
#include <string.h>

static const struct nd_core_engine *engine_of(const struct nd_core *core, uint8_t protocol)
{
	for (uint32_t i = 0; i < core->engine_count; i++)
		if (core->engines[i].ops->protocol == protocol)
			return &core->engines[i];
	return NULL;
}

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
		   int code)
{
	struct nd_event event = event_about(submission);

	core->counters.commands_refused++;
	if (!is_missed(submission->command.kind))
		return;
	event.kind = ND_EVENT_FAILED;
	event.error = code;
	nd_core_post(core, app, &event, true);
}

/* The handle of an address, or the address of a handle. */
static int resolve(struct nd_core *core, const struct nd_command *command, struct nd_event *event)
{
	struct nd_core_port *port = &core->ports[0];
	uint8_t address[16];

	if (command->bytes == sizeof(address)) {
		memcpy(address, command->payload, sizeof(address)); /* once: it is shared */
		event->peer = nd_peers_get(&core->peers, address, 0, port->mac, port->derive);
		return event->peer == ND_NONE ? -EHOSTUNREACH : 0;
	}
	if (command->bytes || !nd_peers_has(&core->peers, command->peer))
		return -EINVAL;
	memcpy(address, core->peers.entries[command->peer].frame.target, sizeof(address));
	memcpy(&event->id, address, sizeof(event->id));
	memcpy(&event->message, address + sizeof(event->id), sizeof(event->message));
	return 0;
}

static int submit(struct nd_core *core, uint32_t app, const struct nd_submission *submission,
		  struct nd_event *event, nd_ns now)
{
	const struct nd_core_engine *engine = engine_of(core, submission->protocol);
	struct nd_command command = submission->command;
	uint64_t *last;
	int code;

	if (command.kind == ND_COMMAND_DETACH || command.priority > 7)
		return -EINVAL;
	if (!engine)
		return -EPROTONOSUPPORT;
	if (names_a_peer(command.kind) && !nd_peers_has(&core->peers, command.peer))
		return -EHOSTUNREACH;
	last = &core->apps[app].last[submission->protocol];
	if (command.id == ND_STACK_ID_LAST)
		command.id = *last;
	command.app = (uint16_t)app;
	code = engine->ops->submit(engine->endpoint, &command, now);
	if (code < 0)
		return code;
	if (command.kind == ND_COMMAND_CONNECT || command.kind == ND_COMMAND_REQUEST)
		*last = command.id;
	event->id = command.id;
	event->message = command.message;
	return 0;
}

void nd_core_command(struct nd_core *core, uint32_t app, const struct nd_submission *submission,
		     nd_ns now)
{
	uint8_t kind = submission->command.kind;
	struct nd_event event = event_about(submission);
	int code = kind == ND_STACK_COMMAND_PEER
			   ? resolve(core, &submission->command, &event)
			   : submit(core, app, submission, &event, now);

	core->counters.commands++;
	if (code < 0) {
		refuse(core, app, submission, code);
		return;
	}
	if (!is_answered(kind))
		return;
	event.kind = ND_EVENT_OPENED;
	/* An id is for later use; it is not worth waking anybody. */
	nd_core_post(core, app, &event, kind == ND_COMMAND_LISTEN || kind == ND_STACK_COMMAND_PEER);
}
