/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Transmissions: what every hop does, so it is inline.
 *
 * DESIGN NOTES
 * 1. The end of a transmission is no event of its own. The packet on the wire has one when it
 *    arrives, which is at that moment or later; it then looks back at the port that sent it. What
 *    waits there begins when the wire became free, in the past, and arrives in the future, because
 *    its transmission takes time. Whatever else comes to the port in between looks first whether
 *    somebody's turn has come. So each discipline sees the same calls at the same times, in the
 *    same order, as if every transmission had an event for its end.
 * 2. Where that does not hold the end is scheduled, as work SERVE: a lost packet does not arrive, a
 *    buffer that ports share must be given back in time, a delay may have been shortened.
 * 3. A transmission that ends when another packet comes to the port counts as ended.
 */
#ifndef ND_SIM_PORT_H
#define ND_SIM_PORT_H

#include "sim/state.h"

/* Where the packet goes from the node: the port that it leaves by, the node itself when that is a
 * host (ports of these numbers are NICs, and none leads to one), or ND_NONE when a switch will
 * draw. */
static inline uint32_t nd_sim_port_after(const struct nd_sim *sim, uint32_t node,
					 const struct nd_packet *packet)
{
	if (node < sim->topology.hosts)
		return node;
	if (ND_LIKELY(sim->direct))
		return nd_topology_clos_port(&sim->topology, node, packet->target, packet->path);
	return nd_sim_switch_resolve(sim, node, packet);
}

/* The packet will be at the other end of the port's cable at that time. */
static inline void nd_sim_port_arrive(struct nd_sim *sim, const struct nd_sim_port *port,
				      uint32_t number, uint32_t index, nd_ps time)
{
	nd_agenda_put(&sim->agenda, time, (uint32_t)ND_WORK_ARRIVE << ND_WORK_SHIFT | number, index,
		      nd_sim_port_after(sim, port->peer, nd_sim_packet(sim, index)));
}

/* Puts the packet on the wire at start, when the wire is free. */
static inline void nd_sim_port_launch(struct nd_sim *sim, struct nd_sim_port *port, uint32_t number,
				  uint32_t index, nd_ps start)
{
	const struct nd_packet *packet = nd_sim_packet(sim, index);

	port->busy_until = start + ((packet->wire_bytes * port->byte_cost) >> ND_PORT_COST_SHIFT);
	port->serving = packet->priority;
	sim->counters.hops++;
	if (ND_UNLIKELY(port->flags) && !nd_link_pass(sim, number, index, start))
		return;
	nd_sim_port_arrive(sim, port, number, index, port->busy_until + port->delay);
}

/* Sends whatever had its turn by now. */
static inline void nd_sim_port_advance(struct nd_sim *sim, struct nd_sim_port *port,
				       uint32_t number)
{
	while (port->busy_until <= sim->now && nd_sim_queue(port)->packets &&
	       nd_sim_port_serve(sim, port, number, port->busy_until))
		;
}

#endif
