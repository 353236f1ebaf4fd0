// SPDX-License-Identifier: Apache-2.0
/* UDP ports on loopback: frames lose nothing but what the kernel writes itself. */
#include "port/udp.h"
#include "port/udp_frame.h"
#include "test/frames.h"
#include "test/netns.h"

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#define OUR_PORT 47146

static struct nd_error error;
static struct nd_frame frames[64];

static struct nd_port *open_mtu(const char *name, uint32_t mtu)
{
	struct nd_port_config config = { .backend = ND_PORT_UDP, .name = name, .mtu = mtu };
	struct nd_port *port = nd_port_open(&config, &error);

	if (!port)
		fprintf(stderr, "  %s\n", error.text);
	CHECK(port);
	return port;
}

static struct nd_port *open_end(const char *name)
{
	return open_mtu(name, 0);
}

static void check_refused(const char *name, int code, const char *words)
{
	struct nd_port_config config = { .backend = ND_PORT_UDP, .name = name };

	CHECK(!nd_port_open(&config, &error));
	CHECK_EQ(error.code, code);
	CHECK(strstr(error.text, words));
}

/* A frame to 127.0.0.host with the traffic class. */
static void make_frame(struct nd_frame *frame, uint32_t bytes, uint8_t host, uint8_t class,
		       uint32_t number)
{
	make_udp_frame(frame, bytes, OUR_PORT, number);
	frame->data[15] = class;
	memcpy(frame->data + 30, (uint8_t[]){ 127, 0, 0, host }, 4);
}

TEST(nd_udp__carries_frames_with_their_traffic_class)
{
	static const uint32_t sizes[] = { 46, 60, 1000, 1514 };
	struct nd_port *a = open_end("127.0.0.41:47146"), *b = open_end("127.0.0.42:47146");
	struct nd_frame got;

	for (uint32_t i = 0; i < 40; i++) {
		uint32_t bytes = sizes[i % ND_ARRAY_SIZE(sizes)];

		CHECK_EQ(nd_port_reserve(a, frames, 1), 1);
		make_frame(&frames[0], bytes, 42, (uint8_t)(i << 2 | 2), i);
		nd_port_commit(a, frames, 1);
		CHECK_EQ(nd_port_flush(a), 0);
		got = await_frame(b);
		CHECK_EQ(got.bytes, bytes);
		CHECK_EQ(got.data[15], (i << 2 | 2) & 0xff);
		CHECK_EQ(ones_sum(got.data + 14, 20, 0), 0xffff);
		CHECK_EQ(memcmp(got.data + 26, (uint8_t[]){ 127, 0, 0, 41, 127, 0, 0, 42 }, 8), 0);
		CHECK_EQ(memcmp(got.data + 42, &i, 4), 0);
		CHECK_EQ(got.data[14 + 2] << 8 | got.data[14 + 3], bytes - 14);
		nd_port_release(b);
	}
	CHECK_STR(a->mode, "udp");
	nd_port_close(a);
	nd_port_close(b);
}

static void check_ipv6(uint32_t bytes)
{
	struct nd_port *a = open_mtu("[::1]:47146", 9000);
	struct nd_frame got;
	uint8_t *at;

	CHECK_EQ(nd_port_reserve(a, frames, 1), 1);
	at = put_ethernet(frames[0].data, 0x86dd);
	at = put_ipv6(at, 17, bytes - 54);
	put_u16(frames[0].data + 14, 0x6b80); /* traffic class 0xb8 */
	memset(at - 16, 0, 15);
	at[-1] = 1;
	at = put_udp(at, OUR_PORT, bytes - 62);
	memset(at, 0x5a, bytes - 62);
	frames[0].bytes = bytes;
	nd_port_commit(a, frames, 1);
	CHECK_EQ(nd_port_flush(a), 0);
	got = await_frame(a);
	CHECK_EQ(got.bytes, bytes);
	CHECK_EQ(got.data[14] << 8 | got.data[15], 0x6b80);
	CHECK_EQ(got.data[bytes - 1], 0x5a);
	CHECK_EQ(ones_sum(got.data + 22, bytes - 22, 17 + bytes - 54), 0xffff);
	nd_port_release(a);
	nd_port_close(a);
}

TEST(nd_udp__carries_ipv6_with_a_checksum)
{
	int probe = socket(AF_INET6, SOCK_DGRAM, 0);
	struct sockaddr_in6 loopback = {
		.sin6_family = AF_INET6,
		.sin6_addr = IN6ADDR_LOOPBACK_INIT,
	};
	bool possible = probe >= 0 && bind(probe, (struct sockaddr *)&loopback,
					   sizeof(loopback)) == 0;

	close(probe);
	if (!possible) {
		printf("nd_udp__carries_ipv6_with_a_checksum: this host has no IPv6\n");
		return;
	}
	check_ipv6(100);
	check_ipv6(1013);
	check_ipv6(9014);
}

/* T49: one frame that cannot be sent neither stops the others nor closes the port. */
TEST(nd_udp_flush__passes_over_what_cannot_be_sent)
{
	static const uint32_t sound[] = { 0, 4, 6 }; /* one is in the batch that is refused */
	struct nd_port *a = open_end("127.0.0.41:47146"), *b = open_end("127.0.0.42:47146");

	CHECK_EQ(nd_port_reserve(a, frames, 7), 7);
	for (uint32_t i = 0; i < 7; i++)
		make_frame(&frames[i], 60, 42, 0, i);
	put_ethernet(frames[1].data, 0x88b5);
	frames[2].bytes = 0;
	memcpy(frames[3].data + 30, (uint8_t[]){ 255, 255, 255, 255 }, 4); /* EACCES */
	put_u16(frames[5].data + 38, 300); /* claims more than there is */
	nd_port_commit(a, frames, 7);
	CHECK_EQ(nd_port_flush(a), 0);
	for (uint32_t i = 0; i < ND_ARRAY_SIZE(sound); i++) {
		struct nd_frame got = await_frame(b);

		CHECK_EQ(memcmp(got.data + 42, &sound[i], 4), 0);
		nd_port_release(b);
	}
	CHECK_EQ(a->counters.tx_dropped_unsendable, 2);
	CHECK_EQ(a->counters.tx_dropped_kernel, 1);
	nd_port_close(a);
	nd_port_close(b);
}

TEST(nd_udp_receive__counts_what_is_too_long)
{
	struct nd_port *a = open_mtu("127.0.0.41:47146", 9000), *b = open_end("127.0.0.42:47146");

	CHECK_EQ(nd_port_reserve(a, frames, 2), 2);
	make_frame(&frames[0], 1600, 42, 0, 0);
	make_frame(&frames[1], 1514, 42, 0, 1);
	nd_port_commit(a, frames, 2);
	CHECK_EQ(nd_port_flush(a), 0);
	CHECK_EQ(await_frame(b).bytes, 1514);
	nd_port_release(b);
	CHECK_EQ(b->counters.rx_dropped_oversize, 1);
	nd_port_close(a);
	nd_port_close(b);
}

TEST(nd_udp_refresh__counts_a_full_buffer)
{
	struct nd_port_config config = {
		.backend = ND_PORT_UDP,
		.name = "127.0.0.42:47146",
		.rx_frames = 8,
	};
	struct nd_port *a = open_end("127.0.0.41:47146"), *b = nd_port_open(&config, &error);
	uint32_t got;

	for (uint32_t i = 0; i < 4; i++) {
		CHECK_EQ(nd_port_reserve(a, frames, 64), 64);
		for (uint32_t k = 0; k < 64; k++)
			make_frame(&frames[k], 700 + 64 * i + k, 42, 0, 64 * i + k); /* no train */
		nd_port_commit(a, frames, 64);
		CHECK_EQ(nd_port_flush(a), 0);
	}
	got = await_arrivals(b, 8);
	CHECK(got >= 8 && got < 256);
	CHECK_EQ(nd_port_counters(b)->rx_ring_full, 256 - got);
	nd_port_close(a);
	nd_port_close(b);
}

TEST(nd_udp_arm__is_woken)
{
	struct pollfd entry = { .events = POLLIN };
	struct nd_port *a = open_end("127.0.0.41:47146");

	CHECK_EQ(nd_port_descriptors(a, &entry.fd), 1);
	CHECK(nd_port_arm(a));
	CHECK_EQ(poll(&entry, 1, 0), 0);
	CHECK_EQ(nd_port_reserve(a, frames, 1), 1);
	make_frame(&frames[0], 60, 41, 0, 0);
	nd_port_commit(a, frames, 1);
	nd_port_flush(a);
	CHECK_EQ(poll(&entry, 1, 20000), 1);
	CHECK(!nd_port_arm(a));
	CHECK_EQ(nd_port_check(a, 0, &error), ND_PORT_UP);
	nd_port_close(a);
}

TEST(nd_udp_open__explains_what_is_wrong)
{
	struct nd_port *a = open_end("127.0.0.41:47146");

	check_refused("127.0.0.41:47146", -EADDRINUSE, "`ss -lunp` names it");
	check_refused("203.0.113.7:47146", -EADDRNOTAVAIL, "`ip addr` lists them");
	check_refused("0.0.0.0:47146", -EADDRNOTAVAIL, "not the unspecified one");
	check_refused("[::]:47146", -EADDRNOTAVAIL, "not the unspecified one");
	check_refused("127.0.0.41", -EINVAL, "write 192.0.2.1:40000");
	check_refused("127.0.0.41:", -EINVAL, "write");
	check_refused("127.0.0.41:x", -EINVAL, "write");
	check_refused("127.0.0.41:70000", -EINVAL, "write");
	check_refused("::1:47146", -EINVAL, "write");
	check_refused(":1", -EINVAL, "write");
	check_refused("host:47146", -EINVAL, "write");
	nd_port_close(a);
}

/* Every cut of a good frame is refused or parsed within its bounds, never beyond (ASan looks). */
TEST(nd_udp_frame_parse__survives_any_length)
{
	uint8_t whole[200];
	struct nd_frame frame = { .data = whole, .room = sizeof(whole) };

	make_udp_frame(&frame, 100, OUR_PORT, 1);
	insert_tag(&frame, 0x8100, 1);
	insert_tag(&frame, 0x88a8, 2);
	for (uint32_t bytes = 0; bytes <= frame.bytes; bytes++) {
		uint8_t *cut = malloc(bytes ? bytes : 1);
		struct nd_udp_datagram datagram;

		memcpy(cut, whole, bytes);
		CHECK_EQ(nd_udp_frame_parse(cut, bytes, AF_INET, &datagram),
			 bytes == frame.bytes);
		CHECK(!nd_udp_frame_parse(cut, bytes, AF_INET6, &datagram));
		free(cut);
	}
}

/* Where it may, it has a loopback of its own: elsewhere somebody can have our port. */
int main(int argc, char **argv)
{
	if (unshare(CLONE_NEWNET) == 0)
		shell("ip link set lo up");
	return nd_test_main(argc, argv);
}
