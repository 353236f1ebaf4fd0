// SPDX-License-Identifier: Apache-2.0
/* Defaults and limits of how frames look. */
#include "wire/frame_config.h"

#include "wire/ndp.h"

#include <errno.h>

struct nd_frame_config nd_frame_config_default(void)
{
	return (struct nd_frame_config){
		.ndp_port = ND_NDP_UDP_PORT,
		.homa_port = ND_HOMA_UDP_PORT,
		.source_port_first = 49152,
		.source_port_count = 16384,
		.dscp_data = 3,
		.dscp_trimmable = 11,
		.dscp_trimmed = 43,
		.dscp_trimmed_last_hop = 47,
		.dscp_control = 46,
		.dscp_homa = { 0, 8, 16, 24, 32, 40, 48, 56 },
		.pcp = { 0, 1, 2, 3, 4, 5, 6, 7 },
		.hop_limit = 64,
		.framing_bytes = ND_FRAME_FRAMING_BYTES,
		.verify = ND_FRAME_VERIFY_OURS,
		.homa_checksum = true,
	};
}

static const char *ports_why(const struct nd_frame_config *config)
{
	if (config->ndp_port == 0 || config->homa_port == 0)
		return "ndp_port and homa_port must be 1..65535";
	if (config->ndp_port == config->homa_port)
		return "ndp_port and homa_port must differ: choose another for one of them";
	if (config->source_port_count == 0 ||
	    config->source_port_first + config->source_port_count > UINT16_MAX + 1)
		return "source_port_first + source_port_count must be at most 65536, and the count "
		       "at least 1: lower one of them";
	return NULL;
}

static const char *code_points_why(const struct nd_frame_config *config)
{
	uint8_t trimmable = config->dscp_trimmable;

	if ((config->dscp_data | trimmable | config->dscp_trimmed | config->dscp_trimmed_last_hop |
	     config->dscp_control) > ND_FRAME_DSCP_MAX)
		return "dscp_* must be 0..63";
	if (trimmable == config->dscp_data || trimmable == config->dscp_trimmed ||
	    trimmable == config->dscp_trimmed_last_hop || trimmable == config->dscp_control)
		return "dscp_trimmable must differ from all others: it alone allows trimming";
	for (uint32_t i = 0; i < ND_HOMA_PRIORITIES; i++) {
		if (config->dscp_homa[i] > ND_FRAME_DSCP_MAX)
			return "dscp_homa must be 0..63";
		if (config->pcp[i] > 7)
			return "pcp must be 0..7";
	}
	return NULL;
}

int nd_frame_config_check(const struct nd_frame_config *config, const char **why)
{
	*why = ports_why(config);
	if (!*why)
		*why = code_points_why(config);
	if (!*why && config->hop_limit == 0)
		*why = "hop_limit must be 1..255";
	if (!*why && config->verify > ND_FRAME_VERIFY_ALL)
		*why = "verify must be none, ours or all";
	return *why ? -EINVAL : 0;
}
