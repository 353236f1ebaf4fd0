// SPDX-License-Identifier: Apache-2.0
/*
 * Silence: RESEND, NEED_ACK, giving up, and the application's deadlines.
 *
 * Each live RPC has at most one timer. A client's RPC waits for its response and a server's for the
 * rest of the request (RESEND); a server's RPC with a response out waits for the client's
 * acknowledgement (NEED_ACK, with doubling intervals); a request that a full server refused waits
 * to be offered again (with doubling intervals, too).
 *
 * RPCs that began together must not ask together, or their questions overflow the same queue again
 * and again: each interval has a random part. It is a hash, so that nothing has to be stored and a
 * timer that fires too early finds the same value.
 */
#include "transport/homa_internal.h"

#include <errno.h>

/* From a quarter of resend_ns up to ND_HOMA_PUT_OFF_MAX times it. */
#define PUT_OFF_DOUBLINGS 5

static void arm(struct nd_homa *homa, struct nd_homa_rpc *rpc, nd_ns at)
{
	nd_heap_set(&homa->timers, rpc->index, nd_min_u64(at, rpc->deadline));
}

/* A share of whole that is drawn anew for each question of each RPC. */
static nd_ns random_part(const struct nd_homa *homa, const struct nd_homa_rpc *rpc, nd_ns whole)
{
	uint64_t what = (uint64_t)rpc->age << 16 | (uint64_t)rpc->refusals << 8 | rpc->attempts;

	return (nd_mix64(homa->key ^ what) >> 48) * whole >> 16;
}

static nd_ns resend_interval(const struct nd_homa *homa, const struct nd_homa_rpc *rpc)
{
	nd_ns jitter = homa->config.resend_ns * homa->config.resend_jitter_permille / 1000;

	return homa->config.resend_ns + random_part(homa, rpc, jitter);
}

static nd_ns put_off_interval(const struct nd_homa *homa, const struct nd_homa_rpc *rpc)
{
	uint32_t halvings = PUT_OFF_DOUBLINGS - nd_min_u32(rpc->refusals - 1u, PUT_OFF_DOUBLINGS);
	nd_ns most = homa->config.resend_ns * ND_HOMA_PUT_OFF_MAX >> halvings;

	return most / 2 + random_part(homa, rpc, most / 2);
}

static nd_ns need_ack_interval(const struct nd_homa *homa, const struct nd_homa_rpc *rpc)
{
	nd_ns interval = homa->config.need_ack_ns << (rpc->attempts < 20 ? rpc->attempts : 20);

	return nd_min_u64(interval, homa->config.need_ack_ns_max);
}

static bool watches_acks(const struct nd_homa_rpc *rpc)
{
	return rpc->state == ND_HOMA_REPLYING || rpc->state == ND_HOMA_UNACKED;
}

void nd_homa_timer_start(struct nd_homa *homa, struct nd_homa_rpc *rpc, nd_ns now)
{
	rpc->quiet_since = now;
	rpc->attempts = 0;
	arm(homa, rpc, now + (watches_acks(rpc) ? homa->config.need_ack_ns : homa->config.resend_ns));
}

void nd_homa_put_off(struct nd_homa *homa, struct nd_homa_rpc *rpc, nd_ns now)
{
	if (rpc->flags & RPC_PUT_OFF)
		return;
	homa->counters.requests_put_off++;
	rpc->flags |= RPC_PUT_OFF;
	rpc->attempts = 0;
	if (rpc->refusals < UINT8_MAX)
		rpc->refusals++;
	nd_homa_control_drop(homa, rpc, CONTROL_RESEND);
	nd_homa_out_ready(homa, rpc);
	arm(homa, rpc, now + put_off_interval(homa, rpc));
}

static void offer_again(struct nd_homa *homa, struct nd_homa_rpc *rpc, nd_ns now)
{
	homa->counters.requests_restarted++;
	nd_homa_out_restart(homa, rpc);
	nd_homa_timer_start(homa, rpc, now);
}

void nd_homa_tell_end(struct nd_homa *homa, const struct nd_homa_rpc *rpc, uint8_t note)
{
	if (!nd_homa_is_server(rpc)) {
		if (!rpc->out.begun && !(rpc->flags & RPC_HEARD))
			return;
		note = ND_HOMA_NOTE_CANCEL;
	}
	nd_homa_reply(homa, &(struct nd_homa_reply){
		.id = rpc->id,
		.peer = nd_homa_peer_at(homa, rpc->peer)->handle,
		.own_port = rpc->own_port,
		.peer_port = rpc->peer_port,
		.type = ND_HOMA_RPC_UNKNOWN,
		.note = note,
	});
}

void nd_homa_fail(struct nd_homa *homa, struct nd_homa_rpc *rpc, int error, nd_ns now)
{
	bool known = !nd_homa_is_server(rpc) || rpc->flags & RPC_DELIVERED;

	nd_homa_tell_end(homa, rpc, ND_HOMA_NOTE_DONE);
	nd_homa_rpc_close(homa, rpc, known ? EVENT_FAILED : 0, error, now);
}

/*
 * Why a request got no response. A peer of another make ignores requests that are too long; ours
 * would have answered. One that answers again and again that it has nothing of a request which
 * begins with full packets is beyond a link that drops those.
 */
static int silence_error(struct nd_homa *homa, const struct nd_homa_rpc *rpc)
{
	if (!nd_homa_peer_takes(nd_homa_peer_at(homa, rpc->peer), rpc->out.bytes)) {
		homa->counters.rpcs_timed_out++;
		return -EMSGSIZE;
	}
	if (rpc->flags & RPC_UNPASSED && !(rpc->flags & RPC_HEARD) &&
	    rpc->out.bytes >= homa->config.mss_bytes) {
		homa->counters.rpcs_unpassed++;
		return -ECOMM;
	}
	homa->counters.rpcs_timed_out++;
	return -ETIMEDOUT;
}

static void give_up(struct nd_homa *homa, struct nd_homa_rpc *rpc, nd_ns now)
{
	if (nd_homa_is_server(rpc) && rpc->state == ND_HOMA_INCOMING) {
		homa->counters.requests_abandoned++;
		nd_homa_rpc_close(homa, rpc, 0, 0, now);
		return;
	}
	if (nd_homa_is_server(rpc)) {
		homa->counters.rpcs_timed_out++;
		nd_homa_fail(homa, rpc, -ETIMEDOUT, now);
	} else {
		nd_homa_fail(homa, rpc, silence_error(homa, rpc), now);
	}
}

/* Is it the peer's turn to send something? */
static bool expects(const struct nd_homa *homa, const struct nd_homa_rpc *rpc)
{
	uint32_t start, end;

	if (nd_heap_has(&homa->ready, rpc->index))
		return false;
	if (!rpc->in.begun)
		return true;
	if (rpc->flags & RPC_STARVED)
		return false;
	nd_homa_in_missing(homa, rpc, &start, &end);
	return start < end;
}

static void fall_quiet(struct nd_homa *homa, struct nd_homa_rpc *rpc)
{
	if (rpc->flags & RPC_QUIET || !rpc->in.begun)
		return;
	rpc->flags |= RPC_QUIET;
	nd_homa_in_account(homa, rpc);
	nd_homa_grant_update(homa, rpc);
}

static void check_silence(struct nd_homa *homa, struct nd_homa_rpc *rpc, nd_ns now)
{
	nd_ns interval = resend_interval(homa, rpc);

	if (!expects(homa, rpc)) {
		arm(homa, rpc, now + interval);
		if (rpc->flags & RPC_STARVED)
			nd_homa_in_feed(homa, rpc->app);
	} else if (now < rpc->quiet_since + interval) {
		arm(homa, rpc, rpc->quiet_since + interval);
	} else if (rpc->attempts >= homa->config.resends_max) {
		give_up(homa, rpc, now);
	} else {
		rpc->attempts++;
		rpc->quiet_since = now;
		rpc->flags |= RPC_ASKED;
		fall_quiet(homa, rpc);
		nd_homa_control_want(homa, rpc, CONTROL_RESEND);
		arm(homa, rpc, now + resend_interval(homa, rpc));
	}
}

static void check_ack(struct nd_homa *homa, struct nd_homa_rpc *rpc, nd_ns now)
{
	nd_ns due = rpc->quiet_since + need_ack_interval(homa, rpc);

	if (nd_heap_has(&homa->ready, rpc->index)) {
		arm(homa, rpc, now + homa->config.need_ack_ns);
	} else if (now < due) {
		arm(homa, rpc, due);
	} else if (rpc->attempts >= homa->config.need_acks_max) {
		give_up(homa, rpc, now);
	} else {
		rpc->attempts++;
		rpc->quiet_since = now;
		nd_homa_control_want(homa, rpc, CONTROL_NEED_ACK);
		arm(homa, rpc, now + need_ack_interval(homa, rpc));
	}
}

static void fire(struct nd_homa *homa, struct nd_homa_rpc *rpc, nd_ns now)
{
	if (rpc->deadline <= now) {
		homa->counters.rpcs_expired++;
		nd_homa_fail(homa, rpc, -ETIMEDOUT, now);
	} else if (rpc->flags & RPC_PUT_OFF) {
		offer_again(homa, rpc, now);
	} else if (watches_acks(rpc)) {
		check_ack(homa, rpc, now);
	} else {
		check_silence(homa, rpc, now);
	}
}

void nd_homa_on_deadline(void *endpoint, nd_ns now)
{
	struct nd_homa *homa = endpoint;

	homa->now = now;
	while (nd_heap_key(&homa->timers) <= now)
		fire(homa, nd_homa_rpc_at(homa, nd_heap_id(&homa->timers)), now);
}
