/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Packet ports: AF_PACKET on any interface, with CAP_NET_RAW alone.
 *
 * The kernel sees every frame as well; the port keeps it from answering ours (see holder.h).
 */
#ifndef ND_PORT_PACKET_H
#define ND_PORT_PACKET_H

#include "port/port.h"

struct nd_port *nd_packet_open(const struct nd_port_config *config, struct nd_error *error);

#endif
