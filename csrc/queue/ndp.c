// SPDX-License-Identifier: Apache-2.0
/*
 * The NDP discipline: trims, serves headers first, returns headers that overflow.
 *
 * DESIGN NOTES
 * 1. The data queue is a ring of indices, not a list: the coin takes packets from its tail too.
 *    With the paper's 8 packets the whole state is two cache lines; headers that come and go touch
 *    the first one alone.
 * 2. What cannot be trimmed (TCP, broadcast) has the coin too, or it starves: NDP keeps this queue
 *    full, and what others lose is lost, where what NDP loses is asked for an RTT later.
 * 3. When the tail was cut and the arrival still does not fit (it is larger), it is cut as well, or
 *    dropped.
 */
#include "queue/ndp.h"

#include "base/refuse.h"
#include "base/rng.h"
#include "queue/fifo.h"

struct ndp_queue {
	struct nd_queue queue;
	const struct nd_ndp_queue_config *config;
	struct nd_fifo headers;
	struct nd_rng rng;
	uint32_t data_packets;
	uint32_t data_bytes;
	uint32_t first; /* position in ring of the data packet that is served next */
	uint32_t slots; /* of the ring */
	uint32_t turn;  /* contested services since a data packet had its full share */
	uint32_t ring[];
};

_Static_assert(sizeof(struct ndp_queue) + 8 * sizeof(uint32_t) <= 144,
	       "a port of eight packets is two cache lines and the ring's end");

static const char *const ndp_classes[] = { "data", "headers", NULL };

static int ndp_check_service(const struct nd_ndp_queue_config *config, const char **why)
{
	if (config->victim > ND_NDP_VICTIM_ARRIVAL)
		return nd_refuse(why, "victim", config->victim,
				 "must be 0 (coin) or 1 (arrival): set one of them");
	if (config->strict)
		return 0;
	if (config->header_weight < 1 || config->header_weight > ND_NDP_QUEUE_WEIGHT_MAX)
		return nd_refuse(why, "header_weight", config->header_weight,
				 "must be 1 to 30000: use 10, or strict for headers always first");
	if (config->data_weight < 1 || config->data_weight > ND_NDP_QUEUE_WEIGHT_MAX)
		return nd_refuse(why, "data_weight", config->data_weight,
				 "must be 1 to 30000: use 1, or strict for headers always first");
	return 0;
}

static int ndp_check(const void *opaque, const char **why)
{
	const struct nd_ndp_queue_config *config = opaque;

	if (!nd_limit_is_set(&config->data))
		return nd_refuse(why, "data.packets", 0,
				 "the data queue needs a limit: set data.packets (8 in the paper) "
				 "or data.bytes");
	if (config->data.packets > ND_NDP_QUEUE_PACKETS_MAX)
		return nd_refuse(why, "data.packets", config->data.packets,
				 "must be at most 65535: lower it");
	if (config->data.bytes && config->data.bytes < ND_NDP_QUEUE_HEADER_MIN_BYTES)
		return nd_refuse(why, "data.bytes", config->data.bytes,
				 "must be at least 64, the smallest packet: use 8 full packets");
	if (!nd_limit_is_set(&config->headers))
		return nd_refuse(why, "headers.bytes", 0,
				 "the header queue needs a limit: set headers.bytes to the bytes "
				 "of the data queue");
	if (config->headers.bytes && config->headers.bytes < ND_NDP_QUEUE_HEADER_MIN_BYTES)
		return nd_refuse(why, "headers.bytes", config->headers.bytes,
				 "must be at least 64, the size of a trimmed packet: raise it");
	if (config->control_reserve_bytes &&
	    config->control_reserve_bytes >= config->headers.bytes)
		return nd_refuse(why, "control_reserve_bytes", config->control_reserve_bytes,
				 "must be below headers.bytes or no trimmed header fits: lower it");
	return ndp_check_service(config, why);
}

static uint32_t ndp_slots(const struct nd_ndp_queue_config *config)
{
	if (config->data.packets)
		return config->data.packets;
	return nd_min_u32(config->data.bytes / ND_NDP_QUEUE_HEADER_MIN_BYTES,
			  ND_NDP_QUEUE_PACKETS_MAX);
}

static size_t ndp_bytes(const void *config)
{
	return sizeof(struct ndp_queue) + ndp_slots(config) * sizeof(uint32_t);
}

static void ndp_init(struct nd_queue *queue, const struct nd_pool *pool, const void *config,
		     struct nd_queue_counters *counters, uint64_t seed)
{
	struct ndp_queue *self = (struct ndp_queue *)queue;

	*self = (struct ndp_queue){
		.queue = { .ops = &nd_ndp_queue_ops, .pool = pool, .counters = counters },
		.config = config,
		.rng = nd_rng_make(seed, 0),
		.slots = ndp_slots(config),
	};
	nd_fifo_init(&self->headers);
}

static inline uint32_t ring_position(const struct ndp_queue *self, uint32_t offset)
{
	uint32_t at = self->first + offset;

	return at < self->slots ? at : at - self->slots;
}

/* The ring has as many slots as the limit allows packets. */
static inline bool data_admits(const struct ndp_queue *self, uint32_t bytes)
{
	const struct nd_ndp_queue_config *config = self->config;

	if (self->data_packets == self->slots ||
	    !nd_limit_admits_bytes(&config->data, self->data_bytes, bytes))
		return false;
	return !config->shared || nd_shared_admits(config->shared, self->queue.bytes, bytes);
}

static inline enum nd_verdict data_push(struct ndp_queue *self, uint32_t index,
				 const struct nd_packet *packet)
{
	self->ring[ring_position(self, self->data_packets)] = index;
	self->data_packets++;
	self->data_bytes += packet->wire_bytes;
	nd_queue_hold(&self->queue, self->config->shared, packet);
	return ND_KEPT;
}

/* Takes a packet that has left the ring off the books. */
static inline void data_let_go(struct ndp_queue *self, const struct nd_packet *packet)
{
	self->data_packets--;
	self->data_bytes -= packet->wire_bytes;
	nd_queue_let_go(&self->queue, self->config->shared, packet);
}

static bool headers_admit(const struct ndp_queue *self, const struct nd_packet *packet)
{
	const struct nd_ndp_queue_config *config = self->config;
	const struct nd_fifo *headers = &self->headers;
	uint32_t bytes = packet->wire_bytes;

	if (!nd_limit_admits(&config->headers, headers->bytes, headers->packets, bytes))
		return false;
	if (config->control_reserve_bytes && (packet->marks & ND_MARK_TRIMMED) &&
	    headers->bytes + bytes > config->headers.bytes - config->control_reserve_bytes)
		return false;
	return !config->shared || nd_shared_has_room(config->shared, bytes);
}

/* Queues a header or control packet, or sheds it: back to its sender if it was trimmed. */
static ND_NOINLINE enum nd_verdict headers_push(struct ndp_queue *self, uint32_t index,
						const struct nd_packet *packet,
						struct nd_shed *shed)
{
	struct nd_queue *queue = &self->queue;
	const uint8_t marks = packet->marks;

	if (ND_LIKELY(headers_admit(self, packet))) {
		nd_fifo_push(&self->headers, queue->pool, index);
		nd_queue_hold(queue, self->config->shared, packet);
		return ND_KEPT;
	}
	if ((marks & (ND_MARK_TRIMMED | ND_MARK_BOUNCED | ND_MARK_FLOOD)) == ND_MARK_TRIMMED &&
	    self->config->return_to_sender)
		return nd_queue_return(queue, index, shed);
	if (!(marks & ND_MARK_TRIMMED))
		queue->counters->control_dropped_packets++;
	return nd_queue_drop(queue, index, shed);
}

static enum nd_verdict cut(struct ndp_queue *self, uint32_t index, struct nd_packet *packet,
			   struct nd_shed *shed)
{
	enum nd_verdict verdict;

	nd_queue_trim(&self->queue, packet, self->config->last_hop ? ND_MARK_LAST_HOP : 0);
	verdict = headers_push(self, index, packet, shed);
	return verdict == ND_KEPT ? ND_TRIMMED : verdict;
}

/* Whether the packet at the tail of the data queue loses its payload in the arrival's place. */
static bool tail_is_victim(struct ndp_queue *self)
{
	const struct nd_packet *tail;

	if (self->config->victim != ND_NDP_VICTIM_COIN || !self->data_packets)
		return false;
	tail = nd_queue_packet(&self->queue, self->ring[ring_position(self, self->data_packets - 1)]);
	return nd_packet_can_trim(tail) && nd_rng_coin(&self->rng);
}

static void cut_tail(struct ndp_queue *self, struct nd_shed *shed)
{
	uint32_t index = self->ring[ring_position(self, self->data_packets - 1)];
	struct nd_packet *tail = nd_queue_packet(&self->queue, index);

	data_let_go(self, tail);
	if (cut(self, index, tail, shed) == ND_TRIMMED)
		shed->cut = index;
}

static ND_NOINLINE enum nd_verdict data_overflow(struct ndp_queue *self, uint32_t index,
						 struct nd_packet *packet,
						 struct nd_shed *shed)
{
	if (tail_is_victim(self)) {
		cut_tail(self, shed);
		if (data_admits(self, packet->wire_bytes))
			return data_push(self, index, packet);
	}
	if (!nd_packet_can_trim(packet))
		return nd_queue_drop(&self->queue, index, shed);
	return cut(self, index, packet, shed);
}

static inline bool belongs_to_headers(const struct ndp_queue *self, const struct nd_packet *packet)
{
	if (packet->marks & (ND_MARK_CONTROL | ND_MARK_TRIMMED))
		return true;
	return self->config->empty_to_headers && packet->protocol == ND_PROTO_NDP &&
	       packet->wire_bytes == packet->header_bytes;
}

static enum nd_verdict ndp_enqueue(struct nd_queue *queue, uint32_t index, nd_ns now,
				   struct nd_shed *shed)
{
	struct ndp_queue *self = (struct ndp_queue *)queue;
	struct nd_packet *packet = nd_queue_packet(queue, index);

	(void)now;
	nd_queue_count_arrival(queue, packet);
	if (belongs_to_headers(self, packet))
		return headers_push(self, index, packet, shed);
	if (ND_LIKELY(data_admits(self, packet->wire_bytes)))
		return data_push(self, index, packet);
	return data_overflow(self, index, packet, shed);
}

/* Weighted round robin while both wait; an uncontested service starts the round anew. */
static bool serve_headers(struct ndp_queue *self, bool headers, bool data)
{
	const struct nd_ndp_queue_config *config = self->config;
	uint32_t turn = self->turn;

	if (!headers || !data) {
		self->turn = 0;
		return headers;
	}
	if (config->strict)
		return true;
	self->turn = turn + 1 < (uint32_t)config->header_weight + config->data_weight ? turn + 1
										      : 0;
	return turn < config->header_weight;
}

static uint32_t data_pop(struct ndp_queue *self)
{
	uint32_t index = self->ring[self->first];
	struct nd_packet *packet = nd_queue_packet(&self->queue, index);

	self->first = ring_position(self, 1);
	data_let_go(self, packet);
	return index;
}

/* What is likely to be served next; some packet of the pool when the queue is empty. */
static inline uint32_t likely_next(const struct ndp_queue *self)
{
	uint32_t header = self->headers.head, data = self->ring[self->first];

	return self->headers.packets ? header : data;
}

static uint32_t headers_pop(struct ndp_queue *self)
{
	uint32_t index = nd_fifo_pop(&self->headers, self->queue.pool);

	nd_queue_let_go(&self->queue, self->config->shared, nd_queue_packet(&self->queue, index));
	/* Headers leave in trains: what comes next should be here when it is asked for. */
	nd_fetch(nd_queue_packet(&self->queue, likely_next(self)));
	return index;
}

static void ndp_foresee(const struct nd_queue *queue)
{
	const struct ndp_queue *self = (const struct ndp_queue *)queue;

	nd_queue_fetch(queue, likely_next(self));
	nd_fetch(nd_queue_packet(queue, self->ring[self->first]));
}

static uint32_t ndp_dequeue(struct nd_queue *queue, nd_ns now)
{
	struct ndp_queue *self = (struct ndp_queue *)queue;
	bool headers = self->headers.packets && !nd_queue_is_blocked(queue, ND_NDP_QUEUE_HEADERS);
	bool data = self->data_packets && !nd_queue_is_blocked(queue, ND_NDP_QUEUE_DATA);
	uint32_t index;

	(void)now;
	if (!headers && !data)
		return ND_NONE;
	index = serve_headers(self, headers, data) ? headers_pop(self) : data_pop(self);
	nd_queue_count_served(queue, nd_queue_packet(queue, index));
	return index;
}

static struct nd_queue_depth ndp_depth(const struct nd_queue *queue, uint32_t class)
{
	const struct ndp_queue *self = (const struct ndp_queue *)queue;

	if (class == ND_NDP_QUEUE_DATA)
		return (struct nd_queue_depth){ self->data_packets, self->data_bytes };
	if (class == ND_NDP_QUEUE_HEADERS)
		return (struct nd_queue_depth){ self->headers.packets, self->headers.bytes };
	return (struct nd_queue_depth){ 0 };
}

static const char *ndp_audit(const struct nd_queue *queue, struct nd_queue_tally *tally)
{
	const struct ndp_queue *self = (const struct ndp_queue *)queue;
	const struct nd_ndp_queue_config *config = self->config;

	for (uint32_t i = 0; i < self->data_packets; i++) {
		const struct nd_packet *packet =
			nd_queue_packet(queue, self->ring[ring_position(self, i)]);

		if (packet->marks & (ND_MARK_CONTROL | ND_MARK_TRIMMED))
			return "a header waits in the data queue";
		nd_queue_tally_add(tally, packet);
	}
	if (tally->bytes != self->data_bytes)
		return "the data queue's bytes differ from what it holds";
	if (!nd_limit_holds(&config->data, self->data_bytes, self->data_packets) ||
	    self->data_packets > self->slots)
		return "the data queue is above its limit";
	if (!nd_limit_holds(&config->headers, self->headers.bytes, self->headers.packets))
		return "the header queue is above its limit";
	return nd_fifo_audit(&self->headers, queue->pool, tally);
}

struct nd_ndp_queue_config nd_ndp_queue_paper(uint32_t packets, uint32_t packet_bytes)
{
	return (struct nd_ndp_queue_config){
		.data = { .packets = packets, .bytes = packets * packet_bytes },
		.headers = { .bytes = packets * packet_bytes },
		.header_weight = 10,
		.data_weight = 1,
		.return_to_sender = true,
	};
}

struct nd_ndp_queue_config nd_ndp_queue_netfpga(void)
{
	return (struct nd_ndp_queue_config){
		.data = { .bytes = 12000 },
		.headers = { .bytes = 12000 },
		.header_weight = 99,
		.data_weight = 1,
		.victim = ND_NDP_VICTIM_ARRIVAL,
	};
}

struct nd_ndp_queue_config nd_ndp_queue_p4(uint32_t threshold_packets)
{
	return (struct nd_ndp_queue_config){
		.data = { .packets = threshold_packets },
		.headers = { .bytes = 72000 },
		.strict = true,
		.empty_to_headers = true,
		.victim = ND_NDP_VICTIM_ARRIVAL,
	};
}

const struct nd_queue_ops nd_ndp_queue_ops = {
	.name = "ndp",
	.classes = ndp_classes,
	.check = ndp_check,
	.bytes = ndp_bytes,
	.init = ndp_init,
	.enqueue = ndp_enqueue,
	.dequeue = ndp_dequeue,
	.foresee = ndp_foresee,
	.depth = ndp_depth,
	.audit = ndp_audit,
};
