/* SPDX-License-Identifier: Apache-2.0 */
/* What wire tests and fuzz seeds share: peers, packets, hex, HomaModule's golden vectors. */
#ifndef ND_TEST_WIRE_H
#define ND_TEST_WIRE_H

#include "wire/frame.h"

#include <string.h>

/* Ways that a frame may be addressed. */
enum wire_form { WIRE_V4, WIRE_V6, WIRE_V4_TAGGED, WIRE_V6_TAGGED, WIRE_FORMS };

static inline struct nd_frame_peer wire_peer(enum wire_form form)
{
	static const struct nd_frame_peer v4 = {
		.source_mac = { 2, 0, 0, 0, 0, 1 },
		.target_mac = { 2, 0, 0, 0, 0, 2 },
		.source = { [10] = 0xff, 0xff, 10, 0, 0, 11 },
		.target = { [10] = 0xff, 0xff, 10, 0, 0, 10 },
		.vlan = ND_ETH_VLAN_NONE,
	};
	static const struct nd_frame_peer v6 = {
		.source_mac = { 2, 0, 0, 0, 0, 1 },
		.target_mac = { 2, 0, 0, 0, 0, 2 },
		.source = { 0xfd, [15] = 0x11 },
		.target = { 0xfd, [7] = 7, [15] = 0x10 },
		.vlan = ND_ETH_VLAN_NONE,
	};
	struct nd_frame_peer peer = form == WIRE_V4 || form == WIRE_V4_TAGGED ? v4 : v6;

	if (form == WIRE_V4_TAGGED || form == WIRE_V6_TAGGED)
		peer.vlan = 42;
	return peer;
}

/* One packet to a peer that nothing else is sent to. */
static inline uint32_t wire_encode(const struct nd_frame_config *config,
				   const struct nd_frame_peer *peer,
				   const struct nd_packet *packet, uint8_t *out, uint32_t room)
{
	struct nd_frame_template template;

	nd_frame_prepare(config, peer, &template);
	return nd_frame_encode(&template, packet, out, room);
}

/* DATA of 1000 bytes at 5000 in a message of 9000; every field has a value of its own. */
static inline struct nd_packet wire_ndp_data(const uint8_t *payload)
{
	return (struct nd_packet){
		.next = ND_NONE,
		.source = ND_NONE,
		.target = ND_NONE,
		.rank = 4000,
		.payload_bytes = 1000,
		.path = 0x1234,
		.protocol = ND_PROTO_NDP,
		.type = ND_NDP_DATA,
		.priority = 5,
		.marks = ND_MARK_TRIMMABLE,
		.flags = ND_NDP_FLAG_SYN | ND_NDP_FLAG_CONGESTED,
		.payload = payload,
		.ndp = {
			.connection = 0x89abcdef,
			.sequence = 0x01020304,
			.service = 0x7788,
			.message_bytes = 9000,
			.offset = 5000,
			.message = 0x4242,
			.backlog = 0x0f0f,
		},
	};
}

static inline struct nd_packet wire_ndp_control(uint8_t type)
{
	return (struct nd_packet){
		.next = ND_NONE,
		.source = ND_NONE,
		.target = ND_NONE,
		.path = 0x1234,
		.protocol = ND_PROTO_NDP,
		.type = type,
		.priority = 7,
		.marks = ND_MARK_CONTROL,
		.flags = ND_NDP_FLAG_REPLY | ND_NDP_FLAG_PULL,
		.ndp = {
			.connection = 0x89abcdef,
			.sequence = 0x01020304,
			.pull = 0xa1b2c3d4,
			.message = 0x4242,
		},
	};
}

/* DATA of 600 bytes at 1424 in a message of 3000. */
static inline struct nd_packet wire_homa_data(const uint8_t *payload)
{
	return (struct nd_packet){
		.next = ND_NONE,
		.source = ND_NONE,
		.target = ND_NONE,
		.rank = 3000 - 1424,
		.payload_bytes = 600,
		.protocol = ND_PROTO_HOMA,
		.type = ND_HOMA_DATA,
		.priority = 6,
		.payload = payload,
		.homa = {
			.sender_id = 0x1122334455667788,
			.source_port = 32768,
			.target_port = 4000,
			.cutoff_version = 9,
			.retransmit = 1,
			.speaker = ND_HOMA_SPEAKER,
			.note = ND_HOMA_NOTE_INCAST,
			.message_bytes = 3000,
			.offset = 1424,
			.length = 2848,
			.ack_count = 1,
			.ack_ids = { 0x99aabbccddeeff00 },
			.ack_ports = { 4001 },
		},
	};
}

static inline struct nd_packet wire_homa_control(uint8_t type)
{
	struct nd_packet packet = {
		.next = ND_NONE,
		.source = ND_NONE,
		.target = ND_NONE,
		.protocol = ND_PROTO_HOMA,
		.type = type,
		.priority = 7,
		.marks = ND_MARK_CONTROL,
		.homa = {
			.sender_id = 3,
			.source_port = 4000,
			.target_port = 32768,
			.speaker = ND_HOMA_SPEAKER,
		},
	};

	if (type == ND_HOMA_GRANT || type == ND_HOMA_RESEND) {
		packet.homa.offset = 60000;
		packet.homa.level = 3;
	}
	if (type == ND_HOMA_RESEND)
		packet.homa.length = ND_HOMA_RESEND_ALL;
	if (type == ND_HOMA_CUTOFFS) {
		packet.homa.cutoff_version = 7;
		for (uint32_t i = 0; i < ND_HOMA_PRIORITIES; i++)
			packet.homa.cutoffs[i] = 1000000 - i;
	}
	if (type == ND_HOMA_ACK) {
		packet.homa.ack_count = 3;
		for (uint16_t i = 0; i < 3; i++) {
			packet.homa.ack_ids[i] = 0x0102030405060700 + i;
			packet.homa.ack_ports[i] = (uint16_t)(4000 + i);
		}
	}
	return packet;
}

#define WIRE_SAME(a, b, first, last) \
	(memcmp(&(a)->first, &(b)->first, \
		offsetof(struct nd_packet, last) + sizeof((a)->last) - \
			offsetof(struct nd_packet, first)) == 0)

/* All fields that count are equal; acks that are not in use do not. */
static inline bool wire_same(const struct nd_packet *a, const struct nd_packet *b)
{
	if (!WIRE_SAME(a, b, next, payload))
		return false;
	if (a->protocol == ND_PROTO_NDP)
		return WIRE_SAME(a, b, ndp, ndp);
	if (a->type == ND_HOMA_CUTOFFS && !WIRE_SAME(a, b, homa.cutoffs, homa.cutoffs))
		return false;
	for (uint32_t i = 0; i < a->homa.ack_count; i++) {
		if (a->homa.ack_ids[i] != b->homa.ack_ids[i] ||
		    a->homa.ack_ports[i] != b->homa.ack_ports[i])
			return false;
	}
	return WIRE_SAME(a, b, homa.sender_id, homa.ack_count);
}

/* Hex digits, blanks between them, to bytes; returns how many. */
static inline uint32_t wire_hex(const char *text, uint8_t *out)
{
	uint32_t digits = 0;

	for (; *text; text++) {
		uint8_t value;

		if (*text == ' ')
			continue;
		value = (uint8_t)(*text <= '9' ? *text - '0' : *text - 'a' + 10);
		out[digits / 2] = (uint8_t)(digits % 2 ? out[digits / 2] | value : value << 4);
		digits++;
	}
	return digits / 2;
}

/*
 * Captured from a kernel peer, Homa header only: the client is 10.0.0.11 port 32768, the server
 * 10.0.0.10 port 4000. Checksums of DATA cover payload that is not here; GRANT's was left to a NIC.
 */
struct wire_golden {
	uint8_t type;
	bool from_server;
	bool checksum; /* complete, and covers nothing else */
	const char *hex;
};

static const struct wire_golden wire_golden[] = {
	{ ND_HOMA_DATA, false, false,
	  "80000fa00000000000000010e00600001db7b97d0000000000000002 00000064 00000064 "
	  "0000000000000000 0000 0000 00 000000 ffffffff" },
	{ ND_HOMA_DATA, true, false,
	  "0fa080000000000000000010e006000018b6b97d0000000000000003 00000064 00000064 "
	  "0000000000000000 0000 0000 01 000000 00000000" },
	{ ND_HOMA_GRANT, true, false,
	  "0fa080050000000000000011 50060000143cb97d000000000000d449 0000ea60 00" },
	{ ND_HOMA_RESEND, false, true,
	  "80000fa00000000000000012500600004b87b97d0000000000000002 00000000 ffffffff 07" },
	{ ND_HOMA_CUTOFFS, true, true,
	  "0fa08000000000000000001550060000c9c9b97d0000000000000003 00000000 00000000 00000000 "
	  "00000000 000f4240 00003a98 00000af0 000000c8 0001" },
	{ ND_HOMA_BUSY, true, true, "0fa08000000000000000001450060000528db97d0000000000000003" },
	{ ND_HOMA_NEED_ACK, true, true,
	  "0fa08000000000000000001750060000528ab97d0000000000000003" },
	{ ND_HOMA_ACK, false, true,
	  "80000fa000000000000000185006000042b3b97d0000000000000002 0001 0000000000000002 0fa0 "
	  "00000000000000000000000000000000000000000000000000000000000000000000000000000000" },
	{ ND_HOMA_RPC_UNKNOWN, true, true,
	  "0fa080000000000000000013500600004e70b97d0000000000000421" },
};

#endif
