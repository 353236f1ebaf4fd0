// SPDX-License-Identifier: Apache-2.0
/* Every field of the NDP and Homa headers. */
#include "wire/fields.h"

#include "wire/homa.h"
#include "wire/ndp.h"
#include "wire/packet.h"

#define NDP_TYPE(type) (1u << (type))
#define NDP_ALL 0x3eu
#define NDP_PULL_TYPES (NDP_TYPE(ND_NDP_ACK) | NDP_TYPE(ND_NDP_NACK) | NDP_TYPE(ND_NDP_PULL))
#define NDP_ANSWER_TYPES (NDP_TYPE(ND_NDP_ACK) | NDP_TYPE(ND_NDP_NACK))
#define HOMA_TYPE(type) (1u << ((type) - ND_HOMA_DATA))
#define HOMA_ALL 0x1ffu

/* Rows: name, first byte, bit in it, width in bits, view, text. */
#define NDP(types_, name_, byte, bit, width, view_, text_) \
	{ \
		.name = name_, .text = text_, .types = types_, .bit_offset = (byte) * 8 + (bit), \
		.bit_width = width, .repeat = 1, .protocol = ND_PROTO_NDP, \
		.view = ND_FIELD_##view_, \
	}
#define HOMA(types_, name_, byte, width, view_, text_) \
	{ \
		.name = name_, .text = text_, .types = types_, .bit_offset = (byte) * 8, \
		.bit_width = width, .repeat = 1, .protocol = ND_PROTO_HOMA, \
		.view = ND_FIELD_##view_, \
	}
#define HOMA_LIST(type, name_, byte, width, repeat_, stride, view_, text_) \
	{ \
		.name = name_, .text = text_, .types = HOMA_TYPE(type), \
		.bit_offset = (byte) * 8, .bit_width = width, .repeat = repeat_, \
		.bit_stride = stride, .protocol = ND_PROTO_HOMA, .view = ND_FIELD_##view_, \
	}

const struct nd_field nd_fields[] = {
	NDP(NDP_ALL, "version", 0, 0, 4, DECIMAL, "Version of the format: 1."),
	NDP(NDP_ALL, "type", 0, 4, 4, NAMED, "Kind of packet."),
	NDP(NDP_ALL, "bounced", 1, 0, 1, DECIMAL, "Returned to its sender by a switch."),
	NDP(NDP_ALL, "flags", 1, 1, 7, FLAGS, "What the sender says about itself and the packet."),
	NDP(NDP_ALL, "priority", 2, 0, 3, DECIMAL, "0 to 7; 7 is served first."),
	NDP(NDP_ALL, "trim_location", 2, 3, 2, NAMED, "Which of our switches cut the payload."),
	NDP(NDP_ALL, "spare", 2, 5, 3, HEX, "Sent 0, ignored."),
	NDP(NDP_ALL, "header_words", 3, 0, 8, DECIMAL, "Length of the header in 4-byte words."),
	NDP(NDP_ALL, "connection", 4, 0, 32, HEX, "Chosen by the connecting host."),
	NDP(NDP_ALL, "sequence", 8, 0, 32, DECIMAL,
	    "Number of the packet on its connection; CLOSE: the reason."),
	NDP(NDP_PULL_TYPES, "pull", 12, 0, 32, DECIMAL, "Packets released so far."),
	NDP(NDP_TYPE(ND_NDP_DATA), "service", 12, 0, 16, DECIMAL,
	    "With SYN: port that the peer listens on."),
	NDP(NDP_TYPE(ND_NDP_DATA), "base", 14, 0, 16, DECIMAL,
	    "Oldest number not acknowledged, modulo 2^16."),
	NDP(NDP_ALL, "message_bytes", 16, 0, 32, DECIMAL, "Length of the whole message."),
	NDP(NDP_ALL & ~NDP_ANSWER_TYPES, "offset", 20, 0, 32, DECIMAL,
	    "Of the payload's first byte in the message."),
	NDP(NDP_ANSWER_TYPES, "arrived", 20, 0, 32, DECIMAL,
	    "All packets with lower numbers have arrived."),
	NDP(NDP_ALL, "message", 24, 0, 16, DECIMAL, "Message number on the connection."),
	NDP(NDP_ALL, "path", 26, 0, 16, DECIMAL, "Path that the sender chose."),
	NDP(NDP_ALL, "payload_bytes", 28, 0, 16, DECIMAL, "Payload that was sent, cut or not."),
	NDP(NDP_ALL, "backlog", 30, 0, 16, DECIMAL, "KiB that the sender still has to send."),
	NDP(NDP_ALL, "payload_check", 32, 0, 32, HEX, "CRC-32C of the payload."),
	NDP(NDP_ALL, "header_check", 36, 0, 32, HEX, "CRC-32C of the bytes before it."),

	HOMA(HOMA_ALL, "source_port", 0, 16, DECIMAL, "Homa port of the sending socket."),
	HOMA(HOMA_ALL, "target_port", 2, 16, DECIMAL, "Homa port of the receiving socket."),
	HOMA(HOMA_ALL, "sequence", 4, 32, DECIMAL, "DATA: offset of the first byte; else 0."),
	HOMA(HOMA_ALL, "speaker", 8, 8, HEX, "0xd5 from our own endpoints, 0 from kernels."),
	HOMA(HOMA_ALL, "note", 9, 8, NAMED, "What one of our endpoints tells another."),
	HOMA(HOMA_ALL, "acknowledgement", 10, 8, HEX, "Rest of TCP's field; sent 0, ignored."),
	HOMA(HOMA_ALL, "type", 11, 8, NAMED, "Kind of packet."),
	HOMA(HOMA_ALL, "header_length", 12, 8, HEX, "As TCP's; ignored."),
	HOMA(HOMA_ALL, "tcp_flags", 13, 8, HEX, "SYN and RST; ignored."),
	HOMA(HOMA_ALL, "window", 14, 16, DECIMAL, "Sent 0, ignored."),
	HOMA(HOMA_ALL, "checksum", 16, 16, HEX, "As TCP's, over header, payload and addresses."),
	HOMA(HOMA_ALL, "urgent", 18, 16, HEX, "0xb97d; ignored."),
	HOMA(HOMA_ALL, "sender_id", 20, 64, DECIMAL, "Id of the RPC as its sender knows it."),
	HOMA(HOMA_TYPE(ND_HOMA_DATA), "message_bytes", 28, 32, DECIMAL,
	     "Length of the whole message."),
	HOMA(HOMA_TYPE(ND_HOMA_DATA), "incoming", 32, 32, DECIMAL,
	     "Bytes of the message that are sent without more grants."),
	HOMA(HOMA_TYPE(ND_HOMA_DATA), "ack_id", 36, 64, DECIMAL,
	     "Client's id of an RPC that has ended, 0 for none."),
	HOMA(HOMA_TYPE(ND_HOMA_DATA), "ack_port", 44, 16, DECIMAL, "Server port of that RPC."),
	HOMA(HOMA_TYPE(ND_HOMA_DATA), "cutoff_version", 46, 16, DECIMAL,
	     "Last CUTOFFS that the sender got from the receiver."),
	HOMA(HOMA_TYPE(ND_HOMA_DATA), "retransmit", 48, 8, DECIMAL,
	     "1 when sent in answer to a RESEND."),
	HOMA(HOMA_TYPE(ND_HOMA_DATA), "pad", 49, 24, HEX, "Sent 0, ignored."),
	HOMA(HOMA_TYPE(ND_HOMA_DATA), "offset", 52, 32, SIGNED,
	     "Of the first byte in the message; -1: see sequence."),
	HOMA(HOMA_TYPE(ND_HOMA_GRANT), "offset", 28, 32, DECIMAL, "Everything below may be sent."),
	HOMA(HOMA_TYPE(ND_HOMA_GRANT), "level", 32, 8, DECIMAL, "Priority of what it releases."),
	HOMA(HOMA_TYPE(ND_HOMA_RESEND), "offset", 28, 32, DECIMAL, "First byte that is missing."),
	HOMA(HOMA_TYPE(ND_HOMA_RESEND), "length", 32, 32, SIGNED,
	     "Bytes that are missing; -1: all that was sent so far."),
	HOMA(HOMA_TYPE(ND_HOMA_RESEND), "level", 36, 8, DECIMAL, "Priority of the answer."),
	HOMA_LIST(ND_HOMA_CUTOFFS, "cutoff", 28, 32, ND_HOMA_PRIORITIES, 32, DECIMAL,
		  "Longest message whose unscheduled bytes use this priority."),
	HOMA(HOMA_TYPE(ND_HOMA_CUTOFFS), "cutoff_version", 60, 16, DECIMAL, "Number of this set."),
	HOMA(HOMA_TYPE(ND_HOMA_ACK), "ack_count", 28, 16, DECIMAL, "Entries in use."),
	HOMA_LIST(ND_HOMA_ACK, "ack_id", 30, 64, ND_HOMA_ACKS_MAX, 80, DECIMAL,
		  "Client's id of an RPC that has ended."),
	HOMA_LIST(ND_HOMA_ACK, "ack_port", 38, 16, ND_HOMA_ACKS_MAX, 80, DECIMAL,
		  "Server port of that RPC."),
};
const uint32_t nd_fields_count = ND_ARRAY_SIZE(nd_fields);

#define NDP_VALUE(field_, name_, value_, text_) { field_, name_, text_, value_, ND_PROTO_NDP }
#define HOMA_VALUE(field_, name_, value_, text_) { field_, name_, text_, value_, ND_PROTO_HOMA }

const struct nd_field_value nd_field_values[] = {
	NDP_VALUE("type", "DATA", ND_NDP_DATA, "Carries payload."),
	NDP_VALUE("type", "ACK", ND_NDP_ACK, "DATA arrived whole."),
	NDP_VALUE("type", "NACK", ND_NDP_NACK, "DATA arrived trimmed."),
	NDP_VALUE("type", "PULL", ND_NDP_PULL, "Cumulative permission to send."),
	NDP_VALUE("type", "CLOSE", ND_NDP_CLOSE, "Connection refused or reset."),
	NDP_VALUE("flags", "SYN", ND_NDP_FLAG_SYN, "Sent in the first window."),
	NDP_VALUE("flags", "LAST", ND_NDP_FLAG_LAST, "Nothing is queued behind it."),
	NDP_VALUE("flags", "FIN", ND_NDP_FLAG_FIN, "The sender will send no more."),
	NDP_VALUE("flags", "REPLY", ND_NDP_FLAG_REPLY, "From the side that accepted."),
	NDP_VALUE("flags", "RTX", ND_NDP_FLAG_RTX, "A retransmission."),
	NDP_VALUE("flags", "PULL", ND_NDP_FLAG_PULL, "The pull field is valid."),
	NDP_VALUE("flags", "CONGESTED", ND_NDP_FLAG_CONGESTED, "The sender's uplink is full."),
	NDP_VALUE("trim_location", "none", ND_NDP_TRIM_NONE, "Whole, or cut by hardware."),
	NDP_VALUE("trim_location", "fabric", ND_NDP_TRIM_FABRIC, "Cut inside the fabric."),
	NDP_VALUE("trim_location", "last_hop", ND_NDP_TRIM_LAST_HOP, "Cut next to the receiver."),

	HOMA_VALUE("type", "DATA", ND_HOMA_DATA, "A range of a message."),
	HOMA_VALUE("type", "GRANT", ND_HOMA_GRANT, "Permission to send more."),
	HOMA_VALUE("type", "RESEND", ND_HOMA_RESEND, "A range is missing."),
	HOMA_VALUE("type", "RPC_UNKNOWN", ND_HOMA_RPC_UNKNOWN, "No such RPC here."),
	HOMA_VALUE("type", "BUSY", ND_HOMA_BUSY, "Alive, nothing to send yet."),
	HOMA_VALUE("type", "CUTOFFS", ND_HOMA_CUTOFFS, "Priorities of unscheduled bytes."),
	HOMA_VALUE("type", "FREEZE", ND_HOMA_FREEZE, "Stop the trace, for debugging."),
	HOMA_VALUE("type", "NEED_ACK", ND_HOMA_NEED_ACK, "Did the response arrive?"),
	HOMA_VALUE("type", "ACK", ND_HOMA_ACK, "RPCs that have ended."),
	HOMA_VALUE("note", "none", ND_HOMA_NOTE_NONE, "Nothing to say."),
	HOMA_VALUE("note", "incast", ND_HOMA_NOTE_INCAST, "Keep the unscheduled part small."),
	HOMA_VALUE("note", "done", ND_HOMA_NOTE_DONE, "Ended here, will not be answered."),
	HOMA_VALUE("note", "no_port", ND_HOMA_NOTE_NO_PORT, "Nobody listens on that port."),
	HOMA_VALUE("note", "too_long", ND_HOMA_NOTE_TOO_LONG, "Above the server's limit."),
	HOMA_VALUE("note", "cancel", ND_HOMA_NOTE_CANCEL, "The client gave the RPC up."),
	HOMA_VALUE("note", "full", ND_HOMA_NOTE_FULL, "No room for the request now, try later."),
};
const uint32_t nd_field_values_count = ND_ARRAY_SIZE(nd_field_values);

uint32_t nd_field_type_base(uint8_t protocol)
{
	return protocol == ND_PROTO_HOMA ? ND_HOMA_DATA : 0;
}

bool nd_field_get(const struct nd_field *field, uint32_t occurrence, const uint8_t *header,
		  uint32_t bytes, uint64_t *value)
{
	uint32_t first = field->bit_offset + occurrence * field->bit_stride;
	uint64_t bits = 0;

	if (occurrence >= field->repeat || first + field->bit_width > bytes * 8)
		return false;
	for (uint32_t bit = first; bit < first + field->bit_width; bit++)
		bits = bits << 1 | (header[bit / 8] >> (7 - bit % 8) & 1);
	*value = bits;
	return true;
}
