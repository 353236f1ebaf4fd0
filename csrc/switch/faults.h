/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A seeded fault injector for one port: loss, corruption, duplication, reordering, delay.
 *
 * Each frame takes the same number of draws whatever is switched on, so turning one fault on or
 * off does not change what the others do to later frames.
 */
#ifndef ND_SWITCH_FAULTS_H
#define ND_SWITCH_FAULTS_H

#include "base/counters.h"
#include "base/rng.h"
#include "base/types.h"

/* A probability of 1 in the unit of struct nd_faults_config; it means "always". */
#define ND_FAULTS_ALWAYS UINT32_MAX

struct nd_faults_config {
	uint32_t loss;      /* probability / 2^32 that a frame is lost */
	uint32_t corrupt;   /* ... that one bit of it is flipped */
	uint32_t duplicate; /* ... that it arrives twice */
	uint32_t reorder;   /* ... that it is held back by a random share of reorder_ns_max */
	nd_ns delay_ns;     /* added to every frame */
	nd_ns reorder_ns_max;
};

#define ND_FAULTS_COUNTERS(X) \
	X(lost, "Frames lost by the fault injector.") \
	X(corrupted, "Frames in which the fault injector flipped a bit.") \
	X(duplicated, "Frames that the fault injector duplicated.") \
	X(reordered, "Frames that the fault injector held back.")
ND_COUNTERS_STRUCT(nd_faults_counters, ND_FAULTS_COUNTERS);
extern const struct nd_counters_table nd_faults_counters_table;

struct nd_faults {
	struct nd_faults_config config;
	struct nd_rng rng;
	nd_ns due_last; /* frames that are not reordered keep their order */
	struct nd_faults_counters counters;
};

/* What happens to one frame. */
struct nd_fault {
	uint8_t copies;       /* 0 lost, 1, 2 duplicated */
	uint32_t corrupt_bit; /* bit of the frame to flip, or ND_NONE */
	nd_ns due;            /* when it arrives */
};

void nd_faults_init(struct nd_faults *faults, const struct nd_faults_config *config,
		    uint64_t seed);

/* Other faults for the frames to come; their draws go on. */
void nd_faults_set(struct nd_faults *faults, const struct nd_faults_config *config);

/* True when no fault can happen: the caller may skip the draw. */
static inline bool nd_faults_off(const struct nd_faults *faults)
{
	const struct nd_faults_config *config = &faults->config;

	return !(config->loss | config->corrupt | config->duplicate | config->reorder) &&
	       config->delay_ns == 0;
}

/* Decides the fate of a frame of bytes > 0 that arrived at now. */
struct nd_fault nd_faults_draw(struct nd_faults *faults, uint32_t bytes, nd_ns now);

#endif
