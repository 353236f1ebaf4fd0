/* SPDX-License-Identifier: Apache-2.0 */
/* The swarm with its options and its report, for `ndpstack swarm`. */
#ifndef ND_BINDINGS_RIG_SWARM_H
#define ND_BINDINGS_RIG_SWARM_H

#include "base/types.h"

struct nd_rig_swarm;

/* NULL when there is no memory. */
struct nd_rig_swarm *nd_rig_swarm_new(void);
void nd_rig_swarm_free(struct nd_rig_swarm *rig);

/* Options of the next run: drawn from the seed or calm, then single ones by name (or -EINVAL). */
void nd_rig_swarm_draw(struct nd_rig_swarm *rig, uint64_t seed, uint32_t protocols);
void nd_rig_swarm_calm(struct nd_rig_swarm *rig, uint64_t seed, uint32_t protocols);
int nd_rig_swarm_set(struct nd_rig_swarm *rig, const char *name, uint32_t value);

/* The list of options: NULL behind its end. */
const char *nd_rig_swarm_option_name(uint32_t at);
const char *nd_rig_swarm_option_help(uint32_t at);
uint32_t nd_rig_swarm_option_calm(uint32_t at);
uint32_t nd_rig_swarm_option(struct nd_rig_swarm *rig, uint32_t at);

/* True when no checker complained. verbose prints events to stdout as they happen. */
bool nd_rig_swarm_run(struct nd_rig_swarm *rig, bool verbose);
/* After a failure: makes the options calmer as long as it stays; how many are left. */
uint32_t nd_rig_swarm_shrink(struct nd_rig_swarm *rig);

/* Of the last run; counts have names, NULL behind the end. */
const char *nd_rig_swarm_failure(const struct nd_rig_swarm *rig);
nd_ns nd_rig_swarm_time(const struct nd_rig_swarm *rig);
const char *nd_rig_swarm_count_name(uint32_t at);
uint64_t nd_rig_swarm_count(const struct nd_rig_swarm *rig, uint32_t at);
/* Last events, options and failure; valid until the next call with this rig. */
const char *nd_rig_swarm_text(struct nd_rig_swarm *rig);

#endif
