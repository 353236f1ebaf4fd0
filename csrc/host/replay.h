/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs a core again from its recording, under the recorded times, and compares what it sends.
 *
 *	struct nd_replay *replay = nd_replay_open(path, &error);
 *	code = nd_replay_run(replay, NULL, NULL, &error);
 *	result = nd_replay_result(replay);
 *	nd_replay_close(replay);
 *
 * It is the same object code: engines, NIC scheduler, addresses, applications' credit. Only ports
 * are others: they receive what was received, have the room that there was, and compare.
 */
#ifndef ND_HOST_REPLAY_H
#define ND_HOST_REPLAY_H

#include "host/recording.h"

#define ND_REPLAY_FRAME_BYTES_MAX (16u << 10)

enum nd_replay_verdict {
	ND_REPLAY_IDENTICAL,
	ND_REPLAY_DIFFERS, /* the packet is another one */
	ND_REPLAY_MISSING, /* the recorded core sent it, this one does not */
	ND_REPLAY_EXTRA,   /* this one sends it, the recorded core did not */
};

struct nd_replay_result {
	uint64_t sent;      /* packets compared; the first that differs is not counted */
	uint64_t received;
	uint64_t commands;
	uint64_t turns;
	nd_ns begin, end;   /* recorded times of the first and the last turn */
	nd_ns epoch;        /* what makes wall-clock time of recorded time */
	uint32_t state;     /* enum nd_recording_state */
	uint32_t verdict;   /* enum nd_replay_verdict */
	/* Of the first difference: */
	uint32_t port;
	nd_ns time;
	uint32_t recorded_bytes; /* of the frame; its head is kept */
	uint32_t replayed_bytes;
	uint8_t recorded[ND_RECORDING_HEAD_BYTES];
	uint8_t replayed[ND_REPLAY_FRAME_BYTES_MAX];
};

/* One frame as it is received or sent by the replayed core. */
struct nd_replay_frame {
	const uint8_t *data;
	uint32_t bytes;
	uint32_t port;
	nd_ns time;
	bool sent;
	const char *name; /* of the port */
};

/* Gets every frame; what it returns but 0 ends the replay. */
typedef int nd_replay_sink(void *context, const struct nd_replay_frame *frame);

struct nd_replay;

/* NULL on failure: error names cause and remedy. */
struct nd_replay *nd_replay_open(const char *path, struct nd_error *error);

/*
 * Replays up to the end or the first difference: 0, also where they differ. -EINVAL when the file
 * is damaged, or whatever the sink returned. Once only. sink may be NULL.
 */
int nd_replay_run(struct nd_replay *replay, nd_replay_sink *sink, void *context,
		  struct nd_error *error);

/*
 * The same, and all frames go into a capture file (pcapng). Nothing is replayed, not even a turn,
 * where that cannot be opened.
 */
int nd_replay_capture(struct nd_replay *replay, const char *path, struct nd_error *error);

/* True for the file that is replayed, by whatever name. */
bool nd_replay_is_of(const struct nd_replay *replay, const char *path);

const struct nd_replay_result *nd_replay_result(const struct nd_replay *replay);

void nd_replay_close(struct nd_replay *replay);

#endif
