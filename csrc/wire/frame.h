/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whole frames: packet to bytes, bytes to packet, and what a switch does to bytes in place.
 *
 *	host:    nd_frame_prepare(config, &peer, &template), once for each peer, then
 *		 bytes = nd_frame_encode(&template, &packet, buffer, room);
 *		 error = nd_frame_decode(config, buffer, bytes, &peer, &packet);
 *	switch:  nd_frame_decode(config, buffer, bytes, NULL, &packet), then for the verdicts
 *		 nd_frame_trim(), nd_frame_bounce(), nd_frame_set_ce()
 *
 * DESIGN NOTES
 * 1. The handles in packet.source and packet.target belong to the driver. A frame has addresses:
 *    the driver maps the ones that decode returns, and keeps a template of each peer for encode.
 * 2. Not on the wire, and so not restored: next, source, target, and for control packets rank.
 *    packet.flow is made anew by decode, equal for all packets of a connection or RPC.
 * 3. A frame that is not ours, or not decodable, still decodes to an ND_PROTO_OTHER packet with
 *    its sizes, priority and marks, so that a switch can forward it.
 */
#ifndef ND_WIRE_FRAME_H
#define ND_WIRE_FRAME_H

#include "wire/error.h"
#include "wire/eth.h"
#include "wire/frame_config.h"
#include "wire/packet.h"

/* Bytes that encode needs in front of the payload at most. */
#define ND_FRAME_HEADERS_MAX (ND_ETH_BYTES + ND_ETH_TAG_BYTES + 40 + 8 + ND_HOMA_HEADER_BYTES_MAX)

/* Who sends to whom. IP addresses are of one version; IPv4 is mapped: ::ffff:a.b.c.d. */
struct nd_frame_peer {
	uint8_t target_mac[6]; /* first, as on the wire: copied in one piece */
	uint8_t source_mac[6];
	uint8_t source[16];
	uint8_t target[16];
	uint16_t vlan; /* id, or ND_ETH_VLAN_NONE */
};

/*
 * Bytes that a packet of this type takes on the link beside its payload, framing included. What
 * engines are configured with (data_header_bytes, control_bytes) comes from here.
 */
uint32_t nd_frame_overhead(const struct nd_frame_config *config, const struct nd_frame_peer *peer,
			   uint8_t protocol, uint8_t type);

/* Ethernet with a tag, IPv6 and UDP, rounded up to what copies in whole pieces. */
#define ND_FRAME_AROUND_PIECE 16
#define ND_FRAME_AROUND_MAX 80

/*
 * Traffic classes: by packet.marks up to LAST_HOP (NDP DATA), or by priority and ECN (Homa); behind
 * them by ECN marks (NDP control).
 */
#define ND_FRAME_CLASSES 32
#define ND_FRAME_CONTROL_CLASSES 4

struct nd_frame_template;

/* nd_frame_encode() or nd_frame_encode_headers(), for the shape and protocol of one around. */
typedef uint32_t nd_frame_encode_fn(const struct nd_frame_template *template,
				    const struct nd_packet *packet, uint8_t *out, uint32_t room);

/* What is the same in all packets of one protocol to one peer. */
struct nd_frame_around {
	nd_frame_encode_fn *encode;
	nd_frame_encode_fn *encode_headers;
	uint8_t bytes[ND_FRAME_AROUND_MAX]; /* up to the message; what differs is 0 */
	struct nd_frame_class {     /* both in memory order */
		uint16_t start;     /* first two bytes of the IP header */
		uint16_t checksum;  /* IPv4: of a header that says its length is 0 */
	} classes[ND_FRAME_CLASSES + ND_FRAME_CONTROL_CLASSES];
	uint8_t pcp[8];             /* by priority */
	uint32_t bytes_max;         /* of a frame */
	uint32_t check_seed;        /* of NDP's header check */
	uint16_t port_first;
	uint16_t port_count;
	struct nd_frame_shape {
		uint8_t network_at;
		uint8_t transport_at;
		uint8_t message_at;
		bool v4;
		bool tagged;
		bool udp;
	} shape;
	bool checksum; /* fill in Homa's */
};

struct nd_frame_template {
	struct nd_frame_around ndp;
	struct nd_frame_around homa;
};

/* Writes down once what nd_frame_encode() need not think about for each packet. */
void nd_frame_prepare(const struct nd_frame_config *config, const struct nd_frame_peer *peer,
		      struct nd_frame_template *template);

/*
 * Writes the frame and returns its length, or 0 when it does not fit in room or in an IP packet.
 * A trimmed packet is written as its header; payload that is NULL, as zeros.
 */
uint32_t nd_frame_encode(const struct nd_frame_template *template, const struct nd_packet *packet,
			 uint8_t *out, uint32_t room);

/*
 * Writes what nd_frame_encode() writes in front of the payload, whose check is made of it where it
 * lies, and returns the bytes of that: with the payload behind, the frame is whole. room is that of
 * the whole. 0 when there is nothing to leave out or the headers alone cannot be written, and all is
 * to be encoded: no payload, one trimmed or NULL, Homa that fills its checksum in, no room.
 */
uint32_t nd_frame_encode_headers(const struct nd_frame_template *template,
				 const struct nd_packet *packet, uint8_t *out, uint32_t room);

/*
 * Reads a frame. The payload points into it. peer may be NULL; it is set for packets of ours. Any
 * result but ND_WIRE_OK is for nd_wire_count(); the packet is then ND_PROTO_OTHER.
 */
enum nd_wire_error nd_frame_decode(const struct nd_frame_config *config, const uint8_t *in,
				   uint32_t bytes, struct nd_frame_peer *peer,
				   struct nd_packet *packet);

/* Where the NDP or Homa header of a frame begins, or 0 when it has none. */
uint32_t nd_frame_message_at(const struct nd_frame_config *config, const uint8_t *in,
			     uint32_t bytes);

/* How an egress port trims. */
struct nd_frame_trim {
	uint32_t size;     /* bytes of the frame that stay, 0 = up to the end of the NDP header */
	uint8_t dscp;      /* new code point */
	uint8_t pcp;       /* new PCP of a tagged frame, ND_FRAME_PCP_KEEP = as it was */
	uint8_t location;  /* enum nd_ndp_trim: ND_NDP_TRIM_FABRIC or ND_NDP_TRIM_LAST_HOP */
};

#define ND_FRAME_PCP_KEEP 0xff

/*
 * Trims in place and returns the new length, or 0 when the frame may not be trimmed: it is not
 * whole NDP DATA with the trimmable code point, or is multicast. It is then untouched.
 */
uint32_t nd_frame_trim(const struct nd_frame_config *config, uint8_t *frame, uint32_t bytes,
		       const struct nd_frame_trim *trim);

/*
 * Turns a frame around to its sender in place, trimming it first if it is whole, and returns the
 * new length; 0 when it may not be returned (untouched): control, returned before, multicast.
 */
uint32_t nd_frame_bounce(const struct nd_frame_config *config, uint8_t *frame, uint32_t bytes,
			 const struct nd_frame_trim *trim);

/* Marks congestion; false when the sender does not understand ECN or it is no IP. */
bool nd_frame_set_ce(uint8_t *frame, uint32_t bytes);

#endif
