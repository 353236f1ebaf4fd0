/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Why a frame could not be decoded: one counter for each reason.
 *
 * Decoders return enum nd_wire_error; whoever owns the counters bumps the one of that name with
 * nd_wire_count(). Nothing on the wire reaches an assertion.
 */
#ifndef ND_WIRE_ERROR_H
#define ND_WIRE_ERROR_H

#include "base/counters.h"

#define ND_WIRE_COUNTERS(X) \
	X(eth_short, "Frames too short for their Ethernet header.") \
	X(eth_oversize, "Frames longer than an IP packet can be.") \
	X(ip_short, "Frames too short for their IP header.") \
	X(ip_version, "IP packets whose version contradicts the Ethernet type.") \
	X(ip_header, "IPv4 packets whose header length is impossible.") \
	X(ip_checksum, "IPv4 packets of ours whose header checksum is wrong.") \
	X(ip_fragment, "IPv4 fragments of our protocols: trimming cannot tell them from cuts.") \
	X(udp_length, "UDP datagrams whose length is impossible.") \
	X(ndp_short, "NDP packets cut before the end of the 40-byte header.") \
	X(ndp_version, "NDP packets of a version that is not spoken here.") \
	X(ndp_header_length, "NDP packets whose header length is below ten words.") \
	X(ndp_header_check, "NDP packets whose header check is wrong: damaged or misdelivered.") \
	X(ndp_type, "NDP packets of an unknown type.") \
	X(ndp_message_end, "NDP DATA packets whose payload lies beyond their message.") \
	X(ndp_control_payload, "NDP control packets that claim a payload.") \
	X(ndp_payload_check, "NDP DATA packets whose payload check is wrong.") \
	X(homa_short, "Homa packets shorter than the fixed part of their type.") \
	X(homa_cut, "Homa packets cut on the way: their IP length says more.") \
	X(homa_type, "Homa packets of an unknown type.") \
	X(homa_acks, "Homa ACK packets that claim more acknowledgements than fit.") \
	X(homa_message_end, "Homa DATA packets whose payload lies beyond their message.") \
	X(homa_checksum, "Homa packets whose checksum is wrong.")
ND_COUNTERS_STRUCT(nd_wire_counters, ND_WIRE_COUNTERS);
extern const struct nd_counters_table nd_wire_counters_table;

#define ND_WIRE_ERROR_ENUM(name, help) ND_WIRE_##name,

/* 0 or a reason: ND_WIRE_ndp_version and so on, in the order of the counters. */
enum nd_wire_error { ND_WIRE_OK, ND_WIRE_COUNTERS(ND_WIRE_ERROR_ENUM) };

/* Counts a reason; ND_WIRE_OK is not counted. */
static inline void nd_wire_count(struct nd_wire_counters *counters, enum nd_wire_error error)
{
	if (error != ND_WIRE_OK)
		((uint64_t *)counters)[error - 1]++;
}

#endif
