// SPDX-License-Identifier: Apache-2.0
/* Channels: what crosses, what is refused, and what a hostile application cannot do. */
#include "host/channel.h"
#include "test/harness.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

static const struct nd_channel_layout layout = {
	.commands = 8,
	.events = 8,
	.send_bytes = 4096,
	.receive_bytes = 8192,
};
static struct nd_channel core, app;
static struct nd_submission got;

static void open_both(void)
{
	int fds[ND_CHANNEL_FDS];

	CHECK_EQ(nd_channel_make(&core, &layout), 0);
	for (uint32_t i = 0; i < ND_CHANNEL_FDS; i++)
		fds[i] = dup(core.fds[i]);
	CHECK_EQ(nd_channel_map(&app, &layout, fds), 0);
}

static void close_both(void)
{
	nd_channel_unmap(&app);
	nd_channel_unmap(&core);
}

TEST(nd_channel__carries_commands_and_events)
{
	struct nd_event event = { .kind = ND_EVENT_MESSAGE, .bytes = 5 };
	uint8_t *sent, *received;

	open_both();
	for (uint32_t i = 0; i < 30; i++) {
		sent = nd_arena_get(&app.arena, 100);
		memset(sent, (int)i, 100);
		CHECK_EQ(nd_channel_submit(&app, ND_PROTO_NDP,
					   &(struct nd_command){ .kind = ND_COMMAND_SEND,
								 .payload = sent,
								 .bytes = 100,
								 .cookie = i }),
			 0);
		CHECK_EQ(nd_channel_take(&core, &got), 1);
		CHECK_EQ(got.protocol, ND_PROTO_NDP);
		CHECK_EQ(got.command.cookie, i);
		CHECK_EQ(got.command.payload[99], i);
		CHECK_EQ(nd_arena_put(&app.arena, sent), 0);
		received = nd_arena_get(&core.arena, 5);
		memcpy(received, "hello", 5);
		event.payload = received;
		CHECK(nd_channel_post(&core, &event));
		CHECK_EQ(nd_channel_events(&app, &event, 1), 1);
		CHECK_EQ(memcmp(event.payload, "hello", 5), 0);
		CHECK_EQ(nd_arena_put(&core.arena, received), 0);
	}
	CHECK_EQ(nd_channel_take(&core, &got), 0);
	CHECK_EQ(nd_channel_events(&app, &event, 1), 0);
	close_both();
}

TEST(nd_channel_submit__full_is_try_again)
{
	struct nd_command command = { .kind = ND_COMMAND_CLOSE };

	open_both();
	for (uint32_t i = 0; i < 8; i++)
		CHECK_EQ(nd_channel_submit(&app, 1, &command), 0);
	CHECK_EQ(nd_channel_submit(&app, 1, &command), -EAGAIN);
	CHECK_EQ(nd_channel_take(&core, &got), 1);
	CHECK(!got.command.payload);
	CHECK_EQ(nd_channel_submit(&app, 1, &command), 0);
	for (uint32_t i = 0; i < 8; i++)
		CHECK(nd_channel_post(&core, &(struct nd_event){ 0 }));
	CHECK_EQ(nd_channel_room(&core, 1), 0);
	CHECK(!nd_channel_post(&core, &(struct nd_event){ 0 }));
	close_both();
}

/* What the library of an honest application refuses by itself. */
TEST(nd_channel_submit__payload_outside)
{
	struct nd_command command = { .kind = ND_COMMAND_SEND, .bytes = 100 };
	static const int32_t wrong[] = { -1, 4096 - 99, 4096, 100000 };

	open_both();
	for (uint32_t i = 0; i < ND_ARRAY_SIZE(wrong); i++) {
		command.payload = app.send + wrong[i];
		CHECK_EQ(nd_channel_submit(&app, 1, &command), -EINVAL);
	}
	command.bytes = UINT32_MAX;
	command.payload = app.send;
	CHECK_EQ(nd_channel_submit(&app, 1, &command), -EINVAL);
	command.bytes = 100;
	command.payload = app.send + 4096 - 100;
	CHECK_EQ(nd_channel_submit(&app, 1, &command), 0);
	close_both();
}

/* Within a process; an end that was not told believes no address. */
TEST(nd_channel_submit__payload_anywhere)
{
	static const uint8_t message[5000];
	struct nd_command command = {
		.kind = ND_COMMAND_SEND, .bytes = sizeof(message), .payload = message };

	open_both();
	app.anywhere = true;
	CHECK_EQ(nd_channel_submit(&app, 1, &command), 0);
	CHECK_EQ(nd_channel_take(&core, &got), -EINVAL);
	core.anywhere = true;
	CHECK_EQ(nd_channel_submit(&app, 1, &command), 0);
	CHECK_EQ(nd_channel_take(&core, &got), 1);
	CHECK(got.command.payload == message);
	command.payload = app.send + 8; /* which the core has mapped elsewhere */
	command.bytes = 100;
	CHECK_EQ(nd_channel_submit(&app, 1, &command), 0);
	CHECK_EQ(nd_channel_take(&core, &got), 1);
	CHECK(got.command.payload == core.send + 8);
	close_both();
}

/* What its bytes say is no length of anything. */
TEST(nd_channel_submit__window)
{
	struct nd_command command = { .kind = ND_COMMAND_WINDOW, .bytes = 100000 };

	open_both();
	CHECK_EQ(nd_channel_submit(&app, 1, &command), 0);
	command.payload = app.receive;
	CHECK_EQ(nd_channel_submit(&app, 1, &command), 0);
	for (uint32_t i = 0; i < 2; i++) {
		CHECK_EQ(nd_channel_take(&core, &got), 1);
		CHECK_EQ(got.command.bytes, 100000);
		CHECK(!got.command.payload);
	}
	close_both();
}

/* What a hostile one writes by hand: every offset and length is checked, in the copy. */
TEST(nd_channel_take__hostile_payload)
{
	static const struct {
		uint64_t offset;
		uint32_t bytes;
	} wrong[] = {
		{ 0, 1 },
		{ 4096, 2 },
		{ 4097, 1 },
		{ UINT64_MAX, 1 },
		{ UINT64_MAX - 50, 100 },
		{ 1, 4097 },
		{ 1, UINT32_MAX },
		{ UINT64_C(1) << 32, 1 },
	};

	open_both();
	for (uint32_t i = 0; i < ND_ARRAY_SIZE(wrong); i++) {
		struct nd_submission *slot =
			&app.commands[nd_ring_slot(&app.submissions, 0)];

		*slot = (struct nd_submission){
			.command = { .kind = ND_COMMAND_SEND,
				     .bytes = wrong[i].bytes,
				     .payload = (void *)(uintptr_t)wrong[i].offset,
				     .cookie = i },
		};
		nd_ring_publish(&app.submissions, 1);
		CHECK_EQ(nd_channel_take(&core, &got), -EINVAL);
		CHECK_EQ(got.command.cookie, i);
	}
	CHECK_EQ(nd_channel_take(&core, &got), 0);
	CHECK(!core.corrupt);
	close_both();
}

TEST(nd_channel_take__hostile_cursors)
{
	open_both();
	app.submissions.shared->head = 9;
	CHECK_EQ(nd_channel_take(&core, &got), -EPIPE);
	CHECK(core.corrupt);
	close_both();
	open_both();
	app.completions.shared->tail = 1000;
	core.completions.mine = core.completions.theirs + 8; /* full: it has to look */
	CHECK(!nd_channel_post(&core, &(struct nd_event){ 0 }));
	CHECK(core.corrupt);
	close_both();
}

/* An application cannot make the memory smaller under the core. */
TEST(nd_channel_make__is_sealed)
{
	open_both();
	CHECK(ftruncate(app.fds[ND_CHANNEL_MEMORY], 4096) < 0);
	CHECK_EQ(errno, EPERM);
	CHECK(ftruncate(app.fds[ND_CHANNEL_MEMORY], 1 << 24) < 0);
	close_both();
}

TEST(nd_channel_arm__wakes_either_end)
{
	struct pollfd bells[2] = { { .events = POLLIN }, { .events = POLLIN } };
	struct nd_event event = { 0 };

	open_both();
	bells[0].fd = core.fds[ND_CHANNEL_WAKE_CORE];
	bells[1].fd = app.fds[ND_CHANNEL_WAKE_APP];
	CHECK(nd_channel_arm_core(&core));
	CHECK(nd_channel_arm_app(&app));
	CHECK_EQ(poll(bells, 2, 0), 0);
	CHECK_EQ(nd_channel_submit(&app, 1, &(struct nd_command){ 0 }), 0);
	nd_channel_wake_core(&app);
	CHECK(nd_channel_post(&core, &event));
	nd_channel_wake_app(&core);
	CHECK_EQ(poll(bells, 2, 0), 2);
	CHECK(!nd_channel_arm_core(&core));
	CHECK(!nd_channel_arm_app(&app));
	nd_channel_hush_core(&core);
	CHECK_EQ(nd_channel_take(&core, &got), 1);
	app.armed = true;
	CHECK_EQ(nd_channel_events(&app, &event, 1), 1);
	CHECK_EQ(poll(bells, 2, 0), 0);
	close_both();
}

/* Flags and counters of what was handed over are the application's, too. */
TEST(nd_channel__hostile_bells)
{
	struct pollfd bell;

	open_both();
	for (uint32_t i = ND_CHANNEL_WAKE_CORE; i < ND_CHANNEL_FDS; i++) {
		eventfd_write(app.fds[i], UINT64_MAX - 1); /* as full as it gets, where it can be */
		CHECK_EQ(fcntl(app.fds[i], F_SETFL, 0), 0);
	}
	for (uint32_t i = 0; i < 2; i++) /* rung, and silent */
		nd_channel_hush_core(&core);
	bell = (struct pollfd){ .fd = app.fds[ND_CHANNEL_WAKE_APP], .events = POLLIN };
	for (uint32_t i = 0; i < 3; i++) {
		nd_channel_hush_app(&app);
		CHECK_EQ(poll(&bell, 1, 0), 0);
		CHECK(nd_channel_arm_app(&app));
		nd_channel_wake_app(&core);
		CHECK_EQ(poll(&bell, 1, 0), 1);
	}
	close_both();
}

int main(int argc, char **argv)
{
	return nd_test_main(argc, argv);
}
