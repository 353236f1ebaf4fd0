// SPDX-License-Identifier: Apache-2.0
/* How long a thread may run while others wait for its CPU. */
#include "port/slice.h"

#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

/* struct sched_attr of the kernel, whose header and the C library's exclude each other. */
struct attributes {
	uint32_t size;
	uint32_t policy;
	uint64_t flags;
	int32_t nice;
	uint32_t priority;
	uint64_t runtime; /* ns; of the usual policy it is the slice */
	uint64_t deadline;
	uint64_t period;
};

void nd_slice_shorten(void)
{
	struct attributes attributes = { .size = sizeof(attributes) };

	if (syscall(SYS_sched_getattr, 0, &attributes, sizeof(attributes), 0) < 0 ||
	    attributes.policy != SCHED_OTHER)
		return;
	attributes.runtime = ND_SLICE_NS;
	syscall(SYS_sched_setattr, 0, &attributes, 0); /* a wish */
}
