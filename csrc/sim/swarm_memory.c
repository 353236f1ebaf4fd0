// SPDX-License-Identifier: Apache-2.0
/* Blocks of received messages: credit limit, leaks and wrong returns. */
#include "sim/swarm_memory.h"

#include <stdlib.h>
#include <string.h>

#include "sim/swarm.h"

struct nd_swarm_block {
	struct nd_swarm_block *next, **link;
	uint32_t bytes;
	uint16_t app;
	uint8_t *data;
};

#define ARENA_BLOCK_BYTES 256
#define ARENA_BYTES_MIN (UINT32_C(1) << 16)

/* One message of the longest kind always fits once all others are given back. */
static uint32_t region_bytes(const struct nd_swarm *swarm)
{
	uint32_t bytes = ARENA_BYTES_MIN;

	while (bytes < swarm->options.message_max)
		bytes *= 2;
	return bytes;
}

static struct nd_arena *arena_of(struct nd_swarm_memory *memory, uint16_t app)
{
	uint32_t bytes = region_bytes(memory->swarm);
	uint8_t *region = memory->regions[app];

	if (region)
		return &memory->arenas[app];
	region = malloc(bytes + nd_arena_bytes(bytes, ARENA_BLOCK_BYTES));
	nd_assert(region != NULL);
	memory->regions[app] = region;
	nd_arena_init(&memory->arenas[app], region + bytes, region, bytes, ARENA_BLOCK_BYTES);
	return &memory->arenas[app];
}

static uint8_t *take_data(struct nd_swarm_memory *memory, uint16_t app, uint32_t bytes)
{
	uint64_t limit = (uint64_t)memory->swarm->options.credit_kib << 10;
	uint8_t *data;

	if (memory->swarm->options.arena)
		return nd_arena_get(arena_of(memory, app), bytes);
	if (memory->used[app] + bytes > limit)
		return NULL;
	data = malloc(bytes ? bytes : 1);
	nd_assert(data != NULL);
	return data;
}

static void give_data(struct nd_swarm_memory *memory, uint16_t app, uint8_t *data)
{
	if (!memory->swarm->options.arena)
		free(data);
	else if (nd_arena_put(&memory->arenas[app], data) != 0)
		nd_swarm_fail(memory->swarm, "host %" PRIu32 ": the arena does not know a block",
			      memory->host);
}

static uint8_t *get(void *context, uint16_t app, uint32_t bytes)
{
	struct nd_swarm_memory *memory = context;
	struct nd_swarm *swarm = memory->swarm;
	struct nd_swarm_block *block;
	uint8_t *data;

	if (app >= swarm->options.apps) {
		nd_swarm_fail(swarm, "host %" PRIu32 ": memory for application %u, which is none",
			      memory->host, app);
		return NULL;
	}
	data = take_data(memory, app, bytes);
	if (!data)
		return NULL;
	block = malloc(sizeof(*block));
	nd_assert(block != NULL);
	*block = (struct nd_swarm_block){
		.next = memory->blocks,
		.link = &memory->blocks,
		.bytes = bytes,
		.app = app,
		.data = data,
	};
	if (block->next)
		block->next->link = &block->next;
	memory->blocks = block;
	memory->used[app] += bytes;
	memory->count++;
	return block->data;
}

static struct nd_swarm_block *find(const struct nd_swarm_memory *memory, const uint8_t *data)
{
	for (struct nd_swarm_block *block = memory->blocks; block; block = block->next) {
		if (block->data == data)
			return block;
	}
	return NULL;
}

static void drop(struct nd_swarm_memory *memory, struct nd_swarm_block *block)
{
	*block->link = block->next;
	if (block->next)
		block->next->link = block->link;
	memory->used[block->app] -= block->bytes;
	memory->count--;
	memset(block->data, 0xdb, block->bytes);
	give_data(memory, block->app, block->data);
	free(block);
}

static void put(void *context, uint16_t app, uint8_t *data, uint32_t bytes)
{
	struct nd_swarm_memory *memory = context;
	struct nd_swarm_block *block = find(memory, data);

	if (!block) {
		nd_swarm_fail(memory->swarm, "host %" PRIu32 ": memory given back that is not out",
			      memory->host);
		return;
	}
	if (block->app != app || block->bytes != bytes)
		nd_swarm_fail(memory->swarm,
			      "host %" PRIu32 ": %" PRIu32 " bytes of application %u given back as %" PRIu32
			      " of %u", memory->host, block->bytes, block->app, bytes, app);
	drop(memory, block);
}

void nd_swarm_memory_open(struct nd_swarm *swarm, uint32_t host,
			  struct nd_swarm_endpoint *endpoint)
{
	endpoint->rx = (struct nd_swarm_memory){ .swarm = swarm, .host = host };
	endpoint->rx_ops = (struct nd_rx_memory){
		.context = &endpoint->rx,
		.get = get,
		.put = put,
	};
}

void nd_swarm_memory_reset(struct nd_swarm_memory *memory)
{
	while (memory->blocks)
		drop(memory, memory->blocks);
	for (uint32_t app = 0; app < ND_SWARM_APPS_MAX; app++) {
		free(memory->regions[app]);
		memory->regions[app] = NULL;
	}
}

const char *nd_swarm_memory_audit(const struct nd_swarm_memory *memory)
{
	for (uint32_t app = 0; app < ND_SWARM_APPS_MAX; app++) {
		if (memory->regions[app] && !nd_arena_check(&memory->arenas[app]))
			return "the arena of received messages is broken";
	}
	return NULL;
}

bool nd_swarm_memory_has(const struct nd_swarm_memory *memory, uint32_t app,
			 const uint8_t *payload, uint32_t bytes)
{
	const struct nd_swarm_block *block = find(memory, payload);

	return block && block->app == app && block->bytes >= bytes;
}
