/* SPDX-License-Identifier: Apache-2.0 */
/* For targets whose input is a program: its bytes. */
#ifndef ND_TEST_FUZZ_PROGRAM_H
#define ND_TEST_FUZZ_PROGRAM_H

#include "test/fuzz/fuzz.h"

#define MSS 1000 /* of the endpoints, so that packets and messages of several are drawn */

struct input {
	const uint8_t *at;
	const uint8_t *end;
};

static inline uint8_t take8(struct input *in)
{
	return in->at < in->end ? *in->at++ : 0;
}

static inline uint32_t take_any32(struct input *in)
{
	uint32_t value = 0;

	for (uint32_t i = 0; i < 4; i++)
		value = value << 8 | take8(in);
	return value;
}

/* Small, a number of full packets, a few thousands, or any: chosen by the byte before. */
static inline uint32_t take32(struct input *in)
{
	uint8_t kind = take8(in);
	uint32_t value;

	if (kind >= 224)
		return take_any32(in);
	value = take8(in);
	if (kind >= 192)
		return value * 100 + take8(in);
	return kind >= 128 ? value * MSS : value;
}

#endif
