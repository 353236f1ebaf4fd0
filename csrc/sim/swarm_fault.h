/* SPDX-License-Identifier: Apache-2.0 */
/* Faults of the swarm that come and go: failing links, partitions, restarts, pauses. */
#ifndef ND_SIM_SWARM_FAULT_H
#define ND_SIM_SWARM_FAULT_H

#include "sim/swarm_loop.h"

struct nd_swarm;

/* Plans the first fault of each kind that the options ask for. */
void nd_swarm_fault_start(struct nd_swarm *swarm);

/* ND_SWARM_FLAP, ND_SWARM_PARTITION, ND_SWARM_RESTART and ND_SWARM_PAUSE events. */
void nd_swarm_fault_event(struct nd_swarm *swarm, const struct nd_swarm_event *event);

/* The liveness phase begins: links are whole again; hosts that are drawn to die do so now. */
void nd_swarm_fault_stop(struct nd_swarm *swarm);

#endif
