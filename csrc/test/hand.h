/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One endpoint, driven packet by packet: what goes in is said by hand, what comes out is read as
 * text. A protocol's own header defines HAND_OPS, includes this one, and says what its text is.
 */
#ifndef ND_TEST_HAND_H
#define ND_TEST_HAND_H

#include "test/harness.h"
#include "transport/transport.h"

#include <errno.h>

#ifndef HAND_OPS
#error "define HAND_OPS, the operations of the engine, before this header"
#endif

#define HAND_PORT 40
#define HAND_SELF 1
#define HAND_LENT_MAX 512

static void *hand;
static nd_ns hand_now;
static char hand_line[200];
static int64_t hand_credit; /* INT64_MAX: no limit */
static uint32_t hand_held;
static uint8_t *hand_lent[HAND_LENT_MAX]; /* held by the engine: a test may end before it lets go */

/* The packet as text. */
static inline const char *hand_text(const struct nd_packet *packet);

static uint8_t *hand_get(void *context, uint16_t app, uint32_t bytes)
{
	(void)context;
	(void)app;
	if (hand_credit != INT64_MAX) {
		if (hand_credit < bytes)
			return NULL;
		hand_credit -= bytes;
	}
	CHECK(hand_held < HAND_LENT_MAX);
	hand_lent[hand_held] = malloc(bytes);
	memset(hand_lent[hand_held], 0xee, bytes); /* not what an earlier message left there */
	return hand_lent[hand_held++];
}

static void hand_put(void *context, uint16_t app, uint8_t *memory, uint32_t bytes)
{
	uint32_t at = 0;

	(void)context;
	(void)app;
	while (at < hand_held && hand_lent[at] != memory)
		at++;
	CHECK(at < hand_held);
	hand_lent[at] = hand_lent[--hand_held];
	if (hand_credit != INT64_MAX)
		hand_credit += bytes;
	free(memory);
}

static inline void hand_audit(void)
{
	const char *wrong = HAND_OPS.audit(hand);

	CHECK_STR(wrong ? wrong : "", "");
}

static inline int hand_submit(struct nd_command command)
{
	int result = HAND_OPS.submit(hand, &command, hand_now);

	hand_audit();
	return result;
}

/* A new endpoint, whose app 1 listens on HAND_PORT; the config must stay. */
static inline void hand_boot(const void *config, bool memory)
{
	static const struct nd_rx_memory rx = { .get = hand_get, .put = hand_put };
	const char *why = "";
	size_t bytes;

	HAND_OPS.check(config, &why);
	CHECK_STR(why, "");
	free(hand);
	bytes = HAND_OPS.bytes(config);
	hand = aligned_alloc(64, bytes);
	memset(hand, 0, bytes);
	hand_now = ND_MSEC;
	hand_credit = INT64_MAX;
	while (hand_held > 0)
		free(hand_lent[--hand_held]);
	HAND_OPS.init(hand, &(struct nd_setup){
		.seed = 1, .self = HAND_SELF, .rx = memory ? &rx : NULL, .config = config });
	CHECK_EQ(hand_submit((struct nd_command){
		.kind = ND_COMMAND_LISTEN, .port = HAND_PORT, .app = 1 }), 0);
}

/* The next packet of the class; "" for none. */
static inline const char *hand_take(enum nd_class class)
{
	struct nd_packet packet;

	if (!HAND_OPS.transmit(hand, &packet, class, hand_now))
		return "";
	hand_text(&packet);
	hand_audit();
	return hand_line;
}

/* What the NIC would send next: control first. */
static inline const char *hand_next(void)
{
	const char *text = hand_take(ND_CLASS_CONTROL);

	return text[0] ? text : hand_take(ND_CLASS_DATA);
}

static inline uint32_t hand_drain(void)
{
	uint32_t count = 0;

	while (hand_next()[0])
		count++;
	return count;
}

static inline void hand_receive(const struct nd_packet *packet)
{
	HAND_OPS.receive(hand, packet, hand_now);
	hand_audit();
}

/* The next event; kind 255 when there is none. */
static inline struct nd_event hand_event(void)
{
	struct nd_event event = { .kind = 255 };

	HAND_OPS.events(hand, &event, 1);
	hand_audit();
	return event;
}

/* Time passes, every deadline served at its own time. */
static inline void hand_wait(nd_ns time)
{
	nd_ns until = hand_now + time;

	while (HAND_OPS.deadline(hand) <= until) {
		hand_now = nd_max_u64(hand_now, HAND_OPS.deadline(hand));
		HAND_OPS.on_deadline(hand, hand_now);
		hand_audit();
	}
	hand_now = until;
}

#endif
