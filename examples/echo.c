// SPDX-License-Identifier: Apache-2.0
/*
 * Echo over the C API: a request and its reply, between two stacks in this process.
 *
 *	cc echo.c $(pkg-config --cflags --libs ndpstack) -o echo
 */
#include "pair.h"

#define PORT 4000

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
	static const char text[] = "hello";
	struct nd_stack *server = open_stack(1), *client = open_stack(2);
	struct nd_event response;

	submit(server, ND_PROTO_HOMA,
	       (struct nd_command){ .kind = ND_COMMAND_LISTEN, .port = PORT });
	await(server, ND_EVENT_OPENED);
	submit(client, ND_PROTO_HOMA,
	       (struct nd_command){ .kind = ND_COMMAND_REQUEST,
				    .peer = resolve(client, 1),
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
