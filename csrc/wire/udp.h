/* SPDX-License-Identifier: Apache-2.0 */
/* The UDP header. */
#ifndef ND_WIRE_UDP_H
#define ND_WIRE_UDP_H

#include "wire/bytes.h"

#define ND_UDP_BYTES 8u
#define ND_UDP_PROTOCOL 17
#define ND_UDP_TARGET_PORT_AT 2u
#define ND_UDP_LENGTH_AT 4u
#define ND_UDP_CHECKSUM_AT 6u

/* Writes the header. Its checksum is 0: none, see docs/protocol-ndp.md, section 1. */
static inline void nd_udp_encode(uint16_t source_port, uint16_t target_port,
				 uint32_t payload_bytes, uint8_t *out)
{
	nd_put_u64(out, (uint64_t)source_port << 48 | (uint64_t)target_port << 32 |
				(uint64_t)(ND_UDP_BYTES + payload_bytes) << 16);
}

#endif
