// SPDX-License-Identifier: Apache-2.0
/* The pull queue and its pacer. */
#include "transport/pull.h"

#define NS_BITS UINT64_C(8000000000) /* bits of a byte times nanoseconds of a second */

static size_t round_up_64(size_t bytes)
{
	return (bytes + 63) & ~(size_t)63;
}

size_t nd_pull_bytes(uint32_t flows_max, uint32_t peers_max)
{
	return round_up_64(flows_max * sizeof(struct nd_pull_flow)) +
	       round_up_64(flows_max * sizeof(struct nd_pull_group)) +
	       round_up_64(peers_max * sizeof(uint32_t));
}

void nd_pull_init(struct nd_pull *queue, void *memory, uint64_t link_bps, nd_ns slack,
		  uint32_t flows_max, uint32_t peers_max)
{
	uint8_t *at = memory;

	*queue = (struct nd_pull){
		.flows_max = flows_max,
		.peers_max = peers_max,
		.link_bps = link_bps,
		.slack = slack,
		.group_free = flows_max ? 0 : ND_NONE,
	};
	queue->flows = (struct nd_pull_flow *)(void *)at;
	at += round_up_64(flows_max * sizeof(struct nd_pull_flow));
	queue->groups = (struct nd_pull_group *)(void *)at;
	at += round_up_64(flows_max * sizeof(struct nd_pull_group));
	queue->peer_groups = (uint32_t *)(void *)at;
	for (uint32_t i = 0; i < flows_max; i++) {
		queue->flows[i] = (struct nd_pull_flow){ .group = ND_NONE };
		queue->groups[i].sibling = i + 1 < flows_max ? i + 1 : ND_NONE;
		queue->groups[i].flows = 0;
	}
	for (uint32_t i = 0; i < peers_max; i++)
		queue->peer_groups[i] = ND_NONE;
	for (uint32_t i = 0; i < ND_PULL_LEVELS; i++)
		queue->heads[i] = ND_NONE;
}

/* ---- rings ---- */

static void link_group(struct nd_pull *queue, uint32_t index)
{
	struct nd_pull_group *group = &queue->groups[index];
	uint32_t *head = &queue->heads[group->level];

	if (*head == ND_NONE) {
		*head = group->next = group->prev = index;
		queue->levels |= 1u << group->level;
		return;
	}
	group->next = *head;
	group->prev = queue->groups[*head].prev;
	queue->groups[group->prev].next = index;
	queue->groups[*head].prev = index;
}

static void unlink_group(struct nd_pull *queue, uint32_t index)
{
	struct nd_pull_group *group = &queue->groups[index];
	uint32_t *head = &queue->heads[group->level];

	if (group->next == index) {
		*head = ND_NONE;
		queue->levels &= ~(1u << group->level);
		return;
	}
	queue->groups[group->prev].next = group->next;
	queue->groups[group->next].prev = group->prev;
	if (*head == index)
		*head = group->next;
}

static void link_flow(struct nd_pull *queue, uint32_t index)
{
	struct nd_pull_flow *flow = &queue->flows[index];
	struct nd_pull_group *group = &queue->groups[flow->group];

	if (group->head == ND_NONE) {
		group->head = flow->next = flow->prev = index;
		link_group(queue, flow->group);
		return;
	}
	flow->next = group->head;
	flow->prev = queue->flows[group->head].prev;
	queue->flows[flow->prev].next = index;
	queue->flows[group->head].prev = index;
}

static void unlink_flow(struct nd_pull *queue, uint32_t index)
{
	struct nd_pull_flow *flow = &queue->flows[index];
	struct nd_pull_group *group = &queue->groups[flow->group];

	if (flow->next == index) {
		group->head = ND_NONE;
		unlink_group(queue, flow->group);
		return;
	}
	queue->flows[flow->prev].next = flow->next;
	queue->flows[flow->next].prev = flow->prev;
	if (group->head == index)
		group->head = flow->next;
}

/* ---- flows ---- */

static uint32_t find_group(struct nd_pull *queue, uint32_t peer, uint32_t level)
{
	uint32_t index = queue->peer_groups[peer];

	while (index != ND_NONE && queue->groups[index].level != level)
		index = queue->groups[index].sibling;
	if (index != ND_NONE)
		return index;
	index = queue->group_free;
	nd_assert(index != ND_NONE); /* as many groups as flows */
	queue->group_free = queue->groups[index].sibling;
	queue->groups[index] = (struct nd_pull_group){
		.head = ND_NONE,
		.sibling = queue->peer_groups[peer],
		.peer = peer,
		.level = level,
	};
	queue->peer_groups[peer] = index;
	return index;
}

static void free_group(struct nd_pull *queue, uint32_t index)
{
	struct nd_pull_group *group = &queue->groups[index];
	uint32_t *from = &queue->peer_groups[group->peer];

	while (*from != index)
		from = &queue->groups[*from].sibling;
	*from = group->sibling;
	group->sibling = queue->group_free;
	queue->group_free = index;
}

void nd_pull_open(struct nd_pull *queue, uint32_t index, uint32_t peer, uint32_t level)
{
	struct nd_pull_flow *flow = &queue->flows[index];

	nd_assert(index < queue->flows_max && peer < queue->peers_max && level < ND_PULL_LEVELS);
	nd_assert(flow->group == ND_NONE);
	*flow = (struct nd_pull_flow){ .group = find_group(queue, peer, level) };
	queue->groups[flow->group].flows++;
}

void nd_pull_close(struct nd_pull *queue, uint32_t index)
{
	struct nd_pull_flow *flow = &queue->flows[index];

	nd_pull_cap(queue, index, 0);
	nd_assert(flow->group != ND_NONE);
	if (--queue->groups[flow->group].flows == 0)
		free_group(queue, flow->group);
	flow->group = ND_NONE;
}

void nd_pull_add(struct nd_pull *queue, uint32_t index, uint32_t wire_bytes, nd_ns now)
{
	struct nd_pull_flow *flow = &queue->flows[index];

	nd_assert(flow->group != ND_NONE);
	if (queue->levels == 0 && queue->due < now) {
		queue->due = now;
		queue->remainder = 0;
	}
	queue->total++;
	flow->bytes += wire_bytes;
	if (flow->pulls++ == 0)
		link_flow(queue, index);
}

uint32_t nd_pull_cap(struct nd_pull *queue, uint32_t index, uint32_t limit)
{
	struct nd_pull_flow *flow = &queue->flows[index];
	uint32_t removed;

	if (flow->pulls <= limit)
		return 0;
	removed = flow->pulls - limit;
	if (limit == 0) {
		unlink_flow(queue, index);
		flow->bytes = 0;
	} else {
		flow->bytes = (uint32_t)((uint64_t)flow->bytes * limit / flow->pulls);
	}
	flow->pulls = limit;
	queue->total -= removed;
	return removed;
}

/* ---- the pacer ---- */

/* Time on the link, when it is not the same as before: most are of one size. */
static ND_NOINLINE void set_cost(struct nd_pull *queue, uint32_t wire_bytes)
{
	queue->cost_bytes = wire_bytes;
	queue->cost_ns = wire_bytes * NS_BITS / queue->link_bps;
	queue->cost_remainder = wire_bytes * NS_BITS % queue->link_bps;
}

void nd_pull_set_rate(struct nd_pull *queue, uint64_t link_bps)
{
	queue->link_bps = link_bps;
	queue->remainder = 0; /* its unit is another; less than a nanosecond is given away */
	queue->cost_bytes = 0;
	queue->cost_ns = queue->cost_remainder = 0;
}

ND_INLINE void charge(struct nd_pull *queue, uint32_t wire_bytes, nd_ns now)
{
	if (queue->due + queue->slack < now) {
		queue->due = now - queue->slack;
		queue->remainder = 0;
	}
	if (ND_UNLIKELY(wire_bytes != queue->cost_bytes))
		set_cost(queue, wire_bytes);
	queue->due += queue->cost_ns;
	queue->remainder += queue->cost_remainder;
	if (queue->remainder >= queue->link_bps) {
		queue->remainder -= queue->link_bps;
		queue->due++;
	}
}

/* It was the flow's last. */
static ND_NOINLINE uint32_t unlink_taken(struct nd_pull *queue, uint32_t index)
{
	unlink_flow(queue, index);
	return index;
}

uint32_t nd_pull_take_due(struct nd_pull *queue, nd_ns now)
{
	uint32_t level = nd_top_bit_u32(queue->levels);
	struct nd_pull_group *group = &queue->groups[queue->heads[level]];
	uint32_t index = group->head;
	struct nd_pull_flow *flow = &queue->flows[index];
	uint32_t bytes = flow->pulls == 1 ? flow->bytes : flow->bytes / flow->pulls;

	queue->heads[level] = group->next;
	group->head = flow->next;
	flow->bytes -= bytes;
	flow->pulls--;
	queue->total--;
	charge(queue, bytes, now);
	return flow->pulls ? index : unlink_taken(queue, index);
}

/* ---- audit ---- */

static const char *audit_group(const struct nd_pull *queue, uint32_t index, uint32_t level,
			       uint32_t *linked)
{
	const struct nd_pull_group *group = &queue->groups[index];
	uint32_t flow = group->head;

	if (group->level != level || group->flows == 0)
		return "a pull group is in a wrong level or without flows";
	do {
		if (flow >= queue->flows_max || queue->flows[flow].group != index ||
		    queue->flows[flow].pulls == 0 ||
		    queue->flows[queue->flows[flow].next].prev != flow ||
		    ++*linked > queue->flows_max)
			return "a ring of pull flows is broken";
		flow = queue->flows[flow].next;
	} while (flow != group->head);
	return NULL;
}

static const char *audit_level(const struct nd_pull *queue, uint32_t level, uint32_t *linked)
{
	uint32_t index = queue->heads[level];
	const char *wrong = NULL;
	uint32_t groups = 0;

	if ((index != ND_NONE) != (queue->levels >> level & 1))
		return "the bit of a pull level lies";
	if (index == ND_NONE)
		return NULL;
	do {
		if (index >= queue->flows_max ||
		    queue->groups[queue->groups[index].next].prev != index ||
		    ++groups > queue->flows_max)
			return "a ring of pull groups is broken";
		wrong = audit_group(queue, index, level, linked);
		index = queue->groups[index].next;
	} while (!wrong && index != queue->heads[level]);
	return wrong;
}

const char *nd_pull_audit(const struct nd_pull *queue)
{
	const char *wrong = NULL;
	uint32_t linked = 0, waiting = 0, total = 0;

	for (uint32_t level = 0; level < ND_PULL_LEVELS && !wrong; level++)
		wrong = audit_level(queue, level, &linked);
	for (uint32_t i = 0; i < queue->flows_max; i++) {
		waiting += queue->flows[i].pulls != 0;
		total += queue->flows[i].pulls;
		if (queue->flows[i].pulls == 0 && queue->flows[i].bytes != 0)
			return "bytes without a pull";
	}
	if (wrong)
		return wrong;
	if (waiting != linked)
		return "a flow with pulls is in no ring";
	return total == queue->total ? NULL : "the number of queued pulls is wrong";
}
