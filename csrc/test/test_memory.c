// SPDX-License-Identifier: Apache-2.0
/* Memory ports and the contract that every port keeps: batches, sizes, backpressure, names. */
#include "port/fds.h"
#include "test/memory_ends.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

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

/* An abstract name is one of a network namespace: of the one that was asked for. */
TEST(nd_port_open__enters_the_namespace)
{
	struct nd_port_config config = {
		.backend = ND_PORT_MEMORY,
		.name = "test-memory-netns",
		.netns = "test-memory-nowhere",
		.memory.listen = true,
	};

	CHECK(!nd_port_open(&config, &error));
	CHECK_EQ(error.code, -ENOENT);
	CHECK(strstr(error.text, "network namespace test-memory-nowhere"));
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

TEST(nd_port_arm__blocks_and_is_woken)
{
	struct pollfd entry = { .events = POLLIN };
	struct nd_port *ends[2];

	open_pair(&ends[0], &ends[1], "arm");
	for (uint32_t i = 0; i < 6; i++) { /* each end by turns, time and again */
		struct nd_port *a = ends[i & 1], *b = ends[!(i & 1)];

		CHECK_EQ(nd_port_descriptors(a, &entry.fd), 1);
		CHECK(nd_port_arm(a));
		CHECK_EQ(poll(&entry, 1, 0), 0);
		CHECK_EQ(send_numbered(b, 0, 2, 60), 2);
		CHECK_EQ(poll(&entry, 1, 0), 1);
		CHECK_EQ(receive_numbered(a, 0, 60), 2);
		CHECK_EQ(poll(&entry, 1, 0), 0);
		CHECK_EQ(send_numbered(b, 2, 1, 60), 1);
		CHECK_EQ(b->counters.tx_kicks, i / 2 + 1);
		CHECK(!nd_port_arm(a));
		CHECK_EQ(receive_numbered(a, 2, 60), 1);
	}
	CHECK_EQ(nd_port_descriptors(ends[0], &entry.fd), 1);
	CHECK_EQ(poll(&entry, 1, 0), 0);
	nd_port_close(ends[1]);
	CHECK_EQ(poll(&entry, 1, 0), 1);
	nd_port_close(ends[0]);
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
