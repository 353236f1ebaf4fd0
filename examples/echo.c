// SPDX-License-Identifier: Apache-2.0
/*
 * Echo over the C API: a request and its reply, between two stacks in this process.
 *
 *	cc echo.c $(pkg-config --cflags --libs ndpstack) -o echo
 */
#include <ndpstack.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PORT 4000

static void fail(const char *what, const char *why)
{
	fprintf(stderr, "echo: %s: %s\n", what, why);
	exit(1);
}

static struct nd_stack *open_stack(const char *link, uint8_t number)
{
	struct nd_error error = { 0 };
	struct nd_stack_config config = {
		.ports = { { .backend = ND_PORT_MEMORY, .name = link, .memory.listen = number == 1 } },
		.port_count = 1,
		.address_v4 = { [10] = 0xff, [11] = 0xff, 10, 0, 0, number },
	};
	struct nd_stack *stack = nd_stack_open(&config, &error);

	if (!stack)
		fail("cannot open a stack", error.text);
	return stack;
}

/* Waits for an event of a kind; others are answers that nobody needs here. */
static struct nd_event await(struct nd_stack *stack, uint8_t kind)
{
	struct nd_event event;

	for (;;) {
		int count = nd_stack_events(stack, &event, 1);

		if (count < 0)
			fail("stack", strerror(-count));
		if (count == 0)
			nd_stack_wait(stack, ND_SEC);
		else if (event.kind == ND_EVENT_FAILED)
			fail("refused", strerror(-event.error));
		else if (event.kind == kind)
			return event;
	}
}

static void submit(struct nd_stack *stack, uint8_t protocol, struct nd_command command)
{
	int code = nd_stack_submit(stack, protocol, &command);

	if (code < 0)
		fail("cannot submit", strerror(-code));
}

/* A copy of some bytes in memory that can be sent. */
static const uint8_t *buffer_of(struct nd_stack *stack, const void *bytes, uint32_t count)
{
	uint8_t *buffer = nd_stack_buffer(stack, count);

	if (!buffer)
		fail("no buffer", "all are in use");
	memcpy(buffer, bytes, count);
	return buffer;
}

static uint32_t resolve(struct nd_stack *stack, const uint8_t address[16])
{
	const uint8_t *buffer = buffer_of(stack, address, 16);
	struct nd_event event;

	submit(stack, ND_PROTO_OTHER,
	       (struct nd_command){
		       .kind = ND_STACK_COMMAND_PEER, .payload = buffer, .bytes = 16 });
	event = await(stack, ND_EVENT_OPENED);
	nd_stack_buffer_free(stack, buffer);
	return event.peer;
}

static void serve_one(struct nd_stack *server)
{
	struct nd_event request = await(server, ND_EVENT_REQUEST);
	const uint8_t *reply = buffer_of(server, request.payload, request.bytes);

	submit(server, ND_PROTO_HOMA,
	       (struct nd_command){ .kind = ND_COMMAND_RELEASE, .id = request.id });
	submit(server, ND_PROTO_HOMA,
	       (struct nd_command){ .kind = ND_COMMAND_REPLY,
				    .id = request.id,
				    .payload = reply,
				    .bytes = request.bytes });
}

int main(void)
{
	static const uint8_t address[16] = { [10] = 0xff, [11] = 0xff, 10, 0, 0, 1 };
	static const char text[] = "hello";
	struct nd_stack *server, *client;
	struct nd_event response;
	char link[64];

	snprintf(link, sizeof(link), "echo-%d", getpid());
	server = open_stack(link, 1);
	client = open_stack(link, 2);
	submit(server, ND_PROTO_HOMA,
	       (struct nd_command){ .kind = ND_COMMAND_LISTEN, .port = PORT });
	await(server, ND_EVENT_OPENED);
	submit(client, ND_PROTO_HOMA,
	       (struct nd_command){ .kind = ND_COMMAND_REQUEST,
				    .peer = resolve(client, address),
				    .port = PORT,
				    .payload = buffer_of(client, text, sizeof(text) - 1),
				    .bytes = sizeof(text) - 1 });
	serve_one(server);
	response = await(client, ND_EVENT_RESPONSE);
	printf("%.*s\n", (int)response.bytes, (const char *)response.payload);
	nd_stack_close(client);
	nd_stack_close(server);
	return 0;
}
