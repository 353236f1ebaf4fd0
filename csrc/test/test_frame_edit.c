// SPDX-License-Identifier: Apache-2.0
/* Edits in place: trim, return to sender, CE; what may not be edited stays as it was. */
#include "test/frame_fixture.h"

static const struct nd_frame_trim fabric = {
	.dscp = 43,
	.pcp = 6,
	.location = ND_NDP_TRIM_FABRIC,
};

static const struct nd_frame_trim last_hop = {
	.dscp = 47,
	.pcp = ND_FRAME_PCP_KEEP,
	.location = ND_NDP_TRIM_LAST_HOP,
};

static uint8_t before[4096];

static void make(unsigned form, struct nd_packet sent)
{
	begin(form);
	encode(&sent);
	memcpy(before, frame, sizeof(frame));
}

/* Neither touches the frame: it may not be trimmed or returned. */
static void check_refused(void)
{
	CHECK_EQ(nd_frame_trim(&config, frame, bytes, &fabric), 0);
	CHECK_EQ(nd_frame_bounce(&config, frame, bytes, &fabric), 0);
	CHECK_EQ(memcmp(frame, before, sizeof(frame)), 0);
}

/* What every IP router and UDP socket on the way wants to see. */
static void check_lengths(unsigned form)
{
	uint32_t ip = ip_at(form);
	uint32_t udp = ip + (is_v4(form) ? 20 : 40);

	CHECK_EQ(nd_get_u16(frame + udp + 4), bytes - udp);
	CHECK_EQ(nd_get_u16(frame + udp + 6), 0);
	if (is_v4(form)) {
		CHECK_EQ(nd_get_u16(frame + ip + 2), bytes - ip);
		CHECK_EQ(nd_checksum_fold(nd_checksum_add(0, frame + ip, 20)), 0xffff);
	} else {
		CHECK_EQ(nd_get_u16(frame + ip + 4), bytes - udp);
	}
}

/* R-NSW-03, U16, U17: cut, with lengths, checksum and code point right, over IPv4 and IPv6. */
TEST(nd_frame_trim__cuts_to_the_header)
{
	static const uint32_t headers[] = { 82, 102, 86, 106 };

	for (unsigned form = 0; form < WIRE_FORMS; form++) {
		for (unsigned i = 0; i < 2; i++) {
			const struct nd_frame_trim *trim = i ? &last_hop : &fabric;
			uint8_t class;

			make(form, wire_ndp_data(payload));
			bytes = nd_frame_trim(&config, frame, bytes, trim);
			CHECK_EQ(bytes, headers[form]);
			check_lengths(form);
			check_trimmed(i ? ND_MARK_LAST_HOP : 0);
			CHECK_EQ(packet.priority, 5);
			CHECK_EQ(memcmp(&got_peer, &peer, sizeof(peer)), 0);
			class = is_v4(form) ? frame[ip_at(form) + 1] :
					      (uint8_t)(nd_get_u16(frame + ip_at(form)) >> 4);
			CHECK_EQ(class, trim->dscp << 2);
			if (peer.vlan != ND_ETH_VLAN_NONE)
				CHECK_EQ(nd_get_u16(frame + 14), (i ? 5 : 6) << 13 | 42);
			/* A trimmed packet is not trimmed again. */
			memcpy(before, frame, sizeof(frame));
			CHECK_EQ(nd_frame_trim(&config, frame, bytes, trim), 0);
			CHECK_EQ(memcmp(frame, before, sizeof(frame)), 0);
		}
	}
}

/* Where and whether it was cut stands in the header: a code point that says otherwise is not it. */
TEST(nd_frame_trim__header_before_code_point)
{
	make(WIRE_V4, wire_ndp_data(payload));
	bytes = nd_frame_trim(&config, frame, bytes, &fabric);
	hardware_dscp(WIRE_V4, config.dscp_trimmable);
	CHECK_EQ(nd_frame_trim(&config, frame, bytes, &fabric), 0);
	hardware_dscp(WIRE_V4, config.dscp_trimmed_last_hop);
	check_trimmed(0);
}

/* U17: the whole trimmed frame, byte for byte; a checksum of UDP that the cut breaks is dropped. */
TEST(nd_frame_trim__golden_frame)
{
	uint8_t expected[82];

	make(WIRE_V4, wire_ndp_data(payload));
	nd_put_u16(frame + 40, 0xabcd);
	CHECK_EQ(nd_frame_trim(&config, frame, bytes, &fabric), sizeof(expected));
	wire_hex("020000000002 020000000001 0800 "
		 "45ac 0044 0000 4000 40 11 25e9 0a00000b 0a00000a d234 12bd 0030 0000 "
		 "11 41 a8 0a 89abcdef 01020304 77880000 00002328 00001388 4242 1234 03e8 0f0f",
		 expected);
	nd_put_u32(expected + 74, nd_crc32c(payload, 1000));
	nd_put_u32(expected + 78, nd_crc32c(expected + 42, 36));
	CHECK_EQ(memcmp(frame, expected, sizeof(expected)), 0);
}

/* The size of SAI and SONiC: what is not longer is only remarked, and arrives whole. */
TEST(nd_frame_trim__to_a_size)
{
	struct nd_frame_trim trim = fabric;

	for (unsigned form = 0; form < WIRE_FORMS; form++) {
		trim.size = 256;
		make(form, wire_ndp_data(payload));
		bytes = nd_frame_trim(&config, frame, bytes, &trim);
		CHECK_EQ(bytes, 256);
		check_lengths(form);
		check_trimmed(0);
		trim.size = 9000;
		make(form, wire_ndp_data(payload));
		CHECK_EQ(nd_frame_trim(&config, frame, bytes, &trim), bytes);
		CHECK_EQ(decode(), ND_WIRE_OK);
		CHECK_EQ(packet.marks, 0);
		CHECK_EQ(memcmp(packet.payload, payload, 1000), 0);
		CHECK_EQ(nd_frame_trim(&config, frame, bytes, &trim), 0);
	}
}

TEST(nd_frame_trim__nothing_to_cut)
{
	struct nd_packet data = wire_ndp_data(NULL);

	data.payload_bytes = 0;
	make(WIRE_V4, data);
	CHECK_EQ(nd_frame_trim(&config, frame, bytes, &fabric), bytes);
	CHECK_EQ(decode(), ND_WIRE_OK);
	CHECK(!(packet.marks & ND_MARK_TRIMMED));
}

/* U16: groups are neither trimmed nor returned; nor are control, other protocols and damage. */
TEST(nd_frame_trim__refuses)
{
	struct nd_packet data = wire_ndp_data(payload);
	struct nd_packet empty = data;

	empty.flags |= ND_NDP_FLAG_VOID;
	empty.payload_bytes = 0;
	empty.payload = NULL;
	for (unsigned form = 0; form < WIRE_FORMS; form++) {
		make(form, empty);
		check_refused();
		make(form, data);
		frame[0] |= 1;
		memcpy(before, frame, sizeof(frame));
		check_refused();
		for (uint8_t type = ND_NDP_ACK; type <= ND_NDP_CLOSE; type++) {
			make(form, wire_ndp_control(type));
			check_refused();
		}
		make(form, wire_homa_data(payload));
		check_refused();
		data.marks = 0;
		make(form, data);
		check_refused();
		data.marks = ND_MARK_TRIMMABLE;
		make(form, data);
		frame[ip_at(form) + (is_v4(form) ? 20 : 40) + 8 + 20] ^= 1;
		memcpy(before, frame, sizeof(frame));
		check_refused();
	}
	begin(WIRE_V4);
	peer.target[12] = 239;
	encode(&data);
	memcpy(before, frame, sizeof(frame));
	check_refused();
	begin(WIRE_V6);
	peer.target[0] = 0xff;
	encode(&data);
	memcpy(before, frame, sizeof(frame));
	check_refused();
}

static void check_returned(unsigned form, uint8_t marks)
{
	check_lengths(form);
	check_trimmed(ND_MARK_BOUNCED | marks);
	CHECK_EQ(memcmp(got_peer.source, peer.target, 16), 0);
	CHECK_EQ(memcmp(got_peer.target, peer.source, 16), 0);
	CHECK_EQ(memcmp(got_peer.source_mac, peer.target_mac, 6), 0);
	CHECK_EQ(memcmp(got_peer.target_mac, peer.source_mac, 6), 0);
	CHECK_EQ(got_peer.vlan, peer.vlan);
	CHECK_EQ(packet.flags, ND_NDP_FLAG_SYN | ND_NDP_FLAG_CONGESTED);
}

/* R-NSW-08: back to its sender, and never a second time. */
TEST(nd_frame_bounce__returns_header_once)
{
	for (unsigned form = 0; form < WIRE_FORMS; form++) {
		make(form, wire_ndp_data(payload));
		bytes = nd_frame_trim(&config, frame, bytes, &last_hop);
		bytes = nd_frame_bounce(&config, frame, bytes, &fabric);
		check_returned(form, ND_MARK_LAST_HOP);
		memcpy(before, frame, sizeof(frame));
		check_refused();

		make(form, wire_ndp_data(payload));
		bytes = nd_frame_bounce(&config, frame, bytes, &fabric);
		check_returned(form, 0);
		memcpy(before, frame, sizeof(frame));
		check_refused();
	}
}

/* A header that hardware cut, lengths as they were, payload left over. */
TEST(nd_frame_bounce__mends_what_hardware_left)
{
	for (unsigned form = 0; form < WIRE_FORMS; form++) {
		make(form, wire_ndp_data(payload));
		hardware_dscp(form, 43);
		bytes = nd_frame_bounce(&config, frame, 200, &fabric);
		check_returned(form, 0);
	}
}

TEST(nd_frame_set_ce__only_for_those_who_understand)
{
	for (unsigned form = 0; form < WIRE_FORMS; form++) {
		struct nd_packet homa = wire_homa_data(payload), data = wire_ndp_data(payload);

		make(form, homa);
		CHECK(!nd_frame_set_ce(frame, bytes));
		CHECK_EQ(memcmp(frame, before, sizeof(frame)), 0);
		homa.marks = data.marks = ND_MARK_ECT;
		make(form, homa);
		CHECK(nd_frame_set_ce(frame, bytes));
		CHECK(nd_frame_set_ce(frame, bytes));
		CHECK_EQ(decode(), ND_WIRE_OK);
		CHECK_EQ(packet.marks, ND_MARK_ECT | ND_MARK_CE);
		CHECK_EQ(packet.priority, 6);
		make(form, data);
		CHECK(nd_frame_set_ce(frame, bytes));
		CHECK_EQ(decode(), ND_WIRE_OK);
		CHECK_EQ(packet.marks, ND_MARK_ECT | ND_MARK_CE);
	}
	nd_put_u16(frame + 16, 0x0806);
	CHECK(!nd_frame_set_ce(frame, bytes));
	CHECK(!nd_frame_set_ce(frame, 13));
	CHECK(!nd_frame_set_ce(frame, 0));
}

int main(int argc, char **argv)
{
	return nd_test_main(argc, argv);
}
