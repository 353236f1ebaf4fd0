// SPDX-License-Identifier: Apache-2.0
/*
 * NDP's hot path for callgrind: run twice with different --count, divide the difference.
 *
 *	bench_ndp data --count N       one message of N full packets, both ends: DATA, ACK, PULL
 *	bench_ndp sender --count N     its sender alone, against a receiver that is only written down
 *	bench_ndp receiver --count N   its receiver alone, against a sender that is only written down
 *	bench_ndp message --count N    N messages of 100 bytes on one connection, both ends
 */
#include "transport/ndp_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PORT 40
#define LINK_BPS UINT64_C(10000000000)
#define PACKET_NS 1200

static void *ends[2];
static struct nd_ndp_config config;

static void boot(void)
{
	config = nd_ndp_config_default(LINK_BPS, 1500);
	config.paths = 16;
	config.message_bytes_max = UINT32_MAX - UINT16_MAX;
	for (uint32_t i = 0; i < 2; i++) {
		size_t size = nd_ndp_ops.bytes(&config);

		ends[i] = aligned_alloc(64, size);
		memset(ends[i], 0, size);
		nd_ndp_ops.init(ends[i], &(struct nd_setup){
			.seed = 1, .self = i + 1, .config = &config });
	}
	nd_ndp_ops.submit(ends[1], &(struct nd_command){ .kind = ND_COMMAND_LISTEN, .port = PORT },
			  0);
}

static uint64_t connect_and_send(uint32_t bytes)
{
	struct nd_command command = { .kind = ND_COMMAND_CONNECT, .peer = 2, .port = PORT };

	nd_ndp_ops.submit(ends[0], &command, 0);
	command.kind = ND_COMMAND_SEND;
	command.bytes = bytes;
	command.deadline = ND_NEVER;
	nd_ndp_ops.submit(ends[0], &command, 0);
	return command.id;
}

static bool move(uint32_t from, enum nd_class class, nd_ns now)
{
	struct nd_packet packet;

	if (!nd_ndp_ops.transmit(ends[from], &packet, class, now))
		return false;
	nd_ndp_ops.receive(ends[!from], &packet, now);
	return true;
}

/* Each packet time: a packet arrives, and what answers it. */
static void exchange(uint64_t packets)
{
	nd_ns now = 1000;

	for (uint64_t i = 0; i < packets; i++, now += PACKET_NS) {
		move(0, ND_CLASS_DATA, now);
		while (move(1, ND_CLASS_CONTROL, now))
			;
	}
}

static void bench_data(uint64_t count)
{
	boot();
	connect_and_send((uint32_t)(count * config.mss_bytes));
	exchange(count);
}

static void bench_sender(uint64_t count)
{
	struct nd_packet data, answer = { .source = 2, .target = 1, .protocol = ND_PROTO_NDP,
					  .flags = ND_NDP_FLAG_REPLY };
	nd_ns now = 1000;

	boot();
	connect_and_send((uint32_t)((count + 1) * config.mss_bytes));
	for (uint64_t i = 0; i < count; i++, now += PACKET_NS) {
		nd_ndp_ops.transmit(ends[0], &data, ND_CLASS_DATA, now);
		answer.ndp.connection = data.ndp.connection;
		answer.type = ND_NDP_ACK;
		answer.ndp.sequence = (uint32_t)i;
		answer.ndp.pull = 0;
		nd_ndp_ops.receive(ends[0], &answer, now);
		answer.type = ND_NDP_PULL;
		answer.ndp.pull = (uint32_t)i + 1;
		nd_ndp_ops.receive(ends[0], &answer, now);
	}
}

static void bench_receiver(uint64_t count)
{
	struct nd_packet data = { .source = 1, .target = 2, .protocol = ND_PROTO_NDP,
				  .type = ND_NDP_DATA, .flags = ND_NDP_FLAG_SYN,
				  .marks = ND_MARK_TRIMMABLE };
	struct nd_packet answer;
	nd_ns now = 1000;

	boot();
	data.payload_bytes = (uint16_t)config.mss_bytes;
	data.ndp.service = PORT;
	data.ndp.message_bytes = (uint32_t)((count + 1) * config.mss_bytes);
	for (uint64_t i = 0; i < count; i++, now += PACKET_NS) {
		data.ndp.sequence = (uint32_t)i;
		data.ndp.offset = (uint32_t)(i * config.mss_bytes);
		nd_ndp_ops.receive(ends[1], &data, now);
		while (nd_ndp_ops.transmit(ends[1], &answer, ND_CLASS_CONTROL, now))
			;
	}
}

static void bench_message(uint64_t count)
{
	struct nd_command send = { .kind = ND_COMMAND_SEND, .bytes = 100, .deadline = ND_NEVER };
	struct nd_event event;
	nd_ns now = 1000;

	boot();
	send.id = connect_and_send(100);
	for (uint64_t i = 0; i < count; i++, now += PACKET_NS) {
		nd_ndp_ops.submit(ends[0], &send, now);
		move(0, ND_CLASS_DATA, now);
		while (move(1, ND_CLASS_CONTROL, now))
			;
		while (nd_ndp_ops.events(ends[0], &event, 1))
			;
		while (nd_ndp_ops.events(ends[1], &event, 1))
			;
	}
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(uint64_t count);
	} benches[] = { { "data", bench_data }, { "sender", bench_sender },
			{ "receiver", bench_receiver }, { "message", bench_message } };
	uint64_t count = argc == 4 ? strtoull(argv[3], NULL, 10) : 0;

	for (uint32_t i = 0; argc == 4 && i < ND_ARRAY_SIZE(benches); i++) {
		if (strcmp(argv[1], benches[i].name) == 0 && strcmp(argv[2], "--count") == 0) {
			benches[i].run(count);
			printf("%s %llu\n", argv[1], (unsigned long long)count);
			return 0;
		}
	}
	fprintf(stderr, "usage: bench_ndp data|sender|receiver|message --count N\n");
	return 2;
}
