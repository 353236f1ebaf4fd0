// SPDX-License-Identifier: Apache-2.0
/* Applications: their channels, their credit, their coming and going. */
#include "host/core.h"

#include "port/fds.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#define COMMANDS_DEFAULT 1024u
#define EVENTS_DEFAULT 4096u
#define SEND_BYTES_DEFAULT (16u << 20)
#define RECEIVE_BYTES_DEFAULT (32u << 20)

/* ---- memory of received messages ---- */

/* Half of the events an application can hold may be messages; the rest is for what ends things. */
static uint8_t *rx_get(void *context, uint16_t index, uint32_t bytes)
{
	struct nd_core *core = context;
	struct nd_core_app *app = &core->apps[index];
	uint8_t *memory = NULL;

	if (index < core->apps_limit && app->used && app->held < app->channel.layout.events / 2)
		memory = nd_arena_get(&app->channel.arena, bytes);
	if (memory)
		app->held++;
	else
		core->counters.messages_withheld++;
	return memory;
}

static void rx_put(void *context, uint16_t index, uint8_t *memory, uint32_t bytes)
{
	struct nd_core *core = context;
	struct nd_core_app *app = &core->apps[index];

	(void)bytes;
	nd_assert(app->used);
	nd_assert(nd_arena_put(&app->channel.arena, memory) == 0);
	app->held--;
}

void nd_core_init_memory(struct nd_core *core)
{
	core->rx_memory = (struct nd_rx_memory){ .context = core, .get = rx_get, .put = rx_put };
}

/* ---- events ---- */

static void backlog_push(struct nd_core *core, struct nd_core_app *app,
			 const struct nd_event *event)
{
	uint32_t size = app->channel.layout.events;

	core->counters.events_delayed++;
	if (app->backlog_count < size) /* beyond that it is found and detached by the next check */
		app->backlog[(app->backlog_head + app->backlog_count) % size] = *event;
	app->backlog_count++;
}

static void backlog_drain(struct nd_core_app *app)
{
	uint32_t size = app->channel.layout.events;

	while (app->backlog_count && app->backlog_count <= size) {
		if (!nd_channel_post(&app->channel, &app->backlog[app->backlog_head]))
			return;
		app->backlog_head = (app->backlog_head + 1) % size;
		app->backlog_count--;
		app->tell_at = 0;
	}
}

void nd_core_post(struct nd_core *core, uint32_t index, const struct nd_event *event, nd_ns tell_at)
{
	struct nd_core_app *app = &core->apps[index];

	if (index >= core->apps_limit || !app->used) {
		core->counters.events_orphaned++;
		return;
	}
	core->counters.events++;
	app->tell_at = nd_min_u64(app->tell_at, tell_at);
	core->loan.news |= tell_at == 0;
	if (app->backlog_count || !nd_channel_post(&app->channel, event))
		backlog_push(core, app, event);
}

/* A server that hears that its reply arrived has nothing to answer to that. */
static nd_ns tell_at(const struct nd_event *event, nd_ns now)
{
	return event->protocol == ND_PROTO_HOMA && event->kind == ND_EVENT_SENT
		       ? now + ND_CORE_TELL_AFTER
		       : 0;
}

static bool deliver_from(struct nd_core *core, const struct nd_core_engine *engine, nd_ns now)
{
	struct nd_event events[ND_CORE_BATCH];
	uint32_t count, total = 0;

	do {
		count = engine->ops->events(engine->endpoint, events, ND_CORE_BATCH);
		for (uint32_t i = 0; i < count; i++) {
			events[i].protocol = engine->ops->protocol;
			nd_core_post(core, events[i].app, &events[i], tell_at(&events[i], now));
		}
		total += count;
	} while (count == ND_CORE_BATCH);
	return total > 0;
}

/* Wakes it if it blocks. Word that was no hurry may have been taken meanwhile. */
static void tell(struct nd_core_app *app)
{
	if (!app->polls && (app->tell_at == 0 || nd_core_app_tell_at(app) != ND_NEVER))
		nd_channel_wake_app(&app->channel);
	app->tell_at = ND_NEVER;
}

bool nd_core_deliver_events(struct nd_core *core, nd_ns now)
{
	uint8_t told = core->news.events;
	bool busy = false;

	core->news.events = 0;
	for (uint32_t i = 0; i < core->engine_count; i++) {
		if (!(told & core->engines[i].bit) || !deliver_from(core, &core->engines[i], now))
			continue;
		busy = true;
		core->news.packets |= core->engines[i].bit; /* it has room again */
		core->news.deadlines |= core->engines[i].bit;
	}
	for (uint32_t i = 0; i < core->apps_limit; i++) {
		struct nd_core_app *app = &core->apps[i];

		if (!app->used)
			continue;
		if (ND_UNLIKELY(app->backlog_count))
			backlog_drain(app);
		if (app->tell_at <= now)
			tell(app);
	}
	return busy;
}

/* ---- commands ---- */

static uint32_t take_from(struct nd_core *core, uint32_t index, nd_ns now)
{
	struct nd_core_app *app = &core->apps[index];
	struct nd_submission submission;
	uint32_t count = 0;

	while (count < ND_CORE_BATCH && nd_channel_has_command(&app->channel) &&
	       !nd_core_app_is_behind(app)) {
		int taken = nd_channel_take(&app->channel, &submission);

		if (taken == 0 || taken == -EPIPE)
			break;
		count++;
		if (ND_LIKELY(taken == 1)) {
			nd_recorder_command(core->recorder, index, &submission, app->channel.send,
					    now);
			nd_core_command(core, index, &submission, now);
			continue;
		}
		core->counters.commands_malformed++;
		nd_core_post(core, index,
			     &(struct nd_event){ .kind = ND_EVENT_FAILED,
						 .protocol = submission.protocol,
						 .error = -EFAULT,
						 .cookie = submission.command.cookie },
			     0);
	}
	return count;
}

bool nd_core_take_commands(struct nd_core *core, nd_ns now)
{
	bool busy = false;

	for (uint32_t i = 0; i < core->apps_limit; i++)
		if (core->apps[i].used)
			busy |= take_from(core, i, now) > 0;
	return busy;
}

/* ---- coming and going ---- */

static uint32_t or_default(uint32_t value, uint32_t otherwise)
{
	return value ? value : otherwise;
}

static struct nd_channel_layout layout_of(const struct nd_stack_channel_config *config)
{
	uint32_t send = or_default(config->send_bytes, SEND_BYTES_DEFAULT);
	uint32_t receive = or_default(config->receive_bytes, RECEIVE_BYTES_DEFAULT);

	return (struct nd_channel_layout){
		.commands = nd_power_of_two_u32(or_default(config->commands, COMMANDS_DEFAULT)),
		.events = nd_power_of_two_u32(or_default(config->events, EVENTS_DEFAULT)),
		.send_bytes = send & ~(ND_CHANNEL_BLOCK_BYTES - 1),
		.receive_bytes = receive & ~(ND_CHANNEL_BLOCK_BYTES - 1),
	};
}

uint32_t nd_core_longest_message(const struct nd_core *core)
{
	uint32_t bytes = layout_of(&core->config.channel).receive_bytes;
	uint32_t above = nd_power_of_two_u32(bytes);

	return above == bytes ? above : above / 2;
}

static int watch(struct nd_core *core, int fd, uint32_t what)
{
	struct epoll_event event = { .events = what };

	return epoll_ctl(core->epoll, EPOLL_CTL_ADD, fd, &event) < 0 ? -errno : 0;
}

static void unwatch(const struct nd_core *core, int fd)
{
	epoll_ctl(core->epoll, EPOLL_CTL_DEL, fd, NULL);
}

/* What all applications of a user have in common, see struct nd_core_app. */
static uint16_t group_of(const struct nd_core *core, uint32_t user)
{
	uint64_t taken = 0;

	if (nd_fds_is_own_user(user))
		return 0;
	for (uint32_t i = 0; i < core->apps_limit; i++) {
		const struct nd_core_app *app = &core->apps[i];

		if (app->used && app->user == user)
			return app->group;
		if (app->used && app->group)
			taken |= UINT64_C(1) << (app->group - 1);
	}
	return (uint16_t)(__builtin_ctzll(~taken) + 1);
}

static int make_app(struct nd_core *core, struct nd_core_app *app, int connection)
{
	struct nd_channel_layout layout = layout_of(&core->config.channel);
	int code;

	*app = (struct nd_core_app){
		.tell_at = ND_NEVER,
		.connection = connection,
		.user = nd_fds_user(connection),
		.group = group_of(core, nd_fds_user(connection)),
	};
	app->backlog = calloc(layout.events, sizeof(*app->backlog));
	if (!app->backlog)
		return -ENOMEM;
	code = nd_channel_make(&app->channel, &layout);
	if (code < 0)
		return code;
	app->used = true;
	if (watch(core, app->channel.fds[ND_CHANNEL_WAKE_CORE], EPOLLIN) < 0 ||
	    watch(core, connection, EPOLLRDHUP) < 0)
		return -errno;
	return nd_fds_send(connection, &app->channel.layout, sizeof(app->channel.layout),
			   app->channel.fds, ND_CHANNEL_FDS);
}

static void free_app(const struct nd_core *core, struct nd_core_app *app)
{
	if (app->used) {
		/*
		 * What the application, or a child of a fork, still holds would wake us for ever:
		 * closing it here does not end that.
		 */
		unwatch(core, app->channel.fds[ND_CHANNEL_WAKE_CORE]);
		unwatch(core, app->connection);
		nd_channel_unmap(&app->channel);
	}
	close(app->connection);
	free(app->backlog);
	*app = (struct nd_core_app){ 0 };
}

static void find_sole_app(struct nd_core *core)
{
	uint64_t sole = 0;
	uint32_t count = 0;

	for (uint32_t i = 0; i < core->apps_limit; i++)
		if (core->apps[i].used)
			sole = count++ ? 0 : core->apps[i].serial;
	__atomic_store_n(&core->sole_app, sole, __ATOMIC_RELAXED);
}

/*
 * A free place for one more application of this user, or -errno. Who is neither root nor our own
 * user has no more of them than stay free, so that the last one is always for those.
 */
static int find_place(const struct nd_core *core, uint32_t user)
{
	uint32_t theirs = 1, left = 0, first = 0;

	for (uint32_t i = ND_STACK_APPS_MAX; i > 0; i--) {
		const struct nd_core_app *app = &core->apps[i - 1];

		theirs += app->used && app->user == user;
		left += !app->used;
		if (!app->used)
			first = i - 1;
	}
	if (!left)
		return -EUSERS;
	return theirs >= left && !nd_fds_is_own_user(user) ? -EDQUOT : (int)first;
}

int nd_core_attach(struct nd_core *core, int connection)
{
	int index = find_place(core, nd_fds_user(connection));
	int code = index < 0 ? index : make_app(core, &core->apps[index], connection);

	if (code < 0) {
		core->counters.apps_refused++;
		nd_fds_refuse(connection, code);
		if (index < 0)
			close(connection);
		else
			free_app(core, &core->apps[index]);
		return code;
	}
	core->apps_limit = nd_max_u32(core->apps_limit, (uint32_t)index + 1);
	core->apps[index].serial = ++core->counters.apps_attached;
	find_sole_app(core);
	nd_recorder_note(core->recorder, ND_RECORD_ATTACH, (uint32_t)index,
			 core->apps[index].group, 0);
	return index;
}

void nd_core_detach(struct nd_core *core, uint32_t index, nd_ns now)
{
	struct nd_core_app *app = &core->apps[index];

	nd_recorder_note(core->recorder, ND_RECORD_DETACH, index, 0, now);
	for (uint32_t i = 0; i < core->engine_count; i++) {
		struct nd_command command = { .kind = ND_COMMAND_DETACH, .app = (uint16_t)index };

		core->engines[i].ops->submit(core->engines[i].endpoint, &command, now);
		nd_core_stir(core, &core->engines[i]);
	}
	nd_core_forget_waiting(core, index);
	free_app(core, app);
	core->counters.apps_ended++;
	find_sole_app(core);
}

void nd_core_answer_service(struct nd_core *core)
{
	bool by_path = core->service >= 0 && core->config.service[0] == '/';
	int connection;

	if (core->service < 0)
		return;
	while ((connection = nd_fds_accept(core->service, by_path)) >= 0 || connection == -EPERM) {
		if (connection >= 0)
			nd_core_attach(core, connection);
		else
			core->counters.apps_refused++;
	}
	core->counters.apps_put_off += connection == -EMFILE || connection == -ENFILE ||
				       connection == -ENOBUFS || connection == -ENOMEM;
}

/* Ends those that are gone, hostile, or hopelessly behind. */
void nd_core_check_apps(struct nd_core *core, nd_ns now)
{
	for (uint32_t i = 0; i < core->apps_limit; i++) {
		struct nd_core_app *app = &core->apps[i];
		bool overrun = app->used && app->backlog_count > app->channel.layout.events;

		if (!app->used)
			continue;
		core->counters.apps_overrun += overrun;
		core->counters.apps_corrupt += app->channel.corrupt;
		if (overrun || app->channel.corrupt || nd_fds_hung_up(app->connection))
			nd_core_detach(core, i, now);
	}
}
