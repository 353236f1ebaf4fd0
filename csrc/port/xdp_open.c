// SPDX-License-Identifier: Apache-2.0
/* What an XDP port is made of: queues, memory, program, sockets; and what is told about it. */
#include "port/xdp.h"

#include "port/bpf.h"
#include "port/xdp_port.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MEMORY_BYTES_DEFAULT (4u << 20)
/*
 * Of one queue of a host, whose transports bound what comes. The kernel fills chunks in turn, so all of
 * them pass through the caches, and this much stays there: 1 MB took a tenth longer with twice as much.
 */
#define MEMORY_BYTES_DEFAULT_HOST (2u << 20)
#define MEMORY_BYTES_MAX (1u << 30)
#define CHUNK_BYTES_SMALL 2048u
#define CHUNK_BYTES_LARGE 4096u /* a page; the kernel takes no more */
#define TX_FRAMES_DEFAULT 256u
#define TX_FRAMES_DEFAULT_LARGE 64u /* where a frame needs several chunks */
#define RX_CHUNKS_MIN 64u           /* of each queue */

/* How much of what the port's memory holds. */
struct plan {
	uint32_t chunk_bytes;
	bool fragments; /* a frame may take several chunks */
	uint32_t queues;
	uint32_t slots;
	uint32_t chunks_per_queue; /* to receive into */
	uint32_t bytes;
};

static int plan_queues(const struct nd_device *device, const struct nd_port_config *config,
		       struct plan *plan, struct nd_error *error)
{
	uint32_t first = config->xdp.queue_first, count = config->xdp.queue_count;

	if (first >= device->queues || count > device->queues - first)
		return nd_error_set(error, -EINVAL,
				    "interface %s: it has %u queues, not %u from number %u on; "
				    "`ethtool -L %s` changes that",
				    device->name, device->queues, nd_max_u32(count, 1), first,
				    device->name);
	plan->queues = count ? count : device->queues - first;
	if (plan->queues > ND_PORT_QUEUES_MAX)
		return nd_error_set(error, -EINVAL,
				    "interface %s: it has %u queues, a port takes at most %d; "
				    "reduce them with `ethtool -L %s combined %d`",
				    device->name, plan->queues, ND_PORT_QUEUES_MAX, device->name,
				    ND_PORT_QUEUES_MAX);
	return 0;
}

/* Chunks that frames to send and each queue's frames to receive take; as many as that may be. */
static uint64_t chunks_wanted(const struct nd_port_config *config, const struct plan *plan,
			      uint32_t per_frame)
{
	uint64_t receive = nd_max_u32(RX_CHUNKS_MIN, config->rx_frames);

	return (plan->slots + plan->queues * receive) * per_frame;
}

static uint32_t memory_bytes(const struct nd_port_config *config, const struct plan *plan)
{
	if (config->xdp.memory_bytes)
		return config->xdp.memory_bytes;
	return config->filter.everything || plan->queues > 1 ? MEMORY_BYTES_DEFAULT
							     : MEMORY_BYTES_DEFAULT_HOST;
}

static int plan_memory(const struct nd_port *port, const struct nd_port_config *config,
		       struct plan *plan, struct nd_error *error)
{
	uint32_t frame = port->frame_bytes_max + ND_XDP_HEADROOM_BYTES;
	uint64_t bytes = memory_bytes(config, plan);
	uint32_t per_frame;
	uint64_t wanted;

	if (config->xdp.memory_bytes > MEMORY_BYTES_MAX)
		return nd_error_set(error, -EINVAL,
				    "interface %s: memory_bytes %u is more than the %u that a port "
				    "may have",
				    port->name, config->xdp.memory_bytes, MEMORY_BYTES_MAX);
	plan->chunk_bytes = frame <= CHUNK_BYTES_SMALL ? CHUNK_BYTES_SMALL : CHUNK_BYTES_LARGE;
	per_frame = (frame + plan->chunk_bytes - 1) / plan->chunk_bytes;
	plan->fragments = per_frame > 1;
	plan->slots = config->tx_frames ? config->tx_frames
		      : plan->fragments ? TX_FRAMES_DEFAULT_LARGE
					: TX_FRAMES_DEFAULT;
	wanted = chunks_wanted(config, plan, per_frame) * plan->chunk_bytes;
	if (config->rx_frames && !config->xdp.memory_bytes)
		bytes = wanted;
	bytes = nd_min_u64(bytes, MEMORY_BYTES_MAX) & ~(uint64_t)(plan->chunk_bytes - 1);
	if (bytes < wanted)
		return nd_error_set(error, -ENOBUFS,
				    "interface %s: memory_bytes %llu is less than the %llu that %u "
				    "queues and %u frames to send need (it may be %u at most)",
				    port->name, (unsigned long long)bytes,
				    (unsigned long long)wanted, plan->queues, plan->slots,
				    MEMORY_BYTES_MAX);
	plan->chunks_per_queue = ((uint32_t)bytes / plan->chunk_bytes - plan->slots * per_frame) /
				 plan->queues;
	if (config->rx_frames)
		plan->chunks_per_queue = nd_max_u32(RX_CHUNKS_MIN, config->rx_frames) * per_frame;
	plan->bytes = (plan->chunks_per_queue * plan->queues + plan->slots * per_frame) *
		      plan->chunk_bytes;
	return 0;
}

/* Own memory, or a region of another port's. */
static int take_memory(struct nd_xdp_port *self, const struct nd_port_config *config,
		       const struct plan *plan, struct nd_error *error)
{
	static const char *const places[] = { "each in a chunk", "across chunks" };
	struct nd_xdp_umem *umem;
	uint32_t bytes = nd_max_u32(plan->bytes, config->xdp.memory_bytes);

	bytes &= ~(plan->chunk_bytes - 1);
	if (config->xdp.share) {
		nd_assert(config->xdp.share->ops == &nd_xdp_ops);
		umem = nd_xdp_port(config->xdp.share)->umem;
		if (umem->chunk_bytes != plan->chunk_bytes || umem->fragments != plan->fragments)
			return nd_error_set(error, -EINVAL,
					    "interface %s: cannot share the memory of %s: by its "
					    "MTU %u frames lie %s of %u bytes, by ours %s of %u",
					    self->port.name, config->xdp.share->name,
					    config->xdp.share->mtu, places[umem->fragments],
					    umem->chunk_bytes, places[plan->fragments],
					    plan->chunk_bytes);
	} else {
		umem = nd_xdp_umem_make(bytes, plan->chunk_bytes, plan->fragments);
		if (!umem)
			return nd_error_set(error, -ENOMEM,
					    "interface %s: no memory for %u KiB of packets",
					    self->port.name, bytes / 1024);
	}
	if (nd_xdp_umem_take(umem, plan->bytes, &self->region) < 0)
		return nd_error_set(error, -ENOSPC,
				    "interface %s: the memory of %s has no %u KiB left; give it "
				    "more memory_bytes, or this port fewer frames",
				    self->port.name, config->xdp.share->name, plan->bytes / 1024);
	self->umem = umem;
	return 0;
}

static int make_slots(struct nd_xdp_port *self, const struct plan *plan, struct nd_error *error)
{
	uint32_t first = plan->chunks_per_queue * plan->queues;

	self->fragments = plan->fragments;
	self->chunks_per_frame =
		(self->port.frame_bytes_max + ND_XDP_HEADROOM_BYTES + plan->chunk_bytes - 1) /
		plan->chunk_bytes;
	self->slot_bytes = self->chunks_per_frame * plan->chunk_bytes;
	self->slots_base = self->region.offset + (uint64_t)first * plan->chunk_bytes;
	self->out = calloc(plan->slots, sizeof(*self->out));
	self->slots_memory = aligned_alloc(64, (nd_pool_bytes(plan->slots, sizeof(uint16_t)) + 63) &
						       ~(size_t)63);
	if (self->fragments)
		self->assembly = malloc((size_t)ND_XDP_RX_BATCH * self->port.frame_bytes_max);
	if (!self->out || !self->slots_memory || (self->fragments && !self->assembly))
		return nd_error_set(error, -ENOMEM, "interface %s: no memory", self->port.name);
	nd_pool_init(&self->slots, self->slots_memory, plan->slots, sizeof(uint16_t));
	return 0;
}

static void fill_first(struct nd_xdp_port *self, struct nd_xdp_socket *socket, uint32_t index,
		       uint32_t chunks)
{
	struct nd_xdp_ring *fill = &socket->fill;
	uint64_t address = self->region.offset +
			   (uint64_t)index * chunks * self->umem->chunk_bytes;

	for (uint32_t i = 0; i < chunks; i++, address += self->umem->chunk_bytes)
		fill->addresses[fill->mine++ & (fill->size - 1)] = address;
	nd_xdp_ring_produce(fill);
}

static int open_sockets(struct nd_xdp_port *self, const struct nd_port_config *config,
			const struct plan *plan, struct nd_error *error)
{
	struct nd_xdp_binding binding = {
		.interface = self->device.index,
		.receive_size = nd_power_of_two_u32(plan->chunks_per_queue),
		.transmit_size = nd_power_of_two_u32(plan->slots * self->chunks_per_frame),
		.fragments = self->fragments,
		.zero_copy = config->xdp.zero_copy,
		.name = self->device.name,
	};

	for (uint32_t i = 0; i < plan->queues; i++) {
		struct nd_xdp_socket *socket = &self->sockets[i];
		int code;

		binding.queue = config->xdp.queue_first + i;
		code = nd_xdp_socket_open(socket, self->umem, &binding, error);
		if (code < 0)
			return code;
		self->socket_count = i + 1;
		fill_first(self, socket, i, plan->chunks_per_queue);
		code = nd_bpf_map_set(self->attachment.map, binding.queue, socket->fd);
		if (code < 0)
			return nd_error_set(error, code,
					    "interface %s: cannot put queue %u into the socket "
					    "map: %s",
					    self->device.name, binding.queue, strerror(-code));
	}
	return 0;
}

/* What is in use, and what is not as asked for. */
static void describe(struct nd_xdp_port *self, const struct nd_port_config *config)
{
	bool zero_copy = self->sockets[0].zero_copy;

	snprintf(self->mode, sizeof(self->mode), "xdp %s %s%s",
		 config->xdp.map_path	   ? "external"
		 : self->attachment.native ? "native"
					   : "generic",
		 zero_copy ? "zero-copy" : "copy", self->fragments ? " multi-buffer" : "");
	self->port.mode = self->mode;
	if (self->port.note[0])
		return;
	if (config->xdp.zero_copy && !zero_copy)
		snprintf(self->port.note, sizeof(self->port.note),
			 "interface %s: copy instead of zero-copy, which driver %s does not have "
			 "in this mode",
			 self->device.name, self->device.driver);
	else if (self->socket_count < self->device.queues)
		snprintf(self->port.note, sizeof(self->port.note),
			 "interface %s: %u of its %u queues are served; what the NIC hashes to the "
			 "others goes to the kernel",
			 self->device.name, self->socket_count, self->device.queues);
}

static int open_inside(struct nd_xdp_port *self, const struct nd_port_config *config,
		       struct nd_error *error)
{
	struct plan plan = { 0 };
	int code = nd_device_open(&self->device, config->name, error);

	if (code == 0)
		code = nd_device_use(&self->device, &self->port, config, error);
	if (code == 0)
		code = plan_queues(&self->device, config, &plan, error);
	if (code == 0)
		code = plan_memory(&self->port, config, &plan, error);
	if (code == 0)
		code = take_memory(self, config, &plan, error);
	if (code == 0)
		code = make_slots(self, &plan, error);
	if (code == 0)
		code = nd_xdp_attach(&self->attachment, &self->device, config, self->fragments,
				     self->port.note, error);
	if (code == 0)
		code = open_sockets(self, config, &plan, error);
	if (code == 0)
		code = nd_holder_open(&self->holder, &config->filter, self->device.name, error);
	return code;
}

struct nd_port *nd_xdp_open(const struct nd_port_config *config, struct nd_error *error)
{
	struct nd_xdp_port *self = calloc(1, sizeof(*self));
	int back, code;

	if (!self) {
		nd_error_set(error, -ENOMEM, "interface %s: no memory", config->name);
		return NULL;
	}
	self->port.ops = &nd_xdp_ops;
	self->device.control = -1;
	self->attachment = (struct nd_xdp_attachment){ -1, -1, -1, false, -1 };
	for (uint32_t i = 0; i < ND_PORT_QUEUES_MAX; i++)
		self->sockets[i].fd = -1;
	code = nd_netns_enter(config->netns, &back, error);
	if (code == 0) {
		code = open_inside(self, config, error);
		nd_netns_leave(back);
	}
	if (code < 0) {
		nd_xdp_ops.close(&self->port);
		return NULL;
	}
	self->device_mtu = self->device.mtu;
	describe(self, config);
	return &self->port;
}
