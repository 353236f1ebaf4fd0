/* SPDX-License-Identifier: Apache-2.0 */
/* Between a UDP datagram, as sockets see it, and the Ethernet frame that would carry it. */
#ifndef ND_PORT_UDP_FRAME_H
#define ND_PORT_UDP_FRAME_H

#include "base/types.h"

#include <netinet/in.h>

#define ND_UDP_HEADERS_MAX 62u /* Ethernet, IPv6, UDP */

union nd_udp_address {
	struct sockaddr any;
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
};

struct nd_udp_datagram {
	union nd_udp_address target;
	uint8_t traffic_class; /* DSCP and ECN */
	const uint8_t *payload;
	uint32_t payload_bytes; /* of the whole, its tail included */
	const uint8_t *tail;    /* the last tail_bytes of them, not behind payload then */
	uint32_t tail_bytes;
};

/* Takes a frame without tail apart; false when it is not whole UDP over IP of this family. */
bool nd_udp_frame_parse(const uint8_t *frame, uint32_t bytes, sa_family_t family,
			struct nd_udp_datagram *datagram);

/*
 * Writes the headers in front of a payload and returns their length; there have to be
 * ND_UDP_HEADERS_MAX bytes. Source and target are of one family.
 */
uint32_t nd_udp_frame_build(uint8_t *payload, uint32_t payload_bytes,
			    const union nd_udp_address *source,
			    const union nd_udp_address *target, uint8_t traffic_class);

#endif
