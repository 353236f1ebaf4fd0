// SPDX-License-Identifier: Apache-2.0
/* Rounds that a waiting application runs in the place of the core's own thread. */
#include "host/core.h"
#include "test/memory_pair.h"

#include <poll.h>
#include <pthread.h>
#include <signal.h>

static uint64_t loans(struct nd_stack *stack)
{
	return counter(stack, ND_STACK_GROUP_CORE, "loans");
}

/* The bell of an event may ring after that was taken, and end a wait for nothing. */
static void wait_for_nothing(struct nd_stack *stack)
{
	struct nd_event event;

	if (nd_stack_wait(stack, 100 * ND_USEC) != 0)
		CHECK_EQ(nd_stack_events(stack, &event, 1), 0);
}

/* Waits until the application has run rounds, and has left again. */
static void borrow_once(struct nd_stack *stack)
{
	nd_ns end = clock_now() + PATIENCE;
	uint64_t before = loans(stack);

	do {
		CHECK(clock_now() < end);
		wait_for_nothing(stack);
	} while (loans(stack) == before);
}

/* Makes the application one that has just left, which is what most of these are about. */
static void leave(struct nd_stack *stack)
{
	nd_ns end = clock_now() + PATIENCE;

	do {
		CHECK(clock_now() < end);
		wait_for_nothing(stack);
	} while (nd_turn_state(&nd_stack_core(stack)->turn) != ND_TURN_LEFT);
}

/* An event that comes without anybody waiting for it. */
static struct nd_event look_for(struct nd_stack *stack, uint8_t kind)
{
	nd_ns end = clock_now() + PATIENCE;
	struct nd_event event;

	while (nd_stack_events(stack, &event, 1) != 1) {
		CHECK(clock_now() < end);
		usleep(100);
	}
	CHECK_EQ(event.kind, kind);
	return event;
}

static uint8_t *ask_filled(const struct pair *pair, uint32_t bytes)
{
	uint8_t *request = nd_stack_buffer(pair->client, bytes);

	fill(request, bytes, 1);
	ask(pair, request, bytes, 5);
	return request;
}

/* ---- waiting ---- */

static bool over;

static void *serve(void *argument)
{
	struct nd_stack *server = argument;
	struct nd_event event;

	while (!__atomic_load_n(&over, __ATOMIC_ACQUIRE)) {
		if (nd_stack_events(server, &event, 1) != 1) {
			CHECK(nd_stack_wait(server, 10 * ND_MSEC) >= 0);
			continue;
		}
		if (event.kind == ND_EVENT_REQUEST)
			echo(server, event);
		else
			CHECK_EQ(nd_stack_buffer_free(server, (void *)(uintptr_t)event.cookie), 0);
	}
	return NULL;
}

static void check_echo(const struct pair *pair, uint32_t bytes, uint32_t seed)
{
	uint8_t *request = nd_stack_buffer(pair->client, bytes);
	struct nd_event event;

	fill(request, bytes, seed);
	ask(pair, request, bytes, seed);
	expect(pair->client, ND_EVENT_OPENED);
	event = expect(pair->client, ND_EVENT_RESPONSE);
	CHECK_EQ(event.bytes, bytes);
	CHECK(is_filled(event.payload, bytes, seed));
	submit(pair->client, ND_PROTO_HOMA,
	       (struct nd_command){ .kind = ND_COMMAND_RELEASE, .id = event.id });
	CHECK_EQ(nd_stack_buffer_free(pair->client, request), 0);
}

/* Both ends lend and take back all the time; every tenth message is long enough to recall. */
TEST(nd_stack_wait__runs_rounds_of_both_ends)
{
	struct pair pair = open_pair("loan-echo", false);
	pthread_t server;

	over = false;
	listen_on(pair.server, ND_PROTO_HOMA, SERVICE);
	borrow_once(pair.server);
	borrow_once(pair.client);
	CHECK_EQ(pthread_create(&server, NULL, serve, pair.server), 0);
	for (uint32_t i = 0; i < 300; i++)
		check_echo(&pair, i % 10 ? 100 : 200000, i);
	__atomic_store_n(&over, true, __ATOMIC_RELEASE);
	CHECK_EQ(pthread_join(server, NULL), 0);
	CHECK(counter(pair.client, ND_STACK_GROUP_CORE, "rounds_lent") > 0);
	close_pair(&pair);
}

/* The profiles that keep their core's thread at work, and one that has a CPU of its own. */
TEST(nd_stack_wait__borrows_from_adaptive_cores_only)
{
	static char name[64], service[64];
	struct nd_stack_config config = config_of(name, 0, false);

	snprintf(service, sizeof(service), "test-loan-service-%d", getpid());
	for (uint32_t i = 0; i < 3; i++) {
		struct nd_stack *stack;
		cpu_set_t set;

		snprintf(name, sizeof(name), "test-loan-%d-%u", getpid(), i);
		CHECK_EQ(sched_getaffinity(0, sizeof(set), &set), 0);
		config.profile = i == 0 ? ND_STACK_THROUGHPUT : ND_STACK_ADAPTIVE;
		config.cpu = 0;
		while (i == 1 && !CPU_ISSET((size_t)config.cpu++, &set))
			;
		config.service = i == 2 ? service : NULL;
		stack = open_stack(&config);
		for (uint32_t k = 0; k < 10; k++)
			wait_for_nothing(stack);
		CHECK_EQ(loans(stack), 0);
		nd_stack_close(stack);
	}
}

/* Again and again: the core's own thread may run just when it begins. */
static void *wait_long(void *argument)
{
	nd_ns end = clock_now() + PATIENCE;
	intptr_t code = 0;

	while (code == 0 && clock_now() < end)
		code = nd_stack_wait(argument, 20 * ND_MSEC);
	return (void *)code;
}

/* A thread that waits, and runs the rounds while it does. */
static pthread_t start_waiting(struct nd_stack *stack)
{
	nd_ns end = clock_now() + PATIENCE;
	pthread_t thread;

	leave(stack);
	CHECK_EQ(pthread_create(&thread, NULL, wait_long, stack), 0);
	while (nd_turn_state(&nd_stack_core(stack)->turn) != ND_TURN_LENT) {
		CHECK(clock_now() < end);
		usleep(100);
	}
	return thread;
}

static int result_of(pthread_t thread)
{
	void *code;

	CHECK_EQ(pthread_join(thread, &code), 0);
	return (int)(intptr_t)code;
}

TEST(nd_stack_wait__takes_commands_of_other_threads)
{
	struct pair pair = open_pair("loan-command", false);
	pthread_t waiting = start_waiting(pair.client);

	submit(pair.client, ND_PROTO_HOMA,
	       (struct nd_command){ .kind = ND_COMMAND_LISTEN, .port = SERVICE });
	CHECK_EQ(result_of(waiting), 1);
	expect(pair.client, ND_EVENT_OPENED);
	close_pair(&pair);
}

/* The one who waits answers, and one that joins makes the core's own thread serve both. */
TEST(nd_core_call__of_a_core_that_is_lent)
{
	struct pair pair = open_pair("loan-call", false);
	pthread_t waiting = start_waiting(pair.client);
	uint64_t before = loans(pair.client);
	struct nd_stack *second;

	CHECK(counter(pair.client, ND_STACK_GROUP_CORE, "rounds") > 0);
	CHECK_EQ(loans(pair.client), before);
	second = nd_stack_share(pair.client, &error);
	CHECK(second);
	resolve(second, addresses[0][0]);
	submit(pair.client, ND_PROTO_HOMA,
	       (struct nd_command){ .kind = ND_COMMAND_LISTEN, .port = SERVICE });
	CHECK_EQ(result_of(waiting), 1);
	expect(pair.client, ND_EVENT_OPENED);
	nd_stack_close(second);
	borrow_once(pair.client);
	close_pair(&pair);
}

/* Only the core's own thread may do that; the application does not notice. */
TEST(nd_core_check_ports__opens_again_though_it_is_lent)
{
	struct pair pair = open_pair("loan-reopen", false);
	struct nd_stack_config config = nd_stack_core(pair.server)->config;
	char name[ND_PORT_NAME_BYTES];
	pthread_t waiting;

	snprintf(name, sizeof(name), "%s", config.ports[0].name);
	waiting = start_waiting(pair.client);
	nd_stack_close(pair.server);
	config.ports[0].name = name;
	pair.server = open_stack(&config);
	await_counter(pair.client, "ports_reopened", 1);
	submit(pair.client, ND_PROTO_HOMA,
	       (struct nd_command){ .kind = ND_COMMAND_LISTEN, .port = SERVICE });
	CHECK_EQ(result_of(waiting), 1);
	close_pair(&pair);
}

static void ignore(int signal)
{
	(void)signal;
}

TEST(nd_stack_wait__ends_with_a_signal)
{
	struct sigaction action = { .sa_handler = ignore };
	struct pair pair = open_pair("loan-signal", false);
	pthread_t waiting = start_waiting(pair.client);
	int code = EBUSY;
	void *result;

	CHECK_EQ(sigaction(SIGUSR1, &action, NULL), 0);
	while (code == EBUSY) { /* the first may come just before it blocks */
		CHECK_EQ(pthread_kill(waiting, SIGUSR1), 0);
		usleep(1000);
		code = pthread_tryjoin_np(waiting, &result);
	}
	CHECK_EQ(code, 0);
	CHECK_EQ((intptr_t)result, -EINTR);
	borrow_once(pair.client);
	close_pair(&pair);
}

/* ---- leaving ---- */

/* Unlike the counter without a call of the core. */
static uint32_t loans_now(struct nd_stack *stack)
{
	struct nd_turn *turn = &nd_stack_core(stack)->turn;
	uint32_t count;

	pthread_mutex_lock(&turn->mutex);
	count = turn->loans;
	pthread_mutex_unlock(&turn->mutex);
	return count;
}

TEST(nd_stack_submit__runs_a_round_where_nobody_else_does)
{
	struct pair pair = open_pair("loan-push", false);
	nd_ns end = clock_now() + PATIENCE;
	uint32_t before, after;

	do { /* until no tick comes between */
		struct nd_event event;

		CHECK(clock_now() < end);
		leave(pair.client);
		before = loans_now(pair.client);
		submit(pair.client, ND_PROTO_HOMA,
		       (struct nd_command){ .kind = ND_COMMAND_LISTEN, .port = SERVICE });
		after = loans_now(pair.client);
		event = next_event(pair.client);
		CHECK(event.kind == ND_EVENT_OPENED || event.error == -EADDRINUSE);
	} while (after == before);
	close_pair(&pair);
}

/* It answers although the application has gone off without a word. */
TEST(nd_turn_resume__serves_who_has_left)
{
	struct pair pair = open_pair("loan-left", false);
	uint8_t *request;

	listen_on(pair.server, ND_PROTO_HOMA, SERVICE);
	leave(pair.server);
	leave(pair.client);
	request = ask_filled(&pair, 100000);
	echo(pair.server, look_for(pair.server, ND_EVENT_REQUEST));
	look_for(pair.client, ND_EVENT_OPENED);
	CHECK_EQ(look_for(pair.client, ND_EVENT_RESPONSE).bytes, 100000);
	CHECK_EQ(nd_stack_buffer_free(pair.client, request), 0);
	close_pair(&pair);
}

TEST(nd_stack_arm__makes_the_core_watch)
{
	struct pair pair = open_pair("loan-arm", false);
	struct pollfd bell = { .fd = nd_stack_descriptor(pair.server), .events = POLLIN };

	listen_on(pair.server, ND_PROTO_HOMA, SERVICE);
	leave(pair.server);
	CHECK(nd_stack_arm(pair.server));
	ask_filled(&pair, 100);
	CHECK_EQ(poll(&bell, 1, PATIENCE / ND_MSEC), 1);
	look_for(pair.server, ND_EVENT_REQUEST);
	close_pair(&pair);
}

/* Whoever drives the server, too, has to hear of it: until then nobody answers. */
TEST(nd_stack_arm__wakes_for_an_id_that_nothing_else_follows)
{
	struct pair pair = open_pair("loan-id", false);
	struct pollfd bell = { .fd = nd_stack_descriptor(pair.client), .events = POLLIN };

	listen_on(pair.server, ND_PROTO_HOMA, SERVICE);
	CHECK(nd_stack_arm(pair.client));
	ask_filled(&pair, 100);
	CHECK_EQ(poll(&bell, 1, PATIENCE / ND_MSEC), 1);
	look_for(pair.client, ND_EVENT_OPENED);
	close_pair(&pair);
}

TEST(nd_stack_arm__does_not_wake_for_an_id_that_was_taken)
{
	struct pair pair = open_pair("loan-id-taken", false);
	struct pollfd bell = { .fd = nd_stack_descriptor(pair.client), .events = POLLIN };
	nd_ns end = clock_now() + PATIENCE, asked_at;
	struct nd_event event;

	listen_on(pair.server, ND_PROTO_HOMA, SERVICE);
	do { /* again where the core had waited long enough by then */
		asked_at = clock_now();
		CHECK(asked_at < end);
		ask_filled(&pair, 100);
		while (nd_stack_events(pair.client, &event, 1) != 1)
			CHECK(clock_now() < end);
		CHECK_EQ(event.kind, ND_EVENT_OPENED);
		CHECK(nd_stack_arm(pair.client));
	} while (clock_now() >= asked_at + ND_MSEC);
	CHECK_EQ(poll(&bell, 1, 20), 0);
	close_pair(&pair);
}

/* A server is told that its reply arrived, though nothing else comes to it. */
TEST(nd_stack_arm__wakes_for_a_reply_that_arrived)
{
	struct pair pair = open_pair("loan-sent", false);
	struct pollfd bell = { .fd = nd_stack_descriptor(pair.server), .events = POLLIN };

	listen_on(pair.server, ND_PROTO_HOMA, SERVICE);
	ask_filled(&pair, 100);
	echo(pair.server, expect(pair.server, ND_EVENT_REQUEST));
	while (next_event(pair.client).kind != ND_EVENT_RESPONSE)
		;
	if (nd_stack_arm(pair.server)) /* not where this thread came to it late */
		CHECK_EQ(poll(&bell, 1, PATIENCE / ND_MSEC), 1);
	look_for(pair.server, ND_EVENT_SENT);
	close_pair(&pair);
}

TEST(nd_stack_close__of_a_core_that_was_left)
{
	for (uint32_t i = 0; i < 5; i++) {
		struct pair pair = open_pair("loan-close", false);

		leave(pair.client);
		leave(pair.server);
		nd_stack_close(pair.client);
		nd_stack_close(pair.server);
	}
}

int main(int argc, char **argv)
{
	return nd_test_main(argc, argv);
}
