/* SPDX-License-Identifier: Apache-2.0 */
/* A bench for one discipline: pool, memory, counters, and one-line packets. */
#ifndef ND_TEST_QUEUE_BED_H
#define ND_TEST_QUEUE_BED_H

#include "base/rng.h"
#include "queue/account.h"
#include "queue/disciplines.h"
#include "test/harness.h"

#define BED_PACKETS 4096
#define BED_MEMORY_BYTES (1u << 20)

struct bed {
	struct nd_pool pool;
	struct nd_queue *queue;
	struct nd_queue_counters counters;
	struct nd_shed shed; /* of the last bed_put() */
	nd_ns now;
};

static _Alignas(64) uint8_t bed_memory[BED_MEMORY_BYTES];

/* Makes a fresh queue of the discipline; config must stay valid. */
static inline struct bed bed_make(const struct nd_queue_ops *ops, const void *config)
{
	static void *packets;
	struct bed bed = { .queue = (struct nd_queue *)(void *)bed_memory };
	const char *why = "";

	if (!packets)
		packets = aligned_alloc(64, nd_pool_bytes(BED_PACKETS, sizeof(struct nd_packet)));
	nd_pool_init(&bed.pool, packets, BED_PACKETS, sizeof(struct nd_packet));
	if (ops->check(config, &why) != 0)
		CHECK_STR(why, "");
	CHECK(ops->bytes(config) <= BED_MEMORY_BYTES);
	memset(bed_memory, 0, ops->bytes(config));
	return bed;
}

/* Second half of bed_make(): pool and counters need their final address. */
static inline void bed_start(struct bed *bed, const struct nd_queue_ops *ops, const void *config,
			     uint64_t seed)
{
	ops->init(bed->queue, &bed->pool, config, &bed->counters, seed);
}

#define BED(name, ops, config) \
	struct bed name = bed_make((ops), (config)); \
	bed_start(&name, (ops), (config), 1)

static inline struct nd_packet *bed_packet(const struct bed *bed, uint32_t index)
{
	return nd_pool_at(&bed->pool, index);
}

/* A packet of its own in the pool, from host 1 to host 2, trimmable to 64 bytes. */
static inline uint32_t bed_data(struct bed *bed, uint16_t bytes)
{
	uint32_t index = nd_pool_get(&bed->pool);

	CHECK(index != ND_NONE);
	*bed_packet(bed, index) = (struct nd_packet){
		.next = ND_NONE,
		.source = 1,
		.target = 2,
		.wire_bytes = bytes,
		.header_bytes = 64,
		.payload_bytes = (uint16_t)(bytes - 64),
		.protocol = ND_PROTO_NDP,
		.type = ND_NDP_DATA,
		.marks = ND_MARK_TRIMMABLE,
	};
	return index;
}

static inline uint32_t bed_control(struct bed *bed)
{
	uint32_t index = bed_data(bed, 64);

	bed_packet(bed, index)->type = ND_NDP_ACK;
	bed_packet(bed, index)->marks = ND_MARK_CONTROL;
	return index;
}

/* Traffic that only passes: TCP and the like. */
static inline uint32_t bed_other(struct bed *bed, uint16_t bytes)
{
	uint32_t index = bed_data(bed, bytes);

	bed_packet(bed, index)->protocol = ND_PROTO_OTHER;
	bed_packet(bed, index)->header_bytes = bytes;
	bed_packet(bed, index)->marks = ND_MARK_ECT;
	return index;
}

/* A header that a switch before this one has cut. */
static inline uint32_t bed_header(struct bed *bed)
{
	uint32_t index = bed_data(bed, 9000);

	nd_packet_trim(bed_packet(bed, index));
	return index;
}

static inline enum nd_verdict bed_put(struct bed *bed, uint32_t index)
{
	bed->shed = ND_SHED_EMPTY;
	return nd_queue_enqueue(bed->queue, index, bed->now, &bed->shed);
}

static inline uint32_t bed_get(struct bed *bed)
{
	return nd_queue_dequeue(bed->queue, bed->now);
}

static inline void bed_audit(const struct bed *bed)
{
	const char *wrong = nd_queue_audit(bed->queue);

	CHECK_STR(wrong ? wrong : "", "");
}

/* Gives a list of shed packets back to the pool; returns how many there were. */
static inline uint32_t bed_free(struct bed *bed, uint32_t list)
{
	uint32_t count = 0;

	while (list != ND_NONE) {
		uint32_t next = bed_packet(bed, list)->next;

		nd_pool_put(&bed->pool, list);
		list = next;
		count++;
	}
	return count;
}

#endif
