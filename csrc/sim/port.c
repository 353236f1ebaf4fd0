// SPDX-License-Identifier: Apache-2.0
/* An egress port: its discipline, and the wire behind it. */
#include "sim/port.h"

#include "sim/probe.h"

static void serve(struct nd_sim *sim, struct nd_sim_port *port, uint32_t number)
{
	struct nd_queue *queue = port->queue;
	uint32_t index = queue->ops->dequeue(queue, sim->now_ns);

	port->waking = false;
	if (ND_UNLIKELY(index == ND_NONE))
		return;
	nd_sim_port_launch(sim, port, number, index, sim->now);
	if (queue->packets) {
		port->waking = true;
		nd_sim_put_soon(sim, port->busy_until, ND_WORK_SERVE, number, 0);
	}
}

void nd_sim_port_serve(struct nd_sim *sim, uint32_t number)
{
	serve(sim, nd_sim_port(sim, number), number);
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

/* Something may have to be sent, now or when the wire is free. */
static inline void wake(struct nd_sim *sim, struct nd_sim_port *port, uint32_t number)
{
	if (port->waking || !port->queue->packets)
		return;
	if (sim->now >= port->busy_until) {
		serve(sim, port, number);
	} else {
		port->waking = true;
		nd_sim_put(sim, port->busy_until, ND_WORK_SERVE, number, 0);
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
	wake(sim, nd_sim_port(sim, number), number);
	nd_probe_depth(sim, number);
}

void nd_sim_port_offer(struct nd_sim *sim, uint32_t number, uint32_t index)
{
	struct nd_sim_port *port = nd_sim_port(sim, number);
	struct nd_queue *queue = port->queue;
	struct nd_shed left = ND_SHED_EMPTY;

	if (ND_UNLIKELY(port->flags & ND_PORT_WATCHED)) {
		offer_watched(sim, number, index);
		return;
	}
	queue->ops->enqueue(queue, index, sim->now_ns, &left);
	if (ND_UNLIKELY(left.dropped != ND_NONE || left.returned != ND_NONE))
		shed(sim, number, &left);
	wake(sim, port, number);
}
