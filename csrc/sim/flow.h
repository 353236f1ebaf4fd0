/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the hosts are to send, and what became of it: two plain arrays, filled in before the run
 * and read after it.
 */
#ifndef ND_SIM_FLOW_H
#define ND_SIM_FLOW_H

#include "base/types.h"
#include "sim/agenda.h"

enum nd_flow_kind {
	ND_FLOW_ONEWAY = 0, /* a message; Homa: a request with an empty response */
	ND_FLOW_ECHO = 1,   /* a request, and a reply of reply_bytes from the target */
};

/* bytes of a flow that goes on until the run ends. */
#define ND_FLOW_ENDLESS UINT64_MAX

/* Never reached: "this did not happen". */
#define ND_FLOW_NEVER UINT64_MAX

struct nd_flow {
	nd_ps start_ps;       /* absolute; counted from the trigger when there is one */
	uint64_t bytes;       /* of the message or request, or ND_FLOW_ENDLESS */
	uint32_t reply_bytes; /* ECHO */
	uint32_t source;      /* host */
	uint32_t target;      /* host */
	uint32_t starts_on;   /* trigger that starts it, or ND_NONE */
	uint32_t on_sent;     /* trigger released when the source knows that all arrived (ECHO:
			       * when the reply is there), or ND_NONE */
	uint32_t on_received; /* trigger released when the last byte is at the target, or ND_NONE */
	uint8_t kind;         /* enum nd_flow_kind */
	uint8_t priority;     /* 0..7, as in nd_command */
	uint8_t engine;       /* index in the simulation's list of engines */
	uint8_t background;   /* 1: the run does not wait for it */
	uint32_t spare;
};

_Static_assert(sizeof(struct nd_flow) == 48, "one numpy record");

enum nd_flow_state {
	ND_FLOW_WAITING = 0,  /* its time has not come, or its trigger was not released */
	ND_FLOW_STARTED = 1,
	ND_FLOW_RECEIVED = 2, /* all bytes are at the target */
	ND_FLOW_DONE = 3,     /* ... and the source knows it; ECHO: the reply is there */
	ND_FLOW_FAILED = 4,   /* error says why */
};

struct nd_flow_row {
	nd_ps start_ps;    /* when the application asked for it, or ND_FLOW_NEVER */
	nd_ps first_ps;    /* first payload at the target, or ND_FLOW_NEVER */
	nd_ps received_ps; /* last byte at the target, or ND_FLOW_NEVER */
	nd_ps done_ps;     /* source knows it, or the reply is there; or ND_FLOW_NEVER */
	nd_ps best_ps;     /* shortest possible received_ps - start_ps on one path of an idle
			    * network; ECHO: done_ps - start_ps */
	uint64_t payload_bytes; /* payload that arrived at the target, duplicates included */
	uint32_t packets;  /* data packets that arrived there whole */
	uint32_t lag_ns;   /* probe delay: the completing packet waited for less urgent ones */
	uint32_t wait_ns;  /* probe delay: ... in all queues, lag included */
	int16_t error;     /* negative errno when FAILED */
	uint8_t state;     /* enum nd_flow_state */
	uint8_t spare;
};

_Static_assert(sizeof(struct nd_flow_row) == 64, "one cache line, one numpy record");

/* Starts the flows that name it once it was released `needs` times. */
struct nd_trigger {
	uint32_t needs; /* 1: one-shot; more: a barrier */
};

#endif
