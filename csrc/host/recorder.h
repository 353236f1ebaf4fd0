/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes a core's recording while it runs: what the core thread calls at each of its inputs.
 *
 * Every call does nothing when the recorder is NULL, which is how most cores run. No call blocks
 * or fails: the file is memory of its full size before the core starts, and a recording that has
 * reached its limit is whole and grows no more.
 */
#ifndef ND_HOST_RECORDER_H
#define ND_HOST_RECORDER_H

#include "host/recording.h"

#define ND_RECORDER_BYTES_DEFAULT (UINT64_C(256) << 20)

struct nd_recorder {
	struct nd_recording_header *header; /* of the mapped file */
	uint8_t *map;
	uint64_t limit;  /* bytes of the map */
	uint64_t at;     /* where the next record goes */
	uint64_t round;  /* where the round that is being written began */
	uint64_t turn;   /* ... and its TURN */
	bool unsent;     /* in this turn an engine gave up a packet that did not leave */
	bool full;
	int fd;
};

struct nd_core;
struct nd_core_port;

/*
 * Makes the file, an older one of this name becomes PATH.previous. 0 bytes: the default limit.
 * NULL on failure: error names cause and remedy.
 */
struct nd_recorder *nd_recorder_open(const char *path, uint64_t limit, struct nd_error *error);

/* Ends the recording; the file shrinks to what is used. */
void nd_recorder_close(struct nd_recorder *recorder);

/* One record; body is two parts, either may be empty. Whole rounds are published by the turns. */
void nd_recorder_write(struct nd_recorder *recorder, const struct nd_record *record,
		       const void *first, size_t first_bytes, const void *second,
		       size_t second_bytes);

/* Set-up: everything that was decided before the core runs. */
void nd_recorder_setup(struct nd_recorder *recorder, const struct nd_core *core);
void nd_recorder_port(struct nd_recorder *recorder, uint8_t index,
		      const struct nd_core_port *port, nd_ns now);

void nd_recorder_engine(struct nd_recorder *recorder, uint8_t protocol, const void *config);

/* A round is command()*, turn(), room() and sent()*, frame()*, timer()*, round_end(). */
/* An engine gave a packet up that did not leave. */
void nd_recorder_unsent(struct nd_recorder *recorder);
/* No events will: the core stops, and its last rounds are turns only. */
void nd_recorder_last_turn_end(struct nd_recorder *recorder);

/* Something between two rounds, without a body. */
void nd_recorder_note(struct nd_recorder *recorder, uint8_t kind, uint32_t index, uint32_t detail,
		      nd_ns now);
void nd_recorder_way(struct nd_recorder *recorder, uint8_t kind, uint32_t index, uint32_t detail,
		     const uint8_t address[16], const uint8_t *mac, nd_ns now);

/* What the control plane's settings come to. */
void nd_recorder_tell(struct nd_recorder *recorder, uint32_t engine,
		      const struct nd_command *command, nd_ns now);
void nd_recorder_wire(struct nd_recorder *recorder, const struct nd_frame_config *frame,
		      uint64_t link_bps, nd_ns now);

/* ---- on the fast path: the same with a recorder that is there ---- */

void nd_recorder_write_command(struct nd_recorder *recorder, uint32_t app,
			       const struct nd_submission *submission, const uint8_t *send_region,
			       nd_ns now);
void nd_recorder_write_turn(struct nd_recorder *recorder, nd_ns now);
void nd_recorder_write_sent(struct nd_recorder *recorder, uint8_t port,
			    const struct nd_frame *frame, nd_ns now);
void nd_recorder_write_round_end(struct nd_recorder *recorder, nd_ns now);

static inline void nd_recorder_command(struct nd_recorder *recorder, uint32_t app,
				       const struct nd_submission *submission,
				       const uint8_t *send_region, nd_ns now)
{
	if (ND_UNLIKELY(recorder))
		nd_recorder_write_command(recorder, app, submission, send_region, now);
}

static inline void nd_recorder_turn(struct nd_recorder *recorder, nd_ns now)
{
	if (ND_UNLIKELY(recorder))
		nd_recorder_write_turn(recorder, now);
}

static inline void nd_recorder_sent(struct nd_recorder *recorder, uint8_t port,
				    const struct nd_frame *frame, nd_ns now)
{
	if (ND_UNLIKELY(recorder))
		nd_recorder_write_sent(recorder, port, frame, now);
}

/* Events leave now. A round without anything at all is forgotten. */
static inline void nd_recorder_round_end(struct nd_recorder *recorder, nd_ns now)
{
	if (ND_UNLIKELY(recorder))
		nd_recorder_write_round_end(recorder, now);
}

static inline void nd_recorder_frame(struct nd_recorder *recorder, uint32_t port,
				     const struct nd_frame *frame, nd_ns now)
{
	struct nd_record record = {
		.kind = ND_RECORD_FRAME, .index = (uint8_t)port, .now = now };

	if (ND_UNLIKELY(recorder))
		nd_recorder_write(recorder, &record, frame->data, frame->bytes, NULL, 0);
}

static inline void nd_recorder_timer(struct nd_recorder *recorder, uint32_t engine, nd_ns now)
{
	struct nd_record record = {
		.kind = ND_RECORD_TIMER, .index = (uint8_t)engine, .now = now };

	if (ND_UNLIKELY(recorder))
		nd_recorder_write(recorder, &record, NULL, 0, NULL, 0);
}

static inline void nd_recorder_room(struct nd_recorder *recorder, uint32_t port, uint32_t frames,
				    nd_ns now)
{
	struct nd_record record = {
		.kind = ND_RECORD_ROOM,
		.index = (uint8_t)port,
		.detail = (uint16_t)frames,
		.now = now,
	};

	if (ND_UNLIKELY(recorder))
		nd_recorder_write(recorder, &record, NULL, 0, NULL, 0);
}

#endif
