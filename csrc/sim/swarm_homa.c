// SPDX-License-Identifier: Apache-2.0
/* What Homa clients and servers of the swarm do. The oracle is in swarm_homa_oracle.c. */
#include "sim/swarm_homa.h"

#include <errno.h>
#include <stdlib.h>

#include "sim/swarm.h"
#include "sim/swarm_pattern.h"

#define SLOT 1 /* of the protocol in a host's endpoints */
#define PROBE_BYTES_MAX 50000

void nd_swarm_homa_reset(struct nd_swarm *swarm)
{
	struct nd_swarm_homa *homa = &swarm->homa;

	for (uint32_t i = 0; i < homa->rpc_count; i++) {
		free(homa->rpcs[i].request);
		free(homa->rpcs[i].execution.payload);
	}
	*homa = (struct nd_swarm_homa){ 0 };
}

static int submit(struct nd_swarm *swarm, uint32_t host, struct nd_command *command)
{
	return nd_swarm_host_submit(swarm, host, SLOT, command);
}

/* ---- services ---- */

static void set_service(struct nd_swarm *swarm, uint32_t host, uint32_t port, bool open)
{
	struct nd_command command = {
		.kind = open ? ND_COMMAND_LISTEN : ND_COMMAND_UNLISTEN,
		.app = (uint16_t)(port % swarm->options.apps),
		.port = (uint16_t)port,
	};

	if (submit(swarm, host, &command) != 0)
		nd_swarm_fail(swarm, "host %" PRIu32 ": cannot %s on %" PRIu32, host,
			      open ? "listen" : "unlisten", port);
	swarm->homa.closed[host][port] = !open;
}

void nd_swarm_homa_start(struct nd_swarm *swarm, uint32_t host, uint32_t app)
{
	for (uint32_t port = 1; port <= ND_SWARM_HOMA_SERVICES; port++) {
		if (app == ND_NONE || port % swarm->options.apps == app)
			set_service(swarm, host, port, true);
	}
}

static void toggle_service(struct nd_swarm *swarm, uint32_t host)
{
	uint32_t port = 1 + nd_rng_below(&swarm->workload, ND_SWARM_HOMA_SERVICES);

	set_service(swarm, host, port, swarm->homa.closed[host][port]);
}

/* ---- requests ---- */

static uint32_t choose_bytes(struct nd_swarm *swarm, bool probe)
{
	struct nd_rng *rng = &swarm->workload;
	uint32_t limit = probe ? nd_min_u32(swarm->options.message_max, PROBE_BYTES_MAX) :
				 swarm->options.message_max;
	uint32_t mss = swarm->options.mtu - 20 - 56;
	uint32_t bytes;

	switch (nd_rng_below(rng, 8)) {
	case 0:
	case 1:
	case 2:
		bytes = nd_rng_below(rng, 300);
		break;
	case 3:
		bytes = mss * (1 + nd_rng_below(rng, 4)) - 1 + nd_rng_below(rng, 3);
		break;
	case 4:
		bytes = limit;
		break;
	case 5:
		bytes = nd_rng_below(rng, limit) + 1;
		break;
	default:
		bytes = 1 + nd_rng_below(rng, nd_rng_below(rng, limit) + 1);
		break;
	}
	return nd_max_u32(nd_min_u32(bytes, limit), ND_SWARM_IDENTITY_BYTES);
}

static void draw_rpc(struct nd_swarm *swarm, struct nd_swarm_rpc *rpc)
{
	struct nd_swarm_homa *homa = &swarm->homa;
	struct nd_rng *rng = &swarm->workload;
	bool tiny = nd_swarm_percent(rng, swarm->options.tiny_percent);

	rpc->port = (uint16_t)(1 + nd_rng_below(rng, ND_SWARM_HOMA_SERVICES));
	rpc->request_bytes = choose_bytes(swarm, rpc->probe);
	rpc->response_bytes = nd_rng_coin(rng) ? choose_bytes(swarm, rpc->probe) :
						 1 + nd_rng_below(rng, 200);
	rpc->app = (uint8_t)nd_rng_below(rng, swarm->options.apps);
	rpc->deadline = ND_NEVER;
	if (tiny && homa->tiny_ports[rpc->client][rpc->server] < ND_SWARM_HOMA_SERVICES) {
		rpc->tiny = true;
		rpc->port = (uint16_t)++homa->tiny_ports[rpc->client][rpc->server];
		rpc->request_bytes = 1 + nd_rng_below(rng, ND_SWARM_IDENTITY_BYTES - 1);
	} else if (nd_swarm_percent(rng, swarm->options.dead_port_percent)) {
		rpc->port = ND_SWARM_DEAD_PORT;
	}
	if (nd_swarm_percent(rng, swarm->options.deadline_percent))
		rpc->deadline = swarm->loop.now + 1 +
				nd_rng_below(rng, swarm->options.deadline_us * 1000);
}

static void start_rpc(struct nd_swarm *swarm, const struct nd_swarm_rpc *drawn)
{
	struct nd_swarm_homa *homa = &swarm->homa;
	uint32_t index = homa->rpc_count;
	struct nd_swarm_rpc *rpc = &homa->rpcs[index];
	struct nd_command command = {
		.kind = ND_COMMAND_REQUEST,
		.app = drawn->app,
		.peer = nd_swarm_address(drawn->server),
		.port = drawn->port,
		.bytes = drawn->request_bytes,
		.cookie = index,
		.deadline = drawn->deadline,
	};
	int rc;

	if (index == ND_SWARM_RPCS_MAX)
		return;
	*rpc = *drawn;
	rpc->incarnation = swarm->hosts[rpc->client].incarnation;
	rpc->request = malloc(rpc->request_bytes);
	nd_assert(rpc->request != NULL);
	nd_swarm_pattern_fill(swarm->options.seed, 2 * index, rpc->request, rpc->request_bytes);
	command.payload = rpc->request;
	rc = submit(swarm, rpc->client, &command);
	if (rc == 0) {
		rpc->id = command.id;
		homa->rpc_count++;
		swarm->report.messages++;
		return;
	}
	free(rpc->request);
	rpc->request = NULL;
	if (rpc->probe || (rc != -ENOBUFS && rc != -EAGAIN))
		nd_swarm_fail(swarm, "host %u: a request of %" PRIu32 " bytes refused with %d",
			      rpc->client, drawn->request_bytes, rc);
}

static void request(struct nd_swarm *swarm, uint32_t host)
{
	struct nd_swarm_rpc rpc = { .client = (uint8_t)host };
	uint32_t others = swarm->options.hosts - 1;

	rpc.server = (uint8_t)((host + 1 + nd_rng_below(&swarm->workload, others)) %
			       swarm->options.hosts);
	if (host != 0 && nd_swarm_percent(&swarm->workload, swarm->options.incast_percent))
		rpc.server = 0;
	draw_rpc(swarm, &rpc);
	start_rpc(swarm, &rpc);
}

/* Above the configured maximum, and empty: refused at once. */
static void request_wrong_sizes(struct nd_swarm *swarm, uint32_t host)
{
	static const uint8_t byte;
	struct nd_command command = {
		.kind = ND_COMMAND_REQUEST,
		.peer = nd_swarm_address((host + 1) % swarm->options.hosts),
		.port = 1,
		.bytes = UINT32_MAX,
		.deadline = ND_NEVER,
		.payload = &byte,
	};
	int rc = submit(swarm, host, &command);

	if (rc != -EMSGSIZE)
		nd_swarm_fail(swarm, "host %" PRIu32 ": a request of 4 GiB got %d, not -EMSGSIZE",
			      host, rc);
}

static void cancel(struct nd_swarm *swarm, uint32_t host)
{
	struct nd_swarm_homa *homa = &swarm->homa;
	struct nd_command command = { .kind = ND_COMMAND_CANCEL };
	struct nd_swarm_rpc *rpc;
	int rc;

	if (homa->rpc_count == 0)
		return;
	rpc = &homa->rpcs[nd_rng_below(&swarm->workload, homa->rpc_count)];
	if (rpc->client != host || rpc->outcome != ND_SWARM_PENDING)
		return;
	rpc->cancelled = true;
	command.app = rpc->app;
	command.id = rpc->id;
	rc = submit(swarm, host, &command);
	if (rc != 0 && rc != -ENOENT)
		nd_swarm_fail(swarm, "host %" PRIu32 ": cancel refused with %d", host, rc);
}

void nd_swarm_homa_action(struct nd_swarm *swarm, uint32_t host)
{
	const struct nd_swarm_options *o = &swarm->options;
	struct nd_rng *rng = &swarm->workload;

	if (nd_swarm_percent(rng, o->cancel_percent))
		cancel(swarm, host);
	else if (nd_swarm_percent(rng, o->unlisten_percent))
		toggle_service(swarm, host);
	else if (nd_swarm_percent(rng, o->too_big_percent))
		request_wrong_sizes(swarm, host);
	else
		request(swarm, host);
}

/* ---- servers ---- */

void nd_swarm_homa_reply(struct nd_swarm *swarm, uint32_t index)
{
	struct nd_swarm_rpc *rpc = &swarm->homa.rpcs[index];
	struct nd_swarm_execution *execution = &rpc->execution;
	struct nd_command command = { .kind = ND_COMMAND_REPLY };
	int rc;

	if (!execution->live || execution->payload)
		return;
	if (swarm->hosts[rpc->server].resume_at > swarm->loop.now) {
		nd_swarm_loop_add(&swarm->loop, swarm->hosts[rpc->server].resume_at,
				  ND_SWARM_REPLY, index);
		return;
	}
	execution->payload = malloc(rpc->response_bytes);
	nd_assert(execution->payload != NULL);
	nd_swarm_pattern_fill(swarm->options.seed, 2 * index + 1, execution->payload,
			      rpc->response_bytes);
	command.app = execution->app;
	command.id = execution->id;
	command.bytes = rpc->response_bytes;
	command.payload = execution->payload;
	command.cookie = index;
	command.deadline = ND_NEVER;
	rc = submit(swarm, rpc->server, &command);
	if (rc != 0) {
		free(execution->payload);
		execution->payload = NULL;
	}
	/* It may have ended, with that event still to be looked at. */
	if (rc != 0 && rc != -ENOENT)
		nd_swarm_fail(swarm, "host %u: a response to a live RPC refused with %d",
			      rpc->server, rc);
	nd_swarm_host_run(swarm, rpc->server);
}

/* ---- liveness ---- */

void nd_swarm_homa_probe(struct nd_swarm *swarm)
{
	for (uint32_t host = 0; host < swarm->options.hosts; host++) {
		for (uint32_t port = 1; port <= ND_SWARM_HOMA_SERVICES; port++) {
			if (!swarm->hosts[host].dead && swarm->homa.closed[host][port])
				set_service(swarm, host, port, true);
		}
	}
	for (uint32_t host = 0; host < swarm->options.hosts; host++) {
		for (uint32_t peer = 0; peer < swarm->options.hosts; peer++) {
			struct nd_swarm_rpc rpc = { .client = (uint8_t)host, .server = (uint8_t)peer };

			if (host == peer || swarm->hosts[host].dead || swarm->hosts[peer].dead)
				continue;
			rpc.probe = true;
			draw_rpc(swarm, &rpc);
			if (!rpc.tiny)
				rpc.port = 1;
			rpc.deadline = ND_NEVER;
			start_rpc(swarm, &rpc);
		}
	}
}

void nd_swarm_homa_finish(struct nd_swarm *swarm)
{
	(void)swarm; /* RPCs end by themselves. */
}
