// SPDX-License-Identifier: Apache-2.0
/*
 * N FIFOs: the highest non-empty strict one first, then those with weights in turn.
 *
 * DESIGN NOTES
 * 1. The turns are deficit round robin in the form of fair.c: a level is served while its credit is
 *    above zero, may overdraw it by one packet, loses credit when it runs empty, keeps its debt.
 * 2. Without weights nothing of that is touched: one bit scan finds the level.
 */
#include "queue/strict.h"

#include "base/refuse.h"
#include "queue/fifo.h"

struct strict {
	struct nd_queue queue;
	const struct nd_strict_config *config;
	uint32_t ready;    /* bit i: level i holds packets */
	uint32_t weighted; /* bit i: level i has a weight */
	uint32_t turn;     /* level with a weight that is being served */
	int32_t credit[ND_STRICT_LEVELS_MAX]; /* bytes */
	struct nd_fifo levels[];
};

static const char *const strict_classes[] = {
	"level0", "level1", "level2", "level3", "level4", "level5", "level6", "level7", NULL,
};

static int strict_check_weights(const struct nd_strict_config *config, const char **why)
{
	for (uint32_t i = 0; i < ND_STRICT_LEVELS_MAX; i++) {
		if (config->weights[i] > ND_STRICT_WEIGHT_MAX)
			return nd_refuse(why, "weights", config->weights[i],
					 "must be 0 to 100: only their ratios matter");
		if (config->weights[i] && i >= config->levels)
			return nd_refuse(why, "weights", config->weights[i],
					 "must be 0 for levels that are not there");
	}
	return 0;
}

static int strict_check(const void *opaque, const char **why)
{
	const struct nd_strict_config *config = opaque;

	if (config->levels < 1 || config->levels > ND_STRICT_LEVELS_MAX)
		return nd_refuse(why, "levels", config->levels,
				 "must be 1 to 8: use as many as the switch has priorities");
	if (!nd_limit_is_set(&config->level) && !nd_limit_is_set(&config->total) && !config->shared)
		return nd_refuse(why, "total.bytes", 0,
				 "a queue needs a limit: set total, level or shared");
	return strict_check_weights(config, why);
}

static size_t strict_bytes(const void *opaque)
{
	const struct nd_strict_config *config = opaque;

	return sizeof(struct strict) + config->levels * sizeof(struct nd_fifo);
}

static void strict_init(struct nd_queue *queue, const struct nd_pool *pool, const void *opaque,
			struct nd_queue_counters *counters, uint64_t seed)
{
	struct strict *self = (struct strict *)queue;

	(void)seed;
	*self = (struct strict){
		.queue = { .ops = &nd_strict_ops, .pool = pool, .counters = counters },
		.config = opaque,
	};
	for (uint32_t i = 0; i < self->config->levels; i++) {
		nd_fifo_init(&self->levels[i]);
		self->weighted |= (uint32_t)(self->config->weights[i] > 0) << i;
	}
}

static bool strict_admits(const struct strict *self, const struct nd_fifo *level, uint32_t bytes)
{
	const struct nd_strict_config *config = self->config;
	const struct nd_queue *queue = &self->queue;

	return nd_limit_admits(&config->level, level->bytes, level->packets, bytes) &&
	       nd_limit_admits(&config->total, queue->bytes, queue->packets, bytes) &&
	       (!config->shared || nd_shared_admits(config->shared, queue->bytes, bytes));
}

static enum nd_verdict strict_enqueue(struct nd_queue *queue, uint32_t index, nd_ns now,
				      struct nd_shed *shed)
{
	struct strict *self = (struct strict *)queue;
	const struct nd_packet *packet = nd_queue_packet(queue, index);
	uint32_t level = nd_strict_level(self->config->levels, packet->priority);

	(void)now;
	nd_queue_count_arrival(queue, packet);
	if (!strict_admits(self, &self->levels[level], packet->wire_bytes))
		return nd_queue_drop(queue, index, shed);
	nd_fifo_push(&self->levels[level], queue->pool, index);
	nd_queue_hold(queue, self->config->shared, packet);
	self->ready |= 1u << level;
	return ND_KEPT;
}

/* Of the levels, which all have weights, the one whose turn it is. */
static ND_NOINLINE uint32_t take_turn(struct strict *self, uint32_t levels)
{
	while (!(levels >> self->turn & 1) || self->credit[self->turn] <= 0) {
		int32_t *credit = &self->credit[self->turn];

		if (*credit > 0)
			*credit = 0;
		self->turn = (self->turn ? self->turn : self->config->levels) - 1;
		self->credit[self->turn] += (int32_t)(self->config->weights[self->turn] *
						      ND_STRICT_WEIGHT_BYTES);
	}
	return self->turn;
}

static uint32_t strict_dequeue(struct nd_queue *queue, nd_ns now)
{
	struct strict *self = (struct strict *)queue;
	uint32_t ready = self->ready & ~queue->blocked;
	uint32_t strict = ready & ~self->weighted;
	const struct nd_packet *packet;
	uint32_t level, index;

	(void)now;
	if (!ready)
		return ND_NONE;
	level = ND_LIKELY(strict) ? nd_top_bit_u32(strict) : take_turn(self, ready);
	index = nd_fifo_pop(&self->levels[level], queue->pool);
	packet = nd_queue_packet(queue, index);
	if (!self->levels[level].packets)
		self->ready &= ~(1u << level);
	if (!strict)
		self->credit[level] -= packet->wire_bytes;
	nd_queue_let_go(queue, self->config->shared, packet);
	nd_queue_count_served(queue, packet);
	return index;
}

static void strict_foresee(const struct nd_queue *queue)
{
	const struct strict *self = (const struct strict *)queue;
	uint32_t strict = self->ready & ~self->weighted;
	uint32_t level = self->turn;

	if (!self->ready)
		return;
	if (strict || !(self->ready >> level & 1))
		level = nd_top_bit_u32(strict ? strict : self->ready);
	nd_queue_fetch(queue, self->levels[level].head);
}

static struct nd_queue_depth strict_depth(const struct nd_queue *queue, uint32_t class)
{
	const struct strict *self = (const struct strict *)queue;

	if (class >= self->config->levels)
		return (struct nd_queue_depth){ 0 };
	return (struct nd_queue_depth){
		.packets = self->levels[class].packets,
		.bytes = self->levels[class].bytes,
	};
}

static const char *strict_audit(const struct nd_queue *queue, struct nd_queue_tally *tally)
{
	const struct strict *self = (const struct strict *)queue;

	if (!nd_limit_holds(&self->config->total, queue->bytes, queue->packets))
		return "the levels together are above the total limit";
	for (uint32_t i = 0; i < self->config->levels; i++) {
		const struct nd_fifo *level = &self->levels[i];
		const char *wrong = nd_fifo_audit(level, queue->pool, tally);

		if (wrong)
			return wrong;
		if (!nd_limit_holds(&self->config->level, level->bytes, level->packets))
			return "a level is above its limit";
		if (((self->ready >> i) & 1) != (level->packets != 0))
			return "a level's ready bit is wrong";
	}
	return NULL;
}

const struct nd_queue_ops nd_strict_ops = {
	.name = "strict",
	.classes = strict_classes,
	.check = strict_check,
	.bytes = strict_bytes,
	.init = strict_init,
	.enqueue = strict_enqueue,
	.dequeue = strict_dequeue,
	.foresee = strict_foresee,
	.depth = strict_depth,
	.audit = strict_audit,
};
