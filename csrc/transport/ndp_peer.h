/* SPDX-License-Identifier: Apache-2.0 */
/* The hosts that NDP talks to: their paths and their round-trip time. */
#ifndef ND_TRANSPORT_NDP_PEER_H
#define ND_TRANSPORT_NDP_PEER_H

#include "transport/ndp_internal.h"
#include "transport/paths.h"

/* Index of the peer, made when it is new; ND_NONE when there is no room. */
uint32_t nd_ndp_peer_get(struct nd_ndp *ndp, uint32_t address);
bool nd_ndp_needs_peer(const void *endpoint, uint32_t address, nd_ns now);
void nd_ndp_peer_use(struct nd_ndp *ndp, uint32_t index);
void nd_ndp_peer_drop(struct nd_ndp *ndp, uint32_t index);
/* Paths for a peer that has none yet; NULL when there is no room. */
struct nd_paths *nd_ndp_peer_make_paths(struct nd_ndp *ndp, uint32_t index);
/* The paths that a packet with a path has been sent on one of. */
static inline struct nd_paths *nd_ndp_paths_of(const struct nd_ndp *ndp,
					       const struct nd_ndp_connection *connection)
{
	return nd_pool_at(&ndp->path_sets, nd_ndp_peer_at(ndp, connection->peer)->paths);
}
/* Its paths, made when there are none yet; NULL when there is no room. */
static inline struct nd_paths *nd_ndp_peer_paths(struct nd_ndp *ndp, uint32_t index)
{
	uint32_t paths = nd_ndp_peer_at(ndp, index)->paths;

	return ND_LIKELY(paths != ND_NONE) ? nd_pool_at(&ndp->path_sets, paths) :
					     nd_ndp_peer_make_paths(ndp, index);
}
/* 0, -EINVAL, -ENOBUFS. */
int nd_ndp_peer_set_paths(struct nd_ndp *ndp, const struct nd_command *command);
/* Id of the next path of a set for a control packet. */
uint16_t nd_ndp_peer_walk_paths(const struct nd_ndp *ndp, uint32_t paths);
/* Id of a path for a control packet to a peer without a set of them. */
static inline uint16_t nd_ndp_peer_any_path(struct nd_ndp *ndp)
{
	/* Steps of the golden ratio come by all paths evenly, whatever their number. */
	ndp->control_walk += UINT32_C(0x9e3779b9);
	return (uint16_t)((uint64_t)ndp->control_walk * ndp->config.paths >> 32);
}
/* The set of paths to a peer (an index or ND_NONE), ND_NONE when there is none. */
static inline uint32_t nd_ndp_peer_path_set(const struct nd_ndp *ndp, uint32_t index)
{
	return index == ND_NONE ? ND_NONE : nd_ndp_peer_at(ndp, index)->paths;
}
/* Id of a path for a control packet to a peer: varies, costs the data packets nothing. */
static inline uint16_t nd_ndp_peer_control_path(struct nd_ndp *ndp, uint32_t index)
{
	uint32_t paths = nd_ndp_peer_path_set(ndp, index);

	return paths == ND_NONE ? nd_ndp_peer_any_path(ndp) : nd_ndp_peer_walk_paths(ndp, paths);
}
/* Smooths a round-trip time that was measured, as RFC 6298 does. */
static inline void nd_ndp_peer_measured(struct nd_ndp_peer *peer, nd_ns rtt)
{
	uint32_t sample = (uint32_t)nd_min_u64(rtt, UINT32_MAX / 8);
	uint32_t before = peer->rtt_ns;

	if (ND_UNLIKELY(before == 0)) {
		peer->rtt_ns = nd_max_u32(sample, 1);
		peer->rtt_var_ns = sample / 2;
		return;
	}
	peer->rtt_var_ns += (sample > before ? sample - before : before - sample) / 4 -
			    peer->rtt_var_ns / 4;
	peer->rtt_ns += sample / 8 - before / 8; /* of a time that is not 0, 1 at least is left */
}
/* Time-out after backoff silent ones. */
nd_ns nd_ndp_peer_rto(const struct nd_ndp *ndp, const struct nd_ndp_peer *peer, uint32_t backoff);

#endif
