/* SPDX-License-Identifier: Apache-2.0 */
/* Zeroed memory with the alignment that the contracts ask of their drivers. */
#ifndef ND_BINDINGS_RIG_MEMORY_H
#define ND_BINDINGS_RIG_MEMORY_H

#include <stdlib.h>
#include <string.h>

#define ND_RIG_ALIGNMENT 64

/* NULL when there is none; to be freed by free(). */
static inline void *nd_rig_allocate(size_t bytes)
{
	size_t whole = (bytes + ND_RIG_ALIGNMENT) & ~(size_t)(ND_RIG_ALIGNMENT - 1);
	void *memory = aligned_alloc(ND_RIG_ALIGNMENT, whole);

	if (memory)
		memset(memory, 0, whole);
	return memory;
}

#endif
