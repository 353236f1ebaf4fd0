/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The pFabric discipline: a small buffer that always sends for the packet of smallest rank and,
 * when full, always loses the packet of largest rank. Of the chosen packet's flow, the earliest
 * one is sent, so that a flow stays in order.
 */
#ifndef ND_QUEUE_PFABRIC_H
#define ND_QUEUE_PFABRIC_H

#include "queue/limit.h"
#include "queue/queue.h"

#define ND_PFABRIC_FLOW_BITS_DEFAULT 12
#define ND_PFABRIC_FLOW_BITS_MAX 16
#define ND_PFABRIC_PACKETS_MAX 65534

struct nd_pfabric_config {
	/* bytes: 36,864 in the paper. packets also sizes the memory; 0 = bytes / 64. */
	struct nd_limit limit;
	uint32_t flow_bits; /* low bits of packet.flow that tell flows apart: 1 to 16, 0 = 12 */
};

extern const struct nd_queue_ops nd_pfabric_ops;

#endif
