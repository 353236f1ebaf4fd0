// SPDX-License-Identifier: Apache-2.0
/*
 * Credit of NDP (R-NTP-02): a packet is sent for a pull, or is one of the first window, or of the
 * first of a new train: behind a LAST the receiver pulls nothing, so what follows has a window of
 * its own; what is still on the wire defers as much of it until it is acknowledged. Beyond that only
 * what the engine itself counts as repair of a loss: what came back from a switch, and headers that
 * ask for a pull that got lost.
 */
#include "sim/swarm_check.h"

#include <stdlib.h>

#include "sim/swarm.h"
#include "transport/ndp.h"

#define SLOT 0

static const struct nd_ndp_config *ndp_config(const struct nd_swarm *swarm)
{
	return (const struct nd_ndp_config *)(const void *)swarm->configs[SLOT];
}

/* What a host sends on a connection. initiator: it is the one that connected. */
static struct nd_swarm_flow *ndp_flow(struct nd_swarm *swarm, uint32_t sender, uint32_t receiver,
				      uint32_t connection, bool initiator)
{
	uint64_t ends = (uint64_t)swarm->hosts[sender].incarnation << 8 | sender << 4 | receiver;
	uint64_t key = nd_mix64((uint64_t)connection << 1 | initiator) ^ nd_mix64(ends);
	struct nd_swarm_flow *flow = nd_swarm_check_flow(swarm, key);

	if (flow && !flow->seen) {
		flow->seen = calloc(1, ND_SWARM_SEQUENCES_MAX / 8);
		nd_assert(flow->seen != NULL);
		flow->allowed = ndp_config(swarm)->initial_window;
	}
	return flow;
}

/* Packets that the engine says it has sent without a pull, to repair a loss. */
static uint64_t repairs(const struct nd_swarm *swarm, uint32_t host)
{
	const struct nd_swarm_endpoint *endpoint = &swarm->hosts[host].endpoints[SLOT];
	const struct nd_ndp_counters *counters =
		(const void *)endpoint->protocol->ops->counters(endpoint->memory);

	return counters->timeouts + counters->bounces_resent + counters->solicits_sent +
	       counters->keepalives_sent;
}

static void note_excess(struct nd_swarm *swarm, uint32_t host)
{
	struct nd_swarm_check *check = &swarm->check;

	if (check->ndp_incarnation[host] != swarm->hosts[host].incarnation) {
		check->ndp_incarnation[host] = swarm->hosts[host].incarnation;
		check->ndp_excess[host] = 0;
	}
	if (++check->ndp_excess[host] > repairs(swarm, host))
		nd_swarm_fail(swarm, "host %" PRIu32 " has sent %" PRIu64
			      " packets without a pull, only %" PRIu64 " of them as repairs", host,
			      check->ndp_excess[host], repairs(swarm, host));
}

/*
 * A new packet behind a LAST begins a train. Its window was reckoned when the message was submitted:
 * pulls that came since are its own, beside those that come later.
 */
static void note_train(const struct nd_swarm *swarm, struct nd_swarm_flow *flow,
		       const struct nd_packet *packet)
{
	uint32_t window = ndp_config(swarm)->initial_window;
	uint64_t outstanding = flow->next - flow->acked;

	if (packet->ndp.sequence < flow->next)
		return;
	if (flow->ended) {
		flow->train = packet->ndp.sequence;
		flow->deferred = (uint32_t)nd_min_u64(outstanding, window);
	}
	if (flow->ended && outstanding < window)
		flow->allowed = nd_max_u64(flow->allowed, flow->sent + window - outstanding +
								  flow->pulled_since);
	flow->pulled_since = 0;
	flow->ended = packet->flags & ND_NDP_FLAG_LAST;
}

void nd_swarm_check_ndp_sent(struct nd_swarm *swarm, uint32_t host, const struct nd_packet *packet)
{
	struct nd_swarm_flow *flow;

	if (packet->type != ND_NDP_DATA)
		return;
	flow = ndp_flow(swarm, host, nd_swarm_host_of(swarm, packet->target),
			packet->ndp.connection, !(packet->flags & ND_NDP_FLAG_REPLY));
	if (!flow)
		return;
	note_train(swarm, flow, packet);
	flow->next = nd_max_u32(flow->next, packet->ndp.sequence + 1);
	if (flow->sent == flow->allowed)
		note_excess(swarm, host);
	else
		flow->sent++;
}

static void note_ack(struct nd_swarm_flow *flow, uint32_t sequence)
{
	uint8_t bit = (uint8_t)(1u << sequence % 8);

	if (sequence >= ND_SWARM_SEQUENCES_MAX || flow->seen[sequence / 8] & bit)
		return;
	flow->seen[sequence / 8] |= bit;
	flow->acked++;
	if (flow->deferred && sequence < flow->train) {
		flow->deferred--;
		flow->allowed++;
	}
}

/* An answer says of all below a number that they have arrived. */
static void note_arrived(struct nd_swarm_flow *flow, uint32_t arrived)
{
	if (arrived > flow->next)
		return;
	for (; flow->base < arrived; flow->base++)
		note_ack(flow, flow->base);
}

void nd_swarm_check_ndp_received(struct nd_swarm *swarm, uint32_t host,
				 const struct nd_packet *packet)
{
	bool pull = packet->type == ND_NDP_PULL || packet->flags & ND_NDP_FLAG_PULL;
	struct nd_swarm_flow *flow;
	int32_t more;

	if (packet->type == ND_NDP_DATA)
		return;
	flow = ndp_flow(swarm, host, nd_swarm_host_of(swarm, packet->source),
			packet->ndp.connection, packet->flags & ND_NDP_FLAG_REPLY);
	if (!flow)
		return;
	if (packet->type == ND_NDP_ACK)
		note_ack(flow, packet->ndp.sequence);
	if (packet->type == ND_NDP_ACK || packet->type == ND_NDP_NACK)
		note_arrived(flow, packet->ndp.arrived);
	more = pull ? nd_newer_u32(packet->ndp.pull, flow->pulled) : 0;
	if (more > 0) {
		flow->pulled = packet->ndp.pull;
		flow->allowed += (uint32_t)more;
		flow->pulled_since += (uint32_t)more;
	}
}
