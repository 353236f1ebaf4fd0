/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One AF_XDP socket, bound to one queue of one interface, and its four rings.
 *
 * Rings are single producer, single consumer between us and the kernel; positions run freely
 * modulo 2^32 and each side caches the other's.
 */
#ifndef ND_PORT_XDP_SOCKET_H
#define ND_PORT_XDP_SOCKET_H

#include "base/error.h"
#include "port/xdp_abi.h"
#include "port/xdp_umem.h"

struct nd_xdp_ring {
	uint32_t *producer; /* in memory shared with the kernel, like the next four */
	uint32_t *consumer;
	uint32_t *flags;
	void *map;
	size_t map_bytes;
	union {
		struct xdp_desc *descriptors; /* receive, transmit */
		uint64_t *addresses;          /* fill, completion */
	};
	uint32_t size;   /* a power of two */
	uint32_t mine;   /* own position */
	uint32_t theirs; /* the kernel's when last read */
};

struct nd_xdp_socket {
	int fd;
	uint32_t queue;
	bool zero_copy;
	uint32_t taken; /* receive descriptors that the current batch covers */
	struct nd_xdp_ring receive, transmit, fill, completion;
};

struct nd_xdp_binding {
	uint32_t interface;
	uint32_t queue;
	uint32_t receive_size, transmit_size; /* powers of two; fill and completion match them */
	bool fragments; /* packets of several descriptors */
	bool zero_copy; /* ask for it, and take copy mode when the driver has none */
	const char *name; /* of the interface, for errors */
};

/*
 * Opens, maps and binds. The first socket of a memory registers it, later ones share it. Waits up
 * to two seconds for a queue that the kernel is still releasing. 0 or -errno with its remedy.
 * The socket is the caller's to close, also on failure.
 */
int nd_xdp_socket_open(struct nd_xdp_socket *self, struct nd_xdp_umem *umem,
		       const struct nd_xdp_binding *binding, struct nd_error *error);
void nd_xdp_socket_close(struct nd_xdp_socket *self);

/* The kernel's drop counts since the socket was opened, added up. */
void nd_xdp_socket_statistics(const struct nd_xdp_socket *self, struct xdp_statistics *sum);

/* Consumer: entries that the kernel has produced and we have not consumed. */
static inline uint32_t nd_xdp_ring_filled(struct nd_xdp_ring *ring)
{
	if (ring->theirs == ring->mine)
		ring->theirs = __atomic_load_n(ring->producer, __ATOMIC_ACQUIRE);
	return ring->theirs - ring->mine;
}

static inline void nd_xdp_ring_consume(struct nd_xdp_ring *ring, uint32_t count)
{
	ring->mine += count;
	__atomic_store_n(ring->consumer, ring->mine, __ATOMIC_RELEASE);
}

/* Producer: entries that the kernel has not consumed. */
static inline uint32_t nd_xdp_ring_pending(struct nd_xdp_ring *ring)
{
	ring->theirs = __atomic_load_n(ring->consumer, __ATOMIC_ACQUIRE);
	return ring->mine - ring->theirs;
}

static inline void nd_xdp_ring_produce(struct nd_xdp_ring *ring)
{
	__atomic_store_n(ring->producer, ring->mine, __ATOMIC_RELEASE);
}

static inline bool nd_xdp_ring_needs_wakeup(const struct nd_xdp_ring *ring)
{
	return __atomic_load_n(ring->flags, __ATOMIC_RELAXED) & XDP_RING_NEED_WAKEUP;
}

#endif
