/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How long to spin before blocking: as long as it pays.
 *
 * Where CPUs are idle, what is waited for comes while one spins, and nobody needs to be woken. Where
 * they are not, spinning takes the CPU from whoever is to bring it. So spinning that ends with
 * blocking halves the time that is spun next, spinning that ends with work raises it to a multiple
 * of what that took.
 *
 * Two ends that block are slower by two wake-ups than what they still spin, and would do so for
 * ever. So twice what the last work took is tried, soon, and ever more rarely while that is in
 * vain; and now and then the most.
 *
 * Work that always comes within 3 us is never waited for longer than 12: where it does not come,
 * whoever is to bring it waits for this CPU, and the most would be that much later for it.
 */
#ifndef ND_BASE_SPIN_H
#define ND_BASE_SPIN_H

#include "base/types.h"

#define ND_SPIN_MOST (50 * ND_USEC) /* where nobody says otherwise */
#define ND_SPIN_LEAST ND_USEC
#define ND_SPIN_PATIENCE 4u /* times what paid. Twice would end with the first work that is late */
/* Waits. Rarer than one in a hundred, so that a try in vain is no 99th percentile. */
#define ND_SPIN_TRY_EVERY 128u
#define ND_SPIN_RETRY_SOON 4u /* waits */

struct nd_spin {
	nd_ns most;
	nd_ns usual;   /* what has paid lately */
	nd_ns limit;   /* of this wait */
	nd_ns since;   /* when this wait began */
	nd_ns spun;    /* of this wait, so far */
	uint32_t try_every; /* waits: the most is tried */
	uint64_t waits;
	uint32_t retry_every; /* waits: twice what the last work took is tried */
	uint64_t retry_at;
	bool retries;  /* this wait */
	bool blocked;  /* this wait has been long enough to block */
};

static inline struct nd_spin nd_spin_make(nd_ns most, uint32_t try_every)
{
	return (struct nd_spin){
		.most = most,
		.usual = most,
		.limit = most,
		.try_every = try_every,
		.retry_every = ND_SPIN_RETRY_SOON,
	};
}

/* How long to spin after a wait that lasted so long, whether it was spun or blocked. */
static inline nd_ns nd_spin_next(struct nd_spin *spin, nd_ns lasted)
{
	if (spin->retries)
		spin->retry_every = spin->blocked ? nd_min_u32(2 * spin->retry_every, spin->try_every)
						  : ND_SPIN_RETRY_SOON;
	spin->retries = false;
	if (++spin->waits % spin->try_every == 0)
		return spin->most;
	if (!spin->blocked || lasted > spin->most || spin->waits <= spin->retry_at)
		return spin->usual;
	spin->retries = true;
	spin->retry_at = spin->waits + spin->retry_every;
	return nd_min_u64(nd_max_u64(spin->usual, 2 * lasted), spin->most);
}

/* The wait before is over, and it is known how it ended. */
static inline void nd_spin_begin(struct nd_spin *spin, nd_ns since)
{
	if (spin->blocked)
		spin->usual = nd_max_u64(spin->usual / 2, ND_SPIN_LEAST);
	else
		spin->usual = nd_max_u64(spin->usual, ND_SPIN_PATIENCE * spin->spun);
	spin->usual = nd_min_u64(spin->usual, spin->most);
	spin->limit = nd_spin_next(spin, since - spin->since);
	spin->since = since;
	spin->blocked = false;
}

/* Asked whenever there is nothing to do since a time that names this wait; false: block now. */
static inline bool nd_spin_goes_on(struct nd_spin *spin, nd_ns since, nd_ns now)
{
	if (spin->since != since)
		nd_spin_begin(spin, since);
	spin->spun = now - since;
	spin->blocked |= spin->spun >= spin->limit;
	return !spin->blocked;
}

#endif
