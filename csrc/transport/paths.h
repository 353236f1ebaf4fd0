/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The paths to one destination: a permutation that is shuffled as it is walked, and a scoreboard
 * that sets outliers aside for a while.
 *
 * DESIGN NOTES
 * 1. A path keeps its slot as long as it is in the list, so packets in flight can name it by slot.
 * 2. A path in good standing is judged by decayed totals once it has had enough feedback. A path
 *    that was set aside is on probation: each time it is tried again, the fresh feedback alone
 *    decides, so one good round is enough to come one round closer.
 * 3. 14 bytes a path and 2 for the permutation: 8,192 hosts with 256 paths each take 34 MB.
 * 4. A round is one permutation, drawn a packet at a time: each takes the place of one of those
 *    that the round has not visited yet. While no path has anything against it there is nothing to
 *    judge either, and a round ends where the next one begins.
 */
#ifndef ND_TRANSPORT_PATHS_H
#define ND_TRANSPORT_PATHS_H

#include "base/rng.h"
#include "base/types.h"

#define ND_PATH_NONE UINT16_MAX

/* Parameters of the scoreboard. */
struct nd_paths_config {
	bool scoreboard;             /* false: feedback is not counted and no path set aside */
	uint16_t judge_feedbacks;    /* totals above this are judged (R-NSB-06: 100) */
	uint16_t nack_percent;       /* outlier: NACK/ACK above this ... */
	uint16_t mean_percent;       /* ... and above this much of the mean of all paths */
	uint16_t bounce_nacks;       /* a bounce counts as so many NACKs */
	uint16_t loss_min;           /* loss outlier: at least so many, ... */
	uint16_t loss_percent;       /* ... this share of its packets, and above the mean */
	uint8_t avoid_max;           /* most rounds that a path is set aside */
};

struct nd_path {
	uint16_t id;
	uint16_t acks, nacks, losses; /* decayed totals */
	uint8_t good, bad, lost;      /* feedback since the last verdict, saturating */
	uint8_t avoid;                /* rounds to skip after each try; 0: in good standing */
	uint8_t skip;                 /* rounds left to skip */
	bool present;                 /* in the list */
	uint16_t order;               /* of the permutation: slot visited at this place */
};

struct nd_paths {
	struct nd_rng rng;
	uint32_t acks, nacks, losses; /* sums over the paths present */
	uint16_t slots;   /* in use, paths no longer present included */
	uint16_t count;   /* present */
	uint16_t usable;  /* in this round */
	uint16_t at;      /* next of the round */
	uint16_t turn;    /* next for control packets */
	uint16_t limit;   /* slots that the memory has */
	bool calm;        /* since this round began no path has had anything against it */
	/* Followed by struct nd_path[limit]. */
};

/* Bytes of a set of up to limit paths. */
size_t nd_paths_bytes(uint32_t limit);

/* Starts with ids 0..count-1; count <= limit. */
void nd_paths_init(struct nd_paths *paths, uint32_t limit, uint32_t count, struct nd_rng rng);

/*
 * Replaces the list by count (1..limit) uint16_t at ids, which need not be aligned. Ids that stay
 * keep their score; repeats are ignored.
 */
void nd_paths_set(struct nd_paths *paths, const void *ids, uint32_t count);

/* Slot for the next control packet: varies, costs the data packets nothing. */
uint16_t nd_paths_next_control(struct nd_paths *paths);

/* Feedback about a packet that took slot. */
void nd_paths_acked(struct nd_paths *paths, const struct nd_paths_config *config, uint16_t slot);
void nd_paths_nacked(struct nd_paths *paths, const struct nd_paths_config *config, uint16_t slot);
void nd_paths_bounced(struct nd_paths *paths, const struct nd_paths_config *config, uint16_t slot);
void nd_paths_lost(struct nd_paths *paths, const struct nd_paths_config *config, uint16_t slot);

/* NULL or what is wrong. */
const char *nd_paths_audit(const struct nd_paths *paths);

/* The general case of nd_paths_next(), which is called instead. */
uint16_t nd_paths_next_round(struct nd_paths *paths, const struct nd_paths_config *config,
			     uint16_t avoid);

/* Slots begin here; for tests and reports. */
static inline struct nd_path *nd_paths_slots(const struct nd_paths *paths)
{
	return (struct nd_path *)(uintptr_t)(paths + 1);
}

/* Id of the path in slot. */
static inline uint16_t nd_paths_id(const struct nd_paths *paths, uint16_t slot)
{
	return nd_paths_slots(paths)[slot].id;
}

/* Lets the round visit at `at` what it would have visited at `other`, and the reverse. */
static inline uint16_t nd_paths_swap(struct nd_paths *paths, uint32_t at, uint32_t other)
{
	struct nd_path *slots = nd_paths_slots(paths);
	uint16_t slot = slots[other].order;

	slots[other].order = slots[at].order;
	slots[at].order = slot;
	return slot;
}

/* Slot for the next data packet, not avoid (a slot or ND_PATH_NONE) where there is a choice. */
static inline uint16_t nd_paths_next(struct nd_paths *paths, const struct nd_paths_config *config,
				     uint16_t avoid)
{
	uint32_t at = paths->at;

	if (ND_UNLIKELY(at >= paths->usable || avoid != ND_PATH_NONE))
		return nd_paths_next_round(paths, config, avoid);
	paths->at++;
	return nd_paths_swap(paths, at, at + nd_rng_pick(&paths->rng, paths->usable - at));
}

/* For speed alone: fetches what nd_paths_next() is going to swap. */
static inline void nd_paths_foresee(const struct nd_paths *paths)
{
	const struct nd_path *slots = nd_paths_slots(paths);
	uint32_t at = paths->at < paths->usable ? paths->at : 0;
	struct nd_rng rng = paths->rng;

	nd_fetch(&slots[at]);
	nd_fetch(&slots[at + nd_rng_pick(&rng, paths->usable - at)]);
}

#endif
