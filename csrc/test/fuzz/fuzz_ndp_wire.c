// SPDX-License-Identifier: Apache-2.0
/* Arbitrary NDP headers, sealed so that they pass their check, through the codec. */
#include "test/fuzz/fuzz.h"

#include "test/fuzz/heal.h"
#include "wire/ndp.h"
#include "wire/packet.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct nd_packet packet = { 0 };
	uint32_t bytes = (uint32_t)size;
	uint8_t out[ND_NDP_HEADER_BYTES];
	uint8_t *in;

	if (size > UINT16_MAX)
		return 0;
	in = fuzz_copy(data, size);
	if (size >= ND_NDP_HEADER_BYTES)
		heal_ndp(in, 0);
	if (nd_ndp_decode(in, bytes, 0, &packet) == ND_WIRE_OK) {
		FUZZ_CHECK(packet.header_bytes >= ND_NDP_HEADER_BYTES);
		FUZZ_CHECK(packet.header_bytes <= size);
		if (packet.payload)
			FUZZ_CHECK(packet.payload + packet.payload_bytes <= in + size);
		nd_ndp_payload_holds(in, &packet);
		nd_ndp_encode(&packet, 0, nd_get_u32(in + 32), out);
		/* Equal but for the spare bits, the header length, and where nothing was cut. */
		in[2] &= (uint8_t)~7;
		in[3] = 10;
		if ((in[2] & ND_NDP_TRIM_MASK) >> ND_NDP_TRIM_SHIFT == ND_NDP_TRIM_RESERVED ||
		    packet.marks & (ND_MARK_CONTROL | ND_MARK_TRIMMED))
			in[2] = out[2];
		FUZZ_CHECK(memcmp(in, out, 36) == 0);
	}
	free(in);
	return 0;
}
