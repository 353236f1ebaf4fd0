// SPDX-License-Identifier: Apache-2.0
/* Planning of faults: one event of each kind is always ahead, at random distances. */
#include "sim/swarm_fault.h"

#include <string.h>

#include "sim/swarm.h"

static uint32_t mean_us(const struct nd_swarm *swarm, enum nd_swarm_event_kind kind)
{
	switch (kind) {
	case ND_SWARM_FLAP:
		return swarm->options.flap_us;
	case ND_SWARM_PARTITION:
		return swarm->options.partition_us;
	case ND_SWARM_RESTART:
		return swarm->options.restart_us;
	default:
		return swarm->options.pause_us;
	}
}

static void plan(struct nd_swarm *swarm, enum nd_swarm_event_kind kind)
{
	uint32_t mean = mean_us(swarm, kind);

	if (mean != 0)
		nd_swarm_loop_add(&swarm->loop,
				  swarm->loop.now + 1 + nd_rng_below(&swarm->faults, 2000 * mean),
				  kind, 0);
}

void nd_swarm_fault_start(struct nd_swarm *swarm)
{
	plan(swarm, ND_SWARM_FLAP);
	plan(swarm, ND_SWARM_PARTITION);
	plan(swarm, ND_SWARM_RESTART);
	plan(swarm, ND_SWARM_PAUSE);
}

static nd_ns outage_end(struct nd_swarm *swarm)
{
	return swarm->loop.now + 1000 +
	       nd_rng_below(&swarm->faults, swarm->options.outage_us * 1000 + 1);
}

static void flap(struct nd_swarm *swarm)
{
	struct nd_swarm_network *network = &swarm->network;
	uint32_t host = nd_rng_below(&swarm->faults, swarm->options.hosts);
	uint32_t path = nd_rng_below(&swarm->faults, swarm->options.paths);
	nd_ns until = outage_end(swarm);

	if (nd_rng_coin(&swarm->faults)) {
		nd_swarm_note(swarm, ND_NONE, "link of host %" PRIu64 " is down for %" PRIu64 " ns",
			      host, until - swarm->loop.now);
		network->link_down[host] = until;
		return;
	}
	nd_swarm_note(swarm, ND_NONE,
		      "path %" PRIu64 " to host %" PRIu64 " is down for %" PRIu64 " ns", path, host,
		      until - swarm->loop.now);
	network->path_down[path][host] = until;
}

static void partition(struct nd_swarm *swarm)
{
	struct nd_swarm_network *network = &swarm->network;
	uint32_t groups = (uint32_t)nd_rng_u64(&swarm->faults);
	nd_ns until = outage_end(swarm);

	nd_swarm_note(swarm, ND_NONE, "partition %#" PRIx64 " for %" PRIu64 " ns", groups,
		      until - swarm->loop.now);
	for (uint32_t from = 0; from < swarm->options.hosts; from++) {
		for (uint32_t to = 0; to < swarm->options.hosts; to++) {
			if ((groups >> from & 1) == (groups >> to & 1))
				continue;
			if (swarm->options.partition_oneway && (groups >> from & 1) != 0)
				continue;
			network->blocked[from][to] = until;
		}
	}
}

void nd_swarm_fault_event(struct nd_swarm *swarm, const struct nd_swarm_event *event)
{
	uint32_t host = nd_rng_below(&swarm->faults, swarm->options.hosts);

	if (swarm->calm)
		return;
	switch (event->kind) {
	case ND_SWARM_FLAP:
		flap(swarm);
		break;
	case ND_SWARM_PARTITION:
		partition(swarm);
		break;
	case ND_SWARM_RESTART:
		nd_swarm_host_restart(swarm, host);
		nd_swarm_host_run(swarm, host);
		break;
	default:
		nd_swarm_host_pause(swarm, host, outage_end(swarm));
		break;
	}
	plan(swarm, (enum nd_swarm_event_kind)event->kind);
}

void nd_swarm_fault_stop(struct nd_swarm *swarm)
{
	struct nd_swarm_network *network = &swarm->network;
	uint32_t dead = nd_min_u32(swarm->options.dead_hosts, swarm->options.hosts - 2);

	nd_swarm_note(swarm, ND_NONE, "liveness: no more faults");
	swarm->calm = true;
	network->calm = true;
	memset(network->link_down, 0, sizeof(network->link_down));
	memset(network->path_down, 0, sizeof(network->path_down));
	memset(network->blocked, 0, sizeof(network->blocked));
	for (uint32_t host = 0; host < swarm->options.hosts; host++) {
		if (host < dead) {
			swarm->hosts[host].dead = true;
			nd_swarm_host_restart(swarm, host);
			network->link_down[host] = ND_NEVER;
			continue;
		}
		swarm->hosts[host].resume_at = 0;
		nd_swarm_host_resume(swarm, host);
	}
}
