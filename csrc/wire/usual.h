/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The frames that speed is about, on CPUs with SSE4.2: the headers move in 128-bit registers, their
 * bytes put in order by one shuffle, and checks are made by the CRC instruction.
 *
 * Usual is NDP over IPv4 or IPv6, and Homa DATA straight above IPv4: without tag, options, fragment
 * or group address, without ECN, all lengths those of the frame, every check right, and nothing
 * trimmed or returned.
 *
 * DESIGN NOTES
 * 1. Anything else, errors included, goes to the code for any frame, by a tail call with the
 *    arguments still in their registers. So the usual way needs no register saved and no error.
 * 2. Results are the same by either way, to the bit: test_frame_usual.c holds them against each other.
 */
#ifndef ND_WIRE_USUAL_H
#define ND_WIRE_USUAL_H

#include "wire/eth.h"
#include "wire/frame.h"
#include "wire/ip.h"
#include "wire/udp.h"
#include "wire/vector.h"

/* What stands in front of the payload. */
#define ND_USUAL_NDP4_BYTES (ND_ETH_BYTES + ND_IPV4_BYTES + ND_UDP_BYTES + ND_NDP_HEADER_BYTES)
#define ND_USUAL_NDP6_BYTES (ND_ETH_BYTES + ND_IPV6_BYTES + ND_UDP_BYTES + ND_NDP_HEADER_BYTES)
#define ND_USUAL_HOMA4_BYTES (ND_ETH_BYTES + ND_IPV4_BYTES + ND_HOMA_DATA_BYTES)

/* nd_frame_decode(), nd_frame_encode(), ... for a peer of that kind. Only with ND_VECTOR_CPU. */
enum nd_wire_error nd_usual_decode(const struct nd_frame_config *config, const uint8_t *in,
				   uint32_t bytes, struct nd_frame_peer *peer,
				   struct nd_packet *packet);
nd_frame_encode_fn nd_usual_encode_ndp4, nd_usual_encode_ndp6, nd_usual_encode_homa4;
nd_frame_encode_fn nd_usual_encode_headers_ndp4, nd_usual_encode_headers_ndp6;

/* The same for any frame and peer, in frame_decode.c and frame_encode.c. */
enum nd_wire_error nd_any_decode(const struct nd_frame_config *config, const uint8_t *in,
				 uint32_t bytes, struct nd_frame_peer *peer,
				 struct nd_packet *packet);
nd_frame_encode_fn nd_any_encode, nd_any_encode_headers;

/* What the sender's checks say of the payload of a packet just decoded; comes last. */
enum nd_wire_error nd_any_verify(const struct nd_frame_config *config, const uint8_t *in,
				 uint32_t bytes, const uint8_t *message, struct nd_packet *packet);

/* Writes the payload behind headers, and the checks that cover it; comes last. Returns bytes. */
uint32_t nd_any_end_ndp(const struct nd_frame_around *around, const struct nd_packet *packet,
			uint8_t *out);
uint32_t nd_any_end_homa(const struct nd_frame_around *around, const struct nd_packet *packet,
			 uint8_t *out, uint32_t bytes);

/* Writes the checks of headers whose payload stays where it lies; comes last. Returns their bytes. */
uint32_t nd_any_end_ndp_headers(const struct nd_frame_around *around,
				const struct nd_packet *packet, uint8_t *out);

#endif
