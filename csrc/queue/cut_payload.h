/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CP, which NDP is compared with (R-B-CP): one FIFO for everything; data that arrives when more
 * than a threshold is queued loses its payload, and its header waits in order behind the others.
 */
#ifndef ND_QUEUE_CUT_PAYLOAD_H
#define ND_QUEUE_CUT_PAYLOAD_H

#include "queue/limit.h"
#include "queue/queue.h"

struct nd_cut_payload_config {
	struct nd_limit threshold; /* whole packets are queued up to this much */
	struct nd_limit limit;     /* nothing is queued beyond this */
	struct nd_shared *shared;  /* buffer it takes its bytes from, or NULL */
	bool last_hop;             /* headers cut here say so: the port leads to a host */
};

extern const struct nd_queue_ops nd_cut_payload_ops;

#endif
