// SPDX-License-Identifier: Apache-2.0
/* Sizes, cables and numbering of the folded Clos. */
#include "sim/topology.h"
#include "sim/topology_graph.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void nd_topology_fat_tree(struct nd_topology_config *config, uint32_t k, struct nd_cable cable)
{
	memset(config, 0, sizeof(*config));
	config->kind = ND_TOPOLOGY_CLOS;
	config->pods = k;
	config->edges = k / 2;
	config->hosts = k / 2;
	config->aggs = k / 2;
	config->uplinks = k / 2;
	for (uint32_t i = 0; i < ND_LEVEL_COUNT; i++)
		config->cables[i] = cable;
}

static int check_cable(const struct nd_cable *cable, struct nd_error *error)
{
	if (cable->rate_bps < 1000000 || cable->rate_bps > UINT64_C(3200000000000))
		return nd_error_set(error, -EINVAL,
				    "link rate %llu bit/s is outside 1 Mbit/s .. 3.2 Tbit/s",
				    (unsigned long long)cable->rate_bps);
	if (cable->delay_ps > UINT64_C(1000000000000))
		return nd_error_set(error, -EINVAL, "link delay %llu ps is above 1 s",
				    (unsigned long long)cable->delay_ps);
	return 0;
}

static int check_clos(const struct nd_topology_config *c, struct nd_error *error)
{
	uint64_t hosts = (uint64_t)c->pods * c->edges * c->hosts;
	uint32_t levels = 1u + (c->aggs > 0) + (c->uplinks > 0);

	if (!c->pods || !c->edges || !c->hosts)
		return nd_error_set(error, -EINVAL,
				    "a fabric needs at least one pod, one edge and one host each");
	if (c->pods > ND_TOPOLOGY_RADIX_MAX || c->edges > ND_TOPOLOGY_RADIX_MAX ||
	    c->hosts > ND_TOPOLOGY_HOSTS_MAX || c->aggs > ND_TOPOLOGY_RADIX_MAX ||
	    c->uplinks > ND_TOPOLOGY_RADIX_MAX)
		return nd_error_set(error, -EINVAL, "a switch has at most %u ports a side",
				    ND_TOPOLOGY_RADIX_MAX);
	if (hosts > ND_TOPOLOGY_HOSTS_MAX)
		return nd_error_set(error, -EINVAL, "%llu hosts; the limit is %u",
				    (unsigned long long)hosts, ND_TOPOLOGY_HOSTS_MAX);
	if (hosts < 2)
		return nd_error_set(error, -EINVAL, "a fabric needs at least two hosts");
	if ((uint64_t)c->aggs * c->uplinks > UINT16_MAX)
		return nd_error_set(error, -EINVAL, "%u aggs x %u uplinks are more than 65535 paths",
				    c->aggs, c->uplinks);
	if (c->pods > 1 && !c->uplinks)
		return nd_error_set(error, -EINVAL, "%u pods need uplinks to a core", c->pods);
	if (c->edges > 1 && !c->aggs)
		return nd_error_set(error, -EINVAL, "%u edges a pod need at least one agg",
				    c->edges);
	if (c->uplinks && !c->aggs)
		return nd_error_set(error, -EINVAL, "uplinks need aggs");
	for (uint32_t i = 0; i < levels; i++) {
		if (check_cable(&c->cables[i], error))
			return error->code;
	}
	return 0;
}

static struct nd_topology_route edge_route(const struct nd_topology *t, uint32_t edge)
{
	const struct nd_topology_config *c = &t->config;
	uint32_t down = t->edge_port_base + edge * t->edge_radix;

	return (struct nd_topology_route){
		.below_first = edge * c->hosts, .below_count = c->hosts, .below_inverse = nd_topology_inverse(1),
		.down = down, .up = down + c->hosts, .up_count = nd_max_u32(c->aggs, 1),
		.near_first = edge / c->edges * c->edges * c->hosts,
		.near_count = c->edges * c->hosts,
		.quotient = 1,
	};
}

static struct nd_topology_route agg_route(const struct nd_topology *t, uint32_t agg)
{
	const struct nd_topology_config *c = &t->config;
	uint32_t down = t->agg_port_base + agg * t->agg_radix;

	return (struct nd_topology_route){
		.below_first = agg / c->aggs * c->edges * c->hosts,
		.below_count = c->edges * c->hosts, .below_inverse = nd_topology_inverse(c->hosts),
		.down = down, .up = down + c->edges, .up_count = nd_max_u32(c->uplinks, 1),
		/* The remainder of path / uplinks. */
		.whole = 1, .quotient = 0 - c->uplinks,
	};
}

static struct nd_topology_route core_route(const struct nd_topology *t, uint32_t core)
{
	const struct nd_topology_config *c = &t->config;

	return (struct nd_topology_route){
		.below_count = t->hosts, .below_inverse = nd_topology_inverse(c->edges * c->hosts),
		.down = t->core_port_base + core * c->pods, .up_count = 1,
	};
}

static int init_routes(struct nd_topology *t, struct nd_error *error)
{
	t->uplinks_inverse = nd_topology_inverse(nd_max_u32(t->config.uplinks, 1));
	t->routes = malloc(t->switches * sizeof(*t->routes));
	if (!t->routes)
		return nd_error_set(error, -ENOMEM, "no room for %u switches", t->switches);
	for (uint32_t node = t->hosts; node < t->hosts + t->switches; node++)
		t->routes[node - t->hosts] =
			node < t->agg_base  ? edge_route(t, node - t->hosts) :
			node < t->core_base ? agg_route(t, node - t->agg_base) :
					      core_route(t, node - t->core_base);
	return 0;
}

static int init_clos(struct nd_topology *t, struct nd_error *error)
{
	const struct nd_topology_config *c = &t->config;
	uint32_t edges, aggs, cores;
	uint64_t ports;

	if (check_clos(c, error))
		return error->code;
	edges = c->pods * c->edges;
	aggs = c->pods * c->aggs;
	cores = c->uplinks ? c->aggs * c->uplinks : 0;
	t->hosts = edges * c->hosts;
	t->switches = edges + aggs + cores;
	t->agg_base = t->hosts + edges;
	t->core_base = t->agg_base + aggs;
	t->edge_radix = c->hosts + c->aggs;
	t->agg_radix = c->edges + c->uplinks;
	t->edge_port_base = t->hosts;
	t->agg_port_base = t->edge_port_base + edges * t->edge_radix;
	ports = (uint64_t)t->hosts + (uint64_t)edges * t->edge_radix +
		(uint64_t)aggs * t->agg_radix + (uint64_t)cores * c->pods;
	if (ports > ND_TOPOLOGY_PORTS_MAX)
		return nd_error_set(error, -EINVAL, "%llu ports; the limit is %u",
				    (unsigned long long)ports, ND_TOPOLOGY_PORTS_MAX);
	t->core_port_base = t->agg_port_base + aggs * t->agg_radix;
	t->ports = (uint32_t)ports;
	t->paths_max = nd_max_u32(1, c->pods > 1 ? c->aggs * c->uplinks :
				     c->edges > 1 ? c->aggs : 1);
	return init_routes(t, error);
}

static int init_back_to_back(struct nd_topology *t, struct nd_error *error)
{
	t->hosts = 2;
	t->ports = 2;
	t->agg_base = t->core_base = 2;
	t->paths_max = 1;
	return check_cable(&t->config.cables[ND_LEVEL_EDGE], error);
}

int nd_topology_init(struct nd_topology *topology, const struct nd_topology_config *config,
		     struct nd_error *error)
{
	memset(topology, 0, sizeof(*topology));
	topology->config = *config;
	for (uint32_t i = 0; i < ND_LEVEL_COUNT; i++) {
		if (config->latency_ps[i] > UINT64_C(1000000000000))
			return nd_error_set(error, -EINVAL, "switch latency %llu ps is above 1 s",
					    (unsigned long long)config->latency_ps[i]);
	}
	switch (config->kind) {
	case ND_TOPOLOGY_CLOS:
		return init_clos(topology, error);
	case ND_TOPOLOGY_BACK_TO_BACK:
		return init_back_to_back(topology, error);
	case ND_TOPOLOGY_GRAPH:
		for (uint32_t i = 0; i < config->edge_count; i++) {
			if (check_cable(&config->edge_list[i].cable, error))
				return error->code;
		}
		return nd_topology_graph_init(topology, error);
	}
	return nd_error_set(error, -EINVAL, "unknown kind of topology: %u", config->kind);
}

void nd_topology_free(struct nd_topology *topology)
{
	nd_topology_graph_free(topology->graph);
	free(topology->routes);
	topology->graph = NULL;
	topology->routes = NULL;
}

uint32_t nd_topology_paths(const struct nd_topology *t, uint32_t source, uint32_t target)
{
	const struct nd_topology_config *c = &t->config;
	uint32_t source_edge, target_edge;

	nd_assert(source < t->hosts && target < t->hosts && source != target);
	if (t->graph)
		return nd_topology_graph_paths(t, source, target);
	if (!t->switches)
		return 1;
	source_edge = source / c->hosts;
	target_edge = target / c->hosts;
	if (source_edge == target_edge)
		return 1;
	if (source_edge / c->edges == target_edge / c->edges)
		return c->aggs;
	return c->aggs * c->uplinks;
}

uint32_t nd_topology_port_node(const struct nd_topology *t, uint32_t port)
{
	nd_assert(port < t->ports);
	if (port < t->hosts)
		return port;
	if (t->graph)
		return nd_topology_graph_port_node(t, port);
	if (port < t->agg_port_base)
		return t->hosts + (port - t->edge_port_base) / t->edge_radix;
	if (port < t->core_port_base)
		return t->agg_base + (port - t->agg_port_base) / t->agg_radix;
	return t->core_base + (port - t->core_port_base) / t->config.pods;
}

uint32_t nd_topology_port_first(const struct nd_topology *t, uint32_t node)
{
	nd_assert(node < t->hosts + t->switches);
	if (node < t->hosts)
		return node;
	if (t->graph)
		return nd_topology_graph_port_first(t, node);
	if (node < t->agg_base)
		return t->edge_port_base + (node - t->hosts) * t->edge_radix;
	if (node < t->core_base)
		return t->agg_port_base + (node - t->agg_base) * t->agg_radix;
	return t->core_port_base + (node - t->core_base) * t->config.pods;
}

uint32_t nd_topology_port_count(const struct nd_topology *t, uint32_t node)
{
	if (node < t->hosts)
		return 1;
	if (t->graph)
		return nd_topology_graph_port_first(t, node + 1) -
		       nd_topology_graph_port_first(t, node);
	if (node < t->agg_base)
		return t->edge_radix;
	return node < t->core_base ? t->agg_radix : t->config.pods;
}

/* The port at the other end, for each kind of port of the Clos. */
static uint32_t clos_reverse(const struct nd_topology *t, uint32_t port)
{
	const struct nd_topology_config *c = &t->config;
	uint32_t node = nd_topology_port_node(t, port);
	uint32_t at = port - nd_topology_port_first(t, node);

	if (node < t->hosts)
		return t->edge_port_base + node / c->hosts * t->edge_radix + node % c->hosts;
	if (node < t->agg_base) {
		uint32_t edge = node - t->hosts;

		if (at < c->hosts)
			return edge * c->hosts + at;
		return t->agg_port_base +
		       (edge / c->edges * c->aggs + at - c->hosts) * t->agg_radix +
		       edge % c->edges;
	}
	if (node < t->core_base) {
		uint32_t agg = node - t->agg_base;

		if (at < c->edges)
			return t->edge_port_base +
			       (agg / c->aggs * c->edges + at) * t->edge_radix + c->hosts +
			       agg % c->aggs;
		return t->core_port_base +
		       (agg % c->aggs * c->uplinks + at - c->edges) * c->pods + agg / c->aggs;
	}
	node -= t->core_base;
	return t->agg_port_base + (at * c->aggs + node / c->uplinks) * t->agg_radix + c->edges +
	       node % c->uplinks;
}

uint32_t nd_topology_port_reverse(const struct nd_topology *t, uint32_t port)
{
	nd_assert(port < t->ports);
	if (t->graph)
		return nd_topology_graph_port_reverse(t, port);
	if (!t->switches)
		return 1 - port;
	return clos_reverse(t, port);
}

uint32_t nd_topology_peer(const struct nd_topology *t, uint32_t port)
{
	return nd_topology_port_node(t, nd_topology_port_reverse(t, port));
}

enum nd_tier nd_topology_tier(const struct nd_topology *t, uint32_t port)
{
	uint32_t node = nd_topology_port_node(t, port);
	uint32_t at = port - nd_topology_port_first(t, node);

	if (node < t->hosts)
		return ND_TIER_NIC;
	if (t->graph)
		return nd_topology_peer(t, port) < t->hosts ? ND_TIER_EDGE_DOWN :
							      ND_TIER_CORE_DOWN;
	if (node < t->agg_base)
		return at < t->config.hosts ? ND_TIER_EDGE_DOWN : ND_TIER_EDGE_UP;
	if (node < t->core_base)
		return at < t->config.edges ? ND_TIER_AGG_DOWN : ND_TIER_AGG_UP;
	return ND_TIER_CORE_DOWN;
}

struct nd_cable nd_topology_cable(const struct nd_topology *t, uint32_t port)
{
	static const uint8_t level[ND_TIER_COUNT] = {
		[ND_TIER_NIC] = ND_LEVEL_EDGE,     [ND_TIER_EDGE_DOWN] = ND_LEVEL_EDGE,
		[ND_TIER_EDGE_UP] = ND_LEVEL_AGG,  [ND_TIER_AGG_DOWN] = ND_LEVEL_AGG,
		[ND_TIER_AGG_UP] = ND_LEVEL_CORE,  [ND_TIER_CORE_DOWN] = ND_LEVEL_CORE,
	};

	if (t->graph)
		return nd_topology_graph_cable(t, port);
	return t->config.cables[level[nd_topology_tier(t, port)]];
}

nd_ps nd_topology_latency(const struct nd_topology *t, uint32_t node)
{
	if (node < t->hosts)
		return 0;
	if (t->graph)
		return t->config.latency_ps[nd_topology_graph_is_edge(t, node) ? ND_LEVEL_EDGE :
									       ND_LEVEL_CORE];
	if (node < t->agg_base)
		return t->config.latency_ps[ND_LEVEL_EDGE];
	return t->config.latency_ps[node < t->core_base ? ND_LEVEL_AGG : ND_LEVEL_CORE];
}
