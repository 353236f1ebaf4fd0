/* SPDX-License-Identifier: Apache-2.0 */
/* The bpf(2) calls that an XDP port makes. All return a descriptor or 0, or -errno. */
#ifndef ND_PORT_BPF_H
#define ND_PORT_BPF_H

#include "base/types.h"
#include "port/xdp_abi.h"

/* A map from receive queue to AF_XDP socket. */
int nd_bpf_socket_map(uint32_t queues);
int nd_bpf_map_set(int map, uint32_t queue, int socket);
int nd_bpf_map_clear(int map, uint32_t queue);

/* A map that somebody else pinned. */
int nd_bpf_open_pinned(const char *path);

int nd_bpf_load_xdp(const struct bpf_insn *code, uint32_t length, bool fragments);

/*
 * Attaches for as long as the returned descriptor is open, so that nothing outlives a killed
 * process. mode_flags is XDP_FLAGS_DRV_MODE or XDP_FLAGS_SKB_MODE.
 */
int nd_bpf_link_xdp(int program, uint32_t interface, uint32_t mode_flags);

/*
 * Describes the XDP program on an interface of the calling thread's network namespace:
 * "program NAME (id N)", or "no program".
 */
void nd_bpf_describe_xdp(uint32_t interface, char *text, uint32_t text_bytes);

#endif
