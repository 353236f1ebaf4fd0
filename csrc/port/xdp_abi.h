/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kernel interface of AF_XDP that is younger than the headers of the distributions we build on.
 *
 * Values are uapi and never change; what the running kernel lacks it refuses, and that is handled.
 */
#ifndef ND_PORT_XDP_ABI_H
#define ND_PORT_XDP_ABI_H

#include <linux/bpf.h>
#include <linux/if_link.h>
#include <linux/if_xdp.h>
#include <sys/socket.h>

#ifndef AF_XDP
#define AF_XDP 44
#endif
#ifndef SOL_XDP
#define SOL_XDP 283
#endif
#ifndef XDP_USE_SG
#define XDP_USE_SG (1 << 4) /* bind: packets of several descriptors, Linux 6.6 */
#endif
#ifndef XDP_PKT_CONTD
#define XDP_PKT_CONTD (1 << 0) /* descriptor: the packet goes on in the next one */
#endif
#ifndef XDP_MAX_TX_SKB_BUDGET
#define XDP_MAX_TX_SKB_BUDGET 9 /* most descriptors that one sendto() sends, Linux 6.18 */
#endif
#ifndef BPF_F_XDP_HAS_FRAGS
#define BPF_F_XDP_HAS_FRAGS (1U << 5)
#endif

/* In front of each received frame, in its chunk. */
#define ND_XDP_HEADROOM_BYTES 256u

/* struct xdp_umem_reg of every kernel since 5.4; later ones append fields that default to 0. */
struct nd_xdp_umem_reg {
	uint64_t address;
	uint64_t bytes;
	uint32_t chunk_bytes;
	uint32_t headroom_bytes;
	uint32_t flags;
	uint32_t padding;
};

#endif
