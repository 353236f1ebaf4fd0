/* SPDX-License-Identifier: Apache-2.0 */
/*
 * NDP's inner structures. The files: ndp.c (operations), ndp_config.c, ndp_command.c (what the
 * application asks), ndp_connection.c (birth and death), ndp_peer.c (hosts, paths), ndp_message.c
 * (outgoing), ndp_receive_message.c (incoming), ndp_send.c (DATA out), ndp_feedback.c (ACK, NACK,
 * PULL and bounces in), ndp_receive.c (DATA in), ndp_control.c (ACK, NACK, PULL, CLOSE out),
 * ndp_timer.c, ndp_event.c, ndp_foresee.c, ndp_show.c, ndp_audit.c.
 *
 * DESIGN NOTES
 * 1. One direction of a connection is one sequence of packets. Messages follow each other in it,
 *    so sequence and offset of a message's packets lie on a line; the received-bitmap of the
 *    packet window is therefore all that exactly-once needs, and no message has a bitmap.
 * 2. State per sent packet (16 bytes) lives in a ring that a connection holds only while packets
 *    are on the wire. The receiver's bitmap is part of the connection. What waits to be sent again
 *    is a bitmap behind the ring, and the oldest goes first: were it the one that has waited
 *    longest, packets that the receiver has no memory for would go round and round before those
 *    of the message that has it.
 * 3. One timer per connection, set lazily: sending never moves a timer that is early enough, and
 *    when it fires the handler looks what is due. In steady state that is once per RTO.
 * 4. Credit (pulls not yet used) is a count, push (first window) another. A packet taken for lost
 *    gives back the credit that its answer would have earned, or credit would leak away in a
 *    network that drops.
 * 5. Connections that ended stay in their slot for time-wait: one pool, one map, no second table.
 * 6. Events are not copied into a ring that could overflow: what has an event is linked.
 */
#ifndef ND_TRANSPORT_NDP_INTERNAL_H
#define ND_TRANSPORT_NDP_INTERNAL_H

#include "base/heap.h"
#include "base/map.h"
#include "base/pool.h"
#include "base/rng.h"
#include "transport/ndp.h"
#include "transport/ndp_connection.h"
#include "transport/pull.h"

#include <string.h>

#define ND_NDP_PRIORITIES 8
#define ND_NDP_APPS_TOLD 64 /* applications below that have their connections counted */
#define ND_NDP_BLOCKED_BUCKETS 64 /* of connections without receive memory, by application */

/* Highest bit of a connection id is ours to tell the roles apart in the map. */
#define ND_NDP_CONNECTION_MAX 0x7fffffffu

/* ---- messages ---- */

struct nd_ndp_message {
	const uint8_t *payload;
	uint64_t number;
	uint64_t cookie;
	nd_ns deadline;
	uint32_t bytes;
	uint32_t sent;       /* bytes given a sequence so far */
	uint32_t acked;      /* bytes acknowledged */
	uint32_t packets;    /* on the wire: sent and not acknowledged */
	uint32_t connection; /* slot */
	uint32_t next, prev; /* of the connection */
	uint32_t event;      /* next event */
	uint32_t detail;     /* of FAILED */
	int32_t error;
	bool sent_all;
	bool cancelled;      /* payload is gone: its packets are sent empty */
	bool linked;         /* still in the connection's list */
	bool reported;       /* its event is queued */
};

struct nd_ndp_incoming {
	uint8_t *memory;
	uint64_t number;
	uint32_t bytes;
	uint32_t received;        /* bytes arrived */
	uint32_t anchor_sequence; /* any packet of the message that arrived ... */
	uint32_t anchor_offset;   /* ... and its offset: all the others lie on one line with it */
	uint32_t connection;
	uint32_t next;            /* of the connection */
	uint32_t event;           /* next event */
	bool abandoned;           /* by its sender: it will never be whole */
	bool reported;            /* its event is queued */
};

/* ---- peers ---- */

struct nd_ndp_peer {
	uint32_t address;
	uint32_t users;       /* connections */
	uint32_t paths;       /* index of its path set, or ND_NONE */
	uint32_t rtt_ns;      /* smoothed, 0: never measured */
	uint32_t rtt_var_ns;
	uint32_t next, prev;  /* of the peers without users, oldest first */
	bool pinned;          /* paths were given by command */
};

struct nd_ndp_listener {
	uint32_t backlog;
	uint32_t live; /* accepted connections that have not ended */
	uint64_t cookie;
	uint16_t port;
	uint16_t app;
	bool used;
	bool closed;   /* UNLISTEN was called; goes away with its last connection */
};

/* ---- control packets waiting for the NIC ---- */

struct nd_ndp_control {
	_Alignas(32)         /* in no two cache lines, and found by a shift */
	uint32_t peer;       /* index, ND_NONE for a stranger */
	uint32_t address;
	uint32_t connection;
	uint32_t sequence;
	uint32_t pull;
	uint32_t arrived;
	uint16_t flow;
	uint8_t type;
	uint8_t flags;
};

/* ---- the endpoint ---- */

/* A connection that was found in the map: the next packet is often of the same one. */
struct nd_ndp_found {
	uint64_t ends; /* nd_ndp_ends() */
	uint32_t slot; /* or ND_NONE */
};

/* What every packet touches comes first, what hardly any does last: a simulated host's endpoint is
 * never in the cache when its packet comes, and each line of it is waited for. */
struct nd_ndp {
	_Alignas(64)
	nd_ns clock;           /* latest time that the driver told */
	nd_ns busy_since;      /* the ready lists have not been empty since, ND_NEVER when they are */
	struct nd_heap timers; /* by connection slot */
	uint32_t control_head, control_tail; /* free running while there is something between */

	_Alignas(64)
	struct nd_pull pull;

	_Alignas(64)
	struct nd_ndp_found found[2]; /* the last one that we opened, and that we accepted */
	struct nd_ndp_control *control; /* ring */
	uint32_t control_mask;
	uint32_t control_walk; /* through the paths to hosts that we have no list of paths to */
	uint32_t event_head, event_tail; /* tagged */
	uint32_t events;      /* queued */
	uint32_t ready_levels; /* bit set: list is not empty */

	_Alignas(64)
	struct nd_pool connections;
	struct nd_pool peers;
	struct nd_pool path_sets;
	struct nd_pool windows;
	struct nd_pool messages;
	struct nd_pool incoming;
	uint32_t self;
	bool has_rx;

	_Alignas(64)
	uint32_t ready_head[ND_NDP_PRIORITIES];
	uint32_t ready_tail[ND_NDP_PRIORITIES];

	_Alignas(64)
	struct nd_ndp_config config;
	struct nd_ndp_counters counters;

	struct nd_rng rng;
	struct nd_map connection_map;
	uint32_t starved_head, starved_tail;
	struct nd_map peer_map;
	uint32_t peer_oldest, peer_newest; /* without users */
	struct nd_ndp_listener *listeners;
	struct nd_rx_memory rx;
	uint32_t connection_next; /* id */
	uint32_t generation_next;
	uint32_t live;        /* connections that have not ended */
	uint32_t reserved;    /* by listeners and not in use */
	uint32_t blocked[ND_NDP_BLOCKED_BUCKETS];
	uint32_t held[ND_NDP_APPS_TOLD];   /* connections that have not ended */
	uint32_t queued[ND_NDP_APPS_TOLD]; /* messages that have not ended, or whose end is not told */
};

static inline struct nd_ndp_connection *nd_ndp_connection_at(const struct nd_ndp *ndp,
							     uint32_t slot)
{
	return nd_pool_at(&ndp->connections, slot);
}

static inline struct nd_ndp_message *nd_ndp_message_at(const struct nd_ndp *ndp, uint32_t index)
{
	return nd_pool_at(&ndp->messages, index);
}

static inline struct nd_ndp_incoming *nd_ndp_incoming_at(const struct nd_ndp *ndp, uint32_t index)
{
	return nd_pool_at(&ndp->incoming, index);
}

static inline struct nd_ndp_peer *nd_ndp_peer_at(const struct nd_ndp *ndp, uint32_t index)
{
	return nd_pool_at(&ndp->peers, index);
}

static inline struct nd_ndp_sent *nd_ndp_sent_at(const struct nd_ndp *ndp,
						 const struct nd_ndp_connection *connection,
						 uint32_t sequence)
{
	struct nd_ndp_sent *ring = nd_pool_at(&ndp->windows, connection->window);

	return &ring[sequence & (ndp->config.window_packets - 1)];
}

/* Bit i: the packet at index i of the connection's ring is WAITING. */
static inline uint64_t *nd_ndp_waiting(const struct nd_ndp *ndp,
				       const struct nd_ndp_connection *connection)
{
	struct nd_ndp_sent *ring = nd_pool_at(&ndp->windows, connection->window);

	return (uint64_t *)(ring + ndp->config.window_packets);
}

static inline uint32_t nd_ndp_stamp(nd_ns now)
{
	return (uint32_t)(now >> 6);
}

/* ---- ndp_foresee.c ---- */
void nd_ndp_foresee(const void *endpoint, const struct nd_packet *packet, enum nd_foresee step);

/* ---- ndp_connection.c ---- */

/* Key of the map: who opened the connection is part of its name. */
static inline uint64_t nd_ndp_key(uint32_t peer, uint32_t id, bool accepted)
{
	return (uint64_t)peer << 32 | (uint32_t)accepted << 31 | id;
}

/* Both ends of a packet's connection, but not who opened it. */
static inline uint64_t nd_ndp_ends(const struct nd_packet *packet)
{
	return (uint64_t)packet->source << 32 | packet->ndp.connection;
}

/* Where the packet's connection is noted if it is the last one of its kind that was found. */
static inline const struct nd_ndp_found *nd_ndp_found_for(const struct nd_ndp *ndp,
							  const struct nd_packet *packet)
{
	return &ndp->found[!(packet->flags & ND_NDP_FLAG_REPLY)];
}

struct nd_ndp_connection *nd_ndp_connection_find(const struct nd_ndp *ndp, uint64_t handle);
/* A new connection on the wire, ND_NONE when a limit is reached (it is counted). */
uint32_t nd_ndp_connection_open(struct nd_ndp *ndp, uint32_t address, uint32_t id, bool accepted,
				uint32_t priority);
/* Once, behind its opening: whose it is. */
void nd_ndp_connection_own(struct nd_ndp *ndp, struct nd_ndp_connection *connection, uint16_t app);
/* Opens the connection that a peer's DATA with SYN names, ND_NONE when it cannot be. */
uint32_t nd_ndp_connection_accept(struct nd_ndp *ndp, const struct nd_packet *packet);
/* Ends it by force: everything fails with error; reason (0 = none) is told to the peer. */
void nd_ndp_connection_abort(struct nd_ndp *ndp, struct nd_ndp_connection *connection,
			     int32_t error, uint32_t reason, bool peer_knows, nd_ns now);
/* Ends it in order when both directions are done. */
void nd_ndp_connection_try_end(struct nd_ndp *ndp, struct nd_ndp_connection *connection,
			       nd_ns now);
/* No message follows those queued. */
void nd_ndp_connection_finish(struct nd_ndp *ndp, struct nd_ndp_connection *connection);
/* Frees the slot of an ended connection when nothing refers to it. */
void nd_ndp_connection_try_free(struct nd_ndp *ndp, struct nd_ndp_connection *connection);
/* Makes the timer fire at or before when. */
void nd_ndp_connection_arm(struct nd_ndp *ndp, struct nd_ndp_connection *connection, nd_ns when);
/* Gives the ring of sent packets back when it is empty and nothing waits to be sent. */
void nd_ndp_window_release(struct nd_ndp *ndp, struct nd_ndp_connection *connection);

/* ---- ndp_message.c ---- */

/* Queues a message: 0 or -errno. */
int nd_ndp_message_send(struct nd_ndp *ndp, struct nd_ndp_connection *connection,
			struct nd_command *command, nd_ns now);
/* The application takes its payload back; what is on the wire is sent empty from now on. */
void nd_ndp_message_cancel(struct nd_ndp *ndp, struct nd_ndp_message *message, int32_t error);
/* All of its packets are sent and acknowledged. */
void nd_ndp_message_end(struct nd_ndp *ndp, struct nd_ndp_message *message);
/* Fails every message of an ending connection. */
void nd_ndp_message_fail_all(struct nd_ndp *ndp, struct nd_ndp_connection *connection,
			     int32_t error, uint32_t detail);
/* Cancels the messages whose time is over; the earliest deadline left. */
nd_ns nd_ndp_message_expire(struct nd_ndp *ndp, struct nd_ndp_connection *connection, nd_ns now);
/* Its event was taken or is not wanted. */
void nd_ndp_message_done(struct nd_ndp *ndp, uint32_t index);
/* Bytes in its packet at offset. */
static inline uint32_t nd_ndp_message_payload(const struct nd_ndp_connection *connection,
					      const struct nd_ndp_message *message, uint32_t offset)
{
	return nd_min_u32(connection->own_mss, message->bytes - offset);
}
/* Its packet at offset is acknowledged. */
static inline void nd_ndp_message_acked(struct nd_ndp *ndp,
					const struct nd_ndp_connection *connection,
					struct nd_ndp_message *message, uint32_t offset)
{
	nd_assert(message->packets > 0);
	message->packets--;
	if (!message->cancelled)
		message->acked += nd_ndp_message_payload(connection, message, offset);
	if (message->packets == 0 && message->sent_all)
		nd_ndp_message_end(ndp, message);
}

/* ---- ndp_receive_message.c ---- */

enum nd_ndp_stored {
	ND_NDP_STORED,   /* the packet is done with */
	ND_NDP_NO_ROOM,  /* no memory for its message: as if trimmed */
	ND_NDP_REFUSED,  /* it does not fit its message: dropped and counted */
	ND_NDP_ABORTED,  /* the connection was reset */
};

/* Stores a packet's payload, or just makes room for it when it was trimmed. */
enum nd_ndp_stored nd_ndp_incoming_store(struct nd_ndp *ndp, struct nd_ndp_connection *connection,
					 const struct nd_packet *packet, nd_ns now);
/* Gives up every arriving message of an ending connection. */
void nd_ndp_incoming_drop_all(struct nd_ndp *ndp, struct nd_ndp_connection *connection);
/* The application has been told of a message; one that was abandoned goes with that. */
void nd_ndp_incoming_told(struct nd_ndp *ndp, struct nd_ndp_connection *connection,
			  uint32_t index);
/* The application is done with a message: 0 or -ENOENT. */
int nd_ndp_incoming_release(struct nd_ndp *ndp, struct nd_ndp_connection *connection,
			    uint64_t number);
/* Takes back every message that the application holds. */
void nd_ndp_incoming_reclaim(struct nd_ndp *ndp, struct nd_ndp_connection *connection);
/* Tries again to get memory for the application's connections that wait for it. */
void nd_ndp_incoming_unblock(struct nd_ndp *ndp, uint16_t app);
/*
 * The same for one connection whose timer fires: the other protocol's engine draws from the same
 * memory, and tells nobody of what it gives back. Returns when to call again, or ND_NEVER.
 */
nd_ns nd_ndp_incoming_retry(struct nd_ndp *ndp, struct nd_ndp_connection *connection, nd_ns now);
void nd_ndp_incoming_leave_blocked(struct nd_ndp *ndp, struct nd_ndp_connection *connection);

/* ---- ndp_send.c ---- */

/*
 * Nothing was waiting to be sent: what is queued next begins a train, with a first window of its
 * own. The peer has been told LAST and pulls nothing more, so what the packets still out leave no
 * room for follows as they are acknowledged.
 */
void nd_ndp_send_begin_train(const struct nd_ndp *ndp, struct nd_ndp_connection *connection);
/* A packet of the train before is acknowledged: one of this one may go, if the window has room. */
void nd_ndp_send_continue_train(const struct nd_ndp *ndp, struct nd_ndp_connection *connection);
/* Puts the connection where transmit finds it, if it has something to send. */
void nd_ndp_send_schedule(struct nd_ndp *ndp, struct nd_ndp_connection *connection);
/* Takes it out of the list it is in. */
void nd_ndp_send_unlist(struct nd_ndp *ndp, struct nd_ndp_connection *connection);
bool nd_ndp_send_transmit(struct nd_ndp *ndp, struct nd_packet *packet, nd_ns now);
/* Puts a packet in flight among those to be sent again. */
void nd_ndp_send_again(struct nd_ndp *ndp, struct nd_ndp_connection *connection,
		       struct nd_ndp_sent *sent, uint32_t sequence);
/* Takes a packet out of those to be sent again. */
void nd_ndp_send_not_again(struct nd_ndp *ndp, struct nd_ndp_connection *connection,
			   uint32_t sequence);
bool nd_ndp_send_can(const struct nd_ndp *ndp, const struct nd_ndp_connection *connection);
/* ---- ndp_feedback.c ---- */

void nd_ndp_feedback_ack(struct nd_ndp *ndp, struct nd_ndp_connection *connection,
			 const struct nd_packet *packet, nd_ns now);
void nd_ndp_feedback_nack(struct nd_ndp *ndp, struct nd_ndp_connection *connection,
			  const struct nd_packet *packet, nd_ns now);
void nd_ndp_feedback_pull(struct nd_ndp *ndp, struct nd_ndp_connection *connection,
			  uint32_t counter);
void nd_ndp_feedback_bounce(struct nd_ndp *ndp, struct nd_ndp_connection *connection,
			    const struct nd_packet *packet);
/* ---- ndp_receive.c ---- */

void nd_ndp_receive(void *endpoint, const struct nd_packet *packet, nd_ns now);
/* True when nothing that arrives can be kept: pulls go by time then, not by arrivals. */
static inline bool nd_ndp_receive_is_futile(const struct nd_ndp *ndp,
					    const struct nd_ndp_connection *connection)
{
	return connection->futile > ndp->config.futile_max;
}
/* True when the peer still has to send something that it may send. */
bool nd_ndp_receive_waits(const struct nd_ndp *ndp, const struct nd_ndp_connection *connection);
/* One pull for an arrival of wire_bytes, unless nothing is missing. */
void nd_ndp_receive_credit(struct nd_ndp *ndp, struct nd_ndp_connection *connection,
			   uint32_t wire_bytes, nd_ns now);

/* ---- ndp_control.c ---- */

void nd_ndp_control_answer(struct nd_ndp *ndp, const struct nd_ndp_connection *connection,
			   uint8_t type, uint32_t sequence);
/* A PULL with the counter as it is. */
void nd_ndp_control_pull(struct nd_ndp *ndp, const struct nd_ndp_connection *connection);
void nd_ndp_control_close(struct nd_ndp *ndp, const struct nd_ndp_connection *connection,
			  uint32_t reason);
/* CLOSE to a packet of a connection that does not exist. */
void nd_ndp_control_refuse(struct nd_ndp *ndp, const struct nd_packet *packet, uint32_t reason);
bool nd_ndp_control_transmit(struct nd_ndp *ndp, struct nd_packet *packet, nd_ns now);
/* A PULL that releases one packet more. */
void nd_ndp_control_release(struct nd_ndp *ndp, struct nd_ndp_connection *connection, nd_ns now);
/* Releases the pulls that are due. */
void nd_ndp_control_pace(struct nd_ndp *ndp, nd_ns now);
static inline bool nd_ndp_control_is_full(const struct nd_ndp *ndp)
{
	return ndp->control_tail - ndp->control_head >= ndp->config.control_max;
}
/* Fields that all packets of a connection share. */
static inline void nd_ndp_address(const struct nd_ndp *ndp, struct nd_packet *packet,
				  uint32_t target, uint32_t connection, uint16_t flow)
{
	/* Only the line that NDP uses. */
	memset(packet, 0, offsetof(struct nd_packet, ndp) + sizeof(packet->ndp));
	packet->source = ndp->self;
	packet->target = target;
	packet->protocol = ND_PROTO_NDP;
	packet->flow = flow;
	packet->ndp.connection = connection;
}
/* What the network tells the flows of two hosts apart by. */
static inline uint16_t nd_ndp_flow(uint32_t target, uint32_t connection)
{
	return (uint16_t)nd_mix64((uint64_t)target << 32 | connection);
}

/* ---- ndp_timer.c ---- */

void nd_ndp_timer_run(struct nd_ndp *ndp, nd_ns now);

/* ---- ndp_event.c ---- */

void nd_ndp_event_accepted(struct nd_ndp *ndp, struct nd_ndp_connection *connection);
void nd_ndp_event_closed(struct nd_ndp *ndp, struct nd_ndp_connection *connection);
void nd_ndp_event_message(struct nd_ndp *ndp, struct nd_ndp_message *message);
void nd_ndp_event_incoming(struct nd_ndp *ndp, struct nd_ndp_incoming *incoming);
/* Throws away the events of an application. */
void nd_ndp_event_forget(struct nd_ndp *ndp, uint16_t app);
uint32_t nd_ndp_event_take(void *endpoint, struct nd_event *out, uint32_t limit);

/* ---- ndp_command.c, ndp_show.c, ndp_audit.c ---- */

int nd_ndp_submit(void *endpoint, struct nd_command *command, nd_ns now);
bool nd_ndp_leaves_room(const void *endpoint, const struct nd_command *command, uint64_t apps);
/* The open listener on a port, of any application, or NULL. */
struct nd_ndp_listener *nd_ndp_listener_find(const struct nd_ndp *ndp, uint16_t port);
uint32_t nd_ndp_show(const void *endpoint, uint32_t *cursor, struct nd_exchange *out,
		     uint32_t limit);
const char *nd_ndp_audit(const void *endpoint);

#endif
