// SPDX-License-Identifier: Apache-2.0
/*
 * What an operator is shown of a core: connections and RPCs, peers,
 * applications, counters, ports.
 *
 * Each call copies a bounded number of rows between two rounds of the core, so
 * that looking at a hundred thousand delays nobody's packets.
 */
#include "host/core.h"

#include <errno.h>
#include <sys/socket.h>

#define LOOKED_AT_MAX 256u /* rows in one pause of the core */

struct show_call {
	uint64_t *cursor;
	void *out;
	uint32_t limit;
	uint32_t count;
};

static int show(struct nd_stack *stack, void (*call)(struct nd_core *core, void *argument),
		uint64_t *cursor, void *out, uint32_t limit)
{
	struct show_call arguments = {
		.cursor = cursor,
		.out = out,
		.limit = nd_min_u32(limit, LOOKED_AT_MAX),
	};
	struct nd_core *core = nd_stack_core(stack);
	int code = core ? nd_core_call(core, call, &arguments) : -ENOTSUP;

	return code < 0 ? code : (int)arguments.count;
}

/* The address of a handle; one that names nobody any more stays zero. */
static void fill_address(const struct nd_core *core, uint32_t handle, uint8_t address[16])
{
	const struct nd_peer *peer = nd_peers_find(&core->peers, handle);

	if (peer)
		memcpy(address, peer->frame.target, 16);
}

/* The cursor: index of the engine above, the engine's own below. */
static void show_exchanges(struct nd_core *core, void *argument)
{
	struct show_call *call = argument;
	struct nd_exchange *out = call->out;
	uint32_t engine = (uint32_t)(*call->cursor >> 32), at = (uint32_t)*call->cursor;

	if (engine >= core->engine_count)
		return;
	call->count = core->engines[engine].ops->show(core->engines[engine].endpoint, &at, out,
						      call->limit);
	for (uint32_t i = 0; i < call->count; i++)
		fill_address(core, out[i].peer, out[i].address);
	if (at == ND_NONE)
		*call->cursor =
			engine + 1 < core->engine_count ? (uint64_t)(engine + 1) << 32 : ND_NEVER;
	else
		*call->cursor = (uint64_t)engine << 32 | at;
}

int nd_stack_exchanges(struct nd_stack *stack, uint64_t *cursor, struct nd_exchange *out,
		       uint32_t limit)
{
	return show(stack, show_exchanges, cursor, out, limit);
}

static void show_peers(struct nd_core *core, void *argument)
{
	struct show_call *call = argument;
	struct nd_stack_peer *out = call->out;

	*call->cursor = nd_max_u64(*call->cursor, ND_PEERS_SELF + 1); /* we are no peer of ours */
	for (; *call->cursor < core->peers.count && call->count < call->limit; ++*call->cursor) {
		const struct nd_peer *peer = &core->peers.entries[*call->cursor];
		struct nd_stack_peer *row = &out[call->count++];

		*row = (struct nd_stack_peer){
			.used_at = peer->used_at,
			.handle = peer->handle,
			.port = peer->port,
			.way = peer->way,
			.lost = peer->lost,
		};
		memcpy(row->address, peer->frame.target, sizeof(row->address));
		memcpy(row->mac, peer->frame.target_mac, sizeof(row->mac));
	}
	if (*call->cursor >= core->peers.count)
		*call->cursor = ND_NEVER;
}

int nd_stack_peers(struct nd_stack *stack, uint64_t *cursor, struct nd_stack_peer *out,
		   uint32_t limit)
{
	return show(stack, show_peers, cursor, out, limit);
}

static int32_t pid_of(int connection)
{
	struct ucred peer;
	socklen_t bytes = sizeof(peer);

	return getsockopt(connection, SOL_SOCKET, SO_PEERCRED, &peer, &bytes) < 0 ? 0 : peer.pid;
}

static void show_apps(struct nd_core *core, void *argument)
{
	struct show_call *call = argument;
	struct nd_stack_app *out = call->out;

	for (; *call->cursor < core->apps_limit && call->count < call->limit; ++*call->cursor) {
		struct nd_core_app *app = &core->apps[*call->cursor];

		if (!app->used)
			continue;
		out[call->count++] = (struct nd_stack_app){
			.index = (uint32_t)*call->cursor,
			.pid = pid_of(app->connection),
			.held = app->held,
			.events = app->channel.layout.events -
				  nd_channel_room(&app->channel, app->channel.layout.events),
			.backlog = app->backlog_count,
		};
	}
	if (*call->cursor >= core->apps_limit)
		*call->cursor = ND_NEVER;
}

int nd_stack_apps(struct nd_stack *stack, uint64_t *cursor, struct nd_stack_app *out,
		  uint32_t limit)
{
	return show(stack, show_apps, cursor, out, limit);
}

struct counters_call {
	enum nd_stack_group group;
	uint32_t index;
	const struct nd_counters_table *table;
	uint64_t *values;
	uint32_t limit;
	int code;
};

/* Finds the group; NULL when there is none. */
static const uint64_t *find_counters(struct nd_core *core, struct counters_call *call)
{
	uint8_t protocol = call->group == ND_STACK_GROUP_NDP ? ND_PROTO_NDP : ND_PROTO_HOMA;

	switch (call->group) {
	case ND_STACK_GROUP_CORE:
		call->table = &nd_core_counters_table;
		core->counters.peers_evicted = core->peers.evicted;
		return (const uint64_t *)&core->counters;
	case ND_STACK_GROUP_WIRE:
		call->table = &nd_wire_counters_table;
		return (const uint64_t *)&core->wire;
	case ND_STACK_GROUP_PORT:
		if (call->index >= core->config.port_count)
			return NULL;
		call->table = &nd_port_counters_table;
		if (!core->ports[call->index].port)
			return NULL;
		return (const uint64_t *)nd_port_counters(core->ports[call->index].port);
	case ND_STACK_GROUP_NDP:
	case ND_STACK_GROUP_HOMA:
		for (uint32_t i = 0; i < core->engine_count; i++) {
			if (core->engines[i].ops->protocol != protocol)
				continue;
			call->table = core->engines[i].ops->counters_table;
			return core->engines[i].ops->counters(core->engines[i].endpoint);
		}
	}
	return NULL;
}

static void copy_counters(struct nd_core *core, void *argument)
{
	struct counters_call *call = argument;
	const uint64_t *values = find_counters(core, call);

	call->code = values ? (int)call->table->count : -ENOENT;
	if (values && call->limit) /* else there may be nowhere to copy to */
		memcpy(call->values, values,
		       nd_min_u32(call->limit, call->table->count) * sizeof(*values));
}

int nd_stack_counters(struct nd_stack *stack, enum nd_stack_group group, uint32_t index,
		      const struct nd_counters_table **table, uint64_t *values, uint32_t limit)
{
	struct counters_call call = {
		.group = group,
		.index = index,
		.values = values,
		.limit = limit,
	};
	struct nd_core *core = nd_stack_core(stack);
	int code = core ? nd_core_call(core, copy_counters, &call) : -ENOTSUP;

	if (code < 0)
		return code;
	*table = call.table;
	return call.code;
}

struct state_call {
	uint32_t index;
	enum nd_port_state state;
	char *mode;
	struct nd_error *error;
};

static void copy_state(struct nd_core *core, void *argument)
{
	struct state_call *call = argument;
	const struct nd_core_port *port = &core->ports[call->index];

	call->state = port->port ? port->state : ND_PORT_GONE;
	snprintf(call->mode, 64, "%s", port->port ? port->port->mode : "closed");
	if (call->state != ND_PORT_UP)
		*call->error = port->why;
	else
		nd_error_set(call->error, 0, "%s", port->port->note);
}

int nd_stack_port_state(struct nd_stack *stack, uint32_t index, enum nd_port_state *state,
			char mode[64], struct nd_error *error)
{
	struct state_call call = { .index = index, .mode = mode, .error = error };
	struct nd_core *core = nd_stack_core(stack);
	int code;

	if (core && index >= core->config.port_count)
		return -EINVAL;
	code = core ? nd_core_call(core, copy_state, &call) : -ENOTSUP;
	if (code < 0)
		return code;
	*state = call.state;
	return 0;
}
