// SPDX-License-Identifier: Apache-2.0
/* The network of a simulation: ports, switches, hosts, endpoints. */
#include "sim/build.h"

#include "sim/probe.h"

#include <errno.h>
#include <string.h>

/* Streams of random numbers, one a thing and purpose. */
enum { STREAM_SWITCH = 1, STREAM_HOST, STREAM_ENDPOINT };

#define PACKETS_PER_HOST 512
#define PACKETS_MIN (1u << 16)
#define EVENTS_PER_HOST 16
#define EVENTS_MIN (1u << 12)
#define EVENTS_MAX (1u << 30) /* places in the agenda's arrays have 32 bits */

/* About so many events in a slot of the agenda are quickest to sort. */
#define EVENTS_PER_SLOT 32
#define SHIFT_MIN 6
#define SHIFT_MAX 16

static uint64_t stream(uint32_t kind, uint32_t number)
{
	return (uint64_t)kind << 32 | number;
}

static void *get(struct nd_sim *sim, uint64_t count, size_t bytes, struct nd_error *error)
{
	void *memory = nd_keep_get(&sim->keep, (size_t)count * bytes);

	if (!memory)
		nd_error_set(error, -ENOMEM, "no room for %llu x %llu bytes",
			     (unsigned long long)count, (unsigned long long)bytes);
	return memory;
}

static int check_engine(const struct nd_sim_engine *engine, uint32_t number,
			struct nd_error *error)
{
	const char *why = NULL;

	if (!engine->ops || !engine->configs || !engine->classes ||
	    engine->classes > ND_SIM_CLASSES_MAX)
		return nd_error_set(error, -EINVAL, "engine %u needs 1 to %u configs", number,
				    ND_SIM_CLASSES_MAX);
	if (!engine->message_bytes_max || !engine->payload_bytes_max || engine->service > UINT16_MAX)
		return nd_error_set(error, -EINVAL,
				    "engine %u needs message_bytes_max and payload_bytes_max above 0 "
				    "and a service below 65536", number);
	for (uint32_t i = 0; i < engine->classes; i++) {
		if (engine->ops->check(engine->configs[i], &why) < 0)
			return nd_error_set(error, -EINVAL, "engine %s, class %u: %s",
					    engine->ops->name, i, why ? why : "refused");
	}
	return 0;
}

static int check_delay(const struct nd_sim_delay *delay, const char *name, struct nd_error *error)
{
	if (delay->fixed_ps > UINT64_C(1000000000000) || (delay->count && !delay->quantiles_ps))
		return nd_error_set(error, -EINVAL, "%s: above 1 s, or quantiles are missing", name);
	return 0;
}

static int check_config(const struct nd_sim_config *config, struct nd_error *error)
{
	if (!config->engine_count || config->engine_count > ND_SIM_ENGINES_MAX)
		return nd_error_set(error, -EINVAL, "1 to %u engines, not %u", ND_SIM_ENGINES_MAX,
				    config->engine_count);
	for (uint32_t i = 0; i < config->engine_count; i++) {
		if (check_engine(&config->engines[i], i, error))
			return error->code;
	}
	if (config->route > ND_SIM_ROUTE_FLOW)
		return nd_error_set(error, -EINVAL, "unknown route mode %u", config->route);
	if (!config->nic_packets || !config->packet_bytes || config->packet_bytes > UINT16_MAX)
		return nd_error_set(error, -EINVAL,
				    "nic_packets must be 1 or more and packet_bytes 1 to 65535");
	if (check_delay(&config->receive_delay, "receive_delay", error) ||
	    check_delay(&config->send_delay, "send_delay", error) ||
	    check_delay(&config->timer_delay, "timer_delay", error))
		return error->code;
	return 0;
}

static int copy_delay(struct nd_sim *sim, struct nd_sim_delay *delay, struct nd_error *error)
{
	uint32_t *copy;

	if (!delay->count)
		return 0;
	copy = get(sim, delay->count, sizeof(*copy), error);
	if (!copy)
		return error->code;
	memcpy(copy, delay->quantiles_ps, delay->count * sizeof(*copy));
	delay->quantiles_ps = copy;
	return 0;
}

static int copy_engine(struct nd_sim *sim, struct nd_sim_engine *engine, struct nd_error *error)
{
	const void **configs = get(sim, engine->classes, sizeof(*configs), error);
	uint8_t *classes;

	if (!configs)
		return error->code;
	memcpy(configs, engine->configs, engine->classes * sizeof(*configs));
	engine->configs = configs;
	if (!engine->host_class)
		return 0;
	classes = get(sim, sim->topology.hosts, 1, error);
	if (!classes)
		return error->code;
	for (uint32_t h = 0; h < sim->topology.hosts; h++) {
		if (engine->host_class[h] >= engine->classes)
			return nd_error_set(error, -EINVAL, "host %u is of class %u of %u", h,
					    engine->host_class[h], engine->classes);
		classes[h] = engine->host_class[h];
	}
	engine->host_class = classes;
	return 0;
}

static int copy_config(struct nd_sim *sim, struct nd_error *error)
{
	struct nd_sim_config *config = &sim->config;

	memcpy(sim->engines, config->engines, config->engine_count * sizeof(*sim->engines));
	config->engines = sim->engines;
	sim->engine_count = config->engine_count;
	sim->route = config->route;
	sim->direct = config->route == ND_SIM_ROUTE_SOURCE && sim->topology.routes;
	for (uint32_t i = 0; i < sim->engine_count; i++) {
		if (copy_engine(sim, &sim->engines[i], error))
			return error->code;
	}
	if (copy_delay(sim, &config->receive_delay, error) ||
	    copy_delay(sim, &config->send_delay, error) ||
	    copy_delay(sim, &config->timer_delay, error))
		return error->code;
	if (!config->change_count)
		return 0;
	sim->changes = get(sim, config->change_count, sizeof(*sim->changes), error);
	if (!sim->changes)
		return error->code;
	memcpy(sim->changes, config->changes, config->change_count * sizeof(*sim->changes));
	config->changes = sim->changes;
	return 0;
}

static int build_pool(struct nd_sim *sim, struct nd_error *error)
{
	struct nd_sim_config *config = &sim->config;
	void *memory;

	if (!config->packets_max)
		config->packets_max = sim->topology.hosts * PACKETS_PER_HOST + PACKETS_MIN;
	if (config->packets_max >= ND_POOL_USED)
		return nd_error_set(error, -EINVAL, "%u packets in the network at once: it must be below %u",
				    config->packets_max, ND_POOL_USED);
	memory = get(sim, 1, nd_pool_bytes(config->packets_max, sizeof(struct nd_packet)), error);
	if (!memory)
		return error->code;
	nd_pool_init(&sim->pool, memory, config->packets_max, sizeof(struct nd_packet));
	sim->fresh = nd_pool_get(&sim->pool);
	return 0;
}

/* Slots so narrow that the busiest fabric of this size puts few events into one. */
static uint32_t slot_shift(const struct nd_sim *sim)
{
	struct nd_cable cable = nd_topology_cable(&sim->topology, 0);
	nd_ps full = (sim->config.packet_bytes * nd_link_byte_cost(cable.rate_bps)) >>
		     ND_PORT_COST_SHIFT;
	/* A full packet time of all hosts is some 40 events for each: data, replies, timers. */
	nd_ps apart = full / ((uint64_t)sim->topology.hosts * 40) * EVENTS_PER_SLOT;
	uint32_t shift = SHIFT_MIN;

	while (shift < SHIFT_MAX && (UINT64_C(2) << shift) <= apart)
		shift++;
	return shift;
}

int nd_build_agenda(struct nd_sim *sim, uint32_t flow_count, struct nd_error *error)
{
	struct nd_sim_config *config = &sim->config;

	uint64_t events = config->events_max;

	if (!events)
		events = (uint64_t)config->packets_max + sim->topology.ports +
			 sim->topology.hosts * EVENTS_PER_HOST + flow_count + EVENTS_MIN;
	if (events > EVENTS_MAX)
		return nd_error_set(error, -EINVAL, "%llu events pending at once: at most %u; lower the "
				    "limit of events or of packets", (unsigned long long)events, EVENTS_MAX);
	config->events_max = (uint32_t)events;
	if (nd_agenda_init(&sim->agenda, &sim->keep, config->events_max, slot_shift(sim)))
		return nd_error_set(error, -ENOMEM, "no room for %u events", config->events_max);
	return 0;
}

static int build_switches(struct nd_sim *sim, struct nd_error *error)
{
	sim->switches = get(sim, sim->topology.switches, sizeof(*sim->switches), error);
	if (!sim->switches)
		return error->code;
	for (uint32_t s = 0; s < sim->topology.switches; s++) {
		sim->switches[s].rng = nd_rng_make(sim->config.seed, stream(STREAM_SWITCH, s));
		sim->switches[s].salt = nd_rng_u64(&sim->switches[s].rng);
		sim->switches[s].turn = (uint32_t)nd_rng_u64(&sim->switches[s].rng);
	}
	return 0;
}

static int build_host(struct nd_sim *sim, uint32_t number, uint8_t *const *next,
		      struct nd_error *error)
{
	struct nd_host *host = &sim->hosts[number];
	struct nd_sim_port *port = nd_sim_port(sim, number);
	nd_ps full = (sim->config.packet_bytes * port->byte_cost) >> ND_PORT_COST_SHIFT;

	host->timer_at = ND_NEVER;
	host->timer_later = ND_NEVER;
	nd_nic_init(&host->nic, 0, sim->config.packet_bytes);
	host->slack = (sim->config.nic_packets - 1) * full;
	sim->delay_rngs[number] = nd_rng_make(sim->config.seed, stream(STREAM_HOST, number));
	for (uint32_t i = 0; i < sim->engine_count; i++) {
		const struct nd_sim_engine *engine = &sim->engines[i];
		uint32_t class = engine->host_class ? engine->host_class[number] : 0;
		struct nd_rng rng = nd_rng_make(sim->config.seed,
						stream(STREAM_ENDPOINT + i, number));
		struct nd_setup setup = {
			.seed = nd_rng_u64(&rng), .self = number, .config = engine->configs[class],
		};
		struct nd_command listen = {
			.kind = ND_COMMAND_LISTEN, .port = (uint16_t)engine->service,
			.deadline = ND_NEVER,
		};
		int rc;

		engine->ops->init(next[i], &setup);
		nd_nic_add(&host->nic, engine->ops, next[i]);
		rc = engine->ops->submit(next[i], &listen, 0);
		if (rc < 0)
			return nd_error_set(error, rc, "host %u cannot listen on %s port %u", number,
					    engine->ops->name, engine->service);
	}
	return 0;
}

/* Endpoints of all classes lie at equal distances, so that their addresses follow from the host. */
static size_t endpoint_bytes(const struct nd_sim_engine *engine)
{
	size_t most = 0;

	for (uint32_t i = 0; i < engine->classes; i++)
		most = nd_max_u64(most, engine->ops->bytes(engine->configs[i]));
	return (most + 63) & ~(size_t)63;
}

static int build_hosts(struct nd_sim *sim, struct nd_error *error)
{
	uint32_t hosts = sim->topology.hosts;
	uint8_t *next[ND_SIM_ENGINES_MAX];

	sim->hosts = get(sim, hosts, sizeof(*sim->hosts), error);
	sim->host_rows = get(sim, hosts, sizeof(*sim->host_rows), error);
	sim->delay_rngs = get(sim, hosts, sizeof(*sim->delay_rngs), error);
	if (!sim->hosts || !sim->host_rows || !sim->delay_rngs)
		return error->code;
	for (uint32_t i = 0; i < sim->engine_count; i++) {
		next[i] = get(sim, hosts, endpoint_bytes(&sim->engines[i]), error);
		if (!next[i])
			return error->code;
	}
	sim->endpoints = next[0];
	sim->endpoint_bytes = endpoint_bytes(&sim->engines[0]);
	sim->foresee = sim->engines[0].ops->foresee;
	for (uint32_t h = 0; h < hosts; h++) {
		if (build_host(sim, h, next, error))
			return error->code;
		for (uint32_t i = 0; i < sim->engine_count; i++)
			next[i] += endpoint_bytes(&sim->engines[i]);
	}
	return 0;
}

int nd_build_network(struct nd_sim *sim, const struct nd_sim_config *config,
		     struct nd_error *error)
{
	sim->config = *config;
	if (check_config(config, error) ||
	    nd_topology_init(&sim->topology, &config->topology, error) ||
	    copy_config(sim, error) || build_pool(sim, error) || nd_build_ports(sim, error) ||
	    build_switches(sim, error) || build_hosts(sim, error))
		return error->code;
	return 0;
}
