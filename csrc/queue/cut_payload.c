// SPDX-License-Identifier: Apache-2.0
/* One FIFO in which data past a threshold waits as a header. */
#include "queue/cut_payload.h"

#include "base/refuse.h"
#include "queue/single.h"

static int cut_payload_check(const void *opaque, const char **why)
{
	const struct nd_cut_payload_config *config = opaque;
	const struct nd_limit *limit = &config->limit;
	const struct nd_limit *threshold = &config->threshold;

	if (!nd_limit_is_set(threshold))
		return nd_refuse(why, "threshold.packets", 0,
				 "cutting needs a threshold: set threshold.packets or "
				 "threshold.bytes, or use droptail");
	if (limit->packets && threshold->packets >= limit->packets)
		return nd_refuse(why, "threshold.packets", threshold->packets,
				 "must be below limit.packets or no header fits: lower it");
	if (limit->bytes && threshold->bytes >= limit->bytes)
		return nd_refuse(why, "threshold.bytes", threshold->bytes,
				 "must be below limit.bytes or no header fits: lower it");
	return nd_single_check(limit, config->shared, why);
}

static void cut_payload_init(struct nd_queue *queue, const struct nd_pool *pool,
			     const void *opaque, struct nd_queue_counters *counters, uint64_t seed)
{
	const struct nd_cut_payload_config *config = opaque;
	struct nd_queue base = { .ops = &nd_cut_payload_ops, .pool = pool, .counters = counters };

	(void)seed;
	nd_single_init((struct nd_single *)queue, &base, config, config->shared);
}

static enum nd_verdict cut_payload_enqueue(struct nd_queue *queue, uint32_t index, nd_ns now,
					   struct nd_shed *shed)
{
	struct nd_single *self = (struct nd_single *)queue;
	const struct nd_cut_payload_config *config = self->config;
	struct nd_packet *packet = nd_queue_packet(queue, index);
	bool cut = nd_packet_can_trim(packet) &&
		   !nd_limit_admits(&config->threshold, queue->bytes, queue->packets,
				    packet->wire_bytes);

	(void)now;
	nd_queue_count_arrival(queue, packet);
	if (cut)
		nd_queue_trim(queue, packet, config->last_hop ? ND_MARK_LAST_HOP : 0);
	if (!nd_single_push(self, index, &config->limit))
		return nd_queue_drop(queue, index, shed);
	return cut ? ND_TRIMMED : ND_KEPT;
}

static const char *cut_payload_audit(const struct nd_queue *queue, struct nd_queue_tally *tally)
{
	const struct nd_cut_payload_config *config = ((const struct nd_single *)queue)->config;

	return nd_single_audit(queue, &config->limit, tally);
}

const struct nd_queue_ops nd_cut_payload_ops = {
	.name = "cut_payload",
	.classes = nd_single_classes,
	.check = cut_payload_check,
	.bytes = nd_single_bytes,
	.init = cut_payload_init,
	.enqueue = cut_payload_enqueue,
	.dequeue = nd_single_dequeue,
	.foresee = nd_single_foresee,
	.depth = nd_single_depth,
	.audit = cut_payload_audit,
};
