// SPDX-License-Identifier: Apache-2.0
/* Packet ports on veth in a private network namespace: what the kernel does to frames is undone. */
#include "port/packet.h"
#include "test/frames.h"
#include "test/netns.h"
#include "test/open_ports.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/udp.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>

static struct nd_frame frames[64];

static struct nd_port *open_ours(const char *name)
{
	struct nd_port_config config = config_of(ND_PORT_PACKET, name);

	return open_config(&config);
}

static void check_sizes(unsigned mtu)
{
	struct nd_port *a, *b;
	uint32_t number = 0;

	veth_add("p0", "p1", mtu);
	a = open_ours("p0");
	b = open_ours("p1");
	CHECK_EQ(a->mtu, mtu);
	CHECK_EQ(nd_port_check(a, 0, &error), ND_PORT_UP);
	for (uint32_t bytes = 46; bytes <= mtu + 14; bytes += (mtu + 14 - 46) / 8) {
		CHECK_EQ(send_udp_frames(a, number, 20, bytes, OUR_PORT), 20);
		CHECK_EQ(await_udp_frames(b, number, 20, bytes), 20);
		CHECK_EQ(send_udp_frames(b, number, 20, bytes, OUR_PORT), 20);
		CHECK_EQ(await_udp_frames(a, number, 20, bytes), 20);
		number += 20;
	}
	CHECK_EQ(count_arrivals(a), 0);
	CHECK_EQ(nd_port_counters(b)->rx_frames, nd_port_counters(a)->tx_frames);
	nd_port_close(a);
	nd_port_close(b);
	veth_delete("p0");
}

TEST(nd_packet__carries_frames_at_mtu_1500)
{
	check_sizes(1500);
}

TEST(nd_packet__carries_frames_at_mtu_3498)
{
	check_sizes(3498);
}

TEST(nd_packet__carries_frames_at_mtu_9000)
{
	check_sizes(9000);
}

TEST(nd_packet_filter__takes_ours_and_a_switch_takes_all)
{
	struct nd_port *a, *ours, *all;

	veth_add("p0", "p1", 1500);
	a = open_wire("p0");
	ours = open_ours("p1");
	CHECK_EQ(send_kinds(a, OUR_PORT), FRAME_KINDS);
	CHECK_EQ(await_arrivals(ours, FRAME_KINDS_OURS), FRAME_KINDS_OURS);
	nd_port_close(ours);
	all = open_wire("p1");
	CHECK_EQ(send_kinds(a, OUR_PORT), FRAME_KINDS);
	CHECK_EQ(await_arrivals(all, FRAME_KINDS), FRAME_KINDS);
	nd_port_close(all);
	nd_port_close(a);
	veth_delete("p0");
}

/* AFXDP A.8.4: the kernel takes tags off on arrival; the port puts them back, bit for bit. */
TEST(nd_packet_receive__restores_the_vlan_tag)
{
	struct nd_port *a, *b;
	uint8_t sent[64];

	veth_add("p0", "p1", 1500);
	a = open_ours("p0");
	b = open_ours("p1");
	CHECK_EQ(nd_port_reserve(a, frames, 1), 1);
	make_udp_frame(&frames[0], 60, OUR_PORT, 5);
	insert_tag(&frames[0], 0x8100, 0xa02a); /* priority 5, VLAN 42 */
	memcpy(sent, frames[0].data, 64);
	nd_port_commit(a, frames, 1);
	nd_port_flush(a);
	frames[0] = await_frame(b);
	CHECK_EQ(frames[0].bytes, 64);
	CHECK_EQ(memcmp(frames[0].data, sent, 64), 0);
	nd_port_release(b);
	CHECK_EQ(b->counters.rx_tags_restored, 1);
	nd_port_close(a);
	nd_port_close(b);
	veth_delete("p0");
}

/* What the kernel has taken off counts: no frame is longer than the port says. */
TEST(nd_packet_receive__measures_with_the_tag)
{
	struct nd_port_config config = config_of(ND_PORT_PACKET, "p1");
	struct nd_port *a, *b;

	veth_add("p0", "p1", 1500);
	a = open_wire("p0");
	config.mtu = 1000;
	b = open_config(&config);
	CHECK_EQ(nd_port_reserve(a, frames, 2), 2);
	for (uint32_t i = 0; i < 2; i++) {
		make_udp_frame(&frames[i], b->frame_bytes_max - 3 - i, OUR_PORT, i);
		insert_tag(&frames[i], 0x8100, 42);
	}
	nd_port_commit(a, frames, 2);
	nd_port_flush(a);
	frames[0] = await_frame(b);
	CHECK_EQ(frames[0].bytes, b->frame_bytes_max);
	nd_port_release(b);
	CHECK_EQ(b->counters.rx_dropped_oversize, 1);
	nd_port_close(a);
	nd_port_close(b);
	veth_delete("p0");
}

/* A kernel UDP socket that sends out of p0 to an address that only p1's MAC stands for. */
static int kernel_sender(struct sockaddr_in *target)
{
	int fd = socket(AF_INET, SOCK_DGRAM, 0);

	shell("ip addr add 10.9.0.77/24 dev p0");
	shell("ip neigh replace 10.9.0.2 lladdr 02:00:00:00:00:02 dev p0 nud permanent");
	*target = (struct sockaddr_in){ .sin_family = AF_INET, .sin_port = htons(OUR_PORT) };
	CHECK_EQ(inet_pton(AF_INET, "10.9.0.2", &target->sin_addr), 1);
	return fd;
}

/* AFXDP A.8.2: the kernel leaves the checksum to a NIC that is not there. */
TEST(nd_packet_receive__completes_the_checksum)
{
	struct sockaddr_in target;
	struct nd_port *b;
	uint32_t bytes;
	int fd;

	veth_add("p0", "p1", 1500);
	b = open_ours("p1");
	fd = kernel_sender(&target);
	CHECK_EQ(sendto(fd, "ninebytes", 9, 0, (struct sockaddr *)&target, sizeof(target)), 9);
	frames[0] = await_frame(b);
	CHECK_EQ(frames[0].bytes, FRAME_UDP_HEADERS + 9);
	bytes = 8 + 9;
	CHECK_EQ(ones_sum(frames[0].data + 26, 8 + bytes, 17 + bytes), 0xffff);
	nd_port_release(b);
	CHECK_EQ(b->counters.rx_checksums_completed, 1);
	close(fd);
	nd_port_close(b);
	veth_delete("p0");
}

/* AFXDP A.8.3: a super-frame that the sender left for its NIC to cut is dropped and counted. */
TEST(nd_packet_receive__counts_super_frames)
{
	static uint8_t payload[14000];
	struct sockaddr_in target;
	struct nd_port *b;
	int segment = 1400, fd;

	veth_add("p0", "p1", 1500);
	b = open_ours("p1");
	fd = kernel_sender(&target);
	CHECK_EQ(setsockopt(fd, IPPROTO_UDP, UDP_SEGMENT, &segment, sizeof(segment)), 0);
	CHECK_EQ(sendto(fd, payload, sizeof(payload), 0, (struct sockaddr *)&target,
			sizeof(target)),
		 sizeof(payload));
	CHECK_EQ(count_arrivals(b), 0);
	CHECK_EQ(b->counters.rx_dropped_oversize, 1);
	segment = 100; /* several datagrams that look like one of the MTU */
	CHECK_EQ(setsockopt(fd, IPPROTO_UDP, UDP_SEGMENT, &segment, sizeof(segment)), 0);
	CHECK_EQ(sendto(fd, payload, 300, 0, (struct sockaddr *)&target, sizeof(target)), 300);
	CHECK_EQ(count_arrivals(b), 0);
	CHECK_EQ(b->counters.rx_dropped_oversize, 2);
	segment = 1400;
	CHECK_EQ(setsockopt(fd, IPPROTO_UDP, UDP_SEGMENT, &segment, sizeof(segment)), 0);
	shell("ethtool -K p0 tx off gso off tso off >/dev/null");
	CHECK_EQ(sendto(fd, payload, sizeof(payload), 0, (struct sockaddr *)&target,
			sizeof(target)),
		 sizeof(payload));
	CHECK_EQ(await_arrivals(b, 10), 10);
	close(fd);
	nd_port_close(b);
	veth_delete("p0");
}

/* Sends one packet to our UDP port and one of protocol 146; returns how many answers come of so many. */
static uint32_t provoke(struct nd_port *port, uint32_t due)
{
	CHECK_EQ(nd_port_reserve(port, frames, 2), 2);
	make_udp_frame(&frames[0], 60, OUR_PORT, 1);
	put_ipv4(put_ethernet(frames[1].data, 0x0800), 146, 26);
	frames[1].bytes = 60;
	nd_port_commit(port, frames, 2);
	nd_port_flush(port);
	return await_arrivals(port, due);
}

/* AFXDP A.8.10: where the kernel sees our packets too, it must not answer them. */
TEST(nd_packet_open__keeps_the_kernel_from_answering)
{
	struct nd_port *a, *b;

	veth_add("p0", "p1", 1500);
	shell("ip addr add 10.9.0.2/24 dev p1");
	shell("ip neigh add 10.9.0.77 lladdr 02:00:00:00:00:01 dev p1 nud permanent");
	shell("for f in all p0 p1; do echo 0 > /proc/sys/net/ipv4/conf/$f/rp_filter; done");
	a = open_wire("p0");
	CHECK_EQ(provoke(a, 2), 2);
	b = open_ours("p1");
	CHECK_EQ(provoke(a, 0), 0);
	CHECK_EQ(await_udp_frames(b, 1, 1, 60), 1);
	nd_port_close(b);
	nd_port_close(a);
	veth_delete("p0");
}

/* T11: a port that the kernel gave to somebody is not stolen, and ours is not given away. */
TEST(nd_packet_open__respects_the_kernels_ports)
{
	struct sockaddr_in any = { .sin_family = AF_INET, .sin_port = htons(OUR_PORT) };
	struct nd_port_config config = config_of(ND_PORT_PACKET, "p0");
	struct nd_port *a;
	int fd = socket(AF_INET, SOCK_DGRAM, 0);

	veth_add("p0", "p1", 1500);
	CHECK_EQ(bind(fd, (struct sockaddr *)&any, sizeof(any)), 0);
	CHECK(!nd_port_open(&config, &error));
	CHECK_EQ(error.code, -EADDRINUSE);
	CHECK(strstr(error.text, "UDP port 40000 belongs to another"));
	close(fd);
	a = open_ours("p0");
	fd = socket(AF_INET, SOCK_DGRAM, 0);
	CHECK(bind(fd, (struct sockaddr *)&any, sizeof(any)) < 0);
	nd_port_close(a);
	CHECK_EQ(bind(fd, (struct sockaddr *)&any, sizeof(any)), 0);
	close(fd);
	veth_delete("p0");
}

/* AFXDP A.8.9: short frames arrive as they were sent, and MAC addresses are nobody's business. */
TEST(nd_packet_receive__takes_short_frames_as_they_are)
{
	struct nd_port *a, *b;

	veth_add("p0", "p1", 1500);
	a = open_wire("p0");
	b = open_wire("p1");
	CHECK_EQ(nd_port_reserve(a, frames, 1), 1);
	memset(frames[0].data, 0x33, 24);
	frames[0].bytes = 24;
	nd_port_commit(a, frames, 1);
	nd_port_flush(a);
	frames[0] = await_frame(b);
	CHECK_EQ(frames[0].bytes, 24);
	nd_port_release(b);
	nd_port_close(a);
	nd_port_close(b);
	veth_delete("p0");
}

/* AFXDP A.8.6: what the kernel drops on a full ring is counted, nothing else is lost. */
TEST(nd_packet_refresh__counts_a_full_ring)
{
	struct nd_port_config config = config_of(ND_PORT_PACKET, "p1");
	struct nd_port *a, *b;
	uint32_t sent = 0;

	veth_add("p0", "p1", 1500);
	config.rx_frames = 32;
	a = open_ours("p0");
	b = open_config(&config);
	for (uint32_t i = 0; i < 10; i++)
		sent += send_udp_frames(a, sent, 50, 64, OUR_PORT);
	for (uint64_t end = clock_ns() + PATIENCE_NS; clock_ns() < end && nd_port_flush(a);)
		;
	CHECK_EQ(sent, 500);
	CHECK_EQ(await_udp_frames(b, 0, 32, 64), 32);
	CHECK(nd_port_counters(b)->rx_ring_full >= 400);
	nd_port_close(a);
	nd_port_close(b);
	veth_delete("p0");
}

TEST(nd_packet_arm__is_woken)
{
	struct pollfd entry = { .events = POLLIN };
	struct nd_port *a, *b;

	veth_add("p0", "p1", 1500);
	a = open_ours("p0");
	b = open_ours("p1");
	CHECK_EQ(nd_port_descriptors(b, &entry.fd), 1);
	CHECK(nd_port_arm(b));
	CHECK_EQ(poll(&entry, 1, 0), 0);
	send_udp_frames(a, 0, 1, 64, OUR_PORT);
	CHECK_EQ(poll(&entry, 1, 20000), 1);
	CHECK(!nd_port_arm(b));
	CHECK_EQ(await_udp_frames(b, 0, 1, 64), 1);
	nd_port_close(a);
	nd_port_close(b);
	veth_delete("p0");
}

TEST(nd_packet_check__follows_the_interface)
{
	struct nd_port *a;

	veth_add("p0", "p1", 1500);
	a = open_ours("p0");
	await_state(a, 0, ND_PORT_UP, &error);
	shell("ip link set p1 down");
	await_state(a, 0, ND_PORT_DOWN, &error);
	CHECK(strstr(error.text, "no carrier"));
	CHECK_EQ(send_udp_frames(a, 0, 2, 64, OUR_PORT), 2);
	CHECK_EQ(a->counters.tx_dropped_down, 2);
	shell("ip link set p0 down");
	await_state(a, 0, ND_PORT_DOWN, &error);
	CHECK(strstr(error.text, "ip link set p0 up"));
	shell("ip link set p0 up && ip link set p1 up");
	await_state(a, 0, ND_PORT_UP, &error);
	CHECK_EQ(send_udp_frames(a, 0, 2, 64, OUR_PORT), 2);
	CHECK_EQ(a->counters.tx_frames, 2);
	shell("ip link set p0 mtu 1400");
	await_state(a, 0, ND_PORT_CHANGED, &error);
	CHECK(strstr(error.text, "from 1500 to 1400"));
	shell("ip link set p0 mtu 1500");
	veth_delete("p0");
	await_state(a, 0, ND_PORT_GONE, &error);
	CHECK(strstr(error.text, "was deleted; create it"));
	CHECK_EQ(send_udp_frames(a, 0, 2, 64, OUR_PORT), 2);
	veth_add("p0", "p1", 1500);
	await_state(a, 0, ND_PORT_GONE, &error);
	CHECK(strstr(error.text, "re-created; reopen"));
	nd_port_close(a);
	a = open_ours("p0");
	await_state(a, 0, ND_PORT_UP, &error);
	nd_port_close(a);
	veth_delete("p0");
}

/* By its index it is the old one, of which the kernel gives no sign but at the sockets. */
TEST(nd_packet_check__tells_an_interface_from_its_successor)
{
	struct nd_port *a;

	veth_add("p0", "p1", 1500);
	a = open_ours("p0");
	CHECK_EQ(nd_port_check(a, 0, &error), ND_PORT_UP);
	shell("ip link set p0 down && ip link set p0 up");
	await_state(a, 0, ND_PORT_UP, &error);
	veth_replace("p0", "p1", 1500);
	CHECK_EQ(nd_port_check(a, 0, &error), ND_PORT_GONE);
	CHECK(strstr(error.text, "re-created; reopen"));
	nd_port_close(a);
	veth_delete("p0");
}

/* Only what was to be sent is lost to a link that goes down, not what was given back. */
TEST(nd_packet_flush__counts_what_a_dead_link_drops)
{
	struct nd_port *a;

	veth_add("p0", "p1", 1500);
	a = open_ours("p0");
	shell("ip link set p0 down");
	CHECK_EQ(nd_port_reserve(a, frames, 3), 3);
	for (uint32_t i = 0; i < 3; i++)
		make_udp_frame(&frames[i], 60, OUR_PORT, i);
	frames[1].bytes = 5;
	nd_port_commit(a, frames, 3);
	CHECK_EQ(nd_port_flush(a), 0);
	CHECK_EQ(a->counters.tx_dropped_short, 1);
	CHECK_EQ(a->counters.tx_dropped_down, 2);
	nd_port_close(a);
	veth_delete("p0");
}

/* A link without carrier looks like a full ring: who waits for room there tries without end. */
TEST(nd_packet_flush__drops_what_waits_for_a_dead_link)
{
	struct nd_port *a;

	veth_add("p0", "p1", 1500);
	a = open_ours("p0");
	shell("ip link set p1 down");
	CHECK_EQ(send_udp_frames(a, 0, 2, 64, OUR_PORT), 2);
	CHECK_EQ(nd_port_flush(a), 2);
	await_state(a, 0, ND_PORT_DOWN, &error);
	CHECK_EQ(nd_port_flush(a), 0);
	CHECK_EQ(a->counters.tx_dropped_down, 2);
	nd_port_close(a);
	veth_delete("p0");
}

/* What the other end of a pair never takes, here for its size, looks like a full ring for ever. */
TEST(nd_packet_check__finds_a_stuck_transmitter)
{
	struct nd_port *a, *b;

	veth_add("p0", "p1", 1500);
	veth_set_mtu("p1", 1400);
	a = open_ours("p0");
	b = open_ours("p1");
	CHECK_EQ(send_udp_frames(a, 0, 1, 1514, OUR_PORT), 1);
	CHECK_EQ(send_udp_frames(a, 1, 1, 60, OUR_PORT), 1);
	CHECK_EQ(nd_port_flush(a), 2);
	CHECK_EQ(nd_port_check(a, 10 * ND_SEC, &error), ND_PORT_UP);
	CHECK_EQ(nd_port_check(a, 10 * ND_SEC + 499 * ND_MSEC, &error), ND_PORT_UP);
	CHECK_EQ(nd_port_check(a, 10 * ND_SEC + 500 * ND_MSEC, &error), ND_PORT_STUCK);
	CHECK(strstr(error.text, "smaller MTU"));
	CHECK_EQ(a->counters.tx_stuck, 1);
	nd_port_close(a);
	a = open_ours("p0");
	CHECK_EQ(send_udp_frames(a, 1, 1, 60, OUR_PORT), 1);
	CHECK_EQ(await_udp_frames(b, 1, 1, 60), 1);
	for (uint32_t i = 0; i < 3; i++)
		CHECK_EQ(nd_port_check(a, (10 + i) * ND_SEC, &error), ND_PORT_UP);
	nd_port_close(a);
	nd_port_close(b);
	veth_delete("p0");
}

/* Packets of a tunnel would be taken for frames, and frames sent into it for packets. */
TEST(nd_packet_open__refuses_what_is_no_ethernet)
{
	struct nd_port_config config = config_of(ND_PORT_PACKET, "p0");

	if (system("ip tuntap add p0 mode tun 2>/dev/null") != 0) {
		printf("nd_packet_open__refuses_what_is_no_ethernet: this kernel has no tun\n");
		return;
	}
	CHECK(!nd_port_open(&config, &error));
	CHECK_EQ(error.code, -EPROTONOSUPPORT);
	CHECK(strstr(error.text, "use a udp port"));
	shell("ip link del p0");
}

TEST(nd_packet_open__explains_what_is_wrong)
{
	struct nd_port_config config = config_of(ND_PORT_PACKET, "nothere");
	pid_t child;
	int status;

	CHECK(!nd_port_open(&config, &error));
	CHECK_EQ(error.code, -ENODEV);
	CHECK(strstr(error.text, "`ip link` lists them"));
	config.netns = "nd-test-no-such-namespace";
	CHECK(!nd_port_open(&config, &error));
	CHECK_EQ(error.code, -ENOENT);
	CHECK(strstr(error.text, "`ip netns list`"));
	veth_add("p0", "p1", 1500);
	config = config_of(ND_PORT_PACKET, "p0");
	config.mtu = 9000;
	CHECK(!nd_port_open(&config, &error));
	CHECK(strstr(error.text, "ip link set p0 mtu 9000"));
	config = config_of(ND_PORT_PACKET, "p0");
	config.filter = (struct nd_port_filter){ 0 };
	CHECK(!nd_port_open(&config, &error));
	CHECK(strstr(error.text, "selects nothing"));
	config.filter.udp_count = 2;
	config.filter.udp_ports[0] = OUR_PORT;
	CHECK(!nd_port_open(&config, &error));
	CHECK_EQ(error.code, -EINVAL);
	CHECK(strstr(error.text, "UDP port 2 of 2 is 0"));
	config.filter.udp_ports[1] = OUR_PORT;
	CHECK(!nd_port_open(&config, &error));
	CHECK_EQ(error.code, -EINVAL);
	CHECK(strstr(error.text, "names UDP port 40000 twice"));
	child = fork();
	if (child == 0) {
		config = config_of(ND_PORT_PACKET, "p0");
		if (setgid(65534) || setuid(65534) || nd_port_open(&config, &error))
			_exit(1);
		_exit(strstr(error.text, "CAP_NET_RAW") ? 0 : 2);
	}
	CHECK_EQ(waitpid(child, &status, 0), child);
	CHECK_EQ(status, 0);
	veth_delete("p0");
}

/* The loopback says nothing, and a veth pair that it has 10 Gb/s, always. */
TEST(nd_packet_open__believes_no_rate_that_is_made_up)
{
	struct nd_port_config config = {
		.backend = ND_PORT_PACKET, .name = "lo", .filter = { .homa = true } };
	struct nd_port *port = nd_port_open(&config, &error);

	CHECK(port);
	CHECK_EQ(port->link_bps, 0);
	nd_port_close(port);
	veth_add("p0", "p1", 1500);
	config.name = "p0";
	port = nd_port_open(&config, &error);
	CHECK(port);
	CHECK_EQ(port->link_bps, 0);
	nd_port_close(port);
	veth_delete("p0");
}

/* X32: an alternative name works, and the port goes by the canonical one. */
TEST(nd_packet_open__resolves_an_alternative_name)
{
	struct nd_port *a;

	veth_add("p0", "p1", 1500);
	shell("ip link property add dev p0 altname uplink");
	a = open_ours("uplink");
	CHECK_STR(a->name, "p0");
	nd_port_close(a);
	veth_delete("p0");
}

int main(int argc, char **argv)
{
	netns_enter();
	return nd_test_main(argc, argv);
}
