// SPDX-License-Identifier: Apache-2.0
/*
 * Incoming messages: assembly, memory, release.
 *
 * DESIGN NOTES
 * 1. Each sequence is stored once (the window's bitmap sees to that), all packets of a message but
 *    its last carry exactly mss bytes, and all lie on the line offset = (sequence - first) * mss.
 *    So the message is whole when as many bytes have arrived as it is long; overlaps and holes
 *    cannot be made to look whole by any sender.
 * 2. A message holds memory from its first packet or header on, so one that has begun can end.
 *    Without memory a packet counts as trimmed. Its pull is withheld only while no other message
 *    of the connection has begun, or that one would starve for the credit.
 * 3. Messages of several packets begin in the order of their numbers, which is the order they are
 *    sent in. So whatever has begun has been sent once, and the peer, who resends before it sends
 *    anew and the oldest first, cannot spend all pulls on messages that wait for the memory of one
 *    that cannot end. A message that came whole in one packet ends as it begins, and may overtake.
 */
#include "transport/ndp_internal.h"

#include <errno.h>
#include <string.h>

/* Memory that nobody told us of is noticed after this part of the time that it was waited for. */
#define RETRY_PART 8

/* ---- numbers ---- */

static uint64_t full_number(const struct nd_ndp_connection *connection, uint16_t number)
{
	uint16_t distance = (uint16_t)(number - (uint16_t)connection->number_base);

	/* The upper half is the past. */
	return connection->number_base + (uint64_t)(int16_t)distance;
}

static bool is_done(const struct nd_ndp_connection *connection, uint64_t number)
{
	uint64_t distance = number - connection->number_base;

	return (int64_t)distance < 0 ||
	       (distance < ND_NDP_MESSAGE_WINDOW && connection->numbers_done >> distance & 1);
}

static void mark_done(struct nd_ndp_connection *connection, uint64_t number)
{
	uint64_t distance = number - connection->number_base;

	nd_assert(distance < ND_NDP_MESSAGE_WINDOW);
	connection->numbers_done |= UINT64_C(1) << distance;
	connection->numbers_open &= ~(UINT64_C(1) << distance);
	while (connection->numbers_done & 1) {
		connection->numbers_done >>= 1;
		connection->numbers_open >>= 1;
		connection->number_base++;
	}
}

/* True when every message before this one has a record or is done. */
static bool is_in_order(const struct nd_ndp_connection *connection, uint64_t number)
{
	uint64_t before = (UINT64_C(1) << (number - connection->number_base)) - 1;

	return ((connection->numbers_done | connection->numbers_open) & before) == before;
}

/* ---- connections that wait for memory ---- */

static void enter_blocked(struct nd_ndp *ndp, struct nd_ndp_connection *connection,
			  uint64_t number, uint32_t bytes)
{
	uint32_t slot = connection->slot;
	uint32_t *head = &ndp->blocked[connection->app % ND_NDP_BLOCKED_BUCKETS];

	ndp->counters.credit_withheld++;
	if (connection->blocked && number >= connection->blocked_number)
		return;
	connection->blocked_number = number;
	connection->blocked_bytes = bytes;
	if (connection->blocked)
		return;
	connection->blocked = true;
	connection->blocked_prev = ND_NONE;
	connection->blocked_next = *head;
	if (*head != ND_NONE)
		nd_ndp_connection_at(ndp, *head)->blocked_prev = slot;
	*head = slot;
}

void nd_ndp_incoming_leave_blocked(struct nd_ndp *ndp, struct nd_ndp_connection *connection)
{
	uint32_t next = connection->blocked_next;

	if (!connection->blocked)
		return;
	connection->blocked = false;
	connection->withheld = connection->withheld_bytes = 0;
	if (connection->blocked_prev == ND_NONE)
		ndp->blocked[connection->app % ND_NDP_BLOCKED_BUCKETS] = next;
	else
		nd_ndp_connection_at(ndp, connection->blocked_prev)->blocked_next = next;
	if (next != ND_NONE)
		nd_ndp_connection_at(ndp, next)->blocked_prev = connection->blocked_prev;
}

/* ---- records ---- */

/*
 * A record and memory for a message, out of turn when it is there as a whole: 0, -EINPROGRESS (not
 * its turn), -EAGAIN (too many unreleased), -ENOBUFS, -ENOMEM.
 */
static int open_message(struct nd_ndp *ndp, struct nd_ndp_connection *connection,
			uint64_t number, uint32_t bytes, bool whole,
			struct nd_ndp_incoming **out)
{
	struct nd_ndp_incoming *incoming;
	uint8_t *memory = NULL;
	uint32_t index;

	if (number - connection->number_base >= ND_NDP_MESSAGE_WINDOW)
		return -EAGAIN;
	if (!whole && !is_in_order(connection, number))
		return -EINPROGRESS;
	index = nd_pool_get(&ndp->incoming);
	if (index == ND_NONE) {
		ndp->counters.receive_messages_full++;
		return -ENOBUFS;
	}
	if (ndp->has_rx && bytes) {
		memory = ndp->rx.get(ndp->rx.context, connection->app, bytes);
		if (!memory) {
			nd_pool_put(&ndp->incoming, index);
			return -ENOMEM;
		}
	}
	incoming = nd_ndp_incoming_at(ndp, index);
	*incoming = (struct nd_ndp_incoming){
		.memory = memory,
		.number = number,
		.bytes = bytes,
		.connection = connection->slot,
		.next = connection->incoming,
		.anchor_offset = ND_NONE,
	};
	connection->incoming = index;
	connection->numbers_open |= UINT64_C(1) << (number - connection->number_base);
	*out = incoming;
	return 0;
}

static void unlink_record(const struct nd_ndp *ndp, uint32_t *head, uint32_t index)
{
	while (*head != index)
		head = &nd_ndp_incoming_at(ndp, *head)->next;
	*head = nd_ndp_incoming_at(ndp, index)->next;
}

static void unblock_all(struct nd_ndp *ndp)
{
	for (uint32_t i = 0; i < ND_NDP_BLOCKED_BUCKETS; i++) {
		if (ndp->blocked[i] != ND_NONE)
			nd_ndp_incoming_unblock(ndp, nd_ndp_connection_at(ndp, ndp->blocked[i])->app);
	}
}

static void put_memory(struct nd_ndp *ndp, struct nd_ndp_incoming *incoming, uint16_t app)
{
	if (incoming->memory)
		ndp->rx.put(ndp->rx.context, app, incoming->memory, incoming->bytes);
	incoming->memory = NULL;
	incoming->bytes = 0;
}

/* Gives memory and record back; the record is in no list any more. */
static void free_record(struct nd_ndp *ndp, uint32_t index, uint16_t app)
{
	bool was_full = ndp->incoming.used == ndp->incoming.limit;

	put_memory(ndp, nd_ndp_incoming_at(ndp, index), app);
	nd_pool_put(&ndp->incoming, index);
	if (was_full)
		unblock_all(ndp);
	else
		nd_ndp_incoming_unblock(ndp, app);
}

static struct nd_ndp_incoming *find_record(const struct nd_ndp *ndp, uint32_t head,
					   uint64_t number)
{
	while (head != ND_NONE && nd_ndp_incoming_at(ndp, head)->number != number)
		head = nd_ndp_incoming_at(ndp, head)->next;
	return head == ND_NONE ? NULL : nd_ndp_incoming_at(ndp, head);
}

/* ---- storing ---- */

/* True when of no message a last packet has come that is longer than this. */
static bool is_longest(const struct nd_ndp *ndp, const struct nd_ndp_connection *connection,
		       uint32_t bytes)
{
	for (uint32_t i = connection->incoming; i != ND_NONE; i = nd_ndp_incoming_at(ndp, i)->next) {
		const struct nd_ndp_incoming *incoming = nd_ndp_incoming_at(ndp, i);

		if (incoming->anchor_offset != ND_NONE &&
		    incoming->bytes - incoming->anchor_offset > bytes)
			return false;
	}
	return true;
}

/*
 * The first packet that is not its message's last says how long all of those are; all that came
 * before were last ones.
 */
static ND_NOINLINE bool learn_mss(const struct nd_ndp *ndp, struct nd_ndp_connection *connection,
				  const struct nd_packet *packet)
{
	if (connection->mss != ND_NDP_MSS_UNKNOWN ||
	    packet->ndp.offset % packet->payload_bytes != 0 ||
	    !is_longest(ndp, connection, packet->payload_bytes))
		return false;
	connection->mss = packet->payload_bytes;
	return true;
}

/* True when the packet's length and place are possible for any message. */
static bool fits(const struct nd_ndp *ndp, struct nd_ndp_connection *connection,
		 const struct nd_packet *packet)
{
	const struct nd_ndp_header *header = &packet->ndp;
	uint32_t end = header->offset + packet->payload_bytes;

	if (end < header->offset || end > header->message_bytes ||
	    (packet->payload_bytes == 0 && header->message_bytes != 0))
		return false;
	if (end != header->message_bytes)
		return (packet->payload_bytes == connection->mss ||
			learn_mss(ndp, connection, packet)) &&
		       header->offset % connection->mss == 0;
	return connection->mss == ND_NDP_MSS_UNKNOWN ||
	       (packet->payload_bytes <= connection->mss &&
		header->offset % connection->mss == 0);
}

/*
 * True when the packet lies on the line of the message's other packets. In 64 bits: a peer can have
 * sent so much in between that it comes to the same place again in 32.
 */
static bool is_in_line(const struct nd_ndp_connection *connection,
		       const struct nd_ndp_incoming *incoming, const struct nd_packet *packet)
{
	int64_t steps = (int32_t)(packet->ndp.sequence - incoming->anchor_sequence);
	int64_t distance = (int64_t)packet->ndp.offset - incoming->anchor_offset;

	if (ND_LIKELY(distance == steps * connection->mss))
		return true;
	return incoming->anchor_offset == ND_NONE; /* the first */
}

/* Nothing more of it will come: the application is told. */
static void deliver(struct nd_ndp *ndp, struct nd_ndp_connection *connection,
		    struct nd_ndp_incoming *incoming)
{
	uint32_t index = nd_pool_index(&ndp->incoming, incoming);

	unlink_record(ndp, &connection->incoming, index);
	incoming->next = connection->delivered;
	connection->delivered = index;
	nd_ndp_event_incoming(ndp, incoming);
}

static void complete(struct nd_ndp *ndp, struct nd_ndp_connection *connection,
		     struct nd_ndp_incoming *incoming)
{
	ndp->counters.messages_received++;
	ndp->counters.bytes_received += incoming->bytes;
	deliver(ndp, connection, incoming);
}

static ND_NOINLINE enum nd_ndp_stored abandon(struct nd_ndp *ndp,
					      struct nd_ndp_connection *connection,
					      const struct nd_packet *packet)
{
	uint64_t number = full_number(connection, packet->ndp.message);
	struct nd_ndp_incoming *incoming = find_record(ndp, connection->incoming, number);

	if (packet->ndp.message_bytes == 0 || is_done(connection, number) ||
	    find_record(ndp, connection->delivered, number))
		return ND_NDP_STORED;
	if (number - connection->number_base >= ND_NDP_MESSAGE_WINDOW)
		return ND_NDP_NO_ROOM;
	/* Of one that never began, a record without memory: its reader may wait for the number. */
	if (!incoming && open_message(ndp, connection, number, 0, true, &incoming)) {
		enter_blocked(ndp, connection, number, packet->ndp.message_bytes);
		return ND_NDP_NO_ROOM;
	}
	ndp->counters.messages_abandoned++;
	mark_done(connection, number);
	put_memory(ndp, incoming, connection->app);
	incoming->abandoned = true;
	deliver(ndp, connection, incoming);
	nd_ndp_incoming_unblock(ndp, connection->app);
	return ND_NDP_STORED;
}

/* What touches the payload, apart: the simulator's packets carry none. */
static ND_NOINLINE enum nd_ndp_stored copy_part(struct nd_ndp *ndp,
						struct nd_ndp_connection *connection,
						struct nd_ndp_incoming *incoming,
						const struct nd_packet *packet)
{
	if (incoming->memory && packet->payload && packet->payload_bytes)
		memcpy(incoming->memory + packet->ndp.offset, packet->payload,
		       packet->payload_bytes);
	if (incoming->received == incoming->bytes)
		complete(ndp, connection, incoming);
	return ND_NDP_STORED;
}

ND_INLINE enum nd_ndp_stored store_part(struct nd_ndp *ndp, struct nd_ndp_connection *connection,
					struct nd_ndp_incoming *incoming,
					const struct nd_packet *packet)
{
	if (incoming->bytes != packet->ndp.message_bytes ||
	    !is_in_line(connection, incoming, packet)) {
		ndp->counters.bad_message++;
		return ND_NDP_REFUSED;
	}
	incoming->anchor_sequence = packet->ndp.sequence;
	incoming->anchor_offset = packet->ndp.offset;
	if ((packet->marks & ND_MARK_TRIMMED) && packet->payload_bytes)
		return ND_NDP_STORED;
	incoming->received += packet->payload_bytes;
	if (incoming->memory || incoming->received == incoming->bytes)
		return copy_part(ndp, connection, incoming, packet);
	return ND_NDP_STORED;
}

static ND_NOINLINE enum nd_ndp_stored refuse_too_long(struct nd_ndp *ndp,
						      struct nd_ndp_connection *connection,
						      nd_ns now)
{
	ndp->counters.too_long++;
	ndp->counters.connections_reset++;
	nd_ndp_connection_abort(ndp, connection, -EPROTO, ND_NDP_CLOSE_PROTOCOL, false, now);
	return ND_NDP_ABORTED;
}

/* The pulls that were withheld, at least one: the peer has nothing else to go on. */
static void restore_credit(struct nd_ndp *ndp, struct nd_ndp_connection *connection)
{
	uint32_t pulls = connection->withheld;
	uint32_t bytes = pulls ? connection->withheld_bytes / pulls :
				 ndp->config.mss_bytes + ndp->config.data_header_bytes;

	nd_ndp_incoming_leave_blocked(ndp, connection);
	connection->active = ndp->clock; /* from now on we wait again */
	do {
		nd_ndp_receive_credit(ndp, connection, bytes, ndp->clock);
	} while (pulls-- > 1);
	nd_ndp_connection_arm(ndp, connection, ndp->clock + ndp->config.repull_ns);
}

/* The first packet of a message that arrives, or one of a message that is over. */
static ND_NOINLINE enum nd_ndp_stored store_first(struct nd_ndp *ndp,
						  struct nd_ndp_connection *connection,
						  const struct nd_packet *packet, uint64_t number)
{
	bool whole = packet->payload_bytes == packet->ndp.message_bytes &&
		     !((packet->marks & ND_MARK_TRIMMED) && packet->payload_bytes);
	struct nd_ndp_incoming *incoming;
	int rc;

	if (is_done(connection, number))
		return ND_NDP_STORED; /* cancelled: a part of it that was under way */
	if (find_record(ndp, connection->delivered, number)) {
		ndp->counters.bad_message++; /* whole already: no new sequence can be part of it */
		return ND_NDP_REFUSED;
	}
	rc = open_message(ndp, connection, number, packet->ndp.message_bytes, whole, &incoming);
	if (rc) {
		if (rc != -EINPROGRESS)
			enter_blocked(ndp, connection, number, packet->ndp.message_bytes);
		return ND_NDP_NO_ROOM;
	}
	if (connection->blocked && connection->blocked_number == number) {
		if (connection->withheld)
			restore_credit(ndp, connection);
		else
			nd_ndp_incoming_leave_blocked(ndp, connection);
	}
	return store_part(ndp, connection, incoming, packet);
}

enum nd_ndp_stored nd_ndp_incoming_store(struct nd_ndp *ndp, struct nd_ndp_connection *connection,
					 const struct nd_packet *packet, nd_ns now)
{
	struct nd_ndp_incoming *incoming;
	uint64_t number;

	if (ND_UNLIKELY(packet->flags & ND_NDP_FLAG_VOID)) {
		if (packet->payload_bytes == 0)
			return abandon(ndp, connection, packet);
		ndp->counters.bad_length++;
		return ND_NDP_REFUSED;
	}
	if (packet->ndp.message_bytes > ndp->config.message_bytes_max)
		return refuse_too_long(ndp, connection, now);
	if (!fits(ndp, connection, packet)) {
		ndp->counters.bad_length++;
		return ND_NDP_REFUSED;
	}
	number = full_number(connection, packet->ndp.message);
	incoming = find_record(ndp, connection->incoming, number);
	if (!incoming)
		return store_first(ndp, connection, packet, number);
	return store_part(ndp, connection, incoming, packet);
}

/* ---- the end of messages ---- */

void nd_ndp_incoming_drop_all(struct nd_ndp *ndp, struct nd_ndp_connection *connection)
{
	uint32_t index;

	while ((index = connection->incoming) != ND_NONE) {
		connection->incoming = nd_ndp_incoming_at(ndp, index)->next;
		free_record(ndp, index, connection->app);
	}
}

void nd_ndp_incoming_told(struct nd_ndp *ndp, struct nd_ndp_connection *connection,
			  uint32_t index)
{
	struct nd_ndp_incoming *incoming = nd_ndp_incoming_at(ndp, index);

	incoming->reported = false;
	if (incoming->abandoned) {
		unlink_record(ndp, &connection->delivered, index);
		free_record(ndp, index, connection->app);
	} else if (!ndp->has_rx) {
		nd_ndp_incoming_release(ndp, connection, incoming->number);
	}
}

int nd_ndp_incoming_release(struct nd_ndp *ndp, struct nd_ndp_connection *connection,
			    uint64_t number)
{
	struct nd_ndp_incoming *incoming = find_record(ndp, connection->delivered, number);
	uint32_t index;

	if (!incoming || incoming->reported)
		return -ENOENT; /* nobody can be done with what he has not been told of */
	index = nd_pool_index(&ndp->incoming, incoming);
	unlink_record(ndp, &connection->delivered, index);
	mark_done(connection, number);
	free_record(ndp, index, connection->app);
	return 0;
}

void nd_ndp_incoming_reclaim(struct nd_ndp *ndp, struct nd_ndp_connection *connection)
{
	while (connection->delivered != ND_NONE)
		nd_ndp_incoming_release(ndp, connection,
					nd_ndp_incoming_at(ndp, connection->delivered)->number);
}

/* Opens the message that the connection waits for; as open_message(). */
static int try_again(struct nd_ndp *ndp, struct nd_ndp_connection *connection)
{
	struct nd_ndp_incoming *incoming;
	int rc = -EAGAIN;

	if (is_done(connection, connection->blocked_number))
		rc = 0;
	else if (nd_ndp_is_live(connection))
		rc = open_message(ndp, connection, connection->blocked_number,
				  connection->blocked_bytes, false, &incoming);
	if (rc == 0)
		restore_credit(ndp, connection);
	return rc;
}

nd_ns nd_ndp_incoming_retry(struct nd_ndp *ndp, struct nd_ndp_connection *connection, nd_ns now)
{
	if (!connection->blocked || try_again(ndp, connection) == 0)
		return ND_NEVER;
	return now + nd_max_u64(ndp->config.repull_ns, (now - connection->active) / RETRY_PART);
}

void nd_ndp_incoming_unblock(struct nd_ndp *ndp, uint16_t app)
{
	uint32_t slot = ndp->blocked[app % ND_NDP_BLOCKED_BUCKETS];
	uint32_t refused = ND_NONE; /* so many bytes could not be had, fewer perhaps */

	while (slot != ND_NONE) {
		struct nd_ndp_connection *connection = nd_ndp_connection_at(ndp, slot);
		int rc;

		slot = connection->blocked_next;
		if (connection->app != app || connection->blocked_bytes >= refused)
			continue;
		rc = try_again(ndp, connection);
		if (rc == -ENOMEM)
			refused = connection->blocked_bytes;
		else if (rc == -ENOBUFS)
			return;
	}
}
