/* SPDX-License-Identifier: Apache-2.0 */
/*
 * HULL's packet pacer: smooths what segmentation offload makes bursty, behind the sender's stack.
 *
 * Flows that hear ECN are associated with the pacer for a while; their packets wait in a FIFO for
 * tokens of a rate that follows their own. All other packets bypass it, so short flows are never
 * delayed.
 *
 * DESIGN NOTES
 * 1. Rate: every period Tr, R = (1 - eta) R + eta M / Tr + beta Q, with M the bytes that arrived
 *    for pacing in the period and Q the backlog. R is kept in 2^-16 bytes/s. Periods are made up
 *    for when the pacer is next called; after ND_PACER_PERIODS_MAX idle ones R is 0 anyway.
 * 2. Tokens are kept in 2^-16 * 1e-9 bytes: R * dt needs no division and loses nothing. A packet
 *    larger than the bucket leaves when the bucket is full and leaves a debt.
 * 3. Hardware mode (tick > 0): whole bytes of tokens at each tick, between tokens_min and
 *    tokens_max, so R moves in steps of one byte a tick (0.5 Mb/s at 16 us).
 * 4. An association that times out while its packets wait lasts until they have left: bypassing
 *    them would reorder the flow.
 * 5. Several limiters (remark 4 of the paper) are several such FIFOs with their own rates; a flow
 *    is given the one with the smallest backlog.
 */
#ifndef ND_QUEUE_PACER_H
#define ND_QUEUE_PACER_H

#include "base/counters.h"
#include "base/rng.h"
#include "queue/fifo.h"

#define ND_PACER_FLOWS_MAX 64
#define ND_PACER_LIMITERS_MAX 8
#define ND_PACER_PERIODS_MAX 1024
#define ND_PACER_DEPTH_MAX_BYTES 65536
#define ND_PACER_PERIOD_MAX_NS UINT64_C(1000000)
#define ND_PACER_ONE 65536 /* 1.0 of eta_65536 and associate_65536 */

struct nd_pacer_config {
	uint32_t queue_bytes;     /* FIFO of each limiter: 128 KB */
	uint32_t depth_bytes;     /* token bucket: 3,000 */
	nd_ns period;             /* Tr: 64 us in the testbed, 7.2 us in ns-2 */
	uint32_t eta_65536;       /* eta: 0.125 = 8192 */
	uint32_t beta;            /* 16, or 375 in ns-2; in 1/s */
	uint32_t associate_65536; /* pa: 1/8 = 8192 */
	nd_ns timeout;            /* Ti: 10 ms, or 1 ms in ns-2 */
	uint32_t flows;           /* association table: 64 */
	uint32_t limiters;        /* 1, up to 8 */
	nd_ns tick;               /* 0: continuous; hardware: 16 us */
	uint32_t tokens_min;      /* per tick: 1 */
	uint32_t tokens_max;      /* per tick: 2,000 */
};

#define ND_PACER_COUNTERS(X) \
	X(bypassed_packets, "Packets of flows that are not paced.") \
	X(paced_packets, "Packets queued for tokens.") \
	X(paced_bytes, "Bytes queued for tokens.") \
	X(sent_packets, "Paced packets that left.") \
	X(sent_bytes, "Paced bytes that left.") \
	X(dropped_packets, "Paced packets dropped on a full pacer queue.") \
	X(echoes, "ACKs with ECN-Echo that the pacer heard.") \
	X(associated_flows, "Flows that became paced.") \
	X(renewed_flows, "Associations renewed by a later ECN-Echo.") \
	X(expired_flows, "Associations that timed out.") \
	X(refused_flows, "Flows not paced because the association table was full.")
ND_COUNTERS_STRUCT(nd_pacer_counters, ND_PACER_COUNTERS);
extern const struct nd_counters_table nd_pacer_counters_table;

struct nd_limiter {
	struct nd_fifo fifo;
	uint64_t rate;        /* R in 2^-16 bytes/s */
	int64_t tokens;       /* 2^-16 * 1e-9 bytes */
	nd_ns filled;         /* tokens are right at this time */
	nd_ns updated;        /* end of the last period */
	uint32_t arrived_bytes; /* M of the current period */
};

struct nd_pacer_flow {
	uint16_t flow;
	uint8_t limiter;
	uint8_t used;
	uint32_t packets; /* waiting in the limiter's FIFO */
	nd_ns expires;
};

struct nd_pacer {
	const struct nd_pacer_config *config; /* shared */
	const struct nd_pool *pool;
	struct nd_pacer_counters *counters;
	struct nd_rng rng;
	uint32_t flow_count;
	struct nd_limiter limiters[ND_PACER_LIMITERS_MAX];
	struct nd_pacer_flow flows[ND_PACER_FLOWS_MAX];
};

enum nd_pacer_verdict {
	ND_PACER_BYPASS, /* not paced: send it now */
	ND_PACER_QUEUED,
	ND_PACER_DROPPED, /* the caller frees it */
};

/* The testbed's values: 128 KB, 3,000 B, 64 us, 0.125, 16, 1/8, 10 ms, 64 flows, one limiter. */
struct nd_pacer_config nd_pacer_testbed(void);
/* ... with the 16 us token ticks of its hardware. */
struct nd_pacer_config nd_pacer_hardware(void);

/* 0 or -EINVAL with *why. */
int nd_pacer_check(const struct nd_pacer_config *config, const char **why);
void nd_pacer_init(struct nd_pacer *pacer, const struct nd_pacer_config *config,
		   const struct nd_pool *pool, struct nd_pacer_counters *counters, uint64_t seed,
		   nd_ns now);

/* An ACK with ECN-Echo arrived for the flow: it may become paced, or stay so for longer. */
void nd_pacer_echo(struct nd_pacer *pacer, uint16_t flow, nd_ns now);

/* A packet of packet.flow is ready to be sent. */
enum nd_pacer_verdict nd_pacer_enqueue(struct nd_pacer *pacer, uint32_t index, nd_ns now);

/* Index of a paced packet that may leave now, or ND_NONE. */
uint32_t nd_pacer_dequeue(struct nd_pacer *pacer, nd_ns now);

/* When nd_pacer_dequeue is worth calling next, or ND_NEVER. */
nd_ns nd_pacer_deadline(const struct nd_pacer *pacer);

/* Rate in bytes/s and backlog in bytes of a limiter at its last update. */
uint64_t nd_pacer_rate(const struct nd_pacer *pacer, uint32_t limiter);
uint32_t nd_pacer_backlog(const struct nd_pacer *pacer, uint32_t limiter);

/* NULL or what is wrong with lists, counts and associations. */
const char *nd_pacer_audit(const struct nd_pacer *pacer);

#endif
