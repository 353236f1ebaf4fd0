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

static uint8_t *get(void *context, uint16_t app, uint32_t bytes)
{
	struct nd_swarm_memory *memory = context;
	struct nd_swarm *swarm = memory->swarm;
	uint64_t limit = (uint64_t)swarm->options.credit_kib << 10;
	struct nd_swarm_block *block;

	if (app >= swarm->options.apps) {
		nd_swarm_fail(swarm, "host %" PRIu32 ": memory for application %u, which is none",
			      memory->host, app);
		return NULL;
	}
	if (memory->used[app] + bytes > limit)
		return NULL;
	block = malloc(sizeof(*block));
	nd_assert(block != NULL);
	*block = (struct nd_swarm_block){
		.next = memory->blocks,
		.link = &memory->blocks,
		.bytes = bytes,
		.app = app,
		.data = malloc(bytes ? bytes : 1),
	};
	nd_assert(block->data != NULL);
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
	free(block->data);
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
}

bool nd_swarm_memory_has(const struct nd_swarm_memory *memory, uint32_t app,
			 const uint8_t *payload, uint32_t bytes)
{
	const struct nd_swarm_block *block = find(memory, payload);

	return block && block->app == app && block->bytes >= bytes;
}
