// SPDX-License-Identifier: Apache-2.0
/* Rounds that an application's event loop runs in the place of the core's own thread. */
#include "host/core.h"
#include "test/memory_pair.h"

#include <poll.h>
#include <pthread.h>

#define MORE 1000u /* commands: more rounds than a loop runs in one turn */

/* One iteration of a loop that blocks on the descriptor for no longer than so many milliseconds. */
static bool iterate(struct nd_stack *stack, int timeout)
{
	struct pollfd bell = { .fd = nd_stack_descriptor(stack), .events = POLLIN };
	bool woken = nd_stack_arm(stack) && poll(&bell, 1, timeout) == 1;
	bool runs = nd_stack_run(stack, woken);

	nd_stack_watch(stack, runs);
	return runs;
}

/* Until the loop may run the rounds. */
static void drive(struct nd_stack *stack)
{
	nd_ns end = clock_now() + PATIENCE;

	while (!iterate(stack, 1))
		CHECK(clock_now() < end);
}

/* The next event of a loop. */
static struct nd_event await(struct nd_stack *stack)
{
	nd_ns end = clock_now() + PATIENCE;
	struct nd_event event;

	while (nd_stack_events(stack, &event, 1) != 1) {
		CHECK(clock_now() < end);
		iterate(stack, 100);
	}
	return event;
}

static void *echo_some(void *argument)
{
	struct pair *pair = argument;

	for (uint32_t answered = 0; answered < 300;) {
		struct nd_event event = await(pair->server);

		if (event.kind == ND_EVENT_REQUEST) {
			echo(pair->server, event);
			answered++;
		} else {
			CHECK_EQ(nd_stack_buffer_free(pair->server,
						      (void *)(uintptr_t)event.cookie),
				 0);
		}
	}
	return NULL;
}

static uint8_t *ask_filled(const struct pair *pair, uint32_t bytes, uint32_t seed)
{
	uint8_t *request = nd_stack_buffer(pair->client, bytes);

	fill(request, bytes, seed);
	ask(pair, request, bytes, seed);
	return request;
}

static void check_echo(const struct pair *pair, uint32_t bytes, uint32_t seed)
{
	uint8_t *request = ask_filled(pair, bytes, seed);
	struct nd_event event = await(pair->client);

	if (event.kind == ND_EVENT_OPENED)
		event = await(pair->client);
	CHECK_EQ(event.kind, ND_EVENT_RESPONSE);
	CHECK_EQ(event.bytes, bytes);
	CHECK(is_filled(event.payload, bytes, seed));
	submit(pair->client, ND_PROTO_HOMA,
	       (struct nd_command){ .kind = ND_COMMAND_RELEASE, .id = event.id });
	CHECK_EQ(nd_stack_buffer_free(pair->client, request), 0);
}

/* Both ends lend and take back all the time; every tenth message is long enough to recall. */
TEST(nd_stack_run__in_the_loops_of_both_ends)
{
	struct pair pair = open_pair("loop-echo", false);
	pthread_t server;

	listen_on(pair.server, ND_PROTO_HOMA, SERVICE);
	drive(pair.server);
	drive(pair.client);
	CHECK_EQ(pthread_create(&server, NULL, echo_some, &pair), 0);
	for (uint32_t i = 0; i < 300; i++)
		check_echo(&pair, i % 10 ? 100 : 200000, i);
	CHECK_EQ(pthread_join(server, NULL), 0);
	CHECK(counter(pair.client, ND_STACK_GROUP_CORE, "rounds_lent") > 0);
	CHECK(counter(pair.server, ND_STACK_GROUP_CORE, "rounds_lent") > 0);
	close_pair(&pair);
}

/* Word that the message was taken does not end the wait for what comes of it. */
TEST(nd_stack_run__waits_awake_for_the_answer_to_one_message)
{
	struct pair pair = open_pair_that_spins("loop-awake", false, ND_MSEC);
	uint8_t *request = nd_stack_buffer(pair.client, 100);
	struct nd_command command = {
		.kind = ND_COMMAND_REQUEST,
		.peer = pair.peer,
		.port = SERVICE,
		.payload = request,
		.bytes = 100,
	};
	nd_ns end = clock_now() + PATIENCE;
	uint64_t before;

	listen_on(pair.server, ND_PROTO_HOMA, SERVICE);
	do { /* again where others had the CPU, or the core's thread took over */
		CHECK(clock_now() < end);
		drive(pair.client);
		before = counter(pair.client, ND_STACK_GROUP_CORE, "rounds_lent");
		CHECK_EQ(nd_stack_submit_later(pair.client, ND_PROTO_HOMA, &command), 0);
		nd_stack_run(pair.client, false);
	} while (counter(pair.client, ND_STACK_GROUP_CORE, "rounds_lent") - before < 100);
	close_pair(&pair);
}

/* The loop has gone off to compute: the core's own thread serves it, and others. */
TEST(nd_stack_watch__does_not_keep_the_core_from_its_work)
{
	struct pair pair = open_pair("loop-busy", false);
	uint8_t *request;

	listen_on(pair.server, ND_PROTO_HOMA, SERVICE);
	drive(pair.server);
	drive(pair.client);
	request = ask_filled(&pair, 100000, 3);
	await_counter(pair.server, "events", 2); /* OPENED of the service, and REQUEST */
	echo_once(pair.server);
	await_counter(pair.client, "events", 3); /* the peer's handle, OPENED and RESPONSE */
	expect(pair.client, ND_EVENT_OPENED);
	CHECK_EQ(expect(pair.client, ND_EVENT_RESPONSE).bytes, 100000);
	CHECK_EQ(nd_stack_buffer_free(pair.client, request), 0);
	close_pair(&pair);
}

/* What is submitted in one iteration leaves together, and nothing before. */
TEST(nd_stack_submit_later__waits_for_the_flush)
{
	struct pair pair = open_pair("loop-later", false);
	uint64_t before = counter(pair.client, ND_STACK_GROUP_CORE, "commands");
	struct nd_command command = { .kind = ND_COMMAND_LISTEN };
	nd_ns end = clock_now() + PATIENCE;

	for (command.port = 1; command.port <= 3; command.port++)
		CHECK_EQ(nd_stack_submit_later(pair.client, ND_PROTO_HOMA, &command), 0);
	nd_stack_flush(pair.client);
	for (uint32_t i = 1; i <= 3; i++)
		CHECK_EQ(expect(pair.client, ND_EVENT_OPENED).port, i);
	CHECK_EQ(counter(pair.client, ND_STACK_GROUP_CORE, "commands"), before + 3);
	do {
		CHECK(clock_now() < end);
		drive(pair.client);
		CHECK_EQ(nd_stack_submit_later(pair.client, ND_PROTO_HOMA, &command), 0);
		command.port++;
		nd_stack_run(pair.client, false);
		expect(pair.client, ND_EVENT_OPENED);
	} while (!nd_stack_run(pair.client, false));
	close_pair(&pair);
}

/* More than one turn of a loop may do is not left to the core's thread: the loop is woken again. */
TEST(nd_stack_run__of_more_than_a_turn_wakes_the_loop_again)
{
	struct pair pair = open_pair("loop-more", false);
	struct pollfd bell = { .fd = nd_stack_descriptor(pair.client), .events = POLLIN };
	struct nd_command command = { .kind = ND_COMMAND_CANCEL, .id = 2 };
	uint64_t before = counter(pair.client, ND_STACK_GROUP_CORE, "commands"), submitted = 0;
	nd_ns end = clock_now() + PATIENCE;
	bool woken;

	do { /* again where the loop was so late that the core's thread took over */
		CHECK(clock_now() < end);
		drive(pair.client);
		for (uint32_t i = 0; i < MORE; i++)
			CHECK_EQ(nd_stack_submit_later(pair.client, ND_PROTO_HOMA, &command), 0);
		submitted += MORE;
		woken = nd_stack_run(pair.client, false) && poll(&bell, 1, 0) == 1;
		await_counter(pair.client, "commands", before + submitted);
	} while (!woken);
	close_pair(&pair);
}

/* Two applications: neither runs rounds in which the other's events would have to wait. */
TEST(nd_stack_run__not_for_one_of_two_applications)
{
	struct pair pair = open_pair("loop-two", false);
	struct nd_stack *second;

	drive(pair.client);
	second = nd_stack_share(pair.client, &error);
	CHECK(second);
	CHECK(!iterate(pair.client, 1));
	CHECK(!iterate(second, 1));
	resolve(second, addresses[0][0]);
	nd_stack_close(second);
	drive(pair.client);
	close_pair(&pair);
}

/* Nobody iterates any more. */
TEST(nd_stack_close__of_a_core_that_is_watched)
{
	for (uint32_t i = 0; i < 5; i++) {
		struct pair pair = open_pair("loop-close", false);

		drive(pair.client);
		drive(pair.server);
		nd_stack_close(pair.client);
		nd_stack_close(pair.server);
	}
}

int main(int argc, char **argv)
{
	return nd_test_main(argc, argv);
}
