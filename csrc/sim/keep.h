/* SPDX-License-Identifier: Apache-2.0 */
/* Zeroed memory that lives as long as the simulation: large pieces on huge pages, freed at once. */
#ifndef ND_SIM_KEEP_H
#define ND_SIM_KEEP_H

#include "base/types.h"

#define ND_KEEP_PIECES 64

struct nd_keep {
	struct {
		void *memory;
		size_t bytes;
	} pieces[ND_KEEP_PIECES];
	uint32_t count;
	size_t bytes; /* in all; pages never touched cost nothing */
};

/* bytes of zeroed, 64-byte aligned memory, or NULL. */
void *nd_keep_get(struct nd_keep *keep, size_t bytes);
void nd_keep_free(struct nd_keep *keep);

#endif
