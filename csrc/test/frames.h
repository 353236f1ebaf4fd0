/* SPDX-License-Identifier: Apache-2.0 */
/* Ethernet frames for port tests, written by hand so that they depend on nothing under test. */
#ifndef ND_TEST_FRAMES_H
#define ND_TEST_FRAMES_H

#include "port/port.h"
#include "test/harness.h"

#include <time.h>

#define FRAME_UDP_HEADERS 42u

static inline void put_u16(uint8_t *at, uint32_t value)
{
	at[0] = (uint8_t)(value >> 8);
	at[1] = (uint8_t)value;
}

static inline uint16_t ones_sum(const uint8_t *data, uint32_t bytes, uint32_t sum)
{
	for (uint32_t i = 0; i < bytes; i += 2)
		sum += (uint32_t)data[i] << 8 | (i + 1 < bytes ? data[i + 1] : 0u);
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t)sum;
}

/* The addresses that veth_add() gives to a pair, first to second, and the type. */
static inline uint8_t *put_ethernet(uint8_t *at, uint16_t type)
{
	memcpy(at, "\x02\0\0\0\0\x02", 6);
	memcpy(at + 6, "\x02\0\0\0\0\x01", 6);
	put_u16(at + 12, type);
	return at + 14;
}

/* An IPv4 header, 10.9.0.77 to 10.9.0.2, of the protocol, with payload_bytes behind it. */
static inline uint8_t *put_ipv4(uint8_t *at, uint8_t protocol, uint32_t payload_bytes)
{
	static const uint8_t header[20] = { 0x45, 0, 0, 0, 0, 0, 0, 0, 64, 0, 0, 0,
					    10,   9, 0, 77, 10, 9, 0, 2 };

	memcpy(at, header, sizeof(header));
	put_u16(at + 2, 20 + payload_bytes);
	at[9] = protocol;
	put_u16(at + 10, (uint16_t)~ones_sum(at, 20, 0));
	return at + 20;
}

/* An IPv6 header, fd00::77 to fd00::2. */
static inline uint8_t *put_ipv6(uint8_t *at, uint8_t next, uint32_t payload_bytes)
{
	memset(at, 0, 40);
	at[0] = 0x60;
	put_u16(at + 4, payload_bytes);
	at[6] = next;
	at[7] = 64;
	at[8] = at[24] = 0xfd;
	at[23] = 0x77;
	at[39] = 2;
	return at + 40;
}

/* A UDP header without checksum. */
static inline uint8_t *put_udp(uint8_t *at, uint16_t target_port, uint32_t payload_bytes)
{
	put_u16(at, 7777);
	put_u16(at + 2, target_port);
	put_u16(at + 4, 8 + payload_bytes);
	put_u16(at + 6, 0);
	return at + 8;
}

/* A whole frame of the given size: UDP over IPv4; its payload begins with number. */
static inline void make_udp_frame(struct nd_frame *frame, uint32_t bytes, uint16_t target_port,
				  uint32_t number)
{
	uint8_t *at = put_ethernet(frame->data, 0x0800);

	CHECK(bytes >= FRAME_UDP_HEADERS + 4 && bytes <= frame->room);
	at = put_ipv4(at, 17, bytes - 34);
	at = put_udp(at, target_port, bytes - FRAME_UDP_HEADERS);
	memset(at, (int)(number & 0xff), bytes - FRAME_UDP_HEADERS);
	memcpy(at, &number, sizeof(number));
	frame->bytes = bytes;
}

/* Sends count numbered UDP frames and returns how many found room. */
static inline uint32_t send_udp_frames(struct nd_port *port, uint32_t first, uint32_t count,
				       uint32_t bytes, uint16_t target_port)
{
	struct nd_frame frames[64];
	uint32_t room = nd_port_reserve(port, frames, count);

	for (uint32_t i = 0; i < room; i++)
		make_udp_frame(&frames[i], bytes, target_port, first + i);
	nd_port_commit(port, frames, room);
	nd_port_flush(port);
	return room;
}

/* Puts a VLAN tag into a frame that is written. */
static inline void insert_tag(struct nd_frame *frame, uint16_t type, uint16_t tag)
{
	memmove(frame->data + 16, frame->data + 12, frame->bytes - 12);
	put_u16(frame->data + 12, type);
	put_u16(frame->data + 14, tag);
	frame->bytes += 4;
}

#define FRAME_KINDS 15u
#define FRAME_KINDS_OURS 7u

/* IPv4 with a header of six words: the UDP header is not where it mostly is. */
static inline void make_options_frame(struct nd_frame *frame, uint16_t target_port)
{
	uint8_t *ip = put_ethernet(frame->data, 0x0800), *udp;

	put_ipv4(ip, 17, 4 + 8 + 30);
	ip[0] = 0x46;
	put_u16(ip + 10, 0);
	memset(ip + 20, 1, 4);
	put_u16(ip + 10, (uint16_t)~ones_sum(ip, 24, 0));
	udp = put_udp(ip + 24, target_port, 30);
	memset(udp, 0, 30);
	frame->bytes = 14 + 24 + 8 + 30;
}

/*
 * Sends one frame of each kind that matters: first those that belong to a stack on the port, then
 * those that are the kernel's.
 */
static inline uint32_t send_kinds(struct nd_port *port, uint16_t our_port)
{
	struct nd_frame frames[FRAME_KINDS], *f = frames;

	CHECK_EQ(nd_port_reserve(port, frames, FRAME_KINDS), FRAME_KINDS);
	make_udp_frame(f++, 60, our_port, 1);
	put_ipv4(put_ethernet(f->data, 0x0800), 146, 40);
	f++->bytes = 74;
	put_ipv6(put_ethernet(f->data, 0x86dd), 146, 40);
	f++->bytes = 94;
	put_udp(put_ipv6(put_ethernet(f->data, 0x86dd), 17, 48), our_port, 40);
	f++->bytes = 102;
	make_options_frame(f++, our_port);
	make_udp_frame(f, 60, our_port, 1);
	insert_tag(f++, 0x8100, 0xa02a);
	make_udp_frame(f, 1514, our_port, 1);
	f++;
	CHECK_EQ(f - frames, FRAME_KINDS_OURS);
	make_udp_frame(f, 60, our_port, 1); /* two tags */
	insert_tag(f, 0x8100, 0xa02a);
	insert_tag(f++, 0x8100, 0x6007);
	make_udp_frame(f++, 60, (uint16_t)(our_port + 1), 1);
	put_ipv4(put_ethernet(f->data, 0x0800), 6, 40); /* TCP */
	f++->bytes = 74;
	memset(put_ethernet(f->data, 0x0806), 0, 28); /* ARP */
	f++->bytes = 42;
	put_ethernet(f->data, 0x88b5); /* a header and nothing else is a frame */
	f++->bytes = 14;
	make_udp_frame(f, 60, our_port, 1); /* a later fragment has no UDP header */
	f++->data[21] = 1;
	make_udp_frame(f, 60, our_port, 1); /* ends within the UDP header */
	f++->bytes = 36;
	make_udp_frame(f, 60, our_port, 1); /* ends within the IP header */
	f++->bytes = 30;
	CHECK_EQ(f - frames, FRAME_KINDS);
	nd_port_commit(port, frames, FRAME_KINDS);
	CHECK_EQ(nd_port_flush(port), 0);
	return FRAME_KINDS;
}

static inline uint64_t clock_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* Bounds on times mean something only on a quiet machine: `make test-timed` has them checked. */
static inline void check_time(nd_ns taken, nd_ns most)
{
	if (getenv("NDPSTACK_TIMED"))
		CHECK(taken <= most);
}

/* What must happen has so long, ns: a busy machine is late. */
#define PATIENCE_NS UINT64_C(20000000000)

/* Frames that arrive within 100 ms. */
static inline uint32_t count_arrivals(struct nd_port *port)
{
	uint64_t end = clock_ns() + 100000000u;
	struct nd_frame frames[64];
	uint32_t count = 0;

	while (clock_ns() < end) {
		count += nd_port_receive(port, frames, 64);
		nd_port_release(port);
	}
	return count;
}

/* Frames that arrive until there are as many as are due, and 100 ms more. */
static inline uint32_t await_arrivals(struct nd_port *port, uint32_t due)
{
	uint64_t end = clock_ns() + PATIENCE_NS;
	struct nd_frame frames[64];
	uint32_t count = 0;

	while (count < due && clock_ns() < end) {
		count += nd_port_receive(port, frames, 64);
		nd_port_release(port);
	}
	return count + count_arrivals(port);
}

/* The next frame, which must come; the caller looks at it and releases. */
static inline struct nd_frame await_frame(struct nd_port *port)
{
	uint64_t end = clock_ns() + PATIENCE_NS;
	struct nd_frame frame = { 0 };

	while (!nd_port_receive(port, &frame, 1))
		CHECK(clock_ns() < end);
	return frame;
}

/* Receives until count UDP frames came, in order and whole, or patience ends. */
static inline uint32_t await_udp_frames(struct nd_port *port, uint32_t first, uint32_t count,
					uint32_t bytes)
{
	uint64_t end = clock_ns() + PATIENCE_NS;
	struct nd_frame frames[64];
	uint32_t got = 0;

	while (got < count && clock_ns() < end) {
		uint32_t n = nd_port_receive(port, frames, nd_min_u32(64, count - got));

		for (uint32_t i = 0; i < n; i++) {
			uint32_t number;

			CHECK_EQ(frames[i].bytes, bytes);
			memcpy(&number, frames[i].data + FRAME_UDP_HEADERS, sizeof(number));
			CHECK_EQ(number, first + got + i);
			if (bytes > FRAME_UDP_HEADERS + 4)
				CHECK_EQ(frames[i].data[bytes - 1], number & 0xff);
		}
		got += n;
		nd_port_release(port);
	}
	return got;
}

#endif
