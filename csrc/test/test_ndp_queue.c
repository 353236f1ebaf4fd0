// SPDX-License-Identifier: Apache-2.0
/* The NDP discipline: sorting, trimming, the coin, overflow, limits. */
#include "test/ndp_queue_bed.h"

static const char *refusal(void)
{
	const char *why = "";

	nd_ndp_queue_ops.check(&config, &why);
	return why;
}

/* R-NSW-01 */
TEST(ndp_enqueue__sorts_packets_into_two_queues)
{
	uint8_t control[] = { ND_NDP_ACK, ND_NDP_NACK, ND_NDP_PULL, ND_NDP_CLOSE };
	PAPER();

	for (uint32_t i = 0; i < ND_ARRAY_SIZE(control); i++) {
		uint32_t index = bed_control(&bed);

		bed_packet(&bed, index)->type = control[i];
		CHECK_EQ(bed_put(&bed, index), ND_KEPT);
		CHECK_EQ(depth(&bed, ND_NDP_QUEUE_HEADERS), i + 1);
	}
	CHECK_EQ(bed_put(&bed, bed_header(&bed)), ND_KEPT);
	CHECK_EQ(depth(&bed, ND_NDP_QUEUE_HEADERS), 5);
	CHECK_EQ(put_data(&bed), ND_KEPT);
	CHECK_EQ(bed_put(&bed, bed_other(&bed, 1500)), ND_KEPT);
	CHECK_EQ(depth(&bed, ND_NDP_QUEUE_DATA), 2);
	CHECK_EQ(bed.counters.trimmed_arrived_packets, 1);
	bed_audit(&bed);
}

/* R-NSW-02: 6, 8 and 10 packets of data fit, to the byte. */
TEST(ndp_enqueue__holds_data_to_the_byte)
{
	for (uint32_t packets = 6; packets <= 10; packets += 2) {
		uint32_t last;
		PAPER(config = nd_ndp_queue_paper(packets, FULL); config.data.packets = 0);

		fill_data(&bed, packets - 1);
		last = bed_data(&bed, FULL - 64);
		CHECK_EQ(bed_put(&bed, last), ND_KEPT);
		CHECK_EQ(bed_put(&bed, bed_other(&bed, 65)), ND_DROPPED);
		CHECK_EQ(bed_put(&bed, bed_other(&bed, 64)), ND_KEPT);
		CHECK_EQ(bed.queue->bytes, packets * FULL);
		CHECK_EQ(bed_put(&bed, bed_other(&bed, 1)), ND_DROPPED);
	}
}

/* R-NSW-02, E-N04: as many bytes of headers, which is 1125 of 64 bytes. */
TEST(ndp_enqueue__holds_exactly_1125_headers)
{
	PAPER(config.return_to_sender = false);

	fill_headers(&bed, 1125);
	CHECK_EQ(bed.queue->bytes, 72000);
	CHECK_EQ(bed_put(&bed, bed_header(&bed)), ND_DROPPED);
	CHECK_EQ(bed_put(&bed, bed_control(&bed)), ND_DROPPED);
	bed_audit(&bed);
}

/* R-NSW-03, R-NSW-15: what is left is 64 bytes that name flow, sequence and path. */
TEST(ndp_enqueue__cuts_the_payload_and_nothing_else)
{
	static const uint8_t payload[1];
	struct nd_packet before, after;
	uint32_t index;
	PAPER(config.victim = ND_NDP_VICTIM_ARRIVAL; config.last_hop = true);

	fill_data(&bed, 8);
	index = bed_data(&bed, FULL);
	bed_packet(&bed, index)->ndp = (struct nd_ndp_header){
		.connection = 7, .sequence = 11, .message_bytes = 100000, .offset = 5, .message = 3,
	};
	bed_packet(&bed, index)->path = 13;
	bed_packet(&bed, index)->flow = 17;
	bed_packet(&bed, index)->payload = payload;
	before = *bed_packet(&bed, index);
	CHECK_EQ(bed_put(&bed, index), ND_TRIMMED);
	after = *bed_packet(&bed, index);
	CHECK_EQ(after.wire_bytes, 64);
	CHECK(after.payload == NULL);
	CHECK_EQ(after.marks, ND_MARK_TRIMMABLE | ND_MARK_TRIMMED | ND_MARK_LAST_HOP);
	CHECK_EQ(bed.counters.trimmed_bytes, FULL - 64);
	after.wire_bytes = before.wire_bytes;
	after.payload = before.payload;
	after.marks = before.marks;
	after.next = before.next;
	CHECK(memcmp(&before, &after, sizeof(before)) == 0);
	bed_audit(&bed);
}

TEST(ndp_enqueue__says_last_hop_only_where_configured)
{
	uint32_t index;
	PAPER(config.victim = ND_NDP_VICTIM_ARRIVAL);

	fill_data(&bed, 8);
	index = bed_data(&bed, FULL);
	CHECK_EQ(bed_put(&bed, index), ND_TRIMMED);
	CHECK(!(bed_packet(&bed, index)->marks & ND_MARK_LAST_HOP));
}

/* R-NSW-04: arrival or tail, each with 1/2, never another packet. */
TEST(ndp_enqueue__tosses_a_fair_coin)
{
	const uint32_t draws = 100000;
	uint32_t tails = 0;
	int64_t off;
	PAPER(config.strict = true);

	fill_data(&bed, 7);
	CHECK_EQ(put_data(&bed), ND_KEPT);
	for (uint32_t i = 0; i < draws; i++) {
		uint32_t arrival = bed_data(&bed, FULL), victim;
		enum nd_verdict verdict = bed_put(&bed, arrival);

		victim = bed_get(&bed);
		CHECK(bed_packet(&bed, victim)->marks & ND_MARK_TRIMMED);
		CHECK_EQ(victim == arrival, verdict == ND_TRIMMED);
		CHECK_EQ(bed.shed.cut, verdict == ND_TRIMMED ? ND_NONE : victim);
		tails += verdict == ND_KEPT;
		nd_pool_put(&bed.pool, victim);
	}
	/* 3 sigma of a binomial: 3 * sqrt(n) / 2 = 474. */
	off = (int64_t)tails - draws / 2;
	CHECK(off > -475 && off < 475);
	CHECK_EQ(bed.counters.trimmed_packets, draws);
	bed_audit(&bed);
}

/* R-NSW-04: when the tail is cut, the arrival takes its place and all before it stay. */
TEST(ndp_enqueue__cuts_only_the_newest_queued)
{
	uint32_t queued[8], arrival;
	enum nd_verdict verdict;
	PAPER();

	for (uint32_t i = 0; i < 8; i++) {
		queued[i] = bed_data(&bed, FULL);
		bed_put(&bed, queued[i]);
	}
	do {
		arrival = bed_data(&bed, FULL);
		verdict = bed_put(&bed, arrival);
	} while (verdict != ND_KEPT);
	bed.queue->blocked = 1u << ND_NDP_QUEUE_HEADERS;
	for (uint32_t i = 0; i < 7; i++)
		CHECK_EQ(bed_get(&bed), queued[i]);
	CHECK_EQ(bed_get(&bed), arrival);
	CHECK_EQ(bed_get(&bed), ND_NONE);
	CHECK(bed_packet(&bed, queued[7])->marks & ND_MARK_TRIMMED);
}

/* R-NSW-04 with packets of different sizes: a larger arrival may be cut after the tail was. */
TEST(ndp_enqueue__cuts_the_arrival_too_when_it_still_does_not_fit)
{
	uint32_t both = 0;

	for (uint32_t i = 0; i < 32; i++) {
		config = nd_ndp_queue_paper(8, FULL);
		config.data.bytes = 10000;
		struct bed bed = bed_make(&nd_ndp_queue_ops, &config);

		bed_start(&bed, &nd_ndp_queue_ops, &config, i);
		CHECK_EQ(put_data(&bed), ND_KEPT);
		CHECK_EQ(bed_put(&bed, bed_data(&bed, 500)), ND_KEPT);
		CHECK_EQ(put_data(&bed), ND_TRIMMED);
		CHECK(bed.counters.trimmed_packets == 1 || bed.counters.trimmed_packets == 2);
		both += bed.counters.trimmed_packets == 2;
		CHECK_EQ(depth(&bed, ND_NDP_QUEUE_DATA), bed.counters.trimmed_packets == 1 ? 2 : 1);
		bed_audit(&bed);
	}
	CHECK(both > 4 && both < 28);
}

/* There is no tail to cut: it is larger than the whole queue. */
TEST(ndp_enqueue__cuts_an_arrival_that_never_fits)
{
	for (uint32_t seed = 0; seed < 8; seed++) {
		config = nd_ndp_queue_paper(8, FULL);
		config.data.bytes = 1000;
		struct bed bed = bed_make(&nd_ndp_queue_ops, &config);

		bed_start(&bed, &nd_ndp_queue_ops, &config, seed);
		CHECK_EQ(put_data(&bed), ND_TRIMMED);
		CHECK_EQ(depth(&bed, ND_NDP_QUEUE_HEADERS), 1);
		bed_audit(&bed);
	}
}

TEST(ndp_enqueue__never_cuts_a_tail_that_cannot_be)
{
	PAPER();

	fill_data(&bed, 7);
	CHECK_EQ(bed_put(&bed, bed_other(&bed, 1500)), ND_KEPT);
	for (uint32_t i = 0; i < 50; i++)
		CHECK_EQ(put_data(&bed), ND_TRIMMED);
	CHECK_EQ(depth(&bed, ND_NDP_QUEUE_DATA), 8);
	bed_audit(&bed);
}

TEST(ndp_enqueue__drops_what_cannot_be_trimmed)
{
	uint32_t flood;
	PAPER(config.victim = ND_NDP_VICTIM_ARRIVAL);

	fill_data(&bed, 8);
	CHECK_EQ(bed_put(&bed, bed_other(&bed, 1500)), ND_DROPPED);
	flood = bed_data(&bed, FULL);
	bed_packet(&bed, flood)->marks |= ND_MARK_FLOOD;
	CHECK_EQ(bed_put(&bed, flood), ND_DROPPED);
	CHECK_EQ(bed.shed.dropped, flood);
	CHECK_EQ(bed.counters.dropped_packets, 2);
	CHECK_EQ(bed.counters.trimmed_packets, 0);
	bed_audit(&bed);
}

static void empty(struct bed *bed)
{
	uint32_t index;

	while ((index = bed_get(bed)) != ND_NONE)
		nd_pool_put(&bed->pool, index);
}

/* X13: what cannot be trimmed has the coin too, so that a queue full of NDP does not starve it. */
TEST(ndp_enqueue__tosses_the_coin_for_what_cannot_be_trimmed)
{
	const uint32_t draws = 1000;
	uint32_t kept = 0;
	PAPER();

	for (uint32_t i = 0; i < draws; i++) {
		fill_data(&bed, 8);
		kept += bed_put(&bed, bed_other(&bed, 1500)) == ND_KEPT;
		CHECK_EQ(depth(&bed, ND_NDP_QUEUE_DATA), 8);
		bed_audit(&bed);
		bed_free(&bed, bed.shed.dropped);
		empty(&bed);
	}
	/* 4 sigma of a binomial: 4 * sqrt(n) / 2 = 63. */
	CHECK(kept > 437 && kept < 563);
	CHECK_EQ(bed.counters.trimmed_packets, kept);
	CHECK_EQ(bed.counters.dropped_packets, draws - kept);
}

TEST(ndp_enqueue__drops_what_does_not_fit_in_place_of_the_tail)
{
	uint32_t tail, other;
	PAPER(config.data = (struct nd_limit){ .packets = 8, .bytes = 2000 });

	do {
		empty(&bed);
		CHECK_EQ(bed_put(&bed, bed_data(&bed, 1900)), ND_KEPT);
		tail = bed_data(&bed, 100);
		CHECK_EQ(bed_put(&bed, tail), ND_KEPT);
		other = bed_other(&bed, 1500);
		CHECK_EQ(bed_put(&bed, other), ND_DROPPED);
		CHECK_EQ(bed.shed.dropped, other);
		CHECK_EQ(bed_free(&bed, bed.shed.dropped), 1);
		bed_audit(&bed);
	} while (bed.shed.cut == ND_NONE);
	CHECK_EQ(bed.shed.cut, tail);
}

/* R-NSW-08 */
TEST(ndp_enqueue__returns_headers_that_overflow)
{
	uint32_t index;
	PAPER(config.victim = ND_NDP_VICTIM_ARRIVAL);

	fill_data(&bed, 8);
	fill_headers(&bed, 1125);
	index = bed_data(&bed, FULL);
	CHECK_EQ(bed_put(&bed, index), ND_RETURNED);
	CHECK_EQ(bed.shed.returned, index);
	CHECK_EQ(bed.shed.dropped, ND_NONE);
	CHECK_EQ(bed_packet(&bed, index)->source, 2);
	CHECK_EQ(bed_packet(&bed, index)->target, 1);
	CHECK(bed_packet(&bed, index)->marks & ND_MARK_BOUNCED);
	CHECK_EQ(bed.counters.returned_packets, 1);
	bed_audit(&bed);
	/* Loop test: it meets a full queue on its way back and is dropped, not turned again. */
	CHECK_EQ(bed_put(&bed, index), ND_DROPPED);
	CHECK_EQ(bed_packet(&bed, index)->source, 2);
	bed_audit(&bed);
}

/* R-NSW-08: the victim of the coin is returned in the same way. */
TEST(ndp_enqueue__returns_a_tail_that_overflows)
{
	uint32_t tail = ND_NONE, arrival;
	enum nd_verdict verdict;
	PAPER();

	fill_data(&bed, 7);
	fill_headers(&bed, 1125);
	tail = bed_data(&bed, FULL);
	bed_put(&bed, tail);
	do {
		arrival = bed_data(&bed, FULL);
		verdict = bed_put(&bed, arrival);
		CHECK(verdict == ND_KEPT || verdict == ND_RETURNED);
	} while (verdict != ND_KEPT);
	CHECK_EQ(bed.shed.returned, tail);
	CHECK_EQ(bed_packet(&bed, tail)->next, ND_NONE);
	bed_audit(&bed);
}

TEST(ndp_enqueue__drops_headers_that_overflow_without_return_to_sender)
{
	PAPER(config.return_to_sender = false; config.victim = ND_NDP_VICTIM_ARRIVAL);

	fill_data(&bed, 8);
	fill_headers(&bed, 1125);
	CHECK_EQ(put_data(&bed), ND_DROPPED);
	CHECK_EQ(bed.counters.trimmed_packets, 1);
	CHECK_EQ(bed.counters.trimmed_dropped_packets, 1);
	CHECK_EQ(bed.counters.dropped_bytes, 64);
	bed_audit(&bed);
}

/* R-NSW-09 */
TEST(ndp_enqueue__drops_control_packets_that_overflow)
{
	uint32_t index;
	PAPER();

	fill_headers(&bed, 1125);
	index = bed_control(&bed);
	CHECK_EQ(bed_put(&bed, index), ND_DROPPED);
	CHECK_EQ(bed.shed.dropped, index);
	CHECK_EQ(bed.shed.returned, ND_NONE);
	CHECK_EQ(bed.counters.control_dropped_packets, 1);
	CHECK_EQ(bed_packet(&bed, index)->source, 1);
	bed_audit(&bed);
}

TEST(ndp_enqueue__keeps_a_reserve_for_control_packets)
{
	PAPER(config.headers.bytes = 640; config.control_reserve_bytes = 128);

	fill_headers(&bed, 8);
	CHECK_EQ(bed_put(&bed, bed_header(&bed)), ND_RETURNED);
	CHECK_EQ(bed_put(&bed, bed_control(&bed)), ND_KEPT);
	CHECK_EQ(bed_put(&bed, bed_control(&bed)), ND_KEPT);
	CHECK_EQ(bed_put(&bed, bed_control(&bed)), ND_DROPPED);
}

/* The identity that operators watch, after every step: trimmed = sent + dropped + returned + queued. */
TEST(ndp_queue__accounts_for_every_trimmed_header)
{
	struct nd_rng rng = nd_rng_make(4, 0);
	const struct nd_queue_counters *c;
	PAPER(config.headers.bytes = 640);

	c = &bed.counters;
	for (uint32_t i = 0; i < 5000; i++) {
		uint32_t index = ND_NONE;

		if (nd_rng_below(&rng, 100) < 60) {
			put_data(&bed);
			bed_free(&bed, bed.shed.dropped);
			bed_free(&bed, bed.shed.returned);
		} else {
			index = bed_get(&bed);
		}
		if (index != ND_NONE)
			nd_pool_put(&bed.pool, index);
		CHECK_EQ(c->trimmed_packets,
			 c->trimmed_sent_packets + c->trimmed_dropped_packets +
				 c->returned_packets + depth(&bed, ND_NDP_QUEUE_HEADERS));
	}
	CHECK(c->trimmed_sent_packets > 100 && c->returned_packets > 100);
}

/* U23: a limit below what can work is refused with the least that does. */
TEST(ndp_check__names_field_value_limit_and_remedy)
{
	config = nd_ndp_queue_paper(8, FULL);
	CHECK_STR(refusal(), "");
	config.headers.bytes = 40;
	CHECK_STR(refusal(), "headers.bytes is 40, but must be at least 64, the size of a trimmed "
			     "packet: raise it");
	config.headers.bytes = 0;
	CHECK(strstr(refusal(), "headers.bytes is 0"));
	config = nd_ndp_queue_paper(0, FULL);
	CHECK(strstr(refusal(), "data.packets is 0"));
	config = nd_ndp_queue_paper(70000, 100);
	CHECK(strstr(refusal(), "data.packets is 70000, but must be at most 65535"));
	config = nd_ndp_queue_paper(8, FULL);
	config.data.bytes = 63;
	CHECK(strstr(refusal(), "data.bytes is 63"));
	config = nd_ndp_queue_paper(8, FULL);
	config.control_reserve_bytes = 72000;
	CHECK(strstr(refusal(), "control_reserve_bytes is 72000"));
	config = nd_ndp_queue_paper(8, FULL);
	config.header_weight = 0;
	CHECK(strstr(refusal(), "header_weight is 0"));
	config.header_weight = 1;
	config.data_weight = 30001;
	CHECK(strstr(refusal(), "data_weight is 30001"));
	config.strict = true;
	CHECK_STR(refusal(), "");
	config.victim = 2;
	CHECK(strstr(refusal(), "victim is 2"));
	config = nd_ndp_queue_netfpga();
	CHECK_STR(refusal(), "");
	config = nd_ndp_queue_p4(8);
	CHECK_STR(refusal(), "");
}

int main(int argc, char **argv)
{
	return nd_test_main(argc, argv);
}
