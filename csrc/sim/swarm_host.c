// SPDX-License-Identifier: Apache-2.0
/* Driving a host's endpoints: packets in and out, timers, events, restarts and pauses. */
#include "sim/swarm_host.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "sim/swarm.h"
#include "sim/swarm_memory.h"
#include "sim/swarm_pattern.h"

#define INBOX_MAX 256     /* packets that a standing host's NIC keeps */
#define SPINS_MAX 1000    /* timer events at one instant that change nothing */
#define AUDIT_STEPS 32    /* steps of a host between two audits */
#define EVENTS_BATCH 8

/* ---- life and death ---- */

static void init_endpoint(struct nd_swarm *swarm, uint32_t index, uint32_t protocol)
{
	struct nd_swarm_host *host = &swarm->hosts[index];
	struct nd_swarm_endpoint *endpoint = &host->endpoints[protocol];
	const struct nd_setup setup = {
		.seed = nd_rng_u64(&host->rng),
		.self = nd_swarm_address(index),
		.rx = &endpoint->rx_ops,
		.config = swarm->configs[protocol],
	};

	nd_swarm_memory_open(swarm, index, endpoint);
	memset(endpoint->memory, 0, endpoint->memory_bytes);
	endpoint->protocol->ops->init(endpoint->memory, &setup);
}

static int open_endpoint(struct nd_swarm *swarm, uint32_t index, uint32_t protocol)
{
	struct nd_swarm_endpoint *endpoint = &swarm->hosts[index].endpoints[protocol];
	size_t bytes;

	endpoint->protocol = swarm->options.protocols >> protocol & 1 ?
				     swarm->protocols[protocol] : NULL;
	if (!endpoint->protocol)
		return 0;
	bytes = endpoint->protocol->ops->bytes(swarm->configs[protocol]);
	bytes = (bytes + 63) & ~(size_t)63;
	if (bytes != endpoint->memory_bytes) {
		free(endpoint->memory);
		endpoint->memory_bytes = bytes;
		endpoint->memory = aligned_alloc(64, bytes);
		if (!endpoint->memory)
			return -ENOMEM;
	}
	init_endpoint(swarm, index, protocol);
	return 0;
}

int nd_swarm_hosts_open(struct nd_swarm *swarm)
{
	for (uint32_t i = 0; i < swarm->options.hosts; i++) {
		struct nd_swarm_host *host = &swarm->hosts[i];
		struct nd_swarm_endpoint endpoints[ND_SWARM_PROTOCOLS];

		memcpy(endpoints, host->endpoints, sizeof(endpoints));
		*host = (struct nd_swarm_host){
			.rng = nd_rng_make(swarm->options.seed, 100 + i),
			.timer_at = ND_NEVER,
			.inbox = ND_NONE,
		};
		memcpy(host->endpoints, endpoints, sizeof(endpoints));
		for (uint32_t p = 0; p < ND_SWARM_PROTOCOLS; p++) {
			int rc = open_endpoint(swarm, i, p);

			if (rc)
				return rc;
		}
	}
	return 0;
}

void nd_swarm_hosts_free(struct nd_swarm *swarm)
{
	for (uint32_t i = 0; i < ND_SWARM_HOSTS_MAX; i++) {
		for (uint32_t p = 0; p < ND_SWARM_PROTOCOLS; p++) {
			struct nd_swarm_endpoint *endpoint = &swarm->hosts[i].endpoints[p];

			nd_swarm_memory_reset(&endpoint->rx);
			free(endpoint->memory);
			*endpoint = (struct nd_swarm_endpoint){ 0 };
		}
	}
}

static void empty_inbox(struct nd_swarm *swarm, struct nd_swarm_host *host)
{
	while (host->inbox != ND_NONE) {
		uint32_t index = host->inbox;
		struct nd_packet *packet = nd_pool_at(&swarm->network.pool, index);

		host->inbox = packet->next;
		nd_swarm_network_release(swarm, index, false);
	}
	host->inbox_count = 0;
}

static void forget_holds(struct nd_swarm *swarm, uint32_t index, uint32_t app)
{
	for (uint32_t i = 0; i < swarm->hold_count; i++) {
		struct nd_swarm_hold *hold = &swarm->holds[i];

		if (hold->host == index && (app == ND_NONE || hold->app == app))
			hold->open = false;
	}
}

void nd_swarm_host_restart(struct nd_swarm *swarm, uint32_t index)
{
	struct nd_swarm_host *host = &swarm->hosts[index];

	nd_swarm_note(swarm, index, "restarts, incarnation %" PRIu64, host->incarnation + 1);
	empty_inbox(swarm, host);
	forget_holds(swarm, index, ND_NONE);
	host->incarnation++;
	host->timer_at = ND_NEVER;
	host->resume_at = 0;
	swarm->report.restarts++;
	for (uint32_t app = 0; app < swarm->options.apps; app++)
		host->broken_at[app] = swarm->loop.now;
	for (uint32_t p = 0; p < ND_SWARM_PROTOCOLS; p++) {
		struct nd_swarm_endpoint *endpoint = &host->endpoints[p];

		if (!endpoint->protocol)
			continue;
		nd_swarm_memory_reset(&endpoint->rx);
		endpoint->protocol->restarted(swarm, index);
		init_endpoint(swarm, index, p);
		if (!host->dead)
			endpoint->protocol->start(swarm, index, ND_NONE);
	}
}

void nd_swarm_host_pause(struct nd_swarm *swarm, uint32_t index, nd_ns until)
{
	struct nd_swarm_host *host = &swarm->hosts[index];

	if (until <= host->resume_at)
		return;
	nd_swarm_note(swarm, index, "stands still for %" PRIu64 " ns", until - swarm->loop.now);
	host->resume_at = until;
	nd_swarm_loop_add(&swarm->loop, until, ND_SWARM_RESUME, index);
}

static bool stands_still(const struct nd_swarm *swarm, const struct nd_swarm_host *host)
{
	return host->dead || host->resume_at > swarm->loop.now;
}

/* ---- packets in ---- */

static void note_packet(struct nd_swarm *swarm, uint32_t host, const struct nd_packet *packet,
			bool sent)
{
	uint32_t other = nd_swarm_host_of(swarm, sent ? packet->target : packet->source);
	bool homa = packet->protocol == ND_PROTO_HOMA;

	nd_swarm_note(swarm, host,
		      sent ? (homa ? "send homa %#" PRIx64 " to %" PRIu64 " id %" PRIu64 " offset %" PRIu64
				     " bytes %" PRIu64 " marks %#" PRIx64
				   : "send ndp %" PRIu64 " to %" PRIu64 " connection %" PRIu64
				     " sequence %" PRIu64 " pull %" PRIu64 " flags %#" PRIx64)
			   : (homa ? "got homa %#" PRIx64 " from %" PRIu64 " id %" PRIu64 " offset %" PRIu64
				     " bytes %" PRIu64 " marks %#" PRIx64
				   : "got ndp %" PRIu64 " from %" PRIu64 " connection %" PRIu64
				     " sequence %" PRIu64 " pull %" PRIu64 " flags %#" PRIx64),
		      packet->type, other,
		      homa ? packet->homa.sender_id : packet->ndp.connection,
		      homa ? packet->homa.offset : packet->ndp.sequence,
		      homa ? packet->payload_bytes : packet->ndp.pull,
		      homa ? packet->marks : (uint64_t)packet->flags | (uint64_t)packet->marks << 8);
}

static void take(struct nd_swarm *swarm, uint32_t index, uint32_t packet_index)
{
	struct nd_swarm_host *host = &swarm->hosts[index];
	const struct nd_packet *packet = nd_pool_at(&swarm->network.pool, packet_index);
	struct nd_swarm_endpoint *endpoint;
	struct nd_packet decoded;

	if (swarm->options.wire) {
		if (!nd_swarm_wire_pass(swarm, index, packet,
					swarm->network.damage[packet_index], &decoded)) {
			nd_swarm_network_release(swarm, packet_index, false);
			return;
		}
		packet = &decoded;
	}
	note_packet(swarm, index, packet, false);
	for (uint32_t p = 0; p < ND_SWARM_PROTOCOLS; p++) {
		endpoint = &host->endpoints[p];
		if (!endpoint->protocol || endpoint->protocol->ops->protocol != packet->protocol)
			continue;
		if (endpoint->protocol->watch_received)
			endpoint->protocol->watch_received(swarm, index, packet);
		endpoint->protocol->ops->receive(endpoint->memory, packet, swarm->loop.now);
	}
	nd_swarm_network_release(swarm, packet_index, true);
}

static void keep_for_later(struct nd_swarm *swarm, struct nd_swarm_host *host, uint32_t index)
{
	struct nd_packet *packet = nd_pool_at(&swarm->network.pool, index);

	if (host->dead || host->inbox_count == INBOX_MAX) {
		nd_swarm_network_release(swarm, index, false);
		return;
	}
	packet->next = ND_NONE;
	if (host->inbox == ND_NONE)
		host->inbox = index;
	else
		((struct nd_packet *)nd_pool_at(&swarm->network.pool, host->inbox_tail))->next = index;
	host->inbox_tail = index;
	host->inbox_count++;
}

void nd_swarm_host_receive(struct nd_swarm *swarm, uint32_t index, uint32_t packet_index)
{
	struct nd_swarm_host *host = &swarm->hosts[index];

	if (stands_still(swarm, host)) {
		keep_for_later(swarm, host, packet_index);
		return;
	}
	take(swarm, index, packet_index);
	nd_swarm_host_run(swarm, index);
}

void nd_swarm_host_resume(struct nd_swarm *swarm, uint32_t index)
{
	struct nd_swarm_host *host = &swarm->hosts[index];

	if (stands_still(swarm, host))
		return;
	while (host->inbox != ND_NONE) {
		uint32_t packet_index = host->inbox;

		host->inbox = ((struct nd_packet *)nd_pool_at(&swarm->network.pool,
							      packet_index))->next;
		host->inbox_count--;
		take(swarm, index, packet_index);
	}
	host->timer_at = ND_NEVER;
	nd_swarm_host_poll(swarm, index);
}

/* ---- packets out ---- */

static bool ask(struct nd_swarm *swarm, uint32_t index, enum nd_class class,
		struct nd_packet *packet)
{
	struct nd_swarm_host *host = &swarm->hosts[index];

	for (uint32_t i = 0; i < ND_SWARM_PROTOCOLS; i++) {
		uint32_t turn = (host->turn + i) % ND_SWARM_PROTOCOLS;
		struct nd_swarm_endpoint *endpoint = &host->endpoints[turn];

		if (!endpoint->protocol)
			continue;
		*packet = (struct nd_packet){ .next = ND_NONE };
		if (!endpoint->protocol->ops->transmit(endpoint->memory, packet, class,
						       swarm->loop.now))
			continue;
		host->turn = (turn + 1) % ND_SWARM_PROTOCOLS;
		if (packet->protocol != endpoint->protocol->ops->protocol)
			nd_swarm_fail(swarm, "host %" PRIu32 ": a packet of protocol %u from %s",
				      index, packet->protocol, endpoint->protocol->ops->name);
		if (endpoint->protocol->watch_sent)
			endpoint->protocol->watch_sent(swarm, index, packet);
		return true;
	}
	return false;
}

static void feed_nic(struct nd_swarm *swarm, uint32_t index)
{
	struct nd_swarm_host *host = &swarm->hosts[index];
	struct nd_packet packet;

	if (host->nic_busy)
		return;
	if (!ask(swarm, index, ND_CLASS_CONTROL, &packet) &&
	    !ask(swarm, index, ND_CLASS_DATA, &packet))
		return;
	host->spins = 0;
	host->nic_busy = true;
	note_packet(swarm, index, &packet, true);
	nd_swarm_network_send(swarm, index, &packet);
	nd_swarm_loop_add(&swarm->loop,
			  swarm->loop.now + nd_swarm_wire_ns(nd_max_u32(packet.wire_bytes, 1),
							     swarm->options.link_mbps),
			  ND_SWARM_NIC, index);
}

void nd_swarm_host_nic(struct nd_swarm *swarm, uint32_t index)
{
	swarm->hosts[index].nic_busy = false;
	if (!stands_still(swarm, &swarm->hosts[index]))
		nd_swarm_host_run(swarm, index);
}

/* ---- timers ---- */

static nd_ns next_deadline(const struct nd_swarm_host *host)
{
	nd_ns at = ND_NEVER;

	for (uint32_t p = 0; p < ND_SWARM_PROTOCOLS; p++) {
		const struct nd_swarm_endpoint *endpoint = &host->endpoints[p];

		if (endpoint->protocol)
			at = nd_min_u64(at, endpoint->protocol->ops->deadline(endpoint->memory));
	}
	return at;
}

static void arm(struct nd_swarm *swarm, uint32_t index)
{
	struct nd_swarm_host *host = &swarm->hosts[index];
	nd_ns at = next_deadline(host);
	nd_ns now = swarm->loop.now;

	/* Due still after its timers ran: the link is what holds it up, and will run the host. */
	if (at <= now && host->nic_busy && host->spin_at == now)
		return;
	if (at == ND_NEVER)
		return;
	at = nd_max_u64(at, now);
	if (swarm->options.late_ns && !swarm->calm)
		at += nd_rng_below(&host->rng, swarm->options.late_ns);
	if (host->timer_at != ND_NEVER && host->timer_at <= at)
		return;
	host->timer_at = at;
	nd_swarm_loop_add(&swarm->loop, at, ND_SWARM_TIMER, index);
}

static void run_timers(struct nd_swarm *swarm, uint32_t index)
{
	struct nd_swarm_host *host = &swarm->hosts[index];

	for (uint32_t p = 0; p < ND_SWARM_PROTOCOLS; p++) {
		struct nd_swarm_endpoint *endpoint = &host->endpoints[p];
		const struct nd_transport_ops *ops;

		if (!endpoint->protocol)
			continue;
		ops = endpoint->protocol->ops;
		if (ops->deadline(endpoint->memory) <= swarm->loop.now)
			ops->on_deadline(endpoint->memory, swarm->loop.now);
	}
}

void nd_swarm_host_timer(struct nd_swarm *swarm, uint32_t index)
{
	struct nd_swarm_host *host = &swarm->hosts[index];

	if (host->timer_at != swarm->loop.now)
		return;
	host->timer_at = ND_NEVER;
	if (stands_still(swarm, host))
		return;
	if (host->spin_at != swarm->loop.now)
		host->spins = 0;
	host->spin_at = swarm->loop.now;
	if (++host->spins > SPINS_MAX) {
		nd_swarm_fail(swarm, "host %" PRIu32 ": its deadline does not move on", index);
		return;
	}
	run_timers(swarm, index);
	nd_swarm_host_run(swarm, index);
}

/* ---- events ---- */

/* False when there were none. */
static bool drain_events(struct nd_swarm *swarm, uint32_t index)
{
	struct nd_swarm_host *host = &swarm->hosts[index];
	struct nd_event events[EVENTS_BATCH];
	uint32_t incarnation = host->incarnation;
	bool any = false;

	for (uint32_t p = 0; p < ND_SWARM_PROTOCOLS; p++) {
		struct nd_swarm_endpoint *endpoint = &host->endpoints[p];
		uint32_t count;

		if (!endpoint->protocol)
			continue;
		do {
			uint32_t limit = 1 + nd_rng_below(&host->rng, EVENTS_BATCH);

			count = endpoint->protocol->ops->events(endpoint->memory, events, limit);
			for (uint32_t i = 0; i < count && host->incarnation == incarnation; i++)
				endpoint->protocol->event(swarm, index, &events[i]);
			any |= count != 0;
		} while (count != 0 && swarm->report.ok);
	}
	return any;
}

bool nd_swarm_host_poll(struct nd_swarm *swarm, uint32_t index)
{
	struct nd_swarm_host *host = &swarm->hosts[index];
	bool any;

	host->poll_planned = false;
	if (stands_still(swarm, host))
		return false;
	host->running = true;
	any = drain_events(swarm, index);
	host->running = false;
	nd_swarm_host_run(swarm, index);
	return any;
}

static void plan_poll(struct nd_swarm *swarm, uint32_t index)
{
	struct nd_swarm_host *host = &swarm->hosts[index];

	if (host->poll_planned)
		return;
	host->poll_planned = true;
	nd_swarm_loop_add(&swarm->loop,
			  swarm->loop.now + nd_rng_below(&host->rng, swarm->options.lazy_ns),
			  ND_SWARM_POLL, index);
}

static void audit_now_and_then(struct nd_swarm *swarm, uint32_t index)
{
	struct nd_swarm_host *host = &swarm->hosts[index];
	const char *wrong;

	if (++host->steps < AUDIT_STEPS)
		return;
	host->steps = 0;
	wrong = nd_swarm_host_audit(swarm, index);
	if (wrong)
		nd_swarm_fail(swarm, "host %" PRIu32 ": %s", index, wrong);
}

void nd_swarm_host_run(struct nd_swarm *swarm, uint32_t index)
{
	struct nd_swarm_host *host = &swarm->hosts[index];

	if (host->running || stands_still(swarm, host) || !swarm->report.ok)
		return;
	host->running = true;
	if (swarm->options.lazy_ns && !swarm->calm)
		plan_poll(swarm, index);
	else
		drain_events(swarm, index);
	host->running = false;
	feed_nic(swarm, index);
	arm(swarm, index);
	audit_now_and_then(swarm, index);
}

/* ---- commands ---- */

int nd_swarm_host_submit(struct nd_swarm *swarm, uint32_t index, uint32_t protocol,
			 struct nd_command *command)
{
	struct nd_swarm_endpoint *endpoint = &swarm->hosts[index].endpoints[protocol];
	int rc = endpoint->protocol->ops->submit(endpoint->memory, command, swarm->loop.now);

	nd_swarm_note(swarm, index,
		      "command %" PRIu64 " id %#" PRIx64 " message %" PRIu64 " bytes %" PRIu64
		      " app %" PRIu64 ": -%" PRIu64,
		      command->kind, command->id, command->message, command->bytes, command->app,
		      (uint64_t)-rc);
	if (rc > 0)
		nd_swarm_fail(swarm, "host %" PRIu32 ": submit returned %d", index, rc);
	return rc;
}

void nd_swarm_host_detach(struct nd_swarm *swarm, uint32_t index, uint32_t app)
{
	struct nd_swarm_host *host = &swarm->hosts[index];

	forget_holds(swarm, index, app);
	host->broken_at[app] = swarm->loop.now;
	for (uint32_t p = 0; p < ND_SWARM_PROTOCOLS; p++) {
		struct nd_command command = { .kind = ND_COMMAND_DETACH, .app = (uint16_t)app };
		struct nd_swarm_endpoint *endpoint = &host->endpoints[p];

		if (!endpoint->protocol)
			continue;
		endpoint->protocol->detached(swarm, index, app);
		if (nd_swarm_host_submit(swarm, index, p, &command) != 0)
			nd_swarm_fail(swarm, "host %" PRIu32 ": detach refused", index);
		if (endpoint->rx.used[app] != 0)
			nd_swarm_fail(swarm,
				      "host %" PRIu32 ": application %" PRIu32
				      " is gone, %" PRIu64 " bytes of its memory are not back",
				      index, app, endpoint->rx.used[app]);
		endpoint->protocol->start(swarm, index, app);
	}
}

void nd_swarm_host_hold(struct nd_swarm *swarm, uint32_t index, uint32_t protocol,
			const struct nd_event *event, uint32_t key)
{
	struct nd_swarm_host *host = &swarm->hosts[index];
	nd_ns delay = swarm->options.reader_us && !swarm->calm ?
			      nd_rng_below(&host->rng, swarm->options.reader_us * 1000) : 0;

	if (swarm->hold_count == ND_SWARM_HOLDS_MAX) {
		nd_swarm_fail(swarm, "more messages than the swarm has room for");
		return;
	}
	swarm->holds[swarm->hold_count] = (struct nd_swarm_hold){
		.host = (uint8_t)index,
		.protocol = (uint8_t)protocol,
		.app = event->app,
		.incarnation = host->incarnation,
		.id = event->id,
		.message = event->message,
		.payload = event->payload,
		.bytes = event->bytes,
		.key = key,
		.open = true,
	};
	nd_swarm_loop_add(&swarm->loop, swarm->loop.now + delay, ND_SWARM_RELEASE,
			  swarm->hold_count++);
}

void nd_swarm_host_release(struct nd_swarm *swarm, uint32_t index)
{
	struct nd_swarm_hold *hold = &swarm->holds[index];
	struct nd_swarm_endpoint *endpoint;
	struct nd_command command = { .kind = ND_COMMAND_RELEASE };
	int rc;

	if (!hold->open)
		return;
	if (stands_still(swarm, &swarm->hosts[hold->host])) {
		nd_swarm_loop_add(&swarm->loop, swarm->hosts[hold->host].resume_at,
				  ND_SWARM_RELEASE, index);
		return;
	}
	hold->open = false;
	endpoint = &swarm->hosts[hold->host].endpoints[hold->protocol];
	if (hold->bytes != 0 &&
	    (!nd_swarm_memory_has(&endpoint->rx, hold->app, hold->payload, hold->bytes) ||
	     !nd_swarm_pattern_check(swarm->options.seed, hold->key, hold->payload, hold->bytes)))
		nd_swarm_fail(swarm, "host %" PRIu32 ": a received message changed before its release",
			      hold->host);
	command.app = hold->app;
	command.id = hold->id;
	command.message = hold->message;
	rc = nd_swarm_host_submit(swarm, hold->host, hold->protocol, &command);
	if (rc != 0)
		nd_swarm_fail(swarm, "host %" PRIu32 ": release refused with %d", hold->host, rc);
	nd_swarm_host_run(swarm, hold->host);
}

/* ---- state ---- */

const char *nd_swarm_host_audit(struct nd_swarm *swarm, uint32_t index)
{
	struct nd_swarm_host *host = &swarm->hosts[index];

	for (uint32_t p = 0; p < ND_SWARM_PROTOCOLS; p++) {
		const struct nd_swarm_endpoint *endpoint = &host->endpoints[p];
		const char *wrong;

		if (!endpoint->protocol)
			continue;
		wrong = endpoint->protocol->ops->audit(endpoint->memory);
		if (!wrong)
			wrong = nd_swarm_memory_audit(&endpoint->rx);
		if (wrong)
			return wrong;
	}
	return NULL;
}

bool nd_swarm_host_idle(struct nd_swarm *swarm, uint32_t index)
{
	struct nd_swarm_host *host = &swarm->hosts[index];

	return host->dead || (!host->nic_busy && host->inbox_count == 0 &&
			      next_deadline(host) == ND_NEVER);
}
