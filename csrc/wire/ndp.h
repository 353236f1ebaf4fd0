/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The NDP header: decoded form and wire codec. The byte layout is specified in
 * docs/protocol-ndp.md; the paper (SIGCOMM'17) leaves it open.
 */
#ifndef ND_WIRE_NDP_H
#define ND_WIRE_NDP_H

#include "base/types.h"
#include "wire/error.h"

struct nd_packet;

#define ND_NDP_VERSION 1
#define ND_NDP_HEADER_BYTES 40u
#define ND_NDP_UDP_PORT 4797 /* default destination port */

/* Where the bits lie that a switch changes; see docs/protocol-ndp.md, section 2. */
#define ND_NDP_FLAGS_AT 1u
#define ND_NDP_BOUNCED 0x80
#define ND_NDP_STATE_AT 2u
#define ND_NDP_PRIORITY_SHIFT 5
#define ND_NDP_TRIM_SHIFT 3
#define ND_NDP_TRIM_MASK 0x18

/* Where a packet was trimmed. */
enum nd_ndp_trim {
	ND_NDP_TRIM_NONE = 0,
	ND_NDP_TRIM_FABRIC = 1,
	ND_NDP_TRIM_LAST_HOP = 2,
	ND_NDP_TRIM_RESERVED = 3, /* taken as in the fabric */
};

enum nd_ndp_type {
	ND_NDP_DATA = 1,  /* carries payload; trimmed it still names flow, sequence and path */
	ND_NDP_ACK = 2,   /* DATA sequence arrived whole */
	ND_NDP_NACK = 3,  /* DATA sequence arrived trimmed: keep it for retransmission */
	ND_NDP_PULL = 4,  /* cumulative permission to send */
	ND_NDP_CLOSE = 5, /* connection reset or refused; sequence holds the reason */
};

/* packet.flags of NDP packets. */
enum {
	ND_NDP_FLAG_SYN = 1 << 0,       /* sent in the first window; creates state, in any order */
	ND_NDP_FLAG_LAST = 1 << 1,      /* nothing is queued behind this packet */
	ND_NDP_FLAG_FIN = 1 << 2,       /* the sender will never send more on this connection */
	ND_NDP_FLAG_REPLY = 1 << 3,     /* sent by the side that accepted the connection */
	ND_NDP_FLAG_RTX = 1 << 4,       /* this DATA is a retransmission */
	ND_NDP_FLAG_PULL = 1 << 5,      /* ACK, NACK: the pull field is valid as in a PULL */
	ND_NDP_FLAG_VOID = 1 << 5,      /* DATA without payload: with message_bytes != 0 that
					 * message is cancelled, else the packet is only a number */
	ND_NDP_FLAG_CONGESTED = 1 << 6, /* sender's own uplink is the bottleneck */
};

/* Reasons carried by ND_NDP_CLOSE in header.sequence. */
enum nd_ndp_close_reason {
	ND_NDP_CLOSE_REFUSED = 1,  /* nobody listens on the service, or its backlog is full */
	ND_NDP_CLOSE_RESET = 2,    /* the application aborted */
	ND_NDP_CLOSE_UNKNOWN = 3,  /* no such connection (restarted, or long closed) */
	ND_NDP_CLOSE_PROTOCOL = 4, /* the peer broke a rule or a limit */
};

/* What is side by side on the wire is so here, for the codec to move it together. */
struct nd_ndp_header {
	__extension__ union { /* C++ has no structs without a name */
		uint32_t pull; /* PULL (ACK, NACK with FLAG_PULL): packets released so far */
		struct {       /* DATA: pull's lower and upper half */
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
			uint16_t service;
			uint16_t base;
#else
			uint16_t base;     /* oldest number of ours not acknowledged, modulo
					    * 2^16: who lacks an older one lost it */
			uint16_t service;  /* with SYN: port the peer listens on */
#endif
		};
	};
	uint32_t sequence;   /* DATA: packet number on the connection from 0; ACK, NACK: the
			      * number answered. The offset from the first packet is the number. */
	union {
		uint32_t offset;  /* DATA: of the payload's first byte in the message */
		uint32_t arrived; /* ACK, NACK: all numbers below it have arrived */
	};
	uint32_t message_bytes; /* length of the message this packet belongs to */
	uint32_t connection; /* chosen by the connecting host, unique there within time-wait */
	uint16_t backlog;       /* KiB the sender still has to send, rounded up, saturating */
	uint16_t message;       /* message number on the connection, modulo 2^16 */
};

/* What the header check starts from over IPv6, given both addresses; over IPv4 it is 0. */
uint32_t nd_ndp_check_seed(const uint8_t addresses[32]);

/*
 * Writes the ND_NDP_HEADER_BYTES of the header. payload_check is the payload's CRC-32C. Taken from
 * the packet: type, flags, priority, path, payload_bytes, ndp; marks BOUNCED, TRIMMED, LAST_HOP.
 */
void nd_ndp_encode(const struct nd_packet *packet, uint32_t check_seed, uint32_t payload_check,
		   uint8_t *out);

/* The two checks alone, of a header that is otherwise written. */
void nd_ndp_put_checks(uint32_t check_seed, uint32_t payload_check, uint8_t *out);

/*
 * Reads header and payload out of bytes, which end where lengths or a cut end them. Sets what
 * nd_ndp_encode() takes, the mark CONTROL, header_bytes (of the NDP header alone), rank, and
 * payload: NULL when there is none or not all of it. The payload's check is not looked at.
 */
enum nd_wire_error nd_ndp_decode(const uint8_t *in, uint32_t bytes, uint32_t check_seed,
				 struct nd_packet *packet);

/* Where our own switches trimmed the packet; hardware leaves this ND_NDP_TRIM_NONE. */
static inline enum nd_ndp_trim nd_ndp_trim_of(const uint8_t *header)
{
	return (enum nd_ndp_trim)((header[ND_NDP_STATE_AT] & ND_NDP_TRIM_MASK) >>
				  ND_NDP_TRIM_SHIFT);
}

/* True when the payload of a packet just decoded from this header is undamaged. */
bool nd_ndp_payload_holds(const uint8_t *in, const struct nd_packet *packet);

/* Changes one byte of a header in place and patches its check, so that damage stays visible. */
void nd_ndp_patch(uint8_t *header, uint32_t at, uint8_t value);

#endif
