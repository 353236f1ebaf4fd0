/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What fuzz targets share. A target takes arbitrary bytes and traps on a broken promise; `make
 * fuzz` builds all with libFuzzer, AddressSanitizer and UBSan and runs each for FUZZ_SECONDS.
 *
 * To add one: csrc/test/fuzz/fuzz_<noun>.c, and its name in nd_fuzz of the noun's meson.build.
 */
#ifndef ND_TEST_FUZZ_H
#define ND_TEST_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Unlike an assertion of the code under test, this is the fuzz target's own claim. */
#define FUZZ_CHECK(condition) \
	do { \
		if (!(condition)) \
			__builtin_trap(); \
	} while (0)

/* A copy of exactly that many bytes, so that reading one too many is seen. To be freed. */
static inline uint8_t *fuzz_copy(const uint8_t *data, size_t size)
{
	uint8_t *copy = malloc(size ? size : 1);

	FUZZ_CHECK(copy != NULL);
	if (size)
		memcpy(copy, data, size);
	return copy;
}

#endif
