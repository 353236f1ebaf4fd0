// SPDX-License-Identifier: Apache-2.0
/* One AF_XDP socket, bound to one queue of one interface, and its four rings. */
/*
 * DESIGN NOTES
 * 1. The kernel releases a queue some time after the last descriptor is closed (9-17 ms were
 *    measured), so a bind that finds it busy is repeated for two seconds. A live holder gives the
 *    same error; the message then says who it may be.
 * 2. A plain bind may silently give copy mode, so the mode is asked for by name and read back.
 * 3. Busy polling is not used: on veth it was slower, and on some kernels traffic sticks with it.
 */
#include "port/xdp_socket.h"

#include "port/fds.h"
#include "port/xdp_occupant.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#define BUSY_RETRY_NS 5000000
#define BUSY_RETRIES 400
#define TX_BUDGET 64 /* descriptors a sendto(); 32 is the kernel's default */

static int option(int fd, int name, const void *value, size_t bytes)
{
	return setsockopt(fd, SOL_XDP, name, value, (socklen_t)bytes) < 0 ? -errno : 0;
}

static int register_memory(struct nd_xdp_socket *self, struct nd_xdp_umem *umem,
			   const struct nd_xdp_binding *binding, struct nd_error *error)
{
	struct nd_xdp_umem_reg reg = {
		.address = (uint64_t)(uintptr_t)umem->base,
		.bytes = umem->bytes,
		.chunk_bytes = umem->chunk_bytes,
	};
	struct rlimit limit = { 0 };
	int code = option(self->fd, XDP_UMEM_REG, &reg, sizeof(reg));

	if (code == -ENOBUFS) {
		getrlimit(RLIMIT_MEMLOCK, &limit);
		return nd_error_set(error, code,
				    "interface %s: %u KiB of packet memory do not fit the limit of "
				    "locked memory, %llu KiB; raise it (LimitMEMLOCK= in the unit, "
				    "`ulimit -l`) or ask for less memory_bytes",
				    binding->name, umem->bytes / 1024,
				    (unsigned long long)limit.rlim_cur / 1024);
	}
	if (code < 0)
		return nd_error_set(error, code, "interface %s: cannot register packet memory: %s",
				    binding->name, strerror(-code));
	return 0;
}

static int map_ring(struct nd_xdp_ring *ring, int fd, uint32_t size, size_t entry_bytes,
		    const struct xdp_ring_offset *at, off_t page)
{
	uint8_t *map;

	ring->map_bytes = at->desc + size * entry_bytes;
	map = mmap(NULL, ring->map_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd,
		   page);
	if (map == MAP_FAILED)
		return -errno;
	ring->map = map;
	ring->producer = (uint32_t *)(void *)(map + at->producer);
	ring->consumer = (uint32_t *)(void *)(map + at->consumer);
	ring->flags = (uint32_t *)(void *)(map + at->flags);
	ring->addresses = (uint64_t *)(void *)(map + at->desc);
	ring->size = size;
	return 0;
}

static int make_rings(struct nd_xdp_socket *self, const struct nd_xdp_binding *binding)
{
	const uint32_t *rx = &binding->receive_size, *tx = &binding->transmit_size;
	struct xdp_mmap_offsets at;
	socklen_t length = sizeof(at);
	int code = option(self->fd, XDP_UMEM_FILL_RING, rx, sizeof(*rx));

	if (code == 0)
		code = option(self->fd, XDP_RX_RING, rx, sizeof(*rx));
	if (code == 0)
		code = option(self->fd, XDP_UMEM_COMPLETION_RING, tx, sizeof(*tx));
	if (code == 0)
		code = option(self->fd, XDP_TX_RING, tx, sizeof(*tx));
	if (code == 0 && getsockopt(self->fd, SOL_XDP, XDP_MMAP_OFFSETS, &at, &length) < 0)
		code = -errno;
	if (code == 0)
		code = map_ring(&self->fill, self->fd, *rx, sizeof(uint64_t), &at.fr,
				XDP_UMEM_PGOFF_FILL_RING);
	if (code == 0)
		code = map_ring(&self->receive, self->fd, *rx, sizeof(struct xdp_desc), &at.rx,
				XDP_PGOFF_RX_RING);
	if (code == 0)
		code = map_ring(&self->completion, self->fd, *tx, sizeof(uint64_t), &at.cr,
				XDP_UMEM_PGOFF_COMPLETION_RING);
	if (code == 0)
		code = map_ring(&self->transmit, self->fd, *tx, sizeof(struct xdp_desc), &at.tx,
				XDP_PGOFF_TX_RING);
	return code;
}

/* Binds, waiting for a queue that is still being released. */
static int bind_patiently(int fd, const struct sockaddr_xdp *address)
{
	const struct timespec pause = { .tv_nsec = BUSY_RETRY_NS };

	for (uint32_t tries = 0;; tries++) {
		if (bind(fd, (const struct sockaddr *)address, sizeof(*address)) == 0)
			return 0;
		if (errno != EBUSY || tries == BUSY_RETRIES)
			return -errno;
		nanosleep(&pause, NULL);
	}
}

static int explain_bind(int code, const struct nd_xdp_binding *binding, struct nd_error *error)
{
	struct nd_xdp_occupant occupant;
	char holder[ND_XDP_OCCUPANT_TEXT_BYTES];

	switch (code) {
	case -EBUSY:
		nd_xdp_occupant_find(&occupant, binding->interface);
		nd_xdp_occupant_describe(&occupant, holder);
		return nd_error_set(error, code,
				    "interface %s: queue %u is held by another AF_XDP socket (%s "
				    "is attached); stop its owner, or choose other queues",
				    binding->name, binding->queue, holder);
	case -EINVAL:
		if (binding->fragments)
			return nd_error_set(error, code,
					    "interface %s: frames above an MTU of 3498 need Linux "
					    "6.6; lower the MTU or use a packet port",
					    binding->name);
		return nd_error_set(error, code,
				    "interface %s: there is no queue %u; `ethtool -l %s` shows how "
				    "many there are",
				    binding->name, binding->queue, binding->name);
	case -EOPNOTSUPP:
		if (binding->fragments)
			return nd_error_set(error, code,
					    "interface %s: its driver cannot spread frames over "
					    "several buffers; lower the MTU to 3498 or use mode "
					    "generic",
					    binding->name);
		break;
	default:
		break;
	}
	return nd_error_set(error, code, "interface %s: cannot bind queue %u: %s", binding->name,
			    binding->queue, strerror(-code));
}

static int bind_socket(struct nd_xdp_socket *self, const struct nd_xdp_umem *umem,
		       const struct nd_xdp_binding *binding, struct nd_error *error)
{
	const unsigned common = XDP_USE_NEED_WAKEUP | (binding->fragments ? XDP_USE_SG : 0);
	struct sockaddr_xdp address = {
		.sxdp_family = AF_XDP,
		.sxdp_ifindex = binding->interface,
		.sxdp_queue_id = binding->queue,
	};
	int code = -EOPNOTSUPP;

	if (umem->registered >= 0) { /* flags are those of the socket that registered it */
		address.sxdp_flags = XDP_SHARED_UMEM;
		address.sxdp_shared_umem_fd = (uint32_t)umem->registered;
		code = bind_patiently(self->fd, &address);
	} else {
		if (binding->zero_copy) {
			address.sxdp_flags = (uint16_t)(common | XDP_ZEROCOPY);
			code = bind_patiently(self->fd, &address);
		}
		if (code < 0 && code != -EBUSY) {
			address.sxdp_flags = (uint16_t)(common | XDP_COPY);
			code = bind_patiently(self->fd, &address);
		}
	}
	return code < 0 ? explain_bind(code, binding, error) : 0;
}

/* Reads back the mode; raises the send budget where the kernel has one. */
static void finish(struct nd_xdp_socket *self)
{
	struct xdp_options options = { 0 };
	socklen_t length = sizeof(options);
	uint32_t budget = TX_BUDGET;

	if (getsockopt(self->fd, SOL_XDP, XDP_OPTIONS, &options, &length) == 0)
		self->zero_copy = options.flags & XDP_OPTIONS_ZEROCOPY;
	option(self->fd, XDP_MAX_TX_SKB_BUDGET, &budget, sizeof(budget)); /* a wish */
}

int nd_xdp_socket_open(struct nd_xdp_socket *self, struct nd_xdp_umem *umem,
		       const struct nd_xdp_binding *binding, struct nd_error *error)
{
	int code = 0;

	*self = (struct nd_xdp_socket){ .queue = binding->queue };
	self->fd = socket(AF_XDP, SOCK_RAW | SOCK_CLOEXEC, 0);
	if (self->fd < 0) {
		code = -errno;
		if (code == -EPERM)
			return nd_error_set(error, code,
					    "interface %s: AF_XDP needs CAP_NET_RAW, CAP_NET_ADMIN "
					    "and CAP_BPF; run as root or with these, or use a "
					    "packet, udp or memory port",
					    binding->name);
		return nd_error_set(error, code,
				    "interface %s: no AF_XDP socket: %s (CONFIG_XDP_SOCKETS)",
				    binding->name, strerror(-code));
	}
	if (umem->registered < 0)
		code = register_memory(self, umem, binding, error);
	if (code < 0)
		return code;
	code = make_rings(self, binding);
	if (code < 0)
		return nd_error_set(error, code, "interface %s: cannot make rings: %s",
				    binding->name, strerror(-code));
	code = bind_socket(self, umem, binding, error);
	if (code < 0)
		return code;
	finish(self);
	if (umem->registered < 0)
		umem->registered = self->fd;
	return 0;
}

static void unmap_ring(struct nd_xdp_ring *ring)
{
	if (ring->map)
		munmap(ring->map, ring->map_bytes);
	ring->map = NULL;
}

void nd_xdp_socket_close(struct nd_xdp_socket *self)
{
	unmap_ring(&self->receive);
	unmap_ring(&self->transmit);
	unmap_ring(&self->fill);
	unmap_ring(&self->completion);
	nd_fds_close(&self->fd);
}

void nd_xdp_socket_statistics(const struct nd_xdp_socket *self, struct xdp_statistics *sum)
{
	struct xdp_statistics stats = { 0 };
	socklen_t length = sizeof(stats);

	if (getsockopt(self->fd, SOL_XDP, XDP_STATISTICS, &stats, &length) < 0)
		return;
	sum->rx_dropped += stats.rx_dropped;
	sum->rx_invalid_descs += stats.rx_invalid_descs;
	sum->tx_invalid_descs += stats.tx_invalid_descs;
	sum->rx_ring_full += stats.rx_ring_full;
	sum->rx_fill_ring_empty_descs += stats.rx_fill_ring_empty_descs;
	sum->tx_ring_empty_descs += stats.tx_ring_empty_descs;
}
