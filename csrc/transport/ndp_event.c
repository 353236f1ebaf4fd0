// SPDX-License-Identifier: Apache-2.0
/* Events: a list through the things that have one, so none is ever lost for want of room. */
#include "transport/ndp_internal.h"

/* An event is an index with one of these on top. */
enum { TAG_ACCEPTED, TAG_CLOSED, TAG_MESSAGE, TAG_INCOMING };
#define TAG_SHIFT 30
#define INDEX_MASK ((1u << TAG_SHIFT) - 1)

static uint32_t *link_of(const struct nd_ndp *ndp, uint32_t event)
{
	uint32_t index = event & INDEX_MASK;

	switch (event >> TAG_SHIFT) {
	case TAG_ACCEPTED:
		return &nd_ndp_connection_at(ndp, index)->accept_next;
	case TAG_CLOSED:
		return &nd_ndp_connection_at(ndp, index)->close_next;
	case TAG_MESSAGE:
		return &nd_ndp_message_at(ndp, index)->event;
	default:
		return &nd_ndp_incoming_at(ndp, index)->event;
	}
}

static void append(struct nd_ndp *ndp, uint32_t tag, uint32_t index)
{
	uint32_t event = tag << TAG_SHIFT | index;

	*link_of(ndp, event) = ND_NONE;
	if (ndp->event_tail == ND_NONE)
		ndp->event_head = event;
	else
		*link_of(ndp, ndp->event_tail) = event;
	ndp->event_tail = event;
	ndp->events++;
}

void nd_ndp_event_accepted(struct nd_ndp *ndp, struct nd_ndp_connection *connection)
{
	connection->accept_event = true;
	append(ndp, TAG_ACCEPTED, connection->slot);
}

void nd_ndp_event_closed(struct nd_ndp *ndp, struct nd_ndp_connection *connection)
{
	connection->close_event = true;
	append(ndp, TAG_CLOSED, connection->slot);
}

void nd_ndp_event_message(struct nd_ndp *ndp, struct nd_ndp_message *message)
{
	message->reported = true;
	append(ndp, TAG_MESSAGE, nd_pool_index(&ndp->messages, message));
}

void nd_ndp_event_incoming(struct nd_ndp *ndp, struct nd_ndp_incoming *incoming)
{
	incoming->reported = true;
	append(ndp, TAG_INCOMING, nd_pool_index(&ndp->incoming, incoming));
}

/* ---- taking them ---- */

static struct nd_ndp_connection *connection_of(const struct nd_ndp *ndp, uint32_t event)
{
	uint32_t index = event & INDEX_MASK;

	switch (event >> TAG_SHIFT) {
	case TAG_MESSAGE:
		index = nd_ndp_message_at(ndp, index)->connection;
		break;
	case TAG_INCOMING:
		index = nd_ndp_incoming_at(ndp, index)->connection;
		break;
	default:
		break;
	}
	return nd_ndp_connection_at(ndp, index);
}

static void describe_connection(const struct nd_ndp_connection *connection, bool closed,
				struct nd_event *out)
{
	out->kind = closed ? ND_EVENT_CLOSED : ND_EVENT_ACCEPTED;
	out->error = closed ? connection->error : 0;
	out->detail = closed ? connection->end_state : 0;
}

static void describe_message(const struct nd_ndp_message *message, struct nd_event *out)
{
	out->kind = message->error ? ND_EVENT_FAILED : ND_EVENT_SENT;
	out->error = message->error;
	out->bytes = message->acked;
	out->detail = message->detail;
	out->message = message->number;
	out->cookie = message->cookie;
}

static void describe_incoming(const struct nd_ndp_incoming *incoming, struct nd_event *out)
{
	out->kind = incoming->abandoned ? ND_EVENT_ABANDONED : ND_EVENT_MESSAGE;
	out->bytes = incoming->bytes;
	out->message = incoming->number;
	out->payload = incoming->memory;
}

static void describe(const struct nd_ndp *ndp, uint32_t event, struct nd_event *out)
{
	const struct nd_ndp_connection *connection = connection_of(ndp, event);
	uint32_t tag = event >> TAG_SHIFT;

	*out = (struct nd_event){
		.priority = connection->priority,
		.app = connection->app,
		.peer = connection->address,
		.port = connection->port,
		.id = nd_ndp_handle(connection),
		.cookie = connection->cookie,
	};
	if (tag == TAG_MESSAGE)
		describe_message(nd_ndp_message_at(ndp, event & INDEX_MASK), out);
	else if (tag == TAG_INCOMING)
		describe_incoming(nd_ndp_incoming_at(ndp, event & INDEX_MASK), out);
	else
		describe_connection(connection, tag == TAG_CLOSED, out);
}

/* What had the event may go now. */
static void finish(struct nd_ndp *ndp, uint32_t event)
{
	struct nd_ndp_connection *connection = connection_of(ndp, event);
	uint32_t index = event & INDEX_MASK;

	ndp->events--;
	switch (event >> TAG_SHIFT) {
	case TAG_ACCEPTED:
		connection->accept_event = false;
		break;
	case TAG_CLOSED:
		connection->close_event = false;
		break;
	case TAG_MESSAGE:
		nd_ndp_message_done(ndp, index);
		break;
	default:
		nd_ndp_incoming_told(ndp, connection, index);
		break;
	}
	nd_ndp_connection_try_free(ndp, connection);
}

uint32_t nd_ndp_event_take(void *endpoint, struct nd_event *out, uint32_t limit)
{
	struct nd_ndp *ndp = endpoint;
	uint32_t count = 0;

	while (count < limit && ndp->event_head != ND_NONE) {
		uint32_t event = ndp->event_head;

		ndp->event_head = *link_of(ndp, event);
		if (ndp->event_head == ND_NONE)
			ndp->event_tail = ND_NONE;
		describe(ndp, event, &out[count++]);
		finish(ndp, event);
	}
	return count;
}

void nd_ndp_event_forget(struct nd_ndp *ndp, uint16_t app)
{
	uint32_t *from = &ndp->event_head;

	ndp->event_tail = ND_NONE;
	while (*from != ND_NONE) {
		uint32_t event = *from;

		if (connection_of(ndp, event)->app != app) {
			ndp->event_tail = event;
			from = link_of(ndp, event);
			continue;
		}
		*from = *link_of(ndp, event);
		finish(ndp, event);
	}
}
