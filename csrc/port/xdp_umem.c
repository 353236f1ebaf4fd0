// SPDX-License-Identifier: Apache-2.0
/* Packet memory that user space and kernel share: one allocation cut into equal chunks. */
#include "port/xdp_umem.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>

struct nd_xdp_umem *nd_xdp_umem_make(uint32_t bytes, uint32_t chunk_bytes, bool fragments)
{
	struct nd_xdp_umem *umem = calloc(1, sizeof(*umem));

	if (!umem)
		return NULL;
	umem->base = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	if (umem->base == MAP_FAILED) {
		free(umem);
		return NULL;
	}
	umem->bytes = bytes;
	umem->chunk_bytes = chunk_bytes;
	umem->fragments = fragments;
	umem->registered = -1;
	return umem;
}

/* First region that overlaps [offset, offset + bytes), or NULL. */
static const struct nd_xdp_region *overlap(const struct nd_xdp_umem *umem, uint32_t offset,
					   uint32_t bytes)
{
	for (uint32_t i = 0; i < ND_XDP_REGIONS_MAX; i++) {
		const struct nd_xdp_region *region = &umem->regions[i];

		if (region->bytes && region->offset < offset + bytes &&
		    offset < region->offset + region->bytes)
			return region;
	}
	return NULL;
}

static struct nd_xdp_region *free_entry(struct nd_xdp_umem *umem)
{
	for (uint32_t i = 0; i < ND_XDP_REGIONS_MAX; i++)
		if (!umem->regions[i].bytes)
			return &umem->regions[i];
	return NULL;
}

int nd_xdp_umem_take(struct nd_xdp_umem *umem, uint32_t bytes, struct nd_xdp_region *region)
{
	struct nd_xdp_region *entry = free_entry(umem);
	const struct nd_xdp_region *other;
	uint32_t offset = 0;

	nd_assert(bytes && bytes % umem->chunk_bytes == 0);
	if (!entry || bytes > umem->bytes)
		return -ENOSPC;
	while ((other = overlap(umem, offset, bytes))) {
		offset = other->offset + other->bytes;
		if (offset > umem->bytes - bytes)
			return -ENOSPC;
	}
	*entry = (struct nd_xdp_region){ .offset = offset, .bytes = bytes };
	*region = *entry;
	return 0;
}

void nd_xdp_umem_give(struct nd_xdp_umem *umem, const struct nd_xdp_region *region)
{
	bool used = false;

	for (uint32_t i = 0; i < ND_XDP_REGIONS_MAX; i++) {
		struct nd_xdp_region *entry = &umem->regions[i];

		if (entry->bytes && entry->offset == region->offset)
			entry->bytes = 0;
		used |= entry->bytes != 0;
	}
	if (used)
		return;
	munmap(umem->base, umem->bytes);
	free(umem);
}
