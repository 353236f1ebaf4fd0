// SPDX-License-Identifier: Apache-2.0
/* NDP through the public API: two hosts in one process over a memory port, real threads. */
#include "test/memory_pair.h"

#include <signal.h>
#include <sys/wait.h>

static void check_messages(const char *case_name, bool v6)
{
	struct pair pair = open_pair(case_name, v6);

	check_ndp_sizes(&pair);
	close_pair(&pair);
}

TEST(nd_stack__carries_ndp_messages_over_ipv4)
{
	check_messages("ndp4", false);
}

TEST(nd_stack__carries_ndp_messages_over_ipv6)
{
	check_messages("ndp6", true);
}

/* ---- several connections ---- */

#define LINES 8u
#define MESSAGES 12u

/* Sizes from one packet to more than the first window. */
static uint32_t size_of(uint32_t line, uint32_t number)
{
	return 100 + line * 1000 + number * number * 700;
}

static uint32_t line_of(const struct line lines[LINES], uint64_t id)
{
	uint32_t line = 0;

	while (line < LINES && lines[line].server != id)
		line++;
	CHECK(line < LINES);
	return line;
}

/* R-NHA-01: messages of several connections at once; each arrives once, whole, on its own. */
TEST(nd_stack__serves_several_ndp_connections)
{
	struct pair pair = open_pair("lines", false);
	uint32_t arrived[LINES] = { 0 };
	struct line lines[LINES];
	struct nd_event event;

	listen_on(pair.server, ND_PROTO_NDP, SERVICE);
	for (uint32_t i = 0; i < LINES; i++)
		lines[i] = connect_line(&pair, SERVICE);
	for (uint32_t number = 1; number <= MESSAGES; number++)
		for (uint32_t i = 0; i < LINES; i++)
			send_filled(pair.client, lines[i].client, size_of(i, number), number);
	for (uint32_t left = LINES * MESSAGES; left; left--) {
		uint32_t line;

		event = expect(pair.server, ND_EVENT_MESSAGE);
		line = line_of(lines, event.id);
		CHECK(!(arrived[line] & 1u << event.message));
		arrived[line] |= 1u << event.message;
		CHECK_EQ(event.bytes, size_of(line, (uint32_t)event.message));
		CHECK(is_filled(event.payload, event.bytes, (uint32_t)event.message));
		command_ndp(pair.server, ND_COMMAND_RELEASE, event.id, event.message);
	}
	for (uint32_t left = LINES * MESSAGES; left; left--) {
		event = expect(pair.client, ND_EVENT_SENT);
		CHECK_EQ(nd_stack_buffer_free(pair.client, (void *)(uintptr_t)event.cookie), 0);
	}
	close_pair(&pair);
}

/* ---- ends ---- */

TEST(nd_stack__reset_tells_the_other_end)
{
	struct pair pair = open_pair("reset", false);
	struct line line;

	listen_on(pair.server, ND_PROTO_NDP, SERVICE);
	line = connect_line(&pair, SERVICE);
	command_ndp(pair.server, ND_COMMAND_RESET, line.server, 0);
	CHECK_EQ(expect(pair.server, ND_EVENT_CLOSED).error, -ECONNABORTED);
	CHECK_EQ(expect(pair.client, ND_EVENT_CLOSED).error, -ECONNRESET);
	submit(pair.client, ND_PROTO_NDP,
	       (struct nd_command){ .kind = ND_COMMAND_SEND, .id = line.client, .cookie = 5 });
	CHECK_EQ(expect(pair.client, ND_EVENT_FAILED).cookie, 5);
	line = connect_line(&pair, SERVICE);
	close_pair(&pair);
}

/* A host that stops says so: its peers need no timeout to find out. */
TEST(nd_stack_close__tells_peers)
{
	struct pair pair = open_pair("stops", false);
	struct line line;

	listen_on(pair.server, ND_PROTO_NDP, SERVICE);
	line = connect_line(&pair, SERVICE);
	nd_stack_close(pair.client);
	CHECK_EQ(expect(pair.server, ND_EVENT_CLOSED).error, -ECONNRESET);
	submit(pair.server, ND_PROTO_NDP,
	       (struct nd_command){ .kind = ND_COMMAND_SEND, .id = line.server, .cookie = 5 });
	CHECK_EQ(expect(pair.server, ND_EVENT_FAILED).cookie, 5);
	nd_stack_close(pair.server);
}

/* Connecting says nothing to the peer; the first message learns that nobody listens. */
TEST(nd_stack__nobody_listens)
{
	struct pair pair = open_pair("nobody", false);
	uint8_t *payload = nd_stack_buffer(pair.client, 10);
	struct nd_event event;

	submit(pair.client, ND_PROTO_NDP,
	       (struct nd_command){
		       .kind = ND_COMMAND_CONNECT, .peer = pair.peer, .port = SERVICE });
	submit(pair.client, ND_PROTO_NDP,
	       (struct nd_command){ .kind = ND_COMMAND_SEND,
				    .id = ND_STACK_ID_LAST,
				    .payload = payload,
				    .bytes = 10,
				    .cookie = 6 });
	expect(pair.client, ND_EVENT_OPENED);
	event = expect(pair.client, ND_EVENT_FAILED);
	CHECK_EQ(event.cookie, 6);
	CHECK_EQ(event.error, -ECONNREFUSED);
	CHECK_EQ(expect(pair.client, ND_EVENT_CLOSED).error, -ECONNREFUSED);
	close_pair(&pair);
}

/* ---- applications that do not read, or die ---- */

/* One that takes no messages stops its own sender and nobody else's, and can catch up. */
TEST(nd_stack__ndp_application_that_does_not_read)
{
	struct nd_stack_config config;
	struct pair pair, slow;
	struct line line, blocked;
	static char name[64];

	snprintf(name, sizeof(name), "test-stack-%d-unread", getpid());
	config = config_of(name, 0, false);
	config.channel.receive_bytes = 256 << 10;
	pair.server = open_stack(&config);
	config = config_of(name, 1, false);
	pair.client = open_stack(&config);
	pair.peer = resolve(pair.client, addresses[0][0]);
	slow = pair;
	slow.server = nd_stack_share(pair.server, &error);
	slow.client = nd_stack_share(pair.client, &error);
	listen_on(slow.server, ND_PROTO_NDP, SERVICE);
	blocked = connect_line(&slow, SERVICE);
	for (uint32_t i = 0; i < 30; i++)
		send_filled(slow.client, blocked.client, 20000, i);
	await_counter(pair.server, "messages_withheld", 1);
	listen_on(pair.server, ND_PROTO_NDP, SERVICE + 1);
	line = connect_line(&pair, SERVICE + 1);
	for (uint32_t i = 0; i < 30; i++) {
		send_filled(pair.client, line.client, 20000, i);
		expect_message(pair.server, line.server, i + 1, 20000, i);
		expect_sent(pair.client, line.client);
	}
	for (uint32_t i = 0; i < 30; i++) {
		struct nd_event event = expect(slow.server, ND_EVENT_MESSAGE);

		CHECK(is_filled(event.payload, 20000, (uint32_t)event.message - 1));
		command_ndp(slow.server, ND_COMMAND_RELEASE, blocked.server, event.message);
	}
	for (uint32_t i = 0; i < 30; i++)
		expect_sent(slow.client, blocked.client);
	nd_stack_close(slow.server);
	nd_stack_close(slow.client);
	close_pair(&pair);
}

/* Attaches, opens a connection, and is killed with a long message half sent. */
static void killed_child(const char *service)
{
	struct pair pair = { .client = nd_stack_attach(service, &error) };

	CHECK(pair.client);
	pair.peer = resolve(pair.client, addresses[0][0]);
	submit(pair.client, ND_PROTO_NDP,
	       (struct nd_command){
		       .kind = ND_COMMAND_CONNECT, .peer = pair.peer, .port = SERVICE });
	send_filled(pair.client, ND_STACK_ID_LAST, 1000, 1);
	send_filled(pair.client, ND_STACK_ID_LAST, 8000000, 2);
	kill(getpid(), SIGKILL);
}

/* Its peer hears of the end, and its host keeps nothing. */
TEST(nd_stack__ndp_application_that_is_killed)
{
	struct pair pair = open_pair("killed", false);
	struct nd_stack_config config;
	char name[64], service[64];
	int status;

	nd_stack_close(pair.client);
	snprintf(name, sizeof(name), "test-stack-%d-killed", getpid());
	snprintf(service, sizeof(service), "test-ndp-service-%d", getpid());
	config = config_of(name, 1, false);
	config.service = service;
	config.link_bps = 20000000; /* the long message takes seconds, however late the kill */
	pair.client = open_stack(&config);
	listen_on(pair.server, ND_PROTO_NDP, SERVICE);
	for (uint32_t i = 0; i < 3; i++) {
		struct nd_event event;
		pid_t child = fork();

		if (child == 0)
			killed_child(service);
		while ((event = next_event(pair.server)).kind != ND_EVENT_CLOSED)
			if (event.kind == ND_EVENT_MESSAGE) {
				CHECK_EQ(event.bytes, 1000);
				CHECK(is_filled(event.payload, 1000, 1));
				command_ndp(pair.server, ND_COMMAND_RELEASE, event.id,
					    event.message);
			}
		CHECK_EQ(event.error, -ECONNRESET);
		CHECK_EQ(waitpid(child, &status, 0), child);
		CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
		await_counter(pair.client, "apps_ended", i + 1);
		CHECK(!nd_stack_audit(pair.client));
	}
	close_pair(&pair);
}

int main(int argc, char **argv)
{
	return nd_test_main(argc, argv);
}
