// SPDX-License-Identifier: Apache-2.0
/* Anonymous mappings: zeroed by the kernel, paid for when touched. */
#include "sim/keep.h"

#include <string.h>
#include <sys/mman.h>

#define HUGE_PAGE ((size_t)2 << 20)
#define HUGE_FROM (HUGE_PAGE / 8)

/* Where huge pages are worth it a whole number of them is taken: only such mappings begin at one. */
static size_t whole_pages(size_t bytes)
{
	return bytes < HUGE_FROM ? bytes : (bytes + HUGE_PAGE - 1) & ~(HUGE_PAGE - 1);
}

void *nd_keep_get(struct nd_keep *keep, size_t bytes)
{
	void *memory;

	nd_assert(keep->count < ND_KEEP_PIECES);
	bytes = whole_pages(bytes ? bytes : 1);
	memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
		      -1, 0);
	if (memory == MAP_FAILED)
		return NULL;
	/* Advice only: where huge pages are off the run is slower, not different. */
	if (bytes >= HUGE_FROM)
		madvise(memory, bytes, MADV_HUGEPAGE);
	keep->pieces[keep->count].memory = memory;
	keep->pieces[keep->count].bytes = bytes;
	keep->count++;
	keep->bytes += bytes;
	return memory;
}

void nd_keep_free(struct nd_keep *keep)
{
	for (uint32_t i = 0; i < keep->count; i++)
		munmap(keep->pieces[i].memory, keep->pieces[i].bytes);
	memset(keep, 0, sizeof(*keep));
}
