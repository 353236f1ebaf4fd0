// SPDX-License-Identifier: Apache-2.0
/*
 * What users of such stacks reported, as swarm runs: each case is a kind of trouble, for each
 * engine, over a few seeds. The checkers of the swarm say what must not come of it.
 */
#include "test/swarm_case.h"

#define SEEDS 3

/* Runs the settings with each engine that there is, and a few seeds. */
static void each_engine(const char *settings)
{
	for (uint32_t p = 0; p < ND_SWARM_PROTOCOLS; p++) {
		for (uint64_t seed = 1; nd_swarm_engines[p] && seed <= SEEDS; seed++)
			swarm_run(1u << p, seed, settings);
	}
}

/* T1: whichever packet is lost, and whichever two: every message completes. */
TEST(swarm__each_packet_and_each_pair_lost)
{
	static const char settings[] = "actions=1 message_max=9000 close_percent=100";

	for (uint32_t p = 0; p < ND_SWARM_PROTOCOLS; p++) {
		struct nd_swarm_options options = swarm_options(1u << p, 5, settings);
		uint32_t packets;

		if (!nd_swarm_engines[p])
			continue;
		swarm_check(&options);
		packets = nd_min_u32((uint32_t)swarm->report.packets, 40);
		for (uint32_t first = 1; first <= packets; first++) {
			for (uint32_t second = first; second <= packets; second++) {
				options.lose_packet = first;
				options.lose_another = second;
				swarm_check(&options);
			}
		}
	}
}

/* T8, HM#4, HM#25, HM#48, GH#1: sizes at every edge, and one above the limit. */
TEST(swarm__sizes_at_the_edges)
{
	each_engine("actions=120 tiny_percent=30 too_big_percent=20 mtu=1500");
	each_engine("actions=60 tiny_percent=30 mtu=9000 message_max=200000");
	each_engine("actions=6 message_max=3000000");
}

/* U1: control packets are lost too, and only them; sizes are mixed. */
TEST(swarm__control_packets_lost)
{
	each_engine("actions=100 control_loss_ppm=10000 mtu=9000 hosts=4 incast_percent=50");
	each_engine("actions=60 control_loss_ppm=200000");
}

/* U4: random corruption; every flow ends, and the run does. */
TEST(swarm__corruption)
{
	each_engine("actions=100 corrupt_ppm=1000");
	each_engine("actions=100 corrupt_ppm=10000");
	each_engine("actions=60 corrupt_ppm=50000 wire=1");
}

/* U10: half a minute without any packet, then recovery; errors are clean. */
TEST(swarm__thirty_seconds_of_nothing)
{
	each_engine("actions=30 action_ns=1000000000 loss_ppm=1000000");
}

/* U26: storms of duplicates and of trimmed headers leak nothing. */
TEST(swarm__duplicates_and_trims)
{
	each_engine("actions=60 duplicate_ppm=400000 reorder_ppm=300000 reorder_ns=500000");
	each_engine("actions=60 hardware_trim_ppm=500000 duplicate_ppm=100000");
	each_engine("actions=60 hosts=6 incast_percent=90 discipline=2 buffer_packets=4"
		    " return_to_sender=1");
}

/* T4, GH#9: a host restarts in the middle of everything; the others get errors, then work. */
TEST(swarm__restarts)
{
	each_engine("actions=100 hosts=3 restart_us=300 server_us=200 reader_us=100");
}

/* HM#63, T41: what is cancelled has completed already, with the event still to be taken. */
TEST(swarm__cancel_against_completion)
{
	each_engine("actions=200 action_ns=3000 cancel_percent=40 lazy_ns=100000");
	each_engine("actions=200 action_ns=3000 deadline_percent=80 deadline_us=40 lazy_ns=20000");
}

/* T19: many first packets at once; each is a message of its own. */
TEST(swarm__many_at_once)
{
	each_engine("actions=200 action_ns=1 hosts=8 incast_percent=100 message_max=400");
}

/* T25: default windows and limits never stop grants for good. */
TEST(swarm__long_messages_with_little_memory)
{
	each_engine("actions=40 hosts=4 message_max=200000 credit_kib=256 reader_us=3000");
}

/* HM#53: slow links with long delays. */
TEST(swarm__slow_and_far)
{
	each_engine("actions=30 hosts=8 link_mbps=100 delay_ns=2000000 message_max=20000");
}

/* U11, HM#59: many paths of different lengths; order means nothing. */
TEST(swarm__many_paths_out_of_order)
{
	each_engine("actions=60 paths=8 jitter_ns=200000 slow_path_percent=10");
}

/* T45, T34: applications come and go, with everything in flight. */
TEST(swarm__applications_vanish)
{
	each_engine("actions=200 apps=3 detach_percent=20 action_ns=5000 reader_us=200 server_us=200");
}

/* Links fail, hosts lose each other, in one direction or both; T28: the errors come in time. */
TEST(swarm__outages)
{
	each_engine("actions=80 hosts=4 paths=2 flap_us=300 outage_us=2000");
	each_engine("actions=80 hosts=4 partition_us=1000 outage_us=50000 partition_oneway=1");
	each_engine("actions=80 hosts=4 partition_us=1000 outage_us=50000 dead_hosts=1");
}

int main(int argc, char **argv)
{
	return swarm_main(argc, argv);
}
