// SPDX-License-Identifier: Apache-2.0
/* Insertion and deletion of the open-addressing map. */
#include "base/map.h"

static uint32_t slot_count(uint32_t limit)
{
	uint32_t slots = 2;

	while (slots < 2 * (uint64_t)limit)
		slots *= 2;
	return slots;
}

size_t nd_map_bytes(uint32_t limit)
{
	return slot_count(limit) * sizeof(struct nd_map_slot);
}

void nd_map_init(struct nd_map *map, void *memory, uint32_t limit, uint64_t salt)
{
	nd_assert(limit < UINT32_C(1) << 30);
	nd_assert(((uintptr_t)memory & 7) == 0);
	*map = (struct nd_map){
		.slots = memory,
		.mask = slot_count(limit) - 1,
		.limit = limit,
		.salt = salt,
		.factor = nd_mix64(salt) | 1,
	};
	for (uint32_t i = 0; i <= map->mask; i++)
		map->slots[i] = (struct nd_map_slot){ .value = ND_NONE };
}

uint32_t nd_map_remove(struct nd_map *map, uint64_t key)
{
	uint32_t hole = (uint32_t)(nd_map_slot_of(map, key) - map->slots);
	uint32_t value = map->slots[hole].value;

	if (value == ND_NONE)
		return ND_NONE;
	for (uint32_t at = (hole + 1) & map->mask; map->slots[at].value != ND_NONE;
	     at = (at + 1) & map->mask) {
		uint32_t home = nd_map_home(map, map->slots[at].key);

		/* Move back what may live at the hole: its home is not in (hole, at]. */
		if (((at - home) & map->mask) >= ((at - hole) & map->mask)) {
			map->slots[hole] = map->slots[at];
			hole = at;
		}
	}
	map->slots[hole].value = ND_NONE;
	map->count--;
	return value;
}
