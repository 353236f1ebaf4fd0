// SPDX-License-Identifier: Apache-2.0
/* Control packets: composed when the NIC takes them, from what their RPC says then. */
#include "transport/homa_internal.h"

#include <string.h>

/* RESEND asks for the highest priority, as HomaModule does. */
#define RESEND_PRIORITY 7

void nd_homa_reply(struct nd_homa *homa, const struct nd_homa_reply *reply)
{
	uint32_t at = homa->reply_first + homa->reply_count;

	if (homa->reply_count == homa->config.replies_max) {
		homa->counters.replies_dropped++;
		return;
	}
	if (at >= homa->config.replies_max)
		at -= homa->config.replies_max;
	homa->replies[at] = *reply;
	homa->reply_count++;
}

static void finish_control(struct nd_homa *homa, struct nd_packet *packet)
{
	packet->marks |= ND_MARK_CONTROL;
	packet->wire_bytes = (uint16_t)homa->config.control_bytes;
	packet->header_bytes = packet->wire_bytes;
	packet->priority = nd_homa_collapse(homa, ND_HOMA_PRIORITIES - 1);
	(&homa->counters.priority_bytes_0)[packet->priority] += packet->wire_bytes;
}

static bool put_resend(struct nd_homa *homa, const struct nd_homa_rpc *rpc,
		       struct nd_packet *packet)
{
	uint32_t start = 0;
	uint32_t end = 0;

	packet->type = ND_HOMA_RESEND;
	packet->homa.level = RESEND_PRIORITY;
	if (rpc->in.begun) {
		nd_homa_in_missing(homa, rpc, &start, &end);
		if (start == end)
			return false;
		packet->homa.offset = start;
		packet->homa.length = end - start;
	} else {
		packet->homa.length = ND_HOMA_RESEND_ALL;
	}
	homa->counters.resends_sent++;
	return true;
}

/* False when the packet is no longer needed. */
static bool put_rpc_control(struct nd_homa *homa, const struct nd_homa_rpc *rpc, uint8_t control,
			    struct nd_packet *packet)
{
	switch (control) {
	case CONTROL_RESEND:
		return put_resend(homa, rpc, packet);
	case CONTROL_BUSY:
		packet->type = ND_HOMA_BUSY;
		homa->counters.busys_sent++;
		return true;
	case CONTROL_GRANT:
		packet->type = ND_HOMA_GRANT;
		packet->homa.offset = rpc->in.granted;
		packet->homa.level = rpc->in.level;
		homa->counters.grants_sent++;
		return true;
	default:
		packet->type = ND_HOMA_NEED_ACK;
		homa->counters.need_acks_sent++;
		return true;
	}
}

static bool transmit_rpc_control(struct nd_homa *homa, struct nd_packet *packet)
{
	while (homa->lists[LIST_CONTROL].first != ND_NONE) {
		struct nd_homa_rpc *rpc = nd_homa_rpc_at(homa, homa->lists[LIST_CONTROL].first);
		uint8_t control = (uint8_t)(rpc->control & -rpc->control);

		nd_homa_packet_start(homa, packet, nd_homa_peer_at(homa, rpc->peer)->handle,
				     rpc->id, 0);
		packet->homa.source_port = rpc->own_port;
		packet->homa.target_port = rpc->peer_port;
		nd_homa_control_drop(homa, rpc, control);
		if (put_rpc_control(homa, rpc, control, packet))
			return true;
	}
	return false;
}

static void put_queued_acks(struct nd_homa *homa, struct nd_packet *packet)
{
	struct nd_homa_peer *peer = nd_homa_peer_find(homa, packet->target);

	homa->counters.acks_sent++;
	if (!peer)
		return;
	packet->homa.ack_count = peer->ack_count;
	memcpy(packet->homa.ack_ids, peer->ack_ids, sizeof(peer->ack_ids));
	memcpy(packet->homa.ack_ports, peer->ack_ports, sizeof(peer->ack_ports));
	peer->ack_count = 0;
}

static void put_reply(struct nd_homa *homa, const struct nd_homa_reply *reply,
		      struct nd_packet *packet)
{
	nd_homa_packet_start(homa, packet, reply->peer, reply->id, reply->type);
	packet->homa.source_port = reply->own_port;
	packet->homa.target_port = reply->peer_port;
	packet->homa.note = reply->note;
	if (reply->type == ND_HOMA_CUTOFFS) {
		memcpy(packet->homa.cutoffs, homa->cutoffs, sizeof(homa->cutoffs));
		packet->homa.cutoff_version = homa->cutoff_version;
		homa->counters.cutoffs_sent++;
	} else if (reply->type == ND_HOMA_ACK) {
		put_queued_acks(homa, packet);
	} else if (reply->type == ND_HOMA_RESEND) {
		/* Where nothing goes unscheduled: to ask for no bytes is answered by BUSY. */
		packet->homa.length = nd_max_u32(homa->config.rtt_bytes, homa->config.mss_bytes);
		packet->homa.level = RESEND_PRIORITY;
		homa->counters.resends_sent++;
	} else {
		homa->counters.unknowns_sent++;
	}
}

bool nd_homa_transmit_control(struct nd_homa *homa, struct nd_packet *packet)
{
	if (!transmit_rpc_control(homa, packet)) {
		if (!homa->reply_count)
			return false;
		put_reply(homa, &homa->replies[homa->reply_first], packet);
		if (++homa->reply_first == homa->config.replies_max)
			homa->reply_first = 0;
		homa->reply_count--;
	}
	finish_control(homa, packet);
	return true;
}
