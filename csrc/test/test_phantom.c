// SPDX-License-Identifier: Apache-2.0
/* Phantom queues: closed form, exact threshold, quantised drain, ECT only. */
#include "queue/phantom.h"
#include "test/queue_bed.h"

static struct nd_phantom_counters counters;

static struct nd_phantom make(const struct nd_phantom_config *config, nd_ns now)
{
	struct nd_phantom phantom;
	const char *why = "";

	CHECK_EQ(nd_phantom_check(config, &why), 0);
	counters = (struct nd_phantom_counters){ 0 };
	nd_phantom_init(&phantom, config, &counters, now);
	return phantom;
}

/* Whether a packet of that size and these marks leaves marked. */
static bool pass(struct nd_phantom *phantom, uint16_t bytes, uint8_t marks, nd_ns now)
{
	struct nd_packet packet = { .wire_bytes = bytes, .marks = marks };

	nd_phantom_pass(phantom, &packet, now);
	return packet.marks & ND_MARK_CE;
}

/* R-PQ-1: a saturated 1 Gb/s link against a 950 Mb/s drain: level = n * 1500 * 5 %, then zero. */
TEST(nd_phantom_level__follows_the_closed_form)
{
	struct nd_phantom_config config = { .rate_bps = 950000000, .threshold_bytes = 1000 };
	struct nd_phantom phantom = make(&config, 1000);
	nd_ns now = 1000;

	for (uint32_t n = 1; n <= 1000; n++) {
		pass(&phantom, 1500, ND_MARK_ECT, now);
		now += 12000; /* 1500 bytes at 1 Gb/s */
		/* 12 us drain 1425 bytes; 75 stay of each packet. */
		CHECK_EQ(nd_phantom_level(&phantom, now), n * 75);
	}
	/* 75,000 bytes drain in 631,578.95 ns. */
	CHECK_EQ(nd_phantom_level(&phantom, now + 631578), 1);
	CHECK_EQ(nd_phantom_level(&phantom, now + 631579), 0);
	/* Never below zero: the next packet starts afresh. */
	pass(&phantom, 1500, ND_MARK_ECT, now + ND_SEC);
	CHECK_EQ(nd_phantom_level(&phantom, now + ND_SEC), 1500);
}

/* R-PQ-1: no rounding error accumulates at a rate that divides nothing evenly. */
TEST(nd_phantom_level__is_exact_over_a_million_packets)
{
	struct nd_phantom_config config = { .rate_bps = 9500000001, .threshold_bytes = 1000 };
	struct nd_phantom phantom = make(&config, 0);
	nd_ns now = 0;
	unsigned __int128 left;

	for (uint32_t n = 0; n < 1000000; n++) {
		pass(&phantom, 9000, ND_MARK_ECT, now);
		now += 7200; /* 10 Gb/s: the level only grows */
	}
	left = (unsigned __int128)9000 * 8 * 1000000 * ND_SEC -
	       (unsigned __int128)config.rate_bps * now;
	CHECK_EQ(nd_phantom_level(&phantom, now), (uint64_t)((left + 7999999999u) / 8000000000u));
}

struct passage {
	nd_ns time;
	uint16_t bytes;
};

/* The same level, without a counter: the fullest that any packet since has left it. In 1e-9 bits. */
static __int128 level_of(const struct nd_phantom_config *config, const struct passage *passages,
			 uint32_t count, nd_ns now)
{
	nd_ns quantum = config->quantum ? config->quantum : 1;
	__int128 filled = 0, most = 0;

	for (uint32_t i = count; i-- > 0;) {
		nd_ns quanta = now / quantum - passages[i].time / quantum;

		filled += (__int128)passages[i].bytes * 8 * ND_SEC;
		if (filled - (__int128)config->rate_bps * quanta * quantum > most)
			most = filled - (__int128)config->rate_bps * quanta * quantum;
	}
	return most;
}

/* R-PQ-1, R-PQ-2, R-PQ-3: any rate, threshold and quantum, any packets at any times. */
TEST(nd_phantom_pass__equals_the_fullest_since)
{
	struct passage passages[60];
	uint32_t marked = 0;

	for (uint64_t seed = 0; seed < 500; seed++) {
		struct nd_rng rng = nd_rng_make(seed, 0);
		struct nd_phantom_config config = {
			.rate_bps = 1 + nd_rng_below(&rng, 2000000000),
			.threshold_bytes = nd_rng_below(&rng, 8000),
			.quantum = seed % 2 ? 1 + nd_rng_below(&rng, 5000) : 0,
		};
		nd_ns now = nd_rng_below(&rng, 100000);
		struct nd_phantom phantom = make(&config, now);

		for (uint32_t i = 0; i < 60; i++) {
			__int128 level;

			now += nd_rng_below(&rng, 4) ? nd_rng_below(&rng, 20000) : 0;
			passages[i] = (struct passage){
				now, (uint16_t)(64 + nd_rng_below(&rng, 8936)) };
			level = level_of(&config, passages, i + 1, now);
			CHECK_EQ(pass(&phantom, passages[i].bytes, ND_MARK_ECT, now),
				 level > (__int128)config.threshold_bytes * 8 * ND_SEC);
			now += nd_rng_below(&rng, 3000);
			level = level_of(&config, passages, i + 1, now);
			CHECK_EQ(nd_phantom_level(&phantom, now),
				 (level + 8 * ND_SEC - 1) / (8 * ND_SEC));
		}
		marked += counters.marked_packets != 0 && counters.marked_packets < 60;
	}
	CHECK(marked > 100);
}

/* R-PQ-2: marks the packet that takes the counter above the threshold; at it is not above. */
TEST(nd_phantom_pass__marks_above_the_threshold)
{
	struct nd_phantom_config config = { .rate_bps = 950000000, .threshold_bytes = 1000 };
	struct nd_phantom phantom = make(&config, 0);

	CHECK_EQ(pass(&phantom, 500, ND_MARK_ECT, 0), false);
	CHECK_EQ(pass(&phantom, 500, ND_MARK_ECT, 0), false);
	CHECK_EQ(pass(&phantom, 1, ND_MARK_ECT, 0), true);
	CHECK_EQ(counters.marked_packets, 1);
	CHECK_EQ(counters.passed_packets, 3);
	CHECK_EQ(counters.passed_bytes, 1001);
}

/* R-PQ-2: the paper's second threshold, 6 KB. */
TEST(nd_phantom_pass__takes_other_thresholds)
{
	struct nd_phantom_config config = { .rate_bps = 800000000, .threshold_bytes = 6000 };
	struct nd_phantom phantom = make(&config, 0);

	for (uint32_t i = 0; i < 6; i++)
		CHECK_EQ(pass(&phantom, 1500, ND_MARK_ECT, 0), i >= 4);
}

/* R-PQ-3: each 800 ns quantum drains at once; the difference stays within one quantum. */
TEST(nd_phantom_pass__drains_in_quanta)
{
	struct nd_phantom_config smooth = { .rate_bps = 950000000, .threshold_bytes = 1000 };
	struct nd_phantom_config steps = smooth;
	struct nd_phantom continuous = make(&smooth, 0), quantised;
	struct nd_rng rng = nd_rng_make(1, 0);
	nd_ns now = 12345;

	steps.quantum = 800;
	quantised = make(&steps, now);
	for (uint32_t i = 0; i < 100000; i++) {
		uint16_t bytes = (uint16_t)(64 + nd_rng_below(&rng, 1437));
		int64_t off;

		now += nd_rng_below(&rng, 12000);
		pass(&continuous, bytes, ND_MARK_ECT, now);
		pass(&quantised, bytes, ND_MARK_ECT, now);
		off = (int64_t)nd_phantom_level(&quantised, now) -
		      (int64_t)nd_phantom_level(&continuous, now);
		/* One quantum is 95 bytes; levels are rounded up. */
		CHECK(off >= -95 && off <= 96);
	}
	CHECK(counters.marked_packets > 0);
}

/* R-PQ-3: nothing drains inside a quantum, all of it at its end. */
TEST(nd_phantom_level__moves_at_multiples_of_the_quantum)
{
	struct nd_phantom_config config = {
		.rate_bps = 1000000000,
		.threshold_bytes = 1000,
		.quantum = 800,
	};
	struct nd_phantom phantom = make(&config, 100);

	pass(&phantom, 1500, ND_MARK_ECT, 100);
	CHECK_EQ(nd_phantom_level(&phantom, 799), 1500);
	CHECK_EQ(nd_phantom_level(&phantom, 800), 1400);
	CHECK_EQ(nd_phantom_level(&phantom, 1599), 1400);
	CHECK_EQ(nd_phantom_level(&phantom, 2400), 1200);
}

/* A switch publishes its levels at the present time, while its links may be behind. */
TEST(nd_phantom_level__changes_nothing)
{
	struct nd_phantom_config config = { .rate_bps = 1000000000, .threshold_bytes = 2500 };
	struct nd_phantom read = make(&config, 0), alone = make(&config, 0);

	for (nd_ns now = 0; now < 100000; now += 6000) {
		bool marked = pass(&alone, 1500, ND_MARK_ECT, now);

		CHECK_EQ(pass(&read, 1500, ND_MARK_ECT, now), marked);
		nd_phantom_level(&read, now + 200000);
		CHECK_EQ(nd_phantom_level(&read, now), nd_phantom_level(&alone, now));
	}
}

/* R-PQ-4: with a phantom queue behind it, a droptail queue never marks by itself. */
TEST(nd_phantom_pass__is_the_only_one_to_mark)
{
	struct nd_droptail_config real = { .limit = { .packets = 100 } };
	struct nd_phantom_config config = { .rate_bps = 950000000, .threshold_bytes = 1000 };
	struct nd_phantom phantom = make(&config, 0);
	BED(bed, &nd_droptail_ops, &real);

	for (uint32_t i = 0; i < 100; i++)
		bed_put(&bed, bed_other(&bed, 1500));
	CHECK_EQ(bed.counters.marked_packets, 0);
	for (uint32_t i = 0; i < 100; i++) {
		struct nd_packet *packet = bed_packet(&bed, bed_get(&bed));

		CHECK(!(packet->marks & ND_MARK_CE));
		nd_phantom_pass(&phantom, packet, i * 12000);
		CHECK(packet->marks & ND_MARK_CE);
	}
	CHECK_EQ(bed.counters.marked_packets, 0);
	CHECK_EQ(counters.marked_packets, 100);
}

/* R-PQ-5 */
TEST(nd_phantom_pass__marks_only_ect)
{
	struct nd_phantom_config config = { .rate_bps = 950000000, .threshold_bytes = 1000 };
	struct nd_phantom phantom = make(&config, 0);

	CHECK_EQ(pass(&phantom, 1500, 0, 0), false);
	CHECK_EQ(pass(&phantom, 1500, ND_MARK_CONTROL, 0), false);
	CHECK_EQ(counters.marked_packets, 0);
	CHECK_EQ(counters.unmarked_packets, 2);
}

/* The register has an end, and time may stand still or jump. */
TEST(nd_phantom_pass__saturates)
{
	struct nd_phantom_config config = { .rate_bps = 1, .threshold_bytes = 1000 };
	struct nd_phantom phantom = make(&config, 5);

	for (uint32_t i = 0; i < 20000; i++)
		pass(&phantom, 65535, ND_MARK_ECT, 5);
	CHECK_EQ(nd_phantom_level(&phantom, 5), ND_PHANTOM_LEVEL_MAX_BYTES);
	CHECK_EQ(nd_phantom_level(&phantom, 4), ND_PHANTOM_LEVEL_MAX_BYTES);
	config.rate_bps = ND_PHANTOM_RATE_MAX_BPS;
	CHECK_EQ(nd_phantom_level(&phantom, UINT64_MAX), 0);
}

TEST(nd_phantom_check__names_field_and_limit)
{
	const char *why = NULL;

	CHECK(nd_phantom_check(&(struct nd_phantom_config){ 0 }, &why) < 0);
	CHECK(strstr(why, "rate_bps is 0"));
	CHECK(nd_phantom_check(&(struct nd_phantom_config){ .rate_bps = 1, .threshold_bytes = 1u << 30 },
			       &why) < 0);
	CHECK(strstr(why, "threshold_bytes is 1073741824"));
	CHECK(nd_phantom_check(&(struct nd_phantom_config){ .rate_bps = 1, .quantum = 1000001 },
			       &why) < 0);
	CHECK(strstr(why, "quantum is 1000001"));
}

int main(int argc, char **argv)
{
	return nd_test_main(argc, argv);
}
