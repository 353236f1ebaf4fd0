// SPDX-License-Identifier: Apache-2.0
/* Trains of datagrams of any length, received over slots that are made for others. */
#include "port/udp_arrivals.h"

#include "test/frames.h"
#include "test/netns.h"

#include <arpa/inet.h>
#include <netinet/udp.h>
#include <unistd.h>

#define BYTES 30000u /* of a train */
#define SEGMENTS_MAX 64u

static struct nd_udp_arrivals arrivals;
static uint8_t payload[BYTES];

/* On the loopback address and a port of its own, which it tells. */
static int open_socket(sa_family_t family, union nd_udp_address *address)
{
	int fd = socket(family, SOCK_DGRAM, 0);
	socklen_t length = sizeof(*address);
	const int one = 1;

	*address = (union nd_udp_address){ .any.sa_family = family };
	if (family == AF_INET)
		address->v4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	else
		address->v6.sin6_addr = in6addr_loopback;
	if (fd < 0 || bind(fd, &address->any, length) < 0 ||
	    setsockopt(fd, IPPROTO_UDP, UDP_GRO, &one, sizeof(one)) < 0)
		netns_skip("this test needs IPv4 and IPv6, and UDP sockets that take trains");
	CHECK_EQ(getsockname(fd, &address->any, &length), 0);
	return fd;
}

static void send_train(int fd, const union nd_udp_address *address, uint32_t segment,
		       uint32_t bytes)
{
	const int size = (int)segment;

	CHECK_EQ(setsockopt(fd, IPPROTO_UDP, UDP_SEGMENT, &size, sizeof(size)), 0);
	CHECK_EQ(sendto(fd, payload, bytes, 0, &address->any, sizeof(*address)), bytes);
}

static void await(int fd)
{
	uint64_t end = clock_ns() + PATIENCE_NS;

	while (!nd_udp_arrivals_receive(&arrivals, fd))
		CHECK(clock_ns() < end);
}

/* Cuts all that came, and puts headers in front of each as a port does. */
static void check_train(int fd, uint32_t segment, uint32_t bytes)
{
	for (uint32_t at = 0, copy = 0; at < bytes; at += segment, copy++) {
		struct nd_udp_part part;

		if (nd_udp_arrivals_done(&arrivals))
			await(fd);
		part = nd_udp_arrivals_cut(&arrivals, copy % ND_UDP_ARRIVALS_MAX);
		CHECK_EQ(part.bytes, nd_min_u32(segment, bytes - at));
		if (part.bytes > arrivals.bytes_max) {
			CHECK(!part.payload);
			continue;
		}
		CHECK_EQ(memcmp(part.payload, payload + at, part.bytes), 0);
		memset(part.payload - ND_UDP_HEADERS_MAX, 0xee, ND_UDP_HEADERS_MAX);
	}
	CHECK(nd_udp_arrivals_done(&arrivals));
}

static void check_segments(sa_family_t family, uint32_t full, uint32_t most)
{
	uint32_t segments[] = { 1, 40, 511, 512, 513, full - 1, full, full + 1, most, most + 1, 2 * most };
	union nd_udp_address address;
	int fd = open_socket(family, &address);

	CHECK_EQ(nd_udp_arrivals_open(&arrivals, full, most), 0);
	for (uint32_t i = 0; i < ND_ARRAY_SIZE(segments); i++) {
		uint32_t bytes = nd_min_u32(BYTES, segments[i] * SEGMENTS_MAX);

		for (uint32_t missing = 0; missing < 2; missing++) { /* of the last one */
			send_train(fd, &address, segments[i], bytes - missing);
			check_train(fd, segments[i], bytes - missing);
		}
	}
	nd_udp_arrivals_close(&arrivals);
	close(fd);
}

/* What ports of these MTUs ask for, over IPv4 and IPv6. */
TEST(nd_udp_arrivals_cut__datagrams_of_any_length)
{
	static const uint32_t mtus[] = { 68, 576, 1500, 9000, 9216 };

	for (uint32_t i = 0; i < ND_ARRAY_SIZE(mtus); i++) {
		check_segments(AF_INET, mtus[i] - 28, mtus[i] - 20);
		check_segments(AF_INET6, mtus[i] - 48, mtus[i] - 40);
	}
}

/* Nothing in it is a datagram all the same. */
TEST(nd_udp_arrivals_cut__an_empty_datagram)
{
	union nd_udp_address address;
	int fd = open_socket(AF_INET, &address);
	struct nd_udp_part part;

	CHECK_EQ(nd_udp_arrivals_open(&arrivals, 1472, 1480), 0);
	for (uint32_t i = 0; i < 2; i++)
		CHECK_EQ(sendto(fd, payload, i, 0, &address.any, sizeof(address)), i);
	for (uint32_t i = 0; i < 2; i++) {
		if (nd_udp_arrivals_done(&arrivals))
			await(fd);
		part = nd_udp_arrivals_cut(&arrivals, 0);
		CHECK_EQ(part.bytes, i);
		CHECK(part.payload);
		CHECK_EQ(part.source->v4.sin_port, address.v4.sin_port);
	}
	CHECK(nd_udp_arrivals_done(&arrivals));
	nd_udp_arrivals_close(&arrivals);
	close(fd);
}

int main(int argc, char **argv)
{
	for (uint32_t i = 0; i < BYTES; i++)
		payload[i] = (uint8_t)(i * 7 + (i >> 8));
	if (unshare(CLONE_NEWNET) == 0)
		shell("ip link set lo up");
	return nd_test_main(argc, argv);
}
