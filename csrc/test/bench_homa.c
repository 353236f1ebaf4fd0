// SPDX-License-Identifier: Apache-2.0
/*
 * Homa's hot paths for callgrind: run twice with different --count, divide the difference.
 *
 *	bench_homa rpc --count N     100-byte echo RPCs, both ends, packets handed over in memory
 *	bench_homa data --count N    one message of N full packets: DATA, GRANT, both ends
 */
#include "transport/homa_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PORT 40

static void *ends[2];
static uint8_t payload[100];
static _Alignas(64) uint8_t received[2][16][128];
static uint32_t received_used[2];

static uint8_t *get(void *context, uint16_t app, uint32_t bytes)
{
	uint32_t end = (uint32_t)(uintptr_t)context;

	(void)app;
	return bytes > 128 ? NULL : received[end][received_used[end]++ & 15];
}

static void put(void *context, uint16_t app, uint8_t *memory, uint32_t bytes)
{
	(void)context;
	(void)app;
	(void)memory;
	(void)bytes;
}

static const struct nd_rx_memory rx[2] = {
	{ .context = (void *)0, .get = get, .put = put },
	{ .context = (void *)1, .get = get, .put = put },
};

static void boot(bool bytes)
{
	struct nd_homa_config config = nd_homa_config_default(UINT64_C(10000000000), 1500);

	for (uint32_t i = 0; i < 2; i++) {
		size_t size = nd_homa_ops.bytes(&config);

		ends[i] = aligned_alloc(64, size);
		memset(ends[i], 0, size);
		nd_homa_ops.init(ends[i], &(struct nd_setup){
			.seed = 1, .self = i + 1, .rx = bytes ? &rx[i] : NULL, .config = &config });
	}
	nd_homa_ops.submit(ends[1], &(struct nd_command){ .kind = ND_COMMAND_LISTEN, .port = PORT }, 0);
}

static bool move(uint32_t from, enum nd_class class, nd_ns now)
{
	static struct nd_packet packet;

	if (!nd_homa_ops.transmit(ends[from], &packet, class, now))
		return false;
	nd_homa_ops.receive(ends[!from], &packet, now);
	return true;
}

static void move_all(uint32_t from, nd_ns now)
{
	while (move(from, ND_CLASS_CONTROL, now) || move(from, ND_CLASS_DATA, now))
		;
}

static void finish(uint32_t end, nd_ns now)
{
	struct nd_event events[8];
	uint32_t count = nd_homa_ops.events(ends[end], events, 8);

	for (uint32_t i = 0; i < count; i++) {
		struct nd_event event = events[i];

		if (event.kind == ND_EVENT_REQUEST)
			nd_homa_ops.submit(ends[end], &(struct nd_command){
				.kind = ND_COMMAND_REPLY, .id = event.id, .bytes = 100,
				.payload = payload, .deadline = ND_NEVER }, now);
		if (event.payload)
			nd_homa_ops.submit(ends[end], &(struct nd_command){
				.kind = ND_COMMAND_RELEASE, .id = event.id }, now);
	}
}

static void bench_rpc(uint64_t count)
{
	boot(true);
	for (uint64_t i = 0; i < count; i++) {
		nd_ns now = 1000 + i * 1000;

		nd_homa_ops.submit(ends[0], &(struct nd_command){
			.kind = ND_COMMAND_REQUEST, .peer = 2, .port = PORT, .bytes = 100,
			.payload = payload, .deadline = ND_NEVER }, now);
		move_all(0, now);
		finish(1, now);
		move_all(1, now);
		finish(0, now);
	}
}

static void bench_data(uint64_t count)
{
	boot(false);
	nd_homa_ops.submit(ends[0], &(struct nd_command){
		.kind = ND_COMMAND_REQUEST, .peer = 2, .port = PORT,
		.bytes = (uint32_t)(count * 1424), .deadline = ND_NEVER }, 0);
	for (nd_ns now = 0; move(0, ND_CLASS_DATA, now); now += 1000)
		move(1, ND_CLASS_CONTROL, now);
}

int main(int argc, char **argv)
{
	uint64_t count = argc == 4 ? strtoull(argv[3], NULL, 10) : 0;

	if (argc != 4 || strcmp(argv[2], "--count") != 0) {
		fprintf(stderr, "usage: bench_homa rpc|data --count N\n");
		return 2;
	}
	if (strcmp(argv[1], "rpc") == 0)
		bench_rpc(count);
	else
		bench_data(count);
	printf("%s %llu\n", argv[1], (unsigned long long)count);
	return 0;
}
