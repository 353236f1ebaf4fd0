// SPDX-License-Identifier: Apache-2.0
/* The one exit of a broken invariant. */
#include "base/types.h"

#include <stdio.h>
#include <stdlib.h>

_Noreturn void nd_assert_failed(const char *expression, const char *file, int line)
{
	fprintf(stderr, "ndpstack: invariant broken: %s (%s:%d)\n", expression, file, line);
	abort();
}
