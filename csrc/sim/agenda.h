/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What happens next: the events of a simulation in their total order (time, order of putting in).
 *
 * DESIGN NOTES
 * 1. Packet events lie a few microseconds ahead. A ring of slots, each 2^shift picoseconds wide,
 *    takes them: an event is written behind the last one of its slot, into a chunk of a few cache
 *    lines, and that is all that putting one in costs.
 * 2. The run is the sorted beginning of what is pending. When it gets short, the next slot's events
 *    are copied out and sorted behind it: counted by the upper bits of their time, without a
 *    branch that a processor could guess wrong, then put right where two share those bits. The
 *    sort is stable, so events of equal times stay in the order in which they were put in, and no
 *    event needs to carry that order. What is put in at a time that the run has come past already
 *    is inserted into it.
 * 3. What lies further ahead than the ring (timers, mostly) waits in a heap and moves into its
 *    slot when the ring comes to cover that, before anything else can be put there.
 * 4. The run is never shorter than ND_AGENDA_AHEAD while there is more: its owner can look at the
 *    events before they are due, and fetch what they are going to touch.
 * 5. Nothing is ever cancelled: a timer that was moved fires at its old time and is recognised as
 *    stale by its owner.
 */
#ifndef ND_SIM_AGENDA_H
#define ND_SIM_AGENDA_H

#include "base/types.h"
#include "sim/keep.h"

/* Absolute time inside the simulator, in picoseconds. */
typedef uint64_t nd_ps;

#define ND_PS_PER_NS ((nd_ps)1000)

#define ND_AGENDA_SLOTS 65536u
#define ND_AGENDA_CHUNK 16u /* entries, of which the first one is the link to the next chunk */
#define ND_AGENDA_AHEAD 28u /* events that the run has at least, while there are so many */

struct nd_agenda_event {
	uint32_t time; /* the lower half; the upper one follows from the present */
	uint32_t what; /* kind and place, the owner's */
	uint32_t arg;  /* the owner's */
	uint32_t hint; /* the owner's: not part of what happens, but of what is known about it */
};

struct nd_agenda_slot {
	uint32_t first; /* chunk */
	uint32_t end;   /* entry behind the last event, 0 when the slot is empty */
};

struct nd_agenda_far; /* an event beyond the ring */

struct nd_agenda {
	struct nd_agenda_event *run; /* the first pending events, sorted ... */
	uint32_t at;                 /* ... the next of them ... */
	uint32_t count;              /* ... and their end */
	nd_ps base;                  /* of the event taken last, or where the run began after a gap */
	uint64_t next_slot;          /* number of the first slot that is not in the run */
	uint32_t shift;
	uint32_t waiting;            /* events in the ring and in the heap */
	uint32_t limit;              /* of waiting, and of the run */
	bool full;                   /* an event was refused: the simulation cannot go on */
	struct nd_agenda_slot *slots;
	struct nd_agenda_event *entries; /* of all chunks */
	uint32_t chunk_free;             /* list of chunks that were used and are not any more */
	uint32_t chunk_fresh;            /* first of those that never were */
	uint32_t chunks;
	uint64_t *map;                   /* a bit for each slot that is not empty */
	uint64_t summary[ND_AGENDA_SLOTS / 4096]; /* ... for each word of map */
	struct nd_agenda_event *scratch[2]; /* for sorting */
	struct nd_agenda_far *far;       /* heap, earliest first */
	uint32_t far_count;
	uint64_t far_order; /* of putting in */
};

/* Takes room for limit pending events from keep, which has to outlive it. A slot is 2^shift ps wide,
 * shift 6 to 16. 0 or -ENOMEM. */
int nd_agenda_init(struct nd_agenda *agenda, struct nd_keep *keep, uint32_t limit, uint32_t shift);

/* Pending events, and those of a kind, which is what >> shift. */
uint32_t nd_agenda_pending(const struct nd_agenda *agenda);
uint32_t nd_agenda_count(const struct nd_agenda *agenda, uint32_t shift, uint32_t kind);

/* NULL or what is wrong. O(pending). */
const char *nd_agenda_audit(const struct nd_agenda *agenda);

/* Entry for the next event of a slot of the ring whose last chunk, if any, is full. */
uint32_t nd_agenda_grow(struct nd_agenda *agenda, uint32_t slot);
/* Puts in what belongs into the run, or beyond the ring, or nowhere. */
void nd_agenda_put_rare(struct nd_agenda *agenda, nd_ps time, uint32_t what, uint32_t arg,
			uint32_t hint);
/* Makes the run as long as it should be, by slots that begin by until; false when it is empty. */
bool nd_agenda_refill(struct nd_agenda *agenda, nd_ps until);

static inline void nd_agenda_append(struct nd_agenda *agenda, uint32_t slot,
				    const struct nd_agenda_event *event)
{
	uint32_t entry = agenda->slots[slot].end;

	if (entry % ND_AGENDA_CHUNK == 0)
		entry = nd_agenda_grow(agenda, slot);
	agenda->entries[entry] = *event;
	agenda->slots[slot].end = entry + 1;
	agenda->waiting++;
}

/* Schedules (what, arg) at a time not before the event taken last. */
static inline void nd_agenda_put(struct nd_agenda *agenda, nd_ps time, uint32_t what, uint32_t arg,
				 uint32_t hint)
{
	struct nd_agenda_event event = {
		.time = (uint32_t)time, .what = what, .arg = arg, .hint = hint,
	};
	uint64_t slot = time >> agenda->shift;

	if (ND_UNLIKELY(slot - agenda->next_slot >= ND_AGENDA_SLOTS ||
			agenda->waiting == agenda->limit))
		nd_agenda_put_rare(agenda, time, what, arg, hint);
	else
		nd_agenda_append(agenda, slot % ND_AGENDA_SLOTS, &event);
}

/* The next event, which is taken, and its time; NULL when there is none by until. It is valid until
 * the next one is put in. */
static inline const struct nd_agenda_event *nd_agenda_take(struct nd_agenda *agenda, nd_ps until,
							   nd_ps *time)
{
	const struct nd_agenda_event *event;

	if (ND_UNLIKELY(agenda->count - agenda->at < ND_AGENDA_AHEAD) &&
	    !nd_agenda_refill(agenda, until))
		return NULL;
	event = &agenda->run[agenda->at];
	*time = agenda->base + (uint32_t)(event->time - (uint32_t)agenda->base);
	if (ND_UNLIKELY(*time > until))
		return NULL;
	agenda->base = *time;
	agenda->at++;
	return event;
}

#endif
