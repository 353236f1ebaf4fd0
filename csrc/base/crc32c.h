/* SPDX-License-Identifier: Apache-2.0 */
/* CRC-32C (Castagnoli), the check that the NDP header and payload carry. */
#ifndef ND_BASE_CRC32C_H
#define ND_BASE_CRC32C_H

#include "base/types.h"

#include <string.h>

/*
 * CRC-32C of what gave crc, followed by data; crc is 0 at the beginning. The fastest way that the
 * CPU has. "123456789" gives 0xe3069283.
 */
uint32_t nd_crc32c_add(uint32_t crc, const void *data, size_t bytes);

/* The same without vectors; for tests, short data and CPUs that have none. */
uint32_t nd_crc32c_add_instruction(uint32_t crc, const void *data, size_t bytes);

/* By table, eight bytes a step; for tests and CPUs without the instruction. */
uint32_t nd_crc32c_add_table(uint32_t crc, const void *data, size_t bytes);

static inline uint32_t nd_crc32c(const void *data, size_t bytes)
{
	return nd_crc32c_add(0, data, bytes);
}

#endif
