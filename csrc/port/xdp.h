/* SPDX-License-Identifier: Apache-2.0 */
/*
 * XDP ports: AF_XDP sockets on every queue of an interface, beside the kernel.
 *
 * Needs CAP_NET_RAW, CAP_NET_ADMIN and CAP_BPF to open, and none after.
 */
#ifndef ND_PORT_XDP_H
#define ND_PORT_XDP_H

#include "port/port.h"

struct nd_port *nd_xdp_open(const struct nd_port_config *config, struct nd_error *error);

#endif
