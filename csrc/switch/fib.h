/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Longest-prefix match over IPv4 and IPv6 routes, as copied from the kernel's FIB.
 *
 * One hash table of prefixes; a lookup tries the prefix lengths that exist, longest first. Fabrics
 * have few lengths, so this is two or three probes, and an update touches one entry. IPv4 addresses
 * are IPv4-mapped IPv6 addresses (::ffff:a.b.c.d), a /24 being a /120.
 */
#ifndef ND_SWITCH_FIB_H
#define ND_SWITCH_FIB_H

#include "base/map.h"
#include "base/types.h"

struct nd_fib_route {
	uint8_t prefix[16];
	uint8_t length; /* 0..128 */
	uint32_t group; /* where to: an index of the caller's */
};

struct nd_fib {
	struct nd_map map; /* hash of (prefix, length) -> index in routes */
	struct nd_fib_route *routes;
	uint32_t *free;
	uint32_t free_count;
	uint32_t by_length[129]; /* routes of each length */
	uint64_t lengths[3];     /* bit n: by_length[n] > 0 */
};

size_t nd_fib_bytes(uint32_t limit);
void nd_fib_init(struct nd_fib *fib, void *memory, uint32_t limit, uint64_t salt);

/*
 * Adds or replaces a route. 0, -EINVAL (length, or bits beyond it set), -ENOSPC (full) or -EEXIST
 * (hash collision with another prefix: 2^-64).
 */
int nd_fib_set(struct nd_fib *fib, const uint8_t prefix[16], uint8_t length, uint32_t group);

/* What exactly this prefix leads to, or ND_NONE. */
uint32_t nd_fib_get(const struct nd_fib *fib, const uint8_t prefix[16], uint8_t length);

/* False when there is no such route. */
bool nd_fib_remove(struct nd_fib *fib, const uint8_t prefix[16], uint8_t length);

/* What the longest prefix that holds the address leads to, or ND_NONE. */
uint32_t nd_fib_lookup(const struct nd_fib *fib, const uint8_t address[16]);

#endif
