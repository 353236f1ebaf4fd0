// SPDX-License-Identifier: Apache-2.0
/* ACK, NACK, PULL and CLOSE out: a queue for the NIC, and the pulls that the pacer releases. */
#include "transport/ndp_peer.h"

#define CONTROL_PRIORITY 7

/* False when the queue is full: the packet is dropped and counted. */
ND_INLINE bool has_room(struct nd_ndp *ndp)
{
	if (ND_LIKELY(!nd_ndp_control_is_full(ndp)))
		return true;
	ndp->counters.control_full++;
	return false;
}

/* The next place in the queue, which has room. */
ND_INLINE struct nd_ndp_control *push(struct nd_ndp *ndp)
{
	return &ndp->control[ndp->control_tail++ & ndp->control_mask];
}

/* A control packet of a connection, with the pull counter as it is; there is room for it. */
ND_INLINE void push_own(struct nd_ndp *ndp, const struct nd_ndp_connection *connection,
			uint8_t type, uint8_t flags, uint32_t sequence)
{
	*push(ndp) = (struct nd_ndp_control){
		.peer = connection->peer,
		.address = connection->address,
		.connection = connection->id,
		.sequence = sequence,
		.pull = connection->pulled,
		.arrived = flags & ND_NDP_FLAG_PULL ? connection->arrived : 0,
		.flow = connection->flow,
		.type = type,
		.flags = (uint8_t)(flags | (connection->accepted ? ND_NDP_FLAG_REPLY : 0)),
	};
}

void nd_ndp_control_answer(struct nd_ndp *ndp, const struct nd_ndp_connection *connection,
			   uint8_t type, uint32_t sequence)
{
	/* Both are cumulative, so every answer repairs the pulls and ACKs that were lost before it. */
	if (has_room(ndp))
		push_own(ndp, connection, type, ND_NDP_FLAG_PULL, sequence);
}

void nd_ndp_control_pull(struct nd_ndp *ndp, const struct nd_ndp_connection *connection)
{
	if (has_room(ndp))
		push_own(ndp, connection, ND_NDP_PULL, 0, 0);
}

void nd_ndp_control_close(struct nd_ndp *ndp, const struct nd_ndp_connection *connection,
			  uint32_t reason)
{
	if (has_room(ndp))
		push_own(ndp, connection, ND_NDP_CLOSE, 0, reason);
}

void nd_ndp_control_refuse(struct nd_ndp *ndp, const struct nd_packet *packet, uint32_t reason)
{
	if (!has_room(ndp))
		return;
	*push(ndp) = (struct nd_ndp_control){
		.peer = ND_NONE,
		.address = packet->source,
		.connection = packet->ndp.connection,
		.sequence = reason,
		.flow = nd_ndp_flow(packet->source, packet->ndp.connection),
		.type = ND_NDP_CLOSE,
		/* Whoever connected hears from the one who would have accepted, and the reverse. */
		.flags = packet->flags & ND_NDP_FLAG_REPLY ? 0 : ND_NDP_FLAG_REPLY,
	};
}

/* The counters of what was sent are in the order of the types. */
_Static_assert(offsetof(struct nd_ndp_counters, closes_sent) -
			       offsetof(struct nd_ndp_counters, acks_sent) ==
		       (ND_NDP_CLOSE - ND_NDP_ACK) * sizeof(uint64_t),
	       "ACK, NACK, PULL, CLOSE");

ND_INLINE void count(struct nd_ndp *ndp, uint8_t type)
{
	uint64_t *counters = (uint64_t *)&ndp->counters;

	counters[offsetof(struct nd_ndp_counters, acks_sent) / sizeof(uint64_t) + type -
		 ND_NDP_ACK]++;
}

static ND_NOINLINE bool walk_paths(const struct nd_ndp *ndp, uint32_t paths,
				   struct nd_packet *packet)
{
	packet->path = nd_ndp_peer_walk_paths(ndp, paths);
	return true;
}

/* Takes the oldest packet of the queue, which has one. The path comes last: a tail call. */
static ND_NOINLINE bool take(struct nd_ndp *ndp, struct nd_packet *packet)
{
	const struct nd_ndp_control *control =
		&ndp->control[ndp->control_head++ & ndp->control_mask];
	uint32_t paths = nd_ndp_peer_path_set(ndp, control->peer);

	nd_ndp_address(ndp, packet, control->address, control->connection, control->flow);
	packet->type = control->type;
	packet->flags = control->flags;
	packet->priority = CONTROL_PRIORITY;
	packet->marks = ND_MARK_CONTROL;
	packet->wire_bytes = (uint16_t)ndp->config.control_bytes;
	packet->header_bytes = packet->wire_bytes;
	packet->ndp.sequence = control->sequence;
	packet->ndp.pull = control->pull;
	packet->ndp.arrived = control->arrived;
	count(ndp, control->type);
	if (paths != ND_NONE)
		return walk_paths(ndp, paths, packet);
	packet->path = nd_ndp_peer_any_path(ndp);
	return true;
}

ND_INLINE void count_pull(struct nd_ndp_connection *connection, nd_ns now)
{
	connection->pulled++;
	connection->active = now;
	connection->repulls = 0;
}

void nd_ndp_control_release(struct nd_ndp *ndp, struct nd_ndp_connection *connection, nd_ns now)
{
	count_pull(connection, now);
	nd_ndp_control_pull(ndp, connection);
}

ND_INLINE void pace(struct nd_ndp *ndp, nd_ns now)
{
	while (nd_pull_is_due(&ndp->pull, now) && !nd_ndp_control_is_full(ndp)) {
		struct nd_ndp_connection *connection =
			nd_ndp_connection_at(ndp, nd_pull_take_due(&ndp->pull, now));

		count_pull(connection, now);
		push_own(ndp, connection, ND_NDP_PULL, 0, 0);
	}
}

void nd_ndp_control_pace(struct nd_ndp *ndp, nd_ns now)
{
	pace(ndp, now);
}

static ND_NOINLINE bool pace_and_take(struct nd_ndp *ndp, struct nd_packet *packet, nd_ns now)
{
	pace(ndp, now);
	return ndp->control_head != ndp->control_tail && take(ndp, packet);
}

bool nd_ndp_control_transmit(struct nd_ndp *ndp, struct nd_packet *packet, nd_ns now)
{
	if (nd_pull_is_due(&ndp->pull, now))
		return pace_and_take(ndp, packet, now);
	if (ndp->control_head != ndp->control_tail)
		return take(ndp, packet);
	/* Begins anew: a few entries that are used all the time stay in the cache. */
	ndp->control_head = ndp->control_tail = 0;
	return false;
}
