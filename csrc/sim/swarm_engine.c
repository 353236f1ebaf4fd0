// SPDX-License-Identifier: Apache-2.0
/* Drawing the engines' own settings. */
#include "sim/swarm_engine.h"

#include "sim/swarm.h"
#include "sim/swarm_queue.h"
#include "transport/homa.h"
#include "transport/ndp.h"

#define RTO_MAX_NS (100 * ND_SEC) /* the most that an endpoint accepts */

#define DRAW(rng, ...) \
	draw(rng, (const uint32_t[]){ __VA_ARGS__ }, \
	     (uint32_t)(sizeof((const uint32_t[]){ __VA_ARGS__ }) / sizeof(uint32_t)))

static uint32_t draw(struct nd_rng *rng, const uint32_t *choices, uint32_t count)
{
	return choices[nd_rng_below(rng, count)];
}

/* ---- NDP ---- */

static void vary_ndp_windows(struct nd_ndp_config *config, struct nd_rng *rng)
{
	config->window_packets = DRAW(rng, 64, 128, 256, 1024);
	config->initial_window = nd_min_u32(DRAW(rng, 1, 2, 5, 12, 30, 64), config->window_packets);
	config->ack_carries_pull = nd_rng_coin(rng);
	config->nack_carries_pull = nd_rng_coin(rng);
	config->pull_slack_ns = DRAW(rng, 0, 20000, 1000000);
	config->bounce_history = DRAW(rng, 1, 12, 32);
	config->bounce_ack_divisor = DRAW(rng, 1, 3, 8);
	config->score.scoreboard = nd_rng_coin(rng);
	config->score.judge_feedbacks = (uint16_t)DRAW(rng, 1, 10, 100);
	config->score.avoid_max = (uint8_t)DRAW(rng, 1, 10, 100);
	config->rto_min_ns = DRAW(rng, 50000, 1000000);
	config->repull_ns = DRAW(rng, 500000, 2000000, 10000000);
	config->solicit_ns = DRAW(rng, 5000000, 20000000, 200000000);
}

static void vary_ndp_limits(struct nd_ndp_config *config, struct nd_rng *rng)
{
	config->time_wait_max = DRAW(rng, 64, 512);
	config->path_sets_max = DRAW(rng, 1, 16);
	config->sending_max = DRAW(rng, 1, 4, 256);
	config->messages_max = DRAW(rng, 128, 256, 512);
	config->connection_messages_max = nd_min_u32(DRAW(rng, 2, 16, 512), config->messages_max);
	config->receive_messages_max = DRAW(rng, 16, 64, 512);
	config->control_max = DRAW(rng, 64, 1024);
}

/* What follows from the network: a peer that is only slow must not be taken for dead. */
static void fit_ndp_times(struct nd_ndp_config *config, const struct nd_swarm_options *options)
{
	nd_ns rtt = nd_swarm_options_rtt_ns(options);

	config->rto_initial_ns = nd_max_u64(config->rto_initial_ns, 2 * rtt);
	config->rto_max_ns = nd_max_u64(config->rto_max_ns, nd_min_u64(8 * rtt, RTO_MAX_NS));
	config->repull_ns = nd_max_u64(config->repull_ns, 2 * rtt);
	config->solicit_ns = nd_max_u64(config->solicit_ns, 20 * rtt);
	config->give_up_ns = nd_max_u64(config->give_up_ns, 50 * rtt);
	config->time_wait_ns = nd_max_u64(config->time_wait_ns,
					  nd_swarm_options_lifetime_ns(options));
	config->reset_wait_ns = config->give_up_ns + config->rto_max_ns + config->time_wait_ns;
}

static void configure_ndp(const struct nd_swarm *swarm, void *out)
{
	const struct nd_swarm_options *options = &swarm->options;
	struct nd_rng rng = nd_rng_make(options->config, 21);
	struct nd_ndp_config config =
		nd_ndp_config_default((uint64_t)options->link_mbps * 1000000, options->mtu);

	config.data_header_bytes = nd_swarm_wire_overhead(swarm, ND_PROTO_NDP, ND_NDP_DATA);
	config.control_bytes = nd_swarm_wire_overhead(swarm, ND_PROTO_NDP, ND_NDP_ACK);
	config.paths = options->paths;
	config.paths_max = 16;
	config.message_bytes_max = options->message_max;
	config.connections_max = 2048;
	config.time_wait_max = 512;
	config.listeners_max = 8 * ND_SWARM_SERVICES; /* closed ones stay while in use */
	config.listen_backlog = 16;
	config.peers_max = 16;
	config.path_sets_max = 16;
	config.sending_max = 256;
	config.messages_max = 512;
	config.connection_messages_max = 512;
	config.receive_messages_max = 512;
	config.control_max = 1024;
	if (options->config) {
		vary_ndp_windows(&config, &rng);
		vary_ndp_limits(&config, &rng);
	}
	fit_ndp_times(&config, options);
	*(struct nd_ndp_config *)out = config;
}

static const struct nd_swarm_protocol ndp = {
	.ops = &nd_ndp_ops,
	.configure = configure_ndp,
	.watch_sent = nd_swarm_check_ndp_sent,
	.watch_received = nd_swarm_check_ndp_received,
	.start = nd_swarm_ndp_start,
	.event = nd_swarm_ndp_event,
	.action = nd_swarm_ndp_action,
	.restarted = nd_swarm_ndp_restarted,
	.detached = nd_swarm_ndp_detached,
	.probe = nd_swarm_ndp_probe,
	.finish = nd_swarm_ndp_finish,
	.outstanding = nd_swarm_ndp_outstanding,
	.verify = nd_swarm_ndp_verify,
};

_Static_assert(sizeof(struct nd_ndp_config) <= ND_SWARM_CONFIG_BYTES, "a config fits");

/* ---- Homa ---- */

static void vary_homa_priorities(struct nd_homa_config *config, struct nd_rng *rng)
{
	config->levels = (uint8_t)DRAW(rng, 8, 8, 4, 2, 1);
	config->basic = config->levels == 1 && nd_rng_coin(rng);
	config->own_cutoffs_first = nd_rng_coin(rng);
	config->first_priority = (uint8_t)nd_rng_below(rng, ND_HOMA_PRIORITIES);
	config->cutoff_mode = (uint8_t)nd_rng_below(rng, ND_HOMA_CUTOFFS_STATIC + 1);
	config->unscheduled_levels = (uint8_t)(1 + nd_rng_below(rng, 7));
	config->scheduled_levels =
		(uint8_t)nd_rng_below(rng, ND_HOMA_PRIORITIES - config->unscheduled_levels + 1);
	config->overcommit = (uint8_t)nd_rng_below(rng, ND_HOMA_OVERCOMMIT_MAX + 1);
	config->learn_messages = DRAW(rng, 1, 20, 200);
	config->learn_ns = DRAW(rng, 10000, 1000000, 10000000);
}

static void vary_homa_windows(struct nd_homa_config *config, struct nd_rng *rng)
{
	config->rtt_bytes = DRAW(rng, 0, 1, 1000, 9700, 60000);
	config->window_bytes = DRAW(rng, 0, 0, 2000, 20000, 200000);
	/* Less than a packet at a time is not wrong, only for ever. */
	if (config->window_bytes == 0 && config->rtt_bytes < config->mss_bytes)
		config->window_bytes = config->mss_bytes;
	config->max_incoming_bytes = DRAW(rng, 0, 65536, 400000);
	config->window_dynamic = config->max_incoming_bytes && nd_rng_coin(rng);
	config->send_fifo_permille = DRAW(rng, 0, 50, 500, 1000);
	config->grant_fifo_permille = DRAW(rng, 0, 50, 500, 1000);
	config->grant_fifo_bytes = DRAW(rng, 1500, 10000, 100000);
	config->incast_rpcs = DRAW(rng, 0, 1, 5, 25);
	config->incast_bytes = DRAW(rng, 0, 320, 5000);
}

static void vary_homa_limits(struct nd_homa_config *config, struct nd_rng *rng)
{
	config->server_rpcs_max = DRAW(rng, 8, 32, 256);
	config->peer_rpcs_max = DRAW(rng, 4, 16, 256);
	config->gaps_max = DRAW(rng, 1, 8, 128, 1024);
	config->message_gaps_max = DRAW(rng, 1, 4, 64);
	config->replies_max = DRAW(rng, 4, 64, 1024);
	config->done_max = DRAW(rng, 64, 512, 4096);
	config->resend_ns = DRAW(rng, 200000, 1000000, 5000000);
	config->resend_jitter_permille = DRAW(rng, 0, 250, 1000);
	config->cutoffs_ns = DRAW(rng, 1, 100000, 1000000);
	config->unknown_resend = nd_rng_below(rng, 4) == 0;
}

static void configure_homa(const struct nd_swarm *swarm, void *out)
{
	const struct nd_swarm_options *options = &swarm->options;
	struct nd_rng rng = nd_rng_make(options->config, 20);
	nd_ns rtt = nd_swarm_options_rtt_ns(options);
	struct nd_homa_config config =
		nd_homa_config_default((uint64_t)options->link_mbps * 1000000, options->mtu);

	config.data_header_bytes = nd_swarm_wire_overhead(swarm, ND_PROTO_HOMA, ND_HOMA_DATA);
	config.control_bytes = nd_swarm_wire_overhead(swarm, ND_PROTO_HOMA, ND_HOMA_ACK);
	config.message_bytes_max = options->message_max;
	config.rpcs_max = 512;
	config.server_rpcs_max = 256;
	config.peers_max = 16;
	config.ports_max = 32;
	config.apps_max = ND_SWARM_APPS_MAX;
	config.gaps_max = 1024;
	config.done_max = 4096;
	if (options->config) {
		vary_homa_priorities(&config, &rng);
		vary_homa_windows(&config, &rng);
		vary_homa_limits(&config, &rng);
	}
	/* A short memory refuses old requests for good: no reason to fail, but a failure. */
	if (nd_swarm_options_gentle(options))
		config.done_max = 4096;
	/*
	 * Whoever forgets responses that nobody has yet needs a network that loses few: what a window
	 * loses in a queue that does not take it, it loses again whenever the request runs again.
	 */
	config.at_least_once = options->config % 3 == 1 && nd_swarm_queue_packets(options) >= 64 &&
			       options->hosts <= 3 && options->message_max <= 20000;
	/* A peer that is only slow must not be taken for dead. */
	config.resend_ns = nd_max_u64(config.resend_ns, 2 * rtt);
	config.done_ns = nd_max_u64(config.done_ns, 3 * (config.resends_max + 1) * config.resend_ns);
	config.need_ack_ns = nd_max_u64(config.need_ack_ns, 2 * rtt);
	config.need_ack_ns_max = nd_max_u64(config.need_ack_ns_max, config.need_ack_ns);
	*(struct nd_homa_config *)out = config;
}

static bool homa_runs_again(const void *config)
{
	return ((const struct nd_homa_config *)config)->at_least_once;
}

static const struct nd_swarm_protocol homa = {
	.ops = &nd_homa_ops,
	.configure = configure_homa,
	.runs_again = homa_runs_again,
	.watch_sent = nd_swarm_check_homa_sent,
	.watch_received = nd_swarm_check_homa_received,
	.start = nd_swarm_homa_start,
	.event = nd_swarm_homa_event,
	.action = nd_swarm_homa_action,
	.restarted = nd_swarm_homa_restarted,
	.detached = nd_swarm_homa_detached,
	.probe = nd_swarm_homa_probe,
	.finish = nd_swarm_homa_finish,
	.outstanding = nd_swarm_homa_outstanding,
	.verify = nd_swarm_homa_verify,
};

_Static_assert(sizeof(struct nd_homa_config) <= ND_SWARM_CONFIG_BYTES, "a config fits");

const struct nd_swarm_protocol *const nd_swarm_engines[ND_SWARM_PROTOCOLS] = { &ndp, &homa };
