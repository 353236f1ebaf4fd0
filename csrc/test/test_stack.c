// SPDX-License-Identifier: Apache-2.0
/* Two hosts in one process over a memory port: the public API, real engines, real threads. */
#include "host/core.h"
#include "port/fds.h"
#include "test/memory_pair.h"
#include "transport/homa_state.h"

#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/wait.h>

static void check_homa(const char *case_name, bool v6)
{
	struct pair pair = open_pair(case_name, v6);

	check_sizes(&pair);
	close_pair(&pair);
}

TEST(nd_stack__echoes_homa_rpcs_over_ipv4)
{
	check_homa("homa4", false);
}

TEST(nd_stack__echoes_homa_rpcs_over_ipv6)
{
	check_homa("homa6", true);
}

/* One request and its answer, as proof that all is well. */
static void check_echo(struct pair *pair)
{
	uint8_t *request = nd_stack_buffer(pair->client, 100);
	struct nd_event event;

	fill(request, 100, 9);
	ask(pair, request, 100, 9);
	expect(pair->client, ND_EVENT_OPENED);
	echo_once(pair->server);
	event = expect(pair->client, ND_EVENT_RESPONSE);
	CHECK(is_filled(event.payload, 100, 9));
	submit(pair->client, ND_PROTO_HOMA,
	       (struct nd_command){ .kind = ND_COMMAND_RELEASE, .id = event.id });
	event = expect(pair->server, ND_EVENT_SENT);
	CHECK_EQ(nd_stack_buffer_free(pair->server, (void *)(uintptr_t)event.cookie), 0);
	CHECK_EQ(nd_stack_buffer_free(pair->client, request), 0);
}

/* Every command that fails tells why, by its cookie; none is lost. */
TEST(nd_stack_submit__says_what_was_refused)
{
	struct pair pair = open_pair("refused", false);
	uint8_t *buffer = nd_stack_buffer(pair.client, 64);
	struct nd_command request = {
		.kind = ND_COMMAND_REQUEST,
		.peer = pair.peer,
		.port = SERVICE,
		.bytes = 64,
		.cookie = 1,
	};
	struct nd_event event;

	CHECK_EQ(nd_stack_submit(pair.client, ND_PROTO_HOMA, &request), -EINVAL);
	request.payload = buffer;
	request.peer = 12345;
	submit(pair.client, ND_PROTO_HOMA, request);
	event = expect(pair.client, ND_EVENT_FAILED);
	CHECK_EQ(event.error, -ESTALE);
	CHECK_EQ(event.cookie, 1);
	request.peer = pair.peer;
	submit(pair.client, 7, request);
	CHECK_EQ(expect(pair.client, ND_EVENT_FAILED).error, -EPROTONOSUPPORT);
	request.priority = 8;
	submit(pair.client, ND_PROTO_HOMA, request);
	CHECK_EQ(expect(pair.client, ND_EVENT_FAILED).error, -EINVAL);
	request.priority = 0;
	submit(pair.client, ND_PROTO_HOMA, (struct nd_command){ .kind = ND_COMMAND_DETACH });
	submit(pair.client, ND_PROTO_HOMA, (struct nd_command){ .kind = 99 });
	listen_on(pair.server, ND_PROTO_HOMA, SERVICE);
	submit(pair.server, ND_PROTO_HOMA,
	       (struct nd_command){ .kind = ND_COMMAND_LISTEN, .port = SERVICE, .cookie = 2 });
	event = expect(pair.server, ND_EVENT_FAILED);
	CHECK_EQ(event.error, -EADDRINUSE);
	CHECK_EQ(event.cookie, 2);
	nd_stack_buffer_free(pair.client, buffer);
	check_echo(&pair);
	CHECK_EQ(counter(pair.client, ND_STACK_GROUP_CORE, "commands_refused"), 5);
	close_pair(&pair);
}

/* What no application's receive region can hold is refused, not put off for ever. */
TEST(nd_stack_submit__refuses_what_cannot_be_received)
{
	struct nd_stack_config config = config_of("test-stack-longest", 0, false);
	uint32_t bytes = 64 * 1024 + 1;
	struct nd_stack *stack;
	uint8_t *buffer;

	config.channel.receive_bytes = 100 * 1024; /* its largest block has 64 KiB */
	stack = open_stack(&config);
	buffer = nd_stack_buffer(stack, bytes);
	for (uint32_t longer = 0; longer <= 1; longer++) {
		submit(stack, ND_PROTO_HOMA,
		       (struct nd_command){ .kind = ND_COMMAND_REQUEST,
					    .peer = resolve(stack, addresses[0][1]),
					    .port = SERVICE,
					    .payload = buffer,
					    .bytes = bytes - 1 + longer });
		if (longer)
			CHECK_EQ(expect(stack, ND_EVENT_FAILED).error, -EMSGSIZE);
		else
			expect(stack, ND_EVENT_OPENED);
	}
	nd_stack_close(stack);
}

/* A handle is an address and back again. */
TEST(nd_stack_submit__names_peers)
{
	struct pair pair = open_pair("peers", false);
	struct nd_event event;

	CHECK_EQ(resolve(pair.client, addresses[0][0]), pair.peer);
	CHECK_EQ(resolve(pair.client, addresses[0][1]), 0);
	submit(pair.client, ND_PROTO_OTHER,
	       (struct nd_command){ .kind = ND_STACK_COMMAND_PEER, .peer = pair.peer });
	event = expect(pair.client, ND_EVENT_OPENED);
	CHECK_EQ(memcmp(&event.id, addresses[0][0], 8), 0);
	CHECK_EQ(memcmp(&event.message, addresses[0][0] + 8, 8), 0);
	submit(pair.client, ND_PROTO_OTHER,
	       (struct nd_command){ .kind = ND_STACK_COMMAND_PEER, .peer = 999, .cookie = 4 });
	CHECK_EQ(expect(pair.client, ND_EVENT_FAILED).cookie, 4);
	close_pair(&pair);
}

/* R-NHA-01: several applications on one core; one that closes takes nothing of the others along. */
TEST(nd_stack_share__serves_several_applications)
{
	struct pair pair = open_pair("share", false), other = pair;
	struct nd_event event = { 0 };
	uint8_t *request;

	listen_on(pair.server, ND_PROTO_HOMA, SERVICE);
	other.client = nd_stack_share(pair.client, &error);
	CHECK(other.client);
	check_echo(&pair);
	check_echo(&other);
	request = nd_stack_buffer(other.client, 50);
	ask(&other, request, 50, 1);
	expect(other.client, ND_EVENT_OPENED);
	nd_stack_close(other.client); /* with a request under way */
	CHECK_EQ(counter(pair.client, ND_STACK_GROUP_CORE, "apps_ended"), 1);
	CHECK(!nd_stack_audit(pair.client));
	while (nd_stack_wait(pair.server, 50 * ND_MSEC) == 1)
		nd_stack_events(pair.server, &event, 1); /* asked, and then cancelled */
	CHECK(event.kind != ND_EVENT_FAILED || event.error == -ECANCELED);
	check_echo(&pair);
	close_pair(&pair);
}

static void *close_handle(void *stack)
{
	nd_stack_close(stack);
	return NULL;
}

/* Whichever is the last: no other one uses the core after that. */
TEST(nd_stack_close__of_many_handles_at_once)
{
	struct nd_stack_config config = config_of("test-stack-close", 0, false);
	pthread_t threads[16];
	struct nd_stack *stacks[16];

	for (uint32_t round = 0; round < 10; round++) {
		stacks[0] = open_stack(&config);
		for (uint32_t i = 1; i < ND_ARRAY_SIZE(stacks); i++)
			CHECK(stacks[i] = nd_stack_share(stacks[0], &error));
		for (uint32_t i = 0; i < ND_ARRAY_SIZE(stacks); i++)
			CHECK_EQ(pthread_create(&threads[i], NULL, close_handle, stacks[i]), 0);
		for (uint32_t i = 0; i < ND_ARRAY_SIZE(stacks); i++)
			pthread_join(threads[i], NULL);
	}
}

TEST(nd_stack_share__refuses_one_too_many)
{
	struct pair pair = open_pair("many", false);
	struct nd_stack *more[ND_STACK_APPS_MAX - 1];

	for (uint32_t i = 0; i < ND_ARRAY_SIZE(more); i++) {
		more[i] = nd_stack_share(pair.client, &error);
		CHECK(more[i]);
	}
	CHECK(!nd_stack_share(pair.client, &error));
	CHECK(strstr(error.text, "at most 64"));
	nd_stack_close(more[0]);
	more[0] = nd_stack_share(pair.client, &error);
	CHECK(more[0]);
	for (uint32_t i = 0; i < ND_ARRAY_SIZE(more); i++)
		nd_stack_close(more[i]);
	close_pair(&pair);
}

/* An application in another process that attaches by name, asks, and is killed while it waits. */
static void attached_child(const char *service, uint32_t rounds)
{
	struct pair pair = { .client = nd_stack_attach(service, &error) };

	CHECK(pair.client);
	pair.peer = resolve(pair.client, addresses[0][0]);
	for (uint32_t i = 0; i < rounds; i++) {
		uint8_t *request = nd_stack_buffer(pair.client, 1000);
		struct nd_event event;

		fill(request, 1000, i);
		ask(&pair, request, 1000, i);
		expect(pair.client, ND_EVENT_OPENED);
		event = expect(pair.client, ND_EVENT_RESPONSE);
		CHECK(is_filled(event.payload, 1000, i));
		nd_stack_buffer_free(pair.client, request);
	} /* never releases what it received */
	if (nd_stack_submit(pair.client, ND_PROTO_HOMA,
			    &(struct nd_command){ .kind = ND_COMMAND_REQUEST,
						  .peer = pair.peer,
						  .port = SERVICE,
						  .payload = nd_stack_buffer(pair.client, 500000),
						  .bytes = 500000 }) == 0)
		kill(getpid(), SIGKILL);
}

/* Answers what comes within a moment, and frees what is done with, however it ended. */
static void serve(struct nd_stack *server)
{
	struct nd_event event;

	if (nd_stack_wait(server, ND_MSEC) != 1 || nd_stack_events(server, &event, 1) != 1)
		return;
	if (event.kind == ND_EVENT_REQUEST)
		echo(server, event);
	else if (event.cookie)
		nd_stack_buffer_free(server, (void *)(uintptr_t)event.cookie);
}

TEST(nd_stack_attach__reclaims_a_killed_application)
{
	struct pair pair = open_pair("killed", false);
	struct nd_stack_config config;
	struct nd_stack *host;
	char name[64], service[64];
	int status;
	pid_t child;

	nd_stack_close(pair.client); /* a host service takes its place */
	snprintf(name, sizeof(name), "test-stack-%d-killed", getpid());
	snprintf(service, sizeof(service), "test-service-%d", getpid());
	config = config_of(name, 1, false);
	config.service = service;
	await_counter(pair.server, "rounds", 1);
	host = open_stack(&config);
	listen_on(pair.server, ND_PROTO_HOMA, SERVICE);
	for (uint32_t i = 0; i < 5; i++) {
		child = fork();
		if (child == 0) {
			attached_child(service, 3);
			_exit(1);
		}
		while (waitpid(child, &status, WNOHANG) == 0)
			serve(pair.server);
		CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
		await_counter(host, "apps_ended", i + 1);
		CHECK(!nd_stack_audit(host));
	}
	pair.client = host;
	close_pair(&pair);
	CHECK(!nd_stack_attach(service, &error));
	CHECK(strstr(error.text, "nobody listens"));
}

/* Socket activation: who connects before the core is there waits for it. */
TEST(nd_stack_open__takes_a_listening_socket)
{
	struct nd_stack_config config;
	struct nd_stack *host, *app;
	char name[64], service[64];
	int listener;

	snprintf(name, sizeof(name), "test-stack-%d-activated", getpid());
	snprintf(service, sizeof(service), "test-service-%d-activated", getpid());
	listener = nd_fds_listen(service, &error);
	CHECK(listener >= 0);
	config = config_of(name, 0, false);
	config.service = service;
	config.service_socket = listener;
	host = open_stack(&config);
	app = nd_stack_attach(service, &error);
	CHECK(app);
	CHECK_EQ(resolve(app, addresses[0][0]), 0);
	nd_stack_close(app);
	nd_stack_close(host);
	CHECK(!nd_stack_attach(service, &error));
}

/* An application learns that its core is gone, and may wait for it without hanging. */
TEST(nd_stack_events__end_with_the_core)
{
	struct nd_stack_config config;
	struct nd_stack *app;
	char name[64], service[64];
	struct nd_event event;
	int ready[2], status;
	pid_t child;
	char byte;

	snprintf(name, sizeof(name), "test-stack-%d-end", getpid());
	snprintf(service, sizeof(service), "test-service-%d-end", getpid());
	CHECK_EQ(pipe(ready), 0);
	child = fork();
	if (child == 0) {
		config = config_of(name, 0, false);
		config.service = service;
		open_stack(&config);
		if (write(ready[1], "x", 1) == 1)
			pause();
	}
	CHECK_EQ(read(ready[0], &byte, 1), 1);
	app = nd_stack_attach(service, &error);
	CHECK(app);
	CHECK_EQ(nd_stack_wait(app, ND_MSEC), 0);
	CHECK_EQ(kill(child, SIGKILL), 0);
	CHECK_EQ(waitpid(child, &status, 0), child);
	CHECK_EQ(nd_stack_wait(app, 5 * ND_SEC), -EPIPE);
	CHECK_EQ(nd_stack_submit(app, ND_PROTO_HOMA, &(struct nd_command){ 0 }), -EPIPE);
	nd_stack_arm(app);
	CHECK_EQ(nd_stack_events(app, &event, 1), -EPIPE);
	nd_stack_close(app);
}

/* Descriptors that the epolls of this process watch. */
static uint32_t watched_descriptors(void)
{
	uint32_t count = 0;
	char path[64], line[128];

	for (int fd = 0; fd < 256; fd++) {
		FILE *info;

		snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
		info = fopen(path, "r");
		while (info && fgets(line, sizeof(line), info))
			count += strncmp(line, "tfd:", 4) == 0;
		if (info)
			fclose(info);
	}
	return count;
}

/* It is thrown out, and the bell that it still holds wakes nobody any more. */
TEST(nd_core_check_apps__ends_a_hostile_application)
{
	struct nd_stack_config config;
	struct nd_channel_layout layout;
	struct nd_channel channel;
	struct nd_stack *host;
	struct pollfd entry = { .events = POLLIN };
	char name[64], service[64];
	int fds[ND_CHANNEL_FDS];
	uint32_t watched;

	snprintf(name, sizeof(name), "test-stack-%d-hostile", getpid());
	snprintf(service, sizeof(service), "test-service-%d-hostile", getpid());
	config = config_of(name, 0, false);
	config.service = service;
	host = open_stack(&config);
	await_counter(host, "sleeps", 1); /* watches its port */
	watched = watched_descriptors();
	entry.fd = nd_fds_connect(service, &error);
	CHECK_EQ(poll(&entry, 1, PATIENCE / ND_MSEC), 1);
	CHECK_EQ(nd_fds_receive(entry.fd, &layout, sizeof(layout), fds, ND_CHANNEL_FDS), 0);
	CHECK_EQ(nd_channel_map(&channel, &layout, fds), 0);
	/* The core watches two; the epoll that each end has a descriptor of watches the bell. */
	CHECK_EQ(watched_descriptors(), watched + 2 + 2);
	channel.submissions.shared->head = layout.commands + 1; /* more than there are */
	CHECK_EQ(eventfd_write(channel.fds[ND_CHANNEL_WAKE_CORE], 1), 0);
	await_counter(host, "apps_ended", 1);
	CHECK_EQ(counter(host, ND_STACK_GROUP_CORE, "apps_corrupt"), 1);
	CHECK_EQ(watched_descriptors(), watched);
	nd_channel_unmap(&channel);
	close(entry.fd);
	nd_stack_close(host);
}

/* One that takes no events: its own credit ends, the others go on, and it can catch up. */
TEST(nd_stack__slow_application_stops_only_itself)
{
	struct nd_stack_config config;
	struct pair pair, slow; /* fast and slow server, with a client each */
	struct nd_event event;
	uint32_t requests = 0, failures = 0;
	static char name[64];

	snprintf(name, sizeof(name), "test-stack-%d-slow", getpid());
	config = config_of(name, 0, false);
	config.channel.events = 64;
	pair.server = open_stack(&config);
	config = config_of(name, 1, false);
	pair.client = open_stack(&config);
	pair.peer = resolve(pair.client, addresses[0][0]);
	slow = pair;
	slow.server = nd_stack_share(pair.server, &error);
	slow.client = nd_stack_share(pair.client, &error);
	listen_on(slow.server, ND_PROTO_HOMA, SERVICE + 1);
	listen_on(pair.server, ND_PROTO_HOMA, SERVICE);
	for (uint32_t i = 0; i < 200; i++) {
		uint8_t *request = nd_stack_buffer(slow.client, 64);

		submit(slow.client, ND_PROTO_HOMA,
		       (struct nd_command){ .kind = ND_COMMAND_REQUEST,
					    .peer = slow.peer,
					    .port = SERVICE + 1,
					    .payload = request,
					    .bytes = 64,
					    .cookie = (uint64_t)(uintptr_t)request,
					    .deadline = clock_now() + 500 * ND_MSEC });
	}
	await_counter(pair.server, "messages_withheld", 1);
	check_echo(&pair);
	while (failures < 200) { /* nobody answered: each ends by its deadline */
		event = next_event(slow.client);
		if (event.kind == ND_EVENT_OPENED)
			continue;
		CHECK_EQ(event.kind, ND_EVENT_FAILED);
		CHECK_EQ(event.error, -ETIMEDOUT);
		failures++;
	}
	check_echo(&pair);
	while (nd_stack_wait(slow.server, 300 * ND_MSEC) == 1)
		while (nd_stack_events(slow.server, &event, 1) == 1) {
			requests += event.kind == ND_EVENT_REQUEST;
			if (event.kind == ND_EVENT_REQUEST)
				submit(slow.server, ND_PROTO_HOMA,
				       (struct nd_command){ .kind = ND_COMMAND_RELEASE,
							    .id = event.id });
		}
	CHECK(requests >= 32);
	check_echo(&pair);
	CHECK_EQ(counter(pair.server, ND_STACK_GROUP_CORE, "apps_overrun"), 0);
	nd_stack_close(slow.server);
	nd_stack_close(slow.client);
	close_pair(&pair);
}

/* Idle costs next to nothing: a core blocks, and wakes a few times a second. */
TEST(nd_core_wait__sleeps_when_idle)
{
	struct pair pair = open_pair("idle", false);
	struct timespec before, after;
	uint64_t used;

	usleep(50000);
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &before);
	usleep(500000);
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &after);
	used = (uint64_t)(after.tv_sec - before.tv_sec) * ND_SEC + (uint64_t)after.tv_nsec -
	       (uint64_t)before.tv_nsec;
	CHECK(used < 2 * 500 * ND_MSEC / 50); /* 2 % for each of two cores */
	close_pair(&pair);
}

/* A port whose other end comes back is opened again by the core itself. */
TEST(nd_core_check_ports__opens_again)
{
	struct pair pair = open_pair("again", false);
	struct nd_stack_config config;
	enum nd_port_state state = ND_PORT_GONE;
	nd_ns end = clock_now() + PATIENCE;
	static char name[64];
	char mode[64];

	snprintf(name, sizeof(name), "test-stack-%d-again", getpid());
	nd_stack_close(pair.server);
	while (nd_stack_port_state(pair.client, 0, &state, mode, &error) == 0 &&
	       state != ND_PORT_GONE) {
		CHECK(clock_now() < end);
		usleep(1000);
	}
	CHECK(error.code < 0 && error.text[0]);
	config = config_of(name, 0, false);
	pair.server = open_stack(&config);
	while (nd_stack_port_state(pair.client, 0, &state, mode, &error) == 0 &&
	       state != ND_PORT_UP) {
		CHECK(clock_now() < end);
		usleep(1000);
	}
	CHECK_STR(mode, "memory");
	listen_on(pair.server, ND_PROTO_HOMA, SERVICE);
	check_echo(&pair);
	CHECK(counter(pair.client, ND_STACK_GROUP_CORE, "ports_reopened") >= 1);
	close_pair(&pair);
}

/* HM#5, HM#53: windows are for the rate of the link. */
TEST(nd_stack_open__makes_engines_for_the_link)
{
	static const uint64_t rates[] = { 100000000, 10000000000, 0 /* nobody knows: 10 Gb/s */ };
	static const uint32_t expected[] = { 10000, 30000, 30000 };

	for (uint32_t i = 0; i < ND_ARRAY_SIZE(rates); i++) {
		struct nd_stack_config config = config_of("test-stack-rate", 0, false);
		struct nd_stack *stack;
		struct nd_homa *homa;

		config.link_bps = rates[i];
		config.no_ndp = true;
		stack = open_stack(&config);
		homa = nd_stack_core(stack)->engines[0].endpoint;
		CHECK_EQ(homa->config.rtt_bytes, expected[i]);
		nd_stack_close(stack);
	}
}

/* X29, T22: a host whose link takes nothing any more ends all the same. */
TEST(nd_stack_close__while_the_link_takes_nothing)
{
	struct nd_port_config other = {
		.backend = ND_PORT_MEMORY, .memory.listen = true, .rx_frames = 16, .tx_frames = 16 };
	struct nd_stack_config config;
	nd_ns end = clock_now() + PATIENCE;
	struct nd_port *deaf;
	struct pair pair;
	char name[64];

	snprintf(name, sizeof(name), "test-stack-%d-deaf", getpid());
	other.name = name;
	deaf = nd_port_open(&other, &error);
	config = config_of(name, 1, false);
	config.ports[0].rx_frames = config.ports[0].tx_frames = 16;
	pair.client = open_stack(&config);
	while (nd_port_check(deaf, 0, &error) != ND_PORT_UP) {
		CHECK(clock_now() < end);
		usleep(1000);
	}
	pair.peer = resolve(pair.client, addresses[0][0]);
	for (uint32_t i = 0; i < 4; i++) {
		submit(pair.client, ND_PROTO_NDP,
		       (struct nd_command){
			       .kind = ND_COMMAND_CONNECT, .peer = pair.peer, .port = SERVICE });
		send_filled(pair.client, expect(pair.client, ND_EVENT_OPENED).id, 1000000, 3);
	}
	while (!counter(pair.client, ND_STACK_GROUP_PORT, "tx_backpressure")) {
		CHECK(clock_now() < end);
		usleep(1000);
	}
	nd_stack_close(pair.client);
	CHECK(clock_now() < end);
	nd_port_close(deaf);
}

TEST(nd_stack_open__explains_what_is_wrong)
{
	struct nd_stack_config config = config_of("test-stack-nobody", 1, false);

	CHECK(!nd_stack_open(&config, &error));
	CHECK(strstr(error.text, "start the listening end first"));
	memset(config.address_v4, 0, 16);
	CHECK(!nd_stack_open(&config, &error));
	CHECK(strstr(error.text, "give IPv4, IPv6 or both"));
	config = config_of("x", 0, false);
	config.port_count = 0;
	CHECK(!nd_stack_open(&config, &error));
	CHECK(strstr(error.text, "give 1 to 8"));
	config = config_of("x", 0, false);
	config.ports[0].xdp.share = (struct nd_port *)(void *)&config; /* nobody looks at it */
	CHECK(!nd_stack_open(&config, &error));
	CHECK(strstr(error.text, "leave xdp.share out"));
	config = config_of("x", 0, false);
	config.no_ndp = config.no_homa = true;
	CHECK(!nd_stack_open(&config, &error));
	CHECK(strstr(error.text, "no protocol"));
	config = config_of("x", 0, false);
	config.channel.receive_bytes = (1u << 31) + 64;
	CHECK(!nd_stack_open(&config, &error));
	CHECK(strstr(error.text, "receive_bytes of the channel is 2147483712; give 64 to"));
	config.channel.receive_bytes = 0;
	config.channel.events = 1; /* would never hold a message */
	CHECK(!nd_stack_open(&config, &error));
	CHECK(strstr(error.text, "events of the channel is 1; give 2 to"));
}

int main(int argc, char **argv)
{
	return nd_test_main(argc, argv);
}
