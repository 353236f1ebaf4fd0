/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The filter program on an interface, and the map from its queues to our sockets.
 *
 * It hangs on a BPF link: when the process ends, however it ends, the program is gone.
 */
#ifndef ND_PORT_XDP_ATTACHMENT_H
#define ND_PORT_XDP_ATTACHMENT_H

#include "port/device.h"

struct nd_xdp_attachment {
	int map;
	int program;
	int link;     /* -1 when the map is that of a program attached by others */
	bool native;  /* runs in the driver */
	int promiscuous; /* socket that makes the NIC take frames for others, or -1 */
};

/* Whether mode auto takes generic XDP on devices of this driver; it tries native XDP on others. */
bool nd_xdp_prefers_generic(const char *driver);

/*
 * Attaches as config asks; note gets what had to be done otherwise. Waits up to two seconds for a
 * program of a process that is just ending, and for the carrier that some NICs lose meanwhile.
 * 0 or -errno with its remedy. The attachment is the caller's to close, also on failure.
 */
int nd_xdp_attach(struct nd_xdp_attachment *self, struct nd_device *device,
		  const struct nd_port_config *config, bool fragments, char *note,
		  struct nd_error *error);

/* First the program, then the map: no frame is on its way to a socket when that is closed. */
void nd_xdp_detach(struct nd_xdp_attachment *self, uint32_t queue_first, uint32_t queue_count);

#endif
