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
 * 3. Every frame that was accepted is sent, dropped with a reason, or in a buffer:
 *    accepted + replicated == sent + every drop + buffers in use. nd_switch_audit() holds it at
 *    any moment.
 */
#ifndef ND_SWITCH_SWITCH_H
#define ND_SWITCH_SWITCH_H

#include "base/error.h"
#include "port/port.h"
#include "switch/ecmp.h"
#include "switch/egress.h"
#include "switch/faults.h"
#include "switch/fdb.h"
#include "wire/frame.h"

#define ND_SWITCH_PORTS_MAX 64u
#define ND_SWITCH_GROUPS_MAX 256u
#define ND_SWITCH_NAME_BYTES 16u

/* Forwarding entries below this are ports, from here on ECMP groups. */
#define ND_SWITCH_GROUP 0x8000u

struct nd_switch_config {
	const char *name;         /* at most ND_SWITCH_NAME_BYTES - 1 bytes */
	uint32_t packets_max;     /* buffers, shared by all ports */
	uint32_t frame_bytes_max; /* size of a buffer; longer frames are dropped */
	uint32_t fdb_max;         /* learned and configured addresses */
	nd_ns fdb_aging;
	bool learning;            /* learn where addresses are, flood to the unknown */
	struct nd_frame_config frame;
	uint64_t seed;
};

struct nd_switch_port_config {
	struct nd_port *port; /* open; the switch closes it when the port is removed */
	const struct nd_queue_ops *discipline;
	const void *discipline_config; /* valid as long as the port is there */
	uint64_t rate_bps;             /* of the link that the port stands for, 0: not paced */
	nd_ns catch_up;                /* see egress.h */
	struct nd_frame_trim trim;
	struct nd_faults_config faults; /* on arrival */
	bool off_tree; /* takes no part in flooding: what keeps it from circling in a fabric of
			* several paths, where floods follow a spanning tree */
};

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
	X(dropped_no_path, "Frames dropped because every port that leads on, or the one chosen by " \
			   "the sender, is down.") \
	X(dropped_hairpin, "Frames dropped because they would leave by the port they came from.") \
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
	uint16_t ingress; /* port it came from, or ND_SWITCH_GROUP for none */
	uint8_t marks;    /* that the bytes carry */
};

struct nd_switch_port {
	struct nd_port *port; /* NULL: this slot is free */
	struct nd_egress egress;
	struct nd_queue_counters queue_counters;
	struct nd_frame_trim trim;
	struct nd_faults faults;
	bool up;
	bool off_tree;
	uint64_t rx_frames; /* taken from the port */
	uint64_t tx_frames; /* handed to it */
};

struct nd_switch {
	char name[ND_SWITCH_NAME_BYTES];
	struct nd_switch_config config;
	struct nd_pool pool; /* struct nd_packet */
	struct nd_switch_buffer *buffers;
	uint8_t *frames;
	struct nd_heap delayed; /* buffers that the fault injector holds, by due time */
	struct nd_fdb fdb;
	struct nd_ecmp groups[ND_SWITCH_GROUPS_MAX];
	uint32_t group_count;
	uint32_t port_count; /* slots in use or used before */
	struct nd_switch_port ports[ND_SWITCH_PORTS_MAX];
	struct nd_switch_counters counters;
	struct nd_wire_counters wire_counters;
	nd_ns fdb_checked;
};

/* NULL on failure, with *error. */
struct nd_switch *nd_switch_new(const struct nd_switch_config *config, struct nd_error *error);

/* Closes all ports. No other thread may be in a call. */
void nd_switch_free(struct nd_switch *sw);

/* Index of the new port, or negative errno with *error; on failure config->port is still open. */
int nd_switch_add_port(struct nd_switch *sw, const struct nd_switch_port_config *config,
		       struct nd_error *error);
void nd_switch_remove_port(struct nd_switch *sw, uint32_t index);

/* Index of a new group of ports (use with ND_SWITCH_GROUP), or negative errno. */
int nd_switch_add_group(struct nd_switch *sw, enum nd_ecmp_mode mode, const uint16_t *ports,
			uint32_t count, uint32_t divisor);

/* A configured address: leads to a port, or ND_SWITCH_GROUP | group. 0 or negative errno. */
int nd_switch_set_address(struct nd_switch *sw, const uint8_t mac[6], uint16_t to);

/* Takes a port out of every group, or back in, and forgets what was learned behind it. */
void nd_switch_set_link(struct nd_switch *sw, uint32_t index, bool up);

/* One round: takes in a batch from each port, sends what may be sent. Returns frames moved. */
uint32_t nd_switch_round(struct nd_switch *sw, nd_ns now);

/* When the next queued or delayed frame wants a round, or ND_NEVER. */
nd_ns nd_switch_deadline(const struct nd_switch *sw);

/* Looks after links a few times a second: states, MTU, re-created devices. */
void nd_switch_check(struct nd_switch *sw, nd_ns now);

/* NULL, or what is wrong: conservation, pools, queues. O(packets). */
const char *nd_switch_audit(const struct nd_switch *sw);

/* Between the files of the switch: */

/* Gives a frame in buffer index its way; the buffer is the callee's from here. */
void nd_switch_dispatch(struct nd_switch *sw, uint32_t index, nd_ns now);

/* Sends what a port's link has time for. Returns frames sent. */
uint32_t nd_switch_transmit(struct nd_switch *sw, uint32_t port, nd_ns now);

static inline uint8_t *nd_switch_frame(const struct nd_switch *sw, uint32_t index)
{
	return sw->frames + (size_t)index * sw->config.frame_bytes_max;
}

#endif
