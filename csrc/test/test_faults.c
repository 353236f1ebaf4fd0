// SPDX-License-Identifier: Apache-2.0
/* The fault injector: shares, independence of the settings, order of what is not reordered. */
#include "switch/faults.h"
#include "test/harness.h"

#define FRAMES 100000

static struct nd_faults faults;

static void reset(struct nd_faults_config config)
{
	nd_faults_init(&faults, &config, 42);
}

TEST(nd_faults_off__only_when_nothing_is_set)
{
	reset((struct nd_faults_config){ .reorder_ns_max = 5 });
	CHECK(nd_faults_off(&faults));
	reset((struct nd_faults_config){ .delay_ns = 1 });
	CHECK(!nd_faults_off(&faults));
	reset((struct nd_faults_config){ .corrupt = 1 });
	CHECK(!nd_faults_off(&faults));
}

TEST(nd_faults_draw__loses_its_share)
{
	reset((struct nd_faults_config){ .loss = UINT32_MAX / 100 });
	for (unsigned i = 0; i < FRAMES; i++)
		nd_faults_draw(&faults, 64, i);
	/* 1000 expected, sigma 31.5; five sigma. */
	CHECK(faults.counters.lost > 840 && faults.counters.lost < 1160);
}

TEST(nd_faults_draw__always_means_always)
{
	reset((struct nd_faults_config){ .loss = ND_FAULTS_ALWAYS });
	for (unsigned i = 0; i < FRAMES; i++)
		CHECK_EQ(nd_faults_draw(&faults, 64, i).copies, 0);
}

TEST(nd_faults_draw__one_fault_does_not_shift_another)
{
	static uint32_t bits[FRAMES];

	reset((struct nd_faults_config){ .corrupt = UINT32_MAX / 10 });
	for (unsigned i = 0; i < FRAMES; i++)
		bits[i] = nd_faults_draw(&faults, 64, i).corrupt_bit;
	reset((struct nd_faults_config){ .corrupt = UINT32_MAX / 10,
					 .loss = UINT32_MAX / 2,
					 .duplicate = UINT32_MAX / 3,
					 .reorder = UINT32_MAX / 4,
					 .reorder_ns_max = 1000 });
	for (unsigned i = 0; i < FRAMES; i++) {
		struct nd_fault fault = nd_faults_draw(&faults, 64, i);

		if (fault.copies)
			CHECK_EQ(fault.corrupt_bit, bits[i]);
	}
}

TEST(nd_faults_draw__corrupts_inside_the_frame)
{
	reset((struct nd_faults_config){ .corrupt = ND_FAULTS_ALWAYS });
	for (unsigned i = 0; i < FRAMES; i++)
		CHECK(nd_faults_draw(&faults, 60, i).corrupt_bit < 480);
}

TEST(nd_faults_draw__delay_alone_keeps_the_order)
{
	nd_ns last = 0;

	reset((struct nd_faults_config){ .delay_ns = 500 });
	for (unsigned i = 0; i < 1000; i++) {
		struct nd_fault fault = nd_faults_draw(&faults, 64, i / 10);

		CHECK(fault.due > last && fault.due >= 500 + i / 10);
		last = fault.due;
	}
}

/* What nothing holds back arrives now, also behind another of the same moment. */
TEST(nd_faults_draw__without_delay_all_arrives_at_once)
{
	reset((struct nd_faults_config){ .corrupt = ND_FAULTS_ALWAYS });
	for (unsigned i = 0; i < 1000; i++)
		CHECK_EQ(nd_faults_draw(&faults, 64, i / 10).due, i / 10);
}

/* Who sets a shorter delay does not wait for what the longer one still holds. */
TEST(nd_faults_set__a_shorter_delay_counts_at_once)
{
	struct nd_faults_config config = { .delay_ns = 10 * ND_SEC };

	reset(config);
	CHECK_EQ(nd_faults_draw(&faults, 64, 0).due, 10 * ND_SEC);
	config.loss = 1;
	nd_faults_set(&faults, &config);
	CHECK_EQ(nd_faults_draw(&faults, 64, 0).due, 10 * ND_SEC + 1);
	config.delay_ns = ND_MSEC;
	nd_faults_set(&faults, &config);
	CHECK_EQ(nd_faults_draw(&faults, 64, 0).due, ND_MSEC);
}

TEST(nd_faults_draw__reordering_is_bounded)
{
	unsigned overtaken = 0;
	nd_ns last = 0;

	reset((struct nd_faults_config){ .reorder = UINT32_MAX / 5, .reorder_ns_max = 1000 });
	for (unsigned i = 0; i < FRAMES; i++) {
		nd_ns now = i * 100;
		struct nd_fault fault = nd_faults_draw(&faults, 64, now);

		CHECK(fault.due >= now && fault.due <= now + 1000);
		overtaken += fault.due < last;
		last = fault.due;
	}
	CHECK(overtaken > FRAMES / 10);
}

int main(int argc, char **argv)
{
	return nd_test_main(argc, argv);
}
