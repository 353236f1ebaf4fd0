// SPDX-License-Identifier: Apache-2.0
/* NDP's settings: defaults for a link, and the check that names what is wrong. */
#include "transport/ndp_internal.h"

#include <errno.h>

#define ETHERNET_BYTES 38u /* header, FCS, preamble and gap */
#define HEADERS_BYTES 68u  /* IPv4, UDP, NDP */

struct nd_ndp_config nd_ndp_config_default(uint64_t link_bps, uint32_t mtu)
{
	struct nd_ndp_config config = {
		.link_bps = link_bps ? link_bps : ND_LINK_BPS_ASSUMED,
		.mss_bytes = mtu > HEADERS_BYTES ? mtu - HEADERS_BYTES : 0,
		.data_header_bytes = ETHERNET_BYTES + HEADERS_BYTES,
		.control_bytes = ETHERNET_BYTES + HEADERS_BYTES,
		.initial_window = 30,
		.window_packets = 256,
		.futile_max = 256,
		.pull_slack_ns = 20 * ND_USEC,
		.rto_min_ns = ND_MSEC,
		.rto_initial_ns = 4 * ND_MSEC,
		.rto_max_ns = 64 * ND_MSEC,
		.repull_ns = 2 * ND_MSEC,
		.solicit_ns = 200 * ND_MSEC,
		.give_up_ns = ND_SEC,
		.bounce_history = 12,
		.bounce_ack_divisor = 3,
		.time_wait_ns = 130 * ND_MSEC,
		.reset_wait_ns = ND_SEC + 64 * ND_MSEC,
		.keepalive_ns = 10 * ND_SEC,
		.congested_ns = ND_MSEC,
		.score = {
			.scoreboard = true,
			.judge_feedbacks = 100,
			.nack_percent = 30,
			.mean_percent = 125,
			.bounce_nacks = 3,
			.loss_min = 2,
			.loss_percent = 10,
			.avoid_max = 10,
		},
		.paths = 1,
		.paths_max = 256,
		.path_sets_max = 1024,
		.message_bytes_max = ND_MESSAGE_BYTES_MAX,
		.connections_max = 4096,
		.time_wait_max = 4096,
		.listeners_max = 64,
		.listen_backlog = 128,
		.peers_max = 4096,
		.sending_max = 4096,
		.messages_max = 8192,
		.connection_messages_max = 1024,
		.receive_messages_max = 8192,
		.control_max = 4096,
	};
	return config;
}

struct rule {
	uint64_t value;
	uint64_t min, max;
	const char *why;
};

static int check_rules(const struct rule *rules, uint32_t count, const char **why)
{
	for (uint32_t i = 0; i < count; i++) {
		if (rules[i].value < rules[i].min || rules[i].value > rules[i].max) {
			*why = rules[i].why;
			return -EINVAL;
		}
	}
	return 0;
}

static int check_sizes(const struct nd_ndp_config *c, const char **why)
{
	const struct rule rules[] = {
		{ c->link_bps, 1000000, UINT64_C(10000000000000),
		  "link_bps must be 1 Mb/s to 10 Tb/s: give the receiving link's speed" },
		{ c->mss_bytes, 1, UINT16_MAX,
		  "mss_bytes must be 1..65535: raise the MTU above 68 bytes of headers" },
		{ c->data_header_bytes, 1, UINT16_MAX - nd_min_u32(c->mss_bytes, UINT16_MAX),
		  "data_header_bytes and mss_bytes must be at least 1 and 65535 together" },
		{ c->control_bytes, 1, UINT16_MAX, "control_bytes must be 1..65535" },
		{ c->window_packets, 64, 1024, "window_packets must be 64..1024" },
		{ c->window_packets & (c->window_packets - 1), 0, 0,
		  "window_packets must be a power of two: use 64, 128, 256, 512 or 1024" },
		{ c->initial_window, 1, c->window_packets,
		  "initial_window must be 1..window_packets: lower it, or raise window_packets" },
		{ c->futile_max, 1, UINT16_MAX - 1, "futile_max must be 1..65534" },
		{ c->bounce_history, 1, 32, "bounce_history must be 1..32" },
		{ c->bounce_ack_divisor, 1, 32, "bounce_ack_divisor must be 1..32" },
		{ c->paths_max, 1, UINT16_MAX - 1, "paths_max must be 1..65534" },
		{ c->paths, 1, c->paths_max,
		  "paths must be 1..paths_max: lower it, or raise paths_max" },
		{ c->score.avoid_max, 1, UINT8_MAX - 1, "score.avoid_max must be 1..254" },
		{ c->score.judge_feedbacks, 1, 20000, "score.judge_feedbacks must be 1..20000" },
	};

	return check_rules(rules, ND_ARRAY_SIZE(rules), why);
}

static int check_times(const struct nd_ndp_config *c, const char **why)
{
	const nd_ns day = 86400 * ND_SEC;
	const struct rule rules[] = {
		{ c->rto_min_ns, 1, 100 * ND_SEC, "rto_min_ns must be 1 ns to 100 s" },
		{ c->rto_initial_ns, c->rto_min_ns, c->rto_max_ns,
		  "rto_initial_ns must lie between rto_min_ns and rto_max_ns" },
		{ c->rto_max_ns, c->rto_min_ns, 100 * ND_SEC,
		  "rto_max_ns must be at least rto_min_ns and at most 100 s" },
		{ c->repull_ns, 1, day, "repull_ns must be 1 ns to a day" },
		{ c->solicit_ns, 1, day, "solicit_ns must be 1 ns to a day" },
		{ c->give_up_ns, c->rto_initial_ns, day,
		  "give_up_ns must be at least rto_initial_ns: raise it" },
		{ c->time_wait_ns, 1, day, "time_wait_ns must be 1 ns to a day" },
		{ c->reset_wait_ns, c->time_wait_ns, day,
		  "reset_wait_ns must be at least time_wait_ns: raise it" },
		{ c->pull_slack_ns, 0, ND_SEC, "pull_slack_ns must be at most a second" },
	};

	return check_rules(rules, ND_ARRAY_SIZE(rules), why);
}

static int check_limits(const struct nd_ndp_config *c, const char **why)
{
	const uint64_t most = 1u << 24;
	const struct rule rules[] = {
		{ c->message_bytes_max, 1, UINT32_MAX - UINT16_MAX,
		  "message_bytes_max must be 1 to 4,294,901,760" },
		{ c->connections_max, 1, most, "connections_max must be 1 to 2^24" },
		{ c->time_wait_max, 1, most, "time_wait_max must be 1 to 2^24" },
		{ c->listeners_max, 1, 65536, "listeners_max must be 1..65536" },
		{ c->listen_backlog, 1, c->connections_max,
		  "listen_backlog must be 1..connections_max" },
		{ c->peers_max, 1, most, "peers_max must be 1 to 2^24" },
		{ c->path_sets_max, 1, c->peers_max, "path_sets_max must be 1..peers_max" },
		{ c->sending_max, 1, c->connections_max,
		  "sending_max must be 1..connections_max" },
		{ c->messages_max, 1, UINT16_MAX, "messages_max must be 1..65535" },
		{ c->connection_messages_max, 1, c->messages_max,
		  "connection_messages_max must be 1..messages_max" },
		{ c->receive_messages_max, 1, most, "receive_messages_max must be 1 to 2^24" },
		{ c->control_max, 8, most, "control_max must be 8 to 2^24" },
	};

	return check_rules(rules, ND_ARRAY_SIZE(rules), why);
}

int nd_ndp_config_check(const struct nd_ndp_config *config, const char **why)
{
	int rc = check_sizes(config, why);

	if (rc == 0)
		rc = check_times(config, why);
	return rc == 0 ? check_limits(config, why) : rc;
}
