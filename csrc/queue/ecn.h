/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A FIFO that marks CE by its instantaneous length, as DCTCP wants it: a packet that arrives while
 * more than a threshold K is queued, itself included, is marked. Only ECT packets are.
 */
#ifndef ND_QUEUE_ECN_H
#define ND_QUEUE_ECN_H

#include "queue/limit.h"
#include "queue/queue.h"

struct nd_ecn_config {
	struct nd_limit limit;     /* static limit in bytes, packets or both */
	struct nd_limit threshold; /* K: mark above this many bytes or packets */
	struct nd_shared *shared;  /* buffer it takes its bytes from, or NULL */
};

extern const struct nd_queue_ops nd_ecn_ops;

#endif
