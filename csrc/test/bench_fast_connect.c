// SPDX-License-Identifier: Apache-2.0
/*
 * Connect, ask for 1 KB by 1 KB, close (E-N07): NDP over AF_XDP, kernel TCP and TCP Fast Open, in
 * turns, between two network namespaces that a veth pair joins. Needs root and iproute2.
 *
 *	bench_fast_connect cores|polled [ROUNDS]
 *
 * cores: both ends wait in the kernel, as TCP's do, and NDP's cores have threads of their own; the
 * server waits for TCP and for NDP in a thread each. polled: both ends spin on NDP, and the server on
 * TCP too.
 */
#include "test/bench_fast.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>

#define BYTES 1024
#define ROUNDS_DEFAULT 1000
#define CONNECTIONS_WAITING 128

static bool polled;
static const uint8_t server_mac[6] = { 2, 0, 0, 0, 0, 1 };

static void run(const char *command)
{
	if (system(command) != 0)
		bench_fail("%s failed", command);
}

static struct nd_stack *open_host(const char *interface, uint32_t host)
{
	struct nd_stack_config config = {
		.ports = { { .backend = ND_PORT_XDP,
			     .name = interface,
			     .filter = { .udp_count = 1, .udp_ports = { ND_NDP_UDP_PORT } } } },
		.port_count = 1,
		.no_homa = true,
		.profile = polled ? ND_STACK_POLLED : ND_STACK_ADAPTIVE,
		.seed = host,
	};

	bench_address(config.address_v4, host);
	return bench_open(&config);
}

static struct nd_event wait_event(struct nd_stack *stack, uint8_t kind)
{
	struct nd_event event;

	do {
		while (nd_stack_events(stack, &event, 1) != 1) {
			if (polled)
				nd_stack_poll(stack);
			else
				nd_stack_wait(stack, ND_SEC);
		}
		if (event.kind == ND_EVENT_FAILED)
			bench_fail("NDP failed: %s", strerror(-event.error));
	} while (event.kind != kind);
	return event;
}

static void command(struct nd_stack *stack, struct nd_command what)
{
	bench_check(nd_stack_submit(stack, ND_PROTO_NDP, &what) == 0, "submit");
}

static void send_1k(struct nd_stack *stack, uint64_t id, uint8_t *payload)
{
	command(stack, (struct nd_command){ .kind = ND_COMMAND_SEND,
					    .id = id,
					    .payload = payload,
					    .bytes = BYTES });
}

static void release(struct nd_stack *stack, const struct nd_event *event)
{
	command(stack, (struct nd_command){ .kind = ND_COMMAND_RELEASE,
					    .id = event->id,
					    .message = event->message });
}

/* ---- the server ---- */

static int listen_tcp(void)
{
	struct sockaddr_in address = { .sin_family = AF_INET, .sin_port = htons(BENCH_PORT) };
	int fd = socket(AF_INET, SOCK_STREAM, 0), waiting = CONNECTIONS_WAITING, one = 1;

	bench_check(setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)) == 0, "reuse");
	bench_check(setsockopt(fd, IPPROTO_TCP, TCP_FASTOPEN, &waiting, sizeof(waiting)) == 0,
		    "TCP Fast Open");
	bench_check(bind(fd, (struct sockaddr *)&address, sizeof(address)) == 0, "bind");
	bench_check(listen(fd, CONNECTIONS_WAITING) == 0, "listen");
	return fd;
}

static void read_1k(int fd)
{
	uint8_t data[BYTES];
	size_t got = 0;

	while (got < BYTES) {
		ssize_t count = read(fd, data + got, BYTES - got);

		bench_check(count > 0, "reading from TCP");
		got += (size_t)count;
	}
}

static void serve_tcp(int listener)
{
	static const uint8_t reply[BYTES];
	int fd = accept(listener, NULL, NULL);

	bench_check(fd >= 0, "accept");
	read_1k(fd);
	bench_check(write(fd, reply, BYTES) == BYTES, "writing to TCP");
	close(fd);
}

static void serve_ndp(struct nd_stack *stack, uint8_t *reply)
{
	struct nd_event event;

	while (nd_stack_events(stack, &event, 1) == 1) {
		if (event.kind != ND_EVENT_MESSAGE)
			continue;
		send_1k(stack, event.id, reply);
		release(stack, &event);
	}
}

static void *serve_tcp_alone(void *listener)
{
	for (;;)
		serve_tcp(*(int *)listener);
	return NULL;
}

static _Noreturn void serve_blocking(struct nd_stack *stack, uint8_t *reply, int listener)
{
	pthread_t thread;

	bench_check(pthread_create(&thread, NULL, serve_tcp_alone, &listener) == 0, "a thread");
	for (;;) {
		nd_stack_wait(stack, ND_SEC);
		serve_ndp(stack, reply);
	}
}

static _Noreturn void serve_polling(struct nd_stack *stack, uint8_t *reply, int listener)
{
	struct pollfd entry = { .fd = listener, .events = POLLIN };

	for (;;) {
		nd_stack_poll(stack);
		serve_ndp(stack, reply);
		if (poll(&entry, 1, 0) == 1)
			serve_tcp(listener);
	}
}

static _Noreturn void serve(int ready)
{
	struct nd_stack *stack = open_host("s0", 1);
	uint8_t *reply = nd_stack_buffer(stack, BYTES);
	int listener = listen_tcp();

	command(stack, (struct nd_command){ .kind = ND_COMMAND_LISTEN, .port = BENCH_PORT });
	wait_event(stack, ND_EVENT_OPENED);
	bench_check(write(ready, "", 1) == 1, "telling the client");
	if (polled)
		serve_polling(stack, reply, listener);
	serve_blocking(stack, reply, listener);
}

/* ---- the client ---- */

static nd_ns time_ndp(struct nd_stack *stack, uint32_t peer, uint8_t *request)
{
	nd_ns began = bench_now(), took;
	struct nd_event event;

	command(stack, (struct nd_command){
			       .kind = ND_COMMAND_CONNECT, .peer = peer, .port = BENCH_PORT });
	send_1k(stack, ND_STACK_ID_LAST, request);
	event = wait_event(stack, ND_EVENT_MESSAGE);
	took = bench_now() - began;
	release(stack, &event);
	command(stack, (struct nd_command){ .kind = ND_COMMAND_CLOSE, .id = event.id });
	return took;
}

static nd_ns time_tcp(bool fast_open)
{
	static const uint8_t request[BYTES];
	struct sockaddr_in server = { .sin_family = AF_INET, .sin_port = htons(BENCH_PORT) };
	nd_ns began = bench_now(), took;
	int fd = socket(AF_INET, SOCK_STREAM, 0), one = 1;

	bench_check(inet_pton(AF_INET, "10.7.0.1", &server.sin_addr) == 1, "address");
	bench_check(setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one)) == 0, "no delay");
	if (!fast_open)
		bench_check(connect(fd, (struct sockaddr *)&server, sizeof(server)) == 0,
			    "connect");
	bench_check(sendto(fd, request, BYTES, fast_open ? MSG_FASTOPEN : 0,
			   fast_open ? (struct sockaddr *)&server : NULL,
			   fast_open ? sizeof(server) : 0) == BYTES,
		    "sending by TCP");
	read_1k(fd);
	took = bench_now() - began;
	close(fd);
	return took;
}

static uint32_t resolve(struct nd_stack *stack)
{
	uint8_t address[16], *buffer = nd_stack_buffer(stack, sizeof(address));
	struct nd_command what = {
		.kind = ND_STACK_COMMAND_PEER, .payload = buffer, .bytes = sizeof(address) };

	bench_address(address, 1);
	memcpy(buffer, address, sizeof(address));
	bench_check(nd_stack_set_peer(stack, address, 0, server_mac) == 0, "naming the server");
	bench_check(nd_stack_submit(stack, ND_PROTO_OTHER, &what) == 0, "submit");
	return wait_event(stack, ND_EVENT_OPENED).peer;
}

static void measure(uint32_t rounds)
{
	static const char *const names[] = { "ndp", "tcp", "tfo" };
	struct nd_stack *stack = open_host("s1", 2);
	uint8_t *request = nd_stack_buffer(stack, BYTES);
	uint32_t peer = resolve(stack);
	nd_ns *took[3];

	for (uint32_t kind = 0; kind < 3; kind++)
		took[kind] = calloc(rounds, sizeof(**took));
	time_tcp(true); /* brings the cookie */
	for (uint32_t i = 0; i < rounds; i++) {
		took[0][i] = time_ndp(stack, peer, request);
		took[1][i] = time_tcp(false);
		took[2][i] = time_tcp(true);
	}
	printf("{");
	for (uint32_t kind = 0; kind < 3; kind++) {
		printf("%s\"%s\": {", kind ? ", " : "", names[kind]);
		bench_print_quantiles("ns", took[kind], rounds);
		printf("}");
		free(took[kind]);
	}
	printf("}\n");
	nd_stack_close(stack);
}

/* ---- two namespaces ---- */

static pid_t start_server(int ready[2], int go[2])
{
	pid_t child;
	char byte;

	bench_check(pipe(ready) == 0 && pipe(go) == 0, "pipe");
	child = fork();
	bench_check(child >= 0, "fork");
	if (child)
		return child;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	bench_check(unshare(CLONE_NEWNET) == 0, "a network namespace");
	bench_check(write(ready[1], "", 1) == 1, "telling the client");
	bench_check(read(go[0], &byte, 1) == 1, "hearing from the client");
	run("ip addr add 10.7.0.1/24 dev s0 && ip link set s0 up");
	run("echo 3 > /proc/sys/net/ipv4/tcp_fastopen");
	serve(ready[1]);
}

int main(int argc, char **argv)
{
	uint32_t rounds = argc > 2 ? (uint32_t)strtoul(argv[2], NULL, 10) : ROUNDS_DEFAULT;
	int ready[2], go[2];
	char line[160], byte;
	pid_t server;

	if (!rounds || argc < 2 || (strcmp(argv[1], "cores") && strcmp(argv[1], "polled")))
		bench_fail("usage: bench_fast_connect cores|polled [ROUNDS]");
	polled = strcmp(argv[1], "polled") == 0;
	server = start_server(ready, go);
	bench_check(unshare(CLONE_NEWNET) == 0, "a network namespace (root)");
	bench_check(read(ready[0], &byte, 1) == 1, "hearing from the server");
	run("ip link add s0 type veth peer name s1 && ip link set s0 address 02:00:00:00:00:01");
	snprintf(line, sizeof(line), "ip link set s0 netns %d", (int)server);
	run(line);
	run("ip link set s1 address 02:00:00:00:00:02 up && ip addr add 10.7.0.2/24 dev s1");
	run("echo 3 > /proc/sys/net/ipv4/tcp_fastopen");
	bench_check(write(go[1], "", 1) == 1, "telling the server");
	bench_check(read(ready[0], &byte, 1) == 1, "hearing from the server");
	measure(rounds);
	kill(server, SIGKILL);
	return waitpid(server, NULL, 0) == server ? 0 : 1;
}
