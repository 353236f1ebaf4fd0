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
	uint64_t salt;  /* unpredictable keys to an attacker who picks ids */
};

size_t nd_map_bytes(uint32_t limit);
void nd_map_init(struct nd_map *map, void *memory, uint32_t limit, uint64_t salt);

/* Adds or replaces; false when the map is full. The value ND_NONE is reserved. */
bool nd_map_set(struct nd_map *map, uint64_t key, uint32_t value);

/* Takes the key out and returns its value, or ND_NONE. */
uint32_t nd_map_remove(struct nd_map *map, uint64_t key);

/* The key's slot, or the empty slot where it would go. */
static inline struct nd_map_slot *nd_map_slot_of(const struct nd_map *map, uint64_t key)
{
	uint32_t at = (uint32_t)nd_mix64(key ^ map->salt) & map->mask;

	while (map->slots[at].value != ND_NONE && map->slots[at].key != key)
		at = (at + 1) & map->mask;
	return &map->slots[at];
}

static inline uint32_t nd_map_get(const struct nd_map *map, uint64_t key)
{
	return nd_map_slot_of(map, key)->value;
}

/* Adds a key; false when it is there already, or when the map is full. */
static inline bool nd_map_add(struct nd_map *map, uint64_t key, uint32_t value)
{
	struct nd_map_slot *slot = nd_map_slot_of(map, key);

	nd_assert(value != ND_NONE);
	if (slot->value != ND_NONE || map->count == map->limit)
		return false;
	map->count++;
	*slot = (struct nd_map_slot){ .key = key, .value = value };
	return true;
}

#endif
