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

static inline uint64_t clock_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* Receives until count UDP frames came, in order and whole, or two seconds passed. */
static inline uint32_t await_udp_frames(struct nd_port *port, uint32_t first, uint32_t count,
					uint32_t bytes)
{
	uint64_t end = clock_ns() + 2000000000u;
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

/* Nothing more arrives within 30 ms. */
static inline bool stays_silent(struct nd_port *port)
{
	uint64_t end = clock_ns() + 30000000u;
	struct nd_frame frame;
	uint32_t count = 0;

	while (clock_ns() < end) {
		count += nd_port_receive(port, &frame, 1);
		nd_port_release(port);
	}
	return count == 0;
}

#endif
