// SPDX-License-Identifier: Apache-2.0
/*
 * The pFabric discipline: smallest rank leaves, largest rank is lost.
 *
 * DESIGN NOTES
 * 1. Two indexed heaps over the same slots give the most and the least urgent packet in O(log n);
 *    scans are as fast at the paper's 24 packets but miss the bound at 600 small ones (E-P08).
 * 2. Equal ranks are ordered by arrival: the earlier is served first, the later is lost first, and
 *    the arriving packet before all queued ones of its rank.
 * 3. The arrival number is 32 bits wide. When it wraps, packets of equal rank on both sides of the
 *    wrap change places in the heaps; flows stay in order, for their lists do not use it.
 * 4. A large arrival may evict several small packets and still not fit; it is then lost too. What
 *    was lost is less urgent than all that stayed, so the invariant holds.
 */
#include "queue/pfabric.h"

#include "base/heap.h"
#include "base/refuse.h"
#include "queue/account.h"

#define NO_SLOT UINT16_MAX

struct slot {
	uint32_t index; /* of the packet in the pool */
	uint16_t next;  /* of the same flow, later; or the next free slot */
	uint16_t prev;  /* of the same flow, earlier */
	uint16_t flow;
	uint16_t spare;
};

struct flow {
	uint16_t head; /* earliest */
	uint16_t tail;
};

struct pfabric {
	struct nd_queue queue;
	const struct nd_pfabric_config *config;
	struct slot *slots;
	struct flow *flows;
	uint32_t limit;    /* slots */
	uint32_t arrivals; /* breaks ties of rank */
	uint16_t flow_mask;
	uint16_t free;
	struct nd_heap urgent; /* key: rank, then arrival */
	struct nd_heap lazy;   /* key: the opposite */
};

static const char *const pfabric_classes[] = { "packets", NULL };

static uint32_t pfabric_slots(const struct nd_pfabric_config *config)
{
	if (config->limit.packets)
		return config->limit.packets;
	return nd_min_u32(config->limit.bytes / 64, ND_PFABRIC_PACKETS_MAX);
}

static uint32_t pfabric_flows(const struct nd_pfabric_config *config)
{
	return 1u << (config->flow_bits ? config->flow_bits : ND_PFABRIC_FLOW_BITS_DEFAULT);
}

static int pfabric_check(const void *opaque, const char **why)
{
	const struct nd_pfabric_config *config = opaque;

	if (!nd_limit_is_set(&config->limit))
		return nd_refuse(why, "limit.bytes", 0,
				 "a queue needs a limit: set limit.bytes (36864 in the paper) or "
				 "limit.packets");
	if (config->limit.packets > ND_PFABRIC_PACKETS_MAX)
		return nd_refuse(why, "limit.packets", config->limit.packets,
				 "must be at most 65534: lower it");
	if (config->limit.bytes && config->limit.bytes < 64)
		return nd_refuse(why, "limit.bytes", config->limit.bytes,
				 "must be at least 64, the smallest packet: use 24 full packets");
	if (config->flow_bits > ND_PFABRIC_FLOW_BITS_MAX)
		return nd_refuse(why, "flow_bits", config->flow_bits,
				 "must be 1 to 16, or 0 for 12: lower it");
	return 0;
}

/* Byte offsets of the parts that follow the struct; all are 8-byte aligned. */
struct layout {
	size_t urgent, lazy, slots, flows, end;
};

static size_t round_up(size_t bytes)
{
	return (bytes + 7) & ~(size_t)7;
}

static struct layout pfabric_layout(const struct nd_pfabric_config *config)
{
	uint32_t slots = pfabric_slots(config);
	struct layout at;

	at.urgent = round_up(sizeof(struct pfabric));
	at.lazy = at.urgent + round_up(nd_heap_bytes(slots));
	at.slots = at.lazy + round_up(nd_heap_bytes(slots));
	at.flows = at.slots + round_up(slots * sizeof(struct slot));
	at.end = at.flows + pfabric_flows(config) * sizeof(struct flow);
	return at;
}

static size_t pfabric_bytes(const void *config)
{
	return pfabric_layout(config).end;
}

static void pfabric_init(struct nd_queue *queue, const struct nd_pool *pool, const void *config,
			 struct nd_queue_counters *counters, uint64_t seed)
{
	struct pfabric *self = (struct pfabric *)queue;
	struct layout at = pfabric_layout(config);
	uint8_t *memory = (uint8_t *)queue;

	(void)seed;
	*self = (struct pfabric){
		.queue = { .ops = &nd_pfabric_ops, .pool = pool, .counters = counters },
		.config = config,
		.slots = (struct slot *)(void *)(memory + at.slots),
		.flows = (struct flow *)(void *)(memory + at.flows),
		.limit = pfabric_slots(config),
		.flow_mask = (uint16_t)(pfabric_flows(config) - 1),
	};
	nd_heap_init(&self->urgent, memory + at.urgent, self->limit);
	nd_heap_init(&self->lazy, memory + at.lazy, self->limit);
	for (uint32_t i = 0; i < self->limit; i++)
		self->slots[i].next = (uint16_t)(i + 1 < self->limit ? i + 1 : NO_SLOT);
	for (uint32_t i = 0; i <= self->flow_mask; i++)
		self->flows[i] = (struct flow){ .head = NO_SLOT, .tail = NO_SLOT };
}

static void flow_append(struct pfabric *self, uint16_t id)
{
	struct slot *slot = &self->slots[id];
	struct flow *flow = &self->flows[slot->flow];

	slot->next = NO_SLOT;
	slot->prev = flow->tail;
	if (flow->tail == NO_SLOT)
		flow->head = id;
	else
		self->slots[flow->tail].next = id;
	flow->tail = id;
}

static void flow_remove(struct pfabric *self, uint16_t id)
{
	const struct slot *slot = &self->slots[id];
	struct flow *flow = &self->flows[slot->flow];

	if (slot->prev == NO_SLOT)
		flow->head = slot->next;
	else
		self->slots[slot->prev].next = slot->next;
	if (slot->next == NO_SLOT)
		flow->tail = slot->prev;
	else
		self->slots[slot->next].prev = slot->prev;
}

static void insert(struct pfabric *self, uint32_t index, const struct nd_packet *packet)
{
	uint64_t key = (uint64_t)packet->rank << 32 | self->arrivals++;
	uint16_t id = self->free;
	struct slot *slot = &self->slots[id];

	self->free = slot->next;
	slot->index = index;
	slot->flow = packet->flow & self->flow_mask;
	flow_append(self, id);
	nd_heap_set(&self->urgent, id, key);
	nd_heap_set(&self->lazy, id, ~key);
	nd_queue_hold(&self->queue, NULL, packet);
}

static uint32_t take_out(struct pfabric *self, uint16_t id)
{
	struct slot *slot = &self->slots[id];

	flow_remove(self, id);
	nd_heap_remove(&self->urgent, id);
	nd_heap_remove(&self->lazy, id);
	nd_queue_let_go(&self->queue, NULL, nd_queue_packet(&self->queue, slot->index));
	slot->next = self->free;
	self->free = id;
	return slot->index;
}

static bool pfabric_admits(const struct pfabric *self, uint32_t bytes)
{
	return self->queue.packets < self->limit &&
	       nd_limit_admits(&self->config->limit, self->queue.bytes, self->queue.packets, bytes);
}

static enum nd_verdict pfabric_enqueue(struct nd_queue *queue, uint32_t index, nd_ns now,
				       struct nd_shed *shed)
{
	struct pfabric *self = (struct pfabric *)queue;
	const struct nd_packet *packet = nd_queue_packet(queue, index);

	(void)now;
	nd_queue_count_arrival(queue, packet);
	while (!pfabric_admits(self, packet->wire_bytes)) {
		/* An empty queue has no key, ND_NEVER, whose complement is the best rank of all. */
		uint32_t worst_rank = (uint32_t)(~nd_heap_key(&self->lazy) >> 32);

		if (worst_rank <= packet->rank)
			return nd_queue_drop(queue, index, shed);
		queue->counters->evicted_packets++;
		nd_queue_drop(queue, take_out(self, (uint16_t)nd_heap_id(&self->lazy)), shed);
	}
	insert(self, index, packet);
	return ND_KEPT;
}

static uint32_t pfabric_dequeue(struct nd_queue *queue, nd_ns now)
{
	struct pfabric *self = (struct pfabric *)queue;
	uint16_t flow;
	uint32_t index;

	(void)now;
	if (!queue->packets || nd_queue_is_blocked(queue, 0))
		return ND_NONE;
	flow = self->slots[nd_heap_id(&self->urgent)].flow;
	index = take_out(self, self->flows[flow].head);
	nd_queue_count_served(queue, nd_queue_packet(queue, index));
	return index;
}

static struct nd_queue_depth pfabric_depth(const struct nd_queue *queue, uint32_t class)
{
	(void)class;
	return (struct nd_queue_depth){ .packets = queue->packets, .bytes = queue->bytes };
}

static const char *pfabric_audit(const struct nd_queue *queue, struct nd_queue_tally *tally)
{
	const struct pfabric *self = (const struct pfabric *)queue;

	if (!nd_limit_holds(&self->config->limit, queue->bytes, queue->packets))
		return "the queue is above its limit";
	if (self->urgent.count != queue->packets || self->lazy.count != queue->packets)
		return "a heap holds more or fewer packets than the queue";
	for (uint32_t f = 0; f <= self->flow_mask; f++) {
		uint16_t last = NO_SLOT;

		for (uint16_t id = self->flows[f].head; id != NO_SLOT; id = self->slots[id].next) {
			if (self->slots[id].prev != last || self->slots[id].flow != f)
				return "a flow's list is broken";
			if (!nd_heap_has(&self->urgent, id) || !nd_heap_has(&self->lazy, id))
				return "a queued packet is missing from a heap";
			nd_queue_tally_add(tally, nd_queue_packet(queue, self->slots[id].index));
			last = id;
		}
		if (self->flows[f].tail != last)
			return "a flow's tail is not its last packet";
	}
	return NULL;
}

const struct nd_queue_ops nd_pfabric_ops = {
	.name = "pfabric",
	.classes = pfabric_classes,
	.check = pfabric_check,
	.bytes = pfabric_bytes,
	.init = pfabric_init,
	.enqueue = pfabric_enqueue,
	.dequeue = pfabric_dequeue,
	.depth = pfabric_depth,
	.audit = pfabric_audit,
};
