/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What came on a socket: datagrams, and trains of them that the kernel gives in one piece.
 *
 * The kernel spreads each piece over slots, a full datagram's bytes in each and room for headers in
 * front. So the datagrams of a train of full ones lie where frames can be made of them; only others
 * are copied once more.
 */
#ifndef ND_PORT_UDP_ARRIVALS_H
#define ND_PORT_UDP_ARRIVALS_H

#include "port/udp_frame.h"

#include <stdbool.h>
#include <sys/socket.h>

#define ND_UDP_ARRIVALS_MAX 64u /* pieces of one receive, and frames that may be looked at */

struct nd_udp_arrivals {
	uint32_t full_bytes, bytes_max; /* of a datagram: usual, and longest that is taken */
	uint32_t slot_bytes, slots;     /* slots: of one piece */
	uint8_t *memory;                /* ND_UDP_ARRIVALS_MAX * slots */
	uint8_t *copies;                /* ND_UDP_ARRIVALS_MAX slots */
	struct iovec *parts;
	struct mmsghdr messages[ND_UDP_ARRIVALS_MAX];
	struct nd_udp_arrival {
		union nd_udp_address source;
		_Alignas(struct cmsghdr) uint8_t control[2 * CMSG_SPACE(sizeof(int))];
	} arrivals[ND_UDP_ARRIVALS_MAX];
	uint32_t count, at; /* pieces that came, and the one that is being cut ... */
	uint32_t cut;       /* ... from this byte on */
};

struct nd_udp_part {
	const union nd_udp_address *source;
	uint8_t *payload; /* ND_UDP_HEADERS_MAX bytes free in front; NULL: longer than is taken */
	uint32_t bytes;
	uint8_t traffic_class;
};

/* For datagrams of full_bytes and fewer, which is most, up to bytes_max. 0 or -ENOMEM. */
int nd_udp_arrivals_open(struct nd_udp_arrivals *self, uint32_t full_bytes, uint32_t bytes_max);

/* Frees what open made; of a zeroed one too. */
void nd_udp_arrivals_close(struct nd_udp_arrivals *self);

/* Nothing that came is left to be cut. */
static inline bool nd_udp_arrivals_done(const struct nd_udp_arrivals *self)
{
	return self->at == self->count;
}

/* Reads what the socket has, over all that came before; false when that is nothing. */
bool nd_udp_arrivals_receive(struct nd_udp_arrivals *self, int socket);

/*
 * Cuts off the next datagram, of which there has to be one. It stays until the next receive; one
 * that had to be copied, only as long as `copy`, below ND_UDP_ARRIVALS_MAX, is not named again.
 */
struct nd_udp_part nd_udp_arrivals_cut(struct nd_udp_arrivals *self, uint32_t copy);

#endif
