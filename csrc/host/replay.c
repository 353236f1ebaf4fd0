// SPDX-License-Identifier: Apache-2.0
/* Runs a core again from its recording, under the recorded times, and compares what it sends. */
/*
 * DESIGN NOTES
 * 1. A recording is read as what it is: a file that anybody may have made. Every length, index,
 *    offset and order is checked here, before it gets to the core; the core's own checks are those
 *    for applications and for the wire.
 * 2. Applications are real ones to the core: each has its channel, and the replay holds the other
 *    end, writes payloads to where they lay, and takes the events.
 */
#include "host/replay.h"

#include "host/core.h"
#include "host/replay_check.h"
#include "host/replay_port.h"
#include "port/fds.h"
#include "transport/homa.h"
#include "transport/ndp.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#define NOW_MAX (UINT64_C(1) << 62)

struct replay_app {
	bool used;
	int connection;
	struct nd_channel end;
};

struct nd_replay {
	char *path;
	uint8_t *map;
	size_t map_bytes;
	dev_t device; /* that it is on, and ... */
	ino_t inode;
	const uint8_t *at, *used;
	nd_ns now;
	bool ready; /* set-up is complete */
	struct nd_core *core;
	struct nd_frame_config frame;
	struct nd_ndp_config ndp;
	struct nd_homa_config homa;
	struct replay_app apps[ND_STACK_APPS_MAX];
	struct nd_replay_port *ports[ND_STACK_PORTS_MAX];
	struct nd_replay_turn turn;
	struct nd_replay_result result;
	nd_replay_sink *sink;
	void *context;
	struct nd_error *error;
};

static int damaged(struct nd_replay *replay, const char *what)
{
	return nd_error_set(replay->error, -EINVAL,
			    "recording %s is damaged at byte %zu: %s; it is of no use from there on",
			    replay->path, (size_t)(replay->at - replay->map), what);
}

static int out_of_memory(struct nd_replay *replay)
{
	return nd_error_set(replay->error, -ENOMEM, "replay of %s: no memory", replay->path);
}

/* ---- set-up ---- */

static int set_up(struct nd_replay *replay, const struct nd_record *record, const void *body)
{
	const struct nd_record_setup *setup = body;
	struct nd_stack_config config = {
		.port_count = setup->port_count,
		.vlan = setup->vlan,
		.frame = &replay->frame,
		.link_bps = setup->link_bps,
		.peers_max = setup->peers_max,
		/* Of profiles only the size of batches matters. */
		.profile = setup->profile == ND_STACK_THROUGHPUT ? ND_STACK_THROUGHPUT
								 : ND_STACK_ADAPTIVE,
		.seed = setup->seed,
		.channel = setup->channel,
	};
	const char *wrong = replay->core ? "a second set-up" : nd_replay_check_setup(setup);

	(void)record;
	if (wrong)
		return damaged(replay, wrong);
	replay->frame = setup->frame;
	memcpy(config.address_v4, setup->address_v4, sizeof(config.address_v4));
	memcpy(config.address_v6, setup->address_v6, sizeof(config.address_v6));
	replay->core = nd_core_make(&config, replay->error);
	if (!replay->core)
		return replay->error->code;
	replay->core->config.no_ndp = replay->core->config.no_homa = true;
	return nd_core_prepare(replay->core, replay->error);
}

/* Blanks of a closed port went back when it was closed. */
static void close_port(struct nd_replay *replay, uint32_t index)
{
	struct nd_core_port *port = &replay->core->ports[index];

	if (!port->port)
		return;
	nd_core_return_blanks(port);
	nd_port_close(port->port);
	port->port = NULL;
	replay->ports[index] = NULL;
}

static int set_port(struct nd_replay *replay, const struct nd_record *record, const void *body)
{
	const struct nd_record_port *described = body;
	struct nd_core_port *port = &replay->core->ports[record->index];
	const char *wrong = nd_replay_check_port(described);
	struct nd_replay_port *made;

	if (wrong)
		return damaged(replay, wrong);
	close_port(replay, record->index);
	if (!described->open)
		return 0;
	made = nd_replay_port_open(described, record->index, &replay->turn, &replay->result);
	if (!made)
		return out_of_memory(replay);
	made->sink = replay->sink;
	made->context = replay->context;
	replay->ports[record->index] = made;
	port->port = &made->base;
	nd_core_set_link(replay->core, record->index, described->mac, described->derive);
	return 0;
}

static int set_engine(struct nd_replay *replay, const struct nd_record *record, const void *body)
{
	bool ndp = record->index == ND_PROTO_NDP;
	size_t bytes = ndp ? sizeof(replay->ndp) : sizeof(replay->homa);
	struct nd_stack_config *config = &replay->core->config;
	const char *wrong;

	if (replay->ready || (!ndp && record->index != ND_PROTO_HOMA))
		return damaged(replay, "an engine that there is not");
	if (record->bytes != bytes)
		return nd_error_set(replay->error, -EINVAL,
				    "recording %s: its settings of %s have %u bytes, here they have "
				    "%zu; replay it with the version that recorded it",
				    replay->path, ndp ? "NDP" : "Homa", record->bytes, bytes);
	wrong = ndp ? nd_replay_check_ndp(body) : nd_replay_check_homa(body);
	if (wrong)
		return damaged(replay, wrong);
	memcpy(ndp ? (void *)&replay->ndp : (void *)&replay->homa, body, bytes);
	if (ndp) {
		config->ndp_config = &replay->ndp;
		config->no_ndp = false;
	} else {
		config->homa_config = &replay->homa;
		config->no_homa = false;
	}
	return 0;
}

static int make_ready(struct nd_replay *replay, const struct nd_record *record, const void *body)
{
	(void)record, (void)body;
	for (uint32_t i = 0; i < replay->core->config.port_count; i++)
		if (!replay->ports[i])
			return damaged(replay, "a core without its ports");
	if (replay->ready || (replay->core->config.no_ndp && replay->core->config.no_homa))
		return damaged(replay, "a core without engines, or one too many");
	replay->ready = true;
	return nd_core_add_engines(replay->core, replay->error);
}

/* ---- applications ---- */

static int attach(struct nd_replay *replay, const struct nd_record *record, const void *body)
{
	struct nd_channel_layout layout;
	int ends[2], fds[ND_CHANNEL_FDS], index, code;
	struct replay_app *app;

	(void)body;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) < 0)
		return nd_error_set(replay->error, -errno, "replay: %s", strerror(errno));
	index = nd_core_attach(replay->core, ends[0]);
	if (index < 0) {
		close(ends[1]);
		return out_of_memory(replay);
	}
	replay->core->apps[index].group = record->detail;
	app = &replay->apps[index];
	code = nd_fds_receive(ends[1], &layout, sizeof(layout), fds, ND_CHANNEL_FDS);
	if (code == 0)
		code = nd_channel_map(&app->end, &layout, fds);
	if (code < 0) {
		close(ends[1]);
		return out_of_memory(replay);
	}
	app->connection = ends[1];
	app->used = true;
	return index == record->index ? 0 : damaged(replay, "an application that is not the next");
}

static void let_go(struct nd_replay *replay, uint32_t index)
{
	struct replay_app *app = &replay->apps[index];

	if (replay->core->apps[index].used)
		nd_core_detach(replay->core, index, replay->now);
	if (!app->used)
		return;
	nd_channel_unmap(&app->end);
	close(app->connection);
	app->used = false;
}

static int detach(struct nd_replay *replay, const struct nd_record *record, const void *body)
{
	(void)body;
	let_go(replay, record->index);
	return 0;
}

static int command(struct nd_replay *replay, const struct nd_record *record, const void *body)
{
	const struct nd_core_app *app = &replay->core->apps[record->index];
	struct nd_submission submission;
	uint32_t bytes, room = app->channel.layout.send_bytes;
	uintptr_t offset;

	memcpy(&submission, body, sizeof(submission));
	bytes = nd_channel_payload_bytes(&submission.command);
	if (record->bytes != sizeof(submission) + (uint64_t)bytes)
		return damaged(replay, "a command without its payload");
	offset = (uintptr_t)submission.command.payload - 1;
	submission.command.payload = NULL;
	if (bytes) {
		if (bytes > room || offset > room - bytes)
			return damaged(replay, "a payload outside of the application's memory");
		memcpy(replay->apps[record->index].end.send + offset,
		       (const uint8_t *)body + sizeof(submission), bytes);
		submission.command.payload = app->channel.send + offset;
	}
	replay->result.commands++;
	nd_core_command(replay->core, record->index, &submission, replay->now);
	return 0;
}

/* What applications do not take stops their credit. */
static void take_events(struct nd_replay *replay)
{
	struct nd_event events[ND_CORE_BATCH];

	for (uint32_t i = 0; i < ND_STACK_APPS_MAX; i++)
		while (replay->apps[i].used &&
		       nd_channel_events(&replay->apps[i].end, events, ND_CORE_BATCH))
			;
}

/* ---- packets ---- */

static int frame(struct nd_replay *replay, const struct nd_record *record, const void *body)
{
	struct nd_frame view = { .data = (uint8_t *)(uintptr_t)body, .bytes = record->bytes };
	struct nd_replay_frame shown = {
		.data = body,
		.bytes = record->bytes,
		.port = record->index,
		.time = replay->now,
		.name = replay->core->ports[record->index].port
				? replay->core->ports[record->index].port->name
				: "",
	};
	int code = replay->sink ? replay->sink(replay->context, &shown) : 0;

	replay->result.received++;
	nd_core_receive_frame(replay->core, record->index, &view, replay->now);
	return code;
}

/* Finds out what belongs to a turn; moves on to what follows it. */
static int read_turn(struct nd_replay *replay)
{
	replay->turn = (struct nd_replay_turn){ .begin = replay->at, .now = replay->now };
	while (replay->at < replay->used) {
		const struct nd_record *record = (const void *)replay->at;
		size_t left = (size_t)(replay->used - replay->at);

		if (left < sizeof(*record) || nd_record_room(record->bytes) > left)
			return damaged(replay, "a record that ends beyond the file");
		if (!nd_replay_is_whole(record))
			return damaged(replay, "its check does not hold");
		if (record->kind != ND_RECORD_ROOM && record->kind != ND_RECORD_SENT)
			break;
		if (record->kind == ND_RECORD_SENT && !nd_replay_is_sent(record))
			return damaged(replay, "a packet that no port sends");
		replay->at += nd_record_room(record->bytes);
	}
	replay->turn.end = replay->at;
	return 0;
}

static int end_turn(struct nd_replay *replay)
{
	int code = 0;

	for (uint32_t i = 0; i < ND_STACK_PORTS_MAX; i++) {
		if (!replay->ports[i])
			continue;
		nd_replay_port_end(replay->ports[i], &replay->core->ports[i]);
		if (replay->ports[i]->code)
			code = replay->ports[i]->code;
	}
	return code;
}

static int turn(struct nd_replay *replay, const struct nd_record *record, const void *body)
{
	int code = read_turn(replay);

	(void)record, (void)body;
	if (code < 0)
		return code;
	for (uint32_t i = 0; i < ND_STACK_PORTS_MAX; i++)
		if (replay->ports[i])
			nd_replay_port_begin(replay->ports[i]);
	if (!replay->result.turns++)
		replay->result.begin = replay->now;
	replay->result.end = replay->now;
	nd_core_transmit(replay->core, replay->now);
	return end_turn(replay);
}

static int events(struct nd_replay *replay, const struct nd_record *record, const void *body)
{
	(void)record, (void)body;
	nd_core_deliver_events(replay->core, replay->now);
	take_events(replay);
	return 0;
}

static int timer(struct nd_replay *replay, const struct nd_record *record, const void *body)
{
	struct nd_core_engine *engine = &replay->core->engines[record->index];

	(void)body;
	engine->ops->on_deadline(engine->endpoint, replay->now);
	nd_core_stir(replay->core, engine);
	return 0;
}

static int stray(struct nd_replay *replay, const struct nd_record *record, const void *body)
{
	(void)record, (void)body;
	return damaged(replay, "a packet outside of a turn");
}

/* ---- between rounds ---- */

static int check(struct nd_replay *replay, const struct nd_record *record, const void *body)
{
	(void)record, (void)body;
	nd_core_check_waiting(replay->core, replay->now);
	for (uint32_t i = 0; i < replay->core->config.port_count; i++)
		if (replay->core->ports[i].port)
			nd_core_return_blanks(&replay->core->ports[i]);
	return 0;
}

static int resolver(struct nd_replay *replay, const struct nd_record *record, const void *body)
{
	(void)record, (void)body;
	return nd_core_open_resolver(replay->core) < 0 ? out_of_memory(replay) : 0;
}

static int asked(struct nd_replay *replay, const struct nd_record *record, const void *body)
{
	uint8_t addresses[ND_CORE_ASKED_MAX][16];

	(void)body;
	nd_core_take_unresolved(replay->core, addresses,
				nd_min_u32(record->detail, ND_CORE_ASKED_MAX));
	return 0;
}

static int found(struct nd_replay *replay, const struct nd_record *record, const void *body)
{
	const struct nd_record_way *way = body;

	nd_core_find_way(replay->core, way->address, record->index, way->mac, replay->now);
	return 0;
}

static int lost(struct nd_replay *replay, const struct nd_record *record, const void *body)
{
	const struct nd_record_way *way = body;

	nd_core_lose_way(replay->core, way->address, (uint8_t)record->detail, replay->now);
	return 0;
}

static int tell(struct nd_replay *replay, const struct nd_record *record, const void *body)
{
	struct nd_command command;
	const char *wrong = nd_replay_check_tell(body, &command);

	if (wrong)
		return damaged(replay, wrong);
	nd_core_tell(replay->core, record->index, &command, replay->now);
	return 0;
}

static int wire(struct nd_replay *replay, const struct nd_record *record, const void *body)
{
	const struct nd_record_wire *now = body;
	const char *wrong = nd_replay_check_wire(now);

	(void)record;
	if (wrong)
		return damaged(replay, wrong);
	nd_core_set_wire(replay->core, &now->frame, now->link_bps, replay->now);
	return 0;
}

/* ---- the records in order ---- */

enum names { NOTHING, A_PORT, AN_APP, AN_ENGINE };

static const struct {
	int (*handle)(struct nd_replay *replay, const struct nd_record *record, const void *body);
	uint32_t bytes_min; /* of the body */
	enum names names;   /* what the index must be */
	bool during_setup;  /* or only when the core is ready */
} kinds[ND_RECORD_KINDS] = {
	[ND_RECORD_SETUP] = { set_up, sizeof(struct nd_record_setup), NOTHING, true },
	[ND_RECORD_PORT] = { set_port, sizeof(struct nd_record_port), A_PORT, true },
	[ND_RECORD_ENGINE] = { set_engine, 0, NOTHING, true },
	[ND_RECORD_READY] = { make_ready, 0, NOTHING, true },
	[ND_RECORD_ATTACH] = { attach, 0, NOTHING, false },
	[ND_RECORD_DETACH] = { detach, 0, AN_APP, false },
	[ND_RECORD_COMMAND] = { command, sizeof(struct nd_submission), AN_APP, false },
	[ND_RECORD_FRAME] = { frame, 0, A_PORT, false },
	[ND_RECORD_TIMER] = { timer, 0, AN_ENGINE, false },
	[ND_RECORD_TURN] = { turn, 0, NOTHING, false },
	[ND_RECORD_ROOM] = { stray, 0, NOTHING, false },
	[ND_RECORD_SENT] = { stray, 0, NOTHING, false },
	[ND_RECORD_EVENTS] = { events, 0, NOTHING, false },
	[ND_RECORD_CHECK] = { check, 0, NOTHING, false },
	[ND_RECORD_RESOLVER] = { resolver, 0, NOTHING, false },
	[ND_RECORD_ASKED] = { asked, 0, NOTHING, false },
	[ND_RECORD_FOUND] = { found, sizeof(struct nd_record_way), A_PORT, false },
	[ND_RECORD_TELL] = { tell, sizeof(struct nd_record_tell), AN_ENGINE, false },
	[ND_RECORD_WIRE] = { wire, sizeof(struct nd_record_wire), NOTHING, false },
	[ND_RECORD_LOST] = { lost, sizeof(struct nd_record_way), NOTHING, false },
};

/* What is wrong with a record that lies in the file, or NULL. */
static const char *check_record(const struct nd_replay *replay, const struct nd_record *record)
{
	if (!nd_replay_is_whole(record))
		return "its check does not hold";
	if (record->kind >= ND_RECORD_KINDS || !kinds[record->kind].handle)
		return "no such kind of record";
	if (record->bytes < kinds[record->kind].bytes_min)
		return "a record that is too short";
	if (!replay->core && record->kind != ND_RECORD_SETUP)
		return "it does not begin with the set-up";
	if (!replay->ready && !kinds[record->kind].during_setup)
		return "the set-up is not complete";
	if (kinds[record->kind].names == A_PORT &&
	    record->index >= replay->core->config.port_count)
		return "a port that there is not";
	if (kinds[record->kind].names == AN_APP &&
	    (record->index >= ND_STACK_APPS_MAX || !replay->apps[record->index].used))
		return "an application that there is not";
	if (kinds[record->kind].names == AN_ENGINE && record->index >= replay->core->engine_count)
		return "an engine that there is not";
	if (record->now && (record->now < replay->now || record->now > NOW_MAX))
		return "time runs backwards";
	return NULL;
}

static int step(struct nd_replay *replay)
{
	const struct nd_record *record = (const void *)replay->at;
	size_t left = (size_t)(replay->used - replay->at);
	const char *wrong;

	if (left < sizeof(*record) || nd_record_room(record->bytes) > left)
		return damaged(replay, "a record that ends beyond the file");
	wrong = check_record(replay, record);
	if (wrong)
		return damaged(replay, wrong);
	if (record->now)
		replay->now = record->now;
	replay->at += nd_record_room(record->bytes);
	return kinds[record->kind].handle(replay, record, record + 1);
}

int nd_replay_run(struct nd_replay *replay, nd_replay_sink *sink, void *context,
		  struct nd_error *error)
{
	int code = 0;

	replay->error = error;
	replay->sink = sink;
	replay->context = context;
	while (code == 0 && replay->at < replay->used &&
	       replay->result.verdict == ND_REPLAY_IDENTICAL)
		code = step(replay);
	if (code == 0 && !replay->ready)
		code = damaged(replay, "it ends before the core was ready");
	return code;
}

const struct nd_replay_result *nd_replay_result(const struct nd_replay *replay)
{
	return &replay->result;
}

/* ---- the file ---- */

static int map_file(struct nd_replay *replay, struct nd_error *error)
{
	const struct nd_recording_header *header;
	int fd = open(replay->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* A pipe would wait. */
	struct stat about;
	const char *wrong = fd < 0 || fstat(fd, &about) < 0 ? strerror(errno) : NULL;

	if (!wrong && !S_ISREG(about.st_mode))
		wrong = "that is no file; name a recording";
	if (wrong) {
		nd_fds_close(&fd);
		return nd_error_set(error, -EINVAL, "%s: %s", replay->path, wrong);
	}
	replay->map_bytes = (size_t)about.st_size;
	replay->device = about.st_dev;
	replay->inode = about.st_ino;
	/* A copy of our own: a recorder may still be writing. */
	replay->map = replay->map_bytes ? mmap(NULL, replay->map_bytes, PROT_READ, MAP_PRIVATE, fd, 0)
					: MAP_FAILED;
	close(fd);
	if (replay->map == MAP_FAILED) {
		replay->map = NULL;
		return nd_error_set(error, -EINVAL, "%s: %s", replay->path,
				    replay->map_bytes ? strerror(errno) : "it is empty");
	}
	header = (const void *)replay->map;
	wrong = nd_replay_check_header(header, replay->map_bytes);
	if (wrong)
		return nd_error_set(error, -EINVAL, "%s: %s", replay->path, wrong);
	replay->result.state = header->state;
	replay->result.epoch = header->wall_clock - header->monotonic;
	replay->at = replay->map + sizeof(*header);
	replay->used = replay->map + header->used;
	return 0;
}

struct nd_replay *nd_replay_open(const char *path, struct nd_error *error)
{
	struct nd_replay *replay = calloc(1, sizeof(*replay));

	if (replay)
		replay->path = strdup(path);
	if (!replay || !replay->path)
		nd_error_set(error, -ENOMEM, "%s: no memory", path);
	else if (map_file(replay, error) == 0)
		return replay;
	nd_replay_close(replay);
	return NULL;
}

bool nd_replay_is_of(const struct nd_replay *replay, const char *path)
{
	struct stat about;

	return stat(path, &about) == 0 && about.st_dev == replay->device &&
	       about.st_ino == replay->inode;
}

void nd_replay_close(struct nd_replay *replay)
{
	if (!replay)
		return;
	if (replay->core) {
		for (uint32_t i = 0; i < ND_STACK_APPS_MAX; i++)
			let_go(replay, i);
		nd_core_tear_down(replay->core);
	}
	if (replay->map)
		munmap(replay->map, replay->map_bytes);
	free(replay->path);
	free(replay);
}
