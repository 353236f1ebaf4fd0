// SPDX-License-Identifier: Apache-2.0
/* Trains of datagrams: what may be of one, and that ports lose and mix up nothing by them. */
#include "port/udp_train.h"

#include "port/udp.h"
#include "test/frames.h"
#include "test/netns.h"

#include <arpa/inet.h>
#include <netinet/udp.h>
#include <sys/socket.h>
#include <unistd.h>

#define OUR_PORT 47147
#define COUNT 300u

static struct nd_error error;
static struct nd_frame frames[512];
static uint8_t payload[ND_UDP_TRAIN_BYTES_MAX];

static struct nd_udp_datagram datagram_to(uint8_t host, uint32_t bytes)
{
	struct nd_udp_datagram datagram = { .payload = payload, .payload_bytes = bytes };

	datagram.target.v4 = (struct sockaddr_in){
		.sin_family = AF_INET,
		.sin_port = htons(OUR_PORT),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK + host),
	};
	return datagram;
}

/* Whether a datagram may follow one of 1000 bytes to the same host. */
static bool follows(const struct nd_udp_datagram *datagram)
{
	static struct nd_udp_train train;
	struct nd_udp_datagram first = datagram_to(42, 1000);

	nd_udp_train_begin(&train, &first);
	return nd_udp_train_add(&train, datagram);
}

TEST(nd_udp_train_add__takes_what_differs_in_nothing_but_a_shorter_end)
{
	struct nd_udp_datagram same = datagram_to(42, 1000), marked = same, other_port = same;
	struct nd_udp_datagram shorter = datagram_to(42, 999), longer = datagram_to(42, 1001);
	struct nd_udp_datagram empty = datagram_to(42, 0), other = datagram_to(43, 1000);

	marked.traffic_class = 3;
	other_port.target.v4.sin_port = htons(OUR_PORT + 1);
	CHECK(follows(&same));
	CHECK(follows(&shorter));
	CHECK(!follows(&longer));
	CHECK(!follows(&empty));
	CHECK(!follows(&other));
	CHECK(!follows(&other_port));
	CHECK(!follows(&marked));
}

TEST(nd_udp_train_add__ends_with_the_first_shorter_one_and_at_the_limits)
{
	static struct nd_udp_train train;
	struct nd_udp_datagram full = datagram_to(42, 1000), shorter = datagram_to(42, 10);

	nd_udp_train_begin(&train, &full);
	CHECK(nd_udp_train_add(&train, &shorter));
	CHECK(!nd_udp_train_add(&train, &shorter));
	nd_udp_train_begin(&train, &full);
	while (nd_udp_train_add(&train, &full))
		;
	CHECK_EQ(train.count, ND_UDP_TRAIN_MAX);
	full = datagram_to(42, 9000);
	nd_udp_train_begin(&train, &full);
	while (nd_udp_train_add(&train, &full))
		;
	CHECK_EQ(train.count, ND_UDP_TRAIN_BYTES_MAX / 9000);
}

/* ---- ports ---- */

static struct nd_port *open_end(const char *name)
{
	struct nd_port_config config = { .backend = ND_PORT_UDP, .name = name, .tx_frames = 512 };
	struct nd_port *port = nd_port_open(&config, &error);

	CHECK(port);
	return port;
}

static void commit(struct nd_port *port, uint32_t count, uint32_t bytes, uint8_t host)
{
	CHECK_EQ(nd_port_reserve(port, frames, count), count);
	for (uint32_t i = 0; i < count; i++) {
		make_udp_frame(&frames[i], bytes, OUR_PORT, i);
		memcpy(frames[i].data + 30, (uint8_t[]){ 127, 0, 0, host }, 4);
	}
	nd_port_commit(port, frames, count);
}

/* What tells frame i: bytes, host and traffic class change, each at its own pace. */
static uint32_t bytes_of(uint32_t i)
{
	return i % 7 == 6 ? 200 + i : 1514 - i / 100;
}

static uint8_t class_of(uint32_t i)
{
	return i / 64 % 2 ? 0xb8 : 0;
}

static uint8_t host_of(uint32_t i)
{
	return i / 5 % 3 ? 42 : 43;
}

static void commit_mixture(struct nd_port *port)
{
	CHECK_EQ(nd_port_reserve(port, frames, COUNT), COUNT);
	for (uint32_t i = 0; i < COUNT; i++) {
		make_udp_frame(&frames[i], bytes_of(i), OUR_PORT, i);
		frames[i].data[15] = class_of(i);
		memcpy(frames[i].data + 30, (uint8_t[]){ 127, 0, 0, host_of(i) }, 4);
		memset(frames[i].data + 46, (int)i, frames[i].bytes - 46);
	}
	nd_port_commit(port, frames, COUNT);
}

/* Receives in portions of so many, and checks that all to a host come in order and whole. */
static void check_mixture(struct nd_port *port, uint8_t host, uint32_t portion)
{
	uint32_t next = 0;

	while (next < COUNT) {
		uint32_t got = nd_port_receive(port, frames, portion);

		for (uint32_t k = 0; k < got; k++, next++) {
			const struct nd_frame *frame = &frames[k];

			while (host_of(next) != host)
				next++;
			CHECK_EQ(frame->bytes, bytes_of(next));
			CHECK_EQ(frame->data[15], class_of(next));
			CHECK_EQ(memcmp(frame->data + 42, &next, 4), 0);
			CHECK_EQ(frame->data[46], next & 0xff);
			CHECK_EQ(frame->data[frame->bytes - 1], next & 0xff);
			CHECK_EQ(ones_sum(frame->data + 14, 20, 0), 0xffff);
		}
		nd_port_release(port);
		while (next < COUNT && host_of(next) != host)
			next++;
	}
}

TEST(nd_udp__keeps_order_and_bytes_of_trains)
{
	struct nd_port *a = open_end("127.0.0.41:47147");
	struct nd_port *b = open_end("127.0.0.42:47147"), *c = open_end("127.0.0.43:47147");

	for (uint32_t portion = 1; portion <= 64; portion += 9) {
		uint64_t kicks = a->counters.tx_kicks;

		commit_mixture(a);
		CHECK_EQ(nd_port_flush(a), 0);
		CHECK(a->counters.tx_kicks - kicks < COUNT / 64);
		check_mixture(b, 42, portion);
		check_mixture(c, 43, portion);
	}
	CHECK_EQ(a->counters.tx_dropped_kernel + b->counters.rx_dropped_oversize, 0);
	nd_port_close(a);
	nd_port_close(b);
	nd_port_close(c);
}

TEST(nd_udp_arm__refuses_while_a_train_is_not_cut)
{
	struct nd_port *a = open_end("127.0.0.41:47147"), *b = open_end("127.0.0.42:47147");

	commit(a, 10, 1000, 42);
	CHECK_EQ(nd_port_flush(a), 0);
	await_frame(b);
	for (uint32_t left = 9; left; left--) {
		nd_port_release(b);
		CHECK(!nd_port_arm(b));
		CHECK_EQ(nd_port_receive(b, frames, 1), 1);
	}
	nd_port_release(b);
	CHECK(nd_port_arm(b));
	nd_port_close(a);
	nd_port_close(b);
}

/* Who knows nothing of trains gets datagrams, and who does gets them in one piece. */
TEST(nd_udp_flush__sends_trains_that_anybody_understands)
{
	struct sockaddr_in here = datagram_to(41, 0).target.v4;
	struct nd_port *a = open_end("127.0.0.41:47147");
	int plain = socket(AF_INET, SOCK_DGRAM, 0);
	const int one = 1;

	CHECK_EQ(bind(plain, (struct sockaddr *)&here, sizeof(here)), 0); /* 127.0.0.42 */
	commit(a, 10, 1000, 42);
	CHECK_EQ(nd_port_flush(a), 0);
	for (uint32_t i = 0; i < 10; i++) {
		CHECK_EQ(recv(plain, payload, sizeof(payload), 0), 958);
		CHECK_EQ(memcmp(payload, &i, 4), 0);
	}
	if (setsockopt(plain, IPPROTO_UDP, UDP_GRO, &one, sizeof(one)) == 0) {
		commit(a, 10, 1000, 42);
		CHECK_EQ(nd_port_flush(a), 0);
		CHECK_EQ(recv(plain, payload, sizeof(payload), 0), 9580);
	}
	close(plain);
	nd_port_close(a);
}

/* T49: those of a train that is refused are tried one by one, and what is behind it leaves. */
TEST(nd_udp_flush__tries_the_datagrams_of_a_refused_train_alone)
{
	struct nd_port *a = open_end("127.0.0.41:47147"), *b = open_end("127.0.0.42:47147");

	CHECK_EQ(nd_port_reserve(a, frames, 40), 40);
	for (uint32_t i = 0; i < 40; i++) {
		make_udp_frame(&frames[i], 1000, OUR_PORT, i);
		memset(frames[i].data + 30, i < 20 ? 255 : 127, 4); /* EACCES: no broadcasts */
		if (i >= 20)
			memcpy(frames[i].data + 30, (uint8_t[]){ 127, 0, 0, 42 }, 4);
	}
	nd_port_commit(a, frames, 40);
	CHECK_EQ(nd_port_flush(a), 0);
	CHECK_EQ(a->counters.tx_dropped_kernel, 20);
	CHECK_EQ(await_arrivals(b, 20), 20);
	nd_port_close(a);
	nd_port_close(b);
}

TEST(nd_udp_receive__counts_each_of_a_train_that_is_too_long)
{
	struct nd_port_config jumbo = {
		.backend = ND_PORT_UDP,
		.name = "127.0.0.41:47147",
		.mtu = 9000,
	};
	struct nd_port *a = nd_port_open(&jumbo, &error), *b = open_end("127.0.0.42:47147");

	commit(a, 5, 1600, 42);
	commit(a, 5, 1500, 42);
	CHECK_EQ(nd_port_flush(a), 0);
	CHECK_EQ(await_arrivals(b, 5), 5);
	CHECK_EQ(b->counters.rx_dropped_oversize, 5);
	nd_port_close(a);
	nd_port_close(b);
}

/* Where it may, it has a loopback of its own: elsewhere somebody can have our port. */
int main(int argc, char **argv)
{
	if (unshare(CLONE_NEWNET) == 0)
		shell("ip link set lo up");
	return nd_test_main(argc, argv);
}
