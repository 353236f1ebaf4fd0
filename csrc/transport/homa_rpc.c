// SPDX-License-Identifier: Apache-2.0
/*
 * The life of an RPC: created, found, closed, reported, freed.
 *
 * DESIGN NOTES
 * 1. An RPC leaves the wire by nd_homa_rpc_close() and nowhere else; its entry is freed by
 *    nd_homa_rpc_settle() once the application took the last event and released the message.
 * 2. A server's RPC is known to its application by a handle of entry and generation, so that a
 *    stale one never names another RPC. A client's even id is unique by itself.
 * 3. Our own ids ascend, and one whose place in the table of clients is taken is left out: so each
 *    is found by one load. The table is twice as long as RPCs can be open, and an id's successor
 *    is a lap of it away: leaving out costs less than one step an RPC, whoever answers when.
 */
#include "transport/homa_internal.h"

#include <errno.h>
#include <string.h>

static uint64_t server_handle(uint32_t index, uint32_t generation)
{
	return (uint64_t)generation << 32 | (uint64_t)index << 1 | 1;
}

static struct nd_homa_rpc *create(struct nd_homa *homa, struct nd_homa_peer *peer, uint64_t id,
				  nd_ns now)
{
	uint32_t index = nd_pool_get(&homa->rpcs);
	struct nd_homa_rpc *rpc;
	uint32_t generation;

	if (index == ND_NONE)
		return NULL;
	rpc = nd_homa_rpc_at(homa, index);
	generation = rpc->generation + 1;
	memset(rpc, 0, offsetof(struct nd_homa_rpc, out));
	rpc->id = id;
	rpc->deadline = ND_NEVER;
	rpc->quiet_since = now;
	rpc->index = index;
	rpc->peer = peer->index;
	rpc->age = homa->next_age++;
	rpc->generation = generation;
	rpc->out = (struct nd_homa_out){ 0 };
	rpc->in = (struct nd_homa_in){ .gaps = ND_NONE };
	rpc->order.key = ND_NEVER; /* links and the rest of it are written when they are used */
	nd_homa_peer_use(homa, peer);
	peer->rpcs++;
	return rpc;
}

struct nd_homa_rpc *nd_homa_rpc_request(struct nd_homa *homa, struct nd_homa_peer *peer, nd_ns now)
{
	struct nd_homa_rpc *rpc;

	if (homa->rpcs.used == homa->rpcs.limit)
		return NULL;
	while (*nd_homa_client_place(homa, homa->next_id) != ND_NONE)
		homa->next_id += 2;
	rpc = create(homa, peer, homa->next_id, now);
	rpc->handle = rpc->id;
	rpc->state = ND_HOMA_OUTGOING;
	*nd_homa_client_place(homa, rpc->id) = rpc->index;
	homa->next_id += 2;
	homa->client_rpcs++;
	return rpc;
}

struct nd_homa_rpc *nd_homa_rpc_accept(struct nd_homa *homa, struct nd_homa_peer *peer, uint64_t id,
				       struct nd_map_slot *slot, nd_ns now)
{
	struct nd_homa_rpc *rpc;

	if (!(slot->value & ND_HOMA_ENDED)) /* of another peer, with the same key */
		return NULL;
	rpc = create(homa, peer, id, now);
	if (!rpc)
		return NULL;
	rpc->key = nd_homa_key(homa, peer->handle, id);
	rpc->handle = server_handle(rpc->index, rpc->generation);
	rpc->state = ND_HOMA_INCOMING;
	nd_map_fill(&homa->known, slot, rpc->key, rpc->index);
	homa->server_rpcs++;
	peer->server_rpcs++;
	return rpc;
}

ND_NOINLINE bool nd_homa_rpc_last_room(const struct nd_homa *homa, uint32_t app)
{
	return homa->server_rpcs < homa->config.server_rpcs_max &&
	       (app >= homa->config.apps_max ||
		homa->held[app] < homa->config.server_rpcs_max / 2);
}

static void drop_event(struct nd_homa *homa, struct nd_homa_rpc *rpc, uint8_t event)
{
	rpc->events &= (uint8_t)~event;
	if (!rpc->events)
		nd_homa_list_remove(homa, &homa->lists[LIST_EVENTS], LIST_EVENTS, rpc);
}

void nd_homa_rpc_release(struct nd_homa *homa, struct nd_homa_rpc *rpc)
{
	homa->rx.put(homa->rx.context, rpc->app, rpc->in.memory, rpc->in.bytes);
	rpc->in.memory = NULL;
	rpc->flags &= (uint16_t)~RPC_LEASED;
	if (homa->starved_count)
		nd_homa_in_feed(homa, rpc->app);
}

/* A request that the application has not seen needs no answer and no report. */
static void withdraw_request(struct nd_homa *homa, struct nd_homa_rpc *rpc)
{
	drop_event(homa, rpc, EVENT_REQUEST);
	if (rpc->flags & RPC_LEASED)
		nd_homa_rpc_release(homa, rpc);
}

static void leave_counts(struct nd_homa *homa, struct nd_homa_rpc *rpc, nd_ns now)
{
	struct nd_homa_peer *peer;

	if (!nd_homa_is_server(rpc)) {
		homa->client_rpcs--;
		return;
	}
	peer = nd_homa_peer_at(homa, rpc->peer);
	homa->server_rpcs--;
	peer->server_rpcs--;
	if (rpc->flags & RPC_REMEMBER)
		nd_homa_done_add(homa, peer, rpc->id, now);
	else
		nd_map_remove(&homa->known, rpc->key);
}

void nd_homa_rpc_close(struct nd_homa *homa, struct nd_homa_rpc *rpc, uint8_t event, int error,
		       nd_ns now)
{
	nd_assert(rpc->state != ND_HOMA_CLOSED && rpc->state != ND_HOMA_FREE);
	rpc->state_failed = rpc->state;
	rpc->state = ND_HOMA_CLOSED;
	rpc->error = error;
	nd_heap_remove(&homa->timers, rpc->index);
	nd_homa_control_drop(homa, rpc, UINT8_MAX);
	nd_homa_out_end(homa, rpc);
	nd_homa_in_end(homa, rpc);
	leave_counts(homa, rpc, now);
	if (rpc->events & EVENT_REQUEST)
		withdraw_request(homa, rpc);
	else if (event)
		nd_homa_rpc_event(homa, rpc, event);
	if (error)
		homa->counters.rpcs_failed++;
	nd_homa_rpc_settle(homa, rpc);
}

void nd_homa_rpc_abandon(struct nd_homa *homa, struct nd_homa_rpc *rpc, nd_ns now)
{
	if (rpc->state != ND_HOMA_CLOSED) {
		nd_homa_tell_end(homa, rpc, ND_HOMA_NOTE_DONE);
		nd_homa_rpc_close(homa, rpc, 0, -ECANCELED, now);
	}
	if (rpc->state == ND_HOMA_FREE)
		return;
	if (rpc->events)
		drop_event(homa, rpc, rpc->events);
	if (rpc->flags & RPC_LEASED)
		nd_homa_rpc_release(homa, rpc);
	nd_homa_rpc_settle(homa, rpc);
}

void nd_homa_rpc_free(struct nd_homa *homa, struct nd_homa_rpc *rpc)
{
	if (!nd_homa_is_server(rpc))
		*nd_homa_client_place(homa, rpc->id) = ND_NONE;
	nd_homa_peer_at(homa, rpc->peer)->rpcs--;
	homa->held[rpc->app]--;
	rpc->state = ND_HOMA_FREE;
	nd_pool_put(&homa->rpcs, rpc->index);
}

void nd_homa_rpc_resume(struct nd_homa *homa, struct nd_homa_rpc *rpc)
{
	if (!(rpc->flags & RPC_PUT_OFF))
		return;
	rpc->flags &= (uint16_t)~RPC_PUT_OFF;
	nd_homa_out_ready(homa, rpc);
}

void nd_homa_rpc_awake(struct nd_homa *homa, struct nd_homa_rpc *rpc)
{
	rpc->flags &= (uint16_t)~RPC_QUIET;
	nd_homa_in_account(homa, rpc);
	nd_homa_grant_update(homa, rpc);
}

static void describe_failure(const struct nd_homa_rpc *rpc, struct nd_event *event)
{
	event->error = rpc->error;
	event->bytes = rpc->in.received;
	event->detail = (uint32_t)rpc->state_failed | (uint32_t)rpc->attempts << 8 |
			(uint32_t)rpc->in.level << 16;
	event->message = (uint64_t)rpc->out.sent << 32 | rpc->out.granted;
}

static void describe_message(const struct nd_homa_rpc *rpc, struct nd_event *event)
{
	event->bytes = rpc->in.bytes;
	event->payload = rpc->in.memory;
}

static void describe(const struct nd_homa *homa, const struct nd_homa_rpc *rpc, uint8_t kind,
		     struct nd_event *event)
{
	static const uint8_t kinds[] = {
		[EVENT_REQUEST] = ND_EVENT_REQUEST,
		[EVENT_RESPONSE] = ND_EVENT_RESPONSE,
		[EVENT_SENT] = ND_EVENT_SENT,
		[EVENT_FAILED] = ND_EVENT_FAILED,
	};

	*event = (struct nd_event){
		.kind = kinds[kind],
		.app = rpc->app,
		.peer = nd_homa_peer_at(homa, rpc->peer)->handle,
		.port = nd_homa_is_server(rpc) ? rpc->own_port : rpc->peer_port,
		.id = rpc->handle,
		.message = rpc->id,
		.cookie = rpc->cookie,
	};
	if (kind == EVENT_FAILED)
		describe_failure(rpc, event);
	else if (kind != EVENT_SENT)
		describe_message(rpc, event);
}

uint32_t nd_homa_events(void *endpoint, struct nd_event *out, uint32_t limit)
{
	struct nd_homa *homa = endpoint;
	uint32_t count = 0;

	while (count < limit && homa->lists[LIST_EVENTS].first != ND_NONE) {
		struct nd_homa_rpc *rpc = nd_homa_rpc_at(homa, homa->lists[LIST_EVENTS].first);
		uint8_t kind = (uint8_t)(rpc->events & -rpc->events);

		describe(homa, rpc, kind, &out[count++]);
		drop_event(homa, rpc, kind);
		nd_homa_rpc_settle(homa, rpc);
	}
	return count;
}
