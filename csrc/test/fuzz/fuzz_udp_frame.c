// SPDX-License-Identifier: Apache-2.0
/* Arbitrary frames taken apart for a socket; what is found can be built and found again. */
#include "test/fuzz/fuzz.h"

#include "port/udp_frame.h"

static void check_again(const struct nd_udp_datagram *datagram)
{
	static uint8_t frame[ND_UDP_HEADERS_MAX + UINT16_MAX];
	uint8_t *payload = frame + ND_UDP_HEADERS_MAX;
	struct nd_udp_datagram again;
	uint32_t headers;

	memcpy(payload, datagram->payload, datagram->payload_bytes);
	headers = nd_udp_frame_build(payload, datagram->payload_bytes, &datagram->target,
				     &datagram->target, datagram->traffic_class);
	FUZZ_CHECK(headers <= ND_UDP_HEADERS_MAX);
	FUZZ_CHECK(nd_udp_frame_parse(payload - headers, headers + datagram->payload_bytes,
				      datagram->target.any.sa_family, &again));
	FUZZ_CHECK(again.payload == payload && again.payload_bytes == datagram->payload_bytes);
	FUZZ_CHECK(again.traffic_class == datagram->traffic_class);
	FUZZ_CHECK(memcmp(&again.target, &datagram->target,
			  again.target.any.sa_family == AF_INET ? sizeof(again.target.v4)
								: sizeof(again.target.v6)) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const sa_family_t families[] = { AF_INET, AF_INET6 };
	struct nd_udp_datagram datagram;
	uint8_t *frame = fuzz_copy(data, size);

	for (uint32_t i = 0; i < 2; i++) {
		if (!nd_udp_frame_parse(frame, (uint32_t)size, families[i], &datagram))
			continue;
		FUZZ_CHECK(datagram.target.any.sa_family == families[i]);
		FUZZ_CHECK(datagram.payload >= frame &&
			   datagram.payload + datagram.payload_bytes <= frame + size);
		check_again(&datagram);
	}
	free(frame);
	return 0;
}
