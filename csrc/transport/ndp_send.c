// SPDX-License-Identifier: Apache-2.0
/* DATA out: which connection is next, and which of its packets. */
#include "transport/ndp_peer.h"

/* ---- lists of connections ---- */

static void append(struct nd_ndp *ndp, struct nd_ndp_connection *connection, uint32_t *head,
		   uint32_t *tail)
{
	uint32_t slot = connection->slot;

	connection->list_next = ND_NONE;
	connection->list_prev = *tail;
	if (*tail == ND_NONE)
		*head = slot;
	else
		nd_ndp_connection_at(ndp, *tail)->list_next = slot;
	*tail = slot;
}

static void take_out(struct nd_ndp *ndp, struct nd_ndp_connection *connection, uint32_t *head,
		     uint32_t *tail)
{
	if (connection->list_prev == ND_NONE)
		*head = connection->list_next;
	else
		nd_ndp_connection_at(ndp, connection->list_prev)->list_next =
			connection->list_next;
	if (connection->list_next == ND_NONE)
		*tail = connection->list_prev;
	else
		nd_ndp_connection_at(ndp, connection->list_next)->list_prev =
			connection->list_prev;
}

static void make_ready(struct nd_ndp *ndp, struct nd_ndp_connection *connection)
{
	uint32_t level = connection->priority;

	append(ndp, connection, &ndp->ready_head[level], &ndp->ready_tail[level]);
	connection->list = ND_NDP_READY;
	ndp->ready_levels |= 1u << level;
}

void nd_ndp_send_unlist(struct nd_ndp *ndp, struct nd_ndp_connection *connection)
{
	uint32_t level = connection->priority;

	if (connection->list == ND_NDP_READY) {
		take_out(ndp, connection, &ndp->ready_head[level], &ndp->ready_tail[level]);
		if (ndp->ready_head[level] == ND_NONE)
			ndp->ready_levels &= ~(1u << level);
	} else if (connection->list == ND_NDP_STARVED) {
		take_out(ndp, connection, &ndp->starved_head, &ndp->starved_tail);
	}
	connection->list = ND_NDP_UNLISTED;
}

/* The next of its level has its turn. */
static void move_back(struct nd_ndp *ndp, struct nd_ndp_connection *connection)
{
	uint32_t *head = &ndp->ready_head[connection->priority];
	uint32_t *tail = &ndp->ready_tail[connection->priority];

	take_out(ndp, connection, head, tail);
	append(ndp, connection, head, tail);
}

ND_INLINE bool can_send_new(const struct nd_ndp *ndp, const struct nd_ndp_connection *connection)
{
	if (!nd_ndp_has_unsent(connection) || (connection->push | connection->credit) == 0 ||
	    connection->next - connection->base >= ndp->config.window_packets)
		return false;
	return connection->sending == ND_NONE ||
	       connection->sending == connection->messages_head ||
	       nd_ndp_message_at(ndp, connection->sending)->number -
			       nd_ndp_message_at(ndp, connection->messages_head)->number <
		       ND_NDP_MESSAGE_WINDOW;
}

ND_INLINE bool can_send(const struct nd_ndp *ndp, const struct nd_ndp_connection *connection)
{
	return (connection->waiting && (connection->credit || connection->solicit_due)) ||
	       can_send_new(ndp, connection);
}

bool nd_ndp_send_can(const struct nd_ndp *ndp, const struct nd_ndp_connection *connection)
{
	return can_send(ndp, connection);
}

void nd_ndp_send_schedule(struct nd_ndp *ndp, struct nd_ndp_connection *connection)
{
	if (connection->list != ND_NDP_UNLISTED || !can_send(ndp, connection))
		return;
	if (connection->window == ND_NONE) {
		connection->window = nd_pool_get(&ndp->windows);
		if (connection->window == ND_NONE) {
			ndp->counters.sending_full++;
			append(ndp, connection, &ndp->starved_head, &ndp->starved_tail);
			connection->list = ND_NDP_STARVED;
			return;
		}
		memset(nd_ndp_waiting(ndp, connection), 0, ndp->config.window_packets / 8);
	}
	make_ready(ndp, connection);
}

/* ---- trains ---- */

/* Packets that are out, or that may go out already. */
static uint32_t window_used(const struct nd_ndp_connection *connection)
{
	return (uint32_t)connection->flying + connection->waiting + connection->credit;
}

void nd_ndp_send_begin_train(const struct nd_ndp *ndp, struct nd_ndp_connection *connection)
{
	uint32_t used = window_used(connection);
	uint32_t window = ndp->config.initial_window;

	if (connection->next == 0)
		connection->syn_end = window;
	/* SYN on more could only make a second, broken state at a peer that has lost the first. */
	if (connection->heard)
		connection->syn_end = nd_min_u32(connection->syn_end, connection->next);
	connection->push = (uint16_t)(used < window ? window - used : 0);
	connection->deferred = (uint16_t)(window - connection->push);
	/* The pulls for what has arrived will not come: the peer wants nothing but what waits. */
	if (connection->due > connection->waiting)
		connection->due = connection->waiting;
	connection->train = connection->next;
}

void nd_ndp_send_continue_train(const struct nd_ndp *ndp, struct nd_ndp_connection *connection)
{
	if (window_used(connection) + connection->push >= ndp->config.initial_window)
		return;
	connection->deferred--;
	connection->push++;
}

/* ---- packets to be sent again ---- */

static void flip_waiting(const struct nd_ndp *ndp, const struct nd_ndp_connection *connection,
			 uint32_t sequence)
{
	uint32_t bit = sequence & (ndp->config.window_packets - 1);

	nd_ndp_waiting(ndp, connection)[bit / 64] ^= UINT64_C(1) << (bit % 64);
}

/* The sequence of the oldest packet that waits; there is one. */
static uint32_t oldest_waiting(const struct nd_ndp *ndp,
			       const struct nd_ndp_connection *connection)
{
	const uint64_t *waiting = nd_ndp_waiting(ndp, connection);
	uint32_t mask = ndp->config.window_packets - 1;
	uint32_t first = connection->base & mask;
	uint32_t at = first / 64;
	uint64_t word = waiting[at] & (UINT64_MAX << (first % 64));

	nd_assert(connection->waiting != 0);
	/* Comes back to the word that it began with, whose low bits are the newest packets. */
	while (word == 0) {
		at = (at + 1) & (mask / 64);
		word = waiting[at];
	}
	return connection->base + ((at * 64 + (uint32_t)__builtin_ctzll(word) - first) & mask);
}

void nd_ndp_send_again(struct nd_ndp *ndp, struct nd_ndp_connection *connection,
		       struct nd_ndp_sent *sent, uint32_t sequence)
{
	nd_assert(sent->state == ND_NDP_FLYING);
	sent->state = ND_NDP_WAITING;
	flip_waiting(ndp, connection, sequence);
	connection->flying--;
	connection->waiting++;
}

void nd_ndp_send_not_again(struct nd_ndp *ndp, struct nd_ndp_connection *connection,
			   uint32_t sequence)
{
	flip_waiting(ndp, connection, sequence);
	connection->waiting--;
}

/* ---- filling in packets ---- */

ND_INLINE void choose_path(struct nd_ndp *ndp, const struct nd_ndp_connection *connection,
			   struct nd_ndp_sent *sent, uint16_t avoid, struct nd_packet *packet)
{
	struct nd_paths *paths;

	if (ND_UNLIKELY(nd_ndp_peer_at(ndp, connection->peer)->paths == ND_NONE &&
			!nd_ndp_peer_make_paths(ndp, connection->peer))) {
		sent->path = ND_PATH_NONE; /* there is no room for a set */
		packet->path = nd_ndp_peer_any_path(ndp);
		return;
	}
	paths = nd_ndp_paths_of(ndp, connection);
	sent->path = nd_paths_next(paths, &ndp->config.score, avoid);
	packet->path = nd_paths_id(paths, sent->path);
}

static uint16_t backlog_kib(const struct nd_ndp_connection *connection)
{
	uint64_t kib = (connection->backlog + 1023) >> 10;

	return (uint16_t)nd_min_u64(kib, UINT16_MAX);
}

/* Asked while something is sent, so there is a time since when we are busy. */
static bool is_congested(const struct nd_ndp *ndp, nd_ns now)
{
	return now - ndp->busy_since >= ndp->config.congested_ns;
}

/* The message that a packet on the wire is of, or NULL. */
static const struct nd_ndp_message *message_of(const struct nd_ndp *ndp,
					       const struct nd_ndp_sent *sent)
{
	return sent->message == ND_NDP_SLOT_NONE ? NULL : nd_ndp_message_at(ndp, sent->message);
}

/* The part of a message, or the emptiness, that a sequence stands for. */
ND_INLINE void fill_content(const struct nd_ndp_connection *connection,
			    const struct nd_ndp_message *message, uint32_t offset,
			    struct nd_packet *packet)
{
	if (ND_UNLIKELY(!message)) {
		packet->flags |= ND_NDP_FLAG_VOID;
		return;
	}
	packet->ndp.message = (uint16_t)message->number;
	packet->ndp.message_bytes = message->bytes;
	if (ND_UNLIKELY(message->cancelled)) {
		packet->flags |= ND_NDP_FLAG_VOID;
		packet->ndp.message_bytes = nd_max_u32(message->bytes, 1);
		return;
	}
	packet->ndp.offset = offset;
	packet->payload_bytes = (uint16_t)nd_ndp_message_payload(connection, message, offset);
	if (message->payload)
		packet->payload = message->payload + offset;
}

/* A packet of this message, or of none, from offset on. */
ND_INLINE void fill(struct nd_ndp *ndp, struct nd_ndp_connection *connection, uint32_t sequence,
		    const struct nd_ndp_message *message, uint32_t offset,
		    struct nd_packet *packet, nd_ns now)
{
	nd_ndp_address(ndp, packet, connection->address, connection->id, connection->flow);
	packet->type = ND_NDP_DATA;
	packet->priority = connection->priority;
	packet->rank = (uint32_t)nd_min_u64(connection->backlog, UINT32_MAX);
	packet->ndp.sequence = sequence;
	packet->ndp.base = (uint16_t)connection->base;
	packet->ndp.backlog = backlog_kib(connection);
	fill_content(connection, message, offset, packet);
	packet->header_bytes = (uint16_t)ndp->config.data_header_bytes;
	packet->wire_bytes = (uint16_t)(packet->header_bytes + packet->payload_bytes);
	packet->marks = packet->flags & ND_NDP_FLAG_VOID ? ND_MARK_CONTROL :
			packet->payload_bytes            ? ND_MARK_TRIMMABLE :
							   0;
	if (connection->accepted)
		packet->flags |= ND_NDP_FLAG_REPLY;
	if (sequence + 1 == connection->next && !nd_ndp_has_unsent(connection))
		packet->flags |= ND_NDP_FLAG_LAST;
	if (connection->fin_state == ND_NDP_FIN_SENT && sequence == connection->fin)
		packet->flags |= ND_NDP_FLAG_FIN;
	if (is_congested(ndp, now))
		packet->flags |= ND_NDP_FLAG_CONGESTED;
}

/* SYN makes state at the peer: never once it may have lost some that we know it had. */
static void fill_syn(const struct nd_ndp_connection *connection, struct nd_packet *packet)
{
	packet->flags |= ND_NDP_FLAG_SYN;
	packet->ndp.service = connection->port;
}

ND_INLINE void took_off(struct nd_ndp *ndp, struct nd_ndp_connection *connection,
			struct nd_ndp_sent *sent, nd_ns now)
{
	if (connection->flying == 0 && connection->waiting == 0)
		connection->alive = now; /* from now on we wait for the peer */
	sent->state = ND_NDP_FLYING;
	sent->stamp = nd_ndp_stamp(now);
	connection->flying++;
	ndp->counters.data_sent++;
	if (connection->timer > now + ndp->config.rto_min_ns)
		nd_ndp_connection_arm(ndp, connection, now +
				      nd_ndp_peer_rto(ndp, nd_ndp_peer_at(ndp, connection->peer),
						      connection->backoff));
}

/* ---- the three kinds of packets ---- */

static ND_NOINLINE void resend(struct nd_ndp *ndp, struct nd_ndp_connection *connection,
			       struct nd_packet *packet, nd_ns now)
{
	uint32_t sequence = oldest_waiting(ndp, connection);
	struct nd_ndp_sent *sent = nd_ndp_sent_at(ndp, connection, sequence);

	connection->credit--;
	connection->solicit_due = false;
	if (sent->tries < UINT8_MAX)
		sent->tries++;
	fill(ndp, connection, sequence, message_of(ndp, sent), sent->offset, packet, now);
	packet->flags |= ND_NDP_FLAG_RTX;
	if (!connection->heard && sequence < connection->syn_end)
		fill_syn(connection, packet);
	choose_path(ndp, connection, sent, sent->path, packet);
	took_off(ndp, connection, sent, now);
	nd_ndp_send_not_again(ndp, connection, sequence);
	ndp->counters.data_resent++;
}

/* A header alone: to the receiver as if the packet had been trimmed, so it earns a pull. */
static ND_NOINLINE void solicit(struct nd_ndp *ndp, struct nd_ndp_connection *connection,
				struct nd_packet *packet, nd_ns now)
{
	uint32_t sequence = oldest_waiting(ndp, connection);
	struct nd_ndp_sent *sent = nd_ndp_sent_at(ndp, connection, sequence);

	connection->solicit_due = false;
	fill(ndp, connection, sequence, message_of(ndp, sent), sent->offset, packet, now);
	packet->flags |= ND_NDP_FLAG_RTX;
	if (!connection->heard && sequence < connection->syn_end)
		fill_syn(connection, packet);
	packet->path = nd_ndp_peer_control_path(ndp, connection->peer);
	if (packet->payload_bytes)
		nd_packet_trim(packet);
	connection->due++;
	ndp->counters.solicits_sent++;
}

/* The next part of the message under way, which begins at message->sent, gets a sequence. */
ND_INLINE void advance_message(struct nd_ndp_connection *connection,
			       struct nd_ndp_message *message)
{
	uint32_t bytes = nd_ndp_message_payload(connection, message, message->sent);

	message->packets++;
	if (!message->cancelled) {
		message->sent += bytes;
		connection->backlog -= bytes;
	}
	if (message->cancelled || message->sent == message->bytes) {
		message->sent_all = true;
		connection->sending = message->next;
	}
}

static void send_new(struct nd_ndp *ndp, struct nd_ndp_connection *connection,
		     struct nd_packet *packet, nd_ns now)
{
	uint32_t sequence = connection->next++;
	struct nd_ndp_sent *sent = nd_ndp_sent_at(ndp, connection, sequence);
	struct nd_ndp_message *message = NULL;
	uint32_t offset = 0;

	sent->tries = 1;
	if (connection->push)
		connection->push--;
	else
		connection->credit--;
	sent->message = (uint16_t)connection->sending; /* of none: ND_NDP_SLOT_NONE */
	if (ND_LIKELY(connection->sending != ND_NONE)) {
		message = nd_ndp_message_at(ndp, connection->sending);
		offset = message->sent;
		advance_message(connection, message);
	} else {
		connection->empty_due = false;
	}
	sent->offset = offset;
	if (connection->fin_state == ND_NDP_FIN_ASKED && !nd_ndp_has_unsent(connection)) {
		connection->fin_state = ND_NDP_FIN_SENT;
		connection->fin = sequence;
	}
	if (connection->state == ND_NDP_NEW) {
		connection->state = ND_NDP_OPENING;
		ndp->counters.connections_opened++;
	}
	fill(ndp, connection, sequence, message, offset, packet, now);
	if (!connection->accepted && sequence < connection->syn_end)
		fill_syn(connection, packet);
	choose_path(ndp, connection, sent, ND_PATH_NONE, packet);
	took_off(ndp, connection, sent, now);
	if (connection->next - connection->base == ndp->config.window_packets)
		ndp->counters.window_full++;
}

static void send_one(struct nd_ndp *ndp, struct nd_ndp_connection *connection,
		     struct nd_packet *packet, nd_ns now)
{
	if (connection->waiting && connection->credit)
		resend(ndp, connection, packet, now);
	else if (connection->waiting && connection->solicit_due)
		solicit(ndp, connection, packet, now);
	else
		send_new(ndp, connection, packet, now);
}

bool nd_ndp_send_transmit(struct nd_ndp *ndp, struct nd_packet *packet, nd_ns now)
{
	while (ndp->ready_levels) {
		uint32_t level = nd_top_bit_u32(ndp->ready_levels);
		struct nd_ndp_connection *connection =
			nd_ndp_connection_at(ndp, ndp->ready_head[level]);

		if (!can_send(ndp, connection)) {
			nd_ndp_send_unlist(ndp, connection); /* its reason is gone */
			continue;
		}
		if (ndp->busy_since == ND_NEVER)
			ndp->busy_since = now;
		send_one(ndp, connection, packet, now);
		if (!can_send(ndp, connection))
			nd_ndp_send_unlist(ndp, connection);
		else if (connection->list_next != ND_NONE)
			move_back(ndp, connection);
		if (!ndp->ready_levels)
			ndp->busy_since = ND_NEVER;
		return true;
	}
	ndp->busy_since = ND_NEVER;
	return false;
}
