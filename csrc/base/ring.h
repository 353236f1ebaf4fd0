/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The two cursors of a single-producer, single-consumer ring; the slots are the caller's.
 *
 * The shared part may lie in memory that another process maps. Each end keeps a private copy of
 * its own cursor and of the ring's size, so a hostile other end can at most lie about its own
 * cursor, and a lie beyond the ring's size is found (ND_RING_CORRUPT).
 *
 *	producer: room = nd_ring_room(r, n); fill slots nd_ring_slot(r, 0..room-1);
 *		  nd_ring_publish(r, room); if (nd_ring_must_wake(r)) write the eventfd
 *	consumer: n = nd_ring_filled(r, n); read slots nd_ring_slot(r, 0..n-1);
 *		  nd_ring_retire(r, n); before blocking: nd_ring_arm(r)
 *
 * Memory order: each cursor is stored with release by its owner and loaded with acquire by the
 * other end, so slots are full before head says so (publish, filled), and read before tail gives
 * them back (retire, room). Who blocks says so and looks at head once more; who publishes moves
 * head and looks who blocks. With a full fence between the two steps at both ends, one of them
 * sees the other: no wake-up is lost.
 */
#ifndef ND_BASE_RING_H
#define ND_BASE_RING_H

#include "base/types.h"

#define ND_RING_CORRUPT UINT32_MAX

/* Zeroed memory, 64-byte aligned. Cursors run freely modulo 2^32. */
struct nd_ring_shared {
	_Alignas(64) uint32_t head;    /* written by the producer: next slot to fill */
	_Alignas(64) uint32_t tail;    /* written by the consumer: next slot to read */
	_Alignas(64) uint32_t waiting; /* the consumer blocks, or is about to */
};

struct nd_ring {
	struct nd_ring_shared *shared;
	uint32_t size;   /* slots, a power of two */
	uint32_t mine;   /* own cursor */
	uint32_t theirs; /* the other end's cursor when last read */
};

/* Either end of a ring whose shared part was just zeroed. */
static inline struct nd_ring nd_ring_make(struct nd_ring_shared *shared, uint32_t size)
{
	nd_assert(size && (size & (size - 1)) == 0);
	return (struct nd_ring){ .shared = shared, .size = size };
}

/* Index of the slot that is offset beyond the own cursor. */
static inline uint32_t nd_ring_slot(const struct nd_ring *ring, uint32_t offset)
{
	return (ring->mine + offset) & (ring->size - 1);
}

/* Producer: free slots, at most wanted; ND_RING_CORRUPT when the consumer's cursor is a lie. */
static inline uint32_t nd_ring_room(struct nd_ring *ring, uint32_t wanted)
{
	uint32_t used = ring->mine - ring->theirs;

	if (ring->size - used < wanted) {
		ring->theirs = __atomic_load_n(&ring->shared->tail, __ATOMIC_ACQUIRE);
		used = ring->mine - ring->theirs;
		if (ND_UNLIKELY(used > ring->size)) {
			ring->theirs = ring->mine - ring->size;
			return ND_RING_CORRUPT;
		}
	}
	return nd_min_u32(ring->size - used, wanted);
}

/* Producer: count slots are filled. */
static inline void nd_ring_publish(struct nd_ring *ring, uint32_t count)
{
	ring->mine += count;
	__atomic_store_n(&ring->shared->head, ring->mine, __ATOMIC_RELEASE);
}

/* Producer, once after a batch: true when the consumer blocks and this call is to wake it. */
static inline bool nd_ring_must_wake(struct nd_ring *ring)
{
	__atomic_thread_fence(__ATOMIC_SEQ_CST); /* pairs with nd_ring_arm() */
	return __atomic_load_n(&ring->shared->waiting, __ATOMIC_RELAXED) &&
	       __atomic_exchange_n(&ring->shared->waiting, 0, __ATOMIC_RELAXED);
}

/* Consumer: filled slots, at most wanted; ND_RING_CORRUPT when the producer's cursor is a lie. */
static inline uint32_t nd_ring_filled(struct nd_ring *ring, uint32_t wanted)
{
	uint32_t filled = ring->theirs - ring->mine;

	if (filled < wanted) {
		ring->theirs = __atomic_load_n(&ring->shared->head, __ATOMIC_ACQUIRE);
		filled = ring->theirs - ring->mine;
		if (ND_UNLIKELY(filled > ring->size)) {
			ring->theirs = ring->mine;
			return ND_RING_CORRUPT;
		}
	}
	return nd_min_u32(filled, wanted);
}

/* Consumer: count slots are read and may be filled again. */
static inline void nd_ring_retire(struct nd_ring *ring, uint32_t count)
{
	ring->mine += count;
	__atomic_store_n(&ring->shared->tail, ring->mine, __ATOMIC_RELEASE);
}

/* Consumer, before blocking: true when the ring is empty and the producer will wake it. */
static inline bool nd_ring_arm(struct nd_ring *ring)
{
	__atomic_store_n(&ring->shared->waiting, 1, __ATOMIC_RELAXED);
	__atomic_thread_fence(__ATOMIC_SEQ_CST); /* pairs with nd_ring_must_wake() */
	if (__atomic_load_n(&ring->shared->head, __ATOMIC_ACQUIRE) == ring->mine)
		return true;
	__atomic_store_n(&ring->shared->waiting, 0, __ATOMIC_RELAXED);
	return false;
}

/* Consumer: it runs again and needs no waking; true when the producer has not begun to wake it. */
static inline bool nd_ring_disarm(struct nd_ring *ring)
{
	return __atomic_exchange_n(&ring->shared->waiting, 0, __ATOMIC_RELAXED);
}

#endif
