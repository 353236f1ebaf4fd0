// SPDX-License-Identifier: Apache-2.0
/*
 * The applications: they start flows, answer requests, and fill in the flow rows.
 *
 * A flow is one or more messages; at most two are with the engine at a time, so that one is always
 * queued behind the one being sent and the engine never thinks that it is at the end.
 */
#include "sim/probe.h"
#include "sim/state.h"

#include <errno.h>

#define MESSAGES_QUEUED 2

static bool is_rpc(const struct nd_sim *sim, uint32_t engine)
{
	return sim->engines[engine].ops->protocol == ND_PROTO_HOMA;
}

static int submit(struct nd_sim *sim, uint32_t host, uint32_t engine, struct nd_command *command)
{
	return sim->engines[engine].ops->submit(nd_sim_endpoint(sim, host, engine), command,
						sim->now_ns);
}

/* Nothing follows on the flow's connection. An engine that cannot close it yet is asked again. */
static void close_connection(struct nd_sim *sim, uint32_t flow)
{
	const struct nd_flow *f = &sim->flows[flow];
	struct nd_progress *progress = &sim->progress[flow];
	struct nd_command command = {
		.kind = ND_COMMAND_CLOSE, .id = progress->id, .deadline = ND_NEVER,
	};

	if (!is_rpc(sim, f->engine) && !progress->closed)
		progress->closed = submit(sim, f->source, f->engine, &command) >= 0;
}

static void release_message(struct nd_sim *sim, uint32_t host, uint32_t engine,
			    const struct nd_event *event)
{
	struct nd_command command = {
		.kind = ND_COMMAND_RELEASE, .id = event->id, .message = event->message,
		.bytes = event->bytes, .deadline = ND_NEVER,
	};

	submit(sim, host, engine, &command);
}

static void release_trigger(struct nd_sim *sim, uint32_t trigger)
{
	if (trigger == ND_NONE || sim->triggers[trigger].needs == 0 ||
	    --sim->triggers[trigger].needs > 0)
		return;
	for (uint32_t i = sim->trigger_first[trigger]; i < sim->trigger_first[trigger + 1]; i++) {
		uint32_t flow = sim->trigger_flows[i];

		nd_sim_put(sim, sim->now + sim->flows[flow].start_ps, ND_WORK_START, flow, 0);
	}
}

static bool is_over(const struct nd_flow_row *row)
{
	return row->state == ND_FLOW_DONE || row->state == ND_FLOW_FAILED;
}

/* The run ends with the last flow that it waits for. */
static void finish(struct nd_sim *sim, uint32_t flow)
{
	if (!sim->flows[flow].background && --sim->unfinished == 0)
		sim->stop = true;
}

static void fail(struct nd_sim *sim, uint32_t flow, int error)
{
	struct nd_flow_row *row = &sim->rows[flow];

	if (is_over(row))
		return;
	row->state = ND_FLOW_FAILED;
	row->error = (int16_t)error;
	sim->counters.flows_failed++;
	finish(sim, flow);
}

static void done(struct nd_sim *sim, uint32_t flow)
{
	struct nd_flow_row *row = &sim->rows[flow];

	if (is_over(row))
		return;
	row->state = ND_FLOW_DONE;
	row->done_ps = sim->now;
	sim->counters.flows_done++;
	finish(sim, flow);
	close_connection(sim, flow);
	release_trigger(sim, sim->flows[flow].on_sent);
}

/* Hands the engine the flow's next message. */
static int send_one(struct nd_sim *sim, uint32_t flow)
{
	const struct nd_flow *f = &sim->flows[flow];
	struct nd_progress *progress = &sim->progress[flow];
	const struct nd_sim_engine *engine = &sim->engines[f->engine];
	uint32_t bytes = (uint32_t)nd_min_u64(progress->unsent, engine->message_bytes_max);
	struct nd_command command = {
		.kind = is_rpc(sim, f->engine) ? ND_COMMAND_REQUEST : ND_COMMAND_SEND,
		.priority = f->priority,
		.peer = f->target,
		.port = (uint16_t)engine->service,
		.bytes = bytes,
		.id = progress->id,
		.cookie = (uint64_t)flow + 1,
		.deadline = ND_NEVER,
		.payload = nd_sim_tag(flow, false),
	};
	int rc = submit(sim, f->source, f->engine, &command);

	if (rc < 0)
		return rc;
	if (f->bytes != ND_FLOW_ENDLESS)
		progress->unsent -= bytes;
	progress->messages++;
	return 0;
}

static void send_more(struct nd_sim *sim, uint32_t flow)
{
	struct nd_progress *progress = &sim->progress[flow];
	int rc = 0;

	while (rc == 0 && progress->messages < MESSAGES_QUEUED && progress->unsent)
		rc = send_one(sim, flow);
	if (rc < 0)
		fail(sim, flow, rc);
	else if (!progress->unsent && sim->flows[flow].kind == ND_FLOW_ONEWAY)
		close_connection(sim, flow); /* now, so that the last packet can say so */
}

static int connect_flow(struct nd_sim *sim, uint32_t flow)
{
	const struct nd_flow *f = &sim->flows[flow];
	struct nd_command command = {
		.kind = ND_COMMAND_CONNECT,
		.priority = f->priority,
		.peer = f->target,
		.port = (uint16_t)sim->engines[f->engine].service,
		.cookie = (uint64_t)flow + 1,
		.deadline = ND_NEVER,
	};
	int rc = submit(sim, f->source, f->engine, &command);

	sim->progress[flow].id = command.id;
	return rc;
}

void nd_app_start(struct nd_sim *sim, uint32_t flow)
{
	const struct nd_flow *f = &sim->flows[flow];
	struct nd_flow_row *row = &sim->rows[flow];
	int rc = 0;

	row->start_ps = sim->now;
	row->state = ND_FLOW_STARTED;
	sim->counters.flows_started++;
	sim->progress[flow].unsent = f->bytes;
	sim->progress[flow].unreceived = f->bytes;
	if (!is_rpc(sim, f->engine))
		rc = connect_flow(sim, flow);
	/* A message of no bytes is a message, too. */
	if (rc >= 0)
		rc = send_one(sim, flow);
	if (rc < 0)
		fail(sim, flow, rc);
	else
		send_more(sim, flow);
	nd_host_settle(sim, f->source);
}

void nd_app_start_due(struct nd_sim *sim)
{
	while (sim->by_start_next < sim->by_start_count) {
		uint32_t flow = sim->by_start[sim->by_start_next];
		nd_ps start = sim->flows[flow].start_ps;

		if (start > sim->now) {
			nd_sim_put(sim, start, ND_WORK_FLOWS, 0, 0);
			return;
		}
		sim->by_start_next++;
		nd_app_start(sim, flow);
	}
}

static void reply(struct nd_sim *sim, uint32_t host, uint32_t engine, uint32_t flow, uint64_t id)
{
	const struct nd_flow *f = &sim->flows[flow];
	struct nd_command command = {
		.kind = is_rpc(sim, engine) ? ND_COMMAND_REPLY : ND_COMMAND_SEND,
		.priority = f->priority,
		.peer = f->source,
		.id = id,
		.bytes = f->kind == ND_FLOW_ECHO ? f->reply_bytes : 0,
		.deadline = ND_NEVER,
		.payload = nd_sim_tag(flow, true),
	};
	int rc = submit(sim, host, engine, &command);

	if (rc < 0)
		fail(sim, flow, rc);
}

/* Done once the target has all and the source has nothing left to do; an ECHO with its reply. */
static void settle(struct nd_sim *sim, uint32_t flow)
{
	const struct nd_flow *f = &sim->flows[flow];
	const struct nd_progress *progress = &sim->progress[flow];

	if (progress->messages || progress->unsent ||
	    sim->rows[flow].state != ND_FLOW_RECEIVED)
		return;
	if (f->kind == ND_FLOW_ONEWAY || is_rpc(sim, f->engine))
		done(sim, flow);
}

/* bytes of the flow are at its target, in a whole message. */
static void received(struct nd_sim *sim, uint32_t flow, uint32_t bytes)
{
	struct nd_progress *progress = &sim->progress[flow];
	struct nd_flow_row *row = &sim->rows[flow];

	if (sim->flows[flow].bytes == ND_FLOW_ENDLESS)
		return;
	progress->unreceived -= nd_min_u64(bytes, progress->unreceived);
	if (progress->unreceived || row->state != ND_FLOW_STARTED)
		return;
	row->state = ND_FLOW_RECEIVED;
	row->received_ps = sim->now;
	nd_probe_flow_received(sim, flow);
	release_trigger(sim, sim->flows[flow].on_received);
	settle(sim, flow);
}

/* A message of the flow has ended at its source. */
static void ended(struct nd_sim *sim, uint32_t flow)
{
	sim->progress[flow].messages--;
	send_more(sim, flow);
	settle(sim, flow);
}

/* A message arrived at host; which flow's is known from the packet that completed it. */
static void arrived(struct nd_sim *sim, uint32_t host, uint32_t engine,
		    const struct nd_event *event)
{
	uint32_t flow = nd_sim_tag_flow(sim->tag);

	release_message(sim, host, engine, event);
	if (flow == ND_NONE)
		return;
	if (nd_sim_tag_is_reply(sim->tag)) {
		done(sim, flow);
		return;
	}
	received(sim, flow, event->bytes);
	if (event->kind == ND_EVENT_REQUEST ||
	    (sim->flows[flow].kind == ND_FLOW_ECHO && !sim->progress[flow].unreceived))
		reply(sim, host, engine, flow, event->id);
}

void nd_app_event(struct nd_sim *sim, uint32_t host, uint32_t engine,
		  const struct nd_event *event)
{
	uint32_t flow = event->cookie ? (uint32_t)event->cookie - 1 : ND_NONE;

	switch (event->kind) {
	case ND_EVENT_MESSAGE:
	case ND_EVENT_REQUEST:
		arrived(sim, host, engine, event);
		break;
	case ND_EVENT_RESPONSE:
		release_message(sim, host, engine, event);
		ended(sim, flow);
		break;
	case ND_EVENT_SENT:
		if (flow != ND_NONE)
			ended(sim, flow);
		break;
	case ND_EVENT_FAILED:
	case ND_EVENT_CLOSED:
		if (flow != ND_NONE && event->error)
			fail(sim, flow, event->error);
		break;
	default:
		break;
	}
}
