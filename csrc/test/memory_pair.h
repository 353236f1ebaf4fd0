/* SPDX-License-Identifier: Apache-2.0 */
/* Two stacks in one process with a memory port between them, for tests. */
#ifndef ND_TEST_MEMORY_PAIR_H
#define ND_TEST_MEMORY_PAIR_H

#include "test/stacks.h"

static inline struct nd_stack_config config_of(const char *name, uint32_t end, bool v6)
{
	struct nd_stack_config config = {
		.ports = { { .backend = ND_PORT_MEMORY, .name = name, .memory.listen = end == 0 } },
		.port_count = 1,
		.seed = 7 + end,
	};

	memcpy(v6 ? config.address_v6 : config.address_v4, addresses[v6][end], 16);
	return config;
}

/* spin_ns: as of nd_stack_config. */
static inline struct pair open_pair_that_spins(const char *case_name, bool v6, nd_ns spin_ns)
{
	static char name[64];
	struct nd_stack_config config;
	struct pair pair;

	snprintf(name, sizeof(name), "test-stack-%d-%s", getpid(), case_name);
	config = config_of(name, 0, v6);
	config.spin_ns = spin_ns;
	pair.server = open_stack(&config);
	config = config_of(name, 1, v6);
	config.spin_ns = spin_ns;
	pair.client = open_stack(&config);
	pair.peer = resolve(pair.client, addresses[v6][0]);
	return pair;
}

static inline struct pair open_pair(const char *case_name, bool v6)
{
	return open_pair_that_spins(case_name, v6, 0);
}

#endif
