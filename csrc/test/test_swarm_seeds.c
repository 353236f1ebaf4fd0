// SPDX-License-Identifier: Apache-2.0
/*
 * Swarm runs that once found something, by name, with every option that matters written out.
 *
 * A seed alone would not do: what it draws changes with the list of options. `run_swarm --shrink`
 * prints the settings of a new one.
 */
#include "test/swarm_case.h"
#include "transport/homa.h"

/* A request ran twice: its server had forgotten it while the client still asked. */
TEST(homa_seed_9070__memory_shorter_than_a_clients_patience)
{
	struct nd_homa_config config = nd_homa_config_default(UINT64_C(10000000000), 1500);
	const char *why;

	CHECK_EQ(nd_homa_config_check(&config, &why), 0);
	config.resend_ns = config.done_ns / config.resends_max;
	CHECK(nd_homa_config_check(&config, &why) < 0);
	CHECK(strstr(why, "done_ns") != NULL);
	config = nd_homa_config_default(UINT64_C(10000000), 1500);
	CHECK_EQ(nd_homa_config_check(&config, &why), 0);
}

/* A window that is no multiple of a packet shrank packets to 16 bytes: 20 s for 3 MB. */
TEST(homa_seed_9773__small_grants_made_small_packets)
{
	swarm_run(ND_SWARM_HOMA, 9773,
		  "hosts=3 core_percent=50 slow_path_percent=10 delay_ns=21891 buffer_packets=2"
		  " control_loss_ppm=1 corrupt_ppm=1 reorder_ppm=1 jitter_ns=234 actions=8 action_ns=1973"
		  " message_max=2877827 tiny_percent=11 detach_percent=3 config=395186213");
	CHECK(swarm->report.time < 10 * ND_SEC);
}

/* A server that was busy with other messages looked dead to the client of a short one. */
TEST(homa_seed_812__busy_servers_looked_dead)
{
	swarm_run(ND_SWARM_HOMA, 812,
		  "hosts=8 link_mbps=100 delay_ns=50 mtu=576 buffer_packets=2 loss_ppm=91107"
		  " corrupt_ppm=1 server_us=1 actions=30 action_ns=2031 message_max=163592"
		  " cancel_percent=2 config=1633459238");
}

/* A message lacked one packet that the rhythm of a FIFO always trimmed; the others had no room. */
TEST(ndp_seed_2236__pulls_by_arrival_fed_a_storm)
{
	swarm_run(ND_SWARM_NDP, 2236,
		  "core_percent=50 discipline=3 buffer_packets=2 arena=1 reset_percent=1"
		  " close_percent=1");
}

/* Without memory for the next message, the pulls for one that had begun were not repeated. */
TEST(ndp_seed_309__want_of_memory_stopped_what_had_begun)
{
	swarm_run(ND_SWARM_NDP, 309, "slow_path_percent=50 arena=1");
}

/* Who asks for a request that it does not have, as in the paper, was taken to have it; when it was
 * full the next time it was asked, the RPC failed. */
TEST(homa_seed_60760__asking_is_not_having)
{
	swarm_run(ND_SWARM_HOMA, 60760,
		  "mtu=1527 buffer_packets=8 duplicate_ppm=2713 late_ns=1 lazy_ns=388 actions=98"
		  " action_ns=1000 message_max=30000 incast_percent=1 tiny_percent=1 config=452086360");
}

/* R-NSW-14: a path 40 times slower than the hosts' links, on which NDP's pulls never end. A NetFPGA
 * queue, headers 99 to 1, gave Homa's data 2 of 271,000 arrivals in four seconds, and an RPC timed
 * out; a fair queue serves both. */
TEST(both_seed_155645373972862__a_slow_path_shared_fairly)
{
	swarm_run(ND_SWARM_NDP | ND_SWARM_HOMA, 155645373972862,
		  "hosts=5 apps=3 link_mbps=1000 core_percent=25 slow_path_percent=10 mtu=576"
		  " discipline=8 buffer_packets=2 control_loss_ppm=161335 duplicate_ppm=20552"
		  " reorder_ns=3392 flap_us=19771 outage_us=72 server_us=2 arena=1 actions=15"
		  " action_ns=134890 message_max=263646 incast_percent=90 close_percent=4"
		  " deadline_us=241 unlisten_percent=6");
}

/* R-NTP-17, R-NTP-02: two bulk flows that cross on a core of a quarter of the rate. Answers were lost
 * among trimmed headers; what they answered was paid for by its pull and again by its time-out, and
 * doubled packets were pulled twice: from a first window to window_packets under way, for ever. */
static const char crossing_bulk[] =
	"core_percent=25 mtu=576 buffer_packets=4 shared_buffer=1 corrupt_ppm=1975"
	" duplicate_ppm=58072 reorder_ns=3806 partition_us=1939 outage_us=31634 pause_us=678"
	" late_ns=120 reader_us=34 credit_kib=2930 actions=8 action_ns=2771 message_max=3000000"
	" incast_percent=50 deadline_percent=10 deadline_us=19 config=3534928098";

static void cross(uint32_t protocols, enum nd_swarm_discipline discipline)
{
	char settings[400];

	snprintf(settings, sizeof(settings), "%s discipline=%d", crossing_bulk, (int)discipline);
	swarm_run(protocols, 77345700578556, settings);
}

TEST(both_seed_77345700578556__what_is_under_way_multiplied)
{
	cross(ND_SWARM_NDP | ND_SWARM_HOMA, ND_SWARM_QUEUE_NETFPGA);
	cross(ND_SWARM_NDP | ND_SWARM_HOMA, ND_SWARM_QUEUE_FAIR);
}

/* ... and with headers that share the data's queue, or that always go first. Most of what arrived was
 * headers, each of which earned a pull. */
TEST(ndp_seed_77345700578556__what_is_under_way_multiplied)
{
	cross(ND_SWARM_NDP, ND_SWARM_QUEUE_CUT_PAYLOAD);
	cross(ND_SWARM_NDP, ND_SWARM_QUEUE_P4);
}

/* Messages of one packet, trimmed, held memory out of turn that older ones waited for. */
TEST(ndp_seed_387__memory_out_of_turn)
{
	swarm_run(ND_SWARM_NDP, 387,
		  "apps=2 link_mbps=100 core_percent=50 slow_path_percent=10 delay_ns=200000"
		  " discipline=7 buffer_packets=8 duplicate_ppm=192743 wire=3 pause_us=8715"
		  " outage_us=78 credit_kib=243 arena=1 actions=152 action_ns=2164"
		  " message_max=21415 incast_percent=90 reset_percent=1 close_percent=21");
}

/* Without unscheduled bytes a server that had forgotten an RPC, as in the paper, asked for none of the
 * request; it was told BUSY for ever. */
TEST(both_seed_42250986027615__asking_for_nothing)
{
	swarm_run(ND_SWARM_NDP | ND_SWARM_HOMA, 42250986027615,
		  "corrupt_ppm=1010 jitter_ns=1 message_max=14631 paths_percent=1 config=1016116738");
}

/* A gap left a byte of a fixed window. Each byte that arrived was granted another one, so the message
 * never fell silent and nobody asked for the gap: a storm of packets of one byte, or no end. */
TEST(both_seed_274494806554941__crumbs_behind_a_gap)
{
	swarm_run(ND_SWARM_NDP | ND_SWARM_HOMA, 274494806554941,
		  "hosts=4 paths=3 slow_path_percent=10 mtu=3922 discipline=8 buffer_packets=4"
		  " reorder_ns=31752 hardware_trim_ppm=7026 flap_us=1828 outage_us=95 late_ns=3398"
		  " server_us=8 arena=1 actions=8 action_ns=887 message_max=3000000 tiny_percent=4"
		  " cancel_percent=2 reset_percent=13 close_percent=12 deadline_us=98 paths_percent=1"
		  " dead_port_percent=1 config=2639907902");
}

TEST(homa_seed_133533588968138__crumbs_behind_a_gap)
{
	swarm_run(ND_SWARM_HOMA, 133533588968138,
		  "apps=2 link_mbps=1000 core_percent=25 slow_path_percent=50 delay_ns=86932 discipline=2"
		  " buffer_packets=2 shared_buffer=1 loss_ppm=5789 reorder_ppm=1639 reorder_ns=1852 wire=3"
		  " flap_us=19830 partition_us=2821 outage_us=55 lazy_ns=909 arena=1 actions=67"
		  " action_ns=794 message_max=119316 reset_percent=6 deadline_percent=10 deadline_us=130"
		  " detach_percent=8 unlisten_percent=8 config=3752576691");
}

/* A path of 5 Mb/s makes a round trip of 5 s; how long resets are remembered follows from it, and was
 * more than the swarm itself waited for. */
TEST(both_seed_274762170006615__rest_takes_round_trips)
{
	swarm_run(ND_SWARM_NDP | ND_SWARM_HOMA, 274762170006615,
		  "paths=3 link_mbps=100 core_percent=50 slow_path_percent=10 mtu=6016 discipline=8"
		  " server_us=1 actions=111 action_ns=11816 message_max=3473 incast_percent=41"
		  " tiny_percent=30 reset_percent=4 deadline_percent=10 config=1055474419");
}

/* Homa from hosts of 100 Mb/s over a path of 2.5 Mb/s: each RESEND brought a queue of five packets, and
 * megabytes took longer than the swarm gave them. */
TEST(both_seed_168211290324450__a_queueful_a_round_trip)
{
	swarm_run(ND_SWARM_NDP | ND_SWARM_HOMA, 168211290324450,
		  "apps=3 paths=4 link_mbps=100 core_percent=25 slow_path_percent=10 mtu=576 discipline=8"
		  " buffer_packets=4 return_to_sender=1 control_loss_ppm=8449 duplicate_ppm=3819"
		  " hardware_trim_ppm=6022 lazy_ns=193 credit_kib=282 arena=1 actions=27 action_ns=7438"
		  " message_max=288672 tiny_percent=4 reset_percent=4 close_percent=1 deadline_us=16"
		  " paths_percent=4 reorder_ns=6946 outage_us=79 config=423988636");
}

/* A server was restarted while its client's SYN was unanswered, and took the next one. What both lives of
 * it sent contradicted each other; the client waited for the rest as long as more of that came. */
TEST(both_seed_112926940056692__two_lives_of_a_server)
{
	swarm_run(ND_SWARM_NDP | ND_SWARM_HOMA, 112926940056692,
		  "hosts=6 link_mbps=1000 core_percent=400 slow_path_percent=10 mtu=576 discipline=8"
		  " jitter_ns=269 restart_us=1149 late_ns=1 lazy_ns=582 reader_us=116 server_us=4"
		  " actions=171 action_ns=12274 message_max=7956 incast_percent=49 reset_percent=1"
		  " close_percent=1 deadline_us=115 config=854602990");
}

/* A server that forgets a response once it is sent ran for ever: a queue took none of them whole. */
TEST(homa_seed_57768445095014__at_least_once_through_a_queue_that_takes_no_window)
{
	swarm_run(ND_SWARM_HOMA, 57768445095014,
		  "slow_path_percent=10 discipline=6 message_max=16270 config=21218656");
	CHECK(swarm->report.time < 10 * ND_SEC);
}

/* Windows of one packet over a round trip of a millisecond: 3 MB and their replies took longer than the
 * swarm gave them. */
TEST(both_seed_6983568600781__a_packet_a_round_trip)
{
	swarm_run(ND_SWARM_NDP | ND_SWARM_HOMA, 6983568600781,
		  "delay_ns=167632 mtu=576 duplicate_ppm=642 reorder_ppm=1940 reorder_ns=1807763 wire=3"
		  " partition_oneway=1 outage_us=52 pause_us=491 late_ns=803 actions=7 action_ns=3244"
		  " message_max=3000000 deadline_percent=44 deadline_us=22 config=4157217678");
}

int main(int argc, char **argv)
{
	return swarm_main(argc, argv);
}
