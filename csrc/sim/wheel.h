/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Events at any time ahead, in a total order (time, key) that no compiler can change.
 *
 * DESIGN NOTES
 * 1. Packet events lie a few microseconds ahead, so a wheel of 65,536 narrow slots with a bitmap
 *    finds the next one without comparing. Slots are 2^shift picoseconds wide; a busier fabric
 *    takes narrower ones, so that a slot holds few events.
 * 2. The slot that time has reached is copied into a small sorted buffer; what is scheduled into
 *    it later is inserted there. Equal times are served in the order in which they were put in.
 * 3. Timers lie further ahead: they wait on a coarse wheel whose slots are one turn of the fine
 *    one. An entry that is several turns of the coarse wheel away stays where it is until its
 *    turn, so there is no third structure and no limit on how far ahead one may schedule.
 * 4. Nothing is ever cancelled: a timer that was moved fires at its old time and is recognised as
 *    stale by its owner.
 */
#ifndef ND_SIM_WHEEL_H
#define ND_SIM_WHEEL_H

#include "base/types.h"

/* Absolute time inside the simulator, in picoseconds. */
typedef uint64_t nd_ps;

#define ND_PS_PER_NS ((nd_ps)1000)

#define ND_WHEEL_BITS 16
#define ND_WHEEL_SLOTS (1u << ND_WHEEL_BITS)
#define ND_WHEEL_COARSE_SLOTS 4096u

struct nd_wheel_event {
	nd_ps time;
	uint32_t key;  /* order of putting in, decides between equal times */
	uint32_t what; /* kind and place, the owner's */
	uint32_t arg;  /* the owner's */
	uint32_t next; /* next of its slot */
};

_Static_assert(sizeof(struct nd_wheel_event) == 24, "decides how many events a cache holds");

struct nd_wheel {
	/* Events of the slot that time has reached, sorted, in buffer[at..count). A slot is filled
	 * in below buffer[limit]; what is put into it later may go above. */
	struct nd_wheel_event *buffer;
	uint32_t at;
	uint32_t count;
	uint64_t slot;                 /* the slot that time has reached */
	uint32_t shift;                /* a slot is 2^shift picoseconds wide */
	nd_ps soon;                    /* no pending event comes before this time */
	struct nd_wheel_event *nodes;
	uint32_t free;                 /* head of the list of free nodes */
	uint32_t used;                 /* nodes waiting in a slot */
	uint32_t limit;                /* nodes, and half of the entries of the buffer */
	bool full;                     /* an event was refused: the run cannot go on */
	uint32_t *fine;                /* heads of the slots' lists */
	uint64_t *fine_map;            /* a bit for each slot that is not empty */
	uint64_t summary[ND_WHEEL_SLOTS / 4096]; /* ... for each word of fine_map */
	uint32_t *coarse;
	uint64_t *coarse_map;
	uint64_t coarse_done;          /* coarse slots up to this one are in the fine wheel */
	uint64_t coarse_next;          /* first coarse slot that may hold something, or ND_NEVER */
};

/* Allocates room for limit pending events. 0 or -ENOMEM. */
int nd_wheel_init(struct nd_wheel *wheel, uint32_t limit, uint32_t shift);
void nd_wheel_free(struct nd_wheel *wheel);

/* No event that is still in a slot comes before this time; ND_NEVER: none is. */
nd_ps nd_wheel_bound(const struct nd_wheel *wheel);

/* Moves the next slot that is not empty and begins before the given time into the drained buffer;
 * false when there is none. */
bool nd_wheel_refill(struct nd_wheel *wheel, nd_ps before);

/* Inserts into the buffer or the coarse wheel: the places where an event seldom goes. */
void nd_wheel_put_now(struct nd_wheel *wheel, const struct nd_wheel_event *event);
void nd_wheel_put_far(struct nd_wheel *wheel, const struct nd_wheel_event *event);

/* Every pending event is linked exactly once and counted; NULL or what is wrong. O(limit). */
const char *nd_wheel_audit(const struct nd_wheel *wheel);

/* Pending events of the kind, which is what >> shift. O(pending). */
uint32_t nd_wheel_count(const struct nd_wheel *wheel, uint32_t shift, uint32_t kind);

static inline uint32_t nd_wheel_pending(const struct nd_wheel *wheel)
{
	return wheel->used + (wheel->count - wheel->at);
}

/* Copies event into a fresh node in front of the list at *head. */
static inline bool nd_wheel_link(struct nd_wheel *wheel, uint32_t *head,
				 const struct nd_wheel_event *event)
{
	uint32_t index = wheel->free;
	struct nd_wheel_event *node;

	if (ND_UNLIKELY(index == ND_NONE)) {
		wheel->full = true;
		return false;
	}
	node = &wheel->nodes[index];
	wheel->free = node->next;
	wheel->used++;
	*node = *event;
	node->next = *head;
	*head = index;
	return true;
}

/* Links event into the fine slot numbered slot, which is within one turn ahead. */
static inline void nd_wheel_put_fine(struct nd_wheel *wheel, uint64_t slot,
				     const struct nd_wheel_event *event)
{
	uint32_t at = (uint32_t)slot & (ND_WHEEL_SLOTS - 1);

	if (ND_UNLIKELY(!nd_wheel_link(wheel, &wheel->fine[at], event)))
		return;
	wheel->fine_map[at >> 6] |= UINT64_C(1) << (at & 63);
	wheel->summary[at >> 12] |= UINT64_C(1) << ((at >> 6) & 63);
}

/* Puts in an event whose time does not lie before the event served last. */
static inline void nd_wheel_put(struct nd_wheel *wheel, const struct nd_wheel_event *event)
{
	uint64_t slot = event->time >> wheel->shift;

	wheel->soon = nd_min_u64(wheel->soon, event->time);
	if (ND_UNLIKELY(slot <= wheel->slot))
		nd_wheel_put_now(wheel, event);
	else if (ND_LIKELY(slot - wheel->slot <= ND_WHEEL_SLOTS))
		nd_wheel_put_fine(wheel, slot, event);
	else
		nd_wheel_put_far(wheel, event);
}

/* The next event, still pending, or NULL when there is none before the given time: the slot that
 * it lies in is not reached then, so that what is put in later still finds its place. */
static inline const struct nd_wheel_event *nd_wheel_peek(struct nd_wheel *wheel, nd_ps before)
{
	if (wheel->soon >= before)
		return NULL;
	if (wheel->at == wheel->count && !nd_wheel_refill(wheel, before))
		return NULL;
	return &wheel->buffer[wheel->at];
}

/* Done with the event that peek returned. */
static inline void nd_wheel_pop(struct nd_wheel *wheel)
{
	wheel->at++;
	wheel->soon = wheel->at < wheel->count ? wheel->buffer[wheel->at].time :
						 nd_wheel_bound(wheel);
}

#endif
