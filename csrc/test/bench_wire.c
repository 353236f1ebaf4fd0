// SPDX-License-Identifier: Apache-2.0
/*
 * The codec's hot paths for callgrind: run twice with different --count, divide the difference.
 *
 *	bench_wire CASE --count N    CASE: encode-ndp decode-ndp encode-ndp6 decode-ndp6
 *				     encode-homa decode-homa trim bounce, as below
 *
 * Such frames are usual ones; encode-ndp-tagged and encode-homa-grant (decode-...) are not.
 *
 * Payload is 0 bytes and Homa's checksum off, so that what is counted is headers; with -data in
 * place of nothing (encode-ndp-data ...) payload is 1408 bytes and every check is on.
 */
#include "test/wire.h"

#include <stdio.h>
#include <stdlib.h>

static struct nd_frame_config config;
static struct nd_frame_peer peer, got;
static struct nd_frame_template template;
static struct nd_packet sent, packet;
static uint8_t payload[1408], frame[2048];
static uint32_t bytes;
static volatile uint32_t sink;

static void encode(uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		sent.path = (uint16_t)i;
		sink = nd_frame_encode(&template, &sent, frame, sizeof(frame));
	}
}

static void decode(uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		sink = nd_frame_decode(&config, frame, bytes, &got, &packet);
}

static void trim(uint32_t count)
{
	static const struct nd_frame_trim how = { .dscp = 43, .location = ND_NDP_TRIM_FABRIC };
	static uint8_t copy[2048];

	for (uint32_t i = 0; i < count; i++) {
		memcpy(copy, frame, 128);
		sink = nd_frame_trim(&config, copy, bytes, &how);
	}
}

static void bounce(uint32_t count)
{
	static const struct nd_frame_trim how = { .dscp = 43, .location = ND_NDP_TRIM_FABRIC };
	static uint8_t copy[2048];

	for (uint32_t i = 0; i < count; i++) {
		memcpy(copy, frame, 128);
		sink = nd_frame_bounce(&config, copy, bytes, &how);
	}
}

static void set_up(const char *name)
{
	bool data = strstr(name, "-data") || !strchr(name, '-');

	config = nd_frame_config_default();
	config.source_port_first = 1;
	config.source_port_count = UINT16_MAX; /* whatever the path, it has a port of its own */
	config.homa_checksum = data;
	config.verify = data ? ND_FRAME_VERIFY_ALL : ND_FRAME_VERIFY_NONE;
	peer = wire_peer(strchr(name, '6')	   ? WIRE_V6 :
			 strstr(name, "-tagged") ? WIRE_V4_TAGGED : WIRE_V4);
	sent = strstr(name, "homa") ? wire_homa_data(payload) : wire_ndp_data(payload);
	sent.payload_bytes = data ? sizeof(payload) : 0;
	if (strstr(name, "-grant"))
		sent.type = ND_HOMA_GRANT;
	nd_frame_prepare(&config, &peer, &template);
	bytes = nd_frame_encode(&template, &sent, frame, sizeof(frame));
}

int main(int argc, char **argv)
{
	void (*run)(uint32_t);
	uint32_t count;

	if (argc != 4 || strcmp(argv[2], "--count") != 0) {
		fprintf(stderr, "usage: %s CASE --count N\n", argv[0]);
		return 2;
	}
	count = (uint32_t)strtoul(argv[3], NULL, 10);
	run = strncmp(argv[1], "encode", 6) == 0 ? encode :
	      strncmp(argv[1], "decode", 6) == 0 ? decode :
	      strcmp(argv[1], "trim") == 0	 ? trim : bounce;
	set_up(argv[1]);
	run(count);
	return packet.protocol == ND_PROTO_OTHER && run == decode && count;
}
