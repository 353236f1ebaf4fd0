// SPDX-License-Identifier: Apache-2.0
/* Arbitrary Homa packets through the codec; what decodes is encoded to the same meaning. */
#include "test/fuzz/fuzz.h"

#include "test/wire.h"
#include "wire/homa.h"
#include "wire/packet.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct nd_packet packet = { .protocol = ND_PROTO_HOMA }, again = packet;
	uint8_t out[ND_HOMA_HEADER_BYTES_MAX + UINT16_MAX];
	uint8_t *in;

	if (size > UINT16_MAX)
		return 0;
	in = fuzz_copy(data, size);
	if (nd_homa_decode(in, (uint32_t)size, &packet) == ND_WIRE_OK) {
		uint32_t bytes = nd_homa_encode(&packet, out);

		FUZZ_CHECK(bytes == nd_homa_header_bytes(packet.type));
		if (packet.payload) {
			FUZZ_CHECK(packet.payload + packet.payload_bytes == in + size);
			memcpy(out + bytes, packet.payload, packet.payload_bytes);
		}
		FUZZ_CHECK(nd_homa_decode(out, bytes + packet.payload_bytes, &again) == ND_WIRE_OK);
		again.payload = packet.payload;
		again.header_bytes = packet.header_bytes;
		if (!again.homa.ack_count) /* a port without an id acknowledges nothing */
			again.homa.ack_ports[0] = packet.homa.ack_ports[0];
		FUZZ_CHECK(wire_same(&again, &packet));
	}
	free(in);
	return 0;
}
