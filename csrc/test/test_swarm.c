// SPDX-License-Identifier: Apache-2.0
/* The swarm tests itself: an honest engine passes, each broken one is caught. */
#include "sim/swarm.h"
#include "test/harness.h"
#include "test/swarm_fake.h"

#include <errno.h>

static const struct nd_swarm_protocol *const fakes[] = { &fake_ndp, &fake_homa };

static struct nd_swarm *swarm;

static bool run_seed(uint64_t seed, uint32_t protocols, uint32_t sabotage)
{
	struct nd_swarm_options options;

	nd_swarm_options_draw(&options, seed, protocols);
	options.sabotage = sabotage;
	options.wire = 0; /* the fake has no wire format */
	return nd_swarm_run(swarm, &options, fakes, NULL);
}

TEST(nd_swarm_run__an_honest_engine_passes)
{
	for (uint64_t seed = 0; seed < 60; seed++) {
		if (run_seed(seed, 1 + (uint32_t)(seed % 3), FAKE_HONEST))
			continue;
		nd_swarm_print(swarm, stderr);
		CHECK(false);
	}
}

/* Runs seeds until one of the two failures is what the fault leads to, as others may be first. */
static void check_caught(uint32_t sabotage, const char *failure, const char *other)
{
	for (uint64_t seed = 0; seed < 100; seed++) {
		if (run_seed(seed, 1 + (uint32_t)(seed % 3), sabotage))
			continue;
		if (strstr(swarm->report.failure, failure) || strstr(swarm->report.failure, other))
			return;
	}
	fprintf(stderr, "  fault %u goes unnoticed\n", sabotage);
	CHECK(false);
}

TEST(nd_swarm_run__catches_a_double_delivery)
{
	check_caught(FAKE_DELIVERS_TWICE, "twice", "a response to no RPC");
	check_caught(FAKE_FORGETS_KEYS, "twice", "a response to no RPC");
}

TEST(nd_swarm_run__catches_a_lost_message)
{
	check_caught(FAKE_LOSES_MESSAGE, "not delivered", "never ended");
	check_caught(FAKE_GIVES_UP_SILENTLY, "never ended", "on a network without faults");
}

TEST(nd_swarm_run__catches_wrong_bytes)
{
	check_caught(FAKE_CORRUPTS_BYTE, "corrupt", "corrupt");
	check_caught(FAKE_OVERLAPS, "changed before its release", "corrupt");
}

TEST(nd_swarm_run__catches_leaked_memory)
{
	check_caught(FAKE_LEAKS_MEMORY, "leaks", "are not back");
	check_caught(FAKE_LEAKS_PARTIAL, "leaks", "are not back");
	check_caught(FAKE_PUTS_WRONG_SIZE, "given back as", "given back as");
}

TEST(nd_swarm_run__catches_a_missing_or_false_end)
{
	check_caught(FAKE_FORGETS_TO_REPORT, "never ended", "of its messages did not");
	check_caught(FAKE_ENDS_TWICE, "the end of", "the failure of no RPC");
	check_caught(FAKE_REPORTS_EARLY, "not delivered", "corrupt");
}

TEST(nd_swarm_run__catches_an_engine_that_does_not_rest)
{
	check_caught(FAKE_SPINS, "does not move on", "does not move on");
	check_caught(FAKE_NEVER_RESTS, "does not come to rest", "does not come to rest");
}

TEST(nd_swarm_run__catches_a_wrong_packet_and_a_broken_invariant)
{
	check_caught(FAKE_WRONG_SOURCE, "its source is another host", "its source is another host");
	check_caught(FAKE_FAILS_AUDIT, "the fake is broken", "the fake is broken");
}

/* Applications that look all the time and find nothing count for no storm; what they find does. */
TEST(nd_swarm_host_poll__idle)
{
	struct nd_swarm_options options;

	nd_swarm_options_calm(&options, 1, ND_SWARM_NDP);
	options.lazy_ns = 100;
	options.actions = 5;
	options.action_ns = 100000;
	CHECK(nd_swarm_run(swarm, &options, fakes, NULL));
	CHECK(swarm->idle_polls > 1000);
	CHECK(swarm->idle_polls < swarm->loop.done);
	options.detach_percent = 100; /* looks for its events outside of any event of its own */
	CHECK(nd_swarm_run(swarm, &options, fakes, NULL));
	CHECK(swarm->idle_polls < swarm->loop.done);
}

TEST(nd_swarm_run__repeats_a_seed)
{
	struct nd_swarm_report first;

	CHECK(run_seed(7, 3, FAKE_HONEST));
	first = swarm->report;
	CHECK(run_seed(8, 3, FAKE_HONEST));
	CHECK(run_seed(7, 3, FAKE_HONEST));
	CHECK(memcmp(&first, &swarm->report, sizeof(first)) == 0);
}

TEST(nd_swarm_options_set__knows_every_name)
{
	struct nd_swarm_options options;

	nd_swarm_options_calm(&options, 1, ND_SWARM_NDP);
	for (uint32_t i = 0; i < nd_swarm_option_count; i++) {
		uint32_t value = nd_swarm_option_texts[i].calm + 1;

		CHECK_EQ(nd_swarm_options_set(&options, nd_swarm_option_texts[i].name, value), 0);
		CHECK_EQ(*nd_swarm_options_at(&options, i), value);
	}
	CHECK(nd_swarm_options_set(&options, "no such option", 1) < 0);
}

TEST(nd_swarm_options_set__refuses_what_no_run_can_have)
{
	struct nd_swarm_options options;

	nd_swarm_options_calm(&options, 1, ND_SWARM_NDP);
	CHECK_EQ(nd_swarm_options_set(&options, "hosts", 1), -ERANGE);
	CHECK_EQ(nd_swarm_options_set(&options, "hosts", ND_SWARM_HOSTS_MAX), 0);
	CHECK_EQ(nd_swarm_options_set(&options, "hosts", ND_SWARM_HOSTS_MAX + 1), -ERANGE);
	CHECK_EQ(nd_swarm_options_set(&options, "link_mbps", 0), -ERANGE);
	CHECK_EQ(options.hosts, ND_SWARM_HOSTS_MAX);
}

int main(int argc, char **argv)
{
	int rc;

	swarm = nd_swarm_new();
	rc = nd_test_main(argc, argv);
	nd_swarm_free(swarm);
	return rc;
}
