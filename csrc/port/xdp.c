// SPDX-License-Identifier: Apache-2.0
/* XDP ports: AF_XDP sockets on every queue of an interface, beside the kernel. */
/*
 * DESIGN NOTES
 * 1. The port's memory is cut in two once: chunks to receive into, which circulate between the
 *    kernel and us, and slots to send from. No buffer ever changes sides, so none can leak there.
 * 2. A frame to send lies in one slot of as many chunks as it may need, one behind the other, so
 *    it is written in one piece whatever the MTU. A received frame of several chunks is copied
 *    into one piece; others are looked at in place.
 * 3. All queues are received from, the first one sends. One thread gains nothing from more.
 * 4. In copy mode nothing is sent without sendto(), whatever the wake-up flag says, and each call
 *    sends a bounded number. EAGAIN and ENOBUFS mean "later"; EBUSY means that the driver, or the
 *    other end of a pair, dropped one frame, which the kernel has taken off the ring.
 * 5. Forwarding between ports copies. A memory shared by all ports was measured to gain nothing.
 */
#include "port/xdp.h"

#include "port/xdp_port.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define STUCK_AFTER (500 * ND_MSEC)
#define KICKS_MAX 8u
#define LINE_BYTES 64u
#define FETCHED_BYTES (3 * LINE_BYTES) /* a request of 100 bytes, headers and all */

/* ---- receive ---- */

/* Descriptors of the frame that begins at offset; 0 when it is not all there. */
static uint32_t frame_chunks(const struct nd_xdp_ring *ring, uint32_t offset, uint32_t filled)
{
	for (uint32_t i = offset; i < filled; i++)
		if (!(ring->descriptors[(ring->mine + i) & (ring->size - 1)].options &
		      XDP_PKT_CONTD))
			return i - offset + 1;
	return 0;
}

static const struct xdp_desc *descriptor(const struct nd_xdp_ring *ring, uint32_t offset)
{
	return &ring->descriptors[(ring->mine + offset) & (ring->size - 1)];
}

/* Copies a frame of several chunks into one piece; returns its length, however long. */
static uint32_t assemble(struct nd_xdp_port *self, const struct nd_xdp_ring *ring, uint32_t offset,
			 uint32_t chunks, uint8_t *target)
{
	uint32_t bytes = 0;

	for (uint32_t i = 0; i < chunks; i++) {
		const struct xdp_desc *part = descriptor(ring, offset + i);

		if (bytes + part->len <= self->port.frame_bytes_max)
			memcpy(target + bytes, self->umem->base + part->addr, part->len);
		bytes += part->len;
	}
	return bytes;
}

/* Makes a frame of the next descriptors; false when it is dropped. */
static bool take(struct nd_xdp_port *self, const struct nd_xdp_ring *ring, uint32_t offset,
		 uint32_t chunks, uint32_t index, struct nd_frame *frame)
{
	const struct xdp_desc *first = descriptor(ring, offset);
	uint8_t *data = self->umem->base + first->addr;
	uint32_t bytes = first->len;

	if (chunks > 1) {
		data = self->assembly + (size_t)index * self->port.frame_bytes_max;
		bytes = assemble(self, ring, offset, chunks, data);
	}
	if (ND_UNLIKELY(bytes > self->port.frame_bytes_max)) {
		self->port.counters.rx_dropped_oversize++;
		return false;
	}
	if (ND_UNLIKELY(bytes < ND_PORT_FRAME_BYTES_MIN)) {
		self->port.counters.rx_dropped_short++;
		return false;
	}
	/* Another CPU has just written it: asks for the lines of a short one all at once. */
	for (uint32_t at = 0; at < FETCHED_BYTES; at += LINE_BYTES)
		__builtin_prefetch(data + at);
	*frame = (struct nd_frame){ .data = data, .bytes = bytes, .room = bytes };
	return true;
}

static uint32_t receive_from(struct nd_xdp_port *self, struct nd_xdp_socket *socket,
			     struct nd_frame *frames, uint32_t count, uint32_t limit)
{
	uint32_t filled = nd_xdp_ring_filled(&socket->receive);

	while (socket->taken < filled && count < limit) {
		uint32_t chunks = frame_chunks(&socket->receive, socket->taken, filled);

		if (!chunks)
			break;
		count += take(self, &socket->receive, socket->taken, chunks, count,
			      &frames[count]);
		socket->taken += chunks;
	}
	return count;
}

/* Gives the chunks of the batch back to be filled again. The fill ring has room for all. */
static void refill(struct nd_xdp_port *self, struct nd_xdp_socket *socket)
{
	struct nd_xdp_ring *fill = &socket->fill;

	for (uint32_t i = 0; i < socket->taken; i++)
		fill->addresses[fill->mine++ & (fill->size - 1)] =
			descriptor(&socket->receive, i)->addr &
			~(uint64_t)(self->umem->chunk_bytes - 1);
	nd_xdp_ring_produce(fill);
	nd_xdp_ring_consume(&socket->receive, socket->taken);
	socket->taken = 0;
}

/* A driver that went to sleep for want of chunks has to be told that there are some. */
static void wake_receiver(struct nd_xdp_port *self, const struct nd_xdp_socket *socket)
{
	if (ND_LIKELY(!nd_xdp_ring_needs_wakeup(&socket->fill)))
		return;
	self->port.counters.rx_kicks++;
	recvfrom(socket->fd, NULL, 0, MSG_DONTWAIT, NULL, NULL);
}

static void xdp_release(struct nd_port *port)
{
	struct nd_xdp_port *self = nd_xdp_port(port);

	for (uint32_t i = 0; i < self->socket_count; i++)
		if (self->sockets[i].taken)
			refill(self, &self->sockets[i]);
}

static void move_on(struct nd_xdp_port *self)
{
	self->next++;
	if (self->next == self->socket_count)
		self->next = 0;
}

static uint32_t xdp_receive(struct nd_port *port, struct nd_frame *frames, uint32_t limit)
{
	struct nd_xdp_port *self = nd_xdp_port(port);
	uint32_t count = 0;

	limit = nd_min_u32(limit, ND_XDP_RX_BATCH);
	for (uint32_t i = 0; i < self->socket_count && count < limit; i++) {
		struct nd_xdp_socket *socket = &self->sockets[self->next];
		uint32_t before = socket->taken;

		count = receive_from(self, socket, frames, count, limit);
		if (socket->taken == before)
			wake_receiver(self, socket);
		move_on(self);
	}
	if (!count)
		xdp_release(port);
	return count;
}

/* ---- transmit ---- */

static uint16_t *chunks_out(struct nd_xdp_port *self, uint32_t slot)
{
	return nd_pool_at(&self->slots, slot);
}

/* Takes back what was sent: a slot is free when its last chunk is. */
static void reclaim(struct nd_xdp_port *self)
{
	struct nd_xdp_ring *ring = &self->sockets[0].completion;
	uint32_t filled = nd_xdp_ring_filled(ring);

	for (uint32_t i = 0; i < filled; i++) {
		uint64_t address = ring->addresses[(ring->mine + i) & (ring->size - 1)];
		uint32_t slot = (uint32_t)(address - self->slots_base) / self->slot_bytes;

		nd_assert(slot < self->slots.limit);
		if (--*chunks_out(self, slot) == 0)
			nd_pool_put(&self->slots, slot);
	}
	if (filled)
		nd_xdp_ring_consume(ring, filled);
	self->completed += filled;
}

static uint32_t xdp_reserve(struct nd_port *port, struct nd_frame *frames, uint32_t limit)
{
	struct nd_xdp_port *self = nd_xdp_port(port);
	uint32_t count = 0;

	reclaim(self); /* what was sent just now lies in the cache: it is written next */
	while (count < limit) {
		uint32_t slot = nd_pool_get(&self->slots);

		if (slot == ND_NONE)
			break;
		self->out[count] = slot;
		frames[count++].data = self->umem->base + self->slots_base +
				       (size_t)slot * self->slot_bytes;
	}
	return count;
}

/* The ring has room for every chunk of every slot. */
static void send_slot(struct nd_xdp_port *self, uint32_t slot, uint32_t bytes)
{
	struct nd_xdp_ring *ring = &self->sockets[0].transmit;
	uint64_t address = self->slots_base + (uint64_t)slot * self->slot_bytes;
	uint16_t chunks = 0;

	while (bytes) {
		uint32_t part = nd_min_u32(bytes, self->umem->chunk_bytes);

		bytes -= part;
		ring->descriptors[ring->mine++ & (ring->size - 1)] = (struct xdp_desc){
			.addr = address,
			.len = part,
			.options = bytes ? XDP_PKT_CONTD : 0,
		};
		address += part;
		chunks++;
	}
	*chunks_out(self, slot) = chunks;
}

static void xdp_commit(struct nd_port *port, const struct nd_frame *frames, uint32_t count)
{
	struct nd_xdp_port *self = nd_xdp_port(port);

	for (uint32_t i = 0; i < port->reserved; i++) {
		if (i < count && frames[i].bytes)
			send_slot(self, self->out[i], frames[i].bytes);
		else
			nd_pool_put(&self->slots, self->out[i]);
	}
	nd_xdp_ring_produce(&self->sockets[0].transmit);
}

/* One system call to send; false when another one now would gain nothing. */
static bool kick(struct nd_xdp_port *self)
{
	self->port.counters.tx_kicks++;
	if (sendto(self->sockets[0].fd, NULL, 0, MSG_DONTWAIT, NULL, 0) >= 0)
		return true;
	self->port.counters.tx_dropped_kernel += errno == EBUSY && !self->sockets[0].zero_copy;
	if (errno == ENETDOWN || errno == ENXIO || errno == ENODEV)
		self->port.down = true; /* until a check says otherwise; then the rest is sent */
	return !self->port.down;
}

static uint32_t xdp_flush(struct nd_port *port)
{
	struct nd_xdp_port *self = nd_xdp_port(port);
	struct nd_xdp_socket *socket = &self->sockets[0];
	uint32_t pending = nd_xdp_ring_pending(&socket->transmit);

	if (!pending || (socket->zero_copy && !nd_xdp_ring_needs_wakeup(&socket->transmit)))
		return pending;
	for (uint32_t kicks = 0; pending && !port->down && kicks < KICKS_MAX; kicks++) {
		uint32_t before = pending;
		bool again = kick(self);

		pending = nd_xdp_ring_pending(&socket->transmit);
		if (!again || pending == before)
			break;
	}
	return port->down ? 0 : pending; /* to try again at once would be in vain */
}

/* ---- the slow things ---- */

static bool xdp_arm(struct nd_port *port)
{
	struct nd_xdp_port *self = nd_xdp_port(port);

	for (uint32_t i = 0; i < self->socket_count; i++) {
		if (nd_xdp_ring_filled(&self->sockets[i].receive))
			return false;
		wake_receiver(self, &self->sockets[i]);
	}
	return true;
}

static uint32_t xdp_descriptors(const struct nd_port *port, int *descriptors)
{
	const struct nd_xdp_port *self = (const struct nd_xdp_port *)(const void *)port;

	for (uint32_t i = 0; i < self->socket_count; i++)
		descriptors[i] = self->sockets[i].fd;
	return self->socket_count;
}

/* True when frames are out and none has come back for too long. */
static bool is_stuck(struct nd_xdp_port *self, nd_ns now)
{
	reclaim(self);
	if (!self->slots.used || self->completed != self->completed_checked ||
	    !self->progress) { /* nobody has looked before */
		self->completed_checked = self->completed;
		self->progress = now;
		return false;
	}
	return now > self->progress && now - self->progress >= STUCK_AFTER;
}

/* True when the interface was deleted: the kernel has taken its sockets off it. Told since 5.11. */
static bool is_unbound(const struct nd_xdp_port *self)
{
	return recvfrom(self->sockets[0].fd, NULL, 0, MSG_DONTWAIT, NULL, NULL) < 0 &&
	       errno == ENXIO;
}

static enum nd_port_state xdp_check(struct nd_port *port, nd_ns now, struct nd_error *error)
{
	struct nd_xdp_port *self = nd_xdp_port(port);
	enum nd_port_state state;

	if (is_unbound(self))
		return nd_device_gone(&self->device, error);
	state = nd_device_check(&self->device, self->device_mtu, error);
	if (state != ND_PORT_UP || port->down)
		self->progress = now; /* nothing was expected to move */
	if (state != ND_PORT_UP)
		return state;
	if (port->down) { /* what it has not taken goes now */
		port->down = false;
		xdp_flush(port);
	}
	if (!is_stuck(self, now))
		return ND_PORT_UP;
	port->counters.tx_stuck++;
	nd_error_set(error, -EIO, "interface %s: %u frames are not sent for half a second; reopen "
				  "the port",
		     port->name, self->slots.used);
	return ND_PORT_STUCK;
}

static void xdp_refresh(struct nd_port *port)
{
	struct nd_xdp_port *self = nd_xdp_port(port);
	struct xdp_statistics sum = { 0 };

	for (uint32_t i = 0; i < self->socket_count; i++)
		nd_xdp_socket_statistics(&self->sockets[i], &sum);
	port->counters.rx_dropped_kernel = sum.rx_dropped;
	port->counters.rx_invalid = sum.rx_invalid_descs;
	port->counters.tx_invalid = sum.tx_invalid_descs;
	port->counters.rx_ring_full = sum.rx_ring_full;
	port->counters.rx_fill_empty = sum.rx_fill_ring_empty_descs;
}

/* Detach, clear the map, let go of what is out, close: no driver sees a socket vanish under it. */
static void xdp_close(struct nd_port *port)
{
	struct nd_xdp_port *self = nd_xdp_port(port);

	nd_xdp_detach(&self->attachment, self->sockets[0].queue, self->socket_count);
	for (uint32_t i = 0; i < ND_PORT_QUEUES_MAX; i++) {
		if (self->umem && self->sockets[i].fd >= 0 &&
		    self->umem->registered == self->sockets[i].fd)
			self->umem->registered = -1;
		nd_xdp_socket_close(&self->sockets[i]);
	}
	if (self->umem)
		nd_xdp_umem_give(self->umem, &self->region);
	nd_holder_close(&self->holder);
	nd_device_close(&self->device);
	free(self->assembly);
	free(self->slots_memory);
	free(self->out);
	free(self);
}

const struct nd_port_ops nd_xdp_ops = {
	.name = "xdp",
	.receive = xdp_receive,
	.release = xdp_release,
	.reserve = xdp_reserve,
	.commit = xdp_commit,
	.flush = xdp_flush,
	.arm = xdp_arm,
	.descriptors = xdp_descriptors,
	.check = xdp_check,
	.refresh = xdp_refresh,
	.close = xdp_close,
};
