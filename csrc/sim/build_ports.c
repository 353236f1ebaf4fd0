// SPDX-License-Identifier: Apache-2.0
/* The ports of a simulation: rate, delay and discipline of each. */
#include "sim/build.h"

#include "queue/shared.h"
#include "sim/probe.h"

#include <errno.h>
#include <string.h>

#define CACHE_LINES(bytes) (((bytes) + 63) & ~(size_t)63)

/* Streams of random numbers beside those of build.c. */
enum { STREAM_QUEUE = 0x100, STREAM_LINK };

static uint64_t stream(uint32_t kind, uint32_t number)
{
	return (uint64_t)kind << 32 | number;
}

static size_t queue_bytes(const struct nd_sim_egress *egress)
{
	return CACHE_LINES(egress->ops->bytes(egress->config));
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
		if (egress->phantom && nd_phantom_check(egress->phantom, &why) < 0)
			return nd_error_set(error, -EINVAL, "phantom queue of tier %u: %s", tier,
					    why ? why : "refused");
	}
	return 0;
}

static bool has_phantoms(const struct nd_sim *sim)
{
	for (uint32_t tier = ND_TIER_EDGE_DOWN; tier < ND_TIER_COUNT; tier++) {
		if (sim->config.egress[tier].phantom)
			return true;
	}
	return false;
}

static void build_phantom(struct nd_sim *sim, uint32_t number)
{
	struct nd_sim_port *port = nd_sim_port(sim, number);
	const void *config = sim->config.egress[port->tier].phantom;

	if (number < sim->topology.hosts || !config)
		return;
	port->flags |= ND_PORT_PHANTOM;
	nd_phantom_init(&port->extra->phantom, config, &port->extra->phantom_counters, 0);
}

/* What a port needs besides its queue: faults, delays, a phantom queue. */
static int build_extras(struct nd_sim *sim, struct nd_error *error)
{
	const struct nd_sim_config *config = &sim->config;
	bool jitter = config->send_delay.count > 0;
	struct nd_sim_port_extra *extras;

	if (!jitter && !config->change_count && !has_phantoms(sim))
		return 0;
	extras = nd_keep_get(&sim->keep, sim->topology.ports * sizeof(*extras));
	if (!extras)
		return nd_error_set(error, -ENOMEM, "no room for the state of faulty links");
	for (uint32_t p = 0; p < sim->topology.ports; p++) {
		struct nd_rng rng = nd_rng_make(config->seed, stream(STREAM_LINK, p));

		nd_sim_port(sim, p)->extra = &extras[p];
		extras[p].rng = rng;
		if (jitter && p < sim->topology.hosts)
			nd_sim_port(sim, p)->flags |= ND_PORT_JITTER;
		build_phantom(sim, p);
	}
	return 0;
}

static void build_wire(struct nd_sim *sim, uint32_t number)
{
	struct nd_sim_port *port = nd_sim_port(sim, number);
	struct nd_cable cable = nd_topology_cable(&sim->topology, number);

	port->peer = nd_topology_peer(&sim->topology, number);
	port->byte_cost = nd_link_byte_cost(cable.rate_bps);
	port->delay = cable.delay_ps + nd_topology_latency(&sim->topology, port->peer);
	port->tier = (uint8_t)nd_topology_tier(&sim->topology, number);
	if (number < sim->topology.hosts)
		port->delay += sim->config.send_delay.fixed_ps;
	if (nd_probe_watches_ports(&sim->config))
		port->flags |= ND_PORT_WATCHED;
	if (number >= sim->topology.hosts && sim->config.egress[port->tier].shared_bytes)
		port->flags |= ND_PORT_PROMPT;
}

/* With shared buffers: one of each switch, and a copy of the config for each of its ports. */
static int build_shared(struct nd_sim *sim, struct nd_error *error)
{
	size_t bytes = 0;

	for (uint32_t tier = 0; tier < ND_TIER_COUNT; tier++) {
		const struct nd_sim_egress *egress = &sim->config.egress[tier];
		struct nd_shared_config config = { egress->shared_bytes, egress->shared_alpha_256 };
		const char *why = NULL;

		if (!egress->shared_bytes)
			continue;
		if (nd_shared_check(&config, &why) < 0)
			return nd_error_set(error, -EINVAL, "shared buffer of tier %u: %s", tier,
					    why);
		if (egress->shared_offset + sizeof(struct nd_shared *) > egress->config_bytes)
			return nd_error_set(error, -EINVAL,
					    "tier %u: shared_offset lies outside config_bytes", tier);
		bytes = egress->config_bytes > bytes ? egress->config_bytes : bytes;
	}
	if (!bytes)
		return 0;
	sim->config_bytes = CACHE_LINES(bytes);
	sim->configs = nd_keep_get(&sim->keep, sim->topology.ports * sim->config_bytes);
	sim->shared = nd_keep_get(&sim->keep, sim->topology.switches * sizeof(*sim->shared));
	if (!sim->configs || !sim->shared)
		return nd_error_set(error, -ENOMEM, "no room for shared buffers");
	return 0;
}

/* Config of a port: the tier's, or its own copy that names the buffer of its switch. */
static const void *queue_config(struct nd_sim *sim, uint32_t number,
				const struct nd_sim_egress *egress)
{
	uint32_t node = nd_topology_port_node(&sim->topology, number);
	struct nd_shared_config buffer = { egress->shared_bytes, egress->shared_alpha_256 };
	struct nd_shared *shared;
	uint8_t *copy;

	if (!egress->shared_bytes)
		return egress->config;
	/* The tiers of a switch share one buffer: the size that comes first counts. */
	shared = &sim->shared[node - sim->topology.hosts];
	if (!shared->total_bytes)
		nd_shared_init(shared, &buffer);
	copy = sim->configs + number * sim->config_bytes;
	memcpy(copy, egress->config, egress->config_bytes);
	memcpy(copy + egress->shared_offset, &shared, sizeof(shared));
	return copy;
}

static void build_queue(struct nd_sim *sim, uint32_t number)
{
	struct nd_sim_port *port = nd_sim_port(sim, number);
	const struct nd_sim_egress *egress = &sim->config.egress[port->tier];
	struct nd_rng rng = nd_rng_make(sim->config.seed, stream(STREAM_QUEUE, number));

	egress->ops->init(nd_sim_queue(port), &sim->pool, queue_config(sim, number, egress),
			  &port->counters, nd_rng_u64(&rng));
	nd_assert(nd_sim_queue(port)->ops == egress->ops);
}

int nd_build_ports(struct nd_sim *sim, struct nd_error *error)
{
	uint32_t hosts = sim->topology.hosts, ports = sim->topology.ports;
	size_t queue = 0;

	if (check_egress(sim, error) || build_shared(sim, error))
		return error->code;
	for (uint32_t p = hosts; p < ports; p++) {
		uint32_t tier = nd_topology_tier(&sim->topology, p);
		size_t bytes = queue_bytes(&sim->config.egress[tier]);

		queue = bytes > queue ? bytes : queue;
	}
	sim->port_bytes = sizeof(struct nd_sim_port) +
			  CACHE_LINES(nd_max_u64(queue, sizeof(struct nd_queue)));
	sim->ports = nd_keep_get(&sim->keep, ports * sim->port_bytes);
	if (!sim->ports)
		return nd_error_set(error, -ENOMEM, "no room for %u ports", ports);
	for (uint32_t p = 0; p < ports; p++)
		build_wire(sim, p);
	for (uint32_t p = hosts; p < ports; p++)
		build_queue(sim, p);
	return build_extras(sim, error);
}
