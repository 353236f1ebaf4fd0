/* SPDX-License-Identifier: Apache-2.0 */
/* How frames look on one interface: what applications choose of it. */
#ifndef ND_WIRE_FRAME_CONFIG_H
#define ND_WIRE_FRAME_CONFIG_H

#include "base/types.h"
#include "wire/homa.h"

/* Ethernet's preamble, checksum and gap. */
#define ND_FRAME_FRAMING_BYTES 24

#define ND_FRAME_DSCP_MAX 63

enum nd_frame_verify {
	ND_FRAME_VERIFY_NONE, /* switches: what is damaged is the receiver's to find */
	ND_FRAME_VERIFY_OURS, /* NDP payload; Homa checksums of our own endpoints, who fill them in */
	ND_FRAME_VERIFY_ALL,  /* ... and of others; kernels leave theirs to a NIC that may be none */
};

/* How frames look on one interface. */
struct nd_frame_config {
	uint16_t ndp_port;           /* UDP destination port of NDP */
	uint16_t homa_port;          /* ... of Homa inside UDP */
	uint16_t source_port_first;  /* UDP source port of path 0 */
	uint16_t source_port_count;  /* path p is sent from port first + p mod count */
	uint8_t dscp_data;           /* NDP DATA that may not be trimmed */
	uint8_t dscp_trimmable;      /* NDP DATA that may */
	uint8_t dscp_trimmed;        /* trimmed in the fabric */
	uint8_t dscp_trimmed_last_hop; /* ... by the receiver's switch; the same: nobody can tell */
	uint8_t dscp_control;        /* NDP packets without payload */
	uint8_t dscp_homa[ND_HOMA_PRIORITIES]; /* by priority; HomaModule: class selectors */
	uint8_t pcp[8];              /* of a tagged frame, by priority */
	uint8_t hop_limit;           /* of what is sent */
	uint8_t framing_bytes;       /* that a frame takes on the link beside its own */
	uint8_t verify;              /* whose payloads are checked: enum nd_frame_verify */
	bool homa_in_udp;            /* send Homa inside UDP; both are always received */
	bool homa_checksum;          /* fill it in */
};

struct nd_frame_config nd_frame_config_default(void);

/* 0, or -EINVAL with *why naming the field and its limit. */
int nd_frame_config_check(const struct nd_frame_config *config, const char **why);

#endif
