// SPDX-License-Identifier: Apache-2.0
/*
 * Outgoing messages: which one sends next (SRPT among those of one priority), and what its next DATA
 * packet is.
 *
 * A message is in the ready heaps exactly while it has something to send. Retransmissions are part
 * of their message: they compete by its remaining bytes, and go before its new data. Messages of
 * one packet are not in the heap by age: SRPT does not starve them.
 */
#include "transport/homa_internal.h"

static bool has_data(const struct nd_homa_rpc *rpc)
{
	const struct nd_homa_out *out = &rpc->out;

	return !(rpc->flags & RPC_PUT_OFF) &&
	       (out->resend_from < out->resend_to || out->sent < out->granted || !out->begun);
}

/* Of the messages with the highest priority the one with the fewest remaining bytes, then the oldest. */
static uint64_t srpt_key(const struct nd_homa *homa, const struct nd_homa_rpc *rpc)
{
	uint64_t remaining = (uint64_t)rpc->out.bytes - rpc->out.sent +
			     (rpc->out.resend_to - rpc->out.resend_from);
	uint64_t bytes = homa->config.by_length ? rpc->out.bytes : remaining;

	return (uint64_t)(ND_PRIORITY_MAX - rpc->priority) << 61 |
	       nd_min_u64(bytes, UINT32_MAX >> 3) << 32 | rpc->age;
}

static ND_NOINLINE void make_ready(struct nd_homa *homa, const struct nd_homa_rpc *rpc)
{
	nd_heap_set(&homa->ready, rpc->index, srpt_key(homa, rpc));
	if (homa->config.send_fifo_permille && rpc->out.bytes > homa->config.mss_bytes &&
	    !nd_heap_has(&homa->ready_oldest, rpc->index))
		nd_heap_set(&homa->ready_oldest, rpc->index, rpc->age);
}

static inline void update_ready(struct nd_homa *homa, const struct nd_homa_rpc *rpc)
{
	if (has_data(rpc))
		make_ready(homa, rpc);
	else
		nd_homa_out_end(homa, rpc);
}

void nd_homa_out_ready(struct nd_homa *homa, const struct nd_homa_rpc *rpc)
{
	update_ready(homa, rpc);
}

void nd_homa_out_begin(struct nd_homa *homa, struct nd_homa_rpc *rpc, const uint8_t *payload,
		       uint32_t bytes, uint32_t unscheduled)
{
	const struct nd_homa_peer *peer = nd_homa_peer_at(homa, rpc->peer);
	const uint32_t *cutoffs = peer->cutoffs;
	uint8_t priority = homa->config.first_priority;

	if (!peer->cutoff_version && homa->config.own_cutoffs_first)
		cutoffs = homa->cutoffs;
	if (peer->cutoff_version || homa->config.own_cutoffs_first)
		priority = nd_homa_cutoffs_priority(cutoffs, bytes);
	unscheduled = nd_min_u32(unscheduled, bytes);
	rpc->out = (struct nd_homa_out){
		.payload = payload,
		.bytes = bytes,
		.granted = unscheduled,
		.unscheduled = unscheduled,
		.unscheduled_priority = priority,
	};
	make_ready(homa, rpc);
}

/*
 * What a full server refused is offered by an empty packet: data that is refused again and again
 * would keep the network full and those RPCs from ending that have a place.
 */
void nd_homa_out_restart(struct nd_homa *homa, struct nd_homa_rpc *rpc)
{
	uint32_t unscheduled = rpc->refusals ? 0 : rpc->out.unscheduled;

	rpc->flags &= (uint16_t)~RPC_PUT_OFF;
	nd_homa_out_begin(homa, rpc, rpc->out.payload, rpc->out.bytes, unscheduled);
}

/* The first message, or the oldest one when its share has come together. */
static struct nd_homa_rpc *choose(struct nd_homa *homa)
{
	uint64_t price = (uint64_t)homa->config.mss_bytes * 1000;
	uint32_t chosen = nd_heap_id(&homa->ready);

	if (homa->ready_oldest.count && homa->send_fifo_credit >= price) {
		uint32_t oldest = nd_heap_id(&homa->ready_oldest);

		homa->send_fifo_credit -= price;
		homa->counters.fifo_packets += oldest != chosen;
		chosen = oldest;
	}
	return nd_homa_rpc_at(homa, chosen);
}

static void put_again(struct nd_homa *homa, struct nd_homa_rpc *rpc, struct nd_packet *packet)
{
	struct nd_homa_out *out = &rpc->out;
	uint32_t end = nd_min_u32(out->resend_to, out->resend_from + homa->config.mss_bytes);

	packet->homa.offset = out->resend_from;
	packet->homa.length = out->resend_to;
	packet->homa.retransmit = 1;
	packet->priority = out->resend_priority;
	packet->payload_bytes = (uint16_t)(end - out->resend_from);
	out->resend_from = end;
	homa->counters.data_resent++;
}

static void put_next(struct nd_homa *homa, struct nd_homa_rpc *rpc, struct nd_packet *packet)
{
	struct nd_homa_out *out = &rpc->out;
	bool unscheduled = out->sent < out->unscheduled || out->granted == 0;
	uint32_t limit = unscheduled ? out->unscheduled : out->granted;
	uint32_t bytes = nd_min_u32(limit - out->sent, homa->config.mss_bytes);

	packet->homa.offset = out->sent;
	packet->homa.length = out->unscheduled;
	packet->priority = unscheduled ? out->unscheduled_priority : out->granted_priority;
	packet->payload_bytes = (uint16_t)bytes;
	out->sent += bytes;
}

static void piggyback_ack(struct nd_homa *homa, struct nd_homa_peer *peer, struct nd_packet *packet)
{
	if (!peer->ack_count)
		return;
	peer->ack_count--;
	packet->homa.ack_count = 1;
	packet->homa.ack_ids[0] = peer->ack_ids[peer->ack_count];
	packet->homa.ack_ports[0] = peer->ack_ports[peer->ack_count];
	homa->counters.acks_piggybacked++;
}

static void finish_data(struct nd_homa *homa, struct nd_homa_rpc *rpc, struct nd_packet *packet)
{
	uint32_t bytes = packet->payload_bytes;

	packet->rank = rpc->out.bytes - packet->homa.offset;
	packet->priority = nd_homa_collapse(homa, packet->priority);
	packet->wire_bytes = (uint16_t)(homa->config.data_header_bytes + bytes);
	packet->header_bytes = packet->wire_bytes;
	packet->homa.source_port = rpc->own_port;
	packet->homa.target_port = rpc->peer_port;
	packet->homa.message_bytes = rpc->out.bytes;
	if (rpc->out.payload)
		packet->payload = rpc->out.payload + packet->homa.offset;
	if (rpc->flags & RPC_INCAST)
		packet->homa.note = ND_HOMA_NOTE_INCAST;
	homa->counters.data_sent++;
	homa->counters.data_bytes_sent += bytes;
	(&homa->counters.priority_bytes_0)[packet->priority] += packet->wire_bytes;
}

/* All of a message was sent, perhaps again. */
static void message_sent(struct nd_homa *homa, struct nd_homa_rpc *rpc, nd_ns now)
{
	if (rpc->state == ND_HOMA_REPLYING) {
		rpc->state = ND_HOMA_UNACKED;
		if (homa->config.at_least_once)
			nd_homa_rpc_close(homa, rpc, EVENT_SENT, 0, now);
	} else if (rpc->state == ND_HOMA_OUTGOING && homa->config.one_way) {
		nd_homa_rpc_close(homa, rpc, EVENT_RESPONSE, 0, now);
	}
}

void nd_homa_transmit_data(struct nd_homa *homa, struct nd_packet *packet, nd_ns now)
{
	struct nd_homa_rpc *rpc = choose(homa);
	struct nd_homa_peer *peer = nd_homa_peer_at(homa, rpc->peer);

	nd_homa_packet_start(homa, packet, peer->handle, rpc->id, ND_HOMA_DATA);
	packet->homa.cutoff_version = peer->cutoff_version;
	if (rpc->out.resend_from < rpc->out.resend_to)
		put_again(homa, rpc, packet);
	else
		put_next(homa, rpc, packet);
	rpc->out.begun = true;
	piggyback_ack(homa, peer, packet);
	finish_data(homa, rpc, packet);
	if (homa->ready_oldest.count)
		homa->send_fifo_credit +=
			(uint64_t)packet->payload_bytes * homa->config.send_fifo_permille;
	rpc->quiet_since = now;
	update_ready(homa, rpc);
	if (rpc->out.sent == rpc->out.bytes)
		message_sent(homa, rpc, now);
}
