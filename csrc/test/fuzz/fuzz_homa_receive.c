// SPDX-License-Identifier: Apache-2.0
/*
 * libFuzzer target: arbitrary packets, commands and times for one Homa endpoint.
 *
 * The input is a program of one-byte operations with operands. Whatever it says, the endpoint must
 * not crash, must keep every invariant, must not write outside of a message's memory nor deliver what
 * it held before, and must give all memory back once its application is gone.
 */
#include "test/fuzz/endpoint.h"
#include "transport/homa_internal.h"

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
	packet.homa.target_port = take8(in) & 1 ? PORT : (uint16_t)take32(in);
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

static void submit(void *endpoint, struct input *in, uint64_t *ids, nd_ns now)
{
	static const uint8_t payload[1 << 20];
	struct nd_command command = {
		.kind = take8(in) % 16,
		.app = take8(in) % 3,
		.peer = 2 + take8(in) % 6,
		.port = take8(in) & 1 ? PORT : (uint16_t)take32(in),
		.id = take8(in) & 1 ? ids[take8(in) % IDS] : take32(in),
		.bytes = take32(in) % sizeof(payload),
		.payload = payload,
	};

	command.deadline = take8(in) & 1 ? now + take32(in) : ND_NEVER;
	nd_homa_ops.submit(endpoint, &command, now);
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

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct program program = {
		.ops = &nd_homa_ops,
		.receive = receive,
		.submit = submit,
		.id_step = 2,
	};
	struct input in = { .at = data, .end = data + size };
	struct nd_homa_config config;
	uint64_t ids[IDS] = { 2, 4 };
	nd_ns now = ND_MSEC;
	void *endpoint;

	configure(&config, take8(&in));
	endpoint = begin(&program, &config, now);
	run(&program, endpoint, &in, ids, &now);
	detach(&program, endpoint, config.apps_max, now);
	FUZZ_CHECK(((struct nd_homa *)endpoint)->rpcs.used == 0);
	free(endpoint);
	return 0;
}
