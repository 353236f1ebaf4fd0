/* SPDX-License-Identifier: Apache-2.0 */
/* Where what lies in Homa's common and DATA header; see docs/protocol-homa.md. */
#ifndef ND_WIRE_HOMA_CODEC_H
#define ND_WIRE_HOMA_CODEC_H

#include "wire/packet.h"

/* The common header; it is shaped like TCP's. */
#define ND_HOMA_SEQUENCE_AT 4u
#define ND_HOMA_SPEAKER_AT 8u
#define ND_HOMA_TYPE_AT 11u
#define ND_HOMA_SHAPE_AT 12u
#define ND_HOMA_CHECKSUM_AT 16u
#define ND_HOMA_SENDER_ID_AT 20u

/* Bytes 12 to 19: header length, SYN and RST, window, checksum, urgent pointer. */
#define ND_HOMA_SHAPE_DATA UINT64_C(0xe00600000000b97d)
#define ND_HOMA_SHAPE_CONTROL UINT64_C(0x500600000000b97d)

/* DATA */
#define ND_HOMA_MESSAGE_BYTES_AT 28u
#define ND_HOMA_ACK_ID_AT 36u
#define ND_HOMA_ACK_PORT_AT 44u
#define ND_HOMA_RETRANSMIT_AT 48u
#define ND_HOMA_OFFSET_AT 52u
#define ND_HOMA_OFFSET_IN_SEQUENCE UINT32_MAX

#endif
