// SPDX-License-Identifier: Apache-2.0
/* Memory ports and the contract that every port keeps: batches, sizes, backpressure, peers. */
#include "port/fds.h"
#include "port/memory.h"
#include "test/harness.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#define SLOTS 16u
#define BATCH 64u
#define SLOT_BYTES 1600u /* of a port with an MTU of 1500 */

static struct nd_error error;
static struct nd_frame frames[BATCH];
static char name[64];

static struct nd_port_config config_of(bool listen)
{
	return (struct nd_port_config){
		.backend = ND_PORT_MEMORY,
		.name = name,
		.rx_frames = SLOTS,
		.memory.listen = listen,
	};
}

static struct nd_port *open_end(bool listen)
{
	struct nd_port_config config = config_of(listen);
	struct nd_port *port = nd_port_open(&config, &error);

	if (!port)
		fprintf(stderr, "  %s\n", error.text);
	CHECK(port);
	return port;
}

static void choose_name(const char *case_name)
{
	snprintf(name, sizeof(name), "test-memory-%d-%s", getpid(), case_name);
}

static void open_pair(struct nd_port **listener, struct nd_port **connector, const char *case_name)
{
	choose_name(case_name);
	*listener = open_end(true);
	*connector = open_end(false);
	CHECK_EQ(nd_port_check(*listener, 0, &error), ND_PORT_UP);
	CHECK_EQ(nd_port_check(*connector, 0, &error), ND_PORT_UP);
}

/* Sends count frames of the given size that begin with consecutive numbers. */
static uint32_t send_numbered(struct nd_port *port, uint32_t first, uint32_t count, uint32_t bytes)
{
	uint32_t room = nd_port_reserve(port, frames, count);

	for (uint32_t i = 0; i < room; i++) {
		uint32_t number = first + i;

		CHECK(frames[i].room >= bytes);
		memset(frames[i].data, (int)(number & 0xff), bytes);
		memcpy(frames[i].data, &number, sizeof(number));
		frames[i].bytes = bytes;
	}
	nd_port_commit(port, frames, room);
	nd_port_flush(port);
	return room;
}

/* Receives what is there and checks the numbers; returns how many frames came. */
static uint32_t receive_numbered(struct nd_port *port, uint32_t first, uint32_t bytes)
{
	uint32_t count = nd_port_receive(port, frames, BATCH);

	for (uint32_t i = 0; i < count; i++) {
		uint32_t number;

		memcpy(&number, frames[i].data, sizeof(number));
		CHECK_EQ(number, first + i);
		CHECK_EQ(frames[i].bytes, bytes);
		CHECK_EQ(frames[i].data[bytes - 1], number & 0xff);
	}
	nd_port_release(port);
	return count;
}

/* Both directions, in order, whole, across the wrap. */
TEST(nd_port__carries_frames_both_ways)
{
	struct nd_port *a, *b;

	open_pair(&a, &b, "both");
	for (uint32_t round = 0; round < 10; round++) {
		CHECK_EQ(send_numbered(a, round * 7, 7, 64), 7);
		CHECK_EQ(send_numbered(b, round * 5, 5, 1522), 5);
		CHECK_EQ(receive_numbered(b, round * 7, 64), 7);
		CHECK_EQ(receive_numbered(a, round * 5, 1522), 5);
	}
	CHECK_EQ(nd_port_counters(a)->tx_frames, 70);
	CHECK_EQ(nd_port_counters(b)->rx_frames, 70);
	CHECK_EQ(nd_port_counters(a)->rx_bytes, 50 * 1522);
	CHECK_STR(a->mode, "memory");
	nd_port_close(a);
	nd_port_close(b);
}

TEST(nd_port_reserve__full_is_backpressure_not_loss)
{
	struct nd_port *a, *b;

	open_pair(&a, &b, "full");
	CHECK_EQ(send_numbered(b, 0, BATCH, 100), SLOTS);
	CHECK_EQ(send_numbered(b, SLOTS, 1, 100), 0);
	CHECK_EQ(nd_port_counters(b)->tx_backpressure, 2);
	CHECK_EQ(receive_numbered(a, 0, 100), SLOTS);
	CHECK_EQ(send_numbered(b, SLOTS, 3, 100), 3);
	CHECK_EQ(receive_numbered(a, SLOTS, 100), 3);
	nd_port_close(a);
	nd_port_close(b);
}

/* AFXDP A.8.5: an impossible size is dropped before the link sees it, and never blocks others. */
TEST(nd_port_commit__drops_impossible_sizes)
{
	struct nd_port *a, *b;

	open_pair(&a, &b, "sizes");
	CHECK_EQ(nd_port_reserve(a, frames, 5), 5);
	frames[0].bytes = 13;
	frames[1].bytes = a->frame_bytes_max + 1;
	frames[2].bytes = 14;
	frames[3].bytes = 0;
	nd_port_commit(a, frames, 4);
	CHECK_EQ(nd_port_receive(b, frames, BATCH), 1);
	CHECK_EQ(frames[0].bytes, 14);
	nd_port_release(b);
	CHECK_EQ(nd_port_receive(b, frames, BATCH), 0);
	CHECK_EQ(a->counters.tx_dropped_short, 1);
	CHECK_EQ(a->counters.tx_dropped_oversize, 1);
	CHECK_EQ(a->counters.tx_frames, 1);
	CHECK_EQ(b->counters.rx_dropped_corrupt, 0);
	nd_port_close(a);
	nd_port_close(b);
}

TEST(nd_port_open__explains_bad_configurations)
{
	struct nd_port_config config = config_of(true);

	config.name = "";
	CHECK(!nd_port_open(&config, &error));
	CHECK_EQ(error.code, -EINVAL);
	config = config_of(true);
	config.mtu = ND_PORT_MTU_MAX + 1;
	CHECK(!nd_port_open(&config, &error));
	CHECK(strstr(error.text, "MTU 9217 is not in 68..9216"));
	config = config_of(true);
	config.rx_frames = ND_PORT_RING_FRAMES_MAX + 1;
	CHECK(!nd_port_open(&config, &error));
	choose_name("nobody");
	config = config_of(false);
	CHECK(!nd_port_open(&config, &error));
	CHECK_EQ(error.code, -ECONNREFUSED);
	CHECK(strstr(error.text, "start the listening end first"));
}

TEST(nd_port_open__names_a_taken_name)
{
	struct nd_port_config config;
	struct nd_port *first;

	choose_name("taken");
	first = open_end(true);
	config = config_of(true);
	CHECK(!nd_port_open(&config, &error));
	CHECK_EQ(error.code, -EADDRINUSE);
	CHECK(strstr(error.text, "another process listens"));
	nd_port_close(first);
	nd_port_close(open_end(true));
}

/* A path that a killed process left behind is taken over, and removed on close. */
TEST(nd_port_open__takes_over_a_stale_path)
{
	struct nd_port *a, *b;
	pid_t child;
	int status;

	snprintf(name, sizeof(name), "/tmp/ndpstack-test-memory-%d", getpid());
	child = fork();
	if (child == 0) {
		if (nd_fds_listen(name, &error) < 0)
			_exit(1);
		kill(getpid(), SIGKILL);
	}
	CHECK_EQ(waitpid(child, &status, 0), child);
	CHECK(WIFSIGNALED(status));
	CHECK_EQ(access(name, F_OK), 0);
	a = open_end(true);
	b = open_end(false);
	CHECK_EQ(nd_port_check(a, 0, &error), ND_PORT_UP);
	nd_port_close(b);
	nd_port_close(a);
	CHECK(access(name, F_OK) < 0);
}

/* What has the name but is no socket of ours is somebody's, and stays. */
TEST(nd_port_open__spares_what_else_has_its_name)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	struct nd_port_config config = config_of(true);
	int other;

	snprintf(name, sizeof(name), "/tmp/test-memory-%d", getpid());
	memcpy(address.sun_path, name, sizeof(name));
	other = open(name, O_CREAT | O_EXCL | O_WRONLY, 0600);
	CHECK(other >= 0);
	CHECK(!nd_port_open(&config, &error));
	CHECK(strstr(error.text, "no socket"));
	CHECK_EQ(unlink(name), 0);
	close(other);
	other = socket(AF_UNIX, SOCK_STREAM, 0);
	CHECK_EQ(bind(other, (struct sockaddr *)&address, sizeof(address)), 0);
	CHECK_EQ(listen(other, 1), 0);
	CHECK(!nd_port_open(&config, &error));
	CHECK_EQ(error.code, -EADDRINUSE);
	CHECK(strstr(error.text, "another process listens"));
	CHECK_EQ(unlink(name), 0);
	close(other);
}

/* Two ends on one port: the second is refused and told so; the first is undisturbed. */
TEST(nd_port_check__refuses_a_second_peer)
{
	struct nd_port *a, *b, *late;

	open_pair(&a, &b, "second");
	late = open_end(false);
	CHECK_EQ(nd_port_check(a, 0, &error), ND_PORT_UP);
	CHECK_EQ(a->counters.peer_refused, 1);
	CHECK_EQ(nd_port_check(late, 0, &error), ND_PORT_GONE);
	CHECK(strstr(error.text, "is gone"));
	CHECK_EQ(send_numbered(b, 0, 1, 60), 1);
	CHECK_EQ(receive_numbered(a, 0, 60), 1);
	nd_port_close(late);
	nd_port_close(a);
	nd_port_close(b);
}

TEST(nd_port_check__names_an_mtu_mismatch)
{
	struct nd_port_config config;
	struct nd_port *a, *b;

	choose_name("mtu");
	a = open_end(true);
	config = config_of(false);
	config.mtu = 9000;
	b = nd_port_open(&config, &error);
	CHECK(b);
	CHECK_EQ(nd_port_check(a, 0, &error), ND_PORT_DOWN);
	CHECK(strstr(error.text, "peer with MTU 9000, ours is 1500"));
	nd_port_close(a);
	nd_port_close(b);
}

/* What a peer sent before it went is still delivered; then a new one may come. */
TEST(nd_port_check__survives_its_peer)
{
	struct nd_port *a, *b;

	open_pair(&a, &b, "survives");
	CHECK_EQ(send_numbered(b, 0, 3, 60), 3);
	nd_port_close(b);
	CHECK_EQ(nd_port_check(a, 0, &error), ND_PORT_UP);
	CHECK_EQ(receive_numbered(a, 0, 60), 3);
	CHECK_EQ(nd_port_check(a, 0, &error), ND_PORT_DOWN);
	CHECK_EQ(send_numbered(a, 0, 2, 60), 2);
	CHECK_EQ(a->counters.tx_dropped_down, 2);
	b = open_end(false);
	CHECK_EQ(nd_port_check(a, 0, &error), ND_PORT_UP);
	CHECK_EQ(send_numbered(b, 9, 1, 60), 1);
	CHECK_EQ(receive_numbered(a, 9, 60), 1);
	nd_port_close(a);
	CHECK_EQ(nd_port_check(b, 0, &error), ND_PORT_GONE);
	CHECK(strstr(error.text, "reopen this port"));
	nd_port_close(b);
}

/* What a connecting end says of its memory. */
struct geometry {
	uint64_t magic;
	uint32_t mtu, slots, slot_bytes, reserved;
};

static const struct geometry sound = { UINT64_C(0x6e6470706f727432), 1500, 8, SLOT_BYTES, 0 };

static int brought[3]; /* memory, the bell of the listening end, our own */

/* Hands over sealed memory of the size that the geometry asks for; returns it. */
static uint32_t *bring(int connection, const struct geometry *geometry)
{
	size_t total = 2 * (192 + (size_t)geometry->slots * geometry->slot_bytes);
	int fds[3] = { memfd_create("test", MFD_ALLOW_SEALING), eventfd(0, EFD_NONBLOCK),
		       eventfd(0, EFD_NONBLOCK) };
	uint32_t *map;

	CHECK_EQ(ftruncate(fds[0], (off_t)total), 0);
	CHECK_EQ(fcntl(fds[0], F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL), 0);
	map = mmap(NULL, total, PROT_READ | PROT_WRITE, MAP_SHARED, fds[0], 0);
	CHECK_EQ(nd_fds_send(connection, geometry, sizeof(*geometry), fds, 3), 0);
	memcpy(brought, fds, sizeof(brought));
	return map;
}

/* A hostile process that got the memory: lying cursors and lengths never lead out of the ring. */
TEST(nd_port_receive__survives_a_hostile_peer)
{
	struct pollfd entry = { .events = POLLIN };
	struct nd_port *a;
	uint32_t *map;
	int connection;

	choose_name("hostile");
	a = open_end(true);
	connection = nd_fds_connect(name, &error);
	map = bring(connection, &sound);
	CHECK_EQ(nd_port_check(a, 0, &error), ND_PORT_UP);
	map[192 / 4] = UINT32_MAX;
	map[(192 + SLOT_BYTES) / 4] = 1;
	map[(192 + 2 * SLOT_BYTES) / 4] = 60;
	map[0] = 3;
	CHECK_EQ(nd_port_receive(a, frames, BATCH), 1);
	CHECK_EQ(frames[0].bytes, 60);
	nd_port_release(a);
	CHECK_EQ(a->counters.rx_dropped_corrupt, 2);
	map[0] = 3 + 9;
	CHECK_EQ(nd_port_receive(a, frames, BATCH), 0);
	CHECK_EQ(nd_port_check(a, 0, &error), ND_PORT_DOWN);
	CHECK(strstr(error.text, "nonsense"));
	CHECK_EQ(nd_port_descriptors(a, &entry.fd), 1);
	CHECK_EQ(eventfd_write(brought[1], 1), 0); /* it still holds the bell: nobody listens to it */
	CHECK_EQ(poll(&entry, 1, 0), 0);
	nd_port_close(a);
	close(connection);
}

/* Slots that hold no whole frame, lie askew or are no power of two. */
TEST(nd_port_check__refuses_an_impossible_layout)
{
	static const uint32_t wrong[][2] = { { 8, SLOT_BYTES - 64 }, { 8, SLOT_BYTES + 1 },
					     { 8, 1 << 20 },         { 7, SLOT_BYTES },
					     { 0, SLOT_BYTES } };
	struct nd_port *a;

	choose_name("layout");
	a = open_end(true);
	for (uint32_t i = 0; i < ND_ARRAY_SIZE(wrong); i++) {
		struct geometry geometry = sound;
		int connection = nd_fds_connect(name, &error);

		geometry.slots = wrong[i][0];
		geometry.slot_bytes = wrong[i][1];
		bring(connection, &geometry);
		CHECK_EQ(nd_port_check(a, 0, &error), ND_PORT_DOWN);
		CHECK(strstr(error.text, "impossible layout"));
		CHECK_EQ(a->counters.peer_refused, i + 1);
		close(connection);
	}
	nd_port_close(a);
}

/* Memory that could still shrink under us, or of another size than claimed, is refused. */
TEST(nd_port_check__refuses_unsealed_memory)
{
	struct nd_port *a;
	int fds[3], connection;

	choose_name("unsealed");
	a = open_end(true);
	for (uint32_t i = 0; i < 3; i++)
		fds[i] = memfd_create("test", MFD_ALLOW_SEALING);
	CHECK_EQ(ftruncate(fds[0], 1 << 20), 0);
	connection = nd_fds_connect(name, &error);
	CHECK_EQ(nd_fds_send(connection, &sound, sizeof(sound), fds, 3), 0);
	CHECK_EQ(nd_port_check(a, 0, &error), ND_PORT_DOWN);
	CHECK(strstr(error.text, "impossible layout"));
	close(connection);
	connection = nd_fds_connect(name, &error);
	CHECK_EQ(nd_fds_send(connection, &sound, 8, fds, 1), 0);
	CHECK_EQ(nd_port_check(a, 0, &error), ND_PORT_DOWN);
	CHECK(strstr(error.text, "no memory"));
	CHECK_EQ(a->counters.peer_refused, 2);
	close(connection);
	nd_port_close(a);
}

static uint32_t count_descriptors(void)
{
	uint32_t count = 0;

	for (int fd = 0; fd < 256; fd++)
		count += fcntl(fd, F_GETFD) >= 0;
	return count;
}

/* Descriptors that come with an empty message are closed like those of any other wrong one. */
TEST(nd_port_check__keeps_nothing_of_an_empty_message)
{
	int fds[3] = { STDIN_FILENO, STDIN_FILENO, STDIN_FILENO }, connection;
	struct nd_port *a;
	uint32_t before;

	choose_name("empty");
	a = open_end(true);
	connection = nd_fds_connect(name, &error);
	before = count_descriptors();
	CHECK_EQ(nd_fds_send(connection, "", 0, fds, 3), 0);
	CHECK_EQ(nd_port_check(a, 0, &error), ND_PORT_DOWN);
	CHECK_EQ(a->counters.peer_refused, 1);
	CHECK_EQ(count_descriptors(), before);
	nd_port_close(a);
	close(connection);
}

/* A connection that has brought nothing yet is waited for, and gives way to one that has. */
TEST(nd_port_check__waits_for_what_a_peer_brings)
{
	struct nd_port *a, *b;
	int silent;

	choose_name("silent");
	a = open_end(true);
	silent = nd_fds_connect(name, &error);
	CHECK_EQ(nd_port_check(a, 0, &error), ND_PORT_DOWN);
	CHECK(strstr(error.text, "nobody has connected yet"));
	CHECK(!nd_fds_hung_up(silent));
	b = open_end(false);
	CHECK_EQ(nd_port_check(a, 0, &error), ND_PORT_UP);
	CHECK(nd_fds_hung_up(silent));
	CHECK_EQ(a->counters.peer_refused, 1);
	close(silent);
	nd_port_close(a);
	nd_port_close(b);
}

TEST(nd_port_arm__blocks_and_is_woken)
{
	struct pollfd entry = { .events = POLLIN };
	struct nd_port *a, *b;

	open_pair(&a, &b, "arm");
	CHECK_EQ(nd_port_descriptors(a, &entry.fd), 1);
	CHECK(nd_port_arm(a));
	CHECK_EQ(poll(&entry, 1, 0), 0);
	CHECK_EQ(send_numbered(b, 0, 2, 60), 2);
	CHECK_EQ(poll(&entry, 1, 0), 1);
	CHECK_EQ(receive_numbered(a, 0, 60), 2);
	CHECK_EQ(poll(&entry, 1, 0), 0);
	CHECK_EQ(send_numbered(b, 2, 1, 60), 1);
	CHECK_EQ(b->counters.tx_kicks, 1);
	CHECK(!nd_port_arm(a));
	CHECK_EQ(receive_numbered(a, 2, 60), 1);
	nd_port_close(b);
	CHECK_EQ(poll(&entry, 1, 0), 1);
	nd_port_close(a);
}

#define TRANSFERS 50000u

static void *send_many(void *argument)
{
	struct nd_port *port = argument;
	struct nd_frame out[8];

	for (uint32_t sent = 0; sent < TRANSFERS;) {
		uint32_t room = nd_port_reserve(port, out, nd_min_u32(8, TRANSFERS - sent));

		for (uint32_t i = 0; i < room; i++) {
			uint32_t number = sent + i;

			memcpy(out[i].data, &number, sizeof(number));
			out[i].bytes = 64;
		}
		nd_port_commit(port, out, room);
		nd_port_flush(port);
		sent += room;
	}
	return NULL;
}

TEST(nd_port__keeps_order_between_threads)
{
	struct pollfd entry = { .events = POLLIN };
	struct nd_port *a, *b;
	pthread_t thread;
	uint32_t expected = 0;

	open_pair(&a, &b, "threads");
	nd_port_descriptors(a, &entry.fd);
	CHECK_EQ(pthread_create(&thread, NULL, send_many, b), 0);
	while (expected < TRANSFERS) {
		uint32_t count = nd_port_receive(a, frames, BATCH);

		for (uint32_t i = 0; i < count; i++)
			CHECK_EQ(memcmp(frames[i].data, &(uint32_t){ expected + i }, 4), 0);
		expected += count;
		nd_port_release(a);
		if (!count && nd_port_arm(a))
			CHECK(poll(&entry, 1, 10000) > 0);
	}
	CHECK_EQ(pthread_join(thread, NULL), 0);
	nd_port_close(a);
	nd_port_close(b);
}

static void *receive_elsewhere(void *argument)
{
	nd_port_receive(argument, frames, BATCH);
	return NULL;
}

/* X26: a ring has one owner; a second thread is a bug that stops at once, unless handed over. */
TEST(nd_port__has_one_owner_thread)
{
	struct nd_port *a, *b;
	pthread_t thread;
	pid_t child;
	int status;

	open_pair(&a, &b, "owner");
	CHECK_EQ(nd_port_receive(a, frames, BATCH), 0);
	child = fork();
	if (child == 0) {
		if (!freopen("/dev/null", "w", stderr))
			_exit(1);
		pthread_create(&thread, NULL, receive_elsewhere, a);
		pthread_join(thread, NULL);
		_exit(0);
	}
	CHECK_EQ(waitpid(child, &status, 0), child);
	CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
	nd_port_disown(a);
	CHECK_EQ(pthread_create(&thread, NULL, receive_elsewhere, a), 0);
	CHECK_EQ(pthread_join(thread, NULL), 0);
	nd_port_close(a);
	nd_port_close(b);
}

int main(int argc, char **argv)
{
	return nd_test_main(argc, argv);
}
