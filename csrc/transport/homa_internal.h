/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of a Homa endpoint call of each other. */
#ifndef ND_TRANSPORT_HOMA_INTERNAL_H
#define ND_TRANSPORT_HOMA_INTERNAL_H

#include "transport/homa_state.h"

#include <string.h>

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
 * The key of a peer's RPC, whose id is odd here, and unique with the address only. The factor is
 * secret, so that no peer can choose an id whose key meets that of another's RPC.
 */
static inline uint64_t nd_homa_key(const struct nd_homa *homa, uint32_t handle, uint64_t id)
{
	return (id >> 1) + handle * homa->key;
}

/* Where one of our own RPCs is found: we choose the ids, so that no two share a place. */
static inline uint32_t *nd_homa_client_place(const struct nd_homa *homa, uint64_t id)
{
	return &homa->clients[id >> 1 & homa->client_mask];
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

struct nd_homa_peer *nd_homa_peer_make(struct nd_homa *homa, uint32_t handle, nd_ns now);
/* Finds or makes; NULL when peers_max busy ones are known. */
static inline struct nd_homa_peer *nd_homa_peer_get(struct nd_homa *homa, uint32_t handle,
						    nd_ns now)
{
	struct nd_homa_peer *peer = nd_homa_peer_find(homa, handle);

	return peer ? peer : nd_homa_peer_make(homa, handle, now);
}

bool nd_homa_needs_peer(const void *endpoint, uint32_t handle, nd_ns now);
void nd_homa_peer_renew(struct nd_homa *homa, struct nd_homa_peer *peer);
static inline void nd_homa_peer_use(struct nd_homa *homa, struct nd_homa_peer *peer)
{
	if (peer->newer != ND_NONE)
		nd_homa_peer_renew(homa, peer);
}

static inline uint32_t nd_homa_peer_rtt_bytes(const struct nd_homa *homa,
					      const struct nd_homa_peer *peer)
{
	return peer->rtt_bytes ? peer->rtt_bytes : homa->config.rtt_bytes;
}

static inline uint8_t nd_homa_make_of(const struct nd_homa_header *header)
{
	return header->speaker == ND_HOMA_SPEAKER ? MAKE_OURS : MAKE_OTHER;
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
/* Says the entry of nd_homa.known that this RPC has run, not so long ago? */
bool nd_homa_done_is(const struct nd_homa *homa, uint32_t known, uint32_t handle, uint64_t id,
		     nd_ns now);
static inline bool nd_homa_done_has(const struct nd_homa *homa, uint32_t handle, uint64_t id,
				    nd_ns now)
{
	uint32_t known = nd_map_get(&homa->known, nd_homa_key(homa, handle, id));

	return nd_homa_done_is(homa, known, handle, id, now);
}

void nd_homa_done_add(struct nd_homa *homa, struct nd_homa_peer *peer, uint64_t id, nd_ns now);
/* True for an id so old that it may have been forgotten: must not run. */
bool nd_homa_done_stale(const struct nd_homa *homa, const struct nd_homa_peer *peer, uint64_t id,
			nd_ns now);

/* homa_rpc.c */
/* The open RPC at index, if it is this peer's. */
static inline struct nd_homa_rpc *nd_homa_rpc_open(const struct nd_homa *homa, uint32_t index,
						   uint32_t handle, uint64_t id)
{
	struct nd_homa_rpc *rpc;

	if (index & ND_HOMA_ENDED)
		return NULL;
	rpc = nd_homa_rpc_at(homa, index);
	if (rpc->id != id || nd_homa_peer_at(homa, rpc->peer)->handle != handle)
		return NULL;
	return rpc->state == ND_HOMA_CLOSED ? NULL : rpc;
}

static inline struct nd_homa_rpc *nd_homa_rpc_find(const struct nd_homa *homa, uint32_t handle,
						   uint64_t id)
{
	uint32_t index = id & 1 ? nd_map_get(&homa->known, nd_homa_key(homa, handle, id))
				: *nd_homa_client_place(homa, id);

	return nd_homa_rpc_open(homa, index, handle, id);
}

/* By what the application knows; closed ones too. */
static inline struct nd_homa_rpc *nd_homa_rpc_by_handle(const struct nd_homa *homa, uint64_t handle)
{
	uint32_t index = handle & 1 ? (uint32_t)handle >> 1 : *nd_homa_client_place(homa, handle);
	struct nd_homa_rpc *rpc;

	if (index >= homa->rpcs.limit || homa->rpcs.next[index] != ND_POOL_USED)
		return NULL;
	rpc = nd_homa_rpc_at(homa, index);
	return rpc->handle == handle ? rpc : NULL;
}

/* Our own; NULL when rpcs_max is reached. */
struct nd_homa_rpc *nd_homa_rpc_request(struct nd_homa *homa, struct nd_homa_peer *peer, nd_ns now);
/* A peer's, known by this slot of nd_homa.known from now on; NULL when there is no room. */
struct nd_homa_rpc *nd_homa_rpc_accept(struct nd_homa *homa, struct nd_homa_peer *peer, uint64_t id,
				       struct nd_map_slot *slot, nd_ns now);
/* Takes the RPC off the wire; event is one of EVENT_* or 0. Frees it when nobody wants it. */
void nd_homa_rpc_close(struct nd_homa *homa, struct nd_homa_rpc *rpc, uint8_t event, int error,
		       nd_ns now);
/* The application is gone: nothing is reported and everything is given back. */
void nd_homa_rpc_abandon(struct nd_homa *homa, struct nd_homa_rpc *rpc, nd_ns now);
void nd_homa_rpc_free(struct nd_homa *homa, struct nd_homa_rpc *rpc);
/* Once, behind its making: whose it is. */
static inline void nd_homa_rpc_own(const struct nd_homa *homa, struct nd_homa_rpc *rpc, uint16_t app)
{
	rpc->app = app;
	homa->held[app]++;
}

/* Frees a closed RPC once its events are taken and its message is released. */
static inline void nd_homa_rpc_settle(struct nd_homa *homa, struct nd_homa_rpc *rpc)
{
	/*
	 * One by one: as one condition they are one load of bytes that were just written by several
	 * stores, which waits until those have left for the cache.
	 */
	if (rpc->state != ND_HOMA_CLOSED)
		return;
	if (rpc->events)
		return;
	if (!(rpc->flags & RPC_LEASED))
		nd_homa_rpc_free(homa, rpc);
}

static inline void nd_homa_rpc_event(struct nd_homa *homa, struct nd_homa_rpc *rpc, uint8_t event)
{
	if (!rpc->events)
		nd_homa_list_append(homa, &homa->lists[LIST_EVENTS], LIST_EVENTS, rpc);
	rpc->events |= event;
}

void nd_homa_rpc_release(struct nd_homa *homa, struct nd_homa_rpc *rpc);
/* May the application have one of the last places, which are for those that hold few? */
bool nd_homa_rpc_last_room(const struct nd_homa *homa, uint32_t app);
/* May another RPC be opened, by this peer if it is one of a peer's, for the application? */
static inline bool nd_homa_rpc_room(const struct nd_homa *homa, const struct nd_homa_peer *peer,
				    uint32_t app)
{
	return homa->rpcs.used < homa->rpcs.limit &&
	       (homa->server_rpcs < homa->server_rpcs_any || nd_homa_rpc_last_room(homa, app)) &&
	       (!peer || peer->server_rpcs < homa->config.peer_rpcs_max);
}

/* The server wants our request: no more waiting for room there. */
void nd_homa_rpc_resume(struct nd_homa *homa, struct nd_homa_rpc *rpc);
/* The server has our RPC. */
static inline void nd_homa_rpc_heard(struct nd_homa *homa, struct nd_homa_rpc *rpc)
{
	rpc->flags |= RPC_HEARD;
	if (rpc->flags & RPC_PUT_OFF)
		nd_homa_rpc_resume(homa, rpc);
}

/* The peer is no longer silent. */
void nd_homa_rpc_awake(struct nd_homa *homa, struct nd_homa_rpc *rpc);
/* The peer gave a sign of life about the RPC. */
static inline void nd_homa_rpc_alive(struct nd_homa *homa, struct nd_homa_rpc *rpc, nd_ns now)
{
	rpc->quiet_since = now;
	rpc->attempts = 0;
	rpc->flags &= (uint16_t)~RPC_DOUBTED;
	nd_homa_rpc_heard(homa, rpc);
	if (rpc->flags & RPC_QUIET)
		nd_homa_rpc_awake(homa, rpc);
}

uint32_t nd_homa_events(void *endpoint, struct nd_event *out, uint32_t limit);

/* homa_command.c */
int nd_homa_submit(void *endpoint, struct nd_command *command, nd_ns now);
bool nd_homa_leaves_room(const void *endpoint, const struct nd_command *command, uint64_t apps);

/* homa_incoming.c: assembly of a message. */
/* Learns the length and gets memory. */
void nd_homa_in_begin(struct nd_homa *homa, struct nd_homa_rpc *rpc, uint32_t bytes);
static inline void nd_homa_in_keep(const struct nd_homa_rpc *rpc, uint32_t start, uint32_t end,
				   uint32_t offset, const uint8_t *payload)
{
	if (rpc->in.memory && payload)
		memcpy(rpc->in.memory + start, payload + (start - offset), end - start);
}

/* Puts the new bytes in place and returns how many there were: in order, or in any way. */
uint32_t nd_homa_in_insert(struct nd_homa *homa, struct nd_homa_rpc *rpc, uint32_t offset,
			   uint32_t bytes, const uint8_t *payload);
static inline uint32_t nd_homa_in_add(struct nd_homa *homa, struct nd_homa_rpc *rpc,
				      uint32_t offset, uint32_t bytes, const uint8_t *payload)
{
	if (offset != rpc->in.end)
		return nd_homa_in_insert(homa, rpc, offset, bytes, payload);
	nd_homa_in_keep(rpc, offset, offset + bytes, offset, payload);
	rpc->in.end += bytes;
	rpc->in.received += bytes;
	return bytes;
}

/* First range that is missing below in.granted; empty when nothing is. */
void nd_homa_in_missing(const struct nd_homa *homa, const struct nd_homa_rpc *rpc, uint32_t *start,
			uint32_t *end);
/* Counts what is granted and not received, unless nothing can be expected now. */
static inline void nd_homa_in_account(struct nd_homa *homa, struct nd_homa_rpc *rpc)
{
	bool counts = rpc->state != ND_HOMA_CLOSED &&
		      !(rpc->flags & (RPC_QUIET | RPC_STARVED | RPC_IDLE));
	uint32_t bytes = counts ? rpc->in.granted - rpc->in.received : 0;

	homa->incoming += bytes;
	homa->incoming -= rpc->in.counted;
	rpc->in.counted = bytes;
}

/* The peer speaks of a message, and sends none of what it may. */
void nd_homa_in_idle(struct nd_homa *homa, struct nd_homa_rpc *rpc);
void nd_homa_in_drop(struct nd_homa *homa, struct nd_homa_rpc *rpc);
/* Gives up what the message holds, unless the application has it. */
static inline void nd_homa_in_end(struct nd_homa *homa, struct nd_homa_rpc *rpc)
{
	bool has_all = rpc->in.received == rpc->in.bytes && rpc->order.key == ND_NEVER;
	bool has_memory = rpc->in.memory && !(rpc->flags & RPC_LEASED);

	if (rpc->in.begun && (!has_all || has_memory || homa->stalled))
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
void nd_homa_grant_run(struct nd_homa *homa);
void nd_homa_grant_leave(struct nd_homa *homa, struct nd_homa_rpc *rpc);
/* The message wants no more; most never wanted any. */
static inline void nd_homa_grant_remove(struct nd_homa *homa, struct nd_homa_rpc *rpc)
{
	if (rpc->order.key != ND_NEVER || homa->stalled)
		nd_homa_grant_leave(homa, rpc);
}


/* homa_cutoffs.c */
void nd_homa_cutoffs_init(struct nd_homa *homa);
/* These and no others from now on; NULL: those of the config again, and what is learned then. */
void nd_homa_cutoffs_set(struct nd_homa *homa, const uint32_t *cutoffs);
void nd_homa_cutoffs_note(struct nd_homa *homa, uint32_t bytes, uint32_t unscheduled, nd_ns now);
uint8_t nd_homa_cutoffs_priority(const uint32_t cutoffs[], uint32_t bytes);
/* Log-spaced: eight bins an octave. */
static inline uint32_t nd_homa_cutoffs_bin(uint32_t bytes)
{
	uint32_t top;

	if (bytes < 8)
		return bytes;
	top = nd_top_bit_u32(bytes);
	return (top - 3) * 8 + (bytes >> (top - 3));
}

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
void nd_homa_out_ready(struct nd_homa *homa, const struct nd_homa_rpc *rpc);
static inline void nd_homa_out_end(struct nd_homa *homa, const struct nd_homa_rpc *rpc)
{
	nd_heap_remove(&homa->ready, rpc->index);
	nd_heap_remove(&homa->ready_oldest, rpc->index);
}

/* Fills in the next packet of the messages that are ready; there is one. */
void nd_homa_transmit_data(struct nd_homa *homa, struct nd_packet *packet, nd_ns now);

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
static inline void nd_homa_packet_start(const struct nd_homa *homa, struct nd_packet *packet,
					uint32_t target, uint64_t id, uint8_t type)
{
	nd_packet_zero(packet, sizeof(*packet));
	packet->next = ND_NONE;
	packet->source = homa->setup.self;
	packet->target = target;
	packet->flow = (uint16_t)(nd_mix64(id ^ (uint64_t)target << 32) >> 48);
	packet->protocol = ND_PROTO_HOMA;
	packet->type = type;
	packet->homa.sender_id = id;
	packet->homa.speaker = ND_HOMA_SPEAKER;
}

static inline void nd_homa_set_levels(struct nd_homa *homa, uint32_t levels)
{
	homa->collapse = (uint8_t)(ND_HOMA_PRIORITIES / levels - 1);
}

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

/* homa_show.c */
uint32_t nd_homa_show(const void *endpoint, uint32_t *cursor, struct nd_exchange *out,
		      uint32_t limit);

/* homa_audit.c */
const char *nd_homa_audit(const void *endpoint);

#endif
