/* SPDX-License-Identifier: Apache-2.0 */
/* The words every other file uses: integers, time, assertions, small arithmetic. */
#ifndef ND_BASE_TYPES_H
#define ND_BASE_TYPES_H

#include <assert.h> /* static_assert, which C++ shares with C; likewise below */
#include <stdalign.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Absolute or relative time in nanoseconds; always an argument, never read from a clock here. */
typedef uint64_t nd_ns;

#define ND_NEVER UINT64_MAX
#define ND_USEC ((nd_ns)1000)
#define ND_MSEC ((nd_ns)1000000)
#define ND_SEC ((nd_ns)1000000000)

/* "No such entry" for every 32-bit index: pools, maps, lists. */
#define ND_NONE UINT32_MAX

#define ND_LIKELY(x) __builtin_expect(!!(x), 1)
#define ND_UNLIKELY(x) __builtin_expect(!!(x), 0)
/* For hot paths where the compiler's own choice costs: say at the function what it saves. */
#define ND_INLINE static inline __attribute__((always_inline))
/* For the rare branch of a hot function: keeps its registers and stack out of the common path. */
#define ND_NOINLINE __attribute__((noinline))
#define ND_ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

/* Fetches what is about to be touched into the cache. Compilers take a function that does nothing
 * else for one without effect and drop its calls; the empty statement is one. */
ND_INLINE void nd_fetch(const void *memory)
{
	__builtin_prefetch(memory, 1);
	__asm__ volatile("");
}

/* Reports a broken invariant and aborts. Never reachable from wire input. */
__attribute__((noreturn)) void nd_assert_failed(const char *expression, const char *file, int line);

/* On in release builds too: a wrong state that goes on does more harm than a stop. */
#define nd_assert(expression) \
	(ND_LIKELY(expression) ? (void)0 : nd_assert_failed(#expression, __FILE__, __LINE__))

static inline uint32_t nd_min_u32(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

static inline uint32_t nd_max_u32(uint32_t a, uint32_t b)
{
	return a > b ? a : b;
}

static inline uint64_t nd_min_u64(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static inline uint64_t nd_max_u64(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* Number of the highest bit that is set, for value > 0. */
static inline uint32_t nd_top_bit_u32(uint32_t value)
{
	return 31 ^ (uint32_t)__builtin_clz(value);
}

/* Smallest power of two that is at least value, for value in 1..2^31. */
static inline uint32_t nd_power_of_two_u32(uint32_t value)
{
	return value <= 1 ? 1 : 1u << (32 - __builtin_clz(value - 1));
}

/* Signed distance of two wrapping 32-bit counters: > 0 when a is newer than b. */
static inline int32_t nd_newer_u32(uint32_t a, uint32_t b)
{
	return (int32_t)(a - b);
}

#endif
