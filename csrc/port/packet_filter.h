/* SPDX-License-Identifier: Apache-2.0 */
/* The frame filter as a classic BPF program, for AF_PACKET sockets. */
#ifndef ND_PORT_PACKET_FILTER_H
#define ND_PORT_PACKET_FILTER_H

#include "port/port.h"

#include <linux/filter.h>

#define ND_PACKET_FILTER_MAX 64

/*
 * Writes the program and returns its length. The kernel has taken VLAN tags off before it runs,
 * so offsets are those of untagged frames.
 */
uint32_t nd_packet_filter(const struct nd_port_filter *filter,
			  struct sock_filter program[ND_PACKET_FILTER_MAX]);

#endif
