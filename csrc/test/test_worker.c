// SPDX-License-Identifier: Apache-2.0
/* The loop of a switch thread: what it sleeps on. */
#include "switch/worker.h"
#include "test/switch_bed.h"

#include <poll.h>
#include <sys/syscall.h>

static nfds_t polled; /* most descriptors that the worker slept on */
static const struct nd_port_ops *real_ops;

/* In place of the C library's. */
int ppoll(struct pollfd *polls, nfds_t count, const struct timespec *timeout,
	  const sigset_t *signals)
{
	struct timespec left = *timeout;

	(void)signals;
	if (count > __atomic_load_n(&polled, __ATOMIC_RELAXED))
		__atomic_store_n(&polled, count, __ATOMIC_RELAXED);
	return (int)syscall(SYS_ppoll, polls, count, &left, NULL, 0);
}

/* As many as a port can have: each queue of an AF_XDP port has its own. */
static uint32_t most_descriptors(const struct nd_port *port, int *descriptors)
{
	CHECK_EQ(real_ops->descriptors(port, descriptors), 1);
	for (uint32_t i = 1; i < ND_PORT_DESCRIPTORS_MAX; i++)
		descriptors[i] = descriptors[0];
	return ND_PORT_DESCRIPTORS_MAX;
}

static void fill_switch(struct nd_port_ops *ops)
{
	struct nd_switch_port_settings settings = {
		.discipline = &nd_droptail_ops,
		.discipline_config = &droptail,
	};
	char name[64];

	open_switch(true, 256);
	for (uint32_t i = 0; i < ND_SWITCH_PORTS_MAX; i++) {
		struct nd_port *port;

		snprintf(name, sizeof(name), "test-worker-%d-%u", getpid(), i);
		port = open_end(name, true);
		real_ops = port->ops;
		*ops = *real_ops;
		ops->descriptors = most_descriptors;
		port->ops = ops;
		CHECK_EQ(nd_switch_add_port(sw, port, &settings, &error), i);
	}
}

/* Frames of a port that is left out would wait for the next look after the links. */
TEST(arm__leaves_no_port_out)
{
	struct nd_worker_config config = nd_worker_config_default();
	struct nd_worker *worker;
	struct nd_port_ops ops;
	uint64_t before;

	fill_switch(&ops);
	config.spin_ns = 0;
	worker = nd_worker_start(&config, &error);
	CHECK(worker);
	CHECK_EQ(nd_worker_add(worker, sw), 0);
	before = nd_worker_stats(worker).sleeps;
	while (nd_worker_stats(worker).sleeps < before + 2)
		sched_yield();
	CHECK_EQ(polled, 1 + ND_SWITCH_PORTS_MAX * ND_PORT_DESCRIPTORS_MAX);
	nd_worker_stop(worker);
	close_all();
}

int main(int argc, char **argv)
{
	return nd_test_main(argc, argv);
}
