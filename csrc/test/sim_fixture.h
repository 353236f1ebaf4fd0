/* SPDX-License-Identifier: Apache-2.0 */
/* Small simulations for tests: one config to start from, short words for what tests repeat. */
#ifndef ND_TEST_SIM_FIXTURE_H
#define ND_TEST_SIM_FIXTURE_H

#include "harness.h"
#include "sim/blast.h"
#include "sim/sim.h"

#define GBIT UINT64_C(1000000000)
#define USEC_PS UINT64_C(1000000)

struct fixture {
	struct nd_sim_config config;
	struct nd_sim_engine engine;
	const void *engine_configs[4];
	struct nd_blast_config blast;
	struct nd_error error;
	struct nd_sim *sim;
};

/* Same discipline behind every switch port. */
static inline void fixture_egress(struct fixture *f, const struct nd_queue_ops *ops,
				  const void *config)
{
	for (uint32_t i = 0; i < ND_TIER_COUNT; i++)
		f->config.egress[i] = (struct nd_sim_egress){ .ops = ops, .config = config };
}

static inline void fixture_engine(struct fixture *f, const struct nd_transport_ops *ops,
				  const void *config, uint32_t payload, uint32_t overhead)
{
	f->engine_configs[0] = config;
	f->engine = (struct nd_sim_engine){
		.ops = ops, .configs = f->engine_configs, .classes = 1,
		.message_bytes_max = 1u << 30, .payload_bytes_max = payload,
		.overhead_bytes = overhead, .service = 1,
	};
	f->config.engines = &f->engine;
	f->config.engine_count = 1;
	f->config.packet_bytes = payload + overhead;
}

/* A k-ary FatTree of 10 Gb/s and 500 ns links, unresponsive senders of 9000-byte packets. */
static inline void fixture_init(struct fixture *f, uint32_t k)
{
	struct nd_cable cable = { .rate_bps = 10 * GBIT, .delay_ps = 500000 };

	*f = (struct fixture){ 0 };
	f->config.seed = 1;
	f->config.nic_packets = 1;
	f->config.probes.pcap_port = ND_NONE;
	f->config.probes.timeline_host = ND_NONE;
	nd_topology_fat_tree(&f->config.topology, k, cable);
	f->blast = (struct nd_blast_config){
		.payload_bytes_max = 8936, .header_bytes = 64, .connections_max = 64,
		.paths = k * k / 4, .trimmable = 1,
	};
	fixture_engine(f, &nd_blast_ops, &f->blast, 8936, 64);
}

static inline struct nd_flow fixture_flow(uint32_t source, uint32_t target, uint64_t bytes)
{
	return (struct nd_flow){
		.source = source, .target = target, .bytes = bytes, .starts_on = ND_NONE,
		.on_sent = ND_NONE, .on_received = ND_NONE,
	};
}

static inline struct nd_sim *fixture_sim(struct fixture *f, const struct nd_flow *flows,
					 uint32_t count)
{
	f->sim = nd_sim_new(&f->config, flows, count, NULL, 0, &f->error);
	if (!f->sim)
		nd_test_fail(__FILE__, __LINE__, f->error.text);
	return f->sim;
}

static inline void fixture_audit(struct nd_sim *sim)
{
	const char *why = nd_sim_audit(sim);

	if (why)
		nd_test_fail(__FILE__, __LINE__, why);
}

#endif
