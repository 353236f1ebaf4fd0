// SPDX-License-Identifier: Apache-2.0
/*
 * Routing tables of custom graphs.
 *
 * For each pair (switch, destination switch) the ports that lie on a shortest path are kept, all of
 * them, in the order of the ports. A breadth-first search from each destination fills them in.
 */
#include "sim/topology_graph.h"

#include "base/rng.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define SWITCHES_MAX 4096u
#define UNREACHED UINT16_MAX

struct port {
	uint32_t node;
	uint32_t peer;
	uint32_t reverse;
	struct nd_cable cable;
};

struct nd_topology_graph {
	uint32_t hosts;
	uint32_t switches;
	struct port *ports;
	uint32_t *first;  /* of each node, and one past the last */
	uint32_t *start;  /* [switch * switches + destination]: where its ports begin in list */
	uint32_t *list;   /* ports on shortest paths */
	uint16_t *paths;  /* [switch * switches + destination]: shortest paths, saturating */
	uint8_t *is_edge; /* of each switch: a host hangs on it */
};

static struct nd_topology_graph *allocate(const struct nd_topology_config *c)
{
	struct nd_topology_graph *graph = calloc(1, sizeof(*graph));
	size_t nodes = (size_t)c->hosts + c->switches;
	size_t pairs = (size_t)c->switches * c->switches;

	if (!graph)
		return NULL;
	graph->hosts = c->hosts;
	graph->switches = c->switches;
	graph->ports = calloc((size_t)c->edge_count * 2, sizeof(*graph->ports));
	graph->first = calloc(nodes + 1, sizeof(*graph->first));
	graph->start = calloc(pairs + 1, sizeof(*graph->start));
	graph->paths = calloc(pairs, sizeof(*graph->paths));
	graph->is_edge = calloc(c->switches, 1);
	if (!graph->ports || !graph->first || !graph->start || !graph->paths || !graph->is_edge) {
		nd_topology_graph_free(graph);
		return NULL;
	}
	return graph;
}

void nd_topology_graph_free(struct nd_topology_graph *graph)
{
	if (!graph)
		return;
	free(graph->ports);
	free(graph->first);
	free(graph->start);
	free(graph->list);
	free(graph->paths);
	free(graph->is_edge);
	free(graph);
}

static int check(const struct nd_topology_config *c, struct nd_error *error)
{
	uint32_t nodes = c->hosts + c->switches;

	if (c->hosts < 2 || c->hosts > ND_TOPOLOGY_HOSTS_MAX)
		return nd_error_set(error, -EINVAL, "a graph has 2 to %u hosts, not %u",
				    ND_TOPOLOGY_HOSTS_MAX, c->hosts);
	if (!c->switches || c->switches > SWITCHES_MAX)
		return nd_error_set(error, -EINVAL, "a graph has 1 to %u switches, not %u",
				    SWITCHES_MAX, c->switches);
	if (!c->edge_count || c->edge_count > ND_TOPOLOGY_PORTS_MAX / 2)
		return nd_error_set(error, -EINVAL, "a graph has 1 to %u links, not %u",
				    ND_TOPOLOGY_PORTS_MAX / 2, c->edge_count);
	for (uint32_t i = 0; i < c->edge_count; i++) {
		uint32_t a = c->edge_list[i].a, b = c->edge_list[i].b;

		if (a >= nodes || b >= nodes || a == b || (a < c->hosts && b < c->hosts))
			return nd_error_set(error, -EINVAL,
					    "link %u joins %u and %u: it needs two different nodes below %u, "
					    "at least one of them a switch", i, a, b, nodes);
	}
	return 0;
}

/* Numbers the ports: of each node those of its links, in the order of the links. */
static int number_ports(struct nd_topology_graph *graph, const struct nd_topology_config *c,
			struct nd_error *error)
{
	uint32_t nodes = c->hosts + c->switches;
	uint32_t *next;

	for (uint32_t i = 0; i < c->edge_count; i++) {
		graph->first[c->edge_list[i].a + 1]++;
		graph->first[c->edge_list[i].b + 1]++;
	}
	for (uint32_t h = 0; h < c->hosts; h++) {
		if (graph->first[h + 1] != 1)
			return nd_error_set(error, -EINVAL, "host %u has %u links; it needs one", h,
					    graph->first[h + 1]);
	}
	for (uint32_t n = 0; n < nodes; n++)
		graph->first[n + 1] += graph->first[n];
	next = malloc(nodes * sizeof(*next));
	if (!next)
		return nd_error_set(error, -ENOMEM, "out of memory");
	memcpy(next, graph->first, nodes * sizeof(*next));
	for (uint32_t i = 0; i < c->edge_count; i++) {
		const struct nd_topology_edge *e = &c->edge_list[i];
		uint32_t a = next[e->a]++, b = next[e->b]++;

		graph->ports[a] = (struct port){ e->a, e->b, b, e->cable };
		graph->ports[b] = (struct port){ e->b, e->a, a, e->cable };
		if (e->a < c->hosts)
			graph->is_edge[e->b - c->hosts] = 1;
		if (e->b < c->hosts)
			graph->is_edge[e->a - c->hosts] = 1;
	}
	free(next);
	return 0;
}

/* Breadth-first search from switch target over the switches; counts shortest paths as well. */
static void search(const struct nd_topology_graph *graph, uint32_t target, uint16_t *distance,
		   uint32_t *order)
{
	uint32_t head = 0, tail = 0;

	for (uint32_t s = 0; s < graph->switches; s++)
		distance[s] = UNREACHED;
	distance[target] = 0;
	graph->paths[(size_t)target * graph->switches + target] = 1;
	order[tail++] = target;
	while (head < tail) {
		uint32_t at = order[head++];
		uint32_t through = graph->paths[(size_t)at * graph->switches + target];

		for (uint32_t p = graph->first[graph->hosts + at];
		     p < graph->first[graph->hosts + at + 1]; p++) {
			uint32_t peer = graph->ports[p].peer - graph->hosts;
			uint16_t *paths;

			if (graph->ports[p].peer < graph->hosts)
				continue;
			if (distance[peer] == UNREACHED) {
				distance[peer] = (uint16_t)(distance[at] + 1);
				order[tail++] = peer;
			}
			if (distance[peer] != distance[at] + 1)
				continue;
			paths = &graph->paths[(size_t)peer * graph->switches + target];
			*paths = (uint16_t)nd_min_u32(UINT16_MAX, *paths + through);
		}
	}
}

/* Ports of switch at that lead one step nearer to the searched target, into list if not NULL. */
static uint32_t nearer(const struct nd_topology_graph *graph, uint32_t at,
		       const uint16_t *distance, uint32_t *list)
{
	uint32_t count = 0;

	for (uint32_t p = graph->first[graph->hosts + at];
	     p < graph->first[graph->hosts + at + 1]; p++) {
		if (graph->ports[p].peer < graph->hosts ||
		    distance[graph->ports[p].peer - graph->hosts] + 1 != distance[at])
			continue;
		if (list)
			list[count] = p;
		count++;
	}
	return count;
}

static int route(struct nd_topology_graph *graph, struct nd_error *error)
{
	size_t pairs = (size_t)graph->switches * graph->switches;
	uint16_t *distance = malloc(pairs * sizeof(*distance));
	uint32_t *order = malloc(graph->switches * sizeof(*order));
	uint32_t total = 0;
	int rc = 0;

	if (!distance || !order) {
		rc = nd_error_set(error, -ENOMEM, "out of memory");
		goto out;
	}
	for (uint32_t d = 0; d < graph->switches; d++) {
		uint16_t *row = distance + (size_t)d * graph->switches;

		search(graph, d, row, order);
		for (uint32_t s = 0; s < graph->switches; s++) {
			if (row[s] == UNREACHED && graph->is_edge[s] && graph->is_edge[d]) {
				rc = nd_error_set(error, -EINVAL, "no path from switch %u to %u",
						  s, d);
				goto out;
			}
		}
	}
	for (size_t i = 0; i < pairs; i++) {
		uint32_t s = (uint32_t)(i / graph->switches), d = (uint32_t)(i % graph->switches);

		graph->start[i] = total;
		total += nearer(graph, s, distance + (size_t)d * graph->switches, NULL);
	}
	graph->start[pairs] = total;
	graph->list = malloc(((size_t)total + 1) * sizeof(*graph->list));
	if (!graph->list) {
		rc = nd_error_set(error, -ENOMEM, "out of memory");
		goto out;
	}
	for (size_t i = 0; i < pairs; i++) {
		uint32_t s = (uint32_t)(i / graph->switches), d = (uint32_t)(i % graph->switches);

		nearer(graph, s, distance + (size_t)d * graph->switches,
		       graph->list + graph->start[i]);
	}
out:
	free(distance);
	free(order);
	return rc;
}

int nd_topology_graph_init(struct nd_topology *topology, struct nd_error *error)
{
	const struct nd_topology_config *c = &topology->config;
	struct nd_topology_graph *graph;

	if (check(c, error))
		return error->code;
	graph = allocate(c);
	if (!graph)
		return nd_error_set(error, -ENOMEM, "out of memory");
	if (number_ports(graph, c, error) || route(graph, error)) {
		nd_topology_graph_free(graph);
		return error->code;
	}
	topology->graph = graph;
	topology->hosts = c->hosts;
	topology->switches = c->switches;
	topology->ports = 2 * c->edge_count;
	topology->agg_base = topology->core_base = c->hosts + c->switches;
	topology->paths_max = 1;
	for (size_t i = 0; i < (size_t)c->switches * c->switches; i++)
		topology->paths_max = nd_max_u32(topology->paths_max, graph->paths[i]);
	topology->config.edge_list = NULL;
	return 0;
}

static uint32_t switch_of(const struct nd_topology_graph *graph, uint32_t host)
{
	return graph->ports[host].peer - graph->hosts;
}

struct nd_hops nd_topology_graph_hops(const struct nd_topology *topology, uint32_t node,
				      uint32_t target, uint32_t path)
{
	const struct nd_topology_graph *graph = topology->graph;
	uint32_t at = node - graph->hosts;
	uint32_t last = switch_of(graph, target);
	const uint32_t *start = &graph->start[(size_t)at * graph->switches + last];
	uint32_t count = start[1] - start[0];

	if (at == last)
		return (struct nd_hops){ .first = graph->ports[target].reverse, .count = 1 };
	return (struct nd_hops){
		.count = count,
		.digit = count > 1 ? (uint32_t)(nd_mix64((uint64_t)node << 16 | path) % count) : 0,
		.ports = graph->list + start[0],
	};
}

uint32_t nd_topology_graph_paths(const struct nd_topology *topology, uint32_t source,
				 uint32_t target)
{
	const struct nd_topology_graph *graph = topology->graph;

	return graph->paths[(size_t)switch_of(graph, source) * graph->switches +
			    switch_of(graph, target)];
}

uint32_t nd_topology_graph_port_node(const struct nd_topology *topology, uint32_t port)
{
	return topology->graph->ports[port].node;
}

uint32_t nd_topology_graph_port_first(const struct nd_topology *topology, uint32_t node)
{
	return topology->graph->first[node];
}

uint32_t nd_topology_graph_port_reverse(const struct nd_topology *topology, uint32_t port)
{
	return topology->graph->ports[port].reverse;
}

struct nd_cable nd_topology_graph_cable(const struct nd_topology *topology, uint32_t port)
{
	return topology->graph->ports[port].cable;
}

bool nd_topology_graph_is_edge(const struct nd_topology *topology, uint32_t node)
{
	return topology->graph->is_edge[node - topology->graph->hosts] != 0;
}
