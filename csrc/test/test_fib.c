// SPDX-License-Identifier: Apache-2.0
/* Longest-prefix match against a linear search. */
#include "base/rng.h"
#include "switch/fib.h"
#include "test/harness.h"

#include <errno.h>

#define LIMIT 64

static struct nd_fib fib;
static _Alignas(64) uint8_t memory[16384];

static void reset(void)
{
	CHECK(nd_fib_bytes(LIMIT) <= sizeof(memory));
	nd_fib_init(&fib, memory, LIMIT, 1);
}

TEST(nd_fib_set__refuses_bits_beyond_the_length)
{
	uint8_t prefix[16] = { 0xfd, 0x01 };

	reset();
	CHECK_EQ(nd_fib_set(&fib, prefix, 15, 0), -EINVAL);
	CHECK_EQ(nd_fib_set(&fib, prefix, 129, 0), -EINVAL);
	CHECK_EQ(nd_fib_set(&fib, prefix, 16, 0), 0);
}

TEST(nd_fib_set__refuses_beyond_its_limit_but_replaces)
{
	uint8_t prefix[16] = { 0 };

	reset();
	for (unsigned i = 0; i < LIMIT; i++) {
		prefix[0] = (uint8_t)i;
		CHECK_EQ(nd_fib_set(&fib, prefix, 8, i), 0);
	}
	prefix[0] = LIMIT;
	CHECK_EQ(nd_fib_set(&fib, prefix, 8, 0), -ENOSPC);
	prefix[0] = 3;
	CHECK_EQ(nd_fib_set(&fib, prefix, 8, 77), 0);
	CHECK_EQ(nd_fib_lookup(&fib, prefix), 77);
}

TEST(nd_fib_lookup__default_route_and_host_route)
{
	const uint8_t any[16] = { 0 };
	uint8_t host[16] = { 0xfd, [15] = 9 };

	reset();
	CHECK_EQ(nd_fib_lookup(&fib, host), ND_NONE);
	CHECK_EQ(nd_fib_set(&fib, any, 0, 1), 0);
	CHECK_EQ(nd_fib_set(&fib, host, 128, 2), 0);
	CHECK_EQ(nd_fib_lookup(&fib, host), 2);
	host[15] = 8;
	CHECK_EQ(nd_fib_lookup(&fib, host), 1);
}

static bool covers(const struct nd_fib_route *route, const uint8_t address[16])
{
	for (unsigned bit = 0; bit < route->length; bit++) {
		unsigned shift = 7 - bit % 8;

		if (((route->prefix[bit / 8] ^ address[bit / 8]) >> shift) & 1)
			return false;
	}
	return true;
}

static uint32_t slow_lookup(const struct nd_fib_route *routes, const uint8_t address[16])
{
	int best = -1;

	for (int i = 0; i < LIMIT; i++) {
		if (routes[i].group != ND_NONE && covers(&routes[i], address) &&
		    (best < 0 || routes[i].length > routes[best].length))
			best = i;
	}
	return best < 0 ? ND_NONE : routes[best].group;
}

/* Addresses of few distinct bits, so that prefixes nest. */
static void random_address(struct nd_rng *rng, uint8_t out[16])
{
	memset(out, 0, 16);
	for (unsigned i = 0; i < 16; i += 3)
		out[i] = (uint8_t)(nd_rng_coin(rng) ? 0x80 : 0x00);
}

TEST(nd_fib_lookup__random_routes_agree_with_a_linear_search)
{
	struct nd_rng rng = nd_rng_make(5, 6);
	struct nd_fib_route routes[LIMIT];

	reset();
	for (unsigned i = 0; i < LIMIT; i++)
		routes[i].group = ND_NONE;
	for (unsigned step = 0; step < 20000; step++) {
		struct nd_fib_route *route = &routes[nd_rng_below(&rng, LIMIT)];
		uint8_t address[16];

		if (route->group != ND_NONE) {
			CHECK(nd_fib_remove(&fib, route->prefix, route->length));
			route->group = ND_NONE;
		} else {
			bool is_new = true;

			random_address(&rng, route->prefix);
			route->length = (uint8_t)(128 - nd_rng_below(&rng, 8));
			for (unsigned i = 0; i < LIMIT; i++)
				is_new = is_new && !(routes[i].group != ND_NONE &&
						     routes[i].length == route->length &&
						     !memcmp(routes[i].prefix, route->prefix, 16));
			if (is_new) {
				route->group = step;
				CHECK_EQ(nd_fib_set(&fib, route->prefix, route->length, step), 0);
			}
		}
		random_address(&rng, address);
		address[15] |= (uint8_t)nd_rng_below(&rng, 4);
		CHECK_EQ(nd_fib_lookup(&fib, address), slow_lookup(routes, address));
	}
}

int main(int argc, char **argv)
{
	return nd_test_main(argc, argv);
}
