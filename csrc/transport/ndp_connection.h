/* SPDX-License-Identifier: Apache-2.0 */
/* A connection of NDP, in cache lines by what touches them, and what can be asked of it alone. */
#ifndef ND_TRANSPORT_NDP_CONNECTION_H
#define ND_TRANSPORT_NDP_CONNECTION_H

#include "transport/ndp.h"

#define ND_NDP_SLOT_NONE UINT16_MAX

/* More than any payload, so that no two last packets of one message are in line, see is_in_line(). */
#define ND_NDP_MSS_UNKNOWN (UINT32_C(1) << 20)

enum nd_ndp_sent_state {
	ND_NDP_FLYING = 0,  /* no feedback yet */
	ND_NDP_WAITING = 1, /* NACKed, returned or lost: to be sent again */
	ND_NDP_ACKED = 2,
};

struct nd_ndp_sent {
	uint32_t offset;  /* in its message */
	uint32_t stamp;   /* when it was sent, in 64 ns */
	uint16_t message; /* in the pool, or ND_NDP_SLOT_NONE for an empty packet */
	uint16_t path;    /* slot of its path */
	uint8_t state;    /* enum nd_ndp_sent_state */
	uint8_t tries;    /* times sent, saturating */
};
_Static_assert(sizeof(struct nd_ndp_sent) == 16, "a promise");

/* How far the FIN is: every sequence can be its, so none says that there is no FIN. */
enum nd_ndp_fin {
	ND_NDP_FIN_NONE = 0,
	ND_NDP_FIN_ASKED, /* follows the last message */
	ND_NDP_FIN_SENT,  /* with sequence fin */
};

/* Which list a connection is in. */
enum nd_ndp_list { ND_NDP_UNLISTED = 0, ND_NDP_READY, ND_NDP_STARVED };

/* A packet touches the first line and the second or the last: the bitmap follows that. */
struct nd_ndp_connection {
	/* Identity and times: what every packet touches. */
	_Alignas(64)
	nd_ns timer;         /* armed for, ND_NEVER when not */
	nd_ns alive;         /* last sign of the peer, or when we began to wait for it */
	nd_ns progress;      /* last answer or pull that was new, or packet that asked for one */
	uint64_t backlog;    /* bytes not yet given a sequence */
	uint32_t slot;       /* its own, so that no pointer need be divided to know it */
	uint32_t peer;       /* index */
	uint32_t address;    /* ... and its handle */
	uint32_t id;         /* on the wire */
	uint16_t flow;       /* hash for the network, in every packet */
	uint16_t port;       /* service */
	uint16_t own_mss;    /* our full payload: the peer counts on all being of one size */
	uint8_t state;       /* enum nd_ndp_state */
	uint8_t priority;
	uint8_t list;        /* enum nd_ndp_list */
	bool accepted;       /* by us: our packets carry FLAG_REPLY */
	bool heard;          /* the peer has state: no SYN on retransmissions */
	bool blocked;        /* waits for receive memory */
	uint8_t backoff;     /* time-outs in a row without any feedback */
	uint8_t repulls;     /* in a row */

	/* Sending: what every ACK, NACK and PULL touches. */
	_Alignas(64)
	uint32_t base;       /* oldest sequence not acknowledged */
	uint32_t next;       /* first sequence not sent */
	uint32_t window;     /* its ring of nd_ndp_sent, or ND_NONE */
	uint32_t pull_seen;  /* highest pull counter received */
	uint16_t flying;     /* packets in each state */
	uint16_t waiting;
	uint16_t credit;     /* pulls received and not used */
	uint16_t push;       /* packets that may go without a pull */
	uint16_t deferred;   /* of the first window: pushed as the train before is acknowledged */
	uint16_t owed;       /* packets lost in silence: credit when the peer is heard again */
	int32_t due;         /* answers (ACK, NACK) whose pull has not come; below 0: pulls whose
			      * answer has not */
	uint32_t history;    /* last feedbacks, newest in bit 0, ACK = 1 */
	uint8_t history_count;
	bool empty_due;      /* an empty packet is to be sent: FIN or keepalive */
	uint8_t fin_state;   /* enum nd_ndp_fin */
	bool solicit_due;    /* a header is to be sent in place of a packet */
	uint32_t train;      /* first sequence of the train under way */
	uint32_t syn_end;    /* sequences below belong to the first window */
	uint32_t fin;        /* own FIN's sequence, once it is sent */
	uint32_t messages_head; /* not fully acknowledged */
	uint32_t sending;    /* message whose packets are next, or ND_NONE */
	uint32_t list_next;

	/* What few packets touch. */
	_Alignas(64)
	uint32_t list_prev;
	uint32_t messages_tail;
	uint32_t message_count;
	uint32_t delivered;    /* list of messages not yet released */
	uint64_t number_next; /* of the next message submitted */
	uint32_t withheld;     /* pulls that wait for memory ... */
	uint32_t withheld_bytes; /* ... and what they would release */
	uint32_t blocked_next, blocked_prev;
	uint64_t blocked_number; /* lowest message that waits, ... */
	uint32_t blocked_bytes;  /* ... and its length */
	uint32_t generation;
	uint32_t listener;   /* index, ND_NONE when we connected */
	uint16_t app;
	uint64_t cookie;
	nd_ns linger;        /* CLOSE's deadline; in time-wait: its end */
	nd_ns message_deadline; /* no message's is earlier */
	uint64_t numbers_done; /* bit i: message number_base + i is released or abandoned */
	uint64_t numbers_open; /* ... has a record: it arrives or is not released */
	uint8_t reason;      /* enum nd_ndp_close_reason, answered in RESET_WAIT */
	uint8_t end_state;   /* state that it ended in */
	bool accept_event;   /* queued */
	bool close_event;    /* queued */
	int32_t error;
	uint32_t accept_next, close_next; /* next event */

	/* Receiving: what every DATA touches. */
	_Alignas(64)
	uint32_t arrived;      /* all sequences below have arrived */
	uint32_t high;         /* one above the highest sequence seen */
	uint32_t beyond;       /* sequences above arrived that have arrived */
	uint32_t end;          /* one above the last LAST seen */
	uint32_t pulled;       /* pull counter sent */
	uint32_t peer_fin;     /* peer's FIN's sequence, once it is seen */
	uint32_t mss;          /* peer's full payload, ND_NDP_MSS_UNKNOWN before it is known */
	uint32_t incoming;     /* list of arriving messages */
	uint64_t number_base;  /* lowest message that is neither released nor abandoned */
	nd_ns active;          /* last arrival (not futile) or pull of the receiving direction */
	uint16_t futile;       /* arrivals that could not be kept less those that were; 0 at
				* least, futile_max + 1 at most */
	uint16_t put_off;      /* pulls not sent because of that */
	bool peer_fin_seen;
	uint64_t bitmap[];     /* of sequences that have arrived, window_packets bits */
};
_Static_assert(offsetof(struct nd_ndp_connection, bitmap) + 1024 / 8 <= 512,
	       "idle connections are small");
_Static_assert(offsetof(struct nd_ndp_connection, list_prev) == 128 &&
	       offsetof(struct nd_ndp_connection, bitmap) % 64 == 56,
	       "DATA touches two lines, the bitmap of a window of 64 included");

/* Has neither ended nor begun to. */
static inline bool nd_ndp_is_live(const struct nd_ndp_connection *connection)
{
	return connection->state >= ND_NDP_NEW && connection->state <= ND_NDP_CLOSING;
}

static inline uint64_t nd_ndp_handle(const struct nd_ndp_connection *connection)
{
	return (uint64_t)connection->generation << 32 | connection->slot;
}

/* Something that has no sequence yet. */
static inline bool nd_ndp_has_unsent(const struct nd_ndp_connection *connection)
{
	return connection->sending != ND_NONE || connection->empty_due;
}

/* Sequences below the highest that have not arrived. */
static inline uint32_t nd_ndp_missing(const struct nd_ndp_connection *connection)
{
	return connection->high - connection->arrived - connection->beyond;
}

/* True when the peer has said that nothing follows what we have seen. */
static inline bool nd_ndp_end_known(const struct nd_ndp_connection *connection)
{
	return connection->end == connection->high;
}

/* The peer has sent its FIN, and all before that has arrived. */
static inline bool nd_ndp_peer_is_done(const struct nd_ndp_connection *connection)
{
	return connection->peer_fin_seen && connection->arrived == connection->peer_fin + 1;
}

/* True when nothing can happen unless the peer sends a pull. */
static inline bool nd_ndp_is_stalled(const struct nd_ndp_connection *connection)
{
	return connection->flying == 0 && connection->credit == 0 &&
	       (connection->waiting != 0 ||
		(connection->push == 0 && nd_ndp_has_unsent(connection)));
}

/* Times in a row that packets are lost in silence before that is no chance any more. */
#define ND_NDP_UNPASSED_LOSSES 3

/* The peer answered, and nothing of what was sent has reached it: headers do, packets do not. */
static inline bool nd_ndp_is_unpassed(const struct nd_ndp_connection *connection)
{
	return connection->heard && !connection->accepted && connection->base == 0 &&
	       connection->flying + connection->waiting == connection->next &&
	       connection->backoff >= ND_NDP_UNPASSED_LOSSES;
}

/* A sign of life from the peer. */
static inline void nd_ndp_feedback_heard(struct nd_ndp_connection *connection, nd_ns now)
{
	connection->alive = now;
	connection->heard = true;
	if (connection->state == ND_NDP_OPENING)
		connection->state = ND_NDP_OPEN;
}

#endif
