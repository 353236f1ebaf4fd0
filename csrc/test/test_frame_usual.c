// SPDX-License-Identifier: Apache-2.0
/*
 * The code for usual frames against the code for any: a tag, put into a frame or taken out of it,
 * is all that decides which of them runs, and all that their results may differ by.
 */
#include "test/frame_fixture.h"

#define ROUNDS 20000

static struct nd_rng rng;

static uint32_t below(uint32_t bound)
{
	return nd_rng_below(&rng, bound);
}

/* A packet of ours with arbitrary values where the format leaves a choice. */
static struct nd_packet any_packet(void)
{
	bool ndp = nd_rng_coin(&rng);
	uint8_t type = (uint8_t)(ndp ? 1 + below(5) : 0x10 + below(9));
	struct nd_packet sent = ndp ? type == ND_NDP_DATA ? wire_ndp_data(payload) :
							      wire_ndp_control(type) :
					type == ND_HOMA_DATA ? wire_homa_data(payload) :
							       wire_homa_control(type);

	if (ndp) {
		sent.flags = (uint8_t)below(128);
		sent.ndp.pull = (uint32_t)nd_rng_u64(&rng);
		sent.ndp.sequence = (uint32_t)nd_rng_u64(&rng);
		sent.ndp.message_bytes = (uint32_t)nd_rng_u64(&rng);
		sent.ndp.offset = (uint32_t)nd_rng_u64(&rng);
	}
	sent.path = (uint16_t)nd_rng_u64(&rng);
	sent.priority = (uint8_t)below(8);
	sent.marks = (uint8_t)nd_rng_u64(&rng);
	sent.payload_bytes = type == ND_NDP_DATA || type == ND_HOMA_DATA ?
				       (uint16_t)below(sizeof(payload)) : 0;
	return sent;
}

/* Puts a tag with this priority into a frame; returns its new length. */
static uint32_t put_tag(const uint8_t *in, uint32_t length, uint8_t pcp, uint8_t *out)
{
	memcpy(out, in, ND_ETH_TYPE_AT);
	nd_put_u16(out + ND_ETH_TYPE_AT, ND_ETH_TYPE_VLAN);
	nd_put_u16(out + ND_ETH_TAG_AT, (uint16_t)(42 | pcp << ND_ETH_PCP_SHIFT));
	memcpy(out + ND_ETH_TAG_AT + 2, in + ND_ETH_TYPE_AT, length - ND_ETH_TYPE_AT);
	return length + ND_ETH_TAG_BYTES;
}

TEST(nd_frame_encode__usual_and_any_write_the_same)
{
	static uint8_t usual[4096], tagged[4096], any[4096];

	rng = nd_rng_make(1, 1);
	for (uint32_t i = 0; i < ROUNDS; i++) {
		enum wire_form form = below(2) ? WIRE_V4 : WIRE_V6;
		struct nd_packet sent = any_packet();
		struct nd_frame_peer at = wire_peer(form);
		uint32_t length;

		begin(form);
		length = wire_encode(&config, &at, &sent, usual, sizeof(usual));
		CHECK(length != 0);
		at.vlan = 42;
		CHECK_EQ(wire_encode(&config, &at, &sent, any, sizeof(any)),
			 put_tag(usual, length, sent.priority, tagged));
		CHECK(memcmp(any, tagged, length + ND_ETH_TAG_BYTES) == 0);
	}
}

/* Some bit of the headers turned over, and IPv4's sum mended, so that what is behind is read. */
static void damage(enum wire_form form, uint8_t *in, uint32_t length)
{
	uint8_t *ip = in + ND_ETH_BYTES;
	uint16_t sum;

	in[below(nd_min_u32(length, 120))] ^= (uint8_t)(1 << below(8));
	if (form != WIRE_V4 || nd_rng_coin(&rng))
		return;
	memset(ip + ND_IPV4_CHECKSUM_AT, 0, sizeof(sum));
	sum = (uint16_t)~nd_checksum_fold(nd_checksum_add_ipv4(ip));
	memcpy(ip + ND_IPV4_CHECKSUM_AT, &sum, sizeof(sum));
}

TEST(nd_frame_decode__usual_and_any_read_the_same)
{
	static uint8_t usual[4096], tagged[4096];
	uint32_t sound = 0;

	rng = nd_rng_make(2, 1);
	for (uint32_t i = 0; i < ROUNDS; i++) {
		enum wire_form form = below(2) ? WIRE_V4 : WIRE_V6;
		struct nd_packet sent = any_packet(), by_usual, by_any;
		struct nd_frame_peer at = wire_peer(form), from_usual = { 0 }, from_any = { 0 };
		uint32_t length, extra;
		enum nd_wire_error error;

		begin(form);
		length = wire_encode(&config, &at, &sent, usual, sizeof(usual));
		if (below(4) == 0)
			length = 14 + below(length - 13); /* cut, as hardware does */
		if (below(2))
			damage(form, usual, length);
		error = nd_frame_decode(&config, usual, length, &from_usual, &by_usual);
		extra = put_tag(usual, length, 0, tagged);
		CHECK_EQ(nd_frame_decode(&config, tagged, extra, &from_any, &by_any), error);
		if (by_usual.protocol == ND_PROTO_OTHER)
			continue; /* its sizes and priority are the frame's, tag and all */
		sound++;
		CHECK_EQ(from_any.vlan, 42);
		from_any.vlan = ND_ETH_VLAN_NONE;
		CHECK(memcmp(&from_usual, &from_any, sizeof(from_any)) == 0);
		if (by_any.payload)
			by_any.payload = by_usual.payload + (by_any.payload - tagged) -
					 (by_usual.payload - usual) - ND_ETH_TAG_BYTES;
		by_any.wire_bytes = by_usual.wire_bytes; /* 4 more, but for short ones' padding */
		by_any.header_bytes = by_usual.header_bytes;
		CHECK(wire_same(&by_usual, &by_any));
	}
	CHECK(sound > ROUNDS / 4);
}

int main(int argc, char **argv)
{
	return nd_test_main(argc, argv);
}
