/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sixty lines of test harness: named cases, exact comparison, exit codes of `meson test`.
 *
 *	TEST(pool_get__empty) { CHECK_EQ(nd_pool_get(&pool), ND_NONE); }
 *	int main(int argc, char **argv) { return nd_test_main(argc, argv); }
 *
 * A case is named function__case. `./test_pool NAME` runs one case.
 */
#ifndef ND_TEST_HARNESS_H
#define ND_TEST_HARNESS_H

#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ND_TEST_SKIP 77

struct nd_test_case {
	const char *name;
	void (*run)(void);
	struct nd_test_case *next;
};

static struct nd_test_case *nd_test_first;
__attribute__((unused)) static struct nd_test_case **nd_test_tail = &nd_test_first;
static const char *nd_test_running = "?";

#define TEST(case_name) \
	static void case_name(void); \
	__attribute__((constructor)) static void case_name##_register(void) \
	{ \
		static struct nd_test_case entry = { #case_name, case_name, NULL }; \
		*nd_test_tail = &entry; \
		nd_test_tail = &entry.next; \
	} \
	static void case_name(void)

#define CHECK(condition) \
	do { \
		if (!(condition)) \
			nd_test_fail(__FILE__, __LINE__, #condition); \
	} while (0)

#define CHECK_EQ(actual, expected) \
	do { \
		int64_t a_ = (int64_t)(actual), e_ = (int64_t)(expected); \
		if (a_ != e_) { \
			fprintf(stderr, "  %s is %" PRId64 ", not %" PRId64 "\n", #actual, a_, e_); \
			nd_test_fail(__FILE__, __LINE__, #actual " == " #expected); \
		} \
	} while (0)

#define CHECK_STR(actual, expected) \
	do { \
		const char *a_ = (actual), *e_ = (expected); \
		if (!a_ || !e_ || strcmp(a_, e_) != 0) { \
			fprintf(stderr, "  %s is\n\"%s\"\n  not\n\"%s\"\n", #actual, a_ ? a_ : "NULL", \
				e_ ? e_ : "NULL"); \
			nd_test_fail(__FILE__, __LINE__, #actual " == " #expected); \
		} \
	} while (0)

static inline _Noreturn void nd_test_fail(const char *file, int line, const char *what)
{
	fprintf(stderr, "FAIL %s: %s (%s:%d)\n", nd_test_running, what, file, line);
	exit(1);
}

static inline int nd_test_main(int argc, char **argv)
{
	unsigned count = 0;

	for (struct nd_test_case *c = nd_test_first; c; c = c->next) {
		if (argc > 1 && strcmp(argv[1], c->name) != 0)
			continue;
		nd_test_running = c->name;
		c->run();
		count++;
	}
	printf("%u passed\n", count);
	return count ? 0 : 1;
}

#endif
