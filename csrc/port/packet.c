// SPDX-License-Identifier: Apache-2.0
/* Packet ports: AF_PACKET on any interface, with CAP_NET_RAW alone. */
/*
 * DESIGN NOTES
 * 1. Reception is a TPACKET_V2 ring: views without copying. V3 is faster in bulk, but retires its
 *    blocks a millisecond late at best, which no transport can live with.
 * 2. Transmission is sendmmsg() past the qdisc from our own slots; it was measured faster than a
 *    TX ring. Its socket is bound to protocol 0, so it receives nothing.
 * 3. The kernel takes VLAN tags off and leaves checksums of local senders to a NIC that is not
 *    there. The port puts both right, so that what it hands out is what a wire would carry.
 * 4. Nor does it cut the datagrams that a local sender left to its NIC in one piece: handed out,
 *    they would be one datagram, so they are dropped even where they are no longer than the MTU.
 *    Of TCP, a piece that is no longer than the MTU is a segment like others.
 */
#include "port/packet.h"

#include "port/device.h"
#include "port/fds.h"
#include "port/holder.h"
#include "port/packet_filter.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <linux/virtio_net.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>

#ifndef VIRTIO_NET_HDR_GSO_UDP_L4
#define VIRTIO_NET_HDR_GSO_UDP_L4 5 /* younger than the headers of some distributions */
#endif

#define RX_FRAMES_DEFAULT 1024u
#define TX_FRAMES_DEFAULT 512u
#define BLOCK_BYTES 65536u
#define SLOT_OVERHEAD_BYTES 128u /* ring header, virtio header, alignment */
#define TX_SLOT_ALIGN 64u
#define TAG_BYTES 4u
#define MACS_BYTES 12u
#define SEND_BATCH 64u
#define STUCK_AFTER (500 * ND_MSEC)

struct packet_port {
	struct nd_port port;
	struct nd_device device;
	struct nd_holder holder;
	uint32_t device_mtu; /* when opened */

	int rx_socket;
	uint8_t *rx_map;
	size_t rx_map_bytes;
	uint32_t rx_slots, rx_slot_bytes;
	uint32_t rx_next;  /* slot to look at next */
	uint32_t rx_taken; /* slots that the RX batch covers */

	int tx_socket;
	uint32_t tx_slots, tx_slot_bytes;
	uint32_t tx_head, tx_tail; /* slots [tail, head) are committed and not sent */
	uint32_t tail_checked;
	nd_ns progress;    /* when the tail was last seen to move, or nothing to wait */
	uint8_t *tx_data;
	struct mmsghdr *tx_messages; /* one a slot, fixed but for the length */
	struct iovec *tx_parts;
};

static struct packet_port *packet_port(struct nd_port *port)
{
	return (struct packet_port *)port;
}

static struct tpacket2_hdr *rx_slot(const struct packet_port *self, uint32_t offset)
{
	uint32_t slot = (self->rx_next + offset) & (self->rx_slots - 1);

	return (struct tpacket2_hdr *)(void *)(self->rx_map + (size_t)slot * self->rx_slot_bytes);
}

static bool is_filled(const struct tpacket2_hdr *header)
{
	return __atomic_load_n(&header->tp_status, __ATOMIC_ACQUIRE) & TP_STATUS_USER;
}

/* Finishes the checksum that a local sender left to its NIC; the field holds the pseudo header. */
static void complete_checksum(struct packet_port *self, uint8_t *data, uint32_t bytes,
			      const struct virtio_net_hdr *offload)
{
	uint32_t start = offload->csum_start, field = start + offload->csum_offset;
	uint64_t sum = 0;

	if (!(offload->flags & VIRTIO_NET_HDR_F_NEEDS_CSUM) || field + 2 > bytes)
		return;
	for (uint32_t i = start; i < bytes; i += 2)
		sum += (uint32_t)data[i] << 8 | (i + 1 < bytes ? data[i + 1] : 0u);
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	sum = sum == 0xffff ? 0xffff : ~sum & 0xffff; /* a computed 0 is sent as all ones */
	data[field] = (uint8_t)(sum >> 8);
	data[field + 1] = (uint8_t)sum;
	self->port.counters.rx_checksums_completed++;
}

/* Puts back the VLAN tag that the kernel keeps beside the frame; there is room in front. */
static void restore_tag(struct packet_port *self, const struct tpacket2_hdr *header,
			struct nd_frame *frame)
{
	uint16_t tag[2] = { htons(ETH_P_8021Q), htons(header->tp_vlan_tci) };

	if (header->tp_status & TP_STATUS_VLAN_TPID_VALID)
		tag[0] = htons(header->tp_vlan_tpid);
	frame->data -= TAG_BYTES;
	frame->bytes += TAG_BYTES;
	memmove(frame->data, frame->data + TAG_BYTES, MACS_BYTES);
	memcpy(frame->data + MACS_BYTES, tag, TAG_BYTES);
	self->port.counters.rx_tags_restored++;
}

/* Makes a frame of a filled slot; false when it is dropped. */
static bool take(struct packet_port *self, const struct tpacket2_hdr *header,
		 struct nd_frame *frame)
{
	struct nd_port_counters *counters = &self->port.counters;
	uint8_t *data = (uint8_t *)(uintptr_t)header + header->tp_mac;
	uint32_t tag_bytes = header->tp_status & TP_STATUS_VLAN_VALID ? TAG_BYTES : 0;
	struct virtio_net_hdr offload;

	if (header->tp_len > header->tp_snaplen ||
	    header->tp_len + tag_bytes > self->port.frame_bytes_max) {
		counters->rx_dropped_oversize++;
		return false;
	}
	if (header->tp_len < ND_PORT_FRAME_BYTES_MIN) {
		counters->rx_dropped_short++;
		return false;
	}
	memcpy(&offload, data - sizeof(offload), sizeof(offload));
	if (ND_UNLIKELY(offload.gso_type == VIRTIO_NET_HDR_GSO_UDP_L4)) {
		counters->rx_dropped_oversize++;
		return false;
	}
	*frame = (struct nd_frame){ .data = data, .bytes = header->tp_len };
	complete_checksum(self, data, frame->bytes, &offload);
	if (tag_bytes)
		restore_tag(self, header, frame);
	frame->room = frame->bytes;
	return true;
}

static void packet_release(struct nd_port *port)
{
	struct packet_port *self = packet_port(port);

	for (uint32_t i = 0; i < self->rx_taken; i++)
		__atomic_store_n(&rx_slot(self, i)->tp_status, TP_STATUS_KERNEL, __ATOMIC_RELEASE);
	self->rx_next += self->rx_taken;
	self->rx_taken = 0;
}

static uint32_t packet_receive(struct nd_port *port, struct nd_frame *frames, uint32_t limit)
{
	struct packet_port *self = packet_port(port);
	uint32_t count = 0;

	while (self->rx_taken < nd_min_u32(limit, self->rx_slots)) {
		const struct tpacket2_hdr *header = rx_slot(self, self->rx_taken);

		if (!is_filled(header))
			break;
		count += take(self, header, &frames[count]);
		self->rx_taken++;
	}
	if (!count)
		packet_release(port);
	return count;
}

static uint32_t packet_reserve(struct nd_port *port, struct nd_frame *frames, uint32_t limit)
{
	struct packet_port *self = packet_port(port);
	uint32_t count = nd_min_u32(limit, self->tx_slots - (self->tx_head - self->tx_tail));

	for (uint32_t i = 0; i < count; i++)
		frames[i].data = self->tx_data + (size_t)((self->tx_head + i) &
							  (self->tx_slots - 1)) *
							 self->tx_slot_bytes;
	return count;
}

static void packet_commit(struct nd_port *port, const struct nd_frame *frames, uint32_t count)
{
	struct packet_port *self = packet_port(port);

	for (uint32_t i = 0; i < count; i++)
		self->tx_parts[self->tx_head++ & (self->tx_slots - 1)].iov_len = frames[i].bytes;
}

/* Committed slots from the tail on that one system call can send: no wrap, none given back. */
static uint32_t run_length(const struct packet_port *self)
{
	uint32_t first = self->tx_tail & (self->tx_slots - 1);
	uint32_t most = nd_min_u32(self->tx_head - self->tx_tail, self->tx_slots - first);
	uint32_t count = 0;

	most = nd_min_u32(most, SEND_BATCH);
	while (count < most && self->tx_parts[first + count].iov_len)
		count++;
	return count;
}

/* Of a committed slot; 0 when it was given back. */
static size_t tx_bytes(const struct packet_port *self, uint32_t position)
{
	return self->tx_parts[position & (self->tx_slots - 1)].iov_len;
}

static void drop_waiting(struct packet_port *self)
{
	for (; self->tx_tail != self->tx_head; self->tx_tail++)
		self->port.counters.tx_dropped_down += tx_bytes(self, self->tx_tail) != 0;
}

/* The first frame of a run was refused: counts it and goes on, or false to try again later. */
static bool pass_over(struct packet_port *self, int code)
{
	switch (code) {
	case EAGAIN:
	case ENOBUFS: /* the driver's ring is full; or there is no carrier, and will be none soon */
		if (!self->port.down)
			return false;
		drop_waiting(self);
		return true;
	case EINTR:
		return true;
	case ENETDOWN:
	case ENXIO:
	case ENODEV:
		drop_waiting(self);
		return true;
	default:
		self->port.counters.tx_dropped_kernel++;
		self->tx_tail++;
		return true;
	}
}

static uint32_t packet_flush(struct nd_port *port)
{
	struct packet_port *self = packet_port(port);

	while (self->tx_tail != self->tx_head) {
		uint32_t first = self->tx_tail & (self->tx_slots - 1), run = run_length(self);
		int sent;

		if (!run) { /* this one was given back */
			self->tx_tail++;
			continue;
		}
		sent = sendmmsg(self->tx_socket, &self->tx_messages[first], run, MSG_DONTWAIT);
		port->counters.tx_kicks++;
		if (sent > 0)
			self->tx_tail += (uint32_t)sent;
		else if (!pass_over(self, errno))
			break;
	}
	return self->tx_head - self->tx_tail;
}

static bool packet_arm(struct nd_port *port)
{
	return !is_filled(rx_slot(packet_port(port), 0));
}

static uint32_t packet_descriptors(const struct nd_port *port, int *descriptors)
{
	descriptors[0] = ((const struct packet_port *)(const void *)port)->rx_socket;
	return 1;
}

/* True when frames wait and the kernel has taken none for too long: they look like a full ring. */
static bool is_stuck(struct packet_port *self, nd_ns now)
{
	if (self->tx_tail == self->tx_head || self->tx_tail != self->tail_checked ||
	    !self->progress) { /* nobody has looked before */
		self->tail_checked = self->tx_tail;
		self->progress = now;
		return false;
	}
	return now > self->progress && now - self->progress >= STUCK_AFTER;
}

/* True when the interface was deleted: the kernel has taken its socket off it. */
static bool is_unbound(const struct packet_port *self)
{
	struct sockaddr_ll address;
	socklen_t length = sizeof(address);

	return getsockname(self->rx_socket, (struct sockaddr *)&address, &length) == 0 &&
	       (uint32_t)address.sll_ifindex != self->device.index;
}

static enum nd_port_state packet_check(struct nd_port *port, nd_ns now, struct nd_error *error)
{
	struct packet_port *self = packet_port(port);
	enum nd_port_state state;
	int pending;
	socklen_t length = sizeof(pending);

	/* An interface that went down leaves an error that would make poll() return at once. */
	getsockopt(self->rx_socket, SOL_SOCKET, SO_ERROR, &pending, &length);
	if (is_unbound(self))
		return nd_device_gone(&self->device, error);
	state = nd_device_check(&self->device, self->device_mtu, error);
	if (state != ND_PORT_UP)
		self->progress = now; /* nothing was expected to move */
	if (state != ND_PORT_UP || !is_stuck(self, now))
		return state;
	port->counters.tx_stuck++;
	nd_error_set(error, -EIO, "interface %s: %u frames are not sent for half a second (the "
				  "other end of a pair may have a smaller MTU); reopen the port",
		     port->name, self->tx_head - self->tx_tail);
	return ND_PORT_STUCK;
}

static void packet_refresh(struct nd_port *port)
{
	struct tpacket_stats stats; /* since the last call */
	socklen_t length = sizeof(stats);

	if (getsockopt(packet_port(port)->rx_socket, SOL_PACKET, PACKET_STATISTICS, &stats,
		       &length) == 0)
		port->counters.rx_ring_full += stats.tp_drops;
}

static void packet_close(struct nd_port *port)
{
	struct packet_port *self = packet_port(port);

	if (self->rx_map)
		munmap(self->rx_map, self->rx_map_bytes);
	nd_fds_close(&self->rx_socket);
	nd_fds_close(&self->tx_socket);
	nd_holder_close(&self->holder);
	nd_device_close(&self->device);
	free(self->tx_data);
	free(self->tx_messages);
	free(self->tx_parts);
	free(self);
}

static const struct nd_port_ops packet_ops = {
	.name = "packet",
	.receive = packet_receive,
	.release = packet_release,
	.reserve = packet_reserve,
	.commit = packet_commit,
	.flush = packet_flush,
	.arm = packet_arm,
	.descriptors = packet_descriptors,
	.check = packet_check,
	.refresh = packet_refresh,
	.close = packet_close,
};

static int set_option(int fd, int name, const void *value, size_t bytes)
{
	return setsockopt(fd, SOL_PACKET, name, value, (socklen_t)bytes);
}

static int open_socket(const struct nd_port_config *config, struct nd_error *error)
{
	int fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);

	if (fd < 0 && errno == EPERM)
		return nd_error_set(error, -EPERM,
				    "interface %s: AF_PACKET needs CAP_NET_RAW; run as root or "
				    "with that capability, or use a udp or memory port",
				    config->name);
	if (fd < 0)
		return nd_error_set(error, -errno, "interface %s: no AF_PACKET socket: %s",
				    config->name, strerror(errno));
	return fd;
}

static int bind_socket(const struct packet_port *self, int fd, uint16_t protocol)
{
	struct sockaddr_ll address = {
		.sll_family = AF_PACKET,
		.sll_protocol = htons(protocol),
		.sll_ifindex = (int)self->device.index,
	};

	return bind(fd, (struct sockaddr *)&address, sizeof(address));
}

static int map_ring(struct packet_port *self, uint32_t slots)
{
	struct tpacket_req request = { 0 };
	int version = TPACKET_V2, one = 1;

	self->rx_slot_bytes = nd_power_of_two_u32(self->port.frame_bytes_max + SLOT_OVERHEAD_BYTES);
	self->rx_slots = nd_power_of_two_u32(nd_max_u32(slots, BLOCK_BYTES / self->rx_slot_bytes));
	request.tp_frame_size = self->rx_slot_bytes;
	request.tp_frame_nr = self->rx_slots;
	request.tp_block_size = BLOCK_BYTES;
	request.tp_block_nr = self->rx_slots / (BLOCK_BYTES / self->rx_slot_bytes);
	if (set_option(self->rx_socket, PACKET_VERSION, &version, sizeof(version)) < 0 ||
	    set_option(self->rx_socket, PACKET_VNET_HDR, &one, sizeof(one)) < 0 ||
	    set_option(self->rx_socket, PACKET_IGNORE_OUTGOING, &one, sizeof(one)) < 0 ||
	    set_option(self->rx_socket, PACKET_RX_RING, &request, sizeof(request)) < 0)
		return -errno;
	self->rx_map_bytes = (size_t)self->rx_slots * self->rx_slot_bytes;
	self->rx_map = mmap(NULL, self->rx_map_bytes, PROT_READ | PROT_WRITE,
			    MAP_SHARED | MAP_POPULATE, self->rx_socket, 0);
	if (self->rx_map == MAP_FAILED) {
		self->rx_map = NULL;
		return -errno;
	}
	return 0;
}

static int open_receiver(struct packet_port *self, const struct nd_port_config *config,
			 struct nd_error *error)
{
	struct sock_filter code[ND_PACKET_FILTER_MAX];
	struct sock_fprog program = { .filter = code };
	struct packet_mreq promiscuous = {
		.mr_ifindex = (int)self->device.index,
		.mr_type = PACKET_MR_PROMISC,
	};
	int failed;

	self->rx_socket = open_socket(config, error);
	if (self->rx_socket < 0)
		return self->rx_socket;
	program.len = (uint16_t)nd_packet_filter(&config->filter, code);
	failed = map_ring(self, config->rx_frames ? config->rx_frames : RX_FRAMES_DEFAULT);
	if (failed == -ENOMEM)
		return nd_error_set(error, failed,
				    "interface %s: no memory for a ring of %u frames; ask for "
				    "fewer rx_frames",
				    config->name, self->rx_slots);
	if (failed < 0 ||
	    setsockopt(self->rx_socket, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof(program)) ||
	    (config->filter.everything && set_option(self->rx_socket, PACKET_ADD_MEMBERSHIP,
						     &promiscuous, sizeof(promiscuous)) < 0) ||
	    bind_socket(self, self->rx_socket, ETH_P_ALL) < 0)
		return nd_error_set(error, -errno, "interface %s: cannot receive: %s",
				    config->name, strerror(errno));
	return 0;
}

static int make_slots(struct packet_port *self, uint32_t slots)
{
	self->tx_slots = nd_power_of_two_u32(slots);
	self->tx_slot_bytes = (self->port.frame_bytes_max + TX_SLOT_ALIGN - 1) &
			      ~(TX_SLOT_ALIGN - 1);
	self->tx_data = calloc(self->tx_slots, self->tx_slot_bytes);
	self->tx_messages = calloc(self->tx_slots, sizeof(*self->tx_messages));
	self->tx_parts = calloc(self->tx_slots, sizeof(*self->tx_parts));
	if (!self->tx_data || !self->tx_messages || !self->tx_parts)
		return -ENOMEM;
	for (uint32_t i = 0; i < self->tx_slots; i++) {
		self->tx_parts[i].iov_base = self->tx_data + (size_t)i * self->tx_slot_bytes;
		self->tx_messages[i].msg_hdr.msg_iov = &self->tx_parts[i];
		self->tx_messages[i].msg_hdr.msg_iovlen = 1;
	}
	return 0;
}

static int open_sender(struct packet_port *self, const struct nd_port_config *config,
		       struct nd_error *error)
{
	int one = 1;

	if (make_slots(self, config->tx_frames ? config->tx_frames : TX_FRAMES_DEFAULT) < 0)
		return nd_error_set(error, -ENOMEM, "interface %s: no memory", config->name);
	self->tx_socket = open_socket(config, error);
	if (self->tx_socket < 0)
		return self->tx_socket;
	if (set_option(self->tx_socket, PACKET_QDISC_BYPASS, &one, sizeof(one)) < 0 ||
	    bind_socket(self, self->tx_socket, 0) < 0)
		return nd_error_set(error, -errno, "interface %s: cannot send: %s", config->name,
				    strerror(errno));
	return 0;
}

static int open_inside(struct packet_port *self, const struct nd_port_config *config,
		       struct nd_error *error)
{
	int code = nd_device_open(&self->device, config->name, error);

	if (code == 0)
		code = nd_device_use(&self->device, &self->port, config, error);
	if (code == 0)
		code = open_receiver(self, config, error);
	if (code == 0)
		code = open_sender(self, config, error);
	if (code == 0)
		code = nd_holder_open(&self->holder, &config->filter, self->device.name, error);
	return code;
}

struct nd_port *nd_packet_open(const struct nd_port_config *config, struct nd_error *error)
{
	struct packet_port *self = calloc(1, sizeof(*self));
	int back, code;

	if (!self) {
		nd_error_set(error, -ENOMEM, "interface %s: no memory", config->name);
		return NULL;
	}
	self->port.ops = &packet_ops;
	self->port.mode = "packet";
	self->rx_socket = self->tx_socket = self->device.control = -1;
	code = nd_netns_enter(config->netns, &back, error);
	if (code == 0) {
		code = open_inside(self, config, error);
		nd_netns_leave(back);
	}
	if (code < 0) {
		packet_close(&self->port);
		return NULL;
	}
	self->device_mtu = self->device.mtu;
	return &self->port;
}
