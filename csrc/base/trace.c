// SPDX-License-Identifier: Apache-2.0
/* Set-up, reading and printing of the trace ring. */
#include "base/trace.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

size_t nd_trace_bytes(uint32_t size)
{
	return sizeof(struct nd_trace_shared) + (size_t)size * sizeof(struct nd_trace_record);
}

void nd_trace_start(struct nd_trace *trace, void *memory, uint32_t size)
{
	struct nd_trace_shared *shared = memory;

	nd_assert(size && (size & (size - 1)) == 0);
	*shared = (struct nd_trace_shared){ .size = size };
	*trace = (struct nd_trace){
		.records = (struct nd_trace_record *)(shared + 1),
		.shared = shared,
		.mask = size - 1,
	};
}

uint32_t nd_trace_read(const void *memory, size_t memory_bytes, uint64_t *cursor,
		       struct nd_trace_record *out, uint32_t limit)
{
	const struct nd_trace_shared *shared = memory;
	const struct nd_trace_record *records = (const struct nd_trace_record *)(shared + 1);
	uint64_t count = __atomic_load_n(&shared->count, __ATOMIC_ACQUIRE);
	uint32_t size = shared->size;
	uint64_t first = *cursor, last, begun;
	uint32_t lost = 0;

	if (size == 0 || (size & (size - 1)) || nd_trace_bytes(size) > memory_bytes ||
	    first >= count)
		return 0;
	if (count - first > size)
		first = count - size;
	last = nd_min_u64(count, first + limit);
	for (uint64_t i = first; i < last; i++)
		out[i - first] = records[i & (size - 1)];
	/* What the writer began meanwhile may have overwritten the oldest of the copies. */
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	begun = __atomic_load_n(&shared->begun, __ATOMIC_RELAXED);
	if (begun - first > size)
		lost = (uint32_t)nd_min_u64(begun - size - first, last - first);
	memmove(out, out + lost, (size_t)(last - first - lost) * sizeof(*out));
	*cursor = last;
	return (uint32_t)(last - first) - lost;
}

/* Text under construction; what does not fit is cut. */
struct line {
	char *out;
	size_t at;
};

__attribute__((format(printf, 2, 3))) static void add(struct line *line, const char *format, ...)
{
	size_t room = ND_TRACE_LINE_BYTES - line->at;
	va_list arguments;
	int count;

	va_start(arguments, format);
	count = vsnprintf(line->out + line->at, room, format, arguments);
	va_end(arguments);
	line->at += count < 0 ? 0 : nd_min_u64((uint64_t)count, room - 1);
}

static void add_argument(struct line *line, char kind, uint32_t value)
{
	if (kind == 'x')
		add(line, "%x", value);
	else if (kind == 'd')
		add(line, "%d", (int32_t)value);
	else
		add(line, "%u", value);
}

static void add_text(struct line *line, const char *text, const uint32_t *arguments)
{
	unsigned used = 0;

	for (; *text; text++) {
		bool argument = *text == '%' && text[1] && strchr("udx", text[1]);

		if (argument && used < ND_TRACE_ARGUMENTS)
			add_argument(line, *++text, arguments[used++]);
		else
			add(line, "%c", *text);
	}
}

size_t nd_trace_format(const struct nd_trace_record *record, const struct nd_trace_text *texts,
		       uint32_t count, char out[ND_TRACE_LINE_BYTES])
{
	const uint32_t *arguments = record->arguments;
	struct line line = { .out = out };

	add(&line, "%llu.%09llu ", (unsigned long long)(record->time / ND_SEC),
	    (unsigned long long)(record->time % ND_SEC));
	if (record->event < count) {
		add(&line, "%s ", texts[record->event].name);
		add_text(&line, texts[record->event].text, arguments);
	} else {
		add(&line, "event %u: %u %u %u %u", record->event, arguments[0], arguments[1],
		    arguments[2], arguments[3]);
	}
	return line.at;
}
