// SPDX-License-Identifier: Apache-2.0
/* Homa endpoints against each other over a link with seeded loss, duplication and reordering. */
#include "test/homa_world.h"

static struct world world;

/* ND_TEST_SEEDS=N makes a soak of the seeded cases. */
static uint64_t seeds(uint64_t usual)
{
	const char *text = getenv("ND_TEST_SEEDS");

	return text ? strtoull(text, NULL, 10) : usual;
}

static void echo(uint32_t bytes)
{
	struct nd_homa_config config = world_config();

	world_start(&world, 2, &config, true, bytes);
	world_request(&world, 0, 1, bytes);
	world_run(&world, world.now + ND_SEC);
	CHECK_EQ(world_count(&world, ND_EVENT_REQUEST), 1);
	CHECK_EQ(world_count(&world, ND_EVENT_RESPONSE), 1);
	CHECK_EQ(world_count(&world, ND_EVENT_SENT), 1);
	CHECK_EQ(world_event(&world, ND_EVENT_RESPONSE)->bytes, bytes);
	CHECK_EQ(world_counters(&world, 0)->data_resent, 0);
	CHECK_EQ(world_counters(&world, 1)->data_resent, 0);
	world_check_empty(&world);
	world_stop(&world);
}

/* R-H31-1, R-H31-3, R-H31-4, HM#4, HM#25, T8: every interesting length, both ways, byte for byte. */
TEST(echo__every_length)
{
	static const uint32_t lengths[] = {
		0, 1, 2, 100, 1423, 1424, 1425, 1500, 2848, 29999, 30000, 30001, 31424, 60000,
		999999, 1000000, 1000001, 3000000,
	};

	for (uint32_t i = 0; i < ND_ARRAY_SIZE(lengths); i++)
		echo(lengths[i]);
}

static void storm(uint64_t seed, uint32_t hosts, uint32_t rpcs, const struct nd_homa_config *config)
{
	struct nd_rng rng = nd_rng_make(seed, 5);

	world_start(&world, hosts, config, true, seed);
	world.loss_permille = nd_rng_coin(&rng) ? nd_rng_below(&rng, 50) : 0;
	world.duplicate_permille = nd_rng_coin(&rng) ? nd_rng_below(&rng, 50) : 0;
	world.jitter = nd_rng_coin(&rng) ? nd_rng_below(&rng, 100000) : 0;
	for (uint32_t i = 0; i < rpcs; i++) {
		uint32_t client = nd_rng_below(&rng, hosts);
		uint32_t server = (client + 1 + nd_rng_below(&rng, hosts - 1)) % hosts;
		uint32_t bytes = nd_rng_below(&rng, 1u << nd_rng_below(&rng, 18));

		world_request(&world, client, server, bytes);
		world_run(&world, world.now + nd_rng_below(&rng, 20000));
	}
	world_run(&world, world.now + 2 * ND_SEC);
	world_print_failures(&world);
	CHECK_EQ(world_count(&world, ND_EVENT_REQUEST), rpcs);
	CHECK_EQ(world_count(&world, ND_EVENT_RESPONSE), rpcs);
	CHECK_EQ(world_count(&world, ND_EVENT_SENT), rpcs);
	world_check_empty(&world);
	world_stop(&world);
}

/* R-H31-2, R-H33-3: many RPCs at once, any order, each completes once and byte-equal. */
TEST(storm__every_rpc_completes_once)
{
	struct nd_homa_config config = world_config();

	for (uint64_t seed = 1; seed <= seeds(30); seed++)
		storm(seed, 2 + (uint32_t)seed % 5, 100, &config);
}

/* Settings drawn from the seed: every mode and tight limits. */
static struct nd_homa_config draw_config(struct nd_rng *rng)
{
	static const uint8_t levels[] = { 8, 4, 2, 1 };
	struct nd_homa_config config = world_config();

	config.levels = levels[nd_rng_below(rng, 4)];
	config.basic = config.levels == 1 && nd_rng_coin(rng);
	config.overcommit = (uint8_t)nd_rng_below(rng, 4);
	config.rtt_bytes = 1000 + nd_rng_below(rng, 40000);
	config.max_incoming_bytes = config.rtt_bytes * (1 + nd_rng_below(rng, 8)) + 2000;
	config.window_dynamic = nd_rng_coin(rng);
	config.by_length = nd_rng_coin(rng);
	config.send_fifo_permille = nd_rng_coin(rng) ? 50 : 0;
	config.grant_fifo_permille = nd_rng_coin(rng) ? 50 : 0;
	config.incast_rpcs = nd_rng_coin(rng) ? 5 : 0;
	config.message_gaps_max = 1 + nd_rng_below(rng, 40);
	config.learn_messages = 5;
	config.learn_ns = 100 * ND_USEC;
	config.cutoff_mode = (uint8_t)nd_rng_below(rng, 3);
	config.unscheduled_levels = (uint8_t)(1 + nd_rng_below(rng, 7));
	config.resend_ns = (nd_rng_coin(rng) ? 1 : 5) * ND_MSEC;
	config.done_max = nd_rng_coin(rng) ? 4096 : 64;
	return config;
}

/* What may happen to one RPC; by its client's host and id. */
struct fate {
	uint64_t id;
	uint32_t client;
	uint32_t runs;
	uint32_t ends;
	bool good;
};

static void follow(struct fate *fates, uint32_t count)
{
	for (uint32_t i = 0; i < world.event_count; i++) {
		const struct nd_event *event = &world.events[i];
		bool client = !(event->id & 1);
		bool request = event->kind == ND_EVENT_REQUEST;
		uint32_t host = client ? event->spare : event->peer - 1u;

		if (!client && !request)
			continue;
		for (uint32_t k = 0; k < count; k++) {
			if (fates[k].client != host ||
			    fates[k].id != (client ? event->id : event->message - 1))
				continue;
			fates[k].runs += request;
			fates[k].ends += client;
			fates[k].good |= event->kind == ND_EVENT_RESPONSE;
		}
	}
}

static void disturb(struct nd_rng *rng, const struct fate *fate, uint32_t hosts)
{
	uint32_t host = nd_rng_below(rng, hosts);

	if (nd_rng_below(rng, 8) == 0)
		world_submit(&world, fate->client, &(struct nd_command){
			.kind = ND_COMMAND_CANCEL, .app = 2, .id = fate->id });
	if (nd_rng_below(rng, 16) == 0)
		world.hosts[host].credit = world.hosts[host].credit == INT64_MAX ? INT64_MAX
										 : 200000;
	if (nd_rng_below(rng, 32) == 0)
		world.hosts[host].deaf = !world.hosts[host].deaf;
}

static uint32_t chaos(uint64_t seed)
{
	static struct fate fates[120];
	struct nd_rng rng = nd_rng_make(seed, 9);
	struct nd_homa_config config = draw_config(&rng);
	uint32_t hosts = 2 + nd_rng_below(&rng, 5);
	uint32_t good = 0;

	world_start(&world, hosts, &config, true, seed);
	memset(fates, 0, sizeof(fates));
	world.loss_permille = nd_rng_below(&rng, 100);
	world.duplicate_permille = nd_rng_below(&rng, 100);
	world.jitter = nd_rng_below(&rng, 200000);
	for (uint32_t i = 0; i < hosts; i++)
		world.hosts[i].credit = nd_rng_coin(&rng) ? INT64_MAX : 300000;
	for (uint32_t i = 0; i < ND_ARRAY_SIZE(fates); i++) {
		fates[i].client = nd_rng_below(&rng, hosts);
		fates[i].id = world_request(&world, fates[i].client,
					    (fates[i].client + 1 + nd_rng_below(&rng, hosts - 1)) % hosts,
					    nd_rng_below(&rng, 1u << nd_rng_below(&rng, 18)));
		world_run(&world, world.now + nd_rng_below(&rng, 300000));
		disturb(&rng, &fates[nd_rng_below(&rng, i + 1)], hosts);
	}
	for (uint32_t i = 0; i < hosts; i++)
		world.hosts[i].deaf = false;
	world.loss_permille = 0;
	world_run(&world, world.now + 3 * ND_SEC);
	world_check_empty(&world);
	follow(fates, ND_ARRAY_SIZE(fates));
	for (uint32_t i = 0; i < ND_ARRAY_SIZE(fates); i++) {
		CHECK_EQ(fates[i].ends, 1);
		CHECK(fates[i].runs <= 1);
		CHECK(!fates[i].good || fates[i].runs == 1);
		good += fates[i].good;
	}
	world_stop(&world);
	return good;
}

/* T1, U4, U10, U26: whatever is lost, an RPC ends once and its handler never runs twice. */
TEST(chaos__each_rpc_ends_once_and_runs_at_most_once)
{
	uint64_t count = seeds(40);
	uint64_t good = 0;

	for (uint64_t seed = 1; seed <= count; seed++)
		good += chaos(seed);
	CHECK(good > count * 60);
}

/* Loses the packets whose numbers are set in the mask that the context points to. */
static bool lose_by_mask(struct world *w, const struct nd_packet *packet)
{
	uint64_t *mask = w->filter_context;
	bool lost = *mask & 1;

	(void)packet;
	*mask >>= 1;
	return !lost;
}

static void lose(uint64_t mask)
{
	struct nd_homa_config config = world_config();

	config.rtt_bytes = 3000;
	world_start(&world, 2, &config, true, 1);
	world.filter = lose_by_mask;
	world.filter_context = &mask;
	world_request(&world, 0, 1, 7000);
	world_run(&world, world.now + ND_SEC);
	CHECK_EQ(world_count(&world, ND_EVENT_REQUEST), 1);
	CHECK_EQ(world_count(&world, ND_EVENT_RESPONSE), 1);
	CHECK_EQ(world_count(&world, ND_EVENT_SENT), 1);
	world_check_empty(&world);
	world_stop(&world);
}

/* T1, U1, R-H37-1, R-H37-2: each packet of an RPC is lost, each pair of packets, of any kind. */
TEST(loss__each_packet_and_each_pair)
{
	for (uint32_t i = 0; i < 24; i++) {
		for (uint32_t k = i; k < 24; k++)
			lose(UINT64_C(1) << i | UINT64_C(1) << k);
	}
}

static uint8_t lost_type;

static bool lose_some_of_a_type(struct world *w, const struct nd_packet *packet)
{
	return packet->type != lost_type || nd_rng_below(&w->rng, 2) == 0;
}

/* U1: half of one kind of packet is lost: all RPCs complete. */
TEST(loss__half_of_each_type)
{
	struct nd_homa_config config = world_config();

	for (lost_type = ND_HOMA_DATA; lost_type <= ND_HOMA_ACK; lost_type++) {
		world_start(&world, 2, &config, true, lost_type);
		world.filter = lose_some_of_a_type;
		for (uint32_t i = 0; i < 20; i++)
			world_request(&world, i & 1, !(i & 1), 1 + i * 5000);
		world_run(&world, world.now + 5 * ND_SEC);
		CHECK_EQ(world_count(&world, ND_EVENT_RESPONSE), 20);
		CHECK_EQ(world_count(&world, ND_EVENT_REQUEST), 20);
		world_check_empty(&world);
		world_stop(&world);
	}
}

/* The paper's settings: no ACKs on the wire, a loss-free network leaves no state at once. */
TEST(paper__no_state_when_the_client_has_the_result)
{
	struct nd_homa_config config = nd_homa_config_paper(2, 6);

	config.rpcs_max = 64;
	config.server_rpcs_max = 64;
	world_start(&world, 4, &config, false, 1);
	for (uint32_t i = 0; i < 40; i++)
		world_request(&world, i % 4, (i + 1) % 4, 1 + i * i * 100);
	world_run(&world, world.now + 4 * ND_MSEC);
	CHECK_EQ(world_count(&world, ND_EVENT_RESPONSE), 40);
	CHECK_EQ(world.sent[ND_HOMA_ACK] + world.sent[ND_HOMA_NEED_ACK] + world.sent[ND_HOMA_RESEND],
		 0);
	world_check_empty(&world);
	world_stop(&world);
}

/* 30 MB of lengths only, as the simulator runs them; one GRANT at most for each DATA. */
TEST(long_message__thirty_megabytes)
{
	struct nd_homa_config config = world_config();
	uint64_t packets = (30000000 + 1423) / 1424;

	world_start(&world, 2, &config, false, 1);
	world.reply_bytes = 100;
	world_request(&world, 0, 1, 30000000);
	world_run(&world, world.now + 40 * ND_MSEC);
	CHECK_EQ(world_count(&world, ND_EVENT_RESPONSE), 1);
	CHECK(world.sent[ND_HOMA_DATA] <= packets + 30);
	CHECK(world.sent[ND_HOMA_GRANT] <= packets);
	CHECK_EQ(world_counters(&world, 1)->gaps_refused, 0);
	world_stop(&world);
}

/* R-H31-2: a long message does not hold short ones up: they finish while it is on its way. */
TEST(short_messages__overtake_a_long_one)
{
	struct nd_homa_config config = world_config();
	uint64_t last;

	world_start(&world, 2, &config, false, 1);
	world.reply_bytes = 10;
	world_request(&world, 0, 1, 3000000);
	world_run(&world, world.now + 100 * ND_USEC);
	last = world_request(&world, 0, 1, 100);
	world_run(&world, world.now + 20 * ND_USEC);
	CHECK_EQ(world_count(&world, ND_EVENT_RESPONSE), 1);
	CHECK_EQ(world_event(&world, ND_EVENT_RESPONSE)->id, last);
	world_run(&world, world.now + 10 * ND_MSEC);
	CHECK_EQ(world_count(&world, ND_EVENT_RESPONSE), 2);
	world_stop(&world);
}

/* T4: the server dies with requests in every state and comes back: errors in time, then service. */
TEST(restart__server)
{
	struct nd_homa_config config = world_config();
	uint32_t failed;

	world_start(&world, 2, &config, false, 1);
	world.hold_replies = true;
	world_request(&world, 0, 1, 100);
	world_request(&world, 0, 1, 200000);
	world_run(&world, world.now + 60 * ND_USEC);
	world_boot(&world, 1, 999);
	world_run(&world, world.now + 500 * ND_MSEC);
	CHECK_EQ(world_homa(&world, 0)->client_rpcs, 0);
	failed = world_count(&world, ND_EVENT_FAILED);
	CHECK_EQ(failed, 2);
	nd_homa_ops.submit(world.hosts[1].endpoint, &(struct nd_command){
		.kind = ND_COMMAND_LISTEN, .port = SERVICE_PORT, .app = 1 }, world.now);
	world.hold_replies = false;
	world_request(&world, 0, 1, 100);
	world_run(&world, world.now + ND_MSEC);
	CHECK_EQ(world_count(&world, ND_EVENT_RESPONSE), 1);
	world_stop(&world);
}

/* ... and a client that restarts is a new client: its ids are others, the server lets go. */
TEST(restart__client)
{
	struct nd_homa_config config = world_config();

	world_start(&world, 2, &config, false, 1);
	world_request(&world, 0, 1, 200000);
	world_request(&world, 0, 1, 100);
	world_run(&world, world.now + 60 * ND_USEC);
	world_boot(&world, 0, 555);
	for (uint32_t i = 0; i < 20; i++)
		world_request(&world, 0, 1, 100);
	world_run(&world, world.now + ND_SEC);
	CHECK(world_count(&world, ND_EVENT_RESPONSE) >= 20);
	CHECK_EQ(world_homa(&world, 1)->server_rpcs, 0);
	world_stop(&world);
}

/* A full queue of a network that prefers the end of a message: of a burst the last packet stays. */
static bool keep_last(struct world *for_world, const struct nd_packet *packet)
{
	(void)for_world;
	return packet->type != ND_HOMA_DATA ||
	       packet->homa.offset + packet->payload_bytes >= packet->homa.length;
}

/*
 * gaps_max below the number of partly received messages: those without a hole would drop what comes
 * out of order and ask for all of it again, for as long as the others have holes. They ask packet by
 * packet, and drop no second one.
 */
TEST(gaps__fewer_than_messages)
{
	struct nd_homa_config config = world_config();

	config.gaps_max = 1;
	world_start(&world, 6, &config, true, 1);
	world.filter = keep_last;
	world.reply_bytes = 1;
	for (uint32_t client = 1; client < 6; client++) {
		for (uint32_t i = 0; i < 4; i++)
			world_request(&world, client, 0, 20000 + 1000 * client);
	}
	world_run(&world, world.now + 100 * ND_MSEC);
	CHECK_EQ(world_count(&world, ND_EVENT_RESPONSE), 20);
	CHECK_EQ(world_counters(&world, 0)->gapless, 19);
	CHECK_EQ(world_counters(&world, 0)->gaps_refused, 19);
	CHECK_EQ(world_counters(&world, 0)->requests_received, 20);
	world_check_empty(&world);
	world_stop(&world);
}

/* R-H36-1, E-H18: a thousand RPCs at once, all answered, responses small without being granted. */
TEST(incast__responses_are_limited)
{
	struct nd_homa_config config = world_config();
	uint32_t flagged;

	world_start(&world, 9, &config, false, 1);
	world.reply_bytes = 10000;
	for (uint32_t i = 0; i < 400; i++)
		world_request(&world, 0, 1 + i % 8, 50);
	world_run(&world, world.now + ND_SEC);
	CHECK_EQ(world_count(&world, ND_EVENT_RESPONSE), 400);
	flagged = (uint32_t)world_counters(&world, 0)->incast_flagged;
	CHECK_EQ(flagged, 400 - config.incast_rpcs);
	world_check_empty(&world);
	world_stop(&world);
}

int main(int argc, char **argv)
{
	return nd_test_main(argc, argv);
}
