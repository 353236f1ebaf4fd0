// SPDX-License-Identifier: Apache-2.0
/* Set-up of the shared buffer; the arithmetic is inline in the header. */
#include "queue/shared.h"

#include "base/refuse.h"

int nd_shared_check(const struct nd_shared_config *config, const char **why)
{
	if (!config->total_bytes)
		return nd_refuse(why, "total_bytes", 0,
				 "must be at least 1: set the size of the switch's buffer");
	if (!config->alpha_256 || config->alpha_256 > ND_SHARED_ALPHA_MAX)
		return nd_refuse(why, "alpha_256", config->alpha_256,
				 "must be 1 to 16384: 256 lets a queue take as much as is free");
	return 0;
}

void nd_shared_init(struct nd_shared *shared, const struct nd_shared_config *config)
{
	*shared = (struct nd_shared){
		.total_bytes = config->total_bytes,
		.alpha_256 = config->alpha_256,
	};
}
