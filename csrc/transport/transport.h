/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The engine contract: what a protocol is to its driver.
 *
 * An endpoint is one host's instance of one protocol, all peers and flows included. It does no
 * I/O, reads no clock and allocates nothing after init; time is always an argument. The fast
 * path, the simulator and the tests drive the same object code through this table.
 *
 * DESIGN NOTES
 * 1. transmit() is pull-style: the NIC asks when it has room, so SRPT and priorities are decided
 *    at the last moment. It fills in the ONE best packet of the class asked for.
 * 2. Payload of outgoing messages is not copied: command.payload stays valid and unchanged until
 *    an event ends the message. Incoming messages are assembled in memory got from nd_rx_memory;
 *    the application gives it back by ND_COMMAND_RELEASE, which is also what returns credit.
 * 3. Where no bytes are carried (simulator), payload pointers are NULL and only lengths count.
 * 4. Everything that can grow has a limit in the protocol's config, and a counter when it is hit.
 * 5. An endpoint changes in calls only. So what transmit(), events() and deadline() have said
 *    holds until the next submit(), receive(), on_deadline() or event taken, but that packets may
 *    become ready when deadline() is reached; a driver need not ask again before.
 *
 * Applications need the commands and events of this file and not its table. A command's deadline is
 * an absolute time of the driver's clock, which in a stack of ndpstack.h is CLOCK_MONOTONIC.
 */
#ifndef ND_TRANSPORT_TRANSPORT_H
#define ND_TRANSPORT_TRANSPORT_H

#include "base/counters.h"
#include "base/types.h"
#include "wire/packet.h"

/* Longest message that is sent or accepted, unless a protocol's config says otherwise. */
#define ND_MESSAGE_BYTES_MAX (UINT32_C(64) << 20)
#define ND_LINK_BPS_ASSUMED UINT64_C(10000000000) /* where nobody knows the link's rate */

/* What an application asks for. */
enum nd_command_kind {
	ND_COMMAND_LISTEN,   /* port, app: accept connections / serve requests; NDP: message: most
				connections of peers at once, 0: the configured backlog */
	ND_COMMAND_UNLISTEN, /* port; Homa: requests without a reply end, their clients are told */
	ND_COMMAND_CONNECT,  /* NDP: peer, port -> id; nothing is sent before data (R-NHA-08) */
	ND_COMMAND_SEND,     /* NDP: id (connection), payload, bytes -> message */
	ND_COMMAND_CLOSE,    /* NDP: id; what is queued is delivered first */
	ND_COMMAND_RESET,    /* NDP: id; drops everything and tells the peer */
	ND_COMMAND_REQUEST,  /* Homa: peer, port, payload, bytes -> id (RPC) */
	ND_COMMAND_REPLY,    /* Homa: id, payload, bytes */
	ND_COMMAND_CANCEL,   /* Homa: id, or 0 and the cookie of our request; NDP: id, message (if
				not fully sent: resets the rest) */
	ND_COMMAND_RELEASE,  /* id, message: the application is done with a received message */
	ND_COMMAND_PATHS,    /* peer, payload = uint16_t path ids, bytes = 2 * count */
	ND_COMMAND_DETACH,   /* app: the application is gone, reclaim all it held */
	ND_COMMAND_WINDOW,   /* Homa: peer, bytes: RTTbytes of this peer, 0 = the configured ones */
	/* Of the host alone: what it knows of its link. */
	ND_COMMAND_MSS,    /* bytes: message bytes of full packets from now on; message: most that
			    * the link takes, for connections that began with larger ones */
	ND_COMMAND_LINK,   /* message: bits/s of the link, 0: unknown: pulls are spaced, windows
			    * made for it */
	ND_COMMAND_LEVELS, /* Homa: bytes: priority levels, 8, 4, 2 or 1, 0: as configured;
			    * payload = uint32_t cutoffs[8] in force, NULL: as configured */
};

#define ND_PRIORITY_MAX 7u /* that an application gives */

struct nd_command {
	uint8_t kind;           /* enum nd_command_kind */
	uint8_t priority;       /* 0..ND_PRIORITY_MAX, 0 is the default. CONNECT: connections with a higher one are
				 * served first. REQUEST, REPLY: this host sends those with a higher
				 * one first, by what is left of them only where it is the same. */
	uint16_t app;           /* application that asks; events go to it */
	uint32_t peer;          /* address handle */
	uint16_t port;          /* NDP service or Homa port of the peer; LISTEN: our own */
	uint16_t source_port;   /* Homa: client port the request comes from, 0 = engine's choice */
	uint32_t bytes;         /* of payload */
	uint64_t id;            /* in or out: connection or RPC */
	uint64_t message;       /* in or out: message number within the connection; see LISTEN */
	uint64_t cookie;        /* caller's; comes back in every event about this id */
	nd_ns deadline;         /* REQUEST, REPLY, SEND, CLOSE: give up at this time (FAILED or
				 * CLOSED, -ETIMEDOUT); 0 or ND_NEVER: none */
	const uint8_t *payload; /* valid until the message's last event; NULL: lengths only */
};

/*
 * What an engine reports.
 *
 * Homa ids: a client's RPC is named by its even id on the wire; a server's by an odd handle that is
 * unique on this host (ids on the wire are unique per client only) and never reused, so a stale one
 * is -ENOENT. The event's message field holds the id on the wire; in FAILED it holds progress, see
 * transport/homa.h.
 */
enum nd_event_kind {
	ND_EVENT_ACCEPTED, /* NDP: id is a new incoming connection from peer to port */
	ND_EVENT_MESSAGE,  /* NDP: a message arrived whole */
	ND_EVENT_ABANDONED, /* NDP: its sender cancelled this message: it never arrives */
	ND_EVENT_REQUEST,  /* Homa server: a request arrived whole */
	ND_EVENT_RESPONSE, /* Homa client: the response arrived whole; request payload is free */
	ND_EVENT_SENT,     /* NDP message or Homa response fully acknowledged; payload is free */
	ND_EVENT_FAILED,   /* error says why; the payload of id/message is free */
	ND_EVENT_CLOSED,   /* NDP: connection id is gone; error 0 when it ended in order */
	ND_EVENT_OPENED,   /* never from an engine: a host took the command of this cookie; its id */
};

struct nd_event {
	uint8_t kind;      /* enum nd_event_kind */
	uint8_t priority;
	uint16_t app;
	int32_t error;     /* 0 or negative errno */
	uint32_t peer;
	uint16_t port;
	uint8_t protocol;  /* set by the driver: the engine whose event it is */
	uint8_t spare;
	uint32_t bytes;    /* MESSAGE, REQUEST, RESPONSE: length; FAILED: bytes that got through */
	uint32_t detail;   /* FAILED: for Homa see nd_homa_failed_state() and what follows it; NDP,
			    * CLOSED too: enum nd_ndp_state */
	uint64_t id;
	uint64_t message;
	uint64_t cookie;
	uint8_t *payload;  /* received bytes until RELEASE; NULL where no bytes are carried */
};

static_assert(sizeof(struct nd_event) == 56, "decoded by one struct format in Python");

/* What an operator is shown of a connection or an RPC. */
struct nd_exchange {
	uint64_t id;             /* as the application knows it */
	uint64_t unsent_bytes;   /* of messages given to the engine */
	uint64_t arrived_bytes;  /* of messages that are not whole yet ... */
	uint64_t arriving_bytes; /* ... and their lengths */
	nd_ns heard_at;          /* last sign of the peer, or when we began to wait for one */
	uint32_t peer;           /* address handle */
	uint32_t messages;       /* being sent, or not yet acknowledged */
	uint32_t unacked_packets; /* NDP */
	uint32_t allowed;        /* may be sent now: packets (NDP) or bytes (Homa) */
	uint16_t port;
	uint16_t app;
	uint8_t protocol;        /* enum nd_protocol */
	uint8_t state;           /* enum nd_ndp_state, enum nd_homa_state */
	uint8_t priority;
	bool accepted;           /* the peer began it */
	uint8_t address[16];     /* of the peer; set by the driver */
};

/* Where received messages are assembled. get returns NULL when the application is out of credit. */
struct nd_rx_memory {
	void *context;
	uint8_t *(*get)(void *context, uint16_t app, uint32_t bytes);
	void (*put)(void *context, uint16_t app, uint8_t *memory, uint32_t bytes);
};

/* Classes of packets that a NIC asks for: control goes out first. */
enum nd_class { ND_CLASS_CONTROL, ND_CLASS_DATA };

struct nd_setup {
	uint64_t seed;                 /* of the endpoint's random streams */
	uint32_t self;                 /* own address handle, becomes packet.source */
	const struct nd_rx_memory *rx; /* NULL: payload is never stored (lengths only) */
	const void *config;            /* the protocol's config struct, copied */
};

/* How far foresee() goes: each step reads what the one before has fetched. */
enum nd_foresee {
	ND_FORESEE_FIRST, /* the beginning of the endpoint is here */
	ND_FORESEE_THEN,
};

struct nd_transport_ops {
	const char *name;
	uint8_t protocol; /* enum nd_protocol */

	/* 0 or -EINVAL with *why naming field, value, limit and remedy. */
	int (*check)(const void *config, const char **why);
	/* Bytes of zeroed 64-byte aligned memory that init needs. */
	size_t (*bytes)(const void *config);
	void (*init)(void *endpoint, const struct nd_setup *setup);

	/* 0 or -errno; outputs in command->id and command->message. */
	int (*submit)(void *endpoint, struct nd_command *command, nd_ns now);
	/*
	 * True when the command leaves others at least as many connections, RPCs, queued messages or
	 * ports listened on as the applications of these bits have then.
	 */
	bool (*leaves_room)(const void *endpoint, const struct nd_command *command, uint64_t apps);
	/*
	 * True while the peer's handle may name nobody else: something is under way with it, or what
	 * ended is remembered, so that duplicates of its packets are known for what they are.
	 */
	bool (*needs_peer)(const void *endpoint, uint32_t peer, nd_ns now);
	/* One packet of this protocol; it and its payload are valid during the call only. */
	void (*receive)(void *endpoint, const struct nd_packet *packet, nd_ns now);
	/* Fills in the best packet of the class, or returns false when there is none now. */
	bool (*transmit)(void *endpoint, struct nd_packet *packet, enum nd_class wanted, nd_ns now);
	/* When on_deadline (or transmit, for paced packets) wants to run next. */
	nd_ns (*deadline)(const void *endpoint);
	void (*on_deadline)(void *endpoint, nd_ns now);
	/* Takes up to limit events out; returns how many. */
	uint32_t (*events)(void *endpoint, struct nd_event *out, uint32_t limit);
	/*
	 * For speed alone, or NULL: fetches into the cache what a packet that comes soon (NULL: a
	 * turn to send) is going to touch. Changes nothing.
	 */
	void (*foresee)(const void *endpoint, const struct nd_packet *packet, enum nd_foresee step);

	/* Bytes that peers may send now and that have not come yet. NULL: it does not know. */
	uint64_t (*expected)(const void *endpoint);

	const struct nd_counters_table *counters_table;
	const uint64_t *(*counters)(const void *endpoint);
	/*
	 * Copies connections or RPCs from *cursor (first 0) on and moves it; returns how many. When
	 * there are no more the cursor becomes ND_NONE.
	 */
	uint32_t (*show)(const void *endpoint, uint32_t *cursor, struct nd_exchange *out,
			 uint32_t limit);
	/* Checks every internal invariant (lists, pools, credit); NULL or what is wrong. O(state). */
	const char *(*audit)(const void *endpoint);
};

#endif
