/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Captured frames as pcapng blocks (draft-ietf-opsawg-pcapng), written into caller's memory.
 *
 * A capture is one section header, one interface block for each port and then packet blocks with
 * nanosecond times. A trimmed frame keeps its original length, and a comment may name the verdict.
 */
#ifndef ND_WIRE_PCAPNG_H
#define ND_WIRE_PCAPNG_H

#include "base/types.h"

/* Most bytes of a section or interface block. */
#define ND_PCAPNG_HEADER_MAX 192

#define ND_PCAPNG_COMMENT_MAX 64

/* enum values are those of the epb_flags option. */
enum nd_pcapng_direction {
	ND_PCAPNG_UNKNOWN = 0,
	ND_PCAPNG_INBOUND = 1,
	ND_PCAPNG_OUTBOUND = 2,
};

struct nd_pcapng_packet {
	uint32_t interface;      /* index of its interface block */
	nd_ns time;              /* since the Unix epoch, or virtual */
	const uint8_t *frame;
	uint32_t captured_bytes; /* bytes of frame that are written */
	uint32_t original_bytes; /* length of the frame before trimming or snapping */
	enum nd_pcapng_direction direction;
	const char *comment;     /* NULL, or up to ND_PCAPNG_COMMENT_MAX bytes */
};

/* Each returns the bytes written, or 0 when they do not fit in limit. */
size_t nd_pcapng_section(uint8_t *out, size_t limit, const char *application);
size_t nd_pcapng_interface(uint8_t *out, size_t limit, const char *name, uint32_t snap_bytes);
size_t nd_pcapng_packet(uint8_t *out, size_t limit, const struct nd_pcapng_packet *packet);

#endif
