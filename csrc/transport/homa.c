// SPDX-License-Identifier: Apache-2.0
/* The Homa endpoint as its driver sees it: memory, start, and the table of operations. */
#include "transport/homa_internal.h"

#include <string.h>

ND_COUNTERS_TABLE(nd_homa_counters, "homa", ND_HOMA_COUNTERS);

/* Offsets of the parts in the endpoint's memory. */
struct layout {
	size_t rpcs, clients, known, peers, peer_map, ports, gaps, timers, ready, ready_oldest, waiting;
	size_t starved, held, replies, done, total;
};

static size_t take(size_t *at, size_t bytes)
{
	size_t offset = *at;

	*at = (offset + bytes + 63) & ~(size_t)63;
	return offset;
}

/* At least half of the places stay free, see homa_rpc.c. */
static uint32_t client_places(const struct nd_homa_config *config)
{
	return nd_power_of_two_u32(2 * config->rpcs_max);
}

static uint32_t known_max(const struct nd_homa_config *config)
{
	return config->server_rpcs_max + config->done_max;
}

static struct layout lay_out(const struct nd_homa_config *config)
{
	struct layout l;
	size_t at = 0;

	take(&at, sizeof(struct nd_homa));
	l.rpcs = take(&at, nd_pool_bytes(config->rpcs_max, sizeof(struct nd_homa_rpc)));
	l.clients = take(&at, client_places(config) * sizeof(uint32_t));
	l.known = take(&at, nd_map_bytes(known_max(config)));
	l.peers = take(&at, nd_pool_bytes(config->peers_max, sizeof(struct nd_homa_peer)));
	l.peer_map = take(&at, nd_map_bytes(config->peers_max));
	l.ports = take(&at, nd_map_bytes(config->ports_max));
	l.gaps = take(&at, nd_pool_bytes(config->gaps_max, sizeof(struct nd_homa_gap)));
	l.timers = take(&at, nd_heap_bytes(config->rpcs_max));
	l.ready = take(&at, nd_heap_bytes(config->rpcs_max));
	l.ready_oldest = take(&at, nd_heap_bytes(config->rpcs_max));
	l.waiting = take(&at, nd_heap_bytes(config->peers_max));
	l.starved = take(&at, config->apps_max * sizeof(struct nd_homa_list));
	l.held = take(&at, config->apps_max * sizeof(uint32_t));
	l.replies = take(&at, config->replies_max * sizeof(struct nd_homa_reply));
	l.done = take(&at, config->done_max * sizeof(struct nd_homa_done));
	l.total = at;
	return l;
}

static size_t endpoint_bytes(const void *config)
{
	return lay_out(config).total;
}

static void init_parts(struct nd_homa *homa, uint8_t *base, uint64_t salt)
{
	const struct nd_homa_config *config = &homa->config;
	struct layout l = lay_out(config);

	nd_pool_init(&homa->rpcs, base + l.rpcs, config->rpcs_max, sizeof(struct nd_homa_rpc));
	homa->clients = (uint32_t *)(void *)(base + l.clients);
	homa->client_mask = client_places(config) - 1;
	homa->server_rpcs_any = config->server_rpcs_max;
	memset(homa->clients, 0xff, client_places(config) * sizeof(uint32_t));
	nd_map_init(&homa->known, base + l.known, known_max(config), salt);
	nd_pool_init(&homa->peers, base + l.peers, config->peers_max, sizeof(struct nd_homa_peer));
	nd_map_init(&homa->peer_map, base + l.peer_map, config->peers_max, salt);
	nd_map_init(&homa->ports, base + l.ports, config->ports_max, salt);
	nd_pool_init(&homa->gaps, base + l.gaps, config->gaps_max, sizeof(struct nd_homa_gap));
	nd_heap_init(&homa->timers, base + l.timers, config->rpcs_max);
	nd_heap_init(&homa->ready, base + l.ready, config->rpcs_max);
	nd_heap_init(&homa->ready_oldest, base + l.ready_oldest, config->rpcs_max);
	nd_heap_init(&homa->waiting, base + l.waiting, config->peers_max);
	homa->starved = (struct nd_homa_list *)(void *)(base + l.starved);
	homa->held = memset(base + l.held, 0, config->apps_max * sizeof(uint32_t));
	homa->replies = (struct nd_homa_reply *)(void *)(base + l.replies);
	homa->done = (struct nd_homa_done *)(void *)(base + l.done);
	for (uint32_t kind = 0; kind < LIST_KINDS; kind++)
		homa->lists[kind] = (struct nd_homa_list){ ND_NONE, ND_NONE };
	for (uint32_t app = 0; app < config->apps_max; app++)
		homa->starved[app] = (struct nd_homa_list){ ND_NONE, ND_NONE };
}

/* Even, never 0, and with room for all ids that this endpoint can ever use. */
static uint64_t random_first_id(struct nd_rng *rng)
{
	return (nd_rng_u64(rng) >> 16 & ~UINT64_C(1)) + 2;
}

static void endpoint_init(void *endpoint, const struct nd_setup *setup)
{
	struct nd_homa *homa = endpoint;
	struct nd_rng rng = nd_rng_make(setup->seed, setup->self);
	const struct nd_homa_config *config = setup->config;

	memset(homa, 0, sizeof(*homa));
	homa->config = *config;
	homa->setup = *setup;
	if (setup->rx)
		homa->rx = *setup->rx;
	homa->key = nd_rng_u64(&rng) | 1;
	homa->next_id = config->first_id ? config->first_id : random_first_id(&rng);
	homa->newest_peer = ND_NONE;
	homa->oldest_peer = ND_NONE;
	nd_homa_set_levels(homa, config->levels);
	init_parts(homa, endpoint, nd_rng_u64(&rng));
	nd_homa_cutoffs_init(homa);
}

static bool transmit(void *endpoint, struct nd_packet *packet, enum nd_class class, nd_ns now)
{
	struct nd_homa *homa = endpoint;

	if (class == ND_CLASS_CONTROL)
		return (homa->lists[LIST_CONTROL].first != ND_NONE || homa->reply_count) &&
		       nd_homa_transmit_control(homa, packet);
	if (!homa->ready.count)
		return false;
	nd_homa_transmit_data(homa, packet, now);
	return true;
}

static nd_ns deadline(const void *endpoint)
{
	const struct nd_homa *homa = endpoint;

	return nd_heap_key(&homa->timers);
}

static int check(const void *config, const char **why)
{
	return nd_homa_config_check(config, why);
}

static const uint64_t *counters(const void *endpoint)
{
	return (const uint64_t *)&((const struct nd_homa *)endpoint)->counters;
}

void nd_homa_usage(const void *endpoint, struct nd_homa_usage *usage)
{
	const struct nd_homa *homa = endpoint;

	*usage = (struct nd_homa_usage){
		.client_rpcs = homa->client_rpcs,
		.server_rpcs = homa->server_rpcs,
		.closed_rpcs = homa->rpcs.used - homa->client_rpcs - homa->server_rpcs,
		.peers = homa->peers.used,
		.gaps = homa->gaps.used,
		.active = homa->active_count,
		.grantable = homa->grantable_count,
		.starved = homa->starved_count,
		.done = homa->done_count,
		.incoming = homa->incoming,
		.degree = homa->degree,
		.unscheduled_levels = homa->unscheduled_levels,
		.scheduled_levels = homa->scheduled_levels,
		.cutoff_version = homa->cutoff_version,
	};
	memcpy(usage->cutoffs, homa->cutoffs, sizeof(usage->cutoffs));
}

static uint64_t expected(const void *endpoint)
{
	const struct nd_homa *homa = endpoint;

	return homa->incoming;
}

const struct nd_transport_ops nd_homa_ops = {
	.name = "homa",
	.protocol = ND_PROTO_HOMA,
	.check = check,
	.bytes = endpoint_bytes,
	.init = endpoint_init,
	.submit = nd_homa_submit,
	.leaves_room = nd_homa_leaves_room,
	.needs_peer = nd_homa_needs_peer,
	.receive = nd_homa_receive,
	.transmit = transmit,
	.deadline = deadline,
	.on_deadline = nd_homa_on_deadline,
	.events = nd_homa_events,
	.expected = expected,
	.counters_table = &nd_homa_counters_table,
	.counters = counters,
	.show = nd_homa_show,
	.audit = nd_homa_audit,
};
