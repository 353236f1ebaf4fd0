/* SPDX-License-Identifier: Apache-2.0 */
/* The XDP program that an interface has: whose it is, how it hangs there, how it comes off. */
#ifndef ND_PORT_XDP_OCCUPANT_H
#define ND_PORT_XDP_OCCUPANT_H

#include "base/types.h"
#include "port/xdp_abi.h"

#define ND_XDP_OCCUPANT_TEXT_BYTES 128

struct nd_xdp_occupant {
	uint32_t program; /* its id; 0: there is none */
	uint32_t link; /* id of the BPF link that it hangs on; 0: it hangs on none, or is unseen */
	bool seen; /* name and link were to be seen, which they are for root */
	bool ours; /* it has the name of our programs */
	const char *mode; /* "native", "generic" or "offload" */
	const char *keyword; /* that `ip link set` has for the mode */
	char name[BPF_OBJ_NAME_LEN]; /* empty when it has none */
};

/* Looks at an interface of the calling thread's network namespace. */
void nd_xdp_occupant_find(struct nd_xdp_occupant *self, uint32_t interface);

/* Says which it is: "program NAME (id N, MODE mode)", or "no program". */
void nd_xdp_occupant_describe(const struct nd_xdp_occupant *self,
			      char text[ND_XDP_OCCUPANT_TEXT_BYTES]);

/* Says how it comes off the interface of this name, or where to look when none is there. */
void nd_xdp_occupant_remedy(const struct nd_xdp_occupant *self, const char *interface,
			    char text[ND_XDP_OCCUPANT_TEXT_BYTES]);

#endif
