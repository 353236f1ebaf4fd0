// SPDX-License-Identifier: Apache-2.0
/* The buddy allocator: exhaustion, merging, hostile frees, a random walk. */
#include "base/arena.h"
#include "base/rng.h"
#include "test/harness.h"

#include <errno.h>

#define BLOCK 64
#define BLOCKS 100 /* no power of two: 64 + 32 + 4 */

static struct nd_arena arena;
static _Alignas(64) uint8_t region[BLOCK * BLOCKS];
static uint64_t metadata[256];

static void reset(void)
{
	CHECK(nd_arena_bytes(sizeof(region), BLOCK) <= sizeof(metadata));
	nd_arena_init(&arena, metadata, region, sizeof(region), BLOCK);
	CHECK(nd_arena_check(&arena));
}

TEST(nd_arena_get__rounds_up_to_a_power_of_two)
{
	reset();
	CHECK(nd_arena_get(&arena, 0) != NULL);
	CHECK_EQ(nd_arena_used_bytes(&arena), BLOCK);
	nd_arena_get(&arena, BLOCK);
	CHECK_EQ(nd_arena_used_bytes(&arena), 2 * BLOCK);
	nd_arena_get(&arena, BLOCK + 1);
	CHECK_EQ(nd_arena_used_bytes(&arena), 4 * BLOCK);
	nd_arena_get(&arena, 5 * BLOCK);
	CHECK_EQ(nd_arena_used_bytes(&arena), 12 * BLOCK);
	CHECK(nd_arena_check(&arena));
}

TEST(nd_arena_get__fails_beyond_the_largest_block)
{
	reset();
	CHECK(nd_arena_get(&arena, 64 * BLOCK + 1) == NULL);
	CHECK(nd_arena_get(&arena, UINT32_MAX) == NULL);
	CHECK(nd_arena_get(&arena, 64 * BLOCK) == region);
	CHECK(nd_arena_get(&arena, 33 * BLOCK) == NULL);
	CHECK(nd_arena_get(&arena, 32 * BLOCK) == region + 64 * BLOCK);
	CHECK(nd_arena_get(&arena, 4 * BLOCK) != NULL);
	CHECK(nd_arena_get(&arena, 0) == NULL);
}

TEST(nd_arena_put__merges_buddies_back)
{
	uint8_t *blocks[BLOCKS];

	reset();
	for (unsigned i = 0; i < BLOCKS; i++)
		blocks[i] = nd_arena_get(&arena, 1);
	CHECK(nd_arena_get(&arena, 1) == NULL);
	for (unsigned i = 0; i < BLOCKS; i++)
		CHECK_EQ(nd_arena_put(&arena, blocks[(i * 37) % BLOCKS]), 0);
	CHECK(nd_arena_check(&arena));
	CHECK_EQ(nd_arena_used_bytes(&arena), 0);
	CHECK(nd_arena_get(&arena, 64 * BLOCK) == region);
}

/* What came back lately is handed out again as it is, up to the number that may be kept. */
TEST(nd_arena_put__keeps_a_few_unmerged)
{
	uint8_t *blocks[ND_ARENA_KEEP + 4];

	reset();
	for (unsigned i = 0; i < ND_ARRAY_SIZE(blocks); i++)
		blocks[i] = nd_arena_get(&arena, 2 * BLOCK);
	for (unsigned i = 0; i < ND_ARRAY_SIZE(blocks); i++)
		CHECK_EQ(nd_arena_put(&arena, blocks[i]), 0);
	CHECK(nd_arena_check(&arena));
	CHECK_EQ(nd_arena_put(&arena, blocks[0]), -EINVAL); /* kept is not in use */
	for (unsigned i = ND_ARENA_KEEP; i-- > 0;)
		CHECK(nd_arena_get(&arena, 2 * BLOCK) == blocks[i]);
	CHECK(nd_arena_check(&arena));
}

/* As an application would: by arithmetic that the compiler cannot see through. */
static const uint8_t *at_offset(volatile int offset)
{
	return (const uint8_t *)((uintptr_t)region + (uintptr_t)(intptr_t)offset);
}

TEST(nd_arena_put__refuses_what_is_no_block_in_use)
{
	uint8_t *block;

	reset();
	block = nd_arena_get(&arena, 2 * BLOCK);
	CHECK_EQ(nd_arena_put(&arena, block + 1), -EINVAL);
	CHECK_EQ(nd_arena_put(&arena, block + BLOCK), -EINVAL);
	CHECK_EQ(nd_arena_put(&arena, at_offset(-BLOCK)), -EINVAL);
	CHECK_EQ(nd_arena_put(&arena, at_offset((int)sizeof(region))), -EINVAL);
	CHECK_EQ(nd_arena_put(&arena, NULL), -EINVAL);
	CHECK_EQ(nd_arena_put(&arena, block), 0);
	CHECK_EQ(nd_arena_put(&arena, block), -EINVAL);
	CHECK(nd_arena_check(&arena));
}

TEST(nd_arena_get__random_walk_keeps_blocks_apart)
{
	struct nd_rng rng = nd_rng_make(7, 8);
	struct {
		uint8_t *memory;
		uint32_t bytes;
	} held[40] = { 0 };

	reset();
	for (unsigned step = 0; step < 20000; step++) {
		unsigned i = nd_rng_below(&rng, 40);

		if (held[i].memory) {
			for (uint32_t j = 0; j < held[i].bytes; j++)
				CHECK_EQ(held[i].memory[j], i);
			CHECK_EQ(nd_arena_put(&arena, held[i].memory), 0);
			held[i].memory = NULL;
		} else {
			held[i].bytes = nd_rng_below(&rng, 10 * BLOCK);
			held[i].memory = nd_arena_get(&arena, held[i].bytes);
			if (held[i].memory)
				memset(held[i].memory, (int)i, held[i].bytes);
		}
		CHECK(nd_arena_check(&arena));
	}
}

int main(int argc, char **argv)
{
	return nd_test_main(argc, argv);
}
