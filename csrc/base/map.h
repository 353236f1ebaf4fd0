/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A hash map from 64-bit key to 32-bit value in caller's memory: open addressing, linear probing,
 * backward-shift deletion (no tombstones, so it never degrades).
 */
#ifndef ND_BASE_MAP_H
#define ND_BASE_MAP_H

#include "base/rng.h"
#include "base/types.h"

struct nd_map_slot {
	uint64_t key;
	uint32_t value; /* ND_NONE marks an empty slot */
};

struct nd_map {
	struct nd_map_slot *slots;
	uint32_t mask;  /* slots - 1, a power of two at least twice the limit */
	uint32_t count;
	uint32_t limit; /* most entries it holds */
	uint64_t salt;  /* both secret: who picks keys must not know which of them meet */
	uint64_t factor;
};

size_t nd_map_bytes(uint32_t limit);
void nd_map_init(struct nd_map *map, void *memory, uint32_t limit, uint64_t salt);

/* Takes the key out and returns its value, or ND_NONE. */
uint32_t nd_map_remove(struct nd_map *map, uint64_t key);

/*
 * Where the key belongs. Four keys that follow each other belong side by side, in one line of the
 * cache: ids are given in that order, and asked for in it. In where that is, every other bit has a
 * part, in one half of the product or the other; the second factor brings them to the bits that
 * count, whatever pattern the keys have.
 */
static inline uint32_t nd_map_home(const struct nd_map *map, uint64_t key)
{
	unsigned __int128 product = (unsigned __int128)(key >> 2 ^ map->salt) * map->factor;
	uint64_t folded = (uint64_t)(product >> 64) ^ (uint64_t)product;
	uint64_t line = folded * map->factor >> 32;

	return (uint32_t)(line << 2 | (key & 3)) & map->mask;
}

/* The key's slot, or the empty slot where it would go. */
static inline struct nd_map_slot *nd_map_slot_of(const struct nd_map *map, uint64_t key)
{
	uint32_t at = nd_map_home(map, key);

	while (map->slots[at].value != ND_NONE && map->slots[at].key != key)
		at = (at + 1) & map->mask;
	return &map->slots[at];
}

static inline uint32_t nd_map_get(const struct nd_map *map, uint64_t key)
{
	return nd_map_slot_of(map, key)->value;
}

/*
 * Puts a value where nd_map_slot_of() has just found the key, or room for it; false when the map is
 * full.
 */
static inline bool nd_map_fill(struct nd_map *map, struct nd_map_slot *slot, uint64_t key,
			       uint32_t value)
{
	nd_assert(value != ND_NONE);
	if (slot->value == ND_NONE) {
		if (map->count == map->limit)
			return false;
		map->count++;
	}
	*slot = (struct nd_map_slot){ .key = key, .value = value };
	return true;
}

/* Adds or replaces; false when the map is full. The value ND_NONE is reserved. */
static inline bool nd_map_set(struct nd_map *map, uint64_t key, uint32_t value)
{
	return nd_map_fill(map, nd_map_slot_of(map, key), key, value);
}

#endif
