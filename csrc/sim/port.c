// SPDX-License-Identifier: Apache-2.0
/* An egress port: its discipline, and the wire behind it. */
#include "sim/port.h"

#include "sim/probe.h"

bool nd_sim_port_serve(struct nd_sim *sim, struct nd_sim_port *port, uint32_t number, nd_ps start)
{
	struct nd_queue *queue = nd_sim_queue(port);
	uint32_t index = queue->ops->dequeue(queue, start / ND_PS_PER_NS);

	if (ND_UNLIKELY(index == ND_NONE))
		return false;
	nd_sim_port_launch(sim, port, number, index, start);
	return true;
}

/* What the discipline did not keep. */
static void shed(struct nd_sim *sim, uint32_t number, const struct nd_shed *shed)
{
	uint32_t next;

	for (uint32_t index = shed->dropped; index != ND_NONE; index = next) {
		next = nd_sim_packet(sim, index)->next;
		sim->counters.dropped_packets++;
		nd_probe_record(sim, ND_SIM_RECORD_DROP, number, index, sim->now);
		nd_pool_put(&sim->pool, index);
	}
	for (uint32_t index = shed->returned; index != ND_NONE; index = next) {
		next = nd_sim_packet(sim, index)->next;
		sim->counters.bounced_packets++;
		nd_probe_record(sim, ND_SIM_RECORD_BOUNCE, number, index, sim->now);
		nd_sim_switch_forward(sim, nd_topology_port_node(&sim->topology, number), index);
	}
}

/* The wire is free: the packet that has just come begins at once. */
static inline void start(struct nd_sim *sim, struct nd_sim_port *port, uint32_t number)
{
	if (sim->now >= port->busy_until && nd_sim_queue(port)->packets)
		nd_sim_port_serve(sim, port, number, sim->now);
}

static void offer_watched(struct nd_sim *sim, struct nd_sim_port *port, uint32_t number,
			  uint32_t index)
{
	struct nd_queue *queue = nd_sim_queue(port);
	struct nd_shed left = ND_SHED_EMPTY;

	nd_probe_before_enqueue(sim, number, index);
	if (queue->ops->enqueue(queue, index, sim->now_ns, &left) == ND_TRIMMED)
		nd_probe_record(sim, ND_SIM_RECORD_TRIM, number, index, sim->now);
	if (left.cut != ND_NONE)
		nd_probe_record(sim, ND_SIM_RECORD_TRIM, number, left.cut, sim->now);
	shed(sim, number, &left);
	start(sim, port, number);
	nd_probe_depth(sim, number);
}

void nd_sim_port_offer(struct nd_sim *sim, uint32_t number, uint32_t index)
{
	struct nd_sim_port *port = nd_sim_port(sim, number);
	struct nd_queue *queue = nd_sim_queue(port);
	struct nd_shed left = ND_SHED_EMPTY;

	nd_sim_port_advance(sim, port, number);
	if (ND_UNLIKELY(port->flags & ND_PORT_WATCHED)) {
		offer_watched(sim, port, number, index);
		return;
	}
	queue->ops->enqueue(queue, index, sim->now_ns, &left);
	if (ND_UNLIKELY(left.dropped != ND_NONE || left.returned != ND_NONE))
		shed(sim, number, &left);
	start(sim, port, number);
}
