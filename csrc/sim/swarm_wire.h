/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The last link of the swarm in bytes: a packet becomes a frame, a bit may flip in it, hardware may
 * have cut it, and what the receiving host decodes is what its engine gets.
 *
 * Whatever was not damaged has to come out of the decoder as it went into the encoder.
 */
#ifndef ND_SIM_SWARM_WIRE_H
#define ND_SIM_SWARM_WIRE_H

#include "wire/frame.h"

/* options.wire */
enum nd_swarm_wire_mode {
	ND_SWARM_WIRE_OFF,
	ND_SWARM_WIRE_IPV4,
	ND_SWARM_WIRE_IPV6,
	ND_SWARM_WIRE_VLAN_UDP, /* tagged IPv4, Homa inside UDP */
	ND_SWARM_WIRE_MODES,
};

/* What has happened to a packet that its struct does not show. */
enum nd_swarm_damage {
	ND_SWARM_INTACT,
	ND_SWARM_FLIPPED, /* one bit of its frame is wrong */
	ND_SWARM_CUT,     /* hardware has cut its frame somewhere in the payload, and no more */
};

struct nd_swarm;

struct nd_swarm_wire {
	struct nd_frame_config config;
	struct nd_wire_counters errors;
	uint8_t frame[10240];
};

void nd_swarm_wire_open(struct nd_swarm *swarm);

/* Bytes of a packet of that type beside its payload, framing included. */
uint32_t nd_swarm_wire_overhead(const struct nd_swarm *swarm, uint8_t protocol, uint8_t type);

/*
 * Passes a packet through bytes; flipped ones may be lost on the way (false). The payload of what
 * comes out is valid until the next call.
 */
bool nd_swarm_wire_pass(struct nd_swarm *swarm, uint32_t host, const struct nd_packet *in,
			enum nd_swarm_damage damage, struct nd_packet *out);

#endif
