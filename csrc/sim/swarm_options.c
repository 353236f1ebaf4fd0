// SPDX-License-Identifier: Apache-2.0
/* Drawing the options of a swarm run. */
#include "sim/swarm_options.h"

#include "sim/swarm_queue.h"

#include <errno.h>
#include <string.h>

#define OPTION_TEXT(name, calm, help) { #name, help, calm },

const struct nd_swarm_option_text nd_swarm_option_texts[] = { ND_SWARM_OPTIONS(OPTION_TEXT) };
const uint32_t nd_swarm_option_count = ND_ARRAY_SIZE(nd_swarm_option_texts);

_Static_assert(sizeof(struct nd_swarm_options) >=
		       sizeof(uint64_t) + sizeof(uint32_t) * ND_ARRAY_SIZE(nd_swarm_option_texts),
	       "the options are a seed and 32-bit numbers in the order of the list");

uint32_t *nd_swarm_options_at(struct nd_swarm_options *options, uint32_t at)
{
	nd_assert(at < nd_swarm_option_count);
	return &options->protocols + at;
}

/* Beyond these a run would leave its arrays, or divide by nothing. */
static const struct limit {
	const char *name;
	uint32_t least, most;
} limits[] = {
	{ "protocols", ND_SWARM_NDP, ND_SWARM_NDP | ND_SWARM_HOMA },
	{ "hosts", 2, ND_SWARM_HOSTS_MAX },
	{ "apps", 1, ND_SWARM_APPS_MAX },
	{ "paths", 1, ND_SWARM_PATHS_MAX },
	{ "link_mbps", 1, 10000000 },
};

static bool is_within(const char *name, uint32_t value)
{
	for (uint32_t i = 0; i < ND_ARRAY_SIZE(limits); i++) {
		if (strcmp(limits[i].name, name) == 0)
			return value >= limits[i].least && value <= limits[i].most;
	}
	return true;
}

int nd_swarm_options_set(struct nd_swarm_options *options, const char *name, uint32_t value)
{
	for (uint32_t i = 0; i < nd_swarm_option_count; i++) {
		if (strcmp(nd_swarm_option_texts[i].name, name) == 0) {
			if (!is_within(name, value))
				return -ERANGE;
			*nd_swarm_options_at(options, i) = value;
			return 0;
		}
	}
	return -EINVAL;
}

void nd_swarm_options_calm(struct nd_swarm_options *options, uint64_t seed, uint32_t protocols)
{
	*options = (struct nd_swarm_options){ .seed = seed };
	for (uint32_t i = 0; i < nd_swarm_option_count; i++)
		*nd_swarm_options_at(options, i) = nd_swarm_option_texts[i].calm;
	options->protocols = protocols;
}

#define DEAD_HOST_RTT_MAX (10 * ND_MSEC) /* with more, a run would end before they have */
#define WORKLOAD_BYTES 8000000 /* of one run: many small runs find more than a few big ones */

#define GENTLE_LOSS_PPM 10000 /* on each link */
#define GENTLE_BUFFER_PACKETS 8

#define PICK(rng, ...) \
	pick(rng, (const uint32_t[]){ __VA_ARGS__ }, \
	     (uint32_t)(sizeof((const uint32_t[]){ __VA_ARGS__ }) / sizeof(uint32_t)))

static uint32_t pick(struct nd_rng *rng, const uint32_t *choices, uint32_t count)
{
	return choices[nd_rng_below(rng, count)];
}

/* Log-uniform in [low, high]: every order of magnitude is as likely. */
static uint32_t spread(struct nd_rng *rng, uint32_t low, uint32_t high)
{
	uint32_t value = low;

	while (value < high / 2 && nd_rng_below(rng, 3) != 0)
		value *= 2;
	return value + nd_rng_below(rng, nd_min_u32(value, high - value) + 1);
}

/* Off in most runs; spread over [low, high] in percent of them. */
static uint32_t sometimes(struct nd_rng *rng, uint32_t percent, uint32_t low, uint32_t high)
{
	bool on = nd_rng_below(rng, 100) < percent;
	uint32_t value = spread(rng, low, high);

	return on ? value : 0;
}

static void draw_topology(struct nd_swarm_options *o, struct nd_rng *rng)
{
	o->hosts = PICK(rng, 2, 2, 2, 3, 3, 4, 5, 6, ND_SWARM_HOSTS_MAX);
	o->apps = 1 + nd_rng_below(rng, ND_SWARM_APPS_MAX);
	o->paths = PICK(rng, 1, 1, 2, 3, 4, ND_SWARM_PATHS_MAX);
	o->link_mbps = PICK(rng, 100, 1000, 10000, 10000, 25000, 100000);
	o->core_percent = PICK(rng, 100, 100, 100, 50, 25, 400);
	o->slow_path_percent = PICK(rng, 100, 100, 100, 50, 10);
	o->delay_ns = PICK(rng, 50, 500, 500, 1000, 5000, 20000, 200000);
	o->mtu = PICK(rng, 576, 1500, 1500, 1500, 4000, ND_SWARM_MTU_MAX);
	o->discipline = PICK(rng, 0, 0, 1, 2, 2, 2, 2, 3, 4, 4, 5, 6, 7);
	/*
	 * NDP's receivers pull at the rate of their own links. On a path that is slower trimmed
	 * headers and what answers them fill the link, and Homa's packets, which cannot be trimmed,
	 * find the queue full. Fair queues are for that (R-NSW-14).
	 */
	if (o->protocols == (ND_SWARM_NDP | ND_SWARM_HOMA) &&
	    (o->core_percent < 100 || o->slow_path_percent < 100))
		o->discipline = ND_SWARM_QUEUE_FAIR;
	o->buffer_packets = PICK(rng, 2, 4, 8, 8, 16, 64);
	o->shared_buffer = nd_rng_below(rng, 6) == 0;
	o->return_to_sender = nd_rng_below(rng, 2);
}

static void draw_link_faults(struct nd_swarm_options *o, struct nd_rng *rng)
{
	o->loss_ppm = sometimes(rng, 40, 500, 200000);
	o->control_loss_ppm = sometimes(rng, 15, 5000, 200000);
	o->corrupt_ppm = sometimes(rng, 20, 500, 50000);
	o->duplicate_ppm = sometimes(rng, 30, 500, 200000);
	o->reorder_ppm = sometimes(rng, 30, 500, 300000);
	o->reorder_ns = spread(rng, 1000, 2000000);
	o->jitter_ns = sometimes(rng, 30, 100, 200000);
	o->hardware_trim_ppm = sometimes(rng, 20, 1000, 300000);
	o->wire = PICK(rng, 0, 0, 0, 0, 0, 0, 1, 2, 3);
	o->flap_us = sometimes(rng, 20, 300, 20000);
	o->partition_us = sometimes(rng, 15, 500, 20000);
	o->partition_oneway = nd_rng_below(rng, 2);
	o->outage_us = spread(rng, 50, 50000);
}

static void draw_host_faults(struct nd_swarm_options *o, struct nd_rng *rng)
{
	o->restart_us = sometimes(rng, 20, 300, 20000);
	o->pause_us = sometimes(rng, 20, 200, 20000);
	o->late_ns = sometimes(rng, 30, 100, 300000);
	o->lazy_ns = sometimes(rng, 30, 100, 300000);
	o->reader_us = sometimes(rng, 40, 5, 5000);
	o->server_us = sometimes(rng, 50, 1, 5000);
	o->credit_kib = nd_rng_below(rng, 3) ? 65536 : spread(rng, 64, 1024);
	o->arena = nd_rng_coin(rng);
	o->dead_hosts = o->hosts > 2 && nd_rng_below(rng, 6) == 0;
	/* Messages to a host that is gone give up one after the other, after 50 round trips each. */
	if (nd_swarm_options_rtt_ns(o) > DEAD_HOST_RTT_MAX)
		o->dead_hosts = 0;
}

static void draw_workload(struct nd_swarm_options *o, struct nd_rng *rng)
{
	o->actions = spread(rng, 4, 200);
	o->action_ns = spread(rng, 500, 200000);
	o->message_max = spread(rng, 2000, 300000);
	if (nd_rng_below(rng, 40) == 0) {
		o->message_max = 3000000;
		o->link_mbps = nd_max_u32(o->link_mbps, 10000);
	}
	o->actions = nd_min_u32(o->actions, nd_max_u32(WORKLOAD_BYTES / o->message_max, 8));
	/* One message always fits: what needs more memory than there is can never arrive. */
	o->credit_kib = nd_max_u32(o->credit_kib, o->message_max / 1024 + 1);
	o->incast_percent = PICK(rng, 0, 0, 50, 90);
	o->tiny_percent = sometimes(rng, 50, 2, 60);
	o->cancel_percent = sometimes(rng, 30, 1, 30);
	o->reset_percent = sometimes(rng, 30, 1, 30);
	o->close_percent = sometimes(rng, 60, 1, 30);
	o->deadline_percent = sometimes(rng, 25, 5, 80);
	o->deadline_us = spread(rng, 10, 50000);
	o->detach_percent = sometimes(rng, 15, 1, 10);
	o->paths_percent = sometimes(rng, 20, 1, 10);
	o->unlisten_percent = sometimes(rng, 15, 1, 10);
	o->dead_port_percent = sometimes(rng, 20, 1, 20);
	o->too_big_percent = sometimes(rng, 20, 1, 20);
	o->config = nd_rng_below(rng, 4) ? (uint32_t)nd_rng_u64(rng) : 0;
}

void nd_swarm_options_draw(struct nd_swarm_options *options, uint64_t seed, uint32_t protocols)
{
	struct nd_rng rng = nd_rng_make(seed, 1);

	nd_assert(protocols != 0);
	*options = (struct nd_swarm_options){ .seed = seed, .protocols = protocols };
	draw_topology(options, &rng);
	draw_link_faults(options, &rng);
	draw_host_faults(options, &rng);
	draw_workload(options, &rng);
}

nd_ns nd_swarm_options_rtt_ns(const struct nd_swarm_options *options)
{
	uint64_t mbps = (uint64_t)options->link_mbps * nd_min_u32(options->core_percent, 100) *
			options->slow_path_percent / 10000;
	nd_ns packet = (nd_ns)(options->mtu + 100) * 8000 / nd_max_u64(mbps, 1);
	uint32_t queues = options->discipline == ND_SWARM_QUEUE_FAIR ? 2 : 1; /* served in turns */

	return 6 * (nd_ns)options->delay_ns + 4 * queues * (options->buffer_packets + 1) * packet;
}

bool nd_swarm_options_gentle(const struct nd_swarm_options *options)
{
	const uint32_t losses = options->loss_ppm + options->control_loss_ppm + options->corrupt_ppm;

	return losses <= GENTLE_LOSS_PPM && options->buffer_packets >= GENTLE_BUFFER_PACKETS &&
	       options->core_percent >= 100 && options->slow_path_percent == 100 &&
	       options->flap_us == 0 && options->partition_us == 0 &&
	       options->restart_us == 0 && options->pause_us == 0 && options->detach_percent == 0 &&
	       options->unlisten_percent == 0 && options->reset_percent == 0 &&
	       options->dead_hosts == 0;
}

nd_ns nd_swarm_options_lifetime_ns(const struct nd_swarm_options *options)
{
	nd_ns links = 3 * ((nd_ns)options->jitter_ns + (options->reorder_ppm ? options->reorder_ns : 0));
	nd_ns pause = options->pause_us ? 2 * (nd_ns)options->outage_us * 1000 : 0;

	return nd_swarm_options_rtt_ns(options) + 2 * links + pause + options->late_ns;
}
