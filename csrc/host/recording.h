/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The file of a recording: all that a core was given, in order, and what it sent because of it.
 *
 * A header, then records one after the other, each padded to 8 bytes: the set-up, then rounds. Of
 * a round there are the commands taken, a TURN, in which packets leave, the frames received, the
 * timers that ran, and EVENTS, when applications get theirs; the room that ports had and the frames
 * that left follow their TURN. What happens between rounds has records of its own.
 *
 * DESIGN NOTES
 * 1. The core is a function of its inputs: set-up, seed, commands with their payloads, frames, and
 *    the one time that a round reads. That, and no more, is recorded; state never is.
 * 2. Rounds that did nothing are left out. So a round in which engines have nothing to send must
 *    not change them; a replay that differs would show it.
 * 3. header.used grows after a whole round, and the file is memory that the kernel writes back:
 *    a recording can be replayed up to the last round before its process was killed.
 * 4. Every record has a check: what a disk or an editor has damaged is found as such, and never
 *    taken for a difference of the engines.
 * 5. Set-up is recorded as the structs of this build. A build whose structs have other sizes
 *    refuses the recording.
 */
#ifndef ND_HOST_RECORDING_H
#define ND_HOST_RECORDING_H

#include "host/channel.h"
#include "ndpstack.h"
#include "wire/frame.h"

#define ND_RECORDING_MAGIC "NDPREC\r\n"
#define ND_RECORDING_VERSION 3u
#define ND_RECORDING_BYTES_MIN (1u << 16)
#define ND_RECORDING_HEAD_BYTES 160u /* of a frame that left; all of it that is not payload */

_Static_assert(ND_FRAME_HEADERS_MAX <= ND_RECORDING_HEAD_BYTES, "headers are kept");

enum nd_recording_state {
	ND_RECORDING_OPEN,  /* still being written, or its process was killed */
	ND_RECORDING_ENDED, /* the core stopped in order */
	ND_RECORDING_FULL,  /* the limit was reached */
};

struct nd_recording_header {
	char magic[8];
	uint32_t version;
	uint32_t state;   /* enum nd_recording_state */
	uint64_t used;    /* bytes of the file that are whole rounds */
	nd_ns wall_clock; /* since the epoch, at ... */
	nd_ns monotonic;  /* ... this time of the records */
	uint64_t spare;
};

enum nd_record_kind {
	ND_RECORD_SETUP = 1, /* struct nd_record_setup */
	ND_RECORD_PORT,      /* index: port; struct nd_record_port: opened, again, or closed */
	ND_RECORD_ENGINE,    /* index: protocol; its config struct */
	ND_RECORD_READY,     /* set-up is complete */
	ND_RECORD_ATTACH,    /* index: application, detail: its group */
	ND_RECORD_DETACH,    /* index: application */
	ND_RECORD_COMMAND,   /* index: application; struct nd_submission, payload */
	ND_RECORD_FRAME,     /* index: port; the frame received */
	ND_RECORD_TIMER,     /* index: engine; its timer was due and ran */
	ND_RECORD_TURN,      /* transmission */
	ND_RECORD_ROOM,      /* index: port, detail: frames that it had room for */
	ND_RECORD_SENT,      /* index: port; struct nd_record_sent, head of the frame */
	ND_RECORD_EVENTS,    /* applications got their events */
	ND_RECORD_CHECK,     /* unused blanks went back; waiting commands were looked at */
	ND_RECORD_RESOLVER,  /* the control plane attached */
	ND_RECORD_ASKED,     /* detail: most addresses that it took */
	ND_RECORD_FOUND,     /* index: port; struct nd_record_way */
	ND_RECORD_LOST,      /* detail: reason; struct nd_record_way */
	ND_RECORD_TELL,      /* index: engine; struct nd_record_tell */
	ND_RECORD_WIRE,      /* struct nd_record_wire: from now on */
	ND_RECORD_KINDS,
};

struct nd_record {
	uint32_t bytes; /* of the body, without padding */
	uint8_t kind;   /* enum nd_record_kind */
	uint8_t index;
	uint16_t detail;
	uint32_t check; /* CRC-32C of all this with a check of 0, and the body */
	uint32_t spare;
	nd_ns now;      /* 0 where no time matters */
};

struct nd_record_setup {
	struct nd_frame_config frame;
	struct nd_stack_channel_config channel;
	uint64_t seed;
	uint64_t link_bps;
	uint32_t port_count;
	uint32_t peers_max;
	uint32_t profile;
	uint16_t vlan;
	uint8_t address_v4[16];
	uint8_t address_v6[16];
};

struct nd_record_port {
	uint32_t mtu;
	uint32_t frame_bytes_max;
	uint8_t mac[6];
	bool derive;
	bool open;
	char name[ND_PORT_NAME_BYTES];
};

struct nd_record_sent {
	uint32_t bytes; /* of the frame */
	uint32_t check; /* CRC-32C of all of it */
};

struct nd_record_way {
	uint8_t address[16];
	uint8_t mac[6];
	uint16_t spare;
};

/* What the host itself told an engine. */
struct nd_record_tell {
	uint64_t message;
	uint32_t bytes;
	uint8_t kind;   /* enum nd_command_kind */
	uint8_t has_cutoffs;
	uint16_t spare;
	uint32_t cutoffs[ND_HOMA_PRIORITIES];
};

/* How frames are marked, and the rate that the NIC scheduler keeps. */
struct nd_record_wire {
	struct nd_frame_config frame;
	uint64_t link_bps;
};

/* What a record takes in the file. */
static inline size_t nd_record_room(size_t body_bytes)
{
	return (sizeof(struct nd_record) + body_bytes + 7) & ~(size_t)7;
}

#endif
