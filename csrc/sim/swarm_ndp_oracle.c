// SPDX-License-Identifier: Apache-2.0
/* What may happen to NDP messages and connections of the swarm, and what must. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "sim/swarm.h"
#include "sim/swarm_memory.h"
#include "sim/swarm_pattern.h"

#define SLOT 0

static struct nd_swarm_side *find_side(struct nd_swarm *swarm, uint32_t host, uint64_t id)
{
	struct nd_swarm_ndp *ndp = &swarm->ndp;

	for (uint32_t i = ndp->side_count; i-- > 0;) {
		struct nd_swarm_side *side = &ndp->sides[i];

		if (side->live && side->host == host && side->id == id)
			return side;
	}
	return NULL;
}

static struct nd_swarm_message *find_message(struct nd_swarm *swarm,
					     const struct nd_swarm_side *side, uint64_t number)
{
	struct nd_swarm_ndp *ndp = &swarm->ndp;
	uint32_t index = (uint32_t)(side - ndp->sides);

	for (uint32_t i = ndp->message_count; i-- > 0;) {
		if (ndp->messages[i].side == index && ndp->messages[i].number == number)
			return &ndp->messages[i];
	}
	return NULL;
}

/* The engine is done with the sender's bytes: from now on they are wrong. */
static void end_message(struct nd_swarm *swarm, struct nd_swarm_message *message,
			enum nd_swarm_outcome outcome)
{
	message->outcome = (uint8_t)outcome;
	swarm->ndp.sides[message->side].pending--;
	memset(message->payload, 0xdb, message->bytes);
	free(message->payload);
	message->payload = NULL;
}

static void lose_side(struct nd_swarm *swarm, uint32_t index)
{
	struct nd_swarm_ndp *ndp = &swarm->ndp;

	ndp->sides[index].live = false;
	ndp->sides[index].broken = true;
	for (uint32_t i = 0; i < ndp->message_count; i++) {
		struct nd_swarm_message *message = &ndp->messages[i];

		if (message->side == index && message->outcome == ND_SWARM_PENDING)
			end_message(swarm, message, ND_SWARM_ORPHANED);
	}
}

static void lose_sides(struct nd_swarm *swarm, uint32_t host, uint32_t app)
{
	for (uint32_t i = 0; i < swarm->ndp.side_count; i++) {
		const struct nd_swarm_side *side = &swarm->ndp.sides[i];

		if (side->live && side->host == host && (app == ND_NONE || side->app == app))
			lose_side(swarm, i);
	}
}

void nd_swarm_ndp_restarted(struct nd_swarm *swarm, uint32_t host)
{
	lose_sides(swarm, host, ND_NONE);
}

void nd_swarm_ndp_detached(struct nd_swarm *swarm, uint32_t host, uint32_t app)
{
	lose_sides(swarm, host, app);
}

/* ---- events ---- */

static void on_accepted(struct nd_swarm *swarm, uint32_t host, const struct nd_event *event)
{
	struct nd_swarm_ndp *ndp = &swarm->ndp;
	uint32_t peer = nd_swarm_host_of(swarm, event->peer);

	if (find_side(swarm, host, event->id) || peer == ND_NONE || event->port == 0 ||
	    event->port > ND_SWARM_SERVICES || event->app != event->port % swarm->options.apps) {
		nd_swarm_fail(swarm, "host %" PRIu32 ": impossible accept, port %u, app %u", host,
			      event->port, event->app);
		return;
	}
	if (ndp->side_count == ND_SWARM_SIDES_MAX) {
		nd_swarm_fail(swarm, "more connections than the swarm has room for");
		return;
	}
	ndp->sides[ndp->side_count++] = (struct nd_swarm_side){
		.id = event->id,
		.incarnation = swarm->hosts[host].incarnation,
		.initiator = ND_NONE,
		.acceptor = ND_NONE,
		.port = event->port,
		.host = (uint8_t)host,
		.peer = (uint8_t)peer,
		.app = (uint8_t)event->app,
		.accepting = true,
		.live = true,
	};
	/* A late packet of a connection whose host has restarted. */
	if (swarm->finishing)
		nd_swarm_ndp_end(swarm, ndp->side_count - 1, ND_COMMAND_CLOSE);
}

/* The one tiny connection of that peer to that port, ND_NONE when there was none. */
static uint32_t tiny_side(const struct nd_swarm *swarm, const struct nd_swarm_side *side)
{
	for (uint32_t i = 0; i < swarm->ndp.side_count; i++) {
		const struct nd_swarm_side *other = &swarm->ndp.sides[i];

		if (other->tiny && other->host == side->peer && other->peer == side->host &&
		    other->port == side->port)
			return i;
	}
	return ND_NONE;
}

/* Which message this is, by its identity or by the connection; NULL when none fits. */
static struct nd_swarm_message *identify(struct nd_swarm *swarm, const struct nd_swarm_side *side,
					 const struct nd_event *event)
{
	struct nd_swarm_ndp *ndp = &swarm->ndp;
	uint32_t sender;

	if (event->bytes >= ND_SWARM_IDENTITY_BYTES) {
		uint32_t key = nd_swarm_pattern_key(swarm->options.seed, event->payload);

		return key < ndp->message_count ? &ndp->messages[key] : NULL;
	}
	if (!side->accepting)
		sender = side->acceptor;
	else
		sender = side->initiator != ND_NONE ? side->initiator : tiny_side(swarm, side);
	return sender == ND_NONE ? NULL : find_message(swarm, &ndp->sides[sender], event->message);
}

/* Ties an accepted connection to the one it answers; false when they do not fit. */
static bool bind_sides(struct nd_swarm *swarm, struct nd_swarm_side *side, uint32_t sender_index)
{
	struct nd_swarm_side *sender = &swarm->ndp.sides[sender_index];

	if (sender->host != side->peer || sender->peer != side->host || sender->port != side->port)
		return false;
	if (!side->accepting)
		return sender->accepting && &swarm->ndp.sides[sender->initiator] == side;
	if (sender->accepting)
		return false;
	if (side->initiator == ND_NONE) {
		side->initiator = sender_index;
		if (sender->acceptors++ == 0)
			sender->acceptor = (uint32_t)(side - swarm->ndp.sides);
	}
	return side->initiator == sender_index;
}

static void on_message(struct nd_swarm *swarm, uint32_t host, const struct nd_event *event)
{
	struct nd_swarm_side *side = find_side(swarm, host, event->id);
	struct nd_swarm_message *message;
	uint32_t key;

	if (!side || event->app != side->app) {
		nd_swarm_fail(swarm, "host %" PRIu32 ": a message on no connection", host);
		return;
	}
	if (event->bytes != 0 &&
	    !nd_swarm_memory_has(&swarm->hosts[host].endpoints[SLOT].rx, event->app, event->payload,
				 event->bytes)) {
		nd_swarm_fail(swarm, "host %" PRIu32 ": a message in memory that is not out", host);
		return;
	}
	message = identify(swarm, side, event);
	if (!message) {
		nd_swarm_fail(swarm, "host %" PRIu32 ": a corrupt message of %" PRIu32 " bytes", host,
			      event->bytes);
		return;
	}
	key = (uint32_t)(message - swarm->ndp.messages);
	if (!bind_sides(swarm, side, message->side) || message->number != event->message)
		nd_swarm_fail(swarm, "host %" PRIu32 ": message %" PRIu32 " on a wrong connection",
			      host, key);
	else if (message->bytes != event->bytes)
		nd_swarm_fail(swarm, "host %" PRIu32 ": %" PRIu32 " of %" PRIu32 " bytes of message %" PRIu32,
			      host, event->bytes, message->bytes, key);
	else if (!nd_swarm_pattern_check(swarm->options.seed, key, event->payload, event->bytes))
		nd_swarm_fail(swarm, "host %" PRIu32 ": message %" PRIu32 " is corrupt", host, key);
	else if (message->got_in == side->incarnation + 1)
		nd_swarm_fail(swarm, "host %" PRIu32 ": message %" PRIu32 " delivered twice", host,
			      key);
	message->got_in = side->incarnation + 1;
	swarm->report.delivered++;
	nd_swarm_host_hold(swarm, host, SLOT, event, key);
}

/* Only what its sender gave up, and never what was delivered; where the other side is known. */
static void on_abandoned(struct nd_swarm *swarm, uint32_t host, const struct nd_event *event)
{
	struct nd_swarm_side *side = find_side(swarm, host, event->id);
	const struct nd_swarm_message *message = NULL;
	uint32_t sender;

	if (!side || event->app != side->app || event->payload) {
		nd_swarm_fail(swarm, "host %" PRIu32 ": a message given up on no connection", host);
		return;
	}
	sender = side->accepting	? side->initiator :
		 side->acceptors == 1 ? side->acceptor : ND_NONE;
	if (sender != ND_NONE)
		message = find_message(swarm, &swarm->ndp.sides[sender], event->message);
	if (!message)
		return;
	if (!message->cancelled && message->deadline == ND_NEVER)
		nd_swarm_fail(swarm, "host %" PRIu32 ": message %" PRIu64 " was given up by nobody",
			      host, event->message);
	if (message->got_in == side->incarnation + 1)
		nd_swarm_fail(swarm, "host %" PRIu32 ": message %" PRIu64
			      " was given up after its delivery", host, event->message);
}

/* True when the other application may have closed the connection with something on its way. */
static bool peer_closed(const struct nd_swarm *swarm, const struct nd_swarm_side *side)
{
	for (uint32_t i = 0; i < swarm->ndp.side_count; i++) {
		const struct nd_swarm_side *other = &swarm->ndp.sides[i];

		if (other != side && other->initiator == side->initiator && other->closing)
			return true;
	}
	return false;
}

static void on_end(struct nd_swarm *swarm, uint32_t host, const struct nd_event *event)
{
	struct nd_swarm_side *side = find_side(swarm, host, event->id);
	struct nd_swarm_message *message;
	bool sent = event->kind == ND_EVENT_SENT;

	message = side ? find_message(swarm, side, event->message) : NULL;
	if (!message || message->outcome != ND_SWARM_PENDING) {
		nd_swarm_fail(swarm, "host %" PRIu32 ": the end of %s message %" PRIu64, host,
			      message ? "an ended" : "an unknown", event->message);
		return;
	}
	nd_swarm_note(swarm, host, "message %" PRIu64 " of %" PRIu64 " bytes ends with -%" PRIu64,
		      (uint64_t)(message - swarm->ndp.messages), message->bytes,
		      (uint64_t)-event->error);
	if (sent != (event->error == 0) || event->error > 0)
		nd_swarm_fail(swarm, "host %" PRIu32 ": event %u with error %" PRId32, host,
			      event->kind, event->error);
	message->error = event->error;
	end_message(swarm, message, sent ? ND_SWARM_SENT : ND_SWARM_FAILED);
	swarm->report.failed += !sent;
	if (!sent && nd_swarm_options_gentle(&swarm->options) && !message->cancelled &&
	    message->deadline == ND_NEVER && side->port != ND_SWARM_DEAD_PORT && !peer_closed(swarm, side))
		nd_swarm_fail(swarm, "host %" PRIu32 ": message %" PRIu32 " failed with %" PRId32
			      " for no reason", host, (uint32_t)(message - swarm->ndp.messages),
			      event->error);
	if (message->probe && !sent)
		nd_swarm_fail(swarm, "host %" PRIu32 ": message %" PRIu32 " failed with %" PRId32
			      " on a network without faults", host,
			      (uint32_t)(message - swarm->ndp.messages), event->error);
}

static void on_closed(struct nd_swarm *swarm, uint32_t host, const struct nd_event *event)
{
	struct nd_swarm_side *side = find_side(swarm, host, event->id);

	nd_swarm_note(swarm, host, "connection %#" PRIx64 " closed with -%" PRIu64, event->id,
		      (uint64_t)-event->error);
	if (!side) {
		nd_swarm_fail(swarm, "host %" PRIu32 ": the end of no connection", host);
		return;
	}
	if (side->pending != 0)
		nd_swarm_fail(swarm, "host %" PRIu32 ": a connection ended, %" PRIu32
			      " of its messages did not", host, side->pending);
	side->live = false;
	side->broken |= event->error != 0;
}

void nd_swarm_ndp_event(struct nd_swarm *swarm, uint32_t host, const struct nd_event *event)
{
	nd_swarm_note(swarm, host,
		      "event %" PRIu64 " id %#" PRIx64 " message %" PRIu64 " bytes %" PRIu64
		      " app %" PRIu64 " error -%" PRIu64, event->kind, event->id, event->message,
		      event->bytes, event->app, (uint64_t)-event->error);
	switch (event->kind) {
	case ND_EVENT_ACCEPTED:
		on_accepted(swarm, host, event);
		break;
	case ND_EVENT_MESSAGE:
		on_message(swarm, host, event);
		break;
	case ND_EVENT_ABANDONED:
		on_abandoned(swarm, host, event);
		break;
	case ND_EVENT_SENT:
	case ND_EVENT_FAILED:
		on_end(swarm, host, event);
		break;
	case ND_EVENT_CLOSED:
		on_closed(swarm, host, event);
		break;
	default:
		nd_swarm_fail(swarm, "host %" PRIu32 ": event %u is not NDP's", host, event->kind);
		break;
	}
}

/* ---- the end ---- */

uint32_t nd_swarm_ndp_outstanding(const struct nd_swarm *swarm)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < swarm->ndp.side_count; i++)
		count += swarm->ndp.sides[i].pending +
			 (swarm->finishing && swarm->ndp.sides[i].live);
	return count;
}

/* True when the receiver may have lost what it acknowledged. */
static bool is_excused(const struct nd_swarm *swarm, const struct nd_swarm_message *message)
{
	const struct nd_swarm_side *side = &swarm->ndp.sides[message->side];

	for (uint32_t app = 0; app < swarm->options.apps; app++) {
		if (swarm->hosts[side->peer].broken_at[app] >= message->submitted &&
		    swarm->hosts[side->peer].broken_at[app] != 0)
			return true;
	}
	for (uint32_t i = 0; i < swarm->ndp.side_count; i++) {
		const struct nd_swarm_side *other = &swarm->ndp.sides[i];

		if (other->initiator == side->initiator && other->broken)
			return true;
		if (other->initiator == ND_NONE && other->host == side->peer && other->broken)
			return true;
	}
	return false;
}

void nd_swarm_ndp_verify(struct nd_swarm *swarm)
{
	const struct nd_swarm_ndp *ndp = &swarm->ndp;

	for (uint32_t i = 0; i < ndp->message_count; i++) {
		const struct nd_swarm_message *message = &ndp->messages[i];

		if (message->outcome == ND_SWARM_PENDING)
			nd_swarm_fail(swarm, "message %" PRIu32 " of %" PRIu32
				      " bytes from host %u never ended", i, message->bytes,
				      ndp->sides[message->side].host);
		else if (message->outcome == ND_SWARM_SENT && message->got_in == 0 &&
			 !is_excused(swarm, message))
			nd_swarm_fail(swarm, "message %" PRIu32 " was reported sent but not delivered",
				      i);
		else if (message->outcome == ND_SWARM_FAILED && message->error == -ECANCELED &&
			 !message->cancelled)
			nd_swarm_fail(swarm, "message %" PRIu32 " was cancelled by nobody", i);
	}
	for (uint32_t i = 0; i < ndp->side_count; i++) {
		if (swarm->finishing && ndp->sides[i].live)
			nd_swarm_fail(swarm, "connection %#" PRIx64 " of host %u never ended",
				      ndp->sides[i].id, ndp->sides[i].host);
	}
}
