// SPDX-License-Identifier: Apache-2.0
/*
 * How many full packets a second NDP moves through two whole stacks over shared memory.
 *
 *	bench_fast_bulk MESSAGES [CPU_OF_SENDERS_CORE CPU_OF_RECEIVERS_CORE]
 *
 * The application keeps WINDOW messages under way on one connection and gives what arrives back at
 * once. The link is faster than the host, so that no pacing limits the rate; the first window
 * covers what the threads need to wake each other up, and timers allow for one that is preempted.
 * cpu_ns_per_packet is what both cores and the application used together: half of it is what one
 * packet costs a core that has a CPU for itself.
 */
#include "test/bench_fast.h"
#include "transport/ndp.h"

#define MTU 1500u
#define MESSAGE_BYTES (256u << 10)
#define WINDOW 32u
#define LINK_BPS UINT64_C(400000000000)
#define FIRST_WINDOW 128u
#define PREEMPTED (60 * ND_MSEC)

static struct nd_stack *open_host(const char *name, uint32_t end, int cpu)
{
	struct nd_stack_config config = {
		.ports = { { .backend = ND_PORT_MEMORY,
			     .name = name,
			     .memory.listen = end == 0,
			     .mtu = MTU } },
		.port_count = 1,
		.no_homa = true,
		.profile = ND_STACK_THROUGHPUT,
		.cpu = cpu,
		.seed = 1 + end,
	};
	struct nd_ndp_config ndp = nd_ndp_config_default(LINK_BPS, MTU);

	ndp.initial_window = FIRST_WINDOW;
	ndp.window_packets = 8 * FIRST_WINDOW;
	ndp.rto_min_ns = ndp.rto_initial_ns = ndp.repull_ns = PREEMPTED;
	config.ndp_config = &ndp;
	bench_address(config.address_v4, 1 + end);
	return bench_open(&config);
}

static uint32_t drain(struct nd_stack *stack, struct nd_event *events, uint32_t limit)
{
	int count = nd_stack_events(stack, events, limit);

	if (count < 0)
		bench_fail("the core is gone");
	return (uint32_t)count;
}

static void send_one(struct nd_stack *stack, uint64_t connection, uint8_t *payload)
{
	bench_submit(stack, ND_PROTO_NDP,
		     (struct nd_command){ .kind = ND_COMMAND_SEND,
					  .id = connection,
					  .payload = payload,
					  .bytes = MESSAGE_BYTES });
}

/* Takes what has arrived; returns how many messages. */
static uint32_t receive(struct nd_stack *server)
{
	struct nd_event events[WINDOW];
	uint32_t count = drain(server, events, WINDOW), messages = 0;

	for (uint32_t i = 0; i < count; i++) {
		if (events[i].kind != ND_EVENT_MESSAGE)
			continue;
		messages++;
		bench_submit(server, ND_PROTO_NDP,
			     (struct nd_command){ .kind = ND_COMMAND_RELEASE,
						  .id = events[i].id,
						  .message = events[i].message });
	}
	return messages;
}

static nd_ns cpu_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (nd_ns)now.tv_sec * ND_SEC + (nd_ns)now.tv_nsec;
}

static nd_ns run(struct nd_stack *server, struct nd_stack *client, uint32_t messages)
{
	uint8_t *payload = nd_stack_buffer(client, MESSAGE_BYTES);
	uint32_t peer = bench_peer(client, 1), sent = 0, acknowledged = 0, arrived = 0;
	struct nd_event events[WINDOW];
	uint64_t connection;
	nd_ns start;

	memset(payload, 1, MESSAGE_BYTES);
	bench_submit(client, ND_PROTO_NDP,
		     (struct nd_command){
			     .kind = ND_COMMAND_CONNECT, .peer = peer, .port = BENCH_PORT });
	connection = bench_expect(client, ND_EVENT_OPENED).id;
	start = bench_now();
	while (arrived < messages) {
		uint32_t count = drain(client, events, WINDOW);

		for (uint32_t i = 0; i < count; i++) {
			if (events[i].kind != ND_EVENT_SENT)
				bench_fail("event %u: %d", events[i].kind, events[i].error);
			acknowledged++;
		}
		for (; sent < messages && sent - acknowledged < WINDOW; sent++)
			send_one(client, connection, payload);
		count = receive(server);
		arrived += count;
		if (!count)
			nd_stack_wait(server, ND_MSEC);
	}
	return bench_now() - start;
}

int main(int argc, char **argv)
{
	struct nd_stack *server, *client;
	uint32_t messages;
	char name[64];
	nd_ns took, used;
	double packets;

	if (argc != 2 && argc != 4)
		bench_fail("usage: bench_fast_bulk MESSAGES [SENDERS_CPU RECEIVERS_CPU]");
	messages = (uint32_t)strtoul(argv[1], NULL, 10);
	snprintf(name, sizeof(name), "bench-bulk-%d", getpid());
	server = open_host(name, 0, argc > 2 ? atoi(argv[3]) + 1 : 0);
	client = open_host(name, 1, argc > 2 ? atoi(argv[2]) + 1 : 0);
	bench_listen(server, ND_PROTO_NDP);
	used = cpu_now();
	took = run(server, client, messages);
	used = cpu_now() - used;
	packets = (double)messages * MESSAGE_BYTES /
		  nd_ndp_config_default(LINK_BPS, MTU).mss_bytes;
	printf("{\"bench\": \"bulk\", \"protocol\": \"ndp\", \"packet_bytes\": %u, "
	       "\"packets_per_second\": %.0f, \"gigabits_per_second\": %.2f, "
	       "\"cpu_ns_per_packet\": %.0f}\n",
	       MTU, packets * 1e9 / (double)took,
	       (double)messages * MESSAGE_BYTES * 8 / (double)took, (double)used / packets);
	nd_stack_close(client);
	nd_stack_close(server);
	return 0;
}
