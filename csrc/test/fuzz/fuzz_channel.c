// SPDX-License-Identifier: Apache-2.0
/*
 * An application that writes whatever it likes into the memory that it shares with the core: the
 * input is a program of writes and of what the core does in between.
 */
#include "test/fuzz/program.h"

#include "host/channel.h"

#include <errno.h>
#include <unistd.h>

#define COMMANDS 8
#define EVENTS 4
#define REGION 4096u

static const struct nd_channel_layout layout = {
	.commands = COMMANDS, .events = EVENTS, .send_bytes = REGION, .receive_bytes = REGION,
};

/* A cursor near the core's, or anywhere. */
static void lie(struct nd_ring *ring, uint32_t *cursor, struct input *in)
{
	uint8_t kind = take8(in);

	*cursor = kind & 1 ? take_any32(in) : ring->mine + kind % 16;
}

static void write_command(struct nd_channel *channel, struct input *in)
{
	uint8_t *slot = (uint8_t *)&channel->commands[take8(in) % COMMANDS];

	for (size_t i = 0; i < sizeof(struct nd_submission); i++)
		slot[i] = take8(in);
}

static void write_plausible(struct nd_channel *channel, struct input *in)
{
	struct nd_submission *slot = &channel->commands[take8(in) % COMMANDS];

	*slot = (struct nd_submission){
		.command = {
			.kind = take8(in) % 16,
			.bytes = take_any32(in) % (2 * REGION),
			.payload = (const uint8_t *)(uintptr_t)(take_any32(in) % (2 * REGION)),
		},
		.protocol = take8(in) % 4,
	};
}

static void take(struct nd_channel *channel)
{
	struct nd_submission out;
	int code = nd_channel_take(channel, &out);
	const uint8_t *payload = out.command.payload;

	FUZZ_CHECK(code == 1 || code == 0 || code == -EINVAL || code == -EPIPE);
	FUZZ_CHECK((code == -EPIPE) == channel->corrupt);
	if (code != 1 || !payload)
		return;
	FUZZ_CHECK(payload >= channel->send && payload <= channel->send + REGION);
	FUZZ_CHECK(out.command.bytes <= (size_t)(channel->send + REGION - payload));
}

static void post(struct nd_channel *channel, uint8_t at)
{
	const struct nd_event event = {
		.kind = ND_EVENT_RESPONSE, .bytes = at, .payload = channel->receive + at,
	};
	uint32_t room = nd_channel_room(channel, EVENTS);

	FUZZ_CHECK(room <= EVENTS);
	FUZZ_CHECK(nd_channel_post(channel, &event) == (room > 0) || channel->corrupt);
	nd_channel_wake_app(channel);
}

static void step(struct nd_channel *channel, struct input *in)
{
	switch (take8(in) % 8) {
	case 0:
		lie(&channel->submissions, &channel->submissions.shared->head, in);
		break;
	case 1:
		lie(&channel->completions, &channel->completions.shared->tail, in);
		break;
	case 2:
		write_command(channel, in);
		break;
	case 3:
		write_plausible(channel, in);
		break;
	case 4:
		post(channel, take8(in));
		break;
	case 5:
		channel->submissions.shared->waiting = take_any32(in);
		channel->completions.shared->waiting = take_any32(in);
		break;
	case 6:
		nd_channel_arm_core(channel);
		nd_channel_hush_core(channel);
		break;
	default:
		take(channel);
		break;
	}
}

/* One channel for all inputs, as new: to make one takes ten system calls. */
static void renew(struct nd_channel *channel)
{
	if (!channel->map)
		FUZZ_CHECK(nd_channel_make(channel, &layout) == 0);
	memset(channel->map, 0, channel->map_bytes);
	channel->submissions = nd_ring_make(channel->submissions.shared, COMMANDS);
	channel->completions = nd_ring_make(channel->completions.shared, EVENTS);
	channel->armed = channel->corrupt = false;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct nd_channel channel;
	struct input in = { .at = data, .end = data + size };

	renew(&channel);
	while (in.at < in.end && !channel.corrupt)
		step(&channel, &in);
	for (uint32_t i = 0; i <= COMMANDS && !channel.corrupt; i++)
		take(&channel);
	return 0;
}
