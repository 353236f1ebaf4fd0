// SPDX-License-Identifier: Apache-2.0
/* An endpoint with its memory and the memory that it receives into. */
#include "rig.h"

#include <errno.h>

#include "base/arena.h"
#include "rig_memory.h"
#include "sim/blast.h"
#include "transport/homa.h"
#include "transport/ndp.h"

#define RX_BLOCK_BYTES 256

struct nd_rig_endpoint {
	const struct nd_transport_ops *ops;
	void *engine;
	struct nd_rx_memory rx;
	struct nd_arena arena;
	void *arena_metadata;
	uint8_t *arena_region;
};

const struct nd_transport_ops *nd_rig_transport_find(const char *name)
{
	static const struct nd_transport_ops *const all[] = { &nd_ndp_ops, &nd_homa_ops,
							&nd_blast_ops };

	for (size_t i = 0; i < ND_ARRAY_SIZE(all); i++) {
		if (!strcmp(all[i]->name, name))
			return all[i];
	}
	return NULL;
}

int nd_rig_transport_check(const struct nd_transport_ops *ops, const void *config,
			   const char **why)
{
	return ops->check(config, why);
}

struct nd_rng nd_rig_rng_make(uint64_t seed, uint64_t entity)
{
	return nd_rng_make(seed, entity);
}

uint32_t nd_rig_rng_below(struct nd_rng *rng, uint32_t bound)
{
	return nd_rng_below(rng, bound);
}

struct nd_packet *nd_rig_packet_new(void)
{
	return nd_rig_allocate(sizeof(struct nd_packet));
}

void nd_rig_packet_free(struct nd_packet *packet)
{
	free(packet);
}

static uint8_t *rx_get(void *context, uint16_t app, uint32_t bytes)
{
	struct nd_rig_endpoint *rig = context;

	(void)app;
	return nd_arena_get(&rig->arena, bytes);
}

static void rx_put(void *context, uint16_t app, uint8_t *memory, uint32_t bytes)
{
	struct nd_rig_endpoint *rig = context;
	int result = nd_arena_put(&rig->arena, memory);

	(void)app;
	(void)bytes;
	nd_assert(result == 0);
}

static bool rx_init(struct nd_rig_endpoint *rig, uint32_t rx_bytes)
{
	rx_bytes = (rx_bytes + RX_BLOCK_BYTES - 1) / RX_BLOCK_BYTES * RX_BLOCK_BYTES;
	rig->arena_region = nd_rig_allocate(rx_bytes);
	rig->arena_metadata = nd_rig_allocate(nd_arena_bytes(rx_bytes, RX_BLOCK_BYTES));
	if (!rig->arena_region || !rig->arena_metadata)
		return false;
	nd_arena_init(&rig->arena, rig->arena_metadata, rig->arena_region, rx_bytes,
		      RX_BLOCK_BYTES);
	rig->rx = (struct nd_rx_memory){ .context = rig, .get = rx_get, .put = rx_put };
	return true;
}

struct nd_rig_endpoint *nd_rig_endpoint_new(const struct nd_transport_ops *ops, const void *config,
					    uint32_t self, uint64_t seed, uint32_t rx_bytes,
					    struct nd_error *error)
{
	struct nd_setup setup = { .seed = seed, .self = self, .config = config };
	struct nd_rig_endpoint *rig;
	const char *why = NULL;

	if (ops->check(config, &why) < 0) {
		nd_error_set(error, -EINVAL, "%s: %s", ops->name, why);
		return NULL;
	}
	rig = nd_rig_allocate(sizeof(*rig));
	if (!rig)
		goto out_of_memory;
	rig->ops = ops;
	rig->engine = nd_rig_allocate(ops->bytes(config));
	if (!rig->engine)
		goto out_of_memory;
	if (rx_bytes) {
		if (!rx_init(rig, rx_bytes))
			goto out_of_memory;
		setup.rx = &rig->rx;
	}
	ops->init(rig->engine, &setup);
	return rig;

out_of_memory:
	nd_rig_endpoint_free(rig);
	nd_error_set(error, -ENOMEM, "%s: no memory for an endpoint; lower its limits", ops->name);
	return NULL;
}

void nd_rig_endpoint_free(struct nd_rig_endpoint *rig)
{
	if (!rig)
		return;
	free(rig->engine);
	free(rig->arena_metadata);
	free(rig->arena_region);
	free(rig);
}

int nd_rig_endpoint_submit(struct nd_rig_endpoint *rig, struct nd_command *command, nd_ns now)
{
	return rig->ops->submit(rig->engine, command, now);
}

void nd_rig_endpoint_receive(struct nd_rig_endpoint *rig, const struct nd_packet *packet,
			     nd_ns now)
{
	rig->ops->receive(rig->engine, packet, now);
}

bool nd_rig_endpoint_transmit(struct nd_rig_endpoint *rig, struct nd_packet *packet,
			      enum nd_class class, nd_ns now)
{
	return rig->ops->transmit(rig->engine, packet, class, now);
}

nd_ns nd_rig_endpoint_deadline(const struct nd_rig_endpoint *rig)
{
	return rig->ops->deadline(rig->engine);
}

void nd_rig_endpoint_on_deadline(struct nd_rig_endpoint *rig, nd_ns now)
{
	rig->ops->on_deadline(rig->engine, now);
}

uint32_t nd_rig_endpoint_events(struct nd_rig_endpoint *rig, struct nd_event *out, uint32_t limit)
{
	return rig->ops->events(rig->engine, out, limit);
}

const uint64_t *nd_rig_endpoint_counters(const struct nd_rig_endpoint *rig)
{
	return rig->ops->counters(rig->engine);
}

const char *nd_rig_endpoint_audit(const struct nd_rig_endpoint *rig)
{
	if (rig->arena_region && !nd_arena_check(&rig->arena))
		return "receive memory: blocks in use and free ones do not tile the region";
	return rig->ops->audit(rig->engine);
}

uint64_t nd_rig_endpoint_rx_used(const struct nd_rig_endpoint *rig)
{
	return rig->arena_region ? nd_arena_used_bytes(&rig->arena) : 0;
}

const void *nd_rig_endpoint_engine(const struct nd_rig_endpoint *rig)
{
	return rig->engine;
}
