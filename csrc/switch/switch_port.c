// SPDX-License-Identifier: Apache-2.0
/* Ports of a switch come, change, go down and go. */
#include "switch/switch.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- what is done before the change ---- */

static uint32_t free_slot(const struct nd_switch *sw)
{
	for (uint32_t i = 0; i < ND_SWITCH_PORTS_MAX; i++) {
		if (!sw->ports[i].used)
			return i;
	}
	return ND_NONE;
}

static int check_settings(const char *name, const struct nd_switch_port_settings *settings,
			  struct nd_error *error)
{
	struct nd_egress egress;
	const char *why;

	if (settings->discipline &&
	    settings->discipline->check(settings->discipline_config, &why) < 0)
		return nd_error_set(error, -EINVAL, "port %s: %s: %s", name,
				    settings->discipline->name, why);
	if (nd_egress_set_rate(&egress, settings->rate_bps, settings->catch_up) < 0)
		return nd_error_set(error, -ERANGE,
				    "port %s: rate %llu bit/s is not 1 Mbit/s to 400 Gbit/s", name,
				    (unsigned long long)settings->rate_bps);
	if (settings->phantom.rate_bps && nd_phantom_check(&settings->phantom, &why) < 0)
		return nd_error_set(error, -EINVAL, "port %s: phantom: %s", name, why);
	if (settings->faults.reorder_ns_max > UINT32_MAX)
		return nd_error_set(error, -ERANGE,
				    "port %s: faults: frames are held back 4.29 s at most", name);
	return 0;
}

static int allocate_queue(const char *name, struct nd_switch_change *change,
			  struct nd_error *error)
{
	const struct nd_switch_port_settings *settings = change->settings;

	change->queue = NULL;
	if (!settings->discipline)
		return 0;
	change->queue =
		nd_switch_zeroed(settings->discipline->bytes(settings->discipline_config));
	if (!change->queue)
		return nd_error_set(error, -ENOMEM, "port %s: no memory for its queue", name);
	return 0;
}

int nd_switch_prepare_port(const struct nd_switch *sw, const struct nd_port *port,
			   const struct nd_switch_port_settings *settings,
			   struct nd_switch_change *change, struct nd_error *error)
{
	int status = check_settings(port->name, settings, error);

	if (status < 0)
		return status;
	if (!settings->discipline)
		return nd_error_set(error, -EINVAL, "port %s: it needs a discipline", port->name);
	if (port->frame_bytes_max > sw->config.frame_bytes_max)
		return nd_error_set(error, -EMSGSIZE,
				    "port %s: frames of up to %u bytes do not fit in buffers of %u; "
				    "lower its MTU or raise the switch's frame size",
				    port->name, port->frame_bytes_max,
				    sw->config.frame_bytes_max);
	*change = (struct nd_switch_change){ .index = free_slot(sw), .settings = settings };
	if (change->index == ND_NONE)
		return nd_error_set(error, -ENOSPC, "switch %s has all of its %u ports", sw->name,
				    ND_SWITCH_PORTS_MAX);
	return allocate_queue(port->name, change, error);
}

int nd_switch_prepare_settings(const struct nd_switch *sw, uint32_t index,
			       const struct nd_switch_port_settings *settings,
			       struct nd_switch_change *change, struct nd_error *error)
{
	int status;

	if (index >= ND_SWITCH_PORTS_MAX || !sw->ports[index].used)
		return nd_error_set(error, -ENODEV, "switch %s has no port %u", sw->name, index);
	status = check_settings(sw->ports[index].name, settings, error);
	if (status < 0)
		return status;
	*change = (struct nd_switch_change){ .index = index, .settings = settings };
	return allocate_queue(sw->ports[index].name, change, error);
}

/* ---- the change ---- */

static void init_queue(struct nd_switch *sw, const struct nd_switch_change *change)
{
	const struct nd_switch_port_settings *settings = change->settings;
	struct nd_switch_port *port = &sw->ports[change->index];

	settings->discipline->init(change->queue, &sw->pool, settings->discipline_config,
				   &port->queue_counters, nd_mix64(sw->config.seed + change->index));
	change->queue->ops = settings->discipline;
	port->egress.queue = change->queue;
}

static void set_phantom(struct nd_switch_port *port, const struct nd_phantom_config *config,
			nd_ns now)
{
	if (memcmp(&port->phantom_config, config, sizeof(*config)) == 0)
		return;
	port->phantom_config = *config;
	port->egress.phantom = config->rate_bps ? &port->phantom : NULL;
	if (config->rate_bps)
		nd_phantom_init(&port->phantom, &port->phantom_config, &port->phantom_counters,
				now);
}

/* The router's address on the link: as configured, else the device's. */
static void choose_mac(struct nd_switch_port *port)
{
	static const uint8_t none[6];
	bool configured = memcmp(port->router_mac, none, sizeof(none)) != 0;

	if (configured || port->port)
		memcpy(port->mac, configured ? port->router_mac : port->port->mac,
		       sizeof(port->mac));
}

/* All but the queue. */
static void set(struct nd_switch_port *port, const struct nd_switch_port_settings *settings,
		nd_ns now)
{
	int status = nd_egress_set_rate(&port->egress, settings->rate_bps, settings->catch_up);

	nd_assert(status == 0);
	port->trim = settings->trim;
	port->off_tree = settings->off_tree;
	memcpy(port->router_mac, settings->mac, sizeof(port->router_mac));
	choose_mac(port);
	nd_faults_set(&port->faults, &settings->faults);
	set_phantom(port, &settings->phantom, now);
}

/* The port's state as its users see it. */
static void set_state(struct nd_switch *sw, uint32_t index, bool enabled, enum nd_port_state state)
{
	struct nd_switch_port *port = &sw->ports[index];
	bool up = enabled && state == ND_PORT_UP;
	bool was_up = port->up;

	if (port->enabled == enabled && port->state == state)
		return;
	port->enabled = enabled;
	port->state = state;
	port->up = up;
	port->changes++;
	sw->news = true;
	if (up == was_up)
		return;
	for (uint32_t i = 0; i < ND_SWITCH_GROUPS_MAX; i++)
		nd_ecmp_set_live(&sw->groups[i], (uint16_t)index, up);
	if (!up)
		nd_fdb_flush_port(&sw->fdb, (uint16_t)index);
}

void nd_switch_insert_port(struct nd_switch *sw, const struct nd_switch_change *change,
			   struct nd_port *opened)
{
	uint32_t index = change->index;
	struct nd_switch_port *port = &sw->ports[index];

	*port = (struct nd_switch_port){ .used = true, .enabled = true, .up = true,
					 .state = ND_PORT_UP, .port = opened };
	memcpy(port->name, opened->name, sizeof(port->name));
	init_queue(sw, change);
	nd_faults_init(&port->faults, &change->settings->faults,
		       nd_mix64(sw->config.seed ^ ~(uint64_t)index));
	set(port, change->settings, 0);
	sw->port_count = nd_max_u32(sw->port_count, index + 1);
	set_state(sw, index, true, opened->down ? ND_PORT_DOWN : ND_PORT_UP);
}

/* Conservation counts a packet that moves from queue to queue once. */
static void count_as_kept(struct nd_queue_counters *counters,
			  const struct nd_queue_counters *before)
{
	counters->enqueued_packets = before->enqueued_packets;
	counters->enqueued_bytes = before->enqueued_bytes;
	counters->dequeued_packets = before->dequeued_packets;
	counters->dequeued_bytes = before->dequeued_bytes;
	counters->trimmed_arrived_packets = before->trimmed_arrived_packets;
	counters->trimmed_sent_packets = before->trimmed_sent_packets;
}

static void move_queue(struct nd_switch *sw, uint32_t index, struct nd_queue *from, nd_ns now)
{
	struct nd_switch_port *port = &sw->ports[index];

	from->blocked = 0;
	for (;;) {
		const struct nd_queue_counters before = port->queue_counters;
		struct nd_shed shed = ND_SHED_EMPTY;
		uint32_t packet = nd_queue_dequeue(from, now);

		if (packet == ND_NONE)
			break;
		nd_queue_enqueue(port->egress.queue, packet, now, &shed);
		count_as_kept(&port->queue_counters, &before);
		nd_switch_shed(sw, index, &shed, now);
	}
}

struct nd_queue *nd_switch_apply_settings(struct nd_switch *sw,
					  const struct nd_switch_change *change, nd_ns now)
{
	struct nd_switch_port *port = &sw->ports[change->index];
	struct nd_queue *old = NULL;

	set(port, change->settings, now);
	if (change->queue) {
		old = port->egress.queue;
		init_queue(sw, change);
		if (old->ops != change->settings->discipline)
			memset(port->peaks.classes, 0, sizeof(port->peaks.classes));
		move_queue(sw, change->index, old, now);
	}
	return old;
}

static void drop_queued(struct nd_switch *sw, uint32_t index)
{
	struct nd_switch_port *port = &sw->ports[index];
	uint32_t left;

	port->egress.queue->blocked = 0;
	while ((left = nd_queue_dequeue(port->egress.queue, ND_NEVER)) != ND_NONE)
		nd_switch_drop(sw, left, &port->counters.dropped_removed);
}

/* Frames from a port that the fault injector holds back. */
static void drop_delayed(struct nd_switch *sw, uint32_t ingress)
{
	for (uint32_t i = 0; i < sw->config.packets_max && sw->delayed.count; i++) {
		if (!nd_heap_has(&sw->delayed, i) || sw->buffers[i].ingress != ingress)
			continue;
		nd_heap_remove(&sw->delayed, i);
		nd_switch_drop(sw, i, &sw->ports[ingress].counters.dropped_removed);
	}
}

struct nd_port *nd_switch_swap_port(struct nd_switch *sw, uint32_t index, struct nd_port *opened)
{
	struct nd_switch_port *port = &sw->ports[index];
	struct nd_port *old = port->port;

	if (old)
		nd_counters_add(&nd_port_counters_table, &port->closed, &old->counters);
	port->port = opened;
	port->unflushed = false;
	choose_mac(port);
	port->intake.count = 0;
	set_state(sw, index, port->enabled, !opened ? ND_PORT_GONE :
					    opened->down ? ND_PORT_DOWN : ND_PORT_UP);
	if (!opened) {
		nd_error_set(&port->why, -ENODEV, "port %s: it is closed", port->name);
		drop_queued(sw, index);
	}
	return old;
}

struct nd_port *nd_switch_detach_port(struct nd_switch *sw, uint32_t index, struct nd_queue **queue)
{
	struct nd_switch_port *port = &sw->ports[index];
	struct nd_port *opened = nd_switch_swap_port(sw, index, NULL);

	nd_switch_forget(sw, (uint16_t)index);
	nd_switch_unmirror_port(sw, index);
	drop_delayed(sw, index);
	nd_counters_add(&nd_switch_counters_table, &sw->removed, &port->counters);
	*queue = port->egress.queue;
	*port = (struct nd_switch_port){ 0 };
	return opened;
}

int nd_switch_add_port(struct nd_switch *sw, struct nd_port *opened,
		       const struct nd_switch_port_settings *settings, struct nd_error *error)
{
	struct nd_switch_change change;
	int status = nd_switch_prepare_port(sw, opened, settings, &change, error);

	if (status < 0)
		return status;
	nd_switch_insert_port(sw, &change, opened);
	return (int)change.index;
}

void nd_switch_remove_port(struct nd_switch *sw, uint32_t index)
{
	struct nd_queue *queue;
	struct nd_port *opened = nd_switch_detach_port(sw, index, &queue);

	if (opened)
		nd_port_close(opened);
	free(queue);
}

void nd_switch_enable_port(struct nd_switch *sw, uint32_t index, bool enabled)
{
	set_state(sw, index, enabled, sw->ports[index].state);
}

void nd_switch_check(struct nd_switch *sw, nd_ns now)
{
	for (uint32_t i = 0; i < sw->port_count; i++) {
		struct nd_switch_port *port = &sw->ports[i];

		if (!port->port)
			continue;
		set_state(sw, i, port->enabled, nd_port_check(port->port, now, &port->why));
		nd_port_counters(port->port);
	}
}

void nd_switch_disown(struct nd_switch *sw)
{
	for (uint32_t i = 0; i < sw->port_count; i++) {
		if (sw->ports[i].port)
			nd_port_disown(sw->ports[i].port);
	}
}

/* ---- watermarks ---- */

static void note_classes(struct nd_switch_port *port)
{
	const struct nd_queue *queue = port->egress.queue;
	struct nd_switch_peaks *peaks = &port->peaks;

	for (uint32_t i = 0; queue->ops->classes[i]; i++) {
		struct nd_queue_depth depth = queue->ops->depth(queue, i);

		peaks->classes[i].packets = nd_max_u32(peaks->classes[i].packets, depth.packets);
		peaks->classes[i].bytes = nd_max_u32(peaks->classes[i].bytes, depth.bytes);
	}
}

void nd_switch_note_peak(struct nd_switch_port *port)
{
	const struct nd_queue *queue = port->egress.queue;

	port->peaks.recent_bytes = queue->bytes;
	port->peaks.bytes = nd_max_u32(port->peaks.bytes, queue->bytes);
	port->peaks.packets = nd_max_u32(port->peaks.packets, queue->packets);
	note_classes(port);
}

void nd_switch_clear_peaks(struct nd_switch *sw, uint32_t index)
{
	struct nd_switch_port *port = &sw->ports[index];

	port->peaks = (struct nd_switch_peaks){ 0 };
	nd_switch_note_peak(port);
}
