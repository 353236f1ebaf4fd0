// SPDX-License-Identifier: Apache-2.0
/* Memory ports before other ends that come, go, differ, or are hostile. */
#include "port/fds.h"
#include "test/descriptors.h"
#include "test/memory_ends.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>

#ifndef F_SEAL_EXEC
#define F_SEAL_EXEC 0x20 /* younger than the headers of some distributions */
#endif

#define SLOT_BYTES 1600u /* of a port with an MTU of 1500 */

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

static const struct geometry sound = { UINT64_C(0x6e6470706f727433), 1500, 8, SLOT_BYTES, 0 };

static int further_seal; /* of the memory that is brought */

/* Hands over sealed memory of the size that the geometry asks for; returns it. */
static uint32_t *bring(int connection, const struct geometry *geometry)
{
	size_t total = 2 * (192 + (size_t)geometry->slots * geometry->slot_bytes);
	int memory = memfd_create("test", MFD_ALLOW_SEALING);
	uint32_t *map;

	CHECK_EQ(ftruncate(memory, (off_t)total), 0);
	CHECK_EQ(fchmod(memory, 0600), 0); /* or it would be sealed against writing, too */
	fcntl(memory, F_ADD_SEALS, further_seal); /* kernels before 6.3 have none */
	CHECK_EQ(fcntl(memory, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL), 0);
	map = mmap(NULL, total, PROT_READ | PROT_WRITE, MAP_SHARED, memory, 0);
	CHECK_EQ(nd_fds_send(connection, geometry, sizeof(*geometry), &memory, 1), 0);
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
	CHECK(send(connection, "", 1, MSG_NOSIGNAL) < 0); /* nobody listens to its bell */
	CHECK_EQ(poll(&entry, 1, 0), 0);
	nd_port_close(a);
	close(connection);
}

/* An end that rings without reason, and hears no ring itself, wakes the other and no more. */
TEST(nd_port_flush__survives_a_hostile_bell)
{
	struct pollfd entry = { .events = POLLIN };
	struct nd_port *a;
	uint32_t *map;
	int connection;

	choose_name("bell");
	a = open_end(true);
	connection = nd_fds_connect(name, &error);
	map = bring(connection, &sound);
	CHECK_EQ(nd_port_check(a, 0, &error), ND_PORT_UP);
	CHECK_EQ(nd_port_descriptors(a, &entry.fd), 1);
	for (uint32_t i = 0; i < 3; i++)
		CHECK_EQ(send(connection, "psst", 4, 0), 4);
	for (uint32_t i = 0; i < 3; i++) {
		CHECK(nd_port_arm(a));
		CHECK_EQ(poll(&entry, 1, 0), 1);
		CHECK_EQ(nd_port_receive(a, frames, BATCH), 0);
	}
	CHECK(nd_port_arm(a));
	CHECK_EQ(poll(&entry, 1, 0), 0);
	for (uint32_t i = 0; i < 1000; i++) {
		map[(192 + 8 * SLOT_BYTES + 128) / 4] = 1; /* it blocks, it says */
		nd_port_flush(a);
	}
	CHECK_EQ(a->counters.tx_kicks, 1000);
	close(connection);
	map[(192 + 8 * SLOT_BYTES + 128) / 4] = 1;
	nd_port_flush(a);
	nd_port_close(a);
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
	int memory = memfd_create("test", MFD_ALLOW_SEALING), connection;

	choose_name("unsealed");
	a = open_end(true);
	CHECK_EQ(ftruncate(memory, 1 << 20), 0);
	connection = nd_fds_connect(name, &error);
	CHECK_EQ(nd_fds_send(connection, &sound, sizeof(sound), &memory, 1), 0);
	CHECK_EQ(nd_port_check(a, 0, &error), ND_PORT_DOWN);
	CHECK(strstr(error.text, "impossible layout"));
	close(connection);
	connection = nd_fds_connect(name, &error);
	CHECK_EQ(nd_fds_send(connection, &sound, 8, &memory, 1), 0);
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

/* Where no memory may run as code, the kernel adds a seal of its own to all that is made. */
TEST(nd_port_check__takes_memory_that_is_sealed_further)
{
	struct nd_port *a;
	int connection;

	choose_name("further");
	a = open_end(true);
	connection = nd_fds_connect(name, &error);
	further_seal = F_SEAL_EXEC;
	bring(connection, &sound);
	further_seal = 0;
	CHECK_EQ(nd_port_check(a, 0, &error), ND_PORT_UP);
	nd_port_close(a);
	close(connection);
}

/* True when the port's owner would be woken. */
static bool wakes(const struct nd_port *port)
{
	int descriptors[ND_PORT_DESCRIPTORS_MAX];
	struct pollfd entry = { .events = POLLIN };

	CHECK_EQ(nd_port_descriptors(port, descriptors), 1);
	entry.fd = descriptors[0];
	return poll(&entry, 1, 0) == 1;
}

/* A peer for whom there is no descriptor waits for a check that has one, and wakes nobody. */
TEST(nd_port_check__sleeps_without_a_descriptor)
{
	struct nd_port *a;
	int connection;
	rlim_t before;

	choose_name("descriptors");
	a = open_end(true);
	connection = nd_fds_connect(name, &error);
	CHECK(wakes(a));
	before = set_descriptors_max(next_descriptor());
	CHECK_EQ(nd_port_check(a, 0, &error), ND_PORT_DOWN);
	CHECK(strstr(error.text, "no free descriptor"));
	CHECK(!wakes(a));
	set_descriptors_max(before);
	bring(connection, &sound);
	CHECK_EQ(nd_port_check(a, 0, &error), ND_PORT_UP);
	close(nd_fds_connect(name, &error));
	CHECK(wakes(a));
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

int main(int argc, char **argv)
{
	return nd_test_main(argc, argv);
}
