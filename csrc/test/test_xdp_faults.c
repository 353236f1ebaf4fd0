// SPDX-License-Identifier: Apache-2.0
/* XDP ports when something is in the way: each refusal names its remedy, nothing is left behind. */
#include "port/bpf.h"
#include "port/xdp.h"
#include "port/xdp_occupant.h"
#include "port/xdp_program.h"
#include "port/xdp_socket.h"
#include "test/frames.h"
#include "test/netns.h"
#include "test/open_ports.h"

#include <linux/capability.h>
#include <net/if.h>
#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>

static struct nd_port *open_ours(const char *name)
{
	struct nd_port_config config = config_of(ND_PORT_XDP, name);

	return open_config(&config);
}

/* The configuration is refused with the code, and the text contains the words. */
static void check_refused(const struct nd_port_config *config, int code, const char *words)
{
	CHECK(!nd_port_open(config, &error));
	if (error.code != code || !strstr(error.text, words))
		fprintf(stderr, "  %d: %s\n", error.code, error.text);
	CHECK_EQ(error.code, code);
	CHECK(strstr(error.text, words));
}

static void check_attached(const char *name, bool attached)
{
	char text[ND_XDP_OCCUPANT_TEXT_BYTES];
	struct nd_xdp_occupant occupant;

	nd_xdp_occupant_find(&occupant, if_nametoindex(name));
	nd_xdp_occupant_describe(&occupant, text);
	CHECK_EQ(occupant.ours, attached);
	CHECK_EQ(strncmp(text, "program ndpstack (id ", 21) == 0, attached);
	CHECK_EQ(strcmp(text, "no program") == 0, !attached);
}

/* Runs the case in a child, whose exit status has to be 0. */
static void in_child(void (*run)(void))
{
	pid_t child = fork();
	int status;

	if (child == 0) {
		run();
		_exit(0);
	}
	CHECK_EQ(waitpid(child, &status, 0), child);
	CHECK_EQ(status, 0);
}

/* X1, AFXDP A.8.1: the kernel lets go of a queue late; reopening at once works all the same. */
TEST(nd_xdp_open__reopens_at_once)
{
	struct nd_port *a, *b;

	veth_add("x0", "x1", 1500);
	a = open_ours("x0");
	for (uint32_t i = 0; i < 20; i++) {
		b = open_ours("x1");
		CHECK_EQ(send_udp_frames(a, 0, 20, 64, OUR_PORT), 20);
		CHECK_EQ(await_udp_frames(b, 0, 20, 64), 20);
		nd_port_close(b);
		check_attached("x1", false);
	}
	nd_port_close(a);
	veth_delete("x0");
}

static void *send_until_told(void *argument)
{
	struct nd_port *port = open_ours("x0");
	bool *stop = argument;

	while (!__atomic_load_n(stop, __ATOMIC_RELAXED)) {
		send_udp_frames(port, 0, 32, 64, OUR_PORT);
		usleep(100);
	}
	nd_port_close(port);
	return NULL;
}

/* X11, T30: a port is closed under full load; whatever is in flight then hits nothing. */
TEST(nd_xdp_close__under_load)
{
	pthread_t thread;
	bool stop = false;

	veth_add("x0", "x1", 1500);
	CHECK_EQ(pthread_create(&thread, NULL, send_until_told, &stop), 0);
	for (uint32_t i = 0; i < 20; i++) {
		struct nd_port *b = open_ours("x1");

		await_frame(b);
		nd_port_release(b);
		nd_port_close(b);
	}
	__atomic_store_n(&stop, true, __ATOMIC_RELAXED);
	CHECK_EQ(pthread_join(thread, NULL), 0);
	veth_delete("x0");
}

/* X10, T29: a killed process leaves no program, and its successor starts within two seconds. */
TEST(nd_xdp_open__after_a_kill)
{
	veth_add("x0", "x1", 1500);
	for (uint32_t i = 0; i < 10; i++) {
		int ready[2], status;
		uint64_t start;
		char byte;
		pid_t child;

		CHECK_EQ(pipe(ready), 0);
		child = fork();
		if (child == 0) {
			open_ours("x1");
			if (write(ready[1], "x", 1) == 1)
				pause();
		}
		CHECK_EQ(read(ready[0], &byte, 1), 1);
		check_attached("x1", true);
		start = clock_ns();
		CHECK_EQ(kill(child, SIGKILL), 0);
		CHECK_EQ(waitpid(child, &status, 0), child);
		nd_port_close(open_ours("x1"));
		check_time(clock_ns() - start, 2 * ND_SEC);
		check_attached("x1", false);
		close(ready[0]);
		close(ready[1]);
	}
	veth_delete("x0");
}

/* X10: somebody else's program is not pushed aside; the message says whose it is. */
TEST(nd_xdp_open__names_the_holder)
{
	struct nd_port_config config = config_of(ND_PORT_XDP, "x0");
	struct nd_port *first;
	uint64_t start;

	veth_add("x0", "x1", 1500);
	first = open_ours("x0");
	start = clock_ns();
	CHECK(!nd_port_open(&config, &error));
	CHECK(error.code == -EBUSY || error.code == -EEXIST);
	CHECK(strstr(error.text, "program ndpstack (id "));
	CHECK(strstr(error.text, "stop its owner"));
	check_time(clock_ns() - start, 4 * ND_SEC);
	check_attached("x0", true);
	nd_port_close(first);
	veth_delete("x0");
}

/* X2, X3: a queue that has a socket already. */
TEST(nd_xdp_open__names_a_held_queue)
{
	struct nd_port_config config = config_of(ND_PORT_XDP, "x0");
	struct nd_xdp_umem *umem = nd_xdp_umem_make(1 << 20, 2048, false);
	struct nd_xdp_binding binding = { .receive_size = 64, .transmit_size = 64, .name = "x0" };
	struct nd_xdp_region region;
	struct nd_xdp_socket socket;

	veth_add("x0", "x1", 1500);
	binding.interface = if_nametoindex("x0");
	CHECK_EQ(nd_xdp_umem_take(umem, 1 << 20, &region), 0);
	CHECK_EQ(nd_xdp_socket_open(&socket, umem, &binding, &error), 0);
	check_refused(&config, -EBUSY, "queue 0 is held by another AF_XDP socket");
	check_attached("x0", false);
	nd_xdp_socket_close(&socket);
	nd_xdp_umem_give(umem, &region);
	nd_port_close(open_ours("x0"));
	veth_delete("x0");
}

/* X21, X30: zero-copy is asked for, not insisted on. */
TEST(nd_xdp_open__degrades_to_copy_mode)
{
	struct nd_port_config config = config_of(ND_PORT_XDP, "x0");
	struct nd_port *port;

	veth_add("x0", "x1", 1500);
	config.xdp.zero_copy = true;
	port = open_config(&config);
	CHECK_STR(port->mode, "xdp generic copy");
	CHECK(strstr(port->note, "copy instead of zero-copy, which driver veth"));
	nd_port_close(port);
	veth_delete("x0");
}

/* T10: any device has generic mode; native mode where there is none is refused with the reason. */
TEST(nd_xdp_open__works_on_devices_without_native_mode)
{
	static const char *const links[][2] = {
		{ "lo", "ip link set lo up" },
		{ "xbr", "ip link add xbr type bridge && ip link set xbr up" },
		{ "xtap", "ip tuntap add xtap mode tap && ip link set xtap up" },
	};

	for (uint32_t i = 0; i < ND_ARRAY_SIZE(links); i++) {
		struct nd_port_config config = config_of(ND_PORT_XDP, links[i][0]);
		struct nd_port *port;

		shell("%s", links[i][1]);
		port = open_config(&config);
		CHECK_EQ(strncmp(port->mode, "xdp generic copy", 16), 0);
		nd_port_close(port);
		if (i == 2)
			continue;
		config.xdp.mode = ND_XDP_NATIVE;
		check_refused(&config, -EOPNOTSUPP, "use mode generic");
	}
	shell("ip link del xbr && ip link del xtap");
}

/* AFXDP A.1, X19: unequal queues forbid native mode; the message says how to make them equal. */
TEST(nd_xdp_open__explains_unequal_queues)
{
	struct nd_port_config config = config_of(ND_PORT_XDP, "x0");

	shell("ip link add x0 numrxqueues 1 numtxqueues 4 type veth peer name x1 numrxqueues 1 "
	      "numtxqueues 4");
	shell("ethtool -L x1 rx 1 tx 4; ip link set x0 up && ip link set x1 up");
	config.xdp.mode = ND_XDP_NATIVE;
	check_refused(&config, -ENOSPC, "make them equal with `ethtool -L`");
	veth_delete("x0");
}

/* X9: the interface that keeps the machine reachable is not taken away by accident. */
TEST(nd_xdp_open__spares_the_default_route)
{
	struct nd_port_config config = config_of(ND_PORT_XDP, "x0");

	veth_add("x0", "x1", 1500);
	shell("ip addr add 10.9.0.77/24 dev x0 && ip route add default via 10.9.0.2");
	nd_port_close(open_config(&config)); /* our share of it harms nobody */
	config.filter = (struct nd_port_filter){ .everything = true };
	check_refused(&config, -EPERM, "carries the default route");
	config.xdp.force = true;
	nd_port_close(open_config(&config));
	shell("ip route del default");
	config.xdp.force = false;
	nd_port_close(open_config(&config));
	shell("echo 0 > /proc/sys/net/ipv6/conf/x0/disable_ipv6");
	shell("ip -6 addr add fd00::77/64 dev x0 nodad && ip -6 route add default via fd00::2");
	check_refused(&config, -EPERM, "carries the default route");
	shell("ip -6 route replace default dev x0");
	check_refused(&config, -EPERM, "carries the default route");
	veth_delete("x0");
}

/* /proc/net/route has the first next hop of a route, and no other. */
TEST(nd_xdp_open__spares_each_way_of_the_default_route)
{
	struct nd_port_config config = config_of(ND_PORT_XDP, "x0");

	config.filter = (struct nd_port_filter){ .everything = true };
	veth_add("x0", "x1", 1500);
	veth_add("y0", "y1", 1500);
	shell("ip addr add 10.9.0.77/24 dev x0 && ip addr add 10.9.1.77/24 dev y0");
	shell("ip route add default nexthop via 10.9.1.2 nexthop via 10.9.0.2");
	check_refused(&config, -EPERM, "carries the default route");
	shell("ip route replace default via 10.9.1.2");
	nd_port_close(open_config(&config));
	veth_delete("x0");
	veth_delete("y0");
}

static void take_no_notice(int signal)
{
	(void)signal;
}

/* As under a profiler: the kernel gives up a load during which a signal comes. */
TEST(nd_bpf_load_xdp__survives_signals)
{
	const struct itimerval often = { .it_interval.tv_usec = 1000, .it_value.tv_usec = 1000 };
	const struct nd_port_filter filter = { .homa = true };
	struct bpf_insn code[ND_XDP_PROGRAM_MAX];
	int map = nd_bpf_socket_map(1);
	uint32_t length = nd_xdp_program(&filter, map, code);

	signal(SIGALRM, take_no_notice);
	CHECK_EQ(setitimer(ITIMER_REAL, &often, NULL), 0);
	for (uint32_t i = 0; i < 500; i++) {
		int program = nd_bpf_load_xdp(code, length, false);

		CHECK(program >= 0);
		close(program);
	}
	CHECK_EQ(setitimer(ITIMER_REAL, &(struct itimerval){ 0 }, NULL), 0);
	close(map);
}

/* X23: a bond's own sockets would see nothing. */
TEST(nd_xdp_open__refuses_a_bond)
{
	struct nd_port_config config = config_of(ND_PORT_XDP, "xbond");

	if (system("ip link add xbond type bond 2>/dev/null") != 0) {
		printf("nd_xdp_open__refuses_a_bond: this kernel has no bonding\n");
		return;
	}
	check_refused(&config, -EOPNOTSUPP, "open its member interfaces");
	shell("ip link del xbond");
}

TEST(nd_xdp_open__explains_what_is_wrong)
{
	struct nd_port_config config = config_of(ND_PORT_XDP, "nothere");

	check_refused(&config, -ENODEV, "`ip link` lists them");
	config.netns = "nd-test-no-such-namespace";
	check_refused(&config, -ENOENT, "`ip netns list`");
	veth_add("x0", "x1", 1500);
	config = config_of(ND_PORT_XDP, "x0");
	config.mtu = 9000;
	check_refused(&config, -EMSGSIZE, "ip link set x0 mtu 9000");
	config = config_of(ND_PORT_XDP, "x0");
	config.xdp.memory_bytes = 65536;
	check_refused(&config, -ENOBUFS, "memory_bytes 65536 is less than");
	config = config_of(ND_PORT_XDP, "x0");
	config.filter.udp_count = 5;
	check_refused(&config, -EINVAL, "at most 4");
	config = config_of(ND_PORT_XDP, "x0");
	config.xdp.map_path = "/sys/fs/bpf/nd-test-nothing";
	check_refused(&config, -ENOENT, "pin the XSKMAP");
	veth_delete("x0");
}

/* X28: an interface of the same name and index in another namespace is another interface. */
TEST(nd_xdp_open__in_another_namespace)
{
	struct nd_port_config config = config_of(ND_PORT_XDP, "x0");
	char path[64];
	int ready[2], go[2], status;
	struct nd_port *port;
	pid_t child;
	char byte;

	CHECK_EQ(pipe(ready) + pipe(go), 0);
	child = fork();
	if (child == 0) {
		CHECK_EQ(unshare(CLONE_NEWNET), 0);
		veth_add("x0", "x1", 1500);
		CHECK_EQ(write(ready[1], "x", 1), 1);
		CHECK_EQ(read(go[0], &byte, 1), 1);
		check_attached("x0", true);
		CHECK_EQ(write(ready[1], "x", 1), 1);
		CHECK_EQ(read(go[0], &byte, 1), 1);
		check_attached("x0", false);
		_exit(0);
	}
	CHECK_EQ(read(ready[0], &byte, 1), 1);
	snprintf(path, sizeof(path), "/proc/%d/ns/net", child);
	config.netns = path;
	port = open_config(&config);
	CHECK(!if_nametoindex("x0")); /* this thread is back where it was */
	CHECK_EQ(nd_port_check(port, 0, &error), ND_PORT_UP);
	CHECK_EQ(write(go[1], "x", 1), 1);
	CHECK_EQ(read(ready[0], &byte, 1), 1);
	nd_port_close(port);
	CHECK_EQ(write(go[1], "x", 1), 1);
	CHECK_EQ(waitpid(child, &status, 0), child);
	CHECK_EQ(status, 0);
}

static void refused_without_capabilities(void)
{
	struct nd_port_config config = config_of(ND_PORT_XDP, "x0");

	CHECK_EQ(setgid(65534) + setuid(65534), 0);
	CHECK(!nd_port_open(&config, &error));
	CHECK(error.code == -EPERM && strstr(error.text, "CAP_NET_ADMIN"));
}

static void refused_by_the_memory_limit(void)
{
	struct nd_port_config config = config_of(ND_PORT_XDP, "x0");
	struct rlimit limit = { 65536, 65536 };
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2];

	CHECK_EQ(setrlimit(RLIMIT_MEMLOCK, &limit), 0);
	CHECK_EQ(syscall(SYS_capget, &header, data), 0);
	data[CAP_IPC_LOCK / 32].effective &= ~(1u << (CAP_IPC_LOCK % 32));
	CHECK_EQ(syscall(SYS_capset, &header, data), 0);
	check_refused(&config, -ENOBUFS, "LimitMEMLOCK=");
	CHECK(strstr(error.text, "64 KiB"));
}

/* AFXDP A.7: all capabilities are needed at open only. */
static void works_without_capabilities(void)
{
	struct nd_port *a = open_ours("x0"), *b = open_ours("x1");

	CHECK_EQ(setgid(65534) + setuid(65534), 0);
	CHECK_EQ(send_udp_frames(a, 0, 50, 64, OUR_PORT), 50);
	CHECK_EQ(await_udp_frames(b, 0, 50, 64), 50);
	CHECK_EQ(nd_port_check(b, 0, &error), ND_PORT_UP);
	CHECK_EQ(nd_port_counters(b)->rx_frames, 50);
	nd_port_close(a);
	nd_port_close(b);
}

/* T32, X31: capabilities and limits. */
TEST(nd_xdp_open__needs_capabilities_only_then)
{
	veth_add("x0", "x1", 1500);
	in_child(refused_without_capabilities);
	in_child(refused_by_the_memory_limit);
	in_child(works_without_capabilities);
	check_attached("x0", false);
	veth_delete("x0");
}

/* AFXDP A.8.7: the interface comes and goes under an open port. */
TEST(nd_xdp_check__follows_the_interface)
{
	struct nd_port *a, *b;

	veth_add("x0", "x1", 1500);
	a = open_ours("x0");
	b = open_ours("x1");
	shell("ip link set x0 down");
	CHECK_EQ(send_udp_frames(a, 0, 1, 64, OUR_PORT), 1); /* finds out by ENETDOWN */
	CHECK_EQ(send_udp_frames(a, 1, 1, 64, OUR_PORT), 1);
	CHECK_EQ(a->counters.tx_dropped_down, 1);
	await_state(a, ND_SEC, ND_PORT_DOWN, &error);
	CHECK(strstr(error.text, "ip link set x0 up"));
	await_state(a, 5 * ND_SEC, ND_PORT_DOWN, &error);
	shell("ip link set x0 up");
	await_state(a, 6 * ND_SEC, ND_PORT_UP, &error);
	CHECK_EQ(await_udp_frames(b, 0, 1, 64), 1);
	CHECK_EQ(send_udp_frames(b, 0, 5, 64, OUR_PORT), 5); /* program and sockets survived */
	CHECK_EQ(await_udp_frames(a, 0, 5, 64), 5);
	shell("ip link set x1 down");
	await_state(a, 7 * ND_SEC, ND_PORT_DOWN, &error);
	CHECK(strstr(error.text, "no carrier"));
	shell("ip link set x1 up && ip link set x0 mtu 1400");
	await_state(a, 8 * ND_SEC, ND_PORT_CHANGED, &error);
	veth_delete("x0");
	await_state(a, 9 * ND_SEC, ND_PORT_GONE, &error);
	CHECK_EQ(send_udp_frames(a, 0, 5, 64, OUR_PORT), 5);
	CHECK_EQ(nd_port_flush(b), 0);
	veth_add("x0", "x1", 1500);
	await_state(a, 10 * ND_SEC, ND_PORT_GONE, &error);
	CHECK(strstr(error.text, "re-created; reopen"));
	nd_port_close(a);
	nd_port_close(b);
	a = open_ours("x0");
	await_state(a, 11 * ND_SEC, ND_PORT_UP, &error);
	nd_port_close(a);
	veth_delete("x0");
}

/* Who is told that frames wait tries again at once, and without end: they wait for a check. */
TEST(nd_xdp_flush__waits_for_a_link_that_is_down)
{
	struct nd_frame frames[3];
	struct nd_port *a, *b;
	uint64_t kicks;

	veth_add("x0", "x1", 1500);
	a = open_ours("x0");
	b = open_ours("x1");
	shell("ip link set x0 down");
	CHECK_EQ(nd_port_reserve(a, frames, 3), 3);
	for (uint32_t i = 0; i < 3; i++)
		make_udp_frame(&frames[i], 64, OUR_PORT, i);
	nd_port_commit(a, frames, 3);
	CHECK_EQ(nd_port_flush(a), 0);
	kicks = a->counters.tx_kicks;
	CHECK_EQ(nd_port_flush(a), 0);
	CHECK_EQ(a->counters.tx_kicks, kicks);
	shell("ip link set x0 up");
	await_state(a, ND_SEC, ND_PORT_UP, &error);
	CHECK_EQ(await_udp_frames(b, 0, 3, 64), 3);
	nd_port_close(a);
	nd_port_close(b);
	veth_delete("x0");
}

/* By its index it is the old one, of which the kernel gives no sign but at the sockets. */
TEST(nd_xdp_check__tells_an_interface_from_its_successor)
{
	struct nd_port *a;

	veth_add("x0", "x1", 1500);
	a = open_ours("x0");
	CHECK_EQ(nd_port_check(a, 0, &error), ND_PORT_UP);
	shell("ip link set x0 down && ip link set x0 up");
	await_state(a, 0, ND_PORT_UP, &error);
	veth_replace("x0", "x1", 1500);
	CHECK_EQ(nd_port_check(a, 0, &error), ND_PORT_GONE);
	CHECK(strstr(error.text, "re-created; reopen"));
	nd_port_close(a);
	veth_delete("x0");
}

static void pin(int map, const char *path)
{
	union bpf_attr attributes = { 0 };

	attributes.pathname = (uint64_t)(uintptr_t)path;
	attributes.bpf_fd = (uint32_t)map;
	CHECK_EQ(syscall(SYS_bpf, BPF_OBJ_PIN, &attributes, sizeof(attributes)), 0);
}

/* X31: where others own the program, its pinned socket map is all that is needed. */
TEST(nd_xdp_open__uses_a_pinned_map)
{
	struct bpf_insn code[] = {
		{ .code = BPF_LD | BPF_DW | BPF_IMM, .dst_reg = 1, .src_reg = BPF_PSEUDO_MAP_FD },
		{ 0 },
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = 2, .imm = 0 },
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = 3, .imm = XDP_PASS },
		{ .code = BPF_JMP | BPF_CALL, .imm = BPF_FUNC_redirect_map },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	struct nd_port_config config = config_of(ND_PORT_XDP, "x1");
	int map, program, link;
	struct nd_port *a, *b;

	veth_add("x0", "x1", 1500);
	shell("mkdir -p /sys/fs/bpf && mount -t bpf none /sys/fs/bpf");
	map = nd_bpf_socket_map(1);
	code[0].imm = map;
	program = nd_bpf_load_xdp(code, ND_ARRAY_SIZE(code), false);
	link = nd_bpf_link_xdp(program, if_nametoindex("x1"), XDP_FLAGS_SKB_MODE);
	CHECK(map >= 0 && program >= 0 && link >= 0);
	pin(map, "/sys/fs/bpf/sockets");
	config.xdp.map_path = "/sys/fs/bpf/sockets";
	a = open_ours("x0");
	b = open_config(&config);
	CHECK_STR(b->mode, "xdp external copy");
	CHECK_EQ(send_udp_frames(a, 0, 20, 64, OUR_PORT), 20);
	CHECK_EQ(await_udp_frames(b, 0, 20, 64), 20);
	nd_port_close(b);
	nd_port_close(a);
	check_attached("x1", true); /* theirs, as before */
	close(link);
	close(program);
	close(map);
	veth_delete("x0");
	shell("umount /sys/fs/bpf");
}

int main(int argc, char **argv)
{
	netns_enter();
	return nd_test_main(argc, argv);
}
