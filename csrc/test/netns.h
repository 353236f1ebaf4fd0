/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A private network namespace for one test program: nameless, so it vanishes with the process.
 *
 * Interfaces are made with iproute2. A program that cannot have a namespace says why and skips.
 */
#ifndef ND_TEST_NETNS_H
#define ND_TEST_NETNS_H

#include "port/port.h"
#include "test/harness.h"

#include <errno.h>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <sched.h>
#include <stdarg.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

static inline void netns_skip(const char *why)
{
	printf("SKIP: %s\n", why);
	exit(ND_TEST_SKIP);
}

/* Runs a shell command; its output is shown only when it fails. */
__attribute__((format(printf, 1, 2))) static inline void shell(const char *format, ...)
{
	char command[512], line[560];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(command, sizeof(command), format, arguments);
	va_end(arguments);
	snprintf(line, sizeof(line), "%s", command);
	if (system(line) != 0) {
		fprintf(stderr, "  command failed: %s\n", command);
		nd_test_fail(__FILE__, __LINE__, "shell");
	}
}

static inline void netns_enter(void)
{
	if (system("ip -V >/dev/null 2>&1") != 0)
		netns_skip("this test needs iproute2's ip");
	if (unshare(CLONE_NEWNET | CLONE_NEWNS) < 0)
		netns_skip("this test needs a network namespace (root or CAP_SYS_ADMIN)");
	CHECK_EQ(mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL), 0);
	shell("ip link set lo up");
}

/*
 * A worker of the kernel says so, up to a second after `ip link set up` has returned. Who asks
 * ethtool for the carrier makes kernels since 6.8 say so at once.
 */
static inline void await_running(const char *name)
{
	struct ethtool_value carrier = { .cmd = ETHTOOL_GLINK };
	struct ifreq link = { .ifr_data = (void *)&carrier }, flags = { 0 };
	int control = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	snprintf(link.ifr_name, sizeof(link.ifr_name), "%s", name);
	snprintf(flags.ifr_name, sizeof(flags.ifr_name), "%s", name);
	for (int tries = 0; tries < 10000 && !(flags.ifr_flags & IFF_RUNNING); tries++) {
		usleep(tries ? 1000 : 0);
		CHECK_EQ(ioctl(control, SIOCETHTOOL, &link), 0);
		CHECK_EQ(ioctl(control, SIOCGIFFLAGS, &flags), 0);
	}
	CHECK(flags.ifr_flags & IFF_RUNNING);
	close(control);
}

/* A veth pair as below; a gets the index, if that is not 0. */
static inline void veth_add_as(const char *a, unsigned index, const char *b, unsigned mtu)
{
	char wanted[32] = "";

	if (index)
		snprintf(wanted, sizeof(wanted), "index %u", index);
	shell("ip link add %s %s mtu %u type veth peer name %s mtu %u", a, wanted, mtu, b, mtu);
	shell("echo 1 > /proc/sys/net/ipv6/conf/%s/disable_ipv6", a);
	shell("echo 1 > /proc/sys/net/ipv6/conf/%s/disable_ipv6", b);
	shell("ip link set %s address 02:00:00:00:00:01 up", a);
	shell("ip link set %s address 02:00:00:00:00:02 up", b);
	await_running(a);
	await_running(b);
}

/* A veth pair a-b, both up and running, with known MAC addresses, quiet (no IPv6 chatter). */
static inline void veth_add(const char *a, const char *b, unsigned mtu)
{
	veth_add_as(a, 0, b, mtu);
}

static inline void veth_set_mtu(const char *name, unsigned mtu)
{
	shell("ip link set %s mtu %u", name, mtu);
}

static inline void veth_delete(const char *a)
{
	shell("ip link del %s", a);
}

/* Deletes the pair and makes it again, so that a has the index that it had. */
static inline void veth_replace(const char *a, const char *b, unsigned mtu)
{
	unsigned index = if_nametoindex(a);

	veth_delete(a);
	veth_add_as(a, index, b, mtu);
}

/*
 * The port gets into the state, within the time that the kernel takes to notice: carrier is told
 * by a worker of its own, late on a busy machine. The port is told the same time throughout.
 */
static inline void await_state(struct nd_port *port, nd_ns now, enum nd_port_state state,
			       struct nd_error *error)
{
	for (uint32_t i = 0; i < 5000 && nd_port_check(port, now, error) != state; i++)
		usleep(1000);
	CHECK_EQ(nd_port_check(port, now, error), state);
}

#endif
