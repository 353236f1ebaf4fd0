// SPDX-License-Identifier: Apache-2.0
/* The writer of recordings by itself; what replays make of them is in test_replay.c. */
#include "host/recorder.h"
#include "host/replay_check.h"
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

int main(int argc, char **argv)
{
	return nd_test_main(argc, argv);
}
