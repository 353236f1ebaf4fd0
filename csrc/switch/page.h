/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a switch tells about itself: a page of counters, depths and states in shared memory.
 *
 * The worker writes a whole new picture about every millisecond while frames move, and before it
 * blocks. A reader, in this process or another that was given the descriptor, copies it without a
 * lock (nd_page_read) and gets one moment: the sums in it hold exactly.
 *
 * DESIGN NOTES
 * 1. A sequence lock with one writer: odd while it writes. A reader that was overtaken copies
 *    again, and gives up after ND_PAGE_TRIES when the writer seems to have died in the middle.
 * 2. The memory is sealed: no reader can write to it or resize it.
 */
#ifndef ND_SWITCH_PAGE_H
#define ND_SWITCH_PAGE_H

#include "switch/switch.h"

#define ND_PAGE_MAGIC UINT64_C(0x6e64737769746331) /* "ndswitc1" */
#define ND_PAGE_TRIES 10000u

/* Of the thread that runs the switch. */
struct nd_worker_stats {
	uint64_t rounds;      /* the heartbeat */
	uint64_t busy_rounds; /* that moved frames */
	uint64_t frames;      /* moved */
	uint64_t sleeps;      /* times that it blocked */
	uint64_t sleep_ns;    /* time spent blocked */
	uint64_t gap_ns_max;  /* longest time between two rounds that was not slept */
};

struct nd_page_class {
	uint32_t packets;
	uint32_t bytes;
	uint32_t packets_max; /* high-water mark */
	uint32_t bytes_max;
};

struct nd_page_port {
	char name[ND_PORT_NAME_BYTES];
	uint32_t used;    /* 0: no such port, the rest is void */
	uint32_t enabled;
	uint32_t up;
	uint32_t state;   /* enum nd_port_state */
	uint32_t changes; /* of up, enabled or state */
	uint32_t mtu;
	uint32_t classes_count;
	uint32_t phantom_bytes; /* level of the phantom queue */
	struct nd_page_class queue; /* all classes together */
	struct nd_page_class classes[ND_QUEUE_CLASSES_MAX];
	struct nd_switch_counters counters;
	struct nd_queue_counters queue_counters;
	struct nd_phantom_counters phantom_counters;
	struct nd_faults_counters faults_counters;
	struct nd_port_counters port_counters;
};

struct nd_page {
	uint64_t magic;
	uint32_t page_bytes;  /* tells versions apart */
	uint32_t port_count;  /* ports beyond are unused */
	uint64_t sequence;
	nd_ns time;           /* CLOCK_MONOTONIC of this picture */
	char name[ND_SWITCH_NAME_BYTES];
	uint32_t packets_max;
	uint32_t packets_used;
	uint32_t packets_used_max;
	uint32_t addresses;
	uint32_t routes;
	uint32_t spare;
	struct nd_worker_stats worker;
	struct nd_switch_counters counters;
	struct nd_fdb_counters fdb_counters;
	struct nd_wire_counters wire_counters;
	struct nd_page_port ports[ND_SWITCH_PORTS_MAX];
};

/* Makes a page; returns its descriptor (read-only for whoever gets it) or negative errno. */
int nd_page_create(struct nd_page **page);
void nd_page_destroy(struct nd_page *page, int fd);

/* Maps the page behind a descriptor, to read. NULL with errno when it is none. */
const struct nd_page *nd_page_map(int fd);
void nd_page_unmap(const struct nd_page *page);

/* Writes a new picture of the switch. */
void nd_page_publish(struct nd_page *page, struct nd_switch *sw,
		     const struct nd_worker_stats *worker, nd_ns now);

/* Copies one moment. 0, or -EAGAIN when the writer does not come to an end: it was killed. */
int nd_page_read(const struct nd_page *page, struct nd_page *copy);

#endif
