// SPDX-License-Identifier: Apache-2.0
/*
 * Who gets grants, how far, and at which priority.
 *
 * DESIGN NOTES
 * 1. Peers, not messages, are active: each stands for its message with the fewest ungranted bytes
 *    (homa_order.c). At most `degree` peers are active, kept in a small sorted array; all others
 *    with grantable messages wait in a heap. An arrival touches its own message only; the sets
 *    change when a message starts, ends, is fully granted or falls silent.
 * 2. A grant makes its message more urgent, never less, so only starts can displace active ones.
 * 3. Everything that was granted and has not arrived is counted in homa->incoming. A message whose
 *    peer is silent is not counted and not granted until it speaks, so that dead peers cannot use
 *    up max_incoming_bytes and stop everybody else.
 * 4. The oldest message gets a share out of turn, but never more than its window.
 */
#include "transport/homa_internal.h"

/* Less than this part of a packet is not worth a grant while more is on its way. */
#define CRUMBS_OF_PACKET 16

static struct nd_homa_rpc *first_message(const struct nd_homa *homa, uint32_t peer)
{
	return nd_homa_rpc_at(homa, nd_homa_peer_at(homa, peer)->grantable);
}

static uint64_t peer_key(const struct nd_homa *homa, uint32_t peer)
{
	return first_message(homa, peer)->order.key;
}

static uint64_t key_of(const struct nd_homa *homa, const struct nd_homa_rpc *rpc)
{
	uint32_t done = homa->config.by_length ? 0 : rpc->in.granted;

	return (uint64_t)(rpc->in.bytes - done) << 32 | rpc->age;
}

static bool wants_grants(const struct nd_homa_rpc *rpc)
{
	return rpc->state == ND_HOMA_INCOMING && rpc->in.begun &&
	       !(rpc->flags & (RPC_QUIET | RPC_STARVED | RPC_GAPLESS)) &&
	       rpc->in.granted < rpc->in.bytes;
}

static uint32_t window_of(const struct nd_homa *homa, const struct nd_homa_rpc *rpc)
{
	const struct nd_homa_config *config = &homa->config;

	if (config->window_dynamic)
		return nd_max_u32(config->max_incoming_bytes / (homa->active_count + 1),
				  config->mss_bytes);
	if (config->window_bytes)
		return config->window_bytes;
	return nd_max_u32(nd_homa_peer_rtt_bytes(homa, nd_homa_peer_at(homa, rpc->peer)),
			  config->mss_bytes);
}

/* One level per active message; the lowest ones when there are fewer messages than levels. */
static uint8_t level_of_rank(const struct nd_homa *homa, uint32_t rank)
{
	uint32_t levels = homa->scheduled_levels;
	uint32_t used = nd_min_u32(homa->active_count, levels);

	return rank < used ? (uint8_t)(used - 1 - rank) : 0;
}

/* Bytes that may be granted now out of those wanted; whole packets when not all. */
static uint32_t fit(struct nd_homa *homa, uint32_t wanted)
{
	uint64_t limit = homa->config.max_incoming_bytes;
	uint32_t room;

	if (!limit || homa->config.basic || homa->incoming + wanted <= limit)
		return wanted;
	homa->stalled = true;
	homa->counters.grant_stalled++;
	room = homa->incoming < limit ? (uint32_t)(limit - homa->incoming) : 0;
	return room - room % homa->config.mss_bytes;
}

static void give(struct nd_homa *homa, struct nd_homa_rpc *rpc, uint32_t bytes, uint8_t level)
{
	if (rpc->in.granted == rpc->in.received)
		rpc->quiet_since = homa->now; /* only now is it the peer's turn */
	rpc->in.granted += bytes;
	rpc->in.level = level;
	nd_homa_in_account(homa, rpc);
	nd_homa_control_want(homa, rpc, CONTROL_GRANT);
}

/* Bytes below the window that are worth a grant while more is on its way. */
ND_NOINLINE static uint32_t worth_a_grant(const struct nd_homa_config *config, uint32_t bytes)
{
	if (config->window_dynamic)
		return bytes - bytes % config->mss_bytes;
	return bytes < config->mss_bytes / CRUMBS_OF_PACKET ? 0 : bytes;
}

/*
 * What its window has room for. Small grants make small packets, and those make small grants again,
 * which keep a gap behind them from falling silent and being asked for. So a window that moves is
 * filled by whole packets, unless that ends the message or nothing is on its way. A fixed window
 * grants what arrived, so that packets keep their sizes, but no crumbs.
 */
static inline uint32_t below_window(const struct nd_homa *homa, const struct nd_homa_rpc *rpc)
{
	const struct nd_homa_config *config = &homa->config;
	uint64_t target = nd_min_u64(rpc->in.bytes,
				     (uint64_t)rpc->in.received + window_of(homa, rpc));
	uint32_t bytes;

	if (target <= rpc->in.granted)
		return 0;
	bytes = (uint32_t)(target - rpc->in.granted);
	if ((config->window_dynamic || bytes < config->mss_bytes) && target < rpc->in.bytes &&
	    rpc->in.granted > rpc->in.received)
		return worth_a_grant(config, bytes);
	return bytes;
}

static void grant(struct nd_homa *homa, struct nd_homa_rpc *rpc, uint8_t level)
{
	uint32_t bytes = below_window(homa, rpc);

	if (bytes)
		bytes = fit(homa, bytes);
	if (!bytes)
		return;
	give(homa, rpc, bytes, level);
	homa->grant_fifo_credit += (uint64_t)bytes * homa->config.grant_fifo_permille;
}

static void place(struct nd_homa *homa, uint32_t rank, uint32_t peer)
{
	homa->active[rank] = peer;
	nd_homa_peer_at(homa, peer)->rank = rank;
}

/* Moves the peer at rank to where its key belongs. */
static void sort_active(struct nd_homa *homa, uint32_t rank)
{
	uint32_t peer = homa->active[rank];
	uint64_t key = peer_key(homa, peer);

	for (; rank > 0 && peer_key(homa, homa->active[rank - 1]) > key; rank--)
		place(homa, rank, homa->active[rank - 1]);
	for (; rank + 1 < homa->active_count && peer_key(homa, homa->active[rank + 1]) < key; rank++)
		place(homa, rank, homa->active[rank + 1]);
	place(homa, rank, peer);
}

static void activate(struct nd_homa *homa, uint32_t peer)
{
	nd_heap_remove(&homa->waiting, peer);
	place(homa, homa->active_count, peer);
	sort_active(homa, homa->active_count++);
}

static void deactivate(struct nd_homa *homa, uint32_t rank)
{
	uint32_t peer = homa->active[rank];

	nd_homa_peer_at(homa, peer)->rank = ND_NONE;
	for (homa->active_count--; rank < homa->active_count; rank++)
		place(homa, rank, homa->active[rank + 1]);
	if (nd_homa_peer_at(homa, peer)->grantable != ND_NONE)
		nd_heap_set(&homa->waiting, peer, peer_key(homa, peer));
}

/* The best `degree` peers are active, the others wait. */
static void balance(struct nd_homa *homa)
{
	while (homa->active_count > homa->degree)
		deactivate(homa, homa->active_count - 1);
	while (homa->active_count < homa->degree && homa->waiting.count)
		activate(homa, nd_heap_id(&homa->waiting));
	while (homa->waiting.count &&
	       nd_heap_key(&homa->waiting) <
		       peer_key(homa, homa->active[homa->active_count - 1])) {
		deactivate(homa, homa->active_count - 1);
		activate(homa, nd_heap_id(&homa->waiting));
	}
}

/* The peer's first message is another one, or has another key. */
static void peer_changed(struct nd_homa *homa, struct nd_homa_peer *peer)
{
	uint32_t index = peer->index;

	if (peer->rank != ND_NONE) {
		if (peer->grantable == ND_NONE)
			deactivate(homa, peer->rank);
		else
			sort_active(homa, peer->rank);
	} else if (peer->grantable == ND_NONE) {
		nd_heap_remove(&homa->waiting, index);
	} else {
		nd_heap_set(&homa->waiting, index, peer_key(homa, index));
	}
}

static void enter(struct nd_homa *homa, struct nd_homa_rpc *rpc)
{
	struct nd_homa_peer *peer = nd_homa_peer_at(homa, rpc->peer);
	uint32_t index = rpc->index;

	nd_homa_order_insert(homa, peer, index, key_of(homa, rpc));
	nd_homa_list_append(homa, &homa->lists[LIST_OLDEST], LIST_OLDEST, rpc);
	if (peer->grantable == index)
		peer_changed(homa, peer);
}

static void leave(struct nd_homa *homa, struct nd_homa_rpc *rpc)
{
	struct nd_homa_peer *peer = nd_homa_peer_at(homa, rpc->peer);
	uint32_t index = rpc->index;
	bool first = peer->grantable == index;

	nd_homa_order_remove(homa, peer, index);
	nd_homa_list_remove(homa, &homa->lists[LIST_OLDEST], LIST_OLDEST, rpc);
	if (first)
		peer_changed(homa, peer);
}

/* Fewer bytes of a message inside the order are ungranted now. */
static void rekey(struct nd_homa *homa, struct nd_homa_rpc *rpc)
{
	struct nd_homa_peer *peer = nd_homa_peer_at(homa, rpc->peer);
	uint32_t index = rpc->index;

	if (peer->grantable == index) {
		rpc->order.key = key_of(homa, rpc);
	} else {
		nd_homa_order_remove(homa, peer, index);
		nd_homa_order_insert(homa, peer, index, key_of(homa, rpc));
	}
	if (peer->grantable == index)
		peer_changed(homa, peer);
}

/* Gives the oldest message its share. */
static void grant_oldest(struct nd_homa *homa)
{
	uint64_t price = (uint64_t)homa->config.grant_fifo_bytes * 1000;
	struct nd_homa_rpc *rpc;
	uint32_t bytes;

	if (homa->grant_fifo_credit < price || homa->lists[LIST_OLDEST].first == ND_NONE)
		return;
	homa->grant_fifo_credit = price;
	rpc = nd_homa_rpc_at(homa, homa->lists[LIST_OLDEST].first);
	bytes = nd_min_u32(below_window(homa, rpc), homa->config.grant_fifo_bytes);
	if (!bytes)
		return;
	give(homa, rpc, bytes, (uint8_t)(homa->scheduled_levels - 1));
	homa->grant_fifo_credit = 0;
	homa->counters.fifo_grants++;
	if (rpc->in.granted == rpc->in.bytes)
		leave(homa, rpc);
	else
		rekey(homa, rpc);
	balance(homa);
}

/* Grants what the message may have; false when it wants no more after that. */
static bool serve(struct nd_homa *homa, struct nd_homa_rpc *rpc, uint32_t rank)
{
	grant(homa, rpc, level_of_rank(homa, rank));
	if (rpc->in.granted == rpc->in.bytes) {
		leave(homa, rpc);
		return false;
	}
	rpc->order.key = key_of(homa, rpc);
	sort_active(homa, rank);
	return true;
}

void nd_homa_grant_run(struct nd_homa *homa)
{
	uint32_t rank = 0;

	homa->stalled = false;
	balance(homa);
	while (rank < homa->active_count) {
		if (serve(homa, first_message(homa, homa->active[rank]), rank)) {
			rank++;
		} else {
			balance(homa);
			rank = 0;
		}
	}
	grant_oldest(homa);
}

/* The sets are balanced already: only the message's own window can have opened. */
static void update_member(struct nd_homa *homa, struct nd_homa_rpc *rpc)
{
	struct nd_homa_peer *peer = nd_homa_peer_at(homa, rpc->peer);
	bool moved = rpc->order.key != key_of(homa, rpc);

	if (moved)
		rekey(homa, rpc);
	if (moved || homa->stalled)
		nd_homa_grant_run(homa);
	else if (peer->rank == ND_NONE || peer->grantable != rpc->index)
		return;
	else if (serve(homa, rpc, peer->rank))
		grant_oldest(homa);
	else
		nd_homa_grant_run(homa);
}

void nd_homa_grant_update(struct nd_homa *homa, struct nd_homa_rpc *rpc)
{
	if (!wants_grants(rpc)) {
		nd_homa_grant_remove(homa, rpc);
	} else if (homa->config.basic) {
		grant(homa, rpc, 0);
	} else if (rpc->order.key == ND_NEVER) {
		enter(homa, rpc);
		nd_homa_grant_run(homa);
	} else {
		update_member(homa, rpc);
	}
}

void nd_homa_grant_leave(struct nd_homa *homa, struct nd_homa_rpc *rpc)
{
	if (rpc->order.key != ND_NEVER)
		leave(homa, rpc);
	nd_homa_grant_run(homa);
}
