// SPDX-License-Identifier: Apache-2.0
/* What can happen to a packet on the wire: faults, phantom queues, changes on a schedule. */
#include "sim/port.h"
#include "sim/probe.h"

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

static bool lose(struct nd_sim *sim, uint32_t number, uint32_t index, nd_ps start,
		 uint64_t *counter)
{
	(*counter)++;
	nd_probe_record(sim, ND_SIM_RECORD_LOSE, number, index, start);
	nd_pool_put(&sim->pool, index);
	return false;
}

/* Probability of spoiling one of bytes: the sum of the bytes', in 1/2^32, saturating. */
static uint32_t corruption(uint32_t per_byte, uint32_t bytes)
{
	return (uint32_t)nd_min_u64(UINT32_MAX, ((uint64_t)per_byte * bytes) >> 16);
}

/* The highest probability that there is means "always". */
static bool happens(struct nd_rng *rng, uint32_t probability)
{
	return nd_rng_chance(rng, probability) || probability == UINT32_MAX;
}

static bool survives(struct nd_sim *sim, uint32_t number, uint32_t index, nd_ps start)
{
	struct nd_sim_port *port = nd_sim_port(sim, number);
	struct nd_sim_port_extra *extra = port->extra;

	if (port->flags & ND_PORT_DOWN)
		return lose(sim, number, index, start, &sim->counters.lost_packets);
	if (!(port->flags & ND_PORT_FAULTY))
		return true;
	if (happens(&extra->rng, extra->loss))
		return lose(sim, number, index, start, &sim->counters.lost_packets);
	if (happens(&extra->rng,
		    corruption(extra->corrupt, nd_sim_packet(sim, index)->wire_bytes)))
		return lose(sim, number, index, start, &sim->counters.corrupted_packets);
	return true;
}

/* A look at a switch's port when its transmission ends, which may have been in the past. */
static void look_after(struct nd_sim *sim, uint32_t number)
{
	nd_ps end = nd_sim_port(sim, number)->busy_until;

	if (number >= sim->topology.hosts)
		nd_sim_put(sim, nd_max_u64(end, sim->now), ND_WORK_SERVE, number, 0);
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
	if (!survives(sim, number, index, start)) {
		look_after(sim, number);
		return false;
	}
	if (port->flags & ND_PORT_PROMPT)
		look_after(sim, number);
	if (!(port->flags & ND_PORT_JITTER))
		return true;
	extra->arrived_at = nd_max_u64(extra->arrived_at,
				       port->busy_until + port->delay +
				       nd_delay_sample(&extra->rng, &sim->config.send_delay) -
				       sim->config.send_delay.fixed_ps);
	nd_sim_port_arrive(sim, port, number, index, extra->arrived_at);
	return false;
}

static void apply(struct nd_sim *sim, uint32_t number, const struct nd_sim_change *change)
{
	struct nd_sim_port *port = nd_sim_port(sim, number);
	nd_ps fixed = nd_topology_latency(&sim->topology, port->peer);

	if (number < sim->topology.hosts)
		fixed += sim->config.send_delay.fixed_ps;
	else
		nd_sim_port_advance(sim, port, number);
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
		look_after(sim, number);
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
