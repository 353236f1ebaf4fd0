// SPDX-License-Identifier: Apache-2.0
/* What an operator is shown of a core. */
#include "host/peers.h"
#include "test/memory_pair.h"
#include "transport/homa.h"
#include "transport/ndp.h"

#define ROWS 8u

/* All connections and RPCs, a few rows a call. */
static uint32_t all_exchanges(struct nd_stack *stack, struct nd_exchange *out)
{
	uint32_t count = 0;

	for (uint64_t cursor = 0; cursor != ND_NEVER;) {
		int got = nd_stack_exchanges(stack, &cursor, out + count, 1);

		CHECK(got >= 0 && got <= 1);
		count += (uint32_t)got;
		CHECK(count < ROWS);
	}
	return count;
}

TEST(nd_stack_exchanges__show_an_rpc_from_both_ends)
{
	struct pair pair = open_pair("show-rpc", false);
	struct nd_exchange rows[ROWS];
	struct nd_event request;

	listen_on(pair.server, ND_PROTO_HOMA, SERVICE);
	CHECK_EQ(all_exchanges(pair.server, rows), 0);
	ask(&pair, nd_stack_buffer(pair.client, 100), 100, 1);
	request = expect(pair.server, ND_EVENT_REQUEST);

	CHECK_EQ(all_exchanges(pair.server, rows), 1);
	CHECK_EQ(rows[0].id, request.id);
	CHECK_EQ(rows[0].protocol, ND_PROTO_HOMA);
	CHECK_EQ(rows[0].state, ND_HOMA_SERVICE);
	CHECK_EQ(rows[0].port, SERVICE);
	CHECK_EQ(rows[0].arrived_bytes, 100);
	CHECK(rows[0].accepted);
	CHECK(memcmp(rows[0].address, addresses[0][1], 16) == 0);

	CHECK_EQ(all_exchanges(pair.client, rows), 1);
	CHECK_EQ(rows[0].state, ND_HOMA_OUTGOING);
	CHECK_EQ(rows[0].unsent_bytes, 0);
	CHECK_EQ(rows[0].port, SERVICE);
	CHECK(!rows[0].accepted);
	CHECK(memcmp(rows[0].address, addresses[0][0], 16) == 0);
	close_pair(&pair);
}

TEST(nd_stack_exchanges__show_an_ndp_connection)
{
	struct pair pair = open_pair("show-ndp", false);
	struct nd_exchange rows[ROWS];
	struct line line;

	listen_on(pair.server, ND_PROTO_NDP, SERVICE);
	line = connect_line(&pair, SERVICE);
	CHECK_EQ(all_exchanges(pair.server, rows), 1);
	CHECK_EQ(rows[0].id, line.server);
	CHECK_EQ(rows[0].protocol, ND_PROTO_NDP);
	CHECK_EQ(rows[0].state, ND_NDP_OPEN);
	CHECK(rows[0].accepted);
	CHECK_EQ(all_exchanges(pair.client, rows), 1);
	CHECK_EQ(rows[0].id, line.client);
	CHECK(!rows[0].accepted);
	close_pair(&pair);
}

TEST(nd_stack_peers__show_ways_and_apps_what_they_hold)
{
	struct pair pair = open_pair("show-peers", false);
	struct nd_stack_peer peers[ROWS];
	struct nd_stack_app apps[ROWS];
	uint64_t cursor = 0;
	bool found = false;
	int count = nd_stack_peers(pair.client, &cursor, peers, ROWS);

	CHECK_EQ(cursor, ND_NEVER);
	for (int i = 0; i < count; i++) {
		CHECK(peers[i].handle != ND_PEERS_SELF);
		found |= peers[i].handle == pair.peer && peers[i].way != 0 &&
			 memcmp(peers[i].address, addresses[0][0], 16) == 0;
	}
	CHECK(found);

	cursor = 0;
	CHECK_EQ(nd_stack_apps(pair.client, &cursor, apps, ROWS), 1);
	CHECK_EQ(cursor, ND_NEVER);
	CHECK_EQ(apps[0].pid, getpid());
	CHECK_EQ(apps[0].held, 0);
	CHECK_EQ(nd_stack_apps(pair.client, &cursor, apps, ROWS), 0);
	close_pair(&pair);
}

/* How many there are may be asked for alone; of a port that is not there, there is no table. */
TEST(nd_stack_counters__none)
{
	struct pair pair = open_pair("show-counters", false);
	const struct nd_counters_table *table;

	CHECK_EQ(nd_stack_counters(pair.client, ND_STACK_GROUP_PORT, 0, &table, NULL, 0),
		 (int)nd_port_counters_table.count);
	CHECK(table == &nd_port_counters_table);
	CHECK_EQ(nd_stack_counters(pair.client, ND_STACK_GROUP_PORT, 1, &table, NULL, 0), -ENOENT);
	CHECK(!table);
	CHECK_EQ(nd_stack_counters(pair.client, (enum nd_stack_group)9, 0, &table, NULL, 0), -ENOENT);
	CHECK(!table);
	close_pair(&pair);
}

int main(int argc, char **argv) { return nd_test_main(argc, argv); }
