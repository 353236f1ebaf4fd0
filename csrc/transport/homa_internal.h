/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The state of a Homa endpoint, and what its files call of each other.
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
#ifndef ND_TRANSPORT_HOMA_INTERNAL_H
#define ND_TRANSPORT_HOMA_INTERNAL_H

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
	uint32_t counted;   /* part of nd_homa.incoming: granted - received, 0 when quiet */
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
	uint64_t key;       /* in nd_homa.rpc_map */
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

struct nd_homa {
	struct nd_homa_counters counters;
	struct nd_homa_config config;
	struct nd_setup setup;
	struct nd_rx_memory rx;  /* copy; get is NULL where no bytes are kept */
	nd_ns now;               /* of the call in progress */
	uint64_t key;            /* secret odd factor, see nd_homa_key() */
	uint64_t next_id;
	uint32_t next_age;

	struct nd_pool rpcs;
	struct nd_map rpc_map;   /* nd_homa_key() -> RPC */
	struct nd_pool peers;
	struct nd_map peer_map;  /* address handle -> peer */
	uint32_t newest_peer;
	uint32_t oldest_peer;
	struct nd_map ports;     /* listening port -> app */
	struct nd_pool gaps;
	struct nd_heap timers;   /* by time */
	uint32_t client_rpcs;
	uint32_t server_rpcs;

	struct nd_heap ready;        /* messages with DATA to send: fewest remaining bytes first */
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

	struct nd_homa_reply *replies;
	uint32_t reply_first;
	uint32_t reply_count;

	struct nd_homa_done *done; /* ring, oldest at done_first */
	struct nd_map done_map;
	uint32_t done_first;
	uint32_t done_count;

	struct nd_homa_learned learned;
	uint32_t cutoffs[ND_HOMA_PRIORITIES];
	uint16_t cutoff_version;
	uint8_t unscheduled_levels;
	uint8_t scheduled_levels;
	uint8_t collapse; /* low bits of a priority that do not count */
	nd_ns frozen;
};

static inline struct nd_homa_rpc *nd_homa_rpc_at(const struct nd_homa *homa, uint32_t index)
{
	return nd_pool_at(&homa->rpcs, index);
}

static inline struct nd_homa_peer *nd_homa_peer_at(const struct nd_homa *homa, uint32_t index)
{
	return nd_pool_at(&homa->peers, index);
}

static inline bool nd_homa_is_server(const struct nd_homa_rpc *rpc)
{
	return rpc->id & 1;
}

/* Doubly linked lists of RPCs, one link an RPC for each kind. */
static inline void nd_homa_list_append(struct nd_homa *homa, struct nd_homa_list *list,
				       enum nd_homa_list_kind kind, struct nd_homa_rpc *rpc)
{
	rpc->links[kind] = (struct nd_homa_link){ .next = ND_NONE, .previous = list->last };
	if (list->last == ND_NONE)
		list->first = rpc->index;
	else
		nd_homa_rpc_at(homa, list->last)->links[kind].next = rpc->index;
	list->last = rpc->index;
}

static inline void nd_homa_list_remove(struct nd_homa *homa, struct nd_homa_list *list,
				       enum nd_homa_list_kind kind, const struct nd_homa_rpc *rpc)
{
	const struct nd_homa_link *link = &rpc->links[kind];

	if (link->previous == ND_NONE)
		list->first = link->next;
	else
		nd_homa_rpc_at(homa, link->previous)->links[kind].next = link->next;
	if (link->next == ND_NONE)
		list->last = link->previous;
	else
		nd_homa_rpc_at(homa, link->next)->links[kind].previous = link->previous;
}

/*
 * An RPC's key in the map: a client's id is unique by itself, a server's with the address only. The
 * factor is secret, so that no peer can choose an id whose key meets that of another's RPC.
 */
static inline uint64_t nd_homa_key(const struct nd_homa *homa, uint32_t handle, uint64_t id)
{
	if (!(id & 1))
		return id;
	return id + handle * homa->key;
}

/* homa_peer.c */
/* The one used last is asked for most often. */
static inline struct nd_homa_peer *nd_homa_peer_find(const struct nd_homa *homa, uint32_t handle)
{
	uint32_t index = homa->newest_peer;

	if (index != ND_NONE && nd_homa_peer_at(homa, index)->handle == handle)
		return nd_homa_peer_at(homa, index);
	index = nd_map_get(&homa->peer_map, handle);
	return index == ND_NONE ? NULL : nd_homa_peer_at(homa, index);
}

/* Finds or makes; NULL when peers_max busy ones are known. */
struct nd_homa_peer *nd_homa_peer_get(struct nd_homa *homa, uint32_t handle, nd_ns now);
void nd_homa_peer_use(struct nd_homa *homa, struct nd_homa_peer *peer);
static inline uint32_t nd_homa_peer_rtt_bytes(const struct nd_homa *homa,
					      const struct nd_homa_peer *peer)
{
	return peer->rtt_bytes ? peer->rtt_bytes : homa->config.rtt_bytes;
}

/* Remembers that our RPC id is finished, to be told to its server with the next packet. */
void nd_homa_peer_ack(struct nd_homa *homa, struct nd_homa_peer *peer, uint64_t id,
		      uint16_t own_port, uint16_t server_port);
/* May a message of this length be sent to the peer, as far as is known? */
static inline bool nd_homa_peer_takes(const struct nd_homa_peer *peer, uint32_t bytes)
{
	return peer->make != MAKE_OTHER || (bytes >= 1 && bytes <= ND_HOMA_OTHERS_MESSAGE_MAX);
}

/* homa_done.c: RPCs of peers that have ended. */
bool nd_homa_done_has(const struct nd_homa *homa, uint32_t handle, uint64_t id, nd_ns now);
void nd_homa_done_add(struct nd_homa *homa, struct nd_homa_peer *peer, uint64_t id, nd_ns now);
/* True for an id so old that it may have been forgotten: must not run. */
bool nd_homa_done_stale(const struct nd_homa *homa, const struct nd_homa_peer *peer, uint64_t id,
			nd_ns now);

/* homa_rpc.c */
struct nd_homa_rpc *nd_homa_rpc_find(const struct nd_homa *homa, uint32_t handle, uint64_t id);
/* By what the application knows; closed ones too. */
struct nd_homa_rpc *nd_homa_rpc_by_handle(const struct nd_homa *homa, uint64_t handle);
struct nd_homa_rpc *nd_homa_rpc_create(struct nd_homa *homa, struct nd_homa_peer *peer, uint64_t id,
				       nd_ns now);
/* Takes the RPC off the wire; event is one of EVENT_* or 0. Frees it when nobody wants it. */
void nd_homa_rpc_close(struct nd_homa *homa, struct nd_homa_rpc *rpc, uint8_t event, int error,
		       nd_ns now);
/* The application is gone: nothing is reported and everything is given back. */
void nd_homa_rpc_abandon(struct nd_homa *homa, struct nd_homa_rpc *rpc, nd_ns now);
void nd_homa_rpc_free(struct nd_homa *homa, struct nd_homa_rpc *rpc);
/* Frees a closed RPC once its events are taken and its message is released. */
static inline void nd_homa_rpc_settle(struct nd_homa *homa, struct nd_homa_rpc *rpc)
{
	if (rpc->state == ND_HOMA_CLOSED && !rpc->events && !(rpc->flags & RPC_LEASED))
		nd_homa_rpc_free(homa, rpc);
}

static inline void nd_homa_rpc_event(struct nd_homa *homa, struct nd_homa_rpc *rpc, uint8_t event)
{
	if (!rpc->events)
		nd_homa_list_append(homa, &homa->lists[LIST_EVENTS], LIST_EVENTS, rpc);
	rpc->events |= event;
}

void nd_homa_rpc_release(struct nd_homa *homa, struct nd_homa_rpc *rpc);
/* May another RPC be opened, by this peer if it is one of a peer's? */
static inline bool nd_homa_rpc_room(const struct nd_homa *homa, const struct nd_homa_peer *peer)
{
	return homa->rpcs.used < homa->rpcs.limit &&
	       homa->server_rpcs < homa->config.server_rpcs_max &&
	       (!peer || peer->server_rpcs < homa->config.peer_rpcs_max);
}

/* The server wants our request: no more waiting for room there. */
void nd_homa_rpc_resume(struct nd_homa *homa, struct nd_homa_rpc *rpc);
/* The server has our RPC. */
void nd_homa_rpc_heard(struct nd_homa *homa, struct nd_homa_rpc *rpc);
/* The peer gave a sign of life about the RPC. */
void nd_homa_rpc_alive(struct nd_homa *homa, struct nd_homa_rpc *rpc, nd_ns now);
uint32_t nd_homa_events(void *endpoint, struct nd_event *out, uint32_t limit);

/* homa_command.c */
int nd_homa_submit(void *endpoint, struct nd_command *command, nd_ns now);

/* homa_incoming.c: assembly of a message. */
/* Learns the length and gets memory. */
void nd_homa_in_begin(struct nd_homa *homa, struct nd_homa_rpc *rpc, uint32_t bytes);
/* Puts the new bytes in place and returns how many there were. */
uint32_t nd_homa_in_add(struct nd_homa *homa, struct nd_homa_rpc *rpc, uint32_t offset,
			uint32_t bytes, const uint8_t *payload);
/* First range that is missing below in.granted; empty when nothing is. */
void nd_homa_in_missing(const struct nd_homa *homa, const struct nd_homa_rpc *rpc, uint32_t *start,
			uint32_t *end);
/* Counts what is granted and not received, unless nothing can be expected now. */
static inline void nd_homa_in_account(struct nd_homa *homa, struct nd_homa_rpc *rpc)
{
	bool counts = rpc->state != ND_HOMA_CLOSED && !(rpc->flags & (RPC_QUIET | RPC_STARVED));
	uint32_t bytes = counts ? rpc->in.granted - rpc->in.received : 0;

	homa->incoming += bytes;
	homa->incoming -= rpc->in.counted;
	rpc->in.counted = bytes;
}

void nd_homa_in_drop(struct nd_homa *homa, struct nd_homa_rpc *rpc);
/* Gives up what the message holds, unless the application has it. */
static inline void nd_homa_in_end(struct nd_homa *homa, struct nd_homa_rpc *rpc)
{
	if (rpc->in.begun)
		nd_homa_in_drop(homa, rpc);
}

/* Tries again for messages of the application that found no memory. */
void nd_homa_in_feed(struct nd_homa *homa, uint16_t app);

/* homa_order.c: one peer's grantable messages, fewest ungranted bytes first. */
void nd_homa_order_insert(struct nd_homa *homa, struct nd_homa_peer *peer, uint32_t index,
			  uint64_t key);
void nd_homa_order_remove(struct nd_homa *homa, struct nd_homa_peer *peer, uint32_t index);

/* homa_grant.c */
/* Data arrived, or the message began. */
void nd_homa_grant_update(struct nd_homa *homa, struct nd_homa_rpc *rpc);
void nd_homa_grant_remove(struct nd_homa *homa, struct nd_homa_rpc *rpc);
void nd_homa_grant_run(struct nd_homa *homa);

/* homa_cutoffs.c */
void nd_homa_cutoffs_init(struct nd_homa *homa);
void nd_homa_cutoffs_note(struct nd_homa *homa, uint32_t bytes, uint32_t unscheduled, nd_ns now);
uint8_t nd_homa_cutoffs_priority(const uint32_t cutoffs[], uint32_t bytes);
uint32_t nd_homa_cutoffs_bin(uint32_t bytes);
uint32_t nd_homa_cutoffs_bin_top(uint32_t bin);
void nd_homa_cutoffs_tell(struct nd_homa *homa, struct nd_homa_peer *peer,
			  const struct nd_homa_rpc *rpc, nd_ns now);
/* Tells a sender whose cutoffs are not our newest ones. */
static inline void nd_homa_cutoffs_check(struct nd_homa *homa, struct nd_homa_peer *peer,
					 const struct nd_homa_rpc *rpc, uint16_t version, nd_ns now)
{
	if (version != homa->cutoff_version)
		nd_homa_cutoffs_tell(homa, peer, rpc, now);
}


/* homa_send.c */
void nd_homa_out_begin(struct nd_homa *homa, struct nd_homa_rpc *rpc, const uint8_t *payload,
		       uint32_t bytes, uint32_t unscheduled);
void nd_homa_out_restart(struct nd_homa *homa, struct nd_homa_rpc *rpc);
void nd_homa_out_ready(struct nd_homa *homa, struct nd_homa_rpc *rpc);
static inline void nd_homa_out_end(struct nd_homa *homa, const struct nd_homa_rpc *rpc)
{
	if (nd_heap_has(&homa->ready, rpc->index))
		nd_heap_remove(&homa->ready, rpc->index);
	if (nd_heap_has(&homa->ready_oldest, rpc->index))
		nd_heap_remove(&homa->ready_oldest, rpc->index);
}

bool nd_homa_transmit_data(struct nd_homa *homa, struct nd_packet *packet, nd_ns now);

/* homa_control.c */
static inline void nd_homa_control_want(struct nd_homa *homa, struct nd_homa_rpc *rpc,
					uint8_t control)
{
	if (!rpc->control)
		nd_homa_list_append(homa, &homa->lists[LIST_CONTROL], LIST_CONTROL, rpc);
	rpc->control |= control;
}

static inline void nd_homa_control_drop(struct nd_homa *homa, struct nd_homa_rpc *rpc,
					uint8_t control)
{
	if (!(rpc->control & control))
		return;
	rpc->control &= (uint8_t)~control;
	if (!rpc->control)
		nd_homa_list_remove(homa, &homa->lists[LIST_CONTROL], LIST_CONTROL, rpc);
}

void nd_homa_reply(struct nd_homa *homa, const struct nd_homa_reply *reply);
bool nd_homa_transmit_control(struct nd_homa *homa, struct nd_packet *packet);
void nd_homa_packet_start(struct nd_homa *homa, struct nd_packet *packet, uint32_t target,
			  uint64_t id, uint8_t type);
/* The priority on the wire: adjacent levels become one when there are fewer than eight. */
static inline uint8_t nd_homa_collapse(const struct nd_homa *homa, uint8_t priority)
{
	return priority | homa->collapse;
}

/* homa_receive.c, homa_receive_data.c */
void nd_homa_receive(void *endpoint, const struct nd_packet *packet, nd_ns now);
void nd_homa_receive_data(struct nd_homa *homa, struct nd_homa_peer *peer,
			  const struct nd_packet *packet, nd_ns now);
/* Answers a packet about an RPC that is not here. */
void nd_homa_receive_unknown(struct nd_homa *homa, const struct nd_packet *packet, uint8_t type,
			     uint8_t note);
/* Tells the client that there is no room for its request, if it understands that. */
void nd_homa_receive_full(struct nd_homa *homa, const struct nd_packet *packet);
/* The client at peer has finished with its RPC. */
void nd_homa_receive_ack(struct nd_homa *homa, struct nd_homa_peer *peer, uint64_t client_id,
			 nd_ns now);

/* homa_timer.c */
/* Starts watching for silence in the RPC's present state. */
void nd_homa_timer_start(struct nd_homa *homa, struct nd_homa_rpc *rpc, nd_ns now);
/* The server is full: nothing is sent until the request is offered again. */
void nd_homa_put_off(struct nd_homa *homa, struct nd_homa_rpc *rpc, nd_ns now);
/* Tells the peer that the RPC is over for us. */
void nd_homa_tell_end(struct nd_homa *homa, const struct nd_homa_rpc *rpc, uint8_t note);
/* Ends the RPC with this error for the application, and tells the peer. */
void nd_homa_fail(struct nd_homa *homa, struct nd_homa_rpc *rpc, int error, nd_ns now);
void nd_homa_on_deadline(void *endpoint, nd_ns now);

/* homa_audit.c */
const char *nd_homa_audit(const void *endpoint);

#endif
