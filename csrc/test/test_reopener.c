// SPDX-License-Identifier: Apache-2.0
/* Ports that are opened again by a thread of their own. */
#include "port/reopener.h"
#include "test/harness.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

static const struct nd_port_config config = { .backend = ND_PORT_UDP, .name = "127.0.77.1:47150" };
static struct nd_error error;

static struct nd_port *open_port(void)
{
	struct nd_port *port = nd_port_open(&config, &error);

	CHECK(port);
	return port;
}

static struct nd_reopener *start(struct nd_port *old)
{
	struct nd_reopener *reopener = nd_reopener_start(&config, old, &error);

	CHECK(reopener);
	return reopener;
}

static struct nd_port *await_opening(struct nd_reopener *reopener)
{
	struct nd_port *port = NULL;

	for (uint32_t i = 0; i < 10000 && !port; i++) {
		port = nd_reopener_take(reopener, &error);
		usleep(port ? 0 : 1000);
	}
	CHECK(port);
	return port;
}

/* The old opening is closed first: the new one has the same address. */
TEST(nd_reopener_take__gives_the_new_opening_once)
{
	struct nd_reopener *reopener = start(open_port());
	struct nd_port *port = await_opening(reopener);

	CHECK(!nd_reopener_take(reopener, &error));
	nd_reopener_stop(reopener);
	nd_port_close(port);
	nd_port_close(open_port());
}

/* What is in the way is told, and when it has gone the port is opened. */
TEST(nd_reopener_take__tells_why_it_waits)
{
	struct nd_port_config other = config;
	struct nd_port *old, *holder, *port;
	struct nd_reopener *reopener;

	other.name = "127.0.77.2:47150";
	old = nd_port_open(&other, &error);
	holder = open_port();
	CHECK(old);
	reopener = start(old);
	do
		CHECK(!nd_reopener_take(reopener, &error));
	while (error.code == -EINPROGRESS);
	CHECK_EQ(error.code, -EADDRINUSE);
	CHECK(strstr(error.text, "127.0.77.1:47150"));
	nd_port_close(holder);
	port = await_opening(reopener);
	nd_reopener_stop(reopener);
	nd_port_close(port);
}

/* An opening that nobody took is closed, one that is waited for no more is not made. */
TEST(nd_reopener_stop__leaves_nothing_open)
{
	struct nd_port *holder, *old;

	for (uint32_t i = 0; i < 20; i++) {
		struct nd_reopener *reopener = start(open_port());

		usleep(i * 50);
		nd_reopener_stop(reopener);
		holder = open_port();
		old = nd_port_open(&(struct nd_port_config){ .backend = ND_PORT_UDP,
							     .name = "127.0.77.2:47150" },
				   &error);
		reopener = start(old);
		nd_reopener_stop(reopener);
		nd_port_close(holder);
	}
	nd_port_close(open_port());
}

int main(int argc, char **argv)
{
	return nd_test_main(argc, argv);
}
