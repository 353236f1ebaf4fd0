// SPDX-License-Identifier: Apache-2.0
/*
 * What a full packet of NDP costs two whole stacks that share memory.
 *
 *	bench_fast_bulk turns --count PACKETS
 *	bench_fast_bulk polled --count PACKETS [SENDERS_CPU RECEIVERS_CPU]
 *	bench_fast_bulk cores --count PACKETS [SENDERS_CPU RECEIVERS_CPU]
 *
 * turns: this thread polls both stacks in turns. The CPU time of each end is counted, which is the
 * rate of a core that does nothing else and can be had on a busy machine; the stacks' clock is
 * counted in rounds, so that callgrind's figures repeat exactly. polled: each end is a thread that drives its own stack. cores: each stack has a
 * thread of its own, and one application serves both ends. Either spins for a little when there is
 * nothing to do and then blocks; packets_per_second is what comes of it on the wall's clock.
 *
 * The application keeps WINDOW messages under way on one connection and gives what arrives back at
 * once. The link is faster than the host, so that no pacing limits the rate, and the first window
 * covers what the ends need to see each other.
 */
#include "test/bench_fast.h"
#include "transport/ndp.h"

#include <poll.h>
#include <pthread.h>

#define MTU 1500u
#define MESSAGE_PACKETS 128u
#define WINDOW 8u
#define LINK_BPS UINT64_C(400000000000)
#define FIRST_WINDOW 128u
#define PREEMPTED (60 * ND_MSEC)
#define EVENTS 32u
#define PATIENCE_MS 10000

struct end {
	struct nd_stack *stack;
	uint32_t messages; /* sent, or received */
	uint32_t under_way;
	uint64_t connection;
	uint8_t *payload;
	nd_ns used; /* CPU time */
};

static struct end server, client;
static pthread_barrier_t listening;
static uint32_t wanted, message_bytes;
static int cpus[2]; /* from 1 on, 0: any */
static char port_name[64];
static enum way { TURNS, POLLED, CORES } way;
static const char *const way_names[] = { "turns", "polled", "cores" };

static struct nd_stack *open_host(uint32_t end)
{
	struct nd_stack_config config = {
		.ports = { { .backend = ND_PORT_MEMORY,
			     .name = port_name,
			     .memory.listen = end == 0,
			     .mtu = MTU } },
		.port_count = 1,
		.no_homa = true,
		.profile = way == CORES ? ND_STACK_THROUGHPUT : ND_STACK_POLLED,
		.cpu = way == CORES ? cpus[end] : 0,
		.seed = 1 + end,
	};
	struct nd_ndp_config ndp = nd_ndp_config_default(LINK_BPS, MTU);

	ndp.initial_window = FIRST_WINDOW;
	ndp.window_packets = 8 * FIRST_WINDOW;
	ndp.rto_min_ns = ndp.rto_initial_ns = ndp.repull_ns = PREEMPTED;
	message_bytes = MESSAGE_PACKETS * ndp.mss_bytes;
	config.ndp_config = &ndp;
	bench_address(config.address_v4, 1 + end);
	return bench_open(&config);
}

/* Drives an end that has no thread: a round, or rounds until there are events. */
static void drive(struct end *end)
{
	int code = 0;

	if (way == TURNS)
		bench_turn(end->stack);
	else if (way == POLLED)
		code = nd_stack_wait(end->stack, ND_MSEC);
	if (code < 0)
		bench_fail("poll: %s", strerror(-code));
}

static uint32_t take_events(struct end *end, struct nd_event events[EVENTS])
{
	int count = nd_stack_events(end->stack, events, EVENTS);

	if (count < 0)
		bench_fail("the core is gone");
	return (uint32_t)count;
}

/* A round of the receiving end. */
static void receive(void)
{
	struct nd_event events[EVENTS];
	uint32_t count;

	drive(&server);
	count = take_events(&server, events);
	for (uint32_t i = 0; i < count; i++) {
		if (events[i].kind != ND_EVENT_MESSAGE)
			continue;
		if (events[i].bytes != message_bytes || events[i].payload[message_bytes - 1] != 1)
			bench_fail("a message is not what was sent");
		__atomic_add_fetch(&server.messages, 1, __ATOMIC_RELAXED);
		bench_submit(server.stack, ND_PROTO_NDP,
			     (struct nd_command){ .kind = ND_COMMAND_RELEASE,
						  .id = events[i].id,
						  .message = events[i].message });
	}
}

/* A round of the sending end. */
static void send(void)
{
	struct nd_event events[EVENTS];
	uint32_t count = take_events(&client, events);

	for (uint32_t i = 0; i < count; i++) {
		if (events[i].kind == ND_EVENT_SENT)
			client.under_way--;
		else if (events[i].kind == ND_EVENT_OPENED)
			client.connection = events[i].id;
		else
			bench_fail("event %u: %s", events[i].kind, strerror(-events[i].error));
	}
	for (; client.messages < wanted && client.under_way < WINDOW; client.messages++) {
		client.under_way++;
		bench_submit(client.stack, ND_PROTO_NDP,
			     (struct nd_command){ .kind = ND_COMMAND_SEND,
						  .id = client.connection,
						  .payload = client.payload,
						  .bytes = message_bytes });
	}
	drive(&client);
}

static bool is_done(void)
{
	return __atomic_load_n(&server.messages, __ATOMIC_RELAXED) == wanted;
}

static nd_ns cpu_now(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (nd_ns)now.tv_sec * ND_SEC + (nd_ns)now.tv_nsec;
}

/* ---- the ways ---- */

static void open_server(void)
{
	server.stack = open_host(0);
	bench_listen(server.stack, ND_PROTO_NDP);
}

static void open_client(void)
{
	uint32_t peer;

	client.stack = open_host(1);
	client.payload = nd_stack_buffer(client.stack, message_bytes);
	memset(client.payload, 1, message_bytes);
	peer = bench_peer(client.stack, 1);
	bench_submit(client.stack, ND_PROTO_NDP,
		     (struct nd_command){
			     .kind = ND_COMMAND_CONNECT, .peer = peer, .port = BENCH_PORT });
	client.connection = bench_expect(client.stack, ND_EVENT_OPENED).id;
}

static void run_turns(void)
{
	nd_ns at = cpu_now(CLOCK_THREAD_CPUTIME_ID), then;

	while (!is_done()) {
		then = at;
		send();
		at = cpu_now(CLOCK_THREAD_CPUTIME_ID);
		client.used += at - then;
		then = at;
		receive();
		at = cpu_now(CLOCK_THREAD_CPUTIME_ID);
		server.used += at - then;
	}
}

/* Until either end has something for the application. */
static void await_either(void)
{
	struct pollfd ends[] = {
		{ .fd = nd_stack_descriptor(client.stack), .events = POLLIN },
		{ .fd = nd_stack_descriptor(server.stack), .events = POLLIN },
	};

	if (nd_stack_arm(client.stack) && nd_stack_arm(server.stack) &&
	    poll(ends, ND_ARRAY_SIZE(ends), PATIENCE_MS) <= 0)
		bench_fail("nothing has come for %d ms", PATIENCE_MS);
}

static void run_cores(void)
{
	while (!is_done()) {
		send();
		receive();
		if (!is_done())
			await_either();
	}
}

static void *run_server(void *unused)
{
	bench_bind(cpus[0]);
	open_server();
	pthread_barrier_wait(&listening);
	while (!is_done())
		receive();
	nd_stack_close(server.stack);
	return unused;
}

static void run_client(void)
{
	while (!is_done())
		send();
}

static void parse(int argc, char **argv)
{
	if ((argc != 4 && argc != 6) || strcmp(argv[2], "--count") != 0)
		bench_fail("usage: bench_fast_bulk turns|polled|cores --count PACKETS "
			   "[SENDERS_CPU RECEIVERS_CPU]");
	while (strcmp(argv[1], way_names[way]) != 0)
		if (++way == ND_ARRAY_SIZE(way_names))
			bench_fail("%s is not turns, polled or cores", argv[1]);
	wanted = (uint32_t)strtoul(argv[3], NULL, 10) / MESSAGE_PACKETS;
	for (uint32_t i = 0; i < 2 && argc == 6; i++)
		cpus[!i] = atoi(argv[4 + i]) + 1;
	snprintf(port_name, sizeof(port_name), "bench-bulk-%d", getpid());
}

/* Opens both ends, runs, and returns what that took. */
static nd_ns measure(void)
{
	pthread_t thread;
	nd_ns start;

	if (way == POLLED) {
		pthread_barrier_init(&listening, NULL, 2);
		pthread_create(&thread, NULL, run_server, NULL);
		pthread_barrier_wait(&listening);
		bench_bind(cpus[1]);
	} else {
		open_server();
	}
	open_client();
	start = bench_now();
	if (way == TURNS)
		run_turns();
	else if (way == CORES)
		run_cores();
	else
		run_client();
	start = bench_now() - start;
	if (way == POLLED)
		pthread_join(thread, NULL);
	return start;
}

int main(int argc, char **argv)
{
	nd_ns took, used;
	double packets;

	parse(argc, argv);
	used = cpu_now(CLOCK_PROCESS_CPUTIME_ID);
	took = measure();
	used = cpu_now(CLOCK_PROCESS_CPUTIME_ID) - used;
	packets = (double)wanted * MESSAGE_PACKETS;
	printf("{\"bench\": \"bulk\", \"way\": \"%s\", \"packet_bytes\": %u, "
	       "\"packets_per_second\": %.0f, \"gigabits_per_second\": %.2f, "
	       "\"cpu_ns_per_packet\": %.0f",
	       way_names[way], MTU, packets * 1e9 / (double)took,
	       (double)wanted * message_bytes * 8 / (double)took, (double)used / packets);
	if (way == TURNS)
		printf(", \"sender_ns\": %.0f, \"receiver_ns\": %.0f",
		       (double)client.used / packets, (double)server.used / packets);
	printf("}\n");
	nd_stack_close(client.stack);
	if (way != POLLED)
		nd_stack_close(server.stack);
	return 0;
}
