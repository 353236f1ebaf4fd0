// SPDX-License-Identifier: Apache-2.0
/* The ports of a simulation: rate, delay and discipline of each. */
#include "sim/build.h"

#include "sim/probe.h"

#include <errno.h>
#include <string.h>

/* Streams of random numbers beside those of build.c. */
enum { STREAM_QUEUE = 0x100, STREAM_LINK };

static uint64_t stream(uint32_t kind, uint32_t number)
{
	return (uint64_t)kind << 32 | number;
}

static size_t queue_bytes(const struct nd_sim_egress *egress)
{
	return (egress->ops->bytes(egress->config) + 63) & ~(size_t)63;
}

static int check_egress(const struct nd_sim *sim, struct nd_error *error)
{
	const char *why = NULL;
	uint32_t checked = 0;

	for (uint32_t p = sim->topology.hosts; p < sim->topology.ports; p++) {
		uint32_t tier = nd_topology_tier(&sim->topology, p);
		const struct nd_sim_egress *egress = &sim->config.egress[tier];

		if (checked >> tier & 1)
			continue;
		checked |= 1u << tier;
		if (!egress->ops || !egress->config)
			return nd_error_set(error, -EINVAL, "tier %u has ports but no discipline",
					    tier);
		if (egress->ops->check(egress->config, &why) < 0)
			return nd_error_set(error, -EINVAL, "discipline %s of tier %u: %s",
					    egress->ops->name, tier, why ? why : "refused");
	}
	return 0;
}

/* What a port needs besides its queue when faults or delays can befall it. */
static int build_extras(struct nd_sim *sim, struct nd_error *error)
{
	const struct nd_sim_config *config = &sim->config;
	bool jitter = config->send_delay.count > 0;
	struct nd_port_extra *extras;

	if (!jitter && !config->change_count)
		return 0;
	extras = nd_keep_get(&sim->keep, sim->topology.ports * sizeof(*extras));
	if (!extras)
		return nd_error_set(error, -ENOMEM, "no room for the state of faulty links");
	for (uint32_t p = 0; p < sim->topology.ports; p++) {
		struct nd_rng rng = nd_rng_make(config->seed, stream(STREAM_LINK, p));

		sim->ports[p].extra = &extras[p];
		extras[p].rng = rng;
		if (jitter && p < sim->topology.hosts)
			sim->ports[p].flags |= ND_PORT_JITTER;
	}
	return 0;
}

static void build_wire(struct nd_sim *sim, uint32_t number)
{
	struct nd_port *port = &sim->ports[number];
	struct nd_cable cable = nd_topology_cable(&sim->topology, number);

	port->peer = nd_topology_peer(&sim->topology, number);
	port->byte_cost = nd_link_byte_cost(cable.rate_bps);
	port->delay = cable.delay_ps + nd_topology_latency(&sim->topology, port->peer);
	port->tier = (uint8_t)nd_topology_tier(&sim->topology, number);
	if (number < sim->topology.hosts)
		port->delay += sim->config.send_delay.fixed_ps;
	if (nd_probe_watches_ports(&sim->config))
		port->flags |= ND_PORT_WATCHED;
}

static void build_queue(struct nd_sim *sim, uint32_t number, void *memory)
{
	struct nd_port *port = &sim->ports[number];
	const struct nd_sim_egress *egress = &sim->config.egress[port->tier];
	struct nd_rng rng = nd_rng_make(sim->config.seed, stream(STREAM_QUEUE, number));

	port->queue = memory;
	egress->ops->init(port->queue, &sim->pool, egress->config,
			  &sim->queue_counters[number - sim->topology.hosts], nd_rng_u64(&rng));
	nd_assert(port->queue->ops == egress->ops);
}

int nd_build_ports(struct nd_sim *sim, struct nd_error *error)
{
	uint32_t hosts = sim->topology.hosts, ports = sim->topology.ports;
	size_t total = 0;
	uint8_t *next;

	if (check_egress(sim, error))
		return error->code;
	sim->ports = nd_keep_get(&sim->keep, ports * sizeof(*sim->ports));
	sim->queue_counters = nd_keep_get(&sim->keep,
					  (ports - hosts) * sizeof(*sim->queue_counters));
	if (!sim->ports || !sim->queue_counters)
		return nd_error_set(error, -ENOMEM, "no room for %u ports", ports);
	for (uint32_t p = 0; p < ports; p++) {
		build_wire(sim, p);
		if (p >= hosts)
			total += queue_bytes(&sim->config.egress[sim->ports[p].tier]);
	}
	next = nd_keep_get(&sim->keep, total);
	if (!next)
		return nd_error_set(error, -ENOMEM, "no room for the queues of %u ports", ports);
	for (uint32_t p = hosts; p < ports; p++) {
		build_queue(sim, p, next);
		next += queue_bytes(&sim->config.egress[sim->ports[p].tier]);
	}
	return build_extras(sim, error);
}
