// SPDX-License-Identifier: Apache-2.0
/* Frames whose end lies elsewhere: UDP ports send it from there, and once flushed look no more. */
#include "port/udp.h"
#include "port/udp_train.h"
#include "test/frames.h"
#include "test/netns.h"
#include "test/sending.h"

#include <arpa/inet.h>

#define OUR_PORT 47148
#define COUNT 60u
#define BYTES 1200u
#define SHORT_BYTES 300u

static struct nd_error error;
static struct nd_frame frames[COUNT];
static uint8_t elsewhere[COUNT][BYTES];

static struct nd_port *open_end(const char *name)
{
	struct nd_port_config config = { .backend = ND_PORT_UDP, .name = name };
	struct nd_port *port = nd_port_open(&config, &error);

	CHECK(port);
	return port;
}

/* Trains of different lengths, whose last frame may be shorter. */
static uint32_t bytes_of(uint32_t number)
{
	return number % 11 == 10 ? SHORT_BYTES : BYTES - number / 40;
}

/* None, the whole payload, or from somewhere within. */
static uint32_t tail_of(uint32_t number)
{
	uint32_t payload = bytes_of(number) - FRAME_UDP_HEADERS;

	return number % 4 == 0 ? 0 : number % 4 == 1 ? payload : payload / 3 + number % 50;
}

static uint8_t byte_of(uint32_t number, uint32_t at)
{
	return (uint8_t)(number * 31 + at * 7 + (at >> 8));
}

/* Moves the end of a frame to where it has its tail; what stays in its place is nonsense. */
static void move_tail(struct nd_frame *frame, uint32_t number)
{
	uint8_t *at = frame->data + frame->bytes - tail_of(number);

	CHECK_EQ(frame->tail_bytes, 0);
	if (!tail_of(number))
		return;
	frame->tail = memcpy(elsewhere[number % COUNT], at, tail_of(number));
	frame->tail_bytes = tail_of(number);
	memset(at, 0xee, tail_of(number));
}

static const uint8_t port_b[4] = { 127, 0, 0, 42 }, everybody[4] = { 255, 255, 255, 255 };

/* Frames with these numbers. */
static void commit(struct nd_port *port, uint32_t first, uint32_t count, const uint8_t target[4])
{
	CHECK_EQ(nd_port_reserve(port, frames, count), count);
	for (uint32_t i = 0; i < count; i++) {
		make_udp_frame(&frames[i], bytes_of(first + i), OUR_PORT, first + i);
		memcpy(frames[i].data + 30, target, 4);
		for (uint32_t at = FRAME_UDP_HEADERS + 4; at < frames[i].bytes; at++)
			frames[i].data[at] = byte_of(first + i, at);
		move_tail(&frames[i], first + i);
	}
	nd_port_commit(port, frames, count);
}

/* The owner does with the memory what it likes. */
static void spoil_tails(void)
{
	memset(elsewhere, 0xdd, sizeof(elsewhere));
}

static void check_frame(const struct nd_frame *frame, uint32_t number)
{
	CHECK_EQ(frame->bytes, bytes_of(number));
	CHECK_EQ(memcmp(frame->data + FRAME_UDP_HEADERS, &number, sizeof(number)), 0);
	for (uint32_t at = FRAME_UDP_HEADERS + 4; at < frame->bytes; at++)
		CHECK_EQ(frame->data[at], byte_of(number, at));
}

/* The next frames that arrive are these, whole. */
static void expect_frames(struct nd_port *port, uint32_t first, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		struct nd_frame frame = await_frame(port);

		check_frame(&frame, first + i);
		nd_port_release(port);
	}
}

TEST(nd_udp_flush__sends_tails_from_where_they_lie)
{
	struct nd_port *a = open_end("127.0.0.41:47148"), *b = open_end("127.0.0.42:47148");

	CHECK(a->gathers);
	commit(a, 0, COUNT, port_b);
	CHECK_EQ(a->counters.tx_frames, COUNT);
	CHECK(a->counters.tx_bytes > COUNT * (BYTES - BYTES / 10));
	CHECK_EQ(nd_port_flush(a), 0);
	CHECK(a->counters.tx_kicks < COUNT / 10); /* as trains */
	spoil_tails();
	expect_frames(b, 0, COUNT);
	nd_port_close(a);
	nd_port_close(b);
}

/* What is not sent is the port's own when flush returns, and tails behind it are others'. */
TEST(nd_udp_flush__keeps_the_tails_of_what_waits)
{
	struct nd_port *a = open_end("127.0.0.41:47148"), *b = open_end("127.0.0.42:47148");

	for (uint32_t i = 0; i < 4; i++) {
		sending_room = i; /* trains */
		commit(a, i * COUNT, COUNT, port_b);
		CHECK(nd_port_flush(a) > 0);
		spoil_tails();
	}
	CHECK(nd_port_flush(a) > 3 * COUNT / 2);
	sending_room = UINT32_MAX;
	CHECK_EQ(nd_port_flush(a), 0);
	expect_frames(b, 0, 4 * COUNT);
	CHECK_EQ(a->counters.tx_dropped_kernel, 0);
	nd_port_close(a);
	nd_port_close(b);
}

/* Where the kernel takes no train at all (this is one way to make it) datagrams leave alone. */
TEST(nd_udp_flush__sends_tails_of_refused_trains_alone)
{
	struct nd_port *a = open_end("127.0.0.41:47148"), *b = open_end("127.0.0.42:47148");
	int descriptor, one = 1;

	CHECK_EQ(nd_port_descriptors(a, &descriptor), 1);
	CHECK_EQ(setsockopt(descriptor, SOL_SOCKET, SO_NO_CHECK, &one, sizeof(one)), 0);
	commit(a, 0, COUNT, port_b);
	sending_room = COUNT / 2;
	CHECK_EQ(nd_port_flush(a), COUNT - COUNT / 2);
	spoil_tails();
	sending_room = UINT32_MAX;
	CHECK_EQ(nd_port_flush(a), 0);
	CHECK(a->counters.tx_kicks > 5);
	expect_frames(b, 0, COUNT);
	CHECK_EQ(a->counters.tx_dropped_kernel, 0);
	nd_port_close(a);
	nd_port_close(b);
}

/* T49: what nobody may send is passed over, one by one, and what is behind it arrives. */
TEST(nd_udp_flush__passes_over_tails_that_cannot_be_sent)
{
	struct nd_port *a = open_end("127.0.0.41:47148"), *b = open_end("127.0.0.42:47148");

	commit(a, 0, 20, everybody); /* EACCES: no broadcasts */
	commit(a, 20, 20, port_b);
	CHECK_EQ(nd_port_flush(a), 0);
	spoil_tails();
	CHECK_EQ(a->counters.tx_dropped_kernel, 20);
	expect_frames(b, 20, 20);
	nd_port_close(a);
	nd_port_close(b);
}

/* A datagram may be shorter than its frame: what is behind it is no part of it. */
TEST(nd_udp_flush__sends_no_padding_of_tails)
{
	static const uint32_t padding[] = { 0, 1, 100, BYTES - FRAME_UDP_HEADERS };
	struct nd_port *a = open_end("127.0.0.41:47148"), *b = open_end("127.0.0.42:47148");

	for (uint32_t i = 0; i < ND_ARRAY_SIZE(padding); i++) {
		struct nd_frame got;

		CHECK_EQ(nd_port_reserve(a, frames, 1), 1);
		make_udp_frame(&frames[0], BYTES, OUR_PORT, 1);
		memcpy(frames[0].data + 30, port_b, 4);
		put_u16(frames[0].data + 38, BYTES - 34 - padding[i]);
		move_tail(&frames[0], 1);
		nd_port_commit(a, frames, 1);
		CHECK_EQ(nd_port_flush(a), 0);
		got = await_frame(b);
		CHECK_EQ(got.bytes, BYTES - padding[i]);
		CHECK_EQ(memcmp(got.data + FRAME_UDP_HEADERS, elsewhere[1],
				got.bytes - FRAME_UDP_HEADERS), 0);
		nd_port_release(b);
	}
	nd_port_close(a);
	nd_port_close(b);
}

/* One given back and one dropped have none, whatever is written there; they wait like others. */
TEST(nd_udp_commit__forgets_the_tails_of_what_does_not_leave)
{
	struct nd_port *a = open_end("127.0.0.41:47148"), *b = open_end("127.0.0.42:47148");

	sending_room = 0;
	CHECK_EQ(nd_port_reserve(a, frames, 3), 3);
	for (uint32_t i = 0; i < 3; i++) {
		make_udp_frame(&frames[i], BYTES, OUR_PORT, 4);
		memcpy(frames[i].data + 30, port_b, 4);
	}
	frames[1].bytes = 0;
	frames[2].bytes = a->frame_bytes_max + 1;
	frames[1].tail = frames[2].tail = NULL;
	frames[1].tail_bytes = frames[2].tail_bytes = BYTES;
	nd_port_commit(a, frames, 3);
	CHECK_EQ(a->counters.tx_dropped_oversize, 1);
	CHECK_EQ(nd_port_flush(a), 3);
	sending_room = UINT32_MAX;
	CHECK_EQ(nd_port_flush(a), 0);
	CHECK_EQ(await_arrivals(b, 1), 1);
	nd_port_close(a);
	nd_port_close(b);
}

/* ---- trains ---- */

static struct nd_udp_datagram datagram_of(uint32_t bytes, uint32_t tail_bytes)
{
	struct nd_udp_datagram datagram = {
		.payload = elsewhere[0],
		.payload_bytes = bytes,
		.tail = elsewhere[1],
		.tail_bytes = tail_bytes,
	};

	datagram.target.v4 = (struct sockaddr_in){
		.sin_family = AF_INET,
		.sin_port = htons(OUR_PORT),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	return datagram;
}

/* What counts is how long a datagram is, in however many pieces. */
TEST(nd_udp_train_add__counts_tails)
{
	static struct nd_udp_train train;
	struct nd_udp_datagram first = datagram_of(1000, 900), same = datagram_of(1000, 0);
	struct nd_udp_datagram longer = datagram_of(1001, 950), shorter = datagram_of(999, 999);
	struct msghdr message;

	nd_udp_train_begin(&train, &first);
	CHECK(!nd_udp_train_add(&train, &longer));
	CHECK(nd_udp_train_add(&train, &same));
	CHECK(nd_udp_train_add(&train, &first));
	CHECK(nd_udp_train_add(&train, &shorter));
	CHECK(!nd_udp_train_add(&train, &shorter));
	CHECK_EQ(train.count, 4);
	CHECK_EQ(train.bytes, 3999);
	message = nd_udp_train_message(&train);
	CHECK_EQ(message.msg_iovlen, 7);
	CHECK_EQ(message.msg_iov[1].iov_len, 900);
	CHECK(message.msg_iov[1].iov_base == elsewhere[1]);
	CHECK_EQ(message.msg_iov[2].iov_len, 1000);
	first = datagram_of(100, 50);
	nd_udp_train_begin(&train, &first);
	while (nd_udp_train_add(&train, &first))
		;
	CHECK_EQ(train.count, ND_UDP_TRAIN_MAX);
	CHECK_EQ(nd_udp_train_message(&train).msg_iovlen, 2 * ND_UDP_TRAIN_MAX);
}

/* Where it may, it has a loopback of its own: elsewhere somebody can have our port. */
int main(int argc, char **argv)
{
	if (unshare(CLONE_NEWNET) == 0)
		shell("ip link set lo up");
	return nd_test_main(argc, argv);
}
