/* SPDX-License-Identifier: Apache-2.0 */
/* Makes checks of a mutated frame right, so that fuzzing gets past them. */
#ifndef ND_TEST_FUZZ_HEAL_H
#define ND_TEST_FUZZ_HEAL_H

#include "base/crc32c.h"
#include "wire/layout.h"

static inline void heal_ndp(uint8_t *header, uint32_t seed)
{
	nd_put_u32(header + 36, nd_crc32c_add(seed, header, 36));
}

static inline void heal_frame(const struct nd_frame_config *config, uint8_t *frame, uint32_t bytes)
{
	struct nd_layout layout;
	enum nd_wire_error error = nd_layout_read(config, frame, bytes, &layout);
	uint8_t *ip = frame + layout.ip_at;
	uint32_t seed = 0;

	if (error == ND_WIRE_ip_checksum) {
		uint16_t sum;

		memset(ip + ND_IPV4_CHECKSUM_AT, 0, 2);
		sum = (uint16_t)~nd_checksum_fold(nd_checksum_add(0, ip, layout.ip.bytes));
		memcpy(ip + ND_IPV4_CHECKSUM_AT, &sum, 2);
		error = ND_WIRE_OK;
	}
	if (error != ND_WIRE_OK || layout.protocol != ND_PROTO_NDP ||
	    layout.end - layout.message_at < ND_NDP_HEADER_BYTES)
		return;
	if (layout.ip.version == 6)
		seed = nd_ndp_check_seed(ip + ND_IPV6_ADDRESSES_AT);
	heal_ndp(frame + layout.message_at, seed);
}

#endif
