// SPDX-License-Identifier: Apache-2.0
/*
 * Time: losses, repeated pulls, peers that are gone, deadlines, the end of time-wait.
 *
 * One timer a connection. When it fires, everything that may be due is looked at, and the timer is
 * set to the earliest of what may be due next; see DESIGN NOTES 3 of ndp_internal.h.
 */
#include "transport/ndp_peer.h"

#include <errno.h>

#define REPULL_SHIFT_MAX 6

static nd_ns stamp_age(const struct nd_ndp_sent *sent, nd_ns now)
{
	return (nd_ns)(uint32_t)(nd_ndp_stamp(now) - sent->stamp) << 6;
}

/* ---- losses ---- */

static void take_for_lost(struct nd_ndp *ndp, struct nd_ndp_connection *connection,
			  struct nd_ndp_sent *sent, uint32_t sequence)
{
	if (sent->path != ND_PATH_NONE)
		nd_paths_lost(nd_ndp_paths_of(ndp, connection), &ndp->config.score, sent->path);
	nd_ndp_send_again(ndp, connection, sent, sequence);
	ndp->counters.timeouts++;
}

/*
 * One of the lost packets goes out again at once and asks for the peer; the others are owed their
 * credit, which comes with the next sign of it: a network that is down is not filled with
 * retransmissions. Where pulls have come ahead of their answers, it was the answers that were lost:
 * credit for those packets would make two of each. A peer that was never heard is soon asked by a
 * header alone, which passes where the MTU is too small for the packet.
 */
static void ask_again(struct nd_ndp *ndp, struct nd_ndp_connection *connection, uint32_t lost)
{
	bool alone = !connection->heard && connection->backoff >= ND_NDP_UNPASSED_LOSSES;
	uint32_t early = connection->due < 0 ? (uint32_t)-connection->due : 0;
	uint32_t pulled = nd_min_u32(lost, early);

	connection->due += (int32_t)pulled;
	connection->owed = (uint16_t)(connection->owed + lost - pulled);
	if (alone) {
		connection->solicit_due = true;
	} else if (connection->credit == 0 && connection->owed) {
		connection->credit++;
		connection->owed--;
	}
	if (connection->backoff < UINT8_MAX)
		connection->backoff++;
	nd_ndp_send_schedule(ndp, connection);
}

/*
 * Takes what has waited too long for its answer for lost; returns when the next packet will have.
 */
static nd_ns find_losses(struct nd_ndp *ndp, struct nd_ndp_connection *connection, nd_ns now)
{
	nd_ns rto = nd_ndp_peer_rto(ndp, nd_ndp_peer_at(ndp, connection->peer),
				    connection->backoff);
	nd_ns oldest = 0;
	uint32_t lost = 0;

	if (connection->flying == 0)
		return ND_NEVER;
	for (uint32_t s = connection->base; s != connection->next; s++) {
		struct nd_ndp_sent *sent = nd_ndp_sent_at(ndp, connection, s);
		nd_ns age;

		if (sent->state != ND_NDP_FLYING)
			continue;
		age = stamp_age(sent, now);
		if (age >= rto) {
			take_for_lost(ndp, connection, sent, s);
			lost++;
		} else {
			oldest = nd_max_u64(oldest, age);
		}
	}
	if (lost)
		ask_again(ndp, connection, lost);
	return connection->flying ? now + rto - oldest : ND_NEVER;
}

/* ---- pulls that do not come, from either side ---- */

/* Nothing happens without a pull, and none has come for long: asks for one. */
static nd_ns solicit(struct nd_ndp *ndp, struct nd_ndp_connection *connection, nd_ns now)
{
	nd_ns due = connection->progress + ndp->config.solicit_ns;

	if (!nd_ndp_is_stalled(connection))
		return ND_NEVER;
	if (now < due)
		return due;
	if (connection->waiting) {
		connection->solicit_due = true; /* counted when it goes */
	} else {
		connection->push = 1;
		ndp->counters.solicits_sent++;
	}
	connection->progress = now;
	nd_ndp_send_schedule(ndp, connection);
	return now + ndp->config.solicit_ns;
}

/* When the last pull is to be repeated for the next time: 1, 3, 7, ... times repull_ns after it. */
static nd_ns repull_due(const struct nd_ndp *ndp, const struct nd_ndp_connection *connection)
{
	uint32_t doublings = nd_min_u32(connection->repulls, REPULL_SHIFT_MAX);
	uint32_t more = connection->repulls - doublings;
	uint64_t units = (UINT64_C(2) << doublings) - 1 + ((uint64_t)more << REPULL_SHIFT_MAX);

	return connection->active + units * ndp->config.repull_ns;
}

/* The last pull brought nothing: it, or what it released, may be lost; or pulls go by time. */
static nd_ns repull(struct nd_ndp *ndp, struct nd_ndp_connection *connection, nd_ns now)
{
	if (!nd_ndp_receive_waits(ndp, connection))
		return ND_NEVER;
	if (now < repull_due(ndp, connection))
		return repull_due(ndp, connection);
	if (nd_ndp_receive_is_futile(ndp, connection) && connection->put_off) {
		connection->put_off--;
		nd_ndp_control_release(ndp, connection, now);
		return repull_due(ndp, connection);
	}
	if (connection->repulls == UINT8_MAX)
		return ND_NEVER; /* enough */
	connection->repulls++;
	ndp->counters.pulls_repeated++;
	nd_ndp_control_pull(ndp, connection);
	return nd_max_u64(repull_due(ndp, connection), now + ndp->config.repull_ns);
}

/* ---- peers ---- */

/* True while the peer has to do something before we can send on or end. */
static bool waits_for_peer(const struct nd_ndp_connection *connection)
{
	if (connection->state == ND_NDP_NEW)
		return false;
	return connection->flying || connection->waiting || nd_ndp_is_stalled(connection) ||
	       (connection->state == ND_NDP_CLOSING && !nd_ndp_has_unsent(connection));
}

/*
 * When the peer is taken for gone. A sender waits for any sign of it; a receiver for data: a peer
 * that lives but was restarted, and has half of what we have, will never send what is missing.
 */
static nd_ns give_up_due(const struct nd_ndp *ndp, const struct nd_ndp_connection *connection)
{
	nd_ns due = ND_NEVER;

	if (waits_for_peer(connection))
		due = connection->alive + ndp->config.give_up_ns;
	if (nd_ndp_receive_waits(ndp, connection))
		due = nd_min_u64(due, connection->active + ndp->config.give_up_ns);
	return due;
}

static bool is_idle(const struct nd_ndp_connection *connection)
{
	return connection->state == ND_NDP_OPEN && connection->flying == 0 &&
	       connection->waiting == 0 && !nd_ndp_has_unsent(connection);
}

/* An empty packet shows whether the peer of an idle connection is still there. */
static nd_ns keep_alive(struct nd_ndp *ndp, struct nd_ndp_connection *connection, nd_ns now)
{
	nd_ns due = connection->alive + ndp->config.keepalive_ns;

	if (ndp->config.keepalive_ns == 0 || !is_idle(connection))
		return ND_NEVER;
	if (now < due)
		return due;
	connection->alive = now; /* from now on we wait for the answer */
	nd_ndp_send_begin_train(ndp, connection);
	connection->empty_due = true;
	ndp->counters.keepalives_sent++;
	nd_ndp_send_schedule(ndp, connection);
	return ND_NEVER;
}

/* ---- firing ---- */

static void forget(struct nd_ndp *ndp, struct nd_ndp_connection *connection)
{
	nd_map_remove(&ndp->connection_map, nd_ndp_key(connection->address, connection->id,
						       connection->accepted));
	ndp->found[connection->accepted].slot = ND_NONE;
	connection->state = ND_NDP_ENDED;
	nd_ndp_connection_try_free(ndp, connection);
}

/* True when the connection is given up. */
static bool give_up(struct nd_ndp *ndp, struct nd_ndp_connection *connection, nd_ns now)
{
	bool too_late = connection->state == ND_NDP_CLOSING && now >= connection->linger;
	bool unpassed = nd_ndp_is_unpassed(connection);

	if (!too_late && now < give_up_due(ndp, connection))
		return false;
	ndp->counters.connections_unpassed += unpassed;
	ndp->counters.connections_failed += !unpassed;
	nd_ndp_connection_abort(ndp, connection, unpassed ? -ECOMM : -ETIMEDOUT,
				ND_NDP_CLOSE_RESET, false, now);
	return true;
}

static void fire_live(struct nd_ndp *ndp, struct nd_ndp_connection *connection, nd_ns now)
{
	nd_ns next;

	if (give_up(ndp, connection, now))
		return;
	next = nd_ndp_message_expire(ndp, connection, now);
	next = nd_min_u64(next, find_losses(ndp, connection, now));
	next = nd_min_u64(next, solicit(ndp, connection, now));
	next = nd_min_u64(next, nd_ndp_incoming_retry(ndp, connection, now));
	next = nd_min_u64(next, repull(ndp, connection, now));
	next = nd_min_u64(next, keep_alive(ndp, connection, now));
	next = nd_min_u64(next, give_up_due(ndp, connection));
	if (connection->state == ND_NDP_CLOSING)
		next = nd_min_u64(next, connection->linger);
	nd_ndp_send_schedule(ndp, connection);
	if (next != ND_NEVER)
		nd_ndp_connection_arm(ndp, connection, nd_max_u64(next, now + 1));
}

static void fire(struct nd_ndp *ndp, struct nd_ndp_connection *connection, nd_ns now)
{
	connection->timer = ND_NEVER;
	if (nd_ndp_is_live(connection))
		fire_live(ndp, connection, now);
	else if (now >= connection->linger)
		forget(ndp, connection);
	else
		nd_ndp_connection_arm(ndp, connection, connection->linger);
}

void nd_ndp_timer_run(struct nd_ndp *ndp, nd_ns now)
{
	while (nd_heap_key(&ndp->timers) <= now) {
		uint32_t slot = nd_heap_id(&ndp->timers);

		nd_heap_remove(&ndp->timers, slot);
		fire(ndp, nd_ndp_connection_at(ndp, slot), now);
	}
}
