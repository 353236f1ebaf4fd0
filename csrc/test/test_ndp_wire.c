// SPDX-License-Identifier: Apache-2.0
/* NDP's codec: the specified bytes, every type, the header check, cuts, hostile lengths. */
#include "base/crc32c.h"
#include "test/harness.h"
#include "test/wire.h"
#include "wire/bytes.h"
#include "wire/ndp.h"
#include "wire/packet.h"

static uint8_t payload[1000];
static uint8_t in[2000];
static struct nd_packet packet;

static void encode(const struct nd_packet *sent)
{
	nd_ndp_encode(sent, 0, nd_crc32c(payload, sizeof(payload)), in);
	memcpy(in + ND_NDP_HEADER_BYTES, payload, sizeof(payload));
}

static enum nd_wire_error decode(uint32_t bytes)
{
	packet = (struct nd_packet){
		.next = ND_NONE,
		.source = ND_NONE,
		.target = ND_NONE,
		.protocol = ND_PROTO_NDP,
	};
	return nd_ndp_decode(in, bytes, 0, &packet);
}

static void fill_payload(void)
{
	for (unsigned i = 0; i < sizeof(payload); i++)
		payload[i] = (uint8_t)(i * 7 + 1);
}

/* Makes the header valid again after a deliberate change. */
static void seal(void)
{
	nd_put_u32(in + 36, nd_crc32c(in, 36));
}

/* R-NTP-03, R-NTP-07: docs/protocol-ndp.md, section 2, byte for byte. */
TEST(nd_ndp_encode__specified_bytes)
{
	struct nd_packet data, pull = wire_ndp_control(ND_NDP_PULL);
	uint8_t expected[40];

	fill_payload();
	data = wire_ndp_data(payload);
	encode(&data);
	wire_hex("11 41 a0 0a 89abcdef 01020304 7788 0000 00002328 00001388 4242 1234 03e8 0f0f "
		 "00000000 00000000", expected);
	nd_put_u32(expected + 32, nd_crc32c(payload, 1000));
	nd_put_u32(expected + 36, nd_crc32c(expected, 36));
	CHECK_EQ(memcmp(in, expected, sizeof(expected)), 0);

	data.marks = ND_MARK_TRIMMED | ND_MARK_LAST_HOP | ND_MARK_BOUNCED;
	encode(&data);
	CHECK_EQ(in[1], 0xc1);
	CHECK_EQ(in[2], 0xb0);
	data.marks = ND_MARK_TRIMMED;
	encode(&data);
	CHECK_EQ(in[2], 0xa8);

	nd_ndp_encode(&pull, 0, 0, in);
	wire_hex("14 28 e0 0a 89abcdef 01020304 a1b2c3d4 00000000 00000000 4242 1234 0000 0000 "
		 "00000000 00000000", expected);
	nd_put_u32(expected + 36, nd_crc32c(expected, 36));
	CHECK_EQ(memcmp(in, expected, sizeof(expected)), 0);
}

TEST(nd_ndp_decode__inverts_encode)
{
	fill_payload();
	for (uint8_t type = ND_NDP_DATA; type <= ND_NDP_CLOSE; type++) {
		for (unsigned flags = 0; flags < 128; flags++) {
			bool data = type == ND_NDP_DATA;
			struct nd_packet sent = data ? wire_ndp_data(in + 40) :
						       wire_ndp_control(type);

			sent.flags = (uint8_t)flags;
			sent.priority = flags & 7;
			sent.header_bytes = 40;
			sent.marks &= (uint8_t)~ND_MARK_TRIMMABLE;
			sent.marks |= flags & 1 ? ND_MARK_BOUNCED : 0;
			encode(&sent);
			CHECK_EQ(decode(40 + sent.payload_bytes), ND_WIRE_OK);
			CHECK(wire_same(&packet, &sent));
			CHECK(nd_ndp_payload_holds(in, &packet));
		}
	}
}

/* X15: no single flipped bit of the header goes unnoticed, the mutable ones included. */
TEST(nd_ndp_decode__sees_any_flipped_bit)
{
	struct nd_packet data = wire_ndp_data(payload);

	encode(&data);
	for (unsigned bit = 0; bit < 40 * 8; bit++) {
		enum nd_wire_error expected = bit / 8 == 0 && bit % 8 >= 4 ?
						      ND_WIRE_ndp_version :
						      ND_WIRE_ndp_header_check;

		in[bit / 8] ^= (uint8_t)(1u << bit % 8);
		CHECK_EQ(decode(1040), expected);
		in[bit / 8] ^= (uint8_t)(1u << bit % 8);
	}
	CHECK_EQ(decode(1040), ND_WIRE_OK);
}

TEST(nd_ndp_payload_holds__sees_any_flipped_bit)
{
	struct nd_packet data = wire_ndp_data(payload);

	encode(&data);
	CHECK_EQ(decode(1040), ND_WIRE_OK);
	for (unsigned bit = 40 * 8; bit < 1040 * 8; bit += 3) {
		in[bit / 8] ^= (uint8_t)(1u << bit % 8);
		CHECK(!nd_ndp_payload_holds(in, &packet));
		in[bit / 8] ^= (uint8_t)(1u << bit % 8);
	}
}

/* A patch fits the new byte, and does not hide what was damaged before. */
TEST(nd_ndp_patch__keeps_damage_visible)
{
	struct nd_packet data = wire_ndp_data(payload);

	for (unsigned value = 0; value < 256; value++) {
		encode(&data);
		nd_ndp_patch(in, 2, (uint8_t)value);
		CHECK_EQ(in[2], value);
		CHECK_EQ(decode(1040), ND_WIRE_OK);
		in[20] ^= 1;
		nd_ndp_patch(in, 1, (uint8_t)value);
		CHECK_EQ(decode(1040), ND_WIRE_ndp_header_check);
		in[20] ^= 1;
		CHECK_EQ(decode(1040), ND_WIRE_OK);
	}
}

/* Over IPv6 the addresses count, in either order. */
TEST(nd_ndp_check_seed__finds_misdelivery_and_allows_return)
{
	struct nd_frame_peer peer = wire_peer(WIRE_V6);
	uint8_t addresses[32], swapped[32];
	uint32_t seed;

	memcpy(addresses, peer.source, 16);
	memcpy(addresses + 16, peer.target, 16);
	memcpy(swapped, peer.target, 16);
	memcpy(swapped + 16, peer.source, 16);
	seed = nd_ndp_check_seed(addresses);
	CHECK(seed != 0);
	CHECK_EQ(nd_ndp_check_seed(swapped), seed);
	for (unsigned bit = 0; bit < 32 * 8; bit++) {
		addresses[bit / 8] ^= (uint8_t)(1u << bit % 8);
		CHECK(nd_ndp_check_seed(addresses) != seed);
		addresses[bit / 8] ^= (uint8_t)(1u << bit % 8);
	}
}

TEST(nd_ndp_decode__any_cut_from_the_end_of_the_header_is_a_trim)
{
	struct nd_packet data = wire_ndp_data(payload);

	encode(&data);
	for (uint32_t bytes = 0; bytes <= 1040; bytes++) {
		uint8_t *exact = malloc(bytes ? bytes : 1);

		memcpy(exact, in, bytes);
		packet.marks = 0;
		CHECK_EQ(nd_ndp_decode(exact, bytes, 0, &packet),
			 bytes < 40 ? ND_WIRE_ndp_short : ND_WIRE_OK);
		if (bytes >= 40) {
			CHECK_EQ(packet.marks, bytes < 1040 ? ND_MARK_TRIMMED | ND_MARK_TRIMMABLE : 0);
			CHECK_EQ(packet.payload != NULL, bytes == 1040);
			CHECK_EQ(packet.payload_bytes, 1000);
		}
		free(exact);
	}
}

TEST(nd_ndp_decode__unknown_version_is_not_believed)
{
	struct nd_packet data = wire_ndp_data(payload);

	encode(&data);
	for (unsigned version = 0; version < 16; version++) {
		in[0] = (uint8_t)(version << 4 | ND_NDP_DATA);
		seal();
		CHECK_EQ(decode(1040), version == 1 ? ND_WIRE_OK : ND_WIRE_ndp_version);
	}
}

TEST(nd_ndp_decode__unknown_type)
{
	struct nd_packet data = wire_ndp_data(payload);

	for (uint8_t type = 0; type < 16; type++) {
		encode(&data);
		nd_put_u16(in + 28, 0);
		in[0] = 0x10 | type;
		seal();
		CHECK_EQ(decode(1040),
			 type >= ND_NDP_DATA && type <= ND_NDP_CLOSE ? ND_WIRE_OK : ND_WIRE_ndp_type);
	}
}

/* Room to grow: words beyond the ten are skipped, and may be cut off. */
TEST(nd_ndp_decode__skips_a_longer_header)
{
	struct nd_packet data = wire_ndp_data(payload);

	encode(&data);
	in[3] = 13;
	seal();
	memset(in + 40, 0xee, 12);
	memcpy(in + 52, payload, 1000);
	CHECK_EQ(decode(1052), ND_WIRE_OK);
	CHECK_EQ(packet.header_bytes, 52);
	CHECK(packet.payload == in + 52);
	CHECK(nd_ndp_payload_holds(in, &packet));
	CHECK_EQ(decode(44), ND_WIRE_OK);
	CHECK_EQ(packet.header_bytes, 44);
	CHECK(packet.marks & ND_MARK_TRIMMED);
	in[3] = 255;
	seal();
	CHECK_EQ(decode(1040), ND_WIRE_OK);
	CHECK(packet.marks & ND_MARK_TRIMMED);
	in[3] = 9;
	seal();
	CHECK_EQ(decode(1040), ND_WIRE_ndp_header_length);
}

/* T52: lengths that lie are refused before anything is allocated for them. */
TEST(nd_ndp_decode__refuses_payload_beyond_the_message)
{
	static const struct {
		uint32_t message_bytes, offset;
		enum nd_wire_error error;
	} cases[] = {
		{ 1000, 0, ND_WIRE_OK },
		{ 999, 0, ND_WIRE_ndp_message_end },
		{ 9000, 8000, ND_WIRE_OK },
		{ 9000, 8001, ND_WIRE_ndp_message_end },
		{ UINT32_MAX, UINT32_MAX - 1000, ND_WIRE_OK },
		{ UINT32_MAX, UINT32_MAX, ND_WIRE_ndp_message_end },
		{ 0, UINT32_MAX, ND_WIRE_ndp_message_end },
	};

	for (unsigned i = 0; i < ND_ARRAY_SIZE(cases); i++) {
		struct nd_packet data = wire_ndp_data(payload);

		data.ndp.message_bytes = cases[i].message_bytes;
		data.ndp.offset = cases[i].offset;
		encode(&data);
		CHECK_EQ(decode(1040), cases[i].error);
		CHECK_EQ(decode(40), cases[i].error);
	}
}

TEST(nd_ndp_decode__control_has_no_payload)
{
	struct nd_packet ack = wire_ndp_control(ND_NDP_ACK);

	ack.payload_bytes = 1;
	encode(&ack);
	CHECK_EQ(decode(1040), ND_WIRE_ndp_control_payload);
}

/* A message of 0 bytes has nothing that could be cut. */
TEST(nd_ndp_decode__message_of_nothing)
{
	struct nd_packet data = wire_ndp_data(NULL);

	data.payload_bytes = 0;
	data.ndp.message_bytes = data.ndp.offset = 0;
	nd_ndp_encode(&data, 0, 0, in);
	CHECK_EQ(decode(40), ND_WIRE_OK);
	CHECK(packet.payload == NULL);
	CHECK_EQ(packet.marks, 0);
	CHECK(nd_ndp_payload_holds(in, &packet));
}

int main(int argc, char **argv)
{
	return nd_test_main(argc, argv);
}
