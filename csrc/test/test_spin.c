// SPDX-License-Identifier: Apache-2.0
/* Spinning: for as long as it pays. */
#include "base/spin.h"
#include "test/harness.h"

#define MOST (50 * ND_USEC)

static struct nd_spin spin;
static nd_ns now;

/* A wait that work ends after a time; returns how long it spun. */
static nd_ns wait_for(nd_ns comes_after)
{
	nd_ns since = now, spun;

	for (spun = 0; spun < comes_after; spun += 100)
		if (!nd_spin_goes_on(&spin, since, since + spun))
			break;
	now = since + comes_after + ND_USEC;
	return nd_min_u64(spun, comes_after);
}

static void set_up(void)
{
	spin = nd_spin_make(MOST, ND_SPIN_TRY_EVERY);
	now = ND_SEC;
}

TEST(nd_spin_goes_on__as_long_as_work_comes)
{
	set_up();
	for (uint32_t i = 0; i < 1000; i++)
		CHECK_EQ(wait_for(5 * ND_USEC), 5 * ND_USEC);
}

/* What comes later than the most that is spun is not spun for, but for a try now and then. */
TEST(nd_spin_goes_on__no_longer_than_it_pays)
{
	nd_ns spun = 0;

	set_up();
	for (uint32_t i = 0; i < 10; i++)
		wait_for(ND_MSEC);
	for (uint32_t i = 0; i < 10 * ND_SPIN_TRY_EVERY; i++)
		spun += wait_for(ND_MSEC);
	CHECK(spun <= 10 * (MOST + 2 * MOST + ND_SPIN_TRY_EVERY * ND_SPIN_LEAST));
	CHECK(spun >= 10 * MOST);
}

TEST(nd_spin_goes_on__finds_out_that_it_pays_again)
{
	set_up();
	for (uint32_t i = 0; i < 100; i++)
		wait_for(ND_MSEC);
	for (uint32_t i = 0; i < 2 * ND_SPIN_TRY_EVERY; i++)
		wait_for(40 * ND_USEC);
	CHECK_EQ(wait_for(40 * ND_USEC), 40 * ND_USEC);
	CHECK_EQ(spin.usual, MOST);
}

/* Where both ends have begun to block, they need not until the most is tried. */
TEST(nd_spin_goes_on__soon_as_long_as_the_last_wait_took)
{
	set_up();
	for (uint32_t i = 0; i < ND_SPIN_TRY_EVERY / 2; i++)
		wait_for(ND_MSEC);
	for (uint32_t i = 0; i <= ND_SPIN_RETRY_SOON; i++)
		wait_for(20 * ND_USEC);
	CHECK_EQ(wait_for(20 * ND_USEC), 20 * ND_USEC);
}

/* What takes as long again after whatever is spun has no CPU meanwhile. */
TEST(nd_spin_goes_on__ever_more_rarely_where_the_other_end_needs_the_cpu)
{
	const nd_ns lasts = 10 * ND_USEC;
	uint32_t tries = 0, last = 0, between = ND_SPIN_RETRY_SOON;

	set_up();
	for (uint32_t i = 1; i < ND_SPIN_TRY_EVERY; i++) {
		nd_ns since = now, spun = 0;

		while (nd_spin_goes_on(&spin, since, since + spun))
			spun += 100;
		now = since + spun + lasts;
		if (spun != 2 * (lasts + ND_SPIN_LEAST))
			continue;
		if (tries++ > 0)
			CHECK_EQ(i - last, between + 1);
		last = i;
		between *= 2;
	}
	CHECK_EQ(tries, 4);
}

/* Whoever is to bring work and has no other CPU gets this one soon. */
TEST(nd_spin_goes_on__for_a_multiple_of_what_the_work_takes)
{
	nd_ns spun;

	set_up();
	for (uint32_t i = 0; i < 8; i++)
		wait_for(ND_MSEC);
	for (uint32_t i = 0; i < 10; i++)
		wait_for(2 * ND_USEC);
	spun = wait_for(ND_MSEC);
	CHECK(spun <= ND_SPIN_PATIENCE * 2 * ND_USEC && spun > ND_SPIN_PATIENCE * ND_USEC);
}

TEST(nd_spin_goes_on__not_at_all)
{
	spin = nd_spin_make(0, ND_SPIN_TRY_EVERY);
	now = ND_SEC;
	for (uint32_t i = 0; i < 100; i++)
		CHECK_EQ(wait_for(ND_USEC), 0);
}

int main(int argc, char **argv)
{
	return nd_test_main(argc, argv);
}
