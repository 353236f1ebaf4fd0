// SPDX-License-Identifier: Apache-2.0
/* HULL's pacer: who is paced, at what rate, in what order, and against the closed form. */
#include "queue/pacer.h"
#include "test/queue_bed.h"

struct paced {
	struct nd_pool pool;
	struct nd_pacer pacer;
	struct nd_pacer_counters counters;
	nd_ns now;
};

static struct paced paced;
static struct nd_pacer_config config;

static void start(void)
{
	static void *packets;
	const char *why = "";

	if (!packets)
		packets = aligned_alloc(64, nd_pool_bytes(BED_PACKETS, sizeof(struct nd_packet)));
	memset(&paced, 0, sizeof(paced));
	nd_pool_init(&paced.pool, packets, BED_PACKETS, sizeof(struct nd_packet));
	if (nd_pacer_check(&config, &why) != 0)
		CHECK_STR(why, "");
	nd_pacer_init(&paced.pacer, &config, &paced.pool, &paced.counters, 1, 0);
}

static enum nd_pacer_verdict offer(uint16_t flow, uint16_t bytes)
{
	uint32_t index = nd_pool_get(&paced.pool);
	enum nd_pacer_verdict verdict;

	CHECK(index != ND_NONE);
	*(struct nd_packet *)nd_pool_at(&paced.pool, index) =
		(struct nd_packet){ .flow = flow, .wire_bytes = bytes };
	verdict = nd_pacer_enqueue(&paced.pacer, index, paced.now);
	if (verdict != ND_PACER_QUEUED)
		nd_pool_put(&paced.pool, index);
	return verdict;
}

/* Takes out all that may leave now; returns its bytes. */
static uint32_t collect(void)
{
	uint32_t bytes = 0, index;
	const char *wrong;

	while ((index = nd_pacer_dequeue(&paced.pacer, paced.now)) != ND_NONE) {
		bytes += ((struct nd_packet *)nd_pool_at(&paced.pool, index))->wire_bytes;
		nd_pool_put(&paced.pool, index);
	}
	wrong = nd_pacer_audit(&paced.pacer);
	CHECK_STR(wrong ? wrong : "", "");
	return bytes;
}

/* Moves time on as a driver does, from deadline to deadline; returns the bytes that left. */
static uint32_t run_until(nd_ns until)
{
	uint32_t bytes = collect();
	nd_ns next;

	while ((next = nd_pacer_deadline(&paced.pacer)) <= until) {
		CHECK(next > paced.now);
		paced.now = next;
		bytes += collect();
	}
	paced.now = until;
	return bytes;
}

/* The testbed's values, with every ECN-Echo associating. */
static void always(void)
{
	config = nd_pacer_testbed();
	config.associate_65536 = ND_PACER_ONE;
}

/* R-PAC-1, R-PAC-5: new flows bypass; a paced one waits in a FIFO of 128 KB. */
TEST(nd_pacer_enqueue__paces_only_associated_flows)
{
	uint32_t queued = 0;

	always();
	start();
	CHECK_EQ(offer(1, 1500), ND_PACER_BYPASS);
	nd_pacer_echo(&paced.pacer, 1, 0);
	CHECK_EQ(offer(2, 1500), ND_PACER_BYPASS);
	while (offer(1, 1024) == ND_PACER_QUEUED)
		queued++;
	CHECK_EQ(queued, 128);
	CHECK_EQ(paced.counters.dropped_packets, 1);
	CHECK_EQ(paced.counters.bypassed_packets, 2);
	CHECK_EQ(nd_pacer_backlog(&paced.pacer, 0), 128 * 1024);
}

/* R-PAC-1: a bucketful leaves at once, the rest only with tokens. */
TEST(nd_pacer_dequeue__stops_without_tokens)
{
	always();
	start();
	nd_pacer_echo(&paced.pacer, 1, 0);
	for (uint32_t i = 0; i < 10; i++)
		offer(1, 1500);
	CHECK_EQ(collect(), 3000);
	CHECK_EQ(collect(), 0);
	CHECK(nd_pacer_deadline(&paced.pacer) <= config.period);
}

/* R-PAC-2: with arrivals at R*, the rate settles at R* and the backlog at nothing. */
static void settle(uint64_t rate_bytes, uint16_t bytes)
{
	nd_ns gap = bytes * ND_SEC / rate_bytes;
	int64_t off;

	start();
	for (uint32_t i = 0; i < 20000; i++) {
		if (i % 100 == 0)
			nd_pacer_echo(&paced.pacer, 1, paced.now);
		offer(1, bytes);
		run_until(paced.now + gap);
	}
	off = (int64_t)nd_pacer_rate(&paced.pacer, 0) - (int64_t)rate_bytes;
	/* A period holds a whole number of packets, so the rate swings by eta of one packet. */
	CHECK(off > -(int64_t)rate_bytes / 20 && off < (int64_t)rate_bytes / 20);
	CHECK(nd_pacer_backlog(&paced.pacer, 0) <= 3u * bytes);
	CHECK_EQ(paced.counters.dropped_packets, 0);
}

TEST(nd_pacer_dequeue__settles_at_the_rate_of_arrival)
{
	always();
	settle(100000000, 1500);
	/* ns-2's values, Tr = 7.2 us and beta = 375, on 10 Gb/s. */
	config.period = 7200;
	config.beta = 375;
	config.timeout = ND_MSEC;
	settle(1000000000, 1500);
}

/* R-PAC-2, equation 4, step by step. */
TEST(update_rate__is_equation_four)
{
	uint64_t rate = 0;

	always();
	start();
	nd_pacer_echo(&paced.pacer, 1, 0);
	for (uint32_t i = 0; i < 40; i++)
		offer(1, 1500);
	collect();
	paced.now = 64000;
	collect();
	/* 0.125 * 60000 / 64 us + 16 * 57000, and 3000 bytes had left before. */
	rate = 60000ull * 15625 / 8 + 16 * 57000;
	CHECK_EQ(nd_pacer_rate(&paced.pacer, 0), rate);
	paced.now = 128000;
	collect();
	/* Nothing arrived, but what left in the meantime no longer presses. */
	CHECK(nd_pacer_rate(&paced.pacer, 0) <= rate - rate / 8 + 16 * 57000);
	CHECK(nd_pacer_rate(&paced.pacer, 0) >= rate - rate / 8 - 1);
}

/* R-PAC-2: a backlog without arrivals still drains, beta sees to that. */
TEST(nd_pacer_dequeue__drains_a_backlog_by_beta)
{
	always();
	start();
	nd_pacer_echo(&paced.pacer, 1, 0);
	for (uint32_t i = 0; i < 80; i++)
		offer(1, 1500);
	CHECK_EQ(run_until(ND_SEC), 80 * 1500);
	CHECK_EQ(nd_pacer_deadline(&paced.pacer), ND_NEVER);
}

/* E-U04: a burst of 64 KB each 0.5 ms leaves evenly: 99 % of its gaps are within the pace. */
TEST(nd_pacer_dequeue__smooths_bursts)
{
	uint32_t most = 0, total = 0;

	always();
	start();
	for (uint32_t burst = 0; burst < 400; burst++) {
		nd_pacer_echo(&paced.pacer, 1, paced.now);
		for (uint32_t i = 0; i < 43; i++)
			CHECK_EQ(offer(1, 1500), ND_PACER_QUEUED);
		for (uint32_t slice = 0; slice < 50; slice++) {
			uint32_t bytes = run_until(paced.now + 10000);

			total += bytes;
			if (burst > 100)
				most = nd_max_u32(most, bytes);
		}
	}
	/* 64.5 KB in 0.5 ms are 1290 bytes in 10 us; a bucket of 3000 adds at most that. */
	CHECK(most <= 1290 * 2 + 3000);
	CHECK(total >= 399 * 43 * 1500);
}

/* R-PAC-3: whole tokens at each 16 us tick, 1 to 2000 of them, in steps of 0.5 Mb/s. */
TEST(nd_pacer_dequeue__ticks_in_hardware_mode)
{
	config = nd_pacer_hardware();
	config.associate_65536 = ND_PACER_ONE;
	start();
	nd_pacer_echo(&paced.pacer, 1, 0);
	for (uint32_t i = 0; i < 20; i++)
		offer(1, 100);
	CHECK_EQ(collect(), 2000);
	for (uint32_t i = 0; i < 20; i++)
		offer(1, 100);
	/* 1000 tokens are left; before the first update the rate is 0, which is 1 byte a tick. */
	CHECK_EQ(collect(), 1000);
	paced.now = 63999;
	CHECK_EQ(collect(), 0);
	CHECK_EQ(nd_pacer_deadline(&paced.pacer), 64000);
	/* After it: 4000 / 64 us / 8 + 16 * 1000 = 7,828,500 bytes/s: 125 bytes a tick. */
	paced.now = 64000;
	collect();
	CHECK_EQ(nd_pacer_rate(&paced.pacer, 0), 7828500);
	paced.now = 80000;
	CHECK_EQ(collect(), 100);
	paced.now = 95999;
	CHECK_EQ(collect(), 0);
	paced.now = 96000;
	CHECK_EQ(collect(), 100);
}

/* A bucket that has just been emptied, in hardware mode, at a rate in bytes a second. */
static void start_empty(uint64_t rate)
{
	config = nd_pacer_hardware();
	config.associate_65536 = ND_PACER_ONE;
	start();
	nd_pacer_echo(&paced.pacer, 1, 0);
	offer(1, 3000);
	CHECK_EQ(collect(), 3000);
	paced.pacer.limiters[0].rate = rate << 16;
}

/* R-PAC-3: the bucket is 3 KB deep. */
TEST(nd_pacer_dequeue__bucket_holds_3000_bytes)
{
	start_empty(0);
	start();
	nd_pacer_echo(&paced.pacer, 1, 0);
	offer(1, 1500);
	offer(1, 1501);
	CHECK_EQ(collect(), 1500);
}

/* R-PAC-3: no tick brings more than 2000 bytes, ... */
TEST(nd_pacer_dequeue__ticks_bring_2000_bytes_at_most)
{
	start_empty(250000000); /* 4000 in 16 us */
	offer(1, 2001);
	paced.now = 16000;
	CHECK_EQ(collect(), 0);
	start_empty(250000000);
	offer(1, 2000);
	paced.now = 16000;
	CHECK_EQ(collect(), 2000);
}

/* R-PAC-3: ... or less than one, ... */
TEST(nd_pacer_dequeue__ticks_bring_a_byte_at_least)
{
	start_empty(0);
	offer(1, 3);
	paced.now = 47999;
	CHECK_EQ(collect(), 0);
	paced.now = 48000;
	CHECK_EQ(collect(), 3);
}

/* R-PAC-3: ... and the rate between is the nearest step of 0.5 Mb/s, a byte in 16 us. */
TEST(nd_pacer_dequeue__ticks_bring_whole_bytes)
{
	for (uint16_t more = 0; more < 2; more++) {
		start_empty(93749 + more); /* one and a half, and a little less */
		offer(1, 2);
		paced.now = 16000;
		CHECK_EQ(collect(), more ? 2 : 0);
	}
}

/* R-PAC-3: the table holds 64 flows; the 65th is not paced until one times out. */
TEST(nd_pacer_echo__refuses_flows_beyond_the_table)
{
	always();
	start();
	for (uint16_t flow = 0; flow < 65; flow++)
		nd_pacer_echo(&paced.pacer, flow, 0);
	CHECK_EQ(paced.counters.associated_flows, 64);
	CHECK_EQ(paced.counters.refused_flows, 1);
	CHECK_EQ(offer(64, 1500), ND_PACER_BYPASS);
	paced.now = config.timeout;
	nd_pacer_echo(&paced.pacer, 64, paced.now);
	CHECK_EQ(paced.counters.expired_flows, 64);
	CHECK_EQ(offer(64, 1500), ND_PACER_QUEUED);
}

/* R-PAC-4: associated with probability 1/8, binomially. */
TEST(nd_pacer_echo__associates_one_in_eight)
{
	const uint32_t draws = 100000;
	int64_t off;

	config = nd_pacer_testbed();
	start();
	for (uint32_t i = 0; i < draws; i++) {
		nd_pacer_echo(&paced.pacer, (uint16_t)i, paced.now);
		paced.now += config.timeout;
	}
	/* 3 sigma: 3 * sqrt(1e5 * 1/8 * 7/8) = 314. */
	off = (int64_t)paced.counters.associated_flows - draws / 8;
	CHECK(off > -315 && off < 315);
	CHECK_EQ(paced.counters.echoes, draws);
}

/* R-PAC-4: lasts Ti, and each later association renews it. */
TEST(nd_pacer_echo__lasts_until_the_timeout_unless_renewed)
{
	always();
	start();
	nd_pacer_echo(&paced.pacer, 1, 0);
	paced.now = config.timeout - 1;
	CHECK_EQ(offer(1, 100), ND_PACER_QUEUED);
	CHECK_EQ(collect(), 100);
	nd_pacer_echo(&paced.pacer, 1, paced.now);
	CHECK_EQ(paced.counters.renewed_flows, 1);
	paced.now += config.timeout - 1;
	CHECK_EQ(offer(1, 100), ND_PACER_QUEUED);
	CHECK_EQ(collect(), 100);
	paced.now += 1;
	CHECK_EQ(offer(1, 100), ND_PACER_BYPASS);
	CHECK_EQ(paced.counters.expired_flows, 1);
}

/* R-PAC-4: a flow that times out with packets waiting is not reordered. */
TEST(nd_pacer_enqueue__keeps_a_flow_until_its_packets_have_left)
{
	always();
	config.beta = 0;
	start();
	nd_pacer_echo(&paced.pacer, 1, 0);
	for (uint32_t i = 0; i < 4; i++)
		offer(1, 1500);
	collect();
	paced.now = 2 * config.timeout;
	CHECK_EQ(offer(1, 1500), ND_PACER_QUEUED);
}

/* R-PAC-5: a flow of 10 KB hears its first echo after most of it has left: rarely paced. */
TEST(nd_pacer_enqueue__rarely_paces_short_flows)
{
	uint32_t paced_flows = 0;

	config = nd_pacer_testbed();
	start();
	for (uint16_t flow = 0; flow < 1000; flow++) {
		bool hit = false;

		/* Seven packets; one in ten flows hears one echo after the fifth. */
		for (uint32_t i = 0; i < 7; i++) {
			if (i == 5 && flow % 10 == 0)
				nd_pacer_echo(&paced.pacer, flow, paced.now);
			hit |= offer(flow, 1500) == ND_PACER_QUEUED;
		}
		paced_flows += hit;
		run_until(paced.now + ND_MSEC);
	}
	CHECK(paced_flows > 0 && paced_flows < 20);
}

/* R-PAC-6: several limiters; flows spread over them, each with its own rate and FIFO. */
TEST(nd_pacer_echo__spreads_flows_over_limiters)
{
	always();
	config.limiters = 2;
	start();
	nd_pacer_echo(&paced.pacer, 1, 0);
	for (uint32_t i = 0; i < 10; i++)
		offer(1, 1500);
	nd_pacer_echo(&paced.pacer, 2, 0);
	CHECK_EQ(offer(2, 1500), ND_PACER_QUEUED);
	CHECK_EQ(nd_pacer_backlog(&paced.pacer, 0), 15000);
	CHECK_EQ(nd_pacer_backlog(&paced.pacer, 1), 1500);
	/* The second flow does not wait behind the first. */
	CHECK_EQ(collect(), 3000 + 1500);
}

/* A jumbo frame above the bucket leaves when the bucket is full and leaves a debt. */
TEST(nd_pacer_dequeue__sends_packets_above_the_depth)
{
	always();
	start();
	nd_pacer_echo(&paced.pacer, 1, 0);
	for (uint32_t i = 0; i < 5; i++)
		offer(1, 9000);
	CHECK_EQ(collect(), 9000);
	CHECK_EQ(collect(), 0);
	CHECK_EQ(run_until(ND_SEC), 36000);
}

/* After a long silence the rate is forgotten, in bounded time. */
TEST(nd_pacer_dequeue__forgets_its_rate_in_a_long_silence)
{
	always();
	start();
	nd_pacer_echo(&paced.pacer, 1, 0);
	for (uint32_t i = 0; i < 20; i++)
		offer(1, 1500);
	run_until(10 * ND_MSEC);
	CHECK(nd_pacer_rate(&paced.pacer, 0) > 0);
	paced.now = UINT64_C(1) << 62;
	nd_pacer_echo(&paced.pacer, 1, paced.now);
	CHECK_EQ(offer(1, 1500), ND_PACER_QUEUED);
	CHECK_EQ(nd_pacer_rate(&paced.pacer, 0), 0);
	CHECK_EQ(collect(), 1500);
}

TEST(nd_pacer__conserves_packets_under_random_traffic)
{
	struct nd_rng rng = nd_rng_make(6, 0);

	config = nd_pacer_testbed();
	config.limiters = 3;
	config.flows = 5;
	start();
	for (uint32_t i = 0; i < 20000; i++) {
		if (nd_rng_below(&rng, 4) == 0)
			nd_pacer_echo(&paced.pacer, (uint16_t)nd_rng_below(&rng, 8), paced.now);
		if (nd_rng_below(&rng, 3))
			offer((uint16_t)nd_rng_below(&rng, 8),
			      (uint16_t)(64 + nd_rng_below(&rng, 1437)));
		run_until(paced.now + nd_rng_below(&rng, 20000));
		CHECK_EQ(paced.pool.used, paced.counters.paced_packets - paced.counters.sent_packets);
	}
	CHECK(paced.counters.sent_packets > 1000);
}

static const char *refusal(void)
{
	const char *why = "";

	nd_pacer_check(&config, &why);
	return why;
}

TEST(nd_pacer_check__names_field_and_limit)
{
	config = nd_pacer_testbed();
	config.queue_bytes = 0;
	CHECK(strstr(refusal(), "queue_bytes is 0"));
	config = nd_pacer_testbed();
	config.depth_bytes = 65537;
	CHECK(strstr(refusal(), "depth_bytes is 65537, but must be 1 to 65536"));
	config = nd_pacer_testbed();
	config.period = 999;
	CHECK(strstr(refusal(), "period is 999"));
	config = nd_pacer_testbed();
	config.eta_65536 = 0;
	CHECK(strstr(refusal(), "eta_65536 is 0"));
	config = nd_pacer_testbed();
	config.beta = 1000001;
	CHECK(strstr(refusal(), "beta is 1000001"));
	config = nd_pacer_testbed();
	config.flows = 65;
	CHECK(strstr(refusal(), "flows is 65"));
	config = nd_pacer_testbed();
	config.limiters = 9;
	CHECK(strstr(refusal(), "limiters is 9"));
	config = nd_pacer_testbed();
	config.associate_65536 = 65537;
	CHECK(strstr(refusal(), "associate_65536 is 65537"));
	config = nd_pacer_testbed();
	config.timeout = 0;
	CHECK(strstr(refusal(), "timeout is 0"));
	config = nd_pacer_hardware();
	CHECK_STR(refusal(), "");
	config.tokens_min = 2001;
	CHECK(strstr(refusal(), "tokens_min is 2001"));
	config = nd_pacer_hardware();
	config.tokens_max = 65537;
	CHECK(strstr(refusal(), "tokens_max is 65537"));
	config = nd_pacer_hardware();
	config.tick = 1000001;
	CHECK(strstr(refusal(), "tick is 1000001"));
}

int main(int argc, char **argv)
{
	return nd_test_main(argc, argv);
}
