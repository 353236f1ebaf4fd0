// SPDX-License-Identifier: Apache-2.0
/* The hosts we talk to: round-trip time, and the paths to them once data is sent. */
#include "transport/ndp_peer.h"

#include <errno.h>
#include <string.h>

/* ---- peers without users, oldest first ---- */

static void link_idle(struct nd_ndp *ndp, uint32_t index)
{
	struct nd_ndp_peer *peer = nd_ndp_peer_at(ndp, index);

	peer->next = ND_NONE;
	peer->prev = ndp->peer_newest;
	if (ndp->peer_newest == ND_NONE)
		ndp->peer_oldest = index;
	else
		nd_ndp_peer_at(ndp, ndp->peer_newest)->next = index;
	ndp->peer_newest = index;
}

static void unlink_idle(struct nd_ndp *ndp, uint32_t index)
{
	struct nd_ndp_peer *peer = nd_ndp_peer_at(ndp, index);

	if (peer->prev == ND_NONE)
		ndp->peer_oldest = peer->next;
	else
		nd_ndp_peer_at(ndp, peer->prev)->next = peer->next;
	if (peer->next == ND_NONE)
		ndp->peer_newest = peer->prev;
	else
		nd_ndp_peer_at(ndp, peer->next)->prev = peer->prev;
}

static bool is_idle(const struct nd_ndp_peer *peer)
{
	return peer->users == 0 && !peer->pinned;
}

static void forget_oldest(struct nd_ndp *ndp)
{
	uint32_t index = ndp->peer_oldest;
	struct nd_ndp_peer *peer;

	if (index == ND_NONE)
		return;
	peer = nd_ndp_peer_at(ndp, index);
	unlink_idle(ndp, index);
	if (peer->paths != ND_NONE)
		nd_pool_put(&ndp->path_sets, peer->paths);
	nd_map_remove(&ndp->peer_map, peer->address);
	nd_pool_put(&ndp->peers, index);
}

uint32_t nd_ndp_peer_get(struct nd_ndp *ndp, uint32_t address)
{
	uint32_t index = nd_map_get(&ndp->peer_map, address);

	if (index != ND_NONE)
		return index;
	if (ndp->peers.used == ndp->peers.limit)
		forget_oldest(ndp);
	index = nd_pool_get(&ndp->peers);
	if (index == ND_NONE) {
		ndp->counters.peers_full++;
		return ND_NONE;
	}
	*nd_ndp_peer_at(ndp, index) = (struct nd_ndp_peer){ .address = address, .paths = ND_NONE };
	nd_map_set(&ndp->peer_map, address, index);
	link_idle(ndp, index);
	return index;
}

bool nd_ndp_needs_peer(const void *endpoint, uint32_t address, nd_ns now)
{
	const struct nd_ndp *ndp = endpoint;
	uint32_t index = nd_map_get(&ndp->peer_map, address);

	(void)now; /* a connection that is remembered has its peer */
	return index != ND_NONE && !is_idle(nd_ndp_peer_at(ndp, index));
}

void nd_ndp_peer_use(struct nd_ndp *ndp, uint32_t index)
{
	struct nd_ndp_peer *peer = nd_ndp_peer_at(ndp, index);

	if (is_idle(peer))
		unlink_idle(ndp, index);
	peer->users++;
}

void nd_ndp_peer_drop(struct nd_ndp *ndp, uint32_t index)
{
	struct nd_ndp_peer *peer = nd_ndp_peer_at(ndp, index);

	nd_assert(peer->users > 0);
	peer->users--;
	if (is_idle(peer))
		link_idle(ndp, index);
}

/* ---- paths ---- */

/* Takes the path set of a peer that nobody uses now; ND_NONE when all are in use. */
static uint32_t reclaim_paths(struct nd_ndp *ndp)
{
	for (uint32_t i = ndp->peer_oldest; i != ND_NONE; i = nd_ndp_peer_at(ndp, i)->next) {
		struct nd_ndp_peer *peer = nd_ndp_peer_at(ndp, i);
		uint32_t paths = peer->paths;

		peer->paths = ND_NONE;
		if (paths != ND_NONE)
			return paths;
	}
	return ND_NONE;
}

static struct nd_paths *paths_at(const struct nd_ndp *ndp, uint32_t index)
{
	return nd_pool_at(&ndp->path_sets, index);
}

struct nd_paths *nd_ndp_peer_make_paths(struct nd_ndp *ndp, uint32_t index)
{
	struct nd_ndp_peer *peer = nd_ndp_peer_at(ndp, index);
	uint32_t paths = nd_pool_get(&ndp->path_sets);

	if (paths == ND_NONE)
		paths = reclaim_paths(ndp);
	if (paths == ND_NONE) {
		ndp->counters.path_sets_full++;
		return NULL;
	}
	nd_paths_init(paths_at(ndp, paths), ndp->config.paths_max, ndp->config.paths,
		      nd_rng_make(nd_rng_u64(&ndp->rng), peer->address));
	peer->paths = paths;
	return paths_at(ndp, paths);
}

/* The default paths again. */
static void unpin(struct nd_ndp *ndp, uint32_t index)
{
	struct nd_ndp_peer *peer = nd_ndp_peer_at(ndp, index);

	if (!peer->pinned)
		return;
	peer->pinned = false;
	nd_paths_init(paths_at(ndp, peer->paths), ndp->config.paths_max, ndp->config.paths,
		      nd_rng_make(nd_rng_u64(&ndp->rng), peer->address));
	if (is_idle(peer))
		link_idle(ndp, index);
}

int nd_ndp_peer_set_paths(struct nd_ndp *ndp, const struct nd_command *command)
{
	uint32_t count = command->bytes / 2;
	struct nd_ndp_peer *peer;
	struct nd_paths *paths;
	uint32_t index;

	if (count > ndp->config.paths_max || command->bytes % 2 || (count && !command->payload))
		return -EINVAL;
	index = nd_ndp_peer_get(ndp, command->peer);
	if (index == ND_NONE)
		return -ENOBUFS;
	if (count == 0) {
		unpin(ndp, index);
		return 0;
	}
	paths = nd_ndp_peer_paths(ndp, index);
	if (!paths)
		return -ENOBUFS;
	peer = nd_ndp_peer_at(ndp, index);
	if (is_idle(peer))
		unlink_idle(ndp, index);
	peer->pinned = true;
	nd_paths_set(paths, command->payload, count);
	return 0;
}

uint16_t nd_ndp_peer_walk_paths(const struct nd_ndp *ndp, uint32_t index)
{
	struct nd_paths *paths = paths_at(ndp, index);

	return nd_paths_id(paths, nd_paths_next_control(paths));
}

/* ---- round-trip time, as RFC 6298 ---- */

nd_ns nd_ndp_peer_rto(const struct nd_ndp *ndp, const struct nd_ndp_peer *peer, uint32_t backoff)
{
	const struct nd_ndp_config *config = &ndp->config;
	nd_ns rto = config->rto_initial_ns;

	if (peer->rtt_ns)
		rto = nd_max_u64(peer->rtt_ns + UINT64_C(4) * peer->rtt_var_ns,
				 config->rto_min_ns);
	return nd_min_u64(rto << nd_min_u32(backoff, 16), config->rto_max_ns);
}
