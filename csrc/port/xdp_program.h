/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The XDP program: redirects the frames of the filter to our sockets, leaves all else alone.
 *
 * A frame that matches on a queue without a socket goes to the kernel, too.
 */
#ifndef ND_PORT_XDP_PROGRAM_H
#define ND_PORT_XDP_PROGRAM_H

#include "port/port.h"
#include "port/xdp_abi.h"

#define ND_XDP_PROGRAM_MAX 96

/* Writes the program that redirects into the socket map; returns its length. */
uint32_t nd_xdp_program(const struct nd_port_filter *filter, int map,
			struct bpf_insn code[ND_XDP_PROGRAM_MAX]);

#endif
