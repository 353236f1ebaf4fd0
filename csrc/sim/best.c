// SPDX-License-Identifier: Apache-2.0
/*
 * The shortest possible time of a message on an idle network: its packets back to back on one path,
 * stored and forwarded at every hop. This is what slowdown divides by. A short last packet that takes
 * another path than the one full packet before it may overtake that, and end a hair earlier.
 */
#include "sim/state.h"

#define HOPS_MAX 64

struct hop {
	uint64_t byte_cost;
	nd_ps delay;
};

static nd_ps sending(const struct hop *hop, uint64_t bytes)
{
	return (bytes * hop->byte_cost) >> ND_PORT_COST_SHIFT;
}

/* Rates and delays from source to target; all shortest paths are alike in a Clos. */
static uint32_t trace(const struct nd_sim *sim, uint32_t source, uint32_t target, struct hop *hops)
{
	uint32_t port = source;
	uint32_t count = 0;

	for (;;) {
		struct nd_cable cable = nd_topology_cable(&sim->topology, port);
		uint32_t node = nd_topology_peer(&sim->topology, port);
		struct nd_hops next;

		hops[count++] = (struct hop){
			.byte_cost = nd_link_byte_cost(cable.rate_bps),
			.delay = cable.delay_ps + nd_topology_latency(&sim->topology, node),
		};
		if (node == target || count == HOPS_MAX)
			return count;
		next = nd_topology_hops(&sim->topology, node, target, 0);
		port = next.ports ? next.ports[next.digit] : next.first + next.digit;
	}
}

nd_ps nd_sim_best(const struct nd_sim *sim, uint32_t engine, uint32_t source, uint32_t target,
		  uint64_t bytes)
{
	const struct nd_sim_engine *e = &sim->engines[engine];
	uint64_t full = bytes ? (bytes - 1) / e->payload_bytes_max : 0;
	uint64_t full_wire = (uint64_t)e->payload_bytes_max + e->overhead_bytes;
	uint64_t last_wire = bytes - full * e->payload_bytes_max + e->overhead_bytes;
	struct hop hops[HOPS_MAX];
	uint32_t count = trace(sim, source, target, hops);
	nd_ps train = 0;   /* when the full packets before the last one have left hop i */
	nd_ps slowest = 0; /* longest transmission of a full packet so far */
	nd_ps last = 0;    /* when the last packet has arrived at the end of hop i */
	nd_ps first = 0;   /* when the first full packet has */

	last_wire = nd_max_u64(last_wire, e->wire_bytes_min);
	full_wire = nd_max_u64(full_wire, e->wire_bytes_min);
	for (uint32_t i = 0; i < count; i++) {
		if (full) {
			nd_ps time = sending(&hops[i], full_wire);

			slowest = nd_max_u64(slowest, time);
			first += time;
			train = first + (full - 1) * slowest;
			first += hops[i].delay;
		}
		last = nd_max_u64(last, train) + sending(&hops[i], last_wire) + hops[i].delay;
	}
	return last + sim->config.send_delay.fixed_ps + sim->config.receive_delay.fixed_ps;
}
