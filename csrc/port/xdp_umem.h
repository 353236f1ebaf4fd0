/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Packet memory that user space and kernel share: one allocation cut into equal chunks.
 *
 * Regions of it go to the ports that share it. The kernel knows it through the first socket that
 * registered it; the memory itself lives until the last port has let go.
 */
#ifndef ND_PORT_XDP_UMEM_H
#define ND_PORT_XDP_UMEM_H

#include "base/error.h"

#define ND_XDP_REGIONS_MAX 16

struct nd_xdp_region {
	uint32_t offset;
	uint32_t bytes; /* 0: this entry is free */
};

struct nd_xdp_umem {
	uint8_t *base;
	uint32_t bytes;
	uint32_t chunk_bytes;
	bool fragments; /* whether frames may lie across chunks: of all sockets or of none */
	int registered; /* socket that registered it, -1 before; owned by its port */
	struct nd_xdp_region regions[ND_XDP_REGIONS_MAX];
};

/* NULL when there is no memory. */
struct nd_xdp_umem *nd_xdp_umem_make(uint32_t bytes, uint32_t chunk_bytes, bool fragments);

/* A region for a port, chunk-aligned; -ENOSPC when no gap is large enough. */
int nd_xdp_umem_take(struct nd_xdp_umem *umem, uint32_t bytes, struct nd_xdp_region *region);

/* Gives the region back; the last one takes the memory with it. */
void nd_xdp_umem_give(struct nd_xdp_umem *umem, const struct nd_xdp_region *region);

#endif
