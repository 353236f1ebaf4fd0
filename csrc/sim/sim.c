// SPDX-License-Identifier: Apache-2.0
/* The loop of a simulation, its invariants and its results. */
#include "sim/build.h"
#include "sim/capture.h"
#include "sim/foresee.h"
#include "sim/port.h"
#include "sim/probe.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

ND_COUNTERS_TABLE(nd_sim_counters, "sim", ND_SIM_COUNTERS);

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
	nd_keep_free(&sim->keep);
	free(sim);
}

/* Every event, in order, moves the hash: runs that differ anywhere differ here. */
static inline uint64_t trace(uint64_t hash, nd_ps time, uint32_t what, uint32_t arg)
{
	uint64_t ids = (uint64_t)what << 32 | arg;

	return (((hash << 7 | hash >> 57) ^ time) + ids) * UINT64_C(0x9e3779b97f4a7c15);
}

static void serve_other(struct nd_sim *sim, enum nd_work work, uint32_t place, uint32_t arg)
{
	switch (work) {
	case ND_WORK_SERVE:
		nd_sim_port_advance(sim, nd_sim_port(sim, place), place);
		break;
	case ND_WORK_NIC:
		nd_host_nic(sim, place);
		break;
	case ND_WORK_TIMER:
		nd_host_timer(sim, place);
		break;
	case ND_WORK_RECEIVE:
		nd_host_receive(sim, place, arg);
		break;
	case ND_WORK_FLOWS:
		nd_app_start_due(sim);
		break;
	case ND_WORK_START:
		nd_app_start(sim, place);
		break;
	case ND_WORK_CHANGE:
		nd_link_change_due(sim);
		break;
	case ND_WORK_ARRIVE:
		break; /* served by serve() */
	}
}

/* An arrival, by the port that sent the packet: its wire is free if it was not before. */
static inline void arrive(struct nd_sim *sim, uint32_t number, uint32_t index, uint32_t next)
{
	struct nd_sim_port *port = nd_sim_port(sim, number);

	nd_sim_port_advance(sim, port, number);
	if (next < sim->topology.hosts)
		nd_host_arrive(sim, next, index);
	else if (ND_LIKELY(next != ND_NONE))
		nd_sim_port_offer(sim, next, index);
	else
		nd_sim_switch_forward(sim, port->peer, index);
}

static inline void serve(struct nd_sim *sim, uint32_t what, uint32_t arg, uint32_t hint)
{
	uint32_t place = what & ND_WORK_MASK;
	enum nd_work work = (enum nd_work)(what >> ND_WORK_SHIFT);

	if (ND_LIKELY(work == ND_WORK_ARRIVE))
		arrive(sim, place, arg, hint);
	else
		serve_other(sim, work, place, arg);
}

static bool is_full(struct nd_sim *sim)
{
	if (ND_LIKELY(!sim->agenda.full))
		return false;
	snprintf(sim->error, sizeof(sim->error), "%u events pending at once: raise limits.events",
		 sim->agenda.limit);
	nd_sim_stop(sim, ND_SIM_LIMIT);
	return true;
}

static int outcome(struct nd_sim *sim, nd_ps until)
{
	if (is_full(sim) || sim->status)
		return sim->status;
	if (sim->awaited && !sim->unfinished)
		return ND_SIM_DONE;
	if (nd_agenda_pending(&sim->agenda)) {
		sim->now = nd_max_u64(sim->now, until); /* it may have been run further before */
		sim->now_ns = sim->now / ND_PS_PER_NS;
		return ND_SIM_UNTIL;
	}
	return sim->unfinished ? ND_SIM_STUCK : ND_SIM_DONE;
}

int nd_sim_run(struct nd_sim *sim, nd_ps until)
{
	const struct nd_agenda_event *event;
	nd_ps time;

	while (!sim->stop && !sim->agenda.full &&
	       (event = nd_agenda_take(&sim->agenda, until, &time))) {
		nd_assert(time >= sim->now);
		sim->now = time;
		sim->now_ns = time / ND_PS_PER_NS;
		sim->counters.events++;
		nd_sim_foresee(sim);
		sim->trace_hash = trace(sim->trace_hash, time, event->what, event->arg);
		serve(sim, event->what, event->arg, event->hint);
	}
	nd_capture_flush(sim);
	return outcome(sim, until);
}

const char *nd_sim_error(const struct nd_sim *sim)
{
	return sim->error;
}

static const char *broken(struct nd_sim *sim, const char *where, uint32_t number, const char *what)
{
	snprintf(sim->error, sizeof(sim->error), "%s %u: %s", where, number, what);
	nd_sim_stop(sim, ND_SIM_BROKEN);
	return sim->error;
}

/* S-10: every packet that was sent is somewhere. */
static const char *audit_packets(struct nd_sim *sim, uint64_t queued)
{
	const struct nd_sim_counters *c = &sim->counters;
	uint64_t flying = nd_agenda_count(&sim->agenda, ND_WORK_SHIFT, ND_WORK_ARRIVE) +
			  nd_agenda_count(&sim->agenda, ND_WORK_SHIFT, ND_WORK_RECEIVE);
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
	const char *why = nd_agenda_audit(&sim->agenda);
	uint64_t queued = 0;

	if (why)
		return broken(sim, "event set", 0, why);
	for (uint32_t p = sim->topology.hosts; p < sim->topology.ports; p++) {
		const struct nd_queue *queue = nd_sim_queue(nd_sim_port(sim, p));

		why = nd_queue_audit(queue);
		if (why)
			return broken(sim, "port", p, why);
		queued += queue->packets;
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
	return sizeof(*sim) + sim->keep.bytes;
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

const struct nd_sim_host_row *nd_sim_hosts(struct nd_sim *sim, uint32_t *count)
{
	give(count, sim->topology.hosts);
	if (sim->probe.wastes)
		nd_probe_settle_wastes(sim);
	return sim->host_rows;
}

const struct nd_queue_counters *nd_sim_queue_counters(const struct nd_sim *sim, uint32_t port)
{
	if (port < sim->topology.hosts || port >= sim->topology.ports)
		return NULL;
	return &nd_sim_port(sim, port)->counters;
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
