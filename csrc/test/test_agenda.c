// SPDX-License-Identifier: Apache-2.0
/* The agenda against a plain sorted list: ring, run and heap together keep one order. */
#include "base/rng.h"
#include "harness.h"
#include "sim/agenda.h"

#include <stdlib.h>

static struct nd_agenda agenda;
static struct nd_keep keep;
static nd_ps taken_at;

static void begin(uint32_t limit, uint32_t shift)
{
	CHECK_EQ(nd_agenda_init(&agenda, &keep, limit, shift), 0);
}

static void put(nd_ps time, uint32_t arg)
{
	nd_agenda_put(&agenda, time, 0, arg, ND_NONE);
}

/* The next event by until, or NULL. */
static const struct nd_agenda_event *take_by(nd_ps until)
{
	return nd_agenda_take(&agenda, until, &taken_at);
}

static void check_next(nd_ps time, uint32_t arg)
{
	const struct nd_agenda_event *event = take_by(ND_NEVER);

	CHECK(event);
	CHECK_EQ(taken_at, time);
	CHECK_EQ(event->arg, arg);
}

static void end(void)
{
	CHECK(!take_by(ND_NEVER));
	CHECK_EQ(nd_agenda_pending(&agenda), 0);
	CHECK(!nd_agenda_audit(&agenda));
	nd_keep_free(&keep);
}

TEST(agenda_put__equal_times_in_order_of_putting)
{
	begin(64, 12);
	for (uint32_t i = 0; i < 20; i++)
		put(1000000, i);
	for (uint32_t i = 0; i < 20; i++)
		check_next(1000000, i);
	end();
}

TEST(agenda_put__into_the_slot_being_served)
{
	begin(8, 12);
	put(10000, 1);
	put(10100, 2);
	check_next(10000, 1);
	put(10050, 3);
	put(10000, 4);
	put(10100, 5);
	check_next(10000, 4);
	check_next(10050, 3);
	check_next(10100, 2);
	check_next(10100, 5);
	end();
}

TEST(agenda_put__the_slot_being_served_keeps_its_limit)
{
	begin(4, 12);
	/* What was served makes room again ... */
	for (uint32_t i = 0; i < 100; i++) {
		put(i, i);
		put(i, i + 1000);
		check_next(i, i);
		check_next(i, i + 1000);
	}
	CHECK(!agenda.full);
	/* ... and what was not does not. */
	for (uint32_t i = 0; i < 5; i++)
		put(200, i);
	CHECK(agenda.full);
	for (uint32_t i = 0; i < 4; i++)
		check_next(200, i);
	end();
}

TEST(agenda_put__full_is_said)
{
	/* Some in the ring, some beyond it. */
	begin(4, 10);
	for (uint32_t i = 0; i < 4; i++)
		put(UINT64_C(30000000) * (i + 1), i);
	CHECK(!agenda.full);
	put(5000000, 4);
	CHECK(agenda.full);
	CHECK_EQ(nd_agenda_pending(&agenda), 4);
	CHECK_EQ(nd_agenda_count(&agenda, 28, 0), 4);
	for (uint32_t i = 0; i < 4; i++)
		check_next(UINT64_C(30000000) * (i + 1), i);
	end();
}

/* An event that moves from the heap into the ring comes before what is put there later. */
TEST(agenda_put__order_across_the_end_of_the_ring)
{
	const nd_ps turn = (nd_ps)ND_AGENDA_SLOTS << 10;

	begin(16, 10);
	put(turn + 2048, 0);
	put(turn + 2047, 1);
	put(turn + 2048, 2);
	put(1024, 3);
	check_next(1024, 3);
	put(turn + 1024, 4);
	put(turn + 2048, 5);
	put(2 * turn, 6);
	check_next(turn + 1024, 4);
	check_next(turn + 2047, 1);
	check_next(turn + 2048, 0);
	check_next(turn + 2048, 2);
	check_next(turn + 2048, 5);
	check_next(2 * turn, 6);
	end();
}

TEST(agenda_take__stops_at_until_and_goes_on)
{
	begin(16, 12);
	put(5000, 1);
	put(9000, 2);
	put(9001, 3);
	put(UINT64_C(1) << 40, 4);
	CHECK(!take_by(4999));
	CHECK_EQ(take_by(9000)->arg, 1);
	CHECK_EQ(take_by(9000)->arg, 2);
	CHECK(!take_by(9000));
	/* Time is 9000, so this may still come. */
	put(9000, 5);
	CHECK_EQ(take_by(9000)->arg, 5);
	CHECK(!take_by(9000));
	check_next(9001, 3);
	CHECK(!take_by((UINT64_C(1) << 40) - 1));
	check_next(UINT64_C(1) << 40, 4);
	end();
}

/* Enough can be looked at before it is due, over as many slots as it takes. */
TEST(agenda_refill__looks_ahead)
{
	begin(256, 10);
	for (uint32_t i = 0; i < 200; i++)
		put(5000 * i, i);
	for (uint32_t i = 0; i < 200; i++) {
		uint32_t left = 200 - (i + 1);

		check_next(5000 * i, i);
		CHECK(agenda.count - agenda.at >= nd_min_u32(left, ND_AGENDA_AHEAD - 1));
		for (uint32_t at = agenda.at; at < agenda.count; at++)
			CHECK_EQ(agenda.run[at].arg, i + 1 + at - agenda.at);
	}
	end();
}

/* What is far away in time stays out of the run: it could not tell before from after. */
TEST(agenda_refill__leaves_what_is_far_in_the_ring)
{
	const nd_ps far = UINT64_C(3) << 30;

	begin(16, 16);
	put(1000, 0);
	put(1000 + far, 1);
	put(1000 + far + (far >> 2), 2);
	check_next(1000, 0);
	put(999 + far, 3);
	check_next(999 + far, 3);
	check_next(1000 + far, 1);
	check_next(1000 + far + (far >> 2), 2);
	end();
}

struct item {
	nd_ps time;
	uint32_t arg;
};

static int compare(const void *left, const void *right)
{
	const struct item *a = left, *b = right;

	if (a->time != b->time)
		return a->time < b->time ? -1 : 1;
	return a->arg < b->arg ? -1 : 1;
}

static uint32_t least(const struct item *items, uint32_t count)
{
	uint32_t best = 0;

	for (uint32_t i = 1; i < count; i++) {
		if (items[i].time < items[best].time ||
		    (items[i].time == items[best].time && items[i].arg < items[best].arg))
			best = i;
	}
	return best;
}

/* S-9: one total order (time, order of putting in) for near, far, equal and present times. */
TEST(agenda__hold_model_equals_sorted_list)
{
	static const nd_ps gaps[] = { 51200, 551200, 7200000, 7700000, 1230400, 307600, 0, 84 };
	struct nd_rng rng = nd_rng_make(5, 1);
	struct item items[256];
	uint32_t count = 0, arg = 0;

	begin(4096, 10);
	taken_at = 0;
	for (uint32_t step = 0; step < 60000; step++) {
		if (step < 59000 && count < 200 && nd_rng_below(&rng, 3) != 0) {
			nd_ps gap = gaps[nd_rng_below(&rng, ND_ARRAY_SIZE(gaps))];

			if (nd_rng_below(&rng, 8) == 0)
				gap = nd_rng_u64(&rng) % 900000000;
			items[count++] = (struct item){ .time = taken_at + gap, .arg = arg };
			put(taken_at + gap, arg++);
		} else if (count) {
			uint32_t at = least(items, count);

			check_next(items[at].time, items[at].arg);
			items[at] = items[--count];
		}
		if (step % 1000 == 0)
			CHECK(!nd_agenda_audit(&agenda));
	}
	end();
}

/* Both ways to sort a slot, narrow and wide slots, times that mostly differ and that mostly do not. */
TEST(agenda_refill__many_in_one_slot)
{
	static const uint32_t shifts[] = { 6, 8, 9, 14, 16 };
	static const uint32_t counts[] = { 1, 2, 63, 64, 65, 400, 5000 };
	static struct item items[5000];
	struct nd_rng rng = nd_rng_make(6, 1);

	for (uint32_t s = 0; s < ND_ARRAY_SIZE(shifts); s++) {
		for (uint32_t c = 0; c < ND_ARRAY_SIZE(counts); c++) {
			uint32_t count = counts[c];
			nd_ps start = (UINT64_C(0xffffffff) >> shifts[s]) << shifts[s];
			nd_ps spread = UINT64_C(1) << (c & 1 ? shifts[s] : 3);

			begin(count, shifts[s]);
			for (uint32_t i = 0; i < count; i++) {
				items[i] = (struct item){ start + nd_rng_u64(&rng) % spread, i };
				put(items[i].time, i);
			}
			CHECK(!nd_agenda_audit(&agenda));
			qsort(items, count, sizeof(*items), compare);
			for (uint32_t i = 0; i < count; i++)
				check_next(items[i].time, items[i].arg);
			end();
		}
	}
}

int main(int argc, char **argv)
{
	return nd_test_main(argc, argv);
}
