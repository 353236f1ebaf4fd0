/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The packet I/O contract: whole Ethernet frames in and out, in batches, over any back end.
 *
 *	count = nd_port_receive(port, frames, 64);     views into the port's memory
 *	... look at frames[i].data, frames[i].bytes ...
 *	nd_port_release(port);                         all views of that batch are gone
 *
 *	count = nd_port_reserve(port, frames, 64);     empty TX frames, in the port's memory
 *	... write frames[i].data, set frames[i].bytes ...
 *	nd_port_commit(port, frames, used);            the rest of the reservation is given back
 *	nd_port_flush(port);                           once per round, not per frame
 *
 * DESIGN NOTES
 * 1. A port has one owner thread; the first data call claims it and others assert. Rings between
 *    kernel and user space are single producer, single consumer, and break silently otherwise.
 * 2. At most one RX batch and one TX reservation are out at a time. That is what lets a plain ring
 *    with the bytes in its slots (memory, TPACKET) be a back end without copying, and it forbids
 *    parking packets in the port's memory: a queue that did so would starve its own ingress.
 * 3. Everything is allocated by nd_port_open(). Nothing is after it, and no call blocks, except
 *    open (bounded waits: EBUSY after a close, carrier after an attach).
 * 4. A full TX path is backpressure, never an error: reserve() gives fewer frames and the caller
 *    keeps the packets in its own queues, where priorities and trimming still apply. A link that
 *    is down is not full: it swallows frames like a NIC without carrier, and counts them. (Blanks
 *    of such a reservation are one and the same memory: write each frame once, do not read back.)
 * 5. What can go wrong later (interface gone, re-created, MTU changed, transmitter stuck) is
 *    found by nd_port_check(), which the owner calls a few times a second. The remedy is always
 *    the same: close the port and open it again. There is no repair path beside it.
 */
#ifndef ND_PORT_PORT_H
#define ND_PORT_PORT_H

#include "base/counters.h"
#include "base/error.h"
#include "base/types.h"

#include <pthread.h>

#define ND_PORT_NAME_BYTES 108   /* longest name: a UNIX socket address */
#define ND_PORT_QUEUES_MAX 16    /* sockets of one xdp port */
#define ND_PORT_DESCRIPTORS_MAX (ND_PORT_QUEUES_MAX + 2)
#define ND_PORT_UDP_PORTS_MAX 4  /* UDP ports that the filter recognises */
#define ND_PORT_MTU_MIN 68u      /* of IPv4 */
#define ND_PORT_MTU_MAX 9216u
#define ND_PORT_FRAMING_BYTES 22u /* Ethernet header and two VLAN tags above the MTU */
#define ND_PORT_FRAME_BYTES_MIN 14u
#define ND_PORT_RING_FRAMES_MAX 65536u

enum nd_port_backend {
	ND_PORT_MEMORY, /* shared memory, in a process or between two: no privilege */
	ND_PORT_PACKET, /* AF_PACKET: CAP_NET_RAW */
	ND_PORT_UDP,    /* UDP sockets: no privilege, crosses hosts */
	ND_PORT_XDP,    /* AF_XDP: CAP_NET_RAW, CAP_NET_ADMIN and CAP_BPF at open */
};

enum nd_port_xdp_mode {
	ND_XDP_AUTO,    /* generic on software devices, native on NICs, generic if native fails */
	ND_XDP_NATIVE,  /* in the driver, or an error */
	ND_XDP_GENERIC, /* in the kernel's receive path, any device */
};

/* Which frames are ours; the kernel keeps the others. Ignored by memory and udp ports. */
struct nd_port_filter {
	bool everything;   /* a switch port takes all frames from the kernel */
	bool homa;         /* IP protocol 146, IPv4 and IPv6 */
	uint8_t udp_count; /* entries in use below */
	uint16_t udp_ports[ND_PORT_UDP_PORTS_MAX]; /* destination ports, host byte order; not 0,
						    * and each once */
};

struct nd_port_config {
	enum nd_port_backend backend;
	const char *name;        /* interface; memory: rendezvous name, abstract or /path;
				  * udp: own ADDRESS:PORT, IPv6 in brackets */
	const char *netns;       /* name under /run/netns or a path; NULL: the caller's */
	uint32_t mtu;            /* 0: the interface's; memory and udp: 1500 */
	uint32_t rx_frames;      /* ring depth, 0: 4096 (memory and udp: 512) */
	uint32_t tx_frames;      /* most frames on their way out, 0: 512 */
	struct nd_port_filter filter;

	struct nd_port_memory_config {
		bool listen; /* this end owns the name; the other end connects to it */
	} memory;

	struct nd_port_xdp_config {
		enum nd_port_xdp_mode mode;
		bool zero_copy;          /* ask the driver for it; copy mode when it has none */
		bool force;              /* take everything even on the default route's device */
		uint32_t queue_first;
		uint32_t queue_count;    /* 0: all from queue_first on */
		uint32_t memory_bytes;   /* of the UMEM; 0: 2 or 4 MiB, which any memlock limit allows */
		struct nd_port *share;   /* xdp port of the same owner thread whose UMEM to use */
		const char *map_path;    /* pinned XSKMAP of a program attached by others */
	} xdp;
};

/*
 * One frame: a view when received, a blank of room bytes when reserved. A port that gathers also
 * takes frames whose end lies elsewhere: reserve() clears tail_bytes, and who sets it sets tail too.
 * What is there stays and does not change until nd_port_flush() has returned; nobody reads it after
 * that. All headers are in data. Of received frames, and by other ports, no tail is looked at.
 */
struct nd_frame {
	uint8_t *data;
	uint32_t bytes; /* of the whole, its tail included */
	uint32_t room;
	const uint8_t *tail; /* the last tail_bytes of them, not in data then */
	uint32_t tail_bytes;
};

/* One list for all back ends, so that tools print the same columns for each. */
#define ND_PORT_COUNTERS(X) \
	X(rx_frames, "Frames received and handed to the stack.") \
	X(rx_bytes, "Bytes of the frames received.") \
	X(tx_frames, "Frames handed to the link.") \
	X(tx_bytes, "Bytes of the frames handed to the link.") \
	X(rx_dropped_oversize, "Frames dropped on arrival because they exceed the MTU, or are several " \
			       "that the sender left for its NIC to cut (turn TSO and GSO off).") \
	X(rx_dropped_short, "Frames dropped on arrival because they hold no Ethernet header.") \
	X(rx_dropped_foreign, "Datagrams dropped on arrival because they cannot be turned into a " \
			      "frame.") \
	X(rx_dropped_corrupt, "Ring entries dropped because the peer wrote an impossible length " \
			      "or position.") \
	X(rx_dropped_kernel, "Frames the kernel dropped before the ring for other reasons, such " \
			     "as a frame larger than a buffer.") \
	X(rx_ring_full, "Frames the kernel dropped because the receive ring was full: the owner " \
			"thread was too slow or was preempted. Over UDP sockets a train counts once.") \
	X(rx_fill_empty, "Frames the kernel dropped because it had no empty buffer to fill.") \
	X(rx_invalid, "Buffers the kernel refused to fill.") \
	X(rx_checksums_completed, "Frames whose checksum the sender left to its NIC and the port " \
				  "filled in.") \
	X(rx_tags_restored, "VLAN tags that the kernel had taken off and the port put back.") \
	X(tx_dropped_oversize, "Frames dropped on departure because they exceed the MTU.") \
	X(tx_dropped_short, "Frames dropped on departure because they hold no Ethernet header.") \
	X(tx_dropped_unsendable, "Frames dropped on departure because a UDP port carries only " \
				 "UDP over IP of its own address family.") \
	X(tx_dropped_down, "Frames dropped on departure because nobody is at the other end or " \
			   "the link is down.") \
	X(tx_dropped_kernel, "Frames that the kernel refused to send.") \
	X(tx_backpressure, "Times that the transmit path had less room than was asked for.") \
	X(tx_invalid, "Descriptors the kernel refused to send.") \
	X(tx_stuck, "Times that transmission made no progress for half a second.") \
	X(tx_kicks, "System calls made to transmit.") \
	X(rx_kicks, "System calls made to receive.") \
	X(peer_attached, "Times that the other end of a memory port attached.") \
	X(peer_refused, "Connections refused because another end is attached, or by its " \
			"credentials or memory layout.")
ND_COUNTERS_STRUCT(nd_port_counters, ND_PORT_COUNTERS);
extern const struct nd_counters_table nd_port_counters_table;

enum nd_port_state {
	ND_PORT_UP,
	ND_PORT_DOWN,    /* no carrier, set down, or no peer; it may come back by itself */
	ND_PORT_GONE,    /* deleted or re-created: close and open again */
	ND_PORT_CHANGED, /* MTU is not what was opened: close and open again */
	ND_PORT_STUCK,   /* transmission stopped: close and open again */
};

struct nd_port_ops;

/* Every back end's struct begins with this. */
struct nd_port {
	const struct nd_port_ops *ops;
	char name[ND_PORT_NAME_BYTES]; /* canonical: an alternative name is resolved */
	const char *mode;        /* in use: "memory", "packet", "udp", "xdp native copy", ... */
	char note[ND_ERROR_TEXT_BYTES]; /* what was not as asked for, with the reason, or "" */
	uint32_t mtu;
	uint32_t frame_bytes_max; /* largest frame either way */
	uint64_t link_bps;        /* as the kernel has it when it was opened, 0: unknown */
	uint32_t reserved;        /* TX frames that are out */
	uint8_t mac[6];           /* zero where there is none */
	bool receiving;           /* an RX batch is out */
	bool down;                /* as of the last check: what is sent is dropped and counted */
	bool dropping;            /* the reservation that is out is blind */
	bool gathers;             /* frames may have tails; set at open */
	bool claimed;
	pthread_t owner;
	uint8_t *blind;           /* one frame that every blank of a blind reservation is */
	struct nd_port_counters counters;
};

struct nd_port_ops {
	const char *name;
	uint32_t (*receive)(struct nd_port *port, struct nd_frame *frames, uint32_t limit);
	void (*release)(struct nd_port *port);
	uint32_t (*reserve)(struct nd_port *port, struct nd_frame *frames, uint32_t limit);
	/* All of the reservation; frames to be sent have a valid size, the others 0 bytes. */
	void (*commit)(struct nd_port *port, const struct nd_frame *frames, uint32_t count);
	uint32_t (*flush)(struct nd_port *port);
	bool (*arm)(struct nd_port *port);
	uint32_t (*descriptors)(const struct nd_port *port, int *descriptors);
	enum nd_port_state (*check)(struct nd_port *port, nd_ns now, struct nd_error *error);
	void (*refresh)(struct nd_port *port);
	void (*close)(struct nd_port *port);
};

/*
 * Opens a port. NULL on failure: error says what, why, and what to do.
 * May block up to two seconds (a queue that is still being released; carrier after an attach).
 */
struct nd_port *nd_port_open(const struct nd_port_config *config, struct nd_error *error);

/* Closes and frees it. No other thread may be in a call. Nothing is left in the kernel. */
void nd_port_close(struct nd_port *port);

/* Takes up to limit frames in; their views live until nd_port_release(). */
uint32_t nd_port_receive(struct nd_port *port, struct nd_frame *frames, uint32_t limit);

/* Gives all views of the last receive back. */
void nd_port_release(struct nd_port *port);

/* Up to limit blanks to write frames into; 0 when the link has no room now. */
uint32_t nd_port_reserve(struct nd_port *port, struct nd_frame *frames, uint32_t limit);

/*
 * Sends the first count frames of the reservation, in order, and gives back the others. A frame
 * of 0 bytes is given back too; one of an impossible size is dropped and counted.
 */
void nd_port_commit(struct nd_port *port, struct nd_frame *frames, uint32_t count);

/*
 * Tells the link about committed frames; returns how many it has not taken (flush again). Those that
 * wait for an interface that is down are not among them: nd_port_check() sends them when it is up, or
 * they are dropped. Whatever it returns, the port has what it needs of their tails.
 */
uint32_t nd_port_flush(struct nd_port *port);

/* Before blocking in poll(2): true when it is safe to block, false when frames are waiting. */
bool nd_port_arm(struct nd_port *port);

/* Descriptors to poll for POLLIN, at most ND_PORT_DESCRIPTORS_MAX; returns how many. */
uint32_t nd_port_descriptors(const struct nd_port *port, int *descriptors);

/*
 * Looks after the slow things: link state, MTU, re-creation, stuck transmission, a peer that
 * comes or goes. Call it a few times a second and whenever poll(2) woke for no frame, with no
 * batch or reservation out. error explains every state but ND_PORT_UP.
 */
enum nd_port_state nd_port_check(struct nd_port *port, nd_ns now, struct nd_error *error);

/* Counters, with the kernel's own added as of now. */
const struct nd_port_counters *nd_port_counters(struct nd_port *port);

/* The next data call may come from another thread; the caller orders the hand-over. */
void nd_port_disown(struct nd_port *port);

#endif
