// SPDX-License-Identifier: Apache-2.0
/*
 * UDP ports: frames between hosts through ordinary sockets, without any privilege.
 *
 * DESIGN NOTES
 * 1. What a flush finds for one target leaves in trains (port/udp_train.h): what the kernel does
 *    with a packet costs more than all that we do. A train that it, or a route, refuses goes again,
 *    one by one.
 * 2. Frames are made of what came where it lies (port/udp_arrivals.h): headers are put in front.
 * 3. Of a frame with a tail the kernel gathers both parts, so that its copy is the only one. What it
 *    has no room for is copied into the slot, tail and all, before the flush returns: what waits is
 *    the port's own, and a flush that comes later does not look where the tail once was.
 */
#include "port/udp.h"

#include "port/device.h"
#include "port/fds.h"
#include "port/udp_arrivals.h"
#include "port/udp_frame.h"
#include "port/udp_train.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/sock_diag.h>
#include <netinet/udp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#define MTU_DEFAULT 1500u
#define RX_FRAMES_DEFAULT 512u /* that the socket's buffer shall hold */
#define TX_FRAMES_DEFAULT 512u
#define BATCH 64u
#define SLOT_ALIGN 64u
#define IPV4_HEADERS_BYTES 28u /* with UDP's */
#define IPV6_HEADERS_BYTES 48u
#define SKB_OVERHEAD_BYTES 768u /* that the kernel counts for each buffered datagram */

struct udp_port {
	struct nd_port port;
	int socket;
	union nd_udp_address local;
	uint32_t slot_bytes;

	struct nd_udp_arrivals arrivals;

	uint8_t *tx_data;
	struct udp_sending {
		const uint8_t *tail;
		uint32_t bytes;      /* 0: is not to be sent */
		uint32_t tail_bytes; /* the last of them; the others are in the slot */
	} *tx_sendings;              /* by slot */
	uint32_t tx_slots, tx_head, tx_tail; /* slots [tail, head) are committed and not sent */
	uint32_t tx_alone;                   /* so many of them go one by one */
	struct mmsghdr tx_messages[BATCH];
	struct nd_udp_train tx_trains[BATCH];
};

/* Bytes of the longest datagram that a frame can carry. */
static uint32_t payload_max(const struct udp_port *self)
{
	uint32_t headers = self->local.any.sa_family == AF_INET ? ND_UDP_HEADERS_MAX - 20 :
								   ND_UDP_HEADERS_MAX;

	return self->port.frame_bytes_max - headers;
}

static struct udp_port *udp_port(struct nd_port *port)
{
	return (struct udp_port *)port;
}

static bool is_v4(const struct udp_port *self)
{
	return self->local.any.sa_family == AF_INET;
}

static socklen_t address_bytes(const struct udp_port *self)
{
	return is_v4(self) ? sizeof(struct sockaddr_in) : sizeof(struct sockaddr_in6);
}

/* ---- receive ---- */

/* Makes a frame of the next datagram; false when it is dropped. */
static bool take(struct udp_port *self, uint32_t index, struct nd_frame *frame)
{
	struct nd_udp_part part = nd_udp_arrivals_cut(&self->arrivals, index);
	uint32_t headers;

	if (part.source->any.sa_family != self->local.any.sa_family) {
		self->port.counters.rx_dropped_foreign++;
		return false;
	}
	if (!part.payload) {
		self->port.counters.rx_dropped_oversize++;
		return false;
	}
	headers = nd_udp_frame_build(part.payload, part.bytes, part.source, &self->local,
				     part.traffic_class);
	*frame = (struct nd_frame){
		.data = part.payload - headers,
		.bytes = headers + part.bytes,
		.room = headers + part.bytes,
	};
	return true;
}

static bool receive_more(struct udp_port *self)
{
	self->port.counters.rx_kicks++;
	return nd_udp_arrivals_receive(&self->arrivals, self->socket);
}

static uint32_t udp_receive(struct nd_port *port, struct nd_frame *frames, uint32_t limit)
{
	struct udp_port *self = udp_port(port);
	uint32_t count = 0;

	limit = nd_min_u32(limit, ND_UDP_ARRIVALS_MAX);
	if (nd_udp_arrivals_done(&self->arrivals) && !receive_more(self))
		return 0;
	while (count < limit && !nd_udp_arrivals_done(&self->arrivals))
		count += take(self, count, &frames[count]);
	return count;
}

static void udp_release(struct nd_port *port)
{
	(void)port; /* what lies there is overwritten by the next batch */
}

/* ---- transmit ---- */

static uint8_t *tx_slot(const struct udp_port *self, uint32_t position)
{
	return self->tx_data + (size_t)(position & (self->tx_slots - 1)) * self->slot_bytes;
}

static struct udp_sending *tx_sending(const struct udp_port *self, uint32_t position)
{
	return &self->tx_sendings[position & (self->tx_slots - 1)];
}

static uint32_t udp_reserve(struct nd_port *port, struct nd_frame *frames, uint32_t limit)
{
	struct udp_port *self = udp_port(port);
	uint32_t count;

	if (self->tx_head == self->tx_tail)
		self->tx_head = self->tx_tail = 0; /* the slots that were used last are in the cache */
	count = nd_min_u32(limit, self->tx_slots - (self->tx_head - self->tx_tail));
	for (uint32_t i = 0; i < count; i++) {
		frames[i].data = tx_slot(self, self->tx_head + i);
		frames[i].tail_bytes = 0;
	}
	return count;
}

static void udp_commit(struct nd_port *port, const struct nd_frame *frames, uint32_t count)
{
	struct udp_port *self = udp_port(port);

	for (uint32_t i = 0; i < count; i++) {
		nd_assert(!frames[i].bytes || frames[i].tail_bytes <= frames[i].bytes);
		*tx_sending(self, self->tx_head++) = (struct udp_sending){
			.tail = frames[i].tail,
			.bytes = frames[i].bytes,
			.tail_bytes = frames[i].bytes ? frames[i].tail_bytes : 0,
		};
	}
}

/* Of a datagram parsed as if all lay in the slot: what of it is the tail, which padding may follow. */
static void split(const struct udp_sending *sending, const uint8_t *slot,
		  struct nd_udp_datagram *datagram)
{
	const uint8_t *end = slot + (sending->bytes - sending->tail_bytes);

	nd_assert(datagram->payload <= end);
	datagram->tail = sending->tail;
	if (datagram->payload + datagram->payload_bytes > end)
		datagram->tail_bytes = (uint32_t)(datagram->payload + datagram->payload_bytes - end);
}

/* Takes a committed frame apart; false when it cannot be sent. */
static bool parse_at(const struct udp_port *self, uint32_t at, struct nd_udp_datagram *datagram)
{
	const struct udp_sending *sending = tx_sending(self, at);
	const uint8_t *slot = tx_slot(self, at);

	if (!sending->bytes ||
	    !nd_udp_frame_parse(slot, sending->bytes, self->local.any.sa_family, datagram))
		return false;
	if (sending->tail_bytes)
		split(sending, slot, datagram);
	return true;
}

/* Makes a train of the frames from there on: as many as can be of one, 0: that one cannot be sent. */
static uint32_t fill_train(struct udp_port *self, struct nd_udp_train *train, uint32_t at)
{
	struct nd_udp_datagram datagram;
	uint32_t next = at + 1;

	if (!parse_at(self, at, &datagram))
		return 0;
	nd_udp_train_begin(train, &datagram);
	if (at - self->tx_tail < self->tx_alone)
		return 1;
	while (next != self->tx_head && parse_at(self, next, &datagram) &&
	       nd_udp_train_add(train, &datagram))
		next++;
	return next - at;
}

/* They are sent, or never will be. */
static void pass(struct udp_port *self, uint32_t frames)
{
	self->tx_tail += frames;
	self->tx_alone -= nd_min_u32(frames, self->tx_alone);
}

/* Makes messages of the next committed frames, up to a batch, and skips what cannot be sent. */
static uint32_t fill_batch(struct udp_port *self)
{
	uint32_t count = 0, at = self->tx_tail;

	while (count < BATCH && at != self->tx_head) {
		struct nd_udp_train *train = &self->tx_trains[count];
		uint32_t frames = fill_train(self, train, at);

		if (!frames) {
			if (count)
				break; /* when it is the first, it is passed over */
			self->port.counters.tx_dropped_unsendable +=
				tx_sending(self, at)->bytes != 0;
			pass(self, 1);
			at = self->tx_tail;
			continue;
		}
		self->tx_messages[count++].msg_hdr = nd_udp_train_message(train);
		at += frames;
	}
	return count;
}

/* The first of a batch was refused: where no train may go, each of its datagrams still may. */
static void refuse_first(struct udp_port *self)
{
	if (self->tx_trains[0].count > 1) {
		self->tx_alone = self->tx_trains[0].count;
		return;
	}
	self->port.counters.tx_dropped_kernel++;
	pass(self, 1);
}

/* What the kernel has not taken waits in its slot: the owner may do with the tails what it likes. */
static void keep_tails(const struct udp_port *self)
{
	for (uint32_t at = self->tx_tail; at != self->tx_head; at++) {
		struct udp_sending *sending = tx_sending(self, at);

		if (!sending->tail_bytes)
			continue;
		memcpy(tx_slot(self, at) + (sending->bytes - sending->tail_bytes), sending->tail,
		       sending->tail_bytes);
		sending->tail_bytes = 0;
	}
}

static uint32_t udp_flush(struct nd_port *port)
{
	struct udp_port *self = udp_port(port);
	uint32_t count;

	while ((count = fill_batch(self))) {
		int sent = sendmmsg(self->socket, self->tx_messages, count, MSG_DONTWAIT);

		port->counters.tx_kicks++;
		for (int i = 0; i < sent; i++)
			pass(self, self->tx_trains[i].count);
		if (sent > 0 || errno == EINTR)
			continue;
		if (errno == EAGAIN || errno == ENOBUFS)
			break;
		refuse_first(self); /* one bad target must not hold up the others */
	}
	keep_tails(self);
	return self->tx_head - self->tx_tail;
}

/* ---- the slow things ---- */

static bool udp_arm(struct nd_port *port)
{
	const struct udp_port *self = udp_port(port);
	uint8_t byte;

	return nd_udp_arrivals_done(&self->arrivals) &&
	       recv(self->socket, &byte, 1, MSG_PEEK | MSG_DONTWAIT) < 0;
}

static uint32_t udp_descriptors(const struct nd_port *port, int *descriptors)
{
	descriptors[0] = ((const struct udp_port *)(const void *)port)->socket;
	return 1;
}

static enum nd_port_state udp_check(struct nd_port *port, nd_ns now, struct nd_error *error)
{
	(void)port;
	(void)now;
	(void)error;
	return ND_PORT_UP; /* routes come and go; the kernel refuses what has none */
}

static void udp_refresh(struct nd_port *port)
{
	uint32_t info[SK_MEMINFO_VARS] = { 0 };
	socklen_t length = sizeof(info);

	if (getsockopt(udp_port(port)->socket, SOL_SOCKET, SO_MEMINFO, info, &length) == 0)
		port->counters.rx_ring_full = info[SK_MEMINFO_DROPS];
}

static void udp_close(struct nd_port *port)
{
	struct udp_port *self = udp_port(port);

	nd_fds_close(&self->socket);
	nd_udp_arrivals_close(&self->arrivals);
	free(self->tx_data);
	free(self->tx_sendings);
	free(self);
}

static const struct nd_port_ops udp_ops = {
	.name = "udp",
	.receive = udp_receive,
	.release = udp_release,
	.reserve = udp_reserve,
	.commit = udp_commit,
	.flush = udp_flush,
	.arm = udp_arm,
	.descriptors = udp_descriptors,
	.check = udp_check,
	.refresh = udp_refresh,
	.close = udp_close,
};

/* ---- open ---- */

/* ADDRESS:PORT, the address in brackets if it is IPv6. */
static int parse_name(const char *name, union nd_udp_address *local, struct nd_error *error)
{
	static const struct in6_addr none = IN6ADDR_ANY_INIT;
	char address[ND_PORT_NAME_BYTES];
	char *colon, *rest;
	unsigned long number;

	snprintf(address, sizeof(address), "%s", name);
	colon = strrchr(address, ':');
	number = colon ? strtoul(colon + 1, &rest, 10) : 0;
	if (!colon || *rest || number == 0 || number > UINT16_MAX)
		goto malformed;
	*colon = '\0';
	*local = (union nd_udp_address){ 0 };
	if (inet_pton(AF_INET, address, &local->v4.sin_addr) == 1) {
		local->v4.sin_family = AF_INET;
		local->v4.sin_port = htons((uint16_t)number);
		if (local->v4.sin_addr.s_addr != INADDR_ANY)
			return 0;
		goto nobody;
	}
	if (address[0] != '[' || colon[-1] != ']')
		goto malformed;
	colon[-1] = '\0';
	if (inet_pton(AF_INET6, address + 1, &local->v6.sin6_addr) != 1)
		goto malformed;
	local->v6.sin6_family = AF_INET6;
	local->v6.sin6_port = htons((uint16_t)number);
	if (memcmp(&local->v6.sin6_addr, &none, sizeof(none)) != 0)
		return 0;
nobody:
	return nd_error_set(error, -EADDRNOTAVAIL,
			    "udp port %s: frames carry their own address, so give one of this "
			    "host's and not the unspecified one",
			    name);
malformed:
	return nd_error_set(error, -EINVAL,
			    "udp port %s: write 192.0.2.1:40000, or [2001:db8::1]:40000", name);
}

static int set_int(int fd, int level, int name, int value)
{
	return setsockopt(fd, level, name, &value, sizeof(value));
}

static int open_socket(struct udp_port *self, uint32_t rx_frames, struct nd_error *error)
{
	const char *name = self->port.name;
	uint32_t buffer = rx_frames * (self->slot_bytes + SKB_OVERHEAD_BYTES);

	self->socket = socket(self->local.any.sa_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (self->socket < 0)
		return nd_error_set(error, -errno, "udp port %s: no socket: %s", name,
				    strerror(errno));
	/* A wish: the kernel has its own limit. */
	set_int(self->socket, SOL_SOCKET, SO_RCVBUF, (int)nd_min_u32(buffer, INT32_MAX));
	if (is_v4(self) ? set_int(self->socket, IPPROTO_IP, IP_RECVTOS, 1) < 0 ||
				  set_int(self->socket, IPPROTO_IP, IP_MTU_DISCOVER,
					  IP_PMTUDISC_DO) < 0
			: set_int(self->socket, IPPROTO_IPV6, IPV6_RECVTCLASS, 1) < 0 ||
				  set_int(self->socket, IPPROTO_IPV6, IPV6_MTU_DISCOVER,
					  IPV6_PMTUDISC_DO) < 0)
		return nd_error_set(error, -errno, "udp port %s: cannot set it up: %s", name,
				    strerror(errno));
	set_int(self->socket, IPPROTO_UDP, UDP_GRO, 1); /* a wish, too */
	if (bind(self->socket, &self->local.any, address_bytes(self)) == 0)
		return 0;
	if (errno == EADDRINUSE)
		return nd_error_set(error, -EADDRINUSE,
				    "udp port %s belongs to another program (`ss -lunp` names it); "
				    "stop it or choose another port",
				    name);
	if (errno == EADDRNOTAVAIL)
		return nd_error_set(error, -EADDRNOTAVAIL,
				    "udp port %s: this host has no such address; `ip addr` lists "
				    "them",
				    name);
	return nd_error_set(error, -errno, "udp port %s: cannot bind: %s", name, strerror(errno));
}

static int make_slots(struct udp_port *self, uint32_t tx_frames, struct nd_error *error)
{
	uint32_t headers = is_v4(self) ? IPV4_HEADERS_BYTES : IPV6_HEADERS_BYTES;
	int code = nd_udp_arrivals_open(&self->arrivals, self->port.mtu - headers,
					payload_max(self));

	self->tx_slots = nd_power_of_two_u32(tx_frames);
	self->tx_data = calloc(self->tx_slots, self->slot_bytes);
	self->tx_sendings = calloc(self->tx_slots, sizeof(*self->tx_sendings));
	if (code < 0 || !self->tx_data || !self->tx_sendings)
		return nd_error_set(error, -ENOMEM, "udp port %s: no memory", self->port.name);
	return 0;
}

struct nd_port *nd_udp_open(const struct nd_port_config *config, struct nd_error *error)
{
	struct udp_port *self = calloc(1, sizeof(*self));
	int back, code;

	if (!self) {
		nd_error_set(error, -ENOMEM, "udp port %s: no memory", config->name);
		return NULL;
	}
	self->port.ops = &udp_ops;
	self->port.mode = "udp";
	self->port.gathers = true;
	self->port.mtu = config->mtu ? config->mtu : MTU_DEFAULT;
	self->port.frame_bytes_max = self->port.mtu + ND_PORT_FRAMING_BYTES;
	self->slot_bytes = (self->port.frame_bytes_max + SLOT_ALIGN - 1) & ~(SLOT_ALIGN - 1);
	self->socket = -1;
	snprintf(self->port.name, sizeof(self->port.name), "%s", config->name);
	code = parse_name(config->name, &self->local, error);
	if (code == 0)
		code = make_slots(self, config->tx_frames ? config->tx_frames : TX_FRAMES_DEFAULT,
				  error);
	if (code == 0)
		code = nd_netns_enter(config->netns, &back, error);
	if (code == 0) {
		code = open_socket(self, config->rx_frames ? config->rx_frames : RX_FRAMES_DEFAULT,
				   error);
		nd_netns_leave(back);
	}
	if (code < 0) {
		udp_close(&self->port);
		return NULL;
	}
	return &self->port;
}
