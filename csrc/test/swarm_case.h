/* SPDX-License-Identifier: Apache-2.0 */
/* Swarm runs as test cases: every option that matters is written out. */
#ifndef ND_TEST_SWARM_CASE_H
#define ND_TEST_SWARM_CASE_H

#include "sim/swarm.h"
#include "sim/swarm_engine.h"
#include "test/harness.h"

static struct nd_swarm *swarm;

/* All options calm but those in "name=value name=value ...". */
static inline struct nd_swarm_options swarm_options(uint32_t protocols, uint64_t seed,
						    const char *settings)
{
	struct nd_swarm_options options;
	char name[64];
	unsigned value;
	int used;

	nd_swarm_options_calm(&options, seed, protocols);
	for (; sscanf(settings, " %63[^=]=%u%n", name, &value, &used) == 2; settings += used)
		CHECK_EQ(nd_swarm_options_set(&options, name, value), 0);
	CHECK_STR(settings, "");
	return options;
}

static inline void swarm_check(const struct nd_swarm_options *options)
{
	if (nd_swarm_run(swarm, options, nd_swarm_engines, NULL))
		return;
	nd_swarm_print(swarm, stderr);
	CHECK(false);
}

static inline void swarm_run(uint32_t protocols, uint64_t seed, const char *settings)
{
	struct nd_swarm_options options = swarm_options(protocols, seed, settings);

	swarm_check(&options);
}

/* The main() of a file of such cases. */
static inline int swarm_main(int argc, char **argv)
{
	int rc;

	swarm = nd_swarm_new();
	if (!swarm)
		return 1;
	rc = nd_test_main(argc, argv);
	nd_swarm_free(swarm);
	return rc;
}

#endif
