// SPDX-License-Identifier: Apache-2.0
/* The event side of a handle: batches of events, and a request with its reply. */
#include "app_commands.h"

#include <errno.h>
#include <string.h>

/* True for the event after which a buffer is not looked at any more. */
static bool ends_payload(const struct nd_event *event)
{
	return event->kind == ND_EVENT_SENT || event->kind == ND_EVENT_RESPONSE ||
	       event->kind == ND_EVENT_FAILED ||
	       (event->kind == ND_EVENT_OPENED && event->protocol == ND_PROTO_OTHER);
}

static void settle(struct nd_app *app, struct nd_event *events, uint32_t count)
{
	pthread_mutex_lock(&app->mutex);
	for (uint32_t i = 0; i < count; i++) {
		if (ends_payload(&events[i]))
			nd_app_free_buffer(app, events[i].cookie);
		events[i].cookie &= ND_APP_KEY_MASK;
		app->held += events[i].kind == ND_EVENT_MESSAGE ||
			     events[i].kind == ND_EVENT_REQUEST ||
			     events[i].kind == ND_EVENT_RESPONSE;
	}
	nd_app_flush(app);
	pthread_mutex_unlock(&app->mutex);
}

bool nd_app_only_opened(const struct nd_event *events, int count)
{
	for (int i = 0; i < count; i++)
		if (events[i].kind != ND_EVENT_OPENED || events[i].protocol != ND_PROTO_HOMA ||
		    !events[i].id)
			return false;
	return true;
}

/* Waits, and takes events behind the count that there are; the new count or -errno. */
static int wait_for_more(struct nd_app *app, struct nd_event *out, int count, uint32_t limit,
			 nd_ns timeout)
{
	int code;

	pthread_mutex_lock(&app->mutex);
	nd_app_flush(app);
	pthread_mutex_unlock(&app->mutex);
	code = nd_stack_wait(app->stack, timeout);
	if (code == 1)
		code = nd_stack_events(app->stack, out + count, limit - (uint32_t)count);
	if (code < 0 && count == 0)
		return code;
	return count + (code > 0 ? code : 0);
}

/* Takes events behind those that the last poll kept, which count too. */
static int take_behind(struct nd_app *app, struct nd_event *out, uint32_t limit)
{
	int kept = (int)app->kept, count;

	app->kept = 0;
	count = nd_stack_events(app->stack, out + kept, limit - (uint32_t)kept);
	return count < 0 && !kept ? count : kept + (count > 0 ? count : 0);
}

int nd_app_events(struct nd_app *app, struct nd_event *out, uint32_t limit, nd_ns timeout)
{
	int count;

	if (app->foreign)
		return -ECHILD;
	if (!app->stack)
		return -EBADF;
	count = take_behind(app, out, limit);
	if (timeout && count >= 0 && (uint32_t)count < limit && nd_app_only_opened(out, count))
		count = wait_for_more(app, out, count, limit, timeout);
	if (count >= 0)
		settle(app, out, (uint32_t)count);
	return count;
}

int nd_app_end_batch(struct nd_app *app, int count)
{
	if (count > 0) {
		app->batches++;
		app->last_count = count;
	}
	return count;
}

int nd_app_batch(struct nd_app *app, struct nd_event *out, uint32_t limit, nd_ns timeout,
		 uint32_t batches)
{
	if (batches != app->batches)
		return app->last_count;
	return nd_app_end_batch(app, nd_app_events(app, out, limit, timeout));
}

/* The short reply to a request if that is all there is, apart from word that it was taken. */
static const struct nd_event *only_reply(const struct nd_event *events, int count, uint64_t key)
{
	const struct nd_event *last;

	if (count < 1 || count > 2)
		return NULL;
	if (count == 2 && (events[0].cookie != key || !nd_app_only_opened(events, 1)))
		return NULL;
	last = &events[count - 1];
	return last->kind == ND_EVENT_RESPONSE && last->cookie == key &&
			       last->bytes <= ND_APP_COPY_BYTES ?
		       last :
		       NULL;
}

int nd_app_request(struct nd_app *app, uint64_t key, uint8_t priority, uint32_t peer, uint16_t port,
		   nd_ns deadline, const char *data, uint32_t bytes, struct nd_event *out,
		   uint32_t limit, nd_ns timeout, uint32_t batches, struct nd_app_reply *reply)
{
	const struct nd_event *event;
	int count;

	reply->state = ND_APP_UNSENT;
	count = nd_app_send(app, ND_PROTO_HOMA, ND_COMMAND_REQUEST, priority, peer, port, 0, key,
			    deadline, data, bytes);
	if (count < 0)
		return count;
	reply->state = ND_APP_SENT;
	if (batches != app->batches)
		return app->last_count;
	count = nd_app_events(app, out, limit, timeout);
	event = only_reply(out, count, key);
	if (!event)
		return nd_app_end_batch(app, count);
	if (event->bytes)
		memcpy(reply->data, event->payload, event->bytes);
	nd_app_release_later(app, ND_PROTO_HOMA, event->id, event->message);
	reply->bytes = event->bytes;
	reply->state = ND_APP_ANSWERED;
	return 0;
}
