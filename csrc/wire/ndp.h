/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The NDP header: decoded form and wire codec. The byte layout is specified in
 * docs/protocol-ndp.md; the paper (SIGCOMM'17) leaves it open.
 */
#ifndef ND_WIRE_NDP_H
#define ND_WIRE_NDP_H

#include "base/types.h"

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
	ND_NDP_FLAG_CONGESTED = 1 << 6, /* sender's own uplink is the bottleneck */
};

/* Reasons carried by ND_NDP_CLOSE in header.sequence. */
enum nd_ndp_close_reason {
	ND_NDP_CLOSE_REFUSED = 1,  /* nobody listens on the service, or its backlog is full */
	ND_NDP_CLOSE_RESET = 2,    /* the application aborted */
	ND_NDP_CLOSE_UNKNOWN = 3,  /* no such connection (restarted, or long closed) */
	ND_NDP_CLOSE_PROTOCOL = 4, /* the peer broke a rule or a limit */
};

struct nd_ndp_header {
	uint32_t connection; /* chosen by the connecting host, unique there within time-wait */
	uint32_t sequence;   /* DATA: packet number on the connection from 0; ACK, NACK: the
			      * number answered. The offset from the first packet is the number. */
	union {
		uint32_t pull; /* PULL (ACK, NACK with FLAG_PULL): packets released so far */
		struct {
			uint16_t service;  /* DATA with SYN: port the peer listens on */
			uint16_t reserved; /* sent 0, ignored */
		};
	};
	uint32_t message_bytes; /* length of the message this packet belongs to */
	uint32_t offset;        /* of the payload's first byte in the message */
	uint16_t message;       /* message number on the connection, modulo 2^16 */
	uint16_t backlog;       /* KiB the sender still has to send, rounded up, saturating */
};

#endif
