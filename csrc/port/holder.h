/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sockets that hold our UDP ports and our IP protocol on an interface.
 *
 * They receive nothing. While they are open the kernel gives the UDP ports to nobody else (and we
 * learn when somebody has one), and does not answer our packets with "port unreachable".
 */
#ifndef ND_PORT_HOLDER_H
#define ND_PORT_HOLDER_H

#include "port/port.h"

#define ND_HOLDER_SOCKETS_MAX (2 * (ND_PORT_UDP_PORTS_MAX + 1))

struct nd_holder {
	int sockets[ND_HOLDER_SOCKETS_MAX];
	uint32_t count;
};

/* 0 or -errno; -EADDRINUSE names the port. Holds nothing for a filter that takes everything. */
int nd_holder_open(struct nd_holder *holder, const struct nd_port_filter *filter,
		   const char *interface, struct nd_error *error);
void nd_holder_close(struct nd_holder *holder);

#endif
