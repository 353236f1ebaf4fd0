// SPDX-License-Identifier: Apache-2.0
/* The addresses that a host knows: handles, ways, and who makes room. */
#include "host/peers.h"
#include "test/harness.h"

#define LIMIT 8u /* the host itself and seven others */

static const uint8_t own[16] = { [10] = 0xff, [11] = 0xff, 10, 7, 0, 1 };
static const uint8_t none[16];
static const uint8_t mac[6] = { 2, 0, 0, 0, 0, 1 }, other_mac[6] = { 2, 0, 0, 0, 0, 2 };
static struct nd_peers peers;

static void set_up(void)
{
	CHECK_EQ(nd_peers_init(&peers, LIMIT, own, none, 0, 42), 0);
}

static uint32_t get(uint32_t host, nd_ns now)
{
	uint8_t address[16];

	memcpy(address, own, sizeof(address));
	address[14] = (uint8_t)(host >> 8);
	address[15] = (uint8_t)host;
	return nd_peers_get(&peers, address, 0, mac, false, now);
}

/* ... that an application names. */
static uint32_t get_named(uint32_t host, nd_ns now)
{
	uint32_t handle = get(host, now);

	CHECK(nd_peers_name(&peers, handle, now));
	return handle;
}

TEST(nd_peers_get__names_each_address_once)
{
	uint32_t first;

	set_up();
	CHECK_EQ(get(1, 0), ND_PEERS_SELF);
	first = get(2, 0);
	CHECK(first != ND_PEERS_SELF);
	CHECK_EQ(get(2, 5), first);
	CHECK(get(3, 0) != first);
	CHECK_EQ(nd_peers_find(&peers, first)->frame.target[15], 2);
	CHECK(!nd_peers_find(&peers, 12345));
	CHECK(!nd_peers_find(&peers, ND_NONE));
	nd_peers_free(&peers);
}

/* An address in use keeps its place; one that was idle for long gives way, and only then. */
TEST(nd_peers_get__idle_ones_make_room)
{
	uint32_t handles[LIMIT], fresh;

	set_up();
	for (uint32_t i = 2; i <= LIMIT; i++)
		handles[i - 1] = get_named(i, i);
	CHECK_EQ(get(100, ND_PEERS_IDLE), ND_NONE);
	CHECK_EQ(get(2, ND_PEERS_IDLE), handles[1]); /* the oldest is used again */
	fresh = get(100, ND_PEERS_IDLE + 3);         /* so the next makes room */
	CHECK(fresh != ND_NONE);
	CHECK_EQ(peers.evicted, 1);
	CHECK(nd_peers_find(&peers, handles[1]));
	CHECK(!nd_peers_find(&peers, handles[2]));
	CHECK_EQ(nd_peers_find(&peers, fresh)->way, ND_PEER_NO_WAY);
	for (uint32_t i = 3; i < LIMIT; i++)
		CHECK(nd_peers_find(&peers, handles[i]));
	nd_peers_free(&peers);
}

/* Packets with made-up sources displace each other, and nobody who is wanted or talks for long. */
TEST(nd_peers_get__a_flood_displaces_itself)
{
	const nd_ns talk = ND_SEC;
	uint32_t named, talking;

	set_up();
	named = get_named(2, 0);
	talking = get(3, 0);
	get(3, talk);
	for (uint32_t i = 0; i < 1000; i++)
		CHECK(get(100 + i, talk + i) != ND_NONE);
	CHECK_EQ(get_named(2, talk + 1000), named);
	CHECK_EQ(get(3, talk + 1000), talking);
	CHECK(get_named(4, talk + 1000) != ND_NONE); /* and there is room for who is wanted now */
	for (uint32_t i = 0; i < LIMIT; i++)
		get(2000 + i, 3 * talk);
	CHECK(get(3, 3 * talk) != talking); /* it was silent for longer than it had talked */
	CHECK_EQ(get(2, 3 * talk), named);
	nd_peers_free(&peers);
}

/* Nobody is kept for longer than a minute for having talked for long. */
TEST(nd_peers_get__talk_counts_for_a_minute_at_most)
{
	uint32_t handles[LIMIT];

	set_up();
	for (uint32_t i = 2; i <= LIMIT; i++) {
		handles[i - 1] = get(i, 0);
		get(i, 10 * ND_PEERS_IDLE);
	}
	CHECK_EQ(get(100, 11 * ND_PEERS_IDLE - 1), ND_NONE);
	CHECK(get(100, 11 * ND_PEERS_IDLE) != ND_NONE);
	CHECK(!nd_peers_find(&peers, handles[1]));
	nd_peers_free(&peers);
}

/* No handle is ever given twice, however often addresses come and go. */
TEST(nd_peers_get__handles_are_never_reused)
{
	static uint8_t seen[1 << 16];
	nd_ns now = 0;

	set_up();
	for (uint32_t i = 2; i < 2000; i++) {
		uint32_t handle;

		now += ND_PEERS_IDLE;
		handle = get(i, now);
		CHECK(handle < sizeof(seen) && !seen[handle]);
		seen[handle] = 1;
	}
	nd_peers_free(&peers);
}

/* A slot whose handles are used up is not used again. */
TEST(nd_peers_get__a_worn_out_slot_retires)
{
	set_up();
	for (uint32_t i = 2; i <= LIMIT; i++)
		get(i, 0);
	for (uint32_t slot = 1; slot < LIMIT; slot++)
		peers.entries[slot].handle = ND_NONE - LIMIT + slot; /* the last one but none */
	CHECK_EQ(get(100, 2 * ND_PEERS_IDLE), ND_NONE);
	nd_peers_free(&peers);
}

TEST(nd_peers_set_own_mac__of_all_that_the_port_leads_to)
{
	struct nd_peer *first, *second;

	set_up();
	first = nd_peers_find(&peers, get(2, 0));
	second = nd_peers_find(&peers, get(3, 0));
	first->port = 1;
	first->prepared = second->prepared = true;
	nd_peers_set_own_mac(&peers, 0, other_mac);
	CHECK(memcmp(first->frame.source_mac, mac, sizeof(mac)) == 0 && first->prepared);
	CHECK(memcmp(second->frame.source_mac, other_mac, sizeof(mac)) == 0 && !second->prepared);
	nd_peers_free(&peers);
}

TEST(nd_peers_set_way__the_stronger_wins)
{
	struct nd_peer *peer;

	set_up();
	peer = nd_peers_find(&peers, get(2, 0));
	nd_peers_set_way(peer, 0, mac, other_mac, ND_PEER_SET);
	nd_peers_set_way(peer, 1, mac, mac, ND_PEER_LEARNED);
	CHECK_EQ(memcmp(peer->frame.target_mac, other_mac, 6), 0);
	CHECK_EQ(peer->port, 0);
	nd_peers_free(&peers);
}

int main(int argc, char **argv)
{
	return nd_test_main(argc, argv);
}
