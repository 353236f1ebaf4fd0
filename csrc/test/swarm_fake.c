// SPDX-License-Identifier: Apache-2.0
/* A stop-and-wait engine with a fault to choose: its commands, timers and table of operations. */
#include "test/swarm_fake.h"

#include <errno.h>

#include "test/swarm_fake_internal.h"

/* ---- commands ---- */

static int start_transfer(struct fake *fake, struct nd_command *command, nd_ns now)
{
	struct channel *channel = fake_channel_by(fake, command->id);
	struct transfer *transfer;

	if (command->kind != ND_COMMAND_REQUEST && (!channel || channel->closing))
		return -ENOENT;
	if (command->bytes > fake->config.message_max)
		return -EMSGSIZE;
	transfer = fake_new_transfer(fake, now);
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
		if (fake_sabotage(fake, FAKE_LEAKS_MEMORY))
			return 0;
		fake->setup.rx->put(fake->setup.rx->context, inbound->app, inbound->memory,
				    inbound->bytes + fake_sabotage(fake, FAKE_PUTS_WRONG_SIZE));
		return 0;
	}
	return -ENOENT;
}

static int cancel(struct fake *fake, const struct nd_command *command, nd_ns now)
{
	struct channel *channel = fake_channel_by(fake, command->id);

	for (uint32_t i = 0; i < TRANSFERS; i++) {
		struct transfer *transfer = &fake->transfers[i];

		if (transfer->used && transfer->id == command->id &&
		    transfer->message == command->message && transfer->part != PART_CLOSE) {
			fake_end_transfer(fake, transfer, -ECANCELED);
			if (channel)
				fake_advance_close(fake, channel, now);
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
			fake_end_channel(fake, &fake->channels[i], -ECONNRESET);
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
		channel = fake_new_channel(fake);
		if (!channel)
			return -ENOBUFS;
		channel->key = nd_rng_u64(&fake->rng);
		channel->peer = command->peer;
		channel->port = command->port;
		channel->app = command->app;
		channel->cookie = command->cookie;
		channel->initiator = true;
		command->id = channel->id;
		return 0;
	case ND_COMMAND_CLOSE:
	case ND_COMMAND_RESET:
		channel = fake_channel_by(fake, command->id);
		if (!channel)
			return -ENOENT;
		channel->closing = true;
		if (command->kind == ND_COMMAND_RESET)
			fake_end_channel(fake, channel, -ECONNRESET);
		else
			fake_advance_close(fake, channel, now);
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
	if (fake_sabotage(fake, FAKE_WRONG_SOURCE))
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
		channel = fake_channel_by(fake, transfer->id);
		if (transfer->tries > 2 && fake_sabotage(fake, FAKE_GIVES_UP_SILENTLY)) {
			transfer->used = false;
		} else if (transfer->deadline <= now) {
			fake_end_transfer(fake, transfer, -ETIMEDOUT);
		} else if (transfer->tries > RETRIES && transfer->part == PART_REQUEST) {
			fake_end_transfer(fake, transfer, -ETIMEDOUT);
		} else if (transfer->tries > RETRIES && channel) {
			fake_end_channel(fake, channel, -ETIMEDOUT);
		}
		if (channel && channel->used)
			fake_advance_close(fake, channel, now);
	}
	for (uint32_t i = 0; i < INBOUNDS && fake->inbounds[i].used; i++) {
		if (!fake->inbounds[i].done && fake->inbounds[i].expires <= now)
			fake_expire(fake, &fake->inbounds[i]);
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
