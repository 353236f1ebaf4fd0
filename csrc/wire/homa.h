/* SPDX-License-Identifier: Apache-2.0 */
/* The Homa header in HomaModule's current dialect: decoded form and wire codec. */
#ifndef ND_WIRE_HOMA_H
#define ND_WIRE_HOMA_H

#include "base/types.h"
#include "wire/error.h"

struct nd_packet;

#define ND_HOMA_PROTOCOL 146    /* IP protocol, next header */
#define ND_HOMA_UDP_PORT 4798   /* default destination port where Homa travels inside UDP */
#define ND_HOMA_COMMON_BYTES 28u
#define ND_HOMA_DATA_BYTES 56u  /* of a DATA header */
#define ND_HOMA_HEADER_BYTES_MAX 80u

enum nd_homa_type {
	ND_HOMA_DATA = 0x10,
	ND_HOMA_GRANT = 0x11,
	ND_HOMA_RESEND = 0x12,
	ND_HOMA_RPC_UNKNOWN = 0x13,
	ND_HOMA_BUSY = 0x14,
	ND_HOMA_CUTOFFS = 0x15,
	ND_HOMA_FREEZE = 0x16,
	ND_HOMA_NEED_ACK = 0x17,
	ND_HOMA_ACK = 0x18,
};

#define ND_HOMA_ACKS_MAX 5
#define ND_HOMA_PRIORITIES 8

/* RESEND length: everything sent so far. */
#define ND_HOMA_RESEND_ALL UINT32_MAX

/*
 * Our own dialect within the dialect. Bytes 8 and 9 of the common header (TCP's acknowledgement
 * field) are zero from HomaModule and ignored by it; our endpoints put a speaker mark and a note
 * there. Byte 8 is what tells a peer that messages of 0 bytes and above 1,000,000 bytes are fine.
 */
#define ND_HOMA_SPEAKER 0xd5

enum nd_homa_note {
	ND_HOMA_NOTE_NONE = 0,
	ND_HOMA_NOTE_INCAST = 1,  /* request DATA: keep the unscheduled part of the response small */
	ND_HOMA_NOTE_DONE = 2,    /* RPC_UNKNOWN to a client: ended here, will never be answered */
	ND_HOMA_NOTE_NO_PORT = 3, /* RPC_UNKNOWN to a client: nobody listens on that port */
	ND_HOMA_NOTE_TOO_LONG = 4, /* RPC_UNKNOWN to a client: request is above the server's limit */
	ND_HOMA_NOTE_CANCEL = 5,   /* RPC_UNKNOWN to a server: the client gave the RPC up */
	ND_HOMA_NOTE_FULL = 6,     /* RPC_UNKNOWN to a client: no room for the request, try later */
};

/* What is side by side on the wire is so here, for the codec to move it together. */
struct nd_homa_header {
	uint64_t sender_id;      /* RPC id as the sender knows it: even from the client */
	uint32_t message_bytes;  /* DATA: length of the whole message */
	uint32_t length;         /* DATA: bytes sent without more grants ("incoming");
				  * RESEND: bytes wanted, or ND_HOMA_RESEND_ALL */
	uint32_t offset;         /* DATA: first byte; GRANT: send below it; RESEND: first byte */
	uint16_t target_port;
	uint16_t source_port;
	uint8_t speaker;         /* wire byte 8: ND_HOMA_SPEAKER from our own endpoints, or 0 */
	uint8_t note;            /* wire byte 9: enum nd_homa_note, 0 from others */
	uint8_t retransmit;      /* DATA: sent in answer to a RESEND */
	uint8_t level;           /* GRANT: priority of data sent under it; RESEND: of the answer */
	uint16_t cutoff_version; /* DATA: last CUTOFFS seen from the target; CUTOFFS: this one */
	uint16_t ack_count;      /* DATA: 0 or 1; ACK: 0..5; entries in use below */
	uint16_t ack_ports[ND_HOMA_ACKS_MAX]; /* server port of each acknowledged RPC */
	union {
		uint64_t ack_ids[ND_HOMA_ACKS_MAX];      /* client's id of each acknowledged RPC */
		uint32_t cutoffs[ND_HOMA_PRIORITIES];    /* CUTOFFS: largest unscheduled message
							  * of each priority, in bytes */
	};
};

/* Bytes that nd_homa_encode() writes for this type, or 0 for one that does not exist. */
uint32_t nd_homa_header_bytes(uint8_t type);

/* Writes the header of the packet's type, the checksum as 0, and returns its length. */
uint32_t nd_homa_encode(const struct nd_packet *packet, uint8_t *out);

/*
 * Reads header and payload out of a whole packet. Sets type, homa, payload and its length,
 * header_bytes (of the Homa header alone), rank, and the mark CONTROL.
 */
enum nd_wire_error nd_homa_decode(const uint8_t *in, uint32_t bytes, struct nd_packet *packet);

/*
 * The checksum covers header, payload and the addresses of the IP header (8 or 32 bytes, source
 * first), as TCP's would. 0 means that it was not filled in, and holds.
 */
void nd_homa_fill_checksum(uint8_t *packet, uint32_t bytes, const uint8_t *addresses,
			   uint32_t address_bytes);
bool nd_homa_checksum_holds(const uint8_t *packet, uint32_t bytes, const uint8_t *addresses,
			    uint32_t address_bytes);

#endif
