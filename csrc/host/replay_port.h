/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The port of a replayed core: it has the room that was recorded, and compares what is sent.
 */
#ifndef ND_HOST_REPLAY_PORT_H
#define ND_HOST_REPLAY_PORT_H

#include "host/recording.h"
#include "host/replay.h"
#include "port/port.h"

struct nd_core_port;

/* The records of one turn: ROOM and SENT, of all ports. */
struct nd_replay_turn {
	const uint8_t *begin, *end;
	nd_ns now;
};

struct nd_replay_port {
	struct nd_port base;
	const struct nd_replay_turn *turn;
	const uint8_t *room_at, *sent_at; /* where this port has got to in the turn */
	uint32_t index;
	bool unasked; /* the blanks that are out are of no record: go back when the turn is over */
	struct nd_replay_result *result;
	nd_replay_sink *sink; /* or NULL */
	void *context;
	int code;             /* what the sink returned */
	uint8_t *memory;      /* of the blanks */
};

/* NULL: no memory. It is closed by nd_port_close(). */
struct nd_replay_port *nd_replay_port_open(const struct nd_record_port *record, uint32_t index,
					   const struct nd_replay_turn *turn,
					   struct nd_replay_result *result);

/* The turn has been set: begins with its records. */
void nd_replay_port_begin(struct nd_replay_port *port);

/*
 * The turn is over: what the recording has and was not sent is a difference, and what the core took
 * beyond the recorded room goes back.
 */
void nd_replay_port_end(struct nd_replay_port *port, struct nd_core_port *user);

#endif
