/* SPDX-License-Identifier: Apache-2.0 */
/* How long a thread may run while others wait for its CPU. */
#ifndef ND_PORT_SLICE_H
#define ND_PORT_SLICE_H

#include "base/types.h"

#define ND_SLICE_NS (100 * ND_USEC) /* the shortest that Linux grants */

/*
 * Asks the kernel for short slices for the calling thread: it runs in many small pieces, soon after
 * it is woken, and for no larger a part of the time. A thread that has another policy than the
 * usual one keeps what it has; a kernel before 6.12 takes no notice.
 */
void nd_slice_shorten(void);

#endif
