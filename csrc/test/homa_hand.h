/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One Homa endpoint, driven packet by packet: what goes in is said by hand, what comes out is read
 * as text, such as "GRANT 3>2:5 <12824 p0" (own id 3, peer address 2, port 5).
 */
#ifndef ND_TEST_HOMA_HAND_H
#define ND_TEST_HOMA_HAND_H

#include "transport/homa_internal.h"

#define HAND_OPS nd_homa_ops
#include "test/hand.h"

#define HAND_MSS 1424

static struct nd_homa_config hand_config;

static inline struct nd_homa *hand_homa(void)
{
	return hand;
}

static inline const struct nd_homa_counters *hand_counters(void)
{
	return &hand_homa()->counters;
}

static inline struct nd_homa_usage hand_usage(void)
{
	struct nd_homa_usage usage;

	nd_homa_usage(hand, &usage);
	return usage;
}

/* Small numbers that make results easy to tell: RTTbytes 10,000, ids from 2. */
static inline struct nd_homa_config hand_defaults(void)
{
	struct nd_homa_config config = nd_homa_config_default(UINT64_C(10000000000), 1500);

	config.rtt_bytes = 10000;
	config.max_incoming_bytes = 0;
	config.resend_jitter_permille = 0;
	config.send_fifo_permille = 0;
	config.grant_fifo_permille = 0;
	config.cutoff_mode = ND_HOMA_CUTOFFS_STATIC;
	config.rpcs_max = 64;
	config.server_rpcs_max = 64;
	config.peer_rpcs_max = 64;
	config.peers_max = 32;
	config.gaps_max = 64;
	config.done_max = 64;
	config.replies_max = 16;
	config.first_id = 2;
	return config;
}

static inline void hand_start(const struct nd_homa_config *config, bool memory)
{
	hand_config = *config;
	hand_boot(&hand_config, memory);
}

static inline void hand_start_default(void)
{
	struct nd_homa_config config = hand_defaults();

	hand_start(&config, false);
}

static inline const char *hand_type(uint8_t type)
{
	static const char *const names[] = { "DATA", "GRANT", "RESEND", "UNKNOWN", "BUSY",
					     "CUTOFFS", "FREEZE", "NEED_ACK", "ACK" };

	return names[type - ND_HOMA_DATA];
}

/* As text; "" for none. */
static inline const char *hand_text(const struct nd_packet *p)
{
	const struct nd_homa_header *h = &p->homa;
	int at = snprintf(hand_line, sizeof(hand_line), "%s %llu>%u", hand_type(p->type),
			  (unsigned long long)h->sender_id, p->target);
	char *rest = hand_line + at;
	size_t room = sizeof(hand_line) - (size_t)at;

	if (p->type == ND_HOMA_DATA)
		snprintf(rest, room, " %u+%u/%u in=%u p%u%s%s", h->offset, p->payload_bytes,
			 h->message_bytes, h->length, p->priority, h->retransmit ? " again" : "",
			 h->ack_count ? " ack" : "");
	else if (p->type == ND_HOMA_GRANT)
		snprintf(rest, room, " <%u p%u", h->offset, h->level);
	else if (p->type == ND_HOMA_RESEND)
		snprintf(rest, room, " %u+%d", h->offset, (int)h->length);
	else if (p->type == ND_HOMA_CUTOFFS)
		snprintf(rest, room, " v%u", h->cutoff_version);
	else if (p->type == ND_HOMA_ACK)
		snprintf(rest, room, " +%u", h->ack_count);
	else if (p->type == ND_HOMA_RPC_UNKNOWN && h->note)
		snprintf(rest, room, " note %u", h->note);
	CHECK_EQ(p->source, HAND_SELF);
	CHECK_EQ(h->speaker, ND_HOMA_SPEAKER);
	if (p->type != ND_HOMA_DATA) {
		CHECK_EQ(p->priority, 7);
		CHECK(p->marks & ND_MARK_CONTROL);
		CHECK_EQ(p->payload_bytes, 0);
	}
	return hand_line;
}

static inline struct nd_packet hand_packet(uint8_t type, uint32_t peer, uint64_t id)
{
	return (struct nd_packet){
		.source = peer,
		.target = HAND_SELF,
		.protocol = ND_PROTO_HOMA,
		.type = type,
		.homa = {
			.sender_id = id,
			.source_port = id & 1 ? HAND_PORT : 0x8002,
			.target_port = id & 1 ? 0x8002 : HAND_PORT,
			.cutoff_version = 1,
			.speaker = ND_HOMA_SPEAKER,
		},
	};
}

/* DATA of a peer: id is the sender's. incoming: what it says that it sends without grants. */
static inline void hand_data(uint32_t peer, uint64_t id, uint32_t offset, uint32_t bytes,
			     uint32_t message_bytes, uint32_t incoming)
{
	struct nd_packet packet = hand_packet(ND_HOMA_DATA, peer, id);

	packet.payload_bytes = (uint16_t)bytes;
	packet.homa.offset = offset;
	packet.homa.message_bytes = message_bytes;
	packet.homa.length = incoming;
	hand_receive(&packet);
}

static inline void hand_control(uint8_t type, uint32_t peer, uint64_t id, uint32_t offset,
				uint32_t length, uint8_t level)
{
	struct nd_packet packet = hand_packet(type, peer, id);

	packet.homa.offset = offset;
	packet.homa.length = length;
	packet.homa.level = level;
	hand_receive(&packet);
}

static inline void hand_unknown(uint32_t peer, uint64_t id, uint8_t note)
{
	struct nd_packet packet = hand_packet(ND_HOMA_RPC_UNKNOWN, peer, id);

	packet.homa.note = note;
	hand_receive(&packet);
}

/* Returns the id. */
static inline uint64_t hand_request(uint32_t peer, uint32_t bytes)
{
	struct nd_command command = { .kind = ND_COMMAND_REQUEST, .app = 2, .peer = peer,
				      .port = HAND_PORT, .bytes = bytes, .cookie = 7 };

	CHECK_EQ(nd_homa_ops.submit(hand, &command, hand_now), 0);
	hand_audit();
	return command.id;
}

static inline int hand_reply(uint64_t id, uint32_t bytes)
{
	return hand_submit((struct nd_command){
		.kind = ND_COMMAND_REPLY, .app = 1, .id = id, .bytes = bytes });
}

static inline int hand_cancel(uint16_t app, uint64_t id)
{
	return hand_submit((struct nd_command){ .kind = ND_COMMAND_CANCEL, .app = app, .id = id });
}

/* Opens a request of a peer whole and takes its event. */
static inline uint64_t hand_serve(uint32_t peer, uint64_t id, uint32_t bytes)
{
	struct nd_event event;

	hand_data(peer, id, 0, bytes, bytes, bytes);
	event = hand_event();
	CHECK_EQ(event.kind, ND_EVENT_REQUEST);
	return event.id;
}

#endif
