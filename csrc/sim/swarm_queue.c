// SPDX-License-Identifier: Apache-2.0
/* The disciplines of a swarm run. */
#include "sim/swarm_queue.h"

#include <string.h>

#include "queue/cut_payload.h"
#include "queue/droptail.h"
#include "queue/ecn.h"
#include "queue/fair.h"
#include "queue/ndp.h"
#include "queue/pfabric.h"
#include "queue/strict.h"

#define FRAMING_BYTES 100 /* headers and framing beyond the MTU, at most */
#define HEADER_WEIGHT 10
#define SHARED_ALPHA (2 * ND_SHARED_ALPHA_ONE)

static uint32_t buffer_bytes(const struct nd_swarm_options *options)
{
	return options->buffer_packets * (options->mtu + FRAMING_BYTES);
}

struct nd_shared_config nd_swarm_queue_shared(const struct nd_swarm_options *options)
{
	return (struct nd_shared_config){
		.total_bytes = (options->hosts + 1) * buffer_bytes(options),
		.alpha_256 = SHARED_ALPHA,
	};
}

uint32_t nd_swarm_queue_packets(const struct nd_swarm_options *options)
{
	if (options->discipline == ND_SWARM_QUEUE_NETFPGA)
		return nd_ndp_queue_netfpga().data.bytes / options->mtu;
	return options->buffer_packets;
}

/* Puts the discipline's own config into the room for all of them. */
#define SET(queue, discipline_ops, type, ...) \
	do { \
		const type config_ = __VA_ARGS__; \
		_Static_assert(sizeof(config_) <= ND_SWARM_QUEUE_CONFIG_BYTES, "a config fits"); \
		(queue)->ops = &(discipline_ops); \
		memcpy((queue)->config, &config_, sizeof(config_)); \
	} while (0)

static struct nd_ndp_queue_config ndp_config(const struct nd_swarm_options *options,
					     struct nd_shared *shared, bool last_hop)
{
	struct nd_ndp_queue_config config = {
		.data = { .packets = options->buffer_packets },
		.headers = { .bytes = buffer_bytes(options) },
		.header_weight = HEADER_WEIGHT,
		.data_weight = 1,
		.victim = ND_NDP_VICTIM_COIN,
	};

	if (options->discipline == ND_SWARM_QUEUE_NETFPGA)
		config = nd_ndp_queue_netfpga();
	else if (options->discipline == ND_SWARM_QUEUE_P4)
		config = nd_ndp_queue_p4(options->buffer_packets);
	else
		config.return_to_sender = options->return_to_sender;
	config.last_hop = last_hop;
	config.shared = shared;
	return config;
}

/* NDP beside everything else (R-NSW-14), and what the two have. */
struct fair_config {
	struct nd_fair_config fair;
	struct nd_ndp_queue_config ndp;
	struct nd_droptail_config others;
};

_Static_assert(sizeof(struct fair_config) <= ND_SWARM_QUEUE_CONFIG_BYTES, "a config fits");

static void choose_fair(struct nd_swarm_queue *queue, const struct nd_swarm_options *options,
			struct nd_shared *shared, bool last_hop)
{
	struct fair_config *config = (void *)queue->config;
	uint32_t quantum = nd_max_u32(options->mtu + FRAMING_BYTES, ND_FAIR_QUANTUM_MIN_BYTES);

	*config = (struct fair_config){
		.fair = {
			.child = {
				{ &nd_ndp_queue_ops, &config->ndp, quantum },
				{ &nd_droptail_ops, &config->others, quantum },
			},
			.child_of = { [ND_PROTO_NDP] = 0, [ND_PROTO_HOMA] = 1, [ND_PROTO_OTHER] = 1 },
		},
		.ndp = ndp_config(options, shared, last_hop),
		.others = { .limit = { .packets = options->buffer_packets }, .shared = shared },
	};
	queue->ops = &nd_fair_ops;
}

void nd_swarm_queue_choose(struct nd_swarm_queue *queue, const struct nd_swarm_options *options,
			   struct nd_shared *shared, bool last_hop)
{
	const struct nd_limit packets = { .packets = options->buffer_packets };
	const struct nd_limit half = { .packets = (options->buffer_packets + 1) / 2 };
	const struct nd_limit bytes = { .bytes = buffer_bytes(options) };

	switch ((enum nd_swarm_discipline)options->discipline) {
	case ND_SWARM_QUEUE_ECN:
		SET(queue, nd_ecn_ops, struct nd_ecn_config,
		    { .limit = packets, .threshold = half, .shared = shared });
		break;
	case ND_SWARM_QUEUE_NDP:
	case ND_SWARM_QUEUE_NETFPGA:
	case ND_SWARM_QUEUE_P4:
		SET(queue, nd_ndp_queue_ops, struct nd_ndp_queue_config,
		    ndp_config(options, shared, last_hop));
		break;
	case ND_SWARM_QUEUE_CUT_PAYLOAD:
		SET(queue, nd_cut_payload_ops, struct nd_cut_payload_config,
		    { .threshold = half, .limit = bytes, .shared = shared, .last_hop = last_hop });
		break;
	case ND_SWARM_QUEUE_STRICT:
		SET(queue, nd_strict_ops, struct nd_strict_config,
		    { .levels = ND_STRICT_LEVELS_MAX, .total = bytes, .level = packets,
		      .shared = shared });
		break;
	case ND_SWARM_QUEUE_FAIR:
		choose_fair(queue, options, shared, last_hop);
		break;
	case ND_SWARM_QUEUE_PFABRIC:
		SET(queue, nd_pfabric_ops, struct nd_pfabric_config, { .limit = bytes });
		break;
	default:
		SET(queue, nd_droptail_ops, struct nd_droptail_config,
		    { .limit = packets, .shared = shared });
		break;
	}
}
