// SPDX-License-Identifier: Apache-2.0
/* A stop-and-wait engine with a fault to choose. */
#include "test/swarm_fake.h"

#include <errno.h>
#include <string.h>

#include "sim/swarm.h"

#define TRANSFERS 512
#define INBOUNDS 4096
#define CHANNELS 512 /* connections, or RPCs at their server */
#define EVENTS 8192
#define ANSWERS 1024
#define SERVICES 64
#define RETRY (300 * ND_USEC)
#define RETRIES 100
#define EXPIRE (400 * ND_MSEC) /* a message that stays in pieces for so long is dropped */
#define HEADER 60

enum part { PART_MESSAGE, PART_CLOSE, PART_REQUEST, PART_REPLY };

struct fake_config {
	uint32_t mss;
	uint32_t message_max;
	uint32_t sabotage;
};

/* Out: one message. Homa requests stay until the response is there. */
struct transfer {
	uint64_t key, channel_key, id, message, cookie;
	const uint8_t *payload;
	nd_ns next, deadline;
	uint32_t peer, bytes, acked, tries;
	uint16_t app, port;
	uint8_t part;
	bool used, initiator;
};

/* In: one message, in pieces or remembered as done. */
struct inbound {
	uint64_t key, id, message;
	uint8_t *memory;
	nd_ns expires;
	uint32_t peer, bytes, received;
	uint16_t app;
	bool used, done, held;
};

struct channel {
	uint64_t key, id, messages, cookie;
	uint32_t peer;
	uint16_t app, port;
	bool used, initiator, closing, close_sent;
};

struct answer {
	uint64_t key, channel_key;
	uint32_t peer, offset;
	uint8_t type;
};

struct fake {
	struct nd_setup setup;
	struct fake_config config;
	struct nd_rng rng;
	uint8_t protocol;
	uint64_t next_id;
	struct transfer transfers[TRANSFERS];
	struct inbound inbounds[INBOUNDS];
	struct channel channels[CHANNELS];
	struct nd_event events[EVENTS];
	uint32_t event_first, event_count;
	struct answer answers[ANSWERS];
	uint32_t answer_first, answer_count;
	int listens[SERVICES]; /* application + 1 */
	uint32_t sabotaged;
};

/* True once in a while, and then it is done: the fault. */
static bool sabotage(struct fake *fake, enum fake_sabotage kind)
{
	if (fake->config.sabotage != (uint32_t)kind)
		return false;
	return fake->sabotaged++ % 5 == 2;
}

static void report(struct fake *fake, struct nd_event event)
{
	nd_assert(fake->event_count < EVENTS);
	fake->events[(fake->event_first + fake->event_count++) % EVENTS] = event;
}

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

static uint64_t fresh_key(struct fake *fake)
{
	return nd_rng_u64(&fake->rng);
}

static struct channel *channel_by(struct fake *fake, uint64_t id)
{
	for (uint32_t i = 0; i < CHANNELS; i++) {
		if (fake->channels[i].used && fake->channels[i].id == id)
			return &fake->channels[i];
	}
	return NULL;
}

static struct channel *channel_of(struct fake *fake, uint32_t peer, uint64_t key)
{
	for (uint32_t i = 0; i < CHANNELS; i++) {
		struct channel *channel = &fake->channels[i];

		if (channel->used && channel->key == key && channel->peer == peer)
			return channel;
	}
	return NULL;
}

static struct channel *new_channel(struct fake *fake)
{
	for (uint32_t i = 0; i < CHANNELS; i++) {
		if (!fake->channels[i].used) {
			fake->channels[i] = (struct channel){ .used = true, .id = ++fake->next_id };
			return &fake->channels[i];
		}
	}
	return NULL;
}

static struct transfer *new_transfer(struct fake *fake, nd_ns now)
{
	for (uint32_t i = 0; i < TRANSFERS; i++) {
		if (!fake->transfers[i].used) {
			fake->transfers[i] = (struct transfer){
				.used = true,
				.key = fresh_key(fake),
				.next = now,
				.deadline = ND_NEVER,
			};
			return &fake->transfers[i];
		}
	}
	return NULL;
}

static void end_transfer(struct fake *fake, struct transfer *transfer, int error)
{
	bool request = transfer->part == PART_REQUEST;

	transfer->used = false;
	if (transfer->part == PART_CLOSE || (request && error == 0) ||
	    sabotage(fake, FAKE_FORGETS_TO_REPORT))
		return;
	report(fake, (struct nd_event){
		.kind = error ? ND_EVENT_FAILED : ND_EVENT_SENT,
		.error = error,
		.app = transfer->app,
		.peer = transfer->peer,
		.id = transfer->id,
		.message = transfer->message,
		.cookie = transfer->cookie,
	});
	if (sabotage(fake, FAKE_ENDS_TWICE))
		report(fake, fake->events[(fake->event_first + fake->event_count - 1) % EVENTS]);
}

/* ---- connections ---- */

static void expire(struct fake *fake, struct inbound *inbound)
{
	inbound->done = true;
	inbound->key = 0; /* its sender may begin again */
	if (!sabotage(fake, FAKE_LEAKS_PARTIAL))
		fake->setup.rx->put(fake->setup.rx->context, inbound->app, inbound->memory,
				    inbound->bytes);
}

static void end_channel(struct fake *fake, struct channel *channel, int error)
{
	for (uint32_t i = 0; i < TRANSFERS; i++) {
		struct transfer *transfer = &fake->transfers[i];

		if (transfer->used && transfer->id == channel->id)
			end_transfer(fake, transfer, error ? error : -ECONNRESET);
	}
	for (uint32_t i = 0; i < INBOUNDS; i++) {
		struct inbound *inbound = &fake->inbounds[i];

		if (inbound->used && !inbound->done && inbound->id == channel->id)
			expire(fake, inbound);
	}
	channel->used = false;
	if (fake->protocol == ND_PROTO_NDP)
		report(fake, (struct nd_event){
			.kind = ND_EVENT_CLOSED,
			.error = error,
			.app = channel->app,
			.peer = channel->peer,
			.id = channel->id,
			.cookie = channel->cookie,
		});
}

static void advance_close(struct fake *fake, struct channel *channel, nd_ns now)
{
	struct transfer *transfer;

	if (!channel->closing || channel->close_sent)
		return;
	for (uint32_t i = 0; i < TRANSFERS; i++) {
		if (fake->transfers[i].used && fake->transfers[i].id == channel->id)
			return;
	}
	transfer = new_transfer(fake, now);
	if (!transfer)
		return;
	channel->close_sent = true;
	transfer->part = PART_CLOSE;
	transfer->peer = channel->peer;
	transfer->id = channel->id;
	transfer->channel_key = channel->key;
	transfer->initiator = channel->initiator;
	transfer->port = channel->port;
}

/* ---- commands ---- */

static int start_transfer(struct fake *fake, struct nd_command *command, nd_ns now)
{
	struct channel *channel = channel_by(fake, command->id);
	struct transfer *transfer;

	if (command->kind != ND_COMMAND_REQUEST && (!channel || channel->closing))
		return -ENOENT;
	if (command->bytes > fake->config.message_max)
		return -EMSGSIZE;
	transfer = new_transfer(fake, now);
	if (!transfer)
		return -ENOBUFS;
	transfer->bytes = command->bytes;
	transfer->payload = command->payload;
	transfer->deadline = command->deadline;
	transfer->cookie = command->cookie;
	transfer->app = command->app;
	if (command->kind == ND_COMMAND_REQUEST) {
		command->id = ++fake->next_id;
		transfer->part = PART_REQUEST;
		transfer->peer = command->peer;
		transfer->port = command->port;
		transfer->channel_key = transfer->key;
	} else {
		transfer->part = command->kind == ND_COMMAND_SEND ? PART_MESSAGE : PART_REPLY;
		transfer->peer = channel->peer;
		transfer->port = channel->port;
		transfer->channel_key = channel->key;
		transfer->initiator = channel->initiator;
		command->message = channel->messages++;
	}
	transfer->id = command->id;
	transfer->message = command->message;
	return 0;
}

static int release(struct fake *fake, const struct nd_command *command)
{
	for (uint32_t i = 0; i < INBOUNDS; i++) {
		struct inbound *inbound = &fake->inbounds[i];

		if (!inbound->used || !inbound->held || inbound->id != command->id ||
		    inbound->message != command->message)
			continue;
		inbound->held = false;
		if (sabotage(fake, FAKE_LEAKS_MEMORY))
			return 0;
		fake->setup.rx->put(fake->setup.rx->context, inbound->app, inbound->memory,
				    inbound->bytes + sabotage(fake, FAKE_PUTS_WRONG_SIZE));
		return 0;
	}
	return -ENOENT;
}

static int cancel(struct fake *fake, const struct nd_command *command, nd_ns now)
{
	struct channel *channel = channel_by(fake, command->id);

	for (uint32_t i = 0; i < TRANSFERS; i++) {
		struct transfer *transfer = &fake->transfers[i];

		if (transfer->used && transfer->id == command->id &&
		    transfer->message == command->message && transfer->part != PART_CLOSE) {
			end_transfer(fake, transfer, -ECANCELED);
			if (channel)
				advance_close(fake, channel, now);
			return 0;
		}
	}
	return -ENOENT;
}

static void detach(struct fake *fake, uint16_t app)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < CHANNELS; i++) {
		if (fake->channels[i].used && fake->channels[i].app == app)
			end_channel(fake, &fake->channels[i], -ECONNRESET);
	}
	for (uint32_t i = 0; i < TRANSFERS; i++) {
		if (fake->transfers[i].app == app && fake->transfers[i].part != PART_CLOSE)
			fake->transfers[i].used = false;
	}
	for (uint32_t i = 0; i < INBOUNDS; i++) {
		struct inbound *inbound = &fake->inbounds[i];

		if (!inbound->used || inbound->app != app || (inbound->done && !inbound->held))
			continue;
		fake->setup.rx->put(fake->setup.rx->context, app, inbound->memory, inbound->bytes);
		inbound->held = false;
		inbound->done = true;
	}
	for (uint32_t i = 0; i < SERVICES; i++) {
		if (fake->listens[i] == app + 1)
			fake->listens[i] = 0;
	}
	for (uint32_t i = 0; i < fake->event_count; i++) {
		struct nd_event event = fake->events[(fake->event_first + i) % EVENTS];

		if (event.app != app)
			fake->events[(fake->event_first + kept++) % EVENTS] = event;
	}
	fake->event_count = kept;
}

static int fake_submit(void *endpoint, struct nd_command *command, nd_ns now)
{
	struct fake *fake = endpoint;
	struct channel *channel;

	switch (command->kind) {
	case ND_COMMAND_LISTEN:
	case ND_COMMAND_UNLISTEN:
		fake->listens[command->port % SERVICES] =
			command->kind == ND_COMMAND_LISTEN ? command->app + 1 : 0;
		return 0;
	case ND_COMMAND_CONNECT:
		channel = new_channel(fake);
		if (!channel)
			return -ENOBUFS;
		channel->key = fresh_key(fake);
		channel->peer = command->peer;
		channel->port = command->port;
		channel->app = command->app;
		channel->cookie = command->cookie;
		channel->initiator = true;
		command->id = channel->id;
		return 0;
	case ND_COMMAND_CLOSE:
	case ND_COMMAND_RESET:
		channel = channel_by(fake, command->id);
		if (!channel)
			return -ENOENT;
		channel->closing = true;
		if (command->kind == ND_COMMAND_RESET)
			end_channel(fake, channel, -ECONNRESET);
		else
			advance_close(fake, channel, now);
		return 0;
	case ND_COMMAND_SEND:
	case ND_COMMAND_REQUEST:
	case ND_COMMAND_REPLY:
		return start_transfer(fake, command, now);
	case ND_COMMAND_CANCEL:
		return cancel(fake, command, now);
	case ND_COMMAND_RELEASE:
		return release(fake, command);
	case ND_COMMAND_DETACH:
		detach(fake, command->app);
		return 0;
	default:
		return 0;
	}
}

/* ---- packets in ---- */

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
	struct channel *channel = channel_of(fake, packet->source, packet->homa.ack_ids[0]);
	int app;

	if (channel)
		return channel;
	app = packet->homa.target_port < SERVICES ? fake->listens[packet->homa.target_port] : 0;
	if (app == 0 || packet->homa.retransmit == 0 || packet->homa.level == PART_CLOSE)
		return NULL;
	channel = new_channel(fake);
	if (!channel)
		return NULL;
	channel->key = packet->homa.ack_ids[0];
	channel->peer = packet->source;
	channel->port = packet->homa.target_port;
	channel->app = (uint16_t)(app - 1);
	if (fake->protocol == ND_PROTO_NDP)
		report(fake, (struct nd_event){
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
	if (sabotage(fake, FAKE_LOSES_MESSAGE)) {
		fake->setup.rx->put(fake->setup.rx->context, inbound->app, inbound->memory,
				    inbound->bytes);
		return;
	}
	inbound->held = true;
	if (inbound->bytes > 0 && sabotage(fake, FAKE_CORRUPTS_BYTE))
		inbound->memory[inbound->bytes / 2] ^= 4;
	report(fake, event);
	if (sabotage(fake, FAKE_DELIVERS_TWICE))
		report(fake, event);
	if (packet->homa.level == PART_REPLY && request)
		end_transfer(fake, request, 0);
	if (sabotage(fake, FAKE_FORGETS_KEYS))
		inbound->key = 0;
}

static void receive_data(struct fake *fake, const struct nd_packet *packet, nd_ns now)
{
	struct inbound *inbound = inbound_of(fake, packet->source, packet->homa.sender_id);
	struct channel *channel;
	bool refuse;

	if (packet->homa.level == PART_CLOSE) {
		channel = channel_of(fake, packet->source, packet->homa.ack_ids[0]);
		answer(fake, packet, channel ? ND_HOMA_ACK : ND_HOMA_RPC_UNKNOWN, 0);
		if (channel)
			end_channel(fake, channel, 0);
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
		expire(fake, inbound);
		answer(fake, packet, ND_HOMA_RPC_UNKNOWN, 0);
		return;
	}
	if (inbound->done && inbound->held && inbound->bytes && sabotage(fake, FAKE_OVERLAPS))
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
	if (packet->homa.level == PART_REQUEST && inbound->done && !channel_by(fake, inbound->id))
		answer(fake, packet, ND_HOMA_RPC_UNKNOWN, 0);
	else
		answer(fake, packet, ND_HOMA_ACK, inbound->done ? inbound->bytes : inbound->received);
}

static void finish_transfer(struct fake *fake, struct transfer *transfer, nd_ns now)
{
	struct channel *channel = channel_by(fake, transfer->id);

	if (transfer->part == PART_REQUEST)
		return; /* until its response */
	end_transfer(fake, transfer, 0);
	if (channel && transfer->part == PART_REPLY)
		channel->used = false;
	else if (channel && transfer->part == PART_CLOSE)
		end_channel(fake, channel, 0);
	else if (channel)
		advance_close(fake, channel, now);
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
		channel = channel_by(fake, transfer->id);
		if (transfer->part == PART_REQUEST)
			end_transfer(fake, transfer, -ECONNREFUSED);
		else if (channel && transfer->part == PART_REPLY) {
			end_transfer(fake, transfer, -ECONNRESET);
			channel->used = false;
		} else if (channel)
			end_channel(fake, channel, -ECONNRESET);
		return;
	}
	transfer->tries = 0;
	if (packet->homa.offset > transfer->acked) {
		transfer->acked = packet->homa.offset;
		transfer->next = now;
	}
	if (transfer->part != PART_REQUEST && sabotage(fake, FAKE_REPORTS_EARLY))
		finish_transfer(fake, transfer, now);
	else if (transfer->acked == transfer->bytes)
		finish_transfer(fake, transfer, now);
}

static void fake_receive(void *endpoint, const struct nd_packet *packet, nd_ns now)
{
	if (packet->marks & (ND_MARK_TRIMMED | ND_MARK_BOUNCED))
		return;
	if (packet->type == ND_HOMA_DATA)
		receive_data(endpoint, packet, now);
	else
		receive_answer(endpoint, packet, now);
}

/* ---- packets out ---- */

static void fill_data(struct fake *fake, struct nd_packet *packet, struct transfer *transfer)
{
	uint32_t bytes = nd_min_u32(fake->config.mss, transfer->bytes - transfer->acked);

	*packet = (struct nd_packet){
		.source = fake->setup.self,
		.target = transfer->peer,
		.wire_bytes = (uint16_t)(HEADER + bytes),
		.header_bytes = HEADER,
		.payload_bytes = (uint16_t)bytes,
		.path = (uint16_t)nd_rng_u64(&fake->rng),
		.protocol = fake->protocol,
		.type = ND_HOMA_DATA,
		.marks = ND_MARK_TRIMMABLE,
		.payload = transfer->payload ? transfer->payload + transfer->acked : NULL,
		.homa = {
			.sender_id = transfer->key,
			.target_port = transfer->port,
			.retransmit = transfer->initiator || transfer->part == PART_REQUEST,
			.level = transfer->part,
			.message_bytes = transfer->bytes,
			.offset = transfer->acked,
			.ack_ids = { transfer->channel_key, transfer->message },
		},
	};
	if (sabotage(fake, FAKE_WRONG_SOURCE))
		packet->source++;
}

static bool send_answer(struct fake *fake, struct nd_packet *packet)
{
	const struct answer *answered = &fake->answers[fake->answer_first];

	if (fake->answer_count == 0)
		return false;
	fake->answer_first = (fake->answer_first + 1) % ANSWERS;
	fake->answer_count--;
	*packet = (struct nd_packet){
		.source = fake->setup.self,
		.target = answered->peer,
		.wire_bytes = HEADER,
		.header_bytes = HEADER,
		.path = (uint16_t)nd_rng_u64(&fake->rng),
		.protocol = fake->protocol,
		.type = answered->type,
		.priority = 7,
		.marks = ND_MARK_CONTROL,
		.homa = { .sender_id = answered->key, .offset = answered->offset,
			  .ack_ids = { answered->channel_key } },
	};
	return true;
}

static bool fake_transmit(void *endpoint, struct nd_packet *packet, enum nd_class class, nd_ns now)
{
	struct fake *fake = endpoint;

	if (class == ND_CLASS_CONTROL)
		return send_answer(fake, packet);
	for (uint32_t i = 0; i < TRANSFERS; i++) {
		struct transfer *transfer = &fake->transfers[i];

		if (!transfer->used || transfer->next > now)
			continue;
		transfer->next = now + (RETRY << nd_min_u32(transfer->tries, 6));
		transfer->tries++;
		fill_data(fake, packet, transfer);
		return true;
	}
	return false;
}

/* ---- timers ---- */

static nd_ns fake_deadline(const void *endpoint)
{
	const struct fake *fake = endpoint;
	nd_ns at = ND_NEVER;

	for (uint32_t i = 0; i < TRANSFERS; i++) {
		const struct transfer *transfer = &fake->transfers[i];

		if (transfer->used)
			at = nd_min_u64(at, nd_min_u64(transfer->next, transfer->deadline));
	}
	for (uint32_t i = 0; i < INBOUNDS && fake->inbounds[i].used; i++) {
		if (!fake->inbounds[i].done)
			at = nd_min_u64(at, fake->inbounds[i].expires);
	}
	if (fake->config.sabotage == FAKE_NEVER_RESTS)
		at = nd_min_u64(at, (fake->sabotaged + 1) * ND_SEC);
	return at == ND_NEVER || fake->config.sabotage != FAKE_SPINS ? at : 0;
}

static void fake_on_deadline(void *endpoint, nd_ns now)
{
	struct fake *fake = endpoint;

	if (fake->config.sabotage == FAKE_NEVER_RESTS)
		fake->sabotaged = (uint32_t)(now / ND_SEC);
	for (uint32_t i = 0; i < TRANSFERS; i++) {
		struct transfer *transfer = &fake->transfers[i];
		struct channel *channel;

		if (!transfer->used)
			continue;
		channel = channel_by(fake, transfer->id);
		if (transfer->tries > 2 && sabotage(fake, FAKE_GIVES_UP_SILENTLY)) {
			transfer->used = false;
		} else if (transfer->deadline <= now) {
			end_transfer(fake, transfer, -ETIMEDOUT);
		} else if (transfer->tries > RETRIES && transfer->part == PART_REQUEST) {
			end_transfer(fake, transfer, -ETIMEDOUT);
		} else if (transfer->tries > RETRIES && channel) {
			end_channel(fake, channel, -ETIMEDOUT);
		}
		if (channel && channel->used)
			advance_close(fake, channel, now);
	}
	for (uint32_t i = 0; i < INBOUNDS && fake->inbounds[i].used; i++) {
		if (!fake->inbounds[i].done && fake->inbounds[i].expires <= now)
			expire(fake, &fake->inbounds[i]);
	}
}

/* ---- the rest of the contract ---- */

static uint32_t fake_events(void *endpoint, struct nd_event *out, uint32_t limit)
{
	struct fake *fake = endpoint;
	uint32_t count = 0;

	while (count < limit && fake->event_count != 0) {
		out[count++] = fake->events[fake->event_first];
		fake->event_first = (fake->event_first + 1) % EVENTS;
		fake->event_count--;
	}
	return count;
}

static const char *fake_audit(const void *endpoint)
{
	const struct fake *fake = endpoint;

	return fake->config.sabotage == FAKE_FAILS_AUDIT ? "the fake is broken" : NULL;
}

static int fake_check(const void *config, const char **why)
{
	const struct fake_config *fake = config;

	*why = "mss is 0, not 1 or more";
	return fake->mss ? 0 : -EINVAL;
}

static size_t fake_bytes(const void *config)
{
	(void)config;
	return sizeof(struct fake);
}

static void init(void *endpoint, const struct nd_setup *setup, uint8_t protocol)
{
	struct fake *fake = endpoint;

	fake->setup = *setup;
	fake->config = *(const struct fake_config *)setup->config;
	fake->rng = nd_rng_make(setup->seed, 1);
	fake->protocol = protocol;
}

static void init_ndp(void *endpoint, const struct nd_setup *setup)
{
	init(endpoint, setup, ND_PROTO_NDP);
}

static void init_homa(void *endpoint, const struct nd_setup *setup)
{
	init(endpoint, setup, ND_PROTO_HOMA);
}

#define FAKE_OPS(name_text, number, init_function) { \
	.name = name_text, \
	.protocol = number, \
	.check = fake_check, \
	.bytes = fake_bytes, \
	.init = init_function, \
	.submit = fake_submit, \
	.receive = fake_receive, \
	.transmit = fake_transmit, \
	.deadline = fake_deadline, \
	.on_deadline = fake_on_deadline, \
	.events = fake_events, \
	.audit = fake_audit, \
}

static const struct nd_transport_ops ndp_ops = FAKE_OPS("fake ndp", ND_PROTO_NDP, init_ndp);
static const struct nd_transport_ops homa_ops = FAKE_OPS("fake homa", ND_PROTO_HOMA, init_homa);

static void configure(const struct nd_swarm *swarm, void *config)
{
	const struct nd_swarm_options *options = &swarm->options;

	*(struct fake_config *)config = (struct fake_config){
		.mss = options->mtu - 100,
		.message_max = options->message_max,
		.sabotage = options->sabotage,
	};
}

const struct nd_swarm_protocol fake_ndp = {
	.ops = &ndp_ops,
	.configure = configure,
	.start = nd_swarm_ndp_start,
	.event = nd_swarm_ndp_event,
	.action = nd_swarm_ndp_action,
	.restarted = nd_swarm_ndp_restarted,
	.detached = nd_swarm_ndp_detached,
	.probe = nd_swarm_ndp_probe,
	.finish = nd_swarm_ndp_finish,
	.outstanding = nd_swarm_ndp_outstanding,
	.verify = nd_swarm_ndp_verify,
};

const struct nd_swarm_protocol fake_homa = {
	.ops = &homa_ops,
	.configure = configure,
	.start = nd_swarm_homa_start,
	.event = nd_swarm_homa_event,
	.action = nd_swarm_homa_action,
	.restarted = nd_swarm_homa_restarted,
	.detached = nd_swarm_homa_detached,
	.probe = nd_swarm_homa_probe,
	.finish = nd_swarm_homa_finish,
	.outstanding = nd_swarm_homa_outstanding,
	.verify = nd_swarm_homa_verify,
};
