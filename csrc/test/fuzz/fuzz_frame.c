// SPDX-License-Identifier: Apache-2.0
/* Arbitrary frames through the decoder; what decodes also survives encoding. */
#include "test/fuzz/fuzz.h"

#include "test/fuzz/heal.h"
#include "test/wire.h"

static void check_other(const struct nd_packet *packet)
{
	FUZZ_CHECK(packet->payload == NULL && packet->payload_bytes == 0);
	FUZZ_CHECK(packet->protocol == ND_PROTO_OTHER);
	FUZZ_CHECK(packet->header_bytes == packet->wire_bytes);
}

static void check_ours(const uint8_t *frame, uint32_t bytes, const struct nd_packet *packet)
{
	FUZZ_CHECK(packet->protocol == ND_PROTO_NDP || packet->protocol == ND_PROTO_HOMA);
	FUZZ_CHECK(packet->header_bytes <= packet->wire_bytes);
	FUZZ_CHECK(packet->priority < 8);
	if (packet->payload)
		FUZZ_CHECK(packet->payload >= frame &&
			   packet->payload + packet->payload_bytes <= frame + bytes);
	FUZZ_CHECK(packet->payload || packet->payload_bytes == 0 ||
		   packet->marks & ND_MARK_TRIMMED);
}

/* What decode understood, encode can say, and decode understands it alike. */
static void check_again(const struct nd_frame_config *config, const struct nd_frame_peer *peer,
			const struct nd_packet *packet)
{
	static uint8_t frame[UINT16_MAX];
	struct nd_frame_peer again_peer;
	struct nd_packet again;
	uint32_t bytes = wire_encode(config, peer, packet, frame, sizeof(frame));

	FUZZ_CHECK(bytes != 0);
	FUZZ_CHECK(nd_frame_decode(config, frame, bytes, &again_peer, &again) == ND_WIRE_OK);
	FUZZ_CHECK(again.payload_bytes == packet->payload_bytes);
	if (packet->payload)
		FUZZ_CHECK(memcmp(again.payload, packet->payload, again.payload_bytes) == 0);
	again.payload = packet->payload;
	again.wire_bytes = packet->wire_bytes;
	again.header_bytes = packet->header_bytes;
	again.path = packet->path; /* Homa has none of its own */
	again.flow = packet->flow;
	/* Homa's code points and ours may be remarked on the way: then it is not what we send. */
	again.priority = packet->priority;
	again.marks = packet->marks;
	if (packet->protocol == ND_PROTO_HOMA && !packet->homa.ack_count)
		again.homa.ack_ports[0] = packet->homa.ack_ports[0]; /* of nothing: ignored */
	FUZZ_CHECK(wire_same(&again, packet));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct nd_frame_config config = nd_frame_config_default();
	struct nd_frame_peer peer;
	struct nd_packet packet;
	enum nd_wire_error error;
	uint8_t *frame;
	uint32_t bytes;

	if (size < 1 || size > UINT16_MAX - 100)
		return 0;
	config.verify = data[0] & 3 ? data[0] % 3 : ND_FRAME_VERIFY_NONE;
	config.homa_in_udp = data[0] & 4;
	bytes = (uint32_t)size - 1;
	frame = fuzz_copy(data + 1, bytes);
	if (data[0] & 8)
		heal_frame(&config, frame, bytes);
	error = nd_frame_decode(&config, frame, bytes, &peer, &packet);
	if (error != ND_WIRE_OK || packet.protocol == ND_PROTO_OTHER) {
		check_other(&packet);
	} else {
		check_ours(frame, bytes, &packet);
		if (nd_ip_is_v4(peer.source) == nd_ip_is_v4(peer.target))
			check_again(&config, &peer, &packet);
	}
	free(frame);
	return 0;
}
