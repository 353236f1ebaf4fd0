// SPDX-License-Identifier: Apache-2.0
/* Messages that are sent from where they lie in the application's memory. */
#include "test/memory_pair.h"
#include "test/recording.h"

#include <signal.h>
#include <sys/wait.h>

TEST(nd_stack_submit__reads_anywhere_in_its_process)
{
	static uint8_t message[100000];
	struct pair pair = open_pair("anywhere", false);
	struct nd_event event;

	CHECK(nd_stack_reads_anywhere(pair.client));
	listen_on(pair.server, ND_PROTO_HOMA, SERVICE);
	fill(message, sizeof(message), 3);
	submit(pair.client, ND_PROTO_HOMA,
	       (struct nd_command){ .kind = ND_COMMAND_REQUEST,
				    .peer = pair.peer,
				    .port = SERVICE,
				    .payload = message,
				    .bytes = sizeof(message) });
	event = expect(pair.server, ND_EVENT_REQUEST);
	CHECK_EQ(event.bytes, sizeof(message));
	CHECK(is_filled(event.payload, event.bytes, 3));
	nd_stack_close(pair.client); /* with the request under way: it is not looked at any more */
	memset(message, 0, sizeof(message));
	nd_stack_close(pair.server);
}

/* A child of a fork holds all that the handle had open: the core is not to find its end by that. */
TEST(nd_stack_close__ends_a_handle_that_a_child_holds_too)
{
	struct pair pair = open_pair("anywhere-fork", false);
	struct nd_stack *shared = nd_stack_share(pair.client, &error);
	uint64_t ended;
	pid_t child;

	CHECK(shared);
	child = fork();
	if (child == 0)
		for (;;)
			pause();
	CHECK(child > 0);
	nd_stack_close(shared);
	ended = counter(pair.client, ND_STACK_GROUP_CORE, "apps_ended");
	CHECK_EQ(kill(child, SIGKILL), 0);
	CHECK_EQ(waitpid(child, NULL, 0), child);
	CHECK_EQ(ended, 1);
	close_pair(&pair);
}

/* Not where nobody waits for whoever reads it, nor where a replay would have to. */
TEST(nd_stack_reads_anywhere__of_its_own_thread_alone)
{
	struct nd_stack_config config = config_of("test-anywhere-polled", 0, false);
	struct nd_stack *stack;
	struct nd_command command = { .kind = ND_COMMAND_REQUEST, .bytes = 64 };
	uint8_t message[64];

	command.payload = message;
	config.profile = ND_STACK_POLLED;
	stack = open_stack(&config);
	CHECK(!nd_stack_reads_anywhere(stack));
	CHECK_EQ(nd_stack_submit(stack, ND_PROTO_HOMA, &command), -EINVAL);
	nd_stack_close(stack);
	config.profile = ND_STACK_ADAPTIVE;
	config.record = recording_path("anywhere", 0);
	config.record_bytes = 1u << 20;
	stack = open_stack(&config);
	CHECK(!nd_stack_reads_anywhere(stack));
	nd_stack_close(stack);
	unlink(config.record);
}

int main(int argc, char **argv)
{
	return nd_test_main(argc, argv);
}
