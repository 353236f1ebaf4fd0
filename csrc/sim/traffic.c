// SPDX-License-Identifier: Apache-2.0
/* Traffic matrices and arrival processes. */
#include "sim/traffic.h"

/* ln 2 in 1/2^32. */
#define LN2_Q32 UINT64_C(2977044472)

#define LOG_BITS 32

#define TIME_MAX (UINT64_MAX / 2)

/* Streams of a seed: one a host for open and closed loops, one for the choice of hosts. */
#define STREAM_CHOICE UINT64_MAX

/*
 * -log2 of u / 2^64 in 1/2^32, for u > 0: the leading zeros are its whole part, and squaring the
 * rest again and again gives the bits of the fraction.
 */
static uint64_t minus_log2(uint64_t u)
{
	uint32_t zeros = (uint32_t)__builtin_clzll(u);
	uint64_t x = u << zeros; /* 1 <= x / 2^63 < 2 */
	uint64_t fraction = 0;

	for (uint32_t i = 0; i < LOG_BITS; i++) {
		unsigned __int128 square = (unsigned __int128)x * x;

		fraction <<= 1;
		if (square >> 127) {
			fraction |= 1;
			x = (uint64_t)(square >> 64);
		} else {
			x = (uint64_t)(square >> 63);
		}
	}
	/* log2(u / 2^64) = (63 - zeros) + fraction - 64. */
	return ((uint64_t)(zeros + 1) << 32) - fraction;
}

/* Times beyond any run are one: added to a time within a run it does not wrap. */
static nd_ps within(unsigned __int128 time)
{
	return time < TIME_MAX ? (nd_ps)time : TIME_MAX;
}

nd_ps nd_traffic_exponential(struct nd_rng *rng, nd_ps mean)
{
	uint64_t u = nd_rng_u64(rng) | 1;
	unsigned __int128 ln = (unsigned __int128)minus_log2(u) * LN2_Q32 >> 32;

	return mean < TIME_MAX ? within(ln * mean >> 32) : TIME_MAX;
}

nd_ps nd_traffic_gap(uint64_t mean_bytes_256, uint64_t rate_bps, uint32_t load_ppm)
{
	/* mean / 256 bytes * 8e12 ps * 1e6 / (rate * load). */
	unsigned __int128 work = (unsigned __int128)mean_bytes_256 * UINT64_C(31250000000) *
				 UINT64_C(1000000);

	nd_assert(rate_bps > 0 && load_ppm > 0);
	return within(work / ((unsigned __int128)rate_bps * load_ppm));
}

uint64_t nd_sizes_quantile(const struct nd_sizes *sizes, uint32_t probability)
{
	uint32_t low = 0, high = sizes->count - 1;
	uint64_t below, span, part;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (sizes->cumulative[middle] > probability)
			high = middle;
		else
			low = middle + 1;
	}
	if (!sizes->linear)
		return nd_max_u64(1, sizes->bytes[low]);
	below = low ? sizes->bytes[low - 1] : 0;
	part = probability - (low ? sizes->cumulative[low - 1] : 0);
	span = (low + 1 < sizes->count ? sizes->cumulative[low] : UINT64_C(1) << 32) -
	       (low ? sizes->cumulative[low - 1] : 0);
	if (!span)
		return nd_max_u64(1, sizes->bytes[low]);
	return nd_max_u64(1, below + (uint64_t)((unsigned __int128)(sizes->bytes[low] - below) *
						part / span));
}

uint64_t nd_sizes_draw(const struct nd_sizes *sizes, struct nd_rng *rng)
{
	return nd_sizes_quantile(sizes, (uint32_t)(nd_rng_u64(rng) >> 32));
}

static uint64_t on_the_wire(uint64_t bytes, uint32_t payload_bytes_max, uint32_t overhead_bytes)
{
	return bytes + (bytes + payload_bytes_max - 1) / payload_bytes_max * overhead_bytes;
}

uint64_t nd_sizes_mean_256(const struct nd_sizes *sizes, uint32_t payload_bytes_max,
			   uint32_t overhead_bytes)
{
	enum { STEPS = 64 }; /* midpoints of each piece; a step needs one, a line some */
	unsigned __int128 sum = 0;
	uint64_t from = 0;

	for (uint32_t i = 0; i < sizes->count; i++) {
		uint64_t to = i + 1 < sizes->count ? sizes->cumulative[i] : UINT64_C(1) << 32;

		for (uint32_t s = 0; s < STEPS; s++) {
			uint64_t at = from + (to - from) * (2 * s + 1) / (2 * STEPS);
			uint64_t size = nd_sizes_quantile(sizes, (uint32_t)at);

			sum += (unsigned __int128)on_the_wire(size, payload_bytes_max,
							      overhead_bytes) * (to - from);
		}
		from = to;
	}
	return (uint64_t)(sum / STEPS >> 24);
}

void nd_traffic_derangement(uint32_t *targets, uint32_t hosts, uint64_t seed)
{
	struct nd_rng rng = nd_rng_make(seed, STREAM_CHOICE);

	for (uint32_t h = 0; h < hosts; h++)
		targets[h] = h;
	for (uint32_t h = hosts - 1; h > 0; h--) {
		uint32_t other = nd_rng_below(&rng, h);
		uint32_t kept = targets[h];

		targets[h] = targets[other];
		targets[other] = kept;
	}
}

void nd_traffic_permutation(struct nd_flow *flows, uint32_t hosts, const struct nd_flow *pattern,
			    uint64_t seed)
{
	struct nd_rng rng = nd_rng_make(seed, STREAM_CHOICE);

	/* Sattolo's shuffle on the flows themselves: the same as nd_traffic_derangement. */
	for (uint32_t h = 0; h < hosts; h++) {
		flows[h] = *pattern;
		flows[h].source = h;
		flows[h].target = h;
	}
	for (uint32_t h = hosts - 1; h > 0; h--) {
		uint32_t other = nd_rng_below(&rng, h);
		uint32_t kept = flows[h].target;

		flows[h].target = flows[other].target;
		flows[other].target = kept;
	}
}

/* A host of [first, first + count) other than self, uniformly. */
static uint32_t other_host(struct nd_rng *rng, uint32_t first, uint32_t count, uint32_t self)
{
	uint32_t host;

	if (self < first || self >= first + count)
		return first + nd_rng_below(rng, count);
	host = first + nd_rng_below(rng, count - 1);
	return host + (host >= self);
}

void nd_traffic_random(struct nd_flow *flows, uint32_t hosts, uint32_t flows_each,
		       const struct nd_flow *pattern, uint64_t seed)
{
	for (uint32_t h = 0; h < hosts; h++) {
		struct nd_rng rng = nd_rng_make(seed, h);

		for (uint32_t i = 0; i < flows_each; i++) {
			struct nd_flow *flow = &flows[(size_t)h * flows_each + i];

			*flow = *pattern;
			flow->source = h;
			flow->target = other_host(&rng, 0, hosts, h);
		}
	}
}

/* Draws count different hosts other than self by passing over the others (selection sampling). */
static void choose(struct nd_flow *flows, uint32_t hosts, uint32_t count,
		   const struct nd_flow *pattern, bool sources, uint64_t seed)
{
	struct nd_rng rng = nd_rng_make(seed, STREAM_CHOICE);
	uint32_t self = sources ? pattern->target : pattern->source;
	uint32_t left = hosts - 1, filled = 0;

	nd_assert(count < hosts && self < hosts);
	for (uint32_t h = 0; h < hosts && filled < count; h++) {
		if (h == self)
			continue;
		if (nd_rng_below(&rng, left--) >= count - filled)
			continue;
		flows[filled] = *pattern;
		if (sources)
			flows[filled].source = h;
		else
			flows[filled].target = h;
		filled++;
	}
}

void nd_traffic_incast(struct nd_flow *flows, uint32_t hosts, uint32_t count,
		       const struct nd_flow *pattern, uint64_t seed)
{
	choose(flows, hosts, count, pattern, true, seed);
}

void nd_traffic_outcast(struct nd_flow *flows, uint32_t hosts, uint32_t count,
			const struct nd_flow *pattern, uint64_t seed)
{
	choose(flows, hosts, count, pattern, false, seed);
}

void nd_traffic_all_to_all(struct nd_flow *flows, uint32_t hosts, const struct nd_flow *pattern)
{
	size_t at = 0;

	for (uint32_t round = 1; round < hosts; round++) {
		for (uint32_t h = 0; h < hosts; h++) {
			flows[at] = *pattern;
			flows[at].source = h;
			flows[at].target = (h + round) % hosts;
			at++;
		}
	}
}

uint64_t nd_traffic_open_loop(struct nd_flow *flows, uint64_t limit,
			      const struct nd_traffic_open *open, const struct nd_flow *pattern,
			      uint64_t seed)
{
	uint64_t total = 0;

	for (uint32_t s = 0; s < open->sources; s++) {
		uint32_t source = open->first_source + s;
		struct nd_rng rng = nd_rng_make(seed, source);
		nd_ps time = nd_traffic_exponential(&rng, open->gap_ps);

		for (uint32_t i = 0; time < open->until_ps && (!open->flows_max || i < open->flows_max);
		     i++) {
			struct nd_flow flow = *pattern;

			flow.source = source;
			flow.target = other_host(&rng, open->first_target, open->targets, source);
			flow.start_ps = pattern->start_ps + time;
			if (open->sizes.count)
				flow.bytes = nd_sizes_draw(&open->sizes, &rng);
			if (flows && total < limit)
				flows[total] = flow;
			total++;
			time += nd_traffic_exponential(&rng, open->gap_ps);
		}
	}
	return total;
}

static void chain(struct nd_flow *flows, uint32_t first, uint32_t source,
		  const struct nd_traffic_closed *closed, const struct nd_flow *pattern,
		  struct nd_rng *rng)
{
	for (uint32_t i = 0; i < closed->rounds; i++) {
		struct nd_flow *flow = &flows[first + i];

		*flow = *pattern;
		flow->source = source;
		flow->target = other_host(rng, 0, closed->hosts, source);
		if (closed->sizes.count)
			flow->bytes = nd_sizes_draw(&closed->sizes, rng);
		flow->starts_on = i ? first + i - 1 : ND_NONE;
		flow->on_sent = i + 1 < closed->rounds ? first + i : ND_NONE;
		flow->start_ps = nd_traffic_exponential(rng, closed->think_ps);
		if (i == 0)
			flow->start_ps = pattern->start_ps +
					 nd_min_u64(flow->start_ps, closed->think_ps);
	}
}

void nd_traffic_closed_loop(struct nd_flow *flows, struct nd_trigger *triggers,
			    const struct nd_traffic_closed *closed, const struct nd_flow *pattern,
			    uint64_t seed)
{
	uint32_t first = 0;

	for (uint32_t h = 0; h < closed->hosts; h++) {
		struct nd_rng rng = nd_rng_make(seed, h);

		for (uint32_t s = 0; s < closed->slots; s++, first += closed->rounds)
			chain(flows, first, h, closed, pattern, &rng);
	}
	for (uint32_t i = 0; i < first; i++)
		triggers[i].needs = 1;
}
