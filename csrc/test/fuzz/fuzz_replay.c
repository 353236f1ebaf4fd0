// SPDX-License-Identifier: Apache-2.0
/*
 * Recordings that nobody recorded. The input is a program that writes one: a set-up that works but
 * for a few bytes, records of every kind with checks that hold, and at the end some damage.
 *
 * Whatever the file says, its replay ends with a verdict or with an error that has a reason, and
 * the same file ends the same way twice. A core as large as the file asks for is made: who replays
 * a recording lends it the memory of the host that recorded it. So inputs that ask for more than a
 * fuzzer has are left out.
 */
#include "test/fuzz/program.h"
#include "test/fuzz/heal.h"
#include "test/wire.h"

#include "host/replay.h"
#include "host/replay_check.h"
#include "transport/homa.h"
#include "transport/ndp.h"

#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#define FILE_MAX (256u << 10)
#define STATE_MAX (64u << 20)
#define BODY_MAX 4096u
#define PORTS 2

static uint8_t file[FILE_MAX];
static size_t file_bytes;
static nd_ns clock_now;

/* ---- writing ---- */

static void seal(struct nd_record *record)
{
	record->check = 0;
	record->check = nd_crc32c_add(nd_crc32c(record, sizeof(*record)), record + 1,
				      record->bytes);
}

static void append(uint8_t kind, uint32_t index, uint32_t detail, const void *body, uint32_t bytes)
{
	struct nd_record *record = (void *)(file + file_bytes);
	size_t room = nd_record_room(bytes);

	if (file_bytes + room > FILE_MAX)
		return;
	memset(record, 0, room);
	*record = (struct nd_record){
		.bytes = bytes, .kind = kind, .index = (uint8_t)index,
		.detail = (uint16_t)detail, .now = clock_now,
	};
	if (bytes)
		memcpy(record + 1, body, bytes);
	seal(record);
	file_bytes += room;
}

/* A few of the bytes are others: none in most inputs, so that these get past the set-up. */
static void spoil(struct input *in, void *body, size_t bytes)
{
	uint8_t choice = take8(in);
	uint32_t count = choice < 192 ? 0 : choice % 4;

	for (uint32_t i = 0; i < count; i++) {
		uint32_t at = take8(in) * 256u;

		at = (at + take8(in)) % (uint32_t)bytes;
		((uint8_t *)body)[at] = take8(in);
	}
}

/* ---- the set-up ---- */

static struct nd_ndp_config ndp_config(void)
{
	struct nd_ndp_config config = nd_ndp_config_default(UINT64_C(10000000000), 1500);

	config.window_packets = 64;
	config.paths_max = 8;
	config.path_sets_max = config.peers_max = 8;
	config.connections_max = 24;
	config.time_wait_max = 8;
	config.listeners_max = 3;
	config.listen_backlog = 4;
	config.sending_max = 8;
	config.messages_max = config.connection_messages_max = 24;
	config.receive_messages_max = 16;
	config.control_max = 16;
	return config;
}

static struct nd_homa_config homa_config(void)
{
	struct nd_homa_config config = nd_homa_config_default(UINT64_C(10000000000), 1500);

	config.rpcs_max = config.peer_rpcs_max = 24;
	config.server_rpcs_max = 12;
	config.peers_max = config.ports_max = 8;
	config.gaps_max = config.message_gaps_max = 32;
	config.replies_max = config.done_max = 16;
	return config;
}

static struct nd_record_setup setup_of(struct input *in)
{
	struct nd_record_setup setup = {
		.frame = nd_frame_config_default(),
		.channel = { .commands = 16, .events = 16, .send_bytes = 1 << 16,
			     .receive_bytes = 1 << 16 },
		.seed = 1,
		.link_bps = UINT64_C(10000000000),
		.port_count = PORTS,
		.peers_max = 8,
	};

	memcpy(setup.address_v4, wire_peer(WIRE_V4).target, 16);
	memcpy(setup.address_v6, wire_peer(WIRE_V6).target, 16);
	spoil(in, &setup, sizeof(setup));
	return setup;
}

static struct nd_record_port port_of(struct input *in)
{
	struct nd_record_port port = { .mtu = 1500, .frame_bytes_max = 1518, .open = true,
				       .derive = true, .name = "fuzz" };

	spoil(in, &port, sizeof(port));
	return port;
}

/* What an engine of these settings takes; 0 when it refuses them. */
static size_t state_bytes(const struct nd_transport_ops *ops, const void *config,
			  const char *wrong)
{
	const char *why;

	return wrong || ops->check(config, &why) < 0 ? 0 : ops->bytes(config);
}

/* False when the file asks for more memory than a fuzzer has. */
static bool is_modest(const struct nd_record_setup *setup, const struct nd_ndp_config *ndp,
		      const struct nd_homa_config *homa)
{
	return setup->peers_max <= 1 << 16 && setup->channel.events <= 1 << 10 &&
	       state_bytes(&nd_ndp_ops, ndp, nd_replay_check_ndp(ndp)) <= STATE_MAX &&
	       state_bytes(&nd_homa_ops, homa, nd_replay_check_homa(homa)) <= STATE_MAX;
}

static bool write_setup(struct input *in)
{
	struct nd_record_setup setup = setup_of(in);
	struct nd_ndp_config ndp = ndp_config();
	struct nd_homa_config homa = homa_config();

	append(ND_RECORD_SETUP, 0, 0, &setup, sizeof(setup));
	for (uint32_t i = 0; i < PORTS; i++) {
		struct nd_record_port port = port_of(in);

		append(ND_RECORD_PORT, i, 0, &port, sizeof(port));
	}
	spoil(in, &ndp, sizeof(ndp));
	spoil(in, &homa, sizeof(homa));
	append(ND_RECORD_ENGINE, ND_PROTO_NDP, 0, &ndp, sizeof(ndp));
	append(ND_RECORD_ENGINE, ND_PROTO_HOMA, 0, &homa, sizeof(homa));
	append(ND_RECORD_READY, 0, 0, NULL, 0);
	append(ND_RECORD_ATTACH, 0, 0, NULL, 0);
	return is_modest(&setup, &ndp, &homa);
}

/* ---- rounds ---- */

static struct nd_packet packet_of(struct input *in, const uint8_t *payload)
{
	uint8_t choice = take8(in);
	struct nd_packet packet;

	if (choice & 1) {
		packet = choice & 2 ? wire_ndp_data(payload)
				    : wire_ndp_control(ND_NDP_ACK + choice / 4 % 4);
		packet.flags = take8(in);
		packet.ndp.connection = take8(in);
		packet.ndp.sequence = take8(in) % 64;
		packet.ndp.pull = take8(in);
		packet.ndp.service = take8(in) % 4;
		packet.ndp.offset = packet.ndp.sequence * packet.payload_bytes;
		packet.ndp.message_bytes = packet.ndp.offset + packet.payload_bytes + take8(in);
		packet.ndp.message = 0;
		packet.ndp.base = 0;
		return packet;
	}
	packet = choice & 2 ? wire_homa_data(payload)
			    : wire_homa_control((uint8_t)(ND_HOMA_GRANT + choice / 4 % 8));
	packet.homa.sender_id = take8(in);
	packet.homa.target_port = take8(in) % 4;
	packet.homa.offset = take8(in) % 4 * 600u;
	packet.homa.message_bytes = packet.homa.offset + packet.payload_bytes + take8(in) * 8u;
	packet.homa.length = packet.homa.message_bytes;
	return packet;
}

static void write_frame(struct input *in)
{
	static const uint8_t payload[2048];
	struct nd_frame_config config = nd_frame_config_default();
	struct nd_packet packet = packet_of(in, payload);
	struct nd_frame_peer peer = wire_peer(take8(in) % 2 ? WIRE_V6 : WIRE_V4);
	uint8_t frame[BODY_MAX];
	uint32_t bytes;

	peer.source[15] = take8(in) % 16;
	bytes = wire_encode(&config, &peer, &packet, frame, sizeof(frame));
	if (!bytes)
		return;
	spoil(in, frame, bytes);
	heal_frame(&config, frame, bytes);
	append(ND_RECORD_FRAME, take8(in) % PORTS, 0, frame, bytes);
}

static void write_command(struct input *in)
{
	static const uint8_t payload[BODY_MAX];
	uint8_t body[sizeof(struct nd_submission) + BODY_MAX];
	struct nd_submission submission = {
		.command = {
			.kind = take8(in) % 20,
			.priority = take8(in) % 8,
			.peer = take8(in) % 10,
			.port = take8(in) % 4,
			.bytes = take32(in),
			.id = take8(in) & 1 ? ND_STACK_ID_LAST : take32(in),
			.message = take8(in),
			.deadline = take8(in) & 1 ? clock_now + take32(in) : ND_NEVER,
			.payload = (const uint8_t *)(uintptr_t)take32(in),
		},
		.protocol = take8(in) % 4,
	};
	uint32_t bytes = nd_min_u32(submission.command.bytes, BODY_MAX);

	if (take8(in) % 16)
		submission.command.bytes = bytes;
	if (submission.command.kind == ND_STACK_COMMAND_PEER && bytes == 16) {
		struct nd_frame_peer peer = wire_peer(WIRE_V4);

		peer.source[15] = take8(in) % 16;
		memcpy(body + sizeof(submission), peer.source, 16);
	} else {
		memcpy(body + sizeof(submission), payload, bytes);
	}
	memcpy(body, &submission, sizeof(submission));
	append(ND_RECORD_COMMAND, take8(in) % 4, 0, body, (uint32_t)sizeof(submission) + bytes);
}

static void write_way(struct input *in, uint8_t kind)
{
	struct nd_record_way way = { .mac = { 2, [5] = take8(in) } };

	memcpy(way.address, wire_peer(WIRE_V4).source, 16);
	way.address[15] = take8(in) % 16;
	append(kind, take8(in) % PORTS, take8(in) % 8, &way, sizeof(way));
}

/* What a port is said to have sent, and the room that it had. */
static void write_turn(struct input *in)
{
	struct nd_record_sent sent[8] = { { .bytes = take8(in) } };

	append(ND_RECORD_TURN, 0, 0, NULL, 0);
	for (uint8_t more = take8(in); more & 3; more >>= 2) {
		if (more & 1)
			append(ND_RECORD_ROOM, more / 4 % PORTS, take32(in), NULL, 0);
		if (more & 2)
			append(ND_RECORD_SENT, more / 4 % PORTS, 0, sent,
			       take8(in) % (sizeof(sent) + 1));
	}
}

/* What settings came to. */
static void write_tell(struct input *in)
{
	struct nd_record_tell tell = {
		.kind = (uint8_t)(ND_COMMAND_MSS + take8(in) % 4),
		.bytes = take8(in) & 1 ? take8(in) % 10 : take32(in),
		.message = take8(in) & 1 ? take32(in) : UINT64_C(10000000000),
		.has_cutoffs = take8(in) & 1,
	};

	for (uint32_t i = ND_HOMA_PRIORITIES; i-- > 0 && tell.has_cutoffs;)
		tell.cutoffs[i] = take8(in) * 100u;
	append(ND_RECORD_TELL, take8(in) % 3, 0, &tell, sizeof(tell));
}

static void write_wire(struct input *in)
{
	struct nd_record_wire wire = { .frame = nd_frame_config_default(),
				       .link_bps = take8(in) & 1 ? take32(in) : 0 };

	spoil(in, &wire, sizeof(wire));
	append(ND_RECORD_WIRE, 0, 0, &wire, sizeof(wire));
}

static void write_any(struct input *in)
{
	uint8_t body[BODY_MAX], kind = take8(in) % (ND_RECORD_KINDS + 1), index = take8(in);
	uint32_t detail = take32(in), bytes = take32(in) % 512;

	for (uint32_t i = 0; i < bytes; i++)
		body[i] = take8(in);
	append(kind, index, detail, body, bytes);
}

static void write_port(struct input *in)
{
	struct nd_record_port port = port_of(in);

	port.open = take8(in) & 1;
	append(ND_RECORD_PORT, take8(in) % PORTS, 0, &port, sizeof(port));
}

static void step(struct input *in)
{
	static const uint8_t bare[] = { ND_RECORD_ATTACH, ND_RECORD_DETACH, ND_RECORD_TIMER,
					ND_RECORD_EVENTS, ND_RECORD_CHECK, ND_RECORD_RESOLVER,
					ND_RECORD_ASKED };
	uint8_t choice = take8(in);

	switch (choice % 16) {
	case 0:
	case 1:
	case 2:
		write_frame(in);
		break;
	case 3:
	case 4:
	case 5:
		write_command(in);
		break;
	case 6:
	case 7:
	case 8:
		write_turn(in);
		break;
	case 9:
		write_way(in, choice & 16 ? ND_RECORD_FOUND : ND_RECORD_LOST);
		break;
	case 10:
		write_port(in);
		break;
	case 11:
		write_any(in);
		break;
	case 13:
		if (choice & 16)
			write_tell(in);
		else
			write_wire(in);
		break;
	case 12:
		clock_now += (nd_ns)take32(in) * (choice & 16 ? ND_USEC : ND_MSEC);
		break;
	default:
		append(bare[choice / 16 % ND_ARRAY_SIZE(bare)], take8(in) % 4, take32(in), NULL,
		       0);
		break;
	}
}

/* ---- the file ---- */

/* Cut, lied about, or with other bytes; most are left as they are. */
static void damage(struct input *in, struct nd_recording_header *header)
{
	uint8_t choice = take8(in);

	if (choice < 192)
		return;
	spoil(in, header, sizeof(*header));
	if (choice & 1)
		file_bytes = take32(in) % (file_bytes + 1);
	if (choice & 2 && file_bytes)
		spoil(in, file, file_bytes);
}

static bool write_file(struct input *in)
{
	struct nd_recording_header *header = (void *)file;
	bool modest;

	*header = (struct nd_recording_header){ .magic = ND_RECORDING_MAGIC,
						.version = ND_RECORDING_VERSION };
	file_bytes = sizeof(*header);
	clock_now = ND_MSEC;
	modest = write_setup(in);
	while (in->at < in->end && take8(in) != 0xff)
		step(in);
	header->used = file_bytes;
	damage(in, header);
	return modest;
}

static int replay(const char *path, struct nd_replay_result *result)
{
	struct nd_error error = { 0 };
	struct nd_replay *replay = nd_replay_open(path, &error);
	int code = error.code;

	*result = (struct nd_replay_result){ 0 };
	if (replay) {
		code = nd_replay_run(replay, NULL, NULL, &error);
		*result = *nd_replay_result(replay);
		FUZZ_CHECK(result->verdict <= ND_REPLAY_EXTRA);
		FUZZ_CHECK(result->replayed_bytes <= ND_REPLAY_FRAME_BYTES_MAX);
		nd_replay_close(replay);
	} else {
		FUZZ_CHECK(code < 0);
	}
	FUZZ_CHECK(code == 0 || (code < 0 && error.text[0]));
	return code;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct nd_replay_result first, second;
	struct input in = { .at = data, .end = data + size };
	static int fd = -1;
	char path[32];
	int code;

	if (fd < 0)
		fd = memfd_create("recording", MFD_CLOEXEC);
	FUZZ_CHECK(fd >= 0);
	if (!write_file(&in))
		return 0;
	FUZZ_CHECK(ftruncate(fd, 0) == 0);
	FUZZ_CHECK(pwrite(fd, file, file_bytes, 0) == (ssize_t)file_bytes);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	code = replay(path, &first);
	FUZZ_CHECK(replay(path, &second) == code);
	FUZZ_CHECK(memcmp(&first, &second, sizeof(first)) == 0);
	return 0;
}
