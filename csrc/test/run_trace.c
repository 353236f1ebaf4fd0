// SPDX-License-Identifier: Apache-2.0
/*
 * E-X05, S-9: trace hashes of an NDP and a Homa run, which are the same whatever compiler and
 * optimization built this program, with probes or without, and with every packet encoded and
 * decoded or not.
 */
#include "queue/disciplines.h"
#include "queue/ndp.h"
#include "sim/traffic.h"
#include "sim_fixture.h"
#include "transport/homa.h"
#include "transport/ndp.h"

#include <stdlib.h>

#define HOSTS 16
#define FLOWS_EACH 4
#define HEADER_BYTES 64

static struct fixture f;
static struct nd_flow flows[HOSTS * FLOWS_EACH];

/* Queues so short that headers are returned, too. */
static void begin_ndp(void)
{
	static struct nd_ndp_config ndp;
	static struct nd_ndp_queue_config queue;

	ndp = nd_ndp_config_default(10 * GBIT, 9000);
	ndp.mss_bytes = 9000 - HEADER_BYTES;
	ndp.data_header_bytes = HEADER_BYTES;
	ndp.control_bytes = HEADER_BYTES;
	ndp.paths = 4;
	queue = nd_ndp_queue_paper(7, 9000);
	queue.headers.bytes = 128;
	fixture_egress(&f, &nd_ndp_queue_ops, &queue);
	fixture_engine(&f, &nd_ndp_ops, &ndp, 9000 - HEADER_BYTES, HEADER_BYTES);
	f.engine.message_bytes_max = ndp.message_bytes_max;
}

static void begin_homa(void)
{
	static struct nd_homa_config homa;
	static const struct nd_strict_config strict = { .levels = 8, .level = { .bytes = 50000 } };

	homa = nd_homa_config_paper(4, 4);
	homa.mss_bytes = 1442;
	homa.data_header_bytes = 96;
	homa.control_bytes = 84;
	f.config.route = ND_SIM_ROUTE_RANDOM;
	f.config.receive_delay.fixed_ps = 1500000;
	fixture_egress(&f, &nd_strict_ops, &strict);
	fixture_engine(&f, &nd_homa_ops, &homa, 1442, 96);
	f.engine.message_bytes_max = homa.message_bytes_max;
}

static void watch(void)
{
	f.config.probes.goodput_bin_ps = 100 * USEC_PS;
	f.config.probes.goodput_bins = 10;
	f.config.probes.queues = 1;
	f.config.probes.delays = 1;
	f.config.probes.waste = 1;
	f.config.probes.timeline = 5000;
}

static struct nd_sim_counters counters; /* of the last run */

static uint64_t run(void (*begin)(void), bool watched, bool wire_check)
{
	struct nd_flow pattern = fixture_flow(0, 0, 200000);
	uint64_t hash;

	fixture_init(&f, 4);
	begin();
	if (watched)
		watch();
	f.config.wire_check = wire_check;
	nd_traffic_random(flows, HOSTS, FLOWS_EACH, &pattern, 7);
	fixture_sim(&f, flows, ND_ARRAY_SIZE(flows));
	if (nd_sim_run(f.sim, ND_NEVER) != ND_SIM_DONE || nd_sim_audit(f.sim)) {
		fprintf(stderr, "%s\n", nd_sim_error(f.sim));
		exit(1);
	}
	hash = nd_sim_trace_hash(f.sim);
	counters = *nd_sim_counters(f.sim);
	nd_sim_free(f.sim);
	return hash;
}

static int report(const char *name, void (*begin)(void))
{
	uint64_t hash = run(begin, false, false);

	printf("%s %016" PRIx64 ": %" PRIu64 " hops, %" PRIu64 " trimmed, %" PRIu64 " returned\n",
	       name, hash, counters.hops, counters.received_trimmed_packets,
	       counters.bounced_packets);
	if (run(begin, true, false) != hash)
		return fprintf(stderr, "%s: probes change the run\n", name);
	if (run(begin, false, true) != hash)
		return fprintf(stderr, "%s: the wire check changes the run\n", name);
	return 0;
}

int main(void)
{
	return report("ndp", begin_ndp) || report("homa", begin_homa);
}
