/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Routes: prefixes that lead to a port or a group of ports, and who is there to take the frame.
 *
 * The FIB finds the entry; the entry says which Ethernet address the next hop has on each port
 * that it may leave by. Both are the kernel's, copied by the control plane.
 */
#ifndef ND_SWITCH_ROUTE_H
#define ND_SWITCH_ROUTE_H

#include "switch/ecmp.h"
#include "switch/fib.h"

/* Somebody on a port's link. */
struct nd_route_hop {
	uint16_t port;
	uint8_t mac[6];
};

struct nd_route {
	uint16_t to; /* port, or ND_SWITCH_GROUP | group */
	uint8_t count;
	struct nd_route_hop hops[ND_ECMP_MEMBERS_MAX]; /* one for each port that it may leave by */
};

struct nd_routes {
	struct nd_fib fib; /* prefix -> index in table */
	struct nd_route *table;
	uint32_t *free;
	uint32_t free_count;
	uint32_t limit; /* 0: the switch does not route */
};

size_t nd_routes_bytes(uint32_t limit);
void nd_routes_init(struct nd_routes *routes, void *memory, uint32_t limit, uint64_t salt);

/* Adds or replaces; as nd_fib_set. */
int nd_routes_set(struct nd_routes *routes, const uint8_t prefix[16], uint8_t length,
		  const struct nd_route *route);
bool nd_routes_remove(struct nd_routes *routes, const uint8_t prefix[16], uint8_t length);

/* Takes out all routes that lead to a port or group. O(limit). */
void nd_routes_forget(struct nd_routes *routes, uint16_t to);

static inline uint32_t nd_routes_count(const struct nd_routes *routes)
{
	return routes->limit - routes->free_count;
}

/* The route of an address, or NULL. */
static inline const struct nd_route *nd_routes_lookup(const struct nd_routes *routes,
						      const uint8_t address[16])
{
	uint32_t index = nd_fib_lookup(&routes->fib, address);

	return index == ND_NONE ? NULL : &routes->table[index];
}

/* The next hop's Ethernet address on a port, or NULL when nobody is known there. */
static inline const uint8_t *nd_route_mac(const struct nd_route *route, uint32_t port)
{
	for (uint32_t i = 0; i < route->count; i++) {
		if (route->hops[i].port == port)
			return route->hops[i].mac;
	}
	return NULL;
}

#endif
