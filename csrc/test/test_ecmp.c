// SPDX-License-Identifier: Apache-2.0
/* Equal-cost groups: spread, stickiness of flows, members that go and come back. */
#include "switch/ecmp.h"
#include "test/harness.h"

#include <errno.h>

static const uint16_t ports[4] = { 10, 11, 12, 13 };
static struct nd_ecmp group;

/* Chi-square of 3 degrees of freedom stays below 16.3 with probability 0.999. */
static void check_uniform(const unsigned counts[4], unsigned total)
{
	double expected = total / 4.0;
	double chi = 0;

	for (unsigned i = 0; i < 4; i++)
		chi += (counts[i] - expected) * (counts[i] - expected) / expected;
	CHECK(chi < 16.3);
}

TEST(nd_ecmp_init__refuses_empty_and_oversized_groups)
{
	CHECK_EQ(nd_ecmp_init(&group, ND_ECMP_FLOW, ports, 0, 1), -EINVAL);
	CHECK_EQ(nd_ecmp_init(&group, ND_ECMP_FLOW, ports, ND_ECMP_MEMBERS_MAX + 1, 1), -EINVAL);
}

/* Its link is up or down once. */
TEST(nd_ecmp_init__refuses_a_port_that_is_there_twice)
{
	const uint16_t twice[3] = { 10, 11, 10 };

	CHECK_EQ(nd_ecmp_init(&group, ND_ECMP_FLOW, twice, 3, 1), -EEXIST);
	CHECK_EQ(nd_ecmp_init(&group, ND_ECMP_FLOW, twice, 2, 1), 0);
}

/* R-EC-2 */
TEST(nd_ecmp_pick__random_is_uniform)
{
	unsigned counts[4] = { 0 };

	CHECK_EQ(nd_ecmp_init(&group, ND_ECMP_RANDOM, ports, 4, 1), 0);
	for (unsigned i = 0; i < 100000; i++)
		counts[nd_ecmp_pick(&group, 0, ND_ECMP_NO_PATH) - 10]++;
	check_uniform(counts, 100000);
}

/* R-EC-1 */
TEST(nd_ecmp_pick__flow_sticks_and_flows_spread)
{
	unsigned counts[4] = { 0 };

	CHECK_EQ(nd_ecmp_init(&group, ND_ECMP_FLOW, ports, 4, 1), 0);
	for (uint64_t flow = 0; flow < 100000; flow++) {
		uint32_t port = nd_ecmp_pick(&group, flow, ND_ECMP_NO_PATH);

		CHECK_EQ(nd_ecmp_pick(&group, flow, ND_ECMP_NO_PATH), port);
		counts[port - 10]++;
	}
	check_uniform(counts, 100000);
}

TEST(nd_ecmp_pick__round_robin_takes_each_in_turn)
{
	CHECK_EQ(nd_ecmp_init(&group, ND_ECMP_ROUND_ROBIN, ports, 3, 1), 0);
	CHECK_EQ(nd_ecmp_pick(&group, 0, ND_ECMP_NO_PATH), 11);
	CHECK_EQ(nd_ecmp_pick(&group, 0, ND_ECMP_NO_PATH), 12);
	CHECK_EQ(nd_ecmp_pick(&group, 0, ND_ECMP_NO_PATH), 10);
}

/* R-NRT-01: label and source route are digits of the path id. */
TEST(nd_ecmp_pick__path_digit_names_the_member)
{
	CHECK_EQ(nd_ecmp_init(&group, ND_ECMP_PATH, ports, 4, 1), 0);
	for (uint32_t path = 0; path < 16; path++)
		CHECK_EQ(nd_ecmp_pick(&group, 0, path), 10 + path % 4);
	nd_ecmp_set_divisor(&group, 4);
	for (uint32_t path = 0; path < 16; path++)
		CHECK_EQ(nd_ecmp_pick(&group, 0, path), 10 + path / 4);
}

/* R-NSB-03: a sender must see the loss on the path it chose, not be put on another. */
TEST(nd_ecmp_pick__path_of_a_dead_link_leads_nowhere)
{
	CHECK_EQ(nd_ecmp_init(&group, ND_ECMP_PATH, ports, 4, 1), 0);
	nd_ecmp_set_live(&group, 12, false);
	CHECK_EQ(nd_ecmp_pick(&group, 0, 2), ND_NONE);
	CHECK_EQ(nd_ecmp_pick(&group, 0, 3), 13);
	for (uint64_t flow = 0; flow < 100; flow++)
		CHECK(nd_ecmp_pick(&group, flow, ND_ECMP_NO_PATH) != 12);
	nd_ecmp_set_live(&group, 12, true);
	CHECK_EQ(nd_ecmp_pick(&group, 0, 2), 12);
}

TEST(nd_ecmp_set_live__takes_out_and_brings_back)
{
	CHECK_EQ(nd_ecmp_init(&group, ND_ECMP_RANDOM, ports, 4, 1), 0);
	nd_ecmp_set_live(&group, 11, false);
	nd_ecmp_set_live(&group, 11, false);
	nd_ecmp_set_live(&group, 99, false);
	CHECK_EQ(group.live, 3);
	for (unsigned i = 0; i < 1000; i++)
		CHECK(nd_ecmp_pick(&group, 0, ND_ECMP_NO_PATH) != 11);
	nd_ecmp_set_live(&group, 11, true);
	CHECK_EQ(group.live, 4);
	for (unsigned i = 0; i < 4; i++)
		nd_ecmp_set_live(&group, ports[i], false);
	CHECK_EQ(nd_ecmp_pick(&group, 0, ND_ECMP_NO_PATH), ND_NONE);
}

int main(int argc, char **argv)
{
	return nd_test_main(argc, argv);
}
