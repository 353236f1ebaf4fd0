/* SPDX-License-Identifier: Apache-2.0 */
/* What happened last in a swarm run: a ring of formats and arguments, rendered on a failure. */
#ifndef ND_SIM_SWARM_TRACE_H
#define ND_SIM_SWARM_TRACE_H

#include <stdio.h>

#include "base/types.h"

#define ND_SWARM_TRACE_ENTRIES 256
#define ND_SWARM_TRACE_ARGS 6

struct nd_swarm_trace_entry {
	nd_ns at;
	const char *format; /* each argument is printed by PRIu64 or PRIx64 */
	uint32_t host;      /* or ND_NONE */
	uint64_t args[ND_SWARM_TRACE_ARGS];
};

struct nd_swarm_trace {
	uint64_t count;
	FILE *live; /* every entry is printed here at once, or NULL */
	struct nd_swarm_trace_entry entries[ND_SWARM_TRACE_ENTRIES];
};

void nd_swarm_trace_add(struct nd_swarm_trace *trace, const struct nd_swarm_trace_entry *entry);

/* Prints what the ring still has, oldest first. */
void nd_swarm_trace_print(const struct nd_swarm_trace *trace, FILE *out);

/* Adds one entry for a host (or ND_NONE) of a struct nd_swarm. */
#define nd_swarm_note(swarm, host_index, text, ...) \
	nd_swarm_trace_add(&(swarm)->trace, \
			   &(const struct nd_swarm_trace_entry){ \
				   .at = (swarm)->loop.now, \
				   .format = text, \
				   .host = (host_index), \
				   .args = { __VA_ARGS__ }, \
			   })

#endif
