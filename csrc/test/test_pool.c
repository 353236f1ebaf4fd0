// SPDX-License-Identifier: Apache-2.0
/* Pools: exhaustion, reuse order, conservation. */
#include "base/pool.h"
#include "test/harness.h"

static struct nd_pool pool;
static _Alignas(64) uint8_t memory[4096];

TEST(nd_pool_get__runs_out_at_its_limit)
{
	CHECK(nd_pool_bytes(3, 100) <= sizeof(memory));
	nd_pool_init(&pool, memory, 3, 100);
	CHECK_EQ(nd_pool_get(&pool), 0);
	CHECK_EQ(nd_pool_get(&pool), 1);
	CHECK_EQ(nd_pool_get(&pool), 2);
	CHECK_EQ(nd_pool_get(&pool), ND_NONE);
	CHECK(nd_pool_check(&pool));
	CHECK_EQ(pool.used_max, 3);
}

TEST(nd_pool_put__hands_the_last_item_out_first)
{
	nd_pool_init(&pool, memory, 3, 100);
	nd_pool_get(&pool);
	nd_pool_get(&pool);
	nd_pool_put(&pool, 0);
	CHECK_EQ(nd_pool_get(&pool), 0);
	nd_pool_put(&pool, 0);
	nd_pool_put(&pool, 1);
	CHECK_EQ(pool.used, 0);
	CHECK(nd_pool_check(&pool));
}

TEST(nd_pool_check__sees_a_lost_item)
{
	nd_pool_init(&pool, memory, 3, 100);
	nd_pool_get(&pool);
	pool.used = 0;
	CHECK(!nd_pool_check(&pool));
}

TEST(nd_pool_index__inverts_at)
{
	nd_pool_init(&pool, memory, 3, 100);
	for (uint32_t i = 0; i < 3; i++)
		CHECK_EQ(nd_pool_index(&pool, nd_pool_at(&pool, i)), i);
}

int main(int argc, char **argv)
{
	return nd_test_main(argc, argv);
}
