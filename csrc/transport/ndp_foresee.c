// SPDX-License-Identifier: Apache-2.0
/*
 * Fetching what a packet that comes soon is going to touch: first its connection and what the
 * endpoint itself points to, then, when that is here, what the connection leads to. It may guess:
 * what is fetched for nothing does no harm.
 */
#include "transport/ndp_internal.h"

static inline void fetch(const void *memory)
{
	__builtin_prefetch(memory, 1);
}

static inline void fetch_item(const struct nd_pool *pool, uint32_t index)
{
	if (index != ND_NONE)
		fetch(nd_pool_at(pool, index));
}

/* Connection of the packet, or the one that is next to send. */
static uint32_t slot_of(const struct nd_ndp *ndp, const struct nd_packet *packet)
{
	const struct nd_ndp_found *found;
	uint64_t key;

	if (!packet)
		return ndp->ready_levels ?
			       ndp->ready_head[nd_top_bit_u32(ndp->ready_levels)] :
			       ND_NONE;
	found = nd_ndp_found_for(ndp, packet);
	if (ND_LIKELY(nd_ndp_ends(packet) == found->ends))
		return found->slot;
	key = nd_ndp_key(packet->source, packet->ndp.connection,
			 !(packet->flags & ND_NDP_FLAG_REPLY));
	return nd_map_get(&ndp->connection_map, key);
}

static void fetch_connection(const struct nd_ndp *ndp, uint32_t slot)
{
	const uint8_t *connection = (const uint8_t *)nd_ndp_connection_at(ndp, slot);

	for (uint32_t at = 0; at < ndp->connections.stride; at += 64)
		fetch(connection + at);
	fetch(&ndp->pull.flows[slot]);
}

/* The packet that is acknowledged, or the one that is going to be sent. */
static void fetch_sent(const struct nd_ndp *ndp, const struct nd_ndp_connection *connection,
		       const struct nd_packet *packet)
{
	bool sends = !packet || packet->type == ND_NDP_PULL;

	if (connection->window != ND_NONE)
		fetch(nd_ndp_sent_at(ndp, connection,
				     sends ? connection->next : packet->ndp.sequence));
	fetch_item(&ndp->messages, connection->messages_head);
}

static void fetch_around(const struct nd_ndp *ndp, uint32_t slot, const struct nd_packet *packet)
{
	const struct nd_ndp_connection *connection = nd_ndp_connection_at(ndp, slot);
	const struct nd_ndp_peer *peer = nd_ndp_peer_at(ndp, connection->peer);

	if (packet && packet->type == ND_NDP_DATA)
		fetch_item(&ndp->incoming, connection->incoming);
	else
		fetch_sent(ndp, connection, packet);
	fetch_item(&ndp->path_sets, peer->paths);
}

void nd_ndp_foresee(const void *endpoint, const struct nd_packet *packet, enum nd_foresee step)
{
	const struct nd_ndp *ndp = endpoint;
	uint32_t slot = slot_of(ndp, packet);

	if (step == ND_FORESEE_FIRST) {
		fetch(&ndp->control[ndp->control_tail & ndp->control_mask]);
		fetch(ndp->timers.items);
	}
	if (slot == ND_NONE)
		return;
	if (step == ND_FORESEE_FIRST)
		fetch_connection(ndp, slot);
	else
		fetch_around(ndp, slot, packet);
}
