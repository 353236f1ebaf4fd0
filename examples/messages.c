// SPDX-License-Identifier: Apache-2.0
/*
 * Messages over NDP with a priority, deadlines and a cancel, between two stacks in this process.
 *
 *	cc messages.c $(pkg-config --cflags --libs ndpstack) -o messages
 */
#define _POSIX_C_SOURCE 200809L /* clock_gettime() */

#include "pair.h"

#include <time.h>

#define PORT 5000
#define LONG_BYTES (8u << 20)

/* Cookies: what an event about a message says whose it is by. */
enum { ON_TIME, GIVEN_UP, TOO_LATE, MESSAGES };

/* Deadlines are times of this clock. */
static nd_ns now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (nd_ns)time.tv_sec * ND_SEC + (nd_ns)time.tv_nsec;
}

static uint64_t connect_to(struct nd_stack *server, struct nd_stack *client)
{
	submit(server, ND_PROTO_NDP,
	       (struct nd_command){ .kind = ND_COMMAND_LISTEN, .port = PORT });
	await(server, ND_EVENT_OPENED);
	submit(client, ND_PROTO_NDP,
	       (struct nd_command){ .kind = ND_COMMAND_CONNECT,
				    .peer = resolve(client, 1),
				    .port = PORT,
				    .priority = 5 });
	return await(client, ND_EVENT_OPENED).id;
}

static struct nd_command message(uint64_t id, uint64_t cookie, const uint8_t *payload,
				 uint32_t bytes, nd_ns deadline)
{
	return (struct nd_command){ .kind = ND_COMMAND_SEND,
				    .id = id,
				    .cookie = cookie,
				    .payload = payload,
				    .bytes = bytes,
				    .deadline = deadline };
}

/* Messages that are taken have the numbers 0, 1, ... of their connection. */
static void send_all(struct nd_stack *client, uint64_t id)
{
	const uint8_t *hello = buffer_of(client, "hello", 5), *late = buffer_of(client, "late", 4);
	struct nd_command given_up = message(id, GIVEN_UP, nd_stack_buffer(client, LONG_BYTES),
					     LONG_BYTES, ND_NEVER);
	struct nd_command cancel = { .kind = ND_COMMAND_CANCEL, .id = id, .message = 1 };

	submit(client, ND_PROTO_NDP, message(id, ON_TIME, hello, 5, now() + 60 * ND_SEC));
	if (nd_stack_submit_later(client, ND_PROTO_NDP, &given_up) ||
	    nd_stack_submit_later(client, ND_PROTO_NDP, &cancel))
		fail("cannot submit", "the ring is full");
	nd_stack_flush(client);
	submit(client, ND_PROTO_NDP, message(id, TOO_LATE, late, 4, now()));
}

int main(void)
{
	static const char *const names[] = { "on time", "given up", "too late" };
	struct nd_stack *server = open_stack(1), *client = open_stack(2);
	struct nd_event arrived, ends[MESSAGES];
	uint64_t id = connect_to(server, client);

	send_all(client, id);
	arrived = await(server, ND_EVENT_MESSAGE);
	printf("%.*s, of priority %d\n", (int)arrived.bytes, (const char *)arrived.payload,
	       arrived.priority);
	submit(server, ND_PROTO_NDP,
	       (struct nd_command){ .kind = ND_COMMAND_RELEASE,
				    .id = arrived.id,
				    .message = arrived.message });
	for (int i = 0; i < MESSAGES; i++) { /* from each event on its buffer may be used again */
		struct nd_event end = next_event(client);

		ends[end.cookie] = end;
	}
	for (int i = 0; i < MESSAGES; i++)
		printf("%s: %s\n", names[i],
		       ends[i].kind == ND_EVENT_SENT ? "sent" : strerror(-ends[i].error));
	submit(client, ND_PROTO_NDP,
	       (struct nd_command){ .kind = ND_COMMAND_CLOSE,
				    .id = id,
				    .deadline = now() + 60 * ND_SEC });
	await(client, ND_EVENT_CLOSED);
	nd_stack_close(client);
	nd_stack_close(server);
	return 0;
}
