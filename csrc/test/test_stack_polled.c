// SPDX-License-Identifier: Apache-2.0
/* Stacks without a thread: whoever opened them polls them. */
#include "host/core.h"
#include "test/memory_pair.h"
#include "test/recording.h"
#include "transport/ndp.h"

#include <dirent.h>

/* Both ends in this thread. record: of the client, or NULL. */
static struct pair open_recorded(const char *case_name, const struct nd_ndp_config *ndp,
				 const char *record)
{
	static char name[64];
	struct nd_stack_config config;
	struct pair pair;

	snprintf(name, sizeof(name), "test-polled-%d-%s", getpid(), case_name);
	config = config_of(name, 0, false);
	config.profile = ND_STACK_POLLED;
	config.ndp_config = ndp;
	pair.server = open_stack(&config);
	config.ports[0].memory.listen = false;
	config.seed++;
	memcpy(config.address_v4, addresses[0][1], 16);
	config.record = record;
	pair.client = open_stack(&config);
	pair.peer = resolve(pair.client, addresses[0][0]);
	CHECK(nd_stack_poll(pair.server) >= 0); /* takes the other end in */
	return pair;
}

static struct pair open_polled(const char *case_name, const struct nd_ndp_config *ndp)
{
	return open_recorded(case_name, ndp, NULL);
}

/* The next event of one end has this kind; both are polled meanwhile. */
static struct nd_event pump(const struct pair *pair, struct nd_stack *stack, uint8_t kind)
{
	nd_ns end = clock_now() + PATIENCE;
	struct nd_event event;

	while (nd_stack_events(stack, &event, 1) != 1) {
		CHECK(clock_now() < end);
		CHECK(nd_stack_poll(pair->client) >= 0);
		CHECK(nd_stack_poll(pair->server) >= 0);
	}
	CHECK_EQ(event.kind, kind);
	return event;
}

static uint32_t count_threads(void)
{
	DIR *folder = opendir("/proc/self/task");
	uint32_t count = 0;

	CHECK(folder);
	while (readdir(folder))
		count++;
	closedir(folder);
	return count - 2; /* . and .. */
}

TEST(nd_stack_poll__runs_homa_in_the_thread_of_the_application)
{
	uint32_t before = count_threads();
	struct pair pair = open_polled("homa", NULL);
	uint8_t *request = nd_stack_buffer(pair.client, 100000);
	struct nd_event event;

	listen_on(pair.server, ND_PROTO_HOMA, SERVICE);
	CHECK_EQ(count_threads(), before);
	for (uint32_t i = 0; i < 100; i++) {
		uint32_t bytes = i % 10 ? 100 : 100000;

		fill(request, bytes, i);
		ask(&pair, request, bytes, i);
		pump(&pair, pair.client, ND_EVENT_OPENED);
		echo(pair.server, pump(&pair, pair.server, ND_EVENT_REQUEST));
		event = pump(&pair, pair.client, ND_EVENT_RESPONSE);
		CHECK_EQ(event.bytes, bytes);
		CHECK(is_filled(event.payload, bytes, i));
		submit(pair.client, ND_PROTO_HOMA,
		       (struct nd_command){ .kind = ND_COMMAND_RELEASE, .id = event.id });
		event = pump(&pair, pair.server, ND_EVENT_SENT);
		CHECK_EQ(nd_stack_buffer_free(pair.server, (void *)(uintptr_t)event.cookie), 0);
	}
	close_pair(&pair);
}

/* An NDP connection between the two, and the server's name for it. */
static struct line connect_polled(const struct pair *pair)
{
	struct line line;

	listen_on(pair->server, ND_PROTO_NDP, SERVICE);
	submit(pair->client, ND_PROTO_NDP,
	       (struct nd_command){
		       .kind = ND_COMMAND_CONNECT, .peer = pair->peer, .port = SERVICE });
	line.client = pump(pair, pair->client, ND_EVENT_OPENED).id;
	send_filled(pair->client, line.client, 1, 0);
	line.server = pump(pair, pair->server, ND_EVENT_ACCEPTED).id;
	expect_message(pair->server, line.server, 0, 1, 0);
	pump(pair, pair->client, ND_EVENT_SENT);
	return line;
}

TEST(nd_stack_poll__runs_ndp_in_the_thread_of_the_application)
{
	struct pair pair = open_polled("ndp", NULL);
	struct line line = connect_polled(&pair);
	struct nd_event event;

	for (uint32_t i = 1; i <= 50; i++) {
		uint32_t bytes = i % 10 ? 64 : 300000;

		send_filled(pair.client, line.client, bytes, i);
		event = pump(&pair, pair.server, ND_EVENT_MESSAGE);
		CHECK_EQ(event.bytes, bytes);
		CHECK(is_filled(event.payload, bytes, i));
		command_ndp(pair.server, ND_COMMAND_RELEASE, line.server, event.message);
		event = pump(&pair, pair.client, ND_EVENT_SENT);
		CHECK_EQ(nd_stack_buffer_free(pair.client, (void *)(uintptr_t)event.cookie), 0);
	}
	close_pair(&pair);
}

/* ---- one thread only ---- */

static void *misuse(void *argument)
{
	struct nd_stack *stack = argument;
	const struct nd_counters_table *table;
	enum nd_port_state state;
	struct nd_error why;
	uint8_t asked[1][16];
	uint64_t value;
	char mode[64];

	CHECK_EQ(nd_stack_poll(stack), -EPERM);
	CHECK_EQ(nd_stack_wait(stack, 0), -EPERM);
	CHECK_EQ(nd_stack_resolver(stack), -EPERM);
	CHECK_EQ(nd_stack_unresolved(stack, asked, 1), -EPERM);
	CHECK_EQ(nd_stack_set_peer(stack, addresses[0][0], 0, (uint8_t[6]){ 2 }), -EPERM);
	CHECK_EQ(nd_stack_lose_peer(stack, addresses[0][0], ND_UNREACHABLE_NO_ROUTE), -EPERM);
	CHECK_EQ(nd_stack_counters(stack, ND_STACK_GROUP_CORE, 0, &table, &value, 1), -EPERM);
	CHECK_EQ(nd_stack_port_state(stack, 0, &state, mode, &why), -EPERM);
	CHECK(!nd_stack_share(stack, &why));
	CHECK_EQ(why.code, -EPERM);
	return NULL;
}

static void in_another_thread(void *(*call)(void *argument), struct nd_stack *stack)
{
	pthread_t thread;

	CHECK_EQ(pthread_create(&thread, NULL, call, stack), 0);
	CHECK_EQ(pthread_join(thread, NULL), 0);
}

static void *close_here(void *argument)
{
	nd_stack_close(argument);
	return NULL;
}

/* ... but the last close, beside which nothing else runs anyway, may come from any. */
TEST(nd_stack_poll__belongs_to_the_thread_that_opened)
{
	struct pair pair = open_polled("owner", NULL);
	struct nd_stack *second = nd_stack_share(pair.client, &error);

	CHECK(second);
	in_another_thread(misuse, pair.client);
	CHECK(counter(pair.client, ND_STACK_GROUP_CORE, "apps_attached") == 2);
	in_another_thread(close_here, second);
	in_another_thread(close_here, pair.client);
	nd_stack_close(pair.server);
}

TEST(nd_stack_poll__is_for_polled_stacks_only)
{
	struct pair pair = open_pair("threads", false), polled = open_polled("descriptor", NULL);
	struct nd_stack_config config = config_of("nobody", 0, false);

	CHECK_EQ(nd_stack_poll(pair.client), -ENOTSUP);
	CHECK_EQ(nd_stack_descriptor(polled.client), -ENOTSUP);
	config.profile = ND_STACK_POLLED;
	config.cpu = 1;
	CHECK(!nd_stack_open(&config, &error));
	CHECK_EQ(error.code, -EINVAL);
	CHECK(strstr(error.text, "bind the thread that polls it"));
	close_pair(&polled);
	close_pair(&pair);
}

/* ---- waiting ---- */

/* Its peer's core is another thread's: what wakes it is the port. */
static void *serve_one(void *argument)
{
	struct nd_stack_config config = config_of(argument, 0, false);
	struct nd_stack *server;

	config.profile = ND_STACK_POLLED;
	config.spin_ns = 1;
	server = open_stack(&config);
	listen_on(server, ND_PROTO_HOMA, SERVICE);
	echo_once(server);
	expect(server, ND_EVENT_SENT);
	nd_stack_close(server);
	return NULL;
}

TEST(nd_stack_wait__polls_and_blocks)
{
	static char name[64];
	struct nd_stack_config config = config_of(name, 1, false);
	struct pair pair = { 0 };
	nd_ns end = clock_now() + PATIENCE;
	uint8_t *request;
	pthread_t thread;

	snprintf(name, sizeof(name), "test-polled-%d-wait", getpid());
	CHECK_EQ(pthread_create(&thread, NULL, serve_one, name), 0);
	config.profile = ND_STACK_POLLED;
	config.spin_ns = 1;
	while (!(pair.client = nd_stack_open(&config, &error))) {
		CHECK(clock_now() < end); /* the server is not there yet */
		usleep(1000);
	}
	CHECK(nd_stack_poll(pair.client) >= 0);
	CHECK(!nd_stack_core(pair.client)->ports[0].watched); /* the kernel has nobody to call */
	do { /* where the time is up before it could sleep, it tries again */
		CHECK(clock_now() < end);
		CHECK_EQ(nd_stack_wait(pair.client, 20 * ND_MSEC), 0);
	} while (!counter(pair.client, ND_STACK_GROUP_CORE, "sleeps"));
	CHECK(nd_stack_core(pair.client)->ports[0].watched);
	pair.peer = resolve(pair.client, addresses[0][0]);
	request = nd_stack_buffer(pair.client, 100);
	fill(request, 100, 3);
	for (;;) { /* refused until it listens */
		struct nd_event event;

		ask(&pair, request, 100, 3);
		expect(pair.client, ND_EVENT_OPENED);
		event = next_event(pair.client);
		if (event.kind == ND_EVENT_RESPONSE) {
			CHECK(is_filled(event.payload, 100, 3));
			submit(pair.client, ND_PROTO_HOMA,
			       (struct nd_command){ .kind = ND_COMMAND_RELEASE,
						    .id = event.id });
			break;
		}
		CHECK_EQ(event.kind, ND_EVENT_FAILED);
		CHECK(clock_now() < end);
	}
	while (pthread_tryjoin_np(thread, NULL) == EBUSY) /* it waits for our acknowledgement */
		CHECK(nd_stack_wait(pair.client, ND_MSEC) >= 0);
	nd_stack_close(pair.client);
}

static void sleep_once(struct nd_stack *stack)
{
	uint64_t before = counter(stack, ND_STACK_GROUP_CORE, "sleeps");
	nd_ns end = clock_now() + PATIENCE;

	while (counter(stack, ND_STACK_GROUP_CORE, "sleeps") == before) {
		CHECK(clock_now() < end);
		CHECK_EQ(nd_stack_wait(stack, 20 * ND_MSEC), 0);
	}
}

/* Nobody is to be called for frames that somebody looks for anyway. */
TEST(nd_core_receive__forgets_to_watch_a_port_while_frames_keep_it_awake)
{
	struct pair pair = open_polled("awake", NULL);
	const struct nd_core_port *port = &nd_stack_core(pair.client)->ports[0];
	uint8_t *request = nd_stack_buffer(pair.client, 100);

	listen_on(pair.server, ND_PROTO_HOMA, SERVICE);
	for (uint32_t round = 0; round < 2; round++) {
		sleep_once(pair.client);
		CHECK(port->watched);
		for (uint32_t i = 0; i < 100; i++) {
			struct nd_event event;

			ask(&pair, request, 100, i);
			pump(&pair, pair.client, ND_EVENT_OPENED);
			echo(pair.server, pump(&pair, pair.server, ND_EVENT_REQUEST));
			event = pump(&pair, pair.client, ND_EVENT_RESPONSE);
			submit(pair.client, ND_PROTO_HOMA,
			       (struct nd_command){ .kind = ND_COMMAND_RELEASE,
						    .id = event.id });
			event = pump(&pair, pair.server, ND_EVENT_SENT);
			nd_stack_buffer_free(pair.server, (void *)(uintptr_t)event.cookie);
			CHECK(port->watched || i > 16); /* few frames each */
		}
		CHECK(!port->watched);
	}
	close_pair(&pair);
}

static uint64_t frames_of(const struct nd_core *core)
{
	return core->ports[0].port->counters.rx_frames;
}

/* A GRANT for each of a long message's frames would take longer than to receive them. */
TEST(nd_core_receive__leaves_frames_of_a_long_message_to_become_a_few)
{
	const uint32_t bytes = 1000000;
	struct pair pair = open_polled("coalesce", NULL);
	struct nd_core *client = nd_stack_core(pair.client), *server = nd_stack_core(pair.server);
	uint8_t *request = nd_stack_buffer(pair.client, bytes);
	nd_ns now = clock_now();
	uint64_t before;

	listen_on(pair.server, ND_PROTO_HOMA, SERVICE);
	ask(&pair, request, bytes, 1);
	nd_core_round(client, now);
	for (uint32_t i = 0; i < 3; i++) {
		nd_core_round(server, now); /* reads, and grants in the next */
		nd_core_round(server, now);
		nd_core_round(client, now); /* reads that, and sends in the next */
		nd_core_round(client, now);
		before = frames_of(server);
		nd_core_round(server, now + 4 * ND_USEC);
		CHECK_EQ(frames_of(server), before);
		now += 5 * ND_USEC;
		nd_core_round(server, now);
		CHECK(frames_of(server) > before);
		nd_core_round(client, now);
		now += 5 * ND_USEC;
	}
	close_pair(&pair);
}

/* What is short, or the last of a message, waits for nobody. */
TEST(nd_core_receive__leaves_no_frame_behind_which_little_is_expected)
{
	struct pair pair = open_polled("no-coalesce", NULL);
	struct nd_core *client = nd_stack_core(pair.client), *server = nd_stack_core(pair.server);
	uint8_t *request = nd_stack_buffer(pair.client, 100);
	nd_ns now = clock_now();

	listen_on(pair.server, ND_PROTO_HOMA, SERVICE);
	for (uint32_t i = 0; i < 10; i++) {
		uint64_t before = frames_of(server);

		ask(&pair, request, 100, i);
		nd_core_round(client, now + i * 100);
		nd_core_round(server, now + i * 100);
		CHECK_EQ(frames_of(server), before + 1);
	}
	close_pair(&pair);
}

/* ---- timers after arrivals ---- */

/*
 * A host that was not scheduled for longer than any timeout finds more acknowledgements than it
 * reads at once. It sends nothing again.
 */
TEST(nd_core_round__reads_what_arrived_before_its_timers_run)
{
	struct nd_ndp_config ndp = nd_ndp_config_default(UINT64_C(10000000000), 1500);
	struct pair pair;
	struct line line;
	struct nd_core *client, *server;
	nd_ns now;

	ndp.initial_window = 150;
	ndp.window_packets = 512;
	/* The connection is made in real time: a machine that is late by this much tells nothing. */
	ndp.rto_min_ns = ndp.rto_initial_ns = ndp.rto_max_ns = ndp.repull_ns = ND_SEC;
	pair = open_polled("late", &ndp);
	client = nd_stack_core(pair.client);
	server = nd_stack_core(pair.server);
	line = connect_polled(&pair);
	now = clock_now() + ND_SEC;
	send_filled(pair.client, line.client, 150 * ndp.mss_bytes, 7);
	for (uint32_t i = 0; i < 10; i++, now += ND_USEC)
		nd_core_round(client, now);
	for (uint32_t i = 0; i < 10; i++, now += ND_USEC)
		nd_core_round(server, now);
	now += 10 * ND_SEC;
	for (uint32_t i = 0; i < 10; i++, now += ND_USEC)
		nd_core_round(client, now);
	CHECK_EQ(counter(pair.client, ND_STACK_GROUP_NDP, "timeouts"), 0);
	CHECK_EQ(counter(pair.client, ND_STACK_GROUP_NDP, "data_resent"), 0);
	CHECK_EQ(counter(pair.client, ND_STACK_GROUP_NDP, "messages_sent"), 2);
	expect_message(pair.server, line.server, 1, 150 * ndp.mss_bytes, 7);
	nd_stack_close(pair.client);
	nd_stack_close(pair.server);
}

/* ---- telling the link ---- */

/* The port's own operations, and frames that its link has not been told of. */
static const struct nd_port_ops *real_ops;
static uint32_t untold;

static void counting_commit(struct nd_port *port, const struct nd_frame *frames, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		untold += frames[i].bytes > 0;
	real_ops->commit(port, frames, count);
}

static uint32_t counting_flush(struct nd_port *port)
{
	untold = 0;
	return real_ops->flush(port);
}

/*
 * However many packets a round sends, the link is told of all: an end that sleeps is woken by that,
 * and AF_XDP sends nothing without. Blanks are asked for in portions, and a round that used up its
 * last portion exactly told nobody.
 */
TEST(nd_core_round__tells_the_link_of_all_that_it_sent)
{
	struct nd_ndp_config ndp = nd_ndp_config_default(UINT64_C(10000000000), 1500);
	struct nd_port_ops ops;
	struct nd_port *port;
	struct pair pair;
	struct line line;

	ndp.initial_window = 2 * ND_CORE_BATCH;
	pair = open_polled("told", &ndp);
	line = connect_polled(&pair);
	port = nd_stack_core(pair.client)->ports[0].port;
	real_ops = port->ops;
	ops = *real_ops;
	ops.commit = counting_commit;
	ops.flush = counting_flush;
	port->ops = &ops;
	for (uint32_t packets = 1; packets <= ND_CORE_BATCH + 1; packets++) {
		uint64_t sent = port->counters.tx_frames, sent_buffer;

		send_filled(pair.client, line.client, packets * ndp.mss_bytes, packets);
		CHECK(nd_stack_poll(pair.client) >= 0);
		CHECK_EQ(port->counters.tx_frames - sent, nd_min_u32(packets, ND_CORE_BATCH));
		CHECK_EQ(untold, 0);
		pump(&pair, pair.server, ND_EVENT_MESSAGE);
		command_ndp(pair.server, ND_COMMAND_RELEASE, line.server, packets);
		sent_buffer = pump(&pair, pair.client, ND_EVENT_SENT).cookie;
		CHECK_EQ(nd_stack_buffer_free(pair.client, (void *)(uintptr_t)sent_buffer), 0);
	}
	close_pair(&pair);
}

/* A link that is full behind each flush that gave it frames, until the next flush. */
static uint32_t owed;

static uint32_t owing_flush(struct nd_port *port)
{
	owed = untold;
	counting_flush(port);
	return owed;
}

static uint32_t owing_reserve(struct nd_port *port, struct nd_frame *room, uint32_t limit)
{
	return owed ? 0 : real_ops->reserve(port, room, limit);
}

/*
 * A replay does not know what the link had not taken. Were it asked for room because of that alone,
 * the replay would ask for it at another time, and get another one's.
 */
TEST(nd_core_transmit__asks_for_room_behind_packets_only)
{
	const char *record = recording_path("owing", 0);
	struct pair pair = open_recorded("owing", NULL, record);
	struct nd_port *port = nd_stack_core(pair.client)->ports[0].port;
	uint8_t *request = nd_stack_buffer(pair.client, 100);
	struct nd_port_ops ops;

	real_ops = port->ops;
	ops = *real_ops;
	ops.commit = counting_commit;
	ops.flush = owing_flush;
	ops.reserve = owing_reserve;
	port->ops = &ops;
	listen_on(pair.server, ND_PROTO_HOMA, SERVICE);
	for (uint32_t i = 0; i < 10; i++) {
		ask(&pair, request, 100, i);
		pump(&pair, pair.client, ND_EVENT_OPENED);
		echo(pair.server, pump(&pair, pair.server, ND_EVENT_REQUEST));
		submit(pair.client, ND_PROTO_HOMA,
		       (struct nd_command){
			       .kind = ND_COMMAND_RELEASE,
			       .id = pump(&pair, pair.client, ND_EVENT_RESPONSE).id });
		pump(&pair, pair.server, ND_EVENT_SENT);
	}
	port->ops = real_ops;
	close_pair(&pair);
	CHECK(check_identical(record).sent >= 10);
}

/* An engine that has packets from a time on, and says so; all else is the engine's whose place it takes. */
static struct {
	struct nd_transport_ops ops;
	uint32_t asked; /* for packets */
	uint32_t left;  /* packets */
	nd_ns from, due;
} probe;

static bool probe_transmit(void *endpoint, struct nd_packet *packet, enum nd_class class, nd_ns now)
{
	(void)endpoint, (void)class;
	probe.asked++;
	if (now < probe.from || !probe.left)
		return false;
	probe.left--;
	probe.due = ND_NEVER;
	*packet = (struct nd_packet){ .target = ND_NONE }; /* nobody: it is dropped */
	return true;
}

static nd_ns probe_deadline(const void *endpoint)
{
	(void)endpoint;
	return probe.due;
}

static void probe_on_deadline(void *endpoint, nd_ns now)
{
	(void)endpoint;
	probe.due = now < probe.from ? probe.from : ND_NEVER;
}

static struct nd_core *open_probed(const struct pair *pair, nd_ns now)
{
	struct nd_core *core = nd_stack_core(pair->client);

	probe.ops = *core->engines[0].ops;
	probe.ops.transmit = probe_transmit;
	probe.ops.deadline = probe_deadline;
	probe.ops.on_deadline = probe_on_deadline;
	probe.due = probe.from = ND_NEVER;
	core->engines[0].ops = core->nic.members[0].ops = &probe.ops;
	nd_core_stir(core, &core->engines[0]);
	for (uint32_t i = 0; i < 4; i++)
		nd_core_round(core, now);
	probe.asked = 0;
	return core;
}

TEST(nd_core_round__asks_an_engine_for_packets_when_it_may_have_some)
{
	nd_ns now = nd_core_now();
	struct pair pair = open_polled("asks", NULL);
	struct nd_core *core = open_probed(&pair, now);

	for (uint32_t i = 0; i < 10; i++)
		nd_core_round(core, now);
	CHECK_EQ(probe.asked, 0);
	submit(pair.client, ND_PROTO_NDP,
	       (struct nd_command){ .kind = ND_COMMAND_UNLISTEN, .port = SERVICE });
	nd_core_round(core, now);
	CHECK(probe.asked > 0);
	close_pair(&pair);
}

/* More are due than a round takes; once the first has left nothing is, and nobody says a word. */
TEST(nd_core_round__goes_on_until_an_engine_has_no_more_packets)
{
	nd_ns now = nd_core_now();
	struct pair pair = open_polled("goes-on", NULL);
	struct nd_core *core = open_probed(&pair, now);

	probe.from = probe.due = now + ND_USEC;
	probe.left = 2 * ND_CORE_BATCH + 1;
	nd_core_stir(core, &core->engines[0]);
	nd_core_round(core, now);
	CHECK_EQ(probe.left, 2 * ND_CORE_BATCH + 1);
	for (uint32_t i = 0; i < 3; i++)
		nd_core_round(core, now + ND_USEC);
	CHECK_EQ(probe.left, 0);
	probe.asked = 0;
	nd_core_round(core, now + ND_USEC);
	nd_core_round(core, now + ND_USEC);
	CHECK(probe.asked <= 4); /* once more for each class, and no further */
	close_pair(&pair);
}

int main(int argc, char **argv)
{
	return nd_test_main(argc, argv);
}
