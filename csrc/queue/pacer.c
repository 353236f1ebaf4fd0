// SPDX-License-Identifier: Apache-2.0
/* Associates flows, follows their rate, and hands out their packets for tokens. */
#include "queue/pacer.h"

#include "base/refuse.h"

/* Token units (2^-16 * 1e-9 bytes) in a byte. */
#define BYTE (INT64_C(65536) * 1000000000)
/* R never exceeds 1 Tb/s, nor M what that brings in the longest period. */
#define RATE_MAX ((UINT64_C(125000000000)) << 16)
#define ARRIVED_MAX_BYTES (1u << 27)
#define PERIOD_MIN_NS 1000
#define BETA_MAX 1000000
#define QUEUE_MAX_BYTES (1u << 27)

ND_COUNTERS_TABLE(nd_pacer_counters, "pacer", ND_PACER_COUNTERS);

struct nd_pacer_config nd_pacer_testbed(void)
{
	return (struct nd_pacer_config){
		.queue_bytes = 128 * 1024,
		.depth_bytes = 3000,
		.period = 64 * ND_USEC,
		.eta_65536 = ND_PACER_ONE / 8,
		.beta = 16,
		.associate_65536 = ND_PACER_ONE / 8,
		.timeout = 10 * ND_MSEC,
		.flows = ND_PACER_FLOWS_MAX,
		.limiters = 1,
	};
}

struct nd_pacer_config nd_pacer_hardware(void)
{
	struct nd_pacer_config config = nd_pacer_testbed();

	config.tick = 16 * ND_USEC;
	config.tokens_min = 1;
	config.tokens_max = 2000;
	return config;
}

static int check_rate(const struct nd_pacer_config *config, const char **why)
{
	if (config->period < PERIOD_MIN_NS || config->period > ND_PACER_PERIOD_MAX_NS)
		return nd_refuse(why, "period", config->period,
				 "must be 1000 to 1000000 ns: use 64000");
	if (config->eta_65536 < 1 || config->eta_65536 > ND_PACER_ONE)
		return nd_refuse(why, "eta_65536", config->eta_65536,
				 "must be 1 to 65536: use 8192, which is 1/8");
	if (config->beta > BETA_MAX)
		return nd_refuse(why, "beta", config->beta,
				 "must be at most 1000000: use 16, or 375 with short periods");
	if (config->tick > ND_PACER_PERIOD_MAX_NS)
		return nd_refuse(why, "tick", config->tick,
				 "must be at most 1000000 ns: use 0 (continuous) or 16000");
	if (config->tick && (config->tokens_min < 1 || config->tokens_min > config->tokens_max))
		return nd_refuse(why, "tokens_min", config->tokens_min,
				 "must be 1 to tokens_max: use 1");
	if (config->tick && config->tokens_max > ND_PACER_DEPTH_MAX_BYTES)
		return nd_refuse(why, "tokens_max", config->tokens_max,
				 "must be at most 65536: use 2000");
	return 0;
}

int nd_pacer_check(const struct nd_pacer_config *config, const char **why)
{
	if (config->queue_bytes < 1 || config->queue_bytes > QUEUE_MAX_BYTES)
		return nd_refuse(why, "queue_bytes", config->queue_bytes,
				 "must be 1 to 134217728: use 131072");
	if (config->depth_bytes < 1 || config->depth_bytes > ND_PACER_DEPTH_MAX_BYTES)
		return nd_refuse(why, "depth_bytes", config->depth_bytes,
				 "must be 1 to 65536: use 3000");
	if (config->associate_65536 > ND_PACER_ONE)
		return nd_refuse(why, "associate_65536", config->associate_65536,
				 "must be at most 65536: use 8192, which is 1/8");
	if (config->timeout < 1)
		return nd_refuse(why, "timeout", config->timeout,
				 "must be at least 1 ns: use 10000000");
	if (config->flows < 1 || config->flows > ND_PACER_FLOWS_MAX)
		return nd_refuse(why, "flows", config->flows, "must be 1 to 64: use 64");
	if (config->limiters < 1 || config->limiters > ND_PACER_LIMITERS_MAX)
		return nd_refuse(why, "limiters", config->limiters, "must be 1 to 8: use 1");
	return check_rate(config, why);
}

void nd_pacer_init(struct nd_pacer *pacer, const struct nd_pacer_config *config,
		   const struct nd_pool *pool, struct nd_pacer_counters *counters, uint64_t seed,
		   nd_ns now)
{
	*pacer = (struct nd_pacer){
		.config = config,
		.pool = pool,
		.counters = counters,
		.rng = nd_rng_make(seed, 0),
	};
	for (uint32_t i = 0; i < config->limiters; i++) {
		struct nd_limiter *limiter = &pacer->limiters[i];

		nd_fifo_init(&limiter->fifo);
		limiter->tokens = config->depth_bytes * BYTE;
		limiter->filled = now;
		limiter->updated = now;
	}
}

/* ---- tokens and rate ---- */

/* value * factor / 65536 without overflow. */
static uint64_t scale(uint64_t value, uint32_t factor)
{
	return (value >> 16) * factor + (((value & 0xffff) * factor) >> 16);
}

/* Bytes of tokens that a tick brings at the limiter's rate. */
static uint64_t tick_bytes(const struct nd_pacer_config *config, const struct nd_limiter *limiter)
{
	uint64_t bytes = ((limiter->rate >> 16) * config->tick + ND_SEC / 2) / ND_SEC;

	return nd_min_u64(nd_max_u64(bytes, config->tokens_min), config->tokens_max);
}

/* Tokens that arrive until then; saturates. */
static uint64_t tokens_until(const struct nd_pacer_config *config,
			     const struct nd_limiter *limiter, nd_ns until)
{
	uint64_t amount, count, factor;

	if (config->tick) {
		count = until / config->tick - limiter->filled / config->tick;
		factor = tick_bytes(config, limiter) * (uint64_t)BYTE;
	} else {
		count = until - limiter->filled;
		factor = limiter->rate;
	}
	return __builtin_mul_overflow(count, factor, &amount) ? UINT64_MAX : amount;
}

static void fill(const struct nd_pacer_config *config, struct nd_limiter *limiter, nd_ns until)
{
	int64_t depth = config->depth_bytes * BYTE;
	uint64_t amount = tokens_until(config, limiter, until);

	limiter->filled = until;
	if (amount >= (uint64_t)(depth - limiter->tokens))
		limiter->tokens = depth;
	else
		limiter->tokens += (int64_t)amount;
}

/* R = (1 - eta) R + eta M / Tr + beta Q */
static void update_rate(const struct nd_pacer_config *config, struct nd_limiter *limiter)
{
	uint64_t measured = limiter->arrived_bytes * ((ND_SEC << 16) / config->period);
	uint64_t pressure = ((uint64_t)config->beta * limiter->fifo.bytes) << 16;
	uint64_t rate = limiter->rate - scale(limiter->rate, config->eta_65536) +
			scale(measured, config->eta_65536);

	limiter->rate = nd_min_u64(rate + nd_min_u64(pressure, RATE_MAX), RATE_MAX);
	limiter->arrived_bytes = 0;
}

/* Brings tokens and rate up to now, period by period. */
static void advance(const struct nd_pacer_config *config, struct nd_limiter *limiter, nd_ns now)
{
	if (now < limiter->filled)
		return;
	if (now - limiter->updated > ND_PACER_PERIODS_MAX * config->period) {
		fill(config, limiter, now);
		limiter->rate = 0;
		limiter->arrived_bytes = 0;
		limiter->updated = now;
	}
	while (now - limiter->updated >= config->period) {
		limiter->updated += config->period;
		fill(config, limiter, limiter->updated);
		update_rate(config, limiter);
	}
	fill(config, limiter, now);
}

/* ---- associations ---- */

static bool is_stale(const struct nd_pacer_flow *flow, nd_ns now)
{
	return !flow->packets && flow->expires <= now;
}

/* The flow's association, or NULL; ends those that timed out on the way. */
static struct nd_pacer_flow *find(struct nd_pacer *pacer, uint16_t id, nd_ns now)
{
	struct nd_pacer_flow *found = NULL;

	for (uint32_t i = 0; i < pacer->config->flows && pacer->flow_count; i++) {
		struct nd_pacer_flow *flow = &pacer->flows[i];

		if (!flow->used)
			continue;
		if (is_stale(flow, now)) {
			flow->used = 0;
			pacer->flow_count--;
			pacer->counters->expired_flows++;
		} else if (flow->flow == id) {
			found = flow;
		}
	}
	return found;
}

static uint8_t least_loaded(const struct nd_pacer *pacer)
{
	uint8_t best = 0;

	for (uint8_t i = 1; i < pacer->config->limiters; i++) {
		if (pacer->limiters[i].fifo.bytes < pacer->limiters[best].fifo.bytes)
			best = i;
	}
	return best;
}

static void associate(struct nd_pacer *pacer, uint16_t id, nd_ns now)
{
	struct nd_pacer_flow *flow = pacer->flows;

	if (pacer->flow_count == pacer->config->flows) {
		pacer->counters->refused_flows++;
		return;
	}
	while (flow->used)
		flow++;
	*flow = (struct nd_pacer_flow){
		.flow = id,
		.limiter = least_loaded(pacer),
		.used = 1,
		.expires = now + pacer->config->timeout,
	};
	pacer->flow_count++;
	pacer->counters->associated_flows++;
}

void nd_pacer_echo(struct nd_pacer *pacer, uint16_t id, nd_ns now)
{
	struct nd_pacer_flow *flow = find(pacer, id, now);

	pacer->counters->echoes++;
	if (nd_rng_below(&pacer->rng, ND_PACER_ONE) >= pacer->config->associate_65536)
		return;
	if (!flow) {
		associate(pacer, id, now);
		return;
	}
	flow->expires = now + pacer->config->timeout;
	pacer->counters->renewed_flows++;
}

/* ---- packets ---- */

enum nd_pacer_verdict nd_pacer_enqueue(struct nd_pacer *pacer, uint32_t index, nd_ns now)
{
	const struct nd_packet *packet = nd_pool_at(pacer->pool, index);
	struct nd_pacer_flow *flow = find(pacer, packet->flow, now);
	struct nd_limiter *limiter;

	if (!flow) {
		pacer->counters->bypassed_packets++;
		return ND_PACER_BYPASS;
	}
	limiter = &pacer->limiters[flow->limiter];
	advance(pacer->config, limiter, now);
	limiter->arrived_bytes =
		nd_min_u32(limiter->arrived_bytes + packet->wire_bytes, ARRIVED_MAX_BYTES);
	if (limiter->fifo.bytes + packet->wire_bytes > pacer->config->queue_bytes) {
		pacer->counters->dropped_packets++;
		return ND_PACER_DROPPED;
	}
	nd_fifo_push(&limiter->fifo, pacer->pool, index);
	flow->packets++;
	pacer->counters->paced_packets++;
	pacer->counters->paced_bytes += packet->wire_bytes;
	return ND_PACER_QUEUED;
}

/* Tokens still missing for the head of the FIFO; a packet above the depth needs a full bucket. */
static int64_t tokens_missing(const struct nd_pacer *pacer, const struct nd_limiter *limiter)
{
	const struct nd_packet *packet = nd_pool_at(pacer->pool, limiter->fifo.head);

	return nd_min_u32(packet->wire_bytes, pacer->config->depth_bytes) * BYTE - limiter->tokens;
}

static uint32_t send_head(struct nd_pacer *pacer, struct nd_limiter *limiter, nd_ns now)
{
	uint32_t index = nd_fifo_pop(&limiter->fifo, pacer->pool);
	const struct nd_packet *packet = nd_pool_at(pacer->pool, index);

	limiter->tokens -= packet->wire_bytes * BYTE;
	find(pacer, packet->flow, now)->packets--;
	pacer->counters->sent_packets++;
	pacer->counters->sent_bytes += packet->wire_bytes;
	return index;
}

uint32_t nd_pacer_dequeue(struct nd_pacer *pacer, nd_ns now)
{
	for (uint32_t i = 0; i < pacer->config->limiters; i++) {
		struct nd_limiter *limiter = &pacer->limiters[i];

		if (!limiter->fifo.packets)
			continue;
		advance(pacer->config, limiter, now);
		if (tokens_missing(pacer, limiter) <= 0)
			return send_head(pacer, limiter, now);
	}
	return ND_NONE;
}

/* When the head of the FIFO may leave or the rate changes, whichever is first. */
static nd_ns limiter_deadline(const struct nd_pacer *pacer, const struct nd_limiter *limiter)
{
	const struct nd_pacer_config *config = pacer->config;
	nd_ns update = limiter->updated + config->period;
	int64_t missing = tokens_missing(pacer, limiter);

	if (missing <= 0)
		return limiter->filled;
	if (config->tick)
		return nd_min_u64(update, (limiter->filled / config->tick + 1) * config->tick);
	if (!limiter->rate)
		return update;
	return nd_min_u64(update, limiter->filled +
					  ((uint64_t)missing + limiter->rate - 1) / limiter->rate);
}

nd_ns nd_pacer_deadline(const struct nd_pacer *pacer)
{
	nd_ns earliest = ND_NEVER;

	for (uint32_t i = 0; i < pacer->config->limiters; i++) {
		const struct nd_limiter *limiter = &pacer->limiters[i];

		if (limiter->fifo.packets)
			earliest = nd_min_u64(earliest, limiter_deadline(pacer, limiter));
	}
	return earliest;
}

uint64_t nd_pacer_rate(const struct nd_pacer *pacer, uint32_t limiter)
{
	return pacer->limiters[limiter].rate >> 16;
}

uint32_t nd_pacer_backlog(const struct nd_pacer *pacer, uint32_t limiter)
{
	return pacer->limiters[limiter].fifo.bytes;
}

const char *nd_pacer_audit(const struct nd_pacer *pacer)
{
	struct nd_queue_tally tally = { 0 };
	uint64_t waiting = 0;
	uint32_t used = 0;

	for (uint32_t i = 0; i < pacer->config->limiters; i++) {
		const struct nd_limiter *limiter = &pacer->limiters[i];
		const char *wrong = nd_fifo_audit(&limiter->fifo, pacer->pool, &tally);

		if (wrong)
			return wrong;
		if (limiter->fifo.bytes > pacer->config->queue_bytes)
			return "a limiter is above its limit";
		if (limiter->tokens > pacer->config->depth_bytes * BYTE)
			return "a bucket holds more than its depth";
	}
	for (uint32_t i = 0; i < ND_PACER_FLOWS_MAX; i++) {
		used += pacer->flows[i].used;
		waiting += pacer->flows[i].packets;
	}
	if (used != pacer->flow_count || waiting != tally.packets)
		return "associations differ from the packets that wait";
	if (pacer->counters->paced_bytes != pacer->counters->sent_bytes + tally.bytes)
		return "bytes are not conserved";
	return NULL;
}
