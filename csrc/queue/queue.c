// SPDX-License-Identifier: Apache-2.0
/* The counter table that all disciplines share. */
#include "queue/queue.h"

ND_COUNTERS_TABLE(nd_queue_counters, "queue", ND_QUEUE_COUNTERS);
