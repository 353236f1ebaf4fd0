// SPDX-License-Identifier: Apache-2.0
/*
 * Two disciplines that share a link fairly in bytes.
 *
 * DESIGN NOTES
 * 1. Deficit round robin in the form that needs no look at the next packet's size: a child is
 *    served while its credit is above zero and may overdraw it by one packet, which it repays in
 *    the next round. The bound on unfairness is the same, one packet.
 * 2. A child that runs empty loses unused credit (it must not save up) but keeps its debt.
 * 3. Children count into the composite's counters, so each packet is counted once.
 */
#include "queue/fair.h"

#include "base/refuse.h"
#include "queue/account.h"

struct fair {
	struct nd_queue queue;
	const struct nd_fair_config *config;
	struct nd_queue *child[ND_FAIR_CHILDREN];
	int64_t credit[ND_FAIR_CHILDREN]; /* bytes */
	uint32_t turn;                    /* child that is being served */
};

static const char *const fair_classes[] = { "first", "second", NULL };

static int fair_check_child(const struct nd_fair_child *child, const char *quantum_name,
			    const char *ops_name, const char **why)
{
	if (!child->ops)
		return nd_refuse(why, ops_name, 0,
				 "must be a discipline: set it, or use one discipline alone");
	if (child->ops == &nd_fair_ops)
		return nd_refuse(why, ops_name, 1,
				 "must not be fair itself: use any other discipline");
	if (child->quantum_bytes < ND_FAIR_QUANTUM_MIN_BYTES ||
	    child->quantum_bytes > ND_FAIR_QUANTUM_MAX_BYTES)
		return nd_refuse(why, quantum_name, child->quantum_bytes,
				 "must be 1024 to 1048576: use the size of a full packet");
	return child->ops->check(child->config, why);
}

static int fair_check(const void *opaque, const char **why)
{
	const struct nd_fair_config *config = opaque;
	int error;

	for (uint32_t i = 0; i < ND_PROTO_COUNT; i++) {
		if (config->child_of[i] >= ND_FAIR_CHILDREN)
			return nd_refuse(why, "child_of", config->child_of[i],
					 "must be 0 or 1: name one of the two children");
	}
	error = fair_check_child(&config->child[0], "child[0].quantum_bytes", "child[0].ops", why);
	if (error)
		return error;
	return fair_check_child(&config->child[1], "child[1].quantum_bytes", "child[1].ops", why);
}

static size_t round_up(size_t bytes)
{
	return (bytes + 63) & ~(size_t)63;
}

static size_t fair_bytes(const void *opaque)
{
	const struct nd_fair_config *config = opaque;
	size_t bytes = round_up(sizeof(struct fair));

	for (uint32_t i = 0; i < ND_FAIR_CHILDREN; i++)
		bytes += round_up(config->child[i].ops->bytes(config->child[i].config));
	return bytes;
}

static void fair_init(struct nd_queue *queue, const struct nd_pool *pool, const void *opaque,
		      struct nd_queue_counters *counters, uint64_t seed)
{
	struct fair *self = (struct fair *)queue;
	const struct nd_fair_config *config = opaque;
	uint8_t *memory = (uint8_t *)queue + round_up(sizeof(struct fair));

	*self = (struct fair){
		.queue = { .ops = &nd_fair_ops, .pool = pool, .counters = counters },
		.config = config,
	};
	for (uint32_t i = 0; i < ND_FAIR_CHILDREN; i++) {
		const struct nd_fair_child *child = &config->child[i];

		self->child[i] = (struct nd_queue *)(void *)memory;
		child->ops->init(self->child[i], pool, child->config, counters, seed + i);
		memory += round_up(child->ops->bytes(child->config));
	}
	self->credit[0] = config->child[0].quantum_bytes;
}

static void fair_sum_up(struct fair *self)
{
	self->queue.packets = self->child[0]->packets + self->child[1]->packets;
	self->queue.bytes = self->child[0]->bytes + self->child[1]->bytes;
}

static enum nd_verdict fair_enqueue(struct nd_queue *queue, uint32_t index, nd_ns now,
				    struct nd_shed *shed)
{
	struct fair *self = (struct fair *)queue;
	const struct nd_packet *packet = nd_queue_packet(queue, index);
	uint8_t protocol = packet->protocol < ND_PROTO_COUNT ? packet->protocol : ND_PROTO_OTHER;
	struct nd_queue *child = self->child[self->config->child_of[protocol]];
	enum nd_verdict verdict = nd_queue_enqueue(child, index, now, shed);

	fair_sum_up(self);
	return verdict;
}

static void fair_next_turn(struct fair *self)
{
	self->turn ^= 1;
	self->credit[self->turn] += self->config->child[self->turn].quantum_bytes;
}

/* Serves the child whose turn it is, if it may and can; ND_NONE passes the turn on. */
static uint32_t fair_serve(struct fair *self, nd_ns now)
{
	uint32_t turn = self->turn, index = ND_NONE;

	if (self->credit[turn] <= 0)
		return ND_NONE;
	if (!nd_queue_is_blocked(&self->queue, turn))
		index = nd_queue_dequeue(self->child[turn], now);
	if (index == ND_NONE)
		self->credit[turn] = 0;
	else
		self->credit[turn] -= nd_queue_packet(&self->queue, index)->wire_bytes;
	return index;
}

static uint32_t fair_dequeue(struct nd_queue *queue, nd_ns now)
{
	struct fair *self = (struct fair *)queue;
	uint32_t idle = 0;

	/* Ends when both were asked with credit in hand; a debt is at most one packet of 64 KB. */
	while (queue->packets && idle < ND_FAIR_CHILDREN) {
		bool asked = self->credit[self->turn] > 0;
		uint32_t index = fair_serve(self, now);

		if (index != ND_NONE) {
			fair_sum_up(self);
			return index;
		}
		idle = asked ? idle + 1 : 0;
		fair_next_turn(self);
	}
	return ND_NONE;
}

static struct nd_queue_depth fair_depth(const struct nd_queue *queue, uint32_t class)
{
	const struct fair *self = (const struct fair *)queue;

	if (class >= ND_FAIR_CHILDREN)
		return (struct nd_queue_depth){ 0 };
	return (struct nd_queue_depth){
		.packets = self->child[class]->packets,
		.bytes = self->child[class]->bytes,
	};
}

static const char *fair_audit(const struct nd_queue *queue, struct nd_queue_tally *tally)
{
	const struct fair *self = (const struct fair *)queue;

	for (uint32_t i = 0; i < ND_FAIR_CHILDREN; i++) {
		const struct nd_queue *child = self->child[i];
		struct nd_queue_tally own = { 0 };
		const char *wrong = child->ops->audit(child, &own);

		if (wrong)
			return wrong;
		if (own.packets != child->packets || own.bytes != child->bytes)
			return "a child's totals differ from what it holds";
		tally->packets += own.packets;
		tally->bytes += own.bytes;
		tally->trimmed += own.trimmed;
	}
	return NULL;
}

const struct nd_queue_ops nd_fair_ops = {
	.name = "fair",
	.classes = fair_classes,
	.check = fair_check,
	.bytes = fair_bytes,
	.init = fair_init,
	.enqueue = fair_enqueue,
	.dequeue = fair_dequeue,
	.depth = fair_depth,
	.audit = fair_audit,
};
