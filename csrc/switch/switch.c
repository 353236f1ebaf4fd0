// SPDX-License-Identifier: Apache-2.0
/* Making and changing a switch, and one round of its work. */
#include "switch/switch.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

ND_COUNTERS_TABLE(nd_switch_counters, "switch", ND_SWITCH_COUNTERS);

#define RECEIVE_BATCH 32u
#define FDB_CHECK_NS (100 * ND_MSEC)

static size_t round_up_64(size_t bytes)
{
	return (bytes + 63) & ~(size_t)63;
}

static void *zeroed(size_t bytes)
{
	void *memory = aligned_alloc(64, round_up_64(bytes));

	if (memory)
		memset(memory, 0, round_up_64(bytes));
	return memory;
}

static int check_config(const struct nd_switch_config *config, struct nd_error *error)
{
	const char *why;

	if (!config->name || !*config->name || strlen(config->name) >= ND_SWITCH_NAME_BYTES)
		return nd_error_set(error, -EINVAL,
				    "a switch needs a name of 1 to %u bytes", ND_SWITCH_NAME_BYTES - 1);
	if (config->packets_max < 64 || config->packets_max > 1u << 24)
		return nd_error_set(error, -EINVAL,
				    "switch %s: packets_max is %u, not 64 to 16777216", config->name,
				    config->packets_max);
	if (config->frame_bytes_max < 256 || config->frame_bytes_max > 16384)
		return nd_error_set(error, -EINVAL,
				    "switch %s: frame_bytes_max is %u, not 256 to 16384",
				    config->name, config->frame_bytes_max);
	if (config->fdb_max < 16 || config->fdb_max > 1u << 20)
		return nd_error_set(error, -EINVAL, "switch %s: fdb_max is %u, not 16 to 1048576",
				    config->name, config->fdb_max);
	if (nd_frame_config_check(&config->frame, &why) < 0)
		return nd_error_set(error, -EINVAL, "switch %s: %s", config->name, why);
	return 0;
}

static bool allocate(struct nd_switch *sw)
{
	const struct nd_switch_config *config = &sw->config;
	uint32_t count = config->packets_max;
	void *pool = zeroed(nd_pool_bytes(count, sizeof(struct nd_packet)));
	void *delayed = zeroed(nd_heap_bytes(count));
	void *fdb = zeroed(nd_fdb_bytes(config->fdb_max));

	sw->buffers = zeroed(count * sizeof(*sw->buffers));
	sw->frames = zeroed((size_t)count * config->frame_bytes_max);
	if (!pool || !delayed || !fdb || !sw->buffers || !sw->frames) {
		free(pool);
		free(delayed);
		free(fdb);
		return false;
	}
	nd_pool_init(&sw->pool, pool, count, sizeof(struct nd_packet));
	nd_heap_init(&sw->delayed, delayed, count);
	nd_fdb_init(&sw->fdb, fdb, config->fdb_max, config->fdb_aging, nd_mix64(config->seed));
	return true;
}

struct nd_switch *nd_switch_new(const struct nd_switch_config *config, struct nd_error *error)
{
	struct nd_switch *sw;

	if (check_config(config, error) < 0)
		return NULL;
	sw = zeroed(sizeof(*sw));
	if (!sw) {
		nd_error_set(error, -ENOMEM, "switch %s: no memory", config->name);
		return NULL;
	}
	sw->config = *config;
	strcpy(sw->name, config->name);
	sw->config.name = sw->name;
	if (!allocate(sw)) {
		nd_error_set(error, -ENOMEM,
			     "switch %s: no memory for %u buffers of %u bytes; lower packets_max",
			     config->name, config->packets_max, config->frame_bytes_max);
		free(sw->buffers);
		free(sw->frames);
		free(sw);
		return NULL;
	}
	return sw;
}

void nd_switch_free(struct nd_switch *sw)
{
	for (uint32_t i = 0; i < sw->port_count; i++) {
		if (sw->ports[i].port)
			nd_switch_remove_port(sw, i);
	}
	free(sw->pool.items);
	free(sw->delayed.items);
	free(sw->fdb.map.slots);
	free(sw->buffers);
	free(sw->frames);
	free(sw);
}

static uint32_t free_slot(struct nd_switch *sw)
{
	for (uint32_t i = 0; i < sw->port_count; i++) {
		if (!sw->ports[i].port)
			return i;
	}
	return sw->port_count < ND_SWITCH_PORTS_MAX ? sw->port_count++ : ND_NONE;
}

static int check_port(const struct nd_switch *sw, const struct nd_switch_port_config *config,
		      struct nd_error *error)
{
	const char *why;

	if (config->port->frame_bytes_max > sw->config.frame_bytes_max)
		return nd_error_set(error, -EMSGSIZE,
				    "port %s: frames of up to %u bytes do not fit in buffers of %u; "
				    "lower its MTU or raise the switch's frame size",
				    config->port->name, config->port->frame_bytes_max,
				    sw->config.frame_bytes_max);
	if (config->discipline->check(config->discipline_config, &why) < 0)
		return nd_error_set(error, -EINVAL, "port %s: %s", config->port->name, why);
	return 0;
}

int nd_switch_add_port(struct nd_switch *sw, const struct nd_switch_port_config *config,
		       struct nd_error *error)
{
	struct nd_switch_port *port;
	struct nd_queue *queue;
	uint32_t index;
	int status = check_port(sw, config, error);

	if (status < 0)
		return status;
	index = free_slot(sw);
	if (index == ND_NONE)
		return nd_error_set(error, -ENOSPC, "switch %s has all of its %u ports", sw->name,
				    ND_SWITCH_PORTS_MAX);
	queue = zeroed(config->discipline->bytes(config->discipline_config));
	if (!queue)
		return nd_error_set(error, -ENOMEM, "port %s: no memory", config->port->name);
	port = &sw->ports[index];
	*port = (struct nd_switch_port){
		.trim = config->trim, .up = true, .off_tree = config->off_tree,
	};
	status = nd_egress_init(&port->egress, queue, config->rate_bps, config->catch_up);
	if (status < 0) {
		free(queue);
		return nd_error_set(error, status,
				    "port %s: rate %llu bit/s is not 1 Mbit/s to 400 Gbit/s",
				    config->port->name, (unsigned long long)config->rate_bps);
	}
	config->discipline->init(queue, &sw->pool, config->discipline_config,
				 &port->queue_counters, nd_mix64(sw->config.seed + index));
	queue->ops = config->discipline;
	nd_faults_init(&port->faults, &config->faults, nd_mix64(sw->config.seed ^ ~(uint64_t)index));
	port->port = config->port;
	return (int)index;
}

static void drop(struct nd_switch *sw, uint32_t index, uint64_t *counter)
{
	(*counter)++;
	nd_pool_put(&sw->pool, index);
}

void nd_switch_remove_port(struct nd_switch *sw, uint32_t index)
{
	struct nd_switch_port *port = &sw->ports[index];
	struct nd_queue *queue = port->egress.queue;
	uint32_t left;

	nd_switch_set_link(sw, index, false);
	queue->blocked = 0;
	while ((left = nd_queue_dequeue(queue, ND_NEVER)) != ND_NONE)
		drop(sw, left, &sw->counters.dropped_removed);
	nd_port_close(port->port);
	port->port = NULL;
	free(queue);
	port->egress.queue = NULL;
}

int nd_switch_add_group(struct nd_switch *sw, enum nd_ecmp_mode mode, const uint16_t *ports,
			uint32_t count, uint32_t divisor)
{
	struct nd_ecmp *group = &sw->groups[sw->group_count];
	int status;

	if (sw->group_count == ND_SWITCH_GROUPS_MAX)
		return -ENOSPC;
	for (uint32_t i = 0; i < count; i++) {
		if (ports[i] >= sw->port_count)
			return -ENODEV;
	}
	status = nd_ecmp_init(group, mode, ports, count,
			      nd_mix64(sw->config.seed + 0x65636d70 + sw->group_count));
	if (status < 0)
		return status;
	nd_ecmp_set_divisor(group, nd_max_u32(divisor, 1));
	return (int)sw->group_count++;
}

int nd_switch_set_address(struct nd_switch *sw, const uint8_t mac[6], uint16_t to)
{
	uint32_t limit = to & ND_SWITCH_GROUP ? sw->group_count : sw->port_count;

	if ((to & ~ND_SWITCH_GROUP) >= limit)
		return -ENODEV;
	return nd_fdb_set(&sw->fdb, nd_fdb_key(mac, 0), to);
}

void nd_switch_set_link(struct nd_switch *sw, uint32_t index, bool up)
{
	sw->ports[index].up = up;
	for (uint32_t i = 0; i < sw->group_count; i++)
		nd_ecmp_set_live(&sw->groups[i], (uint16_t)index, up);
	if (!up)
		nd_fdb_flush_port(&sw->fdb, (uint16_t)index);
}

/* A buffer with the frame in it, decoded; ND_NONE when it was dropped. */
static uint32_t take_in(struct nd_switch *sw, uint32_t ingress, const struct nd_frame *frame)
{
	struct nd_packet *packet;
	uint32_t index;

	if (frame->bytes > sw->config.frame_bytes_max) {
		sw->counters.dropped_oversize++;
		return ND_NONE;
	}
	index = nd_pool_get(&sw->pool);
	if (index == ND_NONE) {
		sw->counters.dropped_no_buffer++;
		return ND_NONE;
	}
	sw->counters.accepted++;
	packet = nd_pool_at(&sw->pool, index);
	memcpy(nd_switch_frame(sw, index), frame->data, frame->bytes);
	nd_wire_count(&sw->wire_counters,
		      nd_frame_decode(&sw->config.frame, nd_switch_frame(sw, index), frame->bytes,
				      NULL, packet));
	sw->buffers[index] = (struct nd_switch_buffer){
		.bytes = (uint16_t)frame->bytes,
		.ingress = (uint16_t)ingress,
		.marks = packet->marks,
	};
	return index;
}

static void hold(struct nd_switch *sw, uint32_t index, nd_ns due, nd_ns now)
{
	if (due <= now)
		nd_switch_dispatch(sw, index, now);
	else
		nd_heap_set(&sw->delayed, index, due);
}

/* Takes in a frame that the fault injector may lose, spoil, double or delay. */
static void take_in_faulty(struct nd_switch *sw, uint32_t ingress, const struct nd_frame *frame,
			   nd_ns now)
{
	struct nd_fault fault = nd_faults_draw(&sw->ports[ingress].faults, frame->bytes, now);

	if (fault.corrupt_bit != ND_NONE)
		frame->data[fault.corrupt_bit / 8] ^= (uint8_t)(1 << fault.corrupt_bit % 8);
	for (unsigned copy = 0; copy < nd_max_u32(fault.copies, 1); copy++) {
		uint32_t index = take_in(sw, ingress, frame);

		if (index == ND_NONE)
			continue;
		if (fault.copies == 0)
			drop(sw, index, &sw->counters.dropped_faults);
		else
			hold(sw, index, fault.due, now);
	}
}

static uint32_t receive(struct nd_switch *sw, uint32_t ingress, nd_ns now)
{
	struct nd_switch_port *port = &sw->ports[ingress];
	struct nd_frame frames[RECEIVE_BATCH];
	uint32_t count = nd_port_receive(port->port, frames, RECEIVE_BATCH);
	bool faulty = !nd_faults_off(&port->faults);

	for (uint32_t i = 0; i < count; i++) {
		uint32_t index;

		if (faulty) {
			take_in_faulty(sw, ingress, &frames[i], now);
			continue;
		}
		index = take_in(sw, ingress, &frames[i]);
		if (index != ND_NONE)
			nd_switch_dispatch(sw, index, now);
	}
	if (count)
		nd_port_release(port->port);
	port->rx_frames += count;
	return count;
}

static void release_delayed(struct nd_switch *sw, nd_ns now)
{
	while (nd_heap_key(&sw->delayed) <= now) {
		uint32_t index = nd_heap_id(&sw->delayed);

		nd_heap_remove(&sw->delayed, index);
		nd_switch_dispatch(sw, index, now);
	}
}

uint32_t nd_switch_round(struct nd_switch *sw, nd_ns now)
{
	uint32_t moved = 0;

	if (now - sw->fdb_checked >= FDB_CHECK_NS) {
		nd_fdb_age(&sw->fdb, now);
		sw->fdb_checked = now;
	}
	release_delayed(sw, now);
	for (uint32_t i = 0; i < sw->port_count; i++) {
		if (sw->ports[i].port)
			moved += receive(sw, i, now);
	}
	for (uint32_t i = 0; i < sw->port_count; i++) {
		if (sw->ports[i].port)
			moved += nd_switch_transmit(sw, i, now);
	}
	return moved;
}

nd_ns nd_switch_deadline(const struct nd_switch *sw)
{
	nd_ns deadline = nd_heap_key(&sw->delayed);

	for (uint32_t i = 0; i < sw->port_count; i++) {
		if (sw->ports[i].port)
			deadline = nd_min_u64(deadline,
					      nd_egress_deadline(&sw->ports[i].egress));
	}
	return deadline;
}

void nd_switch_check(struct nd_switch *sw, nd_ns now)
{
	struct nd_error error;

	for (uint32_t i = 0; i < sw->port_count; i++) {
		struct nd_switch_port *port = &sw->ports[i];
		bool up;

		if (!port->port)
			continue;
		up = nd_port_check(port->port, now, &error) == ND_PORT_UP;
		if (up != port->up)
			nd_switch_set_link(sw, i, up);
	}
}

const char *nd_switch_audit(const struct nd_switch *sw)
{
	const struct nd_switch_counters *c = &sw->counters;
	uint64_t dropped = c->dropped_malformed + c->dropped_unknown + c->dropped_no_path +
			   c->dropped_hairpin + c->dropped_faults + c->dropped_queue +
			   c->dropped_bounce + c->dropped_trim + c->dropped_off_tree +
			   c->dropped_removed;
	uint32_t queued = sw->delayed.count;

	if (!nd_pool_check(&sw->pool))
		return "the buffer pool is broken";
	for (uint32_t i = 0; i < sw->port_count; i++) {
		const struct nd_queue *queue = sw->ports[i].egress.queue;
		const char *wrong = queue ? nd_queue_audit(queue) : NULL;

		if (wrong)
			return wrong;
		queued += queue ? queue->packets : 0;
	}
	if (queued != sw->pool.used)
		return "a buffer is neither queued nor delayed nor free";
	if (c->accepted + c->replicated != c->sent + dropped + sw->pool.used)
		return "a frame was accepted and neither sent nor dropped with a reason";
	return NULL;
}
