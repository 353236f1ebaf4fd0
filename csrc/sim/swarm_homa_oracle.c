// SPDX-License-Identifier: Apache-2.0
/* What may happen to Homa RPCs of the swarm, and what must. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "sim/swarm.h"
#include "sim/swarm_memory.h"
#include "sim/swarm_pattern.h"

#define SLOT 1

static uint32_t index_of(const struct nd_swarm *swarm, const struct nd_swarm_rpc *rpc)
{
	return (uint32_t)(rpc - swarm->homa.rpcs);
}

/* Bytes that an engine is done with are wrong from then on. */
static void spoil(uint8_t **payload, uint32_t bytes)
{
	if (*payload)
		memset(*payload, 0xdb, bytes);
	free(*payload);
	*payload = NULL;
}

static void end_rpc(struct nd_swarm_rpc *rpc, enum nd_swarm_outcome outcome)
{
	rpc->outcome = (uint8_t)outcome;
	spoil(&rpc->request, rpc->request_bytes);
}

static void end_execution(struct nd_swarm_rpc *rpc)
{
	rpc->execution.live = false;
	spoil(&rpc->execution.payload, rpc->response_bytes);
}

static void lose_rpcs(struct nd_swarm *swarm, uint32_t host, uint32_t app)
{
	for (uint32_t i = 0; i < swarm->homa.rpc_count; i++) {
		struct nd_swarm_rpc *rpc = &swarm->homa.rpcs[i];

		if (rpc->outcome == ND_SWARM_PENDING && rpc->client == host &&
		    (app == ND_NONE || rpc->app == app))
			end_rpc(rpc, ND_SWARM_ORPHANED);
		if (rpc->execution.live && rpc->server == host &&
		    (app == ND_NONE || rpc->execution.app == app))
			end_execution(rpc);
	}
}

void nd_swarm_homa_restarted(struct nd_swarm *swarm, uint32_t host)
{
	lose_rpcs(swarm, host, ND_NONE);
}

void nd_swarm_homa_detached(struct nd_swarm *swarm, uint32_t host, uint32_t app)
{
	lose_rpcs(swarm, host, app);
}

static struct nd_swarm_rpc *find_client(struct nd_swarm *swarm, uint32_t host, uint64_t id)
{
	for (uint32_t i = swarm->homa.rpc_count; i-- > 0;) {
		struct nd_swarm_rpc *rpc = &swarm->homa.rpcs[i];

		if (rpc->client == host && rpc->id == id && rpc->outcome == ND_SWARM_PENDING)
			return rpc;
	}
	return NULL;
}

static struct nd_swarm_rpc *find_server(struct nd_swarm *swarm, uint32_t host, uint64_t id)
{
	for (uint32_t i = swarm->homa.rpc_count; i-- > 0;) {
		struct nd_swarm_rpc *rpc = &swarm->homa.rpcs[i];

		if (rpc->server == host && rpc->execution.live && rpc->execution.id == id)
			return rpc;
	}
	return NULL;
}

/* ---- server ---- */

static struct nd_swarm_rpc *identify(struct nd_swarm *swarm, uint32_t host,
				     const struct nd_event *event)
{
	struct nd_swarm_homa *homa = &swarm->homa;
	uint32_t client = nd_swarm_host_of(swarm, event->peer);

	if (event->bytes >= ND_SWARM_IDENTITY_BYTES) {
		uint32_t key = nd_swarm_pattern_key(swarm->options.seed, event->payload);

		return key < 2 * homa->rpc_count && key % 2 == 0 ? &homa->rpcs[key / 2] : NULL;
	}
	for (uint32_t i = 0; i < homa->rpc_count; i++) {
		struct nd_swarm_rpc *rpc = &homa->rpcs[i];

		if (rpc->tiny && rpc->client == client && rpc->server == host &&
		    rpc->port == event->port)
			return rpc;
	}
	return NULL;
}

static const char *wrong_request(const struct nd_swarm *swarm, uint32_t host,
				 const struct nd_swarm_rpc *rpc, const struct nd_event *event)
{
	const struct nd_swarm_execution *execution = &rpc->execution;

	if (rpc->server != host || nd_swarm_address(rpc->client) != event->peer ||
	    rpc->port != event->port || event->app != event->port % swarm->options.apps)
		return "came to a wrong place";
	if (rpc->request_bytes != event->bytes)
		return "has a wrong length";
	if (!nd_swarm_memory_has(&swarm->hosts[host].endpoints[SLOT].rx, event->app, event->payload,
				 event->bytes))
		return "is in memory that is not out";
	if (!nd_swarm_pattern_check(swarm->options.seed, 2 * index_of(swarm, rpc), event->payload,
				    event->bytes))
		return "is corrupt";
	if (rpc->executed != 0 && execution->incarnation == swarm->hosts[host].incarnation &&
	    !swarm->homa.at_least_once)
		return "was executed twice";
	return NULL;
}

static void on_request(struct nd_swarm *swarm, uint32_t host, const struct nd_event *event)
{
	struct nd_swarm_rpc *rpc = identify(swarm, host, event);
	const char *wrong;
	nd_ns delay = 0;

	if (!rpc) {
		nd_swarm_fail(swarm, "host %" PRIu32 ": a corrupt request of %" PRIu32 " bytes", host,
			      event->bytes);
		return;
	}
	wrong = wrong_request(swarm, host, rpc, event);
	if (wrong) {
		nd_swarm_fail(swarm, "host %" PRIu32 ": request %" PRIu32 " %s", host,
			      index_of(swarm, rpc), wrong);
		return;
	}
	end_execution(rpc);
	rpc->executed++;
	rpc->execution = (struct nd_swarm_execution){
		.id = event->id,
		.incarnation = swarm->hosts[host].incarnation,
		.app = event->app,
		.live = true,
	};
	swarm->report.delivered++;
	nd_swarm_host_hold(swarm, host, SLOT, event, 2 * index_of(swarm, rpc));
	if (swarm->options.server_us && !swarm->calm)
		delay = nd_rng_below(&swarm->workload, swarm->options.server_us * 1000);
	nd_swarm_loop_add(&swarm->loop, swarm->loop.now + delay, ND_SWARM_REPLY,
			  index_of(swarm, rpc));
}

/* ---- client ---- */

static void on_response(struct nd_swarm *swarm, uint32_t host, const struct nd_event *event)
{
	struct nd_swarm_rpc *rpc = find_client(swarm, host, event->id);
	const char *wrong = NULL;
	uint32_t key;

	if (!rpc) {
		nd_swarm_fail(swarm, "host %" PRIu32 ": a response to no RPC", host);
		return;
	}
	key = 2 * index_of(swarm, rpc) + 1;
	if (event->app != rpc->app || event->cookie != index_of(swarm, rpc))
		wrong = "came to a wrong place";
	else if (rpc->executed == 0)
		wrong = "answers what nobody has executed";
	else if (event->bytes != rpc->response_bytes)
		wrong = "has a wrong length";
	else if (!nd_swarm_memory_has(&swarm->hosts[host].endpoints[SLOT].rx, event->app,
				      event->payload, event->bytes))
		wrong = "is in memory that is not out";
	else if (!nd_swarm_pattern_check(swarm->options.seed, key, event->payload, event->bytes))
		wrong = "is corrupt";
	if (wrong)
		nd_swarm_fail(swarm, "host %" PRIu32 ": response %" PRIu32 " %s", host, key / 2, wrong);
	end_rpc(rpc, ND_SWARM_SENT);
	swarm->report.delivered++;
	nd_swarm_host_hold(swarm, host, SLOT, event, key);
}

static void on_failed(struct nd_swarm *swarm, uint32_t host, const struct nd_event *event)
{
	struct nd_swarm_rpc *rpc = find_client(swarm, host, event->id);

	if (event->error >= 0)
		nd_swarm_fail(swarm, "host %" PRIu32 ": a failure with error %" PRId32, host,
			      event->error);
	if (rpc) {
		rpc->error = event->error;
		end_rpc(rpc, ND_SWARM_FAILED);
		swarm->report.failed++;
		if (nd_swarm_options_gentle(&swarm->options) && !rpc->cancelled &&
		    rpc->deadline == ND_NEVER && rpc->port != ND_SWARM_DEAD_PORT)
			nd_swarm_fail(swarm, "host %" PRIu32 ": RPC %" PRIu32 " failed with %" PRId32
				      " for no reason", host, index_of(swarm, rpc), event->error);
		if (rpc->probe)
			nd_swarm_fail(swarm, "host %" PRIu32 ": RPC %" PRIu32 " failed with %" PRId32
				      " on a network without faults", host, index_of(swarm, rpc),
				      event->error);
		return;
	}
	rpc = find_server(swarm, host, event->id);
	if (rpc)
		end_execution(rpc);
	else
		nd_swarm_fail(swarm, "host %" PRIu32 ": the failure of no RPC", host);
}

static void on_sent(struct nd_swarm *swarm, uint32_t host, const struct nd_event *event)
{
	struct nd_swarm_rpc *rpc = find_server(swarm, host, event->id);

	if (!rpc || !rpc->execution.payload) {
		nd_swarm_fail(swarm, "host %" PRIu32 ": a response sent that was not given", host);
		return;
	}
	end_execution(rpc);
}

void nd_swarm_homa_event(struct nd_swarm *swarm, uint32_t host, const struct nd_event *event)
{
	nd_swarm_note(swarm, host,
		      "event %" PRIu64 " id %" PRIu64 " bytes %" PRIu64 " app %" PRIu64
		      " error -%" PRIu64, event->kind, event->id, event->bytes, event->app,
		      (uint64_t)-event->error);
	switch (event->kind) {
	case ND_EVENT_REQUEST:
		on_request(swarm, host, event);
		break;
	case ND_EVENT_RESPONSE:
		on_response(swarm, host, event);
		break;
	case ND_EVENT_SENT:
		on_sent(swarm, host, event);
		break;
	case ND_EVENT_FAILED:
		on_failed(swarm, host, event);
		break;
	default:
		nd_swarm_fail(swarm, "host %" PRIu32 ": event %u is not Homa's", host, event->kind);
		break;
	}
}

/* ---- the end ---- */

uint32_t nd_swarm_homa_outstanding(const struct nd_swarm *swarm)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < swarm->homa.rpc_count; i++)
		count += (uint32_t)(swarm->homa.rpcs[i].outcome == ND_SWARM_PENDING) +
			 swarm->homa.rpcs[i].execution.live;
	return count;
}

void nd_swarm_homa_verify(struct nd_swarm *swarm)
{
	for (uint32_t i = 0; i < swarm->homa.rpc_count; i++) {
		const struct nd_swarm_rpc *rpc = &swarm->homa.rpcs[i];

		if (rpc->outcome == ND_SWARM_PENDING)
			nd_swarm_fail(swarm, "RPC %" PRIu32 " of host %u never ended", i, rpc->client);
		else if (rpc->execution.live)
			nd_swarm_fail(swarm, "RPC %" PRIu32 " never ended at its server, host %u", i,
				      rpc->server);
		else if (rpc->outcome == ND_SWARM_FAILED && rpc->error == -ECANCELED &&
			 !rpc->cancelled)
			nd_swarm_fail(swarm, "RPC %" PRIu32 " was cancelled by nobody", i);
	}
}
