// SPDX-License-Identifier: Apache-2.0
/* Fetching ahead changes nothing, whatever it is asked about. */
#include "test/ndp_hand.h"

static void check_unchanged(const struct nd_packet *packet)
{
	static uint8_t before[1 << 20];
	size_t bytes = nd_ndp_ops.bytes(&hand_config);

	CHECK(bytes <= sizeof(before));
	memcpy(before, hand, bytes);
	nd_ndp_ops.foresee(hand, packet, ND_FORESEE_FIRST);
	nd_ndp_ops.foresee(hand, packet, ND_FORESEE_THEN);
	CHECK(memcmp(before, hand, bytes) == 0);
}

static void check_all_types(uint32_t peer, uint32_t connection)
{
	struct nd_packet packet = hand_single(peer, connection, 0, 500);

	for (uint8_t type = 0; type <= ND_NDP_CLOSE + 1; type++) {
		packet.type = type;
		packet.flags ^= ND_NDP_FLAG_REPLY;
		check_unchanged(&packet);
	}
}

TEST(nd_ndp_foresee__an_endpoint_without_connections)
{
	hand_start_default();
	check_unchanged(NULL);
	check_all_types(2, 9);
}

/* One that receives, one that has something to send, one that waits for its answers. */
TEST(nd_ndp_foresee__connections_in_every_role)
{
	hand_start_default();
	hand_arrive(2, 9, 0, 90000);
	check_all_types(2, 9);
	hand_send(hand_connect(3), 20 * HAND_MSS);
	check_unchanged(NULL);
	check_all_types(3, HAND_FIRST);
	while (hand_take(ND_CLASS_DATA)[0])
		;
	check_unchanged(NULL);
	check_all_types(3, HAND_FIRST);
	check_all_types(4, HAND_FIRST);
}

int main(int argc, char **argv)
{
	return nd_test_main(argc, argv);
}
