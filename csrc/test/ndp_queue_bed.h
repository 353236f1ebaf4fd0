/* SPDX-License-Identifier: Apache-2.0 */
/* A queue of the NDP discipline to test: the paper's, and ways to fill it. */
#ifndef ND_TEST_NDP_QUEUE_BED_H
#define ND_TEST_NDP_QUEUE_BED_H

#include "test/queue_bed.h"

#define FULL 9000

static struct nd_ndp_queue_config config;

/* A queue of the paper's eight packets, with a change or two. */
#define PAPER(...) \
	config = nd_ndp_queue_paper(8, FULL); \
	__VA_ARGS__; \
	BED(bed, &nd_ndp_queue_ops, &config)

static inline uint32_t depth(const struct bed *bed, uint32_t class)
{
	return nd_ndp_queue_ops.depth(bed->queue, class).packets;
}

static inline enum nd_verdict put_data(struct bed *bed)
{
	return bed_put(bed, bed_data(bed, FULL));
}

static inline void fill_data(struct bed *bed, uint32_t packets)
{
	for (uint32_t i = 0; i < packets; i++)
		CHECK_EQ(put_data(bed), ND_KEPT);
}

static inline void fill_headers(struct bed *bed, uint32_t packets)
{
	for (uint32_t i = 0; i < packets; i++)
		CHECK_EQ(bed_put(bed, bed_header(bed)), ND_KEPT);
}

#endif
