// SPDX-License-Identifier: Apache-2.0
/* Rates of virtual links. */
#include "switch/egress.h"

#include <errno.h>

#define PS_BITS_PER_BYTE UINT64_C(8000000000000)

int nd_egress_set_rate(struct nd_egress *egress, uint64_t rate_bps, nd_ns catch_up)
{
	if (rate_bps && (rate_bps < ND_EGRESS_RATE_MIN_BPS || rate_bps > ND_EGRESS_RATE_MAX_BPS))
		return -ERANGE;
	egress->ps_per_byte = rate_bps ? PS_BITS_PER_BYTE / rate_bps : 0;
	egress->catch_up_ps = catch_up * 1000;
	return 0;
}
