/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The NDP discipline: a short queue of whole packets and a queue, equally long in bytes, of
 * headers and control packets that is served first. Data that does not fit loses its payload
 * instead of being dropped; a fair coin decides whether the arriving packet or the newest queued
 * one is cut, which breaks the phase effects of synchronised senders.
 */
#ifndef ND_QUEUE_NDP_H
#define ND_QUEUE_NDP_H

#include "queue/limit.h"
#include "queue/queue.h"

/* Classes: what can be blocked and measured. */
enum { ND_NDP_QUEUE_DATA, ND_NDP_QUEUE_HEADERS };

/* Which packet is cut when the data queue is full. */
enum nd_ndp_victim {
	ND_NDP_VICTIM_COIN,    /* the arrival or the tail of the data queue, each with 1/2 */
	ND_NDP_VICTIM_ARRIVAL, /* always the arrival: netfpga and p4 */
};

#define ND_NDP_QUEUE_PACKETS_MAX 65535
#define ND_NDP_QUEUE_WEIGHT_MAX 30000
#define ND_NDP_QUEUE_HEADER_MIN_BYTES 64

struct nd_ndp_queue_config {
	/* Data queue. packets also sizes the memory; 0 = as many as fit in bytes at 64 B. */
	struct nd_limit data;
	struct nd_limit headers; /* trimmed headers and control packets */
	/* Part of headers.bytes that only control packets may use; 0 as in the paper. */
	uint32_t control_reserve_bytes;
	/* Contested service: this many headers, then this many data packets (10 : 1). */
	uint16_t header_weight;
	uint16_t data_weight;
	bool strict;             /* headers always first; the weights are not used */
	bool return_to_sender;   /* a trimmed header that does not fit goes back; else dropped */
	bool last_hop;           /* headers cut here say so: the port leads to a host */
	bool empty_to_headers;   /* NDP packets without payload wait with the headers (p4) */
	uint8_t victim;          /* which packet is cut: enum nd_ndp_victim */
	struct nd_shared *shared; /* buffer both queues take their bytes from, or NULL */
};

/* The paper's switch: data packets, headers of as many bytes, 10:1, coin, return to sender. */
struct nd_ndp_queue_config nd_ndp_queue_paper(uint32_t packets, uint32_t packet_bytes);

/* The NetFPGA switch: 12 KB a queue, only the arrival is cut, a full header queue drops. */
struct nd_ndp_queue_config nd_ndp_queue_netfpga(void);

/* The P4 switch: a register counts the data packets queued; headers strictly first. */
struct nd_ndp_queue_config nd_ndp_queue_p4(uint32_t threshold_packets);

extern const struct nd_queue_ops nd_ndp_queue_ops;

#endif
