// SPDX-License-Identifier: Apache-2.0
/* Path permutation and scoreboard: even use, independence, outliers, repair, change of the list. */
#include "test/harness.h"
#include "transport/ndp.h"
#include "transport/paths.h"

#include <pthread.h>

#define LIMIT 64

static const struct nd_paths_config defaults = {
	.scoreboard = true,
	.judge_feedbacks = 100,
	.nack_percent = 30,
	.mean_percent = 125,
	.bounce_nacks = 3,
	.loss_min = 2,
	.loss_percent = 10,
	.avoid_max = 10,
};
static _Alignas(64) uint8_t memory[8192];
static struct nd_paths *const paths = (struct nd_paths *)(void *)memory;
static struct nd_paths_config config;

static void set_up(uint32_t count)
{
	config = defaults;
	CHECK(nd_paths_bytes(LIMIT) <= sizeof(memory));
	nd_paths_init(paths, LIMIT, count, nd_rng_make(1, 2));
}

/* R-NSB-06: what the authors chose is the default, and what these tests use. */
TEST(nd_ndp_config_default__judges_as_the_authors_do)
{
	struct nd_paths_config score = nd_ndp_config_default(UINT64_C(10000000000), 9000).score;

	CHECK_EQ(score.scoreboard, defaults.scoreboard);
	CHECK_EQ(score.judge_feedbacks, defaults.judge_feedbacks);
	CHECK_EQ(score.nack_percent, defaults.nack_percent);
	CHECK_EQ(score.mean_percent, defaults.mean_percent);
	CHECK_EQ(score.bounce_nacks, defaults.bounce_nacks);
	CHECK_EQ(score.loss_min, defaults.loss_min);
	CHECK_EQ(score.loss_percent, defaults.loss_percent);
	CHECK_EQ(score.avoid_max, defaults.avoid_max);
}

static void audit(void)
{
	const char *wrong = nd_paths_audit(paths);

	CHECK_STR(wrong ? wrong : "", "");
}

/* R-NRT-02: every round visits each path once, so counts never differ by more than one. */
TEST(nd_paths_next__walks_a_new_permutation_each_round)
{
	uint32_t used[16] = { 0 };
	uint16_t first[16], round[16];
	bool other_order = false;

	set_up(16);
	for (uint32_t i = 0; i < 16 * 100; i++) {
		uint16_t slot = nd_paths_next(paths, &config, ND_PATH_NONE);
		uint32_t least = UINT32_MAX, most = 0;

		used[slot]++;
		for (uint32_t p = 0; p < 16; p++) {
			least = used[p] < least ? used[p] : least;
			most = used[p] > most ? used[p] : most;
		}
		CHECK(most - least <= 1);
		round[i % 16] = slot;
		if (i == 15)
			memcpy(first, round, sizeof(first));
		if (i == 31)
			other_order = memcmp(first, round, sizeof(first)) != 0;
	}
	CHECK(other_order);
	audit();
}

/* R-NRT-03: two senders agree no more often than chance: 1 of 16, 4 sigma = 0.0097 of 10,000. */
TEST(nd_paths_next__two_senders_are_independent)
{
	static _Alignas(64) uint8_t other_memory[8192];
	struct nd_paths *other = (struct nd_paths *)(void *)other_memory;
	uint32_t same = 0;

	set_up(16);
	nd_paths_init(other, LIMIT, 16, nd_rng_make(1, 3));
	for (uint32_t i = 0; i < 10000; i++)
		same += nd_paths_next(paths, &config, ND_PATH_NONE) ==
			nd_paths_next(other, &config, ND_PATH_NONE);
	CHECK(same > 528 && same < 722);
}

/* R-NSB-04: with more than one path a resend never takes the one that failed it. */
TEST(nd_paths_next__avoids_the_path_that_failed)
{
	for (uint32_t count = 2; count < 6; count++) {
		set_up(count);
		for (uint32_t i = 0; i < 1000; i++) {
			uint16_t avoid = (uint16_t)(i % count);

			CHECK(nd_paths_next(paths, &config, avoid) != avoid);
		}
	}
	set_up(1);
	CHECK_EQ(nd_paths_next(paths, &config, 0), 0);
}

/* R-NSB-04: even when the failed path is the only one that is not set aside. */
TEST(nd_paths_next__prefers_a_path_set_aside_to_the_one_that_failed)
{
	set_up(2);
	for (uint32_t i = 0; i < 10; i++) {
		nd_paths_lost(paths, &config, 1);
		nd_paths_acked(paths, &config, 0);
	}
	for (uint32_t i = 0; i < 4; i++)
		CHECK_EQ(nd_paths_next(paths, &config, ND_PATH_NONE), 0);
	CHECK_EQ(nd_paths_next(paths, &config, 0), 1);
}

/* R-NRT-04: control packets vary their path and leave the data's permutation alone. */
TEST(nd_paths_next_control__varies)
{
	bool seen[8] = { false };

	set_up(8);
	for (uint32_t i = 0; i < 8; i++)
		seen[nd_paths_next_control(paths)] = true;
	for (uint32_t i = 0; i < 8; i++)
		CHECK(seen[i]);
	CHECK_EQ(paths->at, 0);
}

/* Sends packets over bad and good paths; returns the share of the bad one in permille. */
static uint32_t share_of(uint16_t bad, uint32_t packets, uint32_t nack_percent)
{
	struct nd_rng rng = nd_rng_make(5, 5);
	uint32_t used = 0;

	for (uint32_t i = 0; i < packets; i++) {
		uint16_t slot = nd_paths_next(paths, &config, ND_PATH_NONE);

		used += slot == bad;
		if (slot == bad && nd_rng_below(&rng, 100) < nack_percent)
			nd_paths_nacked(paths, &config, slot);
		else
			nd_paths_acked(paths, &config, slot);
	}
	audit();
	return used * 1000 / packets;
}

/* Ends the round under way and begins another, in which verdicts have been given. */
static void next_round(void)
{
	while (paths->at < paths->usable)
		nd_paths_next(paths, &config, ND_PATH_NONE);
	nd_paths_next(paths, &config, ND_PATH_NONE);
}

static void feed(uint16_t slot, uint32_t nacks, uint32_t acks)
{
	for (uint32_t i = 0; i < nacks; i++)
		nd_paths_nacked(paths, &config, slot);
	for (uint32_t i = 0; i < acks; i++)
		nd_paths_acked(paths, &config, slot);
}

/* R-NSB-01, R-NSB-02, R-NSB-06: an outlier is left out for more and more rounds, not for good. */
TEST(nd_paths_next__sets_nack_outliers_aside)
{
	set_up(16);
	CHECK(share_of(3, 2000, 90) > 40); /* 100 feedbacks come first */
	CHECK(share_of(3, 8000, 90) < 10); /* a tenth of its fair 62 */
	CHECK(share_of(3, 8000, 90) > 0);
}

/* R-NSB-02: a repaired path is back within 1,000 packets. */
TEST(nd_paths_next__takes_a_repaired_path_back)
{
	set_up(16);
	share_of(3, 10000, 95);
	share_of(3, 1000, 0);
	CHECK(share_of(3, 1600, 0) >= 61); /* in each of 99 whole rounds */
	CHECK_EQ(nd_paths_slots(paths)[3].avoid, 0);
}

/* R-NSB-06: no verdict up to 100 feedbacks, and none on a NACK ratio below 30 %. */
TEST(nd_paths_next__judges_late_and_only_outliers)
{
	set_up(2);
	for (uint32_t i = 0; i < 100; i++) {
		nd_paths_nacked(paths, &config, 0);
		nd_paths_acked(paths, &config, 1);
	}
	for (uint32_t i = 0; i < 4; i++)
		nd_paths_next(paths, &config, ND_PATH_NONE);
	CHECK_EQ(nd_paths_slots(paths)[0].avoid, 0);
	nd_paths_nacked(paths, &config, 0);
	nd_paths_next(paths, &config, ND_PATH_NONE);
	CHECK_EQ(nd_paths_slots(paths)[0].avoid, 1);
	set_up(16);
	CHECK(share_of(3, 8000, 20) >= 61);
}

/* R-NSB-06: NACK/ACK of 30 % is not above 30 %; one NACK more is. */
TEST(nd_paths_next__judges_above_the_ratio)
{
	for (uint32_t nacks = 30; nacks <= 31; nacks++) {
		set_up(2);
		feed(0, nacks, 100);
		feed(1, 0, 100);
		next_round();
		CHECK_EQ(nd_paths_slots(paths)[0].avoid, nacks - 30);
	}
}

/* R-NSB-06: 1.25 times the mean is not above it. 50 of 100 are 0.5; 100 of 250 are 0.4. */
TEST(nd_paths_next__judges_above_the_mean)
{
	for (uint32_t others = 49; others <= 50; others++) {
		set_up(2);
		feed(0, 50, 100);
		feed(1, others, 150);
		next_round();
		CHECK_EQ(nd_paths_slots(paths)[0].avoid, 50 - others);
	}
}

/* R-NSB-06: in a network where all are bad none stands out. */
TEST(nd_paths_next__compares_with_the_mean)
{
	set_up(8);
	for (uint32_t i = 0; i < 8000; i++) {
		uint16_t slot = nd_paths_next(paths, &config, ND_PATH_NONE);

		if (i / 8 % 2)
			nd_paths_nacked(paths, &config, slot);
		else
			nd_paths_acked(paths, &config, slot);
	}
	for (uint32_t i = 0; i < 8; i++)
		CHECK_EQ(nd_paths_slots(paths)[i].avoid, 0);
}

/* R-NSB-06: a bounce weighs three NACKs. */
TEST(nd_paths_bounced__counts_threefold)
{
	set_up(2);
	nd_paths_bounced(paths, &config, 0);
	CHECK_EQ(nd_paths_slots(paths)[0].nacks, 3);
	audit();
}

/* R-NSB-02, R-NSB-06: each bad try adds a round to those that are skipped, a bounce as a NACK. */
TEST(nd_paths_bounced__is_a_bad_try)
{
	set_up(2);
	feed(0, 90, 20);
	feed(1, 0, 200);
	next_round();
	for (uint8_t avoid = 1; avoid < 4; avoid++) {
		CHECK_EQ(nd_paths_slots(paths)[0].avoid, avoid);
		CHECK_EQ(nd_paths_slots(paths)[0].skip, avoid);
		while (nd_paths_slots(paths)[0].skip)
			next_round();
		nd_paths_bounced(paths, &config, 0);
		next_round();
	}
	while (nd_paths_slots(paths)[0].skip)
		next_round();
	feed(0, 0, 1);
	next_round();
	CHECK_EQ(nd_paths_slots(paths)[0].avoid, 3); /* a good one takes one off */
}

/* R-NSB-03: two losses that stand out set a path aside at once, for as long as there is. */
TEST(nd_paths_lost__sets_a_black_hole_aside)
{
	uint32_t used = 0;

	set_up(4);
	for (uint32_t i = 0; i < 4000; i++) {
		uint16_t slot = nd_paths_next(paths, &config, ND_PATH_NONE);

		used += slot == 2;
		if (slot == 2)
			nd_paths_lost(paths, &config, slot);
		else
			nd_paths_acked(paths, &config, slot);
	}
	CHECK(used > 50 && used < 150);
	audit();
}

/* R-NSB-03: one loss is bad luck, a second one of few packets is not. */
TEST(nd_paths_lost__counts_from_the_second_on)
{
	set_up(2);
	for (uint32_t i = 0; i < 10; i++)
		nd_paths_acked(paths, &config, 1);
	nd_paths_lost(paths, &config, 0);
	next_round();
	CHECK_EQ(nd_paths_slots(paths)[0].avoid, 0);
	nd_paths_lost(paths, &config, 0);
	next_round();
	CHECK_EQ(nd_paths_slots(paths)[0].avoid, config.avoid_max);
}

/* R-NSB-05: when all are bad, all that are least bad are used. */
TEST(nd_paths_next__never_excludes_all)
{
	uint32_t used[3] = { 0 };

	set_up(3);
	for (uint32_t i = 0; i < 3000; i++)
		nd_paths_lost(paths, &config, nd_paths_next(paths, &config, ND_PATH_NONE));
	audit();
	while (paths->at < paths->usable)
		nd_paths_next(paths, &config, ND_PATH_NONE);
	for (uint32_t i = 0; i < 3; i++) {
		struct nd_path *path = &nd_paths_slots(paths)[i];

		*path = (struct nd_path){ .id = path->id, .present = true, .avoid = 5,
					  .skip = i < 2 ? 5 : 8 };
	}
	paths->losses = 0;
	/* The first round takes one off each, and what is left of the least: 0, 0 and 3. */
	for (uint32_t i = 0; i < 6; i++)
		used[nd_paths_next(paths, &config, ND_PATH_NONE)]++;
	CHECK(used[0] == 3 && used[1] == 3 && used[2] == 0);
	for (uint32_t i = 0; i < 3; i++)
		used[nd_paths_next(paths, &config, ND_PATH_NONE)]++;
	CHECK(used[0] == 4 && used[1] == 4 && used[2] == 1);
	audit();
}

/* R-NSB-07's switch: without the scoreboard feedback changes nothing. */
TEST(nd_paths_acked__does_nothing_without_scoreboard)
{
	set_up(4);
	config.scoreboard = false;
	for (uint32_t i = 0; i < 1000; i++)
		nd_paths_nacked(paths, &config, 1);
	CHECK_EQ(nd_paths_slots(paths)[1].nacks, 0);
	CHECK_EQ(paths->nacks, 0);
}

/* R-NRT-05: after the update no packet takes a removed path; scores of those that stay are kept. */
TEST(nd_paths_set__replaces_the_list)
{
	static const uint16_t fewer[] = { 2, 900, 0, 2 };
	static const uint16_t more[] = { 0, 1, 2, 900, 901 };

	set_up(4);
	nd_paths_acked(paths, &config, 2);
	nd_paths_nacked(paths, &config, 3);
	nd_paths_next(paths, &config, ND_PATH_NONE);
	nd_paths_set(paths, fewer, 4);
	audit();
	CHECK_EQ(paths->count, 3);
	CHECK_EQ(nd_paths_slots(paths)[2].acks, 1);
	CHECK_EQ(paths->nacks, 0);
	for (uint32_t i = 0; i < 100; i++) {
		uint16_t id = nd_paths_id(paths, nd_paths_next(paths, &config, ND_PATH_NONE));
		uint16_t control = nd_paths_id(paths, nd_paths_next_control(paths));

		CHECK(id == 2 || id == 900 || id == 0);
		CHECK(control == 2 || control == 900 || control == 0);
	}
	nd_paths_nacked(paths, &config, 3); /* feedback about a path that is gone */
	nd_paths_set(paths, more, 5);
	audit();
	CHECK_EQ(paths->count, 5);
	CHECK_EQ(nd_paths_slots(paths)[2].acks, 1);
}

static uint16_t shared_ids[LIMIT];
static bool changing;

static void *change_ids(void *unused)
{
	for (uint16_t by = 0; __atomic_load_n(&changing, __ATOMIC_RELAXED); by ^= 1000)
		for (uint32_t i = 0; i < LIMIT; i++)
			__atomic_store_n(&shared_ids[i], (uint16_t)(i + by), __ATOMIC_RELAXED);
	return unused;
}

/* They lie where an application can write to them: any list may come of it, but a sound one. */
TEST(nd_paths_set__of_ids_that_change_meanwhile)
{
	pthread_t thread;

	set_up(LIMIT);
	changing = true;
	CHECK_EQ(pthread_create(&thread, NULL, change_ids, NULL), 0);
	for (uint32_t round = 0; round < 20000; round++) {
		nd_paths_set(paths, shared_ids, LIMIT);
		audit();
	}
	__atomic_store_n(&changing, false, __ATOMIC_RELAXED);
	CHECK_EQ(pthread_join(thread, NULL), 0);
}

/* R-NSB-01: 8,192 hosts with 256 paths each fit in 50 MB. */
TEST(nd_paths_bytes__is_small)
{
	CHECK(8192 * nd_paths_bytes(256) < 50000000);
}

int main(int argc, char **argv)
{
	return nd_test_main(argc, argv);
}
