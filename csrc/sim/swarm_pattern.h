/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the swarm's messages contain: bytes that follow from a key, so that any byte out of place
 * shows, and from 16 bytes on the key itself, so that a receiver knows which message it holds.
 */
#ifndef ND_SIM_SWARM_PATTERN_H
#define ND_SIM_SWARM_PATTERN_H

#include "base/types.h"

#define ND_SWARM_IDENTITY_BYTES 16

void nd_swarm_pattern_fill(uint64_t seed, uint32_t key, uint8_t *bytes, uint32_t count);

/* True when the bytes are what fill writes. */
bool nd_swarm_pattern_check(uint64_t seed, uint32_t key, const uint8_t *bytes, uint32_t count);

/* The key in a message's first 16 bytes, or ND_NONE when they are not an identity. */
uint32_t nd_swarm_pattern_key(uint64_t seed, const uint8_t *bytes);

#endif
