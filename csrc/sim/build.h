/* SPDX-License-Identifier: Apache-2.0 */
/* Checks a config and lays a simulation out in memory. Used by sim.c. */
#ifndef ND_SIM_BUILD_H
#define ND_SIM_BUILD_H

#include "sim/state.h"

/* Everything but the flows. 0 or a negative errno with *error filled in. */
int nd_build_network(struct nd_sim *sim, const struct nd_sim_config *config,
		     struct nd_error *error);

/* Its parts. */
int nd_build_ports(struct nd_sim *sim, struct nd_error *error);
int nd_build_agenda(struct nd_sim *sim, uint32_t flow_count, struct nd_error *error);

/* Flows and triggers, after the network; schedules the first events. */
int nd_build_flows(struct nd_sim *sim, const struct nd_flow *flows, uint32_t flow_count,
		   const struct nd_trigger *triggers, uint32_t trigger_count,
		   struct nd_error *error);

#endif
