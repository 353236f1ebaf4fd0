// SPDX-License-Identifier: Apache-2.0
/* Defaults, the paper's settings, and what is refused. */
#include "transport/homa.h"

#include <errno.h>

/* Framing that a packet takes on an Ethernet beside its IP packet: header, FCS, preamble, gap. */
#define ETHERNET_BYTES 38
#define ETHERNET_PACKET_MIN 84
#define IPV4_BYTES 20
#define DATA_BYTES 56
#define HEADERS_BYTES (IPV4_BYTES + DATA_BYTES)

/* Round trip that the default windows cover: two software hosts and a switch. */
#define DEFAULT_RTT_NS 24000
#define DEFAULT_RTT_BYTES_MIN 10000
#define DEFAULT_RTT_BYTES_MAX 60000

#define RESENDS_MAX 20

#define DEFAULT_INCOMING_WINDOWS 14u /* RTTbytes that may be on their way to us */

static uint32_t default_rtt_bytes(uint64_t link_bps)
{
	uint64_t bytes = link_bps / 1000000 * DEFAULT_RTT_NS / 8000;

	return (uint32_t)nd_min_u64(nd_max_u64(bytes, DEFAULT_RTT_BYTES_MIN),
				    DEFAULT_RTT_BYTES_MAX);
}

/*
 * A few milliseconds, but on slow links more than all that may be granted at once takes to arrive:
 * what waits its turn behind it is not lost.
 */
static nd_ns default_resend_ns(uint64_t link_bps, uint32_t rtt_bytes)
{
	nd_ns window = (nd_ns)rtt_bytes * 8000 / nd_max_u64(link_bps / 1000000, 1);

	return nd_max_u64(5 * ND_MSEC, (DEFAULT_INCOMING_WINDOWS + 2) * window);
}

void nd_homa_config_set_link(struct nd_homa_config *config, uint64_t link_bps)
{
	uint64_t bps = link_bps ? link_bps : ND_LINK_BPS_ASSUMED;
	uint32_t rtt_bytes = default_rtt_bytes(bps);
	nd_ns resend_ns = default_resend_ns(bps, rtt_bytes);

	/* RTTbytes of a guess: who is alone may try what all together may. */
	config->window_dynamic = !link_bps;
	config->rtt_bytes = rtt_bytes;
	config->max_incoming_bytes = DEFAULT_INCOMING_WINDOWS * rtt_bytes;
	config->grant_fifo_bytes = rtt_bytes;
	config->resend_ns = resend_ns;
	/* Not shorter than before: a client may have begun with the longer times. */
	config->done_ns = nd_max_u64(config->done_ns,
				     nd_max_u64(ND_SEC, 2 * (RESENDS_MAX + 1) * resend_ns));
}

struct nd_homa_config nd_homa_config_default(uint64_t link_bps, uint32_t mtu)
{
	struct nd_homa_config config = {
		.mss_bytes = mtu > HEADERS_BYTES ? mtu - HEADERS_BYTES : 0,
		.data_header_bytes = ETHERNET_BYTES + HEADERS_BYTES,
		.control_bytes = ETHERNET_PACKET_MIN + 24,
		.unscheduled_max_bytes = 2 * DEFAULT_RTT_BYTES_MAX,
		.message_bytes_max = ND_MESSAGE_BYTES_MAX,
		.first_priority = 6,
		.levels = 8,
		.cutoff_mode = ND_HOMA_CUTOFFS_AUTO,
		.cutoffs = { 0, 0, 0, 0, 1000000, 15000, 2800, 200 },
		.learn_ns = 10 * ND_MSEC,
		.learn_messages = 200,
		.send_fifo_permille = 50,
		.grant_fifo_permille = 50,
		.incast_rpcs = 25,
		.incast_bytes = 320,
		.resend_jitter_permille = 250,
		.resends_max = RESENDS_MAX,
		.need_ack_ns = 2 * ND_MSEC,
		.need_ack_ns_max = 64 * ND_MSEC,
		.need_acks_max = 8,
		.cutoffs_ns = ND_MSEC,
		.rpcs_max = 4096,
		.server_rpcs_max = 2048,
		.peer_rpcs_max = 1024,
		.peers_max = 1024,
		.ports_max = 256,
		.apps_max = 64,
		.gaps_max = 8192,
		.message_gaps_max = 256,
		.replies_max = 1024,
		.done_max = 30720,
	};

	nd_homa_config_set_link(&config, link_bps);
	return config;
}

/* Until cutoffs are learned: each level takes messages of up to half of the one below it. */
static void halve_cutoffs(struct nd_homa_config *config, uint32_t levels)
{
	for (uint32_t i = 0; i + 1 < levels; i++)
		config->cutoffs[ND_HOMA_PRIORITIES - 1 - i] = config->rtt_bytes >> (levels - 1 - i);
	config->cutoffs[ND_HOMA_PRIORITIES - levels] = INT32_MAX;
}

struct nd_homa_config nd_homa_config_paper(uint32_t unscheduled_levels, uint32_t scheduled_levels)
{
	struct nd_homa_config config = nd_homa_config_default(UINT64_C(10000000000), 1500);

	config.rtt_bytes = 9700;
	config.grant_fifo_bytes = 9700;
	config.max_incoming_bytes = 0;
	config.own_cutoffs_first = true;
	config.cutoff_mode = ND_HOMA_CUTOFFS_FIXED;
	config.unscheduled_levels = (uint8_t)unscheduled_levels;
	config.scheduled_levels = (uint8_t)scheduled_levels;
	config.send_fifo_permille = 0;
	config.grant_fifo_permille = 0;
	config.incast_rpcs = 0;
	config.resend_jitter_permille = 0;
	config.at_least_once = true;
	config.unknown_resend = true;
	config.done_max = 1;
	for (uint32_t i = 0; i < ND_HOMA_PRIORITIES; i++)
		config.cutoffs[i] = 0;
	if (unscheduled_levels >= 1 && unscheduled_levels <= ND_HOMA_PRIORITIES)
		halve_cutoffs(&config, unscheduled_levels);
	return config;
}

#define REFUSE_WHEN(condition, text) \
	do { \
		if (condition) \
			return text; \
	} while (0)

static const char *check_sizes(const struct nd_homa_config *c)
{
	REFUSE_WHEN(c->mss_bytes == 0,
		    "mss_bytes must be 1 or more: raise the MTU above 76 bytes of headers");
	REFUSE_WHEN(c->data_header_bytes > 4096 || c->mss_bytes > 65535 - c->data_header_bytes,
		    "mss_bytes with data_header_bytes must be below 65536: lower the MTU");
	REFUSE_WHEN(c->control_bytes == 0 || c->control_bytes > 4096,
		    "control_bytes must be 1..4096: a bare packet with its framing");
	REFUSE_WHEN(c->message_bytes_max > (1u << 30),
		    "message_bytes_max must be at most 2^30: send longer data as several messages");
	REFUSE_WHEN(c->rtt_bytes > c->unscheduled_max_bytes,
		    "rtt_bytes must not be above unscheduled_max_bytes: raise that one too");
	REFUSE_WHEN(c->unscheduled_max_bytes > (1u << 28) || c->window_bytes > (1u << 28),
		    "unscheduled_max_bytes and window_bytes must be at most 2^28");
	REFUSE_WHEN(c->max_incoming_bytes && (c->max_incoming_bytes < c->rtt_bytes ||
					      c->max_incoming_bytes < c->mss_bytes),
		    "max_incoming_bytes must be 0 or at least rtt_bytes and mss_bytes: less would stop "
		    "all grants");
	REFUSE_WHEN(c->window_dynamic && !c->max_incoming_bytes,
		    "window_dynamic needs max_incoming_bytes: it is what the window is a part of");
	return NULL;
}

static const char *check_priorities(const struct nd_homa_config *c)
{
	REFUSE_WHEN(c->levels != 1 && c->levels != 2 && c->levels != 4 && c->levels != 8,
		    "levels must be 8, 4, 2 or 1");
	REFUSE_WHEN(c->basic && c->levels != 1, "basic has no priorities: set levels to 1");
	REFUSE_WHEN(c->first_priority >= ND_HOMA_PRIORITIES, "first_priority must be 0..7");
	REFUSE_WHEN(c->cutoff_mode > ND_HOMA_CUTOFFS_STATIC,
		    "cutoff_mode must be AUTO, FIXED or STATIC");
	REFUSE_WHEN(c->cutoff_mode == ND_HOMA_CUTOFFS_FIXED &&
			    (c->unscheduled_levels < 1 || c->unscheduled_levels > 7),
		    "unscheduled_levels must be 1..7 in FIXED mode: grants need a level too");
	REFUSE_WHEN(c->scheduled_levels > 7, "scheduled_levels must be 0 (the rest) or 1..7");
	REFUSE_WHEN(c->cutoff_mode == ND_HOMA_CUTOFFS_FIXED &&
			    c->unscheduled_levels + c->scheduled_levels > ND_HOMA_PRIORITIES,
		    "unscheduled_levels and scheduled_levels must not be above 8 together");
	REFUSE_WHEN(c->overcommit > ND_HOMA_OVERCOMMIT_MAX, "overcommit must be 0..16");
	REFUSE_WHEN(c->grant_fifo_permille > 1000 || c->send_fifo_permille > 1000,
		    "fifo shares must be 0..1000 permille");
	REFUSE_WHEN(c->grant_fifo_permille && !c->grant_fifo_bytes,
		    "grant_fifo_bytes must be above 0 when the oldest message has a share");
	return NULL;
}

/* After so long without an answer a client gives up, one that a full server put off included. */
static nd_ns silence_ns(const struct nd_homa_config *c)
{
	nd_ns resend_ns = c->resend_ns + c->resend_ns * c->resend_jitter_permille / 1000;

	return (c->resends_max + 1) * resend_ns + ND_HOMA_PUT_OFF_MAX * c->resend_ns;
}

static const char *check_limits(const struct nd_homa_config *c)
{
	REFUSE_WHEN(c->resend_ns == 0 || c->need_ack_ns == 0 || c->need_ack_ns_max < c->need_ack_ns,
		    "resend_ns and need_ack_ns must be above 0, need_ack_ns_max not below need_ack_ns");
	REFUSE_WHEN(c->resend_jitter_permille > 1000, "resend_jitter_permille must be 0..1000");
	REFUSE_WHEN(c->resends_max == 0 || c->resends_max > 250 || c->need_acks_max > 250,
		    "resends_max must be 1..250, need_acks_max 0..250");
	REFUSE_WHEN(c->one_way && !c->at_least_once,
		    "one_way needs at_least_once: without a response nothing can be acknowledged");
	REFUSE_WHEN(!c->at_least_once && c->done_ns < silence_ns(c),
		    "done_ns must be above resend_ns * (resends_max + 9), plus resend_jitter_permille: a "
		    "client that still asks would run its request again");
	REFUSE_WHEN(c->rpcs_max == 0 || c->rpcs_max > (1u << 24) || c->peers_max == 0 ||
			    c->peers_max > (1u << 24),
		    "rpcs_max and peers_max must be 1..2^24");
	REFUSE_WHEN(c->server_rpcs_max > c->rpcs_max,
		    "server_rpcs_max must not be above rpcs_max: it is a part of it");
	REFUSE_WHEN(c->ports_max == 0 || c->ports_max > 32767, "ports_max must be 1..32767");
	REFUSE_WHEN(c->apps_max == 0 || c->apps_max > 65535, "apps_max must be 1..65535");
	REFUSE_WHEN(c->gaps_max == 0 || c->gaps_max > (1u << 24) || c->message_gaps_max == 0,
		    "gaps_max must be 1..2^24 and message_gaps_max above 0");
	REFUSE_WHEN(c->replies_max == 0 || c->replies_max > (1u << 20) || c->done_max == 0 ||
			    c->done_max > (1u << 26),
		    "replies_max must be 1..2^20 and done_max 1..2^26");
	REFUSE_WHEN(c->first_id & 1, "first_id must be even: client ids are");
	return NULL;
}

int nd_homa_config_check(const struct nd_homa_config *config, const char **why)
{
	const char *reason = check_sizes(config);

	if (!reason)
		reason = check_priorities(config);
	if (!reason)
		reason = check_limits(config);
	if (!reason)
		return 0;
	if (why)
		*why = reason;
	return -EINVAL;
}
