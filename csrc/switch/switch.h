/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One logical switch: ports, forwarding, and what the disciplines decide, applied to bytes.
 *
 * It has one owner thread (see worker.h); nothing here blocks, and nothing allocates once ports
 * are there.
 *
 * DESIGN NOTES
 * 1. A frame is copied out of its port's memory when it arrives and into the other port's memory
 *    when it leaves. Queueing in port memory would starve the port's own ingress, and a copy of
 *    1500 bytes costs less than one cache miss in ten of the rest.
 * 2. Disciplines see decoded packets and change only those: trimmed, CE, bounced. The bytes follow
 *    once, when the packet leaves, by comparing its marks with those it came with.
 * 3. Inputs take turns by bytes (deficit round robin), so that the burst of one does not fill a
 *    queue before the others' frames of the same moment are looked at; and a queue whose link has
 *    time is served before the next frame is put into it. A worker that comes late, with rings
 *    full of what arrived meanwhile, so decides about as it would have in time.
 * 4. Every frame that was accepted is sent, dropped with a reason, or in a buffer:
 *    accepted + replicated == sent + every drop + buffers in use. nd_switch_audit() holds it at
 *    any moment.
 */
#ifndef ND_SWITCH_SWITCH_H
#define ND_SWITCH_SWITCH_H

#include "base/error.h"
#include "port/port.h"
#include "queue/phantom.h"
#include "switch/ecmp.h"
#include "switch/egress.h"
#include "switch/faults.h"
#include "switch/fdb.h"
#include "switch/mirror.h"
#include "switch/route.h"
#include "wire/frame.h"

#define ND_SWITCH_PORTS_MAX 64u
#define ND_SWITCH_GROUPS_MAX 256u
#define ND_SWITCH_MIRRORS_MAX 8u
#define ND_SWITCH_NAME_BYTES 16u

/* Forwarding entries below this are ports, from here on ECMP groups. */
#define ND_SWITCH_GROUP 0x8000u

struct nd_switch_config {
	const char *name;         /* at most ND_SWITCH_NAME_BYTES - 1 bytes */
	uint32_t packets_max;     /* buffers, shared by all ports */
	uint32_t frame_bytes_max; /* size of a buffer; longer frames are dropped */
	uint32_t fdb_max;         /* learned and configured addresses */
	uint32_t routes_max;      /* 0: it does not route */
	nd_ns fdb_aging;
	bool learning;            /* learn where addresses are, flood to the unknown */
	struct nd_frame_config frame;
	uint64_t seed;
};

/* What can be changed while frames pass. */
struct nd_switch_port_settings {
	const struct nd_queue_ops *discipline;
	const void *discipline_config; /* valid until it is replaced or the port is removed */
	uint64_t rate_bps;             /* of the link that the port stands for, 0: not paced */
	nd_ns catch_up;                /* see egress.h */
	struct nd_phantom_config phantom; /* behind the discipline; rate_bps 0: none */
	struct nd_frame_trim trim;
	struct nd_faults_config faults; /* on arrival */
	uint8_t mac[6]; /* the router's address on its link; zero: the device's */
	bool off_tree; /* takes no part in flooding: what keeps it from circling in a fabric of
			* several paths, where floods follow a spanning tree */
};

/* One list for switches and their ports: frames are counted where they arrived, and from their
 * queue on where they leave. */
#define ND_SWITCH_COUNTERS(X) \
	X(accepted, "Frames that arrived and were given a buffer.") \
	X(replicated, "Copies made of frames that were flooded.") \
	X(sent, "Frames handed to a port.") \
	X(flooded, "Frames sent to all ports: multicast, broadcast, or an unknown address.") \
	X(bounced, "Trimmed headers sent back to where they came from.") \
	X(dropped_no_buffer, "Frames dropped on arrival because all buffers are in use.") \
	X(dropped_oversize, "Frames dropped on arrival because they are longer than a buffer.") \
	X(dropped_malformed, "Frames dropped because they have no Ethernet header.") \
	X(dropped_unknown, "Frames dropped because their address is unknown and learning is off.") \
	X(routed, "Frames to the switch's own address that went on by a route.") \
	X(dropped_no_route, "Frames to the switch's own address dropped because no route leads on.") \
	X(dropped_no_neighbour, "Frames dropped because their next hop has no known Ethernet " \
				"address on the port that was chosen.") \
	X(dropped_hop_limit, "Frames dropped by the router because their hop limit is used up.") \
	X(dropped_no_path, "Frames dropped because every port that leads on, or the one chosen by " \
			   "the sender, is down.") \
	X(dropped_hairpin, "Frames dropped because they would leave by the port they came from.") \
	X(dropped_disabled, "Frames dropped on arrival because their port is disabled.") \
	X(dropped_faults, "Frames dropped by the fault injector.") \
	X(dropped_queue, "Frames dropped or evicted by a discipline.") \
	X(dropped_bounce, "Headers dropped because they may not be returned.") \
	X(dropped_trim, "Frames dropped because their bytes cannot be trimmed as decided.") \
	X(dropped_off_tree, "Frames to be flooded dropped because they came by a port that takes " \
			    "no part in flooding.") \
	X(dropped_removed, "Frames dropped because their port was removed.")
ND_COUNTERS_STRUCT(nd_switch_counters, ND_SWITCH_COUNTERS);
extern const struct nd_counters_table nd_switch_counters_table;

/* A frame in the switch; its struct nd_packet has the same index. */
struct nd_switch_buffer {
	uint16_t bytes;
	uint16_t ingress; /* port it came from */
	uint8_t marks;    /* that the bytes carry */
	bool returned;    /* on its way back: may leave where it came from */
};

/* High-water marks of a queue. Those of classes are as of when the whole queue was longest. */
struct nd_switch_peaks {
	uint32_t packets;
	uint32_t bytes;
	struct nd_queue_depth classes[ND_QUEUE_CLASSES_MAX];
	uint32_t recent_bytes; /* most since classes were looked at regardless */
};

#define ND_SWITCH_BATCH 32u

/* What a port received and the switch has not taken yet. */
struct nd_switch_intake {
	struct nd_frame frames[ND_SWITCH_BATCH];
	uint32_t count;
	uint32_t next;
	uint32_t credit; /* bytes that it may still bring in before the others have their turn */
};

struct nd_switch_port {
	bool used;            /* false: this slot is free */
	bool enabled;         /* the operator wants it up */
	bool up;              /* enabled, and its link is up */
	bool off_tree;        /* takes no part in flooding */
	bool unflushed;       /* frames were committed since the last flush */
	nd_ns full_until;     /* the link takes no frame; it is asked again then */
	enum nd_port_state state;
	struct nd_error why;  /* of a state that is not up */
	uint32_t changes;     /* times that enabled or state changed */
	uint8_t mac[6];        /* of the router on this link */
	uint8_t router_mac[6]; /* as configured, or zero */
	char name[ND_PORT_NAME_BYTES];
	struct nd_port *port; /* NULL while it is closed, to be opened again */
	struct nd_egress egress;
	struct nd_queue_counters queue_counters;
	struct nd_phantom phantom;
	struct nd_phantom_config phantom_config;
	struct nd_phantom_counters phantom_counters;
	struct nd_frame_trim trim;
	struct nd_faults faults;
	struct nd_switch_counters counters;
	struct nd_port_counters closed; /* of the port's earlier openings */
	struct nd_switch_peaks peaks;
	struct nd_switch_intake intake;
};

struct nd_switch {
	char name[ND_SWITCH_NAME_BYTES];
	struct nd_switch_config config;
	struct nd_pool pool; /* struct nd_packet */
	struct nd_switch_buffer *buffers;
	uint8_t *frames;
	struct nd_heap delayed; /* buffers that the fault injector holds, by due time */
	struct nd_fdb fdb;
	struct nd_routes routes;
	struct nd_ecmp groups[ND_SWITCH_GROUPS_MAX]; /* without members: free */
	uint32_t port_count; /* slots in use or used before */
	uint32_t turn;       /* port whose frames are taken first */
	struct nd_switch_port ports[ND_SWITCH_PORTS_MAX];
	struct nd_switch_counters removed; /* of ports that are no more */
	struct nd_wire_counters wire_counters;
	struct nd_mirror *mirrors[ND_SWITCH_MIRRORS_MAX];
	uint64_t mirrored_rx, mirrored_tx; /* bit i: some mirror wants port i */
	enum nd_mirror_verdict fate;       /* of the frame that was dealt with last */
	const uint64_t *dropped_by;        /* the counter of the last drop */
	nd_ns looked;          /* for frames: what is taken in now came later */
	nd_ns fdb_checked;
	nd_ns flush_at; /* a link did not take all that was committed: tell it again */
	nd_ns published;       /* page is as of then */
	struct nd_page *page;  /* see page.h; or NULL */
	bool news;             /* a port's state changed since the page was published */
	int events_fd;         /* told when the page has such news, or -1 */
};

/* NULL on failure, with *error. */
struct nd_switch *nd_switch_new(const struct nd_switch_config *config, struct nd_error *error);

/* Closes all ports. No other thread may be in a call. */
void nd_switch_free(struct nd_switch *sw);

/*
 * Ports. What takes time or may fail is done before, and needs no round to stand still; the change
 * itself neither allocates nor fails.
 */
struct nd_switch_change {
	uint32_t index;          /* of the port */
	struct nd_queue *queue;  /* memory for its new queue, or NULL: it keeps the one it has */
	const struct nd_switch_port_settings *settings;
};

/* Checks a new port and allocates for it. 0 or negative errno with *error. */
int nd_switch_prepare_port(const struct nd_switch *sw, const struct nd_port *port,
			   const struct nd_switch_port_settings *settings,
			   struct nd_switch_change *change, struct nd_error *error);
void nd_switch_insert_port(struct nd_switch *sw, const struct nd_switch_change *change,
			   struct nd_port *port);

/*
 * The same for a port that is there. Its queue is built anew, unless settings->discipline is NULL:
 * what waits in the old one moves over, as far as the new one takes it.
 */
int nd_switch_prepare_settings(const struct nd_switch *sw, uint32_t index,
			       const struct nd_switch_port_settings *settings,
			       struct nd_switch_change *change, struct nd_error *error);
/* Returns the memory of the old queue, to be freed; NULL when it stays. */
struct nd_queue *nd_switch_apply_settings(struct nd_switch *sw,
					  const struct nd_switch_change *change, nd_ns now);

/*
 * Takes a port out: what is queued is dropped, what leads there leads nowhere. Its port, to be
 * closed, and its queue, to be freed.
 */
struct nd_port *nd_switch_detach_port(struct nd_switch *sw, uint32_t index,
				      struct nd_queue **queue);

/* Puts another opening of the port in the place of the one it has; either may be NULL. */
struct nd_port *nd_switch_swap_port(struct nd_switch *sw, uint32_t index, struct nd_port *port);

/* All of it at once: index of the new port, or negative errno; port is then still open. */
int nd_switch_add_port(struct nd_switch *sw, struct nd_port *port,
		       const struct nd_switch_port_settings *settings, struct nd_error *error);
void nd_switch_remove_port(struct nd_switch *sw, uint32_t index);

/* The operator takes a port out of use, or back. It then neither takes frames in nor is led to. */
void nd_switch_enable_port(struct nd_switch *sw, uint32_t index, bool enabled);

/* Watermarks start again from what is queued now. */
void nd_switch_clear_peaks(struct nd_switch *sw, uint32_t index);

/* Index of a new group of ports (use with ND_SWITCH_GROUP), or negative errno. */
int nd_switch_add_group(struct nd_switch *sw, enum nd_ecmp_mode mode, const uint16_t *ports,
			uint32_t count, uint32_t divisor);
/* Gives a group other members or another mode. 0 or negative errno. */
int nd_switch_set_group(struct nd_switch *sw, uint32_t group, enum nd_ecmp_mode mode,
			const uint16_t *ports, uint32_t count, uint32_t divisor);
/* Addresses and routes that lead to it go with it. 0 or -ENODEV. */
int nd_switch_remove_group(struct nd_switch *sw, uint32_t group);

/* A configured address: leads to a port, or ND_SWITCH_GROUP | group. 0 or negative errno. */
int nd_switch_set_address(struct nd_switch *sw, uint64_t key, uint16_t to);

/* A route; hops name ports that are there. 0 or negative errno. */
int nd_switch_set_route(struct nd_switch *sw, const uint8_t prefix[16], uint8_t length,
			const struct nd_route *route);

/* Mirrors belong to the caller. 0 or -ENOSPC. */
int nd_switch_add_mirror(struct nd_switch *sw, struct nd_mirror *mirror);
void nd_switch_remove_mirror(struct nd_switch *sw, const struct nd_mirror *mirror);

/* One round: takes in a batch from each port, sends what may be sent. Returns frames moved. */
uint32_t nd_switch_round(struct nd_switch *sw, nd_ns now);

/* The thread was blocked until now because no frame came. */
static inline void nd_switch_rested(struct nd_switch *sw, nd_ns now)
{
	sw->looked = now;
}

/* When the next queued or delayed frame wants a round, or ND_NEVER. */
nd_ns nd_switch_deadline(const struct nd_switch *sw);

/* Looks after links a few times a second: states, MTU, devices. */
void nd_switch_check(struct nd_switch *sw, nd_ns now);

/* The next round may come from another thread; the caller orders the hand-over. */
void nd_switch_disown(struct nd_switch *sw);

/* Counters of all ports together, those that are no more included. */
struct nd_switch_counters nd_switch_counters(const struct nd_switch *sw);

/* NULL, or what is wrong: conservation, pools, queues. O(packets). */
const char *nd_switch_audit(const struct nd_switch *sw);

/* Between the files of the switch: */

/* When a link that did not take all is asked, or told, again. */
#define ND_SWITCH_AGAIN_NS (20 * ND_USEC)

/* Gives a frame in buffer index its way; the buffer is the callee's from here. */
void nd_switch_dispatch(struct nd_switch *sw, uint32_t index, nd_ns now);

/* The port that a port or group stands for now, or ND_NONE. */
uint32_t nd_switch_resolve(struct nd_switch *sw, uint32_t to, uint32_t index);

/* Makes a frame to the router ready for its next hop. Port, or ND_NONE with the counter of why. */
uint32_t nd_switch_route(struct nd_switch *sw, uint32_t index, uint64_t **why);

/* Drops and returns what a discipline of the port let go. */
void nd_switch_shed(struct nd_switch *sw, uint32_t port, const struct nd_shed *shed, nd_ns now);

/* Sends what a port's link has time for. Returns frames sent. */
uint32_t nd_switch_transmit(struct nd_switch *sw, uint32_t port, nd_ns now);

/* Copies of a frame that arrived, and of what became of it after all was done. */
void nd_switch_mirror_rx(struct nd_switch *sw, uint32_t port,
			 struct nd_mirror_frame *copies[ND_SWITCH_MIRRORS_MAX],
			 const uint8_t *frame, uint32_t bytes);
void nd_switch_mirror_fate(struct nd_switch *sw, uint32_t port,
			   struct nd_mirror_frame *copies[ND_SWITCH_MIRRORS_MAX], nd_ns now);

/* Copies of a frame that leaves, or that its queue dropped. */
void nd_switch_mirror_tx(struct nd_switch *sw, uint32_t port, uint32_t index,
			 uint32_t original_bytes, enum nd_mirror_verdict verdict, nd_ns now);

/* A port that is no more is mirrored no more. */
void nd_switch_unmirror_port(struct nd_switch *sw, uint32_t port);

/* No address, route or group leads to a port (or group) any more. */
void nd_switch_forget(struct nd_switch *sw, uint16_t to);

/* Takes what is queued now into the port's watermarks. */
void nd_switch_note_peak(struct nd_switch_port *port);

/* 64-byte aligned, to be freed; NULL when there is none. */
void *nd_switch_zeroed(size_t bytes);

static inline uint8_t *nd_switch_frame(const struct nd_switch *sw, uint32_t index)
{
	return sw->frames + (size_t)index * sw->config.frame_bytes_max;
}

static inline void nd_switch_count_drop(struct nd_switch *sw, uint64_t *counter)
{
	(*counter)++;
	sw->fate = ND_MIRROR_DROPPED;
	sw->dropped_by = counter;
}

static inline void nd_switch_drop(struct nd_switch *sw, uint32_t index, uint64_t *counter)
{
	nd_switch_count_drop(sw, counter);
	nd_pool_put(&sw->pool, index);
}

#endif
