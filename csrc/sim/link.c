// SPDX-License-Identifier: Apache-2.0
/* What can happen to a packet on the wire: faults, phantom queues, changes on a schedule. */
#include "sim/probe.h"
#include "sim/state.h"

/* ps a byte = 8e12 / rate, kept with 20 binary places: a full packet is off by less than 1 ps. */
uint64_t nd_link_byte_cost(uint64_t rate_bps)
{
	return (UINT64_C(8000000000000) << ND_PORT_COST_SHIFT) / rate_bps;
}

nd_ps nd_delay_sample(struct nd_rng *rng, const struct nd_sim_delay *delay)
{
	nd_ps time = delay->fixed_ps;

	if (delay->count)
		time += delay->quantiles_ps[nd_rng_below(rng, delay->count)];
	return time;
}

static void lose(struct nd_sim *sim, uint32_t number, uint32_t index, uint64_t *counter)
{
	(*counter)++;
	nd_probe_record(sim, ND_SIM_RECORD_LOSE, number, index, sim->now);
	nd_pool_put(&sim->pool, index);
}

/* Probability of spoiling one of bytes: the sum of the bytes', in 1/2^32, saturating. */
static uint32_t corruption(uint32_t per_byte, uint32_t bytes)
{
	return (uint32_t)nd_min_u64(UINT32_MAX, ((uint64_t)per_byte * bytes) >> 16);
}

static bool survives(struct nd_sim *sim, uint32_t number, uint32_t index)
{
	struct nd_sim_port *port = nd_sim_port(sim, number);
	struct nd_sim_port_extra *extra = port->extra;

	if (port->flags & ND_PORT_DOWN) {
		lose(sim, number, index, &sim->counters.lost_packets);
		return false;
	}
	if (!(port->flags & ND_PORT_FAULTY))
		return true;
	if (nd_rng_chance(&extra->rng, extra->loss)) {
		lose(sim, number, index, &sim->counters.lost_packets);
		return false;
	}
	if (nd_rng_chance(&extra->rng, corruption(extra->corrupt,
						  nd_sim_packet(sim, index)->wire_bytes))) {
		lose(sim, number, index, &sim->counters.corrupted_packets);
		return false;
	}
	return true;
}

/* The long way of a launch: false when the packet is lost or was scheduled here. */
bool nd_link_pass(struct nd_sim *sim, uint32_t number, uint32_t index, nd_ps start)
{
	struct nd_sim_port *port = nd_sim_port(sim, number);
	struct nd_sim_port_extra *extra = port->extra;

	if (port->flags & ND_PORT_PHANTOM)
		nd_phantom_pass(&extra->phantom, nd_sim_packet(sim, index), start / 1000);
	if (port->flags & ND_PORT_WATCHED)
		nd_probe_launch(sim, number, index, start);
	if (!survives(sim, number, index))
		return false;
	if (!(port->flags & ND_PORT_JITTER))
		return true;
	extra->arrived_at = nd_max_u64(extra->arrived_at,
				       port->busy_until + port->delay +
				       nd_delay_sample(&extra->rng, &sim->config.send_delay) -
				       sim->config.send_delay.fixed_ps);
	nd_sim_packet(sim, index)->next = ND_NONE;
	nd_sim_put(sim, extra->arrived_at, ND_WORK_ARRIVE, port->peer, index);
	return false;
}

static void apply(struct nd_sim *sim, uint32_t number, const struct nd_sim_change *change)
{
	struct nd_sim_port *port = nd_sim_port(sim, number);
	nd_ps fixed = nd_topology_latency(&sim->topology, port->peer);

	if (number < sim->topology.hosts)
		fixed += sim->config.send_delay.fixed_ps;
	switch (change->kind) {
	case ND_SIM_CHANGE_RATE:
		port->byte_cost = nd_link_byte_cost(change->value);
		break;
	case ND_SIM_CHANGE_DOWN:
		port->flags |= ND_PORT_DOWN;
		break;
	case ND_SIM_CHANGE_UP:
		port->flags &= (uint8_t)~ND_PORT_DOWN;
		break;
	case ND_SIM_CHANGE_LOSS:
		port->extra->loss = (uint32_t)nd_min_u64(UINT32_MAX, change->value);
		break;
	case ND_SIM_CHANGE_CORRUPT:
		port->extra->corrupt = (uint32_t)nd_min_u64(UINT32_MAX, change->value);
		break;
	case ND_SIM_CHANGE_DELAY:
		port->delay = change->value + fixed;
		break;
	}
	if (port->extra && (port->extra->loss || port->extra->corrupt))
		port->flags |= ND_PORT_FAULTY;
	else
		port->flags &= (uint8_t)~ND_PORT_FAULTY;
}

void nd_link_change_due(struct nd_sim *sim)
{
	while (sim->change_next < sim->config.change_count) {
		const struct nd_sim_change *change = &sim->changes[sim->change_next];

		if (change->time_ps > sim->now) {
			nd_sim_put(sim, change->time_ps, ND_WORK_CHANGE, 0, 0);
			return;
		}
		sim->change_next++;
		apply(sim, change->port, change);
		if (change->both_ways)
			apply(sim, nd_topology_port_reverse(&sim->topology, change->port), change);
	}
}
