// SPDX-License-Identifier: Apache-2.0
/* The hash map against an array, at its limit and under deletion. */
#include "base/map.h"
#include "test/harness.h"

#define LIMIT 100

static struct nd_map map;
static struct nd_map_slot memory[256];

TEST(nd_map_set__refuses_beyond_its_limit)
{
	CHECK(nd_map_bytes(LIMIT) <= sizeof(memory));
	nd_map_init(&map, memory, LIMIT, 1);
	for (uint32_t i = 0; i < LIMIT; i++)
		CHECK(nd_map_set(&map, i, i));
	CHECK(!nd_map_set(&map, 1000, 0));
	CHECK(nd_map_set(&map, 5, 55));
	CHECK_EQ(nd_map_get(&map, 5), 55);
}

TEST(nd_map_add__refuses_what_is_there)
{
	nd_map_init(&map, memory, LIMIT, 1);
	CHECK(nd_map_add(&map, 7, 70));
	CHECK(!nd_map_add(&map, 7, 71));
	CHECK_EQ(nd_map_get(&map, 7), 70);
	for (uint32_t i = 1; i < LIMIT; i++)
		CHECK(nd_map_add(&map, 100 + i, i));
	CHECK(!nd_map_add(&map, 8, 80));
	CHECK_EQ(nd_map_get(&map, 8), ND_NONE);
}

TEST(nd_map_remove__random_walk_agrees_with_an_array)
{
	struct nd_rng rng = nd_rng_make(3, 4);
	uint32_t values[LIMIT];

	nd_map_init(&map, memory, LIMIT, 2);
	memset(values, 0xff, sizeof(values));
	for (unsigned step = 0; step < 50000; step++) {
		uint32_t key = nd_rng_below(&rng, LIMIT);

		if (nd_rng_coin(&rng)) {
			CHECK_EQ(nd_map_remove(&map, key), values[key]);
			values[key] = ND_NONE;
		} else {
			values[key] = nd_rng_below(&rng, 1000);
			CHECK(nd_map_set(&map, key, values[key]));
		}
		key = nd_rng_below(&rng, LIMIT);
		CHECK_EQ(nd_map_get(&map, key), values[key]);
	}
}

int main(int argc, char **argv)
{
	return nd_test_main(argc, argv);
}
