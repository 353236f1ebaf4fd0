/* SPDX-License-Identifier: Apache-2.0 */
/*
 * UDP ports: frames between hosts through ordinary sockets, without any privilege.
 *
 * The kernel writes the headers: of a frame to send, only the target address and port, the traffic
 * class and the payload leave. The source port is the port's own, so a path that is chosen by
 * source port is not. Received datagrams get their headers back, with zero MAC addresses. Datagrams
 * of one length to one target go and come in trains (port/udp_train.h). Frames may have tails.
 */
#ifndef ND_PORT_UDP_H
#define ND_PORT_UDP_H

#include "port/port.h"

struct nd_port *nd_udp_open(const struct nd_port_config *config, struct nd_error *error);

#endif
