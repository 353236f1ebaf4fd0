// SPDX-License-Identifier: Apache-2.0
/* Draining and cascading of the event set. */
#include "sim/wheel.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define FINE_MASK (ND_WHEEL_SLOTS - 1)
#define COARSE_MASK (ND_WHEEL_COARSE_SLOTS - 1)

/* Moves an entry that insertion may cost before a heap is cheaper. */
#define MOVES_EACH 12

int nd_wheel_init(struct nd_wheel *wheel, uint32_t limit, uint32_t shift)
{
	memset(wheel, 0, sizeof(*wheel));
	wheel->limit = limit;
	wheel->shift = shift;
	wheel->coarse_next = ND_NEVER;
	wheel->soon = ND_NEVER;
	/* The first slot is reached before the first event is put in. */
	wheel->at = wheel->count = limit;
	wheel->buffer = malloc((size_t)limit * 2 * sizeof(*wheel->buffer));
	wheel->nodes = malloc((size_t)limit * sizeof(*wheel->nodes));
	wheel->fine = malloc(ND_WHEEL_SLOTS * sizeof(uint32_t));
	wheel->fine_map = calloc(ND_WHEEL_SLOTS / 64, sizeof(uint64_t));
	wheel->coarse = malloc(ND_WHEEL_COARSE_SLOTS * sizeof(uint32_t));
	wheel->coarse_map = calloc(ND_WHEEL_COARSE_SLOTS / 64, sizeof(uint64_t));
	if (!wheel->buffer || !wheel->nodes || !wheel->fine || !wheel->fine_map ||
	    !wheel->coarse || !wheel->coarse_map) {
		nd_wheel_free(wheel);
		return -ENOMEM;
	}
	memset(wheel->fine, 0xff, ND_WHEEL_SLOTS * sizeof(uint32_t));
	memset(wheel->coarse, 0xff, ND_WHEEL_COARSE_SLOTS * sizeof(uint32_t));
	for (uint32_t i = 0; i < limit; i++)
		wheel->nodes[i].next = i + 1 < limit ? i + 1 : ND_NONE;
	wheel->free = limit ? 0 : ND_NONE;
	return 0;
}

void nd_wheel_free(struct nd_wheel *wheel)
{
	free(wheel->buffer);
	free(wheel->nodes);
	free(wheel->fine);
	free(wheel->fine_map);
	free(wheel->coarse);
	free(wheel->coarse_map);
	memset(wheel, 0, sizeof(*wheel));
}

static bool before(const struct nd_wheel_event *a, const struct nd_wheel_event *b)
{
	if (a->time != b->time)
		return a->time < b->time;
	return nd_newer_u32(b->key, a->key) > 0;
}

void nd_wheel_put_now(struct nd_wheel *wheel, const struct nd_wheel_event *event)
{
	uint32_t at;

	if (wheel->at == wheel->count)
		wheel->at = wheel->count = wheel->limit;
	at = wheel->count;
	if (at == 2 * wheel->limit) {
		wheel->full = true;
		return;
	}
	wheel->count++;
	while (at > wheel->at && before(event, &wheel->buffer[at - 1])) {
		wheel->buffer[at] = wheel->buffer[at - 1];
		at--;
	}
	wheel->buffer[at] = *event;
}

void nd_wheel_put_far(struct nd_wheel *wheel, const struct nd_wheel_event *event)
{
	uint64_t turn = event->time >> wheel->shift >> ND_WHEEL_BITS;
	uint32_t at = (uint32_t)turn & COARSE_MASK;

	nd_assert(turn > wheel->coarse_done);
	if (!nd_wheel_link(wheel, &wheel->coarse[at], event))
		return;
	wheel->coarse_map[at >> 6] |= UINT64_C(1) << (at & 63);
	wheel->coarse_next = nd_min_u64(wheel->coarse_next, turn);
}

static void sift(struct nd_wheel_event *events, uint32_t at, uint32_t count)
{
	struct nd_wheel_event item = events[at];

	for (;;) {
		uint32_t child = 2 * at + 1;

		if (child >= count)
			break;
		if (child + 1 < count && before(&events[child], &events[child + 1]))
			child++;
		if (!before(&item, &events[child]))
			break;
		events[at] = events[child];
		at = child;
	}
	events[at] = item;
}

static void heap_sort(struct nd_wheel_event *events, uint32_t count)
{
	for (uint32_t i = count / 2; i-- > 0;)
		sift(events, i, count);
	for (uint32_t end = count - 1; end > 0; end--) {
		struct nd_wheel_event last = events[end];

		events[end] = events[0];
		events[0] = last;
		sift(events, 0, end);
	}
}

/*
 * Events come in the order in which they were put in, so they are in order as far as times are
 * equal or ascend; insertion makes few moves then. When they become many, a heap takes over.
 */
static void sort(struct nd_wheel_event *events, uint32_t count)
{
	uint32_t moves = count * MOVES_EACH;

	for (uint32_t i = 1; i < count; i++) {
		struct nd_wheel_event item = events[i];
		uint32_t at = i;

		if (!before(&item, &events[i - 1]))
			continue;
		do {
			events[at] = events[at - 1];
			at--;
		} while (at > 0 && before(&item, &events[at - 1]));
		events[at] = item;
		if (moves < i - at) {
			heap_sort(events, count);
			return;
		}
		moves -= i - at;
	}
}

/* Number of the first slot after wheel->slot that is not empty, or ND_NEVER. */
static uint64_t next_fine(const struct nd_wheel *wheel)
{
	uint64_t start = wheel->slot + 1;
	uint32_t at = (uint32_t)start & FINE_MASK;
	uint32_t word = at >> 6;
	uint64_t bits = wheel->fine_map[word] >> (at & 63);

	if (bits)
		return start + (uint32_t)__builtin_ctzll(bits);
	/* The rest of the words by their summary, round to the start of the first one again. */
	for (uint32_t i = 0, line = word >> 6; i <= ND_ARRAY_SIZE(wheel->summary); i++) {
		uint64_t lines = wheel->summary[line];

		if (i == 0)
			lines &= (word & 63) == 63 ? 0 : ~UINT64_C(0) << ((word & 63) + 1);
		if (lines) {
			uint32_t found = line * 64 + (uint32_t)__builtin_ctzll(lines);
			uint32_t slot = found * 64 +
					(uint32_t)__builtin_ctzll(wheel->fine_map[found]);

			return start + ((slot - at) & FINE_MASK);
		}
		line = (line + 1) % ND_ARRAY_SIZE(wheel->summary);
	}
	return ND_NEVER;
}

/* First coarse slot after turn that is not empty, within one turn of the coarse wheel. */
static uint64_t next_coarse(const struct nd_wheel *wheel, uint64_t turn)
{
	for (uint64_t ahead = turn + 1; ahead <= turn + ND_WHEEL_COARSE_SLOTS;) {
		uint32_t at = (uint32_t)ahead & COARSE_MASK;
		uint64_t bits = wheel->coarse_map[at >> 6] >> (at & 63);

		if (bits)
			return ahead + (uint32_t)__builtin_ctzll(bits);
		ahead += 64 - (at & 63);
	}
	return ND_NEVER;
}

/* When a coarse slot begins. */
static nd_ps start_of(const struct nd_wheel *wheel, uint64_t turn)
{
	return turn << wheel->shift << ND_WHEEL_BITS;
}

/* Spreads the coarse slot coarse_next over the fine wheel, which must be empty before it. */
static void cascade(struct nd_wheel *wheel)
{
	uint64_t turn = wheel->coarse_next;
	uint32_t at = (uint32_t)turn & COARSE_MASK;
	uint32_t index = wheel->coarse[at];
	uint64_t first = turn << ND_WHEEL_BITS;

	if (first > wheel->slot)
		wheel->slot = first - 1;
	wheel->coarse[at] = ND_NONE;
	wheel->coarse_map[at >> 6] &= ~(UINT64_C(1) << (at & 63));
	while (index != ND_NONE) {
		struct nd_wheel_event event = wheel->nodes[index];
		uint64_t slot = event.time >> wheel->shift;
		uint32_t next = event.next;

		wheel->nodes[index].next = wheel->free;
		wheel->free = index;
		wheel->used--;
		if (slot >> ND_WHEEL_BITS == turn) {
			nd_wheel_put_fine(wheel, slot, &event);
		} else {
			nd_wheel_link(wheel, &wheel->coarse[at], &event);
			wheel->coarse_map[at >> 6] |= UINT64_C(1) << (at & 63);
		}
		index = next;
	}
	wheel->coarse_done = turn;
	wheel->coarse_next = next_coarse(wheel, turn);
}

nd_ps nd_wheel_bound(const struct nd_wheel *wheel)
{
	uint64_t slot = next_fine(wheel);
	nd_ps time = slot == ND_NEVER ? ND_NEVER : slot << wheel->shift;

	if (wheel->coarse_next == ND_NEVER)
		return time;
	return nd_min_u64(time, start_of(wheel, wheel->coarse_next));
}

bool nd_wheel_refill(struct nd_wheel *wheel, nd_ps before)
{
	uint64_t slot = next_fine(wheel);
	uint32_t at, index, first = wheel->limit;

	while (wheel->coarse_next != ND_NEVER && start_of(wheel, wheel->coarse_next) < before &&
	       (slot == ND_NEVER || wheel->coarse_next <= slot >> ND_WHEEL_BITS)) {
		cascade(wheel);
		slot = next_fine(wheel);
	}
	if (slot == ND_NEVER || slot << wheel->shift >= before) {
		wheel->soon = nd_wheel_bound(wheel);
		return false;
	}
	at = (uint32_t)slot & FINE_MASK;
	index = wheel->fine[at];
	wheel->fine[at] = ND_NONE;
	wheel->fine_map[at >> 6] &= ~(UINT64_C(1) << (at & 63));
	if (!wheel->fine_map[at >> 6])
		wheel->summary[at >> 12] &= ~(UINT64_C(1) << ((at >> 6) & 63));
	/* The list is the newest first: filling the buffer downwards turns it round. */
	while (index != ND_NONE) {
		struct nd_wheel_event *node = &wheel->nodes[index];
		uint32_t next = node->next;

		if (next != ND_NONE)
			__builtin_prefetch(&wheel->nodes[next]);
		wheel->buffer[--first] = *node;
		node->next = wheel->free;
		wheel->free = index;
		index = next;
	}
	wheel->used -= wheel->limit - first;
	wheel->slot = slot;
	wheel->coarse_done = nd_max_u64(wheel->coarse_done, slot >> ND_WHEEL_BITS);
	wheel->at = first;
	wheel->count = wheel->limit;
	sort(wheel->buffer + first, wheel->limit - first);
	wheel->soon = wheel->buffer[first].time;
	return true;
}

/* Length of the lists in heads[0..count), or ND_NONE when a bit of the map is wrong. */
static uint32_t count_lists(const struct nd_wheel *wheel, const uint32_t *heads,
			    const uint64_t *map, uint32_t count)
{
	uint32_t total = 0;

	for (uint32_t at = 0; at < count; at++) {
		bool marked = map[at >> 6] >> (at & 63) & 1;

		if (marked != (heads[at] != ND_NONE))
			return ND_NONE;
		for (uint32_t i = heads[at]; i != ND_NONE; i = wheel->nodes[i].next) {
			if (++total > wheel->limit)
				return ND_NONE;
		}
	}
	return total;
}

const char *nd_wheel_audit(const struct nd_wheel *wheel)
{
	uint32_t fine = count_lists(wheel, wheel->fine, wheel->fine_map, ND_WHEEL_SLOTS);
	uint32_t coarse = count_lists(wheel, wheel->coarse, wheel->coarse_map,
				      ND_WHEEL_COARSE_SLOTS);
	uint32_t free = 0;

	if (fine == ND_NONE || coarse == ND_NONE)
		return "wheel: bitmap disagrees with the lists";
	for (uint32_t i = wheel->free; i != ND_NONE; i = wheel->nodes[i].next) {
		if (++free > wheel->limit)
			return "wheel: free list has a loop";
	}
	if (fine + coarse != wheel->used || wheel->used + free != wheel->limit)
		return "wheel: an event is lost";
	return NULL;
}

static uint32_t count_kind(const struct nd_wheel *wheel, const uint32_t *heads, uint32_t count,
			   uint32_t shift, uint32_t kind)
{
	uint32_t total = 0;

	for (uint32_t at = 0; at < count; at++) {
		for (uint32_t i = heads[at]; i != ND_NONE; i = wheel->nodes[i].next)
			total += wheel->nodes[i].what >> shift == kind;
	}
	return total;
}

uint32_t nd_wheel_count(const struct nd_wheel *wheel, uint32_t shift, uint32_t kind)
{
	uint32_t total = count_kind(wheel, wheel->fine, ND_WHEEL_SLOTS, shift, kind) +
			 count_kind(wheel, wheel->coarse, ND_WHEEL_COARSE_SLOTS, shift, kind);

	for (uint32_t at = wheel->at; at < wheel->count; at++)
		total += wheel->buffer[at].what >> shift == kind;
	return total;
}
