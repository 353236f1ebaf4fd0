// SPDX-License-Identifier: Apache-2.0
/*
 * Round trips: an application asks, one at another host answers, both through whole stacks.
 *
 *	bench_fast_echo PROTOCOL BYTES COUNT CPUS [INTERFACE INTERFACE]
 *
 * PROTOCOL is homa (RPCs), ndp (messages both ways on one connection), or bare: frames of BYTES
 * that AF_XDP rings alone bounce, without any stack, which is what the others are compared with.
 * Without interfaces the hosts are linked by shared memory, otherwise by the two ends of a veth
 * pair and AF_XDP. CPUS are those of client, its core, the server's core and server as a comma
 * list (bare: client and server, the first and the last), or - to let them roam. With fewer CPUs
 * than threads the applications block instead of spinning.
 */
#include "port/xdp_port.h"
#include "test/bench_fast.h"

#include <pthread.h>
#include <sys/socket.h>

#define WARM_UP 1000u
#define THREADS 4u

enum role { CLIENT, CLIENT_CORE, SERVER_CORE, SERVER };

static const char *interfaces[2];
static int cpus[THREADS];
static bool spin, homa;
static uint32_t bytes, count;
static nd_ns *round_trips;

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

/* Sends the first slot of the memory; everything that was received is filled in again. */
static void bounce(struct nd_xdp_port *port)
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

static void await_frame(struct nd_xdp_port *port)
{
	struct nd_xdp_socket *socket = &port->sockets[0];
	uint32_t got;

	while (!(got = nd_xdp_ring_filled(&socket->receive)))
		;
	for (uint32_t i = 0; i < got; i++) {
		uint32_t from = (socket->receive.mine + i) & (socket->receive.size - 1);
		uint32_t to = socket->fill.mine++ & (socket->fill.size - 1);

		socket->fill.addresses[to] = socket->receive.descriptors[from].addr;
	}
	nd_xdp_ring_produce(&socket->fill);
	nd_xdp_ring_consume(&socket->receive, got);
}

static void *serve_bare(void *argument)
{
	struct nd_xdp_port *port = argument;

	bench_bind(cpus[SERVER]);
	for (uint32_t i = 0; i < WARM_UP + count; i++) {
		await_frame(port);
		bounce(port);
	}
	return NULL;
}

static void run_bare(void)
{
	struct nd_xdp_port *ports[2] = { open_bare(0), open_bare(1) };
	pthread_t server;

	for (uint32_t i = 0; i < 2; i++) /* an own ethertype that the kernel has no use for */
		memcpy(ports[i]->umem->base + ports[i]->slots_base,
		       (uint8_t[14]){ 2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 0x88, 0xb5 }, 14);
	pthread_create(&server, NULL, serve_bare, ports[0]);
	bench_bind(cpus[CLIENT]);
	for (uint32_t i = 0; i < WARM_UP + count; i++) {
		nd_ns start = bench_now();

		bounce(ports[1]);
		await_frame(ports[1]);
		if (i >= WARM_UP)
			round_trips[i - WARM_UP] = bench_now() - start;
	}
	pthread_join(server, NULL);
	nd_port_close(&ports[1]->port);
	nd_port_close(&ports[0]->port);
}

/* ---- through the stacks ---- */

static struct nd_stack *open_host(uint32_t end, const char *name)
{
	struct nd_stack_config config = {
		.ports = { {
			.backend = interfaces[0] ? ND_PORT_XDP : ND_PORT_MEMORY,
			.name = interfaces[0] ? interfaces[end] : name,
			.memory.listen = end == 0,
			.filter = { .homa = true, .udp_count = 1, .udp_ports = { ND_NDP_UDP_PORT } },
		} },
		.port_count = 1,
		.profile = spin ? ND_STACK_SPIN : ND_STACK_ADAPTIVE,
		.cpu = cpus[end ? CLIENT_CORE : SERVER_CORE],
		.seed = 1 + end,
	};

	bench_address(config.address_v4, 1 + end);
	return bench_open(&config);
}

/* The next event that is of interest: acknowledgements are not. */
static struct nd_event next(struct nd_stack *stack, uint8_t kind)
{
	struct nd_event event;

	for (;;) {
		int got = nd_stack_events(stack, &event, 1);

		if (got == 1 && event.kind == kind)
			return event;
		if (got == 1 && event.kind == ND_EVENT_FAILED)
			bench_fail("failed: %s", strerror(-event.error));
		if (got < 0)
			bench_fail("the core is gone");
		if (!got && !spin)
			nd_stack_wait(stack, ND_SEC);
	}
}

static void release(struct nd_stack *stack, const struct nd_event *event)
{
	bench_submit(stack, event->protocol,
		     (struct nd_command){ .kind = ND_COMMAND_RELEASE,
					  .id = event->id,
					  .message = event->message });
}

static void *serve(void *argument)
{
	struct nd_stack *stack = argument;
	uint8_t *reply = nd_stack_buffer(stack, bytes);
	uint8_t kind = homa ? ND_EVENT_REQUEST : ND_EVENT_MESSAGE;

	bench_bind(cpus[SERVER]);
	bench_listen(stack, homa ? ND_PROTO_HOMA : ND_PROTO_NDP);
	for (uint32_t i = 0; i < WARM_UP + count; i++) {
		struct nd_event event = next(stack, kind);

		memcpy(reply, event.payload, bytes);
		bench_submit(stack, event.protocol,
			     (struct nd_command){
				     .kind = homa ? ND_COMMAND_REPLY : ND_COMMAND_SEND,
				     .id = event.id,
				     .payload = reply,
				     .bytes = bytes });
		release(stack, &event);
	}
	return NULL;
}

static void ask(struct nd_stack *stack, uint32_t peer, uint64_t connection, uint8_t *request)
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

	bench_submit(stack, homa ? ND_PROTO_HOMA : ND_PROTO_NDP, command);
	event = next(stack, homa ? ND_EVENT_RESPONSE : ND_EVENT_MESSAGE);
	release(stack, &event);
}

static void run_stacks(void)
{
	static const uint8_t mac[6] = { 2, 0, 0, 0, 0, 1 };
	struct nd_stack *server, *client;
	uint64_t connection = 0;
	uint8_t address[16], *request;
	pthread_t thread;
	char name[64];
	uint32_t peer;

	snprintf(name, sizeof(name), "bench-echo-%d", getpid());
	server = open_host(0, name);
	client = open_host(1, name);
	bench_address(address, 1);
	if (interfaces[0])
		bench_check(nd_stack_set_peer(client, address, 0, mac) == 0, "the way");
	peer = bench_peer(client, 1);
	request = nd_stack_buffer(client, bytes);
	memset(request, 7, bytes);
	pthread_create(&thread, NULL, serve, server);
	usleep(200000); /* it listens by then; a refused connection would end the program */
	bench_bind(cpus[CLIENT]);
	if (!homa) {
		bench_submit(client, ND_PROTO_NDP,
			     (struct nd_command){ .kind = ND_COMMAND_CONNECT,
						  .peer = peer,
						  .port = BENCH_PORT });
		connection = bench_expect(client, ND_EVENT_OPENED).id;
	}
	for (uint32_t i = 0; i < WARM_UP + count; i++) {
		nd_ns start = bench_now();

		ask(client, peer, connection, request);
		if (i >= WARM_UP)
			round_trips[i - WARM_UP] = bench_now() - start;
	}
	pthread_join(thread, NULL);
	nd_stack_close(client);
	nd_stack_close(server);
}

int main(int argc, char **argv)
{
	bool bare;

	if (argc != 5 && argc != 7)
		bench_fail("usage: bench_fast_echo PROTOCOL BYTES COUNT CPUS [INTERFACE INTERFACE]");
	bare = strcmp(argv[1], "bare") == 0;
	homa = strcmp(argv[1], "homa") == 0;
	bytes = (uint32_t)strtoul(argv[2], NULL, 10);
	count = (uint32_t)strtoul(argv[3], NULL, 10);
	parse_cpus(argv[4]);
	if (argc == 7) {
		interfaces[0] = argv[5];
		interfaces[1] = argv[6];
	} else if (bare) {
		bench_fail("bare needs the two ends of a veth pair");
	}
	spin = sysconf(_SC_NPROCESSORS_ONLN) >= THREADS;
	round_trips = calloc(count, sizeof(*round_trips));
	if (bare)
		run_bare();
	else
		run_stacks();
	printf("{\"bench\": \"echo\", \"protocol\": \"%s\", \"link\": \"%s\", \"bytes\": %u, "
	       "\"spin\": %s, ",
	       argv[1], interfaces[0] ? "xdp" : "memory", bytes, spin || bare ? "true" : "false");
	bench_print_quantiles("ns", round_trips, count);
	printf("}\n");
	return 0;
}
