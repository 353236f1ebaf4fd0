/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which node hangs on which, and the equal-cost next hops from a switch to a host.
 *
 * DESIGN NOTES
 * 1. Nodes are numbered hosts first, then switches. Ports are numbered hosts' NICs first (host h
 *    owns port h), then the ports of each switch in turn.
 * 2. One shape, the folded Clos of up to three levels, covers every fabric of the papers: k-ary
 *    FatTrees, oversubscribed ones, HULL's tree, leaf-spine (one pod without cores), a single
 *    switch (one edge without aggs). Its routes are arithmetic: no tables.
 * 3. Path ids are the digits of the choices on the way up: agg * uplinks + uplink between pods,
 *    agg inside a pod. Core c hangs on agg c / uplinks of each pod, so the id is the core.
 * 4. Any other graph gets its shortest paths by breadth-first search at set-up; a path id then
 *    spreads over the equal-cost ports of each hop.
 */
#ifndef ND_SIM_TOPOLOGY_H
#define ND_SIM_TOPOLOGY_H

#include "base/error.h"
#include "base/types.h"
#include "sim/agenda.h"
#include "wire/packet.h"

enum nd_topology_kind {
	ND_TOPOLOGY_CLOS = 0,
	ND_TOPOLOGY_BACK_TO_BACK = 1, /* two hosts, one cable */
	ND_TOPOLOGY_GRAPH = 2,
};

/* Levels of switches; a switch of a graph is an edge when a host hangs on it, else a core. */
enum nd_level { ND_LEVEL_EDGE, ND_LEVEL_AGG, ND_LEVEL_CORE, ND_LEVEL_COUNT };

/* What a port leads to: it decides rate, delay and discipline. */
enum nd_tier {
	ND_TIER_NIC,       /* host -> edge (or host) */
	ND_TIER_EDGE_DOWN, /* edge -> host: the last hop */
	ND_TIER_EDGE_UP,   /* edge -> agg */
	ND_TIER_AGG_DOWN,  /* agg -> edge */
	ND_TIER_AGG_UP,    /* agg -> core */
	ND_TIER_CORE_DOWN, /* core -> agg, and between the switches of a graph */
	ND_TIER_COUNT,
};

struct nd_cable {
	uint64_t rate_bps;
	nd_ps delay_ps; /* propagation, one way */
};

/* A cable of a custom graph. */
struct nd_topology_edge {
	uint32_t a; /* node */
	uint32_t b; /* node */
	struct nd_cable cable;
};

struct nd_topology_config {
	uint32_t kind;  /* enum nd_topology_kind */
	/* CLOS */
	uint32_t pods;
	uint32_t edges;   /* a pod */
	uint32_t hosts;   /* an edge; GRAPH: in all */
	uint32_t aggs;    /* a pod; 0: a single switch */
	uint32_t uplinks; /* an agg; 0: no core, one pod */
	/* GRAPH */
	uint32_t switches;
	uint32_t edge_count;
	uint32_t spare;
	const struct nd_topology_edge *edge_list;
	/* Cables host-edge, edge-agg, agg-core; a GRAPH has its own. */
	struct nd_cable cables[ND_LEVEL_COUNT];
	/* From the last bit in until the packet is in its output queue. */
	nd_ps latency_ps[ND_LEVEL_COUNT];
};

#define ND_TOPOLOGY_HOSTS_MAX 65536u
#define ND_TOPOLOGY_PORTS_MAX (1u << 22)
#define ND_TOPOLOGY_RADIX_MAX 4096u

/*
 * The way from a switch of the Clos to any host. Levels differ in these numbers alone, so finding
 * a port takes no branch that depends on where a packet is, which no processor could guess.
 */
struct nd_topology_route {
	uint64_t below_inverse; /* 2^32 / hosts below one port down, rounded up */
	uint32_t below_first;   /* hosts below the switch ... */
	uint32_t below_count;
	uint32_t down; /* first port to them; the ports up follow ... */
	uint32_t up;
	uint32_t up_count;
	uint32_t near_first; /* hosts for which the path itself is the digit (an edge's own pod) ... */
	uint32_t near_count;
	uint32_t whole; /* ... for others it is whole * path + quotient * (path / uplinks) */
	uint32_t quotient;
};

struct nd_topology_graph; /* routing tables of a custom graph */

struct nd_topology {
	struct nd_topology_config config;
	uint32_t hosts;
	uint32_t switches;
	uint32_t ports;
	uint32_t agg_base;  /* node number of the first agg */
	uint32_t core_base; /* node number of the first core */
	uint32_t edge_port_base;
	uint32_t agg_port_base;
	uint32_t core_port_base;
	uint32_t edge_radix;
	uint32_t agg_radix;
	uint32_t paths_max;       /* most paths between two hosts */
	uint64_t uplinks_inverse; /* 2^32 / uplinks, rounded up */
	struct nd_topology_route *routes;  /* of each switch of a Clos */
	struct nd_topology_graph *graph;
};

/* The equal-cost ports of a hop: ports[i], or first + i when ports is NULL. */
struct nd_hops {
	uint32_t first;
	uint32_t count;
	uint32_t digit; /* the one that the packet's path id names; < count */
	const uint32_t *ports;
};

/* Copies config (and the edge list). 0 or a negative errno with *error filled in. */
int nd_topology_init(struct nd_topology *topology, const struct nd_topology_config *config,
		     struct nd_error *error);
void nd_topology_free(struct nd_topology *topology);

/* Config of a k-ary FatTree with one cable everywhere; k even, 2..40. */
void nd_topology_fat_tree(struct nd_topology_config *config, uint32_t k, struct nd_cable cable);

/* Number of paths between two different hosts. */
uint32_t nd_topology_paths(const struct nd_topology *topology, uint32_t source, uint32_t target);

/* Nodes and ports. */
uint32_t nd_topology_peer(const struct nd_topology *topology, uint32_t port);
uint32_t nd_topology_port_node(const struct nd_topology *topology, uint32_t port);
uint32_t nd_topology_port_first(const struct nd_topology *topology, uint32_t node);
uint32_t nd_topology_port_count(const struct nd_topology *topology, uint32_t node);
/* The port at the other end of port's cable. */
uint32_t nd_topology_port_reverse(const struct nd_topology *topology, uint32_t port);
enum nd_tier nd_topology_tier(const struct nd_topology *topology, uint32_t port);
struct nd_cable nd_topology_cable(const struct nd_topology *topology, uint32_t port);
/* Latency of a switch; 0 for a host. */
nd_ps nd_topology_latency(const struct nd_topology *topology, uint32_t node);

/* Equal-cost ports of a switch of a graph. */
struct nd_hops nd_topology_graph_hops(const struct nd_topology *topology, uint32_t node,
				      uint32_t target, uint32_t path);

/* A path id that lies outside the range counts as its remainder. */
static inline uint32_t nd_topology_wrap(uint32_t digit, uint32_t count)
{
	return ND_LIKELY(digit < count) ? digit : digit % count;
}

static inline uint64_t nd_topology_inverse(uint32_t d)
{
	return ((UINT64_C(1) << 32) + d - 1) / d;
}

/* n / d for n < 2^32 / d, by the inverse of d. */
static inline uint32_t nd_topology_divide(uint32_t n, uint64_t inverse)
{
	return (uint32_t)((n * inverse) >> 32);
}

/* Which of its ports up a switch takes for a target that is not below it. */
static inline uint32_t nd_topology_digit(const struct nd_topology *t,
					 const struct nd_topology_route *route, uint32_t target,
					 uint32_t path)
{
	uint32_t digit = route->whole * path +
			 route->quotient * nd_topology_divide(path, t->uplinks_inverse);

	digit = target - route->near_first < route->near_count ? path : digit;
	return nd_topology_wrap(digit, route->up_count);
}

static inline struct nd_hops nd_topology_clos_hops(const struct nd_topology *t, uint32_t node,
						   uint32_t target, uint32_t path)
{
	const struct nd_topology_route *route = &t->routes[node - t->hosts];
	uint32_t below = target - route->below_first;

	if (below < route->below_count)
		return (struct nd_hops){
			.first = route->down + nd_topology_divide(below, route->below_inverse),
			.count = 1,
		};
	return (struct nd_hops){
		.first = route->up, .count = route->up_count,
		.digit = nd_topology_digit(t, route, target, path),
	};
}

/* The port of a Clos switch that the path id names. */
static inline uint32_t nd_topology_clos_port(const struct nd_topology *t, uint32_t node,
					     uint32_t target, uint32_t path)
{
	const struct nd_topology_route *route = &t->routes[node - t->hosts];
	uint32_t below = target - route->below_first;
	uint32_t down = route->down + nd_topology_divide(below, route->below_inverse);
	uint32_t up = route->up + nd_topology_digit(t, route, target, path);

	return below < route->below_count ? down : up;
}

/* Where a switch may send a packet for target. */
static inline struct nd_hops nd_topology_hops(const struct nd_topology *t, uint32_t node,
					      uint32_t target, uint32_t path)
{
	if (ND_LIKELY(!t->graph))
		return nd_topology_clos_hops(t, node, target, path);
	return nd_topology_graph_hops(t, node, target, path);
}

#endif
