// SPDX-License-Identifier: Apache-2.0
/* What applications ask for. */
#include "transport/ndp_peer.h"

#include <errno.h>

/* ---- listening ---- */

struct nd_ndp_listener *nd_ndp_listener_find(const struct nd_ndp *ndp, uint16_t port)
{
	for (uint32_t i = 0; i < ndp->config.listeners_max; i++) {
		struct nd_ndp_listener *listener = &ndp->listeners[i];

		if (listener->used && !listener->closed && listener->port == port)
			return listener;
	}
	return NULL;
}

static struct nd_ndp_listener *free_listener(const struct nd_ndp *ndp)
{
	for (uint32_t i = 0; i < ndp->config.listeners_max; i++) {
		if (!ndp->listeners[i].used)
			return &ndp->listeners[i];
	}
	return NULL;
}

static uint32_t backlog_of(const struct nd_ndp *ndp, const struct nd_command *command)
{
	uint64_t asked = command->message ? command->message : ndp->config.listen_backlog;

	return (uint32_t)nd_min_u64(asked, UINT32_MAX);
}

/* R-NHA-09: connections are reserved now, so that a train that arrives finds one. */
static int do_listen(struct nd_ndp *ndp, struct nd_command *command, nd_ns now)
{
	uint32_t backlog = backlog_of(ndp, command);
	struct nd_ndp_listener *listener;

	(void)now;
	if (command->port == 0)
		return -EINVAL;
	if (nd_ndp_listener_find(ndp, command->port))
		return -EADDRINUSE;
	listener = free_listener(ndp);
	if (!listener || backlog > ndp->config.connections_max ||
	    ndp->live + ndp->reserved > ndp->config.connections_max - backlog)
		return -ENOBUFS;
	*listener = (struct nd_ndp_listener){
		.backlog = backlog,
		.cookie = command->cookie,
		.port = command->port,
		.app = command->app,
		.used = true,
	};
	ndp->reserved += backlog;
	return 0;
}

static void close_listener(struct nd_ndp *ndp, struct nd_ndp_listener *listener)
{
	listener->closed = true;
	ndp->reserved -= listener->backlog - listener->live;
	if (listener->live == 0)
		listener->used = false;
}

static int do_unlisten(struct nd_ndp *ndp, struct nd_command *command, nd_ns now)
{
	struct nd_ndp_listener *listener = nd_ndp_listener_find(ndp, command->port);

	(void)now;
	if (!listener || listener->app != command->app)
		return -ENOENT;
	close_listener(ndp, listener);
	return 0;
}

/* ---- connections ---- */

/* An id that no connection to this peer has, time-wait included. */
static uint32_t choose_id(struct nd_ndp *ndp, uint32_t address)
{
	uint32_t id;

	do {
		id = ndp->connection_next++ & ND_NDP_CONNECTION_MAX;
	} while (nd_map_get(&ndp->connection_map, nd_ndp_key(address, id, false)) != ND_NONE);
	return id;
}

static int do_connect(struct nd_ndp *ndp, struct nd_command *command, nd_ns now)
{
	struct nd_ndp_connection *connection;
	uint32_t slot;

	(void)now;
	if (command->port == 0)
		return -EINVAL;
	if (ndp->live + ndp->reserved >= ndp->config.connections_max)
		return -ENOBUFS;
	slot = nd_ndp_connection_open(ndp, command->peer, choose_id(ndp, command->peer), false,
				      command->priority);
	if (slot == ND_NONE)
		return -ENOBUFS;
	connection = nd_ndp_connection_at(ndp, slot);
	connection->port = command->port;
	nd_ndp_connection_own(ndp, connection, command->app);
	connection->cookie = command->cookie;
	command->id = nd_ndp_handle(connection);
	return 0;
}

static struct nd_ndp_connection *find_own(const struct nd_ndp *ndp,
					  const struct nd_command *command)
{
	struct nd_ndp_connection *connection = nd_ndp_connection_find(ndp, command->id);

	return connection && connection->app == command->app ? connection : NULL;
}

static int do_send(struct nd_ndp *ndp, struct nd_command *command, nd_ns now)
{
	struct nd_ndp_connection *connection = find_own(ndp, command);

	if (!connection)
		return -ENOENT;
	if (command->bytes > ndp->config.message_bytes_max)
		return -EMSGSIZE;
	if (!nd_ndp_is_live(connection))
		return -ENOTCONN;
	if (connection->fin_state != ND_NDP_FIN_NONE)
		return -EPIPE;
	return nd_ndp_message_send(ndp, connection, command, now);
}

static int do_close(struct nd_ndp *ndp, struct nd_command *command, nd_ns now)
{
	struct nd_ndp_connection *connection = find_own(ndp, command);

	if (!connection || !nd_ndp_is_live(connection))
		return -ENOENT;
	if (connection->state == ND_NDP_NEW && connection->messages_head == ND_NONE) {
		/* The peer has never heard of it. */
		nd_ndp_connection_abort(ndp, connection, 0, 0, true, now);
		return 0;
	}
	if (command->deadline && command->deadline != ND_NEVER) {
		connection->linger = command->deadline;
		nd_ndp_connection_arm(ndp, connection, command->deadline);
	}
	nd_ndp_connection_finish(ndp, connection);
	return 0;
}

static void reset(struct nd_ndp *ndp, struct nd_ndp_connection *connection, nd_ns now)
{
	ndp->counters.connections_reset++;
	nd_ndp_connection_abort(ndp, connection, -ECONNABORTED, ND_NDP_CLOSE_RESET, false, now);
}

static int do_reset(struct nd_ndp *ndp, struct nd_command *command, nd_ns now)
{
	struct nd_ndp_connection *connection = find_own(ndp, command);

	if (!connection || !nd_ndp_is_live(connection))
		return -ENOENT;
	reset(ndp, connection, now);
	return 0;
}

/* ---- messages ---- */

static int do_cancel(struct nd_ndp *ndp, struct nd_command *command, nd_ns now)
{
	struct nd_ndp_connection *connection = find_own(ndp, command);
	uint32_t index;

	(void)now;
	if (!connection)
		return -ENOENT;
	index = connection->messages_head;
	while (index != ND_NONE && nd_ndp_message_at(ndp, index)->number != command->message)
		index = nd_ndp_message_at(ndp, index)->next;
	if (index == ND_NONE || nd_ndp_message_at(ndp, index)->cancelled)
		return -ENOENT;
	nd_ndp_message_cancel(ndp, nd_ndp_message_at(ndp, index), -ECANCELED);
	nd_ndp_send_schedule(ndp, connection);
	return 0;
}

static int do_release(struct nd_ndp *ndp, struct nd_command *command, nd_ns now)
{
	struct nd_ndp_connection *connection = find_own(ndp, command);
	int result;

	(void)now;
	if (!connection)
		return -ENOENT;
	result = nd_ndp_incoming_release(ndp, connection, command->message);
	nd_ndp_connection_try_free(ndp, connection);
	return result;
}

static int do_paths(struct nd_ndp *ndp, struct nd_command *command, nd_ns now)
{
	(void)now;
	return nd_ndp_peer_set_paths(ndp, command);
}

/*
 * What a connection has sent binds it to packets of one size: it takes the new one only before its
 * first packet, may stay below it, and ends when the link does not carry its packets any more.
 */
static int do_mss(struct nd_ndp *ndp, struct nd_command *command, nd_ns now)
{
	if (!command->bytes || command->bytes > UINT16_MAX - ndp->config.data_header_bytes ||
	    command->message < command->bytes)
		return -EINVAL;
	ndp->config.mss_bytes = command->bytes;
	for (uint32_t slot = 0; slot < ndp->connections.limit; slot++) {
		struct nd_ndp_connection *connection = nd_ndp_connection_at(ndp, slot);

		if (ndp->connections.next[slot] != ND_POOL_USED || !nd_ndp_is_live(connection))
			continue;
		if (connection->next == 0)
			connection->own_mss = (uint16_t)command->bytes;
		if (connection->own_mss <= command->message)
			continue;
		ndp->counters.connections_oversize++;
		nd_ndp_connection_abort(ndp, connection, -ENETRESET, ND_NDP_CLOSE_RESET, false,
					now);
	}
	return 0;
}

/* Pulls that are queued are spaced by the new rate. */
static int do_link(struct nd_ndp *ndp, struct nd_command *command, nd_ns now)
{
	struct nd_ndp_config config = ndp->config;
	const char *why;

	(void)now;
	config.link_bps = command->message ? command->message : ND_LINK_BPS_ASSUMED;
	if (nd_ndp_config_check(&config, &why) < 0)
		return -EINVAL;
	ndp->config.link_bps = config.link_bps;
	nd_pull_set_rate(&ndp->pull, config.link_bps);
	return 0;
}

/* ---- applications ---- */

static bool is_of(const struct nd_ndp *ndp, uint32_t slot, uint16_t app)
{
	return ndp->connections.next[slot] == ND_POOL_USED &&
	       nd_ndp_connection_at(ndp, slot)->app == app;
}

/* T4: an application that died leaves nothing behind. */
static int do_detach(struct nd_ndp *ndp, struct nd_command *command, nd_ns now)
{
	for (uint32_t i = 0; i < ndp->config.listeners_max; i++) {
		struct nd_ndp_listener *listener = &ndp->listeners[i];

		if (listener->used && !listener->closed && listener->app == command->app)
			close_listener(ndp, listener);
	}
	for (uint32_t slot = 0; slot < ndp->connections.limit; slot++) {
		struct nd_ndp_connection *connection = nd_ndp_connection_at(ndp, slot);

		if (is_of(ndp, slot, command->app) && nd_ndp_is_live(connection))
			reset(ndp, connection, now);
	}
	/* Messages can be taken back once no event names them. */
	nd_ndp_event_forget(ndp, command->app);
	for (uint32_t slot = 0; slot < ndp->connections.limit; slot++) {
		if (!is_of(ndp, slot, command->app))
			continue;
		nd_ndp_incoming_reclaim(ndp, nd_ndp_connection_at(ndp, slot));
		nd_ndp_connection_try_free(ndp, nd_ndp_connection_at(ndp, slot));
	}
	return 0;
}

/* Connections that these applications have or have reserved. */
static uint32_t held_by(const struct nd_ndp *ndp, uint64_t apps)
{
	uint32_t held = 0;

	for (uint32_t i = 0; i < ndp->config.listeners_max; i++) {
		const struct nd_ndp_listener *listener = &ndp->listeners[i];

		if (listener->used && !listener->closed && apps >> listener->app & 1)
			held += listener->backlog - listener->live;
	}
	for (uint32_t app = 0; app < ND_NDP_APPS_TOLD; app++)
		held += apps >> app & 1 ? ndp->held[app] : 0;
	return held;
}

static uint32_t queued_by(const struct nd_ndp *ndp, uint64_t apps)
{
	uint32_t queued = 0;

	for (uint32_t app = 0; app < ND_NDP_APPS_TOLD; app++)
		queued += apps >> app & 1 ? ndp->queued[app] : 0;
	return queued;
}

static bool leaves_connections(const struct nd_ndp *ndp, uint32_t wanted, uint64_t apps)
{
	uint32_t left = ndp->config.connections_max - ndp->live - ndp->reserved;

	if (wanted == 0 || wanted > left)
		return true; /* the limit itself will say so */
	left -= wanted;
	return left >= ndp->config.connections_max - left || held_by(ndp, apps) + wanted <= left;
}

static bool leaves_messages(const struct nd_ndp *ndp, uint64_t apps)
{
	uint32_t left = ndp->messages.limit - ndp->messages.used;

	if (left == 0)
		return true;
	left--;
	return left >= ndp->messages.limit - left || queued_by(ndp, apps) + 1 <= left;
}

static bool leaves_listeners(const struct nd_ndp *ndp, uint64_t apps)
{
	uint32_t left = ndp->config.listeners_max, held = 0;

	for (uint32_t i = 0; i < ndp->config.listeners_max; i++) {
		const struct nd_ndp_listener *listener = &ndp->listeners[i];

		left -= listener->used;
		held += listener->used && apps >> listener->app & 1;
	}
	return left == 0 || held + 1 <= left - 1;
}

bool nd_ndp_leaves_room(const void *endpoint, const struct nd_command *command, uint64_t apps)
{
	const struct nd_ndp *ndp = endpoint;

	switch (command->kind) {
	case ND_COMMAND_CONNECT:
		return leaves_connections(ndp, 1, apps);
	case ND_COMMAND_SEND:
		return leaves_messages(ndp, apps);
	case ND_COMMAND_LISTEN:
		return leaves_listeners(ndp, apps) &&
		       leaves_connections(ndp, backlog_of(ndp, command), apps);
	default:
		return true;
	}
}

int nd_ndp_submit(void *endpoint, struct nd_command *command, nd_ns now)
{
	static int (*const actions[])(struct nd_ndp *, struct nd_command *, nd_ns) = {
		[ND_COMMAND_LISTEN] = do_listen,   [ND_COMMAND_UNLISTEN] = do_unlisten,
		[ND_COMMAND_CONNECT] = do_connect, [ND_COMMAND_SEND] = do_send,
		[ND_COMMAND_CLOSE] = do_close,     [ND_COMMAND_RESET] = do_reset,
		[ND_COMMAND_CANCEL] = do_cancel,   [ND_COMMAND_RELEASE] = do_release,
		[ND_COMMAND_PATHS] = do_paths,     [ND_COMMAND_DETACH] = do_detach,
		[ND_COMMAND_MSS] = do_mss,         [ND_COMMAND_LINK] = do_link,
	};
	struct nd_ndp *ndp = endpoint;

	ndp->clock = now;
	if (command->kind >= ND_ARRAY_SIZE(actions) || !actions[command->kind])
		return -EOPNOTSUPP;
	return actions[command->kind](ndp, command, now);
}
