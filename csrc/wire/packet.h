/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One decoded packet: what engines and disciplines see, on a real link and in the simulator alike.
 *
 * DESIGN NOTES
 * 1. The first cache line is all that a switch and the NDP engine touch; the rest of the union
 *    (Homa's CUTOFFS and ACK lists) lies in the second. At 8,192 simulated hosts this footprint is
 *    what decides speed.
 * 2. Addresses are handles: the driver (port, simulator, test) maps them to IP and MAC addresses.
 *    Engines and disciplines only compare and copy them.
 * 3. Bytes on the wire are the sender's statement (wire_bytes); what is left when a switch trims
 *    is header_bytes. Queues count these, so no queue needs to know a wire format.
 */
#ifndef ND_WIRE_PACKET_H
#define ND_WIRE_PACKET_H

#include "base/types.h"
#include "wire/homa.h"
#include "wire/ndp.h"

#include <string.h>

enum nd_protocol {
	ND_PROTO_OTHER = 0, /* kernel traffic and anything else that is only forwarded */
	ND_PROTO_NDP = 1,
	ND_PROTO_HOMA = 2,
	ND_PROTO_COUNT,
};

/* packet.marks: what the network may see and change. */
enum {
	ND_MARK_ECT = 1 << 0,       /* sender understands ECN */
	ND_MARK_CE = 1 << 1,        /* congestion experienced */
	ND_MARK_TRIMMABLE = 1 << 2, /* payload may be cut instead of the packet dropped */
	ND_MARK_TRIMMED = 1 << 3,   /* payload was cut: wire_bytes == header_bytes */
	ND_MARK_LAST_HOP = 1 << 4,  /* ... by the switch that the receiver hangs on */
	ND_MARK_BOUNCED = 1 << 5,   /* returned to sender: source and target were swapped */
	ND_MARK_CONTROL = 1 << 6,   /* no payload ever: ACK, NACK, PULL, GRANT, RESEND, ... */
	ND_MARK_FLOOD = 1 << 7,     /* multicast or broadcast: never trimmed, never returned */
};

struct nd_packet {
	alignas(64)
	uint32_t next;          /* pool index of the next packet of the list this one is in */
	uint32_t source;        /* address handle of the sender */
	uint32_t target;        /* address handle of the receiver */
	uint32_t rank;          /* remaining (or absolute) message bytes; smaller is more urgent */
	uint16_t wire_bytes;    /* bytes this packet occupies on a link, framing included */
	uint16_t header_bytes;  /* ... once trimmed; equal to wire_bytes when nothing can be cut */
	uint16_t flow;          /* hash of the flow, for per-flow ECMP and pFabric */
	uint8_t protocol;       /* enum nd_protocol */
	uint8_t marks;          /* ND_MARK_* */
	uint16_t payload_bytes; /* bytes the sender put in; stays after trimming */
	uint16_t path;          /* path id chosen by the sender */
	uint8_t type;           /* enum nd_ndp_type or enum nd_homa_type */
	uint8_t flags;          /* the protocol's own flags, ND_NDP_FLAG_* */
	uint8_t priority;       /* 0..7, 7 is served first */
	uint8_t spare;          /* 0 */
	const uint8_t *payload; /* payload_bytes of data, NULL where bytes are not carried */
	union {
		struct nd_ndp_header ndp;
		struct nd_homa_header homa;
	};
};

static_assert(offsetof(struct nd_packet, spare) == offsetof(struct nd_packet, payload_bytes) + 7,
	      "the codec moves from payload_bytes to spare at once");
static_assert(offsetof(struct nd_packet, payload) == 32, "switch state is half a cache line");
static_assert(offsetof(struct nd_packet, ndp) + sizeof(struct nd_ndp_header) == 64,
	      "an NDP packet is one cache line");
static_assert(sizeof(struct nd_packet) == 128, "a packet is two cache lines");

/*
 * Zeroes a part of a packet, of more than 64 bytes, in two steps: for all at once compilers take a
 * string instruction, which begins slowly.
 */
ND_INLINE void nd_packet_zero(void *part, size_t bytes)
{
	memset(part, 0, 64);
	memset((uint8_t *)part + 64, 0, bytes - 64);
}

/* Cuts the payload: what remains is the header. Only for packets marked ND_MARK_TRIMMABLE. */
static inline void nd_packet_trim(struct nd_packet *packet)
{
	packet->wire_bytes = packet->header_bytes;
	packet->payload = NULL;
	packet->marks |= ND_MARK_TRIMMED;
}

static inline bool nd_packet_can_trim(const struct nd_packet *packet)
{
	return (packet->marks & (ND_MARK_TRIMMABLE | ND_MARK_TRIMMED | ND_MARK_FLOOD)) ==
	       ND_MARK_TRIMMABLE;
}

/* Turns a trimmed header around; it is never returned twice. */
static inline void nd_packet_bounce(struct nd_packet *packet)
{
	uint32_t source = packet->source;

	packet->source = packet->target;
	packet->target = source;
	packet->marks |= ND_MARK_BOUNCED;
}

#endif
