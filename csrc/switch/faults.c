// SPDX-License-Identifier: Apache-2.0
/* Drawing what happens to a frame. */
#include "switch/faults.h"

ND_COUNTERS_TABLE(nd_faults_counters, "faults", ND_FAULTS_COUNTERS);

void nd_faults_init(struct nd_faults *faults, const struct nd_faults_config *config,
		    uint64_t seed)
{
	*faults = (struct nd_faults){ .config = *config, .rng = nd_rng_make(seed, 0) };
}

void nd_faults_set(struct nd_faults *faults, const struct nd_faults_config *config)
{
	/* What the longer delay holds is overtaken. */
	if (config->delay_ns < faults->config.delay_ns)
		faults->due_last = 0;
	faults->config = *config;
}

static bool chance(struct nd_faults *faults, uint32_t probability)
{
	/* Always draw: the stream must not depend on the settings. */
	return nd_rng_chance(&faults->rng, probability) || probability == ND_FAULTS_ALWAYS;
}

/* Frames in order never overtake each other, even at one and the same time, once one is held. */
static nd_ns due_in_order(struct nd_faults *faults, nd_ns due, nd_ns now)
{
	if (faults->due_last > now && due <= faults->due_last)
		due = faults->due_last + 1;
	faults->due_last = due;
	return due;
}

struct nd_fault nd_faults_draw(struct nd_faults *faults, uint32_t bytes, nd_ns now)
{
	const struct nd_faults_config *config = &faults->config;
	struct nd_fault fault = { .copies = 1, .corrupt_bit = ND_NONE };
	bool is_lost = chance(faults, config->loss);
	bool is_corrupt = chance(faults, config->corrupt);
	bool is_twice = chance(faults, config->duplicate);
	bool is_held = chance(faults, config->reorder);
	uint32_t bit = nd_rng_below(&faults->rng, bytes * 8);
	uint64_t held_share = nd_rng_u64(&faults->rng) >> 32;

	if (is_lost) {
		fault.copies = 0;
		faults->counters.lost++;
		return fault;
	}
	if (is_corrupt) {
		fault.corrupt_bit = bit;
		faults->counters.corrupted++;
	}
	if (is_twice) {
		fault.copies = 2;
		faults->counters.duplicated++;
	}
	fault.due = now + config->delay_ns;
	if (is_held) {
		nd_assert(config->reorder_ns_max <= UINT32_MAX);
		fault.due += (held_share * config->reorder_ns_max) >> 32;
		faults->counters.reordered++;
	} else {
		fault.due = due_in_order(faults, fault.due, now);
	}
	return fault;
}
