// SPDX-License-Identifier: Apache-2.0
/* A discipline with its memory and its pool of packets. */
#include "rig.h"

#include <errno.h>

#include "rig_memory.h"

struct nd_rig_queue {
	struct nd_queue *queue;
	struct nd_queue_counters counters;
	struct nd_pool pool;
	void *pool_memory;
	struct nd_shed shed;
};

int nd_rig_discipline_check(const struct nd_queue_ops *ops, const void *config, const char **why)
{
	return ops->check(config, why);
}

struct nd_rig_queue *nd_rig_queue_new(const struct nd_queue_ops *ops, const void *config,
				      uint32_t packets_max, uint64_t seed, struct nd_error *error)
{
	struct nd_rig_queue *rig;
	const char *why = NULL;

	if (ops->check(config, &why) < 0) {
		nd_error_set(error, -EINVAL, "%s: %s", ops->name, why);
		return NULL;
	}
	rig = nd_rig_allocate(sizeof(*rig));
	if (!rig)
		goto out_of_memory;
	rig->shed = ND_SHED_EMPTY;
	rig->pool_memory = nd_rig_allocate(nd_pool_bytes(packets_max, sizeof(struct nd_packet)));
	rig->queue = nd_rig_allocate(ops->bytes(config));
	if (!rig->pool_memory || !rig->queue)
		goto out_of_memory;
	nd_pool_init(&rig->pool, rig->pool_memory, packets_max, sizeof(struct nd_packet));
	ops->init(rig->queue, &rig->pool, config, &rig->counters, seed);
	return rig;

out_of_memory:
	nd_rig_queue_free(rig);
	nd_error_set(error, -ENOMEM, "%s: no memory for %u packets", ops->name, packets_max);
	return NULL;
}

void nd_rig_queue_free(struct nd_rig_queue *rig)
{
	if (!rig)
		return;
	free(rig->queue);
	free(rig->pool_memory);
	free(rig);
}

/* Copies a packet out of the pool and gives its slot back. */
static void take(struct nd_rig_queue *rig, uint32_t index, struct nd_packet *packet)
{
	*packet = *(const struct nd_packet *)nd_pool_at(&rig->pool, index);
	nd_pool_put(&rig->pool, index);
}

static bool take_shed(struct nd_rig_queue *rig, uint32_t *list, struct nd_packet *packet)
{
	uint32_t index = *list;

	if (index == ND_NONE)
		return false;
	*list = ((const struct nd_packet *)nd_pool_at(&rig->pool, index))->next;
	take(rig, index, packet);
	return true;
}

int nd_rig_queue_enqueue(struct nd_rig_queue *rig, const struct nd_packet *packet, nd_ns now)
{
	struct nd_packet forgotten;
	uint32_t index;

	while (nd_rig_queue_dropped(rig, &forgotten) || nd_rig_queue_returned(rig, &forgotten))
		;
	index = nd_pool_get(&rig->pool);
	if (index == ND_NONE)
		return -ENOBUFS;
	*(struct nd_packet *)nd_pool_at(&rig->pool, index) = *packet;
	return (int)rig->queue->ops->enqueue(rig->queue, index, now, &rig->shed);
}

bool nd_rig_queue_dequeue(struct nd_rig_queue *rig, struct nd_packet *packet, nd_ns now)
{
	uint32_t index = rig->queue->ops->dequeue(rig->queue, now);

	if (index == ND_NONE)
		return false;
	take(rig, index, packet);
	return true;
}

bool nd_rig_queue_dropped(struct nd_rig_queue *rig, struct nd_packet *packet)
{
	return take_shed(rig, &rig->shed.dropped, packet);
}

bool nd_rig_queue_returned(struct nd_rig_queue *rig, struct nd_packet *packet)
{
	return take_shed(rig, &rig->shed.returned, packet);
}

uint32_t nd_rig_queue_packets(const struct nd_rig_queue *rig)
{
	return rig->queue->packets;
}

uint32_t nd_rig_queue_bytes(const struct nd_rig_queue *rig)
{
	return rig->queue->bytes;
}

const uint64_t *nd_rig_queue_counters(const struct nd_rig_queue *rig)
{
	return (const uint64_t *)&rig->counters;
}

const char *nd_rig_queue_audit(const struct nd_rig_queue *rig)
{
	if (!nd_pool_check(&rig->pool))
		return "pool: used and free packets do not add up";
	return nd_queue_audit(rig->queue);
}
