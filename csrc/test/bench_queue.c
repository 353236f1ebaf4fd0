// SPDX-License-Identifier: Apache-2.0
/*
 * The disciplines' hot paths for callgrind: run twice with different --count, divide the difference.
 *
 *	bench_queue CASE --count N    one enqueue and one dequeue each time, on a queue that holds
 *				      a few packets; -trim: each arrival is trimmed; -600: 600 of
 *				      64 bytes
 */
#include <stdio.h>

#include "queue/phantom.h"
#include "test/queue_bed.h"

static struct nd_ndp_queue_config ndp;
static struct nd_fair_config fair;
static const struct nd_droptail_config droptail = { .limit = { .packets = 200 } };
static const struct nd_ecn_config ecn = {
	.limit = { .packets = 200 },
	.threshold = { .packets = 2 },
};
static const struct nd_cut_payload_config cut_payload = {
	.threshold = { .packets = 2 },
	.limit = { .bytes = 100000 },
};
static const struct nd_strict_config strict = { .levels = 8, .total = { .packets = 100 } };
static const struct nd_pfabric_config pfabric = { .limit = { .bytes = 36864 } };

static const struct workload {
	const char *name;
	const struct nd_queue_ops *ops;
	const void *config;
	uint32_t held;  /* packets queued at all times */
	uint16_t bytes; /* of each packet */
	bool changing;  /* packets differ from turn to turn, or are trimmed */
} workloads[] = {
	{ "droptail", &nd_droptail_ops, &droptail, 4, 1500, false },
	{ "ecn", &nd_ecn_ops, &ecn, 4, 1500, false },
	{ "cut_payload", &nd_cut_payload_ops, &cut_payload, 4, 1500, true },
	{ "strict", &nd_strict_ops, &strict, 4, 1500, false },
	{ "ndp", &nd_ndp_queue_ops, &ndp, 4, 9000, false },
	{ "ndp-trim", &nd_ndp_queue_ops, &ndp, 40, 9000, true },
	{ "fair", &nd_fair_ops, &fair, 4, 9000, false },
	{ "pfabric", &nd_pfabric_ops, &pfabric, 23, 1500, true },
	{ "pfabric-600", &nd_pfabric_ops, &pfabric, 575, 64, true },
};

/* Makes a packet as new: whole, of another flow, level and rank. */
static void refresh(struct nd_packet *packet, uint32_t turn, uint16_t bytes)
{
	packet->wire_bytes = bytes;
	packet->marks = ND_MARK_TRIMMABLE | ND_MARK_ECT;
	packet->priority = turn & 7;
	packet->flow = (uint16_t)(turn * 7);
	packet->rank = (turn * 2654435761u) >> 16;
}

static void offer(struct bed *bed, uint32_t index)
{
	if (bed_put(bed, index) == ND_KEPT && bed->shed.dropped == ND_NONE)
		return;
	bed_free(bed, bed->shed.dropped);
	bed_free(bed, bed->shed.returned);
}

static void run(const struct workload *workload, uint32_t count)
{
	struct bed bed = bed_make(workload->ops, workload->config);
	uint32_t spare = ND_NONE;

	bed_start(&bed, workload->ops, workload->config, 1);
	for (uint32_t turn = 0; bed.queue->packets < workload->held; turn++) {
		spare = bed_data(&bed, workload->bytes);
		refresh(bed_packet(&bed, spare), turn, workload->bytes);
		offer(&bed, spare);
	}
	spare = bed_data(&bed, workload->bytes);
	for (uint32_t turn = 0; turn < count; turn++) {
		if (workload->changing)
			refresh(bed_packet(&bed, spare), turn, workload->bytes);
		nd_queue_enqueue(bed.queue, spare, 0, &bed.shed);
		spare = nd_queue_dequeue(bed.queue, 0);
	}
	bed_audit(&bed);
}

static void run_phantom(uint32_t count)
{
	static const struct nd_phantom_config config = { 950000000, 1000, 0 };
	struct nd_phantom_counters counters = { 0 };
	struct nd_packet packet = { .wire_bytes = 1500, .marks = ND_MARK_ECT };
	struct nd_phantom phantom;

	nd_phantom_init(&phantom, &config, &counters, 0);
	for (uint32_t i = 0; i < count; i++) {
		packet.marks = ND_MARK_ECT;
		nd_phantom_pass(&phantom, &packet, i * UINT64_C(12000));
	}
}

int main(int argc, char **argv)
{
	uint32_t count = argc == 4 ? (uint32_t)strtoul(argv[3], NULL, 10) : 0;

	if (argc != 4 || strcmp(argv[2], "--count") != 0) {
		fprintf(stderr, "usage: %s CASE --count N\n", argv[0]);
		return 2;
	}
	ndp = nd_ndp_queue_paper(8, 9000);
	fair = (struct nd_fair_config){
		.child = { { &nd_ndp_queue_ops, &ndp, 9000 }, { &nd_droptail_ops, &droptail, 9000 } },
		.child_of = { [ND_PROTO_OTHER] = 1 },
	};
	if (strcmp(argv[1], "phantom") == 0) {
		run_phantom(count);
		return 0;
	}
	for (uint32_t i = 0; i < ND_ARRAY_SIZE(workloads); i++) {
		if (strcmp(argv[1], workloads[i].name) == 0) {
			run(&workloads[i], count);
			return 0;
		}
	}
	fprintf(stderr, "%s: no case %s\n", argv[0], argv[1]);
	return 2;
}
