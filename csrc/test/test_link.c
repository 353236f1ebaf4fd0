// SPDX-License-Identifier: Apache-2.0
/* The wire between two hosts: times to the picosecond, faults, changes on a schedule. */
#include "sim_fixture.h"

#include "queue/droptail.h"

static struct fixture f;

static void begin(void)
{
	fixture_init(&f, 4);
	f.config.topology = (struct nd_topology_config){
		.kind = ND_TOPOLOGY_BACK_TO_BACK, .cables = { { 10 * GBIT, 500000 } },
	};
}

static const struct nd_flow_row *run(const struct nd_flow *flow, nd_ps until, int status)
{
	fixture_sim(&f, flow, 1);
	CHECK_EQ(nd_sim_run(f.sim, until), status);
	fixture_audit(f.sim);
	return nd_sim_rows(f.sim, NULL);
}

/* R-NSW-15, E-N04: 9000 bytes take 7.2 us at 10 Gb/s, 64 bytes 51.2 ns. */
TEST(launch__times_are_exact)
{
	struct nd_flow flow = fixture_flow(0, 1, 8936);
	const struct nd_flow_row *row;

	begin();
	row = run(&flow, USEC_PS * 100, ND_SIM_DONE);
	CHECK_EQ(row->received_ps, 7200000 + 500000);
	CHECK_EQ(row->best_ps, row->received_ps);
	CHECK_EQ(row->done_ps, row->received_ps);
	nd_sim_free(f.sim);
	begin();
	flow.bytes = 0;
	row = run(&flow, USEC_PS * 100, ND_SIM_DONE);
	CHECK_EQ(nd_sim_counters(f.sim)->sent_bytes, 64);
	CHECK_EQ(nd_sim_counters(f.sim)->hops, 1);
	nd_sim_free(f.sim);
}

/* R-NTP-01's spacing: packets leave back to back, whatever the limit of the NIC's queue. */
TEST(launch__back_to_back)
{
	for (uint32_t nic = 1; nic <= 3; nic++) {
		struct nd_flow flow = fixture_flow(0, 1, 8936 * 10 + 100);
		const struct nd_flow_row *row;

		begin();
		f.config.nic_packets = nic;
		row = run(&flow, USEC_PS * 1000, ND_SIM_DONE);
		CHECK_EQ(row->best_ps, 10 * 7200000 + 131200 + 500000);
		CHECK_EQ(row->received_ps, row->best_ps);
		nd_sim_free(f.sim);
	}
}

/* A target sees the flow's last byte exactly when the arithmetic says. */
TEST(best__alone_on_the_cable)
{
	static const uint64_t sizes[] = { 0, 1, 8935, 8936, 8937, 17872, 100000, 1000001 };

	for (uint32_t i = 0; i < ND_ARRAY_SIZE(sizes); i++) {
		struct nd_flow flows[2] = { fixture_flow(0, 1, sizes[i]),
					    fixture_flow(1, 0, 10000000) };
		const struct nd_flow_row *rows;

		begin();
		f.config.send_delay.fixed_ps = 1234567;
		f.config.receive_delay.fixed_ps = 765433;
		fixture_sim(&f, flows, 2);
		CHECK_EQ(nd_sim_run(f.sim, USEC_PS * 20000), ND_SIM_DONE);
		rows = nd_sim_rows(f.sim, NULL);
		CHECK_EQ(rows[0].received_ps, rows[0].best_ps);
		nd_sim_free(f.sim);
	}
}

static uint64_t lossy(uint32_t kind, uint64_t value, const struct nd_sim_counters **counters)
{
	struct nd_flow flow = fixture_flow(0, 1, UINT64_C(8936) * 20000);
	struct nd_sim_change change = { .kind = (uint16_t)kind, .value = value, .port = 0 };

	begin();
	f.config.changes = &change;
	f.config.change_count = 1;
	run(&flow, USEC_PS * 200000, ND_SIM_STUCK);
	*counters = nd_sim_counters(f.sim);
	return nd_sim_trace_hash(f.sim);
}

/* E-X04: loss and corruption at the asked rate, the same packets in every run. */
TEST(changes__loss_and_corruption)
{
	const struct nd_sim_counters *c;
	uint64_t hash = lossy(ND_SIM_CHANGE_LOSS, (UINT64_C(1) << 32) / 100, &c);

	CHECK(c->lost_packets > 140 && c->lost_packets < 260);
	nd_sim_free(f.sim);
	CHECK(lossy(ND_SIM_CHANGE_LOSS, (UINT64_C(1) << 32) / 100, &c) == hash);
	nd_sim_free(f.sim);
	/* 1e-6 a byte is 0.9 % of 9000-byte packets. */
	lossy(ND_SIM_CHANGE_CORRUPT, (UINT64_C(1) << 48) / 1000000, &c);
	CHECK(c->corrupted_packets > 130 && c->corrupted_packets < 230);
	CHECK_EQ(c->lost_packets, 0);
	nd_sim_free(f.sim);
}

/* A loss of all spares none: of this seed the first draw is the highest that there is. */
TEST(changes__always_means_always)
{
	struct nd_flow flow = fixture_flow(0, 1, 8936);
	struct nd_sim_change change = { .kind = ND_SIM_CHANGE_LOSS, .value = UINT64_C(1) << 32 };

	begin();
	f.config.seed = 2401097773;
	f.config.changes = &change;
	f.config.change_count = 1;
	run(&flow, USEC_PS * 100, ND_SIM_STUCK);
	CHECK_EQ(nd_sim_counters(f.sim)->lost_packets, 1);
	nd_sim_free(f.sim);
}

/* E-X04: down loses all that starts to be sent, up ends that. */
TEST(changes__down_and_up)
{
	struct nd_flow flow = fixture_flow(0, 1, UINT64_C(8936) * 30);
	struct nd_sim_change changes[2] = {
		{ .time_ps = 7200000 * 10, .kind = ND_SIM_CHANGE_DOWN, .port = 1, .both_ways = 1 },
		{ .time_ps = 7200000 * 15, .kind = ND_SIM_CHANGE_UP, .port = 1, .both_ways = 1 },
	};

	begin();
	f.config.changes = changes;
	f.config.change_count = 2;
	run(&flow, USEC_PS * 1000, ND_SIM_STUCK);
	CHECK_EQ(nd_sim_counters(f.sim)->lost_packets, 5);
	CHECK_EQ(nd_sim_rows(f.sim, NULL)->packets, 25);
	CHECK_EQ(nd_sim_unfinished(f.sim), 1);
	CHECK_EQ(nd_sim_rows(f.sim, NULL)->state, ND_FLOW_STARTED);
	nd_sim_free(f.sim);
}

/* E-X04: 10 Gb/s becomes 1 Gb/s for what is sent from then on. */
TEST(changes__rate_and_delay)
{
	struct nd_flow flow = fixture_flow(0, 1, 8936 * 4);
	struct nd_sim_change changes[2] = {
		{ .time_ps = 14400000, .kind = ND_SIM_CHANGE_RATE, .value = GBIT, .port = 0 },
		{ .time_ps = 14400000, .kind = ND_SIM_CHANGE_DELAY, .value = 900000, .port = 0 },
	};
	const struct nd_flow_row *row;

	begin();
	f.config.changes = changes;
	f.config.change_count = 2;
	row = run(&flow, USEC_PS * 1000, ND_SIM_DONE);
	CHECK_EQ(row->received_ps, 2 * 7200000 + 2 * 72000000 + 900000);
	nd_sim_free(f.sim);
}

/* Measured delays vary, but software hands packets over in order. */
TEST(delays__quantiles_keep_the_order)
{
	static const uint32_t quantiles[] = { 0, 1000000, 50000000 };
	struct nd_flow flow = fixture_flow(0, 1, 8936 * 200);
	const struct nd_sim_record *records;
	uint32_t count;

	begin();
	f.config.send_delay = (struct nd_sim_delay){ .fixed_ps = 5, .quantiles_ps = quantiles,
						     .count = 3 };
	f.config.receive_delay = f.config.send_delay;
	f.config.probes.timeline = 1000;
	run(&flow, USEC_PS * 10000, ND_SIM_DONE);
	records = nd_sim_timeline(f.sim, &count, NULL);
	CHECK_EQ(count, 400);
	for (uint32_t i = 0, last = 0; i < count; i++) {
		if (records[i].kind != ND_SIM_RECORD_RECEIVE)
			continue;
		CHECK(i == 0 || records[i].time_ps >= records[last].time_ps);
		last = i;
	}
	nd_sim_free(f.sim);
}

/* R-PQ-1, R-PQ-2: it sees what leaves, delays nothing, and never marks who knows no ECN. */
TEST(phantom__watches_the_exit)
{
	struct nd_phantom_config phantom = { .rate_bps = 9 * GBIT, .threshold_bytes = 1000 };
	struct nd_droptail_config droptail = { .limit = { .packets = 100 } };
	struct nd_flow flow = fixture_flow(0, 1, 8936 * 50);
	const struct nd_phantom_counters *counters;
	nd_ps received;

	fixture_init(&f, 4);
	fixture_egress(&f, &nd_droptail_ops, &droptail);
	fixture_sim(&f, &flow, 1);
	CHECK_EQ(nd_sim_run(f.sim, USEC_PS * 10000), ND_SIM_DONE);
	received = nd_sim_rows(f.sim, NULL)->received_ps;
	CHECK(!nd_sim_phantom_counters(f.sim, nd_sim_topology(f.sim)->edge_port_base + 1));
	nd_sim_free(f.sim);

	f.config.egress[ND_TIER_EDGE_DOWN].phantom = &phantom;
	fixture_sim(&f, &flow, 1);
	CHECK_EQ(nd_sim_run(f.sim, USEC_PS * 10000), ND_SIM_DONE);
	CHECK_EQ(nd_sim_rows(f.sim, NULL)->received_ps, received);
	counters = nd_sim_phantom_counters(f.sim, nd_sim_topology(f.sim)->edge_port_base + 1);
	CHECK_EQ(counters->passed_packets, 50);
	CHECK_EQ(counters->passed_bytes, 50 * 9000);
	CHECK_EQ(counters->marked_packets, 0);
	CHECK(counters->unmarked_packets > 40);
	CHECK(!nd_sim_phantom_counters(f.sim, 0));
	nd_sim_free(f.sim);

	phantom.rate_bps = 0;
	CHECK(!nd_sim_new(&f.config, &flow, 1, NULL, 0, &f.error));
	CHECK(strstr(f.error.text, "phantom queue of tier 1"));
}

int main(int argc, char **argv)
{
	return nd_test_main(argc, argv);
}
