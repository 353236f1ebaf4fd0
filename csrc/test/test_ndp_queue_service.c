// SPDX-License-Identifier: Apache-2.0
/* The NDP discipline: in which order it serves, and its hardware variants. */
#include "test/ndp_queue_bed.h"

/* Serves count packets; 'h' for each header, 'd' for each data packet. */
static void serve(struct bed *bed, uint32_t count, char *order)
{
	for (uint32_t i = 0; i < count; i++) {
		uint32_t index = bed_get(bed);

		CHECK(index != ND_NONE);
		order[i] = bed_packet(bed, index)->wire_bytes == 64 ? 'h' : 'd';
		nd_pool_put(&bed->pool, index);
	}
	order[count] = '\0';
}

/* R-NSW-05: ten headers, one data packet, again and again. */
TEST(ndp_dequeue__serves_ten_headers_for_one_data_packet)
{
	char order[34];
	PAPER();

	fill_data(&bed, 8);
	fill_headers(&bed, 60);
	serve(&bed, 33, order);
	CHECK_STR(order, "hhhhhhhhhhdhhhhhhhhhhdhhhhhhhhhhd");
}

/* R-NSW-05, U24: any ratio of weights. */
TEST(ndp_dequeue__serves_any_ratio)
{
	char order[13];
	PAPER(config.header_weight = 2; config.data_weight = 3);

	fill_data(&bed, 8);
	fill_headers(&bed, 60);
	serve(&bed, 12, order);
	CHECK_STR(order, "hhdddhhdddhh");
}

/* U24: strict headers starve data for as long as they come; weighted ones cannot. */
TEST(ndp_dequeue__starves_data_only_when_strict)
{
	for (uint32_t strict = 0; strict < 2; strict++) {
		PAPER(config.strict = strict);

		fill_data(&bed, 8);
		fill_headers(&bed, 1);
		for (uint32_t i = 0; i < 880; i++) {
			uint32_t index = bed_get(&bed);

			nd_pool_put(&bed.pool, index);
			fill_headers(&bed, 1);
		}
		CHECK_EQ(depth(&bed, ND_NDP_QUEUE_DATA), strict ? 8 : 0);
	}
}

/* R-NSW-06: a header that finds only data waiting is next, whatever was served before. */
TEST(ndp_dequeue__serves_headers_first_when_the_ratio_allows)
{
	char order[6];
	PAPER(config.header_weight = 1);

	fill_data(&bed, 8);
	fill_headers(&bed, 1);
	serve(&bed, 3, order);
	CHECK_STR(order, "hdd");
	fill_headers(&bed, 1);
	serve(&bed, 2, order);
	CHECK_STR(order, "hd");
}

/* R-NSW-06, E-N02: nine packets meet at a port that holds eight, the one in service included. */
TEST(ndp_dequeue__sends_the_header_right_after_the_packet_in_service)
{
	const nd_ns full = 7200; /* of a link, R-NSW-15: 9000 bytes at 10 Gb/s */
	uint32_t packets[9], first;
	PAPER(config.data.packets = 7);

	for (uint32_t i = 0; i < 9; i++)
		packets[i] = bed_data(&bed, FULL);
	bed_put(&bed, packets[0]);
	first = bed_get(&bed);
	CHECK_EQ(first, packets[0]);
	for (uint32_t i = 1; i < 9; i++)
		bed_put(&bed, packets[i]);
	CHECK_EQ(bed.counters.trimmed_packets, 1);
	CHECK_EQ(bed.counters.dropped_packets, 0);
	bed.now += full;
	CHECK_EQ(bed_packet(&bed, bed_get(&bed))->wire_bytes, 64);
	/* The retransmission is back while packet 7 is in service; the link never idles. */
	for (uint32_t i = 0; i < 6; i++)
		CHECK_EQ(bed_packet(&bed, bed_get(&bed))->wire_bytes, FULL);
	CHECK_EQ(put_data(&bed), ND_KEPT);
	CHECK(bed_get(&bed) != ND_NONE);
	CHECK(bed_get(&bed) != ND_NONE);
	CHECK_EQ(bed_get(&bed), ND_NONE);
}

/* R-NSW-07 */
TEST(ndp_dequeue__serves_the_only_queue_that_has_packets)
{
	char order[31];
	PAPER();

	fill_headers(&bed, 30);
	serve(&bed, 30, order);
	CHECK_STR(order, "hhhhhhhhhhhhhhhhhhhhhhhhhhhhhh");
	fill_data(&bed, 8);
	serve(&bed, 8, order);
	CHECK_STR(order, "dddddddd");
}

/* R-NSW-10: each of the two queues is first in, first out. */
TEST(ndp_dequeue__keeps_the_order_of_each_queue)
{
	struct nd_rng rng = nd_rng_make(3, 0);
	uint32_t arrivals = 0, served[2] = { 0 };
	PAPER(config.victim = ND_NDP_VICTIM_ARRIVAL);

	for (uint32_t i = 0; i < 20000; i++) {
		uint32_t index;

		if (nd_rng_below(&rng, 5) < 3) {
			index = nd_rng_coin(&rng) ? bed_data(&bed, FULL) : bed_control(&bed);
			bed_packet(&bed, index)->rank = ++arrivals;
			bed_put(&bed, index);
			bed_free(&bed, bed.shed.dropped);
			bed_free(&bed, bed.shed.returned);
			continue;
		}
		index = bed_get(&bed);
		if (index != ND_NONE) {
			bool header = bed_packet(&bed, index)->wire_bytes == 64;

			CHECK(bed_packet(&bed, index)->rank > served[header]);
			served[header] = bed_packet(&bed, index)->rank;
			nd_pool_put(&bed.pool, index);
		}
	}
	CHECK(served[0] > 0 && served[1] > 0);
}

/* R-NSW-12, E-N29: two queues of 12 KB, only the arrival is cut, a full header queue drops. */
TEST(nd_ndp_queue_netfpga__drops_and_cuts_as_the_card_does)
{
	uint32_t index;
	PAPER(config = nd_ndp_queue_netfpga());

	for (uint32_t i = 0; i < 8; i++)
		CHECK_EQ(bed_put(&bed, bed_data(&bed, 1500)), ND_KEPT);
	for (uint32_t i = 0; i < 187; i++) {
		index = bed_data(&bed, 1500);
		CHECK_EQ(bed_put(&bed, index), ND_TRIMMED);
	}
	CHECK_EQ(bed.queue->bytes, 12000 + 187 * 64);
	CHECK_EQ(bed_put(&bed, bed_data(&bed, 1500)), ND_DROPPED);
	CHECK_EQ(bed.shed.returned, ND_NONE);
	CHECK_EQ(bed.counters.trimmed_dropped_packets, 1);
	bed_audit(&bed);
}

static enum nd_verdict put_control(struct bed *bed, uint16_t bytes)
{
	uint32_t index = bed_control(bed);

	bed_packet(bed, index)->wire_bytes = bytes;
	return bed_put(bed, index);
}

/* R-NSW-12: 12,000 bytes fit into each of the two queues, and not one more. */
TEST(nd_ndp_queue_netfpga__holds_12000_bytes_twice)
{
	PAPER(config = nd_ndp_queue_netfpga());

	CHECK_EQ(bed_put(&bed, bed_data(&bed, 11936)), ND_KEPT);
	CHECK_EQ(bed_put(&bed, bed_data(&bed, 65)), ND_TRIMMED);
	CHECK_EQ(bed_put(&bed, bed_data(&bed, 64)), ND_KEPT);
	CHECK_EQ(depth(&bed, ND_NDP_QUEUE_DATA), 2);
	for (uint32_t i = 1; i < 187; i++)
		CHECK_EQ(bed_put(&bed, bed_header(&bed)), ND_KEPT);
	CHECK_EQ(put_control(&bed, 33), ND_DROPPED); /* 187 headers are 11,968 bytes */
	CHECK_EQ(put_control(&bed, 32), ND_KEPT);
	CHECK_EQ(bed.queue->bytes, 24000);
	bed_audit(&bed);
}

/* R-NSW-13: a count of queued data packets against a threshold, and payload-less NDP first. */
TEST(nd_ndp_queue_p4__counts_packets_and_sends_empty_ones_first)
{
	uint32_t empty, other;
	PAPER(config = nd_ndp_queue_p4(4));

	for (uint32_t i = 0; i < 4; i++)
		CHECK_EQ(bed_put(&bed, bed_data(&bed, i % 2 ? 100 : FULL)), ND_KEPT);
	CHECK_EQ(bed_put(&bed, bed_data(&bed, 100)), ND_TRIMMED);
	empty = bed_data(&bed, 64);
	CHECK_EQ(bed_put(&bed, empty), ND_KEPT);
	CHECK(!(bed_packet(&bed, empty)->marks & ND_MARK_TRIMMED));
	CHECK_EQ(depth(&bed, ND_NDP_QUEUE_HEADERS), 2);
	other = bed_other(&bed, 64);
	CHECK_EQ(bed_put(&bed, other), ND_DROPPED);
	bed_audit(&bed);
}

/* R-NSW-13: otherwise it is the default with the coin fixed on the arrival. */
TEST(nd_ndp_queue_p4__equals_the_default_with_a_fixed_coin)
{
	static _Alignas(64) uint8_t memory[65536];
	struct nd_ndp_queue_config p4 = nd_ndp_queue_p4(8);
	struct nd_queue *twin = (struct nd_queue *)(void *)memory;
	struct nd_queue_counters counters = { 0 };
	struct nd_rng rng = nd_rng_make(5, 0);
	PAPER(config.data.bytes = 0; config.strict = true; config.victim = ND_NDP_VICTIM_ARRIVAL);

	nd_ndp_queue_ops.init(twin, &bed.pool, &p4, &counters, 1);
	for (uint32_t i = 0; i < 10000; i++) {
		struct nd_shed shed = ND_SHED_EMPTY;

		if (nd_rng_below(&rng, 100) < 55) {
			uint16_t bytes = (uint16_t)(65 + nd_rng_below(&rng, 8000));
			bool data = nd_rng_below(&rng, 4) != 0;
			uint32_t a = data ? bed_data(&bed, bytes) : bed_control(&bed);
			uint32_t b = data ? bed_data(&bed, bytes) : bed_control(&bed);

			bed_packet(&bed, a)->rank = bed_packet(&bed, b)->rank = i;
			CHECK_EQ(bed_put(&bed, a), nd_queue_enqueue(twin, b, 0, &shed));
		} else {
			uint32_t a = bed_get(&bed), b = nd_queue_dequeue(twin, 0);

			CHECK_EQ(a == ND_NONE, b == ND_NONE);
			if (a == ND_NONE)
				continue;
			CHECK_EQ(bed_packet(&bed, a)->rank, bed_packet(&bed, b)->rank);
			nd_pool_put(&bed.pool, a);
			nd_pool_put(&bed.pool, b);
		}
	}
	CHECK(memcmp(&counters, &bed.counters, sizeof(counters)) == 0);
}

/* U22: the header queue can be held back alone, and nothing of it leaks. */
TEST(ndp_dequeue__holds_back_one_queue_alone)
{
	char order[9];
	PAPER();

	fill_data(&bed, 8);
	fill_headers(&bed, 8);
	bed.queue->blocked = 1u << ND_NDP_QUEUE_HEADERS;
	serve(&bed, 8, order);
	CHECK_STR(order, "dddddddd");
	CHECK_EQ(bed_get(&bed), ND_NONE);
	bed.queue->blocked = 1u << ND_NDP_QUEUE_DATA;
	serve(&bed, 8, order);
	CHECK_STR(order, "hhhhhhhh");
}

int main(int argc, char **argv)
{
	return nd_test_main(argc, argv);
}
