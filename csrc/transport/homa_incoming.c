// SPDX-License-Identifier: Apache-2.0
/*
 * Assembly of an incoming message from packets in any order, overlapping in any way.
 *
 * What arrived is [0, end) less a short sorted list of gaps, so that packets in order cost one
 * comparison. Gaps come from one pool and are limited per message: a packet that needs one gap too
 * many is dropped and asked for again later.
 */
#include "transport/homa_internal.h"

static struct nd_homa_gap *gap_at(const struct nd_homa *homa, uint32_t index)
{
	return nd_pool_at(&homa->gaps, index);
}

static void starve(struct nd_homa *homa, struct nd_homa_rpc *rpc)
{
	rpc->flags |= RPC_STARVED;
	homa->starved_count++;
	homa->counters.memory_stalled++;
	nd_homa_list_append(homa, &homa->starved[rpc->app], LIST_STARVED, rpc);
}

static void end_starving(struct nd_homa *homa, struct nd_homa_rpc *rpc)
{
	rpc->flags &= (uint16_t)~RPC_STARVED;
	homa->starved_count--;
	nd_homa_list_remove(homa, &homa->starved[rpc->app], LIST_STARVED, rpc);
}

void nd_homa_in_begin(struct nd_homa *homa, struct nd_homa_rpc *rpc, uint32_t bytes)
{
	rpc->in.bytes = bytes;
	rpc->in.begun = true;
	if (!homa->rx.get || !bytes)
		return;
	rpc->in.memory = homa->rx.get(homa->rx.context, rpc->app, bytes);
	if (!rpc->in.memory)
		starve(homa, rpc);
}

void nd_homa_in_feed(struct nd_homa *homa, uint16_t app)
{
	uint32_t index = homa->starved[app].first;
	uint32_t refused = ND_NONE; /* so many bytes could not be had, fewer perhaps */

	while (index != ND_NONE) {
		struct nd_homa_rpc *rpc = nd_homa_rpc_at(homa, index);

		index = rpc->links[LIST_STARVED].next;
		if (rpc->in.bytes >= refused)
			continue;
		rpc->in.memory = homa->rx.get(homa->rx.context, app, rpc->in.bytes);
		if (!rpc->in.memory) {
			refused = rpc->in.bytes;
			continue;
		}
		end_starving(homa, rpc);
		nd_homa_control_want(homa, rpc, CONTROL_RESEND);
		nd_homa_grant_update(homa, rpc);
	}
}

/* A new gap at *link, before what was there; false when a limit is reached. */
static bool add_gap(struct nd_homa *homa, struct nd_homa_rpc *rpc, uint32_t *link, uint32_t start,
		    uint32_t end)
{
	uint32_t index;

	if (rpc->in.gap_count >= homa->config.message_gaps_max)
		return false;
	index = nd_pool_get(&homa->gaps);
	if (index == ND_NONE)
		return false;
	*gap_at(homa, index) = (struct nd_homa_gap){ .start = start, .end = end, .next = *link };
	*link = index;
	rpc->in.gap_count++;
	return true;
}

static void remove_gap(struct nd_homa *homa, struct nd_homa_rpc *rpc, uint32_t *link)
{
	uint32_t index = *link;

	*link = gap_at(homa, index)->next;
	nd_pool_put(&homa->gaps, index);
	rpc->in.gap_count--;
}

/* Takes [from, to), which lies within the gap at *link, out of it; false when that needs a gap. */
static bool shrink_gap(struct nd_homa *homa, struct nd_homa_rpc *rpc, uint32_t *link, uint32_t from,
		       uint32_t to)
{
	struct nd_homa_gap *gap = gap_at(homa, *link);

	if (from == gap->start && to == gap->end) {
		remove_gap(homa, rpc, link);
	} else if (from == gap->start) {
		gap->start = to;
	} else if (to == gap->end) {
		gap->end = from;
	} else {
		if (!add_gap(homa, rpc, &gap->next, to, gap->end))
			return false;
		gap->end = from;
	}
	return true;
}

static uint32_t fill_gaps(struct nd_homa *homa, struct nd_homa_rpc *rpc, uint32_t offset,
			  uint32_t end, const uint8_t *payload)
{
	uint32_t *link = &rpc->in.gaps;
	uint32_t added = 0;

	while (*link != ND_NONE && gap_at(homa, *link)->start < end) {
		uint32_t index = *link;
		struct nd_homa_gap *gap = gap_at(homa, index);
		uint32_t from = nd_max_u32(offset, gap->start);
		uint32_t to = nd_min_u32(end, gap->end);

		if (from < to) {
			if (!shrink_gap(homa, rpc, link, from, to)) {
				homa->counters.gaps_refused++;
				break;
			}
			nd_homa_in_keep(rpc, from, to, offset, payload);
			added += to - from;
		}
		if (*link == index)
			link = &gap->next;
	}
	return added;
}

/*
 * All gaps are with other messages. To ask for all that is missing would only bring it out of order
 * again, for ever where a network prefers the last packets of a message.
 */
static void go_gapless(struct nd_homa *homa, struct nd_homa_rpc *rpc)
{
	homa->counters.gapless += !(rpc->flags & RPC_GAPLESS);
	rpc->flags |= RPC_GAPLESS;
}

uint32_t nd_homa_in_insert(struct nd_homa *homa, struct nd_homa_rpc *rpc, uint32_t offset,
			   uint32_t bytes, const uint8_t *payload)
{
	uint32_t end = offset + bytes;
	uint32_t added = 0;

	if (!bytes)
		return 0;
	if (offset < rpc->in.end)
		added = fill_gaps(homa, rpc, offset, nd_min_u32(end, rpc->in.end), payload);
	if (offset > rpc->in.end) {
		uint32_t *link = &rpc->in.gaps;

		while (*link != ND_NONE)
			link = &gap_at(homa, *link)->next;
		if (!add_gap(homa, rpc, link, rpc->in.end, offset)) {
			homa->counters.gaps_refused++;
			if (!rpc->in.gap_count)
				go_gapless(homa, rpc);
			return 0;
		}
	}
	if (end > rpc->in.end) {
		uint32_t from = nd_max_u32(offset, rpc->in.end);

		nd_homa_in_keep(rpc, from, end, offset, payload);
		added += end - from;
		rpc->in.end = end;
	}
	rpc->in.received += added;
	homa->counters.duplicate_bytes += bytes - added;
	return added;
}

/*
 * Words cost a peer nothing. Would they keep what it may send counted as incoming, it could use up
 * max_incoming_bytes for all others.
 */
void nd_homa_in_idle(struct nd_homa *homa, struct nd_homa_rpc *rpc)
{
	if (rpc->in.granted == rpc->in.received)
		return; /* it is our turn */
	rpc->flags |= RPC_IDLE;
	nd_homa_in_account(homa, rpc);
	if (homa->stalled)
		nd_homa_grant_update(homa, rpc);
}

void nd_homa_in_missing(const struct nd_homa *homa, const struct nd_homa_rpc *rpc, uint32_t *start,
			uint32_t *end)
{
	if (rpc->in.gaps != ND_NONE) {
		*start = gap_at(homa, rpc->in.gaps)->start;
		*end = gap_at(homa, rpc->in.gaps)->end;
	} else {
		*start = rpc->in.end;
		*end = nd_max_u32(rpc->in.end, rpc->in.granted);
	}
	if (rpc->flags & RPC_GAPLESS)
		*end = nd_min_u32(*end, *start + homa->config.mss_bytes);
}

void nd_homa_in_drop(struct nd_homa *homa, struct nd_homa_rpc *rpc)
{
	if (rpc->flags & RPC_STARVED)
		end_starving(homa, rpc);
	while (rpc->in.gaps != ND_NONE)
		remove_gap(homa, rpc, &rpc->in.gaps);
	if (rpc->in.counted)
		nd_homa_in_account(homa, rpc);
	nd_homa_grant_remove(homa, rpc);
	if (rpc->in.memory && !(rpc->flags & RPC_LEASED)) {
		uint8_t *memory = rpc->in.memory;

		rpc->in.memory = NULL;
		homa->rx.put(homa->rx.context, rpc->app, memory, rpc->in.bytes);
		nd_homa_in_feed(homa, rpc->app);
	}
}
