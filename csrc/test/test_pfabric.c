// SPDX-License-Identifier: Apache-2.0
/* The pFabric discipline: who leaves, who is lost, against a linear search. */
#include "test/queue_bed.h"

static const struct nd_pfabric_config paper = { .limit = { .bytes = 36864 } };

static uint32_t make(struct bed *bed, uint16_t flow, uint32_t rank, uint16_t bytes)
{
	uint32_t index = bed_other(bed, bytes);

	bed_packet(bed, index)->flow = flow;
	bed_packet(bed, index)->rank = rank;
	return index;
}

static uint32_t put(struct bed *bed, uint16_t flow, uint32_t rank, enum nd_verdict expected)
{
	uint32_t index = make(bed, flow, rank, 1500);

	CHECK_EQ(bed_put(bed, index), expected);
	return index;
}

/* R-PFS-1: 36 KB is 24 full packets. */
TEST(pfabric_enqueue__holds_24_full_packets)
{
	BED(bed, &nd_pfabric_ops, &paper);

	for (uint32_t i = 0; i < 24; i++)
		put(&bed, 1, 5, ND_KEPT);
	put(&bed, 1, 5, ND_DROPPED);
	/* 864 bytes of the 36,864 are left. */
	CHECK_EQ(bed_put(&bed, make(&bed, 1, 5, 865)), ND_DROPPED);
	CHECK_EQ(bed_put(&bed, make(&bed, 1, 5, 864)), ND_KEPT);
	CHECK_EQ(bed.queue->bytes, 36864);
	bed_audit(&bed);
}

/* R-PFS-2: the paper's figure 2: the best packet picks the flow, its earliest packet leaves. */
TEST(pfabric_dequeue__sends_the_earliest_packet_of_the_best_flow)
{
	uint32_t first, second, other;
	BED(bed, &nd_pfabric_ops, &paper);

	first = put(&bed, 1, 30, ND_KEPT);
	other = put(&bed, 2, 20, ND_KEPT);
	second = put(&bed, 1, 10, ND_KEPT);
	CHECK_EQ(bed_get(&bed), first);
	CHECK_EQ(bed_get(&bed), second);
	CHECK_EQ(bed_get(&bed), other);
	CHECK_EQ(bed_get(&bed), ND_NONE);
}

/* R-PFS-2: equal ranks leave in order of arrival. */
TEST(pfabric_dequeue__breaks_ties_by_arrival)
{
	uint32_t packets[5];
	BED(bed, &nd_pfabric_ops, &paper);

	for (uint16_t i = 0; i < 5; i++)
		packets[i] = put(&bed, (uint16_t)(10 - i), 7, ND_KEPT);
	for (uint32_t i = 0; i < 5; i++)
		CHECK_EQ(bed_get(&bed), packets[i]);
}

/* R-PFS-3: truth table of a full queue: better, equal and worse arrivals. */
TEST(pfabric_enqueue__loses_the_packet_of_largest_rank)
{
	struct nd_pfabric_config config = { .limit = { .packets = 3 } };
	uint32_t low, tie;
	BED(bed, &nd_pfabric_ops, &config);

	put(&bed, 1, 10, ND_KEPT);
	low = put(&bed, 2, 50, ND_KEPT);
	put(&bed, 3, 20, ND_KEPT);
	/* Worse and equal: the arrival itself is lost. */
	put(&bed, 4, 60, ND_DROPPED);
	put(&bed, 4, 50, ND_DROPPED);
	CHECK_EQ(bed.counters.evicted_packets, 0);
	/* Better: the worst of those queued is. */
	tie = put(&bed, 4, 20, ND_KEPT);
	CHECK_EQ(bed.shed.dropped, low);
	CHECK_EQ(bed.counters.evicted_packets, 1);
	/* Of two that are equally bad the later one. */
	put(&bed, 5, 5, ND_KEPT);
	CHECK_EQ(bed.shed.dropped, tie);
	CHECK_EQ(bed.counters.dropped_packets, 4);
	bed_audit(&bed);
}

/* R-PFS-3: a large arrival may cost several small packets. */
TEST(pfabric_enqueue__evicts_as_many_as_it_takes)
{
	struct nd_pfabric_config config = { .limit = { .bytes = 1600 } };
	BED(bed, &nd_pfabric_ops, &config);

	for (uint32_t i = 0; i < 16; i++)
		CHECK_EQ(bed_put(&bed, make(&bed, 1, 100 + i, 100)), ND_KEPT);
	put(&bed, 2, 1, ND_KEPT);
	CHECK_EQ(bed.counters.evicted_packets, 15);
	CHECK_EQ(bed_free(&bed, bed.shed.dropped), 15);
	CHECK_EQ(bed.queue->packets, 2);
	bed_audit(&bed);
}

/* A packet that is larger than the whole queue is dropped, not asserted on. */
TEST(pfabric_enqueue__drops_what_can_never_fit)
{
	struct nd_pfabric_config config = { .limit = { .bytes = 1000 } };
	BED(bed, &nd_pfabric_ops, &config);

	put(&bed, 2, 0, ND_DROPPED);
	bed_audit(&bed);
}

/* R-PFS-4: ranks are the sender's: remaining bytes shrink along a flow, absolute ones do not. */
TEST(pfabric_dequeue__keeps_flows_in_order_for_both_kinds_of_rank)
{
	for (uint32_t absolute = 0; absolute < 2; absolute++) {
		uint32_t packets[3][4];
		BED(bed, &nd_pfabric_ops, &paper);

		for (uint32_t n = 0; n < 4; n++) {
			for (uint16_t flow = 0; flow < 3; flow++)
				packets[flow][n] = put(&bed, flow,
						       10000 * (flow + 1u) -
							       (absolute ? 0 : 1000 * n),
						       ND_KEPT);
		}
		for (uint32_t flow = 0; flow < 3; flow++) {
			for (uint32_t n = 0; n < 4; n++)
				CHECK_EQ(bed_get(&bed), packets[flow][n]);
		}
	}
}

/* R-PFS-6: flows that share a hash stay in order of arrival among themselves. */
TEST(pfabric_dequeue__lets_colliding_flows_share_an_order)
{
	struct nd_pfabric_config config = { .limit = { .packets = 9 }, .flow_bits = 8 };
	uint32_t early, late;
	BED(bed, &nd_pfabric_ops, &config);

	early = put(&bed, 0x101, 90, ND_KEPT);
	late = put(&bed, 0x201, 10, ND_KEPT);
	CHECK_EQ(bed_get(&bed), early);
	CHECK_EQ(bed_get(&bed), late);
	config.flow_bits = 16;
	bed = bed_make(&nd_pfabric_ops, &config);
	bed_start(&bed, &nd_pfabric_ops, &config, 1);
	early = put(&bed, 0x101, 90, ND_KEPT);
	late = put(&bed, 0x201, 10, ND_KEPT);
	CHECK_EQ(bed_get(&bed), late);
	CHECK_EQ(bed_get(&bed), early);
}

/* ---- against a list that is searched from end to end ---- */

#define MODEL_MAX 600

struct model {
	uint32_t packets[MODEL_MAX];
	uint32_t count;
};

static void model_remove(struct model *model, uint32_t at)
{
	memmove(&model->packets[at], &model->packets[at + 1],
		(--model->count - at) * sizeof(uint32_t));
}

static uint32_t model_serve(const struct bed *bed, struct model *model)
{
	uint32_t best = 0, at = 0, index;

	for (uint32_t i = 1; i < model->count; i++) {
		if (bed_packet(bed, model->packets[i])->rank <
		    bed_packet(bed, model->packets[best])->rank)
			best = i;
	}
	while (bed_packet(bed, model->packets[at])->flow !=
	       bed_packet(bed, model->packets[best])->flow)
		at++;
	index = model->packets[at];
	model_remove(model, at);
	return index;
}

static uint32_t model_worst(const struct bed *bed, const struct model *model)
{
	uint32_t worst = 0;

	for (uint32_t i = 1; i < model->count; i++) {
		if (bed_packet(bed, model->packets[i])->rank >=
		    bed_packet(bed, model->packets[worst])->rank)
			worst = i;
	}
	return worst;
}

static void model_offer(struct bed *bed, struct model *model, uint32_t index, uint32_t limit)
{
	enum nd_verdict verdict = bed_put(bed, index);

	if (model->count == limit) {
		uint32_t worst = model_worst(bed, model), victim = model->packets[worst];

		/* E-P07: what is lost has the largest rank of all that are there. */
		if (bed_packet(bed, victim)->rank <= bed_packet(bed, index)->rank) {
			CHECK_EQ(verdict, ND_DROPPED);
			CHECK_EQ(bed->shed.dropped, index);
			bed_free(bed, bed->shed.dropped);
			return;
		}
		CHECK_EQ(bed->shed.dropped, victim);
		model_remove(model, worst);
		bed_free(bed, bed->shed.dropped);
	}
	CHECK_EQ(verdict, ND_KEPT);
	model->packets[model->count++] = index;
}

/* E-P07, R-PFS-2, R-PFS-3, R-PFS-5 (a NIC queue is the same object). */
TEST(pfabric_queue__equals_a_linear_search)
{
	for (uint32_t limit = 24; limit <= MODEL_MAX; limit *= 5) {
		struct nd_pfabric_config config = { .limit = { .packets = limit }, .flow_bits = 16 };
		struct nd_rng rng = nd_rng_make(limit, 0);
		static struct model model;
		BED(bed, &nd_pfabric_ops, &config);

		model.count = 0;
		for (uint32_t i = 0; i < 6000; i++) {
			if (nd_rng_below(&rng, 100) < 60) {
				model_offer(&bed, &model,
					    make(&bed, (uint16_t)nd_rng_below(&rng, 30),
						 nd_rng_below(&rng, 200), 1500),
					    limit);
			} else if (model.count) {
				uint32_t index = bed_get(&bed);

				CHECK_EQ(index, model_serve(&bed, &model));
				nd_pool_put(&bed.pool, index);
			}
			CHECK_EQ(bed.queue->packets, model.count);
		}
		bed_audit(&bed);
	}
}

TEST(pfabric_check__names_field_and_limit)
{
	struct nd_pfabric_config config = { .limit = { .packets = 65535 } };
	const char *why = NULL;

	CHECK(nd_pfabric_ops.check(&config, &why) < 0);
	CHECK(strstr(why, "limit.packets is 65535, but must be at most 65534"));
	config.limit.packets = 0;
	CHECK(nd_pfabric_ops.check(&config, &why) < 0);
	CHECK(strstr(why, "limit.bytes is 0"));
	config.limit.bytes = 63;
	CHECK(nd_pfabric_ops.check(&config, &why) < 0);
	CHECK(strstr(why, "limit.bytes is 63"));
	config.limit.bytes = 36864;
	config.flow_bits = 17;
	CHECK(nd_pfabric_ops.check(&config, &why) < 0);
	CHECK(strstr(why, "flow_bits is 17"));
}

int main(int argc, char **argv)
{
	return nd_test_main(argc, argv);
}
