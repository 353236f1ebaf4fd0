/* SPDX-License-Identifier: Apache-2.0 */
/* Custom graphs: shortest paths found once by breadth-first search. Used by topology.c. */
#ifndef ND_SIM_TOPOLOGY_GRAPH_H
#define ND_SIM_TOPOLOGY_GRAPH_H

#include "sim/topology.h"

int nd_topology_graph_init(struct nd_topology *topology, struct nd_error *error);
void nd_topology_graph_free(struct nd_topology_graph *graph);

uint32_t nd_topology_graph_paths(const struct nd_topology *topology, uint32_t source,
				 uint32_t target);
uint32_t nd_topology_graph_port_node(const struct nd_topology *topology, uint32_t port);
/* node may be one past the last switch: the number of ports. */
uint32_t nd_topology_graph_port_first(const struct nd_topology *topology, uint32_t node);
uint32_t nd_topology_graph_port_reverse(const struct nd_topology *topology, uint32_t port);
struct nd_cable nd_topology_graph_cable(const struct nd_topology *topology, uint32_t port);
bool nd_topology_graph_is_edge(const struct nd_topology *topology, uint32_t node);

#endif
