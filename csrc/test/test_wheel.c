// SPDX-License-Identifier: Apache-2.0
/* The event set against a plain sorted list. */
#include "base/rng.h"
#include "harness.h"
#include "sim/wheel.h"

#include <stdlib.h>

static struct nd_wheel wheel;
static uint32_t key;

static void put(nd_ps time, uint32_t arg)
{
	nd_wheel_put(&wheel, &(struct nd_wheel_event){ .time = time, .key = key++, .arg = arg });
}

static void begin(uint32_t limit, uint32_t shift)
{
	CHECK_EQ(nd_wheel_init(&wheel, limit, shift), 0);
}

static void check_next(nd_ps time, uint32_t arg)
{
	const struct nd_wheel_event *event = nd_wheel_peek(&wheel, ND_NEVER);

	CHECK(event);
	CHECK_EQ(event->time, time);
	CHECK_EQ(event->arg, arg);
	nd_wheel_pop(&wheel);
}

static void end(void)
{
	CHECK(!nd_wheel_peek(&wheel, ND_NEVER));
	CHECK_EQ(nd_wheel_pending(&wheel), 0);
	CHECK(!nd_wheel_audit(&wheel));
	nd_wheel_free(&wheel);
}

TEST(wheel_put__equal_times_in_order_of_putting)
{
	begin(64, 12);
	for (uint32_t i = 0; i < 20; i++)
		put(1000000, i);
	for (uint32_t i = 0; i < 20; i++)
		check_next(1000000, i);
	end();
}

TEST(wheel_put__into_the_slot_being_served)
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

TEST(wheel_put__turn_boundaries)
{
	const nd_ps turn = (nd_ps)ND_WHEEL_SLOTS << 4;
	const nd_ps times[] = { 0, 15, 16, turn - 1, turn, turn + 1, 2 * turn - 1, 2 * turn,
				turn * ND_WHEEL_COARSE_SLOTS, turn * ND_WHEEL_COARSE_SLOTS + 16,
				3 * turn * ND_WHEEL_COARSE_SLOTS + 5 };

	begin(32, 4);
	for (uint32_t i = ND_ARRAY_SIZE(times); i-- > 0;)
		put(times[i], i);
	CHECK(!nd_wheel_audit(&wheel));
	for (uint32_t i = 0; i < ND_ARRAY_SIZE(times); i++)
		check_next(times[i], i);
	end();
}

TEST(wheel_put__full_is_said)
{
	begin(2, 12);
	for (uint32_t i = 0; i < 3; i++)
		put(1000000 + i, i);
	CHECK(wheel.full);
	nd_wheel_free(&wheel);
	begin(2, 12);
	for (uint32_t i = 0; i < 3; i++)
		put(i, i);
	CHECK(wheel.full);
	nd_wheel_free(&wheel);
}

struct item {
	nd_ps time;
	uint32_t arg;
};

/* The oracle: an unsorted array searched for its least (time, arg). */
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

static nd_ps random_increment(struct nd_rng *rng)
{
	static const uint32_t bits[] = { 0, 4, 13, 20, 23, 28, 30, 40 };

	return nd_rng_u64(rng) & ((UINT64_C(1) << bits[nd_rng_below(rng, 8)]) - 1);
}

/* R-: total order (time, key) for every mix of near, far and equal times. */
TEST(wheel__hold_model_equals_sorted_list)
{
	for (uint32_t shift = 4; shift <= 14; shift += 5) {
		struct nd_rng rng = nd_rng_make(7, shift);
		struct item items[256];
		uint32_t count = 0, arg = 0;
		nd_ps now = 0;

		begin(256, shift);
		for (uint32_t step = 0; step < 40000; step++) {
			bool more = count == 0 || (count < 200 && nd_rng_below(&rng, 3) != 0);

			if (more && step < 39000) {
				items[count].time = now + random_increment(&rng);
				items[count].arg = arg++;
				put(items[count].time, items[count].arg);
				count++;
			} else if (count) {
				uint32_t at = least(items, count);

				now = items[at].time;
				check_next(now, items[at].arg);
				items[at] = items[--count];
			}
		}
		CHECK(!wheel.full);
		end();
	}
}

TEST(wheel_refill__many_in_one_slot)
{
	struct nd_rng rng = nd_rng_make(3, 0);
	nd_ps last = 0;

	begin(5000, 20);
	for (uint32_t i = 0; i < 5000; i++)
		put((1 << 20) + nd_rng_below(&rng, 1000), i);
	for (uint32_t i = 0; i < 5000; i++) {
		const struct nd_wheel_event *event = nd_wheel_peek(&wheel, ND_NEVER);

		CHECK(event && event->time >= last);
		last = event->time;
		nd_wheel_pop(&wheel);
	}
	end();
}

int main(int argc, char **argv)
{
	return nd_test_main(argc, argv);
}
