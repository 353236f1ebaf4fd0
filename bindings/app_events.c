// SPDX-License-Identifier: Apache-2.0
/* The event side of a handle: batches of events, and the two waits that bring one short message. */
#include "app_commands.h"

#include "host/core.h"

#include <errno.h>
#include <string.h>

/* ---- batches ---- */

/* True for the event after which a buffer is not looked at any more. */
static bool ends_payload(const struct nd_event *event)
{
	return event->kind == ND_EVENT_SENT || event->kind == ND_EVENT_RESPONSE ||
	       event->kind == ND_EVENT_FAILED ||
	       (event->kind == ND_EVENT_OPENED && event->protocol == ND_PROTO_OTHER);
}

static bool brings_message(const struct nd_event *event)
{
	return event->kind == ND_EVENT_MESSAGE || event->kind == ND_EVENT_REQUEST ||
	       event->kind == ND_EVENT_RESPONSE;
}

/* Word that a request was taken or a reply arrived, which nobody asks for. */
static bool is_idle_talk(const struct nd_event *event)
{
	return event->protocol == ND_PROTO_HOMA &&
	       (event->kind == ND_EVENT_SENT || (event->kind == ND_EVENT_OPENED && event->id));
}

/* What events are to the handle itself; how many are left for its owner. */
static int settle(struct nd_app *app, struct nd_event *events, int count)
{
	int left = 0;

	pthread_mutex_lock(&app->mutex);
	for (int i = 0; i < count; i++) {
		if (ends_payload(&events[i]))
			nd_app_free_buffer(app, events[i].cookie);
		if (is_idle_talk(&events[i]))
			continue;
		events[left] = events[i];
		events[left].cookie &= ND_APP_KEY_MASK;
		app->held += brings_message(&events[left++]);
	}
	nd_app_flush(app);
	pthread_mutex_unlock(&app->mutex);
	return left;
}

/* Word that messages of this connection arrived, and no more; the connection 0: no events. */
static bool only_sent(const struct nd_event *events, int count, uint64_t connection)
{
	for (int i = 0; i < count; i++)
		if (events[i].kind != ND_EVENT_SENT || events[i].id != connection)
			return false;
	return true;
}

int nd_app_take_now(struct nd_app *app, struct nd_event *out, uint32_t limit)
{
	int count = nd_stack_events(app->stack, out, limit);

	return count < 0 ? count : settle(app, out, count);
}

/* Waits until that time, and takes what came, which may be nothing for its owner; -errno. */
static int take_next(struct nd_app *app, struct nd_event *out, uint32_t limit, nd_ns timeout)
{
	int code = nd_stack_wait(app->stack, timeout);

	if (code == 0)
		return -ETIMEDOUT;
	return code < 0 ? code : nd_app_take_now(app, out, limit);
}

/* As nd_app_events(), for somebody to whom word of what a connection sent is worth no end of it. */
static int take_events(struct nd_app *app, struct nd_event *out, uint32_t limit, nd_ns timeout,
		       uint64_t connection)
{
	nd_ns now, end;
	int count, more;

	if (app->foreign)
		return -ECHILD;
	if (!app->stack)
		return -EBADF;
	count = nd_app_take_now(app, out, limit);
	if (!timeout || count < 0 || !only_sent(out, count, connection))
		return count;
	now = nd_core_now();
	end = now + nd_min_u64(timeout, ND_NEVER - now);
	while ((uint32_t)count < limit && now < end) {
		more = take_next(app, out + count, limit - (uint32_t)count, end - now);
		if (more < 0)
			return count || more == -ETIMEDOUT ? count : more;
		count += more;
		if (!only_sent(out + count - more, more, connection))
			return count;
		now = nd_core_now();
	}
	return count;
}

int nd_app_events(struct nd_app *app, struct nd_event *out, uint32_t limit, nd_ns timeout)
{
	return take_events(app, out, limit, timeout, 0);
}

/* A message that the owner copies or drops before it confirms the batch. */
static bool is_copied(const struct nd_event *event)
{
	return event->protocol == ND_PROTO_HOMA && brings_message(event) &&
	       event->bytes <= ND_APP_COPY_BYTES;
}

static void set_took(struct nd_app *app, bool took)
{
	__atomic_store_n(&app->took, took, __ATOMIC_RELAXED);
}

static void set_copied(struct nd_app *app, uint32_t copied)
{
	__atomic_store_n(&app->copied, copied, __ATOMIC_RELAXED);
}

int nd_app_end_batch(struct nd_app *app, const struct nd_event *events, int count)
{
	uint32_t copied = 0;

	if (count <= 0)
		return count;
	app->batches++;
	app->last_count = count;
	for (int i = 0; i < count; i++)
		copied += is_copied(&events[i]);
	set_copied(app, copied);
	return count;
}

bool nd_app_confirm(struct nd_app *app, const struct nd_event *events, uint32_t batches)
{
	bool took = app->took;

	set_took(app, false);
	if (batches != app->batches)
		return false;
	if (took)
		nd_app_release_later(app, ND_PROTO_NDP, app->taken.id, app->taken.message);
	set_copied(app, 0);
	for (int i = 0; i < app->last_count; i++)
		if (is_copied(&events[i]))
			nd_app_release_later(app, ND_PROTO_HOMA, events[i].id, events[i].message);
	app->last_count = 0;
	return true;
}

int nd_app_batch(struct nd_app *app, struct nd_event *out, uint32_t limit, nd_ns timeout,
		 uint32_t batches)
{
	if (!nd_app_confirm(app, out, batches))
		return app->last_count;
	return nd_app_end_batch(app, out, nd_app_events(app, out, limit, timeout));
}

void nd_app_drop(struct nd_app *app, struct nd_event *event)
{
	if (!brings_message(event) || is_copied(event))
		return;
	nd_app_release(app, event->protocol, event->id, event->message);
	event->kind = ND_APP_DROPPED;
}

/* ---- one short message ---- */

/* How long to wait at once for what may come until then. */
static nd_ns slice_of(nd_ns deadline)
{
	nd_ns now;

	if (deadline == ND_NEVER)
		return ND_APP_SLICE;
	now = nd_core_now();
	return deadline > now ? nd_min_u64(deadline - now, ND_APP_SLICE) : 0;
}

/* The short reply to a request if that is all there is. */
static bool is_only_reply(const struct nd_event *event, int count, uint64_t key)
{
	return count == 1 && event->kind == ND_EVENT_RESPONSE && event->cookie == key &&
	       event->bytes <= ND_APP_COPY_BYTES;
}

static int copy_out(uint8_t *data, const struct nd_event *event)
{
	if (event->bytes)
		memcpy(data, event->payload, event->bytes);
	return (int)event->bytes;
}

int nd_app_request(struct nd_app *app, uint8_t priority, uint32_t peer, uint16_t port,
		   double until, const char *data, uint32_t bytes, struct nd_event *out,
		   uint32_t limit, uint32_t batches, struct nd_app_reply *reply)
{
	int code;

	reply->state = ND_APP_UNSENT;
	reply->key = ND_APP_KEY_OWN | ++app->requests;
	code = nd_app_ask(app, priority, peer, port, reply->key, until, data, bytes, false, NULL);
	if (code < 0)
		return code;
	reply->state = ND_APP_SENT;
	reply->buffer = code;
	reply->count = app->last_count;
	if (!nd_app_confirm(app, out, batches))
		return -EINPROGRESS;
	reply->count = nd_app_events(app, out, limit, slice_of(nd_app_deadline(until)));
	if (nd_app_owes(app) || !is_only_reply(out, reply->count, reply->key)) {
		nd_app_end_batch(app, out, reply->count);
		return -EINPROGRESS;
	}
	code = copy_out(reply->data, out);
	nd_app_release_later(app, ND_PROTO_HOMA, out->id, out->message);
	reply->state = ND_APP_ANSWERED;
	return code;
}

static bool is_wanted(const struct nd_event *event, uint8_t protocol, uint64_t subject)
{
	if (event->protocol != protocol || event->bytes > ND_APP_COPY_BYTES)
		return false;
	return protocol == ND_PROTO_NDP ? event->kind == ND_EVENT_MESSAGE && event->id == subject :
					  event->kind == ND_EVENT_REQUEST && event->port == subject;
}

/* What is wanted, if that is all that came but for word of what a connection sent. */
static const struct nd_event *only_wanted(const struct nd_event *events, int count,
					  uint8_t protocol, uint64_t subject)
{
	const struct nd_event *found = NULL;

	for (int i = 0; i < count; i++) {
		if (protocol == ND_PROTO_NDP && only_sent(&events[i], 1, subject))
			continue;
		if (found || !is_wanted(&events[i], protocol, subject))
			return NULL;
		found = &events[i];
	}
	return found;
}

int nd_app_take(struct nd_app *app, uint8_t protocol, uint64_t subject, double until,
		bool alone, struct nd_event *out, uint32_t limit, uint32_t batches,
		struct nd_app_message *message)
{
	uint64_t connection = protocol == ND_PROTO_NDP && alone ? subject : 0;
	nd_ns timeout = slice_of(nd_app_deadline(until));
	const struct nd_event *event;
	int count;

	message->count = app->last_count;
	if (!nd_app_confirm(app, out, batches))
		return -EAGAIN;
	count = take_events(app, out, limit, timeout, connection);
	message->count = count = nd_app_end_batch(app, out, count);
	event = nd_app_owes(app) ? NULL : only_wanted(out, count, protocol, subject);
	if (!event)
		return -EAGAIN;
	set_took(app, protocol == ND_PROTO_NDP);
	app->taken = *event;
	message->peer = event->peer;
	message->id = event->id;
	message->message = event->message;
	message->sent = (uint32_t)count - 1;
	return copy_out(message->data, event);
}

/* ---- for another module ---- */

const struct nd_app_verbs *nd_app_verbs(void)
{
	static const struct nd_app_verbs verbs = {
		.ask = nd_app_ask,
		.reply = nd_app_reply,
		.tell = nd_app_tell,
		.release = nd_app_release,
		.drop = nd_app_drop,
		.take_back = nd_app_take_back,
		.close = nd_app_close,
	};

	return &verbs;
}
