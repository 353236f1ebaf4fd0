// SPDX-License-Identifier: Apache-2.0
/* Matrices, arrival processes and size distributions. */
#include "harness.h"
#include "sim/traffic.h"

#include <math.h>

static struct nd_flow flows[70000];
static struct nd_trigger triggers[70000];
static const struct nd_flow pattern = {
	.bytes = 9000, .starts_on = ND_NONE, .on_sent = ND_NONE, .on_received = ND_NONE,
	.priority = 3, .target = 5, .source = 7,
};

/* R-CS-2: each host sends to one and receives from one, no fixed point. */
TEST(permutation__is_a_derangement)
{
	static uint32_t received[8192], targets[8192];

	for (uint32_t hosts = 2; hosts <= 8192; hosts = hosts * 5 / 3 + 1) {
		for (uint64_t seed = 0; seed < 4; seed++) {
			memset(received, 0, sizeof(received));
			nd_traffic_permutation(flows, hosts, &pattern, seed);
			nd_traffic_derangement(targets, hosts, seed);
			for (uint32_t h = 0; h < hosts; h++) {
				CHECK_EQ(flows[h].source, h);
				CHECK(flows[h].target != h);
				CHECK_EQ(flows[h].target, targets[h]);
				CHECK_EQ(flows[h].priority, 3);
				received[flows[h].target]++;
			}
			for (uint32_t h = 0; h < hosts; h++)
				CHECK_EQ(received[h], 1);
		}
	}
}

/* R-CS-2: uniform destination other than self (chi-square, 31 degrees of freedom, p = 1e-4). */
TEST(random__is_uniform)
{
	uint32_t count[33] = { 0 };
	double chi = 0;

	nd_traffic_random(flows, 33, 2000, &pattern, 9);
	for (uint32_t i = 0; i < 33 * 2000; i++)
		CHECK(flows[i].source != flows[i].target && flows[i].target < 33);
	for (uint32_t i = 0; i < 2000; i++)
		count[flows[i].target]++;
	CHECK_EQ(count[0], 0);
	for (uint32_t h = 1; h < 33; h++)
		chi += (count[h] - 62.5) * (count[h] - 62.5) / 62.5;
	CHECK(chi < 69);
}

/* R-CS-6: incast and outcast pick different hosts, all of them when asked to. */
TEST(incast__different_hosts)
{
	for (uint32_t count = 1; count < 16; count++) {
		uint32_t seen = 0;

		nd_traffic_incast(flows, 16, count, &pattern, count);
		for (uint32_t i = 0; i < count; i++) {
			CHECK_EQ(flows[i].target, 5);
			CHECK(flows[i].source != 5 && !(seen >> flows[i].source & 1));
			seen |= 1u << flows[i].source;
		}
		nd_traffic_outcast(flows, 16, count, &pattern, count);
		seen = 0;
		for (uint32_t i = 0; i < count; i++) {
			CHECK_EQ(flows[i].source, 7);
			CHECK(flows[i].target != 7 && !(seen >> flows[i].target & 1));
			seen |= 1u << flows[i].target;
		}
	}
}

TEST(all_to_all__every_pair_once)
{
	uint8_t seen[20][20] = { { 0 } };

	nd_traffic_all_to_all(flows, 20, &pattern);
	for (uint32_t i = 0; i < 20 * 19; i++)
		seen[flows[i].source][flows[i].target]++;
	for (uint32_t a = 0; a < 20; a++) {
		for (uint32_t b = 0; b < 20; b++)
			CHECK_EQ(seen[a][b], a != b);
	}
}

TEST(exponential__mean_and_tail)
{
	struct nd_rng rng = nd_rng_make(4, 2);
	double sum = 0, squares = 0;
	uint32_t above = 0;

	for (uint32_t i = 0; i < 200000; i++) {
		double x = (double)nd_traffic_exponential(&rng, 1000000) / 1e6;

		sum += x;
		squares += x * x;
		above += x > 3;
	}
	CHECK(fabs(sum / 200000 - 1) < 0.01);
	CHECK(fabs(squares / 200000 - 2) < 0.05);
	CHECK(fabs(above / 200000.0 - exp(-3)) < 0.002);
}

/* The integer logarithm against libm, through the only draws that matter. */
TEST(exponential__equals_logarithm)
{
	for (uint64_t i = 1; i < 2000; i++) {
		struct nd_rng rng = nd_rng_make(i, 0), same = rng;
		double u = (double)(nd_rng_u64(&same) | 1) / 18446744073709551616.0;
		double got = (double)nd_traffic_exponential(&rng, 1000000000000);

		CHECK(fabs(got + log(u) * 1e12) < 1e5);
	}
}

static const uint64_t point_bytes[] = { 100, 1000, 10000 };
static const uint32_t point_cumulative[] = { 1u << 31, 3u << 30, UINT32_MAX };

TEST(sizes__step_and_linear)
{
	struct nd_sizes sizes = { point_bytes, point_cumulative, 3, 0 };

	CHECK_EQ(nd_sizes_quantile(&sizes, 0), 100);
	CHECK_EQ(nd_sizes_quantile(&sizes, (1u << 31) - 1), 100);
	CHECK_EQ(nd_sizes_quantile(&sizes, 1u << 31), 1000);
	CHECK_EQ(nd_sizes_quantile(&sizes, UINT32_MAX), 10000);
	CHECK_EQ(nd_sizes_mean_256(&sizes, 1 << 30, 0), 256 * (50 + 250 + 2500));
	/* 1, 1 and 7 packets of up to 1500 bytes with 60 of overhead. */
	CHECK_EQ(nd_sizes_mean_256(&sizes, 1500, 60), 256 * (2800 + 30 + 15 + 105));
	sizes.linear = 1;
	CHECK_EQ(nd_sizes_quantile(&sizes, 0), 1);
	CHECK_EQ(nd_sizes_quantile(&sizes, 1u << 30), 50);
	CHECK_EQ(nd_sizes_quantile(&sizes, (1u << 31) + (1u << 29)), 550);
	CHECK_EQ(nd_sizes_quantile(&sizes, UINT32_MAX), 9999);
	CHECK(llabs((int64_t)nd_sizes_mean_256(&sizes, 1 << 30, 0) -
		    256 * (25 + 137 + 1375)) < 300);
}

/* R-CS-5: open loop by load, arrivals within 1 %. */
TEST(open_loop__load_is_met)
{
	struct nd_sizes sizes = { point_bytes, point_cumulative, 3, 0 };
	struct nd_traffic_open open = { .sources = 16, .targets = 16, .sizes = sizes };
	uint64_t mean = nd_sizes_mean_256(&sizes, 1500, 60);
	uint64_t count, bytes = 0;

	open.gap_ps = nd_traffic_gap(mean, UINT64_C(10000000000), 800000);
	CHECK_EQ(open.gap_ps, UINT64_C(2950) * 8 * 125);
	open.until_ps = open.gap_ps * 4000;
	count = nd_traffic_open_loop(flows, ND_ARRAY_SIZE(flows), &open, &pattern, 1);
	CHECK_EQ(nd_traffic_open_loop(NULL, 0, &open, &pattern, 1), count);
	CHECK(llabs((int64_t)count - 64000) < 640);
	for (uint64_t i = 0; i < count; i++) {
		CHECK(flows[i].start_ps < open.until_ps && flows[i].source != flows[i].target);
		CHECK(i == 0 || flows[i].source > flows[i - 1].source ||
		      flows[i].start_ps >= flows[i - 1].start_ps);
		bytes += flows[i].bytes;
	}
	CHECK(fabs((double)bytes / (double)count / 2800 - 1) < 0.02);
	open.flows_max = 10;
	CHECK_EQ(nd_traffic_open_loop(flows, 5, &open, &pattern, 1), 160);
}

/* Gaps that 64 bits do not hold were what is left of them: messages came that should not. */
TEST(open_loop__what_comes_after_any_run_does_not_come_in_it)
{
	struct nd_traffic_open open = { .sources = 16, .targets = 16 };
	struct nd_rng rng = nd_rng_make(1, 1);

	open.until_ps = UINT64_C(1000000000000000000);
	open.gap_ps = nd_traffic_gap(UINT64_C(256) * 700000000000, 1000000, 3);
	CHECK(open.gap_ps > open.until_ps);
	CHECK_EQ(nd_traffic_open_loop(NULL, 0, &open, &pattern, 1), 0);
	for (uint32_t i = 0; i < 1000; i++)
		CHECK(nd_traffic_exponential(&rng, open.gap_ps - 1) <= open.gap_ps);
	for (uint32_t bytes = 1; bytes < 1000; bytes++)
		CHECK(nd_traffic_gap(bytes * UINT64_C(1000000007), 1000000, 1) >= open.until_ps);
}

/* R-CS-5: closed loop: every flow but a chain's last releases the next one. */
TEST(closed_loop__chains)
{
	struct nd_traffic_closed closed = { .hosts = 8, .slots = 3, .rounds = 5,
					    .think_ps = 1000000 };

	nd_traffic_closed_loop(flows, triggers, &closed, &pattern, 1);
	for (uint32_t i = 0; i < 8 * 3 * 5; i++) {
		CHECK_EQ(triggers[i].needs, 1);
		CHECK_EQ(flows[i].source, i / 15);
		CHECK(flows[i].target != flows[i].source);
		CHECK_EQ(flows[i].starts_on, i % 5 ? i - 1 : ND_NONE);
		CHECK_EQ(flows[i].on_sent, i % 5 < 4 ? i : ND_NONE);
		CHECK(i % 5 || flows[i].start_ps <= 1000000);
	}
}

int main(int argc, char **argv)
{
	return nd_test_main(argc, argv);
}
