// SPDX-License-Identifier: Apache-2.0
/* The port of a replayed core: it has the room that was recorded, and compares what is sent. */
#include "host/replay_port.h"

#include "base/crc32c.h"
#include "host/core.h"

#include <stdlib.h>
#include <string.h>

static struct nd_replay_port *of(struct nd_port *port)
{
	return (struct nd_replay_port *)(void *)port;
}

/* The port's next record of the kind in the turn, which moves the cursor behind it; or NULL. */
static const struct nd_record *next_record(const struct nd_replay_port *port, uint8_t kind,
					   const uint8_t **cursor)
{
	while (*cursor < port->turn->end) {
		const struct nd_record *record = (const void *)*cursor;

		*cursor += nd_record_room(record->bytes);
		if (record->kind == kind && record->index == port->index)
			return record;
	}
	return NULL;
}

static void report(struct nd_replay_port *port, enum nd_replay_verdict verdict,
		   const struct nd_record *recorded, const struct nd_frame *replayed)
{
	struct nd_replay_result *result = port->result;

	result->verdict = verdict;
	result->port = port->index;
	result->time = port->turn->now;
	if (recorded) {
		const struct nd_record_sent *sent = (const void *)(recorded + 1);
		uint32_t bytes = recorded->bytes - (uint32_t)sizeof(*sent);

		result->recorded_bytes = sent->bytes;
		memcpy(result->recorded, sent + 1, nd_min_u32(bytes, ND_RECORDING_HEAD_BYTES));
	}
	if (replayed) {
		result->replayed_bytes = replayed->bytes;
		memcpy(result->replayed, replayed->data, replayed->bytes);
	}
}

static bool is_same(const struct nd_record *recorded, const struct nd_frame *replayed)
{
	const struct nd_record_sent *sent = (const void *)(recorded + 1);

	return sent->bytes == replayed->bytes &&
	       sent->check == nd_crc32c(replayed->data, replayed->bytes) &&
	       recorded->bytes - sizeof(*sent) ==
		       nd_min_u32(sent->bytes, ND_RECORDING_HEAD_BYTES) &&
	       memcmp(sent + 1, replayed->data, recorded->bytes - sizeof(*sent)) == 0;
}

static void compare(struct nd_replay_port *port, const struct nd_frame *frame)
{
	const struct nd_record *recorded = next_record(port, ND_RECORD_SENT, &port->sent_at);

	if (!recorded)
		report(port, ND_REPLAY_EXTRA, NULL, frame);
	else if (!is_same(recorded, frame))
		report(port, ND_REPLAY_DIFFERS, recorded, frame);
	else
		port->result->sent++;
}

/* ---- the port ---- */

static uint32_t receive(struct nd_port *port, struct nd_frame *frames, uint32_t limit)
{
	(void)port;
	(void)frames;
	(void)limit;
	return 0; /* the replay hands frames to the core itself */
}

static void nothing(struct nd_port *port)
{
	(void)port;
}

/*
 * A replay asks in every turn. Where the recorded core did not there is all the room, for this turn;
 * what is sent in it will differ.
 */
static uint32_t reserve(struct nd_port *port, struct nd_frame *frames, uint32_t limit)
{
	struct nd_replay_port *self = of(port);
	const struct nd_record *record = next_record(self, ND_RECORD_ROOM, &self->room_at);
	uint32_t count = record ? nd_min_u32(record->detail, limit) : limit;

	self->unasked = !record;
	for (uint32_t i = 0; i < count; i++)
		frames[i].data = self->memory + (size_t)i * port->frame_bytes_max;
	return count;
}

static void commit(struct nd_port *port, const struct nd_frame *frames, uint32_t count)
{
	struct nd_replay_port *self = of(port);

	for (uint32_t i = 0; i < count; i++) {
		struct nd_replay_frame frame = {
			.data = frames[i].data,
			.bytes = frames[i].bytes,
			.port = self->index,
			.time = self->turn->now,
			.sent = true,
			.name = port->name,
		};

		if (self->sink && self->code == 0)
			self->code = self->sink(self->context, &frame);
		if (self->result->verdict == ND_REPLAY_IDENTICAL)
			compare(self, &frames[i]);
	}
}

static uint32_t flush(struct nd_port *port)
{
	(void)port;
	return 0;
}

static bool arm(struct nd_port *port)
{
	(void)port;
	return false;
}

static uint32_t descriptors(const struct nd_port *port, int *fds)
{
	(void)port;
	(void)fds;
	return 0;
}

static enum nd_port_state check(struct nd_port *port, nd_ns now, struct nd_error *error)
{
	(void)port;
	(void)now;
	(void)error;
	return ND_PORT_UP;
}

static void close_port(struct nd_port *port)
{
	free(of(port)->memory);
	free(port);
}

static const struct nd_port_ops ops = {
	.name = "replay",
	.receive = receive,
	.release = nothing,
	.reserve = reserve,
	.commit = commit,
	.flush = flush,
	.arm = arm,
	.descriptors = descriptors,
	.check = check,
	.refresh = nothing,
	.close = close_port,
};

struct nd_replay_port *nd_replay_port_open(const struct nd_record_port *record, uint32_t index,
					   const struct nd_replay_turn *turn,
					   struct nd_replay_result *result)
{
	struct nd_replay_port *port = calloc(1, sizeof(*port));

	if (!port)
		return NULL;
	port->memory = malloc((size_t)ND_CORE_BATCH * record->frame_bytes_max);
	if (!port->memory) {
		free(port);
		return NULL;
	}
	port->base.ops = &ops;
	port->base.mode = ops.name;
	port->base.mtu = record->mtu;
	port->base.frame_bytes_max = record->frame_bytes_max;
	memcpy(port->base.name, record->name, sizeof(record->name) - 1);
	memcpy(port->base.mac, record->mac, sizeof(record->mac));
	port->index = index;
	port->turn = turn;
	port->result = result;
	return port;
}

void nd_replay_port_begin(struct nd_replay_port *port)
{
	port->room_at = port->sent_at = port->turn->begin;
}

void nd_replay_port_end(struct nd_replay_port *port, struct nd_core_port *user)
{
	const struct nd_record *left = next_record(port, ND_RECORD_SENT, &port->sent_at);

	if (left && port->result->verdict == ND_REPLAY_IDENTICAL)
		report(port, ND_REPLAY_MISSING, left, NULL);
	if (port->unasked)
		nd_core_return_blanks(user);
	port->unasked = false;
}
