// SPDX-License-Identifier: Apache-2.0
/* Every builder: counts, cables, routes against breadth-first search. */
#include "base/rng.h"
#include "harness.h"
#include "sim/topology.h"

#include <stdlib.h>

static const struct nd_cable ten_gig = { .rate_bps = UINT64_C(10000000000), .delay_ps = 500000 };
static struct nd_topology topology;
static struct nd_error error;

static void build(const struct nd_topology_config *config)
{
	nd_topology_free(&topology);
	if (nd_topology_init(&topology, config, &error)) {
		fprintf(stderr, "  %s\n", error.text);
		CHECK(false);
	}
}

static void build_fat_tree(uint32_t k)
{
	struct nd_topology_config config;

	nd_topology_fat_tree(&config, k, ten_gig);
	build(&config);
}

static struct nd_topology_config clos(uint32_t pods, uint32_t edges, uint32_t hosts, uint32_t aggs,
				      uint32_t uplinks)
{
	return (struct nd_topology_config){
		.kind = ND_TOPOLOGY_CLOS, .pods = pods, .edges = edges, .hosts = hosts,
		.aggs = aggs, .uplinks = uplinks, .cables = { ten_gig, ten_gig, ten_gig },
	};
}

/* Every port has one reverse, the nodes agree, and both ends have the same cable. */
static void check_cabling(void)
{
	uint32_t ports = 0;

	for (uint32_t n = 0; n < topology.hosts + topology.switches; n++) {
		CHECK_EQ(nd_topology_port_first(&topology, n), ports);
		for (uint32_t i = 0; i < nd_topology_port_count(&topology, n); i++, ports++) {
			uint32_t reverse = nd_topology_port_reverse(&topology, ports);

			CHECK_EQ(nd_topology_port_node(&topology, ports), n);
			CHECK_EQ(nd_topology_port_reverse(&topology, reverse), ports);
			CHECK_EQ(nd_topology_peer(&topology, reverse), n);
			CHECK_EQ(nd_topology_cable(&topology, ports).rate_bps,
				 nd_topology_cable(&topology, reverse).rate_bps);
		}
	}
	CHECK_EQ(ports, topology.ports);
}

/* Distance of every node from a host, in links. */
static void distances(uint32_t from, uint32_t *distance)
{
	uint32_t nodes = topology.hosts + topology.switches;
	uint32_t *queue = malloc(nodes * sizeof(*queue));
	uint32_t head = 0, tail = 0;

	for (uint32_t n = 0; n < nodes; n++)
		distance[n] = ND_NONE;
	distance[from] = 0;
	queue[tail++] = from;
	while (head < tail) {
		uint32_t n = queue[head++];

		for (uint32_t i = 0; i < nd_topology_port_count(&topology, n); i++) {
			uint32_t peer = nd_topology_peer(&topology,
							 nd_topology_port_first(&topology, n) + i);

			if (distance[peer] == ND_NONE) {
				distance[peer] = distance[n] + 1;
				queue[tail++] = peer;
			}
		}
	}
	free(queue);
}

/* R-EC-3: from every switch the hops to a host are exactly the ports that lead nearer to it. */
static void check_hops_to(uint32_t target)
{
	uint32_t nodes = topology.hosts + topology.switches;
	uint32_t *distance = malloc(nodes * sizeof(*distance));

	distances(target, distance);
	for (uint32_t n = topology.hosts; n < nodes; n++) {
		struct nd_hops hops = nd_topology_hops(&topology, n, target, 0);
		uint32_t nearer = 0;

		for (uint32_t i = 0; i < nd_topology_port_count(&topology, n); i++) {
			uint32_t port = nd_topology_port_first(&topology, n) + i;
			uint32_t listed = 0;

			for (uint32_t j = 0; j < hops.count; j++)
				listed += (hops.ports ? hops.ports[j] : hops.first + j) == port;
			CHECK_EQ(listed,
				 distance[nd_topology_peer(&topology, port)] + 1 == distance[n]);
			nearer += listed;
		}
		CHECK_EQ(nearer, hops.count);
		CHECK(hops.digit < hops.count);
	}
	free(distance);
}

/* The nodes that path id `path` visits from source to target; returns how many links. */
static uint32_t walk(uint32_t source, uint32_t target, uint32_t path, uint32_t *visited)
{
	uint32_t links = 1;
	uint32_t node = nd_topology_peer(&topology, source);

	while (node != target) {
		struct nd_hops hops = nd_topology_hops(&topology, node, target, path);

		visited[links - 1] = node;
		node = nd_topology_peer(&topology, hops.ports ? hops.ports[hops.digit] :
							       hops.first + hops.digit);
		CHECK(++links < 16);
	}
	return links;
}

/* R-FT-1, E-O01: counts and degrees of the k-ary FatTree, k = 4..40. */
TEST(fat_tree__counts)
{
	for (uint32_t k = 4; k <= 40; k += 2) {
		uint32_t cores;

		build_fat_tree(k);
		cores = topology.hosts + topology.switches - topology.core_base;
		CHECK_EQ(topology.hosts, k * k * k / 4);
		CHECK_EQ(cores, k * k / 4);
		CHECK_EQ(topology.agg_base - topology.hosts, k * k / 2);
		CHECK_EQ(topology.core_base - topology.agg_base, k * k / 2);
		CHECK_EQ(topology.paths_max, k * k / 4);
		CHECK_EQ(nd_topology_paths(&topology, 0, topology.hosts - 1), k * k / 4);
		for (uint32_t n = topology.hosts; n < topology.hosts + topology.switches; n++)
			CHECK_EQ(nd_topology_port_count(&topology, n), k);
		nd_topology_free(&topology);
	}
}

/* R-FT-1: core j joins one agg of each pod. R-FT-4: that is a fixed k/2 subset for each agg. */
TEST(fat_tree__cores_join_one_agg_of_each_pod)
{
	for (uint32_t k = 4; k <= 12; k += 2) {
		build_fat_tree(k);
		check_cabling();
		for (uint32_t c = 0; c < k * k / 4; c++) {
			uint32_t first = nd_topology_port_first(&topology, topology.core_base + c);

			for (uint32_t pod = 0; pod < k; pod++)
				CHECK_EQ(nd_topology_peer(&topology, first + pod),
					 topology.agg_base + pod * k / 2 + c / (k / 2));
		}
		nd_topology_free(&topology);
	}
}

/* R-FT-2: path ids enumerate all shortest paths, all pairs, k <= 8. */
TEST(fat_tree__paths_of_all_pairs)
{
	for (uint32_t k = 4; k <= 8; k += 2) {
		uint32_t half = k / 2;

		build_fat_tree(k);
		for (uint32_t s = 0; s < topology.hosts; s++) {
			for (uint32_t t = 0; t < topology.hosts; t++) {
				uint32_t paths, want, links;
				uint32_t visited[16];
				uint64_t seen = 0;

				if (s == t)
					continue;
				paths = nd_topology_paths(&topology, s, t);
				if (s / half == t / half)
					want = 1, links = 2;
				else if (s / (half * half) == t / (half * half))
					want = half, links = 4;
				else
					want = half * half, links = 6;
				CHECK_EQ(paths, want);
				for (uint32_t p = 0; p < paths; p++) {
					uint32_t top;

					CHECK_EQ(walk(s, t, p, visited), links);
					top = visited[links / 2 - 1];
					top -= links == 6 ? topology.core_base :
					       links == 4 ? topology.agg_base : topology.hosts;
					CHECK(!(seen >> (top % 64) & 1));
					seen |= UINT64_C(1) << (top % 64);
				}
			}
		}
		nd_topology_free(&topology);
	}
}

/* R-EC-3: compare with breadth-first search. */
TEST(hops__equal_breadth_first_search)
{
	struct nd_topology_config configs[] = {
		clos(4, 2, 2, 2, 2), clos(8, 4, 6, 2, 4), clos(1, 9, 16, 4, 0),
		clos(1, 1, 10, 0, 0), clos(1, 4, 2, 2, 0), clos(3, 5, 7, 2, 3),
		clos(8, 4, 16, 4, 4),
	};

	for (uint32_t i = 0; i < ND_ARRAY_SIZE(configs); i++) {
		build(&configs[i]);
		check_cabling();
		for (uint32_t t = 0; t < topology.hosts; t++)
			check_hops_to(t);
		nd_topology_free(&topology);
	}
	build_fat_tree(12);
	for (uint32_t t = 0; t < topology.hosts; t += 7)
		check_hops_to(t);
	nd_topology_free(&topology);
}

/* R-FT-3: the sizes that the papers use. */
TEST(builders__sizes_of_the_papers)
{
	static const uint32_t fat_trees[][2] = { { 8, 128 }, { 12, 432 }, { 16, 1024 },
						 { 32, 8192 }, { 6, 54 } };
	struct nd_topology_config config;

	for (uint32_t i = 0; i < ND_ARRAY_SIZE(fat_trees); i++) {
		build_fat_tree(fat_trees[i][0]);
		CHECK_EQ(topology.hosts, fat_trees[i][1]);
	}
	config = clos(8, 4, 16, 4, 4); /* 512 hosts, ToR uplinks 4:1 */
	build(&config);
	CHECK_EQ(topology.hosts, 512);
	config = clos(1, 9, 16, 4, 0); /* leaf-spine of pFabric and Homa */
	build(&config);
	CHECK_EQ(topology.hosts, 144);
	CHECK_EQ(topology.switches, 13);
	CHECK_EQ(nd_topology_paths(&topology, 0, 143), 4);
	config = clos(8, 4, 6, 2, 4); /* HULL: 56 switches of 8 ports */
	build(&config);
	CHECK_EQ(topology.hosts, 192);
	CHECK_EQ(topology.switches, 56);
	for (uint32_t n = topology.hosts; n < topology.hosts + topology.switches; n++)
		CHECK_EQ(nd_topology_port_count(&topology, n), 8);
	config = clos(1, 4, 2, 2, 0); /* NDP testbed: six switches of 4 ports */
	build(&config);
	CHECK_EQ(topology.hosts, 8);
	CHECK_EQ(topology.switches, 6);
	for (uint32_t n = topology.hosts; n < topology.hosts + topology.switches; n++)
		CHECK_EQ(nd_topology_port_count(&topology, n), 4);
}

TEST(back_to_back__one_cable)
{
	struct nd_topology_config config = {
		.kind = ND_TOPOLOGY_BACK_TO_BACK, .cables = { ten_gig },
	};

	build(&config);
	CHECK_EQ(topology.ports, 2);
	check_cabling();
	CHECK_EQ(nd_topology_paths(&topology, 0, 1), 1);
	CHECK_EQ(nd_topology_tier(&topology, 0), ND_TIER_NIC);
}

/* R-EC-3 on a graph that is no Clos: a random one, and a copy of a FatTree. */
TEST(graph__all_shortest_paths)
{
	struct nd_rng rng = nd_rng_make(11, 0);
	struct nd_topology_edge edges[200];
	struct nd_topology_config config = {
		.kind = ND_TOPOLOGY_GRAPH, .hosts = 20, .switches = 15, .edge_list = edges,
	};

	for (uint32_t h = 0; h < 20; h++)
		edges[config.edge_count++] = (struct nd_topology_edge){ h, 20 + h % 10, ten_gig };
	for (uint32_t s = 1; s < 15; s++)
		edges[config.edge_count++] =
			(struct nd_topology_edge){ 20 + s, 20 + nd_rng_below(&rng, s), ten_gig };
	for (uint32_t i = 0; i < 25; i++) {
		uint32_t a = nd_rng_below(&rng, 15);
		uint32_t b = (a + 1 + nd_rng_below(&rng, 14)) % 15;

		edges[config.edge_count++] = (struct nd_topology_edge){ 20 + a, 20 + b, ten_gig };
	}
	build(&config);
	check_cabling();
	for (uint32_t t = 0; t < 20; t++)
		check_hops_to(t);
	nd_topology_free(&topology);
}

TEST(graph__fat_tree_has_the_same_path_counts)
{
	struct nd_topology tree;
	struct nd_topology_config config;
	struct nd_topology_edge edges[48];
	uint32_t count = 0;

	build_fat_tree(4);
	tree = topology;
	for (uint32_t p = 0; p < tree.ports; p++) {
		if (p < nd_topology_port_reverse(&tree, p))
			edges[count++] = (struct nd_topology_edge){
				nd_topology_port_node(&tree, p), nd_topology_peer(&tree, p), ten_gig,
			};
	}
	config = (struct nd_topology_config){
		.kind = ND_TOPOLOGY_GRAPH, .hosts = 16, .switches = 20, .edge_list = edges,
		.edge_count = count,
	};
	build(&config);
	for (uint32_t s = 0; s < 16; s++) {
		for (uint32_t t = 0; t < 16; t++) {
			if (s != t)
				CHECK_EQ(nd_topology_paths(&topology, s, t),
					 nd_topology_paths(&tree, s, t));
		}
	}
	nd_topology_free(&topology);
}

TEST(topology_init__says_what_is_wrong)
{
	struct nd_topology_config config = clos(2, 1, 1, 1, 0);

	CHECK(nd_topology_init(&topology, &config, &error) < 0);
	CHECK_STR(error.text, "2 pods need uplinks to a core");
	config = clos(1, 1, 2, 0, 0);
	config.cables[0].rate_bps = 0;
	CHECK(nd_topology_init(&topology, &config, &error) < 0);
	CHECK_STR(error.text, "link rate 0 bit/s is outside 1 Mbit/s .. 3.2 Tbit/s");
	config = (struct nd_topology_config){
		.kind = ND_TOPOLOGY_GRAPH, .hosts = 2, .switches = 2, .edge_count = 2,
		.edge_list = (struct nd_topology_edge[]){ { 0, 2, ten_gig }, { 1, 3, ten_gig } },
	};
	CHECK(nd_topology_init(&topology, &config, &error) < 0);
	CHECK_STR(error.text, "no path from switch 1 to 0");
}

TEST(topology_divide__exact)
{
	for (uint32_t d = 1; d <= 65536; d += d < 48 ? 1 : 997) {
		uint64_t inverse = nd_topology_inverse(d);

		for (uint32_t n = 0; n < ND_TOPOLOGY_HOSTS_MAX; n += d < 48 ? 1 : 13)
			CHECK(nd_topology_divide(n, inverse) == n / d);
	}
}

int main(int argc, char **argv)
{
	return nd_test_main(argc, argv);
}
