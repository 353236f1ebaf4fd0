/* SPDX-License-Identifier: Apache-2.0 */
/* Narrowing a failure down: the fewest options that still lead to it. */
#ifndef ND_SIM_SWARM_SHRINK_H
#define ND_SIM_SWARM_SHRINK_H

#include <stdio.h>

#include "sim/swarm_host.h"

/*
 * Sets options to their calm values, one after the other, as long as the run still fails with the
 * same kind of failure (numbers aside), for a limited number of events. Returns how many options
 * are left that are not calm.
 */
uint32_t nd_swarm_shrink(struct nd_swarm *swarm, struct nd_swarm_options *options,
			 const struct nd_swarm_protocol *const protocols[ND_SWARM_PROTOCOLS]);

/* Writes the options that are not calm as --set NAME=VALUE arguments. */
void nd_swarm_shrink_print(struct nd_swarm_options *options, FILE *out);

#endif
