// SPDX-License-Identifier: Apache-2.0
/* ACK, NACK, PULL and CLOSE out: a queue for the NIC, and the pulls that the pacer releases. */
#include "transport/ndp_internal.h"

#define CONTROL_PRIORITY 7

/* A place in the queue, or NULL when it is full: the packet is dropped and counted. */
static struct nd_ndp_control *push(struct nd_ndp *ndp)
{
	if (nd_ndp_control_is_full(ndp)) {
		ndp->counters.control_full++;
		return NULL;
	}
	return &ndp->control[ndp->control_tail++ & ndp->control_mask];
}

/* A control packet of a connection, with the pull counter as it is. */
static void push_own(struct nd_ndp *ndp, const struct nd_ndp_connection *connection, uint8_t type,
		     uint32_t sequence)
{
	struct nd_ndp_control *control = push(ndp);

	if (!control)
		return;
	*control = (struct nd_ndp_control){
		.peer = connection->peer,
		.address = nd_ndp_peer_at(ndp, connection->peer)->address,
		.connection = connection->id,
		.sequence = sequence,
		.pull = connection->pulled,
		.arrived = connection->arrived,
		.flow = connection->flow,
		.type = type,
		.flags = connection->accepted ? ND_NDP_FLAG_REPLY : 0,
	};
}

void nd_ndp_control_answer(struct nd_ndp *ndp, const struct nd_ndp_connection *connection,
			   uint8_t type, uint32_t sequence)
{
	push_own(ndp, connection, type, sequence);
}

void nd_ndp_control_pull(struct nd_ndp *ndp, const struct nd_ndp_connection *connection)
{
	push_own(ndp, connection, ND_NDP_PULL, 0);
}

void nd_ndp_control_close(struct nd_ndp *ndp, const struct nd_ndp_connection *connection,
			  uint32_t reason)
{
	push_own(ndp, connection, ND_NDP_CLOSE, reason);
}

void nd_ndp_control_refuse(struct nd_ndp *ndp, const struct nd_packet *packet, uint32_t reason)
{
	struct nd_ndp_control *control = push(ndp);

	if (!control)
		return;
	*control = (struct nd_ndp_control){
		.peer = ND_NONE,
		.address = packet->source,
		.connection = packet->ndp.connection,
		.sequence = reason,
		.flow = nd_ndp_flow(packet->source, packet->ndp.connection),
		.type = ND_NDP_CLOSE,
		/* Whoever connected hears from the one who would have accepted, and the reverse. */
		.flags = packet->flags & ND_NDP_FLAG_REPLY ? 0 : ND_NDP_FLAG_REPLY,
	};
}

static void count(struct nd_ndp *ndp, uint8_t type)
{
	switch (type) {
	case ND_NDP_ACK:
		ndp->counters.acks_sent++;
		break;
	case ND_NDP_NACK:
		ndp->counters.nacks_sent++;
		break;
	case ND_NDP_PULL:
		ndp->counters.pulls_sent++;
		break;
	default:
		ndp->counters.closes_sent++;
		break;
	}
}

bool nd_ndp_control_transmit(struct nd_ndp *ndp, struct nd_packet *packet)
{
	const struct nd_ndp_control *control;

	if (ndp->control_head == ndp->control_tail)
		return false;
	control = &ndp->control[ndp->control_head++ & ndp->control_mask];
	nd_ndp_address(ndp, packet, control->address, control->connection, control->flow);
	packet->type = control->type;
	packet->flags = control->flags;
	packet->priority = CONTROL_PRIORITY;
	packet->marks = ND_MARK_CONTROL;
	packet->wire_bytes = (uint16_t)ndp->config.control_bytes;
	packet->header_bytes = packet->wire_bytes;
	packet->path = nd_ndp_peer_control_path(ndp, control->peer);
	packet->ndp.sequence = control->sequence;
	packet->ndp.pull = control->pull;
	/* Both are cumulative, so every answer repairs the pulls and ACKs that were lost before it. */
	if (control->type == ND_NDP_ACK || control->type == ND_NDP_NACK) {
		packet->flags |= ND_NDP_FLAG_PULL;
		packet->ndp.arrived = control->arrived;
	}
	count(ndp, control->type);
	return true;
}

void nd_ndp_control_release(struct nd_ndp *ndp, struct nd_ndp_connection *connection, nd_ns now)
{
	connection->pulled++;
	connection->active = now;
	connection->repulls = 0;
	nd_ndp_control_pull(ndp, connection);
}

void nd_ndp_control_pace(struct nd_ndp *ndp, nd_ns now)
{
	while (nd_pull_due(&ndp->pull) <= now && !nd_ndp_control_is_full(ndp))
		nd_ndp_control_release(
			ndp, nd_ndp_connection_at(ndp, nd_pull_take(&ndp->pull, now)), now);
}
