// SPDX-License-Identifier: Apache-2.0
/* What the fake engine makes of packets. */
#include <errno.h>
#include <string.h>

#include "test/swarm_fake_internal.h"

static void answer(struct fake *fake, const struct nd_packet *packet, uint8_t type, uint32_t offset)
{
	if (fake->answer_count == ANSWERS)
		return;
	fake->answers[(fake->answer_first + fake->answer_count++) % ANSWERS] = (struct answer){
		.key = packet->homa.sender_id,
		.channel_key = packet->homa.ack_ids[0],
		.peer = packet->source,
		.offset = offset,
		.type = type,
	};
}

static struct inbound *inbound_of(struct fake *fake, uint32_t peer, uint64_t key)
{
	for (uint32_t i = 0; i < INBOUNDS; i++) {
		struct inbound *inbound = &fake->inbounds[i];

		if (inbound->used && inbound->peer == peer && inbound->key == key)
			return inbound;
	}
	return NULL;
}

static struct inbound *new_inbound(struct fake *fake)
{
	for (uint32_t i = 0; i < INBOUNDS; i++) {
		if (!fake->inbounds[i].used)
			return &fake->inbounds[i];
	}
	return NULL;
}

/* The channel that the packet belongs to, opened by the first packet of a connection. */
static struct channel *accept_channel(struct fake *fake, const struct nd_packet *packet)
{
	struct channel *channel = fake_channel_of(fake, packet->source, packet->homa.ack_ids[0]);
	int app;

	if (channel)
		return channel;
	app = packet->homa.target_port < SERVICES ? fake->listens[packet->homa.target_port] : 0;
	if (app == 0 || packet->homa.retransmit == 0 || packet->homa.level == PART_CLOSE)
		return NULL;
	channel = fake_new_channel(fake);
	if (!channel)
		return NULL;
	channel->key = packet->homa.ack_ids[0];
	channel->peer = packet->source;
	channel->port = packet->homa.target_port;
	channel->app = (uint16_t)(app - 1);
	if (fake->protocol == ND_PROTO_NDP)
		fake_report(fake, (struct nd_event){
			.kind = ND_EVENT_ACCEPTED,
			.app = channel->app,
			.peer = channel->peer,
			.port = channel->port,
			.id = channel->id,
		});
	return channel;
}

static struct transfer *request_of(struct fake *fake, const struct nd_packet *packet)
{
	for (uint32_t i = 0; i < TRANSFERS; i++) {
		struct transfer *transfer = &fake->transfers[i];

		if (transfer->used && transfer->part == PART_REQUEST &&
		    transfer->key == packet->homa.ack_ids[0] && transfer->peer == packet->source)
			return transfer;
	}
	return NULL;
}

/* Makes room for a new message; NULL with *refuse when its sender should be told so. */
static struct inbound *begin(struct fake *fake, const struct nd_packet *packet, nd_ns now,
			     bool *refuse)
{
	struct inbound *inbound = new_inbound(fake);
	struct transfer *request = NULL;
	struct channel *channel = NULL;
	uint8_t *memory;
	uint16_t app;

	*refuse = true;
	if (packet->homa.offset != 0 || packet->homa.message_bytes > fake->config.message_max ||
	    !inbound)
		return NULL;
	if (packet->homa.level == PART_REPLY)
		request = request_of(fake, packet);
	else
		channel = accept_channel(fake, packet);
	if (!request && !channel)
		return NULL;
	*refuse = false;
	app = request ? request->app : channel->app;
	memory = fake->setup.rx->get(fake->setup.rx->context, app, packet->homa.message_bytes);
	if (!memory)
		return NULL;
	*inbound = (struct inbound){
		.used = true,
		.key = packet->homa.sender_id,
		.peer = packet->source,
		.memory = memory,
		.bytes = packet->homa.message_bytes,
		.app = app,
		.id = request ? request->id : channel->id,
		.message = packet->homa.level == PART_MESSAGE ? packet->homa.ack_ids[1] : 0,
		.expires = now + EXPIRE,
	};
	return inbound;
}

static void deliver(struct fake *fake, struct inbound *inbound, const struct nd_packet *packet)
{
	static const uint8_t kinds[] = { ND_EVENT_MESSAGE, 0, ND_EVENT_REQUEST, ND_EVENT_RESPONSE };
	struct transfer *request = request_of(fake, packet);
	struct nd_event event = {
		.kind = kinds[packet->homa.level],
		.app = inbound->app,
		.peer = inbound->peer,
		.port = packet->homa.target_port,
		.bytes = inbound->bytes,
		.id = inbound->id,
		.message = inbound->message,
		.cookie = request ? request->cookie : 0,
		.payload = inbound->memory,
	};

	inbound->done = true;
	if (fake_sabotage(fake, FAKE_LOSES_MESSAGE)) {
		fake->setup.rx->put(fake->setup.rx->context, inbound->app, inbound->memory,
				    inbound->bytes);
		return;
	}
	inbound->held = true;
	if (inbound->bytes > 0 && fake_sabotage(fake, FAKE_CORRUPTS_BYTE))
		inbound->memory[inbound->bytes / 2] ^= 4;
	fake_report(fake, event);
	if (fake_sabotage(fake, FAKE_DELIVERS_TWICE))
		fake_report(fake, event);
	if (packet->homa.level == PART_REPLY && request)
		fake_end_transfer(fake, request, 0);
	if (fake_sabotage(fake, FAKE_FORGETS_KEYS))
		inbound->key = 0;
}

static void receive_data(struct fake *fake, const struct nd_packet *packet, nd_ns now)
{
	struct inbound *inbound = inbound_of(fake, packet->source, packet->homa.sender_id);
	struct channel *channel;
	bool refuse;

	if (packet->homa.level == PART_CLOSE) {
		channel = fake_channel_of(fake, packet->source, packet->homa.ack_ids[0]);
		answer(fake, packet, channel ? ND_HOMA_ACK : ND_HOMA_RPC_UNKNOWN, 0);
		if (channel)
			fake_end_channel(fake, channel, 0);
		return;
	}
	if (!inbound) {
		inbound = begin(fake, packet, now, &refuse);
		if (!inbound && refuse)
			answer(fake, packet, ND_HOMA_RPC_UNKNOWN, 0);
		if (!inbound)
			return;
	}
	if (packet->homa.level == PART_REPLY && !inbound->done && !request_of(fake, packet)) {
		fake_expire(fake, inbound);
		answer(fake, packet, ND_HOMA_RPC_UNKNOWN, 0);
		return;
	}
	if (inbound->done && inbound->held && inbound->bytes && fake_sabotage(fake, FAKE_OVERLAPS))
		inbound->memory[inbound->bytes - 1] ^= 1;
	if (!inbound->done && packet->homa.offset == inbound->received) {
		if (packet->payload_bytes)
			memcpy(inbound->memory + inbound->received, packet->payload,
			       packet->payload_bytes);
		inbound->received += packet->payload_bytes;
		inbound->expires = now + EXPIRE;
		if (inbound->received == inbound->bytes)
			deliver(fake, inbound, packet);
	}
	if (packet->homa.level == PART_REQUEST && inbound->done && !fake_channel_by(fake, inbound->id))
		answer(fake, packet, ND_HOMA_RPC_UNKNOWN, 0);
	else
		answer(fake, packet, ND_HOMA_ACK, inbound->done ? inbound->bytes : inbound->received);
}

static void finish_transfer(struct fake *fake, struct transfer *transfer, nd_ns now)
{
	struct channel *channel = fake_channel_by(fake, transfer->id);

	if (transfer->part == PART_REQUEST)
		return; /* until its response */
	fake_end_transfer(fake, transfer, 0);
	if (channel && transfer->part == PART_REPLY)
		channel->used = false;
	else if (channel && transfer->part == PART_CLOSE)
		fake_end_channel(fake, channel, 0);
	else if (channel)
		fake_advance_close(fake, channel, now);
}

static void receive_answer(struct fake *fake, const struct nd_packet *packet, nd_ns now)
{
	struct transfer *transfer = NULL;
	struct channel *channel;

	for (uint32_t i = 0; i < TRANSFERS; i++) {
		if (fake->transfers[i].used && fake->transfers[i].key == packet->homa.sender_id &&
		    fake->transfers[i].peer == packet->source)
			transfer = &fake->transfers[i];
	}
	if (!transfer)
		return;
	if (packet->type == ND_HOMA_RPC_UNKNOWN) {
		channel = fake_channel_by(fake, transfer->id);
		if (transfer->part == PART_REQUEST)
			fake_end_transfer(fake, transfer, -ECONNREFUSED);
		else if (channel && transfer->part == PART_REPLY) {
			fake_end_transfer(fake, transfer, -ECONNRESET);
			channel->used = false;
		} else if (channel)
			fake_end_channel(fake, channel, -ECONNRESET);
		return;
	}
	transfer->tries = 0;
	if (packet->homa.offset > transfer->acked) {
		transfer->acked = packet->homa.offset;
		transfer->next = now;
	}
	if (transfer->part != PART_REQUEST && fake_sabotage(fake, FAKE_REPORTS_EARLY))
		finish_transfer(fake, transfer, now);
	else if (transfer->acked == transfer->bytes)
		finish_transfer(fake, transfer, now);
}

void fake_receive(void *endpoint, const struct nd_packet *packet, nd_ns now)
{
	if (packet->marks & (ND_MARK_TRIMMED | ND_MARK_BOUNCED))
		return;
	if (packet->type == ND_HOMA_DATA)
		receive_data(endpoint, packet, now);
	else
		receive_answer(endpoint, packet, now);
}
