/* SPDX-License-Identifier: Apache-2.0 */
/* Two stacks that talk to each other through the public API, for tests. */
#ifndef ND_TEST_STACKS_H
#define ND_TEST_STACKS_H

#include "ndpstack.h"
#include "test/harness.h"

#include <errno.h>
#include <time.h>
#include <unistd.h>

#define SERVICE 4000
#define PATIENCE (30 * ND_SEC)

static struct nd_error error;

static inline nd_ns clock_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (nd_ns)now.tv_sec * ND_SEC + (nd_ns)now.tv_nsec;
}

struct pair {
	struct nd_stack *server, *client;
	uint32_t peer; /* the server, as the client calls it */
};

/* An NDP connection by the ids that its ends have for it. */
struct line {
	uint64_t client, server;
};

static const uint8_t addresses[2][2][16] = {
	{ { [10] = 0xff, [11] = 0xff, 10, 7, 0, 1 }, { [10] = 0xff, [11] = 0xff, 10, 7, 0, 2 } },
	{ { 0xfd, [15] = 1 }, { 0xfd, [15] = 2 } },
};

static inline struct nd_stack *open_stack(const struct nd_stack_config *config)
{
	struct nd_stack *stack = nd_stack_open(config, &error);

	if (!stack)
		fprintf(stderr, "  %s\n", error.text);
	CHECK(stack);
	return stack;
}

/* The next event, within the time that no test takes. */
static inline struct nd_event next_event(struct nd_stack *stack)
{
	nd_ns end = clock_now() + PATIENCE;
	struct nd_event event;

	while (nd_stack_events(stack, &event, 1) != 1) {
		CHECK(clock_now() < end);
		nd_stack_wait(stack, 100 * ND_MSEC);
	}
	return event;
}

/* The next event has this kind. */
static inline struct nd_event expect(struct nd_stack *stack, uint8_t kind)
{
	struct nd_event event = next_event(stack);

	if (event.kind != kind)
		fprintf(stderr, "  event %u, error %d, instead of %u\n", event.kind, event.error,
			kind);
	CHECK_EQ(event.kind, kind);
	return event;
}

static inline void submit(struct nd_stack *stack, uint8_t protocol, struct nd_command command)
{
	int code;

	while ((code = nd_stack_submit(stack, protocol, &command)) == -EAGAIN)
		usleep(100);
	CHECK_EQ(code, 0);
}

static inline void listen_on(struct nd_stack *stack, uint8_t protocol, uint16_t port)
{
	submit(stack, protocol, (struct nd_command){ .kind = ND_COMMAND_LISTEN, .port = port });
	CHECK_EQ(expect(stack, ND_EVENT_OPENED).port, port);
}

/* The handle of an address. */
static inline uint32_t resolve(struct nd_stack *stack, const uint8_t address[16])
{
	uint8_t *buffer = nd_stack_buffer(stack, 16);
	struct nd_event event;

	memcpy(buffer, address, 16);
	submit(stack, ND_PROTO_OTHER,
	       (struct nd_command){
		       .kind = ND_STACK_COMMAND_PEER, .payload = buffer, .bytes = 16 });
	event = expect(stack, ND_EVENT_OPENED);
	CHECK_EQ(nd_stack_buffer_free(stack, buffer), 0);
	return event.peer;
}

static inline uint64_t counter(struct nd_stack *stack, enum nd_stack_group group,
			       const char *name)
{
	const struct nd_counters_table *table;
	uint64_t values[256];
	int count = nd_stack_counters(stack, group, 0, &table, values, ND_ARRAY_SIZE(values));

	for (int i = 0; i < count; i++)
		if (strcmp(table->texts[i].name, name) == 0)
			return values[i];
	nd_test_fail(__FILE__, __LINE__, name);
}

/* Waits for a counter of the core; what it counts happens in another thread. */
static inline void await_counter(struct nd_stack *stack, const char *name, uint64_t value)
{
	nd_ns end = clock_now() + PATIENCE;

	while (counter(stack, ND_STACK_GROUP_CORE, name) < value) {
		CHECK(clock_now() < end);
		usleep(1000);
	}
}

static inline void close_pair(struct pair *pair)
{
	CHECK(!nd_stack_audit(pair->server));
	CHECK(!nd_stack_audit(pair->client));
	nd_stack_close(pair->client);
	nd_stack_close(pair->server);
}

static inline void fill(uint8_t *memory, uint32_t bytes, uint32_t seed)
{
	for (uint32_t i = 0; i < bytes; i++)
		memory[i] = (uint8_t)(i * 7 + (i >> 8) + seed);
}

static inline bool is_filled(const uint8_t *memory, uint32_t bytes, uint32_t seed)
{
	for (uint32_t i = 0; i < bytes; i++)
		if (memory[i] != (uint8_t)(i * 7 + (i >> 8) + seed))
			return false;
	return true;
}

/* Answers a request by its own bytes. */
static inline void echo(struct nd_stack *server, struct nd_event request)
{
	uint8_t *reply = request.bytes ? nd_stack_buffer(server, request.bytes) : NULL;

	if (request.bytes)
		memcpy(reply, request.payload, request.bytes);
	submit(server, ND_PROTO_HOMA,
	       (struct nd_command){ .kind = ND_COMMAND_RELEASE, .id = request.id });
	submit(server, ND_PROTO_HOMA,
	       (struct nd_command){ .kind = ND_COMMAND_REPLY,
				    .id = request.id,
				    .payload = reply,
				    .bytes = request.bytes,
				    .cookie = (uint64_t)(uintptr_t)reply });
}

static inline void echo_once(struct nd_stack *server)
{
	echo(server, expect(server, ND_EVENT_REQUEST));
}

static inline void ask(const struct pair *pair, uint8_t *request, uint32_t bytes, uint64_t cookie)
{
	submit(pair->client, ND_PROTO_HOMA,
	       (struct nd_command){ .kind = ND_COMMAND_REQUEST,
				    .peer = pair->peer,
				    .port = SERVICE,
				    .payload = request,
				    .bytes = bytes,
				    .cookie = cookie });
}

/* RPCs of all sizes that matter come back as they went. */
static inline void check_sizes(const struct pair *pair)
{
	static const uint32_t sizes[] = { 1, 2, 100, 1399, 1400, 1401, 10000, 100000, 1000000 };

	listen_on(pair->server, ND_PROTO_HOMA, SERVICE);
	for (uint32_t i = 0; i < ND_ARRAY_SIZE(sizes); i++) {
		uint8_t *request = nd_stack_buffer(pair->client, sizes[i]);
		struct nd_event event;

		fill(request, sizes[i], i);
		ask(pair, request, sizes[i], i);
		event = expect(pair->client, ND_EVENT_OPENED);
		CHECK_EQ(event.cookie, i);
		echo_once(pair->server);
		event = expect(pair->client, ND_EVENT_RESPONSE);
		CHECK_EQ(event.cookie, i);
		CHECK_EQ(event.protocol, ND_PROTO_HOMA);
		CHECK_EQ(event.bytes, sizes[i]);
		CHECK(is_filled(event.payload, sizes[i], i));
		submit(pair->client, ND_PROTO_HOMA,
		       (struct nd_command){ .kind = ND_COMMAND_RELEASE, .id = event.id });
		CHECK_EQ(nd_stack_buffer_free(pair->client, request), 0);
		event = expect(pair->server, ND_EVENT_SENT);
		CHECK_EQ(nd_stack_buffer_free(pair->server, (void *)(uintptr_t)event.cookie), 0);
	}
}

/* ---- NDP ---- */

static inline void command_ndp(struct nd_stack *stack, uint8_t kind, uint64_t id, uint64_t message)
{
	submit(stack, ND_PROTO_NDP,
	       (struct nd_command){ .kind = kind, .id = id, .message = message });
}

/* Sends bytes that fill() makes; the buffer comes back in the cookie. */
static inline void send_filled(struct nd_stack *stack, uint64_t id, uint32_t bytes, uint32_t seed)
{
	uint8_t *payload = bytes ? nd_stack_buffer(stack, bytes) : NULL;

	CHECK(!bytes || payload);
	if (bytes)
		fill(payload, bytes, seed);
	submit(stack, ND_PROTO_NDP,
	       (struct nd_command){ .kind = ND_COMMAND_SEND,
				    .id = id,
				    .payload = payload,
				    .bytes = bytes,
				    .cookie = (uint64_t)(uintptr_t)payload });
}

/* What send_filled() sent was acknowledged. */
static inline void expect_sent(struct nd_stack *stack, uint64_t id)
{
	struct nd_event event = expect(stack, ND_EVENT_SENT);

	CHECK_EQ(event.id, id);
	if (event.cookie)
		CHECK_EQ(nd_stack_buffer_free(stack, (void *)(uintptr_t)event.cookie), 0);
}

/* The next event is this message, whole; it is released. */
static inline void expect_message(struct nd_stack *stack, uint64_t id, uint64_t number,
				  uint32_t bytes, uint32_t seed)
{
	struct nd_event event = expect(stack, ND_EVENT_MESSAGE);

	CHECK_EQ(event.protocol, ND_PROTO_NDP);
	CHECK_EQ(event.id, id);
	CHECK_EQ(event.message, number);
	CHECK_EQ(event.bytes, bytes);
	CHECK(is_filled(event.payload, bytes, seed));
	command_ndp(stack, ND_COMMAND_RELEASE, id, number);
}

/* Connects, and makes the server hear of it by a first message. */
static inline struct line connect_line(const struct pair *pair, uint16_t port)
{
	struct line line;

	submit(pair->client, ND_PROTO_NDP,
	       (struct nd_command){
		       .kind = ND_COMMAND_CONNECT, .peer = pair->peer, .port = port });
	line.client = expect(pair->client, ND_EVENT_OPENED).id;
	send_filled(pair->client, line.client, 1, 0);
	line.server = expect(pair->server, ND_EVENT_ACCEPTED).id;
	expect_message(pair->server, line.server, 0, 1, 0);
	expect_sent(pair->client, line.client);
	return line;
}

/* Messages of all sizes that matter, each way, one after the other. */
static inline void check_ndp_sizes(const struct pair *pair)
{
	static const uint32_t sizes[] = { 0,    1,     2,      1431,   1432,
					  1433, 10000, 100000, 1000000 };
	struct line line;

	listen_on(pair->server, ND_PROTO_NDP, SERVICE);
	line = connect_line(pair, SERVICE);
	for (uint32_t i = 0; i < ND_ARRAY_SIZE(sizes); i++) {
		send_filled(pair->client, line.client, sizes[i], i);
		expect_message(pair->server, line.server, i + 1, sizes[i], i);
		expect_sent(pair->client, line.client);
		send_filled(pair->server, line.server, sizes[i], i + 100);
		expect_message(pair->client, line.client, i, sizes[i], i + 100);
		expect_sent(pair->server, line.server);
	}
	command_ndp(pair->client, ND_COMMAND_CLOSE, line.client, 0);
	CHECK_EQ(expect(pair->server, ND_EVENT_CLOSED).error, 0);
	CHECK_EQ(expect(pair->client, ND_EVENT_CLOSED).error, 0);
}

#endif
