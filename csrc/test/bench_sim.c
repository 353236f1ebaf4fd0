// SPDX-License-Identifier: Apache-2.0
/*
 * Speed of the simulator: a permutation of endless NDP flows on a FatTree.
 *
 *	bench_sim [K [MTU [US [IW]]]]     k of the FatTree, bytes of a packet, simulated time, window
 *
 * Prints packet-hops a second of CPU time and the trace hash, which must not depend on compiler or
 * optimization. The wire sizes are the papers': a 64-byte header within the MTU.
 */
#include "queue/ndp.h"
#include "sim/traffic.h"
#include "sim_fixture.h"
#include "transport/ndp.h"

#include <time.h>

#define HEADER_BYTES 64

static double cpu_seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static uint32_t argument(int argc, char **argv, int at, uint32_t otherwise)
{
	return argc > at ? (uint32_t)strtoul(argv[at], NULL, 0) : otherwise;
}

/* An endpoint with room for what a permutation asks of it and little more. */
static struct nd_ndp_config ndp_config(uint32_t k, uint32_t mtu, uint32_t window)
{
	struct nd_ndp_config config = nd_ndp_config_default(10 * GBIT, mtu);

	config.mss_bytes = mtu - HEADER_BYTES;
	config.data_header_bytes = HEADER_BYTES;
	config.control_bytes = HEADER_BYTES;
	config.initial_window = window;
	config.window_packets = 64;
	config.paths = k * k / 4;
	config.paths_max = config.paths;
	config.path_sets_max = 4;
	config.connections_max = 8;
	config.time_wait_max = 8;
	config.listeners_max = 1;
	config.listen_backlog = 4;
	config.peers_max = 4;
	config.sending_max = 4;
	config.messages_max = 8;
	config.connection_messages_max = 4;
	config.receive_messages_max = 8;
	config.control_max = 256;
	return config;
}

static void report(const struct fixture *f, uint32_t k, double seconds)
{
	const struct nd_sim_counters *c = nd_sim_counters(f->sim);
	uint32_t hosts = k * k * k / 4;
	double busy = (double)nd_sim_now(f->sim) * hosts / 800;

	printf("hosts=%u simulated_us=%.0f hops=%" PRIu64 " events_per_hop=%.2f cpu_s=%.3f "
	       "mhops_per_s=%.2f utilisation=%.1f%% trimmed=%" PRIu64 " memory_mib=%.0f "
	       "hash=%016" PRIx64 "\n",
	       hosts, (double)nd_sim_now(f->sim) / 1e6, c->hops, (double)c->events / (double)c->hops,
	       seconds, (double)c->hops / seconds / 1e6, 100 * (double)c->payload_bytes / busy,
	       c->received_trimmed_packets, (double)nd_sim_memory(f->sim) / 1048576,
	       nd_sim_trace_hash(f->sim));
}

int main(int argc, char **argv)
{
	static struct fixture f;
	uint32_t k = argument(argc, argv, 1, 12), mtu = argument(argc, argv, 2, 9000);
	uint32_t us = argument(argc, argv, 3, 1000), window = argument(argc, argv, 4, 30);
	uint32_t hosts = k * k * k / 4;
	struct nd_flow pattern = fixture_flow(0, 0, ND_FLOW_ENDLESS);
	struct nd_flow *flows = calloc(hosts, sizeof(*flows));
	struct nd_ndp_config ndp = ndp_config(k, mtu, window);
	/* 8 packets, the one in service included. */
	struct nd_ndp_queue_config queue = nd_ndp_queue_paper(7, mtu);
	double start;

	fixture_init(&f, k);
	fixture_egress(&f, &nd_ndp_queue_ops, &queue);
	fixture_engine(&f, &nd_ndp_ops, &ndp, mtu - HEADER_BYTES, HEADER_BYTES);
	f.engine.message_bytes_max = ndp.message_bytes_max;
	pattern.background = 1;
	nd_traffic_permutation(flows, hosts, &pattern, 1);
	fixture_sim(&f, flows, hosts);
	start = cpu_seconds();
	if (nd_sim_run(f.sim, us * USEC_PS) != ND_SIM_UNTIL || nd_sim_audit(f.sim)) {
		fprintf(stderr, "%s\n", nd_sim_error(f.sim));
		return 1;
	}
	report(&f, k, cpu_seconds() - start);
	nd_sim_free(f.sim);
	free(flows);
	return 0;
}
