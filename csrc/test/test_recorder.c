// SPDX-License-Identifier: Apache-2.0
/* The writer of recordings by itself; what replays make of them is in test_replay.c. */
#include "host/recorder.h"
#include "host/replay_check.h"
#include "test/memory_pair.h"
#include "test/recording.h"

/*
 * Payloads lie where their application can write at any time: that may harm what is sent, but not
 * the recording. Here the body lies where the record's header goes, so that it changes once.
 */
TEST(nd_recorder_write__of_a_body_that_changes_meanwhile)
{
	const char *path = recording_path("changing", 0);
	struct nd_recorder *recorder = nd_recorder_open(path, ND_RECORDING_BYTES_MIN, &error);
	const struct nd_record *record;

	CHECK(recorder);
	record = (const void *)(recorder->map + recorder->at);
	nd_recorder_write(recorder, &(struct nd_record){ .kind = ND_RECORD_COMMAND }, "x", 1,
			  record, 8);
	CHECK_EQ(record->bytes, 9);
	CHECK(nd_replay_is_whole(record));
	nd_recorder_close(recorder);
	CHECK_EQ(unlink(path), 0);
}

/* What a core opens with can be replayed: half of its largest region was called damage. */
TEST(nd_replay_check_setup__takes_the_sizes_that_a_core_takes)
{
	const char *path = recording_path("largest", 0);
	struct nd_record_setup setup = { 0 };
	struct nd_stack_config config;
	struct nd_stack *stack;

	config = config_of("test-recorder-largest", 0, false);
	config.record = path;
	config.record_bytes = ND_RECORDING_BYTES_MIN;
	config.channel.send_bytes = config.channel.receive_bytes = ND_CHANNEL_REGION_MAX;
	stack = open_stack(&config);
	nd_stack_close(stack);
	CHECK_EQ(unlink(path), 0);
	setup.channel = config.channel;
	CHECK(!nd_replay_check_setup(&setup));
	setup.channel.receive_bytes++;
	CHECK(nd_replay_check_setup(&setup));
}

int main(int argc, char **argv)
{
	return nd_test_main(argc, argv);
}
