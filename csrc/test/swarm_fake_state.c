// SPDX-License-Identifier: Apache-2.0
/* Transfers and connections of the fake engine. */
#include <errno.h>

#include "test/swarm_fake_internal.h"

/* True once in a while, and then it is done: the fault. */
bool fake_sabotage(struct fake *fake, enum fake_sabotage kind)
{
	if (fake->config.sabotage != (uint32_t)kind)
		return false;
	return fake->sabotaged++ % 5 == 2;
}

void fake_report(struct fake *fake, struct nd_event event)
{
	nd_assert(fake->event_count < EVENTS);
	fake->events[(fake->event_first + fake->event_count++) % EVENTS] = event;
}

struct channel *fake_channel_by(struct fake *fake, uint64_t id)
{
	for (uint32_t i = 0; i < CHANNELS; i++) {
		if (fake->channels[i].used && fake->channels[i].id == id)
			return &fake->channels[i];
	}
	return NULL;
}

struct channel *fake_channel_of(struct fake *fake, uint32_t peer, uint64_t key)
{
	for (uint32_t i = 0; i < CHANNELS; i++) {
		struct channel *channel = &fake->channels[i];

		if (channel->used && channel->key == key && channel->peer == peer)
			return channel;
	}
	return NULL;
}

struct channel *fake_new_channel(struct fake *fake)
{
	for (uint32_t i = 0; i < CHANNELS; i++) {
		if (!fake->channels[i].used) {
			fake->channels[i] = (struct channel){ .used = true, .id = ++fake->next_id };
			return &fake->channels[i];
		}
	}
	return NULL;
}

struct transfer *fake_new_transfer(struct fake *fake, nd_ns now)
{
	for (uint32_t i = 0; i < TRANSFERS; i++) {
		if (!fake->transfers[i].used) {
			fake->transfers[i] = (struct transfer){
				.used = true,
				.key = nd_rng_u64(&fake->rng),
				.next = now,
				.deadline = ND_NEVER,
			};
			return &fake->transfers[i];
		}
	}
	return NULL;
}

void fake_end_transfer(struct fake *fake, struct transfer *transfer, int error)
{
	bool request = transfer->part == PART_REQUEST;

	transfer->used = false;
	if (transfer->part == PART_CLOSE || (request && error == 0) ||
	    fake_sabotage(fake, FAKE_FORGETS_TO_REPORT))
		return;
	fake_report(fake, (struct nd_event){
		.kind = error ? ND_EVENT_FAILED : ND_EVENT_SENT,
		.error = error,
		.app = transfer->app,
		.peer = transfer->peer,
		.id = transfer->id,
		.message = transfer->message,
		.cookie = transfer->cookie,
	});
	if (fake_sabotage(fake, FAKE_ENDS_TWICE))
		fake_report(fake, fake->events[(fake->event_first + fake->event_count - 1) % EVENTS]);
}

/* ---- connections ---- */

void fake_expire(struct fake *fake, struct inbound *inbound)
{
	inbound->done = true;
	inbound->key = 0; /* its sender may begin again */
	if (!fake_sabotage(fake, FAKE_LEAKS_PARTIAL))
		fake->setup.rx->put(fake->setup.rx->context, inbound->app, inbound->memory,
				    inbound->bytes);
}

void fake_end_channel(struct fake *fake, struct channel *channel, int error)
{
	for (uint32_t i = 0; i < TRANSFERS; i++) {
		struct transfer *transfer = &fake->transfers[i];

		if (transfer->used && transfer->id == channel->id)
			fake_end_transfer(fake, transfer, error ? error : -ECONNRESET);
	}
	for (uint32_t i = 0; i < INBOUNDS; i++) {
		struct inbound *inbound = &fake->inbounds[i];

		if (inbound->used && !inbound->done && inbound->id == channel->id)
			fake_expire(fake, inbound);
	}
	channel->used = false;
	if (fake->protocol == ND_PROTO_NDP)
		fake_report(fake, (struct nd_event){
			.kind = ND_EVENT_CLOSED,
			.error = error,
			.app = channel->app,
			.peer = channel->peer,
			.id = channel->id,
			.cookie = channel->cookie,
		});
}

void fake_advance_close(struct fake *fake, struct channel *channel, nd_ns now)
{
	struct transfer *transfer;

	if (!channel->closing || channel->close_sent)
		return;
	for (uint32_t i = 0; i < TRANSFERS; i++) {
		if (fake->transfers[i].used && fake->transfers[i].id == channel->id)
			return;
	}
	transfer = fake_new_transfer(fake, now);
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
