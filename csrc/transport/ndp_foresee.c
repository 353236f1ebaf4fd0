// SPDX-License-Identifier: Apache-2.0
/*
 * Fetching what a packet that comes soon is going to touch: first its connection and what the
 * endpoint itself points to, then, when that is here, what the connection leads to. It may guess:
 * what is fetched for nothing does no harm.
 */
#include "transport/ndp_internal.h"
#include "transport/paths.h"

static inline void fetch_item(const struct nd_pool *pool, uint32_t index)
{
	if (index != ND_NONE)
		nd_fetch(nd_pool_at(pool, index));
}

/* Connection of the packet, which may be unknown. */
static uint32_t slot_of(const struct nd_ndp *ndp, const struct nd_packet *packet)
{
	const struct nd_ndp_found *found = nd_ndp_found_for(ndp, packet);

	if (ND_LIKELY(nd_ndp_ends(packet) == found->ends))
		return found->slot;
	return nd_map_get(&ndp->connection_map,
			  nd_ndp_key(packet->source, packet->ndp.connection,
				     !(packet->flags & ND_NDP_FLAG_REPLY)));
}

/* The connection that is next to send, or was the last that we opened. */
static uint32_t slot_to_send(const struct nd_ndp *ndp)
{
	return ndp->ready_levels ? ndp->ready_head[nd_top_bit_u32(ndp->ready_levels)] :
				   ndp->found[0].slot;
}

static void fetch_sender(const struct nd_ndp_connection *connection)
{
	nd_fetch(connection);
	nd_fetch(&connection->base);
}

static void fetch_receiver(const struct nd_ndp_connection *connection)
{
	nd_fetch(connection);
	nd_fetch(&connection->arrived);
}

/* The pull that is next, of the flow that pulls most likely. */
static void fetch_pull(const struct nd_ndp *ndp, uint32_t slot)
{
	const struct nd_pull *pull = &ndp->pull;

	if (slot != ND_NONE)
		nd_fetch(&pull->flows[slot]);
	if (pull->levels)
		nd_fetch(&pull->groups[pull->heads[nd_top_bit_u32(pull->levels)]]);
}

static void fetch_paths(const struct nd_ndp *ndp, const struct nd_ndp_connection *connection)
{
	uint32_t paths = nd_ndp_peer_at(ndp, connection->peer)->paths;
	const uint8_t *set = nd_pool_at(&ndp->path_sets, paths);

	if (paths == ND_NONE)
		return;
	nd_fetch(set);
	nd_fetch(set + 64);
}

/* What was sent in a packet that is acknowledged, or is going to be in the next one. */
static void fetch_sent(const struct nd_ndp *ndp, const struct nd_ndp_connection *connection,
		       uint32_t sequence)
{
	if (connection->window != ND_NONE)
		nd_fetch(nd_ndp_sent_at(ndp, connection, sequence));
	fetch_item(&ndp->messages, connection->messages_head);
}

/* Of a host's own event: a packet that waits for the NIC, a pull that is due. */
static void foresee_own(const struct nd_ndp *ndp, enum nd_foresee step)
{
	uint32_t sends = slot_to_send(ndp), pulls = ndp->found[1].slot;

	if (step == ND_FORESEE_FIRST) {
		nd_fetch(&ndp->control[ndp->control_head & ndp->control_mask]);
		if (sends != ND_NONE)
			fetch_sender(nd_ndp_connection_at(ndp, sends));
		if (pulls != ND_NONE)
			fetch_receiver(nd_ndp_connection_at(ndp, pulls));
		fetch_pull(ndp, pulls);
		return;
	}
	if (sends != ND_NONE) {
		const struct nd_ndp_connection *connection = nd_ndp_connection_at(ndp, sends);

		fetch_sent(ndp, connection, connection->next);
		fetch_paths(ndp, connection);
	}
	if (pulls != ND_NONE)
		fetch_paths(ndp, nd_ndp_connection_at(ndp, pulls));
}

static void foresee_packet(const struct nd_ndp *ndp, const struct nd_packet *packet,
			   enum nd_foresee step)
{
	uint32_t slot = slot_of(ndp, packet);
	const struct nd_ndp_connection *connection = nd_ndp_connection_at(ndp, slot);
	bool data = packet->type == ND_NDP_DATA;

	if (slot == ND_NONE)
		return;
	if (step == ND_FORESEE_FIRST && data) {
		fetch_receiver(connection);
		fetch_pull(ndp, slot);
	} else if (step == ND_FORESEE_FIRST) {
		fetch_sender(connection);
	} else if (data) {
		fetch_item(&ndp->incoming, connection->incoming);
	} else {
		fetch_sent(ndp, connection,
			   packet->type == ND_NDP_PULL ? connection->next :
							 packet->ndp.sequence);
		fetch_paths(ndp, connection);
	}
}

void nd_ndp_foresee(const void *endpoint, const struct nd_packet *packet, enum nd_foresee step)
{
	const struct nd_ndp *ndp = endpoint;

	if (step == ND_FORESEE_FIRST) {
		nd_fetch(&ndp->control[ndp->control_tail & ndp->control_mask]);
		nd_fetch(ndp->peers.items); /* of a few peers the first is likely to be one of those */
	}
	if (packet)
		foresee_packet(ndp, packet, step);
	else
		foresee_own(ndp, step);
}
