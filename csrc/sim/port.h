/* SPDX-License-Identifier: Apache-2.0 */
/* The start of a transmission: what every hop does, so it is inline. */
#ifndef ND_SIM_PORT_H
#define ND_SIM_PORT_H

#include "sim/state.h"

/* Puts the packet on the wire at start, when the wire is free. */
static inline void nd_sim_port_launch(struct nd_sim *sim, struct nd_sim_port *port, uint32_t number,
				  uint32_t index, nd_ps start)
{
	struct nd_packet *packet = nd_sim_packet(sim, index);

	port->busy_until = start + ((packet->wire_bytes * port->byte_cost) >> ND_PORT_COST_SHIFT);
	port->serving = packet->priority;
	sim->counters.hops++;
	if (ND_UNLIKELY(port->flags) && !nd_link_pass(sim, number, index, start))
		return;
	packet->next = ND_NONE;
	nd_sim_put_soon(sim, port->busy_until + port->delay, ND_WORK_ARRIVE, port->peer, index);
}

#endif
