// SPDX-License-Identifier: Apache-2.0
/* Learning, aging, static entries and the full table. */
#include "switch/fdb.h"
#include "test/harness.h"

#include <errno.h>

#define LIMIT 4

static struct nd_fdb fdb;
static _Alignas(64) uint8_t memory[4096];

static void reset(void)
{
	CHECK(nd_fdb_bytes(LIMIT) <= sizeof(memory));
	nd_fdb_init(&fdb, memory, LIMIT, 300 * ND_SEC, 1);
}

TEST(nd_fdb_key__holds_vlan_and_address)
{
	const uint8_t mac[6] = { 0x02, 0x6e, 0x64, 0, 1, 2 };

	CHECK_EQ(nd_fdb_key(mac, 0), 0x026e64000102);
	CHECK_EQ(nd_fdb_key(mac, 5), 0x5026e64000102);
}

TEST(nd_fdb_learn__finds_and_moves)
{
	reset();
	CHECK_EQ(nd_fdb_lookup(&fdb, 7), ND_NONE);
	nd_fdb_learn(&fdb, 7, 1, 0);
	CHECK_EQ(nd_fdb_lookup(&fdb, 7), 1);
	nd_fdb_learn(&fdb, 7, 2, 1);
	CHECK_EQ(nd_fdb_lookup(&fdb, 7), 2);
	CHECK_EQ(fdb.counters.learned, 1);
	CHECK_EQ(fdb.counters.moved, 1);
}

TEST(nd_fdb_learn__ignores_group_addresses)
{
	const uint8_t group[6] = { 0x33, 0x33, 0, 0, 0, 1 };

	reset();
	nd_fdb_learn(&fdb, nd_fdb_key(group, 0), 1, 0);
	CHECK_EQ(nd_fdb_lookup(&fdb, nd_fdb_key(group, 0)), ND_NONE);
}

TEST(nd_fdb_learn__counts_when_full_and_keeps_what_it_has)
{
	reset();
	for (uint64_t key = 1; key <= LIMIT + 1; key++)
		nd_fdb_learn(&fdb, key, 1, 0);
	CHECK_EQ(fdb.counters.full, 1);
	CHECK_EQ(nd_fdb_lookup(&fdb, 1), 1);
	CHECK_EQ(nd_fdb_lookup(&fdb, LIMIT + 1), ND_NONE);
}

TEST(nd_fdb_set__is_neither_moved_nor_aged)
{
	reset();
	CHECK_EQ(nd_fdb_set(&fdb, 7, 3), 0);
	nd_fdb_learn(&fdb, 7, 1, 0);
	nd_fdb_age(&fdb, 1000 * ND_SEC);
	CHECK_EQ(nd_fdb_lookup(&fdb, 7), 3);
}

TEST(nd_fdb_age__forgets_only_the_silent)
{
	reset();
	nd_fdb_learn(&fdb, 1, 1, 0);
	nd_fdb_learn(&fdb, 2, 1, 0);
	nd_fdb_learn(&fdb, 2, 1, 200 * ND_SEC);
	nd_fdb_age(&fdb, 300 * ND_SEC);
	CHECK_EQ(nd_fdb_lookup(&fdb, 1), ND_NONE);
	CHECK_EQ(nd_fdb_lookup(&fdb, 2), 1);
	nd_fdb_age(&fdb, 500 * ND_SEC);
	CHECK_EQ(nd_fdb_lookup(&fdb, 2), ND_NONE);
	CHECK_EQ(fdb.counters.aged, 2);
	CHECK_EQ(fdb.free_count, LIMIT);
}

TEST(nd_fdb_age__may_be_never)
{
	nd_fdb_init(&fdb, memory, LIMIT, ND_NEVER, 1);
	nd_fdb_learn(&fdb, 1, 1, ND_SEC);
	nd_fdb_learn(&fdb, 1, 1, 1000 * ND_SEC);
	nd_fdb_age(&fdb, 1000000 * ND_SEC);
	CHECK_EQ(nd_fdb_lookup(&fdb, 1), 1);
}

/* Whoever sends from many addresses must not keep the operator from configuring one. */
TEST(nd_fdb_set__takes_the_place_of_what_was_learned)
{
	reset();
	for (uint64_t key = 1; key <= LIMIT; key++)
		nd_fdb_learn(&fdb, key, 1, key);
	for (uint64_t key = 11; key <= 10 + LIMIT; key++)
		CHECK_EQ(nd_fdb_set(&fdb, key, 2), 0);
	for (uint64_t key = 1; key <= LIMIT; key++) {
		CHECK_EQ(nd_fdb_lookup(&fdb, key), ND_NONE);
		CHECK_EQ(nd_fdb_lookup(&fdb, 10 + key), 2);
	}
	CHECK_EQ(nd_fdb_set(&fdb, 99, 2), -ENOSPC);
	CHECK_EQ(nd_fdb_set(&fdb, 11, 3), 0);
}

TEST(nd_fdb_flush_port__keeps_other_ports_and_static_entries)
{
	struct nd_fdb_entry list[LIMIT];
	uint32_t cursor = 0;

	reset();
	nd_fdb_learn(&fdb, 1, 1, 0);
	nd_fdb_learn(&fdb, 2, 2, 0);
	nd_fdb_set(&fdb, 3, 1);
	nd_fdb_flush_port(&fdb, 1);
	CHECK_EQ(nd_fdb_lookup(&fdb, 1), ND_NONE);
	CHECK_EQ(nd_fdb_lookup(&fdb, 2), 2);
	CHECK_EQ(nd_fdb_lookup(&fdb, 3), 1);
	CHECK_EQ(nd_fdb_list(&fdb, &cursor, list, 1), 1);
	CHECK_EQ(nd_fdb_list(&fdb, &cursor, list + 1, LIMIT), 1);
	CHECK_EQ(cursor, ND_NONE);
	CHECK_EQ(list[0].key + list[1].key, 5);
	CHECK(nd_fdb_remove(&fdb, 3));
	CHECK(!nd_fdb_remove(&fdb, 3));
}

TEST(nd_fdb_forget__takes_out_all_that_lead_to_a_port)
{
	struct nd_fdb_entry list[LIMIT];
	uint32_t cursor = 0;

	reset();
	for (uint64_t key = 0; key < LIMIT; key++) {
		if (key % 3)
			nd_fdb_learn(&fdb, key, key & 1, 0);
		else
			CHECK_EQ(nd_fdb_set(&fdb, key, key & 1), 0);
	}
	nd_fdb_forget(&fdb, 1);
	CHECK_EQ(nd_fdb_list(&fdb, &cursor, list, LIMIT), LIMIT / 2);
	for (uint64_t key = 0; key < LIMIT; key++)
		CHECK_EQ(nd_fdb_lookup(&fdb, key), key & 1 ? ND_NONE : 0);
}

int main(int argc, char **argv)
{
	return nd_test_main(argc, argv);
}
