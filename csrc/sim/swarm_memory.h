/* SPDX-License-Identifier: Apache-2.0 */
/* Memory of received messages, each block apart and accounted for. */
#ifndef ND_SIM_SWARM_MEMORY_H
#define ND_SIM_SWARM_MEMORY_H

#include "sim/swarm_host.h"

/* Empties the account of an endpoint and points its struct nd_rx_memory at it. */
void nd_swarm_memory_open(struct nd_swarm *swarm, uint32_t host,
			  struct nd_swarm_endpoint *endpoint);

/* Frees every block that is still out, as the death of a host does. */
void nd_swarm_memory_reset(struct nd_swarm_memory *memory);

/* NULL, or what is wrong with an arena. */
const char *nd_swarm_memory_audit(const struct nd_swarm_memory *memory);

/* True when payload is the start of a block of that application that is out. */
bool nd_swarm_memory_has(const struct nd_swarm_memory *memory, uint32_t app,
			 const uint8_t *payload, uint32_t bytes);

#endif
