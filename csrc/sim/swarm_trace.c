// SPDX-License-Identifier: Apache-2.0
/* Rendering of the swarm's trace. */
#include "sim/swarm_trace.h"

#include <inttypes.h>

static void print_entry(const struct nd_swarm_trace_entry *entry, FILE *out)
{
	const uint64_t *a = entry->args;

	fprintf(out, "%13.3f us  ", (double)entry->at / 1e3);
	if (entry->host == ND_NONE)
		fprintf(out, "network  ");
	else
		fprintf(out, "host %" PRIu32 "   ", entry->host);
	fprintf(out, entry->format, a[0], a[1], a[2], a[3], a[4], a[5]);
	fputc('\n', out);
}

void nd_swarm_trace_add(struct nd_swarm_trace *trace, const struct nd_swarm_trace_entry *entry)
{
	trace->entries[trace->count++ % ND_SWARM_TRACE_ENTRIES] = *entry;
	if (trace->live)
		print_entry(entry, trace->live);
}

void nd_swarm_trace_print(const struct nd_swarm_trace *trace, FILE *out)
{
	uint64_t first = trace->count > ND_SWARM_TRACE_ENTRIES ?
				 trace->count - ND_SWARM_TRACE_ENTRIES : 0;

	for (uint64_t i = first; i < trace->count; i++)
		print_entry(&trace->entries[i % ND_SWARM_TRACE_ENTRIES], out);
}
