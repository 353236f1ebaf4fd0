// SPDX-License-Identifier: Apache-2.0
/* Memory ports: two rings in shared memory, within a process or between two. */
/*
 * DESIGN NOTES
 * 1. The connecting end makes the memory and hands it over on its connection at once, so opening
 *    never waits and both ends may live in one thread. The listening end maps it in check().
 * 2. The connection then stays as the sign of life: the kernel closes it when a process is killed.
 *    A listening end lets go of the memory and accepts the next; a connecting end is gone. It is
 *    the bell, too: an end wakes the other by a message. To ring or to hush it never blocks, as an
 *    eventfd that both have can, whose flags and counter are the other's as well.
 * 3. The memory is sealed against resizing, or the other end could turn any access into SIGBUS.
 *    Geometry is read once, checked and kept privately. Lengths are read once per frame.
 * 4. The bytes of a frame lie in its slot while it is looked at; the other end could still change
 *    them. Both ends run as one user (or root), and no length is taken from them twice.
 * 5. What crosses CPUs for a short frame is fetched at once, not one line after the other: its length
 *    lies beside its first bytes, an end that has a blank already owns it when it is written, and one
 *    that sees the cursor move asks for all of the frame's beginning.
 */
#include "port/memory.h"

#include "base/ring.h"
#include "port/device.h"
#include "port/fds.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAGIC UINT64_C(0x6e6470706f727433) /* "ndpport3" */
#define MTU_DEFAULT 1500u
#define SLOTS_DEFAULT 512u
#define SLOT_ALIGN 64u
#define SLOT_BEGINNING (3 * SLOT_ALIGN) /* holds a request of 100 bytes, headers and all */
#define SLOT_BYTES_MAX \
	(ND_PORT_MTU_MAX + ND_PORT_FRAMING_BYTES + sizeof(struct slot) + SLOT_ALIGN)
#define SEALS (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL)

/* What the connecting end says beside the descriptor of the memory. */
struct geometry {
	uint64_t magic;
	uint32_t mtu;
	uint32_t slots;
	uint32_t slot_bytes;
	uint32_t reserved; /* sent 0, ignored */
};

struct slot {
	uint32_t bytes; /* of the frame; 0: given back unsent */
	uint32_t reserved[3];
	uint8_t frame[];
};

/* One direction, as one end sees it. */
struct lane {
	struct nd_ring ring;
	uint8_t *slots;
	uint32_t slot_bytes;
};

struct memory_port {
	struct nd_port port;
	bool listens;
	bool armed;       /* about to block since the last receive: the bell may have been rung */
	bool broken;      /* the other end wrote nonsense */
	bool deaf;        /* to whoever knocks: there was no descriptor for the last one */
	uint32_t taken;   /* slots that the RX batch covers */
	int epoll;        /* the one descriptor to poll, whatever is attached */
	int listener;
	int connection;
	int memory;
	uint8_t *map;     /* NULL while nobody is attached */
	size_t map_bytes;
	struct lane rx, tx;
	struct nd_error why; /* the last peer was refused or lost */
};

static struct memory_port *memory_port(struct nd_port *port)
{
	return (struct memory_port *)port;
}

static uint32_t slot_bytes_of(uint32_t frame_bytes)
{
	uint32_t bytes = (uint32_t)sizeof(struct slot) + frame_bytes;

	return (bytes + SLOT_ALIGN - 1) & ~(SLOT_ALIGN - 1);
}

static size_t lane_bytes(const struct geometry *geometry)
{
	return sizeof(struct nd_ring_shared) + (size_t)geometry->slots * geometry->slot_bytes;
}

static struct lane make_lane(uint8_t *memory, const struct geometry *geometry)
{
	struct nd_ring_shared *shared = (struct nd_ring_shared *)(void *)memory;

	return (struct lane){
		.ring = nd_ring_make(shared, geometry->slots),
		.slots = memory + sizeof(*shared),
		.slot_bytes = geometry->slot_bytes,
	};
}

/* The slot that is offset beyond this end's cursor. */
static struct slot *slot_at(const struct lane *lane, uint32_t offset)
{
	size_t index = nd_ring_slot(&lane->ring, offset);

	return (struct slot *)(void *)(lane->slots + index * lane->slot_bytes);
}

static int watch(struct memory_port *self, int fd, uint32_t what)
{
	struct epoll_event event = { .events = what };

	return epoll_ctl(self->epoll, EPOLL_CTL_ADD, fd, &event);
}

static void unwatch(struct memory_port *self, int fd)
{
	if (fd >= 0)
		epoll_ctl(self->epoll, EPOLL_CTL_DEL, fd, NULL);
}

/* Maps the memory that both ends share; the listening end receives on the first lane. */
static int attach(struct memory_port *self, const struct geometry *geometry)
{
	size_t lane = lane_bytes(geometry);
	uint8_t *map = mmap(NULL, 2 * lane, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE,
			    self->memory, 0);

	if (map == MAP_FAILED)
		return -errno;
	self->map = map;
	self->map_bytes = 2 * lane;
	self->rx = make_lane(self->listens ? map : map + lane, geometry);
	self->tx = make_lane(self->listens ? map + lane : map, geometry);
	self->broken = false;
	self->port.counters.peer_attached++;
	return 0;
}

static void detach(struct memory_port *self)
{
	/* What a child of a fork still holds would wake us for ever: closing it here does not end that. */
	unwatch(self, self->connection);
	if (self->map)
		munmap(self->map, self->map_bytes);
	self->map = NULL;
	self->armed = false;
	nd_fds_close(&self->memory);
	nd_fds_close(&self->connection);
}

/* Back from poll(2): wants no more waking, and hushes the bell if it was rung. */
static void disarm(struct memory_port *self)
{
	uint8_t ring;

	nd_ring_disarm(&self->rx.ring);
	self->armed = false;
	recv(self->connection, &ring, sizeof(ring), MSG_DONTWAIT);
}

/* Another CPU has just written it: asks for its lines all at once. */
static void fetch_beginning(const struct slot *slot)
{
	for (uint32_t at = 0; at < SLOT_BEGINNING; at += SLOT_ALIGN)
		__builtin_prefetch((const uint8_t *)slot + at);
}

/* The next to be written: takes its lines from the CPU that has read them last. */
static void own_beginning(struct slot *slot)
{
	for (uint32_t at = 0; at < SLOT_BEGINNING; at += SLOT_ALIGN)
		__builtin_prefetch((uint8_t *)slot + at, 1);
}

static uint32_t memory_receive(struct nd_port *port, struct nd_frame *frames, uint32_t limit)
{
	struct memory_port *self = memory_port(port);
	struct lane *rx = &self->rx;
	uint32_t filled, count = 0;

	if (!self->map || self->broken)
		return 0;
	if (self->armed)
		disarm(self);
	filled = nd_ring_filled(&rx->ring, limit);
	if (ND_UNLIKELY(filled == ND_RING_CORRUPT)) {
		port->counters.rx_dropped_corrupt++;
		self->broken = true;
		return 0;
	}
	for (uint32_t i = 0; i < filled; i++) {
		struct slot *slot = slot_at(rx, i);
		uint32_t bytes;

		fetch_beginning(slot);
		bytes = __atomic_load_n(&slot->bytes, __ATOMIC_RELAXED);
		if (ND_UNLIKELY(bytes < ND_PORT_FRAME_BYTES_MIN || bytes > port->frame_bytes_max)) {
			port->counters.rx_dropped_corrupt += bytes != 0;
			continue;
		}
		frames[count++] = (struct nd_frame){
			.data = slot->frame,
			.bytes = bytes,
			.room = bytes,
		};
	}
	self->taken = filled;
	if (!count && filled)
		nd_ring_retire(&rx->ring, filled);
	return count;
}

static void memory_release(struct nd_port *port)
{
	struct memory_port *self = memory_port(port);

	nd_ring_retire(&self->rx.ring, self->taken);
}

static uint32_t memory_reserve(struct nd_port *port, struct nd_frame *frames, uint32_t limit)
{
	struct memory_port *self = memory_port(port);
	struct lane *tx = &self->tx;
	uint32_t room;

	if (!self->map || self->broken)
		return 0;
	room = nd_ring_room(&tx->ring, limit);
	if (ND_UNLIKELY(room == ND_RING_CORRUPT)) {
		self->broken = true;
		return 0;
	}
	for (uint32_t i = 0; i < room; i++)
		frames[i].data = slot_at(tx, i)->frame;
	if (room)
		own_beginning(slot_at(tx, 0));
	return room;
}

static void memory_commit(struct nd_port *port, const struct nd_frame *frames, uint32_t count)
{
	struct lane *tx = &memory_port(port)->tx;

	for (uint32_t i = 0; i < count; i++)
		__atomic_store_n(&slot_at(tx, i)->bytes, frames[i].bytes, __ATOMIC_RELAXED);
	if (count)
		nd_ring_publish(&tx->ring, count);
}

static uint32_t memory_flush(struct nd_port *port)
{
	static const uint8_t ring;
	struct memory_port *self = memory_port(port);

	if (!self->map || !nd_ring_must_wake(&self->tx.ring))
		return 0;
	port->counters.tx_kicks++;
	/* It fails when the other end is gone, or has more rings than it can hold and is awake. */
	send(self->connection, &ring, sizeof(ring), MSG_DONTWAIT | MSG_NOSIGNAL);
	return 0;
}

static bool memory_arm(struct nd_port *port)
{
	struct memory_port *self = memory_port(port);

	if (!self->map || self->broken)
		return true;
	self->armed = true;
	return nd_ring_arm(&self->rx.ring);
}

static uint32_t memory_descriptors(const struct nd_port *port, int *descriptors)
{
	descriptors[0] = ((const struct memory_port *)(const void *)port)->epoll;
	return 1;
}

static int check_geometry(const struct memory_port *self, const struct geometry *geometry,
			  struct nd_error *error)
{
	const char *name = self->port.name;
	struct stat stat;

	if (geometry->magic != MAGIC)
		return nd_error_set(error, -EPROTO,
				    "%s: refused a peer of another ndpstack version", name);
	if (geometry->mtu != self->port.mtu)
		return nd_error_set(error, -EPROTO,
				    "%s: refused a peer with MTU %u, ours is %u; give both ends "
				    "the same mtu",
				    name, geometry->mtu, self->port.mtu);
	if (!geometry->slots || geometry->slots > ND_PORT_RING_FRAMES_MAX ||
	    (geometry->slots & (geometry->slots - 1)) ||
	    geometry->slot_bytes < sizeof(struct slot) + self->port.frame_bytes_max ||
	    geometry->slot_bytes > SLOT_BYTES_MAX || geometry->slot_bytes % SLOT_ALIGN ||
	    !nd_fds_is_sealed(self->memory, SEALS) || fstat(self->memory, &stat) < 0 ||
	    stat.st_size != (off_t)(2 * lane_bytes(geometry)))
		return nd_error_set(error, -EPROTO, "%s: refused a peer whose memory has an "
						    "impossible layout",
				    name);
	return 0;
}

/* Makes the connection our peer if what it brought is sound. -EAGAIN: nothing came yet. */
static int adopt(struct memory_port *self)
{
	struct geometry geometry;
	int code = nd_fds_receive(self->connection, &geometry, sizeof(geometry), &self->memory, 1);

	if (code == -EAGAIN)
		return code;
	if (code < 0)
		nd_error_set(&self->why, code,
			     "%s: refused a peer that handed over no memory, or not as this "
			     "ndpstack version does",
			     self->port.name);
	else
		code = check_geometry(self, &geometry, &self->why);
	if (code == 0) {
		code = attach(self, &geometry);
		if (code < 0)
			nd_error_set(&self->why, code, "%s: cannot map the peer's memory: %s",
				     self->port.name, strerror(-code));
	}
	if (code < 0) {
		detach(self);
		self->port.counters.peer_refused++;
	}
	return code;
}

/* A peer at the door; one that came before and has brought nothing gives way to it. */
static void greet(struct memory_port *self, int connection)
{
	if (self->map) {
		close(connection);
		self->port.counters.peer_refused++;
		return;
	}
	if (self->connection >= 0)
		self->port.counters.peer_refused++;
	nd_fds_close(&self->connection);
	self->connection = connection;
	if (watch(self, connection, EPOLLIN | EPOLLRDHUP) == 0) {
		adopt(self);
		return;
	}
	nd_fds_close(&self->connection); /* we would not hear its bell */
	self->port.counters.peer_refused++;
}

/* Who knocks is to wake the port's owner, or waits for the next check in silence. */
static void heed(struct memory_port *self, bool wakes)
{
	struct epoll_event event = { .events = wakes ? EPOLLIN : 0 };

	if (wakes == self->deaf)
		epoll_ctl(self->epoll, EPOLL_CTL_MOD, self->listener, &event);
	self->deaf = !wakes;
}

/* Looks at who waits: the first sound peer is attached, others are turned away. */
static void answer(struct memory_port *self)
{
	int connection;

	if (!self->map && self->connection >= 0)
		adopt(self);
	while ((connection = nd_fds_accept(self->listener, false)) >= 0 || connection == -EPERM) {
		if (connection >= 0) {
			greet(self, connection);
			continue;
		}
		self->port.counters.peer_refused++;
		nd_error_set(&self->why, -EPERM,
			     "%s: refused a peer of another user; run both ends as one user",
			     self->port.name);
	}
	heed(self, connection == -EAGAIN);
	if (connection == -EMFILE || connection == -ENFILE)
		nd_error_set(&self->why, connection,
			     "%s: a peer waits, and there is no free descriptor for it; raise the "
			     "limit of %s",
			     self->port.name,
			     connection == -EMFILE ? "this process (LimitNOFILE, ulimit -n)" :
						     "all processes (fs.file-max)");
}

static enum nd_port_state memory_check(struct nd_port *port, nd_ns now, struct nd_error *error)
{
	struct memory_port *self = memory_port(port);

	(void)now;
	if (self->map && (self->broken || (nd_fds_hung_up(self->connection) &&
					   nd_ring_filled(&self->rx.ring, 1) != 1))) {
		nd_error_set(&self->why, -EPIPE, "%s: the other end %s; start it again%s",
			     port->name, self->broken ? "wrote nonsense into the ring" : "is gone",
			     self->listens ? "" : ", then reopen this port");
		detach(self);
	}
	if (self->listens)
		answer(self);
	if (self->map)
		return ND_PORT_UP;
	*error = self->why;
	return self->listens ? ND_PORT_DOWN : ND_PORT_GONE;
}

static void memory_refresh(struct nd_port *port)
{
	(void)port; /* the kernel counts nothing here */
}

static void memory_close(struct nd_port *port)
{
	struct memory_port *self = memory_port(port);

	detach(self);
	if (self->listener >= 0 && port->name[0] == '/')
		unlink(port->name);
	nd_fds_close(&self->listener);
	nd_fds_close(&self->epoll);
	free(self);
}

static const struct nd_port_ops memory_ops = {
	.name = "memory",
	.receive = memory_receive,
	.release = memory_release,
	.reserve = memory_reserve,
	.commit = memory_commit,
	.flush = memory_flush,
	.arm = memory_arm,
	.descriptors = memory_descriptors,
	.check = memory_check,
	.refresh = memory_refresh,
	.close = memory_close,
};

static int listen_on(struct memory_port *self, struct nd_error *error)
{
	self->listener = nd_fds_listen(self->port.name, error);
	if (self->listener < 0)
		return self->listener;
	nd_error_set(&self->why, -ENOTCONN, "%s: nobody has connected yet", self->port.name);
	if (watch(self, self->listener, EPOLLIN) < 0)
		return nd_error_set(error, -errno, "%s: epoll: %s", self->port.name,
				    strerror(errno));
	return 0;
}

static int make_memory(struct memory_port *self, const struct geometry *geometry)
{
	self->memory = memfd_create("ndpstack-port", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (self->memory < 0 || ftruncate(self->memory, (off_t)(2 * lane_bytes(geometry))) < 0 ||
	    fcntl(self->memory, F_ADD_SEALS, SEALS) < 0)
		return -errno;
	return 0;
}

static int connect_to(struct memory_port *self, uint32_t slots, struct nd_error *error)
{
	struct geometry geometry = {
		.magic = MAGIC,
		.mtu = self->port.mtu,
		.slots = slots,
		.slot_bytes = slot_bytes_of(self->port.frame_bytes_max),
	};
	int code;

	self->connection = nd_fds_connect(self->port.name, error);
	if (self->connection < 0)
		return self->connection;
	code = watch(self, self->connection, EPOLLIN | EPOLLRDHUP) < 0 ? -errno : 0;
	if (code == 0)
		code = make_memory(self, &geometry);
	if (code == 0)
		code = attach(self, &geometry);
	if (code == 0)
		code = nd_fds_send(self->connection, &geometry, sizeof(geometry), &self->memory, 1);
	if (code < 0)
		return nd_error_set(error, code, "%s: cannot share memory with the other end: %s",
				    self->port.name, strerror(-code));
	return 0;
}

struct nd_port *nd_memory_open(const struct nd_port_config *config, struct nd_error *error)
{
	struct memory_port *self = calloc(1, sizeof(*self));
	uint32_t slots = config->rx_frames ? config->rx_frames : SLOTS_DEFAULT;
	int code = 0, back = -1;

	if (!self) {
		nd_error_set(error, -ENOMEM, "port %s: no memory", config->name);
		return NULL;
	}
	self->port.ops = &memory_ops;
	self->port.mode = "memory";
	self->port.mtu = config->mtu ? config->mtu : MTU_DEFAULT;
	self->port.frame_bytes_max = self->port.mtu + ND_PORT_FRAMING_BYTES;
	self->listens = config->memory.listen;
	self->listener = self->connection = self->memory = -1;
	snprintf(self->port.name, sizeof(self->port.name), "%s", config->name);
	self->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (self->epoll < 0)
		code = nd_error_set(error, -errno, "%s: epoll: %s", config->name, strerror(errno));
	if (code == 0)
		code = nd_netns_enter(config->netns, &back, error);
	if (code == 0) {
		code = self->listens
			       ? listen_on(self, error)
			       : connect_to(self,
					    nd_power_of_two_u32(nd_max_u32(slots, config->tx_frames)),
					    error);
		nd_netns_leave(back);
	}
	if (code < 0) {
		memory_close(&self->port);
		return NULL;
	}
	return &self->port;
}
