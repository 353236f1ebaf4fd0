// SPDX-License-Identifier: Apache-2.0
/* XDP ports on veth in a private network namespace: what they carry, and beside whom. */
#include "port/xdp.h"
#include "test/frames.h"
#include "test/netns.h"
#include "test/open_ports.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/udp.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>

static struct nd_frame frames[64];

static struct nd_port *open_mode(const char *name, enum nd_port_xdp_mode mode)
{
	struct nd_port_config config = config_of(ND_PORT_XDP, name);

	config.xdp.mode = mode;
	return open_config(&config);
}

static struct nd_port *open_ours(const char *name)
{
	return open_mode(name, ND_XDP_AUTO);
}

static void close_pair(struct nd_port *a, struct nd_port *b)
{
	nd_port_close(a);
	nd_port_close(b);
	veth_delete("x0");
}

static void check_sizes(unsigned mtu, enum nd_port_xdp_mode mode, const char *mode_text)
{
	struct nd_port *a, *b;
	uint32_t number = 0;

	veth_add("x0", "x1", mtu);
	a = open_mode("x0", mode);
	b = open_mode("x1", mode);
	CHECK_EQ(a->mtu, mtu);
	CHECK_STR(a->mode, mode_text);
	CHECK_EQ(nd_port_check(a, 0, &error), ND_PORT_UP);
	for (uint32_t bytes = 46; bytes <= mtu + 14; bytes += (mtu + 14 - 46) / 8) {
		for (uint32_t round = 0; round < 20; round++, number += 20) {
			CHECK_EQ(send_udp_frames(a, number, 20, bytes, OUR_PORT), 20);
			CHECK_EQ(await_udp_frames(b, number, 20, bytes), 20);
			CHECK_EQ(send_udp_frames(b, number, 20, bytes, OUR_PORT), 20);
			CHECK_EQ(await_udp_frames(a, number, 20, bytes), 20);
		}
	}
	CHECK_EQ(count_arrivals(a), 0);
	CHECK_EQ(nd_port_counters(b)->rx_frames, nd_port_counters(a)->tx_frames);
	CHECK_EQ(b->counters.rx_dropped_kernel, 0);
	CHECK_EQ(b->counters.tx_invalid, 0);
	close_pair(a, b);
}

TEST(nd_xdp_generic__carries_frames_at_mtu_1500)
{
	check_sizes(1500, ND_XDP_AUTO, "xdp generic copy");
}

TEST(nd_xdp_generic__carries_frames_at_mtu_3498)
{
	check_sizes(3498, ND_XDP_GENERIC, "xdp generic copy");
}

TEST(nd_xdp_generic__carries_frames_at_mtu_9000)
{
	check_sizes(9000, ND_XDP_GENERIC, "xdp generic copy multi-buffer");
}

TEST(nd_xdp_native__carries_frames_at_mtu_1500)
{
	check_sizes(1500, ND_XDP_NATIVE, "xdp native copy");
}

TEST(nd_xdp_native__carries_frames_at_mtu_3498)
{
	check_sizes(3498, ND_XDP_NATIVE, "xdp native copy");
}

/* X17, X18: a large MTU needs a program and sockets for several buffers, and gets both. */
TEST(nd_xdp_native__carries_frames_at_mtu_9000)
{
	check_sizes(9000, ND_XDP_NATIVE, "xdp native copy multi-buffer");
}

static void check_filter(enum nd_port_xdp_mode mode)
{
	struct nd_port_config config = config_of(ND_PORT_XDP, "x1");
	struct nd_port *wire, *port;

	config.xdp.mode = mode;
	veth_add("x0", "x1", 1500);
	wire = open_wire("x0");
	port = open_config(&config);
	send_kinds(wire, OUR_PORT);
	CHECK_EQ(await_arrivals(port, FRAME_KINDS_OURS), FRAME_KINDS_OURS);
	nd_port_close(port);
	config.filter = (struct nd_port_filter){ .everything = true };
	port = open_config(&config);
	send_kinds(wire, OUR_PORT);
	CHECK_EQ(await_arrivals(port, FRAME_KINDS), FRAME_KINDS);
	close_pair(wire, port);
}

TEST(nd_xdp_program__takes_ours_in_generic_mode)
{
	check_filter(ND_XDP_GENERIC);
}

TEST(nd_xdp_program__takes_ours_in_native_mode)
{
	check_filter(ND_XDP_NATIVE);
}

/* An ICMP echo request to 10.9.0.2. */
static void make_ping(struct nd_frame *frame)
{
	uint8_t *icmp = put_ipv4(put_ethernet(frame->data, 0x0800), 1, 16);

	memset(icmp, 0, 16);
	icmp[0] = 8;
	put_u16(icmp + 2, (uint16_t)~ones_sum(icmp, 16, 0));
	frame->bytes = 50;
}

/* T11, AFXDP 0.5: ping (and all else) goes on beside us; what is ours the kernel never sees. */
TEST(nd_xdp__leaves_the_kernel_its_traffic)
{
	struct nd_frame answer;
	struct nd_port *wire, *port;

	veth_add("x0", "x1", 1500);
	shell("ip addr add 10.9.0.2/24 dev x1");
	shell("ip neigh add 10.9.0.77 lladdr 02:00:00:00:00:01 dev x1 nud permanent");
	shell("for f in all x0 x1; do echo 0 > /proc/sys/net/ipv4/conf/$f/rp_filter; done");
	wire = open_wire("x0");
	port = open_ours("x1");
	for (uint32_t i = 0; i < 30; i++) {
		CHECK_EQ(nd_port_reserve(wire, frames, 2), 2);
		make_ping(&frames[0]);
		make_udp_frame(&frames[1], 60, OUR_PORT, i);
		nd_port_commit(wire, frames, 2);
		nd_port_flush(wire);
		answer = await_frame(wire);
		CHECK_EQ(answer.data[23], 1); /* ICMP ... */
		CHECK_EQ(answer.data[34], 0); /* ... echo reply */
		nd_port_release(wire);
		CHECK_EQ(await_udp_frames(port, i, 1, 60), 1);
	}
	CHECK_EQ(count_arrivals(wire), 0);
	close_pair(wire, port);
}

static void check_tag(enum nd_port_xdp_mode mode)
{
	struct nd_port_config config = config_of(ND_PORT_XDP, "x1");
	struct nd_port *wire, *port;
	struct nd_frame got;

	veth_add("x0", "x1", 1500);
	config.xdp.mode = mode;
	config.filter = (struct nd_port_filter){ .everything = true };
	wire = open_wire("x0");
	port = open_config(&config);
	CHECK_EQ(nd_port_reserve(wire, frames, 1), 1);
	make_udp_frame(&frames[0], 1500, OUR_PORT, 1);
	insert_tag(&frames[0], 0x8100, 0xa02a); /* priority 5, VLAN 42 */
	insert_tag(&frames[0], 0x88a8, 0x6007);
	nd_port_commit(wire, frames, 1);
	nd_port_flush(wire);
	got = await_frame(port);
	CHECK_EQ(got.bytes, 1508);
	CHECK_EQ(memcmp(got.data + 12, "\x88\xa8\x60\x07\x81\x00\xa0\x2a\x08\x00", 10), 0);
	nd_port_release(port);
	close_pair(wire, port);
}

/* AFXDP A.8.4, X16: tags that are in the frame arrive in the frame, two of them as well. */
TEST(nd_xdp_receive__keeps_vlan_tags)
{
	check_tag(ND_XDP_GENERIC);
	check_tag(ND_XDP_NATIVE);
}

/* No stack reads what a provider's tag (802.1ad) is on: it is the kernel's. */
TEST(nd_xdp_receive__leaves_a_providers_tag)
{
	struct nd_port *wire, *port;

	veth_add("x0", "x1", 1500);
	wire = open_wire("x0");
	port = open_ours("x1");
	CHECK_EQ(nd_port_reserve(wire, frames, 2), 2);
	make_udp_frame(&frames[0], 60, OUR_PORT, 1);
	insert_tag(&frames[0], 0x88a8, 42);
	make_udp_frame(&frames[1], 60, OUR_PORT, 2);
	nd_port_commit(wire, frames, 2);
	nd_port_flush(wire);
	CHECK_EQ(await_udp_frames(port, 2, 1, 60), 1);
	close_pair(wire, port);
}

/* AFXDP A.8.9: short frames arrive as they were sent, from and to any MAC address. */
TEST(nd_xdp_receive__takes_short_frames_as_they_are)
{
	struct nd_port_config config = config_of(ND_PORT_XDP, "x1");
	struct nd_port *wire, *port;
	struct nd_frame got;

	veth_add("x0", "x1", 1500);
	config.filter = (struct nd_port_filter){ .everything = true };
	wire = open_wire("x0");
	port = open_config(&config);
	for (uint32_t bytes = 14; bytes < 60; bytes += 5) {
		CHECK_EQ(nd_port_reserve(wire, frames, 1), 1);
		memset(frames[0].data, 0x32, bytes);
		frames[0].bytes = bytes;
		nd_port_commit(wire, frames, 1);
		nd_port_flush(wire);
		got = await_frame(port);
		CHECK_EQ(got.bytes, bytes);
		CHECK_EQ(got.data[bytes - 1], 0x32);
		nd_port_release(port);
	}
	close_pair(wire, port);
}

/* A kernel UDP socket that sends super-frames of ten segments out of x0 to x1. */
static void send_super_frame(uint32_t payload_bytes, int segment_bytes)
{
	static uint8_t payload[40000];
	struct sockaddr_in target = { .sin_family = AF_INET, .sin_port = htons(OUR_PORT) };
	int fd = socket(AF_INET, SOCK_DGRAM, 0);

	shell("ip addr replace 10.9.0.77/24 dev x0");
	shell("ip neigh replace 10.9.0.2 lladdr 02:00:00:00:00:02 dev x0 nud permanent");
	CHECK_EQ(inet_pton(AF_INET, "10.9.0.2", &target.sin_addr), 1);
	CHECK_EQ(setsockopt(fd, IPPROTO_UDP, UDP_SEGMENT, &segment_bytes, sizeof(segment_bytes)),
		 0);
	CHECK_EQ(sendto(fd, payload, payload_bytes, 0, (struct sockaddr *)&target, sizeof(target)),
		 payload_bytes);
	close(fd);
}

/* AFXDP A.8.3: super-frames that a local sender left for its NIC to cut are counted, not silent. */
TEST(nd_xdp_receive__counts_super_frames)
{
	struct nd_port *port;

	veth_add("x0", "x1", 1500);
	port = open_ours("x1");
	send_super_frame(14000, 1400);
	CHECK_EQ(count_arrivals(port), 0);
	CHECK(nd_port_counters(port)->rx_dropped_kernel >= 1);
	shell("ethtool -K x0 tx off gso off tso off >/dev/null");
	send_super_frame(14000, 1400);
	CHECK_EQ(await_arrivals(port, 10), 10);
	nd_port_close(port);
	veth_delete("x0");

	veth_add("x0", "x1", 9000);
	port = open_ours("x1");
	send_super_frame(26400, 8800);
	CHECK_EQ(count_arrivals(port), 0);
	CHECK_EQ(nd_port_counters(port)->rx_dropped_oversize + port->counters.rx_dropped_kernel, 1);
	nd_port_close(port);
	veth_delete("x0");
}

/* AFXDP A.8.6: what finds no buffer is counted by the kernel and reported; the rest is in order. */
TEST(nd_xdp_refresh__counts_overruns)
{
	struct nd_port_config config = config_of(ND_PORT_XDP, "x1");
	struct nd_port *wire, *port;
	uint32_t sent = 0;

	veth_add("x0", "x1", 1500);
	config.rx_frames = 64;
	wire = open_wire("x0");
	port = open_config(&config);
	for (uint32_t i = 0; i < 10; i++)
		sent += send_udp_frames(wire, sent, 50, 64, OUR_PORT);
	CHECK_EQ(sent, 500);
	CHECK_EQ(await_udp_frames(port, 0, 64, 64), 64);
	CHECK_EQ(nd_port_counters(port)->rx_fill_empty + port->counters.rx_ring_full, 500 - 64);
	CHECK_EQ(send_udp_frames(wire, 500, 10, 64, OUR_PORT), 10);
	CHECK_EQ(await_udp_frames(port, 500, 10, 64), 10);
	close_pair(wire, port);
}

/* X4, X8: in copy mode every batch is kicked, and one flush sends more than one call's budget. */
TEST(nd_xdp_flush__sends_more_than_one_budget)
{
	struct nd_port *a, *b;

	veth_add("x0", "x1", 1500);
	a = open_ours("x0");
	b = open_ours("x1");
	for (uint32_t i = 0; i < 3; i++) {
		CHECK_EQ(nd_port_reserve(a, frames, 64), 64);
		for (uint32_t k = 0; k < 64; k++)
			make_udp_frame(&frames[k], 64, OUR_PORT, 64 * i + k);
		nd_port_commit(a, frames, 64);
	}
	for (uint64_t end = clock_ns() + PATIENCE_NS; nd_port_flush(a);)
		CHECK(clock_ns() < end);
	CHECK(a->counters.tx_kicks < 20);
	CHECK_EQ(await_udp_frames(b, 0, 192, 64), 192);
	close_pair(a, b);
}

/* X27: slots are conserved, however many are reserved and given back. */
TEST(nd_xdp_reserve__never_leaks_a_slot)
{
	struct nd_port_config config = config_of(ND_PORT_XDP, "x0");
	struct nd_port *a, *b;

	veth_add("x0", "x1", 1500);
	config.tx_frames = 16;
	a = open_config(&config);
	b = open_ours("x1");
	for (uint32_t i = 0; i < 100; i++) {
		CHECK_EQ(nd_port_reserve(a, frames, 64), 16);
		make_udp_frame(&frames[0], 64, OUR_PORT, i);
		frames[1].bytes = 0;
		frames[2].bytes = 5;
		nd_port_commit(a, frames, 3);
		CHECK_EQ(nd_port_flush(a), 0);
		CHECK_EQ(await_udp_frames(b, i, 1, 64), 1);
	}
	CHECK_EQ(a->counters.tx_dropped_short, 100);
	close_pair(a, b);
}

/* X7, X25: frames that do not get away are found out, and only when they should have got away. */
TEST(nd_xdp_check__finds_a_stuck_transmitter)
{
	struct nd_port *a, *b;

	veth_add("x0", "x1", 1500);
	a = open_ours("x0");
	b = open_ours("x1");
	CHECK_EQ(nd_port_check(a, 10 * ND_SEC, &error), ND_PORT_UP);
	CHECK_EQ(nd_port_reserve(a, frames, 1), 1);
	make_udp_frame(&frames[0], 64, OUR_PORT, 0);
	nd_port_commit(a, frames, 1); /* never flushed, as by a NIC that lost its completions */
	CHECK_EQ(nd_port_check(a, 10 * ND_SEC + 499 * ND_MSEC, &error), ND_PORT_UP);
	CHECK_EQ(nd_port_check(a, 10 * ND_SEC + 500 * ND_MSEC, &error), ND_PORT_STUCK);
	CHECK(strstr(error.text, "reopen the port"));
	CHECK_EQ(a->counters.tx_stuck, 1);
	CHECK_EQ(nd_port_flush(a), 0);
	CHECK_EQ(await_udp_frames(b, 0, 1, 64), 1);
	CHECK_EQ(nd_port_check(a, 11 * ND_SEC, &error), ND_PORT_UP);
	close_pair(a, b);
}

/* The first look at a port that has been sending for a while finds nothing stuck yet. */
TEST(nd_xdp_check__times_from_the_first_look_on)
{
	struct nd_port *a;

	veth_add("x0", "x1", 1500);
	a = open_ours("x0");
	CHECK_EQ(nd_port_reserve(a, frames, 1), 1);
	make_udp_frame(&frames[0], 64, OUR_PORT, 0);
	nd_port_commit(a, frames, 1);
	CHECK_EQ(nd_port_check(a, 10 * ND_SEC, &error), ND_PORT_UP);
	CHECK_EQ(nd_port_check(a, 10 * ND_SEC + 500 * ND_MSEC, &error), ND_PORT_STUCK);
	nd_port_close(a);
	veth_delete("x0");
}

TEST(nd_xdp_arm__is_woken)
{
	struct pollfd entry = { .events = POLLIN };
	struct nd_port *a, *b;

	veth_add("x0", "x1", 1500);
	a = open_ours("x0");
	b = open_ours("x1");
	CHECK_EQ(nd_port_descriptors(b, &entry.fd), 1);
	for (uint32_t i = 0; i < 3; i++) {
		CHECK(nd_port_arm(b));
		CHECK_EQ(poll(&entry, 1, 0), 0);
		send_udp_frames(a, i, 1, 64, OUR_PORT);
		CHECK_EQ(poll(&entry, 1, 20000), 1);
		CHECK(!nd_port_arm(b));
		CHECK_EQ(await_udp_frames(b, i, 1, 64), 1);
	}
	close_pair(a, b);
}

/* X24, U12: four receive queues feed a port, whatever the NIC hashes; who serves fewer is warned. */
TEST(nd_xdp__serves_every_queue)
{
	struct nd_port_config config = config_of(ND_PORT_XDP, "x0");
	struct nd_port *a, *b;

	shell("ip link add x0 numrxqueues 4 numtxqueues 4 type veth peer name x1 numrxqueues 4 "
	      "numtxqueues 4");
	shell("ip link set x0 up && ip link set x1 up");
	await_running("x0");
	await_running("x1");
	b = open_ours("x1");
	CHECK_EQ(nd_port_descriptors(b, (int[ND_PORT_DESCRIPTORS_MAX]){ 0 }), 4);
	CHECK_STR(b->note, "");
	for (uint32_t queue = 0; queue < 4; queue++) {
		config.xdp.queue_first = queue;
		config.xdp.queue_count = 1;
		a = open_config(&config);
		CHECK(strstr(a->note, "1 of its 4 queues are served"));
		CHECK_EQ(send_udp_frames(a, 100 * queue, 50, 64, OUR_PORT), 50);
		CHECK_EQ(await_udp_frames(b, 100 * queue, 50, 64), 50);
		nd_port_close(a);
	}
	config.xdp.queue_first = 4;
	CHECK(!nd_port_open(&config, &error));
	CHECK_EQ(error.code, -EINVAL);
	CHECK(strstr(error.text, "it has 4 queues") && strstr(error.text, "ethtool -L"));
	nd_port_close(b);
	veth_delete("x0");
}

/* 6 queues of 65,536 frames in three pages each are 4.8 GB: more than 32 bits can count. */
TEST(nd_xdp_open__refuses_more_memory_than_a_port_may_have)
{
	struct nd_port_config config = config_of(ND_PORT_XDP, "x0");

	shell("ip link add x0 mtu 9000 numrxqueues 6 numtxqueues 6 type veth peer name x1 mtu 9000 "
	      "numrxqueues 6 numtxqueues 6");
	config.rx_frames = 65536;
	CHECK(!nd_port_open(&config, &error));
	CHECK_EQ(error.code, -ENOBUFS);
	CHECK(strstr(error.text, "the 4832624640 that 6 queues and 64 frames to send need"));
	config.rx_frames = 0;
	config.xdp.memory_bytes = (1u << 30) + 4096;
	CHECK(!nd_port_open(&config, &error));
	CHECK_EQ(error.code, -EINVAL);
	CHECK(strstr(error.text, "memory_bytes 1073745920 is more than the 1073741824"));
	veth_delete("x0");
}

/* Two ports in one memory, which outlives the port that made it. */
TEST(nd_xdp__shares_memory_between_ports)
{
	struct nd_port_config config = config_of(ND_PORT_XDP, "x0");
	struct nd_port *a, *b;

	veth_add("x0", "x1", 1500);
	config.xdp.memory_bytes = 2 << 20;
	config.rx_frames = config.tx_frames = 256;
	a = open_config(&config);
	config.name = "x1";
	config.xdp.share = a;
	b = open_config(&config);
	for (uint32_t i = 0; i < 100; i++) {
		CHECK_EQ(send_udp_frames(a, i, 1, 1000, OUR_PORT), 1);
		CHECK_EQ(send_udp_frames(b, 50 * i, 50, 1514, OUR_PORT), 50);
		CHECK_EQ(await_udp_frames(b, i, 1, 1000), 1);
		CHECK_EQ(await_udp_frames(a, 50 * i, 50, 1514), 50);
	}
	config.name = "x0";
	config.rx_frames = 2048;
	CHECK(!nd_port_open(&config, &error));
	CHECK(strstr(error.text, "memory_bytes"));
	nd_port_close(a);
	config = config_of(ND_PORT_XDP, "x0");
	a = open_config(&config);
	CHECK_EQ(send_udp_frames(b, 7, 50, 1514, OUR_PORT), 50);
	CHECK_EQ(await_udp_frames(a, 7, 50, 1514), 50);
	close_pair(a, b);
}

/* Whether frames may span chunks is the memory's property, not only how large these are. */
TEST(nd_xdp_open__shares_no_memory_of_another_kind)
{
	struct nd_port_config config = config_of(ND_PORT_XDP, "x0");
	struct nd_port *a;

	veth_add("x0", "x1", 9000);
	config.mtu = 3498;
	config.xdp.memory_bytes = 8 << 20;
	config.rx_frames = config.tx_frames = 64;
	a = open_config(&config);
	config.name = "x1";
	config.mtu = 0;
	config.xdp.share = a;
	CHECK(!nd_port_open(&config, &error));
	CHECK_EQ(error.code, -EINVAL);
	CHECK(strstr(error.text, "cannot share the memory of x0"));
	nd_port_close(a);
	veth_delete("x0");
}

/*
 * AFXDP A.8.5: what may not be sent is dropped before the kernel sees it, or by the kernel, once:
 * it is not tried again, and nothing before or behind it is lost.
 */
TEST(nd_xdp_commit__drops_what_cannot_be_sent_once)
{
	struct nd_port *a, *b;
	uint32_t sizes[5];

	veth_add("x0", "x1", 1500);
	a = open_ours("x0");
	b = open_ours("x1");
	sizes[0] = sizes[4] = 100;
	sizes[1] = a->frame_bytes_max + 1;
	sizes[2] = 13;
	sizes[3] = 1500 + 14 + 8; /* as long as with two tags, and has none */
	CHECK_EQ(nd_port_reserve(a, frames, 5), 5);
	for (uint32_t i = 0, number = 0; i < 5; i++) {
		bool is_good = sizes[i] == 100;

		make_udp_frame(&frames[i], 100, OUR_PORT, is_good ? number++ : 99);
		frames[i].bytes = sizes[i];
	}
	nd_port_commit(a, frames, 5);
	for (uint64_t end = clock_ns() + PATIENCE_NS; nd_port_flush(a);)
		CHECK(clock_ns() < end);
	CHECK_EQ(await_udp_frames(b, 0, 2, 100), 2);
	CHECK_EQ(count_arrivals(b), 0);
	CHECK_EQ(a->counters.tx_dropped_oversize, 1);
	CHECK_EQ(a->counters.tx_dropped_short, 1);
	CHECK_EQ(a->counters.tx_dropped_kernel, 1);
	CHECK(a->counters.tx_kicks < 10);
	CHECK_EQ(send_udp_frames(a, 2, 50, 1514, OUR_PORT), 50);
	CHECK_EQ(await_udp_frames(b, 2, 50, 1514), 50);
	CHECK_EQ(nd_port_check(a, clock_ns(), &error), ND_PORT_UP);
	close_pair(a, b);
}

static uint64_t statistic(const char *interface, const char *name)
{
	unsigned long long value = 0;
	char path[96];
	FILE *file;

	snprintf(path, sizeof(path), "/sys/class/net/%s/statistics/%s", interface, name);
	file = fopen(path, "r");
	CHECK(file && fscanf(file, "%llu", &value) == 1);
	fclose(file);
	return value;
}

/* AFXDP A.8.8: `ip -s link` counts our packets, and sockets such as tcpdump's see none of them. */
TEST(nd_xdp__counts_in_the_interface_and_shows_nothing_to_sniffers)
{
	struct nd_port *a, *b, *sniffers[2];
	uint64_t before;

	veth_add("x0", "x1", 1500);
	/* What /sys shows is that of the namespace in which it was mounted. */
	CHECK_EQ(mount("sysfs", "/sys", "sysfs", 0, NULL), 0);
	a = open_ours("x0");
	b = open_ours("x1");
	sniffers[0] = open_wire("x0");
	sniffers[1] = open_wire("x1");
	before = statistic("x0", "tx_packets");
	CHECK_EQ(send_udp_frames(a, 0, 50, 200, OUR_PORT), 50);
	CHECK_EQ(await_udp_frames(b, 0, 50, 200), 50);
	CHECK_EQ(statistic("x0", "tx_packets") - before, 50);
	CHECK_EQ(statistic("x1", "rx_packets"), statistic("x0", "tx_packets"));
	for (uint32_t i = 0; i < 2; i++) {
		CHECK_EQ(count_arrivals(sniffers[i]), 0);
		nd_port_close(sniffers[i]);
	}
	close_pair(a, b);
}

int main(int argc, char **argv)
{
	netns_enter();
	return nd_test_main(argc, argv);
}
