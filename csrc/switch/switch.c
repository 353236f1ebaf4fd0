// SPDX-License-Identifier: Apache-2.0
/* Making a switch, where its addresses lead, and one round of its work. */
#include "switch/switch.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

ND_COUNTERS_TABLE(nd_switch_counters, "switch", ND_SWITCH_COUNTERS);

#define FDB_CHECK_NS (100 * ND_MSEC)

/* What an input may bring in before the next has its turn: a full frame. */
#define TURN_BYTES 1514u

static size_t round_up_64(size_t bytes)
{
	return (bytes + 63) & ~(size_t)63;
}

void *nd_switch_zeroed(size_t bytes)
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
	if (config->routes_max > 1u << 20)
		return nd_error_set(error, -EINVAL, "switch %s: routes_max is %u, not 0 to 1048576",
				    config->name, config->routes_max);
	if (nd_frame_config_check(&config->frame, &why) < 0)
		return nd_error_set(error, -EINVAL, "switch %s: %s", config->name, why);
	return 0;
}

static bool allocate(struct nd_switch *sw)
{
	const struct nd_switch_config *config = &sw->config;
	uint32_t count = config->packets_max;
	void *pool = nd_switch_zeroed(nd_pool_bytes(count, sizeof(struct nd_packet)));
	void *delayed = nd_switch_zeroed(nd_heap_bytes(count));
	void *fdb = nd_switch_zeroed(nd_fdb_bytes(config->fdb_max));
	void *routes = nd_switch_zeroed(nd_routes_bytes(config->routes_max));

	sw->buffers = nd_switch_zeroed(count * sizeof(*sw->buffers));
	sw->frames = nd_switch_zeroed((size_t)count * config->frame_bytes_max);
	if (!pool || !delayed || !fdb || !routes || !sw->buffers || !sw->frames) {
		free(pool);
		free(delayed);
		free(fdb);
		free(routes);
		return false;
	}
	nd_pool_init(&sw->pool, pool, count, sizeof(struct nd_packet));
	nd_heap_init(&sw->delayed, delayed, count);
	nd_fdb_init(&sw->fdb, fdb, config->fdb_max, config->fdb_aging, nd_mix64(config->seed));
	nd_routes_init(&sw->routes, routes, config->routes_max, nd_mix64(config->seed + 1));
	return true;
}

struct nd_switch *nd_switch_new(const struct nd_switch_config *config, struct nd_error *error)
{
	struct nd_switch *sw;

	if (check_config(config, error) < 0)
		return NULL;
	sw = nd_switch_zeroed(sizeof(*sw));
	if (!sw) {
		nd_error_set(error, -ENOMEM, "switch %s: no memory", config->name);
		return NULL;
	}
	sw->config = *config;
	strcpy(sw->name, config->name);
	sw->config.name = sw->name;
	sw->events_fd = -1;
	sw->flush_at = ND_NEVER;
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
		if (sw->ports[i].used)
			nd_switch_remove_port(sw, i);
	}
	free(sw->pool.items);
	free(sw->delayed.items);
	free(sw->fdb.map.slots);
	free(sw->routes.fib.map.slots);
	free(sw->buffers);
	free(sw->frames);
	free(sw);
}

/* Whether an entry of the forwarding tables may lead there. */
static bool exists(const struct nd_switch *sw, uint16_t to)
{
	uint32_t index = to & ~ND_SWITCH_GROUP;

	if (to & ND_SWITCH_GROUP)
		return index < ND_SWITCH_GROUPS_MAX && sw->groups[index].members > 0;
	return index < sw->port_count && sw->ports[index].used;
}

int nd_switch_set_group(struct nd_switch *sw, uint32_t index, enum nd_ecmp_mode mode,
			const uint16_t *ports, uint32_t count, uint32_t divisor)
{
	struct nd_ecmp group;
	int status;

	if (index >= ND_SWITCH_GROUPS_MAX)
		return -ENODEV;
	for (uint32_t i = 0; i < count; i++) {
		if (ports[i] & ND_SWITCH_GROUP || !exists(sw, ports[i]))
			return -ENODEV;
	}
	status = nd_ecmp_init(&group, mode, ports, count,
			      nd_mix64(sw->config.seed + 0x65636d70 + index));
	if (status < 0)
		return status;
	nd_ecmp_set_divisor(&group, nd_max_u32(divisor, 1));
	for (uint32_t i = 0; i < count; i++)
		nd_ecmp_set_live(&group, ports[i], sw->ports[ports[i]].up);
	sw->groups[index] = group;
	return 0;
}

int nd_switch_add_group(struct nd_switch *sw, enum nd_ecmp_mode mode, const uint16_t *ports,
			uint32_t count, uint32_t divisor)
{
	for (uint32_t i = 0; i < ND_SWITCH_GROUPS_MAX; i++) {
		int status;

		if (sw->groups[i].members > 0)
			continue;
		status = nd_switch_set_group(sw, i, mode, ports, count, divisor);
		return status < 0 ? status : (int)i;
	}
	return -ENOSPC;
}

void nd_switch_forget(struct nd_switch *sw, uint16_t to)
{
	nd_fdb_forget(&sw->fdb, to);
	nd_routes_forget(&sw->routes, to);
	for (uint32_t i = 0; i < ND_SWITCH_GROUPS_MAX && !(to & ND_SWITCH_GROUP); i++)
		nd_ecmp_forget(&sw->groups[i], to);
}

int nd_switch_remove_group(struct nd_switch *sw, uint32_t group)
{
	uint16_t to = (uint16_t)(ND_SWITCH_GROUP | group);

	if (group >= ND_SWITCH_GROUPS_MAX || !exists(sw, to))
		return -ENODEV;
	nd_switch_forget(sw, to);
	sw->groups[group].members = 0;
	return 0;
}

int nd_switch_set_address(struct nd_switch *sw, uint64_t key, uint16_t to)
{
	return exists(sw, to) ? nd_fdb_set(&sw->fdb, key, to) : -ENODEV;
}

int nd_switch_set_route(struct nd_switch *sw, const uint8_t prefix[16], uint8_t length,
			const struct nd_route *route)
{
	if (!exists(sw, route->to) || route->count > ND_ECMP_MEMBERS_MAX)
		return -ENODEV;
	if (sw->routes.limit == 0)
		return -EOPNOTSUPP;
	return nd_routes_set(&sw->routes, prefix, length, route);
}

/* A buffer with the frame in it, decoded; ND_NONE when it was dropped. */
static uint32_t take_in(struct nd_switch *sw, uint32_t ingress, const struct nd_frame *frame)
{
	struct nd_switch_counters *counters = &sw->ports[ingress].counters;
	struct nd_packet *packet;
	uint32_t index;

	if (ND_UNLIKELY(frame->bytes > sw->config.frame_bytes_max)) {
		nd_switch_count_drop(sw, &counters->dropped_oversize);
		return ND_NONE;
	}
	index = nd_pool_get(&sw->pool);
	if (ND_UNLIKELY(index == ND_NONE)) {
		nd_switch_count_drop(sw, &counters->dropped_no_buffer);
		return ND_NONE;
	}
	counters->accepted++;
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
	if (due <= now) {
		nd_switch_dispatch(sw, index, now);
		return;
	}
	nd_heap_set(&sw->delayed, index, due);
	sw->fate = ND_MIRROR_DELAYED;
}

/* Takes in a frame that the fault injector may lose, spoil, double or delay. */
static void take_in_faulty(struct nd_switch *sw, uint32_t ingress, const struct nd_frame *frame,
			   nd_ns now)
{
	struct nd_switch_port *port = &sw->ports[ingress];
	struct nd_fault fault = nd_faults_draw(&port->faults, frame->bytes, now);

	if (fault.corrupt_bit != ND_NONE)
		frame->data[fault.corrupt_bit / 8] ^= (uint8_t)(1 << fault.corrupt_bit % 8);
	for (unsigned copy = 0; copy < nd_max_u32(fault.copies, 1); copy++) {
		uint32_t index = take_in(sw, ingress, frame);

		if (index == ND_NONE)
			continue;
		if (fault.copies == 0)
			nd_switch_drop(sw, index, &port->counters.dropped_faults);
		else
			hold(sw, index, fault.due, now);
	}
}

static void take_in_one(struct nd_switch *sw, uint32_t ingress, const struct nd_frame *frame,
			nd_ns now)
{
	uint32_t index;

	if (ND_UNLIKELY(!nd_faults_off(&sw->ports[ingress].faults))) {
		take_in_faulty(sw, ingress, frame, now);
		return;
	}
	index = take_in(sw, ingress, frame);
	if (index != ND_NONE)
		nd_switch_dispatch(sw, index, now);
}

static void take_in_next(struct nd_switch *sw, uint32_t ingress, nd_ns now)
{
	struct nd_switch_intake *intake = &sw->ports[ingress].intake;
	const struct nd_frame *frame = &intake->frames[intake->next++];
	struct nd_mirror_frame *copies[ND_SWITCH_MIRRORS_MAX];

	if (intake->next < intake->count)
		__builtin_prefetch(intake->frames[intake->next].data);
	if (ND_LIKELY(!(sw->mirrored_rx >> ingress & 1))) {
		take_in_one(sw, ingress, frame, now);
		return;
	}
	nd_switch_mirror_rx(sw, ingress, copies, frame->data, frame->bytes);
	take_in_one(sw, ingress, frame, now);
	nd_switch_mirror_fate(sw, ingress, copies, now);
}

/* What one turn of an input brings in. True when it has more. */
static bool take_turn(struct nd_switch *sw, uint32_t ingress, nd_ns now)
{
	struct nd_switch_intake *intake = &sw->ports[ingress].intake;

	if (intake->next == intake->count)
		return false;
	intake->credit += TURN_BYTES;
	while (intake->next < intake->count) {
		uint32_t bytes = intake->frames[intake->next].bytes;

		if (bytes > intake->credit)
			return true;
		intake->credit -= bytes;
		take_in_next(sw, ingress, now);
	}
	intake->credit = 0;
	return false;
}

static uint32_t receive(struct nd_switch_port *port)
{
	struct nd_switch_intake *intake = &port->intake;

	intake->next = 0;
	intake->count = port->port ? nd_port_receive(port->port, intake->frames, ND_SWITCH_BATCH) :
				     0;
	if (ND_UNLIKELY(!port->enabled)) {
		port->counters.dropped_disabled += intake->count;
		intake->next = intake->count;
	}
	return intake->count;
}

/* R-NSW-12: deficit round robin over the inputs, beginning with another one each round. */
static uint32_t take_in_all(struct nd_switch *sw, nd_ns now)
{
	uint32_t count = sw->port_count;
	uint32_t taken = 0;
	bool more = true;

	for (uint32_t i = 0; i < count; i++)
		taken += receive(&sw->ports[i]);
	if (taken == 0)
		return 0;
	sw->turn = sw->turn + 1 < count ? sw->turn + 1 : 0;
	while (more) {
		more = false;
		for (uint32_t i = sw->turn; i < count; i++)
			more |= take_turn(sw, i, now);
		for (uint32_t i = 0; i < sw->turn; i++)
			more |= take_turn(sw, i, now);
	}
	for (uint32_t i = 0; i < count; i++) {
		if (sw->ports[i].intake.count)
			nd_port_release(sw->ports[i].port);
	}
	return taken;
}

static void release_delayed(struct nd_switch *sw, nd_ns now)
{
	while (nd_heap_key(&sw->delayed) <= now) {
		uint32_t index = nd_heap_id(&sw->delayed);

		nd_heap_remove(&sw->delayed, index);
		nd_switch_dispatch(sw, index, now);
	}
}

/* Sends what may be sent, and tells the links. */
static uint32_t send_all(struct nd_switch *sw, nd_ns now)
{
	uint32_t sent = 0;

	sw->flush_at = ND_NEVER;
	for (uint32_t i = 0; i < sw->port_count; i++) {
		struct nd_switch_port *port = &sw->ports[i];

		if (!port->port)
			continue;
		sent += nd_switch_transmit(sw, i, now);
		if (port->unflushed && nd_port_flush(port->port) == 0)
			port->unflushed = false;
		if (ND_UNLIKELY(port->unflushed))
			sw->flush_at = now + ND_SWITCH_AGAIN_NS;
	}
	return sent;
}

uint32_t nd_switch_round(struct nd_switch *sw, nd_ns now)
{
	uint32_t taken;

	if (now - sw->fdb_checked >= FDB_CHECK_NS) {
		nd_fdb_age(&sw->fdb, now);
		sw->fdb_checked = now;
	}
	if (sw->looked == 0)
		sw->looked = now;
	release_delayed(sw, now);
	taken = take_in_all(sw, now);
	sw->looked = now;
	return taken + send_all(sw, now);
}

nd_ns nd_switch_deadline(const struct nd_switch *sw)
{
	nd_ns deadline = nd_min_u64(nd_heap_key(&sw->delayed), sw->flush_at);

	for (uint32_t i = 0; i < sw->port_count; i++) {
		const struct nd_switch_port *port = &sw->ports[i];

		if (port->port)
			deadline = nd_min_u64(deadline,
					      nd_max_u64(nd_egress_deadline(&port->egress),
							 port->full_until));
	}
	return deadline;
}

struct nd_switch_counters nd_switch_counters(const struct nd_switch *sw)
{
	struct nd_switch_counters sum = sw->removed;

	for (uint32_t i = 0; i < sw->port_count; i++) {
		if (sw->ports[i].used)
			nd_counters_add(&nd_switch_counters_table, &sum, &sw->ports[i].counters);
	}
	return sum;
}

const char *nd_switch_audit(const struct nd_switch *sw)
{
	const struct nd_switch_counters c = nd_switch_counters(sw);
	uint64_t dropped = c.dropped_malformed + c.dropped_unknown + c.dropped_no_path +
			   c.dropped_no_route + c.dropped_no_neighbour + c.dropped_hop_limit +
			   c.dropped_hairpin + c.dropped_faults + c.dropped_queue +
			   c.dropped_bounce + c.dropped_trim + c.dropped_off_tree +
			   c.dropped_removed;
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
	if (c.accepted + c.replicated != c.sent + dropped + sw->pool.used)
		return "a frame was accepted and neither sent nor dropped with a reason";
	return NULL;
}
