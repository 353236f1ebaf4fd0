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

static const struct nd_paths *paths_of(const struct nd_ndp *ndp,
				       const struct nd_ndp_connection *connection)
{
	uint32_t paths = nd_ndp_peer_at(ndp, connection->peer)->paths;

	return paths == ND_NONE ? NULL : nd_pool_at(&ndp->path_sets, paths);
}

/* What was sent in a packet that is acknowledged, or is going to be in the next one. */
static void fetch_sent(const struct nd_ndp *ndp, const struct nd_ndp_connection *connection,
		       uint32_t sequence)
{
	if (connection->window != ND_NONE)
		nd_fetch(nd_ndp_sent_at(ndp, connection, sequence));
	fetch_item(&ndp->messages, connection->messages_head);
}

/* The paths that the next packet chooses from. */
static void fetch_choice(const struct nd_ndp *ndp, const struct nd_ndp_connection *connection)
{
	const struct nd_paths *paths = paths_of(ndp, connection);

	if (paths)
		nd_paths_foresee(paths);
}

/* Of a host's own event: a packet that waits for the NIC, a pull that is due. */
static void foresee_own(const struct nd_ndp *ndp, enum nd_foresee step)
{
	uint32_t sends = slot_to_send(ndp), pulls = ndp->found[1].slot;
	const struct nd_ndp_connection *sender = nd_ndp_connection_at(ndp, sends);

	if (step == ND_FORESEE_FIRST) {
		nd_fetch(&ndp->control[ndp->control_head & ndp->control_mask]);
		if (sends != ND_NONE)
			fetch_sender(sender);
		if (pulls != ND_NONE)
			fetch_receiver(nd_ndp_connection_at(ndp, pulls));
		fetch_pull(ndp, pulls);
	} else if (sends != ND_NONE) {
		fetch_sent(ndp, sender, sender->next);
		fetch_choice(ndp, sender);
	}
}

static void foresee_data(const struct nd_ndp *ndp, uint32_t slot, enum nd_foresee step)
{
	const struct nd_ndp_connection *connection = nd_ndp_connection_at(ndp, slot);

	if (step == ND_FORESEE_FIRST) {
		fetch_receiver(connection);
		fetch_pull(ndp, slot);
	} else {
		fetch_item(&ndp->incoming, connection->incoming);
	}
}

static void foresee_answer(const struct nd_ndp *ndp, uint32_t slot, const struct nd_packet *packet,
			   enum nd_foresee step)
{
	const struct nd_ndp_connection *connection = nd_ndp_connection_at(ndp, slot);

	if (step == ND_FORESEE_FIRST) {
		fetch_sender(connection);
	} else if (packet->type == ND_NDP_PULL) {
		fetch_sent(ndp, connection, connection->next);
		fetch_choice(ndp, connection);
	} else {
		fetch_sent(ndp, connection, packet->ndp.sequence);
	}
}

void nd_ndp_foresee(const void *endpoint, const struct nd_packet *packet, enum nd_foresee step)
{
	const struct nd_ndp *ndp = endpoint;
	uint32_t slot;

	if (step == ND_FORESEE_FIRST) {
		nd_fetch(&ndp->control[ndp->control_tail & ndp->control_mask]);
		/* Of a few peers the first is likely to be one of those. */
		nd_fetch(ndp->peers.items);
		nd_fetch(ndp->path_sets.items);
	}
	if (!packet) {
		foresee_own(ndp, step);
		return;
	}
	slot = slot_of(ndp, packet);
	if (slot == ND_NONE)
		return;
	if (packet->type == ND_NDP_DATA)
		foresee_data(ndp, slot, step);
	else
		foresee_answer(ndp, slot, packet, step);
}
