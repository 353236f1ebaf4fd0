// SPDX-License-Identifier: Apache-2.0
/* The agenda against a plain list: lanes and wheel together keep one order. */
#include "base/rng.h"
#include "harness.h"
#include "sim/agenda.h"

static struct nd_agenda agenda;

static void begin(uint32_t limit, uint32_t lane_limit)
{
	CHECK_EQ(nd_agenda_init(&agenda, limit, lane_limit, 10), 0);
}

static const struct nd_wheel_event *take(void)
{
	static struct nd_wheel_event taken;
	const struct nd_wheel_event *event;
	uint32_t where = nd_agenda_next(&agenda, &event);

	if (!event)
		return NULL;
	taken = *event;
	nd_agenda_pop(&agenda, where);
	return &taken;
}

static void end(void)
{
	CHECK(!take());
	CHECK_EQ(nd_agenda_pending(&agenda), 0);
	CHECK(!nd_agenda_audit(&agenda));
	nd_agenda_free(&agenda);
}

static uint32_t bound_lanes(void)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < ND_AGENDA_LANES; i++)
		count += agenda.lanes[i].gap != 0;
	return count;
}

TEST(agenda_put__equal_times_across_lanes_and_wheel)
{
	begin(100, 16);
	/* Twice in a row binds a gap to a lane: both of these have one from then on. */
	for (uint32_t i = 0; i < 2; i++)
		nd_agenda_put(&agenda, 0, 700, 0, i);
	for (uint32_t i = 2; i < 4; i++)
		nd_agenda_put(&agenda, 200, 500, 0, i);
	CHECK_EQ(bound_lanes(), 2);
	nd_agenda_put_odd(&agenda, 700, 0, 4);
	nd_agenda_put(&agenda, 0, 700, 0, 5);
	nd_agenda_put(&agenda, 200, 500, 0, 6);
	for (uint32_t i = 0; i < 7; i++)
		CHECK_EQ(take()->arg, i);
	end();
}

TEST(agenda_put__gaps_that_come_once_leave_lanes_alone)
{
	begin(1000, 16);
	for (uint32_t i = 0; i < 500; i++)
		nd_agenda_put(&agenda, 0, 1000 + i * 7 % 500, 0, i);
	CHECK_EQ(bound_lanes(), 0);
	for (uint32_t i = 0; i < 500; i++)
		CHECK_EQ(take()->time, 1000 + i);
	end();
}

TEST(agenda_put__a_full_lane_spills_into_the_wheel)
{
	begin(100, 4);
	for (uint32_t i = 0; i < 20; i++)
		nd_agenda_put(&agenda, i, 100, 0, i);
	CHECK(!nd_agenda_audit(&agenda));
	for (uint32_t i = 0; i < 20; i++)
		CHECK_EQ(take()->arg, i);
	end();
}

TEST(agenda_ahead__shows_what_its_lane_holds)
{
	begin(100, 16);
	for (uint32_t i = 0; i < 6; i++)
		nd_agenda_put(&agenda, i, 100, 0, i);
	/* The first went to the wheel, before the lane was bound. */
	for (uint32_t i = 0; i < ND_AGENDA_LANES; i++) {
		if (!agenda.lanes[i].gap)
			continue;
		CHECK_EQ(nd_agenda_ahead(&agenda, i, 4)->arg, 5);
		CHECK(!nd_agenda_ahead(&agenda, i, 5));
	}
	for (uint32_t i = 0; i < 6; i++)
		CHECK_EQ(take()->arg, i);
	end();
}

struct item {
	nd_ps time;
	uint32_t arg;
};

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

/* S-9: one total order (time, order of putting in) for recurring, odd, equal and far times. */
TEST(agenda__hold_model_equals_sorted_list)
{
	static const nd_ps gaps[] = { 51200, 551200, 7200000, 7700000, 1230400, 307600, 0, 84 };
	struct nd_rng rng = nd_rng_make(5, 1);
	struct item items[256];
	uint32_t count = 0, arg = 0;
	nd_ps now = 0;

	begin(4096, 64);
	for (uint32_t step = 0; step < 60000; step++) {
		if (step < 59000 && count < 200 && nd_rng_below(&rng, 3) != 0) {
			nd_ps gap = gaps[nd_rng_below(&rng, ND_ARRAY_SIZE(gaps))];
			uint32_t odd = nd_rng_below(&rng, 8);

			if (odd == 0)
				gap = nd_rng_u64(&rng) % 900000000;
			items[count++] = (struct item){ .time = now + gap, .arg = arg };
			if (odd == 1)
				nd_agenda_put_odd(&agenda, now + gap, 0, arg++);
			else
				nd_agenda_put(&agenda, now, gap, 0, arg++);
		} else if (count) {
			uint32_t at = least(items, count);
			const struct nd_wheel_event *event = take();

			CHECK(event);
			CHECK_EQ(event->time, items[at].time);
			CHECK_EQ(event->arg, items[at].arg);
			now = event->time;
			items[at] = items[--count];
		}
		if (step % 1000 == 0)
			CHECK(!nd_agenda_audit(&agenda));
	}
	end();
}

int main(int argc, char **argv)
{
	return nd_test_main(argc, argv);
}
