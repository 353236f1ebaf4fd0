// SPDX-License-Identifier: Apache-2.0
/* The unresponsive sender and its counting receiver. */
#include "sim/blast.h"

#include "base/map.h"
#include "base/pool.h"

#include <errno.h>
#include <string.h>

ND_COUNTERS_TABLE(nd_blast_counters, "blast", ND_BLAST_COUNTERS);

#define EVENTS_MAX 64

/* One direction of one connection: at its source or at its target. */
struct connection {
	uint32_t peer;
	uint32_t number;  /* on the wire */
	uint32_t next;    /* ring of those with something to send */
	uint16_t message; /* of the one being sent, or received */
	uint16_t queued;  /* messages not yet sent, this one included */
	uint32_t bytes[2];   /* of the messages queued */
	uint64_t cookies[2];
	const uint8_t *payloads[2];
	uint32_t offset;  /* sent of the first one, or received */
	uint8_t priority;
};

struct blast {
	struct nd_blast_config config;
	struct nd_blast_counters counters;
	uint32_t self;
	uint32_t numbers;
	uint32_t path;
	uint32_t tail; /* of the ring, or ND_NONE: next of it is served next */
	struct nd_pool connections;
	struct nd_map incoming; /* source and number -> connection */
	uint32_t event_at, event_count;
	struct nd_event events[EVENTS_MAX];
};

static size_t aligned(size_t bytes)
{
	return (bytes + 63) & ~(size_t)63;
}

static int blast_check(const void *opaque, const char **why)
{
	const struct nd_blast_config *config = opaque;

	*why = "payload_bytes_max and header_bytes must be above 0 and 65535 together, "
	       "connections_max 1 to 65535, paths at least 1";
	if (!config->payload_bytes_max || !config->header_bytes || !config->paths ||
	    config->payload_bytes_max > UINT16_MAX || config->header_bytes > UINT16_MAX ||
	    config->payload_bytes_max + config->header_bytes > UINT16_MAX ||
	    !config->connections_max || config->connections_max > UINT16_MAX)
		return -EINVAL;
	*why = NULL;
	return 0;
}

static size_t blast_bytes(const void *opaque)
{
	const struct nd_blast_config *config = opaque;

	return aligned(sizeof(struct blast)) +
	       aligned(nd_pool_bytes(config->connections_max, sizeof(struct connection))) +
	       aligned(nd_map_bytes(config->connections_max));
}

static void blast_init(void *endpoint, const struct nd_setup *setup)
{
	struct blast *blast = endpoint;
	uint8_t *memory = (uint8_t *)endpoint + aligned(sizeof(*blast));

	blast->config = *(const struct nd_blast_config *)setup->config;
	blast->self = setup->self;
	blast->tail = ND_NONE;
	nd_pool_init(&blast->connections, memory, blast->config.connections_max,
		     sizeof(struct connection));
	memory += aligned(nd_pool_bytes(blast->config.connections_max, sizeof(struct connection)));
	nd_map_init(&blast->incoming, memory, blast->config.connections_max, setup->seed);
}

static struct connection *at(const struct blast *blast, uint32_t index)
{
	return nd_pool_at(&blast->connections, index);
}

static void emit(struct blast *blast, const struct nd_event *event)
{
	/* The driver drains events after every call, and a call emits few. */
	nd_assert(blast->event_count < EVENTS_MAX);
	blast->events[(blast->event_at + blast->event_count++) % EVENTS_MAX] = *event;
}

static int connect_to(struct blast *blast, struct nd_command *command)
{
	uint32_t index = nd_pool_get(&blast->connections);

	if (index == ND_NONE) {
		blast->counters.refused++;
		return -ENOBUFS;
	}
	*at(blast, index) = (struct connection){
		.peer = command->peer, .number = ++blast->numbers, .priority = command->priority,
	};
	command->id = index;
	return 0;
}

static int send_message(struct blast *blast, struct nd_command *command)
{
	uint32_t index = (uint32_t)command->id;
	struct connection *c = at(blast, index);

	if (c->queued == ND_ARRAY_SIZE(c->bytes))
		return -ENOBUFS;
	c->bytes[c->queued] = command->bytes;
	c->cookies[c->queued] = command->cookie;
	c->payloads[c->queued] = command->payload;
	if (c->queued++ > 0)
		return 0;
	if (blast->tail == ND_NONE) {
		c->next = index;
	} else {
		c->next = at(blast, blast->tail)->next;
		at(blast, blast->tail)->next = index;
	}
	blast->tail = index;
	return 0;
}

static int blast_submit(void *endpoint, struct nd_command *command, nd_ns now)
{
	struct blast *blast = endpoint;

	(void)now;
	switch (command->kind) {
	case ND_COMMAND_CONNECT:
		return connect_to(blast, command);
	case ND_COMMAND_SEND:
		return send_message(blast, command);
	case ND_COMMAND_CLOSE:
		if (at(blast, (uint32_t)command->id)->queued)
			return -EBUSY;
		nd_pool_put(&blast->connections, (uint32_t)command->id);
		return 0;
	default:
		return 0;
	}
}

/* Connection that the packet belongs to, made when it is the first one; or ND_NONE. */
static uint32_t incoming(struct blast *blast, const struct nd_packet *packet, uint64_t key)
{
	uint32_t index = nd_map_get(&blast->incoming, key);

	if (index != ND_NONE)
		return index;
	index = nd_pool_get(&blast->connections);
	if (index == ND_NONE) {
		blast->counters.refused++;
		return ND_NONE;
	}
	*at(blast, index) = (struct connection){ .peer = packet->source,
						 .message = packet->ndp.message };
	nd_map_set(&blast->incoming, key, index);
	return index;
}

static void blast_receive(void *endpoint, const struct nd_packet *packet, nd_ns now)
{
	struct blast *blast = endpoint;
	uint64_t key = (uint64_t)packet->source << 32 | packet->ndp.connection;
	struct connection *c;
	uint32_t index;

	(void)now;
	if (packet->marks & ND_MARK_TRIMMED) {
		blast->counters.trimmed_received++;
		return;
	}
	blast->counters.packets_received++;
	index = incoming(blast, packet, key);
	if (index == ND_NONE)
		return;
	c = at(blast, index);
	c->offset += packet->payload_bytes;
	if (c->offset < packet->ndp.message_bytes)
		return;
	c->offset = 0;
	if (packet->flags & ND_NDP_FLAG_LAST) {
		nd_map_remove(&blast->incoming, key);
		nd_pool_put(&blast->connections, index);
	}
	emit(blast, &(struct nd_event){ .kind = ND_EVENT_MESSAGE, .peer = packet->source,
					.bytes = packet->ndp.message_bytes, .id = index });
}

/* The first message of the connection is out. */
static void finish_message(struct blast *blast, struct connection *c)
{
	emit(blast, &(struct nd_event){ .kind = ND_EVENT_SENT, .peer = c->peer,
					.bytes = c->bytes[0], .cookie = c->cookies[0],
					.id = nd_pool_index(&blast->connections, c) });
	c->bytes[0] = c->bytes[1];
	c->cookies[0] = c->cookies[1];
	c->payloads[0] = c->payloads[1];
	c->offset = 0;
	c->message++;
	c->queued--;
}

static void fill(struct blast *blast, const struct connection *c, struct nd_packet *packet)
{
	uint32_t left = c->bytes[0] - c->offset;
	uint32_t payload = nd_min_u32(left, blast->config.payload_bytes_max);

	memset(packet, 0, sizeof(*packet));
	packet->source = blast->self;
	packet->target = c->peer;
	packet->rank = left;
	packet->payload_bytes = (uint16_t)payload;
	packet->header_bytes = (uint16_t)blast->config.header_bytes;
	packet->wire_bytes = (uint16_t)(payload + blast->config.header_bytes);
	packet->path = (uint16_t)(blast->path++ % blast->config.paths);
	packet->flow = (uint16_t)nd_mix64((uint64_t)c->peer << 32 | c->number);
	packet->protocol = ND_PROTO_OTHER;
	packet->priority = c->priority;
	packet->marks = blast->config.trimmable ? ND_MARK_TRIMMABLE : 0;
	packet->flags = left == payload && c->queued == 1 ? ND_NDP_FLAG_LAST : 0;
	packet->payload = c->payloads[0] ? c->payloads[0] + c->offset : NULL;
	packet->ndp.connection = c->number;
	packet->ndp.message = c->message;
	packet->ndp.message_bytes = c->bytes[0];
	packet->ndp.offset = c->offset;
}

static bool blast_transmit(void *endpoint, struct nd_packet *packet, enum nd_class class,
			   nd_ns now)
{
	struct blast *blast = endpoint;
	struct connection *tail, *c;

	(void)now;
	if (class == ND_CLASS_CONTROL || blast->tail == ND_NONE)
		return false;
	tail = at(blast, blast->tail);
	c = at(blast, tail->next);
	fill(blast, c, packet);
	c->offset += packet->payload_bytes;
	blast->counters.packets_sent++;
	if (c->offset == c->bytes[0])
		finish_message(blast, c);
	if (c->queued)
		blast->tail = tail->next;
	else if (tail == c)
		blast->tail = ND_NONE;
	else
		tail->next = c->next;
	return true;
}

static nd_ns blast_deadline(const void *endpoint)
{
	(void)endpoint;
	return ND_NEVER;
}

static void blast_on_deadline(void *endpoint, nd_ns now)
{
	(void)endpoint;
	(void)now;
}

static uint32_t blast_events(void *endpoint, struct nd_event *out, uint32_t limit)
{
	struct blast *blast = endpoint;
	uint32_t count = nd_min_u32(limit, blast->event_count);

	for (uint32_t i = 0; i < count; i++)
		out[i] = blast->events[(blast->event_at + i) % EVENTS_MAX];
	blast->event_at = (blast->event_at + count) % EVENTS_MAX;
	blast->event_count -= count;
	return count;
}

static const uint64_t *blast_counters(const void *endpoint)
{
	return (const uint64_t *)(const void *)&((const struct blast *)endpoint)->counters;
}

static const char *blast_audit(const void *endpoint)
{
	const struct blast *blast = endpoint;

	return nd_pool_check(&blast->connections) ? NULL : "blast: connection pool is wrong";
}

const struct nd_transport_ops nd_blast_ops = {
	.name = "blast",
	.protocol = ND_PROTO_OTHER,
	.check = blast_check,
	.bytes = blast_bytes,
	.init = blast_init,
	.submit = blast_submit,
	.receive = blast_receive,
	.transmit = blast_transmit,
	.deadline = blast_deadline,
	.on_deadline = blast_on_deadline,
	.events = blast_events,
	.counters_table = &nd_blast_counters_table,
	.counters = blast_counters,
	.audit = blast_audit,
};
