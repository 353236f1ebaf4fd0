// SPDX-License-Identifier: Apache-2.0
/* The swarm's binary heap of events. */
#include "sim/swarm_loop.h"

#include <stdlib.h>

#define LIMIT_FIRST 1024

void nd_swarm_loop_reset(struct nd_swarm_loop *loop)
{
	loop->count = 0;
	loop->now = 0;
	loop->added = 0;
	loop->done = 0;
}

void nd_swarm_loop_free(struct nd_swarm_loop *loop)
{
	free(loop->heap);
	*loop = (struct nd_swarm_loop){ 0 };
}

static bool before(const struct nd_swarm_event *a, const struct nd_swarm_event *b)
{
	return a->at < b->at || (a->at == b->at && a->order < b->order);
}

static void grow(struct nd_swarm_loop *loop)
{
	loop->limit = loop->limit ? 2 * loop->limit : LIMIT_FIRST;
	loop->heap = realloc(loop->heap, loop->limit * sizeof(*loop->heap));
	nd_assert(loop->heap != NULL);
}

void nd_swarm_loop_add(struct nd_swarm_loop *loop, nd_ns at, enum nd_swarm_event_kind kind,
		       uint32_t arg)
{
	struct nd_swarm_event event = { .at = at, .order = loop->added++, .kind = kind, .arg = arg };
	uint32_t hole;

	nd_assert(at >= loop->now);
	if (loop->count == loop->limit)
		grow(loop);
	for (hole = loop->count++; hole > 0; hole = (hole - 1) / 2) {
		if (!before(&event, &loop->heap[(hole - 1) / 2]))
			break;
		loop->heap[hole] = loop->heap[(hole - 1) / 2];
	}
	loop->heap[hole] = event;
}

static void remove_first(struct nd_swarm_loop *loop)
{
	struct nd_swarm_event last = loop->heap[--loop->count];
	uint32_t hole = 0;

	for (;;) {
		uint32_t child = 2 * hole + 1;

		if (child >= loop->count)
			break;
		if (child + 1 < loop->count && before(&loop->heap[child + 1], &loop->heap[child]))
			child++;
		if (!before(&loop->heap[child], &last))
			break;
		loop->heap[hole] = loop->heap[child];
		hole = child;
	}
	loop->heap[hole] = last;
}

bool nd_swarm_loop_next(struct nd_swarm_loop *loop, nd_ns until, struct nd_swarm_event *event)
{
	if (loop->count == 0 || loop->heap[0].at > until) {
		loop->now = nd_max_u64(loop->now, until);
		return false;
	}
	*event = loop->heap[0];
	remove_first(loop);
	loop->now = event->at;
	loop->done++;
	return true;
}
