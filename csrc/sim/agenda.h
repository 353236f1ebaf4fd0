/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What happens next: the events of a simulation in their total order (time, order of putting in).
 *
 * DESIGN NOTES
 * 1. Most events of a network lie one of very few gaps ahead of the moment at which they are put
 *    in: the transmission time of a full or of a header packet, with or without propagation. All
 *    events of one gap come due in the order in which they were put in, so a ring holds them
 *    sorted at no cost: a lane. The rest goes to a timing wheel.
 * 2. The heads of the lanes in use, some five, are kept in order; taking an event moves one of
 *    them back by a place or two. A wheel alone was tried first: in a fabric of equal links many events share the same
 *    picosecond, its slots fill unevenly, and following the lists of a slot was a cache miss for
 *    each event. Rings are read and written in sequence.
 * 3. A lane shows what is coming long before it is due, so that its owner can fetch it.
 * 4. A lane is bound to a gap. It changes over to another one when it is empty and that gap was
 *    asked for twice in a row, so that gaps which come once (odd sizes, timers) leave it alone and
 *    use the wheel: slower, in the same order. What is known to come at odd times (a port that
 *    waits for the end of another packet, timers) goes there at once.
 */
#ifndef ND_SIM_AGENDA_H
#define ND_SIM_AGENDA_H

#include "sim/wheel.h"

#define ND_AGENDA_LANES 16
#define ND_AGENDA_TABLE 1024

struct nd_lane {
	struct nd_wheel_event *ring;
	nd_ps gap;      /* of all events in it */
	uint32_t first; /* free running */
	uint32_t end;
};

/* When and in which order the first event of a lane comes. */
struct nd_agenda_head {
	nd_ps time;
	uint32_t key;
	uint32_t lane;
};

struct nd_agenda {
	struct nd_agenda_head heads[ND_AGENDA_LANES]; /* of the lanes in use, earliest first */
	uint32_t used;      /* lanes in use */
	uint32_t lane_mask; /* entries of a ring - 1 */
	uint32_t key;       /* of the next event put in */
	nd_ps rival;        /* the last gap that had no lane */
	struct nd_lane lanes[ND_AGENDA_LANES];
	uint8_t table[ND_AGENDA_TABLE]; /* lane of a gap, if it has one */
	struct nd_wheel wheel;
};

/* Allocates room for limit pending events in the wheel and lane_limit, a power of two, in each
 * lane. A slot of the wheel is 2^shift ps wide. 0 or -ENOMEM. */
int nd_agenda_init(struct nd_agenda *agenda, uint32_t limit, uint32_t lane_limit, uint32_t shift);
void nd_agenda_free(struct nd_agenda *agenda);

/* Bytes allocated; what was never touched costs nothing. */
size_t nd_agenda_bytes(const struct nd_agenda *agenda);

/* Pending events, and those of a kind, which is what >> shift. */
uint32_t nd_agenda_pending(const struct nd_agenda *agenda);
uint32_t nd_agenda_count(const struct nd_agenda *agenda, uint32_t shift, uint32_t kind);

/* NULL or what is wrong. O(pending). */
const char *nd_agenda_audit(const struct nd_agenda *agenda);

/* Gaps differ by round amounts, so one multiplication alone would throw them together. */
static inline uint32_t nd_agenda_hash(nd_ps gap)
{
	uint64_t hash = gap * UINT64_C(0x9e3779b97f4a7c15);

	return (uint32_t)((hash ^ hash >> 29) * UINT64_C(0xbf58476d1ce4e5b9) >> 54);
}

/* Lane of a gap that its place in the table does not name: found, or bound to it, or ND_NONE. */
uint32_t nd_agenda_find(struct nd_agenda *agenda, nd_ps gap);

static inline bool nd_agenda_before(nd_ps time, uint32_t key, nd_ps than_time, uint32_t than_key)
{
	return time < than_time || (time == than_time && nd_newer_u32(than_key, key) > 0);
}

/* Makes the lane, which was empty, one of those in use. */
static inline void nd_agenda_enter(struct nd_agenda *agenda, nd_ps time, uint32_t key,
				   uint32_t lane)
{
	struct nd_agenda_head *heads = agenda->heads;
	uint32_t at = agenda->used++;

	for (; at > 0 && nd_agenda_before(time, key, heads[at - 1].time, heads[at - 1].key); at--)
		heads[at] = heads[at - 1];
	heads[at] = (struct nd_agenda_head){ .time = time, .key = key, .lane = lane };
}

/* Schedules (what, arg) at any time, not before the event served last. */
static inline void nd_agenda_put_odd(struct nd_agenda *agenda, nd_ps time, uint32_t what,
				     uint32_t arg)
{
	struct nd_wheel_event event = {
		.time = time, .key = agenda->key++, .what = what, .arg = arg, .next = ND_NONE,
	};

	nd_wheel_put(&agenda->wheel, &event);
}

/* Schedules (what, arg) gap after now, the time of the event served last; for gaps that recur. */
static inline void nd_agenda_put(struct nd_agenda *agenda, nd_ps now, nd_ps gap, uint32_t what,
				 uint32_t arg)
{
	uint32_t index = agenda->table[nd_agenda_hash(gap)];
	struct nd_lane *lane = &agenda->lanes[index];
	struct nd_wheel_event *event;
	uint32_t key;

	if (ND_UNLIKELY(lane->gap != gap)) {
		index = nd_agenda_find(agenda, gap);
		lane = &agenda->lanes[index & (ND_AGENDA_LANES - 1)];
	}
	if (ND_UNLIKELY(index == ND_NONE || lane->end - lane->first > agenda->lane_mask)) {
		nd_agenda_put_odd(agenda, now + gap, what, arg);
		return;
	}
	key = agenda->key++;
	if (lane->end == lane->first)
		nd_agenda_enter(agenda, now + gap, key, index);
	event = &lane->ring[lane->end++ & agenda->lane_mask];
	event->time = now + gap;
	event->key = key;
	event->what = what;
	event->arg = arg;
}

/* Lane of the next event, ND_AGENDA_LANES when it is in the wheel; *next is NULL when there is
 * none. */
static inline uint32_t nd_agenda_next(struct nd_agenda *agenda, const struct nd_wheel_event **next)
{
	const struct nd_agenda_head *head = &agenda->heads[0];
	const struct nd_lane *lane = &agenda->lanes[head->lane];
	bool any = agenda->used > 0;
	const struct nd_wheel_event *odd =
		nd_wheel_peek(&agenda->wheel, any ? head->time + 1 : ND_NEVER);

	if (ND_UNLIKELY(odd != NULL) &&
	    (!any || nd_agenda_before(odd->time, odd->key, head->time, head->key))) {
		*next = odd;
		return ND_AGENDA_LANES;
	}
	*next = any ? &lane->ring[lane->first & agenda->lane_mask] : NULL;
	return head->lane;
}

/* Done with the event that nd_agenda_next found there. */
static inline void nd_agenda_pop(struct nd_agenda *agenda, uint32_t where)
{
	struct nd_agenda_head *heads = agenda->heads;
	const struct nd_wheel_event *next;
	struct nd_lane *lane;
	uint32_t at = 1;

	if (ND_UNLIKELY(where == ND_AGENDA_LANES)) {
		nd_wheel_pop(&agenda->wheel);
		return;
	}
	lane = &agenda->lanes[where];
	if (++lane->first == lane->end) {
		for (agenda->used--; at <= agenda->used; at++)
			heads[at - 1] = heads[at];
		return;
	}
	next = &lane->ring[lane->first & agenda->lane_mask];
	for (; at < agenda->used && nd_agenda_before(heads[at].time, heads[at].key, next->time,
						     next->key); at++)
		heads[at - 1] = heads[at];
	heads[at - 1] = (struct nd_agenda_head){
		.time = next->time, .key = next->key, .lane = where,
	};
}

/* The event that comes ahead places after the lane's first one, or NULL. */
static inline const struct nd_wheel_event *nd_agenda_ahead(const struct nd_agenda *agenda,
							   uint32_t where, uint32_t ahead)
{
	const struct nd_lane *lane = &agenda->lanes[where];

	if (lane->end - lane->first <= ahead)
		return NULL;
	return &lane->ring[(lane->first + ahead) & agenda->lane_mask];
}

#endif
