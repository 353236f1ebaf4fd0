// SPDX-License-Identifier: Apache-2.0
/* A network that keeps trimming, or a host without memory: what is pulled goes down. */
#include "test/ndp_hand.h"

/*
 * R-NTP-06's exception: when nothing that arrives can be kept, pulls by arrival would feed the
 * network with headers for ever. They go by time until something comes through.
 */
TEST(nd_ndp_receive_credit__is_put_off_when_all_is_trimmed)
{
	struct nd_ndp_config config = hand_defaults();

	config.futile_max = 5;
	hand_start(&config, false);
	for (uint32_t i = 0; i < 8; i++)
		hand_arrive_trimmed(2, 9, i, 90000);
	CHECK_EQ(hand_usage().pulls, 5);
	CHECK_EQ(hand_counters()->pulls_put_off, 3);
	hand_wait(5 * ND_USEC);
	hand_drain();
	hand_wait(config.repull_ns - ND_USEC);
	CHECK_STR(hand_next(), "PULL 9>2 6 reply");
	hand_arrive_trimmed(2, 9, 0, 90000);
	CHECK_STR(hand_next(), "NACK 9>2 #0 pull 6 reply");
	hand_wait(config.repull_ns);
	CHECK_STR(hand_next(), "PULL 9>2 7 reply");
	CHECK_EQ(hand_counters()->pulls_repeated, 0);
	for (uint32_t i = 1; i <= 3; i++)
		hand_arrive(2, 9, i, 90000);
	CHECK_EQ(hand_usage().pulls, 3); /* their own: the network is known to trim half */
	hand_arrive(2, 9, 4, 90000);
	CHECK_EQ(hand_usage().pulls, 5); /* its own, and one that was put off */
	hand_arrive(2, 9, 5, 90000);
	hand_arrive_trimmed(2, 9, 6, 90000);
	CHECK_EQ(hand_usage().pulls, 8); /* all are back */
	hand_drain();
	CHECK_EQ(nd_ndp_connection_at(hand, 0)->pulled + hand_usage().pulls, 15);
}

/*
 * R-NCC-01, R-NTP-17: a core of a quarter of the links' rate trims three of four: in the long run
 * headers earn no pulls, so what is pulled goes down to what gets through.
 */
TEST(nd_ndp_receive_credit__follows_what_gets_through)
{
	struct nd_ndp_config config = hand_defaults();
	uint32_t kept = 0, pulls;

	config.futile_max = 8;
	config.window_packets = 1024;
	hand_start(&config, false);
	for (uint32_t i = 0; i < 800; i++) {
		if (i % 4 == 0)
			hand_arrive(2, 9, i, 900000);
		else
			hand_arrive_trimmed(2, 9, i, 900000);
		kept += i % 4 == 0;
	}
	pulls = hand_usage().pulls;
	CHECK(pulls >= kept);
	CHECK(pulls <= kept + 3 * 8);
	CHECK_EQ(hand_counters()->pulls_put_off, 800 - pulls);
}

/* Headers that come faster than repull_ns, such as a sender's questions, do not hold pulls up. */
TEST(nd_ndp_receive_credit__futile_arrivals_do_not_delay_pulls)
{
	struct nd_ndp_config config = hand_defaults();

	config.futile_max = 1;
	hand_start(&config, false);
	for (uint32_t i = 0; i < 9; i++)
		hand_arrive_trimmed(2, 9, i, 90000);
	hand_drain();
	for (uint32_t i = 0; i < 8; i++) {
		hand_wait(config.repull_ns / 2);
		hand_arrive_trimmed(2, 9, i, 90000);
	}
	CHECK_EQ(nd_ndp_connection_at(hand, 0)->pulled, 5);
}

/* Pulls that were put off and are needed no more are gone with the last packet. */
TEST(nd_ndp_receive_credit__what_was_put_off_ends_with_the_data)
{
	struct nd_ndp_config config = hand_defaults();

	config.futile_max = 1;
	hand_start(&config, false);
	for (uint32_t i = 0; i < 3; i++)
		hand_arrive_trimmed(2, 9, i, 3000);
	CHECK_EQ(hand_counters()->pulls_put_off, 2);
	for (uint32_t i = 0; i < 3; i++)
		hand_arrive(2, 9, i, 3000);
	CHECK_EQ(hand_usage().pulls, 0);
	CHECK_EQ(nd_ndp_connection_at(hand, 0)->put_off, 0);
}

int main(int argc, char **argv)
{
	return nd_test_main(argc, argv);
}
