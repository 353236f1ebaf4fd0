// SPDX-License-Identifier: Apache-2.0
/* Splitting and merging of buddies. */
#include "base/arena.h"

#include <errno.h>
#include <string.h>

/* state[i]: block i is inside a larger one, or starts a block that is free, in use or kept. */
#define STATE_INSIDE 0x00
#define STATE_FREE 0x40
#define STATE_USED 0x80
#define STATE_KEPT 0xc0
#define STATE_ORDER 0x3f
#define STATE_KIND 0xc0

size_t nd_arena_bytes(size_t region_bytes, uint32_t block_bytes)
{
	size_t blocks = region_bytes / block_bytes;

	return blocks * (2 * sizeof(uint32_t) + 1);
}

static void list_push(struct nd_arena *arena, uint32_t block, uint32_t order)
{
	uint32_t head = arena->heads[order];

	arena->state[block] = (uint8_t)(STATE_FREE | order);
	arena->next[block] = head;
	arena->previous[block] = ND_NONE;
	if (head != ND_NONE)
		arena->previous[head] = block;
	arena->heads[order] = block;
}

static void list_remove(struct nd_arena *arena, uint32_t block, uint32_t order)
{
	uint32_t next = arena->next[block];
	uint32_t previous = arena->previous[block];

	if (next != ND_NONE)
		arena->previous[next] = previous;
	if (previous != ND_NONE)
		arena->next[previous] = next;
	else
		arena->heads[order] = next;
	arena->state[block] = STATE_INSIDE;
}

void nd_arena_init(struct nd_arena *arena, void *metadata, uint8_t *region, size_t region_bytes,
		   uint32_t block_bytes)
{
	uint32_t blocks = (uint32_t)(region_bytes / block_bytes);
	uint32_t at = 0;

	nd_assert(block_bytes && (block_bytes & (block_bytes - 1)) == 0);
	nd_assert(region_bytes % block_bytes == 0 && region_bytes / block_bytes < ND_NONE);
	*arena = (struct nd_arena){
		.region = region,
		.next = metadata,
		.blocks = blocks,
		.block_bytes = block_bytes,
	};
	arena->previous = arena->next + blocks;
	arena->state = (uint8_t *)(arena->previous + blocks);
	memset(arena->state, STATE_INSIDE, blocks);
	memset(arena->heads, 0xff, sizeof(arena->heads));
	memset(arena->kept, 0xff, sizeof(arena->kept));
	/* A region that is no power of two is tiled by ever smaller aligned blocks. */
	while (at < blocks) {
		uint32_t order = nd_top_bit_u32(blocks - at);

		arena->orders = nd_max_u32(arena->orders, order + 1);
		list_push(arena, at, order);
		at += UINT32_C(1) << order;
	}
}

static uint32_t order_for(const struct nd_arena *arena, uint32_t bytes)
{
	uint64_t blocks = ((uint64_t)bytes + arena->block_bytes - 1) / arena->block_bytes;

	return blocks <= 1 ? 0 : 64 - (uint32_t)__builtin_clzll(blocks - 1);
}

/* Takes a block from the smallest free one that holds it; ND_NONE when there is none. */
static uint32_t split(struct nd_arena *arena, uint32_t wanted)
{
	uint32_t order = wanted;
	uint32_t block;

	while (order < arena->orders && arena->heads[order] == ND_NONE)
		order++;
	if (order >= arena->orders)
		return ND_NONE;
	block = arena->heads[order];
	list_remove(arena, block, order);
	while (order > wanted) {
		order--;
		list_push(arena, block + (UINT32_C(1) << order), order);
	}
	return block;
}

/* Makes a block free, and one with its buddies as far as they are free. */
static void merge(struct nd_arena *arena, uint32_t block, uint32_t order)
{
	arena->state[block] = STATE_INSIDE;
	for (; order + 1 < arena->orders; order++) {
		uint32_t buddy = block ^ (UINT32_C(1) << order);

		if (buddy >= arena->blocks || arena->state[buddy] != (STATE_FREE | order))
			break;
		list_remove(arena, buddy, order);
		block &= ~(UINT32_C(1) << order);
	}
	list_push(arena, block, order);
}

static void keep(struct nd_arena *arena, uint32_t block, uint32_t order)
{
	arena->state[block] = (uint8_t)(STATE_KEPT | order);
	arena->next[block] = arena->kept[order];
	arena->kept[order] = block;
	arena->kept_counts[order]++;
}

/* A kept block of this order, or ND_NONE. */
static uint32_t take_kept(struct nd_arena *arena, uint32_t order)
{
	uint32_t block = arena->kept[order];

	if (block != ND_NONE) {
		arena->kept[order] = arena->next[block];
		arena->kept_counts[order]--;
	}
	return block;
}

static void merge_kept(struct nd_arena *arena)
{
	uint32_t block;

	for (uint32_t order = 0; order < arena->orders; order++)
		while ((block = take_kept(arena, order)) != ND_NONE)
			merge(arena, block, order);
}

uint8_t *nd_arena_get(struct nd_arena *arena, uint32_t bytes)
{
	uint32_t order = order_for(arena, bytes);
	uint32_t block;

	if (ND_UNLIKELY(order >= arena->orders))
		return NULL;
	block = take_kept(arena, order);
	if (block == ND_NONE)
		block = split(arena, order);
	if (ND_UNLIKELY(block == ND_NONE)) {
		merge_kept(arena);
		block = split(arena, order);
	}
	if (block == ND_NONE)
		return NULL;
	arena->state[block] = (uint8_t)(STATE_USED | order);
	arena->blocks_used += UINT32_C(1) << order;
	return arena->region + (size_t)block * arena->block_bytes;
}

int nd_arena_put(struct nd_arena *arena, const uint8_t *memory)
{
	size_t offset = (size_t)((uintptr_t)memory - (uintptr_t)arena->region);
	uint32_t block = (uint32_t)(offset / arena->block_bytes);
	uint32_t order;

	if (memory < arena->region || offset / arena->block_bytes >= arena->blocks ||
	    offset % arena->block_bytes || (arena->state[block] & STATE_KIND) != STATE_USED)
		return -EINVAL;
	order = arena->state[block] & STATE_ORDER;
	arena->blocks_used -= UINT32_C(1) << order;
	if (arena->kept_counts[order] < ND_ARENA_KEEP)
		keep(arena, block, order);
	else
		merge(arena, block, order);
	return 0;
}

static bool lists_are_sound(const struct nd_arena *arena, uint32_t *free_blocks)
{
	for (uint32_t order = 0; order < arena->orders; order++) {
		uint32_t previous = ND_NONE;

		for (uint32_t i = arena->heads[order]; i != ND_NONE; i = arena->next[i]) {
			if (i >= arena->blocks || arena->state[i] != (STATE_FREE | order) ||
			    arena->previous[i] != previous)
				return false;
			*free_blocks += UINT32_C(1) << order;
			if (*free_blocks > arena->blocks)
				return false;
			previous = i;
		}
	}
	return true;
}

static bool kept_are_sound(const struct nd_arena *arena, uint32_t *free_blocks)
{
	for (uint32_t order = 0; order < arena->orders; order++) {
		uint32_t count = 0;

		for (uint32_t i = arena->kept[order]; i != ND_NONE; i = arena->next[i]) {
			if (++count > ND_ARENA_KEEP || i >= arena->blocks ||
			    arena->state[i] != (STATE_KEPT | order))
				return false;
			*free_blocks += UINT32_C(1) << order;
		}
		if (count != arena->kept_counts[order])
			return false;
	}
	return true;
}

bool nd_arena_check(const struct nd_arena *arena)
{
	uint32_t free_blocks = 0;
	uint32_t used = 0;
	uint32_t at = 0;

	if (!lists_are_sound(arena, &free_blocks) || !kept_are_sound(arena, &free_blocks))
		return false;
	while (at < arena->blocks) {
		uint32_t span = UINT32_C(1) << (arena->state[at] & STATE_ORDER);

		if (arena->state[at] == STATE_INSIDE)
			return false;
		used += (arena->state[at] & STATE_KIND) == STATE_USED ? span : 0;
		at += span;
	}
	return at == arena->blocks && used == arena->blocks_used &&
	       used + free_blocks == arena->blocks;
}
