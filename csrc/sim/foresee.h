/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fetching into the cache what the next events are going to touch.
 *
 * DESIGN NOTES
 * 1. Memory is far away compared with what a hop computes: a large fabric has tens of megabytes of
 *    ports, packets and endpoints, visited in no order. The agenda shows what is coming, so it can
 *    be fetched in time. Nothing depends on it but speed.
 * 2. There are three stages, each of which reads what the one before has fetched. Far ahead, what
 *    an event names: its packet, the port that sent it, the port or host that it goes to, that
 *    host's endpoint. Closer, what those lead to: the packet that the port is going to send next,
 *    and what the endpoint knows of the packet's connection. Last, what the connection leads to.
 * 3. Where fewer events are pending than the first stage looks ahead there is little to fetch.
 * 4. What kind of event it is cannot be guessed, so the first stage takes addresses by selection
 *    and not by branches.
 */
#ifndef ND_SIM_FORESEE_H
#define ND_SIM_FORESEE_H

#include "sim/state.h"

/* Events by which something is fetched before it is needed. */
#define ND_AHEAD_FAR 12
#define ND_AHEAD_NEAR 8
#define ND_AHEAD_LAST 4

/* Cache lines of an endpoint that most packets touch: the beginning. */
#define ND_ENDPOINT_LINES 10

ND_INLINE void nd_fetch_4(const uint8_t *memory)
{
	nd_fetch(memory);
	nd_fetch(memory + 64);
	nd_fetch(memory + 128);
	nd_fetch(memory + 192);
}

ND_INLINE void nd_fetch_endpoint(const uint8_t *endpoint)
{
	_Static_assert(ND_ENDPOINT_LINES == 10, "twice four and two");
	nd_fetch_4(endpoint);
	nd_fetch_4(endpoint + 256);
	nd_fetch(endpoint + 512);
	nd_fetch(endpoint + 576);
}

/* A port and its discipline. */
ND_INLINE void nd_fetch_port(const uint8_t *port)
{
	nd_fetch(port);
	nd_fetch(port + sizeof(struct nd_sim_port));
	nd_fetch(port + sizeof(struct nd_sim_port) + 64);
}

/* For kinds that have no packet or port these are others' addresses: harmless. */
ND_INLINE void nd_foresee_far(const struct nd_sim *sim, const struct nd_agenda_event *event)
{
	uint32_t place = event->what & ND_WORK_MASK, hint = event->hint;
	const uint8_t *host = (const uint8_t *)sim->hosts + (size_t)hint * sizeof(struct nd_host);
	const uint8_t *port = sim->ports + hint * sim->port_bytes; /* a host's NIC */
	const uint8_t *queue = port + sizeof(struct nd_sim_port);
	bool is_host = hint < sim->topology.hosts;

	nd_fetch(nd_sim_packet(sim, event->arg));
	nd_fetch(&sim->pool.next[event->arg]);
	nd_fetch_port(sim->ports + place * sim->port_bytes);
	nd_fetch(port);
	nd_fetch(is_host ? host : queue);
	nd_fetch(is_host ? host + 128 : queue + 64);
	if (is_host)
		nd_fetch_endpoint(nd_sim_first_endpoint(sim, hint));
}

/* What the endpoint of the host that the event goes to is going to touch. */
ND_INLINE void nd_foresee_host(const struct nd_sim *sim,
				      const struct nd_agenda_event *event, enum nd_foresee step)
{
	bool arrives = event->what >> ND_WORK_SHIFT == ND_WORK_ARRIVE;
	const struct nd_packet *packet = arrives ? nd_sim_packet(sim, event->arg) : NULL;

	if (event->hint >= sim->topology.hosts || !sim->foresee)
		return;
	sim->foresee(nd_sim_first_endpoint(sim, event->hint), packet, step);
	if (packet && nd_sim_packet_tag(packet))
		nd_fetch(&sim->rows[nd_sim_tag_flow(nd_sim_packet_tag(packet))]);
}

/* What the port sends next. */
ND_INLINE void nd_foresee_queue(const struct nd_sim *sim, uint32_t number)
{
	const struct nd_queue *queue = nd_sim_queue(nd_sim_port(sim, number));

	if (queue->packets && queue->ops->foresee)
		queue->ops->foresee(queue);
}

ND_INLINE void nd_foresee_near(const struct nd_sim *sim,
				      const struct nd_agenda_event *event)
{
	uint32_t hint = event->hint;

	if (event->what >> ND_WORK_SHIFT == ND_WORK_ARRIVE)
		nd_foresee_queue(sim, event->what & ND_WORK_MASK);
	if (hint < sim->topology.hosts)
		nd_foresee_host(sim, event, ND_FORESEE_FIRST);
	else if (hint != ND_NONE)
		nd_foresee_queue(sim, hint);
}

/* An event was taken and is about to be served. */
ND_INLINE void nd_sim_foresee(const struct nd_sim *sim)
{
	const struct nd_agenda *agenda = &sim->agenda;
	const struct nd_agenda_event *next = &agenda->run[agenda->at];
	uint32_t left = agenda->count - agenda->at;

	_Static_assert(ND_AHEAD_FAR < ND_AGENDA_AHEAD, "the run is that long");
	if (ND_LIKELY(left > ND_AHEAD_FAR)) {
		nd_foresee_far(sim, &next[ND_AHEAD_FAR]);
		nd_foresee_near(sim, &next[ND_AHEAD_NEAR]);
		nd_foresee_host(sim, &next[ND_AHEAD_LAST], ND_FORESEE_THEN);
	}
}

#endif
