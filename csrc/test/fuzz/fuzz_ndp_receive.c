// SPDX-License-Identifier: Apache-2.0
/*
 * libFuzzer target: arbitrary packets, commands and times for one NDP endpoint.
 *
 * The input is a program of one-byte operations with operands. Whatever it says, the endpoint must
 * not crash, must keep every invariant, must not write outside of a message's memory nor deliver what
 * it held before, and must give all memory back once its applications are gone and time has passed.
 *
 * Packets that only name connections nobody has would get nowhere: three in four name one that the
 * endpoint has, with a sequence near those in use.
 */
#include "test/fuzz/endpoint.h"
#include "transport/ndp_internal.h"

#define APPS 3

/* Makes a packet one of a connection that the endpoint has. */
static void aim(const struct nd_ndp *ndp, struct nd_packet *packet, uint32_t choice)
{
	const struct nd_ndp_connection *connection;
	uint32_t slot = choice % ndp->connections.limit;

	if (ndp->connections.next[slot] != ND_POOL_USED)
		return;
	connection = nd_ndp_connection_at(ndp, slot);
	packet->source = connection->address;
	packet->ndp.connection = connection->id;
	packet->flags &= (uint8_t)~ND_NDP_FLAG_REPLY;
	if (connection->accepted == ((packet->marks & ND_MARK_BOUNCED) != 0))
		packet->flags |= ND_NDP_FLAG_REPLY;
	packet->ndp.base = (uint16_t)(connection->arrived - packet->ndp.base % 4);
	packet->ndp.sequence += packet->type == ND_NDP_DATA ? connection->arrived :
			        packet->type == ND_NDP_CLOSE ? 0 : connection->base;
	packet->ndp.pull += connection->pull_seen;
}

/* A part of a message of a few packets of one size, or nearly so. */
static void shape(struct nd_packet *packet, struct input *in)
{
	uint32_t bytes = 1 + take8(in) % 8, place = take8(in) % 4;

	packet->payload_bytes = (uint16_t)bytes;
	packet->ndp.message %= 4;
	packet->ndp.sequence %= 8;
	packet->ndp.offset = place * bytes;
	packet->ndp.message_bytes = packet->ndp.offset + bytes * (1 + take8(in) % 3);
}

static void receive(void *endpoint, struct input *in, nd_ns now)
{
	static const uint8_t payload[65536];
	struct nd_packet packet = {
		.source = 2 + take8(in) % 6,
		.target = 1,
		.protocol = ND_PROTO_NDP,
		.type = take8(in) % 7,
		.flags = take8(in),
		.priority = take8(in) % 8,
		.marks = take8(in) & (ND_MARK_TRIMMABLE | ND_MARK_BOUNCED | ND_MARK_LAST_HOP),
		.payload = payload,
	};
	uint8_t known = take8(in);

	packet.ndp.connection = take32(in);
	packet.ndp.sequence = take32(in);
	packet.ndp.pull = take32(in);
	packet.ndp.service = take8(in) & 3 ? PORT : (uint16_t)take32(in);
	packet.ndp.base = take8(in) & 3 ? 0 : (uint16_t)take32(in);
	packet.ndp.message_bytes = take32(in);
	packet.ndp.offset = take32(in);
	packet.ndp.message = take8(in);
	if (packet.type == ND_NDP_DATA)
		packet.payload_bytes = (uint16_t)take32(in);
	if (packet.type == ND_NDP_DATA && known & 64)
		shape(&packet, in);
	packet.header_bytes = 64;
	packet.wire_bytes = (uint16_t)(64 + packet.payload_bytes);
	if (known & 3)
		aim(endpoint, &packet, known >> 2);
	if (take8(in) % 4 == 0 && packet.payload_bytes)
		nd_packet_trim(&packet);
	nd_ndp_ops.receive(endpoint, &packet, now);
}

static void submit(void *endpoint, struct input *in, uint64_t *ids, nd_ns now)
{
	static const uint8_t payload[1 << 20];
	struct nd_command command = {
		.kind = take8(in) % 16,
		.app = take8(in) % APPS,
		.priority = take8(in) % 8,
		.peer = 2 + take8(in) % 6,
		.port = take8(in) & 1 ? PORT : (uint16_t)take32(in),
		.id = take8(in) & 3 ? ids[take8(in) % IDS] : take32(in),
		.message = take8(in),
		.bytes = take32(in) % sizeof(payload),
		.payload = payload,
	};

	command.deadline = take8(in) & 1 ? now + take32(in) : ND_NEVER;
	if (nd_ndp_ops.submit(endpoint, &command, now) == 0 && command.kind == ND_COMMAND_CONNECT)
		ids[command.id % IDS] = command.id;
}

static void configure(struct nd_ndp_config *config, uint8_t flags)
{
	*config = nd_ndp_config_default(UINT64_C(10000000000), 1500);
	config->mss_bytes = MSS;
	config->initial_window = flags & 1 ? 2 : 30;
	config->window_packets = 64;
	config->futile_max = flags & 2 ? 2 : 256;
	config->ack_carries_pull = flags & 4;
	config->nack_carries_pull = flags & 8;
	config->keepalive_ns = flags & 16 ? 5 * ND_MSEC : 0;
	config->paths = 1 + flags / 32;
	config->paths_max = 8;
	config->path_sets_max = flags & 1 ? 1 : 4;
	config->message_bytes_max = 1 << 20;
	config->connections_max = 12;
	config->time_wait_max = 4;
	config->listeners_max = 3;
	config->listen_backlog = 4;
	config->peers_max = 4;
	config->sending_max = flags & 2 ? 2 : 8;
	config->messages_max = 24;
	config->connection_messages_max = 12;
	config->receive_messages_max = 8;
	config->control_max = 16;
}

/* Nothing is left to be sent to anybody, and soon nothing at all. */
static void end(void *endpoint, nd_ns now)
{
	struct nd_packet packet;
	struct nd_ndp_usage usage;

	while (nd_ndp_ops.transmit(endpoint, &packet, ND_CLASS_CONTROL, now))
		;
	FUZZ_CHECK(!nd_ndp_ops.transmit(endpoint, &packet, ND_CLASS_DATA, now));
	nd_ndp_ops.on_deadline(endpoint, now + 100 * ND_SEC);
	nd_ndp_usage(endpoint, &usage);
	FUZZ_CHECK(usage.connections == 0 && usage.remembered == 0 && usage.messages == 0);
	FUZZ_CHECK(usage.receive_messages == 0 && usage.pulls == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct program program = {
		.ops = &nd_ndp_ops,
		.receive = receive,
		.submit = submit,
		.id_step = 1,
	};
	struct input in = { .at = data, .end = data + size };
	struct nd_ndp_config config;
	uint64_t ids[IDS] = { 0 };
	nd_ns now = ND_MSEC;
	void *endpoint;

	configure(&config, take8(&in));
	endpoint = begin(&program, &config, now);
	run(&program, endpoint, &in, ids, &now);
	detach(&program, endpoint, APPS, now);
	end(endpoint, now);
	free(endpoint);
	return 0;
}
