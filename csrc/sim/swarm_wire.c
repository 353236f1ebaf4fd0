// SPDX-License-Identifier: Apache-2.0
/* Frames of the swarm, whole and damaged. */
#include "sim/swarm_wire.h"

#include <string.h>

#include "sim/swarm.h"

#define VLAN 7

void nd_swarm_wire_open(struct nd_swarm *swarm)
{
	struct nd_swarm_wire *wire = &swarm->wire;

	wire->config = nd_frame_config_default();
	wire->config.verify = ND_FRAME_VERIFY_ALL;
	wire->config.homa_checksum = true;
	wire->config.homa_in_udp = swarm->options.wire == ND_SWARM_WIRE_VLAN_UDP;
	wire->errors = (struct nd_wire_counters){ 0 };
}

/* The host's address: its handle, at the end. */
static void set_address(const struct nd_swarm *swarm, uint8_t address[16], uint32_t handle)
{
	memset(address, 0, 16);
	if (swarm->options.wire == ND_SWARM_WIRE_IPV6)
		address[0] = 0xfd;
	else
		address[10] = address[11] = 0xff;
	for (uint32_t i = 0; i < 4; i++)
		address[12 + i] = (uint8_t)(handle >> (24 - 8 * i));
}

static uint32_t handle_of(const uint8_t address[16])
{
	return (uint32_t)address[12] << 24 | (uint32_t)address[13] << 16 |
	       (uint32_t)address[14] << 8 | address[15];
}

static struct nd_frame_peer peer_of(const struct nd_swarm *swarm, uint32_t source, uint32_t target)
{
	struct nd_frame_peer peer = {
		.source_mac = { 2, 0, 0, 0, 0, (uint8_t)source },
		.target_mac = { 2, 0, 0, 0, 0, (uint8_t)target },
		.vlan = swarm->options.wire == ND_SWARM_WIRE_VLAN_UDP ? VLAN : ND_ETH_VLAN_NONE,
	};

	set_address(swarm, peer.source, source);
	set_address(swarm, peer.target, target);
	return peer;
}

uint32_t nd_swarm_wire_overhead(const struct nd_swarm *swarm, uint8_t protocol, uint8_t type)
{
	struct nd_frame_peer peer = peer_of(swarm, nd_swarm_address(0), nd_swarm_address(1));

	return nd_frame_overhead(&swarm->wire.config, &peer, protocol, type);
}

static const char *difference(const struct nd_packet *in, const struct nd_packet *out, bool cut)
{
	bool whole = !(in->marks & ND_MARK_TRIMMED) && !cut;
	uint8_t trimmed = ND_MARK_TRIMMED | ND_MARK_LAST_HOP;

	if (in->protocol != out->protocol || in->type != out->type)
		return "type";
	if (in->source != out->source || in->target != out->target)
		return "address";
	if (in->priority != out->priority)
		return "priority";
	if (cut && !(out->marks & ND_MARK_TRIMMED))
		return "trimmed mark";
	if ((cut ? in->marks & ~trimmed : in->marks) != (cut ? out->marks & ~trimmed : out->marks))
		return "marks";
	if (in->flags != out->flags)
		return "flags";
	if (in->payload_bytes != out->payload_bytes)
		return "payload length";
	if (in->payload_bytes && whole && memcmp(in->payload, out->payload, in->payload_bytes) != 0)
		return "payload";
	if (!(in->marks & ND_MARK_CONTROL) && !cut && in->wire_bytes != out->wire_bytes)
		return "length";
	if (in->protocol == ND_PROTO_NDP && memcmp(&in->ndp, &out->ndp, sizeof(in->ndp)) != 0)
		return "NDP header";
	if (in->protocol == ND_PROTO_HOMA && (in->homa.sender_id != out->homa.sender_id ||
					      in->homa.offset != out->homa.offset ||
					      in->homa.length != out->homa.length))
		return "Homa header";
	return NULL;
}

static void flip_a_bit(struct nd_swarm *swarm, uint32_t bytes)
{
	uint32_t bit = nd_rng_below(&swarm->network.rng, 8 * bytes);

	swarm->wire.frame[bit / 8] ^= (uint8_t)(1u << bit % 8);
}

bool nd_swarm_wire_pass(struct nd_swarm *swarm, uint32_t host, const struct nd_packet *in,
			enum nd_swarm_damage damage, struct nd_packet *out)
{
	struct nd_swarm_wire *wire = &swarm->wire;
	struct nd_frame_peer peer = peer_of(swarm, in->source, in->target);
	struct nd_frame_template template;
	bool cut = damage == ND_SWARM_CUT && !(in->marks & ND_MARK_TRIMMED);
	bool sound = damage != ND_SWARM_FLIPPED;
	enum nd_wire_error error;
	const char *wrong;
	uint32_t bytes;

	nd_frame_prepare(&wire->config, &peer, &template);
	bytes = nd_frame_encode(&template, in, wire->frame, sizeof(wire->frame));
	if (bytes == 0) {
		nd_swarm_fail(swarm, "a packet of type %u cannot be encoded", in->type);
		return false;
	}
	if (cut)
		bytes -= 1 + nd_rng_below(&swarm->network.rng, in->payload_bytes);
	else if (!sound)
		flip_a_bit(swarm, bytes);
	error = nd_frame_decode(&wire->config, wire->frame, bytes, &peer, out);
	nd_wire_count(&wire->errors, error);
	if (error != ND_WIRE_OK || out->protocol == ND_PROTO_OTHER) {
		if (sound)
			nd_swarm_fail(swarm, "a packet of type %u cannot be decoded: %s", in->type,
				      error ? nd_wire_counters_table.texts[error - 1].name : "other");
		return false;
	}
	out->source = handle_of(peer.source);
	out->target = handle_of(peer.target);
	wrong = difference(in, out, cut);
	if (wrong && sound)
		nd_swarm_fail(swarm, "the wire changes the %s of a packet of type %u", wrong, in->type);
	return out->target == nd_swarm_address(host) &&
	       nd_swarm_host_of(swarm, out->source) != ND_NONE;
}
