// SPDX-License-Identifier: Apache-2.0
/* Settings of a switch's ports: what each is made of, and that they change while frames wait. */
#include "queue/strict.h"
#include "switch_bed.h"

static struct nd_ndp_queue_config one;

/* Port 1 is slow, holds one packet whole and leaves so many bytes of the others. */
static struct nd_switch_port_settings open_slow(uint32_t trim_size)
{
	struct nd_switch_port_settings settings = {
		.discipline = &nd_ndp_queue_ops,
		.discipline_config = &one,
		.rate_bps = 1000000,
		.trim = { .size = trim_size, .pcp = ND_FRAME_PCP_KEEP },
	};

	one = nd_ndp_queue_paper(1, 1124);
	one.victim = ND_NDP_VICTIM_ARRIVAL;
	one.headers.bytes = 8192;
	open_plain(false);
	settings.trim.dscp = sw->config.frame.dscp_trimmed;
	CHECK_EQ(nd_switch_set_address(sw, key_of(1), 1), 0);
	return settings;
}

static void apply(const struct nd_switch_port_settings *settings)
{
	struct nd_switch_change change;

	CHECK_EQ(nd_switch_prepare_settings(sw, 1, settings, &change, &error), 0);
	free(nd_switch_apply_settings(sw, &change, now));
}

/* A port that leaves more than the headers of a frame counts and paces what it leaves. */
TEST(nd_switch_port_settings__trim_size_is_what_waits_and_leaves)
{
	static const uint32_t sizes[] = { 0, 128, 512, 4096 };

	for (uint32_t i = 0; i < ND_ARRAY_SIZE(sizes); i++) {
		struct nd_switch_port_settings settings = open_slow(sizes[i]);
		struct nd_frame frames[32];
		struct nd_queue_depth headers;
		uint32_t count, bytes = 0, least = UINT32_MAX;

		apply(&settings);
		for (uint32_t n = 0; n < 4; n++)
			send_ndp(0, 1, n, 0);
		nd_switch_round(sw, now);
		headers = sw->ports[1].egress.queue->ops->depth(sw->ports[1].egress.queue,
								ND_NDP_QUEUE_HEADERS);
		rounds(400);
		count = nd_port_receive(hosts[1], frames, 32);
		CHECK_EQ(count, 4);
		for (uint32_t n = 0; n < count; n++) {
			uint32_t on_link = frames[n].bytes + sw->config.frame.framing_bytes;

			bytes += on_link;
			least = nd_min_u32(least, on_link);
		}
		CHECK_EQ(sw->ports[1].queue_counters.dequeued_bytes, bytes);
		CHECK_EQ(headers.bytes, 2 * least);
		nd_port_release(hosts[1]);
		close_all();
	}
}

/* What goes back is the headers alone, however much the port leaves of what it trims. */
TEST(nd_switch_port_settings__trim_size_is_not_what_returns)
{
	struct nd_switch_port_settings settings = open_slow(512);
	struct nd_frame frames[32];
	uint32_t count, bytes = 0;

	one.headers.bytes = 64;
	apply(&settings);
	CHECK_EQ(nd_switch_set_address(sw, key_of(0), 0), 0);
	for (uint32_t n = 0; n < 4; n++)
		send_ndp(0, 1, n, 0);
	rounds(10);
	count = nd_port_receive(hosts[0], frames, 32);
	CHECK_EQ(count, 3);
	for (uint32_t n = 0; n < count; n++)
		bytes += frames[n].bytes + sw->config.frame.framing_bytes;
	CHECK_EQ(sw->ports[0].queue_counters.dequeued_bytes, bytes);
	nd_port_release(hosts[0]);
	close_all();
}

/* Classes of one discipline are not those of another, whose levels were never as long. */
TEST(nd_switch_apply_settings__watermarks_of_classes_end_with_their_discipline)
{
	static const struct nd_strict_config strict = { .levels = 8, .total = { .packets = 64 } };
	struct nd_switch_port_settings settings = open_slow(0);
	const struct nd_switch_peaks *peaks = &sw->ports[1].peaks;

	apply(&settings);
	for (uint32_t n = 0; n < 4; n++)
		send_ndp(0, 1, n, 0);
	rounds(400);
	nd_switch_note_peak(&sw->ports[1]);
	CHECK_EQ(peaks->classes[ND_NDP_QUEUE_HEADERS].packets, 3);
	apply(&settings);
	CHECK_EQ(peaks->classes[ND_NDP_QUEUE_HEADERS].packets, 3);
	settings.discipline = &nd_strict_ops;
	settings.discipline_config = &strict;
	apply(&settings);
	CHECK_EQ(peaks->packets, 4);
	for (uint32_t i = 0; i < 8; i++)
		CHECK_EQ(peaks->classes[i].packets, 0);
	close_all();
}

/* The phantom queue marks at the pace of the virtual link, in front of the real queue. */
TEST(nd_switch_round__a_phantom_queue_marks)
{
	struct nd_switch_port_settings settings = {
		.rate_bps = 100000000, .catch_up = ND_MSEC,
		.phantom = { .rate_bps = 50000000, .threshold_bytes = 2500 },
	};
	struct nd_switch_change change;
	struct nd_frame frames[32];
	unsigned marked = 0;
	uint32_t count;

	open_plain(false);
	CHECK_EQ(nd_switch_set_address(sw, key_of(1), 1), 0);
	CHECK_EQ(nd_switch_prepare_settings(sw, 1, &settings, &change, &error), 0);
	CHECK(!nd_switch_apply_settings(sw, &change, now));
	for (uint32_t i = 0; i < 10; i++)
		send_ndp(0, 1, i, 0);
	rounds(10);
	rounds(10);
	count = nd_port_receive(hosts[1], frames, 32);
	CHECK_EQ(count, 10);
	for (uint32_t i = 0; i < count; i++)
		marked += (frames[i].data[ND_ETH_BYTES + 1] & 3) == 3;
	nd_port_release(hosts[1]);
	/* Each adds its size and drains half of it: the fourth is the first above 2500 bytes. */
	CHECK_EQ(sw->ports[1].phantom_counters.passed_packets, 10);
	CHECK_EQ(sw->ports[1].phantom_counters.marked_packets +
			 sw->ports[1].phantom_counters.unmarked_packets,
		 10 - 3);
	CHECK_EQ(marked, sw->ports[1].phantom_counters.marked_packets);
	settings.phantom.rate_bps = 0;
	CHECK_EQ(nd_switch_prepare_settings(sw, 1, &settings, &change, &error), 0);
	nd_switch_apply_settings(sw, &change, now);
	CHECK(!sw->ports[1].egress.phantom);
	close_all();
}

int main(int argc, char **argv)
{
	return nd_test_main(argc, argv);
}
