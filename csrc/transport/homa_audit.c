// SPDX-License-Identifier: Apache-2.0
/* Every invariant of an endpoint, checked from scratch. */
#include "transport/homa_internal.h"

#define WRONG_WHEN(condition, text) \
	do { \
		if (condition) \
			return text; \
	} while (0)

struct totals {
	uint64_t incoming;
	uint32_t clients, servers, grantable, starved, gaps, control, events;
};

static const char *audit_gaps(const struct nd_homa *homa, const struct nd_homa_in *in,
			      struct totals *totals)
{
	uint32_t missing = 0, count = 0, last = 0;

	for (uint32_t i = in->gaps; i != ND_NONE;) {
		const struct nd_homa_gap *gap = nd_pool_at(&homa->gaps, i);

		WRONG_WHEN(gap->start >= gap->end || (count && gap->start <= last),
			   "gaps are not sorted and apart");
		last = gap->end;
		missing += gap->end - gap->start;
		count++;
		i = gap->next;
	}
	WRONG_WHEN(last > in->end || (count && last == in->end), "a gap ends beyond the data");
	WRONG_WHEN(count != in->gap_count || count > homa->config.message_gaps_max,
		   "gap count is wrong");
	totals->gaps += count;
	WRONG_WHEN(count && in->end - missing != in->received, "gaps and received bytes differ");
	return NULL;
}

static const char *audit_in(const struct nd_homa *homa, const struct nd_homa_rpc *rpc,
			    struct totals *totals)
{
	const struct nd_homa_in *in = &rpc->in;
	bool ordered = rpc->order.key != ND_NEVER;

	WRONG_WHEN(in->received > in->end || in->end > in->granted || in->granted > in->bytes,
		   "received <= end <= granted <= bytes does not hold");
	WRONG_WHEN(rpc->state == ND_HOMA_INCOMING && in->begun && in->received == in->bytes,
		   "a whole message was not delivered");
	WRONG_WHEN(rpc->flags & RPC_STARVED && in->memory, "a starved message has memory");
	WRONG_WHEN(rpc->flags & RPC_LEASED && !in->memory, "a leased message has no memory");
	WRONG_WHEN(ordered && (rpc->state != ND_HOMA_INCOMING || in->granted == in->bytes),
		   "a message that wants no grants is in the grant order");
	WRONG_WHEN(!ordered && !homa->config.basic && rpc->state == ND_HOMA_INCOMING && in->begun &&
			   in->granted < in->bytes &&
			   !(rpc->flags & (RPC_QUIET | RPC_STARVED | RPC_GAPLESS)),
		   "a message that wants grants is not in the grant order");
	WRONG_WHEN(in->counted && in->counted != in->granted - in->received,
		   "a message counts a wrong number of incoming bytes");
	totals->incoming += in->counted;
	totals->grantable += ordered;
	totals->starved += (rpc->flags & RPC_STARVED) != 0;
	return audit_gaps(homa, in, totals);
}

static const char *audit_out(const struct nd_homa *homa, const struct nd_homa_rpc *rpc,
			     uint32_t index)
{
	const struct nd_homa_out *out = &rpc->out;
	bool sending = rpc->state == ND_HOMA_OUTGOING || rpc->state == ND_HOMA_REPLYING ||
		       rpc->state == ND_HOMA_UNACKED ||
		       (rpc->state == ND_HOMA_INCOMING && !nd_homa_is_server(rpc));
	bool ready = !(rpc->flags & RPC_PUT_OFF) &&
		     (out->resend_from < out->resend_to || out->sent < out->granted || !out->begun);

	WRONG_WHEN(out->sent > out->granted || out->granted > out->bytes,
		   "sent <= granted <= bytes does not hold");
	WRONG_WHEN(out->resend_from < out->resend_to && out->resend_to > out->sent,
		   "a retransmission reaches beyond what was sent");
	WRONG_WHEN((sending && ready) != nd_heap_has(&homa->ready, index),
		   "the ready heap and the messages differ");
	return NULL;
}

/* A client's until it is freed, a server's until it ends. */
static bool is_found(const struct nd_homa *homa, const struct nd_homa_rpc *rpc)
{
	uint32_t handle = nd_homa_peer_at(homa, rpc->peer)->handle;

	if (!nd_homa_is_server(rpc))
		return *nd_homa_client_place(homa, rpc->id) == rpc->index;
	return rpc->state == ND_HOMA_CLOSED || nd_homa_rpc_find(homa, handle, rpc->id) == rpc;
}

static const char *audit_rpc(const struct nd_homa *homa, uint32_t index, struct totals *totals)
{
	const struct nd_homa_rpc *rpc = nd_homa_rpc_at(homa, index);
	bool closed = rpc->state == ND_HOMA_CLOSED;
	bool timed = nd_heap_has(&homa->timers, index);
	const char *wrong;

	WRONG_WHEN(rpc->state == ND_HOMA_FREE || rpc->state > ND_HOMA_CLOSED, "impossible state");
	WRONG_WHEN(closed && !rpc->events && !(rpc->flags & RPC_LEASED), "a closed RPC was not freed");
	WRONG_WHEN(closed && (rpc->control || timed), "a closed RPC is still on the wire");
	WRONG_WHEN(!closed && rpc->state != ND_HOMA_SERVICE && !timed, "a live RPC has no timer");
	WRONG_WHEN(rpc->app >= homa->config.apps_max, "an RPC of no application");
	WRONG_WHEN(!is_found(homa, rpc), "an RPC is not found by its id");
	totals->clients += !closed && !nd_homa_is_server(rpc);
	totals->servers += !closed && nd_homa_is_server(rpc);
	totals->control += rpc->control != 0;
	totals->events += rpc->events != 0;
	wrong = audit_in(homa, rpc, totals);
	return wrong ? wrong : audit_out(homa, rpc, index);
}

static uint32_t list_length(const struct nd_homa *homa, enum nd_homa_list_kind kind)
{
	uint32_t count = 0;

	for (uint32_t i = homa->lists[kind].first; i != ND_NONE && count <= homa->rpcs.limit; count++)
		i = nd_homa_rpc_at(homa, i)->links[kind].next;
	return count;
}

static const char *audit_active(const struct nd_homa *homa)
{
	uint64_t last = 0;

	WRONG_WHEN(homa->active_count > homa->degree, "more messages are active than may be");
	WRONG_WHEN(homa->active_count < homa->degree && homa->waiting.count,
		   "a message waits though another could be active");
	for (uint32_t rank = 0; rank < homa->active_count; rank++) {
		const struct nd_homa_peer *peer = nd_homa_peer_at(homa, homa->active[rank]);
		uint64_t key;

		WRONG_WHEN(peer->rank != rank || peer->grantable == ND_NONE, "active peer has no rank");
		key = nd_homa_rpc_at(homa, peer->grantable)->order.key;
		WRONG_WHEN(key < last, "active messages are not sorted");
		WRONG_WHEN(nd_heap_has(&homa->waiting, homa->active[rank]), "active peer waits");
		last = key;
	}
	WRONG_WHEN(homa->active_count && nd_heap_key(&homa->waiting) < last,
		   "a waiting message is better than an active one");
	return NULL;
}

static const char *audit_held(const struct nd_homa *homa)
{
	uint32_t held = 0;

	for (uint32_t app = 0; app < homa->config.apps_max; app++)
		held += homa->held[app];
	WRONG_WHEN(held != homa->rpcs.used, "RPCs of applications do not add up");
	return NULL;
}

static const char *audit_totals(const struct nd_homa *homa, const struct totals *totals)
{
	WRONG_WHEN(totals->incoming != homa->incoming, "incoming bytes do not add up");
	WRONG_WHEN(totals->clients != homa->client_rpcs || totals->servers != homa->server_rpcs,
		   "RPC counts do not add up");
	WRONG_WHEN(totals->grantable != homa->grantable_count, "grantable messages do not add up");
	WRONG_WHEN(totals->grantable != list_length(homa, LIST_OLDEST), "the age list is wrong");
	WRONG_WHEN(totals->starved != homa->starved_count, "starved messages do not add up");
	WRONG_WHEN(totals->gaps != homa->gaps.used, "gaps leaked");
	WRONG_WHEN(totals->control != list_length(homa, LIST_CONTROL), "the control list is wrong");
	WRONG_WHEN(totals->events != list_length(homa, LIST_EVENTS), "the event list is wrong");
	WRONG_WHEN(homa->known.count < homa->server_rpcs ||
			   homa->known.count > homa->server_rpcs + homa->done_count,
		   "more requests are known than are open or ended");
	WRONG_WHEN(homa->done_count > homa->config.done_max ||
			   homa->reply_count > homa->config.replies_max, "a ring is over its limit");
	return NULL;
}

const char *nd_homa_audit(const void *endpoint)
{
	const struct nd_homa *homa = endpoint;
	struct totals totals = { 0 };
	const char *wrong;

	WRONG_WHEN(!nd_pool_check(&homa->rpcs) || !nd_pool_check(&homa->peers) ||
			   !nd_pool_check(&homa->gaps), "a pool lost an item");
	for (uint32_t i = 0; i < homa->rpcs.limit; i++) {
		if (homa->rpcs.next[i] != ND_POOL_USED)
			continue;
		wrong = audit_rpc(homa, i, &totals);
		if (wrong)
			return wrong;
	}
	wrong = audit_totals(homa, &totals);
	if (!wrong)
		wrong = audit_held(homa);
	return wrong ? wrong : audit_active(homa);
}
