// SPDX-License-Identifier: Apache-2.0
/* Forwarding: which of the equal-cost ports a packet takes. */
#include "sim/state.h"

/* R-EC-1: the same flow takes the same port of a switch; other switches decide independently. */
static uint32_t flow_hash(const struct nd_packet *packet, uint64_t salt)
{
	uint64_t ends = (uint64_t)packet->source << 32 | packet->target;

	return (uint32_t)(nd_mix64(nd_mix64(ends ^ salt) + packet->flow) >> 32);
}

static uint32_t spread(struct nd_sim *sim, uint32_t node, uint32_t count)
{
	struct nd_sim_switch *at = &sim->switches[node - sim->topology.hosts];

	if (sim->route == ND_SIM_ROUTE_RANDOM)
		return nd_rng_below(&at->rng, count);
	return at->turn++ % count;
}

static uint32_t port_of(const struct nd_hops *hops, uint32_t pick)
{
	return hops->ports ? hops->ports[pick] : hops->first + pick;
}

uint32_t nd_sim_switch_resolve(const struct nd_sim *sim, uint32_t node,
			       const struct nd_packet *packet)
{
	uint64_t hash;
	struct nd_hops hops = nd_topology_hops(&sim->topology, node, packet->target, packet->path);
	if (hops.count == 1)
		return port_of(&hops, 0);
	if (sim->route == ND_SIM_ROUTE_SOURCE)
		return port_of(&hops, hops.digit);
	if (sim->route != ND_SIM_ROUTE_FLOW)
		return ND_NONE;
	hash = flow_hash(packet, sim->switches[node - sim->topology.hosts].salt);
	return port_of(&hops, (uint32_t)((hash * hops.count) >> 32));
}

void nd_sim_switch_forward(struct nd_sim *sim, uint32_t node, uint32_t index)
{
	const struct nd_packet *packet = nd_sim_packet(sim, index);
	uint32_t port = nd_sim_switch_resolve(sim, node, packet);

	if (port == ND_NONE) {
		struct nd_hops hops = nd_topology_hops(&sim->topology, node, packet->target,
						       packet->path);

		port = port_of(&hops, spread(sim, node, hops.count));
	}
	nd_sim_port_offer(sim, port, index);
}
