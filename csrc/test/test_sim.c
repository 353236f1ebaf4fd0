// SPDX-License-Identifier: Apache-2.0
/* Whole runs: determinism, invariants, flows and triggers, probes, limits. */
#include "queue/disciplines.h"
#include "sim/traffic.h"
#include "sim_fixture.h"

static struct fixture f;
static struct nd_flow flows[20000];
static const struct nd_droptail_config deep = { .limit = { .packets = 4000 } };
static struct nd_ndp_queue_config ndp8;

static void begin(uint32_t k)
{
	fixture_init(&f, k);
	ndp8 = nd_ndp_queue_paper(8, 9000);
	fixture_egress(&f, &nd_droptail_ops, &deep);
}

static int run(uint32_t count, nd_ps until)
{
	int status;

	fixture_sim(&f, flows, count);
	status = nd_sim_run(f.sim, until);
	fixture_audit(f.sim);
	return status;
}

/* The same trimming-heavy load for the tests of determinism. */
static uint64_t hash_of_run(uint32_t steps, uint64_t *hops)
{
	struct nd_flow pattern = fixture_flow(0, 0, 8936 * 50);
	uint64_t hash;

	fixture_egress(&f, &nd_ndp_queue_ops, &ndp8);
	pattern.background = 1;
	nd_traffic_random(flows, 16, 4, &pattern, 3);
	fixture_sim(&f, flows, 64);
	for (uint32_t i = 1; i <= steps; i++) {
		nd_sim_run(f.sim, USEC_PS * 1000 * i / steps);
		fixture_audit(f.sim);
	}
	hash = nd_sim_trace_hash(f.sim);
	*hops = nd_sim_counters(f.sim)->hops;
	CHECK(nd_sim_counters(f.sim)->received_trimmed_packets > 100);
	nd_sim_free(f.sim);
	return hash;
}

/* S-9, E-X05: the same hash for two runs, in one go or in steps; another one for another seed. */
TEST(run__is_deterministic)
{
	uint64_t hops, again;
	uint64_t hash;

	begin(4);
	f.config.route = ND_SIM_ROUTE_RANDOM;
	hash = hash_of_run(1, &hops);
	CHECK(hash_of_run(7, &again) == hash);
	CHECK_EQ(again, hops);
	f.config.seed++;
	CHECK(hash_of_run(1, &again) != hash);
}

/* Turning a probe on never changes the run. */
TEST(probes__never_change_the_run)
{
	uint64_t hops, again, hash;

	begin(4);
	hash = hash_of_run(1, &hops);
	f.config.probes.goodput_bin_ps = USEC_PS * 100;
	f.config.probes.goodput_bins = 10;
	f.config.probes.queues = 1;
	f.config.probes.delays = 1;
	f.config.probes.waste = 1;
	f.config.probes.timeline = 5000;
	CHECK(hash_of_run(1, &again) == hash);
	CHECK_EQ(again, hops);
}

/* The slowdown's denominator equals a run of the message alone, in every fabric. */
TEST(best__alone_on_an_idle_network)
{
	struct nd_cable slow = { 10 * GBIT, 123456 }, fast = { 40 * GBIT, 700 };
	struct nd_topology_config shapes[] = {
		{ .pods = 1, .edges = 9, .hosts = 16, .aggs = 4, .cables = { slow, fast, fast },
		  .latency_ps = { 250000, 250000, 250000 } },
		{ .pods = 8, .edges = 4, .hosts = 6, .aggs = 2, .uplinks = 4,
		  .cables = { slow, slow, fast }, .latency_ps = { 1, 2, 3 } },
		{ .pods = 1, .edges = 1, .hosts = 8, .cables = { fast, slow, slow } },
		{ .pods = 2, .edges = 2, .hosts = 2, .aggs = 2, .uplinks = 2,
		  .cables = { fast, slow, fast } },
	};
	static const uint64_t sizes[] = { 0, 1, 1000, 8936, 8937, 30000, 1000000 };

	for (uint32_t s = 0; s < ND_ARRAY_SIZE(shapes); s++) {
		for (uint32_t i = 0; i < ND_ARRAY_SIZE(sizes); i++) {
			uint32_t hosts = shapes[s].pods * shapes[s].edges * shapes[s].hosts;
			const struct nd_flow_row *row;

			begin(4);
			f.config.topology = shapes[s];
			f.config.receive_delay.fixed_ps = 1500000;
			f.blast.paths = 1;
			flows[0] = fixture_flow(0, i & 1 ? hosts - 1 : 1, sizes[i]);
			CHECK_EQ(run(1, ND_NEVER), ND_SIM_DONE);
			row = nd_sim_rows(f.sim, NULL);
			CHECK_EQ(row->received_ps, row->best_ps);
			nd_sim_free(f.sim);
		}
	}
}

/* E-X03: a ring on send-done triggers runs in order; a barrier waits for all. */
TEST(triggers__ring_and_barrier)
{
	struct nd_trigger triggers[5] = { { 1 }, { 1 }, { 1 }, { 3 }, { 1 } };
	const struct nd_flow_row *rows;

	begin(4);
	for (uint32_t i = 0; i < 4; i++) {
		flows[i] = fixture_flow(i, (i + 1) % 4, 20000);
		flows[i].starts_on = i ? i - 1 : ND_NONE;
		flows[i].start_ps = i ? 1000 : 5000;
		flows[i].on_received = i < 3 ? i : ND_NONE;
		flows[i].on_sent = i ? 3 : ND_NONE;
	}
	flows[4] = fixture_flow(5, 6, 1);
	flows[4].starts_on = 3;
	flows[5] = fixture_flow(7, 8, 1);
	flows[5].starts_on = 4;
	f.sim = nd_sim_new(&f.config, flows, 6, triggers, 5, &f.error);
	CHECK(f.sim);
	CHECK_EQ(nd_sim_run(f.sim, ND_NEVER), ND_SIM_STUCK);
	rows = nd_sim_rows(f.sim, NULL);
	CHECK_EQ(rows[0].start_ps, 5000);
	for (uint32_t i = 1; i < 4; i++)
		CHECK_EQ(rows[i].start_ps, rows[i - 1].received_ps + 1000);
	CHECK_EQ(rows[4].start_ps, rows[3].done_ps);
	/* What nobody released is still waiting, and the run says so. */
	CHECK_EQ(rows[5].state, ND_FLOW_WAITING);
	CHECK_EQ(nd_sim_unfinished(f.sim), 1);
	nd_sim_free(f.sim);
}

/* A flow that cannot finish is not called done. */
TEST(run__unfinished_flows_are_listed)
{
	struct nd_droptail_config tiny = { .limit = { .packets = 1 } };
	uint32_t unfinished = 0, count;
	const struct nd_flow_row *rows;

	begin(4);
	fixture_egress(&f, &nd_droptail_ops, &tiny);
	f.blast.trimmable = 0;
	for (uint32_t i = 0; i < 8; i++)
		flows[i] = fixture_flow(i, 15, 8936 * 10);
	CHECK_EQ(run(8, ND_NEVER), ND_SIM_STUCK);
	rows = nd_sim_rows(f.sim, &count);
	for (uint32_t i = 0; i < count; i++)
		unfinished += rows[i].state == ND_FLOW_STARTED;
	CHECK_EQ(unfinished, nd_sim_unfinished(f.sim));
	CHECK(unfinished >= 7);
	CHECK_EQ(nd_sim_counters(f.sim)->sent_packets,
		 nd_sim_counters(f.sim)->received_packets + nd_sim_counters(f.sim)->dropped_packets);
	nd_sim_free(f.sim);
}

TEST(run__limits_are_named)
{
	begin(4);
	f.config.packets_max = 20;
	for (uint32_t i = 0; i < 8; i++)
		flows[i] = fixture_flow(i, 15, 8936 * 100);
	fixture_sim(&f, flows, 8);
	CHECK_EQ(nd_sim_run(f.sim, ND_NEVER), ND_SIM_LIMIT);
	CHECK_STR(nd_sim_error(f.sim), "20 packets in the network at once: raise limits.packets");
	CHECK_EQ(nd_sim_run(f.sim, ND_NEVER), ND_SIM_LIMIT);
	nd_sim_free(f.sim);
	begin(4);
	f.config.events_max = 20;
	fixture_sim(&f, flows, 8);
	CHECK_EQ(nd_sim_run(f.sim, ND_NEVER), ND_SIM_LIMIT);
	CHECK_STR(nd_sim_error(f.sim), "20 events pending at once: raise limits.events");
	nd_sim_free(f.sim);
}

TEST(new__says_what_is_wrong)
{
	begin(4);
	flows[0] = fixture_flow(3, 3, 1);
	CHECK(!nd_sim_new(&f.config, flows, 1, NULL, 0, &f.error));
	CHECK_STR(f.error.text, "flow 0 goes from 3 to 3: it needs two different hosts below 16");
	flows[0] = fixture_flow(3, 4, 1);
	flows[0].on_sent = 0;
	CHECK(!nd_sim_new(&f.config, flows, 1, NULL, 0, &f.error));
	CHECK_STR(f.error.text, "flow 0 names a trigger of 0");
	f.config.egress[ND_TIER_AGG_UP].ops = NULL;
	CHECK(!nd_sim_new(&f.config, flows, 0, NULL, 0, &f.error));
	CHECK_STR(f.error.text, "tier 4 has ports but no discipline");
	f.config.engine_count = 0;
	CHECK(!nd_sim_new(&f.config, flows, 0, NULL, 0, &f.error));
	CHECK_STR(f.error.text, "1 to 4 engines, not 0");
}

/* The bins add up to what arrived, by host and by flow. */
TEST(probes__goodput)
{
	for (uint32_t by_flow = 0; by_flow < 2; by_flow++) {
		const uint64_t *series;
		uint32_t rows, bins;
		uint64_t sum = 0;

		begin(4);
		f.config.probes.goodput_bin_ps = USEC_PS * 50;
		f.config.probes.goodput_bins = 4;
		f.config.probes.goodput_by_flow = by_flow;
		flows[0] = fixture_flow(0, 1, 8936 * 10);
		flows[1] = fixture_flow(2, 9, 8936 * 100);
		CHECK_EQ(run(2, ND_NEVER), ND_SIM_DONE);
		series = nd_sim_goodput(f.sim, &rows, &bins);
		CHECK_EQ(rows, by_flow ? 2 : 16);
		CHECK_EQ(bins, 4);
		for (uint32_t i = 0; i < rows * bins; i++)
			sum += series[i];
		CHECK_EQ(sum, 8936 * 110);
		/* 50 us at 7.2 us a packet, the first after its way. */
		CHECK_EQ(series[(by_flow ? 0 : 1) * bins], 8936 * 5);
		nd_sim_free(f.sim);
	}
}

/* Two line-rate senders into one port: the queue grows by one packet per packet time. */
TEST(probes__queue_depth)
{
	const struct nd_sim_depth *depths;
	uint32_t count;

	begin(4);
	f.config.probes.queues = 1;
	flows[0] = fixture_flow(0, 1, 9000 * 0 + 8936 * 10);
	flows[1] = fixture_flow(2, 1, 8936 * 10);
	CHECK_EQ(run(2, ND_NEVER), ND_SIM_DONE);
	depths = nd_sim_depths(f.sim, &count);
	CHECK_EQ(count, nd_sim_topology(f.sim)->ports);
	for (uint32_t p = 16; p < count; p++) {
		uint32_t want = nd_topology_peer(nd_sim_topology(f.sim), p) == 1 ? 8 : 0;

		CHECK(depths[p].packets_max >= want && depths[p].packets_max <= want + 1);
		CHECK_EQ(depths[p].bytes_max, depths[p].packets_max * 9000);
		CHECK((depths[p].bytes_ns > 0) == (depths[p].packets_max > 0));
	}
	nd_sim_free(f.sim);
}

/* E-H07's causes: waiting for a less urgent packet in service is lag, for others is not. */
TEST(probes__lag_and_queueing)
{
	struct nd_strict_config strict = { .levels = 8, .total = { .packets = 1000 } };
	const struct nd_flow_row *rows;

	begin(4);
	fixture_egress(&f, &nd_strict_ops, &strict);
	f.config.probes.delays = 1;
	flows[0] = fixture_flow(0, 1, 8936 * 3);
	flows[1] = fixture_flow(2, 1, 100);
	flows[1].priority = 7;
	flows[1].start_ps = 7200000 * 2;
	CHECK_EQ(run(2, ND_NEVER), ND_SIM_DONE);
	rows = nd_sim_rows(f.sim, NULL);
	CHECK(rows[1].lag_ns > 0);
	CHECK_EQ(rows[1].lag_ns, rows[1].wait_ns);
	CHECK_EQ(rows[1].lag_ns,
		 (rows[1].received_ps - rows[1].start_ps - rows[1].best_ps) / 1000);
	nd_sim_free(f.sim);
	/* The same packet without priority waits for its equals. */
	begin(4);
	fixture_egress(&f, &nd_strict_ops, &strict);
	f.config.probes.delays = 1;
	flows[1].priority = 0;
	CHECK_EQ(run(2, ND_NEVER), ND_SIM_DONE);
	rows = nd_sim_rows(f.sim, NULL);
	CHECK_EQ(rows[1].lag_ns, 0);
	CHECK(rows[1].wait_ns > 0);
	nd_sim_free(f.sim);
}

/* A receiver that expects bytes while its link is idle wastes it. */
TEST(probes__waste)
{
	struct nd_sim_change slow = { .kind = ND_SIM_CHANGE_RATE, .value = 5 * GBIT, .port = 0 };
	const struct nd_sim_host_row *hosts;

	begin(4);
	f.config.probes.waste = 1;
	f.config.changes = &slow;
	f.config.change_count = 1;
	flows[0] = fixture_flow(0, 1, 8936 * 101);
	CHECK_EQ(run(1, ND_NEVER), ND_SIM_DONE);
	hosts = nd_sim_hosts(f.sim, NULL);
	CHECK_EQ(hosts[1].expecting_ps, UINT64_C(14400000) * 100);
	CHECK_EQ(hosts[1].idle_ps, UINT64_C(7200000) * 100);
	nd_sim_free(f.sim);
}

/* Waste is known while the message is still open, and looking at it adds nothing. */
TEST(probes__waste_before_the_end)
{
	struct nd_sim_change slow = { .kind = ND_SIM_CHANGE_RATE, .value = 5 * GBIT, .port = 0 };
	const struct nd_sim_host_row *hosts;
	nd_ps first, step = 14400000, packet = 7200000;

	begin(4);
	f.config.probes.waste = 1;
	f.config.changes = &slow;
	f.config.change_count = 1;
	flows[0] = fixture_flow(0, 1, 8936 * 101);
	CHECK_EQ(run(1, 20 * step), ND_SIM_UNTIL);
	hosts = nd_sim_hosts(f.sim, NULL);
	first = hosts[1].expecting_ps;
	CHECK(first > 10 * step && first < 20 * step);
	for (nd_ps i = 1; i <= 40; i++) {
		nd_ps idle;

		CHECK_EQ(nd_sim_run(f.sim, 20 * step + i * step / 4), ND_SIM_UNTIL);
		hosts = nd_sim_hosts(f.sim, NULL);
		CHECK_EQ(hosts[1].expecting_ps, first + i * step / 4);
		/* Half of the time, to within the packet that is on the wire. */
		idle = hosts[1].idle_ps;
		CHECK(idle + packet >= hosts[1].expecting_ps / 2);
		CHECK(idle <= hosts[1].expecting_ps / 2 + packet);
	}
	CHECK_EQ(nd_sim_run(f.sim, ND_NEVER), ND_SIM_DONE);
	hosts = nd_sim_hosts(f.sim, NULL);
	CHECK_EQ(hosts[1].expecting_ps, step * 100);
	CHECK_EQ(hosts[1].idle_ps, packet * 100);
	nd_sim_free(f.sim);
}

int main(int argc, char **argv)
{
	return nd_test_main(argc, argv);
}
