/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the programs of `make bench-fast` share: the clock, quantiles, and one line of JSON.
 *
 * Each program prints one JSON object a run; tests/tools/bench_fast.py runs them and compares.
 */
#ifndef ND_TEST_BENCH_FAST_H
#define ND_TEST_BENCH_FAST_H

#include "host/core.h"
#include "ndpstack.h"

#include <errno.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define BENCH_PORT 4000 /* service of all of them */

static inline nd_ns bench_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (nd_ns)now.tv_sec * ND_SEC + (nd_ns)now.tv_nsec;
}

__attribute__((format(printf, 1, 2))) static inline _Noreturn void bench_fail(const char *format,
									       ...)
{
	va_list arguments;

	va_start(arguments, format);
	vfprintf(stderr, format, arguments);
	va_end(arguments);
	fputc('\n', stderr);
	exit(1);
}

static inline void bench_check(bool good, const char *what)
{
	if (!good)
		bench_fail("%s failed: %s", what, strerror(errno));
}

/* From 1 on; 0 leaves the thread where it is. */
static inline void bench_bind(int cpu)
{
	cpu_set_t set;

	if (!cpu)
		return;
	CPU_ZERO(&set);
	CPU_SET((size_t)cpu - 1, &set);
	bench_check(sched_setaffinity(0, sizeof(set), &set) == 0, "binding to a CPU");
}

static inline int bench_compare(const void *left, const void *right)
{
	const nd_ns *a = left, *b = right;

	return (*a > *b) - (*a < *b);
}

/* Quantiles of the values, which it sorts, as members of a JSON object. */
static inline void bench_print_quantiles(const char *unit, nd_ns *values, uint32_t count)
{
	static const struct {
		const char *name;
		uint32_t per_mille;
	} quantiles[] = { { "p10", 100 }, { "p50", 500 }, { "p90", 900 }, { "p99", 990 },
			  { "p999", 999 } };

	qsort(values, count, sizeof(*values), bench_compare);
	printf("\"count\": %u", count);
	for (uint32_t i = 0; i < ND_ARRAY_SIZE(quantiles); i++)
		printf(", \"%s_%s\": %llu", quantiles[i].name, unit,
		       (unsigned long long)values[(uint64_t)count * quantiles[i].per_mille / 1000]);
}

/* ---- stacks ---- */

static inline void bench_address(uint8_t address[16], uint32_t host)
{
	static const uint8_t prefix[16] = { [10] = 0xff, [11] = 0xff, 10, 7, 0, 0 };

	memcpy(address, prefix, sizeof(prefix));
	address[15] = (uint8_t)host;
}

static inline struct nd_stack *bench_open(const struct nd_stack_config *config)
{
	struct nd_error error;
	struct nd_stack *stack = nd_stack_open(config, &error);

	if (!stack)
		bench_fail("%s", error.text);
	return stack;
}

/*
 * A round of a polled stack in a time of its own, in which each round takes a microsecond: what
 * runs then does not depend on how busy the machine is.
 */
static inline void bench_turn(struct nd_stack *stack)
{
	static nd_ns now;

	now = now ? now + ND_USEC : bench_now() + ND_SEC;
	nd_core_round(nd_stack_core(stack), now);
}

/* The next event, spinning; a polled stack is polled. */
static inline struct nd_event bench_event(struct nd_stack *stack)
{
	struct nd_event event;
	int count;

	while ((count = nd_stack_events(stack, &event, 1)) == 0)
		nd_stack_poll(stack);
	if (count < 0)
		bench_fail("the core is gone");
	return event;
}

static inline struct nd_event bench_expect(struct nd_stack *stack, uint8_t kind)
{
	struct nd_event event = bench_event(stack);

	if (event.kind != kind)
		bench_fail("event %u (error %d) instead of %u", event.kind, event.error, kind);
	return event;
}

static inline void bench_submit(struct nd_stack *stack, uint8_t protocol,
				struct nd_command command)
{
	int code;

	while ((code = nd_stack_submit(stack, protocol, &command)) == -EAGAIN)
		sched_yield();
	if (code < 0)
		bench_fail("command %u: %s", command.kind, strerror(-code));
}

static inline void bench_listen(struct nd_stack *stack, uint8_t protocol)
{
	bench_submit(stack, protocol,
		     (struct nd_command){ .kind = ND_COMMAND_LISTEN, .port = BENCH_PORT });
	bench_expect(stack, ND_EVENT_OPENED);
}

static inline uint32_t bench_peer(struct nd_stack *stack, uint32_t host)
{
	uint8_t *buffer = nd_stack_buffer(stack, 16);
	uint32_t peer;

	bench_address(buffer, host);
	bench_submit(stack, ND_PROTO_OTHER,
		     (struct nd_command){
			     .kind = ND_STACK_COMMAND_PEER, .payload = buffer, .bytes = 16 });
	peer = bench_expect(stack, ND_EVENT_OPENED).peer;
	nd_stack_buffer_free(stack, buffer);
	return peer;
}

#endif
