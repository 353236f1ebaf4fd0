// SPDX-License-Identifier: Apache-2.0
/* What all disciplines share: the counter table, the registry and the conservation laws. */
#include "queue/queue.h"

#include <string.h>

#include "queue/disciplines.h"

ND_COUNTERS_TABLE(nd_queue_counters, "queue", ND_QUEUE_COUNTERS);

const struct nd_queue_ops *const nd_queue_disciplines[] = {
	&nd_droptail_ops, &nd_ecn_ops,     &nd_ndp_queue_ops, &nd_cut_payload_ops,
	&nd_strict_ops,   &nd_pfabric_ops, &nd_fair_ops,      NULL,
};

const struct nd_queue_ops *nd_queue_find(const char *name)
{
	for (const struct nd_queue_ops *const *ops = nd_queue_disciplines; *ops; ops++) {
		if (strcmp((*ops)->name, name) == 0)
			return *ops;
	}
	return NULL;
}

const char *nd_queue_audit(const struct nd_queue *queue)
{
	const struct nd_queue_counters *c = queue->counters;
	struct nd_queue_tally tally = { 0 };
	const char *wrong = queue->ops->audit(queue, &tally);

	if (wrong)
		return wrong;
	if (tally.packets != queue->packets || tally.bytes != queue->bytes)
		return "the queue's totals differ from what it holds";
	if (c->enqueued_packets !=
	    c->dequeued_packets + c->dropped_packets + c->returned_packets + tally.packets)
		return "packets are not conserved";
	if (c->enqueued_bytes != c->dequeued_bytes + c->dropped_bytes + c->returned_bytes +
					 c->trimmed_bytes + tally.bytes)
		return "bytes are not conserved";
	if (c->trimmed_packets + c->trimmed_arrived_packets !=
	    c->trimmed_sent_packets + c->trimmed_dropped_packets + c->returned_packets +
		    tally.trimmed)
		return "trimmed headers are not conserved";
	return NULL;
}
