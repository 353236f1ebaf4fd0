// SPDX-License-Identifier: Apache-2.0
/* SPSC cursors: order, wrap-around, lies of the other end, sleep and wake. */
#include "base/ring.h"
#include "test/harness.h"

#include <pthread.h>
#include <sched.h>

#define SIZE 8u

static struct nd_ring_shared shared;
static struct nd_ring producer, consumer;
static uint32_t slots[SIZE];

static void start_at(uint32_t cursor)
{
	shared = (struct nd_ring_shared){ .head = cursor, .tail = cursor };
	producer = nd_ring_make(&shared, SIZE);
	consumer = nd_ring_make(&shared, SIZE);
	producer.mine = producer.theirs = consumer.mine = consumer.theirs = cursor;
}

TEST(nd_ring__fills_and_empties_across_the_wrap)
{
	uint32_t next = 0;

	start_at(UINT32_MAX - 3);
	for (uint32_t round = 0; round < 5; round++) {
		CHECK_EQ(nd_ring_room(&producer, 100), SIZE);
		for (uint32_t i = 0; i < SIZE; i++)
			slots[nd_ring_slot(&producer, i)] = next + i;
		nd_ring_publish(&producer, SIZE);
		CHECK_EQ(nd_ring_room(&producer, 1), 0);
		CHECK_EQ(nd_ring_filled(&consumer, 3), 3);
		CHECK_EQ(nd_ring_filled(&consumer, 100), SIZE);
		for (uint32_t i = 0; i < SIZE; i++)
			CHECK_EQ(slots[nd_ring_slot(&consumer, i)], next + i);
		nd_ring_retire(&consumer, SIZE);
		CHECK_EQ(nd_ring_filled(&consumer, 1), 0);
		next += SIZE;
	}
}

TEST(nd_ring_room__finds_a_lying_consumer)
{
	start_at(0);
	shared.tail = 1;
	CHECK_EQ(nd_ring_room(&producer, SIZE + 1), ND_RING_CORRUPT);
	CHECK_EQ(nd_ring_room(&producer, 0), 0);
}

TEST(nd_ring_filled__finds_a_lying_producer)
{
	start_at(0);
	shared.head = SIZE + 1;
	CHECK_EQ(nd_ring_filled(&consumer, 1), ND_RING_CORRUPT);
	shared.head = UINT32_MAX;
	CHECK_EQ(nd_ring_filled(&consumer, 1), ND_RING_CORRUPT);
	CHECK_EQ(nd_ring_filled(&consumer, 0), 0);
}

TEST(nd_ring_arm__wakes_once)
{
	start_at(0);
	CHECK(!nd_ring_must_wake(&producer));
	CHECK(nd_ring_arm(&consumer));
	nd_ring_publish(&producer, 1);
	CHECK(nd_ring_must_wake(&producer));
	CHECK(!nd_ring_must_wake(&producer));
	CHECK(!nd_ring_arm(&consumer));
	CHECK(!nd_ring_must_wake(&producer));
}

#define TRANSFERS 200000u

static void *produce(void *unused)
{
	for (uint32_t sent = 0; sent < TRANSFERS;) {
		uint32_t room = nd_ring_room(&producer, nd_min_u32(5, TRANSFERS - sent));

		for (uint32_t i = 0; i < room; i++)
			slots[nd_ring_slot(&producer, i)] = sent + i;
		nd_ring_publish(&producer, room);
		sent += room;
		if (!room)
			sched_yield(); /* both ends may have to share a CPU */
	}
	return unused;
}

TEST(nd_ring__keeps_order_between_threads)
{
	pthread_t thread;

	start_at(0);
	CHECK_EQ(pthread_create(&thread, NULL, produce, NULL), 0);
	for (uint32_t got = 0; got < TRANSFERS;) {
		uint32_t filled = nd_ring_filled(&consumer, 3);

		for (uint32_t i = 0; i < filled; i++)
			CHECK_EQ(slots[nd_ring_slot(&consumer, i)], got + i);
		nd_ring_retire(&consumer, filled);
		got += filled;
		if (!filled)
			sched_yield();
	}
	CHECK_EQ(pthread_join(thread, NULL), 0);
}

int main(int argc, char **argv)
{
	return nd_test_main(argc, argv);
}
