// SPDX-License-Identifier: Apache-2.0
/* The loop of a simulation, its invariants and its results. */
#include "sim/build.h"
#include "sim/capture.h"
#include "sim/probe.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

ND_COUNTERS_TABLE(nd_sim_counters, "sim", ND_SIM_COUNTERS);

/* Cache lines of a port that a hop touches: itself, its discipline, its counters. */
#define PORT_LINES 4
#define HOST_LINES 2

struct nd_sim *nd_sim_new(const struct nd_sim_config *config, const struct nd_flow *flows,
			  uint32_t flow_count, const struct nd_trigger *triggers,
			  uint32_t trigger_count, struct nd_error *error)
{
	struct nd_sim *sim = aligned_alloc(64, (sizeof(*sim) + 63) & ~(size_t)63);

	if (!sim) {
		nd_error_set(error, -ENOMEM, "out of memory");
		return NULL;
	}
	*sim = (struct nd_sim){ 0 };
	if (nd_build_network(sim, config, error) ||
	    nd_build_flows(sim, flows, flow_count, triggers, trigger_count, error) ||
	    nd_probe_init(sim, error) || nd_capture_init(sim, error)) {
		nd_sim_free(sim);
		return NULL;
	}
	return sim;
}

void nd_sim_free(struct nd_sim *sim)
{
	if (!sim)
		return;
	nd_capture_free(sim);
	nd_topology_free(&sim->topology);
	nd_wheel_free(&sim->wheel);
	nd_keep_free(&sim->keep);
	free(sim);
}

/* Every event, in order, moves the hash: runs that differ anywhere differ here. */
static inline uint64_t trace(uint64_t hash, const struct nd_wheel_event *event)
{
	uint64_t ids = (uint64_t)event->what << 32 | event->arg;

	return (((hash << 7 | hash >> 57) ^ event->time) + ids) * UINT64_C(0x9e3779b97f4a7c15);
}

static void serve(struct nd_sim *sim, const struct nd_wheel_event *event)
{
	uint32_t place = event->what & ND_TODO_MASK;
	uint32_t arg = event->arg;

	switch ((enum nd_todo)(event->what >> ND_TODO_SHIFT)) {
	case ND_TODO_ARRIVE:
		if (event->next != ND_NONE)
			nd_port_offer(sim, event->next, arg);
		else if (place >= sim->topology.hosts)
			nd_switch_forward(sim, place, arg);
		else
			nd_host_arrive(sim, place, arg);
		break;
	case ND_TODO_SERVE:
		nd_port_serve(sim, place);
		break;
	case ND_TODO_NIC:
		nd_host_nic(sim, place);
		break;
	case ND_TODO_TIMER:
		nd_host_timer(sim, place);
		break;
	case ND_TODO_RECEIVE:
		nd_host_receive(sim, place, arg);
		break;
	case ND_TODO_FLOWS:
		nd_app_start_due(sim);
		break;
	case ND_TODO_START:
		nd_app_start(sim, place);
		break;
	case ND_TODO_CHANGE:
		nd_link_change_due(sim);
		break;
	}
}

static inline void fetch(const void *memory, uint32_t lines)
{
	for (uint32_t i = 0; i < lines; i++)
		__builtin_prefetch((const uint8_t *)memory + 64 * i, 1);
}

/* Where an arrival is going to put its packet: kept in event->next, which has no use any more. */
static void foresee_arrival(struct nd_sim *sim, struct nd_wheel_event *event)
{
	uint32_t node = event->what & ND_TODO_MASK;

	if (node < sim->topology.hosts) {
		fetch(&sim->hosts[node], HOST_LINES);
		fetch(nd_sim_port(sim, node), 1);
		return;
	}
	event->next = nd_switch_resolve(sim, node, event->arg);
	if (event->next != ND_NONE)
		fetch(nd_sim_port(sim, event->next), PORT_LINES);
}

/*
 * A new slot was reached. Fetches the ports that its events are going to touch, and the packets of
 * the slot after it, which say where those go: misses overlap instead of following one another.
 */
static void foresee(struct nd_sim *sim)
{
	struct nd_wheel *wheel = &sim->wheel;
	const struct nd_wheel_event *node;

	for (uint32_t i = wheel->at; i < wheel->count; i++) {
		wheel->buffer[i].next = ND_NONE;
		if (wheel->buffer[i].what >> ND_TODO_SHIFT == ND_TODO_ARRIVE)
			foresee_arrival(sim, &wheel->buffer[i]);
	}
	for (uint32_t i = nd_wheel_ahead(wheel); i != ND_NONE; i = node->next) {
		node = &wheel->nodes[i];
		if (node->what >> ND_TODO_SHIFT <= ND_TODO_SERVE && node->arg != ND_NONE)
			fetch(nd_sim_packet(sim, node->arg), 1);
		if (node->what >> ND_TODO_SHIFT == ND_TODO_SERVE)
			fetch(nd_sim_port(sim, node->what & ND_TODO_MASK), PORT_LINES);
	}
}

/* The next event, or NULL. */
static inline const struct nd_wheel_event *next_event(struct nd_sim *sim)
{
	if (sim->wheel.at == sim->wheel.count) {
		if (!nd_wheel_refill(&sim->wheel))
			return NULL;
		foresee(sim);
	}
	return &sim->wheel.buffer[sim->wheel.at];
}

static int outcome(struct nd_sim *sim, nd_ps until)
{
	if (sim->status)
		return sim->status;
	if (sim->awaited && !sim->unfinished)
		return ND_SIM_DONE;
	if (nd_wheel_peek(&sim->wheel)) {
		sim->now = until;
		sim->now_ns = until / ND_PS_PER_NS;
		return ND_SIM_UNTIL;
	}
	return sim->unfinished ? ND_SIM_STUCK : ND_SIM_DONE;
}

int nd_sim_run(struct nd_sim *sim, nd_ps until_ps)
{
	const struct nd_wheel_event *next;
	uint64_t hash = sim->trace_hash;

	while (!sim->status && (!sim->awaited || sim->unfinished) &&
	       (next = next_event(sim)) && next->time <= until_ps) {
		struct nd_wheel_event event = *next;

		nd_wheel_pop(&sim->wheel);
		nd_assert(event.time >= sim->now);
		sim->now = event.time;
		sim->now_ns = event.time / ND_PS_PER_NS;
		sim->counters.events++;
		hash = trace(hash, &event);
		serve(sim, &event);
		if (ND_UNLIKELY(sim->wheel.full)) {
			snprintf(sim->error, sizeof(sim->error),
				 "%u events pending at once: raise events_max", sim->wheel.limit);
			sim->status = ND_SIM_LIMIT;
		}
	}
	sim->trace_hash = hash;
	return outcome(sim, until_ps);
}

const char *nd_sim_error(const struct nd_sim *sim)
{
	return sim->error;
}

static const char *broken(struct nd_sim *sim, const char *where, uint32_t number, const char *what)
{
	snprintf(sim->error, sizeof(sim->error), "%s %u: %s", where, number, what);
	sim->status = ND_SIM_BROKEN;
	return sim->error;
}

/* S-10: every packet that was sent is somewhere. */
static const char *audit_packets(struct nd_sim *sim, uint64_t queued)
{
	const struct nd_sim_counters *c = &sim->counters;
	uint64_t flying = nd_wheel_count(&sim->wheel, ND_TODO_SHIFT, ND_TODO_ARRIVE) +
			  nd_wheel_count(&sim->wheel, ND_TODO_SHIFT, ND_TODO_RECEIVE);
	uint64_t gone = c->received_packets + c->dropped_packets + c->lost_packets +
			c->corrupted_packets;

	if (!nd_pool_check(&sim->pool))
		return broken(sim, "packet pool", 0, "its free list is wrong");
	if (sim->pool.used != queued + flying + 1)
		return broken(sim, "packets", sim->pool.used,
			      "are out, which is not what is queued and in flight");
	if (c->sent_packets != gone + queued + flying)
		return broken(sim, "packets", (uint32_t)c->sent_packets,
			      "sent are not received, lost, queued or in flight");
	return NULL;
}

const char *nd_sim_audit(struct nd_sim *sim)
{
	const char *why = nd_wheel_audit(&sim->wheel);
	uint64_t queued = 0;

	if (why)
		return broken(sim, "event set", 0, why);
	for (uint32_t p = sim->topology.hosts; p < sim->topology.ports; p++) {
		why = nd_queue_audit(nd_sim_port(sim, p)->queue);
		if (why)
			return broken(sim, "port", p, why);
		queued += nd_sim_port(sim, p)->queue->packets;
	}
	for (uint32_t h = 0; h < sim->topology.hosts; h++) {
		for (uint32_t i = 0; i < sim->engine_count; i++) {
			why = sim->engines[i].ops->audit(nd_sim_endpoint(sim, h, i));
			if (why)
				return broken(sim, "host", h, why);
		}
	}
	return audit_packets(sim, queued);
}

nd_ps nd_sim_now(const struct nd_sim *sim)
{
	return sim->now;
}

uint64_t nd_sim_trace_hash(const struct nd_sim *sim)
{
	return sim->trace_hash;
}

uint32_t nd_sim_unfinished(const struct nd_sim *sim)
{
	return sim->unfinished;
}

const struct nd_topology *nd_sim_topology(const struct nd_sim *sim)
{
	return &sim->topology;
}

const struct nd_sim_counters *nd_sim_counters(const struct nd_sim *sim)
{
	return &sim->counters;
}

size_t nd_sim_memory(const struct nd_sim *sim)
{
	return sizeof(*sim) + sim->keep.bytes +
	       (size_t)sim->wheel.limit * 3 * sizeof(struct nd_wheel_event);
}

static void give(uint32_t *count, uint32_t value)
{
	if (count)
		*count = value;
}

const struct nd_flow *nd_sim_flows(const struct nd_sim *sim, uint32_t *count)
{
	give(count, sim->flow_count);
	return sim->flows;
}

const struct nd_flow_row *nd_sim_rows(const struct nd_sim *sim, uint32_t *count)
{
	give(count, sim->flow_count);
	return sim->rows;
}

const struct nd_sim_host_row *nd_sim_hosts(const struct nd_sim *sim, uint32_t *count)
{
	give(count, sim->topology.hosts);
	return sim->host_rows;
}

const struct nd_queue_counters *nd_sim_queue_counters(const struct nd_sim *sim, uint32_t port)
{
	if (port < sim->topology.hosts || port >= sim->topology.ports)
		return NULL;
	return nd_sim_port(sim, port)->queue->counters;
}

const struct nd_phantom_counters *nd_sim_phantom_counters(const struct nd_sim *sim, uint32_t port)
{
	if (port >= sim->topology.ports || !(nd_sim_port(sim, port)->flags & ND_PORT_PHANTOM))
		return NULL;
	return &nd_sim_port(sim, port)->extra->phantom_counters;
}

const uint64_t *nd_sim_engine_counters(const struct nd_sim *sim, uint32_t host, uint32_t engine)
{
	if (host >= sim->topology.hosts || engine >= sim->engine_count)
		return NULL;
	return sim->engines[engine].ops->counters(nd_sim_endpoint(sim, host, engine));
}

const struct nd_sim_depth *nd_sim_depths(struct nd_sim *sim, uint32_t *count)
{
	give(count, sim->probe.depths ? sim->topology.ports : 0);
	if (sim->probe.depths)
		nd_probe_settle_depths(sim);
	return sim->probe.depths;
}

const uint64_t *nd_sim_goodput(const struct nd_sim *sim, uint32_t *rows, uint32_t *bins)
{
	give(rows, sim->probe.goodput_rows);
	give(bins, sim->probe.goodput ? sim->config.probes.goodput_bins : 0);
	return sim->probe.goodput;
}

const uint64_t *nd_sim_priority_bytes(const struct nd_sim *sim)
{
	return sim->probe.priority_bytes;
}

const struct nd_sim_record *nd_sim_timeline(const struct nd_sim *sim, uint32_t *count,
					    uint64_t *lost)
{
	give(count, sim->probe.record_count);
	if (lost)
		*lost = sim->probe.record_lost;
	return sim->probe.records;
}
