// SPDX-License-Identifier: Apache-2.0
/* Where the packets of a message may lie: none may seem whole with a hole in it, whoever sends it. */
#include "test/ndp_hand.h"

/* A last packet says nothing of the others' size: by itself it cannot fill what it leaves open. */
TEST(nd_ndp_receive__a_last_packet_counts_once)
{
	struct nd_packet packet;

	hand_start_default();
	hand_arrive(2, 9, 1, 2000);
	packet = hand_data(2, 9, 1, 2000);
	packet.ndp.sequence = 2; /* once more, and thus as many bytes as the message has */
	hand_receive(&packet);
	CHECK_EQ(hand_counters()->messages_received, 0);
	CHECK_EQ(hand_counters()->bad_message, 1);
	hand_arrive(2, 9, 0, 2000);
	CHECK_EQ(hand_counters()->messages_received, 1);
}

/* Nor may it have been longer than the others turn out to be: they would lie inside it. */
TEST(nd_ndp_receive__a_last_packet_is_no_longer_than_the_others)
{
	struct nd_packet last, other;

	hand_start_default();
	last = hand_data(2, 9, 1, 2000);
	last.ndp.sequence = 5;
	hand_receive(&last);
	other = hand_data(2, 9, 0, 1500);
	other.ndp.sequence = 7;
	other.ndp.message = 1;
	other.payload_bytes = 500;
	hand_receive(&other);
	CHECK_EQ(hand_counters()->bad_length, 1);
	last.payload_bytes = 500;
	last.ndp.sequence = 6;
	last.ndp.offset = 1500;
	hand_receive(&last);
	last.ndp.sequence = 4;
	last.ndp.offset = 500;
	hand_receive(&last);
	CHECK_EQ(hand_counters()->messages_received, 0);
}

/* A header of it that came before the packet is no second one. */
TEST(nd_ndp_receive__a_last_packet_follows_its_header)
{
	hand_start_default();
	hand_arrive_trimmed(2, 9, 1, 2000);
	hand_arrive(2, 9, 1, 2000);
	hand_arrive(2, 9, 0, 2000);
	CHECK_EQ(hand_counters()->messages_received, 1);
	CHECK_EQ(hand_counters()->bad_message, 0);
}

/* So many packets apart that the place comes round again in 32 bits: still not twice the same. */
TEST(nd_ndp_receive__a_packet_counts_once_however_late)
{
	struct nd_packet first, empty;
	uint32_t apart;

	hand_start_default();
	first = hand_data(2, 9, 0, 65536);
	first.payload_bytes = 32768;
	first.payload = NULL;
	hand_receive(&first);
	apart = (uint32_t)((UINT64_C(1) << 32) / first.payload_bytes);
	empty = hand_packet(ND_NDP_DATA, 2, 9);
	empty.flags |= ND_NDP_FLAG_VOID;
	while (++empty.ndp.sequence < apart)
		nd_ndp_ops.receive(hand, &empty, hand_now);
	first.ndp.sequence = apart;
	hand_receive(&first);
	CHECK_EQ(hand_counters()->bad_message, 1);
	CHECK_EQ(hand_counters()->messages_received, 0);
}

int main(int argc, char **argv)
{
	return nd_test_main(argc, argv);
}
