/* SPDX-License-Identifier: Apache-2.0 */
/* The real engines as the swarm drives them: their configs, drawn, and the workload on top. */
#ifndef ND_SIM_SWARM_ENGINE_H
#define ND_SIM_SWARM_ENGINE_H

#include "sim/swarm_host.h"

/* By protocol, for nd_swarm_run(). */
extern const struct nd_swarm_protocol *const nd_swarm_engines[ND_SWARM_PROTOCOLS];

#endif
