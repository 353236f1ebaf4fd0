// SPDX-License-Identifier: Apache-2.0
/* DATA: opens a request, adds to a message, completes it. */
#include "transport/homa_internal.h"

#include <errno.h>

/* One answer to the packets that a client sends unasked is enough: the first one's. */
static void refuse_full(struct nd_homa *homa, const struct nd_packet *packet)
{
	homa->counters.rpcs_refused++;
	if (packet->homa.offset == 0)
		nd_homa_receive_full(homa, packet);
}

/* Why a request may not be opened; true when something was said or counted. */
static bool refuse(struct nd_homa *homa, const struct nd_homa_peer *peer, uint32_t app,
		   const struct nd_packet *packet, uint32_t known, nd_ns now)
{
	struct nd_homa_counters *counters = &homa->counters;
	uint64_t id = packet->homa.sender_id | 1;

	if (nd_homa_done_is(homa, known, peer->handle, id, now)) {
		counters->duplicate_requests++;
		return true;
	}
	if (nd_homa_done_stale(homa, peer, id, now)) {
		counters->stale_requests++;
		nd_homa_receive_unknown(homa, packet, ND_HOMA_RPC_UNKNOWN, ND_HOMA_NOTE_DONE);
		return true;
	}
	if (packet->homa.message_bytes > homa->config.message_bytes_max) {
		counters->message_too_long++;
		nd_homa_receive_unknown(homa, packet, ND_HOMA_RPC_UNKNOWN, ND_HOMA_NOTE_TOO_LONG);
		return true;
	}
	if (!nd_homa_rpc_room(homa, peer, app)) {
		refuse_full(homa, packet);
		return true;
	}
	return false;
}

static struct nd_homa_rpc *open_request(struct nd_homa *homa, struct nd_homa_peer *peer,
					const struct nd_packet *packet,
					struct nd_map_slot *slot, nd_ns now)
{
	uint32_t app = nd_map_get(&homa->ports, packet->homa.target_port);
	struct nd_homa_rpc *rpc;

	if (app == ND_NONE) {
		homa->counters.unknown_ports++;
		if (packet->homa.speaker == ND_HOMA_SPEAKER)
			nd_homa_receive_unknown(homa, packet, ND_HOMA_RPC_UNKNOWN,
						ND_HOMA_NOTE_NO_PORT);
		return NULL;
	}
	if (refuse(homa, peer, app, packet, slot->value, now))
		return NULL;
	rpc = nd_homa_rpc_accept(homa, peer, packet->homa.sender_id | 1, slot, now);
	if (!rpc) {
		refuse_full(homa, packet);
		return NULL;
	}
	nd_homa_rpc_own(homa, rpc, (uint16_t)app);
	rpc->own_port = packet->homa.target_port;
	rpc->peer_port = packet->homa.source_port;
	return rpc;
}

/* The RPC that the packet adds to, or NULL when it is to be dropped. */
static struct nd_homa_rpc *find_message(struct nd_homa *homa, struct nd_homa_peer *peer,
					const struct nd_packet *packet, nd_ns now)
{
	uint64_t id = packet->homa.sender_id ^ 1;
	struct nd_map_slot *slot;
	struct nd_homa_rpc *rpc;

	if (!(id & 1)) {
		rpc = nd_homa_rpc_find(homa, packet->source, id);
		if (!rpc)
			homa->counters.unknown_responses++;
		return rpc;
	}
	slot = nd_map_slot_of(&homa->known, nd_homa_key(homa, packet->source, id));
	rpc = nd_homa_rpc_open(homa, slot->value, packet->source, id);
	if (!rpc)
		return open_request(homa, peer, packet, slot, now);
	if (rpc->state == ND_HOMA_INCOMING)
		return rpc;
	homa->counters.duplicate_bytes += packet->payload_bytes;
	return NULL;
}

static void note_mismatch(struct nd_homa *homa, struct nd_homa_peer *peer,
			  const struct nd_homa_rpc *rpc, const struct nd_homa_header *header)
{
	if (header->length == header->message_bytes ||
	    header->length == nd_homa_peer_rtt_bytes(homa, peer) || !header->length ||
	    peer->mismatch || header->retransmit || rpc->flags & RPC_INCAST)
		return;
	peer->mismatch = true;
	homa->counters.parameter_mismatch++;
}

static void begin(struct nd_homa *homa, struct nd_homa_peer *peer, struct nd_homa_rpc *rpc,
		  const struct nd_homa_header *header, nd_ns now)
{
	uint32_t bytes = header->message_bytes;

	if (nd_homa_is_server(rpc) && header->note == ND_HOMA_NOTE_INCAST)
		rpc->flags |= RPC_INCAST;
	note_mismatch(homa, peer, rpc, header);
	if (header->length > homa->config.unscheduled_max_bytes)
		homa->counters.claims_clamped++;
	rpc->state = ND_HOMA_INCOMING;
	nd_homa_in_begin(homa, rpc, bytes);
	nd_homa_cutoffs_note(homa, bytes, nd_min_u32(bytes, nd_homa_peer_rtt_bytes(homa, peer)),
			     now);
}

/*
 * What the sender says that it will send, and what it has sent, needs no grant (some peers know
 * none). False for bytes so far ahead that they can only be meant to use up our budget.
 */
static bool raise_granted(struct nd_homa *homa, struct nd_homa_rpc *rpc,
			  const struct nd_packet *packet)
{
	uint32_t claim = nd_min_u32(packet->homa.length, homa->config.unscheduled_max_bytes);
	uint32_t end = packet->payload_bytes ? packet->homa.offset + packet->payload_bytes : 0;

	rpc->in.granted = nd_max_u32(rpc->in.granted, nd_min_u32(claim, rpc->in.bytes));
	if (end <= rpc->in.granted)
		return true;
	if (end - rpc->in.granted > homa->config.unscheduled_max_bytes) {
		homa->counters.ungranted_dropped++;
		return false;
	}
	homa->counters.ungranted_bytes += end - rpc->in.granted;
	rpc->in.granted = end;
	return true;
}

static void request_complete(struct nd_homa *homa, struct nd_homa_rpc *rpc)
{
	rpc->state = ND_HOMA_SERVICE;
	rpc->flags |= homa->config.at_least_once ? RPC_DELIVERED : RPC_DELIVERED | RPC_REMEMBER;
	if (rpc->in.memory)
		rpc->flags |= RPC_LEASED;
	nd_heap_remove(&homa->timers, rpc->index);
	nd_homa_control_drop(homa, rpc, CONTROL_RESEND | CONTROL_GRANT);
	nd_homa_grant_remove(homa, rpc);
	homa->counters.requests_received++;
	nd_homa_rpc_event(homa, rpc, EVENT_REQUEST);
}

static void response_complete(struct nd_homa *homa, struct nd_homa_peer *peer,
			      struct nd_homa_rpc *rpc, nd_ns now)
{
	if (rpc->in.memory)
		rpc->flags |= RPC_LEASED;
	if (!homa->config.at_least_once)
		nd_homa_peer_ack(homa, peer, rpc->id, rpc->own_port, rpc->peer_port);
	homa->counters.responses_received++;
	nd_homa_rpc_close(homa, rpc, EVENT_RESPONSE, 0, now);
}

/* Requests of one packet, which are most, never need a timer before their reply. */
static void watch(struct nd_homa *homa, struct nd_homa_rpc *rpc, nd_ns now)
{
	if (!nd_heap_has(&homa->timers, rpc->index))
		nd_homa_timer_start(homa, rpc, now);
}

/* A message without a gap can only use what comes next, and asks for that alone. */
static void go_on_gapless(struct nd_homa *homa, struct nd_homa_rpc *rpc, uint32_t added)
{
	if (rpc->in.end >= rpc->in.granted)
		rpc->flags &= (uint16_t)~RPC_GAPLESS;
	else if (added)
		nd_homa_control_want(homa, rpc, CONTROL_RESEND);
}

static void store(struct nd_homa *homa, struct nd_homa_rpc *rpc, const struct nd_packet *packet)
{
	uint32_t added = nd_homa_in_add(homa, rpc, packet->homa.offset, packet->payload_bytes,
					packet->payload);

	homa->counters.data_bytes_received += added;
	if (rpc->flags & RPC_GAPLESS)
		go_on_gapless(homa, rpc, added);
}

static void add_part(struct nd_homa *homa, struct nd_homa_rpc *rpc, const struct nd_packet *packet)
{
	bool granted = raise_granted(homa, rpc, packet);
	uint32_t received = rpc->in.received;

	if (rpc->flags & RPC_STARVED)
		homa->counters.memory_dropped_bytes += packet->payload_bytes;
	else if (granted)
		store(homa, rpc, packet);
	if (rpc->in.received != received)
		rpc->flags &= (uint16_t)~RPC_IDLE;
	else if (!(rpc->flags & RPC_STARVED))
		rpc->flags |= RPC_IDLE;
	nd_homa_in_account(homa, rpc);
}

/* Most messages are one packet: nothing of them is ever granted, counted or missing. */
static bool is_whole(const struct nd_homa_rpc *rpc, const struct nd_packet *packet)
{
	return packet->payload_bytes == rpc->in.bytes && !rpc->in.granted &&
	       !(rpc->flags & RPC_STARVED);
}

static void add_whole(struct nd_homa *homa, struct nd_homa_rpc *rpc, const struct nd_packet *packet)
{
	rpc->in.granted = rpc->in.bytes;
	homa->counters.data_bytes_received += nd_homa_in_add(homa, rpc, 0, rpc->in.bytes,
							     packet->payload);
}

static void add(struct nd_homa *homa, struct nd_homa_peer *peer, struct nd_homa_rpc *rpc,
		const struct nd_packet *packet, nd_ns now)
{
	if (is_whole(rpc, packet))
		add_whole(homa, rpc, packet);
	else
		add_part(homa, rpc, packet);
	if (rpc->in.received < rpc->in.bytes) {
		watch(homa, rpc, now);
		nd_homa_grant_update(homa, rpc);
	} else if (nd_homa_is_server(rpc)) {
		request_complete(homa, rpc);
	} else {
		response_complete(homa, peer, rpc, now);
	}
}

static bool plausible(struct nd_homa *homa, const struct nd_packet *packet)
{
	const struct nd_homa_header *header = &packet->homa;

	if (packet->payload_bytes > header->message_bytes ||
	    header->offset > header->message_bytes - packet->payload_bytes ||
	    packet->marks & ND_MARK_TRIMMED) {
		homa->counters.bad_length++;
		return false;
	}
	if (header->ack_count > 1) {
		homa->counters.bad_ack++;
		return false;
	}
	return true;
}

/* A response goes to an RPC that names its peer: from a new one this is a request, or old. */
static struct nd_homa_peer *meet(struct nd_homa *homa, const struct nd_packet *packet, nd_ns now)
{
	struct nd_homa_peer *peer = nd_homa_peer_make(homa, packet->source, now);

	if (peer)
		peer->make = nd_homa_make_of(&packet->homa);
	else if (!(packet->homa.sender_id & 1) && packet->homa.offset == 0)
		nd_homa_receive_full(homa, packet);
	return peer;
}

void nd_homa_receive_data(struct nd_homa *homa, struct nd_homa_peer *peer,
			  const struct nd_packet *packet, nd_ns now)
{
	const struct nd_homa_header *header = &packet->homa;
	struct nd_homa_rpc *rpc;

	homa->counters.data_received++;
	if (!plausible(homa, packet))
		return;
	if (!peer)
		peer = meet(homa, packet, now);
	if (!peer)
		return;
	if (header->ack_count)
		nd_homa_receive_ack(homa, peer, header->ack_ids[0], now);
	rpc = find_message(homa, peer, packet, now);
	if (!rpc)
		return;
	if (rpc->in.begun && header->message_bytes != rpc->in.bytes) {
		homa->counters.bad_length++;
		return;
	}
	if (!rpc->in.begun && header->message_bytes > homa->config.message_bytes_max) {
		homa->counters.message_too_long++;
		nd_homa_fail(homa, rpc, -EMSGSIZE, now);
		return;
	}
	if (!rpc->in.begun)
		begin(homa, peer, rpc, header, now);
	nd_homa_rpc_alive(homa, rpc, now);
	nd_homa_cutoffs_check(homa, peer, rpc, header->cutoff_version, now);
	add(homa, peer, rpc, packet, now);
}
