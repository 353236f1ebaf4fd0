// SPDX-License-Identifier: Apache-2.0
/*
 * Round trips: an application asks, one at another host answers, both through whole stacks.
 *
 *	bench_fast_echo WHAT --count COUNT [BYTES CPUS [INTERFACE INTERFACE]]
 *
 * WHAT is homa-WAY (RPCs), ndp-WAY (messages both ways on one connection), or bare: frames of
 * BYTES that go by AF_XDP rings alone, without any stack, each answered with what is in it, which is
 * what the others are compared with. Without interfaces the hosts are linked by shared memory,
 * otherwise by the two ends of a veth pair and AF_XDP.
 *
 * WAY is turns (one thread polls both stacks: what both ends compute), polled (a thread for each
 * end, which polls its stack without a pause), or cores (each stack has a thread of its own beside its application;
 * with fewer CPUs than these four threads the applications block instead of spinning).
 *
 * CPUS are those of client, its core, the server's core and server as a comma list, or - to let them
 * roam. Only cores that spin use the two in the middle: others lend their rounds to an application
 * that waits, which one that has a CPU to itself does not.
 */
#include "port/xdp_port.h"
#include "test/bench_fast.h"
#include "transport/homa.h"
#include "transport/ndp.h"

#include <pthread.h>
#include <sys/socket.h>

#define WARM_UP 1000u
#define THREADS 4u
#define BYTES_DEFAULT 100u
#define PATIENCE (10 * ND_MSEC) /* of one wait */
#define LINK_BPS UINT64_C(10000000000)
#define MTU 1500u
#define PREEMPTED (60 * ND_MSEC) /* a thread on a busy machine; not to be taken for a loss */

enum role { CLIENT, CLIENT_CORE, SERVER_CORE, SERVER };

static const char *interfaces[2];
static int cpus[THREADS];
static enum way { TURNS, POLLED, CORES, BARE } way;
static bool spin, homa;
static uint32_t bytes = BYTES_DEFAULT, count;
static nd_ns *round_trips;
static char port_name[64];
static struct nd_stack *server, *client;
static uint8_t *reply;
static pthread_barrier_t listening;
static bool over;

static void parse_cpus(const char *list)
{
	if (strcmp(list, "-") == 0)
		return;
	if (sscanf(list, "%d,%d,%d,%d", &cpus[0], &cpus[1], &cpus[2], &cpus[3]) != THREADS)
		bench_fail("CPUS: four numbers with commas, or -");
	for (uint32_t i = 0; i < THREADS; i++)
		cpus[i]++; /* from 1 on, as in nd_stack_config */
}

/* ---- bare ---- */

static struct nd_xdp_port *open_bare(uint32_t end)
{
	struct nd_port_config config = {
		.backend = ND_PORT_XDP,
		.name = interfaces[end],
		.filter.everything = true,
	};
	struct nd_error error;
	struct nd_port *port = nd_port_open(&config, &error);

	if (!port)
		bench_fail("%s", error.text);
	return nd_xdp_port(port);
}

#define STAMP_AT 16 /* in a bare frame, behind its header */

/* The frame that is sent, again and again. */
static uint8_t *bare_frame(const struct nd_xdp_port *port)
{
	return port->umem->base + port->slots_base;
}

static void send_frame(struct nd_xdp_port *port)
{
	struct nd_xdp_socket *socket = &port->sockets[0];
	uint32_t slot = socket->transmit.mine & (socket->transmit.size - 1);
	uint32_t done = nd_xdp_ring_filled(&socket->completion);

	nd_xdp_ring_consume(&socket->completion, done);
	socket->transmit.descriptors[slot] =
		(struct xdp_desc){ .addr = port->slots_base, .len = bytes };
	socket->transmit.mine++;
	nd_xdp_ring_produce(&socket->transmit);
	while (sendto(socket->fd, NULL, 0, MSG_DONTWAIT, NULL, 0) < 0 && errno == EAGAIN)
		;
}

/* The next frame that comes. It stays where it is until give_back(). */
static const uint8_t *await_frame(struct nd_xdp_port *port)
{
	struct nd_xdp_ring *ring = &port->sockets[0].receive;

	while (!nd_xdp_ring_filled(ring))
		;
	return port->umem->base + ring->descriptors[ring->mine & (ring->size - 1)].addr;
}

static void give_back(struct nd_xdp_port *port)
{
	struct nd_xdp_socket *socket = &port->sockets[0];
	uint32_t from = socket->receive.mine & (socket->receive.size - 1);
	uint32_t to = socket->fill.mine++ & (socket->fill.size - 1);

	socket->fill.addresses[to] = socket->receive.descriptors[from].addr;
	nd_xdp_ring_produce(&socket->fill);
	nd_xdp_ring_consume(&socket->receive, 1);
}

/* Answers each frame with what is in it. */
static void *serve_bare(void *argument)
{
	struct nd_xdp_port *port = argument;

	bench_bind(cpus[SERVER]);
	for (uint32_t i = 0; i < WARM_UP + count; i++) {
		memcpy(bare_frame(port), await_frame(port), bytes);
		send_frame(port);
		give_back(port);
	}
	return NULL;
}

static void ask_bare(struct nd_xdp_port *port, uint32_t number)
{
	uint32_t stamp;

	memcpy(bare_frame(port) + STAMP_AT, &number, sizeof(number));
	send_frame(port);
	memcpy(&stamp, await_frame(port) + STAMP_AT, sizeof(stamp));
	bench_check(stamp == number, "the answer");
	give_back(port);
}

static void run_bare(void)
{
	struct nd_xdp_port *ports[2] = { open_bare(0), open_bare(1) };
	pthread_t thread;

	/* An own ethertype that the kernel has no use for. */
	memcpy(bare_frame(ports[1]), (uint8_t[14]){ 2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 0x88, 0xb5 }, 14);
	pthread_create(&thread, NULL, serve_bare, ports[0]);
	bench_bind(cpus[CLIENT]);
	for (uint32_t i = 0; i < WARM_UP + count; i++) {
		nd_ns start = bench_now();

		ask_bare(ports[1], i);
		if (i >= WARM_UP)
			round_trips[i - WARM_UP] = bench_now() - start;
	}
	pthread_join(thread, NULL);
	nd_port_close(&ports[1]->port);
	nd_port_close(&ports[0]->port);
}

/* ---- through the stacks ---- */

static struct nd_stack *open_host(uint32_t end)
{
	struct nd_stack_config config = {
		.ports = { {
			.backend = interfaces[0] ? ND_PORT_XDP : ND_PORT_MEMORY,
			.name = interfaces[0] ? interfaces[end] : port_name,
			.memory.listen = end == 0,
			.filter = { .homa = true, .udp_count = 1, .udp_ports = { ND_NDP_UDP_PORT } },
		} },
		.port_count = 1,
		.profile = spin ? ND_STACK_SPIN : ND_STACK_ADAPTIVE,
		.seed = 1 + end,
	};
	struct nd_ndp_config ndp = nd_ndp_config_default(LINK_BPS, MTU);
	struct nd_homa_config rpc = nd_homa_config_default(LINK_BPS, MTU);

	ndp.rto_min_ns = ndp.rto_initial_ns = ndp.repull_ns = PREEMPTED;
	rpc.resend_ns = rpc.need_ack_ns = rpc.need_ack_ns_max = PREEMPTED;
	rpc.done_ns = 100 * PREEMPTED;
	config.ndp_config = &ndp;
	config.homa_config = &rpc;
	if (way != CORES)
		config.profile = ND_STACK_POLLED;
	else if (spin)
		config.cpu = cpus[end ? CLIENT_CORE : SERVER_CORE];
	bench_address(config.address_v4, 1 + end);
	return bench_open(&config);
}

static void release(struct nd_stack *stack, const struct nd_event *event)
{
	bench_submit(stack, event->protocol,
		     (struct nd_command){ .kind = ND_COMMAND_RELEASE,
					  .id = event->id,
					  .message = event->message });
}

/* An event of the kind; others are of no interest but for failures. */
static bool take(struct nd_stack *stack, uint8_t kind, struct nd_event *event)
{
	int got;

	while ((got = nd_stack_events(stack, event, 1)) == 1) {
		if (event->kind == kind)
			return true;
		if (event->kind == ND_EVENT_FAILED)
			bench_fail("failed: %s", strerror(-event->error));
	}
	if (got < 0)
		bench_fail("the core is gone");
	return false;
}

/* Answers what has arrived; false when that is nothing. */
static bool answer(void)
{
	struct nd_event event;

	if (!take(server, homa ? ND_EVENT_REQUEST : ND_EVENT_MESSAGE, &event))
		return false;
	memcpy(reply, event.payload, bytes);
	bench_submit(server, event.protocol,
		     (struct nd_command){ .kind = homa ? ND_COMMAND_REPLY : ND_COMMAND_SEND,
					  .id = event.id,
					  .payload = reply,
					  .bytes = bytes });
	release(server, &event);
	return true;
}

/* Nothing is there yet. */
static void await(struct nd_stack *stack)
{
	if (way == POLLED)
		nd_stack_poll(stack);
	else if (!spin)
		nd_stack_wait(stack, PATIENCE);
}

/* What the server does in its turn, and what the client gets from it. */
static void take_turns(void)
{
	bench_turn(server);
	if (answer())
		bench_turn(server);
	bench_turn(client);
}

static void open_server(void)
{
	server = open_host(0);
	reply = nd_stack_buffer(server, bytes);
	bench_listen(server, homa ? ND_PROTO_HOMA : ND_PROTO_NDP);
}

static void *serve(void *unused)
{
	bench_bind(cpus[SERVER]);
	open_server();
	pthread_barrier_wait(&listening);
	while (!__atomic_load_n(&over, __ATOMIC_ACQUIRE))
		if (!answer())
			await(server);
	return unused;
}

/* Returns the connection, 0 for Homa, which has none. */
static uint64_t open_client(uint32_t *peer)
{
	static const uint8_t mac[6] = { 2, 0, 0, 0, 0, 1 };
	uint8_t address[16];

	client = open_host(1);
	bench_address(address, 1);
	if (interfaces[0])
		bench_check(nd_stack_set_peer(client, address, 0, mac) == 0, "the way");
	*peer = bench_peer(client, 1);
	if (homa)
		return 0;
	bench_submit(client, ND_PROTO_NDP,
		     (struct nd_command){
			     .kind = ND_COMMAND_CONNECT, .peer = *peer, .port = BENCH_PORT });
	return bench_expect(client, ND_EVENT_OPENED).id;
}

static void ask(uint32_t peer, uint64_t connection, uint8_t *request)
{
	struct nd_command command = {
		.kind = homa ? ND_COMMAND_REQUEST : ND_COMMAND_SEND,
		.peer = peer,
		.port = BENCH_PORT,
		.id = connection,
		.payload = request,
		.bytes = bytes,
	};
	struct nd_event event;

	bench_submit(client, homa ? ND_PROTO_HOMA : ND_PROTO_NDP, command);
	if (way == TURNS)
		bench_turn(client);
	while (!take(client, homa ? ND_EVENT_RESPONSE : ND_EVENT_MESSAGE, &event)) {
		if (way == TURNS)
			take_turns();
		else
			await(client);
	}
	release(client, &event);
}

static void run_client(void)
{
	uint32_t peer;
	uint64_t connection = open_client(&peer);
	uint8_t *request = nd_stack_buffer(client, bytes);

	memset(request, 7, bytes);
	for (uint32_t i = 0; i < WARM_UP + count; i++) {
		nd_ns start = bench_now();

		ask(peer, connection, request);
		if (i >= WARM_UP)
			round_trips[i - WARM_UP] = bench_now() - start;
	}
}

static void run_stacks(void)
{
	pthread_t thread;

	bench_bind(cpus[CLIENT]);
	if (way == TURNS) {
		open_server();
		run_client();
	} else {
		pthread_barrier_init(&listening, NULL, 2);
		pthread_create(&thread, NULL, serve, NULL);
		pthread_barrier_wait(&listening);
		run_client();
		__atomic_store_n(&over, true, __ATOMIC_RELEASE);
		pthread_join(thread, NULL);
	}
	nd_stack_close(client);
	nd_stack_close(server);
}

static void parse_what(const char *what)
{
	static const char *const ways[] = { "turns", "polled", "cores" };
	const char *dash = strchr(what, '-');

	homa = strncmp(what, "homa-", 5) == 0;
	if (strcmp(what, "bare") == 0) {
		way = BARE;
		return;
	}
	if (!homa && strncmp(what, "ndp-", 4) != 0)
		bench_fail("%s: not homa-WAY, ndp-WAY or bare", what);
	while (strcmp(dash + 1, ways[way]) != 0)
		if (++way == ND_ARRAY_SIZE(ways))
			bench_fail("%s: the way is turns, polled or cores", what);
}

static void parse(int argc, char **argv)
{
	if ((argc != 4 && argc != 6 && argc != 8) || strcmp(argv[2], "--count") != 0)
		bench_fail("usage: bench_fast_echo WHAT --count COUNT [BYTES CPUS [INTERFACE "
			   "INTERFACE]]");
	parse_what(argv[1]);
	count = (uint32_t)strtoul(argv[3], NULL, 10);
	if (argc > 4) {
		bytes = (uint32_t)strtoul(argv[4], NULL, 10);
		parse_cpus(argv[5]);
	}
	if (argc > 6) {
		interfaces[0] = argv[6];
		interfaces[1] = argv[7];
	} else if (way == BARE) {
		bench_fail("bare needs the two ends of a veth pair");
	}
	spin = way != CORES || sysconf(_SC_NPROCESSORS_ONLN) >= THREADS;
	snprintf(port_name, sizeof(port_name), "bench-echo-%d", getpid());
}

int main(int argc, char **argv)
{
	parse(argc, argv);
	round_trips = calloc(count, sizeof(*round_trips));
	if (way == BARE)
		run_bare();
	else
		run_stacks();
	printf("{\"bench\": \"echo\", \"what\": \"%s\", \"link\": \"%s\", \"bytes\": %u, "
	       "\"spin\": %s, ",
	       argv[1], interfaces[0] ? "xdp" : "memory", bytes, spin ? "true" : "false");
	bench_print_quantiles("ns", round_trips, count);
	printf("}\n");
	return 0;
}
