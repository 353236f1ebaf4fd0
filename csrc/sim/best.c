// SPDX-License-Identifier: Apache-2.0
/*
 * The shortest possible time of a message on an idle network: its packets back to back on one path,
 * stored and forwarded at every hop. This is what slowdown divides by. A short last packet that takes
 * another path than the one full packet before it may overtake that, and end a hair earlier.
 */
#include "sim/state.h"

struct hop {
	uint64_t byte_cost;
	nd_ps delay;
	uint32_t node; /* where it leads to */
};

static nd_ps sending(const struct hop *hop, uint64_t bytes)
{
	return (bytes * hop->byte_cost) >> ND_PORT_COST_SHIFT;
}

/* The hop that begins at a port. */
static struct hop hop_at(const struct nd_sim *sim, uint32_t port)
{
	struct nd_cable cable = nd_topology_cable(&sim->topology, port);
	uint32_t node = nd_topology_peer(&sim->topology, port);

	return (struct hop){
		.byte_cost = nd_link_byte_cost(cable.rate_bps),
		.delay = cable.delay_ps + nd_topology_latency(&sim->topology, node),
		.node = node,
	};
}

/* The hop behind it; all shortest paths are alike in a Clos. */
static struct hop hop_after(const struct nd_sim *sim, const struct hop *hop, uint32_t target)
{
	struct nd_hops next = nd_topology_hops(&sim->topology, hop->node, target, 0);

	return hop_at(sim, next.ports ? next.ports[next.digit] : next.first + next.digit);
}

nd_ps nd_sim_best(const struct nd_sim *sim, uint32_t engine, uint32_t source, uint32_t target,
		  uint64_t bytes)
{
	const struct nd_sim_engine *e = &sim->engines[engine];
	uint64_t full = bytes ? (bytes - 1) / e->payload_bytes_max : 0;
	uint64_t full_wire = (uint64_t)e->payload_bytes_max + e->overhead_bytes;
	uint64_t last_wire = bytes - full * e->payload_bytes_max + e->overhead_bytes;
	struct hop hop = hop_at(sim, source);
	nd_ps train = 0;   /* when the full packets before the last one have left the hop */
	nd_ps slowest = 0; /* longest transmission of a full packet so far */
	nd_ps last = 0;    /* when the last packet has arrived at the end of the hop */
	nd_ps first = 0;   /* when the first full packet has */

	last_wire = nd_max_u64(last_wire, e->wire_bytes_min);
	full_wire = nd_max_u64(full_wire, e->wire_bytes_min);
	for (;;) {
		if (full) {
			nd_ps time = sending(&hop, full_wire);

			slowest = nd_max_u64(slowest, time);
			first += time;
			train = first + (full - 1) * slowest;
			first += hop.delay;
		}
		last = nd_max_u64(last, train) + sending(&hop, last_wire) + hop.delay;
		if (hop.node == target)
			break;
		hop = hop_after(sim, &hop, target);
	}
	return last + sim->config.send_delay.fixed_ps + sim->config.receive_delay.fixed_ps;
}
