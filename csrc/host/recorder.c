// SPDX-License-Identifier: Apache-2.0
/* Writes a core's recording while it runs: what the core thread calls at each of its inputs. */
#include "host/recorder.h"

#include "base/crc32c.h"
#include "host/core.h"
#include "transport/homa.h"
#include "transport/ndp.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* ---- the file ---- */

/* What an earlier run has left may be the recording of its crash. */
static int set_aside(const char *path, struct nd_error *error)
{
	char *previous = NULL;
	struct stat about;
	int code = 0;

	if (stat(path, &about) == 0 && !S_ISREG(about.st_mode))
		return nd_error_set(error, -EEXIST, "recording %s: that is no file; name one", path);
	if (asprintf(&previous, "%s.previous", path) < 0)
		return nd_error_set(error, -ENOMEM, "recording %s: no memory", path);
	if (rename(path, previous) < 0 && errno != ENOENT)
		code = nd_error_set(error, -errno, "recording %s: cannot be set aside as %s: %s",
				    path, previous, strerror(errno));
	free(previous);
	return code;
}

static int make_file(struct nd_recorder *recorder, const char *path, struct nd_error *error)
{
	int code = set_aside(path, error);

	if (code < 0)
		return code;
	recorder->fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (recorder->fd < 0)
		return nd_error_set(error, -errno, "recording %s: %s", path, strerror(errno));
	/* All blocks now: a full disk is found here, and not by a signal in the middle of a run. */
	code = posix_fallocate(recorder->fd, 0, (off_t)recorder->limit);
	if (code == 0) {
		recorder->map = mmap(NULL, recorder->limit, PROT_READ | PROT_WRITE, MAP_SHARED,
				     recorder->fd, 0);
		if (recorder->map != MAP_FAILED)
			return 0;
		code = errno;
	}
	recorder->map = NULL;
	unlink(path);
	return nd_error_set(error, -code,
			    "recording %s: no room for %llu bytes: %s; give a smaller limit or "
			    "another file system",
			    path, (unsigned long long)recorder->limit, strerror(code));
}

static nd_ns wall_clock(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (nd_ns)now.tv_sec * ND_SEC + (nd_ns)now.tv_nsec;
}

struct nd_recorder *nd_recorder_open(const char *path, uint64_t limit, struct nd_error *error)
{
	struct nd_recorder *recorder = calloc(1, sizeof(*recorder));

	if (!recorder) {
		nd_error_set(error, -ENOMEM, "recording %s: no memory", path);
		return NULL;
	}
	*recorder = (struct nd_recorder){ .fd = -1,
					  .limit = limit ? limit : ND_RECORDER_BYTES_DEFAULT };
	if (recorder->limit < ND_RECORDING_BYTES_MIN || recorder->limit > INT64_MAX)
		nd_error_set(error, -EINVAL, "recording %s: a limit of %llu bytes; give %u or more",
			     path, (unsigned long long)recorder->limit, ND_RECORDING_BYTES_MIN);
	else if (make_file(recorder, path, error) == 0) {
		recorder->header = (void *)recorder->map;
		*recorder->header = (struct nd_recording_header){
			.magic = ND_RECORDING_MAGIC,
			.version = ND_RECORDING_VERSION,
			.used = sizeof(*recorder->header),
			.wall_clock = wall_clock(),
			.monotonic = nd_core_now(),
		};
		recorder->at = recorder->round = sizeof(*recorder->header);
		return recorder;
	}
	nd_recorder_close(recorder);
	return NULL;
}

/* What was written is whole: it counts even if the process dies now. */
static void publish(struct nd_recorder *recorder)
{
	if (recorder->full)
		return;
	recorder->round = recorder->at;
	__atomic_store_n(&recorder->header->used, recorder->at, __ATOMIC_RELEASE);
}

void nd_recorder_close(struct nd_recorder *recorder)
{
	if (!recorder)
		return;
	if (recorder->map) {
		uint64_t used = recorder->header->used;

		if (!recorder->full)
			recorder->header->state = ND_RECORDING_ENDED;
		munmap(recorder->map, recorder->limit);
		/* If it fails the file is longer than it need be, and no less whole. */
		if (ftruncate(recorder->fd, (off_t)used) < 0)
			used = 0;
	}
	if (recorder->fd >= 0)
		close(recorder->fd);
	free(recorder);
}

/* ---- records ---- */

/* The round that is being written is left out: there is no half a round. */
static void end_full(struct nd_recorder *recorder)
{
	recorder->full = true;
	recorder->header->state = ND_RECORDING_FULL;
}

void nd_recorder_write(struct nd_recorder *recorder, const struct nd_record *record,
		       const void *first, size_t first_bytes, const void *second,
		       size_t second_bytes)
{
	size_t room = nd_record_room(first_bytes + second_bytes);
	uint8_t *at = recorder->map + recorder->at;
	struct nd_record header = *record;

	if (ND_UNLIKELY(!recorder->full && room > recorder->limit - recorder->at))
		end_full(recorder);
	if (ND_UNLIKELY(recorder->full))
		return;
	header.bytes = (uint32_t)(first_bytes + second_bytes);
	if (first_bytes)
		memcpy(at + sizeof(header), first, first_bytes);
	if (second_bytes)
		memcpy(at + sizeof(header) + first_bytes, second, second_bytes);
	/* Of the copy: the body may lie where an application writes to it meanwhile. */
	header.check = nd_crc32c(&header, sizeof(header));
	header.check = nd_crc32c_add(header.check, at + sizeof(header), header.bytes);
	memcpy(at, &header, sizeof(header));
	recorder->at += room;
}

/* A record that is whole by itself. */
static void write_whole(struct nd_recorder *recorder, const struct nd_record *record,
			const void *body, size_t bytes)
{
	nd_recorder_write(recorder, record, body, bytes, NULL, 0);
	publish(recorder);
}

void nd_recorder_note(struct nd_recorder *recorder, uint8_t kind, uint32_t index, uint32_t detail,
		      nd_ns now)
{
	struct nd_record record = {
		.kind = kind,
		.index = (uint8_t)index,
		.detail = (uint16_t)nd_min_u32(detail, UINT16_MAX),
		.now = now,
	};

	if (recorder)
		write_whole(recorder, &record, NULL, 0);
}

void nd_recorder_way(struct nd_recorder *recorder, uint8_t kind, uint32_t index, uint32_t detail,
		     const uint8_t address[16], const uint8_t *mac, nd_ns now)
{
	struct nd_record record = {
		.kind = kind,
		.index = (uint8_t)index,
		.detail = (uint16_t)detail,
		.now = now,
	};
	struct nd_record_way way = { 0 };

	if (!recorder)
		return;
	memcpy(way.address, address, sizeof(way.address));
	if (mac)
		memcpy(way.mac, mac, sizeof(way.mac));
	write_whole(recorder, &record, &way, sizeof(way));
}

/* ---- set-up ---- */

void nd_recorder_port(struct nd_recorder *recorder, uint8_t index, const struct nd_core_port *port,
		      nd_ns now)
{
	struct nd_record record = { .kind = ND_RECORD_PORT, .index = index, .now = now };
	struct nd_record_port body = { .derive = port->derive, .open = port->port };

	if (!recorder)
		return;
	memcpy(body.mac, port->mac, sizeof(body.mac));
	if (port->port) {
		body.mtu = port->port->mtu;
		body.frame_bytes_max = port->port->frame_bytes_max;
		memcpy(body.name, port->port->name, sizeof(body.name));
	}
	write_whole(recorder, &record, &body, sizeof(body));
}

void nd_recorder_setup(struct nd_recorder *recorder, const struct nd_core *core)
{
	const struct nd_stack_config *config = &core->config;
	nd_ns now = nd_core_now();
	struct nd_record record = { .kind = ND_RECORD_SETUP, .now = now };
	struct nd_record_setup setup;

	if (!recorder)
		return;
	memset(&setup, 0, sizeof(setup));
	setup.frame = core->frame;
	setup.channel = config->channel;
	setup.seed = config->seed;
	setup.link_bps = config->link_bps;
	setup.port_count = config->port_count;
	setup.peers_max = config->peers_max;
	setup.profile = config->profile;
	setup.vlan = config->vlan;
	memcpy(setup.address_v4, config->address_v4, sizeof(setup.address_v4));
	memcpy(setup.address_v6, config->address_v6, sizeof(setup.address_v6));
	write_whole(recorder, &record, &setup, sizeof(setup));
	for (uint32_t i = 0; i < config->port_count; i++)
		nd_recorder_port(recorder, (uint8_t)i, &core->ports[i], now);
}

void nd_recorder_engine(struct nd_recorder *recorder, uint8_t protocol, const void *config)
{
	struct nd_record record = { .kind = ND_RECORD_ENGINE, .index = protocol };

	if (recorder)
		write_whole(recorder, &record, config,
			    protocol == ND_PROTO_NDP ? sizeof(struct nd_ndp_config)
						     : sizeof(struct nd_homa_config));
}

/* ---- rounds ---- */

void nd_recorder_write_command(struct nd_recorder *recorder, uint32_t app,
			       const struct nd_submission *submission, const uint8_t *send_region,
			       nd_ns now)
{
	struct nd_record record = {
		.kind = ND_RECORD_COMMAND, .index = (uint8_t)app, .now = now };
	struct nd_submission copy = *submission;
	const uint8_t *payload = submission->command.payload;

	/* As it crosses a channel: the application's own addresses mean nothing to a replay. */
	if (payload)
		copy.command.payload = (void *)(uintptr_t)(payload - send_region + 1);
	nd_recorder_write(recorder, &record, &copy, sizeof(copy), payload,
			  payload ? copy.command.bytes : 0);
}

void nd_recorder_write_turn(struct nd_recorder *recorder, nd_ns now)
{
	struct nd_record record = { .kind = ND_RECORD_TURN, .now = now };

	recorder->turn = recorder->at;
	recorder->unsent = false;
	nd_recorder_write(recorder, &record, NULL, 0, NULL, 0);
}

/* Drops a round that is its TURN alone: nothing came before it, nothing after or because of it. */
static bool forget_empty(struct nd_recorder *recorder)
{
	if (recorder->unsent || recorder->turn != recorder->round ||
	    recorder->at != recorder->turn + nd_record_room(0))
		return false;
	recorder->at = recorder->round;
	return true;
}

void nd_recorder_write_round_end(struct nd_recorder *recorder, nd_ns now)
{
	if (!forget_empty(recorder))
		nd_recorder_note(recorder, ND_RECORD_EVENTS, 0, 0, now);
}

void nd_recorder_last_turn_end(struct nd_recorder *recorder)
{
	if (recorder && !forget_empty(recorder))
		publish(recorder);
}

void nd_recorder_tell(struct nd_recorder *recorder, uint32_t engine,
		      const struct nd_command *command, nd_ns now)
{
	struct nd_record record = {
		.kind = ND_RECORD_TELL, .index = (uint8_t)engine, .now = now };
	struct nd_record_tell tell = {
		.kind = command->kind,
		.bytes = command->bytes,
		.message = command->message,
		.has_cutoffs = command->payload != NULL,
	};

	if (ND_LIKELY(!recorder))
		return;
	if (command->payload)
		memcpy(tell.cutoffs, command->payload, sizeof(tell.cutoffs));
	nd_recorder_write(recorder, &record, &tell, sizeof(tell), NULL, 0);
}

void nd_recorder_wire(struct nd_recorder *recorder, const struct nd_frame_config *frame,
		      uint64_t link_bps, nd_ns now)
{
	struct nd_record record = { .kind = ND_RECORD_WIRE, .now = now };
	struct nd_record_wire wire;

	if (ND_LIKELY(!recorder))
		return;
	memset(&wire, 0, sizeof(wire));
	wire.frame = *frame;
	wire.link_bps = link_bps;
	nd_recorder_write(recorder, &record, &wire, sizeof(wire), NULL, 0);
}

void nd_recorder_write_sent(struct nd_recorder *recorder, uint8_t port,
			    const struct nd_frame *frame, nd_ns now)
{
	struct nd_record record = { .kind = ND_RECORD_SENT, .index = port, .now = now };
	struct nd_record_sent sent = { .bytes = frame->bytes };

	sent.check = nd_crc32c(frame->data, frame->bytes);
	nd_recorder_write(recorder, &record, &sent, sizeof(sent), frame->data,
			  nd_min_u32(frame->bytes, ND_RECORDING_HEAD_BYTES));
}

void nd_recorder_unsent(struct nd_recorder *recorder)
{
	if (ND_UNLIKELY(recorder))
		recorder->unsent = true;
}
