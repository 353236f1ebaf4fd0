// SPDX-License-Identifier: Apache-2.0
/* The NIC scheduler: control first, data fair by bytes, two full packets on the link at most. */
#include "test/harness.h"
#include "transport/nic.h"

struct source {
	uint32_t control, data; /* packets that are left */
	uint16_t control_bytes, data_bytes;
	uint8_t protocol;
};

static bool source_transmit(void *endpoint, struct nd_packet *packet, enum nd_class class,
			    nd_ns now)
{
	struct source *source = endpoint;
	uint32_t *left = class == ND_CLASS_CONTROL ? &source->control : &source->data;

	(void)now;
	if (!*left)
		return false;
	--*left;
	packet->protocol = source->protocol;
	packet->wire_bytes = class == ND_CLASS_CONTROL ? source->control_bytes
						       : source->data_bytes;
	return true;
}

static const struct nd_transport_ops source_ops = { .transmit = source_transmit };
static struct source ndp, homa;
static struct nd_nic nic;
static struct nd_packet packet;

static void set_up(uint64_t link_bps)
{
	ndp = (struct source){ .control_bytes = 84, .data_bytes = 1538, .protocol = 1 };
	homa = (struct source){ .control_bytes = 84, .data_bytes = 1538, .protocol = 2 };
	nd_nic_init(&nic, link_bps, 1538);
	nd_nic_add(&nic, &source_ops, &ndp);
	nd_nic_add(&nic, &source_ops, &homa);
}

TEST(nd_nic_next__control_goes_first_in_turn)
{
	set_up(0);
	ndp.control = homa.control = 2;
	ndp.data = 1;
	for (uint32_t i = 0; i < 4; i++) {
		CHECK(nd_nic_next(&nic, &packet, 0));
		CHECK_EQ(packet.wire_bytes, 84);
		CHECK_EQ(packet.protocol, 1 + i % 2);
	}
	CHECK(nd_nic_next(&nic, &packet, 0));
	CHECK_EQ(packet.wire_bytes, 1538);
	CHECK(!nd_nic_next(&nic, &packet, 0));
}

/* An answer does not wait for the acknowledgement of its question; all else waits for control. */
TEST(nd_nic_begin__lets_one_data_packet_go_ahead)
{
	set_up(0);
	ndp.control = 2;
	ndp.data = homa.data = 2;
	nd_nic_begin(&nic);
	for (uint32_t i = 0; i < 6; i++) {
		CHECK(nd_nic_next(&nic, &packet, 0));
		CHECK_EQ(packet.wire_bytes, i == 1 || i == 2 ? 84 : 1538);
	}
	ndp.control = 1;
	nd_nic_begin(&nic);
	CHECK(nd_nic_next(&nic, &packet, 0));
	CHECK_EQ(packet.wire_bytes, 84);
}

TEST(nd_nic_next__data_is_fair_by_bytes)
{
	uint64_t bytes[3] = { 0 };

	set_up(0);
	ndp.data = homa.data = 10000;
	homa.data_bytes = 300;
	for (uint32_t i = 0; i < 2000; i++) {
		CHECK(nd_nic_next(&nic, &packet, 0));
		bytes[packet.protocol] += packet.wire_bytes;
	}
	CHECK(bytes[1] > bytes[2] ? bytes[1] - bytes[2] <= 1538 : bytes[2] - bytes[1] <= 1538);
}

TEST(nd_nic_next__silence_earns_no_credit)
{
	uint32_t count[3] = { 0 };

	set_up(0);
	ndp.data = 1000;
	for (uint32_t i = 0; i < 500; i++)
		CHECK(nd_nic_next(&nic, &packet, 0));
	homa.data = 1000;
	for (uint32_t i = 0; i < 100; i++) {
		CHECK(nd_nic_next(&nic, &packet, 0));
		count[packet.protocol]++;
	}
	CHECK(count[1] >= 49 && count[2] >= 49);
}

/* R-H4-1: a packet is handed over only if what is on its way, it included, is two full ones. */
TEST(nd_nic_next__keeps_two_full_packets_on_the_link)
{
	nd_ns now = 1000, packet_ns = 1538 * 8; /* at 1 Gb/s */

	set_up(1000000000);
	ndp.data = 10;
	CHECK(nd_nic_next(&nic, &packet, now));
	CHECK(nd_nic_next(&nic, &packet, now));
	CHECK(!nd_nic_next(&nic, &packet, now));
	CHECK_EQ(nd_nic_room_at(&nic), now + packet_ns);
	CHECK(!nd_nic_next(&nic, &packet, now + packet_ns - 1));
	CHECK(nd_nic_next(&nic, &packet, now + packet_ns));
	CHECK(!nd_nic_next(&nic, &packet, now + packet_ns));
}

/* What was handed over stays booked; what comes is by the new rate. */
TEST(nd_nic_set_rate__holds_for_what_comes)
{
	nd_ns packet_ns = 1538 * 8; /* at 1 Gb/s */

	set_up(1000000000);
	ndp.data = 10;
	CHECK(nd_nic_next(&nic, &packet, 0) && nd_nic_next(&nic, &packet, 0));
	nd_nic_set_rate(&nic, 100000000);
	CHECK_EQ(nd_nic_room_at(&nic), 0); /* one packet at the new rate is longer than both */
	CHECK(nd_nic_next(&nic, &packet, 0));
	CHECK_EQ(nic.busy_until, 12 * packet_ns);
	CHECK(!nd_nic_next(&nic, &packet, 2 * packet_ns - 1));
	nd_nic_set_rate(&nic, 0);
	CHECK(nd_nic_next(&nic, &packet, 0) && nd_nic_next(&nic, &packet, 0));
}

TEST(nd_nic_next__small_packets_fill_the_same_time)
{
	uint32_t sent = 0;

	set_up(1000000000);
	ndp.control = 100;
	while (nd_nic_next(&nic, &packet, 0))
		sent++;
	CHECK_EQ(sent, 1538 / 84 + 1);
}

TEST(nd_nic_next__keeps_odd_rates_exactly)
{
	uint32_t sent = 0;
	nd_ns now = 0;

	set_up(UINT64_C(3000000007));
	ndp.data = 1000000;
	for (uint32_t i = 0; i < 100000; i++) {
		CHECK(nd_nic_next(&nic, &packet, now));
		sent++;
		now = nd_max_u64(now, nd_nic_room_at(&nic));
	}
	/* 100,000 packets of 1538 bytes at this rate take 410133332.37 us, one was out at once. */
	CHECK_EQ(nic.busy_until, (uint64_t)sent * 1538 * 8000000000u / 3000000007u);
}

/* Whom a driver does not ask keeps its packets, and its turn. */
TEST(nd_nic_next__asks_only_whom_it_is_told_to)
{
	set_up(0);
	ndp.control = homa.control = ndp.data = homa.data = 1;
	nic.asked = 1u << 1;
	for (uint32_t i = 0; i < 2; i++) {
		CHECK(nd_nic_next(&nic, &packet, 0));
		CHECK_EQ(packet.protocol, 2);
	}
	CHECK(!nd_nic_next(&nic, &packet, 0));
	nic.asked = UINT32_MAX;
	for (uint32_t i = 0; i < 2; i++) {
		CHECK(nd_nic_next(&nic, &packet, 0));
		CHECK_EQ(packet.protocol, 1);
	}
}

int main(int argc, char **argv)
{
	return nd_test_main(argc, argv);
}
