// SPDX-License-Identifier: Apache-2.0
/* What applications ask for. */
#include "transport/homa_internal.h"

#include <errno.h>

typedef int handler(struct nd_homa *homa, struct nd_command *command, nd_ns now);

/* The last of the places for requests that no application has alone while others serve as well. */
#define LAST_PLACES 8u /* 1 / so many of server_rpcs_max */

static bool several_serve(const struct nd_homa *homa)
{
	uint32_t first = ND_NONE;

	for (uint32_t i = 0; i <= homa->ports.mask; i++) {
		uint32_t app = homa->ports.slots[i].value;

		if (app != ND_NONE && first != ND_NONE && app != first)
			return true;
		if (app != ND_NONE)
			first = app;
	}
	return false;
}

/* The ports are others now. */
static void share_places(struct nd_homa *homa)
{
	uint32_t most = homa->config.server_rpcs_max;

	homa->server_rpcs_any = several_serve(homa) ? most - (most + LAST_PLACES - 1) / LAST_PLACES
						    : most;
}

static int do_listen(struct nd_homa *homa, struct nd_command *command, nd_ns now)
{
	(void)now;
	if (command->port == 0 || command->port >= ND_HOMA_CLIENT_PORTS)
		return -EINVAL;
	if (nd_map_get(&homa->ports, command->port) != ND_NONE)
		return -EADDRINUSE;
	if (!nd_map_set(&homa->ports, command->port, command->app))
		return -ENOBUFS;
	share_places(homa);
	return 0;
}

static bool awaits_reply_of(const struct nd_homa *homa, const struct nd_homa_rpc *rpc,
			    const struct nd_command *command)
{
	return homa->rpcs.next[rpc->index] == ND_POOL_USED && nd_homa_is_server(rpc) &&
	       (rpc->state == ND_HOMA_INCOMING || rpc->state == ND_HOMA_SERVICE) &&
	       rpc->app == command->app && rpc->own_port == command->port;
}

/* Nobody will answer what came already, and its clients must not wait for that: it ends here. */
static int do_unlisten(struct nd_homa *homa, struct nd_command *command, nd_ns now)
{
	if (nd_map_get(&homa->ports, command->port) != command->app)
		return -ENOENT;
	nd_map_remove(&homa->ports, command->port);
	share_places(homa);
	for (uint32_t i = 0; i < homa->rpcs.limit; i++) {
		struct nd_homa_rpc *rpc = nd_homa_rpc_at(homa, i);

		if (awaits_reply_of(homa, rpc, command))
			nd_homa_fail(homa, rpc, -ECANCELED, now);
	}
	return 0;
}

static int check_length(struct nd_homa *homa, const struct nd_homa_peer *peer, uint32_t bytes)
{
	if (bytes > homa->config.message_bytes_max) {
		homa->counters.message_too_long++;
		return -EMSGSIZE;
	}
	if (!nd_homa_peer_takes(peer, bytes)) {
		homa->counters.others_too_long++;
		return -EMSGSIZE;
	}
	return 0;
}

/* Zero is a deadline that nobody can mean. */
static nd_ns deadline_of(const struct nd_command *command)
{
	return command->deadline ? command->deadline : ND_NEVER;
}

static struct nd_homa_rpc *create_request(struct nd_homa *homa, struct nd_homa_peer *peer,
					  nd_ns now)
{
	struct nd_homa_rpc *rpc = nd_homa_rpc_request(homa, peer, now);

	if (!rpc) {
		homa->counters.submits_refused++;
		return NULL;
	}
	if (homa->config.incast_rpcs && homa->client_rpcs > homa->config.incast_rpcs) {
		rpc->flags |= RPC_INCAST;
		homa->counters.incast_flagged++;
	}
	return rpc;
}

static int do_request(struct nd_homa *homa, struct nd_command *command, nd_ns now)
{
	struct nd_homa_peer *peer;
	struct nd_homa_rpc *rpc;
	int result;

	if (command->port == 0 || command->port >= ND_HOMA_CLIENT_PORTS ||
	    (command->source_port && command->source_port < ND_HOMA_CLIENT_PORTS))
		return -EINVAL;
	peer = nd_homa_peer_get(homa, command->peer, now);
	if (!peer)
		return -ENOBUFS;
	result = check_length(homa, peer, command->bytes);
	if (result)
		return result;
	rpc = create_request(homa, peer, now);
	if (!rpc)
		return -ENOBUFS;
	nd_homa_rpc_own(homa, rpc, command->app);
	rpc->cookie = command->cookie;
	rpc->deadline = deadline_of(command);
	rpc->priority = command->priority;
	rpc->peer_port = command->port;
	rpc->own_port = command->source_port ? command->source_port
					     : (uint16_t)(command->app | ND_HOMA_CLIENT_PORTS);
	nd_homa_out_begin(homa, rpc, command->payload, command->bytes,
			  nd_homa_peer_rtt_bytes(homa, peer));
	nd_homa_timer_start(homa, rpc, now);
	homa->counters.requests_submitted++;
	command->id = rpc->handle;
	command->message = rpc->id;
	return 0;
}

static struct nd_homa_rpc *find_own(const struct nd_homa *homa, const struct nd_command *command)
{
	struct nd_homa_rpc *rpc = nd_homa_rpc_by_handle(homa, command->id);

	return rpc && rpc->app == command->app ? rpc : NULL;
}

static int do_reply(struct nd_homa *homa, struct nd_command *command, nd_ns now)
{
	struct nd_homa_rpc *rpc = find_own(homa, command);
	uint32_t unscheduled;
	int result;

	if (!rpc || rpc->state != ND_HOMA_SERVICE || rpc->events & EVENT_REQUEST)
		return -ENOENT;
	if (homa->config.one_way) {
		rpc->cookie = command->cookie;
		nd_homa_rpc_close(homa, rpc, EVENT_SENT, 0, now);
		return 0;
	}
	result = check_length(homa, nd_homa_peer_at(homa, rpc->peer), command->bytes);
	if (result)
		return result;
	unscheduled = nd_homa_peer_rtt_bytes(homa, nd_homa_peer_at(homa, rpc->peer));
	if (rpc->flags & RPC_INCAST && command->bytes > homa->config.incast_bytes) {
		unscheduled = nd_min_u32(unscheduled, homa->config.incast_bytes);
		homa->counters.incast_limited++;
	}
	rpc->state = ND_HOMA_REPLYING;
	rpc->cookie = command->cookie;
	rpc->deadline = deadline_of(command);
	rpc->priority = command->priority;
	nd_homa_out_begin(homa, rpc, command->payload, command->bytes, unscheduled);
	nd_homa_timer_start(homa, rpc, now);
	homa->counters.replies_submitted++;
	return 0;
}

/* A request by its cookie, for applications that do not wait for its id: rarely, so it may take long. */
static struct nd_homa_rpc *find_request(const struct nd_homa *homa,
					const struct nd_command *command)
{
	for (uint32_t i = 0; i < homa->rpcs.limit; i++) {
		struct nd_homa_rpc *rpc = nd_homa_rpc_at(homa, i);

		if (homa->rpcs.next[i] == ND_POOL_USED && !nd_homa_is_server(rpc) &&
		    rpc->state != ND_HOMA_CLOSED && rpc->app == command->app &&
		    rpc->cookie == command->cookie)
			return rpc;
	}
	return NULL;
}

static int do_cancel(struct nd_homa *homa, struct nd_command *command, nd_ns now)
{
	struct nd_homa_rpc *rpc = command->id ? find_own(homa, command)
					      : find_request(homa, command);

	if (!rpc || rpc->state == ND_HOMA_CLOSED || !(command->id & 1) != !(rpc->id & 1) ||
	    (rpc->id & 1 && !(rpc->flags & RPC_DELIVERED)))
		return -ENOENT;
	homa->counters.rpcs_cancelled++;
	nd_homa_fail(homa, rpc, -ECANCELED, now);
	return 0;
}

static int do_release(struct nd_homa *homa, struct nd_command *command, nd_ns now)
{
	struct nd_homa_rpc *rpc = find_own(homa, command);

	(void)now;
	if (!rpc || !(rpc->flags & RPC_LEASED) || rpc->events & (EVENT_REQUEST | EVENT_RESPONSE))
		return -ENOENT;
	nd_homa_rpc_release(homa, rpc);
	nd_homa_rpc_settle(homa, rpc);
	return 0;
}

static int do_window(struct nd_homa *homa, struct nd_command *command, nd_ns now)
{
	struct nd_homa_peer *peer = nd_homa_peer_get(homa, command->peer, now);

	if (!peer)
		return -ENOBUFS;
	if (command->bytes > homa->config.unscheduled_max_bytes)
		return -EINVAL;
	peer->rtt_bytes = command->bytes;
	return 0;
}

/* Packets say what they carry: messages under way go on with the new size. */
static int do_mss(struct nd_homa *homa, struct nd_command *command, nd_ns now)
{
	struct nd_homa_config config = homa->config;
	const char *why;

	(void)now;
	config.mss_bytes = command->bytes;
	if (nd_homa_config_check(&config, &why) < 0)
		return -EINVAL;
	homa->config.mss_bytes = command->bytes;
	return 0;
}

/* What was granted stays granted; more is when it is within the new windows. */
static int do_link(struct nd_homa *homa, struct nd_command *command, nd_ns now)
{
	struct nd_homa_config config = homa->config;
	const char *why;

	(void)now;
	nd_homa_config_set_link(&config, command->message);
	if (nd_homa_config_check(&config, &why) < 0)
		return -EINVAL;
	homa->config = config;
	nd_homa_grant_run(homa);
	return 0;
}

static int do_levels(struct nd_homa *homa, struct nd_command *command, nd_ns now)
{
	struct nd_homa_config config = homa->config;
	uint32_t cutoffs[ND_HOMA_PRIORITIES];
	const char *why;

	(void)now;
	if (command->bytes > ND_HOMA_PRIORITIES)
		return -EINVAL;
	if (command->bytes)
		config.levels = (uint8_t)command->bytes;
	if (nd_homa_config_check(&config, &why) < 0)
		return -EINVAL;
	if (command->payload) {
		memcpy(cutoffs, command->payload, sizeof(cutoffs));
		if (!nd_homa_cutoffs_are_sound(cutoffs))
			return -EINVAL;
	}
	nd_homa_set_levels(homa, config.levels);
	nd_homa_cutoffs_set(homa, command->payload ? cutoffs : NULL);
	return 0;
}

/* The map moves entries when one is taken out, so each find starts over. */
static bool unlisten_one(struct nd_homa *homa, uint16_t app)
{
	for (uint32_t i = 0; i <= homa->ports.mask; i++) {
		if (homa->ports.slots[i].value == app) {
			nd_map_remove(&homa->ports, homa->ports.slots[i].key);
			return true;
		}
	}
	return false;
}

static int do_detach(struct nd_homa *homa, struct nd_command *command, nd_ns now)
{
	while (unlisten_one(homa, command->app))
		;
	share_places(homa);
	for (uint32_t i = 0; i < homa->rpcs.limit; i++) {
		if (homa->rpcs.next[i] == ND_POOL_USED &&
		    nd_homa_rpc_at(homa, i)->app == command->app)
			nd_homa_rpc_abandon(homa, nd_homa_rpc_at(homa, i), now);
	}
	return 0;
}

/* RPCs of these applications: as clients and as servers, unreleased messages included. */
static uint32_t held_by(const struct nd_homa *homa, uint64_t apps)
{
	uint32_t held = 0;

	for (uint32_t app = 0; apps && app < homa->config.apps_max; app++, apps >>= 1)
		held += apps & 1 ? homa->held[app] : 0;
	return held;
}

static bool leaves_rpcs(const struct nd_homa *homa, uint64_t apps)
{
	uint32_t left = homa->rpcs.limit - homa->rpcs.used;

	if (left == 0)
		return true; /* the limit itself will say so */
	left--;
	return left >= homa->rpcs.limit - left || held_by(homa, apps) + 1 <= left;
}

static bool leaves_ports(const struct nd_homa *homa, uint64_t apps)
{
	uint32_t left = homa->config.ports_max, held = 0;

	for (uint32_t i = 0; i <= homa->ports.mask; i++) {
		uint32_t app = homa->ports.slots[i].value;

		left -= app != ND_NONE;
		held += app < 64 && apps >> app & 1;
	}
	return left == 0 || held + 1 <= left - 1;
}

bool nd_homa_leaves_room(const void *endpoint, const struct nd_command *command, uint64_t apps)
{
	switch (command->kind) {
	case ND_COMMAND_REQUEST:
		return leaves_rpcs(endpoint, apps);
	case ND_COMMAND_LISTEN:
		return leaves_ports(endpoint, apps);
	default:
		return true;
	}
}

int nd_homa_submit(void *endpoint, struct nd_command *command, nd_ns now)
{
	static handler *const handlers[] = {
		[ND_COMMAND_LISTEN] = do_listen,
		[ND_COMMAND_UNLISTEN] = do_unlisten,
		[ND_COMMAND_REQUEST] = do_request,
		[ND_COMMAND_REPLY] = do_reply,
		[ND_COMMAND_CANCEL] = do_cancel,
		[ND_COMMAND_RELEASE] = do_release,
		[ND_COMMAND_DETACH] = do_detach,
		[ND_COMMAND_WINDOW] = do_window,
		[ND_COMMAND_MSS] = do_mss,
		[ND_COMMAND_LINK] = do_link,
		[ND_COMMAND_LEVELS] = do_levels,
	};
	struct nd_homa *homa = endpoint;

	homa->now = now;
	if (command->kind >= ND_ARRAY_SIZE(handlers) || !handlers[command->kind])
		return -EOPNOTSUPP;
	if (command->app >= homa->config.apps_max)
		return -EINVAL;
	return handlers[command->kind](homa, command, now);
}
