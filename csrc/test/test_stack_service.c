// SPDX-License-Identifier: Apache-2.0
/* A core that serves other processes: whom it takes, and what it does when it can take nobody. */
#include "host/core.h"
#include "port/fds.h"
#include "test/descriptors.h"
#include "test/memory_pair.h"

#include <pthread.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>

#define CHECK_EVERY (100 * ND_MSEC) /* of the core */
#define OTHER_USER 65000u /* the first of some */

/* A core with a service: below path, or of an abstract name. */
static struct nd_stack *open_service(const char *case_name, const char *path, char service[64])
{
	struct nd_stack_config config;
	char name[64];

	snprintf(name, sizeof(name), "test-stack-%d-%s", getpid(), case_name);
	snprintf(service, 64, "%stest-service-%d-%s", path, getpid(), case_name);
	config = config_of(name, 0, false);
	config.service = service;
	return open_stack(&config);
}

static pid_t start(void (*run)(const char *service), const char *service)
{
	pid_t child = fork();

	CHECK(child >= 0);
	if (child == 0) {
		run(service);
		_exit(0);
	}
	return child;
}

static void await_success(pid_t child)
{
	int status;

	CHECK_EQ(waitpid(child, &status, 0), child);
	CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

/* ---- descriptors ---- */

/* Has descriptors, and patience with a core that has none. */
static void attach_in_time(const char *service)
{
	nd_ns end = clock_now() + PATIENCE;
	struct nd_stack *app;

	set_descriptors_max(256);
	while (!(app = nd_stack_attach(service, &error))) {
		CHECK(strstr(error.text, "does not answer") || strstr(error.text, "connections wait"));
		CHECK(clock_now() < end);
	}
	CHECK_EQ(resolve(app, addresses[0][0]), 0);
}

/* Who waits is seen to by each check, wakes nobody in between, and is served when it can be. */
TEST(nd_core_answer_service__sleeps_without_a_descriptor)
{
	char service[64];
	struct nd_stack *host = open_service("descriptors", "", service);
	rlim_t before;
	uint64_t sleeps;
	nd_ns since;
	pid_t child;

	await_counter(host, "sleeps", 1); /* watches its port */
	before = set_descriptors_max(next_descriptor());
	child = start(attach_in_time, service);
	await_counter(host, "apps_put_off", 1);
	sleeps = counter(host, ND_STACK_GROUP_CORE, "sleeps");
	since = clock_now();
	usleep(5 * CHECK_EVERY / ND_USEC);
	sleeps = counter(host, ND_STACK_GROUP_CORE, "sleeps") - sleeps;
	CHECK(sleeps <= 2 * ((clock_now() - since) / CHECK_EVERY + 4));
	set_descriptors_max(before);
	await_success(child);
	await_counter(host, "apps_ended", 1);
	nd_stack_close(host);
}

/* ---- opening without memory ---- */

/* This program's own, in place of the system's: has no memory for one text. */
static const char *too_much;

char *strdup(const char *text)
{
	size_t bytes = strlen(text) + 1;
	char *copy = too_much && strcmp(text, too_much) == 0 ? NULL : malloc(bytes);

	return copy ? memcpy(copy, text, bytes) : NULL;
}

/* Not a core that serves nobody. */
TEST(nd_core_open__without_memory_for_the_name)
{
	struct nd_stack_config config = config_of("test-service-memory", 0, false);

	config.service = too_much = "test-service-memory-name";
	CHECK(!nd_stack_open(&config, &error));
	CHECK_EQ(error.code, -ENOMEM);
	too_much = NULL;
}

/* ---- users ---- */

/* How many a user gets until it is refused, all of which it keeps. */
static uint32_t attach_all(const char *service)
{
	uint32_t count = 0;

	while (nd_stack_attach(service, &error))
		count++;
	return count;
}

/* The service has a place itself, which leaves 63. */
static void attach_as_many(const char *service)
{
	static const uint32_t shares[] = { 31, 16, 8, 4, 2, 1, 0 };

	for (uint32_t i = 0; i < ND_ARRAY_SIZE(shares); i++) {
		CHECK_EQ(seteuid(OTHER_USER + i), 0);
		CHECK_EQ(attach_all(service), shares[i]);
		CHECK_EQ(error.code, -EDQUOT);
		CHECK(strstr(error.text, "of this user"));
		CHECK_EQ(seteuid(0), 0);
	}
	CHECK_EQ(attach_all(service), 1);
	CHECK_EQ(error.code, -EUSERS);
	CHECK(strstr(error.text, "at most 64"));
}

static void skip_unless_root(void)
{
	if (geteuid() == 0)
		return;
	printf("SKIP: only root can become another user\n");
	exit(ND_TEST_SKIP);
}

TEST(nd_core_attach__leaves_places_for_other_users)
{
	struct nd_stack *host;
	char service[64];

	skip_unless_root();
	host = open_service("places", "/tmp/", service);
	CHECK_EQ(chmod(service, 0777), 0);
	await_success(start(attach_as_many, service));
	await_counter(host, "apps_ended", 63);
	CHECK_EQ(counter(host, ND_STACK_GROUP_CORE, "apps_refused"), 8);
	nd_stack_close(host);
}

/* An application of another user asks for a backlog of so many of the 4,096 connections. */
static int32_t listen_for(struct nd_stack *app, uint16_t port, uint64_t backlog)
{
	submit(app, ND_PROTO_NDP,
	       (struct nd_command){
		       .kind = ND_COMMAND_LISTEN, .port = port, .message = backlog });
	return next_event(app).error;
}

static void listen_as_two(const char *service)
{
	struct nd_stack *apps[3];

	for (uint32_t i = 0; i < 3; i++) {
		CHECK_EQ(seteuid(OTHER_USER + i / 2), 0); /* two of one user, one of another */
		apps[i] = nd_stack_attach(service, &error);
		CHECK(apps[i]);
		CHECK_EQ(seteuid(0), 0);
	}
	CHECK_EQ(listen_for(apps[0], 1, 2049), -ENOBUFS);
	CHECK_EQ(listen_for(apps[0], 1, 1024), 0);
	CHECK_EQ(listen_for(apps[1], 2, 1025), -ENOBUFS); /* with what the other has */
	CHECK_EQ(listen_for(apps[1], 2, 1024), 0);
	CHECK_EQ(listen_for(apps[2], 3, 1025), -ENOBUFS);
	CHECK_EQ(listen_for(apps[2], 3, 1024), 0);
}

TEST(check_share__leaves_room_to_other_users)
{
	struct nd_stack *host;
	char service[64];

	skip_unless_root();
	host = open_service("room", "/tmp/", service);
	CHECK_EQ(chmod(service, 0777), 0);
	await_success(start(listen_as_two, service));
	await_counter(host, "apps_ended", 3);
	CHECK_EQ(counter(host, ND_STACK_GROUP_CORE, "commands_over_share"), 3);
	CHECK_EQ(listen_for(host, 4, 4096), 0); /* all that there are: this user may */
	nd_stack_close(host);
}

#define WAITING_SHARE (ND_CORE_WAITING_MAX / 2)

static void address_of(uint8_t address[16], uint32_t host)
{
	static const uint8_t prefix[14] = { [10] = 0xff, [11] = 0xff, 10, 8 };

	memcpy(address, prefix, sizeof(prefix));
	address[14] = (uint8_t)(host >> 8);
	address[15] = (uint8_t)host;
}

/* Names so many hosts that do not answer, and two more. */
static void await_many(const char *service)
{
	struct nd_stack *app;
	uint8_t *buffer;

	CHECK_EQ(seteuid(OTHER_USER), 0);
	app = nd_stack_attach(service, &error);
	CHECK(app);
	buffer = nd_stack_buffer(app, 16 * (WAITING_SHARE + 2));
	for (uint32_t i = 0; i < WAITING_SHARE + 2; i++) {
		address_of(buffer + 16 * i, i);
		submit(app, ND_PROTO_OTHER,
		       (struct nd_command){ .kind = ND_STACK_COMMAND_PEER, .cookie = i,
					    .payload = buffer + 16 * i, .bytes = 16 });
	}
	for (uint32_t i = WAITING_SHARE; i < WAITING_SHARE + 2; i++) {
		struct nd_event event = next_event(app);

		CHECK_EQ(event.error, -EAGAIN);
		CHECK_EQ(event.cookie, i);
	}
}

TEST(nd_core_await_way__leaves_places_to_other_users)
{
	struct nd_stack *host;
	uint8_t address[16];
	char service[64];

	skip_unless_root();
	host = open_service("await", "/tmp/", service);
	CHECK_EQ(chmod(service, 0777), 0);
	CHECK(nd_stack_resolver(host) >= 0);
	for (uint32_t i = 0; i < WAITING_SHARE + 2; i++) {
		address_of(address, i);
		CHECK_EQ(nd_stack_lose_peer(host, address, ND_UNREACHABLE_NO_ANSWER), 0);
	}
	await_success(start(await_many, service));
	nd_stack_close(host);
}

static void limit_window(struct nd_stack *app)
{
	uint32_t peer = resolve(app, addresses[0][1]);

	submit(app, ND_PROTO_HOMA,
	       (struct nd_command){ .kind = ND_COMMAND_WINDOW, .peer = peer, .bytes = 1000 });
	resolve(app, addresses[0][1]); /* the core has seen what came before */
}

static void limit_window_as_other(const char *service)
{
	struct nd_stack *app;

	CHECK_EQ(seteuid(OTHER_USER), 0);
	app = nd_stack_attach(service, &error);
	CHECK(app);
	limit_window(app);
}

/* What one application says of a peer holds for all of them, and stays when that one has gone. */
TEST(check_share__strangers_do_not_steer_everybody)
{
	struct nd_stack *host;
	char service[64];

	skip_unless_root();
	host = open_service("steer", "/tmp/", service);
	CHECK_EQ(chmod(service, 0777), 0);
	await_success(start(limit_window_as_other, service));
	await_counter(host, "apps_ended", 1);
	CHECK_EQ(counter(host, ND_STACK_GROUP_CORE, "commands_refused"), 1);
	limit_window(host);
	CHECK_EQ(counter(host, ND_STACK_GROUP_CORE, "commands_refused"), 1);
	nd_stack_close(host);
}

static void attach_as_stranger(const char *service)
{
	CHECK_EQ(seteuid(OTHER_USER), 0);
	CHECK_EQ(attach_all(service), 0);
	CHECK_EQ(error.code, -EPERM);
	CHECK(strstr(error.text, "the path of a socket"));
}

TEST(nd_core_answer_service__tells_strangers_why)
{
	struct nd_stack *host;
	char service[64];

	skip_unless_root();
	host = open_service("strangers", "", service);
	await_success(start(attach_as_stranger, service));
	nd_stack_close(host);
}

/* ---- the end ---- */

/* A handle whose core is gone, which it has not been told. */
static struct nd_stack *outlive(const char *case_name)
{
	char service[64];
	struct nd_stack *host = open_service(case_name, "", service), *app;

	app = nd_stack_attach(service, &error);
	CHECK(app);
	nd_stack_close(host);
	return app;
}

/* Who polls and is never woken learns it, too. */
TEST(nd_stack_events__end_without_waiting)
{
	struct nd_stack *app = outlive("polls");
	nd_ns end = clock_now() + PATIENCE;
	struct nd_event event;
	int code;

	while ((code = nd_stack_events(app, &event, 1)) == 0)
		CHECK(clock_now() < end);
	CHECK_EQ(code, -EPIPE);
	nd_stack_close(app);
}

/* A full ring that nobody is going to empty is not to be tried again. */
TEST(nd_stack_submit__ends_with_the_core)
{
	struct nd_command command = { .kind = ND_COMMAND_LISTEN, .port = SERVICE };
	struct nd_stack *app = outlive("submits");
	struct nd_event event;
	int code;

	while ((code = nd_stack_submit(app, ND_PROTO_NDP, &command)) == 0)
		;
	CHECK_EQ(code, -EPIPE);
	CHECK_EQ(nd_stack_submit(app, ND_PROTO_NDP, &command), -EPIPE);
	CHECK_EQ(nd_stack_arm(app), true);
	CHECK_EQ(nd_stack_events(app, &event, 1), -EPIPE);
	nd_stack_close(app);
}

/* ---- signals ---- */

#define SIGNALS 5

static volatile sig_atomic_t signals;

static void count_signal(int number)
{
	(void)number;
	signals++;
}

static void *attach_among_signals(void *argument)
{
	sigset_t alarms;

	sigemptyset(&alarms);
	sigaddset(&alarms, SIGALRM);
	CHECK_EQ(pthread_sigmask(SIG_UNBLOCK, &alarms, NULL), 0);
	return nd_stack_attach(argument, &error);
}

/* Comes back with the attached handle, or NULL, when signals have come while nobody answered. */
static struct nd_stack *attach_interrupted(struct nd_stack *host, char *service)
{
	struct itimerval often = { .it_interval = { .tv_usec = 2000 }, .it_value = { .tv_usec = 2000 } };
	struct itimerval never = { 0 };
	nd_ns end = clock_now() + ND_SEC; /* less than an application waits */
	sigset_t alarms;
	pthread_t thread;
	void *app = NULL;

	signal(SIGALRM, count_signal);
	sigemptyset(&alarms);
	sigaddset(&alarms, SIGALRM);
	CHECK_EQ(pthread_sigmask(SIG_BLOCK, &alarms, NULL), 0);
	CHECK_EQ(pthread_create(&thread, NULL, attach_among_signals, service), 0);
	CHECK_EQ(setitimer(ITIMER_REAL, &often, NULL), 0);
	while (signals < SIGNALS && clock_now() < end)
		usleep(1000);
	setitimer(ITIMER_REAL, &never, NULL);
	while (pthread_tryjoin_np(thread, &app) == EBUSY)
		nd_stack_poll(host);
	return app;
}

/* Signals that come while the core does not answer yet are no answer. */
TEST(nd_stack_attach__is_interrupted)
{
	struct nd_stack_config config = config_of("test-stack-signals", 0, false);
	struct nd_stack *host, *app;
	char service[64];

	snprintf(service, sizeof(service), "test-service-%d-signals", getpid());
	config.service = service;
	config.profile = ND_STACK_POLLED; /* answers when it is polled */
	host = open_stack(&config);
	app = attach_interrupted(host, service);
	CHECK(app);
	nd_stack_close(app);
	nd_stack_close(host);
}

int main(int argc, char **argv)
{
	return nd_test_main(argc, argv);
}
