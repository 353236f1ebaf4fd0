/* SPDX-License-Identifier: Apache-2.0 */
/* One frame at a time for the frame tests: encode, change as hardware would, decode, compare. */
#ifndef ND_TEST_FRAME_FIXTURE_H
#define ND_TEST_FRAME_FIXTURE_H

#include "base/crc32c.h"
#include "base/rng.h"
#include "test/harness.h"
#include "test/wire.h"
#include "wire/bytes.h"
#include "wire/checksum.h"
#include "wire/frame.h"
#include "wire/ip.h"

#include <errno.h>

static struct nd_frame_config config;
static struct nd_frame_peer peer, got_peer;
static uint8_t payload[2000];
static uint8_t frame[4096];
static uint32_t bytes;
static struct nd_packet packet;

static inline void begin(unsigned form)
{
	config = nd_frame_config_default();
	peer = wire_peer((enum wire_form)form);
	for (unsigned i = 0; i < sizeof(payload); i++)
		payload[i] = (uint8_t)(i * 7 + 1);
}

static inline uint32_t encode(const struct nd_packet *sent)
{
	bytes = wire_encode(&config, &peer, sent, frame, sizeof(frame));
	CHECK(bytes != 0);
	return bytes;
}

static inline enum nd_wire_error decode(void)
{
	memset(&packet, 0xee, sizeof(packet));
	return nd_frame_decode(&config, frame, bytes, &got_peer, &packet);
}

/* What comes back is what was sent, but for what docs say is not on the wire. */
static inline void round_trip(struct nd_packet sent)
{
	encode(&sent);
	CHECK_EQ(decode(), ND_WIRE_OK);
	CHECK_EQ(packet.wire_bytes, bytes + 24);
	if (sent.payload)
		CHECK_EQ(memcmp(packet.payload, sent.payload, sent.payload_bytes), 0);
	else
		CHECK(packet.payload == NULL);
	if (sent.protocol == ND_PROTO_HOMA && !config.homa_in_udp)
		sent.path = 0;
	sent.payload = packet.payload;
	sent.wire_bytes = packet.wire_bytes;
	sent.header_bytes = packet.header_bytes;
	sent.flow = packet.flow;
	CHECK(wire_same(&packet, &sent));
	CHECK_EQ(memcmp(&got_peer, &peer, sizeof(peer)), 0);
}

static inline uint32_t ip_at(unsigned form)
{
	return form == WIRE_V4_TAGGED || form == WIRE_V6_TAGGED ? 18 : 14;
}

static inline bool is_v4(unsigned form)
{
	return form == WIRE_V4 || form == WIRE_V4_TAGGED;
}

/* IP and UDP lengths as hardware that cuts to `cut` bytes may rewrite them. */
static inline void hardware_lengths(unsigned form, uint32_t cut)
{
	uint32_t udp_at = ip_at(form) + (is_v4(form) ? 20 : 40);

	nd_ip_set_payload(frame + ip_at(form), is_v4(form) ? 4 : 6, 20, cut - udp_at);
	nd_put_u16(frame + udp_at + 4, (uint16_t)(cut - udp_at));
}

static inline void hardware_dscp(unsigned form, uint8_t dscp)
{
	nd_ip_set_class(frame + ip_at(form), is_v4(form) ? 4 : 6, (uint8_t)(dscp << 2));
}

/* The frame decodes to a trimmed wire_ndp_data() with these marks besides. */
static inline void check_trimmed(uint8_t marks)
{
	CHECK_EQ(decode(), ND_WIRE_OK);
	CHECK_EQ(packet.marks, ND_MARK_TRIMMABLE | ND_MARK_TRIMMED | marks);
	CHECK(packet.payload == NULL);
	CHECK_EQ(packet.payload_bytes, 1000);
	CHECK_EQ(packet.ndp.sequence, 0x01020304);
	CHECK_EQ(packet.path, 0x1234);
	CHECK_EQ(packet.header_bytes, packet.wire_bytes);
	CHECK_EQ(packet.wire_bytes, bytes + 24);
}

#endif
