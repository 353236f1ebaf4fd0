/* SPDX-License-Identifier: Apache-2.0 */
/* The two ends of a memory port in one process, and numbered frames between them. */
#ifndef ND_TEST_MEMORY_ENDS_H
#define ND_TEST_MEMORY_ENDS_H

#include "port/memory.h"
#include "test/harness.h"

#include <unistd.h>

#define SLOTS 16u
#define BATCH 64u

static struct nd_error error;
static struct nd_frame frames[BATCH];
static char name[64];

static inline struct nd_port_config config_of(bool listen)
{
	return (struct nd_port_config){
		.backend = ND_PORT_MEMORY,
		.name = name,
		.rx_frames = SLOTS,
		.memory.listen = listen,
	};
}

static inline struct nd_port *open_end(bool listen)
{
	struct nd_port_config config = config_of(listen);
	struct nd_port *port = nd_port_open(&config, &error);

	if (!port)
		fprintf(stderr, "  %s\n", error.text);
	CHECK(port);
	return port;
}

static inline void choose_name(const char *case_name)
{
	snprintf(name, sizeof(name), "test-memory-%d-%s", getpid(), case_name);
}

static inline void open_pair(struct nd_port **listener, struct nd_port **connector, const char *case_name)
{
	choose_name(case_name);
	*listener = open_end(true);
	*connector = open_end(false);
	CHECK_EQ(nd_port_check(*listener, 0, &error), ND_PORT_UP);
	CHECK_EQ(nd_port_check(*connector, 0, &error), ND_PORT_UP);
}

/* Sends count frames of the given size that begin with consecutive numbers. */
static inline uint32_t send_numbered(struct nd_port *port, uint32_t first, uint32_t count, uint32_t bytes)
{
	uint32_t room = nd_port_reserve(port, frames, count);

	for (uint32_t i = 0; i < room; i++) {
		uint32_t number = first + i;

		CHECK(frames[i].room >= bytes);
		memset(frames[i].data, (int)(number & 0xff), bytes);
		memcpy(frames[i].data, &number, sizeof(number));
		frames[i].bytes = bytes;
	}
	nd_port_commit(port, frames, room);
	nd_port_flush(port);
	return room;
}

/* Receives what is there and checks the numbers; returns how many frames came. */
static inline uint32_t receive_numbered(struct nd_port *port, uint32_t first, uint32_t bytes)
{
	uint32_t count = nd_port_receive(port, frames, BATCH);

	for (uint32_t i = 0; i < count; i++) {
		uint32_t number;

		memcpy(&number, frames[i].data, sizeof(number));
		CHECK_EQ(number, first + i);
		CHECK_EQ(frames[i].bytes, bytes);
		CHECK_EQ(frames[i].data[bytes - 1], number & 0xff);
	}
	nd_port_release(port);
	return count;
}

#endif
