// SPDX-License-Identifier: Apache-2.0
/* The pull queue: fairness, priorities, removal, and spacing to the nanosecond. */
#include "base/rng.h"
#include "test/harness.h"
#include "transport/pull.h"

#define FLOWS 64
#define PEERS 16
#define GBPS UINT64_C(1000000000)

static struct nd_pull queue;
static _Alignas(64) uint8_t memory[65536];

static void set_up(uint64_t link_bps, nd_ns slack)
{
	CHECK(nd_pull_bytes(FLOWS, PEERS) <= sizeof(memory));
	nd_pull_init(&queue, memory, link_bps, slack, FLOWS, PEERS);
}

static void add(uint32_t flow, uint32_t count, uint32_t bytes)
{
	for (uint32_t i = 0; i < count; i++)
		nd_pull_add(&queue, flow, bytes, 0);
}

static void audit(void)
{
	const char *wrong = nd_pull_audit(&queue);

	CHECK_STR(wrong ? wrong : "", "");
}

/* Takes the next pull at its own time. */
static uint32_t take(void)
{
	uint32_t flow = nd_pull_take(&queue, nd_pull_due(&queue));

	audit();
	return flow;
}

/* R-NTP-08, E-N04: 7.2 us for 9000 B at 10 G, 1.2 us for 1500 B, 12 us for 1500 B at 1 G. */
TEST(nd_pull_take__spaces_by_the_bytes_released)
{
	static const struct {
		uint64_t link_bps;
		uint32_t bytes;
		nd_ns gap;
	} cases[] = { { 10 * GBPS, 9000, 7200 }, { 10 * GBPS, 1500, 1200 }, { GBPS, 1500, 12000 },
		      { 100 * GBPS, 1500, 120 } };

	for (uint32_t i = 0; i < ND_ARRAY_SIZE(cases); i++) {
		set_up(cases[i].link_bps, 0);
		nd_pull_open(&queue, 0, 0, 0);
		add(0, 100, cases[i].bytes);
		for (nd_ns at = 0; at < 100 * cases[i].gap; at += cases[i].gap) {
			CHECK_EQ(nd_pull_due(&queue), at);
			CHECK_EQ(take(), 0);
			CHECK_EQ(nd_pull_take(&queue, at + cases[i].gap - 1), ND_NONE);
		}
	}
}

/* Pulls that are queued go by the new rate, the one that is due already by the old. */
TEST(nd_pull_set_rate__spaces_what_is_queued)
{
	set_up(10 * GBPS, 0);
	nd_pull_open(&queue, 0, 0, 0);
	add(0, 10, 1500);
	CHECK_EQ(take(), 0);
	nd_pull_set_rate(&queue, 3 * GBPS);
	CHECK_EQ(nd_pull_due(&queue), 1200);
	for (nd_ns i = 1; i < 9; i++) {
		CHECK_EQ(take(), 0);
		CHECK_EQ(nd_pull_due(&queue), 1200 + i * 4000);
	}
}

/* R-NTP-08: what a division leaves is kept, so no rounding adds up over a million pulls. */
TEST(nd_pull_take__loses_no_fraction)
{
	set_up(3 * GBPS, 0);
	nd_pull_open(&queue, 0, 0, 0);
	for (uint32_t i = 0; i < 1000000; i++) {
		nd_pull_add(&queue, 0, 1, nd_pull_due(&queue) == ND_NEVER ? queue.due : 0);
		CHECK_EQ(nd_pull_take(&queue, queue.due), 0);
	}
	CHECK_EQ(queue.due, UINT64_C(8000000000) * 1000000 / (3 * GBPS));
}

/* U1: packets of any mix of sizes keep the rate: each pull costs what the arrival weighed. */
TEST(nd_pull_take__mixed_sizes_keep_the_rate)
{
	uint64_t bytes = 0;

	set_up(10 * GBPS, 0);
	nd_pull_open(&queue, 0, 0, 0);
	nd_pull_open(&queue, 1, 1, 0);
	for (uint32_t i = 0; i < 60; i++) {
		uint32_t size = i % 3 ? 9000 : 64;

		nd_pull_add(&queue, i % 2, size, 0);
		bytes += size;
	}
	for (uint32_t i = 0; i < 60; i++)
		CHECK(take() != ND_NONE);
	CHECK_EQ(queue.due, bytes * 8 / 10);
}

TEST(nd_pull_take__catches_up_within_the_slack)
{
	set_up(10 * GBPS, 10000);
	nd_pull_open(&queue, 0, 0, 0);
	add(0, 9, 1500);
	CHECK_EQ(nd_pull_take(&queue, 0), 0);
	/* 3 us late: the two that were due meanwhile go at once, the next one on time. */
	CHECK_EQ(nd_pull_take(&queue, 4200), 0);
	CHECK_EQ(nd_pull_take(&queue, 4200), 0);
	CHECK_EQ(nd_pull_take(&queue, 4200), 0);
	CHECK_EQ(nd_pull_take(&queue, 4200), ND_NONE);
	CHECK_EQ(nd_pull_due(&queue), 4800);
	/* Later than the slack: what was missed beyond it is lost. */
	CHECK_EQ(nd_pull_take(&queue, 104800), 0);
	CHECK_EQ(nd_pull_due(&queue), 94800 + 1200);
}

TEST(nd_pull_add__an_empty_queue_earns_nothing)
{
	set_up(10 * GBPS, 10000);
	nd_pull_open(&queue, 0, 0, 0);
	nd_pull_add(&queue, 0, 1500, 50000);
	nd_pull_add(&queue, 0, 1500, 50000);
	CHECK_EQ(nd_pull_due(&queue), 50000);
	CHECK_EQ(nd_pull_take(&queue, 50000), 0);
	CHECK_EQ(nd_pull_due(&queue), 51200);
}

/* R-NTP-09, R-NCC-01: peers share equally within one pull, however many flows each has. */
TEST(nd_pull_take__is_fair_to_peers_then_to_their_flows)
{
	uint32_t got[4] = { 0 };

	set_up(10 * GBPS, 0);
	nd_pull_open(&queue, 0, 0, 3);
	for (uint32_t flow = 1; flow < 4; flow++)
		nd_pull_open(&queue, flow, 1, 3);
	for (uint32_t flow = 0; flow < 4; flow++)
		add(flow, 100, 1500);
	for (uint32_t i = 1; i <= 120; i++) {
		got[take()]++;
		CHECK(got[0] >= i / 2 && got[0] <= i / 2 + 1);
	}
	CHECK_EQ(got[0], 60);
	for (uint32_t flow = 1; flow < 4; flow++)
		CHECK_EQ(got[flow], 20);
}

/* R-NTP-09, E-N17: a higher level is served strictly first, also for one peer. */
TEST(nd_pull_take__serves_levels_strictly)
{
	set_up(10 * GBPS, 0);
	nd_pull_open(&queue, 0, 0, 0);
	nd_pull_open(&queue, 1, 0, 7);
	nd_pull_open(&queue, 2, 1, 3);
	add(0, 3, 1500);
	add(1, 2, 1500);
	add(2, 2, 1500);
	CHECK_EQ(take(), 1);
	CHECK_EQ(take(), 1);
	CHECK_EQ(take(), 2);
	add(1, 1, 1500);
	CHECK_EQ(take(), 1);
	CHECK_EQ(take(), 2);
	CHECK_EQ(take(), 0);
}

/* R-NTP-12, D9: only what is beyond the limit goes, with its share of the bytes. */
TEST(nd_pull_cap__removes_beyond_the_limit)
{
	set_up(10 * GBPS, 0);
	nd_pull_open(&queue, 0, 0, 0);
	add(0, 10, 1000);
	CHECK_EQ(nd_pull_cap(&queue, 0, 12), 0);
	CHECK_EQ(nd_pull_cap(&queue, 0, 4), 6);
	CHECK_EQ(nd_pull_count(&queue, 0), 4);
	audit();
	for (uint32_t i = 0; i < 4; i++)
		CHECK_EQ(take(), 0);
	CHECK_EQ(queue.due, 4 * 800);
	CHECK_EQ(nd_pull_due(&queue), ND_NEVER);
	add(0, 3, 1000);
	CHECK_EQ(nd_pull_cap(&queue, 0, 0), 3);
	CHECK_EQ(take(), ND_NONE);
}

TEST(nd_pull_close__takes_its_pulls_along)
{
	set_up(10 * GBPS, 0);
	for (uint32_t flow = 0; flow < 3; flow++)
		nd_pull_open(&queue, flow, 0, 0);
	for (uint32_t flow = 0; flow < 3; flow++)
		add(flow, 2, 1500);
	nd_pull_close(&queue, 1);
	audit();
	CHECK_EQ(queue.total, 4);
	for (uint32_t i = 0; i < 4; i++)
		CHECK(take() != 1);
	nd_pull_open(&queue, 1, 5, 2);
	nd_pull_close(&queue, 0);
	nd_pull_close(&queue, 2);
	nd_pull_close(&queue, 1);
	audit();
}

/* Any sequence of calls keeps rings, levels and sums whole, and hands out what was put in. */
TEST(nd_pull__random_calls_keep_every_invariant)
{
	struct nd_rng rng = nd_rng_make(7, 7);
	uint32_t open[FLOWS] = { 0 };

	set_up(10 * GBPS, 5000);
	for (uint32_t step = 0; step < 20000; step++) {
		uint32_t flow = nd_rng_below(&rng, FLOWS);
		uint32_t act = nd_rng_below(&rng, 16);

		if (!open[flow]) {
			nd_pull_open(&queue, flow, flow % PEERS, flow % ND_PULL_LEVELS);
			open[flow] = 1;
		} else if (act == 0) {
			nd_pull_close(&queue, flow);
			open[flow] = 0;
		} else if (act < 3) {
			nd_pull_cap(&queue, flow, act);
		} else if (act < 9) {
			nd_pull_add(&queue, flow, 64 + act * 100, step * 500);
		} else {
			nd_pull_take(&queue, step * 500);
		}
		audit();
	}
}

int main(int argc, char **argv)
{
	return nd_test_main(argc, argv);
}
