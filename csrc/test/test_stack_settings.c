// SPDX-License-Identifier: Apache-2.0
/* Settings that come while a core runs: all or none, what they do to packets, and replays. */
#include "host/core.h"
#include "test/memory_pair.h"
#include "test/recording.h"
#include "transport/homa_state.h"

/* Of this process alone. */
static const char *name_of(const char *case_name)
{
	static char name[64];

	snprintf(name, sizeof(name), "test-settings-%d-%s", getpid(), case_name);
	return name;
}

static struct nd_stack_settings settings_of(struct nd_stack *stack)
{
	struct nd_stack_settings settings;

	CHECK_EQ(nd_stack_settings(stack, &settings), 0);
	return settings;
}

static void set(struct nd_stack *stack, const struct nd_stack_settings *settings)
{
	int code = nd_stack_set(stack, settings, &error);

	if (code < 0)
		fprintf(stderr, "  %s\n", error.text);
	CHECK_EQ(code, 0);
}

static void check_refused(struct nd_stack *stack, const struct nd_stack_settings *wrong,
			  const char *text)
{
	struct nd_stack_settings before = settings_of(stack), after;

	CHECK_EQ(nd_stack_set(stack, wrong, &error), -EINVAL);
	CHECK(strstr(error.text, text));
	after = settings_of(stack);
	CHECK_EQ(after.link_bps, before.link_bps);
	CHECK_EQ(after.mtu, before.mtu);
	CHECK_EQ(after.levels, before.levels);
	CHECK_EQ(after.frame.dscp_data, before.frame.dscp_data);
}

TEST(nd_stack_set__all_or_none)
{
	struct pair pair = open_pair("none", false);
	struct nd_stack_settings wrong, good = settings_of(pair.client);

	good.frame.dscp_data = 5;
	good.link_bps = 5000000000;
	wrong = good;
	wrong.mtu = 575;
	check_refused(pair.client, &wrong, "MTU of 575");
	wrong.mtu = ND_PORT_MTU_MAX + 1;
	check_refused(pair.client, &wrong, "MTU of");
	wrong = good;
	wrong.link_bps = 999999;
	check_refused(pair.client, &wrong, "give 1 Mb/s to 10 Tb/s");
	wrong = good;
	wrong.levels = 3;
	check_refused(pair.client, &wrong, "3 priority levels");
	wrong.levels = 64;
	check_refused(pair.client, &wrong, "64 priority levels");
	wrong = good;
	wrong.cutoffs[6] = 10;
	check_refused(pair.client, &wrong, "cutoffs");
	wrong = good;
	wrong.frame.dscp_homa[3] = 64;
	check_refused(pair.client, &wrong, "dscp_homa");
	wrong = good;
	wrong.frame.dscp_trimmable = wrong.frame.dscp_data;
	check_refused(pair.client, &wrong, "dscp_trimmable");
	CHECK_EQ(counter(pair.client, ND_STACK_GROUP_CORE, "settings_refused"), 8);
	set(pair.client, &good);
	CHECK_EQ(settings_of(pair.client).frame.dscp_data, 5);
	CHECK_EQ(counter(pair.client, ND_STACK_GROUP_CORE, "settings_taken"), 1);
	close_pair(&pair);
}

/* What is not for changing while a core runs stays, whatever it is said to be. */
TEST(nd_stack_set__takes_marks_alone_of_a_frame)
{
	struct pair pair = open_pair("marks", false);
	struct nd_stack_settings settings = settings_of(pair.client);
	uint16_t port = settings.frame.ndp_port;

	settings.frame.ndp_port = 9;
	settings.frame.homa_in_udp = true;
	settings.frame.pcp[2] = 6;
	set(pair.client, &settings);
	settings = settings_of(pair.client);
	CHECK_EQ(settings.frame.ndp_port, port);
	CHECK(!settings.frame.homa_in_udp);
	CHECK_EQ(settings.frame.pcp[2], 6);
	close_pair(&pair);
}

TEST(nd_stack_settings__are_the_core_s_own)
{
	char service[128];
	struct nd_stack_config config = config_of(name_of("remote"), 0, false);
	struct nd_stack_settings settings;
	struct nd_stack *stack, *remote;

	snprintf(service, sizeof(service), "%s-service", config.ports[0].name);
	config.service = service;
	stack = open_stack(&config);
	remote = nd_stack_attach(config.service, &error);
	CHECK(remote);
	CHECK_EQ(nd_stack_settings(remote, &settings), -ENOTSUP);
	settings = settings_of(stack);
	CHECK_EQ(nd_stack_set(remote, &settings, &error), -ENOTSUP);
	CHECK(strstr(error.text, "another process"));
	nd_stack_close(remote);
	nd_stack_close(stack);
}

/* Whoever an application asked for keeps its place: no other takes the only one. */
TEST(nd_stack_config__peers_max)
{
	struct nd_stack_config config = config_of(name_of("peers"), 0, false);
	struct nd_stack *stack;
	uint8_t *buffer;
	struct nd_event event;

	config.peers_max = 2; /* the host itself and one */
	stack = open_stack(&config);
	resolve(stack, addresses[false][1]);
	buffer = nd_stack_buffer(stack, 16);
	memcpy(buffer, addresses[false][1], 16);
	buffer[15]++;
	submit(stack, ND_PROTO_OTHER,
	       (struct nd_command){
		       .kind = ND_STACK_COMMAND_PEER, .payload = buffer, .bytes = 16 });
	event = expect(stack, ND_EVENT_FAILED);
	CHECK_EQ(event.error, -EHOSTUNREACH);
	CHECK_EQ(event.detail, ND_UNREACHABLE_PEERS_FULL);
	nd_stack_close(stack);
}

/* ---- what the MTU does ---- */

/* Bytes of the frames that one message takes, on average. */
static uint64_t frame_bytes_of(const struct pair *pair, const struct line *line, uint64_t number)
{
	uint64_t frames = counter(pair->client, ND_STACK_GROUP_PORT, "tx_frames");
	uint64_t bytes = counter(pair->client, ND_STACK_GROUP_PORT, "tx_bytes");

	send_filled(pair->client, line->client, 200000, 3);
	expect_message(pair->server, line->server, number, 200000, 3);
	expect_sent(pair->client, line->client);
	return (counter(pair->client, ND_STACK_GROUP_PORT, "tx_bytes") - bytes) /
	       (counter(pair->client, ND_STACK_GROUP_PORT, "tx_frames") - frames);
}

/* A connection goes on in the packets that it began with, others have the new ones. */
TEST(nd_stack_set__mtu_of_new_connections)
{
	struct pair pair = open_pair("mtu", false);
	struct nd_stack_settings settings = settings_of(pair.client);
	struct line before, after;

	listen_on(pair.server, ND_PROTO_NDP, SERVICE);
	before = connect_line(&pair, SERVICE);
	settings.mtu = 700;
	set(pair.client, &settings);
	after = connect_line(&pair, SERVICE);
	CHECK(frame_bytes_of(&pair, &after, 1) <= 714);
	CHECK(frame_bytes_of(&pair, &before, 1) > 1000);
	settings.mtu = ND_PORT_MTU_MAX; /* more than the port takes */
	set(pair.client, &settings);
	CHECK(frame_bytes_of(&pair, &after, 2) <= 714);
	after = connect_line(&pair, SERVICE);
	CHECK(frame_bytes_of(&pair, &after, 1) > 1000);
	CHECK_EQ(counter(pair.client, ND_STACK_GROUP_NDP, "connections_oversize"), 0);
	close_pair(&pair);
}

static const struct nd_homa_config *homa_of(struct nd_stack *stack)
{
	const struct nd_homa *homa =
		nd_core_engine_of(nd_stack_core(stack), ND_PROTO_HOMA)->endpoint;

	return &homa->config;
}

/* Nobody knows what shared memory carries: windows are a guess until a rate is set. */
TEST(nd_stack_set__a_rate_ends_the_guess)
{
	struct pair pair = open_pair("guess", true);
	struct nd_stack_settings settings = settings_of(pair.client);

	CHECK(homa_of(pair.client)->window_dynamic);
	settings.link_bps = UINT64_C(1000000000);
	set(pair.client, &settings);
	CHECK(!homa_of(pair.client)->window_dynamic);
	CHECK_EQ(homa_of(pair.client)->rtt_bytes, 10000);
	settings.link_bps = 0;
	set(pair.client, &settings);
	CHECK(homa_of(pair.client)->window_dynamic);
	CHECK_EQ(homa_of(pair.client)->rtt_bytes, 30000);
	close_pair(&pair);
}

/* ---- replays ---- */

static struct nd_stack *open_recorded(const char *port, uint32_t end)
{
	struct nd_stack_config config = config_of(port, end, false);

	config.record = recording_path("settings", end);
	return open_stack(&config);
}

/* Every setting another one, while messages of both protocols are under way. */
static void set_all(struct nd_stack *stack, uint32_t round)
{
	struct nd_stack_settings settings = settings_of(stack);

	settings.frame.dscp_control = (uint8_t)(20 + round);
	settings.frame.dscp_homa[7] = (uint8_t)(50 + round);
	settings.frame.dscp_trimmed_last_hop = (uint8_t)(30 + round);
	settings.link_bps = (5 + round) * UINT64_C(1000000000);
	settings.mtu = round % 2 ? 900 : 0;
	settings.levels = (uint8_t)(1 << round % 4);
	settings.cutoffs[7] = round % 3 ? 100 * round : 0;
	set(stack, &settings);
}

/* E-X01 */
TEST(nd_stack_set__is_replayed)
{
	const char *port = name_of("replayed");
	struct pair pair;
	struct line line;

	pair.server = open_recorded(port, 0);
	pair.client = open_recorded(port, 1);
	pair.peer = resolve(pair.client, addresses[0][0]);
	check_sizes(&pair);
	listen_on(pair.server, ND_PROTO_NDP, SERVICE);
	for (uint32_t round = 0; round < 8; round++) {
		line = connect_line(&pair, SERVICE);
		send_filled(pair.client, line.client, 300000, round);
		set_all(pair.client, round);
		set_all(pair.server, round);
		expect_message(pair.server, line.server, 1, 300000, round);
		expect_sent(pair.client, line.client);
	}
	close_pair(&pair);
	for (uint32_t end = 0; end < 2; end++)
		CHECK(check_identical(recording_path("settings", end)).sent > 1000);
}

/* ---- what a stack is not opened with ---- */

static void expect_refusal(const struct nd_stack_config *config, const char *why)
{
	error = (struct nd_error){ 0 };
	CHECK(!nd_stack_open(config, &error));
	CHECK_EQ(error.code, -EINVAL);
	CHECK(strstr(error.text, why));
}

/* A 32-bit address in the first bytes, or one family in the other's place, reaches nobody. */
TEST(check_addresses__families)
{
	struct nd_stack_config config = config_of("x", 0, false);

	memcpy(config.address_v6, addresses[0][0], 16);
	expect_refusal(&config, "address_v6 is an IPv4 address");
	config = config_of("x", 0, true);
	memcpy(config.address_v4, (uint8_t[]){ 10, 7, 0, 1 }, 4);
	expect_refusal(&config, "::ffff:a.b.c.d");
}

/* Its upper bits would be lost, and the packets be in another VLAN. */
TEST(check_config__vlan)
{
	struct nd_stack_config config = config_of(name_of("vlan"), 0, false);
	struct nd_stack *stack;

	config.vlan = 4097;
	expect_refusal(&config, "VLAN 4097; give 1 to 4094");
	config.vlan = UINT16_MAX;
	expect_refusal(&config, "VLAN 65535");
	config.vlan = 4095; /* reserved */
	expect_refusal(&config, "VLAN 4095");
	config.vlan = 4094;
	stack = open_stack(&config);
	nd_stack_close(stack);
}

TEST(check_config__profile)
{
	struct nd_stack_config config = config_of("x", 0, false);

	config.profile = (enum nd_stack_profile)(ND_STACK_POLLED + 1);
	expect_refusal(&config, "profile 4");
}

int main(int argc, char **argv)
{
	return nd_test_main(argc, argv);
}
