// SPDX-License-Identifier: Apache-2.0
/* Forwarding: which of the equal-cost ports a packet takes. */
#include "sim/state.h"

/* R-EC-1: the same flow takes the same port of a switch; other switches decide independently. */
static uint32_t flow_hash(const struct nd_packet *packet, uint64_t salt)
{
	uint64_t ends = (uint64_t)packet->source << 32 | packet->target;

	return (uint32_t)(nd_mix64(nd_mix64(ends ^ salt) + packet->flow) >> 32);
}

static uint32_t choose(struct nd_sim *sim, uint32_t node, const struct nd_packet *packet,
		       const struct nd_hops *hops)
{
	struct nd_switch *at = &sim->switches[node - sim->topology.hosts];

	switch (sim->route) {
	case ND_SIM_ROUTE_SOURCE:
		return hops->digit;
	case ND_SIM_ROUTE_RANDOM:
		return nd_rng_below(&at->rng, hops->count);
	case ND_SIM_ROUTE_ROUND_ROBIN:
		return at->turn++ % hops->count;
	default:
		return (uint32_t)(((uint64_t)flow_hash(packet, at->salt) * hops->count) >> 32);
	}
}

void nd_switch_forward(struct nd_sim *sim, uint32_t node, uint32_t index)
{
	const struct nd_packet *packet = nd_sim_packet(sim, index);
	struct nd_hops hops = nd_topology_hops(&sim->topology, node, packet->target, packet->path);
	uint32_t pick = hops.count > 1 ? choose(sim, node, packet, &hops) : 0;

	nd_port_offer(sim, hops.ports ? hops.ports[pick] : hops.first + pick, index);
}
