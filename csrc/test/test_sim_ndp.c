// SPDX-License-Identifier: Apache-2.0
/* NDP in a run: the timelines and figures of its paper that fit a unit test. */
#include "queue/disciplines.h"
#include "sim/traffic.h"
#include "sim_fixture.h"
#include "transport/ndp.h"

#define MTU 9000
#define HEADER 64
#define FULL_PS UINT64_C(7200000)

static struct fixture f;
static struct nd_flow flows[600];
static struct nd_ndp_config ndp;
static struct nd_ndp_queue_config queue;
static const struct nd_droptail_config deep = { .limit = { .packets = 4000 } };

/* Packets of 9000 bytes with headers of 64, as in the paper; k = 0 is a single switch. */
static void begin(uint32_t k, uint32_t hosts, uint32_t window)
{
	fixture_init(&f, k ? k : 4);
	if (!k)
		f.config.topology = (struct nd_topology_config){
			.pods = 1, .edges = 1, .hosts = hosts, .cables = { { 10 * GBIT, 500000 } },
		};
	ndp = nd_ndp_config_default(10 * GBIT, MTU);
	ndp.mss_bytes = MTU - HEADER;
	ndp.data_header_bytes = HEADER;
	ndp.control_bytes = HEADER;
	ndp.initial_window = window;
	ndp.paths = k ? k * k / 4 : 1;
	ndp.connections_max = 128;
	ndp.listen_backlog = 96;
	ndp.messages_max = 256;
	ndp.connection_messages_max = 16;
	ndp.receive_messages_max = 128;
	ndp.sending_max = 32;
	/* A queue of eight packets: seven and the one in service. */
	queue = nd_ndp_queue_paper(7, MTU);
	fixture_egress(&f, &nd_ndp_queue_ops, &queue);
	fixture_engine(&f, &nd_ndp_ops, &ndp, MTU - HEADER, HEADER);
	f.engine.message_bytes_max = ndp.message_bytes_max;
}

static void run(uint32_t count, nd_ps until, int status)
{
	fixture_sim(&f, flows, count);
	CHECK_EQ(nd_sim_run(f.sim, until), status);
	fixture_audit(f.sim);
}

static uint32_t port_to(uint32_t host)
{
	return nd_topology_port_reverse(nd_sim_topology(f.sim), host);
}

static const struct nd_ndp_counters *counters_of(uint32_t host)
{
	return (const struct nd_ndp_counters *)(const void *)nd_sim_engine_counters(f.sim, host, 0);
}

/* Last of the flows' finishing times. */
static nd_ps last_received(uint32_t count)
{
	nd_ps last = 0;

	for (uint32_t i = 0; i < count; i++)
		last = nd_max_u64(last, nd_sim_rows(f.sim, NULL)[i].received_ps);
	return last;
}

/* E-N02: nine packets at once into eight places: one is trimmed, none is dropped, the link never
 * rests, and the ninth arrives when a lossless queue would have delivered it. */
TEST(ndp__nine_packets_at_once)
{
	const struct nd_sim_record *records;
	nd_ps lossless, busy = 0;
	uint32_t count;

	begin(0, 10, 30);
	fixture_egress(&f, &nd_droptail_ops, &deep);
	for (uint32_t i = 0; i < 9; i++)
		flows[i] = fixture_flow(i, 9, MTU - HEADER);
	run(9, ND_NEVER, ND_SIM_DONE);
	lossless = last_received(9);
	CHECK_EQ(lossless, 10 * FULL_PS + 2 * 500000);
	nd_sim_free(f.sim);

	begin(0, 10, 30);
	f.config.probes.timeline = 1000;
	run(9, ND_NEVER, ND_SIM_DONE);
	CHECK_EQ(nd_sim_queue_counters(f.sim, port_to(9))->trimmed_packets, 1);
	CHECK_EQ(nd_sim_counters(f.sim)->dropped_packets, 0);
	CHECK_EQ(nd_sim_counters(f.sim)->bounced_packets, 0);
	/* The trimmed header, and what ends the connections of the others: an ACK each. */
	CHECK(last_received(9) >= lossless && last_received(9) <= lossless + 10 * 51200);
	records = nd_sim_timeline(f.sim, &count, NULL);
	for (uint32_t i = 0, sent = 0, full = 0; i < count && full < 9; i++) {
		if (records[i].kind != ND_SIM_RECORD_SEND || records[i].port != port_to(9))
			continue;
		/* R-NSW-06: the header goes right after the first packet. */
		CHECK(sent != 1 || records[i].wire_bytes == HEADER);
		CHECK(sent == 0 || records[i].time_ps == busy);
		busy = records[i].time_ps + records[i].wire_bytes * UINT64_C(800);
		full += records[i].wire_bytes == MTU;
		sent++;
	}
	nd_sim_free(f.sim);
}

/* The timeline has every trim: of the packet that arrives, and of the tail in its place. */
TEST(ndp__every_trim_is_on_the_timeline)
{
	const struct nd_sim_record *records;
	uint32_t count, trims = 0;

	begin(0, 31, 30);
	f.config.probes.timeline = 2000;
	for (uint32_t i = 0; i < 30; i++)
		flows[i] = fixture_flow(i, 30, MTU - HEADER);
	run(30, ND_NEVER, ND_SIM_DONE);
	CHECK_EQ(nd_sim_queue_counters(f.sim, port_to(30))->trimmed_packets, 22);
	records = nd_sim_timeline(f.sim, &count, NULL);
	for (uint32_t i = 0; i < count; i++) {
		if (records[i].kind != ND_SIM_RECORD_TRIM)
			continue;
		CHECK_EQ(records[i].wire_bytes, HEADER);
		trims++;
	}
	CHECK_EQ(trims, 22);
	nd_sim_free(f.sim);
}

/* R-NTP-01: the first window leaves at line rate. R-NTP-08: later packets are pulled at it. */
TEST(ndp__window_and_pulls_keep_line_rate)
{
	const struct nd_sim_record *records;
	nd_ps last = 0;
	uint32_t count, sent = 0;

	begin(0, 2, 30);
	f.config.probes.timeline = 4000;
	flows[0] = fixture_flow(0, 1, (MTU - HEADER) * 100);
	run(1, ND_NEVER, ND_SIM_DONE);
	records = nd_sim_timeline(f.sim, &count, NULL);
	for (uint32_t i = 0; i < count; i++) {
		if (records[i].kind != ND_SIM_RECORD_SEND || records[i].port != 0 ||
		    records[i].wire_bytes != MTU)
			continue;
		CHECK(sent == 0 || records[i].time_ps - last >= FULL_PS);
		CHECK(sent == 0 || sent >= 30 || records[i].time_ps - last == FULL_PS);
		last = records[i].time_ps;
		sent++;
	}
	CHECK_EQ(sent, 100);
	CHECK(nd_sim_rows(f.sim, NULL)->received_ps <=
	      nd_sim_rows(f.sim, NULL)->best_ps * 101 / 100);
	nd_sim_free(f.sim);
}

/* T17: no length is a bad one: a message that needs a packet more is not much slower for it. */
TEST(ndp__goodput_grows_with_the_message)
{
	double best = 0;

	for (uint32_t packets = 1; packets <= 40; packets++) {
		for (uint32_t more = 0; more < 2; more++) {
			uint64_t bytes = (uint64_t)packets * (MTU - HEADER) + more;
			double goodput;

			begin(0, 2, 30);
			flows[0] = fixture_flow(0, 1, bytes);
			run(1, ND_NEVER, ND_SIM_DONE);
			goodput = (double)bytes / (double)nd_sim_rows(f.sim, NULL)->received_ps;
			CHECK(goodput > 0.9 * best);
			best = goodput > best ? goodput : best;
			nd_sim_free(f.sim);
		}
	}
	CHECK(best * 8000 > 9.5); /* Gb/s */
}

/* E-N10: the window that fills the path is the bandwidth-delay product. */
TEST(ndp__throughput_grows_with_the_window)
{
	double rates[21];

	for (uint32_t window = 1; window <= 20; window += window < 4 ? 1 : 4) {
		begin(0, 2, window);
		f.config.receive_delay.fixed_ps = 20 * USEC_PS;
		flows[0] = fixture_flow(0, 1, ND_FLOW_ENDLESS);
		run(1, 4000 * USEC_PS, ND_SIM_UNTIL);
		rates[window] = (double)nd_sim_rows(f.sim, NULL)->payload_bytes * 8 / 4e-3 / 10e9;
		nd_sim_free(f.sim);
	}
	/* Round trip 56 us: eight packets of 7.2 us. */
	CHECK(rates[1] < 0.2 && rates[2] > 1.8 * rates[1] && rates[3] > 1.4 * rates[2]);
	CHECK(rates[4] < 0.7);
	CHECK(rates[8] > 0.95 && rates[16] > 0.97 && rates[20] > 0.97);
}

/* E-N16, R-NTP-14, R-NCC-01: an incast ends within 2 % of the optimum, fairly, without timeouts. */
TEST(ndp__incast)
{
	enum { SENDERS = 60 };
	nd_ps best = SENDERS * UINT64_C(50) * FULL_PS, first = ND_NEVER;

	begin(8, 0, 23);
	flows[0] = fixture_flow(0, 3, UINT64_C(50) * (MTU - HEADER));
	nd_traffic_incast(flows, 128, SENDERS, &flows[0], 1);
	run(SENDERS, ND_NEVER, ND_SIM_DONE);
	for (uint32_t i = 0; i < SENDERS; i++)
		first = nd_min_u64(first, nd_sim_rows(f.sim, NULL)[i].received_ps);
	CHECK(last_received(SENDERS) >= best);
	CHECK(last_received(SENDERS) <= best + best / 50 + 50 * USEC_PS);
	CHECK(first * 12 / 10 >= last_received(SENDERS));
	for (uint32_t h = 0; h < 128; h++)
		CHECK_EQ(counters_of(h)->timeouts, 0);
	nd_sim_free(f.sim);
}

/* R-NTP-18: what an incast trims are its first windows; what is pulled arrives whole. */
TEST(ndp__incast_trims_its_first_windows_only)
{
	enum { SENDERS = 60, WINDOW = 23, PACKETS = 60 };
	uint64_t first;

	begin(8, 0, WINDOW);
	flows[0] = fixture_flow(0, 3, (uint64_t)PACKETS * (MTU - HEADER));
	nd_traffic_incast(flows, 128, SENDERS, &flows[0], 1);
	fixture_sim(&f, flows, SENDERS);
	CHECK_EQ(nd_sim_run(f.sim, 1200 * USEC_PS), ND_SIM_UNTIL);
	first = counters_of(3)->headers_received;
	CHECK(first > SENDERS * WINDOW / 2);
	CHECK_EQ(nd_sim_run(f.sim, ND_NEVER), ND_SIM_DONE);
	fixture_audit(f.sim);
	CHECK(counters_of(3)->headers_received - first <= SENDERS * PACKETS / 1000);
	nd_sim_free(f.sim);
}

/* R-NCC-02, E-N19: a neighbour's incast costs a long flow its first round trip (400 us and the
 * queues' drain), not all the time that it lasts. */
TEST(ndp__incast_to_a_neighbour)
{
	enum { SENDERS = 40, BIN_US = 100, START = 10, END = 100 };
	uint64_t before = 0;

	begin(8, 0, 15);
	flows[1] = fixture_flow(0, 2, UINT64_C(50) * (MTU - HEADER));
	flows[1].start_ps = START * BIN_US * USEC_PS;
	nd_traffic_incast(&flows[1], 120, SENDERS, &flows[1], 1);
	flows[0] = fixture_flow(127, 1, ND_FLOW_ENDLESS);
	fixture_sim(&f, flows, SENDERS + 1);
	for (uint64_t bin = 1; bin <= END; bin++) {
		double share;

		CHECK_EQ(nd_sim_run(f.sim, bin * BIN_US * USEC_PS), ND_SIM_UNTIL);
		share = (double)(nd_sim_rows(f.sim, NULL)[0].payload_bytes - before) * 8 /
			(BIN_US * 1e-6) / 10e9;
		before = nd_sim_rows(f.sim, NULL)[0].payload_bytes;
		CHECK(bin == 1 || (bin > START && bin <= START + 5) || share > 0.9);
	}
	nd_sim_free(f.sim);
}

/* Bytes that a permutation of 16 hosts brings in 2 ms, the first left out. */
static uint64_t permutation(void)
{
	struct nd_flow pattern = fixture_flow(0, 0, ND_FLOW_ENDLESS);
	uint64_t before, after;

	pattern.background = 1;
	nd_traffic_permutation(flows, 16, &pattern, 1);
	fixture_sim(&f, flows, 16);
	CHECK_EQ(nd_sim_run(f.sim, 1000 * USEC_PS), ND_SIM_UNTIL);
	before = nd_sim_counters(f.sim)->payload_bytes;
	CHECK_EQ(nd_sim_run(f.sim, 3000 * USEC_PS), ND_SIM_UNTIL);
	fixture_audit(f.sim);
	after = nd_sim_counters(f.sim)->payload_bytes;
	nd_sim_free(f.sim);
	return after - before;
}

/* E-N28, E-N05: a permutation fills the fabric. */
TEST(ndp__permutation)
{
	begin(4, 0, 30);
	CHECK((double)permutation() * 8 / 16 / 2e-3 >= 0.96 * 10e9);
}

/* R-NSB-07: where all paths are alike the scoreboard costs 1 % of the throughput at most. */
TEST(ndp__scoreboard_costs_nothing_where_paths_are_alike)
{
	uint64_t with, without;

	begin(4, 0, 30);
	with = permutation();
	begin(4, 0, 30);
	ndp.score.scoreboard = false;
	without = permutation();
	CHECK(with >= without - without / 100);
}

/* R-RTS-04: headers that overflow come back: nothing is dropped, and no timer is needed. */
TEST(ndp__returned_headers_replace_timeouts)
{
	enum { SENDERS = 60 };

	begin(8, 0, 23);
	queue.headers.bytes = 6400;
	flows[0] = fixture_flow(0, 3, UINT64_C(30) * (MTU - HEADER));
	nd_traffic_incast(flows, 128, SENDERS, &flows[0], 1);
	run(SENDERS, ND_NEVER, ND_SIM_DONE);
	CHECK(nd_sim_counters(f.sim)->bounced_packets > 100);
	CHECK_EQ(nd_sim_counters(f.sim)->dropped_packets, 0);
	for (uint32_t h = 0; h < 128; h++)
		CHECK_EQ(counters_of(h)->timeouts, 0);
	nd_sim_free(f.sim);
}

/* An echo over one connection: request there, reply back, both counted. */
TEST(ndp__echo)
{
	const struct nd_flow_row *row;

	begin(0, 2, 30);
	flows[0] = fixture_flow(0, 1, 1000);
	flows[0].kind = ND_FLOW_ECHO;
	flows[0].reply_bytes = 200000;
	run(1, ND_NEVER, ND_SIM_DONE);
	row = nd_sim_rows(f.sim, NULL);
	CHECK(row->received_ps < row->done_ps);
	CHECK(row->done_ps >= row->best_ps && row->done_ps <= row->best_ps * 102 / 100);
	nd_sim_free(f.sim);
}

/* E-X04: one percent of loss on every link of a host: all that was to arrive does, in time. */
TEST(ndp__loss)
{
	struct nd_sim_change change = { .kind = ND_SIM_CHANGE_LOSS, .both_ways = 1,
					.value = (UINT64_C(1) << 32) / 100 };

	begin(4, 0, 30);
	f.config.changes = &change;
	f.config.change_count = 1;
	for (uint32_t i = 0; i < 15; i++)
		flows[i] = fixture_flow(i + 1, 0, 300000);
	run(15, ND_NEVER, ND_SIM_DONE);
	CHECK(nd_sim_counters(f.sim)->lost_packets > 5);
	for (uint32_t i = 0; i < 15; i++)
		CHECK_EQ(nd_sim_rows(f.sim, NULL)[i].state, ND_FLOW_DONE);
	nd_sim_free(f.sim);
}

/* E-X05: every packet, trimmed and returned ones too, as bytes and back; the run stays the same. */
TEST(ndp__wire_check)
{
	uint64_t hash = 0;

	for (uint32_t check = 0; check < 2; check++) {
		begin(4, 0, 30);
		queue.headers.bytes = 2000;
		f.config.wire_check = check;
		for (uint32_t i = 0; i < 15; i++)
			flows[i] = fixture_flow(i + 1, 0, 400000);
		run(15, ND_NEVER, ND_SIM_DONE);
		CHECK_STR(nd_sim_error(f.sim), "");
		CHECK(nd_sim_counters(f.sim)->bounced_packets > 0);
		CHECK(!check || nd_sim_trace_hash(f.sim) == hash);
		hash = nd_sim_trace_hash(f.sim);
		nd_sim_free(f.sim);
	}
}

int main(int argc, char **argv)
{
	return nd_test_main(argc, argv);
}
