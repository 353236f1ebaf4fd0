/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A small world for Homa tests: a few endpoints, a link with seeded faults, applications that echo.
 *
 * Payload is copied into each packet, so that a byte read too late or from the wrong place shows.
 */
#ifndef ND_TEST_HOMA_WORLD_H
#define ND_TEST_HOMA_WORLD_H

#include "base/heap.h"
#include "base/rng.h"
#include "test/harness.h"
#include "transport/homa_internal.h"

#include <errno.h>

#define WORLD_HOSTS 12
#define WORLD_FLIGHT 8192
#define WORLD_EVENTS 4096
#define SERVICE_PORT 40

struct world_packet {
	struct nd_packet packet;
	uint8_t payload[2048];
};

struct world_host {
	void *endpoint;
	struct nd_homa_config config;
	struct nd_rx_memory rx;
	int64_t credit; /* receive memory that is left, INT64_MAX: no limit */
	uint32_t held;  /* receive buffers that are out */
	nd_ns nic_free;
	bool deaf;      /* packets to it are lost */
};

struct world {
	const struct nd_transport_ops *ops;
	struct world_host hosts[WORLD_HOSTS];
	uint32_t host_count;
	nd_ns now;
	uint64_t link_bps;
	nd_ns delay;
	nd_ns jitter;
	uint32_t loss_permille;
	uint32_t duplicate_permille;
	struct nd_rng rng;
	bool carry_bytes;
	bool hold_replies; /* the application does not answer by itself */
	uint32_t reply_bytes; /* length of answers; UINT32_MAX: echo */
	struct world_packet *flight;
	struct nd_heap arrivals;
	uint32_t *free_slots;
	uint32_t free_count;
	/* Sees every packet as it is sent; false loses it. */
	bool (*filter)(struct world *world, const struct nd_packet *packet);
	void *filter_context;
	uint64_t sent[32];  /* packets by type & 31 */
	struct nd_event events[WORLD_EVENTS];
	uint32_t event_count;
	uint8_t *zeros;
};

static inline struct nd_homa *world_homa(struct world *world, uint32_t host)
{
	return world->hosts[host].endpoint;
}

static inline const struct nd_homa_counters *world_counters(struct world *world, uint32_t host)
{
	return &world_homa(world, host)->counters;
}

static inline uint8_t world_byte(uint64_t seed, uint32_t at)
{
	return (uint8_t)(seed * 131 + at + (at >> 8) * 7 + (at >> 16) * 13);
}

static uint8_t *world_get(void *context, uint16_t app, uint32_t bytes)
{
	struct world_host *host = context;

	(void)app;
	if (host->credit != INT64_MAX) {
		if (host->credit < bytes)
			return NULL;
		host->credit -= bytes;
	}
	host->held++;
	return malloc(bytes ? bytes : 1);
}

static void world_put(void *context, uint16_t app, uint8_t *memory, uint32_t bytes)
{
	struct world_host *host = context;

	(void)app;
	CHECK(memory);
	CHECK(host->held > 0);
	if (host->credit != INT64_MAX)
		host->credit += bytes;
	host->held--;
	free(memory);
}

/* Handles are host number + 1. */
static inline void world_boot(struct world *world, uint32_t index, uint64_t seed)
{
	struct world_host *host = &world->hosts[index];
	const char *why = "?";
	size_t bytes;

	if (nd_homa_ops.check(&host->config, &why) != 0) {
		fprintf(stderr, "  %s\n", why);
		nd_test_fail(__FILE__, __LINE__, "config");
	}
	bytes = nd_homa_ops.bytes(&host->config);
	free(host->endpoint);
	host->endpoint = aligned_alloc(64, bytes);
	memset(host->endpoint, 0, bytes);
	host->rx = (struct nd_rx_memory){ .context = host, .get = world_get, .put = world_put };
	nd_homa_ops.init(host->endpoint, &(struct nd_setup){
		.seed = seed,
		.self = index + 1,
		.rx = world->carry_bytes ? &host->rx : NULL,
		.config = &host->config,
	});
}

static inline struct nd_homa_config world_config(void)
{
	struct nd_homa_config config = nd_homa_config_default(UINT64_C(10000000000), 1500);

	config.rpcs_max = 512;
	config.server_rpcs_max = 384;
	config.peer_rpcs_max = 384;
	config.peers_max = 32;
	config.gaps_max = 2048;
	config.done_max = 4096;
	config.replies_max = 256;
	return config;
}

static inline void world_start(struct world *world, uint32_t hosts,
			       const struct nd_homa_config *config, bool carry_bytes, uint64_t seed)
{
	*world = (struct world){
		.ops = &nd_homa_ops,
		.host_count = hosts,
		.now = ND_MSEC,
		.link_bps = UINT64_C(10000000000),
		.delay = 2 * ND_USEC,
		.rng = nd_rng_make(seed, 77),
		.carry_bytes = carry_bytes,
		.reply_bytes = UINT32_MAX,
		.flight = calloc(WORLD_FLIGHT, sizeof(struct world_packet)),
		.free_slots = calloc(WORLD_FLIGHT, sizeof(uint32_t)),
		.free_count = WORLD_FLIGHT,
		.zeros = calloc(1, 1),
	};
	nd_heap_init(&world->arrivals, calloc(1, nd_heap_bytes(WORLD_FLIGHT)), WORLD_FLIGHT);
	for (uint32_t i = 0; i < WORLD_FLIGHT; i++)
		world->free_slots[i] = WORLD_FLIGHT - 1 - i;
	for (uint32_t i = 0; i < hosts; i++) {
		world->hosts[i].config = *config;
		world->hosts[i].credit = INT64_MAX;
		world_boot(world, i, seed * 100 + i);
		nd_homa_ops.submit(world->hosts[i].endpoint, &(struct nd_command){
			.kind = ND_COMMAND_LISTEN, .port = SERVICE_PORT, .app = 1 }, world->now);
	}
}

static inline void world_stop(struct world *world)
{
	for (uint32_t i = 0; i < world->host_count; i++)
		free(world->hosts[i].endpoint);
	free(world->flight);
	free(world->free_slots);
	free(world->arrivals.items);
	free(world->zeros);
}

static inline void world_audit(struct world *world)
{
	for (uint32_t i = 0; i < world->host_count; i++) {
		const char *wrong = nd_homa_ops.audit(world->hosts[i].endpoint);

		if (wrong) {
			fprintf(stderr, "  host %u at %" PRIu64 " ns: %s\n", i, world->now, wrong);
			nd_test_fail(__FILE__, __LINE__, "audit");
		}
	}
}

static inline void world_fly(struct world *world, const struct nd_packet *packet, nd_ns at)
{
	uint32_t slot;

	CHECK(world->free_count > 0);
	slot = world->free_slots[--world->free_count];
	world->flight[slot].packet = *packet;
	if (packet->payload) {
		CHECK(packet->payload_bytes <= sizeof(world->flight[slot].payload));
		memcpy(world->flight[slot].payload, packet->payload, packet->payload_bytes);
		world->flight[slot].packet.payload = world->flight[slot].payload;
	}
	nd_heap_set(&world->arrivals, slot, at);
}

static inline nd_ns world_travel(struct world *world)
{
	nd_ns extra = world->jitter ? nd_rng_below(&world->rng, (uint32_t)world->jitter) : 0;

	return world->now + world->delay + extra;
}

static inline bool world_chance(struct world *world, uint32_t permille)
{
	return permille && nd_rng_below(&world->rng, 1000) < permille;
}

static inline void world_send(struct world *world, const struct nd_packet *packet)
{
	world->sent[packet->type & 31]++;
	if (world->filter && !world->filter(world, packet))
		return;
	if (world_chance(world, world->loss_permille))
		return;
	world_fly(world, packet, world_travel(world));
	if (world_chance(world, world->duplicate_permille))
		world_fly(world, packet, world_travel(world) + world->jitter);
}

static inline bool world_transmit(struct world *world, uint32_t index)
{
	struct world_host *host = &world->hosts[index];
	struct nd_packet packet;

	if (!nd_homa_ops.transmit(host->endpoint, &packet, ND_CLASS_CONTROL, world->now) &&
	    !nd_homa_ops.transmit(host->endpoint, &packet, ND_CLASS_DATA, world->now))
		return false;
	host->nic_free = world->now + (nd_ns)packet.wire_bytes * 8000000000 / world->link_bps;
	world_send(world, &packet);
	return true;
}

static inline int world_submit(struct world *world, uint32_t host, struct nd_command *command)
{
	return nd_homa_ops.submit(world->hosts[host].endpoint, command, world->now);
}

/* A pattern that tells its own length and place. */
static inline uint8_t *world_pattern(uint32_t bytes)
{
	uint8_t *memory = malloc(bytes ? bytes : 1);

	for (uint32_t i = 0; i < bytes; i++)
		memory[i] = world_byte(bytes, i);
	return memory;
}

static inline void world_check_pattern(const uint8_t *memory, uint32_t bytes)
{
	for (uint32_t i = 0; i < bytes; i++) {
		if (memory[i] != world_byte(bytes, i)) {
			fprintf(stderr, "  byte %u of %u is wrong\n", i, bytes);
			nd_test_fail(__FILE__, __LINE__, "payload");
		}
	}
}

/* The cookie of a request or reply is its payload, which the events give back. */
static inline uint64_t world_request(struct world *world, uint32_t client, uint32_t server,
				     uint32_t bytes)
{
	uint8_t *payload = world->carry_bytes ? world_pattern(bytes) : NULL;
	struct nd_command command = {
		.kind = ND_COMMAND_REQUEST, .app = 2, .peer = server + 1, .port = SERVICE_PORT,
		.bytes = bytes, .payload = payload, .cookie = (uint64_t)(uintptr_t)payload,
	};

	CHECK_EQ(world_submit(world, client, &command), 0);
	return command.id;
}

static inline int world_reply(struct world *world, uint32_t host, uint64_t id, uint32_t bytes)
{
	uint8_t *payload = world->carry_bytes ? world_pattern(bytes) : NULL;
	int result = world_submit(world, host, &(struct nd_command){
		.kind = ND_COMMAND_REPLY, .app = 1, .id = id, .bytes = bytes, .payload = payload,
		.cookie = (uint64_t)(uintptr_t)payload,
	});

	if (result)
		free(payload);
	return result;
}

static inline void world_release(struct world *world, uint32_t host, const struct nd_event *event)
{
	if (event->payload)
		CHECK_EQ(world_submit(world, host, &(struct nd_command){
			.kind = ND_COMMAND_RELEASE, .app = event->app, .id = event->id }), 0);
}

static inline void world_take(struct world *world, uint32_t host, struct nd_event *event)
{
	CHECK(world->event_count < WORLD_EVENTS);
	event->spare = (uint8_t)host;
	world->events[world->event_count++] = *event;
	if (event->kind == ND_EVENT_REQUEST || event->kind == ND_EVENT_RESPONSE) {
		if (world->carry_bytes && event->payload)
			world_check_pattern(event->payload, event->bytes);
		if (!world->hold_replies || event->kind == ND_EVENT_RESPONSE)
			world_release(world, host, event);
	}
	if (event->kind == ND_EVENT_REQUEST && !world->hold_replies)
		CHECK_EQ(world_reply(world, host, event->id,
				     world->reply_bytes == UINT32_MAX ? event->bytes
								      : world->reply_bytes), 0);
	if (event->kind != ND_EVENT_REQUEST && world->carry_bytes)
		free((void *)(uintptr_t)event->cookie);
}

static inline void world_events(struct world *world)
{
	struct nd_event event;

	for (uint32_t i = 0; i < world->host_count; i++) {
		while (nd_homa_ops.events(world->hosts[i].endpoint, &event, 1))
			world_take(world, i, &event);
	}
}

static inline void world_deliver(struct world *world)
{
	uint32_t slot = nd_heap_id(&world->arrivals);
	struct nd_packet *packet = &world->flight[slot].packet;
	struct world_host *host = &world->hosts[packet->target - 1];

	nd_heap_remove(&world->arrivals, slot);
	CHECK(packet->target >= 1 && packet->target <= world->host_count);
	if (!host->deaf)
		nd_homa_ops.receive(host->endpoint, packet, world->now);
	world->free_slots[world->free_count++] = slot;
}

static inline nd_ns world_next(struct world *world)
{
	nd_ns next = nd_heap_key(&world->arrivals);

	for (uint32_t i = 0; i < world->host_count; i++) {
		struct world_host *host = &world->hosts[i];

		next = nd_min_u64(next, nd_homa_ops.deadline(host->endpoint));
		if (host->nic_free > world->now)
			next = nd_min_u64(next, host->nic_free);
	}
	return next;
}

/* Everything that happens at this instant. */
static inline void world_step(struct world *world)
{
	while (nd_heap_key(&world->arrivals) <= world->now)
		world_deliver(world);
	for (uint32_t i = 0; i < world->host_count; i++) {
		struct world_host *host = &world->hosts[i];

		if (nd_homa_ops.deadline(host->endpoint) <= world->now)
			nd_homa_ops.on_deadline(host->endpoint, world->now);
	}
	world_events(world);
	for (uint32_t i = 0; i < world->host_count; i++) {
		if (world->hosts[i].nic_free <= world->now)
			world_transmit(world, i);
	}
	world_events(world);
}

static inline void world_run(struct world *world, nd_ns until)
{
	for (;;) {
		nd_ns next;

		world_step(world);
		next = world_next(world);
		if (next > until)
			break;
		world->now = nd_max_u64(next, world->now);
	}
	world->now = nd_max_u64(world->now, until);
	world_audit(world);
}

static inline uint32_t world_count(const struct world *world, enum nd_event_kind kind)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < world->event_count; i++)
		count += world->events[i].kind == kind;
	return count;
}

static inline const struct nd_event *world_event(const struct world *world, enum nd_event_kind kind)
{
	for (uint32_t i = 0; i < world->event_count; i++) {
		if (world->events[i].kind == kind)
			return &world->events[i];
	}
	nd_test_fail(__FILE__, __LINE__, "no such event");
}

static inline void world_print_failures(const struct world *world)
{
	for (uint32_t i = 0; i < world->event_count; i++) {
		const struct nd_event *e = &world->events[i];

		if (e->kind == ND_EVENT_FAILED)
			fprintf(stderr, "  host %u: id %" PRIx64 " error %d state %d attempts %u sent %u "
				"granted %u received %u\n", e->spare, e->id, e->error,
				nd_homa_failed_state(e), nd_homa_failed_attempts(e),
				nd_homa_failed_sent(e), nd_homa_failed_granted(e), e->bytes);
	}
}

/* Nothing is left of any RPC, in any endpoint. */
static inline void world_check_empty(struct world *world)
{
	world_audit(world);
	for (uint32_t i = 0; i < world->host_count; i++) {
		struct nd_homa_usage usage;

		nd_homa_usage(world->hosts[i].endpoint, &usage);
		CHECK_EQ(usage.client_rpcs, 0);
		CHECK_EQ(usage.server_rpcs, 0);
		CHECK_EQ(usage.closed_rpcs, 0);
		CHECK_EQ(usage.gaps, 0);
		CHECK_EQ(usage.grantable, 0);
		CHECK_EQ(usage.incoming, 0);
		CHECK_EQ(world->hosts[i].held, 0);
	}
}

#endif
