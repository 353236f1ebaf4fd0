// SPDX-License-Identifier: Apache-2.0
/* Birth and death of connections. */
#include "transport/ndp_peer.h"

#include <errno.h>

struct nd_ndp_connection *nd_ndp_connection_find(const struct nd_ndp *ndp, uint64_t handle)
{
	struct nd_ndp_connection *connection;
	uint32_t slot = (uint32_t)handle;

	if (slot >= ndp->connections.limit)
		return NULL;
	connection = nd_ndp_connection_at(ndp, slot);
	if (connection->state == ND_NDP_FREE || connection->generation != handle >> 32)
		return NULL;
	return connection;
}

void nd_ndp_connection_arm(struct nd_ndp *ndp, struct nd_ndp_connection *connection, nd_ns when)
{
	if (when >= connection->timer)
		return;
	connection->timer = when;
	nd_heap_set(&ndp->timers, connection->slot, when);
}

/* ---- birth ---- */

static uint32_t next_generation(struct nd_ndp *ndp)
{
	if (ndp->generation_next == 0)
		ndp->generation_next = 1;
	return ndp->generation_next++;
}

static void init_connection(struct nd_ndp *ndp, struct nd_ndp_connection *connection)
{
	memset(connection, 0, ndp->connections.stride);
	connection->generation = next_generation(ndp);
	connection->window = ND_NONE;
	connection->messages_head = connection->messages_tail = ND_NONE;
	connection->sending = ND_NONE;
	connection->incoming = connection->delivered = ND_NONE;
	connection->listener = ND_NONE;
	connection->own_mss = (uint16_t)ndp->config.mss_bytes;
	connection->mss = ND_NDP_MSS_UNKNOWN;
	connection->timer = connection->linger = connection->message_deadline = ND_NEVER;
}

uint32_t nd_ndp_connection_open(struct nd_ndp *ndp, uint32_t address, uint32_t id, bool accepted,
				uint32_t priority)
{
	struct nd_ndp_connection *connection;
	uint32_t peer = nd_ndp_peer_get(ndp, address);
	uint32_t slot;

	if (peer == ND_NONE)
		return ND_NONE;
	slot = nd_pool_get(&ndp->connections);
	if (slot == ND_NONE) {
		ndp->counters.connections_full++;
		return ND_NONE;
	}
	connection = nd_ndp_connection_at(ndp, slot);
	init_connection(ndp, connection);
	connection->slot = slot;
	connection->flow = nd_ndp_flow(address, id);
	connection->state = ND_NDP_NEW;
	connection->id = id;
	connection->peer = peer;
	connection->address = address;
	connection->accepted = accepted;
	connection->priority = (uint8_t)(priority & 7);
	nd_ndp_peer_use(ndp, peer);
	nd_map_set(&ndp->connection_map, nd_ndp_key(address, id, accepted), slot);
	nd_pull_open(&ndp->pull, slot, peer, connection->priority);
	ndp->live++;
	return slot;
}

void nd_ndp_connection_own(struct nd_ndp *ndp, struct nd_ndp_connection *connection, uint16_t app)
{
	connection->app = app;
	if (app < ND_NDP_APPS_TOLD)
		ndp->held[app]++;
}

uint32_t nd_ndp_connection_accept(struct nd_ndp *ndp, const struct nd_packet *packet)
{
	struct nd_ndp_listener *listener = nd_ndp_listener_find(ndp, packet->ndp.service);
	struct nd_ndp_connection *connection;
	uint32_t slot;

	if (!listener) {
		ndp->counters.listen_refused++;
		nd_ndp_control_refuse(ndp, packet, ND_NDP_CLOSE_REFUSED);
		return ND_NONE;
	}
	if (listener->live >= listener->backlog) {
		ndp->counters.listen_full++;
		return ND_NONE;
	}
	slot = nd_ndp_connection_open(ndp, packet->source, packet->ndp.connection, true,
				      packet->priority);
	if (slot == ND_NONE)
		return ND_NONE;
	listener->live++;
	ndp->reserved--;
	connection = nd_ndp_connection_at(ndp, slot);
	connection->state = ND_NDP_OPEN;
	connection->heard = true;
	connection->listener = (uint32_t)(listener - ndp->listeners);
	connection->port = packet->ndp.service;
	nd_ndp_connection_own(ndp, connection, listener->app);
	connection->cookie = listener->cookie;
	ndp->counters.connections_accepted++;
	nd_ndp_event_accepted(ndp, connection);
	return slot;
}

/* ---- death ---- */

void nd_ndp_window_release(struct nd_ndp *ndp, struct nd_ndp_connection *connection)
{
	uint32_t slot;

	if (connection->window == ND_NONE)
		return;
	/* It may still stand among the ready, for a reason that is gone. */
	nd_ndp_send_unlist(ndp, connection);
	slot = ndp->starved_head;
	nd_pool_put(&ndp->windows, connection->window);
	connection->window = ND_NONE;
	if (slot == ND_NONE)
		return;
	nd_ndp_send_unlist(ndp, nd_ndp_connection_at(ndp, slot));
	nd_ndp_send_schedule(ndp, nd_ndp_connection_at(ndp, slot));
}

static void leave_listener(struct nd_ndp *ndp, struct nd_ndp_connection *connection)
{
	struct nd_ndp_listener *listener;

	if (connection->listener == ND_NONE)
		return;
	listener = &ndp->listeners[connection->listener];
	connection->listener = ND_NONE;
	listener->live--;
	if (!listener->closed)
		ndp->reserved++;
	else if (listener->live == 0)
		listener->used = false;
}

/* From here on the connection is only remembered, for wait. */
static void end(struct nd_ndp *ndp, struct nd_ndp_connection *connection, enum nd_ndp_state state,
		nd_ns wait, nd_ns now)
{
	uint32_t slot = connection->slot;

	connection->end_state = connection->state;
	connection->state = (uint8_t)state;
	nd_ndp_message_fail_all(ndp, connection, connection->error, connection->end_state);
	nd_ndp_incoming_leave_blocked(ndp, connection);
	nd_ndp_incoming_drop_all(ndp, connection);
	nd_ndp_send_unlist(ndp, connection);
	connection->flying = connection->waiting = connection->credit = 0;
	connection->push = connection->owed = 0;
	connection->empty_due = connection->solicit_due = false;
	nd_ndp_window_release(ndp, connection);
	nd_pull_close(&ndp->pull, slot);
	leave_listener(ndp, connection);
	ndp->live--;
	if (connection->app < ND_NDP_APPS_TOLD)
		ndp->held[connection->app]--;
	connection->linger = now + wait;
	nd_heap_remove(&ndp->timers, slot);
	connection->timer = ND_NEVER;
	nd_ndp_connection_arm(ndp, connection, connection->linger);
	nd_ndp_event_closed(ndp, connection);
}

void nd_ndp_connection_abort(struct nd_ndp *ndp, struct nd_ndp_connection *connection,
			     int32_t error, uint32_t reason, bool peer_knows, nd_ns now)
{
	nd_ns wait = ndp->config.time_wait_ns;

	if (!nd_ndp_is_live(connection))
		return;
	connection->error = error;
	connection->reason = (uint8_t)reason;
	if (connection->state == ND_NDP_NEW)
		wait = 0;
	else if (connection->accepted && !peer_knows)
		wait = ndp->config.reset_wait_ns;
	if (connection->state != ND_NDP_NEW && !peer_knows)
		nd_ndp_control_close(ndp, connection, reason);
	end(ndp, connection, ND_NDP_RESET_WAIT, wait, now);
}

void nd_ndp_connection_try_end(struct nd_ndp *ndp, struct nd_ndp_connection *connection,
			       nd_ns now)
{
	if (connection->state != ND_NDP_CLOSING || connection->fin_state != ND_NDP_FIN_SENT ||
	    connection->base != connection->next || !nd_ndp_peer_is_done(connection))
		return;
	ndp->counters.connections_closed++;
	end(ndp, connection, ND_NDP_TIME_WAIT, ndp->config.time_wait_ns, now);
}

void nd_ndp_connection_finish(struct nd_ndp *ndp, struct nd_ndp_connection *connection)
{
	if (connection->fin_state != ND_NDP_FIN_NONE)
		return;
	connection->fin_state = ND_NDP_FIN_ASKED;
	connection->state = ND_NDP_CLOSING;
	if (nd_ndp_has_unsent(connection))
		return; /* the last packet carries it */
	nd_ndp_send_begin_train(ndp, connection);
	connection->empty_due = true;
	nd_ndp_send_schedule(ndp, connection);
}

void nd_ndp_connection_try_free(struct nd_ndp *ndp, struct nd_ndp_connection *connection)
{
	uint32_t slot = connection->slot;

	if (connection->state != ND_NDP_ENDED || connection->message_count ||
	    connection->delivered != ND_NONE || connection->accept_event ||
	    connection->close_event)
		return;
	nd_ndp_peer_drop(ndp, connection->peer);
	connection->state = ND_NDP_FREE;
	nd_pool_put(&ndp->connections, slot);
}
