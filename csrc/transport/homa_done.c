// SPDX-License-Identifier: Apache-2.0
/*
 * Memory of ended RPCs, so that a late duplicate of a request is never executed again.
 *
 * DESIGN NOTES
 * 1. A ring of the last done_max ids of all clients together, found by the map that has the open
 *    RPCs, too: an RPC that ends changes its entry there, and a new one asks once. An entry counts
 *    for done_ns, which is longer than a packet can live. A per-client bitmap would not do: ids are
 *    unique per client host, so one server sees a thin and uneven sample of them.
 * 2. When the ring is full its oldest entry makes room. If that one still counted, the client's
 *    floor rises to its id: unknown ids up to the floor are refused from then on, for done_ns.
 *    What may have run is refused, never run again.
 * 3. Ids far below the floor belong to an earlier or later life of the client and are new. This is
 *    what lets a rebooted HomaModule, whose ids start at 2 again, in.
 */
#include "transport/homa_internal.h"

/* A client cannot have this many ids on their way. */
#define FLOOR_REACH (UINT64_C(1) << 32)

bool nd_homa_done_is(const struct nd_homa *homa, uint32_t known, uint32_t handle, uint64_t id,
		     nd_ns now)
{
	const struct nd_homa_done *done;

	if (known == ND_NONE || !(known & ND_HOMA_ENDED))
		return false;
	done = &homa->done[known ^ ND_HOMA_ENDED];
	return done->id == id && done->peer == handle && now - done->at <= homa->config.done_ns;
}

bool nd_homa_done_stale(const struct nd_homa *homa, const struct nd_homa_peer *peer, uint64_t id,
			nd_ns now)
{
	return peer->floor && id <= peer->floor && peer->floor - id < FLOOR_REACH &&
	       now - peer->floor_at <= homa->config.done_ns;
}

static void forget_oldest(struct nd_homa *homa, nd_ns now)
{
	struct nd_homa_done *done = &homa->done[homa->done_first];

	if (nd_map_get(&homa->known, done->key) == (homa->done_first | ND_HOMA_ENDED))
		nd_map_remove(&homa->known, done->key);
	if (now - done->at <= homa->config.done_ns) {
		struct nd_homa_peer *peer = nd_homa_peer_find(homa, done->peer);

		homa->counters.done_evicted_early++;
		if (peer) {
			if (!nd_homa_done_stale(homa, peer, done->id, now))
				peer->floor = done->id;
			peer->floor_at = now;
		}
	}
	if (++homa->done_first == homa->config.done_max)
		homa->done_first = 0;
	homa->done_count--;
}

void nd_homa_done_add(struct nd_homa *homa, struct nd_homa_peer *peer, uint64_t id, nd_ns now)
{
	uint32_t at;

	if (homa->done_count == homa->config.done_max)
		forget_oldest(homa, now);
	at = homa->done_first + homa->done_count;
	if (at >= homa->config.done_max)
		at -= homa->config.done_max;
	homa->done[at] = (struct nd_homa_done){
		.key = nd_homa_key(homa, peer->handle, id),
		.id = id,
		.at = now,
		.peer = peer->handle,
	};
	homa->done_count++;
	peer->done_at = now;
	nd_map_set(&homa->known, homa->done[at].key, at | ND_HOMA_ENDED);
}
