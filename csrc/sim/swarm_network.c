// SPDX-License-Identifier: Apache-2.0
/* Links with faults, ports with disciplines, and the conservation of packets. */
#include "sim/swarm_network.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "sim/swarm.h"
#include "sim/swarm_queue.h"

#define PPM 1000000

/* Links that a packet still has to cross. */
enum { STAGE_HOST = 0, STAGE_EDGE = 1, STAGE_CORE = 2 };

static struct nd_packet *packet_at(const struct nd_swarm *swarm, uint32_t index)
{
	return nd_pool_at(&swarm->network.pool, index);
}

uint32_t nd_swarm_host_of(const struct nd_swarm *swarm, uint32_t address)
{
	uint32_t host = address - nd_swarm_address(0);

	return host < swarm->options.hosts ? host : ND_NONE;
}

static uint32_t port_of(const struct nd_swarm *swarm, uint32_t path, uint32_t target)
{
	return path == ND_NONE ? target : swarm->options.hosts * (path + 1) + target;
}

static uint32_t path_of(const struct nd_swarm *swarm, const struct nd_packet *packet)
{
	return packet->path % swarm->options.paths;
}

/* ---- set-up ---- */

static uint32_t port_mbps(const struct nd_swarm_options *options, uint32_t path)
{
	uint64_t mbps = options->link_mbps;

	if (path != ND_NONE)
		mbps = mbps * options->core_percent / 100;
	if (path == 0)
		mbps = mbps * options->slow_path_percent / 100;
	return (uint32_t)nd_max_u64(mbps, 1);
}

static void open_port(struct nd_swarm *swarm, uint32_t path, uint32_t target,
		      const struct nd_swarm_queue *queue, uint8_t *memory)
{
	struct nd_swarm_network *network = &swarm->network;
	uint32_t index = port_of(swarm, path, target);
	struct nd_swarm_port *port = &network->ports[index];

	*port = (struct nd_swarm_port){
		.queue = (struct nd_queue *)(void *)memory,
		.target = target,
		.path = path,
		.mbps = port_mbps(&swarm->options, path),
		.serving = ND_NONE,
	};
	queue->ops->init(port->queue, &network->pool, queue->config, &port->counters,
			 nd_rng_u64(&network->rng));
	nd_assert(port->queue->ops == queue->ops);
}

static int check_queue(struct nd_swarm *swarm, const struct nd_swarm_queue *queue)
{
	const char *why = "no reason given";
	int rc = queue->ops->check(queue->config, &why);

	if (rc != 0)
		nd_swarm_fail(swarm, "%s refuses its configuration: %s", queue->ops->name, why);
	return rc;
}

static int open_ports(struct nd_swarm *swarm)
{
	const struct nd_shared_config shared = nd_swarm_queue_shared(&swarm->options);
	struct nd_swarm_network *network = &swarm->network;
	const struct nd_swarm_options *options = &swarm->options;
	struct nd_swarm_queue *core = &swarm->queues[0], *edge = &swarm->queues[1];
	size_t stride, bytes;
	uint8_t *memory;

	nd_shared_init(&network->shared, &shared);
	nd_swarm_queue_choose(core, options, options->shared_buffer ? &network->shared : NULL, false);
	nd_swarm_queue_choose(edge, options, options->shared_buffer ? &network->shared : NULL, true);
	if (check_queue(swarm, core) != 0 || check_queue(swarm, edge) != 0)
		return 0;
	stride = nd_max_u64(core->ops->bytes(core->config), edge->ops->bytes(edge->config));
	stride = (stride + 63) & ~(size_t)63;
	network->port_count = options->hosts * (options->paths + 1);
	bytes = stride * network->port_count;
	if (bytes > network->queues_bytes) {
		free(network->queues);
		network->queues_bytes = bytes;
		network->queues = aligned_alloc(64, bytes);
		if (!network->queues)
			return -ENOMEM;
	}
	memset(network->queues, 0, bytes);
	memory = network->queues;
	for (uint32_t target = 0; target < options->hosts; target++, memory += stride)
		open_port(swarm, ND_NONE, target, edge, memory);
	for (uint32_t path = 0; path < options->paths; path++) {
		for (uint32_t target = 0; target < options->hosts; target++, memory += stride)
			open_port(swarm, path, target, core, memory);
	}
	return 0;
}

int nd_swarm_network_open(struct nd_swarm *swarm)
{
	struct nd_swarm_network *network = &swarm->network;
	void *pool_memory = network->pool_memory;
	uint8_t *payloads = network->payloads, *queues = network->queues;
	size_t queues_bytes = network->queues_bytes;

	if (!pool_memory) {
		pool_memory = aligned_alloc(64, nd_pool_bytes(ND_SWARM_PACKETS_MAX,
							      sizeof(struct nd_packet)));
		payloads = malloc((size_t)ND_SWARM_PACKETS_MAX * ND_SWARM_MTU_MAX);
		if (!pool_memory || !payloads) {
			free(pool_memory);
			free(payloads);
			return -ENOMEM;
		}
	}
	*network = (struct nd_swarm_network){
		.pool_memory = pool_memory,
		.payloads = payloads,
		.queues = queues,
		.queues_bytes = queues_bytes,
		.rng = nd_rng_make(swarm->options.seed, 2),
	};
	nd_pool_init(&network->pool, pool_memory, ND_SWARM_PACKETS_MAX, sizeof(struct nd_packet));
	return open_ports(swarm);
}

void nd_swarm_network_free(struct nd_swarm *swarm)
{
	free(swarm->network.pool_memory);
	free(swarm->network.payloads);
	free(swarm->network.queues);
	swarm->network = (struct nd_swarm_network){ 0 };
}

/* ---- links ---- */

static void lose(struct nd_swarm *swarm, uint32_t index, const char *why)
{
	nd_swarm_note(swarm, ND_NONE, why, packet_at(swarm, index)->type,
		      nd_swarm_host_of(swarm, packet_at(swarm, index)->source),
		      nd_swarm_host_of(swarm, packet_at(swarm, index)->target));
	swarm->network.lost++;
	nd_pool_put(&swarm->network.pool, index);
}

static bool chance(struct nd_swarm *swarm, uint32_t ppm)
{
	return ppm != 0 && nd_rng_below(&swarm->network.rng, PPM) < ppm;
}

static bool is_cut_off(const struct nd_swarm *swarm, uint32_t index)
{
	const struct nd_swarm_network *network = &swarm->network;
	const struct nd_packet *packet = packet_at(swarm, index);
	uint32_t source = nd_swarm_host_of(swarm, packet->source);
	uint32_t target = nd_swarm_host_of(swarm, packet->target);
	nd_ns now = swarm->loop.now;

	switch (network->stages[index]) {
	case STAGE_CORE:
		return network->link_down[source] > now || network->blocked[source][target] > now;
	case STAGE_EDGE:
		return network->path_down[path_of(swarm, packet)][target] > now;
	default:
		return network->link_down[target] > now;
	}
}

static nd_ns link_delay(struct nd_swarm *swarm)
{
	const struct nd_swarm_options *options = &swarm->options;
	struct nd_rng *rng = &swarm->network.rng;
	nd_ns delay = options->delay_ns;

	if (swarm->network.calm)
		return delay;
	if (options->jitter_ns)
		delay += nd_rng_below(rng, options->jitter_ns);
	if (chance(swarm, options->reorder_ppm))
		delay += nd_rng_below(rng, options->reorder_ns + 1);
	return delay;
}

static void copy_payload(struct nd_swarm *swarm, uint32_t index, const uint8_t *payload)
{
	struct nd_packet *packet = packet_at(swarm, index);
	uint8_t *copy = swarm->network.payloads + (size_t)index * ND_SWARM_MTU_MAX;

	if (!payload)
		return;
	memcpy(copy, payload, packet->payload_bytes);
	packet->payload = copy;
}

/* Another packet with the same contents, or ND_NONE when the pool is at its end. */
static uint32_t clone(struct nd_swarm *swarm, const struct nd_packet *packet)
{
	uint32_t index = nd_pool_get(&swarm->network.pool);

	if (index == ND_NONE)
		return ND_NONE;
	*packet_at(swarm, index) = *packet;
	swarm->network.damage[index] = ND_SWARM_INTACT;
	copy_payload(swarm, index, packet->payload);
	return index;
}

static void duplicate(struct nd_swarm *swarm, uint32_t index)
{
	uint32_t copy = clone(swarm, packet_at(swarm, index));

	if (copy == ND_NONE)
		return;
	swarm->network.stages[copy] = swarm->network.stages[index];
	swarm->network.duplicated++;
	nd_swarm_loop_add(&swarm->loop, swarm->loop.now + link_delay(swarm), ND_SWARM_ARRIVE, copy);
}

/* Trims as an ASIC does; in bytes that shows only when the frame is decoded. */
static void cut(struct nd_swarm *swarm, uint32_t index)
{
	if (swarm->options.wire)
		swarm->network.damage[index] = ND_SWARM_CUT;
	else
		nd_packet_trim(packet_at(swarm, index));
}

/* Lets the link's faults loose on a packet; false when it is lost. */
static bool survive(struct nd_swarm *swarm, uint32_t index)
{
	const struct nd_swarm_options *options = &swarm->options;
	struct nd_packet *packet = packet_at(swarm, index);
	bool control = (packet->marks & ND_MARK_CONTROL) != 0;

	if (chance(swarm, options->loss_ppm) ||
	    (control && chance(swarm, options->control_loss_ppm))) {
		lose(swarm, index, "lost type %" PRIu64 " from host %" PRIu64 " to host %" PRIu64);
		return false;
	}
	if (chance(swarm, options->corrupt_ppm)) {
		if (options->wire) {
			swarm->network.damage[index] = ND_SWARM_FLIPPED;
			return true;
		}
		lose(swarm, index, "corrupt type %" PRIu64 " from host %" PRIu64 " to host %" PRIu64);
		return false;
	}
	if (nd_packet_can_trim(packet) && packet->payload_bytes &&
	    chance(swarm, options->hardware_trim_ppm))
		cut(swarm, index);
	if (chance(swarm, options->duplicate_ppm))
		duplicate(swarm, index);
	return true;
}

/* Sends a packet over the link that its stage names. */
static void cross(struct nd_swarm *swarm, uint32_t index)
{
	if (is_cut_off(swarm, index)) {
		lose(swarm, index, "cut off type %" PRIu64 " from host %" PRIu64 " to host %" PRIu64);
		return;
	}
	if (!swarm->network.calm && !survive(swarm, index))
		return;
	nd_swarm_loop_add(&swarm->loop, swarm->loop.now + link_delay(swarm), ND_SWARM_ARRIVE, index);
}

static const char *wrong_packet(const struct nd_swarm *swarm, uint32_t host,
				const struct nd_packet *packet)
{
	uint32_t target = nd_swarm_host_of(swarm, packet->target);

	if (packet->source != nd_swarm_address(host))
		return "its source is another host";
	if (target == ND_NONE || target == host)
		return "its target is no other host";
	if (packet->marks & (ND_MARK_BOUNCED | ND_MARK_CE))
		return "it has marks that only a switch sets";
	if (packet->marks & ND_MARK_TRIMMED && packet->wire_bytes != packet->header_bytes)
		return "it is trimmed and longer than its header";
	if (packet->header_bytes > packet->wire_bytes || packet->header_bytes == 0)
		return "its header is empty or longer than the packet";
	if (packet->payload_bytes > packet->wire_bytes && !(packet->marks & ND_MARK_TRIMMED))
		return "its payload is longer than the packet";
	if (packet->payload_bytes != 0 && (packet->marks & ND_MARK_CONTROL))
		return "it is a control packet with payload";
	if (packet->payload_bytes != 0 && !packet->payload && !(packet->marks & ND_MARK_TRIMMED))
		return "its payload is missing";
	if (packet->priority > 7)
		return "its priority is above 7";
	if (packet->wire_bytes > ND_SWARM_MTU_MAX + 100)
		return "it is longer than any link carries";
	return NULL;
}

void nd_swarm_network_send(struct nd_swarm *swarm, uint32_t host, const struct nd_packet *packet)
{
	const char *wrong = wrong_packet(swarm, host, packet);
	uint32_t index;

	if (wrong) {
		nd_swarm_fail(swarm, "host %" PRIu32 " sent a packet of type %u: %s", host,
			      packet->type, wrong);
		return;
	}
	swarm->network.sent++;
	index = clone(swarm, packet);
	if (index == ND_NONE) {
		swarm->network.lost++;
		return;
	}
	swarm->network.stages[index] = STAGE_CORE;
	if (swarm->network.sent == swarm->options.lose_packet ||
	    swarm->network.sent == swarm->options.lose_another)
		lose(swarm, index, "lost on purpose: type %" PRIu64 " from host %" PRIu64
				   " to host %" PRIu64);
	else
		cross(swarm, index);
}

/* ---- ports ---- */

static void serve(struct nd_swarm *swarm, struct nd_swarm_port *port)
{
	nd_ns now = swarm->loop.now;

	if (port->serving != ND_NONE)
		return;
	port->serving = port->queue->ops->dequeue(port->queue, now);
	if (port->serving == ND_NONE) {
		if (port->queue->packets != 0)
			nd_swarm_fail(swarm, "a queue with %" PRIu32 " packets serves none",
				      port->queue->packets);
		return;
	}
	port->served++;
	nd_swarm_loop_add(&swarm->loop,
			  now + nd_swarm_wire_ns(packet_at(swarm, port->serving)->wire_bytes,
						 port->mbps),
			  ND_SWARM_PORT, (uint32_t)(port - swarm->network.ports));
}

static void drop_list(struct nd_swarm *swarm, struct nd_swarm_port *port, uint32_t index)
{
	while (index != ND_NONE) {
		const struct nd_packet *packet = packet_at(swarm, index);
		uint32_t next = packet->next;

		nd_swarm_note(swarm, ND_NONE,
			      "dropped type %" PRIu64 " from host %" PRIu64 " to host %" PRIu64,
			      packet->type, nd_swarm_host_of(swarm, packet->source),
			      nd_swarm_host_of(swarm, packet->target));
		port->dropped++;
		swarm->network.dropped++;
		nd_pool_put(&swarm->network.pool, index);
		index = next;
	}
}

/* Headers that go back: from an edge port over its host's core links, from a core port at once. */
static void return_list(struct nd_swarm *swarm, struct nd_swarm_port *port, uint32_t index)
{
	while (index != ND_NONE) {
		uint32_t next = packet_at(swarm, index)->next;

		port->returned++;
		swarm->network.stages[index] = STAGE_CORE;
		nd_swarm_loop_add(&swarm->loop, swarm->loop.now + link_delay(swarm),
				  ND_SWARM_ARRIVE, index);
		index = next;
	}
}

static void enqueue(struct nd_swarm *swarm, uint32_t path, uint32_t index)
{
	const struct nd_packet *packet = packet_at(swarm, index);
	struct nd_swarm_port *port = &swarm->network.ports[port_of(
		swarm, path, nd_swarm_host_of(swarm, packet->target))];
	struct nd_shed shed = ND_SHED_EMPTY;

	port->offered++;
	port->queue->ops->enqueue(port->queue, index, swarm->loop.now, &shed);
	drop_list(swarm, port, shed.dropped);
	return_list(swarm, port, shed.returned);
	serve(swarm, port);
}

void nd_swarm_network_port(struct nd_swarm *swarm, uint32_t port_index)
{
	struct nd_swarm_port *port = &swarm->network.ports[port_index];
	uint32_t index = port->serving;

	port->serving = ND_NONE;
	swarm->network.stages[index] = port->path == ND_NONE ? STAGE_HOST : STAGE_EDGE;
	cross(swarm, index);
	serve(swarm, port);
}

void nd_swarm_network_arrive(struct nd_swarm *swarm, uint32_t index)
{
	const struct nd_packet *packet = packet_at(swarm, index);

	switch (swarm->network.stages[index]) {
	case STAGE_CORE:
		enqueue(swarm, path_of(swarm, packet), index);
		break;
	case STAGE_EDGE:
		enqueue(swarm, ND_NONE, index);
		break;
	default:
		nd_swarm_host_receive(swarm, nd_swarm_host_of(swarm, packet->target), index);
		break;
	}
}

void nd_swarm_network_release(struct nd_swarm *swarm, uint32_t index, bool delivered)
{
	if (delivered)
		swarm->network.delivered++;
	else
		swarm->network.lost++;
	nd_pool_put(&swarm->network.pool, index);
}

/* ---- audit ---- */

static const char *audit_port(const struct nd_swarm_port *port, bool deep)
{
	const struct nd_queue_counters *counters = &port->counters;

	if (port->offered != port->served + port->dropped + port->returned + port->queue->packets)
		return "a queue does not conserve packets";
	if (counters->enqueued_packets != port->offered)
		return "a queue's enqueued_packets is wrong";
	if (counters->dequeued_packets != port->served)
		return "a queue's dequeued_packets is wrong";
	if (counters->dropped_packets != port->dropped)
		return "a queue's dropped_packets is wrong";
	if (counters->returned_packets != port->returned)
		return "a queue's returned_packets is wrong";
	return deep ? nd_queue_audit(port->queue) : NULL;
}

const char *nd_swarm_network_audit(const struct nd_swarm *swarm, bool deep)
{
	const struct nd_swarm_network *network = &swarm->network;

	if (network->sent + network->duplicated !=
	    network->delivered + network->lost + network->dropped + network->pool.used)
		return "the network does not conserve packets";
	for (uint32_t i = 0; i < network->port_count; i++) {
		const char *wrong = audit_port(&network->ports[i], deep);

		if (wrong)
			return wrong;
	}
	return NULL;
}
