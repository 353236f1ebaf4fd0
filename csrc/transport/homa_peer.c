// SPDX-License-Identifier: Apache-2.0
/* Peers: found by address, forgotten when idle and room is needed, their unsent acknowledgements. */
#include "transport/homa_internal.h"

static void unlink_peer(struct nd_homa *homa, struct nd_homa_peer *peer)
{
	if (peer->newer == ND_NONE)
		homa->newest_peer = peer->older;
	else
		nd_homa_peer_at(homa, peer->newer)->older = peer->older;
	if (peer->older == ND_NONE)
		homa->oldest_peer = peer->newer;
	else
		nd_homa_peer_at(homa, peer->older)->newer = peer->newer;
}

static void link_newest(struct nd_homa *homa, struct nd_homa_peer *peer)
{
	uint32_t index = peer->index;

	peer->newer = ND_NONE;
	peer->older = homa->newest_peer;
	if (homa->newest_peer == ND_NONE)
		homa->oldest_peer = index;
	else
		nd_homa_peer_at(homa, homa->newest_peer)->newer = index;
	homa->newest_peer = index;
}

void nd_homa_peer_renew(struct nd_homa *homa, struct nd_homa_peer *peer)
{
	unlink_peer(homa, peer);
	link_newest(homa, peer);
}

/* A peer may be forgotten unless an RPC, an override or the guard against old ids needs it. */
static bool evictable(const struct nd_homa *homa, const struct nd_homa_peer *peer, nd_ns now)
{
	return !peer->rpcs && !peer->rtt_bytes &&
	       (!peer->done_at || now - peer->done_at > homa->config.done_ns) &&
	       (!peer->floor || now - peer->floor_at > homa->config.done_ns);
}

bool nd_homa_needs_peer(const void *endpoint, uint32_t handle, nd_ns now)
{
	const struct nd_homa *homa = endpoint;
	const struct nd_homa_peer *peer = nd_homa_peer_find(homa, handle);

	return peer && !evictable(homa, peer, now);
}

/* Looks only at the few oldest: those in use are near the newest. */
static bool evict(struct nd_homa *homa, nd_ns now)
{
	uint32_t index = homa->oldest_peer;

	for (uint32_t tries = 0; tries < 8 && index != ND_NONE; tries++) {
		struct nd_homa_peer *peer = nd_homa_peer_at(homa, index);
		uint32_t newer = peer->newer;

		if (evictable(homa, peer, now)) {
			unlink_peer(homa, peer);
			nd_map_remove(&homa->peer_map, peer->handle);
			nd_pool_put(&homa->peers, index);
			homa->counters.peers_evicted++;
			return true;
		}
		nd_homa_peer_use(homa, peer);
		index = newer;
	}
	return false;
}

struct nd_homa_peer *nd_homa_peer_make(struct nd_homa *homa, uint32_t handle, nd_ns now)
{
	uint32_t index = nd_pool_get(&homa->peers);
	struct nd_homa_peer *peer;

	if (index == ND_NONE && evict(homa, now))
		index = nd_pool_get(&homa->peers);
	if (index == ND_NONE) {
		homa->counters.peers_refused++;
		return NULL;
	}
	peer = nd_homa_peer_at(homa, index);
	*peer = (struct nd_homa_peer){
		.handle = handle,
		.index = index,
		.grantable = ND_NONE,
		.rank = ND_NONE,
	};
	nd_map_set(&homa->peer_map, handle, index);
	link_newest(homa, peer);
	return peer;
}

void nd_homa_peer_ack(struct nd_homa *homa, struct nd_homa_peer *peer, uint64_t id,
		      uint16_t own_port, uint16_t server_port)
{
	if (peer->ack_count < ND_HOMA_ACKS_MAX) {
		peer->ack_ids[peer->ack_count] = id;
		peer->ack_ports[peer->ack_count++] = server_port;
		return;
	}
	nd_homa_reply(homa, &(struct nd_homa_reply){
		.id = id,
		.peer = peer->handle,
		.own_port = own_port,
		.peer_port = server_port,
		.type = ND_HOMA_ACK,
	});
}
