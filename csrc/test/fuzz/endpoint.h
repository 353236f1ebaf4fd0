/* SPDX-License-Identifier: Apache-2.0 */
/* For targets whose input is a program for one endpoint: what its operations do, and the memory. */
#ifndef ND_TEST_FUZZ_ENDPOINT_H
#define ND_TEST_FUZZ_ENDPOINT_H

#include "test/fuzz/program.h"
#include "transport/transport.h"

#include <stdio.h>

#define CREDIT 300000 /* bytes that the endpoint is lent */
#define PORT 40       /* where app 0 listens */
#define IDS 16        /* that a program remembers */
#define OLD_BYTE 0xa5

static int64_t credit;
static uint32_t held;

/* Of another message: no payload of a program has such bytes. */
static inline uint8_t *get(void *context, uint16_t app, uint32_t bytes)
{
	uint8_t *memory;

	(void)context;
	(void)app;
	if (credit < bytes)
		return NULL;
	credit -= bytes;
	held++;
	memory = malloc(bytes);
	FUZZ_CHECK(memory);
	memset(memory, OLD_BYTE, bytes);
	return memory;
}

/* Nothing of what its memory held before is given away with a message. */
static inline void check_message(const struct nd_event *event)
{
	FUZZ_CHECK(!event->payload || !memchr(event->payload, OLD_BYTE, event->bytes));
}

static inline void put(void *context, uint16_t app, uint8_t *memory, uint32_t bytes)
{
	(void)context;
	(void)app;
	credit += bytes;
	held--;
	free(memory);
}

/* What runs the program: an engine, and how it gets packets and commands. */
struct program {
	const struct nd_transport_ops *ops;
	void (*receive)(void *endpoint, struct input *in, nd_ns now);
	void (*submit)(void *endpoint, struct input *in, uint64_t *ids, nd_ns now);
	uint32_t id_step; /* from one number that the engine gives away to the next */
};

static inline void check(const struct program *program, const void *endpoint)
{
	const char *wrong = program->ops->audit(endpoint);

	if (wrong)
		fprintf(stderr, "%s\n", wrong);
	FUZZ_CHECK(wrong == NULL);
}

static inline void *begin(const struct program *program, const void *config, nd_ns now)
{
	static const struct nd_rx_memory rx = { .get = get, .put = put };
	struct nd_command listen = { .kind = ND_COMMAND_LISTEN, .port = PORT };
	size_t bytes = program->ops->bytes(config);
	void *endpoint = aligned_alloc(64, bytes);
	const char *why;

	FUZZ_CHECK(program->ops->check(config, &why) == 0);
	memset(endpoint, 0, bytes);
	credit = CREDIT;
	program->ops->init(endpoint, &(struct nd_setup){ .seed = 1, .self = 1, .rx = &rx,
							 .config = config });
	program->ops->submit(endpoint, &listen, now);
	return endpoint;
}

static inline void step(const struct program *program, void *endpoint, struct input *in,
			uint64_t *ids, nd_ns *now)
{
	const struct nd_transport_ops *ops = program->ops;
	struct nd_packet packet;
	struct nd_event event;

	switch (take8(in) % 8) {
	case 0:
	case 1:
	case 2:
		program->receive(endpoint, in, *now);
		break;
	case 3:
		program->submit(endpoint, in, ids, *now);
		break;
	case 4:
		*now += (nd_ns)take8(in) * 100 * ND_USEC;
		ops->on_deadline(endpoint, *now);
		break;
	case 5:
		if (!ops->events(endpoint, &event, 1))
			break;
		check_message(&event);
		ids[event.id / program->id_step % IDS] = event.id;
		break;
	case 6:
		ops->transmit(endpoint, &packet, ND_CLASS_CONTROL, *now);
		break;
	default:
		ops->transmit(endpoint, &packet, ND_CLASS_DATA, *now);
		break;
	}
}

/* To the end of the input; every invariant holds after each operation. */
static inline void run(const struct program *program, void *endpoint, struct input *in,
		       uint64_t *ids, nd_ns *now)
{
	while (in->at < in->end) {
		step(program, endpoint, in, ids, now);
		check(program, endpoint);
	}
}

/* The applications are gone: nothing of theirs may be left. */
static inline void detach(const struct program *program, void *endpoint, uint32_t apps, nd_ns now)
{
	for (uint16_t app = 0; app < apps; app++)
		program->ops->submit(endpoint, &(struct nd_command){ .kind = ND_COMMAND_DETACH,
								     .app = app }, now);
	check(program, endpoint);
	FUZZ_CHECK(held == 0 && credit == CREDIT);
}

#endif
