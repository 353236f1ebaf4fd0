// SPDX-License-Identifier: Apache-2.0
/* Recordings of real cores, replayed: the same packets; and what becomes of damaged ones. */
#include "base/crc32c.h"
#include "base/rng.h"
#include "test/memory_pair.h"
#include "test/recording.h"
#include "transport/homa.h"
#include "transport/ndp.h"

#include <pthread.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>

#define LIMIT (UINT64_C(16) << 20)

static struct nd_stack *open_recorded(const char *case_name, const char *port, uint32_t end,
				      uint64_t limit)
{
	struct nd_stack_config config = config_of(port, end, false);

	config.record = recording_path(case_name, end);
	config.record_bytes = limit;
	return open_stack(&config);
}

static struct pair open_recorded_pair(const char *case_name)
{
	char name[64];
	struct pair pair;

	snprintf(name, sizeof(name), "test-replay-%d-%s", getpid(), case_name);
	pair.server = open_recorded(case_name, name, 0, LIMIT);
	pair.client = open_recorded(case_name, name, 1, LIMIT);
	pair.peer = resolve(pair.client, addresses[0][0]);
	return pair;
}

/* Both ends of it; the number of packets that either sent. */
static void check_both(const char *case_name, uint64_t least)
{
	for (uint32_t end = 0; end < 2; end++) {
		struct nd_replay_result result = check_identical(recording_path(case_name, end));

		CHECK_EQ(result.state, ND_RECORDING_ENDED);
		CHECK(result.sent >= least);
		CHECK(result.received && result.commands && result.turns);
		CHECK(result.end > result.begin);
	}
}

/* E-X01 */
TEST(nd_replay__sends_the_same_homa_packets)
{
	struct pair pair = open_recorded_pair("homa");

	submit(pair.client, ND_PROTO_HOMA,
	       (struct nd_command){ .kind = ND_COMMAND_WINDOW, .peer = pair.peer, .bytes = 3000 });
	check_sizes(&pair);
	close_pair(&pair);
	check_both("homa", 800);
}

/* E-X01 */
TEST(nd_replay__sends_the_same_ndp_packets)
{
	struct pair pair = open_recorded_pair("ndp");

	check_ndp_sizes(&pair);
	close_pair(&pair);
	check_both("ndp", 800);
}

/* ---- losses ---- */

/* A wire between two memory ports that loses frames. */
struct wire {
	struct nd_port *ends[2];
	pthread_t thread;
	bool stop;
	uint64_t lost;
};

static uint32_t carry(struct wire *wire, uint32_t from, struct nd_rng *rng)
{
	struct nd_frame in[32], out[32];
	uint32_t count = nd_port_receive(wire->ends[from], in, 32), room, used = 0;

	room = nd_port_reserve(wire->ends[!from], out, 32);
	for (uint32_t i = 0; i < count && used < room; i++) {
		if (nd_rng_below(rng, 50) == 0) {
			wire->lost++;
			continue;
		}
		memcpy(out[used].data, in[i].data, in[i].bytes);
		out[used++].bytes = in[i].bytes;
	}
	nd_port_commit(wire->ends[!from], out, used);
	nd_port_flush(wire->ends[!from]);
	nd_port_release(wire->ends[from]);
	return count;
}

static void *run_wire(void *argument)
{
	struct wire *wire = argument;
	struct nd_rng rng = nd_rng_make(1, 1);
	struct nd_error ignored;

	while (!__atomic_load_n(&wire->stop, __ATOMIC_ACQUIRE)) {
		if (carry(wire, 0, &rng) + carry(wire, 1, &rng))
			continue;
		for (uint32_t end = 0; end < 2; end++)
			nd_port_check(wire->ends[end], clock_now(), &ignored);
		usleep(200);
	}
	return NULL;
}

static void open_wire(struct wire *wire, char names[2][64])
{
	*wire = (struct wire){ 0 };
	for (uint32_t end = 0; end < 2; end++) {
		struct nd_port_config config = { .backend = ND_PORT_MEMORY,
						 .memory.listen = end == 1 };

		snprintf(names[end], 64, "test-replay-%d-wire-%u", getpid(), end);
		config.name = names[end];
		wire->ends[end] = NULL;
		if (end == 0)
			continue;
		wire->ends[end] = nd_port_open(&config, &error);
		CHECK(wire->ends[end]);
	}
}

/* The server listens at its end of the wire, the client connects to the other. */
static struct pair open_lossy_pair(const char *case_name, struct wire *wire)
{
	struct nd_port_config config = { .backend = ND_PORT_MEMORY };
	static char names[2][64];
	struct pair pair;

	open_wire(wire, names);
	pair.server = open_recorded(case_name, names[0], 0, LIMIT);
	config.name = names[0];
	wire->ends[0] = nd_port_open(&config, &error);
	CHECK(wire->ends[0]);
	pair.client = open_recorded(case_name, names[1], 1, LIMIT);
	for (uint32_t end = 0; end < 2; end++)
		nd_port_disown(wire->ends[end]);
	CHECK_EQ(pthread_create(&wire->thread, NULL, run_wire, wire), 0);
	pair.peer = resolve(pair.client, addresses[0][0]);
	return pair;
}

static void close_lossy_pair(struct pair *pair, struct wire *wire)
{
	close_pair(pair);
	__atomic_store_n(&wire->stop, true, __ATOMIC_RELEASE);
	CHECK_EQ(pthread_join(wire->thread, NULL), 0);
	for (uint32_t end = 0; end < 2; end++) {
		nd_port_disown(wire->ends[end]);
		nd_port_close(wire->ends[end]);
	}
	CHECK(wire->lost > 0);
}

/* E-X01: timers, retransmissions and other paths come out the same. */
TEST(nd_replay__sends_the_same_homa_packets_after_losses)
{
	struct wire wire;
	struct pair pair = open_lossy_pair("lossy-homa", &wire);

	check_sizes(&pair);
	close_lossy_pair(&pair, &wire);
	check_both("lossy-homa", 800);
}

/* E-X01 */
TEST(nd_replay__sends_the_same_ndp_packets_after_losses)
{
	struct wire wire;
	struct pair pair = open_lossy_pair("lossy-ndp", &wire);

	check_ndp_sizes(&pair);
	close_lossy_pair(&pair, &wire);
	check_both("lossy-ndp", 800);
}

/* ---- differences ---- */

/* A file in memory, to change and to write back. */
struct image {
	uint8_t *bytes;
	size_t count;
};

static struct image read_image(const char *path)
{
	struct image image = { 0 };
	FILE *file = fopen(path, "rb");
	struct stat about;

	CHECK(file && fstat(fileno(file), &about) == 0);
	image.count = (size_t)about.st_size;
	image.bytes = malloc(image.count);
	CHECK(image.bytes && fread(image.bytes, 1, image.count, file) == image.count);
	fclose(file);
	return image;
}

static void write_image(const char *path, const struct image *image)
{
	FILE *file = fopen(path, "wb");

	CHECK(file && fwrite(image->bytes, 1, image->count, file) == image->count);
	CHECK_EQ(fclose(file), 0);
}

/* The n-th record of a kind, counted from 1. */
static struct nd_record *nth_record(const struct image *image, uint8_t kind, uint32_t n)
{
	size_t at = sizeof(struct nd_recording_header);

	while (at < image->count) {
		struct nd_record *record = (void *)(image->bytes + at);

		if (record->kind == kind && --n == 0)
			return record;
		at += nd_record_room(record->bytes);
	}
	nd_test_fail(__FILE__, __LINE__, "no such record");
}

/* A record that was changed, and is whole again. */
static void seal(struct nd_record *record)
{
	record->check = 0;
	record->check = nd_crc32c(record, sizeof(*record) + record->bytes);
}

/* The client's recording of a few small RPCs. */
static const char *record_rpcs(const char *case_name)
{
	struct pair pair = open_recorded_pair(case_name);

	check_sizes(&pair);
	close_pair(&pair);
	CHECK_EQ(unlink(recording_path(case_name, 0)), 0);
	return recording_path(case_name, 1);
}

/* The first packet that is another one is named and shown, as it was and as it is now. */
TEST(nd_replay__shows_the_first_difference)
{
	const char *path = record_rpcs("differs");
	struct image image = read_image(path);
	struct nd_record *record = nth_record(&image, ND_RECORD_SENT, 5);
	struct nd_record_sent *sent = (void *)(record + 1);
	struct nd_replay_result result;

	((uint8_t *)(sent + 1))[60] ^= 1;
	seal(record);
	write_image(path, &image);
	result = replay_of(path);
	CHECK_EQ(result.verdict, ND_REPLAY_DIFFERS);
	CHECK_EQ(result.sent, 4);
	CHECK_EQ(result.time, record->now);
	CHECK_EQ(result.recorded_bytes, result.replayed_bytes);
	CHECK_EQ(result.recorded[60], result.replayed[60] ^ 1);
	CHECK_EQ(memcmp(result.recorded, result.replayed, 60), 0);
	free(image.bytes);
	CHECK_EQ(unlink(path), 0);
}

/* A packet that was not recorded, and one that was and does not come. */
TEST(nd_replay__shows_a_packet_too_many_or_too_few)
{
	const char *path = record_rpcs("count");
	struct image image = read_image(path);
	struct nd_record *record = nth_record(&image, ND_RECORD_SENT, 3);
	struct nd_replay_result result;

	record->kind = ND_RECORD_ROOM; /* with a room of 0 that nobody asks for */
	seal(record);
	write_image(path, &image);
	result = replay_of(path);
	CHECK(result.verdict == ND_REPLAY_EXTRA || result.verdict == ND_REPLAY_DIFFERS);
	CHECK_EQ(result.sent, 2);
	record->kind = ND_RECORD_SENT;
	seal(record);
	record = nth_record(&image, ND_RECORD_FRAME, 1);
	record->kind = ND_RECORD_ASKED; /* nothing was received */
	seal(record);
	write_image(path, &image);
	result = replay_of(path);
	CHECK(result.verdict != ND_REPLAY_IDENTICAL);
	CHECK(result.recorded_bytes > 0 || result.replayed_bytes > 0);
	free(image.bytes);
	CHECK_EQ(unlink(path), 0);
}

/* Another seed is another core: the recording holds what decides. */
TEST(nd_replay__differs_with_another_seed)
{
	const char *path = record_rpcs("seed");
	struct image image = read_image(path);
	struct nd_record *record = nth_record(&image, ND_RECORD_SETUP, 1);

	((struct nd_record_setup *)(void *)(record + 1))->seed++;
	seal(record);
	write_image(path, &image);
	CHECK(replay_of(path).verdict != ND_REPLAY_IDENTICAL);
	free(image.bytes);
	CHECK_EQ(unlink(path), 0);
}

/* ---- the end of a recording ---- */

/* What has reached its limit is whole up to there, and the core runs on. */
TEST(nd_recorder__stops_at_its_limit)
{
	struct nd_replay_result result;
	struct stat about;
	struct pair pair;
	char name[64];

	snprintf(name, sizeof(name), "test-replay-%d-limit", getpid());
	pair.server = open_recorded("limit", name, 0, ND_RECORDING_BYTES_MIN);
	pair.client = open_recorded("limit", name, 1, ND_RECORDING_BYTES_MIN);
	pair.peer = resolve(pair.client, addresses[0][0]);
	check_sizes(&pair);
	close_pair(&pair);
	for (uint32_t end = 0; end < 2; end++) {
		CHECK_EQ(stat(recording_path("limit", end), &about), 0);
		CHECK(about.st_size <= ND_RECORDING_BYTES_MIN);
		result = check_identical(recording_path("limit", end));
		CHECK_EQ(result.state, ND_RECORDING_FULL);
		CHECK(result.sent > 0);
	}
}

static void run_until_killed(const char *case_name, int ready)
{
	struct pair pair = open_recorded_pair(case_name);

	listen_on(pair.server, ND_PROTO_HOMA, SERVICE);
	for (uint64_t i = 0;; i++) {
		uint8_t *request = nd_stack_buffer(pair.client, 100);

		ask(&pair, request, 100, i);
		echo_once(pair.server);
		while (next_event(pair.client).kind != ND_EVENT_RESPONSE)
			;
		nd_stack_buffer_free(pair.client, request);
		expect(pair.server, ND_EVENT_SENT);
		if (i == 20 && write(ready, "", 1) != 1)
			_exit(1);
	}
}

/* A crash is what a recording is for: it can be replayed up to the last round before. */
TEST(nd_recorder__survives_a_kill)
{
	int pipes[2], status;
	char byte;
	pid_t child;

	CHECK_EQ(pipe(pipes), 0);
	child = fork();
	CHECK(child >= 0);
	if (child == 0) {
		alarm(60);
		close(pipes[0]);
		run_until_killed("kill", pipes[1]);
	}
	close(pipes[1]);
	CHECK_EQ(read(pipes[0], &byte, 1), 1);
	close(pipes[0]);
	kill(child, SIGKILL);
	CHECK_EQ(waitpid(child, &status, 0), child);
	for (uint32_t end = 0; end < 2; end++) {
		struct nd_replay_result result =
			check_identical(recording_path_of(child, "kill", end));

		CHECK_EQ(result.state, ND_RECORDING_OPEN);
		CHECK(result.sent >= 20);
	}
}

/* The recording of a crash is not written over by the restart. */
TEST(nd_recorder__keeps_the_previous_one)
{
	const char *path = record_rpcs("previous");
	char previous[160];
	struct image first = read_image(path), kept;

	snprintf(previous, sizeof(previous), "%s.previous", path);
	CHECK(record_rpcs("previous") == path);
	kept = read_image(previous);
	CHECK_EQ(kept.count, first.count);
	CHECK_EQ(memcmp(kept.bytes, first.bytes, kept.count), 0);
	free(kept.bytes);
	free(first.bytes);
	CHECK_EQ(unlink(previous), 0);
	CHECK_EQ(unlink(path), 0);
}

TEST(nd_recorder_open__says_what_is_wrong)
{
	struct nd_stack_config config = config_of("test-replay-open", 0, false);

	config.record = "/nonexistent/folder/file";
	CHECK(!nd_stack_open(&config, &error));
	CHECK(strstr(error.text, "/nonexistent/folder/file"));
	config.record = recording_path("open", 0);
	config.record_bytes = 100;
	CHECK(!nd_stack_open(&config, &error));
	CHECK(strstr(error.text, "65536"));
}

/* ---- damage ---- */

TEST(nd_replay_open__refuses_what_is_no_recording)
{
	const char *path = recording_path("no", 0);
	struct image image = { .bytes = (uint8_t[100]){ 1 }, .count = 100 };

	CHECK(!nd_replay_open("/nonexistent", &error));
	write_image(path, &image);
	CHECK(!nd_replay_open(path, &error));
	CHECK(strstr(error.text, "no recording"));
	image.count = 0;
	write_image(path, &image);
	CHECK(!nd_replay_open(path, &error));
	CHECK(strstr(error.text, "empty"));
	CHECK_EQ(unlink(path), 0);
}

/* A recording's first rounds: what a few hundred replays have time for. */
static struct image read_beginning(const char *path)
{
	struct image image = read_image(path);
	size_t at = sizeof(struct nd_recording_header);
	uint8_t kind = 0;

	while (at < 1u << 16 || kind != ND_RECORD_EVENTS) {
		const struct nd_record *record = (const void *)(image.bytes + at);

		kind = record->kind;
		at += nd_record_room(record->bytes);
		CHECK(at <= image.count);
	}
	image.count = at;
	((struct nd_recording_header *)(void *)image.bytes)->used = at;
	return image;
}

/* What became of an image's replay: its verdict or -errno. */
static int outcome_of(const struct image *image, const char *path)
{
	struct nd_replay *replay;
	int code;

	write_image(path, image);
	replay = nd_replay_open(path, &error);
	if (!replay)
		return error.code;
	code = nd_replay_run(replay, NULL, NULL, &error);
	if (code == 0)
		code = (int)nd_replay_result(replay)->verdict;
	nd_replay_close(replay);
	return code;
}

/* A bit that has changed anywhere is found as damage, and never taken for a difference. */
TEST(nd_replay__finds_every_damage)
{
	const char *path = record_rpcs("damage");
	struct image image = read_beginning(path);
	struct nd_rng rng = nd_rng_make(5, 5);

	CHECK_EQ(outcome_of(&image, path), ND_REPLAY_IDENTICAL);
	for (uint32_t round = 0; round < 200; round++) {
		uint32_t first = sizeof(struct nd_recording_header);
		uint32_t at = first + nd_rng_below(&rng, (uint32_t)image.count - first);
		uint8_t bit = (uint8_t)(1u << nd_rng_below(&rng, 8));
		int outcome;

		image.bytes[at] ^= bit;
		outcome = outcome_of(&image, path);
		/* Padding means nothing. */
		CHECK(outcome == -EINVAL || outcome == ND_REPLAY_IDENTICAL);
		image.bytes[at] ^= bit;
	}
	free(image.bytes);
	CHECK_EQ(unlink(path), 0);
}

/* A forged one, whole by its checks: refused, or another core. The set-up is taken as it is. */
TEST(nd_replay__survives_forgery)
{
	const char *path = record_rpcs("forgery");
	struct image image = read_beginning(path);
	struct nd_rng rng = nd_rng_make(6, 6);
	uint32_t refused = 0, differing = 0;

	for (uint32_t round = 0; round < 300; round++) {
		struct nd_record *record = nth_record(
			&image, round % 2 ? ND_RECORD_COMMAND : ND_RECORD_FRAME,
			1 + nd_rng_below(&rng, 4));
		uint8_t *at = (uint8_t *)record +
			      nd_rng_below(&rng, (uint32_t)sizeof(*record) +
							 nd_min_u32(record->bytes, 64));
		uint8_t before = *at;
		uint32_t bytes = record->bytes;
		int outcome;

		*at = (uint8_t)nd_rng_u64(&rng);
		if (record->bytes == bytes) /* or it reaches to where nothing can be sealed */
			seal(record);
		outcome = outcome_of(&image, path);
		refused += outcome < 0;
		differing += outcome > 0;
		*at = before;
		seal(record);
	}
	CHECK(refused > 10);
	CHECK(differing > 10);
	CHECK_EQ(outcome_of(&image, path), ND_REPLAY_IDENTICAL);
	free(image.bytes);
	CHECK_EQ(unlink(path), 0);
}

/* What is neither true nor false may not be looked at: no engine gets to see it. */
TEST(nd_replay__refuses_what_is_no_bool)
{
	static const struct {
		uint8_t kind;
		uint32_t number;
		size_t offset;
	} bools[] = {
		{ ND_RECORD_SETUP, 1, offsetof(struct nd_record_setup, frame.homa_checksum) },
		{ ND_RECORD_PORT, 1, offsetof(struct nd_record_port, derive) },
		{ ND_RECORD_ENGINE, 1, offsetof(struct nd_ndp_config, score.scoreboard) },
		{ ND_RECORD_ENGINE, 2, offsetof(struct nd_homa_config, unknown_resend) },
	};
	const char *path = record_rpcs("bools");
	struct image image = read_beginning(path);

	for (uint32_t i = 0; i < ND_ARRAY_SIZE(bools); i++) {
		struct nd_record *record = nth_record(&image, bools[i].kind, bools[i].number);
		uint8_t *value = (uint8_t *)(record + 1) + bools[i].offset;
		uint8_t before = *value;

		*value = 2;
		seal(record);
		CHECK_EQ(outcome_of(&image, path), -EINVAL);
		CHECK(strstr(error.text, "neither"));
		*value = before;
		seal(record);
	}
	CHECK_EQ(outcome_of(&image, path), ND_REPLAY_IDENTICAL);
	free(image.bytes);
	CHECK_EQ(unlink(path), 0);
}

/* ---- capture ---- */

TEST(nd_replay_capture__writes_what_went_by)
{
	const char *path = record_rpcs("capture");
	char name[160];
	struct nd_replay *replay = nd_replay_open(path, &error);
	struct stat about;

	CHECK(replay);
	snprintf(name, sizeof(name), "%s.pcapng", path);
	CHECK_EQ(nd_replay_capture(replay, name, &error), 0);
	CHECK_EQ(nd_replay_result(replay)->verdict, ND_REPLAY_IDENTICAL);
	CHECK_EQ(stat(name, &about), 0);
	CHECK(about.st_size > 2 * 1000000); /* more than 1 MB went each way */
	nd_replay_close(replay);
	replay = nd_replay_open(path, &error);
	CHECK(nd_replay_capture(replay, "/nonexistent/folder/file", &error) < 0);
	nd_replay_close(replay);
	CHECK_EQ(unlink(name), 0);
	CHECK_EQ(unlink(path), 0);
}

int main(int argc, char **argv)
{
	return nd_test_main(argc, argv);
}
