/* SPDX-License-Identifier: Apache-2.0 */
/* The plain discipline: one FIFO that drops what does not fit. */
#ifndef ND_QUEUE_DROPTAIL_H
#define ND_QUEUE_DROPTAIL_H

#include "queue/limit.h"
#include "queue/queue.h"

struct nd_droptail_config {
	struct nd_limit limit;    /* static limit in bytes, packets or both */
	struct nd_shared *shared; /* buffer it takes its bytes from, or NULL */
};

extern const struct nd_queue_ops nd_droptail_ops;

#endif
