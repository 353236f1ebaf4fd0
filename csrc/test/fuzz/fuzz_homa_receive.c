// SPDX-License-Identifier: Apache-2.0
/*
 * libFuzzer target: arbitrary packets, commands and times for one Homa endpoint.
 *
 * The input is a program of one-byte operations with operands. Whatever it says, the endpoint must
 * not crash, must keep every invariant, must not write outside of a message's memory, and must give
 * all memory back once its application is gone.
 */
#include "test/fuzz/program.h"
#include "transport/homa_internal.h"

#include <stdio.h>

static void receive(void *endpoint, struct input *in, nd_ns now)
{
	static const uint8_t payload[65536];
	struct nd_packet packet = {
		.source = 2 + take8(in) % 6,
		.target = 1,
		.protocol = ND_PROTO_HOMA,
		.type = (uint8_t)(ND_HOMA_DATA + take8(in) % 10),
	};

	packet.homa.sender_id = take8(in) & 0x80 ? (uint64_t)take32(in) << 32 | take32(in) : take8(in);
	packet.homa.source_port = (uint16_t)take32(in);
	packet.homa.target_port = take8(in) & 1 ? 40 : (uint16_t)take32(in);
	packet.homa.cutoff_version = take8(in);
	packet.homa.speaker = take8(in) & 1 ? ND_HOMA_SPEAKER : 0;
	packet.homa.note = take8(in) % 8;
	packet.homa.level = take8(in);
	packet.homa.message_bytes = take32(in);
	packet.homa.offset = take32(in);
	packet.homa.length = take32(in);
	packet.homa.ack_count = take8(in) % 8;
	for (uint32_t i = 0; i < ND_HOMA_ACKS_MAX; i++)
		packet.homa.ack_ids[i] = take8(in);
	if (packet.type == ND_HOMA_DATA) {
		packet.payload_bytes = (uint16_t)take32(in);
		packet.payload = payload;
	}
	nd_homa_ops.receive(endpoint, &packet, now);
}

static void submit(void *endpoint, struct input *in, const uint64_t *ids, nd_ns now)
{
	static const uint8_t payload[1 << 20];
	struct nd_command command = {
		.kind = take8(in) % 16,
		.app = take8(in) % 3,
		.peer = 2 + take8(in) % 6,
		.port = take8(in) & 1 ? 40 : (uint16_t)take32(in),
		.id = take8(in) & 1 ? ids[take8(in) % 16] : take32(in),
		.bytes = take32(in) % sizeof(payload),
		.payload = payload,
	};

	command.deadline = take8(in) & 1 ? now + take32(in) : ND_NEVER;
	nd_homa_ops.submit(endpoint, &command, now);
}

static void step(void *endpoint, struct input *in, uint64_t ids[], nd_ns *now)
{
	struct nd_packet packet;
	struct nd_event event;

	switch (take8(in) % 8) {
	case 0:
	case 1:
	case 2:
		receive(endpoint, in, *now);
		break;
	case 3:
		submit(endpoint, in, ids, *now);
		break;
	case 4:
		*now += (nd_ns)take8(in) * 100 * ND_USEC;
		nd_homa_ops.on_deadline(endpoint, *now);
		break;
	case 5:
		if (nd_homa_ops.events(endpoint, &event, 1))
			ids[event.id / 2 % 16] = event.id;
		break;
	case 6:
		nd_homa_ops.transmit(endpoint, &packet, ND_CLASS_CONTROL, *now);
		break;
	default:
		nd_homa_ops.transmit(endpoint, &packet, ND_CLASS_DATA, *now);
		break;
	}
}

static void configure(struct nd_homa_config *config, uint8_t flags)
{
	*config = nd_homa_config_default(UINT64_C(10000000000), 1500);
	config->mss_bytes = MSS;
	config->rpcs_max = 12;
	config->server_rpcs_max = 8;
	config->peer_rpcs_max = 6;
	config->peers_max = 4;
	config->ports_max = 3;
	config->apps_max = 3;
	config->gaps_max = 16;
	config->message_gaps_max = 8;
	config->replies_max = 8;
	config->done_max = 6;
	config->first_id = 2;
	config->learn_messages = 3;
	config->message_bytes_max = 1 << 20;
	config->at_least_once = flags & 1;
	config->unknown_resend = flags & 2;
	config->window_dynamic = flags & 4;
	config->levels = flags & 8 ? 1 : 8;
	config->basic = (flags & 24) == 24;
	config->overcommit = flags & 32 ? 1 : 0;
}

static void check(const void *endpoint)
{
	const char *wrong = nd_homa_ops.audit(endpoint);

	if (wrong)
		fprintf(stderr, "%s\n", wrong);
	FUZZ_CHECK(wrong == NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct nd_rx_memory rx = { .get = get, .put = put };
	struct input in = { .at = data, .end = data + size };
	struct nd_homa_config config;
	uint64_t ids[16] = { 2, 4 };
	nd_ns now = ND_MSEC;
	const char *why;
	size_t bytes;
	void *endpoint;

	configure(&config, take8(&in));
	FUZZ_CHECK(nd_homa_ops.check(&config, &why) == 0);
	bytes = nd_homa_ops.bytes(&config);
	endpoint = aligned_alloc(64, bytes);
	memset(endpoint, 0, bytes);
	credit = CREDIT;
	nd_homa_ops.init(endpoint, &(struct nd_setup){ .seed = 1, .self = 1, .rx = &rx,
						       .config = &config });
	nd_homa_ops.submit(endpoint, &(struct nd_command){ .kind = ND_COMMAND_LISTEN, .port = 40 },
			   now);
	while (in.at < in.end) {
		step(endpoint, &in, ids, &now);
		check(endpoint);
	}
	for (uint16_t app = 0; app < config.apps_max; app++)
		nd_homa_ops.submit(endpoint, &(struct nd_command){ .kind = ND_COMMAND_DETACH,
								   .app = app }, now);
	check(endpoint);
	FUZZ_CHECK(held == 0 && credit == CREDIT);
	FUZZ_CHECK(((struct nd_homa *)endpoint)->rpcs.used == 0);
	free(endpoint);
	return 0;
}
