/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The state of a Homa endpoint.
 *
 * DESIGN NOTES
 * 1. Every RPC is in at most one place of each kind: timer heap, ready heaps, grant order, control
 *    list, event list, starved list. Nothing on the path of a packet walks over RPCs.
 * 2. Control packets are not queued, they are flags of the RPC: a GRANT is composed when the NIC
 *    takes it, with the newest offset. Packets that belong to no RPC wait in a bounded ring.
 * 3. Events are flags too. They cannot overflow, and an RPC whose last event is not taken yet
 *    still owns its entry, so that no event speaks of something that was reused.
 * 4. Timers are lazy: progress only stores the time; a timer that comes too early moves on.
 */
#ifndef ND_TRANSPORT_HOMA_STATE_H
#define ND_TRANSPORT_HOMA_STATE_H

#include "base/heap.h"
#include "base/map.h"
#include "base/pool.h"
#include "transport/homa.h"

/* Control packets that an RPC wants to send; the lowest bit goes first. */
enum {
	CONTROL_RESEND = 1 << 0,
	CONTROL_BUSY = 1 << 1,
	CONTROL_GRANT = 1 << 2,
	CONTROL_NEED_ACK = 1 << 3,
};

/* Events that an RPC has for its application; the lowest bit goes first. */
enum {
	EVENT_REQUEST = 1 << 0,
	EVENT_RESPONSE = 1 << 1,
	EVENT_SENT = 1 << 2,
	EVENT_FAILED = 1 << 3,
};

/* nd_homa_rpc.flags */
enum {
	RPC_LEASED = 1 << 0,    /* the application holds the received message */
	RPC_DELIVERED = 1 << 1, /* server: the application has, or had, the request */
	RPC_QUIET = 1 << 2,     /* a RESEND is unanswered: no grants, nothing counted as incoming */
	RPC_STARVED = 1 << 3,   /* no memory for the incoming message yet */
	RPC_HEARD = 1 << 4,     /* client: the server showed that it knows the RPC */
	RPC_DOUBTED = 1 << 5,   /* ... and then said that it does not */
	RPC_INCAST = 1 << 6,    /* request carries the incast flag */
	RPC_ASKED = 1 << 7,     /* a RESEND went out since it was doubted */
	RPC_PUT_OFF = 1 << 8,   /* client: the server is full; silent until the timer fires */
	RPC_GAPLESS = 1 << 9,   /* found no gap free: goes on packet by packet until it caught up */
	RPC_REMEMBER = 1 << 10, /* server: must not run again once it ended */
	RPC_UNPASSED = 1 << 11, /* client: the server answers that it has nothing of the request */
	RPC_IDLE = 1 << 12,     /* the peer's last word of it brought no bytes: not counted as incoming */
};

enum nd_homa_list_kind { LIST_CONTROL, LIST_EVENTS, LIST_STARVED, LIST_OLDEST, LIST_KINDS };

struct nd_homa_link {
	uint32_t next;
	uint32_t previous;
};

struct nd_homa_list {
	uint32_t first;
	uint32_t last;
};

struct nd_homa_out {
	const uint8_t *payload;
	uint32_t bytes;       /* of the whole message */
	uint32_t sent;        /* transmitted once, from the start */
	uint32_t granted;     /* may be sent: below this */
	uint32_t unscheduled; /* ... without any grant; a packet ends here */
	uint32_t resend_from; /* asked for again, to resend_to; equal when nothing is */
	uint32_t resend_to;
	uint8_t unscheduled_priority;
	uint8_t granted_priority;
	uint8_t resend_priority;
	bool begun; /* at least one DATA packet was sent */
};

struct nd_homa_in {
	uint8_t *memory;    /* where the message is assembled; NULL: lengths only, or starved */
	uint32_t bytes;     /* of the whole message */
	uint32_t received;  /* distinct bytes that arrived */
	uint32_t end;       /* one past the highest byte that arrived */
	uint32_t granted;   /* the peer may send: below this */
	uint32_t counted;   /* part of nd_homa.incoming: granted - received, 0 when quiet or idle */
	uint32_t gaps;      /* holes below end, in order */
	uint32_t gap_count;
	uint8_t level;      /* priority in the last GRANT */
	bool begun;         /* bytes is known */
};

/* Links of the pairing heap of one peer's grantable messages; see homa_order.c. */
struct nd_homa_order {
	uint64_t key; /* ungranted bytes << 32 | age; ND_NEVER: not in the heap */
	uint32_t child;
	uint32_t next;
	uint32_t previous; /* left sibling, or parent of a first child */
};

struct nd_homa_rpc {
	uint64_t id;        /* even: ours as client; odd: the client's id | 1 */
	uint64_t key;       /* server: in nd_homa.known */
	uint64_t handle;    /* what the application knows: id of a client, else see nd_homa_handle */
	uint64_t cookie;
	nd_ns deadline;     /* of the application */
	nd_ns quiet_since;  /* last sign of life of the peer, or last packet of ours that asks for one */
	uint32_t index;     /* of this entry */
	uint32_t peer;      /* index of struct nd_homa_peer */
	uint32_t age;       /* counts RPCs; breaks ties */
	uint32_t generation; /* survives reuse of the entry */
	int32_t error;
	uint16_t app;
	uint16_t own_port;
	uint16_t peer_port;
	uint8_t state;       /* enum nd_homa_state */
	uint8_t state_failed; /* state when it failed */
	uint8_t control;     /* CONTROL_* */
	uint8_t events;      /* EVENT_* */
	uint8_t attempts;    /* RESENDs or NEED_ACKs without answer */
	uint8_t refusals;    /* client: times that the server was full, in a row */
	uint16_t flags;      /* RPC_* */
	uint8_t priority;    /* of our message, by the application: above what is left of it */
	struct nd_homa_out out;
	struct nd_homa_in in;
	struct nd_homa_order order;
	struct nd_homa_link links[LIST_KINDS];
};

_Static_assert(sizeof(struct nd_homa_rpc) <= 320, "five cache lines an RPC");

enum nd_homa_make {
	MAKE_UNKNOWN = 0, /* nothing received yet */
	MAKE_OURS = 1,
	MAKE_OTHER = 2,
};

struct nd_homa_peer {
	uint32_t handle;
	uint32_t index;       /* of this entry */
	uint32_t rpcs;        /* that name this peer */
	uint32_t server_rpcs; /* ... opened by it */
	uint32_t rtt_bytes;   /* override, 0 = config */
	uint32_t grantable;   /* root of the heap of its messages that want grants */
	uint32_t rank;        /* place among the active peers, ND_NONE = not active */
	uint32_t newer;       /* least-recently-used list of all peers */
	uint32_t older;
	uint64_t floor;       /* ids up to here may have run; 0 = none */
	nd_ns floor_at;
	nd_ns done_at;        /* one of its RPCs was remembered last, 0 = never */
	nd_ns cutoffs_at;     /* last CUTOFFS sent, 0 = never */
	uint16_t cutoff_version; /* of the peer's cutoffs, 0 = none received */
	uint8_t make;         /* enum nd_homa_make */
	bool mismatch;        /* its RTTbytes were seen to differ */
	uint8_t ack_count;
	uint16_t ack_ports[ND_HOMA_ACKS_MAX];
	uint32_t cutoffs[ND_HOMA_PRIORITIES];
	uint64_t ack_ids[ND_HOMA_ACKS_MAX];
};

_Static_assert(sizeof(struct nd_homa_peer) <= 256, "an idle peer with its indices is under 512 B");

struct nd_homa_gap {
	uint32_t start;
	uint32_t end;
	uint32_t next;
};

/* A control packet that belongs to no RPC. */
struct nd_homa_reply {
	uint64_t id; /* sender_id */
	uint32_t peer; /* address handle */
	uint16_t own_port;
	uint16_t peer_port;
	uint8_t type;
	uint8_t note;
};

/* Values of nd_homa.known: the index of an open RPC, or this bit and a place in nd_homa.done. */
#define ND_HOMA_ENDED (UINT32_C(1) << 31)

/* A completed RPC of a peer. */
struct nd_homa_done {
	uint64_t key;
	uint64_t id;
	nd_ns at;
	uint32_t peer; /* address handle */
};

/* Log-spaced sizes: eight bins an octave. */
#define ND_HOMA_BINS 240

struct nd_homa_learned {
	uint64_t unscheduled[ND_HOMA_BINS]; /* bytes that came without grants, by message size */
	uint64_t scheduled;                 /* bytes that needed grants */
	uint32_t messages;                  /* since the last computation */
	nd_ns at;                           /* of the next one */
};

/* What every packet touches comes first; see struct nd_ndp. */
struct nd_homa {
	nd_ns now;               /* of the call in progress */
	uint64_t key;            /* secret odd factor, see nd_homa_key() */
	uint64_t next_id;
	uint32_t next_age;

	struct nd_pool rpcs;
	uint32_t *clients;       /* our ids, from bit 1 up, modulo their number -> RPC, or ND_NONE */
	uint32_t client_mask;    /* their number - 1, a power of two at least twice rpcs_max */
	struct nd_map known;     /* nd_homa_key() -> what became of a peer's RPC */
	struct nd_pool peers;
	struct nd_map peer_map;  /* address handle -> peer */
	uint32_t newest_peer;
	uint32_t oldest_peer;
	struct nd_map ports;     /* listening port -> app */
	struct nd_pool gaps;
	struct nd_heap timers;   /* by time */
	uint32_t client_rpcs;
	uint32_t server_rpcs;
	uint32_t server_rpcs_any; /* below it a request finds room, whosever it is */

	struct nd_heap ready;        /* messages with DATA to send, by srpt_key() */
	struct nd_heap ready_oldest; /* ... those longer than a packet, oldest first */
	uint64_t send_fifo_credit;   /* 1/1000 bytes that the oldest one may send out of turn */

	struct nd_heap waiting;      /* peers with grantable messages that are not active */
	uint32_t active[ND_HOMA_OVERCOMMIT_MAX]; /* peers whose first message gets grants, best first */
	uint32_t active_count;
	uint32_t grantable_count;
	uint32_t degree;             /* most active peers */
	uint64_t incoming;           /* sum of in.counted */
	uint64_t grant_fifo_credit;
	bool stalled;                /* a grant waits for max_incoming_bytes */

	struct nd_homa_list lists[LIST_KINDS]; /* LIST_STARVED is per app instead */
	struct nd_homa_list *starved;
	uint32_t starved_count;
	uint32_t *held; /* per app: RPCs, as client and as server */

	struct nd_homa_reply *replies;
	uint32_t reply_first;
	uint32_t reply_count;

	struct nd_homa_done *done; /* ring, oldest at done_first */
	uint32_t done_first;
	uint32_t done_count;

	uint32_t cutoffs[ND_HOMA_PRIORITIES];
	uint16_t cutoff_version;
	uint8_t unscheduled_levels;
	uint8_t scheduled_levels;
	uint8_t collapse; /* low bits of a priority that do not count */
	bool cutoffs_set; /* by the host: none are learned */
	struct nd_homa_config config;
	struct nd_homa_counters counters;
	struct nd_setup setup;
	struct nd_rx_memory rx;  /* copy; get is NULL where no bytes are kept */
	struct nd_homa_learned learned;
};

#endif
