// SPDX-License-Identifier: Apache-2.0
/* A FIFO that marks CE above an instantaneous threshold. */
#include "queue/ecn.h"

#include "base/refuse.h"
#include "queue/single.h"

static int ecn_check(const void *opaque, const char **why)
{
	const struct nd_ecn_config *config = opaque;
	const struct nd_limit *limit = &config->limit;
	const struct nd_limit *threshold = &config->threshold;

	if (!nd_limit_is_set(threshold))
		return nd_refuse(why, "threshold.packets", 0,
				 "marking needs a threshold: set threshold.packets or "
				 "threshold.bytes, or use droptail");
	if (limit->packets && threshold->packets >= limit->packets)
		return nd_refuse(why, "threshold.packets", threshold->packets,
				 "must be below limit.packets or nothing is ever marked: lower it");
	if (limit->bytes && threshold->bytes >= limit->bytes)
		return nd_refuse(why, "threshold.bytes", threshold->bytes,
				 "must be below limit.bytes or nothing is ever marked: lower it");
	return nd_single_check(limit, config->shared, why);
}

static void ecn_init(struct nd_queue *queue, const struct nd_pool *pool, const void *opaque,
		     struct nd_queue_counters *counters, uint64_t seed)
{
	const struct nd_ecn_config *config = opaque;
	struct nd_queue base = { .ops = &nd_ecn_ops, .pool = pool, .counters = counters };

	(void)seed;
	nd_single_init((struct nd_single *)queue, &base, config, config->shared);
}

static enum nd_verdict ecn_enqueue(struct nd_queue *queue, uint32_t index, nd_ns now,
				   struct nd_shed *shed)
{
	struct nd_single *self = (struct nd_single *)queue;
	const struct nd_ecn_config *config = self->config;
	struct nd_packet *packet = nd_queue_packet(queue, index);

	(void)now;
	nd_queue_count_arrival(queue, packet);
	if (!nd_single_push(self, index, &config->limit))
		return nd_queue_drop(queue, index, shed);
	if ((packet->marks & (ND_MARK_ECT | ND_MARK_CE)) == ND_MARK_ECT &&
	    !nd_limit_holds(&config->threshold, queue->bytes, queue->packets)) {
		packet->marks |= ND_MARK_CE;
		queue->counters->marked_packets++;
	}
	return ND_KEPT;
}

static const char *ecn_audit(const struct nd_queue *queue, struct nd_queue_tally *tally)
{
	const struct nd_ecn_config *config = ((const struct nd_single *)queue)->config;

	return nd_single_audit(queue, &config->limit, tally);
}

const struct nd_queue_ops nd_ecn_ops = {
	.name = "ecn",
	.classes = nd_single_classes,
	.check = ecn_check,
	.bytes = nd_single_bytes,
	.init = ecn_init,
	.enqueue = ecn_enqueue,
	.dequeue = nd_single_dequeue,
	.foresee = nd_single_foresee,
	.depth = nd_single_depth,
	.audit = ecn_audit,
};
