/* SPDX-License-Identifier: Apache-2.0 */
/* The bpf(2) calls that an XDP port makes. All return a descriptor or 0, or -errno. */
#ifndef ND_PORT_BPF_H
#define ND_PORT_BPF_H

#include "base/types.h"
#include "port/xdp_abi.h"

/* Name of our programs and maps, by which others know them for ours. */
#define ND_BPF_OBJECT_NAME "ndpstack"

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

/* A loaded program's name, empty when it has none. Programs are root's to see: else -EPERM. */
int nd_bpf_program_name(uint32_t id, char name[BPF_OBJ_NAME_LEN]);

/*
 * Finds the BPF link by which the program hangs on the interface; link becomes its id, or 0 when
 * there is none. Links are root's to see: else -EPERM.
 */
int nd_bpf_find_xdp_link(uint32_t program, uint32_t interface, uint32_t *link);

#endif
