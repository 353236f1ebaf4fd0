/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who sends how much to whom and when: builders that fill in arrays of flows and triggers.
 *
 * Each takes a pattern, the flow that all are copies of except for what the builder decides. All
 * arithmetic is on integers, and each host draws from its own stream: a seed means the same flows
 * on every machine, and more hosts do not change the flows of the others.
 */
#ifndef ND_SIM_TRAFFIC_H
#define ND_SIM_TRAFFIC_H

#include "base/rng.h"
#include "sim/flow.h"

/* A distribution of sizes by its cumulative points. */
struct nd_sizes {
	const uint64_t *bytes;      /* ascending */
	const uint32_t *cumulative; /* probability of at most bytes[i], in 1/2^32; ascending. The
				     * last counts as 1 whatever it is. */
	uint32_t count;
	uint32_t linear; /* 0: a size is one of the points; 1: lies between two (from 0 on) */
};

/* One size drawn; at least 1. */
uint64_t nd_sizes_draw(const struct nd_sizes *sizes, struct nd_rng *rng);

/* Size below which a part of probability (1/2^32) of all draws lie. */
uint64_t nd_sizes_quantile(const struct nd_sizes *sizes, uint32_t probability);

/* Mean bytes that a message takes on a link, in 1/256: payload cut into packets of at most
 * payload_bytes_max, overhead_bytes each. Overhead 0: the mean size. */
uint64_t nd_sizes_mean_256(const struct nd_sizes *sizes, uint32_t payload_bytes_max,
			   uint32_t overhead_bytes);

/* An exponentially distributed time with this mean, below 2^50 ps. */
nd_ps nd_traffic_exponential(struct nd_rng *rng, nd_ps mean);

/* Mean time between two messages of a host that fill load (1/1,000,000) of rate_bps. */
nd_ps nd_traffic_gap(uint64_t mean_bytes_256, uint64_t rate_bps, uint32_t load_ppm);

/* Targets of a permutation without a fixed point, one cycle through all (Sattolo). */
void nd_traffic_derangement(uint32_t *targets, uint32_t hosts, uint64_t seed);

/* R-CS-2: every host sends to one and receives from one. hosts flows. */
void nd_traffic_permutation(struct nd_flow *flows, uint32_t hosts, const struct nd_flow *pattern,
			    uint64_t seed);

/* Every host sends flows_each flows to hosts drawn uniformly. hosts * flows_each flows. */
void nd_traffic_random(struct nd_flow *flows, uint32_t hosts, uint32_t flows_each,
		       const struct nd_flow *pattern, uint64_t seed);

/* count different hosts, drawn at random, send to pattern->target. count flows. */
void nd_traffic_incast(struct nd_flow *flows, uint32_t hosts, uint32_t count,
		       const struct nd_flow *pattern, uint64_t seed);

/* pattern->source sends to count different hosts, drawn at random. count flows. */
void nd_traffic_outcast(struct nd_flow *flows, uint32_t hosts, uint32_t count,
			const struct nd_flow *pattern, uint64_t seed);

/* Every host sends to every other, starting with its neighbour. hosts * (hosts - 1) flows. */
void nd_traffic_all_to_all(struct nd_flow *flows, uint32_t hosts, const struct nd_flow *pattern);

struct nd_traffic_open {
	uint32_t first_source; /* sources are hosts first_source .. + sources */
	uint32_t sources;
	uint32_t first_target; /* targets, uniformly drawn, never the source itself */
	uint32_t targets;
	nd_ps gap_ps;          /* mean time between two messages of a source */
	nd_ps until_ps;        /* no start at or after it, counted from pattern->start_ps */
	uint32_t flows_max;    /* a source; 0: as many as start before until_ps */
	uint32_t spare;
	struct nd_sizes sizes; /* count 0: pattern->bytes each */
};

/* R-CS-5: open loop with Poisson arrivals. Writes up to limit flows, ordered by source, and
 * returns how many there are (flows may be NULL to ask). */
uint64_t nd_traffic_open_loop(struct nd_flow *flows, uint64_t limit,
			      const struct nd_traffic_open *open, const struct nd_flow *pattern,
			      uint64_t seed);

struct nd_traffic_closed {
	uint32_t hosts;
	uint32_t slots;        /* chains of a host that run side by side */
	uint32_t rounds;       /* flows of a chain, each to a newly drawn target */
	uint32_t spare;
	nd_ps think_ps;        /* mean (exponential) time from the end of one to the next */
	struct nd_sizes sizes; /* count 0: pattern->bytes each */
};

/* R-CS-5: closed loop. hosts * slots * rounds flows and as many triggers; each flow's end at the
 * source releases the next one of its chain. First flows start within one think time. */
void nd_traffic_closed_loop(struct nd_flow *flows, struct nd_trigger *triggers,
			    const struct nd_traffic_closed *closed, const struct nd_flow *pattern,
			    uint64_t seed);

#endif
