// SPDX-License-Identifier: Apache-2.0
/* What NDP applications of the swarm do. The oracle is in swarm_ndp_oracle.c. */
#include "sim/swarm_ndp.h"

#include <errno.h>
#include <stdlib.h>

#include "sim/swarm.h"
#include "sim/swarm_pattern.h"

#define SLOT 0 /* of the protocol in a host's endpoints */
#define PROBE_BYTES_MAX 50000

void nd_swarm_ndp_reset(struct nd_swarm *swarm)
{
	struct nd_swarm_ndp *ndp = &swarm->ndp;

	for (uint32_t i = 0; i < ndp->message_count; i++)
		free(ndp->messages[i].payload);
	*ndp = (struct nd_swarm_ndp){ 0 };
}

static int submit(struct nd_swarm *swarm, uint32_t host, struct nd_command *command)
{
	return nd_swarm_host_submit(swarm, host, SLOT, command);
}

/* ---- services ---- */

static void listen(struct nd_swarm *swarm, uint32_t host, uint32_t port)
{
	struct nd_command command = {
		.kind = ND_COMMAND_LISTEN,
		.app = (uint16_t)(port % swarm->options.apps),
		.port = (uint16_t)port,
	};

	if (submit(swarm, host, &command) != 0)
		nd_swarm_fail(swarm, "host %" PRIu32 ": cannot listen on %" PRIu32, host, port);
	swarm->ndp.closed[host][port] = false;
}

void nd_swarm_ndp_start(struct nd_swarm *swarm, uint32_t host, uint32_t app)
{
	for (uint32_t port = 1; port <= ND_SWARM_SERVICES; port++) {
		if (app == ND_NONE || port % swarm->options.apps == app)
			listen(swarm, host, port);
	}
}

static void toggle_service(struct nd_swarm *swarm, uint32_t host)
{
	uint32_t port = 1 + nd_rng_below(&swarm->workload, ND_SWARM_SERVICES);
	struct nd_command command = {
		.kind = ND_COMMAND_UNLISTEN,
		.app = (uint16_t)(port % swarm->options.apps),
		.port = (uint16_t)port,
	};

	if (swarm->ndp.closed[host][port]) {
		listen(swarm, host, port);
		return;
	}
	if (submit(swarm, host, &command) != 0)
		nd_swarm_fail(swarm, "host %" PRIu32 ": cannot unlisten %" PRIu32, host, port);
	swarm->ndp.closed[host][port] = true;
}

/* ---- connections and messages ---- */

static uint32_t choose_peer(struct nd_swarm *swarm, uint32_t host)
{
	uint32_t others = swarm->options.hosts - 1;

	if (host != 0 && nd_swarm_percent(&swarm->workload, swarm->options.incast_percent))
		return 0;
	return (host + 1 + nd_rng_below(&swarm->workload, others)) % swarm->options.hosts;
}

/* A new connection, ND_NONE when the engine or the swarm has no room for it. */
static uint32_t connect_to(struct nd_swarm *swarm, uint32_t host, uint32_t peer, bool tiny,
			   uint32_t port)
{
	struct nd_swarm_ndp *ndp = &swarm->ndp;
	struct nd_command command = {
		.kind = ND_COMMAND_CONNECT,
		.app = (uint16_t)nd_rng_below(&swarm->workload, swarm->options.apps),
		.priority = (uint8_t)(nd_rng_below(&swarm->workload, 4) ? 0 :
				      nd_rng_below(&swarm->workload, 8)),
		.peer = nd_swarm_address(peer),
		.port = (uint16_t)port,
		.deadline = ND_NEVER,
	};
	int rc;

	if (ndp->side_count == ND_SWARM_SIDES_MAX)
		return ND_NONE;
	command.cookie = ndp->side_count;
	rc = submit(swarm, host, &command);
	if (rc != 0) {
		if (rc != -ENOBUFS && rc != -EAGAIN)
			nd_swarm_fail(swarm, "host %" PRIu32 ": connect refused with %d", host, rc);
		return ND_NONE;
	}
	ndp->sides[ndp->side_count] = (struct nd_swarm_side){
		.id = command.id,
		.incarnation = swarm->hosts[host].incarnation,
		.initiator = ndp->side_count,
		.acceptor = ND_NONE,
		.port = (uint16_t)port,
		.host = (uint8_t)host,
		.peer = (uint8_t)peer,
		.app = (uint8_t)command.app,
		.tiny = tiny,
		.live = true,
	};
	return ndp->side_count++;
}

static uint32_t open_connection(struct nd_swarm *swarm, uint32_t host)
{
	struct nd_swarm_ndp *ndp = &swarm->ndp;
	uint32_t peer = choose_peer(swarm, host);
	bool tiny = nd_swarm_percent(&swarm->workload, swarm->options.tiny_percent) &&
		    ndp->tiny_ports[host][peer] < ND_SWARM_SERVICES;
	uint32_t port = 1 + nd_rng_below(&swarm->workload, ND_SWARM_SERVICES);

	if (tiny)
		port = ++ndp->tiny_ports[host][peer];
	else if (nd_swarm_percent(&swarm->workload, swarm->options.dead_port_percent))
		port = ND_SWARM_DEAD_PORT;
	return connect_to(swarm, host, peer, tiny, port);
}

/* Sizes at the edges of packets and of the limits, and anything between. */
static uint32_t choose_bytes(struct nd_swarm *swarm, bool tiny, bool probe)
{
	struct nd_rng *rng = &swarm->workload;
	uint32_t limit = probe ? nd_min_u32(swarm->options.message_max, PROBE_BYTES_MAX) :
				 swarm->options.message_max;
	uint32_t mss = swarm->options.mtu - 28 - 40;
	uint32_t bytes;

	if (tiny && nd_rng_coin(rng))
		return nd_rng_below(rng, ND_SWARM_IDENTITY_BYTES);
	switch (nd_rng_below(rng, 8)) {
	case 0:
	case 1:
		bytes = nd_rng_below(rng, 200);
		break;
	case 2:
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
	bytes = nd_min_u32(bytes, limit);
	return nd_max_u32(bytes, ND_SWARM_IDENTITY_BYTES);
}

static nd_ns choose_deadline(struct nd_swarm *swarm)
{
	if (!nd_swarm_percent(&swarm->workload, swarm->options.deadline_percent))
		return ND_NEVER;
	return swarm->loop.now + 1 +
	       nd_rng_below(&swarm->workload, swarm->options.deadline_us * 1000);
}

static bool may_be_tiny(const struct nd_swarm *swarm, const struct nd_swarm_side *side)
{
	const struct nd_swarm_side *initiator = &swarm->ndp.sides[side->initiator];

	if (!initiator->tiny)
		return false;
	return !side->accepting ||
	       (initiator->acceptors == 1 && initiator->acceptor == (uint32_t)(side - swarm->ndp.sides));
}

static void send_message(struct nd_swarm *swarm, uint32_t side_index, nd_ns deadline, bool probe)
{
	struct nd_swarm_ndp *ndp = &swarm->ndp;
	struct nd_swarm_side *side = &ndp->sides[side_index];
	uint32_t index = ndp->message_count;
	struct nd_swarm_message *message = &ndp->messages[index];
	uint32_t bytes = choose_bytes(swarm, may_be_tiny(swarm, side), probe);
	struct nd_command command = {
		.kind = ND_COMMAND_SEND,
		.app = side->app,
		.id = side->id,
		.bytes = bytes,
		.cookie = index,
		.deadline = deadline,
	};
	int rc;

	if (index == ND_SWARM_MESSAGES_MAX)
		return;
	*message = (struct nd_swarm_message){
		.payload = malloc(bytes ? bytes : 1),
		.side = side_index,
		.bytes = bytes,
		.submitted = swarm->loop.now,
		.deadline = deadline,
		.probe = probe,
	};
	nd_swarm_pattern_fill(swarm->options.seed, index, message->payload, bytes);
	command.payload = message->payload;
	ndp->message_count++;
	side->pending++;
	side->sent++;
	rc = submit(swarm, side->host, &command);
	message->number = command.message;
	if (rc == 0) {
		swarm->report.messages++;
		return;
	}
	ndp->message_count--;
	side->pending--;
	side->sent--;
	free(message->payload);
	message->payload = NULL;
	/* The connection has ended, or its peer has closed it: the event is still to come. */
	if (probe || (rc != -ENOBUFS && rc != -EAGAIN && rc != -ENOENT &&
		      rc != -ENOTCONN && rc != -EPIPE))
		nd_swarm_fail(swarm, "host %u: a message of %" PRIu32 " bytes refused with %d",
			      side->host, bytes, rc);
}

/* Above the configured maximum: refused at once, nothing is kept. */
static void send_too_big(struct nd_swarm *swarm, const struct nd_swarm_side *side)
{
	static const uint8_t byte;
	struct nd_command command = {
		.kind = ND_COMMAND_SEND,
		.app = side->app,
		.id = side->id,
		.bytes = UINT32_MAX,
		.deadline = ND_NEVER,
		.payload = &byte,
	};
	int rc = submit(swarm, side->host, &command);

	if (rc != -EMSGSIZE)
		nd_swarm_fail(swarm, "host %u: a message of 4 GiB got %d, not -EMSGSIZE",
			      side->host, rc);
}

/* Any side of the host that is fit for use, ND_NONE when there is none. */
static uint32_t choose_side(struct nd_swarm *swarm, uint32_t host)
{
	struct nd_swarm_ndp *ndp = &swarm->ndp;
	uint32_t first;

	if (ndp->side_count == 0)
		return ND_NONE;
	first = nd_rng_below(&swarm->workload, ndp->side_count);
	for (uint32_t i = 0; i < ndp->side_count; i++) {
		uint32_t at = (first + i) % ndp->side_count;
		const struct nd_swarm_side *side = &ndp->sides[at];

		if (side->host == host && side->live && !side->closing && side->initiator != ND_NONE)
			return at;
	}
	return ND_NONE;
}

void nd_swarm_ndp_end(struct nd_swarm *swarm, uint32_t index, enum nd_command_kind kind)
{
	struct nd_swarm_side *side = &swarm->ndp.sides[index];
	struct nd_command command = { .kind = (uint8_t)kind, .app = side->app, .id = side->id };
	int rc;

	side->closing = true;
	if (kind == ND_COMMAND_RESET)
		side->broken = true;
	rc = submit(swarm, side->host, &command);
	/* It may have ended, with that event still to be looked at. */
	if (rc != 0 && rc != -ENOENT)
		nd_swarm_fail(swarm, "host %u: close or reset refused with %d", side->host, rc);
}

static void cancel_message(struct nd_swarm *swarm, uint32_t host)
{
	struct nd_swarm_ndp *ndp = &swarm->ndp;
	struct nd_swarm_message *message;
	struct nd_swarm_side *side;
	struct nd_command command = { .kind = ND_COMMAND_CANCEL };
	int rc;

	if (ndp->message_count == 0)
		return;
	message = &ndp->messages[nd_rng_below(&swarm->workload, ndp->message_count)];
	side = &ndp->sides[message->side];
	if (side->host != host || message->outcome != ND_SWARM_PENDING)
		return;
	message->cancelled = true;
	command.app = side->app;
	command.id = side->id;
	command.message = message->number;
	rc = submit(swarm, host, &command);
	if (rc != 0 && rc != -ENOENT)
		nd_swarm_fail(swarm, "host %" PRIu32 ": cancel refused with %d", host, rc);
}

static void change_paths(struct nd_swarm *swarm, uint32_t host)
{
	uint16_t paths[ND_SWARM_PATHS_MAX];
	uint32_t count = 1 + nd_rng_below(&swarm->workload, swarm->options.paths);
	struct nd_command command = {
		.kind = ND_COMMAND_PATHS,
		.peer = nd_swarm_address(choose_peer(swarm, host)),
		.payload = (const uint8_t *)paths,
		.bytes = 2 * count,
	};
	int rc;

	for (uint32_t i = 0; i < count; i++)
		paths[i] = (uint16_t)nd_rng_below(&swarm->workload, swarm->options.paths);
	rc = submit(swarm, host, &command);
	if (rc != 0 && rc != -ENOBUFS)
		nd_swarm_fail(swarm, "host %" PRIu32 ": paths refused with %d", host, rc);
}

static void act_on_side(struct nd_swarm *swarm, uint32_t host)
{
	const struct nd_swarm_options *o = &swarm->options;
	struct nd_rng *rng = &swarm->workload;
	uint32_t side = nd_rng_below(rng, 3) ? choose_side(swarm, host) : ND_NONE;
	uint32_t burst = nd_rng_below(rng, 4) ? 1 : 1 + nd_rng_below(rng, 8);

	if (side == ND_NONE)
		side = open_connection(swarm, host);
	if (side == ND_NONE)
		return;
	if (nd_swarm_percent(rng, o->too_big_percent))
		send_too_big(swarm, &swarm->ndp.sides[side]);
	for (uint32_t i = 0; i < burst && swarm->ndp.sides[side].live; i++)
		send_message(swarm, side, choose_deadline(swarm), false);
	if (nd_swarm_percent(rng, o->close_percent) && swarm->ndp.sides[side].live)
		nd_swarm_ndp_end(swarm, side, ND_COMMAND_CLOSE);
	if (nd_swarm_percent(rng, o->reset_percent) && swarm->ndp.sides[side].live)
		nd_swarm_ndp_end(swarm, side, ND_COMMAND_RESET);
}

void nd_swarm_ndp_action(struct nd_swarm *swarm, uint32_t host)
{
	const struct nd_swarm_options *o = &swarm->options;
	struct nd_rng *rng = &swarm->workload;

	if (nd_swarm_percent(rng, o->cancel_percent))
		cancel_message(swarm, host);
	else if (nd_swarm_percent(rng, o->paths_percent))
		change_paths(swarm, host);
	else if (nd_swarm_percent(rng, o->unlisten_percent))
		toggle_service(swarm, host);
	else
		act_on_side(swarm, host);
}

/* ---- liveness ---- */

void nd_swarm_ndp_probe(struct nd_swarm *swarm)
{
	for (uint32_t host = 0; host < swarm->options.hosts; host++) {
		if (swarm->hosts[host].dead)
			continue;
		for (uint32_t port = 1; port <= ND_SWARM_SERVICES; port++) {
			if (swarm->ndp.closed[host][port])
				listen(swarm, host, port);
		}
	}
	for (uint32_t host = 0; host < swarm->options.hosts; host++) {
		for (uint32_t peer = 0; peer < swarm->options.hosts; peer++) {
			uint32_t side;

			if (host == peer || swarm->hosts[host].dead || swarm->hosts[peer].dead)
				continue;
			side = connect_to(swarm, host, peer, false, 1);
			if (side == ND_NONE) {
				nd_swarm_fail(swarm, "host %" PRIu32 ": no room to connect at rest",
					      host);
				return;
			}
			send_message(swarm, side, ND_NEVER, true);
		}
	}
}

void nd_swarm_ndp_finish(struct nd_swarm *swarm)
{
	for (uint32_t i = 0; i < swarm->ndp.side_count; i++) {
		if (swarm->ndp.sides[i].live && !swarm->ndp.sides[i].closing)
			nd_swarm_ndp_end(swarm, i, ND_COMMAND_CLOSE);
	}
}
