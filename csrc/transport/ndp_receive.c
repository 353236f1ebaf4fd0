// SPDX-License-Identifier: Apache-2.0
/* Packets in: which connection they belong to, and what DATA does to it. */
#include "transport/ndp_internal.h"

#include <errno.h>

/* ---- the bitmap of sequences that have arrived ---- */

static bool has_arrived(const struct nd_ndp *ndp, struct nd_ndp_connection *connection,
			uint32_t sequence)
{
	uint32_t bit = sequence & (ndp->config.window_packets - 1);

	return (int32_t)(sequence - connection->arrived) < 0 ||
	       (connection->bitmap[bit / 64] >> (bit % 64) & 1);
}

static bool take_bit(const struct nd_ndp *ndp, struct nd_ndp_connection *connection,
		     uint32_t sequence)
{
	uint32_t bit = sequence & (ndp->config.window_packets - 1);
	uint64_t *word = &connection->bitmap[bit / 64];
	uint64_t mask = UINT64_C(1) << (bit % 64);
	bool set = (*word & mask) != 0;

	*word &= ~mask;
	return set;
}

static void mark_arrived(const struct nd_ndp *ndp, struct nd_ndp_connection *connection,
			 uint32_t sequence)
{
	uint32_t bit = sequence & (ndp->config.window_packets - 1);

	if (sequence != connection->arrived) {
		connection->bitmap[bit / 64] |= UINT64_C(1) << (bit % 64);
		connection->beyond++;
		return;
	}
	connection->arrived++;
	while (connection->beyond && take_bit(ndp, connection, connection->arrived)) {
		connection->arrived++;
		connection->beyond--;
	}
}

/* ---- credit ---- */

/* Nothing can be kept, and nothing that has begun can end: what arrives is not worth a pull. */
static bool is_starved(const struct nd_ndp_connection *connection)
{
	return connection->blocked && connection->incoming == ND_NONE;
}

static void withhold(const struct nd_ndp *ndp, struct nd_ndp_connection *connection,
		     uint32_t wire_bytes)
{
	if (connection->withheld == ndp->config.window_packets)
		return;
	connection->withheld++;
	connection->withheld_bytes += wire_bytes;
}

static void put_off(struct nd_ndp *ndp, struct nd_ndp_connection *connection)
{
	ndp->counters.pulls_put_off++;
	if (connection->put_off < ndp->config.window_packets)
		connection->put_off++;
}

ND_INLINE void queue_pull(struct nd_ndp *ndp, struct nd_ndp_connection *connection,
			  uint32_t wire_bytes, nd_ns now)
{
	uint32_t slot = connection->slot;

	if (nd_pull_count(&ndp->pull, slot) < ndp->config.window_packets)
		nd_pull_add(&ndp->pull, slot, wire_bytes, now);
}

static ND_NOINLINE void credit_any(struct nd_ndp *ndp, struct nd_ndp_connection *connection,
				   uint32_t wire_bytes, nd_ns now)
{
	bool end_known = nd_ndp_end_known(connection);
	uint32_t missing = nd_ndp_missing(connection);

	if (end_known && missing == 0) {
		connection->withheld = connection->withheld_bytes = 0;
		connection->put_off = 0;
	} else if (is_starved(connection)) {
		withhold(ndp, connection, wire_bytes);
		return;
	} else if (nd_ndp_receive_is_futile(ndp, connection)) {
		put_off(ndp, connection);
		return;
	} else {
		queue_pull(ndp, connection, wire_bytes, now);
	}
	if (connection->put_off && connection->futile <= ndp->config.futile_max / 2) {
		/* Each arrival brings one back. */
		connection->put_off--;
		queue_pull(ndp, connection, wire_bytes, now);
	}
	if (end_known)
		ndp->counters.pulls_removed +=
			nd_pull_cap(&ndp->pull, connection->slot, missing);
}

ND_INLINE void credit(struct nd_ndp *ndp, struct nd_ndp_connection *connection,
		      uint32_t wire_bytes, nd_ns now)
{
	/* In the middle of what can be kept there is nothing to weigh. */
	if (ND_LIKELY(!nd_ndp_end_known(connection) && !connection->blocked &&
		      !connection->put_off && !connection->futile))
		queue_pull(ndp, connection, wire_bytes, now);
	else
		credit_any(ndp, connection, wire_bytes, now);
}

void nd_ndp_receive_credit(struct nd_ndp *ndp, struct nd_ndp_connection *connection,
			   uint32_t wire_bytes, nd_ns now)
{
	credit(ndp, connection, wire_bytes, now);
}

bool nd_ndp_receive_waits(const struct nd_ndp *ndp, const struct nd_ndp_connection *connection)
{
	return connection->high != 0 && !is_starved(connection) &&
	       (nd_ndp_missing(connection) != 0 || !nd_ndp_end_known(connection)) &&
	       nd_pull_count(&ndp->pull, connection->slot) == 0;
}

/* A pull that is due and the only one may ride on the answer. */
static void carry_pull(struct nd_ndp *ndp, struct nd_ndp_connection *connection, bool ack,
		       nd_ns now)
{
	bool wanted = ack ? ndp->config.ack_carries_pull : ndp->config.nack_carries_pull;

	if (!wanted || ndp->pull.total != 1 ||
	    nd_pull_count(&ndp->pull, connection->slot) != 1 ||
	    nd_pull_take(&ndp->pull, now) == ND_NONE)
		return;
	connection->pulled++;
	ndp->counters.pulls_carried++;
}

/* ---- DATA ---- */

static void answer_duplicate(struct nd_ndp *ndp, struct nd_ndp_connection *connection,
			     const struct nd_packet *packet, nd_ns now)
{
	ndp->counters.duplicates_received++;
	nd_ndp_receive_credit(ndp, connection,
			      packet->payload_bytes + ndp->config.data_header_bytes, now);
	nd_ndp_control_answer(ndp, connection, ND_NDP_ACK, packet->ndp.sequence);
}

/* True when the FIN, known or new, contradicts this packet. */
static bool breaks_fin(const struct nd_ndp_connection *connection, const struct nd_packet *packet)
{
	uint32_t sequence = packet->ndp.sequence;

	if (connection->peer_fin_seen)
		return (int32_t)(sequence - connection->peer_fin) > 0 ||
		       ((packet->flags & ND_NDP_FLAG_FIN) && sequence != connection->peer_fin);
	return (packet->flags & ND_NDP_FLAG_FIN) && (int32_t)(sequence + 1 - connection->high) < 0;
}

static void learn_end(struct nd_ndp_connection *connection, const struct nd_packet *packet)
{
	uint32_t after = packet->ndp.sequence + 1;

	if ((int32_t)(after - connection->high) > 0)
		connection->high = after;
	if ((packet->flags & ND_NDP_FLAG_LAST) && after == connection->high)
		connection->end = after;
	if (packet->flags & ND_NDP_FLAG_FIN) {
		connection->peer_fin_seen = true;
		connection->peer_fin = packet->ndp.sequence;
	}
}

/* False when it contradicts what we know of its message. */
static bool on_fresh(struct nd_ndp *ndp, struct nd_ndp_connection *connection,
		     const struct nd_packet *packet, nd_ns now)
{
	bool trimmed = (packet->marks & ND_MARK_TRIMMED) && packet->payload_bytes;
	enum nd_ndp_stored stored = nd_ndp_incoming_store(ndp, connection, packet, now);
	bool ack = stored == ND_NDP_STORED && !trimmed;

	if (stored == ND_NDP_REFUSED || stored == ND_NDP_ABORTED)
		return false;
	learn_end(connection, packet);
	if (ack) {
		mark_arrived(ndp, connection, packet->ndp.sequence);
		if (connection->futile)
			connection->futile--;
	} else {
		connection->futile = (uint16_t)nd_min_u32(connection->futile + 1u,
							  ndp->config.futile_max + 1);
	}
	credit(ndp, connection, packet->payload_bytes + ndp->config.data_header_bytes, now);
	carry_pull(ndp, connection, ack, now);
	nd_ndp_control_answer(ndp, connection, ack ? ND_NDP_ACK : ND_NDP_NACK,
			      packet->ndp.sequence);
	if (nd_ndp_peer_is_done(connection)) {
		nd_ndp_connection_finish(ndp, connection);
		nd_ndp_connection_try_end(ndp, connection, now);
	}
	return true;
}

/* The peer has ACKs for more than we have: an earlier life of ours gave them, and had the data. */
static bool has_lost_state(const struct nd_ndp_connection *connection,
			   const struct nd_packet *packet)
{
	uint32_t sequence = packet->ndp.sequence;
	uint32_t base = sequence - (uint16_t)(sequence - packet->ndp.base);

	return (int32_t)(base - connection->arrived) > 0;
}

enum arrival {
	ARRIVAL_IMPOSSIBLE, /* counted, not answered */
	ARRIVAL_AGAIN,      /* answered as the first was */
	ARRIVAL_FRESH,
};

/* What a packet is; one that is not fresh is dealt with. */
static ND_NOINLINE enum arrival judge(struct nd_ndp *ndp, struct nd_ndp_connection *connection,
				      const struct nd_packet *packet, nd_ns now)
{
	if (has_lost_state(connection, packet)) {
		ndp->counters.state_lost++;
		nd_ndp_connection_abort(ndp, connection, -ECONNRESET, ND_NDP_CLOSE_UNKNOWN, false,
					now);
	} else if (has_arrived(ndp, connection, packet->ndp.sequence)) {
		answer_duplicate(ndp, connection, packet, now);
		return ARRIVAL_AGAIN;
	} else if (packet->ndp.sequence - connection->arrived >= ndp->config.window_packets) {
		ndp->counters.beyond_window++;
	} else if (breaks_fin(connection, packet)) {
		ndp->counters.bad_fin++;
	} else {
		return ARRIVAL_FRESH;
	}
	return ARRIVAL_IMPOSSIBLE;
}

/* The one that is missing first, and no FIN in sight: whatever judge() looks for it is not. */
static bool is_next(const struct nd_ndp_connection *connection, const struct nd_packet *packet)
{
	return packet->ndp.sequence == connection->arrived && !connection->peer_fin_seen &&
	       !(packet->flags & ND_NDP_FLAG_FIN);
}

/* Apart, so that ACKs and PULLs do not save its registers. */
static ND_NOINLINE void on_data(struct nd_ndp *ndp, struct nd_ndp_connection *connection,
				const struct nd_packet *packet, nd_ns now)
{
	bool futile = nd_ndp_receive_is_futile(ndp, connection);
	enum arrival arrival;

	if ((packet->marks & ND_MARK_TRIMMED) && packet->payload_bytes) {
		ndp->counters.headers_received++;
		ndp->counters.headers_last_hop += !!(packet->marks & ND_MARK_LAST_HOP);
	} else {
		ndp->counters.data_received++;
	}
	if (packet->flags & ND_NDP_FLAG_CONGESTED)
		ndp->counters.congested_received++;
	arrival = ND_LIKELY(is_next(connection, packet)) ? ARRIVAL_FRESH :
							   judge(ndp, connection, packet, now);
	if (arrival == ARRIVAL_FRESH && ND_UNLIKELY(!on_fresh(ndp, connection, packet, now)))
		arrival = ARRIVAL_IMPOSSIBLE;
	/* What contradicts the rest, as from a peer that was restarted, will never complete it. */
	if (!futile && arrival != ARRIVAL_IMPOSSIBLE) {
		connection->active = now;
		connection->repulls = 0;
	}
	if (connection->timer > now + ndp->config.repull_ns)
		nd_ndp_connection_arm(ndp, connection, now + ndp->config.repull_ns);
}

/* ---- CLOSE ---- */

/* Having told us all and taken all but our FIN, the peer may have forgotten us in order. */
static bool only_fin_is_left(const struct nd_ndp_connection *connection)
{
	return nd_ndp_peer_is_done(connection) && connection->fin_state == ND_NDP_FIN_SENT &&
	       connection->base == connection->fin &&
	       connection->messages_head == ND_NONE;
}

static void on_close(struct nd_ndp *ndp, struct nd_ndp_connection *connection,
		     const struct nd_packet *packet, nd_ns now)
{
	int32_t error = -ECONNRESET;

	ndp->counters.closes_received++;
	if (packet->ndp.sequence == ND_NDP_CLOSE_REFUSED) {
		if (connection->heard)
			return; /* an echo of an earlier try: it serves us */
		error = -ECONNREFUSED;
	} else if (packet->ndp.sequence == ND_NDP_CLOSE_PROTOCOL) {
		error = -EPROTO;
	} else if (packet->ndp.sequence == ND_NDP_CLOSE_UNKNOWN && only_fin_is_left(connection)) {
		error = 0;
	} else if (nd_ndp_is_unpassed(connection)) {
		error = -ECOMM; /* it waited in vain for what it was told of */
	}
	if (error == -ECOMM)
		ndp->counters.connections_unpassed++;
	else if (error)
		ndp->counters.connections_reset++;
	else
		ndp->counters.connections_closed++;
	nd_ndp_connection_abort(ndp, connection, error, ND_NDP_CLOSE_UNKNOWN, true, now);
}

/* ---- dispatch ---- */

/*
 * A packet for a connection that has ended. While the peer still asks about one that ended in
 * order, its answers get lost: forgetting now would tell the peer that what arrived has failed.
 */
static void on_remembered(struct nd_ndp *ndp, struct nd_ndp_connection *connection,
			  const struct nd_packet *packet, nd_ns now)
{
	if (packet->type != ND_NDP_DATA)
		return;
	if (connection->state != ND_NDP_TIME_WAIT) {
		nd_ndp_control_close(ndp, connection, connection->reason);
		return;
	}
	ndp->counters.duplicates_received++;
	connection->linger = now + ndp->config.time_wait_ns;
	if ((int32_t)(packet->ndp.sequence - connection->arrived) < 0)
		nd_ndp_control_answer(ndp, connection, ND_NDP_ACK, packet->ndp.sequence);
}

/* The rest of on_live(), all types. */
static void on_type(struct nd_ndp *ndp, struct nd_ndp_connection *connection,
		    const struct nd_packet *packet, nd_ns now)
{
	if (packet->type == ND_NDP_DATA) {
		on_data(ndp, connection, packet, now);
		return;
	}
	switch (packet->type) {
	case ND_NDP_ACK:
		nd_ndp_feedback_ack(ndp, connection, packet, now);
		break;
	case ND_NDP_NACK:
		nd_ndp_feedback_nack(ndp, connection, packet, now);
		break;
	default:
		nd_ndp_feedback_pull(ndp, connection, packet->ndp.pull);
		break;
	}
}

static void on_live(struct nd_ndp *ndp, struct nd_ndp_connection *connection,
		    const struct nd_packet *packet, nd_ns now)
{
	if (packet->type == ND_NDP_CLOSE) {
		on_close(ndp, connection, packet, now);
		return;
	}
	nd_ndp_feedback_heard(connection, now);
	on_type(ndp, connection, packet, now);
}

/* A packet for no connection: the first of one, or a stray. */
static void on_stranger(struct nd_ndp *ndp, const struct nd_packet *packet, nd_ns now)
{
	uint8_t flags = packet->flags & (ND_NDP_FLAG_SYN | ND_NDP_FLAG_REPLY);

	if (packet->type == ND_NDP_DATA && flags == ND_NDP_FLAG_SYN && packet->ndp.base == 0) {
		uint32_t slot = nd_ndp_connection_accept(ndp, packet);

		if (slot != ND_NONE)
			on_live(ndp, nd_ndp_connection_at(ndp, slot), packet, now);
		return;
	}
	ndp->counters.unknown_connection++;
	if (packet->type == ND_NDP_DATA || packet->type == ND_NDP_PULL)
		nd_ndp_control_refuse(ndp, packet, ND_NDP_CLOSE_UNKNOWN);
}

static struct nd_ndp_connection *find(struct nd_ndp *ndp, const struct nd_packet *packet,
				      bool accepted)
{
	uint64_t key = nd_ndp_key(packet->source, packet->ndp.connection, accepted);
	uint32_t slot = nd_map_get(&ndp->connection_map, key);

	ndp->found[accepted] = (struct nd_ndp_found){ .ends = nd_ndp_ends(packet), .slot = slot };
	return slot == ND_NONE ? NULL : nd_ndp_connection_at(ndp, slot);
}

/* One of our own headers, turned around by a switch: source is still the other end. */
static void on_bounced(struct nd_ndp *ndp, const struct nd_packet *packet)
{
	struct nd_ndp_connection *connection =
		find(ndp, packet, (packet->flags & ND_NDP_FLAG_REPLY) != 0);

	if (packet->type != ND_NDP_DATA) {
		ndp->counters.bad_type++;
		return;
	}
	if (connection && nd_ndp_is_live(connection))
		nd_ndp_feedback_bounce(ndp, connection, packet);
	else
		ndp->counters.unknown_connection++;
}

static ND_NOINLINE void receive_any(struct nd_ndp *ndp, const struct nd_packet *packet, nd_ns now)
{
	struct nd_ndp_connection *connection;

	if (packet->type < ND_NDP_DATA || packet->type > ND_NDP_CLOSE) {
		ndp->counters.bad_type++;
		return;
	}
	if (packet->ndp.connection > ND_NDP_CONNECTION_MAX) {
		ndp->counters.bad_connection++;
		return;
	}
	if (packet->marks & ND_MARK_BOUNCED) {
		on_bounced(ndp, packet);
		return;
	}
	connection = find(ndp, packet, !(packet->flags & ND_NDP_FLAG_REPLY));
	if (!connection)
		on_stranger(ndp, packet, now);
	else if (connection->state == ND_NDP_NEW)
		ndp->counters.unknown_connection++; /* we have not said anything yet */
	else if (nd_ndp_is_live(connection))
		on_live(ndp, connection, packet, now);
	else
		on_remembered(ndp, connection, packet, now);
}

/* Of a connection that is open: DATA, ACK, NACK or PULL as their sender made them. */
ND_INLINE bool is_ordinary(const struct nd_ndp_connection *connection,
			   const struct nd_packet *packet)
{
	return (connection->state == ND_NDP_OPEN || connection->state == ND_NDP_CLOSING) &&
	       !(packet->marks & ND_MARK_BOUNCED) && packet->type - 1u < ND_NDP_CLOSE - 1u;
}

/* What comes in a row often is of one connection: an ACK and its PULL, a burst of DATA. */
void nd_ndp_receive(void *endpoint, const struct nd_packet *packet, nd_ns now)
{
	struct nd_ndp *ndp = endpoint;
	const struct nd_ndp_found *found = nd_ndp_found_for(ndp, packet);
	struct nd_ndp_connection *connection;

	ndp->clock = now;
	if (ND_LIKELY(nd_ndp_ends(packet) == found->ends && found->slot != ND_NONE)) {
		connection = nd_ndp_connection_at(ndp, found->slot);
		if (ND_LIKELY(is_ordinary(connection, packet))) {
			nd_ndp_feedback_heard(connection, now);
			on_type(ndp, connection, packet, now);
			return;
		}
	}
	receive_any(ndp, packet, now);
}
