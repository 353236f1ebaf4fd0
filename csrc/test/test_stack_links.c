// SPDX-License-Identifier: Apache-2.0
/* Two hosts over every kind of port that needs an interface, in a private network namespace. */
#include "test/netns.h"
#include "test/recording.h"
#include "test/stacks.h"

#include <dirent.h>
#include <poll.h>

static const uint8_t macs[2][6] = { { 2, 0, 0, 0, 0, 1 }, { 2, 0, 0, 0, 0, 2 } };

static struct nd_stack *open_end_recorded(enum nd_port_backend backend, const char *name,
					  uint32_t end, bool v6, const char *record)
{
	struct nd_stack_config config = {
		.ports = { { .backend = backend,
			     .name = name,
			     .filter = { .homa = true, .udp_count = 1, .udp_ports = { ND_NDP_UDP_PORT } } } },
		.port_count = 1,
		.seed = 7 + end,
		.record = record,
		.record_bytes = 16 << 20,
	};

	memcpy(v6 ? config.address_v6 : config.address_v4, addresses[v6][end], 16);
	return open_stack(&config);
}

static struct nd_stack *open_end(enum nd_port_backend backend, const char *name, uint32_t end,
				 bool v6)
{
	return open_end_recorded(backend, name, end, v6, NULL);
}

/* The client is told the way; the server learns it from what arrives. */
static void check_link(enum nd_port_backend backend, uint32_t mtu, bool v6)
{
	struct pair pair;

	veth_add("s0", "s1", mtu);
	pair.server = open_end_recorded(backend, "s0", 0, v6, recording_path("link", 0));
	pair.client = open_end_recorded(backend, "s1", 1, v6, recording_path("link", 1));
	CHECK_EQ(nd_stack_set_peer(pair.client, addresses[v6][0], 1, macs[0]), -EINVAL);
	CHECK_EQ(nd_stack_set_peer(pair.client, addresses[v6][0], 0, macs[0]), 0);
	pair.peer = resolve(pair.client, addresses[v6][0]);
	check_sizes(&pair);
	check_ndp_sizes(&pair);
	CHECK_EQ(counter(pair.server, ND_STACK_GROUP_CORE, "tx_no_way"), 0);
	close_pair(&pair);
	veth_delete("s0");
	for (uint32_t end = 0; end < 2; end++)
		CHECK(check_identical(recording_path("link", end)).sent > 200);
}

/* E-X01: what these links carry is sent again by a replay. */
TEST(nd_stack__over_xdp_and_ipv4)
{
	check_link(ND_PORT_XDP, 1500, false);
}

TEST(nd_stack__over_xdp_and_ipv6_at_mtu_9000)
{
	check_link(ND_PORT_XDP, 9000, true);
}

TEST(nd_stack__over_packet_and_ipv4)
{
	check_link(ND_PORT_PACKET, 1500, false);
}

/* Until the control plane has found the neighbour nothing leaves, and then what waited does. */
TEST(nd_stack_set_peer__lets_waiting_packets_go)
{
	uint8_t *request;
	struct pair pair;

	veth_add("s0", "s1", 1500);
	pair.server = open_end(ND_PORT_XDP, "s0", 0, false);
	pair.client = open_end(ND_PORT_XDP, "s1", 1, false);
	pair.peer = resolve(pair.client, addresses[0][0]);
	listen_on(pair.server, ND_PROTO_HOMA, SERVICE);
	request = nd_stack_buffer(pair.client, 100);
	ask(&pair, request, 100, 1);
	expect(pair.client, ND_EVENT_OPENED);
	await_counter(pair.client, "tx_no_way", 1);
	CHECK_EQ(nd_stack_set_peer(pair.client, addresses[0][0], 0, macs[0]), 0);
	echo_once(pair.server);
	CHECK_EQ(expect(pair.client, ND_EVENT_RESPONSE).bytes, 100);
	close_pair(&pair);
	veth_delete("s0");
}

/* ---- a control plane that finds ways ---- */

/* A client whose peer's way is being asked for; the server is there. */
static struct pair open_unresolved(void)
{
	struct pair pair;

	veth_add("s0", "s1", 1500);
	pair.server = open_end(ND_PORT_XDP, "s0", 0, false);
	pair.client = open_end(ND_PORT_XDP, "s1", 1, false);
	CHECK(nd_stack_resolver(pair.client) >= 0);
	return pair;
}

static void name_server(const struct pair *pair, uint64_t cookie)
{
	uint8_t *buffer = nd_stack_buffer(pair->client, 16);

	memcpy(buffer, addresses[0][0], 16);
	submit(pair->client, ND_PROTO_OTHER,
	       (struct nd_command){ .kind = ND_STACK_COMMAND_PEER,
				    .payload = buffer,
				    .bytes = 16,
				    .cookie = cookie });
}

/* The resolver's descriptor rings, and it is the server's address that is asked for, once. */
static void expect_asked(const struct pair *pair)
{
	struct pollfd bell = { .fd = nd_stack_resolver(pair->client), .events = POLLIN };
	uint8_t asked[4][16];

	CHECK_EQ(poll(&bell, 1, (int)(PATIENCE / ND_MSEC)), 1);
	CHECK_EQ(nd_stack_unresolved(pair->client, asked, 4), 1);
	CHECK_EQ(memcmp(asked[0], addresses[0][0], 16), 0);
	CHECK_EQ(poll(&bell, 1, 0), 0);
}

/* PEER waits until the way is known; all who wait hear of it. */
TEST(nd_stack_resolver__answers_when_the_way_is_known)
{
	struct pair pair = open_unresolved();
	struct nd_event event;

	name_server(&pair, 1);
	name_server(&pair, 2);
	expect_asked(&pair);
	CHECK_EQ(nd_stack_events(pair.client, &event, 1), 0);
	CHECK_EQ(nd_stack_set_peer(pair.client, addresses[0][0], 0, macs[0]), 0);
	event = expect(pair.client, ND_EVENT_OPENED);
	CHECK_EQ(event.cookie + expect(pair.client, ND_EVENT_OPENED).cookie, 3);
	pair.peer = event.peer;
	CHECK_EQ(resolve(pair.client, addresses[0][0]), pair.peer);
	check_ndp_sizes(&pair);
	close_pair(&pair);
	veth_delete("s0");
}

TEST(nd_stack_set_peer__refuses_the_own_address)
{
	struct pair pair;

	veth_add("s0", "s1", 1500);
	pair.server = open_end(ND_PORT_PACKET, "s0", 0, false);
	pair.client = open_end(ND_PORT_PACKET, "s1", 1, false);
	CHECK_EQ(nd_stack_set_peer(pair.client, addresses[0][1], 0, macs[0]), -EINVAL);
	CHECK_EQ(nd_stack_lose_peer(pair.client, addresses[0][1], ND_UNREACHABLE_NO_ROUTE), -EINVAL);
	close_pair(&pair);
	veth_delete("s0");
}

/* ... or until it is known that there is none: with the reason, and for what comes next too. */
TEST(nd_stack_lose_peer__says_why)
{
	struct pair pair = open_unresolved();
	struct nd_event event;

	name_server(&pair, 1);
	expect_asked(&pair);
	CHECK_EQ(nd_stack_lose_peer(pair.client, addresses[0][0], ND_UNREACHABLE_UNKNOWN),
		 -EINVAL);
	CHECK_EQ(nd_stack_lose_peer(pair.client, addresses[0][0], ND_UNREACHABLE_SELF + 1), -EINVAL);
	/* Not the reason that its lower bits are. */
	CHECK_EQ(nd_stack_lose_peer(pair.client, addresses[0][0], 256 + ND_UNREACHABLE_NO_ROUTE),
		 -EINVAL);
	CHECK_EQ(nd_stack_lose_peer(pair.client, addresses[0][0], ND_UNREACHABLE_NO_NEIGHBOUR),
		 0);
	event = expect(pair.client, ND_EVENT_FAILED);
	CHECK_EQ(event.error, -EHOSTUNREACH);
	CHECK_EQ(event.detail, ND_UNREACHABLE_NO_NEIGHBOUR);
	CHECK(strstr(nd_stack_unreachable_text(event.detail), "nobody answers"));
	submit(pair.client, ND_PROTO_NDP,
	       (struct nd_command){
		       .kind = ND_COMMAND_CONNECT, .peer = event.peer, .port = SERVICE });
	event = expect(pair.client, ND_EVENT_FAILED);
	CHECK_EQ(event.error, -EHOSTUNREACH);
	CHECK_EQ(event.detail, ND_UNREACHABLE_NO_NEIGHBOUR);
	CHECK_EQ(nd_stack_set_peer(pair.client, addresses[0][0], 0, macs[0]), 0);
	pair.peer = resolve(pair.client, addresses[0][0]);
	check_ndp_sizes(&pair);
	close_pair(&pair);
	veth_delete("s0");
}

/* A peer that is lost while it is talked to is asked for again by what is sent to it. */
TEST(nd_stack_lose_peer__is_asked_for_again)
{
	struct pair pair = open_unresolved();
	struct line line;

	CHECK_EQ(nd_stack_set_peer(pair.client, addresses[0][0], 0, macs[0]), 0);
	pair.peer = resolve(pair.client, addresses[0][0]);
	listen_on(pair.server, ND_PROTO_NDP, SERVICE);
	line = connect_line(&pair, SERVICE);
	CHECK_EQ(nd_stack_lose_peer(pair.client, addresses[0][0], ND_UNREACHABLE_NO_ROUTE), 0);
	send_filled(pair.client, line.client, 50, 1);
	expect_asked(&pair);
	CHECK_EQ(nd_stack_set_peer(pair.client, addresses[0][0], 0, macs[0]), 0);
	expect_message(pair.server, line.server, 1, 50, 1);
	expect_sent(pair.client, line.client);
	close_pair(&pair);
	veth_delete("s0");
}

/* A control plane that never answers holds nobody for ever. */
TEST(nd_core_check_waiting__gives_up)
{
	struct pair pair = open_unresolved();
	struct nd_event event;

	name_server(&pair, 7);
	event = expect(pair.client, ND_EVENT_FAILED);
	CHECK_EQ(event.cookie, 7);
	CHECK_EQ(event.error, -EHOSTUNREACH);
	CHECK_EQ(event.detail, ND_UNREACHABLE_NO_ANSWER);
	close_pair(&pair);
	veth_delete("s0");
}

/* Whether this process has a thread of the name. */
static bool has_thread(const char *name)
{
	DIR *tasks = opendir("/proc/self/task");
	char path[300], line[32] = "";
	struct dirent *entry;
	bool found = false;

	CHECK(tasks);
	while (!found && (entry = readdir(tasks))) {
		FILE *file;

		snprintf(path, sizeof(path), "/proc/self/task/%s/comm", entry->d_name);
		file = fopen(path, "r");
		if (!file)
			continue;
		found = fgets(line, sizeof(line), file) &&
			strncmp(line, name, strlen(name)) == 0;
		fclose(file);
	}
	closedir(tasks);
	return found;
}

/* The host says that it waits for an interface of this name. */
static void await_absence(struct nd_stack *stack)
{
	nd_ns end = clock_now() + PATIENCE;
	enum nd_port_state state;
	char mode[64];

	do {
		CHECK(clock_now() < end);
		usleep(1000);
		CHECK_EQ(nd_stack_port_state(stack, 0, &state, mode, &error), 0);
	} while (state != ND_PORT_GONE || !strstr(error.text, "there is none of this name"));
}

/*
 * The interface is deleted and made again under a running host: it carries on by itself. What waits
 * for the interface is not the thread that serves applications and other interfaces.
 */
TEST(nd_core_check_ports__survives_its_interface)
{
	struct pair pair;

	veth_add("s0", "s1", 1500);
	pair.server = open_end(ND_PORT_XDP, "s0", 0, false);
	pair.client = open_end(ND_PORT_XDP, "s1", 1, false);
	CHECK(!has_thread("ndpstack-reopen"));
	veth_delete("s0");
	await_absence(pair.server);
	await_absence(pair.client);
	CHECK(has_thread("ndpstack-reopen"));
	veth_add("s0", "s1", 1500);
	await_counter(pair.server, "ports_reopened", 1);
	await_counter(pair.client, "ports_reopened", 1);
	CHECK(!has_thread("ndpstack-reopen"));
	CHECK_EQ(nd_stack_set_peer(pair.client, addresses[0][0], 0, macs[0]), 0);
	pair.peer = resolve(pair.client, addresses[0][0]);
	check_sizes(&pair);
	close_pair(&pair);
	veth_delete("s0");
}

/* ---- an MTU that changes under a running host ---- */

static void set_mtu(uint32_t mtu)
{
	veth_set_mtu("s0", mtu);
	veth_set_mtu("s1", mtu);
}

/* Both ends, both engines. */
static void await_followed(const struct pair *pair, uint64_t times)
{
	await_counter(pair->server, "mtu_followed", 2 * times);
	await_counter(pair->client, "mtu_followed", 2 * times);
}

/* Bytes of a frame that the port has sent, on average since then. */
static uint64_t frame_bytes_since(struct nd_stack *stack, const uint64_t before[2])
{
	return (counter(stack, ND_STACK_GROUP_PORT, "tx_bytes") - before[1]) /
	       (counter(stack, ND_STACK_GROUP_PORT, "tx_frames") - before[0]);
}

/* Serves requests until the client has one more event. */
static struct nd_event serve_until_event(const struct pair *pair)
{
	nd_ns end = clock_now() + PATIENCE;
	struct nd_event event;

	while (nd_stack_events(pair->client, &event, 1) != 1) {
		CHECK(clock_now() < end);
		if (nd_stack_events(pair->server, &event, 1) != 1)
			nd_stack_wait(pair->server, ND_MSEC);
		else if (event.kind == ND_EVENT_REQUEST)
			echo(pair->server, event);
	}
	return event;
}

/*
 * The client's connection ends because its packets are too large now, its request is answered: if
 * a port was away for longer than Homa waits, or large packets were lost for as long, when it is
 * asked again.
 */
static void check_shrunk(const struct pair *pair, uint64_t connection, uint8_t *request,
			 uint32_t bytes)
{
	bool closed = false, answered = false;

	while (!closed || !answered) {
		struct nd_event event = serve_until_event(pair);

		if (event.kind == ND_EVENT_CLOSED) {
			CHECK_EQ(event.id, connection);
			CHECK_EQ(event.error, -ENETRESET);
			closed = true;
		} else if (event.kind == ND_EVENT_FAILED) {
			CHECK(event.error == -ETIMEDOUT || event.error == -ECOMM);
			ask(pair, request, bytes, 5);
		} else if (event.kind == ND_EVENT_RESPONSE) {
			CHECK(is_filled(event.payload, bytes, 5));
			answered = true;
		}
	}
}

/* The next event of a kind that is good news: what ended before may still be reported. */
static struct nd_event next_good(struct nd_stack *stack, uint8_t protocol, uint8_t kind)
{
	struct nd_event event;

	do {
		event = next_event(stack);
	} while (event.protocol != protocol || event.kind != kind || event.error);
	return event;
}

/* A connection's first and only message, as large as matters; bytes of a frame that carried it. */
static uint64_t check_new_connection(const struct pair *pair)
{
	uint64_t before[2] = { counter(pair->client, ND_STACK_GROUP_PORT, "tx_frames"),
			       counter(pair->client, ND_STACK_GROUP_PORT, "tx_bytes") };
	struct nd_event event;
	uint64_t id;

	submit(pair->client, ND_PROTO_NDP,
	       (struct nd_command){
		       .kind = ND_COMMAND_CONNECT, .peer = pair->peer, .port = SERVICE });
	id = next_good(pair->client, ND_PROTO_NDP, ND_EVENT_OPENED).id;
	send_filled(pair->client, id, 500000, 3);
	next_good(pair->server, ND_PROTO_NDP, ND_EVENT_ACCEPTED);
	event = next_good(pair->server, ND_PROTO_NDP, ND_EVENT_MESSAGE);
	CHECK(event.bytes == 500000 && is_filled(event.payload, event.bytes, 3));
	command_ndp(pair->server, ND_COMMAND_RELEASE, event.id, event.message);
	event = next_good(pair->client, ND_PROTO_NDP, ND_EVENT_SENT);
	CHECK_EQ(nd_stack_buffer_free(pair->client, (void *)(uintptr_t)event.cookie), 0);
	command_ndp(pair->client, ND_COMMAND_CLOSE, id, 0);
	next_good(pair->server, ND_PROTO_NDP, ND_EVENT_CLOSED);
	next_good(pair->client, ND_PROTO_NDP, ND_EVENT_CLOSED);
	return frame_bytes_since(pair->client, before);
}

/*
 * Smaller: an RPC under way goes on in smaller packets, a connection that began with larger ones
 * ends and says so, new ones fit. Larger: new connections use it. A replay does all the same.
 */
TEST(nd_core_follow_mtu__both_ways)
{
	uint32_t bytes = 4 << 20;
	struct pair pair;
	struct line line;
	uint8_t *request;

	veth_add("s0", "s1", 9000);
	pair.server = open_end_recorded(ND_PORT_XDP, "s0", 0, false, recording_path("mtu", 0));
	pair.client = open_end_recorded(ND_PORT_XDP, "s1", 1, false, recording_path("mtu", 1));
	CHECK_EQ(nd_stack_set_peer(pair.client, addresses[0][0], 0, macs[0]), 0);
	pair.peer = resolve(pair.client, addresses[0][0]);
	listen_on(pair.server, ND_PROTO_NDP, SERVICE);
	listen_on(pair.server, ND_PROTO_HOMA, SERVICE);
	CHECK(check_new_connection(&pair) > 4000);
	line = connect_line(&pair, SERVICE);
	request = nd_stack_buffer(pair.client, bytes);
	fill(request, bytes, 5);
	ask(&pair, request, bytes, 5);
	expect(pair.client, ND_EVENT_OPENED);
	set_mtu(1500);
	await_followed(&pair, 1);
	check_shrunk(&pair, line.client, request, bytes);
	CHECK(check_new_connection(&pair) < 1600);
	set_mtu(9000);
	await_followed(&pair, 2);
	CHECK(check_new_connection(&pair) > 4000);
	close_pair(&pair);
	veth_delete("s0");
	for (uint32_t end = 0; end < 2; end++)
		check_identical(recording_path("mtu", end));
}

/* The next event that ends something, which the peer's smaller MTU is the reason for. */
static void expect_unpassed(struct nd_stack *stack, uint8_t protocol, uint8_t kind)
{
	struct nd_event event;

	do
		event = next_event(stack);
	while (event.protocol != protocol || event.kind != kind);
	CHECK_EQ(event.error, -ECOMM);
}

/*
 * Frames of ours are too large for the peer's interface, which drops them without a word; small ones
 * pass. That is found out, counted, and told as such.
 */
TEST(nd_stack__tells_that_the_peers_mtu_is_smaller)
{
	struct pair pair;
	uint64_t connection;
	uint8_t *request;

	veth_add("s0", "s1", 1500);
	veth_set_mtu("s1", 9000);
	pair.server = open_end(ND_PORT_XDP, "s0", 0, false);
	pair.client = open_end(ND_PORT_XDP, "s1", 1, false);
	CHECK_EQ(nd_stack_set_peer(pair.client, addresses[0][0], 0, macs[0]), 0);
	pair.peer = resolve(pair.client, addresses[0][0]);
	listen_on(pair.server, ND_PROTO_NDP, SERVICE);
	listen_on(pair.server, ND_PROTO_HOMA, SERVICE);
	request = nd_stack_buffer(pair.client, 100000);
	ask(&pair, request, 100000, 5);
	expect(pair.client, ND_EVENT_OPENED);
	expect_unpassed(pair.client, ND_PROTO_HOMA, ND_EVENT_FAILED);
	CHECK_EQ(counter(pair.client, ND_STACK_GROUP_HOMA, "rpcs_unpassed"), 1);
	submit(pair.client, ND_PROTO_NDP,
	       (struct nd_command){
		       .kind = ND_COMMAND_CONNECT, .peer = pair.peer, .port = SERVICE });
	connection = expect(pair.client, ND_EVENT_OPENED).id;
	send_filled(pair.client, connection, 100000, 3);
	expect_unpassed(pair.client, ND_PROTO_NDP, ND_EVENT_CLOSED);
	CHECK_EQ(counter(pair.client, ND_STACK_GROUP_NDP, "connections_unpassed"), 1);
	veth_set_mtu("s0", 9000);
	await_counter(pair.server, "mtu_followed", 2);
	CHECK(check_new_connection(&pair) > 4000);
	close_pair(&pair);
	veth_delete("s0");
}

int main(int argc, char **argv)
{
	netns_enter();
	return nd_test_main(argc, argv);
}
