// SPDX-License-Identifier: Apache-2.0
/* One FIFO that drops what does not fit. */
#include "queue/droptail.h"

#include "queue/single.h"

static int droptail_check(const void *opaque, const char **why)
{
	const struct nd_droptail_config *config = opaque;

	return nd_single_check(&config->limit, config->shared, why);
}

static void droptail_init(struct nd_queue *queue, const struct nd_pool *pool, const void *opaque,
			  struct nd_queue_counters *counters, uint64_t seed)
{
	const struct nd_droptail_config *config = opaque;
	struct nd_queue base = { .ops = &nd_droptail_ops, .pool = pool, .counters = counters };

	(void)seed;
	nd_single_init((struct nd_single *)queue, &base, config, config->shared);
}

static enum nd_verdict droptail_enqueue(struct nd_queue *queue, uint32_t index, nd_ns now,
					struct nd_shed *shed)
{
	struct nd_single *self = (struct nd_single *)queue;
	const struct nd_droptail_config *config = self->config;

	(void)now;
	nd_queue_count_arrival(queue, nd_queue_packet(queue, index));
	if (!nd_single_push(self, index, &config->limit))
		return nd_queue_drop(queue, index, shed);
	return ND_KEPT;
}

static const char *droptail_audit(const struct nd_queue *queue, struct nd_queue_tally *tally)
{
	const struct nd_droptail_config *config = ((const struct nd_single *)queue)->config;

	return nd_single_audit(queue, &config->limit, tally);
}

const struct nd_queue_ops nd_droptail_ops = {
	.name = "droptail",
	.classes = nd_single_classes,
	.check = droptail_check,
	.bytes = nd_single_bytes,
	.init = droptail_init,
	.enqueue = droptail_enqueue,
	.dequeue = nd_single_dequeue,
	.foresee = nd_single_foresee,
	.depth = nd_single_depth,
	.audit = droptail_audit,
};
