// SPDX-License-Identifier: Apache-2.0
/* Homa in a run: the constants of the paper's fabric, one-way messages, echoes. */
#include "queue/disciplines.h"
#include "sim/traffic.h"
#include "sim_fixture.h"
#include "transport/homa.h"

#include <unistd.h>

static struct fixture f;
static struct nd_flow flows[4000];
static struct nd_homa_config homa;
static const struct nd_strict_config strict = { .levels = 8, .level = { .bytes = 1000000 } };

/* Figure 11: 144 hosts, 10 and 40 Gb/s, switches of 250 ns, no propagation, 1.5 us of software. */
static void begin(void)
{
	fixture_init(&f, 4);
	f.config.topology = (struct nd_topology_config){
		.pods = 1, .edges = 9, .hosts = 16, .aggs = 4,
		.cables = { { 10 * GBIT, 0 }, { 40 * GBIT, 0 } },
		.latency_ps = { 250000, 250000, 250000 },
	};
	f.config.route = ND_SIM_ROUTE_RANDOM;
	f.config.receive_delay.fixed_ps = 1500000;
	fixture_egress(&f, &nd_strict_ops, &strict);
	homa = nd_homa_config_paper(4, 4);
	homa.mss_bytes = 1442;
	homa.data_header_bytes = 96;
	homa.control_bytes = 84;
	homa.rpcs_max = 512;
	homa.server_rpcs_max = 256;
	homa.peers_max = 160;
	fixture_engine(&f, &nd_homa_ops, &homa, 1442, 96);
	f.engine.message_bytes_max = homa.message_bytes_max;
}

/* R-H5-1, E-H01: a small one-way message takes 2.3 us, a full packet and its answer 7.8 us, and
 * 10 Gb/s send 9.7 KB in that time. */
TEST(homa__constants_of_the_paper)
{
	const struct nd_sim_record *records;
	nd_ps sent = 0, answered = 0;
	uint32_t count;

	begin();
	f.config.probes.timeline = 2000;
	flows[0] = fixture_flow(0, 143, 1);
	fixture_sim(&f, flows, 1);
	CHECK_EQ(nd_sim_run(f.sim, ND_NEVER), ND_SIM_DONE);
	CHECK_EQ(nd_sim_rows(f.sim, NULL)->received_ps, nd_sim_rows(f.sim, NULL)->best_ps);
	CHECK(nd_sim_rows(f.sim, NULL)->received_ps >= 2200000);
	CHECK(nd_sim_rows(f.sim, NULL)->received_ps <= 2450000);
	nd_sim_free(f.sim);
	flows[0].bytes = 100000;
	fixture_sim(&f, flows, 1);
	CHECK_EQ(nd_sim_run(f.sim, ND_NEVER), ND_SIM_DONE);
	records = nd_sim_timeline(f.sim, &count, NULL);
	for (uint32_t i = 0; i < count && !answered; i++) {
		if (records[i].kind == ND_SIM_RECORD_SEND && records[i].port == 0 && !sent)
			sent = records[i].time_ps + 1;
		if (records[i].kind == ND_SIM_RECORD_RECEIVE && records[i].port == 0)
			answered = records[i].time_ps;
	}
	CHECK(answered - sent >= 7700000 && answered - sent <= 7900000);
	CHECK((answered - sent) / 800 >= 9600 && (answered - sent) / 800 <= 9800);
	nd_sim_free(f.sim);
}

/* With a window of whole packets a message alone on the network never waits: slowdown 1. */
TEST(homa__alone_is_best)
{
	static const uint64_t sizes[] = { 1, 1442, 1443, 9700, 20000, 500000 };

	for (uint32_t i = 0; i < ND_ARRAY_SIZE(sizes); i++) {
		const struct nd_flow_row *row;

		begin();
		homa.rtt_bytes = 8 * 1442;
		flows[0] = fixture_flow(3, 77, sizes[i]);
		fixture_sim(&f, flows, 1);
		CHECK_EQ(nd_sim_run(f.sim, ND_NEVER), ND_SIM_DONE);
		row = nd_sim_rows(f.sim, NULL);
		CHECK_EQ(row->received_ps, row->best_ps);
		CHECK_EQ(row->payload_bytes, sizes[i]);
		nd_sim_free(f.sim);
	}
}

/* T17: no length is a bad one: a message that needs a packet more is not much slower for it. */
TEST(homa__goodput_grows_with_the_message)
{
	double best = 0;

	for (uint32_t packets = 1; packets <= 40; packets++) {
		for (uint32_t more = 0; more < 2; more++) {
			uint64_t bytes = (uint64_t)packets * 1442 + more;
			double goodput;

			begin();
			flows[0] = fixture_flow(3, 77, bytes);
			fixture_sim(&f, flows, 1);
			CHECK_EQ(nd_sim_run(f.sim, ND_NEVER), ND_SIM_DONE);
			goodput = (double)bytes / (double)nd_sim_rows(f.sim, NULL)->received_ps;
			CHECK(goodput > 0.9 * best);
			best = goodput > best ? goodput : best;
			nd_sim_free(f.sim);
		}
	}
	CHECK(best * 8000 > 8.5); /* Gb/s */
}

static uint32_t load_flows(uint32_t kind)
{
	struct nd_flow pattern = fixture_flow(0, 0, 3000);
	struct nd_traffic_open open = { .sources = 144, .targets = 144, .until_ps = 50000000 };

	pattern.kind = (uint8_t)kind;
	pattern.reply_bytes = 2000;
	open.gap_ps = nd_traffic_gap(256 * 5200, 10 * GBIT, 700000);
	return (uint32_t)nd_traffic_open_loop(flows, ND_ARRAY_SIZE(flows), &open, &pattern, 5);
}

/* R-H34-1, R-H5-1: everything arrives under load, in priority levels, without a drop. */
TEST(homa__load_finishes)
{
	for (uint32_t kind = ND_FLOW_ONEWAY; kind <= ND_FLOW_ECHO; kind++) {
		const uint64_t *bytes;
		const struct nd_flow_row *rows;
		uint64_t total = 0;
		uint32_t count;

		begin();
		count = load_flows(kind);
		CHECK(count > 500 && count < ND_ARRAY_SIZE(flows));
		fixture_sim(&f, flows, count);
		CHECK_EQ(nd_sim_run(f.sim, ND_NEVER), ND_SIM_DONE);
		fixture_audit(f.sim);
		rows = nd_sim_rows(f.sim, NULL);
		for (uint32_t i = 0; i < count; i++) {
			nd_ps end = kind == ND_FLOW_ECHO ? rows[i].done_ps : rows[i].received_ps;

			CHECK_EQ(rows[i].state, ND_FLOW_DONE);
			CHECK(end - rows[i].start_ps >= rows[i].best_ps);
		}
		bytes = nd_sim_priority_bytes(f.sim);
		for (uint32_t i = 0; i < 16; i++)
			total += bytes[i];
		CHECK_EQ(total, nd_sim_counters(f.sim)->received_bytes);
		CHECK_EQ(nd_sim_counters(f.sim)->dropped_packets, 0);
		nd_sim_free(f.sim);
	}
}

/* E-X05: every packet as bytes and back changes nothing, and the run stays the same. */
TEST(homa__wire_check)
{
	uint64_t hash = 0;

	for (uint32_t check = 0; check < 2; check++) {
		uint32_t count;

		begin();
		f.config.wire_check = check;
		count = load_flows(ND_FLOW_ECHO);
		fixture_sim(&f, flows, count);
		CHECK_EQ(nd_sim_run(f.sim, ND_NEVER), ND_SIM_DONE);
		CHECK_STR(nd_sim_error(f.sim), "");
		CHECK(!check || nd_sim_trace_hash(f.sim) == hash);
		hash = nd_sim_trace_hash(f.sim);
		nd_sim_free(f.sim);
	}
}

/* A capture holds every packet that the port sends, headers first. */
TEST(homa__capture)
{
	char path[] = "/tmp/test_sim_homa_XXXXXX";
	static uint8_t bytes[1 << 16];
	const struct nd_sim_record *records;
	uint32_t count, blocks = 0, sent = 0;
	size_t size;
	FILE *file;

	CHECK(close(mkstemp(path)) == 0);
	begin();
	f.config.probes.pcap_port = 0;
	f.config.probes.timeline = 2000;
	f.config.probes.pcap_path = path;
	flows[0] = fixture_flow(0, 143, 50000);
	fixture_sim(&f, flows, 1);
	CHECK_EQ(nd_sim_run(f.sim, ND_NEVER), ND_SIM_DONE);
	records = nd_sim_timeline(f.sim, &count, NULL);
	for (uint32_t i = 0; i < count; i++)
		sent += records[i].kind == ND_SIM_RECORD_SEND && records[i].port == 0;
	nd_sim_free(f.sim);
	file = fopen(path, "rb");
	CHECK(file);
	size = fread(bytes, 1, sizeof(bytes), file);
	fclose(file);
	unlink(path);
	for (size_t at = 0; at < size; blocks++) {
		uint32_t length;

		memcpy(&length, bytes + at + 4, sizeof(length));
		CHECK(length >= 12 && at + length <= size);
		at += length;
	}
	/* Section, interface and packets. */
	CHECK_EQ(blocks, 2 + sent);
}

/* A run says so when its capture has no room, however little there is to write. */
TEST(homa__capture_on_a_full_disk)
{
	begin();
	f.config.probes.pcap_port = 0;
	f.config.probes.pcap_path = "/dev/full";
	flows[0] = fixture_flow(0, 143, 100);
	fixture_sim(&f, flows, 1);
	CHECK_EQ(nd_sim_run(f.sim, ND_NEVER), ND_SIM_BROKEN);
	CHECK_STR(nd_sim_error(f.sim), "/dev/full: cannot be written");
	nd_sim_free(f.sim);
}

int main(int argc, char **argv)
{
	return nd_test_main(argc, argv);
}
