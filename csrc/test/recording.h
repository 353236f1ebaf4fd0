/* SPDX-License-Identifier: Apache-2.0 */
/* Recordings that tests make, replay and remove. */
#ifndef ND_TEST_RECORDING_H
#define ND_TEST_RECORDING_H

#include "host/replay.h"
#include "test/stacks.h"

/* A path for the recording of one end of a test's pair; good until it is asked for again. */
static inline const char *recording_path_of(pid_t process, const char *case_name, uint32_t end)
{
	static char paths[2][128];
	const char *folder = getenv("TMPDIR");

	snprintf(paths[end], sizeof(paths[end]), "%s/ndpstack-test-%d-%s-%u.rec",
		 folder ? folder : "/tmp", process, case_name, end);
	return paths[end];
}

static inline const char *recording_path(const char *case_name, uint32_t end)
{
	return recording_path_of(getpid(), case_name, end);
}

/* Replays it to its end. */
static inline struct nd_replay_result replay_of(const char *path)
{
	struct nd_replay *replay = nd_replay_open(path, &error);
	struct nd_replay_result result;

	if (!replay)
		fprintf(stderr, "  %s\n", error.text);
	CHECK(replay);
	if (nd_replay_run(replay, NULL, NULL, &error) < 0) {
		fprintf(stderr, "  %s\n", error.text);
		CHECK(false);
	}
	result = *nd_replay_result(replay);
	nd_replay_close(replay);
	return result;
}

/* The recording of a core that stopped: the same engines send the same packets. */
static inline struct nd_replay_result check_identical(const char *path)
{
	struct nd_replay_result result = replay_of(path);

	if (result.verdict != ND_REPLAY_IDENTICAL)
		fprintf(stderr, "  packet %llu: verdict %u, %u and %u bytes\n",
			(unsigned long long)result.sent + 1, result.verdict,
			result.recorded_bytes, result.replayed_bytes);
	CHECK_EQ(result.verdict, ND_REPLAY_IDENTICAL);
	CHECK_EQ(unlink(path), 0);
	return result;
}

#endif
