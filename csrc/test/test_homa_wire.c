// SPDX-License-Identifier: Apache-2.0
/* Homa's codec: golden vectors of a kernel peer, every type, older dialects, hostile lengths. */
#include "base/rng.h"
#include "test/harness.h"
#include "test/wire.h"
#include "wire/bytes.h"
#include "wire/homa.h"
#include "wire/packet.h"

#define CHECKSUM_AT 16u

static uint8_t in[256], out[256], payload[2000];
static struct nd_packet packet;

static void addresses_of(const struct wire_golden *golden, uint8_t addresses[8])
{
	nd_put_u32(addresses, golden->from_server ? 0x0a00000a : 0x0a00000b);
	nd_put_u32(addresses + 4, golden->from_server ? 0x0a00000b : 0x0a00000a);
}

/* DATA comes with its 100 bytes of payload. */
static uint32_t golden_bytes(const struct wire_golden *golden)
{
	memset(in, 0, sizeof(in));
	return wire_hex(golden->hex, in) + (golden->type == ND_HOMA_DATA ? 100 : 0);
}

static void decode_golden(const struct wire_golden *golden)
{
	memset(&packet, 0, sizeof(packet));
	CHECK_EQ(nd_homa_decode(in, golden_bytes(golden), &packet), ND_WIRE_OK);
	CHECK_EQ(packet.type, golden->type);
	CHECK_EQ(packet.homa.source_port, golden->from_server ? 4000 : 32768);
}

/* R-H31-1, R-H32-2: bytes of a kernel peer, read and written. */
TEST(nd_homa_encode__writes_what_the_kernel_writes)
{
	for (unsigned i = 0; i < ND_ARRAY_SIZE(wire_golden); i++) {
		const struct wire_golden *golden = &wire_golden[i];
		uint32_t bytes = wire_hex(golden->hex, in);
		uint8_t addresses[8];

		decode_golden(golden);
		memset(out, 0xee, sizeof(out));
		CHECK_EQ(nd_homa_encode(&packet, out), golden->type == ND_HOMA_GRANT ? 34 : bytes);
		addresses_of(golden, addresses);
		nd_homa_fill_checksum(out, bytes, addresses, sizeof(addresses));
		if (!golden->checksum)
			memcpy(out + CHECKSUM_AT, in + CHECKSUM_AT, 2);
		/* The real offset, never "see sequence": not every receiver fixes that up. */
		if (i == 0)
			memset(in + 52, 0, 4);
		CHECK_EQ(memcmp(in, out, bytes), 0);
	}
}

TEST(nd_homa_decode__golden_fields)
{
	decode_golden(&wire_golden[0]);
	CHECK_EQ(packet.homa.target_port, 4000);
	CHECK_EQ(packet.homa.sender_id, 2);
	CHECK_EQ(packet.homa.message_bytes, 100);
	CHECK_EQ(packet.homa.length, 100);
	CHECK_EQ(packet.homa.offset, 0);
	CHECK_EQ(packet.homa.ack_count, 0);
	CHECK_EQ(packet.homa.speaker, 0);
	CHECK_EQ(packet.payload_bytes, 100);
	CHECK(packet.payload == in + 56);
	decode_golden(&wire_golden[1]);
	CHECK_EQ(packet.homa.retransmit, 1);
	decode_golden(&wire_golden[2]);
	CHECK_EQ(packet.homa.target_port, 32773);
	CHECK_EQ(packet.homa.sender_id, 0xd449);
	CHECK_EQ(packet.homa.offset, 60000);
	CHECK_EQ(packet.homa.level, 0);
	CHECK_EQ(packet.marks, ND_MARK_CONTROL);
	decode_golden(&wire_golden[3]);
	CHECK_EQ(packet.homa.offset, 0);
	CHECK_EQ(packet.homa.length, ND_HOMA_RESEND_ALL);
	CHECK_EQ(packet.homa.level, 7);
	decode_golden(&wire_golden[4]);
	CHECK_EQ(packet.homa.cutoff_version, 1);
	CHECK_EQ(packet.homa.cutoffs[0], 0);
	CHECK_EQ(packet.homa.cutoffs[4], 1000000);
	CHECK_EQ(packet.homa.cutoffs[7], 200);
	decode_golden(&wire_golden[7]);
	CHECK_EQ(packet.homa.ack_count, 1);
	CHECK_EQ(packet.homa.ack_ids[0], 2);
	CHECK_EQ(packet.homa.ack_ports[0], 4000);
	decode_golden(&wire_golden[8]);
	CHECK_EQ(packet.homa.sender_id, 0x421);
}

/* X15: a kernel peer's checksums verify as they were captured, and no longer after a bit flip. */
TEST(nd_homa_checksum_holds__golden)
{
	for (unsigned i = 0; i < ND_ARRAY_SIZE(wire_golden); i++) {
		const struct wire_golden *golden = &wire_golden[i];
		uint32_t bytes = golden_bytes(golden);
		uint8_t addresses[8];

		if (!golden->checksum)
			continue;
		addresses_of(golden, addresses);
		CHECK(nd_homa_checksum_holds(in, bytes, addresses, 8));
		for (unsigned bit = 0; bit < bytes * 8; bit++) {
			in[bit / 8] ^= (uint8_t)(1u << bit % 8);
			CHECK(!nd_homa_checksum_holds(in, bytes, addresses, 8));
			in[bit / 8] ^= (uint8_t)(1u << bit % 8);
		}
		addresses[0] ^= 1;
		CHECK(!nd_homa_checksum_holds(in, bytes, addresses, 8));
		memset(in + CHECKSUM_AT, 0, 2);
		CHECK(nd_homa_checksum_holds(in, bytes, addresses, 8));
	}
}

/* A sum that comes out as 0 would mean "not filled in": it is sent as 0xffff, which is as good. */
TEST(nd_homa_fill_checksum__never_zero)
{
	static const uint8_t addresses[8];
	uint8_t busy[28];

	wire_hex(wire_golden[5].hex, busy);
	for (uint32_t id = 0; id < 70000; id++) {
		nd_put_u16(busy + CHECKSUM_AT, 0);
		nd_put_u32(busy + 24, id);
		nd_homa_fill_checksum(busy, sizeof(busy), addresses, 8);
		CHECK(nd_get_u16(busy + CHECKSUM_AT) != 0);
		CHECK(nd_homa_checksum_holds(busy, sizeof(busy), addresses, 8));
	}
}

static void round_trip(struct nd_packet sent)
{
	uint32_t bytes = nd_homa_encode(&sent, in);

	CHECK_EQ(bytes, nd_homa_header_bytes(sent.type));
	packet = (struct nd_packet){
		.next = ND_NONE,
		.source = ND_NONE,
		.target = ND_NONE,
		.protocol = ND_PROTO_HOMA,
		.priority = sent.priority,
	};
	CHECK_EQ(nd_homa_decode(in, bytes + sent.payload_bytes, &packet), ND_WIRE_OK);
	packet.payload = sent.payload;
	sent.header_bytes = (uint16_t)(bytes + sent.payload_bytes);
	CHECK(wire_same(&packet, &sent));
}

TEST(nd_homa_decode__inverts_encode)
{
	for (uint8_t type = ND_HOMA_GRANT; type <= ND_HOMA_ACK; type++)
		round_trip(wire_homa_control(type));
	for (uint16_t bytes = 0; bytes < 100; bytes++) {
		struct nd_packet data = wire_homa_data(payload);

		data.payload_bytes = bytes;
		round_trip(data);
	}
}

/* HM#23/#24: the offset is in the sequence field when segments were cut by a NIC. */
TEST(nd_homa_decode__takes_the_offset_from_sequence_when_told)
{
	struct nd_packet data = wire_homa_data(NULL);

	nd_homa_encode(&data, in);
	CHECK_EQ(nd_get_u32(in + 4), 1424);
	CHECK_EQ(nd_get_u32(in + 52), 1424);
	nd_put_u32(in + 4, 700);
	CHECK_EQ(nd_homa_decode(in, 656, &packet), ND_WIRE_OK);
	CHECK_EQ(packet.homa.offset, 1424);
	nd_put_u32(in + 52, UINT32_MAX);
	CHECK_EQ(nd_homa_decode(in, 656, &packet), ND_WIRE_OK);
	CHECK_EQ(packet.homa.offset, 700);
}

/* Header length, flags, window and urgent pointer differ between builds and mean nothing. */
TEST(nd_homa_decode__ignores_what_makes_it_look_like_tcp)
{
	struct nd_packet data = wire_homa_data(NULL);

	nd_homa_encode(&data, in);
	memset(in + 12, 0xd5, 8);
	in[10] = 0x77;
	CHECK_EQ(nd_homa_decode(in, 656, &packet), ND_WIRE_OK);
	CHECK_EQ(packet.payload_bytes, 600);
}

/* Kernels up to 6.10 want the 34th byte; today's send 33. */
TEST(nd_homa_encode__grant_suits_old_and_new_kernels)
{
	struct nd_packet grant = wire_homa_control(ND_HOMA_GRANT);

	CHECK_EQ(nd_homa_encode(&grant, in), 34);
	CHECK_EQ(in[33], 0);
	CHECK_EQ(nd_homa_decode(in, 33, &packet), ND_WIRE_OK);
	CHECK_EQ(packet.homa.level, 3);
	CHECK_EQ(nd_homa_decode(in, 32, &packet), ND_WIRE_homa_short);
}

/* Upstream's stripped build sends no priority. */
TEST(nd_homa_decode__resend_without_priority)
{
	struct nd_packet resend = wire_homa_control(ND_HOMA_RESEND);

	nd_homa_encode(&resend, in);
	CHECK_EQ(nd_homa_decode(in, 36, &packet), ND_WIRE_OK);
	CHECK_EQ(packet.homa.level, 7);
	CHECK_EQ(packet.homa.offset, 60000);
	CHECK_EQ(nd_homa_decode(in, 35, &packet), ND_WIRE_homa_short);
}

/* HM#25: a zero-length message, which our own endpoints exchange. */
TEST(nd_homa_decode__message_of_nothing)
{
	struct nd_packet data = wire_homa_data(NULL);

	data.payload_bytes = 0;
	data.homa.message_bytes = data.homa.offset = 0;
	nd_homa_encode(&data, in);
	CHECK_EQ(nd_homa_decode(in, 56, &packet), ND_WIRE_OK);
	CHECK_EQ(packet.payload_bytes, 0);
	CHECK(packet.payload == NULL);
}

/* T52: lengths that lie are refused before anything is allocated for them. */
TEST(nd_homa_decode__refuses_payload_beyond_the_message)
{
	static const struct {
		uint32_t message_bytes, offset;
		enum nd_wire_error error;
	} cases[] = {
		{ 3000, 2400, ND_WIRE_OK },
		{ 3000, 2401, ND_WIRE_homa_message_end },
		{ 0, 0, ND_WIRE_homa_message_end },
		{ UINT32_MAX, UINT32_MAX - 600, ND_WIRE_OK },
		{ UINT32_MAX, UINT32_MAX - 599, ND_WIRE_homa_message_end },
	};

	for (unsigned i = 0; i < ND_ARRAY_SIZE(cases); i++) {
		struct nd_packet data = wire_homa_data(NULL);

		data.homa.message_bytes = cases[i].message_bytes;
		data.homa.offset = cases[i].offset;
		nd_homa_encode(&data, in);
		CHECK_EQ(nd_homa_decode(in, 656, &packet), cases[i].error);
	}
}

TEST(nd_homa_decode__every_type_at_every_length)
{
	for (unsigned type = 0; type < 256; type++) {
		struct nd_packet control = wire_homa_control(ND_HOMA_ACK);
		bool known = type >= ND_HOMA_DATA && type <= ND_HOMA_ACK;
		uint32_t least = nd_homa_header_bytes((uint8_t)type);

		CHECK_EQ(least != 0, known);
		least -= type == ND_HOMA_GRANT || type == ND_HOMA_RESEND;
		memset(in, 0, sizeof(in));
		nd_homa_encode(&control, in);
		in[11] = (uint8_t)type;
		if (type == ND_HOMA_DATA)
			memset(in + 28, 0x7f, 4);
		for (uint32_t bytes = 0; bytes < 120; bytes++) {
			/* An exact copy, so that a sanitizer sees any byte read too far. */
			uint8_t *exact = malloc(bytes ? bytes : 1);
			enum nd_wire_error error;

			memcpy(exact, in, bytes);
			error = nd_homa_decode(exact, bytes, &packet);
			free(exact);
			if (bytes < 28)
				CHECK_EQ(error, ND_WIRE_homa_short);
			else if (!known)
				CHECK_EQ(error, ND_WIRE_homa_type);
			else
				CHECK_EQ(error, bytes < least ? ND_WIRE_homa_short : ND_WIRE_OK);
		}
	}
}

TEST(nd_homa_decode__refuses_more_acks_than_fit)
{
	struct nd_packet ack = wire_homa_control(ND_HOMA_ACK);

	nd_homa_encode(&ack, in);
	nd_put_u16(in + 28, 5);
	CHECK_EQ(nd_homa_decode(in, 80, &packet), ND_WIRE_OK);
	nd_put_u16(in + 28, 6);
	CHECK_EQ(nd_homa_decode(in, 80, &packet), ND_WIRE_homa_acks);
	nd_put_u16(in + 28, UINT16_MAX);
	CHECK_EQ(nd_homa_decode(in, 80, &packet), ND_WIRE_homa_acks);
}

int main(int argc, char **argv)
{
	return nd_test_main(argc, argv);
}
