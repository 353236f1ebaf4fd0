// SPDX-License-Identifier: Apache-2.0
/* The trace ring: off, order, overwriting, a reader beside the writer, text. */
#include "base/trace.h"
#include "test/harness.h"

#include <pthread.h>

#define SIZE 8u

#define EVENTS(X) \
	X(TEST_PULL, "pull %u to peer %u on path %x") \
	X(TEST_LAG, "%d ns late, 100% of %u") \
	X(TEST_FIVE, "%u %u %u %u %u")
enum { EVENTS(ND_TRACE_ENUM) };
static const struct nd_trace_text texts[] = { EVENTS(ND_TRACE_TEXT) };

static struct nd_trace trace;
static _Alignas(64) uint8_t memory[64 + SIZE * 32];
static struct nd_trace_record out[SIZE];

static void start(void)
{
	CHECK_EQ(nd_trace_bytes(SIZE), sizeof(memory));
	nd_trace_start(&trace, memory, SIZE);
}

static uint32_t read_from(uint64_t *cursor, uint32_t limit)
{
	return nd_trace_read(memory, sizeof(memory), cursor, out, limit);
}

TEST(nd_trace__off_writes_nothing)
{
	uint64_t cursor = 0;

	start();
	trace.records = NULL;
	nd_trace(&trace, 1, TEST_PULL, 1, 2, 3, 4);
	CHECK_EQ(trace.count, 0);
	CHECK_EQ(read_from(&cursor, SIZE), 0);
}

TEST(nd_trace_read__goes_on_where_it_stopped)
{
	uint64_t cursor = 0;

	start();
	for (uint32_t i = 0; i < 5; i++)
		nd_trace(&trace, 100 + i, TEST_PULL, i, 2, 3, 4);
	CHECK_EQ(read_from(&cursor, 3), 3);
	CHECK_EQ(out[2].time, 102);
	CHECK_EQ(out[2].arguments[0], 2);
	CHECK_EQ(out[2].arguments[3], 4);
	CHECK_EQ(read_from(&cursor, SIZE), 2);
	CHECK_EQ(out[0].time, 103);
	CHECK_EQ(read_from(&cursor, SIZE), 0);
	CHECK_EQ(cursor, 5);
}

TEST(nd_trace_read__skips_what_was_overwritten)
{
	uint64_t cursor = 2;

	start();
	for (uint32_t i = 0; i < 21; i++)
		nd_trace(&trace, i, TEST_PULL, i, 0, 0, 0);
	CHECK_EQ(read_from(&cursor, SIZE), SIZE);
	CHECK_EQ(out[0].time, 13);
	CHECK_EQ(cursor, 21);
}

TEST(nd_trace_read__drops_copies_that_the_writer_is_at)
{
	uint64_t cursor = 0;

	start();
	for (uint32_t i = 0; i < SIZE; i++)
		nd_trace(&trace, i, TEST_PULL, i, 0, 0, 0);
	trace.shared->begun = SIZE + 2;
	CHECK_EQ(read_from(&cursor, SIZE), SIZE - 2);
	CHECK_EQ(out[0].time, 2);
	cursor = 0;
	trace.shared->begun = SIZE + 100;
	CHECK_EQ(read_from(&cursor, SIZE), 0);
}

TEST(nd_trace_read__refuses_a_size_beyond_the_mapping)
{
	uint64_t cursor = 0;

	start();
	nd_trace(&trace, 1, TEST_PULL, 0, 0, 0, 0);
	for (unsigned i = 0; i < 4; i++) {
		static const uint32_t sizes[] = { 0, 3, 2 * SIZE, 1u << 31 };

		trace.shared->size = sizes[i];
		CHECK_EQ(read_from(&cursor, SIZE), 0);
	}
}

#define WRITES 300000u

static void *write_many(void *unused)
{
	for (uint32_t i = 0; i < WRITES; i++)
		nd_trace(&trace, i, i, i, i + 1, i + 2, i + 3);
	return unused;
}

TEST(nd_trace_read__never_sees_a_torn_record)
{
	uint64_t cursor = 0;
	pthread_t thread;

	start();
	CHECK_EQ(pthread_create(&thread, NULL, write_many, NULL), 0);
	while (cursor < WRITES) {
		uint32_t count = read_from(&cursor, SIZE);

		for (uint32_t i = 0; i < count; i++) {
			CHECK_EQ(out[i].time, cursor - count + i);
			CHECK_EQ(out[i].event, out[i].time);
			CHECK_EQ(out[i].arguments[3], out[i].time + 3);
		}
	}
	CHECK_EQ(pthread_join(thread, NULL), 0);
}

static const char *text_of(nd_ns time, uint32_t event, uint32_t first, uint32_t second)
{
	static char line[ND_TRACE_LINE_BYTES];
	struct nd_trace_record record = {
		.time = time,
		.event = event,
		.arguments = { first, second, 31, 4 },
	};

	CHECK_EQ(nd_trace_format(&record, texts, ND_ARRAY_SIZE(texts), line), strlen(line));
	return line;
}

TEST(nd_trace_format__fills_the_text_in)
{
	CHECK_STR(text_of(12345678901, TEST_PULL, 7, 3),
		  "12.345678901 TEST_PULL pull 7 to peer 3 on path 1f");
	CHECK_STR(text_of(5, TEST_LAG, UINT32_MAX, 9), "0.000000005 TEST_LAG -1 ns late, 100% of 9");
	CHECK_STR(text_of(0, TEST_FIVE, 1, 2), "0.000000000 TEST_FIVE 1 2 31 4 %u");
	CHECK_STR(text_of(0, 77, 1, 2), "0.000000000 event 77: 1 2 31 4");
}

TEST(nd_trace_format__cuts_a_long_line)
{
	static char text[400], line[ND_TRACE_LINE_BYTES];
	struct nd_trace_text table = { "LONG", text };
	struct nd_trace_record record = { 0 };

	memset(text, 'a', sizeof(text) - 1);
	CHECK_EQ(nd_trace_format(&record, &table, 1, line), ND_TRACE_LINE_BYTES - 1);
	CHECK_EQ(strlen(line), ND_TRACE_LINE_BYTES - 1);
}

int main(int argc, char **argv)
{
	return nd_test_main(argc, argv);
}
