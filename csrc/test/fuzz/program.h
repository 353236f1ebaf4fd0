/* SPDX-License-Identifier: Apache-2.0 */
/* For targets whose input is a program: its bytes, and the memory that the endpoint is lent. */
#ifndef ND_TEST_FUZZ_PROGRAM_H
#define ND_TEST_FUZZ_PROGRAM_H

#include "test/fuzz/fuzz.h"

#define CREDIT 300000

struct input {
	const uint8_t *at;
	const uint8_t *end;
};

static int64_t credit;
static uint32_t held;

static inline uint8_t *get(void *context, uint16_t app, uint32_t bytes)
{
	(void)context;
	(void)app;
	if (credit < bytes)
		return NULL;
	credit -= bytes;
	held++;
	return malloc(bytes);
}

static inline void put(void *context, uint16_t app, uint8_t *memory, uint32_t bytes)
{
	(void)context;
	(void)app;
	credit += bytes;
	held--;
	free(memory);
}

static inline uint8_t take8(struct input *in)
{
	return in->at < in->end ? *in->at++ : 0;
}

#endif
