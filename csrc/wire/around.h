/* SPDX-License-Identifier: Apache-2.0 */
/* What surrounds a message, from a template; to be inlined where the shape is known beforehand. */
#ifndef ND_WIRE_AROUND_H
#define ND_WIRE_AROUND_H

#include "wire/frame.h"
#include "wire/ip.h"
#include "wire/udp.h"

ND_INLINE struct nd_frame_class nd_around_ndp_class(const struct nd_frame_around *around,
						    const struct nd_packet *packet)
{
	if (ND_UNLIKELY(packet->marks & ND_MARK_CONTROL))
		return around->classes[ND_FRAME_CLASSES +
				       (packet->marks & (ND_MARK_ECT | ND_MARK_CE))];
	return around->classes[packet->marks % ND_FRAME_CLASSES];
}

ND_INLINE struct nd_frame_class nd_around_homa_class(const struct nd_frame_around *around,
						     const struct nd_packet *packet)
{
	return around->classes[(packet->priority & 7) << 2 |
				(packet->marks & (ND_MARK_ECT | ND_MARK_CE))];
}

/*
 * Ethernet, IP and UDP of a frame of `bytes`, sent from this port; a tag's priority is left 0. May
 * write the rest of a piece behind them.
 */
ND_INLINE void nd_around_put(const struct nd_frame_around *around,
			     const struct nd_frame_shape *shape, struct nd_frame_class class,
			     uint16_t source_port, uint32_t bytes, uint8_t *out)
{
	uint8_t *ip = out + shape->network_at, *udp = out + shape->transport_at;
	uint16_t port = htobe16(source_port), checksum;
	uint16_t total = htobe16((uint16_t)(bytes - shape->network_at));
	uint16_t length = htobe16((uint16_t)(bytes - shape->transport_at));

#pragma GCC unroll 5
	for (uint32_t at = 0; at < shape->message_at; at += ND_FRAME_AROUND_PIECE)
		memcpy(out + at, around->bytes + at, ND_FRAME_AROUND_PIECE);
	if (shape->v4) {
		checksum = nd_checksum_with(class.checksum, total);
		memcpy(ip + ND_IPV4_LENGTH_AT, &total, sizeof(total));
		memcpy(ip + ND_IPV4_CHECKSUM_AT, &checksum, sizeof(checksum));
	} else {
		memcpy(ip + ND_IPV6_LENGTH_AT, &length, sizeof(length));
	}
	memcpy(ip, &class.start, sizeof(class.start));
	if (!shape->udp)
		return;
	memcpy(udp, &port, sizeof(port));
	memcpy(udp + ND_UDP_LENGTH_AT, &length, sizeof(length));
	if (!shape->v4)
		memcpy(ip + ND_IPV6_LABEL_AT, &port, sizeof(port));
}

#endif
