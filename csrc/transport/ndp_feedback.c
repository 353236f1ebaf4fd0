// SPDX-License-Identifier: Apache-2.0
/* ACK, NACK, PULL and returned headers: what the sender learns of its packets. */
#include "transport/ndp_peer.h"

/* A counter that jumps further than this is not a lost pull but a broken peer. */
#define PULL_JUMP_MAX 65536

/* The packet that a feedback is about, NULL when it is not on the wire. */
static struct nd_ndp_sent *find_sent(const struct nd_ndp *ndp,
				     const struct nd_ndp_connection *connection, uint32_t sequence)
{
	struct nd_ndp_sent *sent;

	if (sequence - connection->base >= connection->next - connection->base)
		return NULL;
	sent = nd_ndp_sent_at(ndp, connection, sequence);
	return sent->state == ND_NDP_ACKED ? NULL : sent;
}

static void remember(struct nd_ndp_connection *connection, bool ack)
{
	connection->history = connection->history << 1 | ack;
	if (connection->history_count < 32)
		connection->history_count++;
}

/* The peer answers: time-outs start over, and what was lost in silence gets its credit back. */
ND_INLINE void answered(struct nd_ndp *ndp, struct nd_ndp_connection *connection,
			const struct nd_ndp_sent *sent, bool ack, nd_ns now)
{
	if (sent->tries == 1 && sent->state == ND_NDP_FLYING)
		nd_ndp_peer_measured(nd_ndp_peer_at(ndp, connection->peer),
				     (nd_ns)(uint32_t)(nd_ndp_stamp(now) - sent->stamp) << 6);
	connection->backoff = 0;
	connection->progress = now;
	connection->credit = (uint16_t)(connection->credit + connection->owed);
	connection->owed = 0;
	remember(connection, ack);
}

/* Credit that nothing in flight can still need is worth nothing: it would make a burst later. */
static ND_NOINLINE void settle_rest(struct nd_ndp *ndp, struct nd_ndp_connection *connection)
{
	bool unsent = nd_ndp_has_unsent(connection);

	if (!unsent && connection->waiting == 0 && connection->credit > connection->flying) {
		ndp->counters.pulls_unused += (uint64_t)connection->credit - connection->flying;
		connection->credit = connection->flying;
	}
	if (!unsent && connection->base == connection->next)
		nd_ndp_window_release(ndp, connection);
	else
		nd_ndp_send_schedule(ndp, connection);
}

ND_INLINE void settle(struct nd_ndp *ndp, struct nd_ndp_connection *connection)
{
	/* What has its turn to come, with more to send, needs nothing. */
	if (connection->list == ND_NDP_UNLISTED || !nd_ndp_has_unsent(connection))
		settle_rest(ndp, connection);
}

/*
 * Pulls that may still come. Each packet earns one. What the network doubled earns more, and so does
 * a packet whose answer was lost and that goes again: each would stay under way for ever. So no more
 * pulls are taken ahead of their answers than a window has packets.
 */
static uint32_t pulls_earned(const struct nd_ndp *ndp, const struct nd_ndp_connection *connection)
{
	int32_t unanswered = (int32_t)nd_min_u32(connection->flying, ndp->config.initial_window);

	nd_assert(unanswered + connection->due >= 0);
	return (uint32_t)(unanswered + connection->due);
}

static void take_pull(struct nd_ndp *ndp, struct nd_ndp_connection *connection, uint32_t counter)
{
	uint32_t count = counter - connection->pull_seen;
	uint32_t earned;

	if (count == 0 || count > PULL_JUMP_MAX) {
		ndp->counters.pulls_excessive += (int32_t)count > PULL_JUMP_MAX;
		return;
	}
	connection->pull_seen = counter;
	connection->progress = ndp->clock;
	earned = nd_min_u32(count, pulls_earned(ndp, connection));
	earned = nd_min_u32(earned, ndp->config.window_packets - connection->credit);
	ndp->counters.pulls_received += earned;
	ndp->counters.pulls_excessive += count - earned;
	connection->due -= (int32_t)earned;
	connection->credit = (uint16_t)(connection->credit + earned);
}

void nd_ndp_feedback_pull(struct nd_ndp *ndp, struct nd_ndp_connection *connection,
			  uint32_t counter)
{
	if ((int32_t)(counter - connection->pull_seen) <= 0)
		ndp->counters.pulls_stale++;
	take_pull(ndp, connection, counter);
	settle(ndp, connection);
}

static void advance(const struct nd_ndp *ndp, struct nd_ndp_connection *connection)
{
	do {
		connection->base++;
	} while (connection->base != connection->next &&
		 nd_ndp_sent_at(ndp, connection, connection->base)->state == ND_NDP_ACKED);
}

ND_INLINE void on_acked(struct nd_ndp *ndp, struct nd_ndp_connection *connection,
			struct nd_ndp_sent *sent, uint32_t sequence, nd_ns now)
{
	answered(ndp, connection, sent, true, now);
	if (sent->path != ND_PATH_NONE)
		nd_paths_acked(nd_ndp_paths_of(ndp, connection), &ndp->config.score,
			       sent->path);
	if (ND_UNLIKELY(sent->state == ND_NDP_WAITING)) {
		nd_ndp_send_not_again(ndp, connection, sequence); /* it was late, not lost */
	} else {
		connection->flying--;
		connection->due++;
	}
	sent->state = ND_NDP_ACKED;
	if (connection->deferred && (int32_t)(sequence - connection->train) < 0)
		nd_ndp_send_continue_train(ndp, connection);
	if (sent->message != ND_NDP_SLOT_NONE)
		nd_ndp_message_acked(ndp, connection, nd_ndp_message_at(ndp, sent->message),
				     sent->offset);
	if (sequence == connection->base)
		advance(ndp, connection);
}

static ND_NOINLINE void ack_below(struct nd_ndp *ndp, struct nd_ndp_connection *connection,
				  uint32_t arrived, nd_ns now)
{
	/* An honest peer's arrived stands at the first gap; base can pass another's. */
	while ((int32_t)(connection->base - arrived) < 0)
		on_acked(ndp, connection,
			 nd_ndp_sent_at(ndp, connection, connection->base), connection->base, now);
}

/* The ACKs of all below arrived that were lost, or are late. */
ND_INLINE void repair_acks(struct nd_ndp *ndp, struct nd_ndp_connection *connection,
			   uint32_t arrived, nd_ns now)
{
	/* Else there are none, or it is old, or of nothing that we sent. */
	if (ND_UNLIKELY(arrived - connection->base - 1 < connection->next - connection->base))
		ack_below(ndp, connection, arrived, now);
}

void nd_ndp_feedback_ack(struct nd_ndp *ndp, struct nd_ndp_connection *connection,
			 const struct nd_packet *packet, nd_ns now)
{
	uint32_t sequence = packet->ndp.sequence;
	struct nd_ndp_sent *sent = find_sent(ndp, connection, sequence);

	ndp->counters.acks_received++;
	if (sent)
		on_acked(ndp, connection, sent, sequence, now);
	else
		ndp->counters.feedback_stale++;
	repair_acks(ndp, connection, packet->ndp.arrived, now);
	if (packet->flags & ND_NDP_FLAG_PULL)
		take_pull(ndp, connection, packet->ndp.pull);
	settle(ndp, connection);
	if (connection->fin_state == ND_NDP_FIN_SENT)
		nd_ndp_connection_try_end(ndp, connection, now);
}

void nd_ndp_feedback_nack(struct nd_ndp *ndp, struct nd_ndp_connection *connection,
			  const struct nd_packet *packet, nd_ns now)
{
	struct nd_ndp_sent *sent = find_sent(ndp, connection, packet->ndp.sequence);

	ndp->counters.nacks_received++;
	if (sent && sent->state == ND_NDP_FLYING) {
		answered(ndp, connection, sent, false, now);
		if (sent->path != ND_PATH_NONE)
			nd_paths_nacked(nd_ndp_paths_of(ndp, connection), &ndp->config.score,
					sent->path);
		nd_ndp_send_again(ndp, connection, sent, packet->ndp.sequence);
		connection->due++;
	} else {
		ndp->counters.feedback_stale++;
	}
	repair_acks(ndp, connection, packet->ndp.arrived, now);
	if (packet->flags & ND_NDP_FLAG_PULL)
		take_pull(ndp, connection, packet->ndp.pull);
	settle(ndp, connection);
}

/* R-RTS-02: most packets get through, so this path is the odd one (an asymmetric network). */
static bool mostly_acked(const struct nd_ndp *ndp, const struct nd_ndp_connection *connection)
{
	uint32_t length = ndp->config.bounce_history;
	uint32_t recent = connection->history & (UINT32_MAX >> (32 - length));

	return connection->history_count >= length &&
	       (uint32_t)__builtin_popcount(recent) * ndp->config.bounce_ack_divisor >= length;
}

void nd_ndp_feedback_bounce(struct nd_ndp *ndp, struct nd_ndp_connection *connection,
			    const struct nd_packet *packet)
{
	struct nd_ndp_sent *sent = find_sent(ndp, connection, packet->ndp.sequence);
	bool no_pull_expected;

	ndp->counters.bounces_received++;
	if (!sent || sent->state != ND_NDP_FLYING) {
		ndp->counters.feedback_stale++;
		return;
	}
	if (sent->path != ND_PATH_NONE)
		nd_paths_bounced(nd_ndp_paths_of(ndp, connection), &ndp->config.score,
				 sent->path);
	remember(connection, false);
	nd_ndp_send_again(ndp, connection, sent, packet->ndp.sequence);
	connection->due += connection->due + connection->flying < 0; /* it earns no pull */
	/* R-RTS-01: no packet is left whose answer would bring a pull, and no answer's pull is due. */
	no_pull_expected = connection->flying == 0 && connection->due <= 0 &&
			   connection->credit == 0;
	if (no_pull_expected || mostly_acked(ndp, connection)) {
		connection->credit++;
		ndp->counters.bounces_resent++;
	}
	settle(ndp, connection);
}
