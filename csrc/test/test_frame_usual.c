// SPDX-License-Identifier: Apache-2.0
/*
 * The code for usual frames against the code for any, which alone decides what is right: packets as
 * engines may send them, and frames as networks may damage, cut and remark them. Every frame lies
 * in memory of just its size, for the sanitizers.
 */
#include "test/fuzz/heal.h"
#include "wire/usual.h"

/* Last: its names are those of others' arguments. */
#include "test/frame_fixture.h"

#include <stdlib.h>

#define ROUNDS 20000

static struct nd_rng rng;

static uint32_t below(uint32_t bound)
{
	return nd_rng_below(&rng, bound);
}

/* Values that the fields of a template or frame depend on, and that are not the default. */
static void begin_any(void)
{
	begin(below(2) ? WIRE_V4 : WIRE_V6);
	config.verify = (uint8_t)below(3);
	config.homa_checksum = below(2);
	config.framing_bytes = (uint8_t)below(256);
	config.source_port_count = (uint16_t)(1 + below(UINT16_MAX));
	if (below(4) == 0)
		config.dscp_trimmable = (uint8_t)below(64);
	if (below(4) == 0)
		config.ndp_port = (uint16_t)(1 + below(UINT16_MAX));
	if (below(4) == 0)
		config.dscp_homa[below(8)] = (uint8_t)below(64);
}

/* A packet of ours with arbitrary values where the format leaves a choice. */
static struct nd_packet any_packet(void)
{
	bool ndp = nd_rng_coin(&rng);
	uint8_t type = (uint8_t)(ndp ? 1 + below(5) : below(2) ? ND_HOMA_DATA : 0x10 + below(9));
	struct nd_packet sent = ndp ? type == ND_NDP_DATA ? wire_ndp_data(payload) :
							      wire_ndp_control(type) :
					type == ND_HOMA_DATA ? wire_homa_data(payload) :
							       wire_homa_control(type);

	if (ndp) {
		sent.flags = (uint8_t)below(128);
		sent.ndp.pull = (uint32_t)nd_rng_u64(&rng);
		sent.ndp.sequence = (uint32_t)nd_rng_u64(&rng);
		sent.ndp.connection = (uint32_t)nd_rng_u64(&rng);
		sent.ndp.message_bytes = (uint32_t)nd_rng_u64(&rng);
		sent.ndp.offset = (uint32_t)nd_rng_u64(&rng);
		sent.ndp.message = (uint16_t)nd_rng_u64(&rng);
		sent.ndp.backlog = (uint16_t)nd_rng_u64(&rng);
	} else if (type == ND_HOMA_DATA) {
		sent.homa.sender_id = nd_rng_u64(&rng);
		sent.homa.message_bytes = (uint32_t)nd_rng_u64(&rng);
		sent.homa.offset = (uint32_t)nd_rng_u64(&rng);
		sent.homa.length = (uint32_t)nd_rng_u64(&rng);
		sent.homa.cutoff_version = (uint16_t)nd_rng_u64(&rng);
		sent.homa.speaker = (uint8_t)nd_rng_u64(&rng);
		sent.homa.note = (uint8_t)nd_rng_u64(&rng);
		sent.homa.retransmit = (uint8_t)below(2);
		sent.homa.ack_count = (uint16_t)below(2);
	}
	sent.path = (uint16_t)nd_rng_u64(&rng);
	sent.priority = (uint8_t)below(8);
	sent.marks = (uint8_t)(below(2) ? sent.marks : nd_rng_u64(&rng));
	sent.payload_bytes = type == ND_NDP_DATA || type == ND_HOMA_DATA ?
				       (uint16_t)(below(4) ? below(sizeof(payload)) : 0) : 0;
	if (below(16) == 0)
		sent.payload = NULL;
	return sent;
}

/* Both ways write the headers of the whole, or refuse what has none to be written alone. */
static void check_headers(const struct nd_frame_template *template, const struct nd_packet *sent,
			  const uint8_t *whole, uint32_t length, uint32_t room)
{
	bool alone = length && sent->payload_bytes && sent->payload &&
		     !(sent->marks & ND_MARK_TRIMMED) &&
		     (sent->protocol == ND_PROTO_NDP || !config.homa_checksum);
	uint32_t headers = alone ? length - sent->payload_bytes : 0;
	uint8_t *usual = calloc(1, room + !room), *any = calloc(1, room + !room);

	CHECK_EQ(nd_frame_encode_headers(template, sent, usual, room), headers);
	CHECK_EQ(nd_any_encode_headers(template, sent, any, room), headers);
	CHECK(memcmp(usual, whole, headers) == 0);
	CHECK(memcmp(any, whole, headers) == 0);
	free(usual);
	free(any);
}

/* Both ways write the same, into so much room. */
static uint32_t check_encode(const struct nd_packet *sent, uint32_t room)
{
	static struct nd_frame_template template;
	uint8_t *usual = calloc(1, room + !room), *any = calloc(1, room + !room);
	uint32_t length;

	nd_frame_prepare(&config, &peer, &template);
	length = nd_frame_encode(&template, sent, usual, room);
	CHECK_EQ(nd_any_encode(&template, sent, any, room), length);
	CHECK(memcmp(usual, any, length) == 0);
	check_headers(&template, sent, usual, length, room);
	free(usual);
	free(any);
	return length;
}

TEST(nd_frame_encode__usual_and_any_write_the_same)
{
	rng = nd_rng_make(1, 1);
	for (uint32_t i = 0; i < ROUNDS; i++) {
		struct nd_packet sent;
		uint32_t length;

		begin_any();
		sent = any_packet();
		length = check_encode(&sent, sizeof(frame));
		CHECK(length != 0);
		CHECK_EQ(check_encode(&sent, length), length);
		CHECK_EQ(check_encode(&sent, below(length)), 0);
	}
}

/* Both ways read the same out of a frame; true when it is one of ours. */
static bool check_decode(const uint8_t *in, uint32_t length)
{
	struct nd_frame_peer from_usual = { .vlan = 1 }, from_any = { .vlan = 2 };
	struct nd_packet by_usual, by_any;
	uint8_t *exact = malloc(length + !length);
	enum nd_wire_error error;

	/* A field that is left alone is not the same. */
	memset(&by_usual, 0xee, sizeof(by_usual));
	memset(&by_any, 0x77, sizeof(by_any));
	memcpy(exact, in, length);
	error = nd_frame_decode(&config, exact, length, &from_usual, &by_usual);
	CHECK_EQ(nd_any_decode(&config, exact, length, &from_any, &by_any), error);
	CHECK(by_usual.protocol == by_any.protocol);
	if (by_any.protocol == ND_PROTO_OTHER) {
		CHECK(WIRE_SAME(&by_usual, &by_any, next, payload));
	} else {
		CHECK(wire_same(&by_usual, &by_any));
		CHECK(memcmp(&from_usual, &from_any, sizeof(from_any)) == 0);
		CHECK_EQ(nd_frame_decode(&config, exact, length, NULL, &by_usual), ND_WIRE_OK);
	}
	free(exact);
	return by_any.protocol != ND_PROTO_OTHER;
}

/* The same, as it is and with the checks made right, so that what is behind them is read. */
static bool check_healed(uint8_t *in, uint32_t length)
{
	bool ours = check_decode(in, length);

	heal_frame(&config, in, length);
	return check_decode(in, length) || ours;
}

static uint32_t encode_any_packet(uint8_t *out)
{
	struct nd_packet sent = any_packet();

	if (sent.protocol == ND_PROTO_NDP && below(2)) {
		sent.ndp.offset = below(10000);
		sent.ndp.message_bytes = sent.ndp.offset + below(4000);
	}
	if (sent.protocol == ND_PROTO_HOMA && sent.type == ND_HOMA_DATA && below(2)) {
		sent.homa.offset = below(10000);
		sent.homa.message_bytes = sent.homa.offset + below(4000);
	}
	return wire_encode(&config, &peer, &sent, out, sizeof(frame));
}

TEST(nd_frame_decode__usual_and_any_read_the_same)
{
	uint32_t sound = 0;

	rng = nd_rng_make(2, 1);
	for (uint32_t i = 0; i < ROUNDS; i++) {
		uint32_t length;

		begin_any();
		length = encode_any_packet(frame);
		if (below(8) == 0)
			length = below(length + 1); /* cut, as hardware does */
		else if (below(8) == 0)
			length += below(20); /* padded */
		for (uint32_t damages = below(2) ? 0 : below(4); damages && length; damages--)
			frame[below(nd_min_u32(length, 120))] ^= (uint8_t)(1 << below(8));
		sound += check_healed(frame, length);
	}
	CHECK(sound > ROUNDS / 4);
}

/* One packet of each kind whose code is of its own. */
static void for_each_kind(void (*check)(uint32_t length))
{
	const struct nd_packet sent[] = {
		wire_ndp_data(payload), wire_ndp_control(ND_NDP_ACK), wire_homa_data(payload),
	};

	for (unsigned form = WIRE_V4; form <= WIRE_V6; form++) {
		for (uint32_t i = 0; i < ND_ARRAY_SIZE(sent); i++) {
			begin(form);
			check(encode(&sent[i]));
		}
	}
}

static void check_each_byte(uint32_t length)
{
	static uint8_t damaged[sizeof(frame)];

	for (uint32_t at = 0; at < nd_min_u32(length, 120); at++) {
		for (uint32_t value = 0; value < 256; value++) {
			memcpy(damaged, frame, length);
			damaged[at] = (uint8_t)value;
			check_healed(damaged, length);
		}
	}
}

/* Any value in any byte of the headers. */
TEST(nd_frame_decode__usual_and_any_read_the_same_of_each_byte)
{
	for_each_kind(check_each_byte);
}

static void check_each_length(uint32_t length)
{
	unsigned form = nd_ip_is_v4(peer.source) ? WIRE_V4 : WIRE_V6;

	for (uint32_t cut = 0; cut <= length; cut++)
		check_decode(frame, cut);
	/* And now the headers' lengths say so too. */
	for (uint32_t cut = length; cut >= ND_USUAL_NDP4_BYTES; cut--) {
		hardware_lengths(form, cut);
		check_healed(frame, cut);
	}
}

/* Cut to any length, with the lengths in the headers rewritten or not. */
TEST(nd_frame_decode__usual_and_any_read_the_same_of_each_length)
{
	for_each_kind(check_each_length);
}

int main(int argc, char **argv)
{
	return nd_test_main(argc, argv);
}
