// SPDX-License-Identifier: Apache-2.0
/*
 * What an idle connection or peer costs in memory: the difference that one more makes.
 *
 *	bench_state homa-peer    prints bytes
 */
#include <stdio.h>
#include <string.h>

#include "transport/homa.h"

#define MORE 1000

static size_t homa_peer(void)
{
	struct nd_homa_config config = nd_homa_config_default(UINT64_C(10000000000), 1500);
	size_t before = nd_homa_ops.bytes(&config);

	config.peers_max += MORE;
	return (nd_homa_ops.bytes(&config) - before) / MORE;
}

int main(int argc, char **argv)
{
	if (argc == 2 && strcmp(argv[1], "homa-peer") == 0) {
		printf("%zu\n", homa_peer());
		return 0;
	}
	fprintf(stderr, "usage: %s homa-peer\n", argv[0]);
	return 2;
}
