// SPDX-License-Identifier: Apache-2.0
/* Rates of virtual links. */
#include "switch/egress.h"

#include <errno.h>

/* ns a byte at 1 bit/s. */
#define BYTE_NS UINT64_C(8000000000)

int nd_egress_set_rate(struct nd_egress *egress, uint64_t rate_bps, nd_ns catch_up)
{
	if (rate_bps && (rate_bps < ND_EGRESS_RATE_MIN_BPS || rate_bps > ND_EGRESS_RATE_MAX_BPS))
		return -ERANGE;
	egress->byte_cost = rate_bps ? (BYTE_NS << ND_EGRESS_PART_BITS) / rate_bps : 0;
	egress->catch_up = catch_up;
	return 0;
}
