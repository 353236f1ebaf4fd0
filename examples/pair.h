/* SPDX-License-Identifier: Apache-2.0 */
/* Two stacks in this process, linked by shared memory, and what the examples do with each. */
#ifndef PAIR_H
#define PAIR_H

#include <ndpstack.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static inline void fail(const char *what, const char *why)
{
	fprintf(stderr, "%s: %s\n", what, why);
	exit(1);
}

/* Stack 1 or 2 of a pair, at 10.0.0.1 or 10.0.0.2. */
static inline struct nd_stack *open_stack(uint8_t number)
{
	struct nd_error error = { 0 };
	char link[64];
	struct nd_stack_config config = {
		.ports = { { .backend = ND_PORT_MEMORY, .name = link, .memory.listen = number == 1 } },
		.port_count = 1,
		.address_v4 = { [10] = 0xff, [11] = 0xff, 10, 0, 0, number },
	};
	struct nd_stack *stack;

	snprintf(link, sizeof(link), "pair-%d", getpid());
	stack = nd_stack_open(&config, &error);
	if (!stack)
		fail("cannot open a stack", error.text);
	return stack;
}

static inline struct nd_event next_event(struct nd_stack *stack)
{
	struct nd_event event;

	for (;;) {
		int count = nd_stack_events(stack, &event, 1);

		if (count > 0)
			return event;
		if (count < 0)
			fail("stack", strerror(-count));
		nd_stack_wait(stack, ND_SEC);
	}
}

/* Waits for an event of a kind; others are answers that nobody needs here. */
static inline struct nd_event await(struct nd_stack *stack, uint8_t kind)
{
	for (;;) {
		struct nd_event event = next_event(stack);

		if (event.kind == ND_EVENT_FAILED)
			fail("refused", strerror(-event.error));
		if (event.kind == kind)
			return event;
	}
}

static inline void submit(struct nd_stack *stack, uint8_t protocol, struct nd_command command)
{
	int code = nd_stack_submit(stack, protocol, &command);

	if (code < 0)
		fail("cannot submit", strerror(-code));
}

/* A copy of some bytes in memory that can be sent. */
static inline const uint8_t *buffer_of(struct nd_stack *stack, const void *bytes, uint32_t count)
{
	uint8_t *buffer = nd_stack_buffer(stack, count);

	if (!buffer)
		fail("no buffer", "all are in use");
	memcpy(buffer, bytes, count);
	return buffer;
}

/* The handle of the other stack: what commands name a peer by. */
static inline uint32_t resolve(struct nd_stack *stack, uint8_t number)
{
	const uint8_t address[16] = { [10] = 0xff, [11] = 0xff, 10, 0, 0, number };
	const uint8_t *buffer = buffer_of(stack, address, sizeof(address));
	struct nd_event event;

	submit(stack, ND_PROTO_OTHER,
	       (struct nd_command){
		       .kind = ND_STACK_COMMAND_PEER, .payload = buffer, .bytes = sizeof(address) });
	event = await(stack, ND_EVENT_OPENED);
	nd_stack_buffer_free(stack, buffer);
	return event.peer;
}

#endif
