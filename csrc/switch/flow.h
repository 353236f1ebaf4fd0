/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What tells flows apart in a fabric that hashes: addresses, protocol and ports (R-EC-1), as any
 * switch takes them. A sender that varies its UDP source port so varies its path.
 */
#ifndef ND_SWITCH_FLOW_H
#define ND_SWITCH_FLOW_H

#include "wire/frame.h"

struct nd_flow_key {
	uint64_t hash;  /* of the five-tuple; of the Ethernet addresses where there is no IP */
	uint32_t path;  /* chosen by the sender, or ND_ECMP_NO_PATH */
};

/* A frame of at least an Ethernet header. */
struct nd_flow_key nd_flow_of(const struct nd_frame_config *config, const uint8_t *frame,
			      uint32_t bytes);

#endif
