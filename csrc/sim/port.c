// SPDX-License-Identifier: Apache-2.0
/* An egress port: its discipline, and the wire behind it. */
#include "sim/probe.h"
#include "sim/state.h"

static inline nd_ps transmission(const struct nd_port *port, const struct nd_packet *packet)
{
	return (packet->wire_bytes * port->byte_cost) >> ND_PORT_COST_SHIFT;
}

/* Puts the packet on the wire at start, when the wire is free. */
void nd_port_launch(struct nd_sim *sim, uint32_t number, uint32_t index, nd_ps start)
{
	struct nd_port *port = nd_sim_port(sim, number);
	const struct nd_packet *packet = nd_sim_packet(sim, index);

	port->busy_until = start + transmission(port, packet);
	port->serving = packet->priority;
	sim->counters.hops++;
	if (ND_UNLIKELY(port->flags) && !nd_link_pass(sim, number, index, start))
		return;
	nd_sim_put(sim, port->busy_until + port->delay, ND_TODO_ARRIVE, port->peer, index);
}

void nd_port_serve(struct nd_sim *sim, uint32_t number)
{
	struct nd_port *port = nd_sim_port(sim, number);
	struct nd_queue *queue = port->queue;
	uint32_t index = queue->ops->dequeue(queue, sim->now_ns);
	uint32_t behind;

	port->waking = false;
	if (ND_UNLIKELY(index == ND_NONE))
		return;
	/* What was behind it in its list is likely to be next: a hint of what to fetch. */
	behind = nd_sim_packet(sim, index)->next;
	nd_port_launch(sim, number, index, sim->now);
	if (queue->packets) {
		port->waking = true;
		nd_sim_put(sim, port->busy_until, ND_TODO_SERVE, number, behind);
	}
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
		nd_switch_forward(sim, nd_topology_port_node(&sim->topology, number), index);
	}
}

/* Something may have to be sent, now or when the wire is free. */
static void wake(struct nd_sim *sim, uint32_t number)
{
	struct nd_port *port = nd_sim_port(sim, number);

	if (port->waking || !port->queue->packets)
		return;
	if (sim->now >= port->busy_until) {
		nd_port_serve(sim, number);
	} else {
		port->waking = true;
		nd_sim_put(sim, port->busy_until, ND_TODO_SERVE, number, ND_NONE);
	}
}

static void offer_watched(struct nd_sim *sim, uint32_t number, uint32_t index)
{
	struct nd_queue *queue = nd_sim_port(sim, number)->queue;
	struct nd_shed left = ND_SHED_EMPTY;

	nd_probe_before_enqueue(sim, number, index);
	if (queue->ops->enqueue(queue, index, sim->now_ns, &left) == ND_TRIMMED)
		nd_probe_record(sim, ND_SIM_RECORD_TRIM, number, index, sim->now);
	shed(sim, number, &left);
	wake(sim, number);
	nd_probe_depth(sim, number);
}

void nd_port_offer(struct nd_sim *sim, uint32_t number, uint32_t index)
{
	struct nd_port *port = nd_sim_port(sim, number);
	struct nd_queue *queue = port->queue;
	struct nd_shed left = ND_SHED_EMPTY;

	if (ND_UNLIKELY(port->flags & ND_PORT_WATCHED)) {
		offer_watched(sim, number, index);
		return;
	}
	queue->ops->enqueue(queue, index, sim->now_ns, &left);
	if (ND_UNLIKELY(left.dropped != ND_NONE || left.returned != ND_NONE))
		shed(sim, number, &left);
	wake(sim, number);
}
