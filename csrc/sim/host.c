// SPDX-License-Identifier: Apache-2.0
/* A host: endpoints, the NIC that asks them for packets, software delays, one timer. */
#include "sim/port.h"
#include "sim/probe.h"

#include <stdio.h>

#define EVENTS_BATCH 8

/* Hands over what the endpoints have while the NIC has room; whether anything was. */
static bool pump(struct nd_sim *sim, uint32_t number)
{
	struct nd_host *host = &sim->hosts[number];
	struct nd_sim_port *port = nd_sim_port(sim, number);
	bool sent = false;

	if (port->waking || sim->stop)
		return false;
	while (port->busy_until <= sim->now + host->slack) {
		uint32_t index = sim->fresh;

		if (!nd_nic_next(&host->nic, nd_sim_packet(sim, index), sim->now_ns))
			return sent;
		sent = true;
		sim->fresh = nd_pool_get(&sim->pool);
		nd_probe_count_sent(sim, nd_sim_packet(sim, index));
		nd_sim_port_launch(sim, port, number, index, nd_max_u64(sim->now, port->busy_until));
		if (ND_UNLIKELY(sim->fresh == ND_NONE)) {
			snprintf(sim->error, sizeof(sim->error),
				 "%u packets in the network at once: raise limits.packets",
				 sim->pool.limit);
			nd_sim_stop(sim, ND_SIM_LIMIT);
			return true;
		}
	}
	port->waking = true;
	nd_agenda_put(&sim->agenda, port->busy_until - host->slack,
		      (uint32_t)ND_WORK_NIC << ND_WORK_SHIFT | number, 0, number);
	return sent;
}

/* Sees to it that a TIMER event comes no later than the earliest deadline. */
static void arm(struct nd_sim *sim, uint32_t number)
{
	struct nd_host *host = &sim->hosts[number];
	nd_ns deadline = ND_NEVER;
	nd_ps time;

	for (uint32_t i = 0; i < sim->engine_count; i++) {
		nd_ns one = sim->engines[i].ops->deadline(host->nic.members[i].endpoint);

		deadline = nd_min_u64(deadline, one);
	}
	if (deadline >= ND_NEVER / ND_PS_PER_NS)
		return;
	/* What is due now and was not sent waits for the NIC; else it is asked again soon. */
	if (deadline <= sim->now_ns) {
		if (nd_sim_port(sim, number)->waking)
			return;
		deadline = sim->now_ns + 1;
	}
	time = deadline * ND_PS_PER_NS;
	if (time >= host->timer_at)
		return;
	time += nd_delay_sample(&sim->delay_rngs[number], &sim->config.timer_delay);
	if (time >= host->timer_at)
		return;
	host->timer_later = host->timer_at;
	host->timer_at = time;
	nd_agenda_put(&sim->agenda, time, (uint32_t)ND_WORK_TIMER << ND_WORK_SHIFT | number, 0,
		      number);
}

/* Takes the events out of an endpoint; whether there were any. */
static bool drain(struct nd_sim *sim, uint32_t number, uint32_t engine)
{
	const struct nd_transport_ops *ops = sim->engines[engine].ops;
	void *endpoint = nd_sim_endpoint(sim, number, engine);
	struct nd_event events[EVENTS_BATCH];
	bool any = false;
	uint32_t count;

	while ((count = ops->events(endpoint, events, EVENTS_BATCH))) {
		any = true;
		for (uint32_t i = 0; i < count; i++)
			nd_app_event(sim, number, engine, &events[i]);
	}
	return any;
}

static bool drain_all(struct nd_sim *sim, uint32_t number)
{
	bool any = false;

	for (uint32_t i = 0; i < sim->engine_count; i++)
		any |= drain(sim, number, i);
	return any;
}

/* Sends what can be sent; what that leads to may allow more. */
static void send_on(struct nd_sim *sim, uint32_t number)
{
	while (pump(sim, number) && drain_all(sim, number))
		;
	arm(sim, number);
}

void nd_host_settle(struct nd_sim *sim, uint32_t number)
{
	drain_all(sim, number);
	send_on(sim, number);
}

void nd_host_nic(struct nd_sim *sim, uint32_t number)
{
	nd_sim_port(sim, number)->waking = false;
	send_on(sim, number);
}

void nd_host_timer(struct nd_sim *sim, uint32_t number)
{
	struct nd_host *host = &sim->hosts[number];

	if (sim->now != host->timer_at) {
		sim->counters.timers_stale++;
		return;
	}
	host->timer_at = host->timer_later;
	host->timer_later = ND_NEVER;
	for (uint32_t i = 0; i < sim->engine_count; i++) {
		const struct nd_transport_ops *ops = sim->engines[i].ops;

		if (ops->deadline(host->nic.members[i].endpoint) <= sim->now_ns) {
			sim->counters.timers++;
			ops->on_deadline(host->nic.members[i].endpoint, sim->now_ns);
		}
	}
	nd_host_settle(sim, number);
}

void nd_host_receive(struct nd_sim *sim, uint32_t number, uint32_t index)
{
	const struct nd_packet *packet = nd_sim_packet(sim, index);
	struct nd_host *host = &sim->hosts[number];

	nd_probe_receive(sim, number, index);
	for (uint32_t i = 0; i < sim->engine_count; i++) {
		const struct nd_transport_ops *ops = sim->engines[i].ops;

		if (ops->protocol != packet->protocol)
			continue;
		sim->tag = nd_sim_packet_tag(packet);
		ops->receive(host->nic.members[i].endpoint, packet, sim->now_ns);
		nd_pool_put(&sim->pool, index);
		drain(sim, number, i);
		sim->tag = 0;
		send_on(sim, number);
		return;
	}
	sim->counters.unknown_packets++;
	nd_pool_put(&sim->pool, index);
}

void nd_host_arrive(struct nd_sim *sim, uint32_t number, uint32_t index)
{
	const struct nd_sim_delay *delay = &sim->config.receive_delay;
	struct nd_host *host = &sim->hosts[number];

	if (!delay->fixed_ps && !delay->count) {
		nd_host_receive(sim, number, index);
		return;
	}
	host->received_at = nd_max_u64(host->received_at,
				       sim->now + nd_delay_sample(&sim->delay_rngs[number], delay));
	nd_sim_put(sim, host->received_at, ND_WORK_RECEIVE, number, index);
}
