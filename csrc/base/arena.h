/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A buddy allocator over one region of memory: where received messages are assembled.
 *
 * The region may be shared with an application, so nothing that the allocator believes is kept in
 * it: blocks are described by metadata apart, and giving back something that is not a block in use
 * is an error, not a corrupted list. Allocation is deterministic and takes O(log(region)).
 *
 * A few blocks of each size are kept as they are when they come back, and only merged when there
 * is no room otherwise: who gets and gives back small blocks in turn would split and merge the
 * whole region each time.
 */
#ifndef ND_BASE_ARENA_H
#define ND_BASE_ARENA_H

#include "base/types.h"

#define ND_ARENA_ORDERS_MAX 32
#define ND_ARENA_KEEP 16u /* blocks of one size that are not merged at once */

struct nd_arena {
	uint8_t *region;
	uint8_t *state;     /* per smallest block: what starts there, see arena.c */
	uint32_t *next;     /* links of the free lists, by block index */
	uint32_t *previous;
	uint32_t heads[ND_ARENA_ORDERS_MAX]; /* first free block of each order, or ND_NONE */
	uint32_t kept[ND_ARENA_ORDERS_MAX];  /* first kept one, likewise; they are linked by next */
	uint32_t kept_counts[ND_ARENA_ORDERS_MAX];
	uint32_t blocks;      /* smallest blocks in the region */
	uint32_t block_bytes; /* size of a smallest block, a power of two */
	uint32_t orders;      /* orders 0..orders-1 exist */
	uint32_t blocks_used;
};

/* Bytes of metadata for a region; block_bytes is a power of two that divides region_bytes. */
size_t nd_arena_bytes(size_t region_bytes, uint32_t block_bytes);

/* metadata is 8-byte aligned. The region need not be a power of two. */
void nd_arena_init(struct nd_arena *arena, void *metadata, uint8_t *region, size_t region_bytes,
		   uint32_t block_bytes);

/* A block of at least bytes (the smallest one for 0), or NULL when none is free. */
uint8_t *nd_arena_get(struct nd_arena *arena, uint32_t bytes);

/* Gives a block back. 0, or -EINVAL when memory is not the start of a block in use. */
int nd_arena_put(struct nd_arena *arena, const uint8_t *memory);

static inline size_t nd_arena_used_bytes(const struct nd_arena *arena)
{
	return (size_t)arena->blocks_used * arena->block_bytes;
}

/* True when blocks in use and free blocks tile the region and every free list is sound. O(n). */
bool nd_arena_check(const struct nd_arena *arena);

#endif
