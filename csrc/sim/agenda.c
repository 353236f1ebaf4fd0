// SPDX-License-Identifier: Apache-2.0
/* Sorting, the far future, memory and books of the agenda. */
#include "sim/agenda.h"

#include <errno.h>
#include <string.h>

#define SLOT_MASK (ND_AGENDA_SLOTS - 1)
#define CHUNK_EVENTS (ND_AGENDA_CHUNK - 1)

/* Slots further ahead stay in the ring: the halves of times in the run must tell their order. */
#define RUN_SPAN ((nd_ps)1 << 31)

/* Up to so many events one pass and insertion are the quickest sort; beyond, passes alone are. */
#define FEW 64u
#define FEW_BITS 5
#define PASS_BITS 8
#define DIGITS_MAX (1u << PASS_BITS)

struct nd_agenda_far {
	nd_ps time;
	uint64_t order;
	struct nd_agenda_event event;
};

/* Chunks that are enough however limit events lie: all full, or one begun in each slot. */
static uint32_t chunks_for(uint32_t limit)
{
	return limit / CHUNK_EVENTS + nd_min_u32(limit, ND_AGENDA_SLOTS) + 1;
}

/* The arrays of an agenda, one behind the other in its memory. */
struct layout {
	size_t entries, slots, map, run, scratch[2], far, total;
};

static size_t take(size_t *at, size_t count, size_t bytes)
{
	size_t offset = *at;

	*at = (offset + count * bytes + 63) & ~(size_t)63;
	return offset;
}

static struct layout lay_out(uint32_t limit)
{
	struct layout l;
	size_t at = 0;

	l.slots = take(&at, ND_AGENDA_SLOTS, sizeof(struct nd_agenda_slot));
	l.map = take(&at, ND_AGENDA_SLOTS / 64, sizeof(uint64_t));
	l.run = take(&at, limit + ND_AGENDA_AHEAD, sizeof(struct nd_agenda_event));
	l.scratch[0] = take(&at, limit, sizeof(struct nd_agenda_event));
	l.scratch[1] = take(&at, limit, sizeof(struct nd_agenda_event));
	l.entries = take(&at, (size_t)chunks_for(limit) * ND_AGENDA_CHUNK,
			 sizeof(struct nd_agenda_event));
	l.far = take(&at, limit, sizeof(struct nd_agenda_far));
	l.total = at;
	return l;
}

int nd_agenda_init(struct nd_agenda *agenda, struct nd_keep *keep, uint32_t limit, uint32_t shift)
{
	struct layout l = lay_out(limit);
	uint8_t *memory = nd_keep_get(keep, l.total);

	nd_assert(limit > 0 && shift > FEW_BITS && shift <= 2 * PASS_BITS);
	if (!memory)
		return -ENOMEM;
	*agenda = (struct nd_agenda){
		.limit = limit,
		.shift = shift,
		.next_slot = 1,
		.chunks = chunks_for(limit),
		.chunk_free = ND_NONE,
		.run = (void *)(memory + l.run),
		.scratch = { (void *)(memory + l.scratch[0]), (void *)(memory + l.scratch[1]) },
		.far = (void *)(memory + l.far),
		.slots = (void *)(memory + l.slots),
		.map = (void *)(memory + l.map),
		.entries = (void *)(memory + l.entries),
	};
	return 0;
}

static void mark(struct nd_agenda *agenda, uint32_t slot)
{
	agenda->map[slot / 64] |= UINT64_C(1) << slot % 64;
	agenda->summary[slot / 4096] |= UINT64_C(1) << slot / 64 % 64;
}

static void unmark(struct nd_agenda *agenda, uint32_t slot)
{
	agenda->map[slot / 64] &= ~(UINT64_C(1) << slot % 64);
	if (!agenda->map[slot / 64])
		agenda->summary[slot / 4096] &= ~(UINT64_C(1) << slot / 64 % 64);
}

static uint32_t get_chunk(struct nd_agenda *agenda)
{
	uint32_t chunk = agenda->chunk_free;

	if (chunk == ND_NONE) {
		chunk = agenda->chunk_fresh++;
		nd_assert(chunk < agenda->chunks);
	} else {
		agenda->chunk_free = agenda->entries[chunk * ND_AGENDA_CHUNK].arg;
	}
	agenda->entries[chunk * ND_AGENDA_CHUNK].arg = ND_NONE;
	return chunk;
}

uint32_t nd_agenda_grow(struct nd_agenda *agenda, uint32_t slot)
{
	struct nd_agenda_slot *at = &agenda->slots[slot];
	uint32_t chunk = get_chunk(agenda);

	if (at->end) {
		agenda->entries[at->end - ND_AGENDA_CHUNK].arg = chunk;
	} else {
		at->first = chunk;
		mark(agenda, slot);
	}
	return chunk * ND_AGENDA_CHUNK + 1;
}

static bool far_before(const struct nd_agenda_far *a, const struct nd_agenda_far *b)
{
	return a->time < b->time || (a->time == b->time && a->order < b->order);
}

static void put_far(struct nd_agenda *agenda, nd_ps time, const struct nd_agenda_event *event)
{
	struct nd_agenda_far item = { .time = time, .order = agenda->far_order++, .event = *event };
	uint32_t at = agenda->far_count++;

	while (at > 0 && far_before(&item, &agenda->far[(at - 1) / 2])) {
		agenda->far[at] = agenda->far[(at - 1) / 2];
		at = (at - 1) / 2;
	}
	agenda->far[at] = item;
}

static void pop_far(struct nd_agenda *agenda)
{
	struct nd_agenda_far *far = agenda->far;
	struct nd_agenda_far item = far[--agenda->far_count];
	uint32_t at = 0, child;

	while ((child = 2 * at + 1) < agenda->far_count) {
		if (child + 1 < agenda->far_count && far_before(&far[child + 1], &far[child]))
			child++;
		if (!far_before(&far[child], &item))
			break;
		far[at] = far[child];
		at = child;
	}
	far[at] = item;
}

/* Moves what is left of the run to where its memory begins. */
static void pack(struct nd_agenda *agenda)
{
	agenda->count -= agenda->at;
	memmove(agenda->run, agenda->run + agenda->at, agenda->count * sizeof(*agenda->run));
	agenda->at = 0;
}

/* Into the run, behind everything of the same time. */
static void insert(struct nd_agenda *agenda, const struct nd_agenda_event *event)
{
	uint32_t base = (uint32_t)agenda->base, at;

	if (agenda->count - agenda->at >= agenda->limit) {
		agenda->full = true;
		return;
	}
	if (agenda->count == agenda->limit + ND_AGENDA_AHEAD)
		pack(agenda);
	at = agenda->count++;
	for (; at > agenda->at && agenda->run[at - 1].time - base > event->time - base; at--)
		agenda->run[at] = agenda->run[at - 1];
	agenda->run[at] = *event;
}

void nd_agenda_put_rare(struct nd_agenda *agenda, nd_ps time, uint32_t what, uint32_t arg,
			uint32_t hint)
{
	struct nd_agenda_event event = {
		.time = (uint32_t)time, .what = what, .arg = arg, .hint = hint,
	};

	if (time >> agenda->shift < agenda->next_slot) {
		nd_assert(time >= agenda->base);
		insert(agenda, &event);
	} else if (agenda->waiting == agenda->limit) {
		agenda->full = true;
	} else {
		agenda->waiting++;
		put_far(agenda, time, &event);
	}
}

/* Number of the first slot of the ring that is not empty, or ND_NEVER. */
static uint64_t first_slot(const struct nd_agenda *agenda)
{
	uint64_t start = agenda->next_slot;
	uint32_t at = (uint32_t)start & SLOT_MASK;
	uint32_t word = at / 64;
	uint64_t bits = agenda->map[word] >> at % 64;

	if (bits)
		return start + (uint32_t)__builtin_ctzll(bits);
	/* The rest of the words by their summary, round to the start of the first one again. */
	for (uint32_t i = 0, line = word / 64; i <= ND_ARRAY_SIZE(agenda->summary); i++) {
		uint64_t lines = agenda->summary[line];

		if (i == 0)
			lines &= word % 64 == 63 ? 0 : ~UINT64_C(0) << (word % 64 + 1);
		if (lines) {
			uint32_t found = line * 64 + (uint32_t)__builtin_ctzll(lines);
			uint32_t slot = found * 64 +
					(uint32_t)__builtin_ctzll(agenda->map[found]);

			return start + ((slot - at) & SLOT_MASK);
		}
		line = (line + 1) % ND_ARRAY_SIZE(agenda->summary);
	}
	return ND_NEVER;
}

/* The run has come to this slot: what the ring covers now moves into it. */
static void reach(struct nd_agenda *agenda, uint64_t slot)
{
	agenda->next_slot = slot + 1;
	while (agenda->far_count) {
		const struct nd_agenda_far *first = &agenda->far[0];
		uint64_t at = first->time >> agenda->shift;

		if (at - agenda->next_slot >= ND_AGENDA_SLOTS)
			return;
		agenda->waiting--;
		nd_agenda_append(agenda, at & SLOT_MASK, &first->event);
		pop_far(agenda);
	}
}

/* Events of a slot, chunk by chunk, in the order in which they were put in. */
struct walk {
	const struct nd_agenda_event *events;
	uint32_t count;
	uint32_t next; /* chunk */
	uint32_t end;  /* of the slot's entries */
};

static struct walk walk(const struct nd_agenda *agenda, uint32_t slot)
{
	const struct nd_agenda_slot *at = &agenda->slots[slot];

	return (struct walk){ .next = at->end ? at->first : ND_NONE, .end = at->end };
}

static bool step(const struct nd_agenda *agenda, struct walk *walk)
{
	uint32_t first = walk->next * ND_AGENDA_CHUNK;

	if (walk->next == ND_NONE)
		return false;
	walk->events = &agenda->entries[first + 1];
	walk->next = agenda->entries[first].arg;
	walk->count = walk->next == ND_NONE ? walk->end - (first + 1) : CHUNK_EVENTS;
	return true;
}

/* Copies the events of a slot out in the order in which they were put in; how many. */
static uint32_t empty(struct nd_agenda *agenda, uint32_t slot, struct nd_agenda_event *to)
{
	struct walk at = walk(agenda, slot);
	uint32_t chunk = at.next, count = 0;

	while (step(agenda, &at)) {
		memcpy(to + count, at.events, at.count * sizeof(*to));
		count += at.count;
		agenda->entries[chunk * ND_AGENDA_CHUNK].arg = agenda->chunk_free;
		agenda->chunk_free = chunk;
		chunk = at.next;
	}
	agenda->slots[slot].end = 0;
	unmark(agenda, slot);
	return count;
}

/* Distributes events by bits of their time, in order within each digit. */
static inline void pass(struct nd_agenda_event *to, const struct nd_agenda_event *from,
			uint32_t count, uint32_t shift, uint32_t digits)
{
	uint32_t ends[DIGITS_MAX + 1];

	memset(ends, 0, (digits + 1) * sizeof(*ends));
	for (uint32_t i = 0; i < count; i++)
		ends[(from[i].time >> shift & (digits - 1)) + 1]++;
	for (uint32_t i = 1; i < digits; i++)
		ends[i] += ends[i - 1];
	for (uint32_t i = 0; i < count; i++)
		to[ends[from[i].time >> shift & (digits - 1)]++] = from[i];
}

static void put_right(struct nd_agenda_event *events, uint32_t count, uint32_t base)
{
	for (uint32_t i = 1; i < count; i++) {
		struct nd_agenda_event item = events[i];
		uint32_t at = i;

		if (events[i - 1].time - base <= item.time - base)
			continue;
		for (; at > 0 && events[at - 1].time - base > item.time - base; at--)
			events[at] = events[at - 1];
		events[at] = item;
	}
}

/* Sorts the events in scratch behind the run. Slots begin at multiples of their width. */
static void sort(struct nd_agenda *agenda, uint64_t slot, uint32_t count)
{
	struct nd_agenda_event *to = agenda->run + agenda->count;

	if (count <= FEW) {
		pass(to, agenda->scratch[0], count, agenda->shift - FEW_BITS, 1u << FEW_BITS);
		put_right(to, count, (uint32_t)(slot << agenda->shift));
	} else {
		uint32_t upper = agenda->shift > PASS_BITS ? agenda->shift - PASS_BITS : 0;

		pass(agenda->scratch[1], agenda->scratch[0], count, 0,
		     1u << nd_min_u32(agenda->shift, PASS_BITS));
		pass(to, agenda->scratch[1], count, PASS_BITS, 1u << upper);
	}
	agenda->count += count;
}

/* The next slot whose events may follow the run, ND_NEVER when there is none that begins by until. */
static uint64_t next_slot(struct nd_agenda *agenda, nd_ps until)
{
	bool idle = agenda->at == agenda->count;
	uint64_t slot = first_slot(agenda);
	nd_ps start;

	if (slot == ND_NEVER) {
		if (!idle || !agenda->far_count || agenda->far[0].time > until)
			return ND_NEVER;
		slot = agenda->far[0].time >> agenda->shift;
		reach(agenda, slot - 1);
	}
	start = slot << agenda->shift;
	if (start > until || (!idle && start - agenda->base >= RUN_SPAN))
		return ND_NEVER;
	if (idle)
		agenda->base = start;
	return slot;
}

/* The slot that is likely to be next was written to some time ago. */
static void fetch_coming(const struct nd_agenda *agenda)
{
	uint64_t slot = first_slot(agenda);
	const struct nd_agenda_event *entries;

	if (slot == ND_NEVER)
		return;
	entries = &agenda->entries[agenda->slots[slot & SLOT_MASK].first * ND_AGENDA_CHUNK];
	for (uint32_t i = 0; i < ND_AGENDA_CHUNK; i += 64 / sizeof(*entries))
		nd_fetch(&entries[i]);
}

bool nd_agenda_refill(struct nd_agenda *agenda, nd_ps until)
{
	pack(agenda);
	while (agenda->count < ND_AGENDA_AHEAD) {
		uint64_t slot = next_slot(agenda, until);
		uint32_t count;

		if (slot == ND_NEVER)
			break;
		count = empty(agenda, (uint32_t)slot & SLOT_MASK, agenda->scratch[0]);
		reach(agenda, slot);
		agenda->waiting -= count;
		sort(agenda, slot, count);
	}
	fetch_coming(agenda);
	return agenda->count != 0;
}

uint32_t nd_agenda_pending(const struct nd_agenda *agenda)
{
	return agenda->waiting + agenda->count - agenda->at;
}

/* Events of the kind in entries [first, end) of an array. */
static uint32_t count_in(const struct nd_agenda_event *events, uint32_t first, uint32_t end,
			 uint32_t shift, uint32_t kind)
{
	uint32_t total = 0;

	for (uint32_t i = first; i < end; i++)
		total += events[i].what >> shift == kind;
	return total;
}

uint32_t nd_agenda_count(const struct nd_agenda *agenda, uint32_t shift, uint32_t kind)
{
	uint32_t total = count_in(agenda->run, agenda->at, agenda->count, shift, kind);

	for (uint32_t i = 0; i < agenda->far_count; i++)
		total += agenda->far[i].event.what >> shift == kind;
	for (uint32_t slot = 0; slot < ND_AGENDA_SLOTS; slot++) {
		struct walk at = walk(agenda, slot);

		while (step(agenda, &at))
			total += count_in(at.events, 0, at.count, shift, kind);
	}
	return total;
}

/* Events in the ring, or ND_NONE when a bit of the map is wrong or a list has a loop. */
static uint32_t count_ring(const struct nd_agenda *agenda)
{
	uint32_t total = 0, seen = 0;

	for (uint32_t slot = 0; slot < ND_AGENDA_SLOTS; slot++) {
		struct walk at = walk(agenda, slot);
		bool marked = agenda->map[slot / 64] >> slot % 64 & 1;

		if (marked != (at.end != 0))
			return ND_NONE;
		while (step(agenda, &at)) {
			if (++seen > agenda->chunks)
				return ND_NONE;
			total += at.count;
		}
	}
	return total;
}

const char *nd_agenda_audit(const struct nd_agenda *agenda)
{
	uint32_t ring = count_ring(agenda), base = (uint32_t)agenda->base;

	if (ring == ND_NONE)
		return "agenda: its bitmap disagrees with its slots";
	if (ring + agenda->far_count != agenda->waiting)
		return "agenda: an event is lost";
	for (uint32_t i = agenda->at + 1; i < agenda->count; i++) {
		if (agenda->run[i - 1].time - base > agenda->run[i].time - base)
			return "agenda: the run is not in order";
	}
	for (uint32_t i = 1; i < agenda->far_count; i++) {
		if (far_before(&agenda->far[i], &agenda->far[(i - 1) / 2]))
			return "agenda: the heap is not in order";
	}
	return NULL;
}
