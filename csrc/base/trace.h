/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The trace ring: what happened lately, a few nanoseconds an event, read while it is written.
 *
 * A module lists its events once, as an X-macro of (name, text). Each %u, %d or %x of the text
 * takes the next of four 32-bit arguments:
 *
 *	#define ND_PULL_EVENTS(X) \
 *		X(ND_TRACE_PULL, "pull %u to peer %u on path %x")
 *	enum { ND_PULL_EVENTS(ND_TRACE_ENUM) };
 *	const struct nd_trace_text texts[] = { ND_PULL_EVENTS(ND_TRACE_TEXT) };
 *
 *	nd_trace(&trace, now, ND_TRACE_PULL, counter, peer, path, 0);
 *
 * The ring has one writer. Any number of readers, also in other processes that map the same
 * memory, copy records out with nd_trace_read() and never disturb it.
 */
#ifndef ND_BASE_TRACE_H
#define ND_BASE_TRACE_H

#include "base/types.h"

#define ND_TRACE_ARGUMENTS 4

/* Longest line of nd_trace_format(), its terminator included. */
#define ND_TRACE_LINE_BYTES 256

struct nd_trace_text {
	const char *name;
	const char *text;
};

#define ND_TRACE_ENUM(name, text) name,
#define ND_TRACE_TEXT(name, text) { #name, text },

struct nd_trace_record {
	nd_ns time;
	uint32_t event;
	uint32_t spare;
	uint32_t arguments[ND_TRACE_ARGUMENTS];
};

_Static_assert(sizeof(struct nd_trace_record) == 32, "two records in a cache line");

/* At the start of the memory: the part that readers map. */
struct nd_trace_shared {
	_Alignas(64) uint64_t begun; /* records ever begun */
	uint64_t count;              /* records ever finished: begun, or one less */
	uint32_t size;               /* records kept, a power of two */
};

/* Zeroed: off, which costs one predictable branch an event. */
struct nd_trace {
	struct nd_trace_record *records; /* NULL: off */
	struct nd_trace_shared *shared;
	uint64_t count;
	uint32_t mask;
};

/* Bytes of memory (64-byte aligned) for size records, a power of two. */
size_t nd_trace_bytes(uint32_t size);

/* Turns the trace on, empty. */
void nd_trace_start(struct nd_trace *trace, void *memory, uint32_t size);

static inline void nd_trace(struct nd_trace *trace, nd_ns now, uint32_t event, uint32_t first,
			    uint32_t second, uint32_t third, uint32_t fourth)
{
	struct nd_trace_record *record;

	if (ND_LIKELY(!trace->records))
		return;
	record = &trace->records[trace->count & trace->mask];
	/* A reader that is copying what lay here finds out that it came too late. */
	__atomic_store_n(&trace->shared->begun, ++trace->count, __ATOMIC_RELAXED);
	__atomic_thread_fence(__ATOMIC_RELEASE);
	*record = (struct nd_trace_record){
		.time = now,
		.event = event,
		.arguments = { first, second, third, fourth },
	};
	__atomic_store_n(&trace->shared->count, trace->count, __ATOMIC_RELEASE);
}

/*
 * Copies up to limit records out, from number *cursor on (start with 0), and moves it behind the
 * last one. A cursor that moves by more than what was returned tells how many were overwritten.
 * memory_bytes is what the caller mapped: a size that does not fit in it reads nothing.
 */
uint32_t nd_trace_read(const void *memory, size_t memory_bytes, uint64_t *cursor,
		       struct nd_trace_record *out, uint32_t limit);

/*
 * One line of text, "12.345678901 ND_TRACE_PULL pull 7 to peer 3 on path 1f", without newline.
 * Returns its length. An event that the table does not know prints as its number and arguments.
 */
size_t nd_trace_format(const struct nd_trace_record *record, const struct nd_trace_text *texts,
		       uint32_t count, char out[ND_TRACE_LINE_BYTES]);

#endif
