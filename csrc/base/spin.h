/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How long to spin before blocking: as long as it pays.
 *
 * Where CPUs are idle, what is waited for comes while one spins, and nobody needs to be woken. Where
 * they are not, spinning takes the CPU from whoever is to bring it. So spinning that ends with
 * blocking halves the time that is spun next, spinning that ends with work raises it to a multiple
 * of what that took, and now and then the most is tried.
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

struct nd_spin {
	nd_ns most;
	nd_ns usual;   /* what has paid lately */
	nd_ns limit;   /* of this wait */
	nd_ns since;   /* when this wait began */
	nd_ns spun;    /* of this wait, so far */
	uint32_t try_every; /* waits: the most is tried */
	uint32_t waits;
	bool blocked;  /* this wait has been long enough to block */
};

static inline struct nd_spin nd_spin_make(nd_ns most, uint32_t try_every)
{
	return (struct nd_spin){
		.most = most,
		.usual = most,
		.limit = most,
		.try_every = try_every,
	};
}

/* The wait before is over, and it is known how it ended. */
static inline void nd_spin_begin(struct nd_spin *spin, nd_ns since)
{
	if (spin->blocked)
		spin->usual = nd_max_u64(spin->usual / 2, ND_SPIN_LEAST);
	else
		spin->usual = nd_max_u64(spin->usual, ND_SPIN_PATIENCE * spin->spun);
	spin->usual = nd_min_u64(spin->usual, spin->most);
	spin->limit = ++spin->waits % spin->try_every ? spin->usual : spin->most;
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
