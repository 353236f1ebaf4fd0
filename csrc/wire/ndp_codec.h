/* SPDX-License-Identifier: Apache-2.0 */
/* Where what lies in an NDP header; see docs/protocol-ndp.md, section 2. */
#ifndef ND_WIRE_NDP_CODEC_H
#define ND_WIRE_NDP_CODEC_H

#include "wire/packet.h"

#define ND_NDP_HEADER_WORDS (ND_NDP_HEADER_BYTES / 4)
#define ND_NDP_PAYLOAD_CHECK_AT 32u
#define ND_NDP_HEADER_CHECK_AT 36u

/* Shifts within the first word of a header. */
#define ND_NDP_VERSION_SHIFT 28
#define ND_NDP_TYPE_SHIFT 24
#define ND_NDP_FLAGS_SHIFT 16
#define ND_NDP_STATE_SHIFT 8 /* priority and trim */
#define ND_NDP_FIRST_BOUNCED ((uint32_t)ND_NDP_BOUNCED << ND_NDP_FLAGS_SHIFT)

/* In the first word: set by switches, and what it says of itself. */
#define ND_NDP_FIRST_ODD                                       \
	(UINT32_C(15) << ND_NDP_VERSION_SHIFT | ND_NDP_FIRST_BOUNCED | \
	 (uint32_t)ND_NDP_TRIM_MASK << ND_NDP_STATE_SHIFT | 0xff)
#define ND_NDP_FIRST_PLAIN ((uint32_t)ND_NDP_VERSION << ND_NDP_VERSION_SHIFT | ND_NDP_HEADER_WORDS)

#endif
