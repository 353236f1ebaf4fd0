// SPDX-License-Identifier: Apache-2.0
/*
 * What an idle connection or peer costs in memory: the difference that twice as many make, each.
 * (One more, or a thousand, would be charged for a hash table's next power of two, or for none.)
 *
 *	bench_state homa-peer|ndp-connection    prints bytes
 */
#include <stdio.h>
#include <string.h>

#include "transport/homa.h"
#include "transport/ndp.h"

#define LINK_BPS UINT64_C(10000000000)

static size_t homa_peer(void)
{
	struct nd_homa_config config = nd_homa_config_default(LINK_BPS, 1500);
	size_t before = nd_homa_ops.bytes(&config);

	config.peers_max *= 2;
	return (nd_homa_ops.bytes(&config) - before) / (config.peers_max / 2);
}

static size_t ndp_connection(void)
{
	struct nd_ndp_config config = nd_ndp_config_default(LINK_BPS, 1500);
	uint32_t more;
	size_t before = nd_ndp_ops.bytes(&config);

	more = config.connections_max + config.time_wait_max;
	config.connections_max += more;
	return (nd_ndp_ops.bytes(&config) - before) / more;
}

int main(int argc, char **argv)
{
	const char *name = argc == 2 ? argv[1] : "";

	if (strcmp(name, "homa-peer") == 0) {
		printf("%zu\n", homa_peer());
	} else if (strcmp(name, "ndp-connection") == 0) {
		printf("%zu\n", ndp_connection());
	} else {
		fprintf(stderr, "usage: %s homa-peer|ndp-connection\n", argv[0]);
		return 2;
	}
	return 0;
}
