// SPDX-License-Identifier: Apache-2.0
/* Switches in a run: how packets spread, the NDP switch under senders that do not listen. */
#include "queue/disciplines.h"
#include "sim/traffic.h"
#include "sim_fixture.h"

static struct fixture f;
static struct nd_flow flows[4000];
static const struct nd_droptail_config deep = { .limit = { .packets = 4000 } };

/* Packets that left each core of a FatTree after a run of pattern flows. */
static void core_loads(uint32_t count, uint64_t *loads)
{
	const struct nd_topology *t;

	fixture_egress(&f, &nd_droptail_ops, &deep);
	fixture_sim(&f, flows, count);
	CHECK_EQ(nd_sim_run(f.sim, ND_NEVER), ND_SIM_DONE);
	fixture_audit(f.sim);
	t = nd_sim_topology(f.sim);
	for (uint32_t c = 0; c < t->hosts + t->switches - t->core_base; c++) {
		uint32_t first = nd_topology_port_first(t, t->core_base + c);

		loads[c] = 0;
		for (uint32_t i = 0; i < nd_topology_port_count(t, t->core_base + c); i++)
			loads[c] += nd_sim_queue_counters(f.sim, first + i)->dequeued_packets;
	}
	nd_sim_free(f.sim);
}

static double chi_square(const uint64_t *loads, uint32_t count)
{
	double total = 0, chi = 0;

	for (uint32_t i = 0; i < count; i++)
		total += (double)loads[i];
	for (uint32_t i = 0; i < count; i++) {
		double off = (double)loads[i] - total / count;

		chi += off * off / (total / count);
	}
	return chi;
}

/* R-EC-2: per packet, uniform random over the equal-cost ports (15 degrees of freedom, 1e-4). */
TEST(route__random_is_uniform)
{
	uint64_t loads[16];

	fixture_init(&f, 8);
	f.config.route = ND_SIM_ROUTE_RANDOM;
	flows[0] = fixture_flow(0, 127, 8936 * 16000);
	core_loads(1, loads);
	CHECK(chi_square(loads, 16) < 44.3);
}

/* R-PFR-6: round robin spreads exactly. */
TEST(route__round_robin_is_even)
{
	uint64_t loads[16];

	fixture_init(&f, 8);
	f.config.route = ND_SIM_ROUTE_ROUND_ROBIN;
	flows[0] = fixture_flow(0, 127, 8936 * 1600);
	core_loads(1, loads);
	for (uint32_t c = 0; c < 16; c++)
		CHECK_EQ(loads[c], 100);
}

/* R-NRT-01: a source-chosen path visits the core that it names. */
TEST(route__source_names_the_core)
{
	uint64_t loads[16];

	fixture_init(&f, 8);
	flows[0] = fixture_flow(0, 127, 8936 * 1601);
	core_loads(1, loads);
	CHECK_EQ(loads[0], 101);
	for (uint32_t c = 1; c < 16; c++)
		CHECK_EQ(loads[c], 100);
}

/* R-EC-1: one flow takes one path; many flows spread evenly (chi-square). */
TEST(route__flow_hash)
{
	uint64_t loads[16];
	uint32_t used = 0;

	fixture_init(&f, 8);
	f.config.route = ND_SIM_ROUTE_FLOW;
	flows[0] = fixture_flow(0, 127, 8936 * 100);
	core_loads(1, loads);
	for (uint32_t c = 0; c < 16; c++)
		used += loads[c] > 0;
	CHECK_EQ(used, 1);
	f.blast.connections_max = 4000;
	for (uint32_t i = 0; i < 4000; i++)
		flows[i] = fixture_flow(i % 64, 64 + (i * 7 + i / 64) % 64, 100);
	core_loads(4000, loads);
	CHECK(chi_square(loads, 16) < 44.3);
}

/* Bytes on the wire of whole packets from n unresponsive line-rate senders to one host: mean, and
 * mean of the worst tenth, as a part of the fair share. The senders' software delays each packet by
 * up to jitter_ps; 0 keeps all of them in lockstep. */
static void collapse(uint32_t senders, const struct nd_queue_ops *ops, const void *config,
		     uint32_t jitter_ps, double *mean, double *worst)
{
	uint32_t quantiles[64];
	static uint64_t bytes[256];
	const uint32_t ms = 200;
	uint32_t tenth = senders / 10 ? senders / 10 : 1;
	double sum = 0, low = 0;

	fixture_init(&f, 4);
	f.config.topology = (struct nd_topology_config){
		.pods = 1, .edges = 1, .hosts = senders + 1, .cables = { { 10 * GBIT, 500000 } },
	};
	fixture_egress(&f, ops, config);
	for (uint32_t i = 0; i < 64; i++)
		quantiles[i] = jitter_ps / 64 * i;
	f.config.send_delay.quantiles_ps = quantiles;
	f.config.send_delay.count = jitter_ps ? 64 : 0;
	for (uint32_t i = 0; i < senders; i++) {
		flows[i] = fixture_flow(i, senders, ND_FLOW_ENDLESS);
		flows[i].background = 1;
	}
	fixture_sim(&f, flows, senders);
	CHECK_EQ(nd_sim_run(f.sim, USEC_PS * 1000 * ms), ND_SIM_UNTIL);
	fixture_audit(f.sim);
	for (uint32_t i = 0; i < senders; i++) {
		uint32_t at = i;

		for (; at > 0 && bytes[at - 1] > nd_sim_rows(f.sim, NULL)[i].payload_bytes; at--)
			bytes[at] = bytes[at - 1];
		bytes[at] = nd_sim_rows(f.sim, NULL)[i].payload_bytes;
		sum += (double)nd_sim_rows(f.sim, NULL)[i].payload_bytes;
	}
	for (uint32_t i = 0; i < tenth; i++)
		low += (double)bytes[i];
	nd_sim_free(f.sim);
	sum = sum / 8936 * 9000;
	low = low / 8936 * 9000;
	*mean = sum * 8 / (ms * 1e-3 * 10e9);
	*worst = low / tenth * senders * 8 / (ms * 1e-3 * 10e9);
}

/* E-N01, R-NSW-11: no congestion collapse and no phase effect, however many senders. */
TEST(ndp_queue__no_collapse)
{
	struct nd_ndp_queue_config config = nd_ndp_queue_paper(8, 9000);
	static const uint32_t senders[] = { 2, 10, 50 };

	config.return_to_sender = false;
	for (uint32_t i = 0; i < ND_ARRAY_SIZE(senders); i++) {
		double mean, worst;

		collapse(senders[i], &nd_ndp_queue_ops, &config, 7200000, &mean, &worst);
		CHECK(mean >= 0.933);
		CHECK(worst >= 0.75 * mean);
	}
}

/* E-N01: cut payload collapses as headers fill the link: (C - 64 N) / (C - 64). */
TEST(cut_payload__collapses)
{
	struct nd_cut_payload_config config = { .limit = { .bytes = 144000 },
						.threshold = { .packets = 8 } };
	double mean, worst;

	collapse(50, &nd_cut_payload_ops, &config, 0, &mean, &worst);
	CHECK(mean < (9000.0 - 64 * 50) / (9000 - 64) + 0.03);
	CHECK(worst <= 0.5 * mean);
}

/* Ports of a switch share its buffer: one busy port gets more than its part, two get less each. */
TEST(egress__shared_buffer)
{
	struct nd_droptail_config config = { .limit = { .bytes = 900000 } };
	uint32_t most[2] = { 0, 0 };

	for (uint32_t busy = 1; busy <= 2; busy++) {
		const struct nd_sim_depth *depths;
		uint32_t count;

		fixture_init(&f, 4);
		f.config.topology = (struct nd_topology_config){
			.pods = 1, .edges = 1, .hosts = 8, .cables = { { 10 * GBIT, 500000 } },
		};
		fixture_egress(&f, &nd_droptail_ops, &config);
		f.config.egress[ND_TIER_EDGE_DOWN].config_bytes = sizeof(config);
		f.config.egress[ND_TIER_EDGE_DOWN].shared_offset =
			offsetof(struct nd_droptail_config, shared);
		f.config.egress[ND_TIER_EDGE_DOWN].shared_bytes = 360000;
		f.config.egress[ND_TIER_EDGE_DOWN].shared_alpha_256 = 256;
		f.config.probes.queues = 1;
		for (uint32_t i = 0; i < 6; i++) {
			flows[i] = fixture_flow(i, 6 + i % busy, 8936 * 100);
			flows[i].background = 1;
		}
		fixture_sim(&f, flows, 6);
		CHECK_EQ(nd_sim_run(f.sim, ND_NEVER), ND_SIM_DONE);
		fixture_audit(f.sim);
		depths = nd_sim_depths(f.sim, &count);
		for (uint32_t p = 8; p < count; p++)
			most[busy - 1] = nd_max_u32(most[busy - 1], depths[p].bytes_max);
		nd_sim_free(f.sim);
	}
	/* alpha 1: a queue may grow to what is free: half of the buffer, or a third. */
	CHECK_EQ(most[0], 180000);
	CHECK(most[1] >= 117000 && most[1] <= 135000);
}

/* R-PQ-1: a phantom queue sees what leaves the port, and delays nothing. */
TEST(egress__phantom_queue)
{
	struct nd_phantom_config phantom = { .rate_bps = 9500000000, .threshold_bytes = 30000 };
	const struct nd_phantom_counters *counters;
	nd_ps received[2];

	for (uint32_t on = 0; on < 2; on++) {
		fixture_init(&f, 4);
		fixture_egress(&f, &nd_droptail_ops, &deep);
		f.config.egress[ND_TIER_EDGE_DOWN].phantom = on ? &phantom : NULL;
		flows[0] = fixture_flow(0, 1, 8936 * 200);
		fixture_sim(&f, flows, 1);
		CHECK_EQ(nd_sim_run(f.sim, ND_NEVER), ND_SIM_DONE);
		received[on] = nd_sim_rows(f.sim, NULL)->received_ps;
		counters = nd_sim_phantom_counters(f.sim, nd_topology_port_reverse(
								  nd_sim_topology(f.sim), 1));
		CHECK((counters != NULL) == (on == 1));
		if (counters) {
			CHECK_EQ(counters->passed_packets, 200);
			/* 5 % of line rate is left over: above 30,000 bytes after 47 packets. */
			CHECK(counters->unmarked_packets > 120 && counters->unmarked_packets < 160);
		}
		nd_sim_free(f.sim);
	}
	CHECK_EQ(received[0], received[1]);
}

int main(int argc, char **argv)
{
	return nd_test_main(argc, argv);
}
