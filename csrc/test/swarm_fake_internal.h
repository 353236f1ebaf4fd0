/* SPDX-License-Identifier: Apache-2.0 */
/* The fake engine's state, and what its files call of each other. */
#ifndef ND_TEST_SWARM_FAKE_INTERNAL_H
#define ND_TEST_SWARM_FAKE_INTERNAL_H

#include "sim/swarm.h"
#include "test/swarm_fake.h"

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

/* swarm_fake_state.c */
bool fake_sabotage(struct fake *fake, enum fake_sabotage kind);
void fake_report(struct fake *fake, struct nd_event event);
struct channel *fake_channel_by(struct fake *fake, uint64_t id);
struct channel *fake_channel_of(struct fake *fake, uint32_t peer, uint64_t key);
struct channel *fake_new_channel(struct fake *fake);
struct transfer *fake_new_transfer(struct fake *fake, nd_ns now);
void fake_end_transfer(struct fake *fake, struct transfer *transfer, int error);
void fake_expire(struct fake *fake, struct inbound *inbound);
void fake_end_channel(struct fake *fake, struct channel *channel, int error);
void fake_advance_close(struct fake *fake, struct channel *channel, nd_ns now);

/* swarm_fake_receive.c */
void fake_receive(void *endpoint, const struct nd_packet *packet, nd_ns now);

#endif
