/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A phantom queue (HULL): a counter in series with an egress link that simulates a slower one and
 * marks ECN as that one would, so that senders leave headroom and real queues stay empty. It holds
 * and delays nothing. While it is on, the real queue should not mark.
 *
 * DESIGN NOTES
 * 1. The level is kept in 1e-9 bits: a byte adds 8e9 units and one nanosecond drains rate_bps
 *    units, so the arithmetic is exact integer arithmetic with no division.
 * 2. With a quantum the drain happens in steps at multiples of it, as hardware does (800 ns in
 *    the testbed); the level is then above the continuous one by at most one quantum's drain.
 * 3. A register has an end: the level saturates at ND_PHANTOM_LEVEL_MAX_BYTES, far above any
 *    threshold.
 */
#ifndef ND_QUEUE_PHANTOM_H
#define ND_QUEUE_PHANTOM_H

#include "base/counters.h"
#include "base/types.h"
#include "wire/packet.h"

#define ND_PHANTOM_LEVEL_MAX_BYTES (UINT32_C(1) << 30)
#define ND_PHANTOM_RATE_MAX_BPS UINT64_C(1000000000000)
#define ND_PHANTOM_QUANTUM_MAX_NS UINT64_C(1000000)

struct nd_phantom_config {
	uint64_t rate_bps;        /* drain: gamma C, 950 Mb/s on a 1 Gb/s link in the paper */
	uint32_t threshold_bytes; /* marks above this: 1,000 or 6,000 in the paper */
	nd_ns quantum;            /* 0: continuous; else drains once in each such period */
};

#define ND_PHANTOM_COUNTERS(X) \
	X(passed_packets, "Packets that passed the phantom queue.") \
	X(passed_bytes, "Bytes that passed the phantom queue.") \
	X(marked_packets, "Packets marked CE by the phantom queue.") \
	X(unmarked_packets, "Packets above the threshold whose sender does not understand ECN.")
ND_COUNTERS_STRUCT(nd_phantom_counters, ND_PHANTOM_COUNTERS);
extern const struct nd_counters_table nd_phantom_counters_table;

struct nd_phantom {
	const struct nd_phantom_config *config; /* shared */
	uint64_t level;                         /* 1e-9 bits */
	nd_ns drained;                          /* up to this time */
	struct nd_phantom_counters *counters;
};

/* 0 or -EINVAL with *why. */
int nd_phantom_check(const struct nd_phantom_config *config, const char **why);
void nd_phantom_init(struct nd_phantom *phantom, const struct nd_phantom_config *config,
		     struct nd_phantom_counters *counters, nd_ns now);

/* The packet leaves on the link now: counts it, and marks it if it is due. */
void nd_phantom_pass(struct nd_phantom *phantom, struct nd_packet *packet, nd_ns now);

/* Level in bytes, rounded up, as it is now. */
uint32_t nd_phantom_level(const struct nd_phantom *phantom, nd_ns now);

#endif
