// SPDX-License-Identifier: Apache-2.0
/* The books of flows, and the credit limits of Homa. */
#include "sim/swarm_check.h"

#include <stdlib.h>
#include <string.h>

#include "sim/swarm.h"
#include "transport/homa.h"

void nd_swarm_check_reset(struct nd_swarm *swarm)
{
	struct nd_swarm_check *check = &swarm->check;

	if (!check->map_memory)
		check->map_memory = malloc(nd_map_bytes(ND_SWARM_FLOWS_MAX));
	nd_assert(check->map_memory != NULL);
	for (uint32_t i = 0; i < check->count; i++)
		free(check->flows[i].seen);
	check->count = 0;
	nd_map_init(&check->map, check->map_memory, ND_SWARM_FLOWS_MAX, 1);
	memset(swarm->check.ndp_excess, 0, sizeof(swarm->check.ndp_excess));
}

void nd_swarm_check_free(struct nd_swarm *swarm)
{
	if (swarm->check.map_memory)
		nd_swarm_check_reset(swarm);
	free(swarm->check.map_memory);
	swarm->check.map_memory = NULL;
}

struct nd_swarm_flow *nd_swarm_check_flow(struct nd_swarm *swarm, uint64_t key)
{
	struct nd_swarm_check *check = &swarm->check;
	uint32_t index = nd_map_get(&check->map, key);

	if (index != ND_NONE)
		return &check->flows[index];
	if (check->count == ND_SWARM_FLOWS_MAX)
		return NULL;
	index = check->count++;
	check->flows[index] = (struct nd_swarm_flow){ 0 };
	nd_map_set(&check->map, key, index);
	return &check->flows[index];
}

/* ---- Homa ---- */

static const struct nd_homa_config *homa_config(const struct nd_swarm *swarm)
{
	return (const struct nd_homa_config *)(const void *)swarm->configs[1];
}

/* The message that this sender sends within the RPC: ids are unique to a run. */
static struct nd_swarm_flow *homa_flow(struct nd_swarm *swarm, uint32_t sender, uint64_t id)
{
	return nd_swarm_check_flow(swarm, nd_mix64(id | 1) + sender);
}

/* R-H32-1: RTTbytes without a grant, the rest for grants and what is asked for again. */
static void check_homa_data(struct nd_swarm *swarm, uint32_t host, const struct nd_packet *packet)
{
	struct nd_swarm_flow *flow = homa_flow(swarm, host, packet->homa.sender_id);
	uint64_t end = (uint64_t)packet->homa.offset + packet->payload_bytes;

	if (!flow)
		return;
	if (end > nd_max_u64(flow->allowed, homa_config(swarm)->rtt_bytes))
		nd_swarm_fail(swarm, "host %" PRIu32 " sends RPC %" PRIu64 " to byte %" PRIu64
			      ", allowed are %" PRIu64, host, packet->homa.sender_id, end,
			      nd_max_u64(flow->allowed, homa_config(swarm)->rtt_bytes));
	if (end > packet->homa.message_bytes)
		nd_swarm_fail(swarm, "host %" PRIu32 " sends beyond the end of RPC %" PRIu64, host,
			      packet->homa.sender_id);
}

/* R-H33-1, R-H35-2: a grant reaches at most a window beyond what has arrived. */
static void check_homa_grant(struct nd_swarm *swarm, uint32_t host, const struct nd_packet *packet)
{
	const struct nd_homa_config *config = homa_config(swarm);
	uint32_t sender = nd_swarm_host_of(swarm, packet->target);
	struct nd_swarm_flow *flow = homa_flow(swarm, sender, packet->homa.sender_id);
	uint64_t window = config->window_bytes;

	if (!flow)
		return;
	if (config->window_dynamic)
		window = config->max_incoming_bytes;
	else if (window == 0)
		window = config->rtt_bytes;
	window = nd_max_u64(window, config->mss_bytes);
	if (packet->homa.offset > flow->arrived + window)
		nd_swarm_fail(swarm, "host %" PRIu32 " grants RPC %" PRIu64 " to byte %" PRIu32
			      ", %" PRIu64 " have arrived and its window is %" PRIu64, host,
			      packet->homa.sender_id, packet->homa.offset, flow->arrived, window);
}

void nd_swarm_check_homa_sent(struct nd_swarm *swarm, uint32_t host,
			      const struct nd_packet *packet)
{
	if (packet->type == ND_HOMA_DATA)
		check_homa_data(swarm, host, packet);
	else if (packet->type == ND_HOMA_GRANT)
		check_homa_grant(swarm, host, packet);
}

void nd_swarm_check_homa_received(struct nd_swarm *swarm, uint32_t host,
				  const struct nd_packet *packet)
{
	uint32_t sender = nd_swarm_host_of(swarm, packet->source);
	bool data = packet->type == ND_HOMA_DATA;
	struct nd_swarm_flow *flow =
		homa_flow(swarm, data ? sender : host, packet->homa.sender_id);

	if (!flow)
		return;
	if (data && !(packet->marks & ND_MARK_TRIMMED))
		flow->arrived += packet->payload_bytes;
	if (packet->type == ND_HOMA_GRANT)
		flow->allowed = nd_max_u64(flow->allowed, packet->homa.offset);
	if (packet->type == ND_HOMA_RESEND && packet->homa.length != ND_HOMA_RESEND_ALL)
		flow->allowed = nd_max_u64(flow->allowed, (uint64_t)packet->homa.offset +
								  packet->homa.length);
}
