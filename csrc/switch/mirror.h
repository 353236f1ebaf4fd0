/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Copies of the frames of some ports, with what became of each: the only way to watch a data path
 * that the kernel does not see.
 *
 * The worker puts copies into a ring of fixed slots; a reader in another thread takes them out, as
 * records or as pcapng blocks. A ring that is full loses the copy, counts it, and never waits.
 */
#ifndef ND_SWITCH_MIRROR_H
#define ND_SWITCH_MIRROR_H

#include "base/error.h"
#include "base/ring.h"
#include "wire/pcapng.h"

#define ND_MIRROR_PORTS_MAX 64u
#define ND_MIRROR_NAME_BYTES 32u
#define ND_MIRROR_SNAP_MIN 14u
#define ND_MIRROR_SNAP_MAX 16384u
#define ND_MIRROR_FRAMES_MIN 16u
#define ND_MIRROR_FRAMES_MAX 65536u

/* What became of a frame, in words that captures show. */
#define ND_MIRROR_VERDICTS(X) \
	X(QUEUED, "queued") \
	X(TRIMMED, "trimmed") \
	X(DROPPED, "dropped") \
	X(RETURNED, "returned to sender") \
	X(FLOODED, "flooded") \
	X(DELAYED, "delayed") \
	X(SENT, "sent") \
	X(SENT_MARKED, "sent, marked CE")
#define ND_MIRROR_VERDICT_ENUM(name, text) ND_MIRROR_##name,
enum nd_mirror_verdict { ND_MIRROR_VERDICTS(ND_MIRROR_VERDICT_ENUM) };

/* Why a frame was dropped: index in ND_SWITCH_COUNTERS, or this. */
#define ND_MIRROR_NO_REASON UINT8_MAX

struct nd_mirror_config {
	const uint8_t *ports;     /* port_count indices, without repetition */
	const char *const *names; /* of the same ports */
	uint32_t port_count;
	bool rx, tx;              /* frames that arrive, frames that leave */
	uint32_t snap_bytes;      /* of each frame that are kept */
	uint32_t frames;          /* slots: copies that wait for the reader */
};

/* A copy, beside its bytes. */
struct nd_mirror_frame {
	nd_ns time;              /* since the Unix epoch, as read; monotonic in the ring */
	uint32_t captured_bytes;
	uint32_t original_bytes; /* before snapping and trimming */
	uint8_t port;
	uint8_t direction;       /* enum nd_pcapng_direction */
	uint8_t verdict;         /* enum nd_mirror_verdict */
	uint8_t reason;          /* of a drop */
};

struct nd_mirror {
	uint64_t rx_ports, tx_ports; /* bit i: port i */
	uint32_t snap_bytes;
	uint32_t slot_bytes;
	struct nd_ring_shared *shared;
	struct nd_ring writer, reader;
	uint32_t begun, open; /* copies not published, and of them not ended */
	uint8_t *slots;
	uint64_t dropped;     /* written by the worker in whole words */
	nd_ns epoch;          /* wall clock at monotonic zero */
	uint32_t port_count;
	uint8_t interface[ND_MIRROR_PORTS_MAX]; /* by port index */
	char names[ND_MIRROR_PORTS_MAX][ND_MIRROR_NAME_BYTES];
};

/* NULL with *error. To be freed when neither thread uses it any more. */
struct nd_mirror *nd_mirror_new(const struct nd_mirror_config *config, struct nd_error *error);
void nd_mirror_free(struct nd_mirror *mirror);

/*
 * The worker's end. A copy is begun while the frame is whole, and ended when its fate is known;
 * others may begin and end in between. NULL when the ring is full: counted.
 */
struct nd_mirror_frame *nd_mirror_begin(struct nd_mirror *mirror, const uint8_t *frame,
					uint32_t bytes);
void nd_mirror_end(struct nd_mirror *mirror);

/* The reader's end. Copies up to count frames out, the bytes of frame i to bytes + i * snap. */
uint32_t nd_mirror_read(struct nd_mirror *mirror, struct nd_mirror_frame *frames, uint8_t *bytes,
			uint32_t count);

/* The beginning of a capture file. Bytes written, or 0 when they do not fit. */
size_t nd_mirror_header(const struct nd_mirror *mirror, uint8_t *out, size_t limit);

/* As many frames as fit, as blocks of a capture file. Bytes written. */
size_t nd_mirror_pcapng(struct nd_mirror *mirror, uint8_t *out, size_t limit);

/* Copies lost so far because the reader was late. */
uint64_t nd_mirror_dropped(const struct nd_mirror *mirror);

/* "trimmed", "dropped: queue" ... in a buffer of ND_PCAPNG_COMMENT_MAX bytes. */
const char *nd_mirror_comment(const struct nd_mirror_frame *frame, char *out);

#endif
