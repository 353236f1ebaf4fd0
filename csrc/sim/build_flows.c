// SPDX-License-Identifier: Apache-2.0
/* The flows of a simulation: checked, ordered by start, hung on their triggers. */
#include "sim/build.h"

#include "sim/probe.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct start {
	nd_ps time;
	uint32_t flow;
};

static int check_flow(const struct nd_sim *sim, const struct nd_flow *flow, uint32_t number,
		      uint32_t triggers, struct nd_error *error)
{
	uint32_t hosts = sim->topology.hosts;

	if (flow->source >= hosts || flow->target >= hosts || flow->source == flow->target)
		return nd_error_set(error, -EINVAL,
				    "flow %u goes from %u to %u: it needs two different hosts below %u",
				    number, flow->source, flow->target, hosts);
	if (flow->engine >= sim->engine_count || flow->priority > 7 || flow->kind > ND_FLOW_ECHO)
		return nd_error_set(error, -EINVAL,
				    "flow %u: engine %u, priority %u or kind %u is out of range", number,
				    flow->engine, flow->priority, flow->kind);
	if (flow->kind == ND_FLOW_ECHO &&
	    flow->reply_bytes > sim->engines[flow->engine].message_bytes_max)
		return nd_error_set(error, -EINVAL, "flow %u: reply of %u bytes, the limit is %u",
				    number, flow->reply_bytes,
				    sim->engines[flow->engine].message_bytes_max);
	if ((flow->starts_on != ND_NONE && flow->starts_on >= triggers) ||
	    (flow->on_sent != ND_NONE && flow->on_sent >= triggers) ||
	    (flow->on_received != ND_NONE && flow->on_received >= triggers))
		return nd_error_set(error, -EINVAL, "flow %u names a trigger of %u", number,
				    triggers);
	return 0;
}

static int earlier(const void *left, const void *right)
{
	const struct start *a = left, *b = right;

	if (a->time != b->time)
		return a->time < b->time ? -1 : 1;
	return a->flow < b->flow ? -1 : a->flow > b->flow;
}

/* Flows without a trigger in order of (start, number). */
static int order_starts(struct nd_sim *sim, struct nd_error *error)
{
	struct start *starts = malloc(((size_t)sim->flow_count + 1) * sizeof(*starts));
	uint32_t count = 0;

	sim->by_start = nd_keep_get(&sim->keep, (size_t)sim->flow_count * sizeof(uint32_t));
	if (!starts || !sim->by_start) {
		free(starts);
		return nd_error_set(error, -ENOMEM, "no room to order %u flows", sim->flow_count);
	}
	for (uint32_t i = 0; i < sim->flow_count; i++) {
		if (sim->flows[i].starts_on == ND_NONE)
			starts[count++] = (struct start){ sim->flows[i].start_ps, i };
	}
	qsort(starts, count, sizeof(*starts), earlier);
	for (uint32_t i = 0; i < count; i++)
		sim->by_start[i] = starts[i].flow;
	sim->by_start_count = count;
	free(starts);
	return 0;
}

static int hang_on_triggers(struct nd_sim *sim, const struct nd_trigger *triggers,
			    struct nd_error *error)
{
	uint32_t count = sim->trigger_count;
	uint32_t *first;

	sim->triggers = nd_keep_get(&sim->keep, (size_t)count * sizeof(*sim->triggers));
	sim->trigger_first = nd_keep_get(&sim->keep, ((size_t)count + 2) * sizeof(uint32_t));
	sim->trigger_flows = nd_keep_get(&sim->keep, (size_t)sim->flow_count * sizeof(uint32_t));
	if (!sim->triggers || !sim->trigger_first || !sim->trigger_flows)
		return nd_error_set(error, -ENOMEM, "no room for %u triggers", count);
	if (count)
		memcpy(sim->triggers, triggers, count * sizeof(*triggers));
	/* Counted one place to the right of where they begin, so that filling in moves it left. */
	first = sim->trigger_first + 1;
	for (uint32_t i = 0; i < sim->flow_count; i++) {
		if (sim->flows[i].starts_on != ND_NONE)
			first[sim->flows[i].starts_on + 1]++;
	}
	for (uint32_t t = 0; t < count; t++)
		first[t + 1] += first[t];
	for (uint32_t i = 0; i < sim->flow_count; i++) {
		if (sim->flows[i].starts_on != ND_NONE)
			sim->trigger_flows[first[sim->flows[i].starts_on]++] = i;
	}
	return 0;
}

static void blank_row(struct nd_sim *sim, uint32_t flow)
{
	const struct nd_flow *f = &sim->flows[flow];
	struct nd_flow_row *row = &sim->rows[flow];

	row->start_ps = row->first_ps = row->received_ps = row->done_ps = ND_FLOW_NEVER;
	row->best_ps = ND_FLOW_NEVER;
	if (f->bytes != ND_FLOW_ENDLESS)
		row->best_ps = nd_sim_best(sim, f->engine, f->source, f->target, f->bytes);
	if (f->kind == ND_FLOW_ECHO && f->bytes != ND_FLOW_ENDLESS)
		row->best_ps += nd_sim_best(sim, f->engine, f->target, f->source, f->reply_bytes);
}

int nd_build_flows(struct nd_sim *sim, const struct nd_flow *flows, uint32_t flow_count,
		   const struct nd_trigger *triggers, uint32_t trigger_count,
		   struct nd_error *error)
{
	if (flow_count > ND_WORK_MASK)
		return nd_error_set(error, -EINVAL, "%u flows; the limit is %u", flow_count,
				    ND_WORK_MASK);
	sim->flow_count = flow_count;
	sim->trigger_count = trigger_count;
	sim->flows = nd_keep_get(&sim->keep, (size_t)flow_count * sizeof(*sim->flows));
	sim->rows = nd_keep_get(&sim->keep, (size_t)flow_count * sizeof(*sim->rows));
	sim->progress = nd_keep_get(&sim->keep, (size_t)flow_count * sizeof(*sim->progress));
	if (!sim->flows || !sim->rows || !sim->progress)
		return nd_error_set(error, -ENOMEM, "no room for %u flows", flow_count);
	memcpy(sim->flows, flows, (size_t)flow_count * sizeof(*flows));
	for (uint32_t i = 0; i < flow_count; i++) {
		if (check_flow(sim, &sim->flows[i], i, trigger_count, error))
			return error->code;
		blank_row(sim, i);
		sim->awaited += !sim->flows[i].background;
	}
	sim->unfinished = sim->awaited;
	if (order_starts(sim, error) || hang_on_triggers(sim, triggers, error) ||
	    nd_build_agenda(sim, flow_count, error))
		return error->code;
	nd_sim_put(sim, 0, ND_WORK_CHANGE, 0, 0);
	nd_sim_put(sim, 0, ND_WORK_FLOWS, 0, 0);
	return 0;
}
