/* SPDX-License-Identifier: Apache-2.0 */
/* The names that packet scripts use for fields of packets, commands, events and configs. */
#ifndef ND_TEST_PKT_FIELDS_H
#define ND_TEST_PKT_FIELDS_H

#include "transport/homa.h"
#include "transport/ndp.h"
#include "transport/transport.h"

#include <errno.h>
#include <string.h>

struct field {
	const char *name;
	uint8_t protocol; /* 0: any */
	uint16_t offset;
	uint8_t bytes;
};

struct word {
	const char *name;
	uint32_t value;
};

#define FIELD(name, protocol, type, member) \
	{ name, protocol, offsetof(type, member), sizeof(((type *)0)->member) }
#define NDP(name, member) FIELD(name, ND_PROTO_NDP, struct nd_packet, ndp.member)
#define HOMA(name, member) FIELD(name, ND_PROTO_HOMA, struct nd_packet, homa.member)

static const struct field packet_fields[] = {
	FIELD("bytes", 0, struct nd_packet, payload_bytes),
	FIELD("prio", 0, struct nd_packet, priority),
	FIELD("path", 0, struct nd_packet, path),
	FIELD("rank", 0, struct nd_packet, rank),
	FIELD("wire", 0, struct nd_packet, wire_bytes),
	NDP("conn", connection),
	NDP("seq", sequence),
	NDP("pull", pull),
	NDP("service", service),
	NDP("base", base),
	NDP("of", message_bytes),
	NDP("offset", offset),
	NDP("msg", message),
	NDP("backlog", backlog),
	HOMA("id", sender_id),
	HOMA("sport", source_port),
	HOMA("dport", target_port),
	HOMA("of", message_bytes),
	HOMA("offset", offset),
	HOMA("incoming", length),
	HOMA("len", length),
	HOMA("level", level),
	HOMA("version", cutoff_version),
	HOMA("rtx", retransmit),
	HOMA("acks", ack_count),
	HOMA("ack", ack_ids[0]),
	HOMA("ackport", ack_ports[0]),
	{ NULL, 0, 0, 0 },
};

static const struct field command_fields[] = {
	FIELD("prio", 0, struct nd_command, priority),
	FIELD("app", 0, struct nd_command, app),
	FIELD("peer", 0, struct nd_command, peer),
	FIELD("port", 0, struct nd_command, port),
	FIELD("sport", 0, struct nd_command, source_port),
	FIELD("bytes", 0, struct nd_command, bytes),
	FIELD("id", 0, struct nd_command, id),
	FIELD("msg", 0, struct nd_command, message),
	FIELD("cookie", 0, struct nd_command, cookie),
	FIELD("deadline", 0, struct nd_command, deadline),
	{ NULL, 0, 0, 0 },
};

static const struct field event_fields[] = {
	FIELD("prio", 0, struct nd_event, priority),
	FIELD("app", 0, struct nd_event, app),
	FIELD("peer", 0, struct nd_event, peer),
	FIELD("port", 0, struct nd_event, port),
	FIELD("bytes", 0, struct nd_event, bytes),
	FIELD("detail", 0, struct nd_event, detail),
	FIELD("id", 0, struct nd_event, id),
	FIELD("msg", 0, struct nd_event, message),
	FIELD("cookie", 0, struct nd_event, cookie),
	{ NULL, 0, 0, 0 },
};

static const struct word ndp_types[] = {
	{ "DATA", ND_NDP_DATA }, { "ACK", ND_NDP_ACK },     { "NACK", ND_NDP_NACK },
	{ "PULL", ND_NDP_PULL }, { "CLOSE", ND_NDP_CLOSE }, { NULL, 0 },
};

static const struct word homa_types[] = {
	{ "DATA", ND_HOMA_DATA },
	{ "GRANT", ND_HOMA_GRANT },
	{ "RESEND", ND_HOMA_RESEND },
	{ "RPC_UNKNOWN", ND_HOMA_RPC_UNKNOWN },
	{ "BUSY", ND_HOMA_BUSY },
	{ "CUTOFFS", ND_HOMA_CUTOFFS },
	{ "FREEZE", ND_HOMA_FREEZE },
	{ "NEED_ACK", ND_HOMA_NEED_ACK },
	{ "ACK", ND_HOMA_ACK },
	{ NULL, 0 },
};

static const struct word ndp_flags[] = {
	{ "SYN", ND_NDP_FLAG_SYN },
	{ "LAST", ND_NDP_FLAG_LAST },
	{ "FIN", ND_NDP_FLAG_FIN },
	{ "REPLY", ND_NDP_FLAG_REPLY },
	{ "RTX", ND_NDP_FLAG_RTX },
	{ "PULLING", ND_NDP_FLAG_PULL },
	{ "VOID", ND_NDP_FLAG_VOID }, /* of DATA; of answers the same bit is PULLING */
	{ "CONGESTED", ND_NDP_FLAG_CONGESTED },
	{ NULL, 0 },
};

static const struct word mark_words[] = {
	{ "TRIMMABLE", ND_MARK_TRIMMABLE }, { "TRIMMED", ND_MARK_TRIMMED },
	{ "BOUNCED", ND_MARK_BOUNCED },     { "CE", ND_MARK_CE },
	{ "LASTHOP", ND_MARK_LAST_HOP },    { NULL, 0 },
};

static const struct word command_kinds[] = {
	{ "listen", ND_COMMAND_LISTEN },   { "unlisten", ND_COMMAND_UNLISTEN },
	{ "connect", ND_COMMAND_CONNECT }, { "send", ND_COMMAND_SEND },
	{ "close", ND_COMMAND_CLOSE },     { "reset", ND_COMMAND_RESET },
	{ "request", ND_COMMAND_REQUEST }, { "reply", ND_COMMAND_REPLY },
	{ "cancel", ND_COMMAND_CANCEL },   { "release", ND_COMMAND_RELEASE },
	{ "detach", ND_COMMAND_DETACH },   { NULL, 0 },
};

static const struct word event_kinds[] = {
	{ "accepted", ND_EVENT_ACCEPTED }, { "message", ND_EVENT_MESSAGE },
	{ "request", ND_EVENT_REQUEST },   { "response", ND_EVENT_RESPONSE },
	{ "sent", ND_EVENT_SENT },         { "failed", ND_EVENT_FAILED },
	{ "closed", ND_EVENT_CLOSED },     { NULL, 0 },
};

static const struct word errors[] = {
	{ "OK", 0 },
	{ "EINVAL", EINVAL },         { "EMSGSIZE", EMSGSIZE },     { "ENOENT", ENOENT },
	{ "EADDRINUSE", EADDRINUSE }, { "ENOBUFS", ENOBUFS },       { "ETIMEDOUT", ETIMEDOUT },
	{ "ECONNREFUSED", ECONNREFUSED }, { "ECONNRESET", ECONNRESET },
	{ "ECANCELED", ECANCELED },   { "EHOSTUNREACH", EHOSTUNREACH }, { "ENOTCONN", ENOTCONN },
	{ "EPIPE", EPIPE },           { "EAGAIN", EAGAIN },         { "ENOTSUP", ENOTSUP },
	{ "ESHUTDOWN", ESHUTDOWN },   { "ECONNABORTED", ECONNABORTED }, { NULL, 0 },
};

#define CONFIG_HOMA(member) FIELD(#member, ND_PROTO_HOMA, struct nd_homa_config, member)

#define CONFIG_NDP(member) FIELD(#member, ND_PROTO_NDP, struct nd_ndp_config, member)

static const struct field config_fields[] = {
	CONFIG_HOMA(mss_bytes),
	CONFIG_HOMA(rtt_bytes),
	CONFIG_HOMA(levels),
	CONFIG_HOMA(overcommit),
	CONFIG_HOMA(resend_ns),
	CONFIG_HOMA(resends_max),
	CONFIG_HOMA(need_ack_ns),
	CONFIG_HOMA(need_acks_max),
	CONFIG_HOMA(at_least_once),
	CONFIG_HOMA(one_way),
	CONFIG_HOMA(unknown_resend),
	CONFIG_HOMA(first_id),
	CONFIG_HOMA(incast_rpcs),
	CONFIG_HOMA(incast_bytes),
	CONFIG_HOMA(message_bytes_max),
	CONFIG_NDP(mss_bytes),
	CONFIG_NDP(data_header_bytes),
	CONFIG_NDP(control_bytes),
	CONFIG_NDP(initial_window),
	CONFIG_NDP(window_packets),
	CONFIG_NDP(paths),
	CONFIG_NDP(keepalive_ns),
	CONFIG_NDP(repull_ns),
	CONFIG_NDP(solicit_ns),
	CONFIG_NDP(time_wait_ns),
	CONFIG_NDP(give_up_ns),
	CONFIG_NDP(reset_wait_ns),
	CONFIG_NDP(message_bytes_max),
	CONFIG_NDP(futile_max),
	{ NULL, 0, 0, 0 },
};

static inline const struct field *find_field(const struct field *list, const char *name,
					     uint8_t protocol)
{
	for (; list->name; list++) {
		if (!strcmp(list->name, name) &&
		    (list->protocol == 0 || list->protocol == protocol))
			return list;
	}
	return NULL;
}

static inline const struct word *find_word(const struct word *list, const char *name)
{
	for (; list->name; list++) {
		if (!strcmp(list->name, name))
			return list;
	}
	return NULL;
}

#endif
