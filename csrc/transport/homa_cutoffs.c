// SPDX-License-Identifier: Apache-2.0
/*
 * Unscheduled priorities: learned from what arrives, told to those who send.
 *
 * A histogram holds the unscheduled bytes by message size, eight bins an octave. Every learn_ns the
 * split of levels (AUTO) and the cutoffs that give each unscheduled level the same number of bytes
 * are computed, and the histogram is halved, so that old traffic fades.
 */
#include "transport/homa_internal.h"

#include <string.h>

/* HomaModule compares cutoffs as signed integers. */
#define CUTOFF_ALL INT32_MAX

uint32_t nd_homa_cutoffs_bin_top(uint32_t bin)
{
	uint32_t shift;

	if (bin < 8)
		return bin;
	shift = bin / 8 - 1;
	return (uint32_t)((((uint64_t)(8 + bin % 8) + 1) << shift) - 1);
}

uint8_t nd_homa_cutoffs_priority(const uint32_t cutoffs[], uint32_t bytes)
{
	for (uint8_t priority = ND_HOMA_PRIORITIES - 1; priority > 0; priority--) {
		if (cutoffs[priority] >= bytes)
			return priority;
	}
	return 0;
}

static void set_levels(struct nd_homa *homa, uint32_t unscheduled)
{
	const struct nd_homa_config *config = &homa->config;
	uint32_t scheduled = ND_HOMA_PRIORITIES - unscheduled;

	if (config->scheduled_levels)
		scheduled = nd_min_u32(scheduled, config->scheduled_levels);
	homa->unscheduled_levels = (uint8_t)unscheduled;
	homa->scheduled_levels = (uint8_t)scheduled;
	homa->degree = config->overcommit ? config->overcommit : scheduled;
}

/* Levels above the lowest cutoff that covers everything. */
static uint32_t levels_of(const uint32_t cutoffs[])
{
	uint32_t lowest = ND_HOMA_PRIORITIES - 1;

	for (uint32_t priority = 1; priority < ND_HOMA_PRIORITIES; priority++) {
		if (cutoffs[priority]) {
			lowest = priority;
			break;
		}
	}
	return ND_HOMA_PRIORITIES - lowest;
}

/* Those who send are told when their version is another. */
static void publish(struct nd_homa *homa, const uint32_t cutoffs[], uint32_t unscheduled)
{
	memcpy(homa->cutoffs, cutoffs, sizeof(homa->cutoffs));
	homa->cutoffs[0] = CUTOFF_ALL;
	if (++homa->cutoff_version == 0)
		homa->cutoff_version = 1;
	set_levels(homa, unscheduled);
}

static void publish_configured(struct nd_homa *homa)
{
	const struct nd_homa_config *config = &homa->config;

	publish(homa, config->cutoffs,
		config->cutoff_mode == ND_HOMA_CUTOFFS_FIXED ? config->unscheduled_levels
							     : levels_of(config->cutoffs));
}

void nd_homa_cutoffs_init(struct nd_homa *homa)
{
	homa->cutoff_version = 0;
	publish_configured(homa);
}

bool nd_homa_cutoffs_are_sound(const uint32_t cutoffs[ND_HOMA_PRIORITIES])
{
	uint32_t above = 1;

	for (uint32_t priority = ND_HOMA_PRIORITIES - 1; priority > 0; priority--) {
		uint32_t own = cutoffs[priority];

		if (own > CUTOFF_ALL || (own && (!above || own < above)))
			return false;
		above = own;
	}
	return cutoffs[ND_HOMA_PRIORITIES - 1] != 0;
}

void nd_homa_cutoffs_set(struct nd_homa *homa, const uint32_t *cutoffs)
{
	homa->cutoffs_set = cutoffs;
	if (cutoffs)
		publish(homa, cutoffs, levels_of(cutoffs));
	else
		publish_configured(homa);
	nd_homa_grant_run(homa);
}

/* The text's rule: the unscheduled share of the bytes is the share of the levels, rounded. */
static uint32_t share_of_levels(uint64_t unscheduled, uint64_t total)
{
	uint64_t levels = (unscheduled * 2 * ND_HOMA_PRIORITIES + total) / (2 * total);

	return (uint32_t)nd_min_u64(nd_max_u64(levels, 1), ND_HOMA_PRIORITIES - 1);
}

/* Splits the unscheduled bytes equally, shortest messages highest. */
static void split(const uint64_t bins[], uint64_t total, uint32_t levels, uint32_t cutoffs[])
{
	uint32_t lowest = ND_HOMA_PRIORITIES - levels;
	uint32_t priority = ND_HOMA_PRIORITIES - 1;
	uint64_t below = 0;

	memset(cutoffs, 0, ND_HOMA_PRIORITIES * sizeof(cutoffs[0]));
	for (uint32_t bin = 0; bin < ND_HOMA_BINS && priority > lowest; bin++) {
		below += bins[bin];
		while (priority > lowest &&
		       below * levels >= total * (ND_HOMA_PRIORITIES - priority))
			cutoffs[priority--] = nd_homa_cutoffs_bin_top(bin);
	}
	cutoffs[lowest] = CUTOFF_ALL;
	cutoffs[0] = CUTOFF_ALL;
}

static uint64_t fade(struct nd_homa_learned *learned)
{
	uint64_t total = 0;

	for (uint32_t bin = 0; bin < ND_HOMA_BINS; bin++) {
		total += learned->unscheduled[bin];
		learned->unscheduled[bin] /= 2;
	}
	learned->scheduled /= 2;
	learned->messages = 0;
	return total;
}

static void learn(struct nd_homa *homa)
{
	struct nd_homa_learned *learned = &homa->learned;
	uint32_t cutoffs[ND_HOMA_PRIORITIES];
	uint64_t bins[ND_HOMA_BINS];
	uint64_t scheduled = learned->scheduled;
	uint64_t unscheduled;
	uint32_t levels = homa->config.unscheduled_levels;

	memcpy(bins, learned->unscheduled, sizeof(bins));
	unscheduled = fade(learned);
	if (!unscheduled)
		return;
	if (homa->config.cutoff_mode == ND_HOMA_CUTOFFS_AUTO)
		levels = share_of_levels(unscheduled, unscheduled + scheduled);
	split(bins, unscheduled, levels, cutoffs);
	if (levels == homa->unscheduled_levels &&
	    memcmp(cutoffs, homa->cutoffs, sizeof(cutoffs)) == 0)
		return;
	publish(homa, cutoffs, levels);
	homa->counters.cutoffs_learned++;
	nd_homa_grant_run(homa);
}

void nd_homa_cutoffs_note(struct nd_homa *homa, uint32_t bytes, uint32_t unscheduled, nd_ns now)
{
	struct nd_homa_learned *learned = &homa->learned;

	if (homa->cutoffs_set || homa->config.cutoff_mode == ND_HOMA_CUTOFFS_STATIC)
		return;
	learned->unscheduled[nd_homa_cutoffs_bin(bytes)] += unscheduled;
	learned->scheduled += bytes - unscheduled;
	if (!learned->messages++)
		learned->at = nd_max_u64(learned->at, now + homa->config.learn_ns);
	if (learned->messages >= homa->config.learn_messages && now >= learned->at)
		learn(homa);
}

void nd_homa_cutoffs_tell(struct nd_homa *homa, struct nd_homa_peer *peer,
			  const struct nd_homa_rpc *rpc, nd_ns now)
{
	if (peer->cutoffs_at && now - peer->cutoffs_at < homa->config.cutoffs_ns)
		return;
	peer->cutoffs_at = nd_max_u64(now, 1);
	nd_homa_reply(homa, &(struct nd_homa_reply){
		.id = rpc->id,
		.peer = peer->handle,
		.own_port = rpc->own_port,
		.peer_port = rpc->peer_port,
		.type = ND_HOMA_CUTOFFS,
	});
}
