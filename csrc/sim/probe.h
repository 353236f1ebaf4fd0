/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Watching a run. Rows, counters and priority bytes are always kept; the rest only when asked for.
 * Nothing here schedules an event, draws a number or changes a packet.
 */
#ifndef ND_SIM_PROBE_H
#define ND_SIM_PROBE_H

#include "sim/state.h"

/* Allocates what the config asks for. 0 or a negative errno. */
int nd_probe_init(struct nd_sim *sim, struct nd_error *error);

/* Whether any probe wants to see what the ports do. */
bool nd_probe_watches_ports(const struct nd_sim_config *config);

/* A discipline is about to get the packet. */
void nd_probe_before_enqueue(struct nd_sim *sim, uint32_t port, uint32_t index);
/* A queue has changed and time will pass before it changes again. */
void nd_probe_depth(struct nd_sim *sim, uint32_t port);
/* A watched port starts to send. */
void nd_probe_launch(struct nd_sim *sim, uint32_t port, uint32_t index, nd_ps start);
/* An engine is about to get the packet. */
void nd_probe_receive(struct nd_sim *sim, uint32_t host, uint32_t index);
/* All bytes of the flow are at its target. */
void nd_probe_flow_received(struct nd_sim *sim, uint32_t flow);
/* Brings the depths up to the present. */
void nd_probe_settle_depths(struct nd_sim *sim);
/* The same for the time that last hops were idle. */
void nd_probe_settle_wastes(struct nd_sim *sim);
void nd_probe_append(struct nd_sim *sim, enum nd_sim_record_kind kind, uint32_t place,
		     uint32_t index, nd_ps time);

/* Adds an entry to the timeline when there is one. */
static inline void nd_probe_record(struct nd_sim *sim, enum nd_sim_record_kind kind,
				   uint32_t place, uint32_t index, nd_ps time)
{
	if (ND_UNLIKELY(sim->probe.records))
		nd_probe_append(sim, kind, place, index, time);
}

/* A host sends the packet. */
static inline void nd_probe_count_sent(struct nd_sim *sim, const struct nd_packet *packet)
{
	sim->counters.sent_packets++;
	sim->counters.sent_bytes += packet->wire_bytes;
	sim->counters.data_packets += packet->payload_bytes > 0;
}

#endif
