// SPDX-License-Identifier: Apache-2.0
/* The NDP endpoint as its driver sees it: memory, start, and the table of operations. */
#include "transport/ndp_peer.h"

#include <string.h>

ND_COUNTERS_TABLE(nd_ndp_counters, "ndp", ND_NDP_COUNTERS);

/* Offsets of the parts in the endpoint's memory. */
struct layout {
	size_t connections, connection_map, windows, messages, incoming, peers, peer_map;
	size_t path_sets, listeners, timers, pull, control, total;
};

static uint32_t slots(const struct nd_ndp_config *config)
{
	return config->connections_max + config->time_wait_max;
}

static uint32_t cache_lines(size_t bytes)
{
	return (uint32_t)(bytes + 63) & ~63u;
}

static uint32_t connection_stride(const struct nd_ndp_config *config)
{
	return cache_lines(offsetof(struct nd_ndp_connection, bitmap) + config->window_packets / 8);
}

static uint32_t window_stride(const struct nd_ndp_config *config)
{
	return cache_lines(config->window_packets * sizeof(struct nd_ndp_sent) +
			   config->window_packets / 8);
}

static size_t take(size_t *at, size_t bytes)
{
	size_t offset = *at;

	*at = (offset + bytes + 63) & ~(size_t)63;
	return offset;
}

static struct layout lay_out(const struct nd_ndp_config *c)
{
	struct layout l;
	size_t at = 0;

	take(&at, sizeof(struct nd_ndp));
	l.connections = take(&at, nd_pool_bytes(slots(c), connection_stride(c)));
	l.connection_map = take(&at, nd_map_bytes(slots(c)));
	l.windows = take(&at, nd_pool_bytes(c->sending_max, window_stride(c)));
	l.messages = take(&at, nd_pool_bytes(c->messages_max, sizeof(struct nd_ndp_message)));
	l.incoming = take(&at, nd_pool_bytes(c->receive_messages_max,
					     sizeof(struct nd_ndp_incoming)));
	l.peers = take(&at, nd_pool_bytes(c->peers_max, sizeof(struct nd_ndp_peer)));
	l.peer_map = take(&at, nd_map_bytes(c->peers_max));
	l.path_sets = take(&at, nd_pool_bytes(c->path_sets_max,
					      (uint32_t)nd_paths_bytes(c->paths_max)));
	l.listeners = take(&at, c->listeners_max * sizeof(struct nd_ndp_listener));
	l.timers = take(&at, nd_heap_bytes(slots(c)));
	l.pull = take(&at, nd_pull_bytes(slots(c), c->peers_max));
	l.control = take(&at, nd_power_of_two_u32(c->control_max) * sizeof(struct nd_ndp_control));
	l.total = at;
	return l;
}

static size_t endpoint_bytes(const void *config)
{
	return lay_out(config).total;
}

static void init_parts(struct nd_ndp *ndp, uint8_t *base, uint64_t salt)
{
	const struct nd_ndp_config *c = &ndp->config;
	struct layout l = lay_out(c);

	nd_pool_init(&ndp->connections, base + l.connections, slots(c), connection_stride(c));
	nd_map_init(&ndp->connection_map, base + l.connection_map, slots(c), salt);
	nd_pool_init(&ndp->windows, base + l.windows, c->sending_max, window_stride(c));
	nd_pool_init(&ndp->messages, base + l.messages, c->messages_max,
		     sizeof(struct nd_ndp_message));
	nd_pool_init(&ndp->incoming, base + l.incoming, c->receive_messages_max,
		     sizeof(struct nd_ndp_incoming));
	nd_pool_init(&ndp->peers, base + l.peers, c->peers_max, sizeof(struct nd_ndp_peer));
	nd_map_init(&ndp->peer_map, base + l.peer_map, c->peers_max, salt);
	nd_pool_init(&ndp->path_sets, base + l.path_sets, c->path_sets_max,
		     (uint32_t)nd_paths_bytes(c->paths_max));
	ndp->listeners = (struct nd_ndp_listener *)(void *)(base + l.listeners);
	nd_heap_init(&ndp->timers, base + l.timers, slots(c));
	nd_pull_init(&ndp->pull, base + l.pull, c->link_bps, c->pull_slack_ns, slots(c),
		     c->peers_max);
	ndp->control = (struct nd_ndp_control *)(void *)(base + l.control);
	ndp->control_mask = nd_power_of_two_u32(c->control_max) - 1;
}

static void endpoint_init(void *endpoint, const struct nd_setup *setup)
{
	struct nd_ndp *ndp = endpoint;
	struct nd_rng rng = nd_rng_make(setup->seed, setup->self);
	const struct nd_ndp_config *config = setup->config;

	memset(ndp, 0, sizeof(*ndp));
	ndp->config = *config;
	ndp->self = setup->self;
	ndp->has_rx = setup->rx != NULL;
	if (setup->rx)
		ndp->rx = *setup->rx;
	ndp->connection_next = (uint32_t)nd_rng_u64(&rng) & ND_NDP_CONNECTION_MAX;
	ndp->generation_next = 1;
	ndp->peer_oldest = ndp->peer_newest = ND_NONE;
	ndp->starved_head = ndp->starved_tail = ND_NONE;
	ndp->event_head = ndp->event_tail = ND_NONE;
	ndp->busy_since = ND_NEVER;
	ndp->found[0].slot = ndp->found[1].slot = ND_NONE;
	for (uint32_t i = 0; i < ND_NDP_PRIORITIES; i++)
		ndp->ready_head[i] = ndp->ready_tail[i] = ND_NONE;
	for (uint32_t i = 0; i < ND_NDP_BLOCKED_BUCKETS; i++)
		ndp->blocked[i] = ND_NONE;
	init_parts(ndp, endpoint, nd_rng_u64(&rng));
	ndp->control_walk = (uint32_t)nd_rng_u64(&rng);
	ndp->rng = rng;
}

static bool transmit(void *endpoint, struct nd_packet *packet, enum nd_class class, nd_ns now)
{
	struct nd_ndp *ndp = endpoint;

	ndp->clock = now;
	if (class == ND_CLASS_DATA)
		return nd_ndp_send_transmit(ndp, packet, now);
	return nd_ndp_control_transmit(ndp, packet, now);
}

static nd_ns deadline(const void *endpoint)
{
	const struct nd_ndp *ndp = endpoint;
	nd_ns timer = nd_heap_key(&ndp->timers);

	/* With no room for a PULL the NIC has to ask first. */
	return nd_ndp_control_is_full(ndp) ? timer : nd_min_u64(timer, nd_pull_due(&ndp->pull));
}

static void on_deadline(void *endpoint, nd_ns now)
{
	struct nd_ndp *ndp = endpoint;

	ndp->clock = now;
	nd_ndp_control_pace(ndp, now);
	nd_ndp_timer_run(ndp, now);
}

static int check(const void *config, const char **why)
{
	return nd_ndp_config_check(config, why);
}

static const uint64_t *counters(const void *endpoint)
{
	return (const uint64_t *)&((const struct nd_ndp *)endpoint)->counters;
}

void nd_ndp_usage(const void *endpoint, struct nd_ndp_usage *usage)
{
	const struct nd_ndp *ndp = endpoint;

	*usage = (struct nd_ndp_usage){
		.connections = ndp->live,
		.remembered = ndp->connections.used - ndp->live,
		.messages = ndp->messages.used,
		.receive_messages = ndp->incoming.used,
		.pulls = ndp->pull.total,
		.control = ndp->control_tail - ndp->control_head,
		.peers = ndp->peers.used,
	};
}

const struct nd_transport_ops nd_ndp_ops = {
	.name = "ndp",
	.protocol = ND_PROTO_NDP,
	.check = check,
	.bytes = endpoint_bytes,
	.init = endpoint_init,
	.submit = nd_ndp_submit,
	.leaves_room = nd_ndp_leaves_room,
	.needs_peer = nd_ndp_needs_peer,
	.receive = nd_ndp_receive,
	.transmit = transmit,
	.deadline = deadline,
	.on_deadline = on_deadline,
	.events = nd_ndp_event_take,
	.foresee = nd_ndp_foresee,
	.counters_table = &nd_ndp_counters_table,
	.counters = counters,
	.show = nd_ndp_show,
	.audit = nd_ndp_audit,
};
