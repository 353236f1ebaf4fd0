/* SPDX-License-Identifier: Apache-2.0 */
/* How many descriptors a test's process may have. */
#ifndef ND_TEST_DESCRIPTORS_H
#define ND_TEST_DESCRIPTORS_H

#include "test/harness.h"

#include <sys/resource.h>
#include <unistd.h>

/* The soft limit on descriptors as it was. */
static inline rlim_t set_descriptors_max(rlim_t most)
{
	struct rlimit limit;
	rlim_t before;

	CHECK_EQ(getrlimit(RLIMIT_NOFILE, &limit), 0);
	before = limit.rlim_cur;
	limit.rlim_cur = most;
	CHECK_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
	return before;
}

/* The lowest that is free. */
static inline rlim_t next_descriptor(void)
{
	int fd = dup(0);

	CHECK(fd >= 0);
	close(fd);
	return (rlim_t)fd;
}

#endif
