// SPDX-License-Identifier: Apache-2.0
/* What is kept of a run. */
#include "sim/probe.h"

#include "sim/capture.h"

#include <errno.h>

bool nd_probe_watches_ports(const struct nd_sim_config *config)
{
	const struct nd_sim_probes *p = &config->probes;

	return p->queues || p->delays || p->waste || p->timeline || p->pcap_port != ND_NONE ||
	       config->wire_check;
}

int nd_probe_init(struct nd_sim *sim, struct nd_error *error)
{
	const struct nd_sim_probes *p = &sim->config.probes;
	struct nd_probe_state *state = &sim->probe;
	struct nd_keep *keep = &sim->keep;
	bool ok = true;

	if (p->goodput_bin_ps) {
		if (!p->goodput_bins)
			return nd_error_set(error, -EINVAL, "goodput_bins is 0; give at least one");
		state->goodput_rows = p->goodput_by_flow ? sim->flow_count : sim->topology.hosts;
		state->goodput = nd_keep_get(keep, (size_t)state->goodput_rows *
						     p->goodput_bins * sizeof(uint64_t));
		ok = ok && state->goodput;
	}
	if (p->queues) {
		state->depths = nd_keep_get(keep, sim->topology.ports * sizeof(*state->depths));
		state->depth_bytes = nd_keep_get(keep, sim->topology.ports * sizeof(uint32_t));
		ok = ok && state->depths && state->depth_bytes;
	}
	if (p->delays) {
		state->delays = nd_keep_get(keep, (size_t)sim->pool.limit * sizeof(*state->delays));
		ok = ok && state->delays;
	}
	if (p->waste) {
		state->busy = nd_keep_get(keep, sim->topology.hosts * sizeof(*state->busy));
		state->wastes = nd_keep_get(keep, sim->topology.hosts * sizeof(*state->wastes));
		ok = ok && state->busy && state->wastes;
	}
	if (p->timeline) {
		state->records = nd_keep_get(keep, (size_t)p->timeline * sizeof(*state->records));
		ok = ok && state->records;
	}
	return ok ? 0 : nd_error_set(error, -ENOMEM, "out of memory for the probes");
}

void nd_probe_append(struct nd_sim *sim, enum nd_sim_record_kind kind, uint32_t place,
		     uint32_t index, nd_ps time)
{
	const struct nd_packet *packet = nd_sim_packet(sim, index);
	const struct nd_sim_probes *p = &sim->config.probes;
	struct nd_probe_state *state = &sim->probe;
	struct nd_sim_port *port = nd_sim_port(sim, place);

	if (p->timeline_host != ND_NONE && packet->source != p->timeline_host &&
	    packet->target != p->timeline_host)
		return;
	if (state->record_count == p->timeline) {
		state->record_lost++;
		return;
	}
	state->records[state->record_count++] = (struct nd_sim_record){
		.time_ps = time,
		.duration_ns = kind == ND_SIM_RECORD_SEND ?
				       (uint32_t)((port->busy_until - time) / ND_PS_PER_NS) : 0,
		.port = place,
		.packet = index,
		.source = packet->source,
		.target = packet->target,
		.flow = nd_sim_tag_flow(nd_sim_packet_tag(packet)),
		.sequence = packet->protocol == ND_PROTO_HOMA ? packet->homa.offset :
								packet->ndp.sequence,
		.wire_bytes = packet->wire_bytes,
		.kind = (uint8_t)kind,
		.protocol = packet->protocol,
		.type = packet->type,
		.priority = packet->priority,
		.marks = packet->marks,
	};
}

/* The depth of the port's queue is about to be, or was just, changed. */
static void note_depth(struct nd_sim *sim, uint32_t port, nd_ps time)
{
	struct nd_sim_depth *depth = &sim->probe.depths[port];
	const struct nd_queue *queue = nd_sim_queue(nd_sim_port(sim, port));
	/* Backwards when depths were settled before it was known that a packet had left. */
	int64_t ns = (int64_t)(time - depth->changed_ps) / (int64_t)ND_PS_PER_NS;

	/* Whole nanoseconds; the rest counts with the next depth. */
	depth->bytes_ns += (uint64_t)ns * sim->probe.depth_bytes[port];
	depth->changed_ps += (uint64_t)ns * ND_PS_PER_NS;
	sim->probe.depth_bytes[port] = queue->bytes;
	depth->bytes_max = nd_max_u32(depth->bytes_max, queue->bytes);
	depth->packets_max = nd_max_u32(depth->packets_max, queue->packets);
}

void nd_probe_settle_depths(struct nd_sim *sim)
{
	for (uint32_t port = sim->topology.hosts; port < sim->topology.ports; port++)
		note_depth(sim, port, sim->now);
}

static uint32_t to_ns(nd_ps time)
{
	return (uint32_t)nd_min_u64(UINT32_MAX, time / ND_PS_PER_NS);
}

/* What does not fit is the most that does. */
static uint32_t sum_ns(uint32_t a, uint32_t b)
{
	return (uint32_t)nd_min_u64(UINT32_MAX, (uint64_t)a + b);
}

void nd_probe_before_enqueue(struct nd_sim *sim, uint32_t number, uint32_t index)
{
	const struct nd_sim_port *port = nd_sim_port(sim, number);
	const struct nd_packet *packet = nd_sim_packet(sim, index);
	struct nd_packet_delay *delay;

	if (!sim->probe.delays)
		return;
	delay = &sim->probe.delays[index];
	delay->queued_ps = sim->now;
	delay->blocked_ns = sim->now < port->busy_until && port->serving < packet->priority ?
				    to_ns(port->busy_until - sim->now) : 0;
}

void nd_probe_depth(struct nd_sim *sim, uint32_t number)
{
	if (sim->probe.depths)
		note_depth(sim, number, sim->now);
}

/* The wait in a queue is over; at a NIC there is none that we know of. */
static void note_delay(struct nd_sim *sim, uint32_t number, uint32_t index, nd_ps start)
{
	struct nd_packet_delay *delay = &sim->probe.delays[index];
	uint32_t wait;

	if (number < sim->topology.hosts) {
		*delay = (struct nd_packet_delay){ 0 };
		return;
	}
	wait = to_ns(start - delay->queued_ps);
	delay->wait_ns = sum_ns(delay->wait_ns, wait);
	delay->lag_ns = sum_ns(delay->lag_ns, nd_min_u32(wait, delay->blocked_ns));
}

void nd_probe_launch(struct nd_sim *sim, uint32_t number, uint32_t index, nd_ps start)
{
	const struct nd_sim_port *port = nd_sim_port(sim, number);

	if (sim->probe.depths && number >= sim->topology.hosts)
		note_depth(sim, number, start);
	if (sim->probe.delays)
		note_delay(sim, number, index, start);
	if (sim->probe.busy && port->peer < sim->topology.hosts)
		sim->probe.busy[port->peer] += port->busy_until - start;
	nd_probe_record(sim, ND_SIM_RECORD_SEND, number, index, start);
	if (sim->capture)
		nd_capture_launch(sim, number, index, start);
}

/* How long the last hop to the host has been sending until now. */
static nd_ps busy_so_far(struct nd_sim *sim, uint32_t host)
{
	uint32_t last_hop = nd_topology_port_reverse(&sim->topology, host);
	nd_ps until = nd_sim_port(sim, last_hop)->busy_until;
	nd_ps busy = sim->probe.busy[host];

	/* What is on the wire was counted as a whole when it started. */
	return until > sim->now ? busy - nd_min_u64(busy, until - sim->now) : busy;
}

static void open_message(struct nd_sim *sim, uint32_t host)
{
	struct nd_waste *waste = &sim->probe.wastes[host];

	if (waste->open++ == 0) {
		waste->open_since = sim->now;
		waste->idle_mark = busy_so_far(sim, host);
	}
}

/* Books the time that the host has had messages open, up to the present. */
static void settle_waste(struct nd_sim *sim, uint32_t host)
{
	struct nd_waste *waste = &sim->probe.wastes[host];
	nd_ps open = sim->now - waste->open_since;
	nd_ps total = busy_so_far(sim, host);
	nd_ps busy = total - waste->idle_mark;

	sim->host_rows[host].expecting_ps += open;
	sim->host_rows[host].idle_ps += open - nd_min_u64(open, busy);
	waste->open_since = sim->now;
	waste->idle_mark = total;
}

static void close_message(struct nd_sim *sim, uint32_t host)
{
	struct nd_waste *waste = &sim->probe.wastes[host];

	if (waste->open == 1)
		settle_waste(sim, host);
	waste->open--;
}

void nd_probe_settle_wastes(struct nd_sim *sim)
{
	for (uint32_t host = 0; host < sim->topology.hosts; host++) {
		if (sim->probe.wastes[host].open)
			settle_waste(sim, host);
	}
}

void nd_probe_flow_received(struct nd_sim *sim, uint32_t flow)
{
	if (sim->probe.wastes && sim->rows[flow].first_ps != ND_FLOW_NEVER)
		close_message(sim, sim->flows[flow].target);
}

static void note_goodput(struct nd_sim *sim, uint32_t host, uint32_t flow, uint32_t bytes)
{
	const struct nd_sim_probes *p = &sim->config.probes;
	uint64_t row = p->goodput_by_flow ? flow : host;
	uint64_t bin = nd_min_u64(sim->now / p->goodput_bin_ps, p->goodput_bins - 1);

	sim->probe.goodput[row * p->goodput_bins + bin] += bytes;
}

/* Payload of a flow arrived at its target. */
static void note_payload(struct nd_sim *sim, uint32_t host, uint32_t flow, uint32_t index)
{
	const struct nd_packet *packet = nd_sim_packet(sim, index);
	struct nd_flow_row *row = &sim->rows[flow];

	if (row->first_ps == ND_FLOW_NEVER) {
		row->first_ps = sim->now;
		if (sim->probe.wastes && row->state == ND_FLOW_STARTED)
			open_message(sim, host);
	}
	row->payload_bytes += packet->payload_bytes;
	row->packets++;
	if (sim->probe.delays && row->state == ND_FLOW_STARTED) {
		row->lag_ns = sim->probe.delays[index].lag_ns;
		row->wait_ns = sim->probe.delays[index].wait_ns;
	}
	if (sim->probe.goodput)
		note_goodput(sim, host, flow, packet->payload_bytes);
}

void nd_probe_receive(struct nd_sim *sim, uint32_t host, uint32_t index)
{
	const struct nd_packet *packet = nd_sim_packet(sim, index);
	struct nd_sim_counters *counters = &sim->counters;
	uint64_t tag = nd_sim_packet_tag(packet);
	bool data = packet->payload_bytes > 0;

	nd_probe_record(sim, ND_SIM_RECORD_RECEIVE, host, index, sim->now);
	counters->received_packets++;
	counters->received_bytes += packet->wire_bytes;
	sim->host_rows[host].wire_bytes += packet->wire_bytes;
	sim->probe.priority_bytes[(data ? 0 : 8) + (packet->priority & 7)] += packet->wire_bytes;
	if (packet->marks & ND_MARK_TRIMMED) {
		counters->received_trimmed_packets++;
		return;
	}
	counters->payload_bytes += packet->payload_bytes;
	sim->host_rows[host].payload_bytes += packet->payload_bytes;
	if (tag && !nd_sim_tag_is_reply(tag))
		note_payload(sim, host, nd_sim_tag_flow(tag), index);
}
