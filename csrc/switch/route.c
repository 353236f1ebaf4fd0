// SPDX-License-Identifier: Apache-2.0
/* The table of routes behind the FIB. */
#include "switch/route.h"

#include <errno.h>

static size_t round_up_64(size_t bytes)
{
	return (bytes + 63) & ~(size_t)63;
}

size_t nd_routes_bytes(uint32_t limit)
{
	return nd_fib_bytes(limit) + round_up_64((size_t)limit * sizeof(struct nd_route)) +
	       round_up_64((size_t)limit * sizeof(uint32_t));
}

void nd_routes_init(struct nd_routes *routes, void *memory, uint32_t limit, uint64_t salt)
{
	uint8_t *at = memory;

	*routes = (struct nd_routes){ .limit = limit };
	nd_fib_init(&routes->fib, at, limit, salt);
	at += nd_fib_bytes(limit);
	routes->table = (struct nd_route *)(void *)at;
	at += round_up_64((size_t)limit * sizeof(struct nd_route));
	routes->free = (uint32_t *)(void *)at;
	for (uint32_t i = limit; i > 0; i--)
		routes->free[routes->free_count++] = i - 1;
}

int nd_routes_set(struct nd_routes *routes, const uint8_t prefix[16], uint8_t length,
		  const struct nd_route *route)
{
	uint32_t index = nd_fib_get(&routes->fib, prefix, length);
	int status;

	if (index == ND_NONE) {
		if (routes->free_count == 0)
			return -ENOSPC;
		index = routes->free[routes->free_count - 1];
		status = nd_fib_set(&routes->fib, prefix, length, index);
		if (status < 0)
			return status;
		routes->free_count--;
	}
	routes->table[index] = *route;
	return 0;
}

bool nd_routes_remove(struct nd_routes *routes, const uint8_t prefix[16], uint8_t length)
{
	uint32_t index = nd_fib_get(&routes->fib, prefix, length);

	if (index == ND_NONE)
		return false;
	nd_fib_remove(&routes->fib, prefix, length);
	routes->free[routes->free_count++] = index;
	return true;
}

void nd_routes_forget(struct nd_routes *routes, uint16_t to)
{
	struct nd_fib *fib = &routes->fib;
	uint32_t slot = 0;

	while (nd_routes_count(routes) && slot <= fib->map.mask) {
		uint32_t index = fib->map.slots[slot].value;
		const struct nd_fib_route *entry = &fib->routes[index];

		/* Taking one out may move another into this slot. */
		if (index != ND_NONE && routes->table[entry->group].to == to)
			nd_routes_remove(routes, entry->prefix, entry->length);
		else
			slot++;
	}
}
