// SPDX-License-Identifier: Apache-2.0
/* Homa endpoints against each other over a link with seeded loss, duplication and reordering. */
#include "test/homa_world.h"

static struct world world;

static void echo(uint32_t bytes)
{
	struct nd_homa_config config = world_config();

	world_start(&world, 2, &config, true, bytes);
	world_request(&world, 0, 1, bytes);
	world_run(&world, world.now + ND_SEC);
	CHECK_EQ(world_count(&world, ND_EVENT_REQUEST), 1);
	CHECK_EQ(world_count(&world, ND_EVENT_RESPONSE), 1);
	CHECK_EQ(world_count(&world, ND_EVENT_SENT), 1);
	CHECK_EQ(world_event(&world, ND_EVENT_RESPONSE)->bytes, bytes);
	CHECK_EQ(world_counters(&world, 0)->data_resent, 0);
	CHECK_EQ(world_counters(&world, 1)->data_resent, 0);
	world_check_empty(&world);
	world_stop(&world);
}

/* R-H31-1, R-H31-3, R-H31-4, HM#4, HM#25, T8: every interesting length, both ways, byte for byte. */
TEST(echo__every_length)
{
	static const uint32_t lengths[] = {
		0, 1, 2, 100, 1423, 1424, 1425, 1500, 2848, 29999, 30000, 30001, 31424, 60000,
		999999, 1000000, 1000001, 3000000,
	};

	for (uint32_t i = 0; i < ND_ARRAY_SIZE(lengths); i++)
		echo(lengths[i]);
}

static void storm(uint64_t seed, uint32_t hosts, uint32_t rpcs, const struct nd_homa_config *config)
{
	struct nd_rng rng = nd_rng_make(seed, 5);

	world_start(&world, hosts, config, true, seed);
	world.loss_permille = nd_rng_coin(&rng) ? nd_rng_below(&rng, 50) : 0;
	world.duplicate_permille = nd_rng_coin(&rng) ? nd_rng_below(&rng, 50) : 0;
	world.jitter = nd_rng_coin(&rng) ? nd_rng_below(&rng, 100000) : 0;
	for (uint32_t i = 0; i < rpcs; i++) {
		uint32_t client = nd_rng_below(&rng, hosts);
		uint32_t server = (client + 1 + nd_rng_below(&rng, hosts - 1)) % hosts;
		uint32_t bytes = nd_rng_below(&rng, 1u << nd_rng_below(&rng, 18));

		world_request(&world, client, server, bytes);
		world_run(&world, world.now + nd_rng_below(&rng, 20000));
	}
	world_run(&world, world.now + 2 * ND_SEC);
	world_print_failures(&world);
	CHECK_EQ(world_count(&world, ND_EVENT_REQUEST), rpcs);
	CHECK_EQ(world_count(&world, ND_EVENT_RESPONSE), rpcs);
	CHECK_EQ(world_count(&world, ND_EVENT_SENT), rpcs);
	world_check_empty(&world);
	world_stop(&world);
}

/* R-H31-2, R-H33-3: many RPCs at once, any order, each completes once and byte-equal. */
TEST(storm__every_rpc_completes_once)
{
	struct nd_homa_config config = world_config();

	for (uint64_t seed = 1; seed <= 30; seed++)
		storm(seed, 2 + (uint32_t)seed % 5, 100, &config);
}

int main(int argc, char **argv)
{
	return nd_test_main(argc, argv);
}
