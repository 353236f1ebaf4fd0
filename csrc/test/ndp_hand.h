/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One NDP endpoint, driven packet by packet: what goes in is said by hand, what comes out is read
 * as text, such as "DATA 100>2 #3 m0 3000+1000/9000 rtx" (connection 100 to peer 2, sequence 3,
 * bytes 3000 to 3999 of the 9,000 of message 0) or "ACK 100>2 #3 pull 1".
 */
#ifndef ND_TEST_NDP_HAND_H
#define ND_TEST_NDP_HAND_H

#include "transport/ndp_peer.h"

#define HAND_OPS nd_ndp_ops
#include "test/hand.h"

#define HAND_MSS 1000
#define HAND_WIRE 1250 /* of a full packet: 1 us at 10 Gb/s */
#define HAND_FIRST 100 /* id of the first own connection */

static struct nd_ndp_config hand_config;
static struct nd_packet hand_last; /* as the text said */

static inline struct nd_ndp *hand_ndp(void)
{
	return hand;
}

static inline const struct nd_ndp_counters *hand_counters(void)
{
	return &hand_ndp()->counters;
}

static inline struct nd_ndp_usage hand_usage(void)
{
	struct nd_ndp_usage usage;

	nd_ndp_usage(hand, &usage);
	return usage;
}

/* Small numbers that make results easy to tell: a window of 4, packets of 1,000 bytes. */
static inline struct nd_ndp_config hand_defaults(void)
{
	struct nd_ndp_config config = nd_ndp_config_default(UINT64_C(10000000000), 1500);

	config.mss_bytes = HAND_MSS;
	config.data_header_bytes = HAND_WIRE - HAND_MSS;
	config.control_bytes = 64;
	config.initial_window = 4;
	config.window_packets = 64;
	config.keepalive_ns = 0;
	config.paths = 4;
	config.connections_max = 32;
	config.time_wait_max = 32;
	config.listeners_max = 4;
	config.listen_backlog = 8;
	config.peers_max = 16;
	config.path_sets_max = 8;
	config.sending_max = 32;
	config.messages_max = 256;
	config.connection_messages_max = 128;
	config.receive_messages_max = 128;
	config.control_max = 128;
	return config;
}

static inline void hand_start(const struct nd_ndp_config *config, bool memory)
{
	hand_config = *config;
	hand_boot(&hand_config, memory);
	hand_ndp()->connection_next = HAND_FIRST;
}

static inline void hand_start_default(void)
{
	struct nd_ndp_config config = hand_defaults();

	hand_start(&config, false);
}

/* ---- out ---- */

static inline void hand_append(const char *text)
{
	size_t at = strlen(hand_line);

	snprintf(hand_line + at, sizeof(hand_line) - at, "%s", text);
}

static inline void hand_flags(uint8_t flags, const char *const names[8])
{
	for (uint32_t bit = 0; bit < 8; bit++) {
		if (flags >> bit & 1 && names[bit]) {
			hand_append(" ");
			hand_append(names[bit]);
		}
	}
}

static inline void hand_text_data(const struct nd_packet *p)
{
	static const char *const names[8] = { "syn", "last", "fin", "reply", "rtx", "void",
					      "congested", NULL };
	size_t at = strlen(hand_line);

	snprintf(hand_line + at, sizeof(hand_line) - at, " #%u m%u %u+%u/%u", p->ndp.sequence,
		 p->ndp.message, p->ndp.offset, p->payload_bytes, p->ndp.message_bytes);
	hand_flags(p->flags, names);
	if (p->marks & ND_MARK_TRIMMED)
		hand_append(" trimmed");
	CHECK_EQ(p->header_bytes, hand_config.data_header_bytes);
	CHECK_EQ(p->wire_bytes, p->header_bytes +
		 (p->marks & ND_MARK_TRIMMED ? 0 : p->payload_bytes));
	CHECK(p->flags & ND_NDP_FLAG_SYN || p->ndp.service == 0);
}

static inline void hand_text_control(const struct nd_packet *p)
{
	static const char *const names[8] = { [3] = "reply" };
	size_t at = strlen(hand_line);

	if (p->type == ND_NDP_ACK || p->type == ND_NDP_NACK) {
		snprintf(hand_line + at, sizeof(hand_line) - at, " #%u pull %u", p->ndp.sequence,
			 p->ndp.pull);
		CHECK(p->flags & ND_NDP_FLAG_PULL);
	} else {
		snprintf(hand_line + at, sizeof(hand_line) - at, " %u",
			 p->type == ND_NDP_PULL ? p->ndp.pull : p->ndp.sequence);
	}
	hand_flags(p->flags, names);
	CHECK_EQ(p->wire_bytes, hand_config.control_bytes);
	CHECK(p->marks & ND_MARK_CONTROL);
	CHECK_EQ(p->payload_bytes, 0);
}

static inline const char *hand_text(const struct nd_packet *p)
{
	static const char *const types[] = { "?", "DATA", "ACK", "NACK", "PULL", "CLOSE" };

	hand_last = *p;
	snprintf(hand_line, sizeof(hand_line), "%s %u>%u", types[p->type], p->ndp.connection,
		 p->target);
	CHECK_EQ(p->source, HAND_SELF);
	CHECK_EQ(p->protocol, ND_PROTO_NDP);
	if (p->type == ND_NDP_DATA)
		hand_text_data(p);
	else
		hand_text_control(p);
	return hand_line;
}

/* ---- in ---- */

/* To a connection that we opened (id 100 and up) or that peer opened (below). */
static inline struct nd_packet hand_packet(uint8_t type, uint32_t peer, uint32_t connection)
{
	return (struct nd_packet){
		.source = peer,
		.target = HAND_SELF,
		.protocol = ND_PROTO_NDP,
		.type = type,
		.flags = connection >= HAND_FIRST ? ND_NDP_FLAG_REPLY : 0,
		.ndp.connection = connection,
	};
}

static inline void hand_ack(uint32_t peer, uint32_t connection, uint32_t sequence)
{
	struct nd_packet packet = hand_packet(ND_NDP_ACK, peer, connection);

	packet.ndp.sequence = sequence;
	hand_receive(&packet);
}

static inline void hand_nack(uint32_t peer, uint32_t connection, uint32_t sequence)
{
	struct nd_packet packet = hand_packet(ND_NDP_NACK, peer, connection);

	packet.ndp.sequence = sequence;
	hand_receive(&packet);
}

static inline void hand_pull(uint32_t peer, uint32_t connection, uint32_t counter)
{
	struct nd_packet packet = hand_packet(ND_NDP_PULL, peer, connection);

	packet.ndp.pull = counter;
	hand_receive(&packet);
}

static inline void hand_close(uint32_t peer, uint32_t connection, uint32_t reason)
{
	struct nd_packet packet = hand_packet(ND_NDP_CLOSE, peer, connection);

	packet.ndp.sequence = reason;
	hand_receive(&packet);
}

/* A DATA packet that we sent, as a switch returns it. */
static inline void hand_bounce(const struct nd_packet *sent)
{
	struct nd_packet packet = *sent;

	nd_packet_trim(&packet);
	nd_packet_bounce(&packet);
	hand_receive(&packet);
}

/* Packet number sequence of a message 0 of so many bytes that starts the connection. */
static inline struct nd_packet hand_data(uint32_t peer, uint32_t connection, uint32_t sequence,
					 uint32_t message_bytes)
{
	static const uint8_t zeros[HAND_MSS];
	struct nd_packet packet = hand_packet(ND_NDP_DATA, peer, connection);
	uint32_t offset = sequence * HAND_MSS;

	packet.flags |= ND_NDP_FLAG_SYN;
	packet.ndp.service = HAND_PORT;
	packet.ndp.sequence = sequence;
	packet.ndp.offset = offset;
	packet.ndp.message_bytes = message_bytes;
	packet.payload_bytes = (uint16_t)nd_min_u32(HAND_MSS, message_bytes - offset);
	packet.payload = zeros;
	packet.header_bytes = HAND_WIRE - HAND_MSS;
	packet.wire_bytes = (uint16_t)(packet.header_bytes + packet.payload_bytes);
	packet.marks = ND_MARK_TRIMMABLE;
	if (offset + packet.payload_bytes == message_bytes)
		packet.flags |= ND_NDP_FLAG_LAST;
	return packet;
}

static inline void hand_arrive(uint32_t peer, uint32_t connection, uint32_t sequence,
			       uint32_t message_bytes)
{
	struct nd_packet packet = hand_data(peer, connection, sequence, message_bytes);

	hand_receive(&packet);
}

static inline void hand_arrive_trimmed(uint32_t peer, uint32_t connection, uint32_t sequence,
				       uint32_t message_bytes)
{
	struct nd_packet packet = hand_data(peer, connection, sequence, message_bytes);

	nd_packet_trim(&packet);
	hand_receive(&packet);
}

/* A message of one packet, message and packet number the same, nothing behind it. */
static inline struct nd_packet hand_single(uint32_t peer, uint32_t connection, uint32_t number,
					   uint32_t bytes)
{
	struct nd_packet packet = hand_data(peer, connection, 0, bytes);

	packet.ndp.sequence = number;
	packet.ndp.message = (uint16_t)number;
	return packet;
}

/* ---- the application ---- */

static inline uint64_t hand_connect_at(uint32_t peer, uint8_t priority)
{
	struct nd_command command = { .kind = ND_COMMAND_CONNECT, .app = 2, .peer = peer,
				      .port = HAND_PORT, .priority = priority, .cookie = 7 };

	CHECK_EQ(nd_ndp_ops.submit(hand, &command, hand_now), 0);
	return command.id;
}

static inline uint64_t hand_connect(uint32_t peer)
{
	return hand_connect_at(peer, 0);
}

/* Returns the message's number, or -errno. */
static inline int64_t hand_send(uint64_t id, uint32_t bytes)
{
	struct nd_command command = { .kind = ND_COMMAND_SEND, .app = 2, .id = id, .bytes = bytes,
				      .cookie = 9, .deadline = ND_NEVER };
	int rc = nd_ndp_ops.submit(hand, &command, hand_now);

	hand_audit();
	return rc ? rc : (int64_t)command.message;
}

static inline int hand_do(enum nd_command_kind kind, uint64_t id, uint64_t message)
{
	return hand_submit((struct nd_command){
		.kind = (uint8_t)kind, .app = 2, .id = id, .message = message });
}

static inline int hand_release(uint64_t id, uint64_t message)
{
	return hand_submit((struct nd_command){
		.kind = ND_COMMAND_RELEASE, .app = 1, .id = id, .message = message });
}

static inline struct nd_ndp_connection *hand_connection(uint64_t id)
{
	return nd_ndp_connection_find(hand, id);
}

#endif
