// SPDX-License-Identifier: Apache-2.0
/* Incoming packets by type; DATA is in homa_receive_data.c. */
#include "transport/homa_internal.h"

#include <errno.h>
#include <string.h>

typedef void receiver(struct nd_homa *homa, struct nd_homa_peer *peer,
		      const struct nd_packet *packet, nd_ns now);

static struct nd_homa_rpc *find(const struct nd_homa *homa, const struct nd_packet *packet)
{
	return nd_homa_rpc_find(homa, packet->source, packet->homa.sender_id ^ 1);
}

void nd_homa_receive_unknown(struct nd_homa *homa, const struct nd_packet *packet, uint8_t type,
			     uint8_t note)
{
	nd_homa_reply(homa, &(struct nd_homa_reply){
		.id = packet->homa.sender_id ^ 1,
		.peer = packet->source,
		.own_port = packet->homa.target_port,
		.peer_port = packet->homa.source_port,
		.type = type,
		.note = note,
	});
}

void nd_homa_receive_full(struct nd_homa *homa, const struct nd_packet *packet)
{
	if (packet->homa.speaker == ND_HOMA_SPEAKER)
		nd_homa_receive_unknown(homa, packet, ND_HOMA_RPC_UNKNOWN, ND_HOMA_NOTE_FULL);
}

static bool is_sending(const struct nd_homa_rpc *rpc)
{
	return !nd_homa_is_server(rpc) || rpc->state == ND_HOMA_REPLYING ||
	       rpc->state == ND_HOMA_UNACKED;
}

static void receive_grant(struct nd_homa *homa, struct nd_homa_peer *peer,
			  const struct nd_packet *packet, nd_ns now)
{
	struct nd_homa_rpc *rpc = find(homa, packet);

	(void)peer;
	homa->counters.grants_received++;
	if (!rpc || !is_sending(rpc)) {
		homa->counters.unknown_grants++;
		return;
	}
	nd_homa_rpc_alive(homa, rpc, now);
	rpc->out.granted = nd_max_u32(rpc->out.granted,
				      nd_min_u32(packet->homa.offset, rpc->out.bytes));
	rpc->out.granted_priority = packet->homa.level & (ND_HOMA_PRIORITIES - 1);
	nd_homa_out_ready(homa, rpc);
}

/* Joins the range to the one that waits; one apart from it will be asked for again. */
static void resend(struct nd_homa *homa, struct nd_homa_rpc *rpc, uint32_t from, uint32_t to,
		   uint8_t priority)
{
	struct nd_homa_out *out = &rpc->out;

	if (out->resend_from >= out->resend_to) {
		out->resend_from = from;
		out->resend_to = to;
	} else if (from <= out->resend_to && to >= out->resend_from) {
		out->resend_from = nd_min_u32(out->resend_from, from);
		out->resend_to = nd_max_u32(out->resend_to, to);
	}
	out->resend_priority = priority & (ND_HOMA_PRIORITIES - 1);
	nd_homa_out_ready(homa, rpc);
}

static void answer_resend(struct nd_homa *homa, struct nd_homa_rpc *rpc,
			  const struct nd_homa_header *header)
{
	struct nd_homa_out *out = &rpc->out;
	uint64_t end = (uint64_t)header->offset + header->length;

	if (header->length == ND_HOMA_RESEND_ALL)
		end = nd_max_u32(out->sent, header->offset);
	end = nd_min_u64(end, out->bytes);
	if (end > out->granted) {
		out->granted = (uint32_t)end;
		nd_homa_out_ready(homa, rpc);
	}
	end = nd_min_u64(end, out->sent);
	if (header->offset < end) {
		resend(homa, rpc, header->offset, (uint32_t)end, header->level);
	} else if (out->begun && !out->sent) {
		out->begun = false;
		nd_homa_out_ready(homa, rpc);
	} else {
		nd_homa_control_want(homa, rpc, CONTROL_BUSY);
	}
	/* The answer may have to wait for messages that go first: that is not to look like silence. */
	if (homa->ready.count > 1)
		nd_homa_control_want(homa, rpc, CONTROL_BUSY);
}

/* What has run is not asked for again, it would run again. */
static void answer_unknown_resend(struct nd_homa *homa, const struct nd_homa_peer *peer,
				  const struct nd_packet *packet, nd_ns now)
{
	uint64_t id = packet->homa.sender_id ^ 1;
	bool is_request = id & 1;
	uint32_t app = nd_map_get(&homa->ports, packet->homa.target_port);

	if (is_request && nd_homa_done_has(homa, packet->source, id, now))
		nd_homa_receive_unknown(homa, packet, ND_HOMA_RPC_UNKNOWN, ND_HOMA_NOTE_DONE);
	else if (is_request && !nd_homa_rpc_room(homa, peer, app))
		nd_homa_receive_full(homa, packet);
	else if (is_request && homa->config.unknown_resend)
		nd_homa_receive_unknown(homa, packet, ND_HOMA_RESEND, 0);
	else
		nd_homa_receive_unknown(homa, packet, ND_HOMA_RPC_UNKNOWN, ND_HOMA_NOTE_NONE);
}

/* Who asks from the start need not have the RPC: see unknown_resend. */
static void asked_by_server(struct nd_homa *homa, struct nd_homa_rpc *rpc, uint32_t offset)
{
	if (offset)
		nd_homa_rpc_heard(homa, rpc);
	else
		nd_homa_rpc_resume(homa, rpc);
}

static void receive_resend(struct nd_homa *homa, struct nd_homa_peer *peer,
			   const struct nd_packet *packet, nd_ns now)
{
	struct nd_homa_rpc *rpc = find(homa, packet);

	homa->counters.resends_received++;
	if (!rpc) {
		answer_unknown_resend(homa, peer, packet, now);
	} else if (is_sending(rpc)) {
		if (nd_homa_is_server(rpc))
			nd_homa_rpc_alive(homa, rpc, now);
		else
			asked_by_server(homa, rpc, packet->homa.offset);
		answer_resend(homa, rpc, &packet->homa);
	} else {
		nd_homa_control_want(homa, rpc, CONTROL_BUSY);
	}
}

static int error_of_note(const struct nd_homa *homa, const struct nd_homa_rpc *rpc, uint8_t note)
{
	if (note == ND_HOMA_NOTE_DONE)
		return -ECONNRESET;
	if (note == ND_HOMA_NOTE_NO_PORT)
		return -ECONNREFUSED;
	if (note == ND_HOMA_NOTE_TOO_LONG ||
	    !nd_homa_peer_takes(nd_homa_peer_at(homa, rpc->peer), rpc->out.bytes))
		return -EMSGSIZE;
	return 0;
}

static void end_unknown(struct nd_homa *homa, struct nd_homa_rpc *rpc, int error, nd_ns now)
{
	if (error == -ECONNRESET)
		homa->counters.rpcs_peer_lost++;
	else if (error == -ECONNREFUSED)
		homa->counters.rpcs_peer_refused++;
	else
		homa->counters.others_too_long++;
	nd_homa_rpc_close(homa, rpc, EVENT_FAILED, error, now);
}

/* The parts of a response that is to be made once more: the next one need not have the same bytes. */
static void forget_response(struct nd_homa *homa, struct nd_homa_rpc *rpc)
{
	rpc->state = ND_HOMA_OUTGOING;
	nd_homa_in_end(homa, rpc);
	rpc->in.granted = rpc->in.received;
	nd_homa_in_account(homa, rpc);
	rpc->in = (struct nd_homa_in){ .gaps = ND_NONE };
	rpc->flags &= (uint16_t)~(RPC_QUIET | RPC_GAPLESS | RPC_IDLE);
}

static void start_over(struct nd_homa *homa, struct nd_homa_rpc *rpc, uint8_t note, nd_ns now)
{
	if (note == ND_HOMA_NOTE_FULL) {
		nd_homa_put_off(homa, rpc, now);
	} else {
		if (rpc->flags & RPC_ASKED)
			rpc->flags |= RPC_UNPASSED;
		homa->counters.requests_restarted++;
		nd_homa_out_restart(homa, rpc);
	}
}

/*
 * The server does not have our RPC. If it never had, the request starts again. If it had, the
 * request may have run: unless twice is fine, the RPC fails, once the server says so again in
 * answer to a later question (a first answer can be older than what we heard since).
 */
static void server_lost_rpc(struct nd_homa *homa, struct nd_homa_rpc *rpc, uint8_t note, nd_ns now)
{
	bool complete = rpc->out.begun && rpc->out.sent == rpc->out.bytes;
	bool may_have_run = rpc->state == ND_HOMA_INCOMING || (rpc->flags & RPC_HEARD && complete);
	int error = error_of_note(homa, rpc, note);

	if (error) {
		end_unknown(homa, rpc, error, now);
	} else if (homa->config.at_least_once || !may_have_run) {
		if (rpc->state == ND_HOMA_INCOMING)
			forget_response(homa, rpc);
		start_over(homa, rpc, note, now);
	} else if (rpc->flags & RPC_DOUBTED && rpc->flags & RPC_ASKED) {
		end_unknown(homa, rpc, -ECONNRESET, now);
	} else if (!(rpc->flags & RPC_DOUBTED)) {
		rpc->flags |= RPC_DOUBTED;
		rpc->flags &= (uint16_t)~RPC_ASKED;
	}
}

static void acked(struct nd_homa *homa, struct nd_homa_rpc *rpc, nd_ns now)
{
	homa->counters.rpcs_acked++;
	nd_homa_rpc_close(homa, rpc, EVENT_SENT, 0, now);
}

/* Late packets of a request that the client gave up must not start it again. */
static void client_ended(struct nd_homa *homa, struct nd_homa_rpc *rpc, nd_ns now)
{
	bool delivered = rpc->flags & RPC_DELIVERED;

	if (!homa->config.at_least_once)
		rpc->flags |= RPC_REMEMBER;
	homa->counters.rpcs_peer_cancelled++;
	nd_homa_rpc_close(homa, rpc, delivered ? EVENT_FAILED : 0, delivered ? -ECANCELED : 0, now);
}

/* A one-way client forgets the RPC with its last byte: what is missing here is on its way. */
static bool is_on_its_way(const struct nd_homa *homa, const struct nd_homa_rpc *rpc, uint8_t note)
{
	return homa->config.one_way && nd_homa_is_server(rpc) &&
	       rpc->state == ND_HOMA_INCOMING && note != ND_HOMA_NOTE_CANCEL;
}

static void receive_rpc_unknown(struct nd_homa *homa, struct nd_homa_peer *peer,
				const struct nd_packet *packet, nd_ns now)
{
	uint64_t id = packet->homa.sender_id ^ 1;
	struct nd_homa_rpc *rpc = find(homa, packet);

	homa->counters.unknowns_received++;
	if (!rpc) {
		if (id & 1 && peer && !homa->config.at_least_once &&
		    !nd_homa_done_has(homa, packet->source, id, now))
			nd_homa_done_add(homa, peer, id, now);
	} else if (rpc->state == ND_HOMA_UNACKED && packet->homa.note != ND_HOMA_NOTE_CANCEL) {
		acked(homa, rpc, now); /* it had finished before our last question reached it */
	} else if (nd_homa_is_server(rpc)) {
		if (!is_on_its_way(homa, rpc, packet->homa.note))
			client_ended(homa, rpc, now);
	} else {
		server_lost_rpc(homa, rpc, packet->homa.note, now);
	}
}

static void receive_busy(struct nd_homa *homa, struct nd_homa_peer *peer,
			 const struct nd_packet *packet, nd_ns now)
{
	struct nd_homa_rpc *rpc = find(homa, packet);

	(void)peer;
	homa->counters.busys_received++;
	if (!rpc)
		return;
	nd_homa_in_idle(homa, rpc);
	nd_homa_rpc_alive(homa, rpc, now);
}

static void receive_cutoffs(struct nd_homa *homa, struct nd_homa_peer *peer,
			    const struct nd_packet *packet, nd_ns now)
{
	(void)now;
	homa->counters.cutoffs_received++;
	if (!peer)
		return;
	memcpy(peer->cutoffs, packet->homa.cutoffs, sizeof(peer->cutoffs));
	peer->cutoffs[0] = UINT32_MAX;
	peer->cutoff_version = packet->homa.cutoff_version;
}

static void receive_freeze(struct nd_homa *homa, struct nd_homa_peer *peer,
			   const struct nd_packet *packet, nd_ns now)
{
	(void)peer;
	(void)packet;
	(void)now;
	homa->counters.freezes_received++;
}

static void receive_need_ack(struct nd_homa *homa, struct nd_homa_peer *peer,
			     const struct nd_packet *packet, nd_ns now)
{
	struct nd_homa_rpc *rpc = find(homa, packet);
	uint32_t start, end;

	(void)peer;
	(void)now;
	homa->counters.need_acks_received++;
	if (!rpc || nd_homa_is_server(rpc)) {
		nd_homa_receive_unknown(homa, packet, ND_HOMA_ACK, 0);
		return;
	}
	nd_homa_rpc_heard(homa, rpc);
	nd_homa_in_missing(homa, rpc, &start, &end);
	if (rpc->in.begun && (rpc->flags & RPC_STARVED || start == end))
		nd_homa_control_want(homa, rpc, CONTROL_BUSY);
	else
		nd_homa_control_want(homa, rpc, CONTROL_RESEND);
}

void nd_homa_receive_ack(struct nd_homa *homa, struct nd_homa_peer *peer, uint64_t client_id,
			 nd_ns now)
{
	struct nd_homa_rpc *rpc;

	if (client_id & 1 || !client_id) {
		homa->counters.bad_ack++;
		return;
	}
	rpc = nd_homa_rpc_find(homa, peer->handle, client_id | 1);
	if (!rpc)
		return;
	if (rpc->state == ND_HOMA_UNACKED)
		acked(homa, rpc, now);
	else
		client_ended(homa, rpc, now);
}

static void receive_acks(struct nd_homa *homa, struct nd_homa_peer *peer,
			 const struct nd_packet *packet, nd_ns now)
{
	homa->counters.acks_received++;
	if (!peer)
		return;
	if (packet->homa.ack_count > ND_HOMA_ACKS_MAX) {
		homa->counters.bad_ack++;
		return;
	}
	nd_homa_receive_ack(homa, peer, packet->homa.sender_id, now);
	for (uint32_t i = 0; i < packet->homa.ack_count; i++)
		nd_homa_receive_ack(homa, peer, packet->homa.ack_ids[i], now);
}

void nd_homa_receive(void *endpoint, const struct nd_packet *packet, nd_ns now)
{
	static receiver *const receivers[] = {
		[ND_HOMA_DATA - ND_HOMA_DATA] = nd_homa_receive_data,
		[ND_HOMA_GRANT - ND_HOMA_DATA] = receive_grant,
		[ND_HOMA_RESEND - ND_HOMA_DATA] = receive_resend,
		[ND_HOMA_RPC_UNKNOWN - ND_HOMA_DATA] = receive_rpc_unknown,
		[ND_HOMA_BUSY - ND_HOMA_DATA] = receive_busy,
		[ND_HOMA_CUTOFFS - ND_HOMA_DATA] = receive_cutoffs,
		[ND_HOMA_FREEZE - ND_HOMA_DATA] = receive_freeze,
		[ND_HOMA_NEED_ACK - ND_HOMA_DATA] = receive_need_ack,
		[ND_HOMA_ACK - ND_HOMA_DATA] = receive_acks,
	};
	struct nd_homa *homa = endpoint;
	struct nd_homa_peer *peer = nd_homa_peer_find(homa, packet->source);
	uint32_t kind = (uint32_t)packet->type - ND_HOMA_DATA;

	homa->now = now;
	if (kind >= ND_ARRAY_SIZE(receivers)) {
		homa->counters.bad_type++;
		return;
	}
	if (packet->homa.sender_id < 2) {
		homa->counters.bad_id++;
		return;
	}
	if (peer)
		peer->make = nd_homa_make_of(&packet->homa);
	receivers[kind](homa, peer, packet, now);
}
