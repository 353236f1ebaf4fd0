// SPDX-License-Identifier: Apache-2.0
/* Where a frame goes, what its queue says to it, and how it leaves. */
#include "switch/switch.h"

#include <string.h>

#include "switch/flow.h"

#define TRANSMIT_BATCH 32u

/* A queue of so many is served before the next is put into it, if its link has time: fewer than
 * the shortest data queue in use (8), and enough to be worth a call. */
#define SERVE_EARLY_PACKETS 4u

static struct nd_packet *packet_at(const struct nd_switch *sw, uint32_t index)
{
	return nd_pool_at(&sw->pool, index);
}

static void drop_list(struct nd_switch *sw, uint32_t port, uint32_t index, nd_ns now)
{
	uint64_t *counter = &sw->ports[port].counters.dropped_queue;

	while (index != ND_NONE) {
		uint32_t next = packet_at(sw, index)->next;

		sw->dropped_by = counter;
		if (sw->mirrored_tx >> port & 1)
			nd_switch_mirror_tx(sw, port, index, sw->buffers[index].bytes,
					    ND_MIRROR_DROPPED, now);
		nd_switch_drop(sw, index, counter);
		index = next;
	}
}

/* Turns the bytes of returned headers around and sends them the way that their address says. */
static void return_list(struct nd_switch *sw, uint32_t port, uint32_t index, nd_ns now)
{
	struct nd_switch_counters *counters = &sw->ports[port].counters;

	while (index != ND_NONE) {
		struct nd_packet *packet = packet_at(sw, index);
		uint32_t next = packet->next;
		struct nd_switch_buffer *buffer = &sw->buffers[index];
		uint32_t bytes = nd_frame_bounce(&sw->config.frame, nd_switch_frame(sw, index),
						 buffer->bytes, &sw->ports[port].trim);

		if (bytes == 0) {
			nd_switch_drop(sw, index, &counters->dropped_bounce);
		} else {
			*buffer = (struct nd_switch_buffer){
				.bytes = (uint16_t)bytes,
				.ingress = (uint16_t)port,
				.marks = packet->marks,
				.returned = true,
			};
			/* The headers alone, even where more stayed when it was trimmed. */
			packet->header_bytes = (uint16_t)(bytes + sw->config.frame.framing_bytes);
			packet->wire_bytes = packet->header_bytes;
			counters->bounced++;
			nd_switch_dispatch(sw, index, now);
		}
		index = next;
	}
}

void nd_switch_shed(struct nd_switch *sw, uint32_t port, const struct nd_shed *shed, nd_ns now)
{
	drop_list(sw, port, shed->dropped, now);
	/* A returned header is never returned again, so this nests once. */
	return_list(sw, port, shed->returned, now);
}

static const enum nd_mirror_verdict fates[] = {
	[ND_KEPT] = ND_MIRROR_QUEUED,
	[ND_TRIMMED] = ND_MIRROR_TRIMMED,
	[ND_DROPPED] = ND_MIRROR_DROPPED,
	[ND_RETURNED] = ND_MIRROR_RETURNED,
};

/* A port may leave more of a frame that it trims than the headers. */
static void size_trimmed(const struct nd_switch *sw, const struct nd_frame_trim *trim,
			 struct nd_packet *packet)
{
	uint32_t stays = nd_min_u32(packet->wire_bytes,
				    trim->size + sw->config.frame.framing_bytes);

	if (nd_packet_can_trim(packet))
		packet->header_bytes = (uint16_t)nd_max_u32(packet->header_bytes, stays);
}

static void enqueue(struct nd_switch *sw, uint32_t index, uint32_t packet, nd_ns now)
{
	struct nd_switch_port *port = &sw->ports[index];
	struct nd_shed shed = ND_SHED_EMPTY;
	enum nd_verdict verdict;

	if (ND_UNLIKELY(port->trim.size))
		size_trimmed(sw, &port->trim, packet_at(sw, packet));
	if (port->egress.queue->packets >= SERVE_EARLY_PACKETS)
		nd_switch_transmit(sw, index, now);
	verdict = nd_egress_put(&port->egress, packet, nd_min_u64(sw->looked, now), now, &shed);
	if (port->egress.queue->bytes > port->peaks.recent_bytes)
		nd_switch_note_peak(port);
	if (ND_UNLIKELY(shed.dropped != ND_NONE || shed.returned != ND_NONE))
		nd_switch_shed(sw, index, &shed, now);
	sw->fate = fates[verdict];
}

/* A second buffer with the same frame, or ND_NONE. */
static uint32_t copy_of(struct nd_switch *sw, uint32_t index)
{
	struct nd_switch_counters *counters = &sw->ports[sw->buffers[index].ingress].counters;
	uint32_t copy = nd_pool_get(&sw->pool);

	if (copy == ND_NONE) {
		counters->dropped_no_buffer++;
		return ND_NONE;
	}
	counters->replicated++;
	*packet_at(sw, copy) = *packet_at(sw, index);
	sw->buffers[copy] = sw->buffers[index];
	memcpy(nd_switch_frame(sw, copy), nd_switch_frame(sw, index), sw->buffers[index].bytes);
	return copy;
}

/* To all ports of the tree that are up but the one it came from. Never trimmed or returned. */
static void flood(struct nd_switch *sw, uint32_t index, nd_ns now)
{
	uint32_t ingress = sw->buffers[index].ingress;
	struct nd_switch_counters *counters = &sw->ports[ingress].counters;
	uint32_t last = ND_NONE;

	if (sw->ports[ingress].off_tree) {
		nd_switch_drop(sw, index, &counters->dropped_off_tree);
		return;
	}
	packet_at(sw, index)->marks |= ND_MARK_FLOOD;
	sw->buffers[index].marks |= ND_MARK_FLOOD;
	counters->flooded++;
	for (uint32_t i = 0; i < sw->port_count; i++) {
		const struct nd_switch_port *port = &sw->ports[i];
		uint32_t copy;

		if (!port->up || port->off_tree || i == ingress)
			continue;
		if (last != ND_NONE) {
			copy = copy_of(sw, index);
			if (copy != ND_NONE)
				enqueue(sw, last, copy, now);
		}
		last = i;
	}
	if (last == ND_NONE)
		nd_switch_drop(sw, index, &counters->dropped_no_path);
	else
		enqueue(sw, last, index, now);
	if (last != ND_NONE)
		sw->fate = ND_MIRROR_FLOODED;
}

uint32_t nd_switch_resolve(struct nd_switch *sw, uint32_t to, uint32_t index)
{
	const struct nd_packet *packet = packet_at(sw, index);
	struct nd_ecmp *group = &sw->groups[to & ~ND_SWITCH_GROUP];
	struct nd_flow_key key;

	if (!(to & ND_SWITCH_GROUP))
		return sw->ports[to].up ? to : ND_NONE;
	if (group->mode == ND_ECMP_PATH && packet->protocol == ND_PROTO_NDP)
		return nd_ecmp_pick(group, 0, packet->path);
	if (group->mode != ND_ECMP_FLOW && group->mode != ND_ECMP_PATH)
		return nd_ecmp_pick(group, 0, ND_ECMP_NO_PATH);
	key = nd_flow_of(&sw->config.frame, nd_switch_frame(sw, index), sw->buffers[index].bytes);
	return nd_ecmp_pick(group, key.hash, key.path);
}

/* The VLAN of a frame, 0 when it has none or a tag that only carries a priority. */
static uint16_t vlan_of(const uint8_t *frame, uint32_t bytes)
{
	if (ND_LIKELY(nd_get_u16(frame + ND_ETH_TYPE_AT) != ND_ETH_TYPE_VLAN) ||
	    bytes < ND_ETH_BYTES + ND_ETH_TAG_BYTES)
		return 0;
	return nd_get_u16(frame + ND_ETH_TAG_AT) & ND_ETH_VLAN_MASK;
}

static bool is_for_router(const struct nd_switch *sw, uint32_t index)
{
	const uint8_t *target = nd_switch_frame(sw, index) + ND_ETH_TARGET_AT;

	return sw->routes.limit &&
	       memcmp(target, sw->ports[sw->buffers[index].ingress].mac, 6) == 0;
}

static void route(struct nd_switch *sw, uint32_t index, nd_ns now)
{
	uint64_t *why;
	uint32_t port = nd_switch_route(sw, index, &why);

	if (port == ND_NONE)
		nd_switch_drop(sw, index, why);
	else
		enqueue(sw, port, index, now);
}

/* By Ethernet address. */
static void bridge(struct nd_switch *sw, uint32_t index, uint16_t vlan, nd_ns now)
{
	const uint8_t *frame = nd_switch_frame(sw, index);
	const struct nd_switch_buffer *buffer = &sw->buffers[index];
	struct nd_switch_counters *counters = &sw->ports[buffer->ingress].counters;
	uint32_t to = nd_fdb_lookup(&sw->fdb, nd_fdb_key(frame + ND_ETH_TARGET_AT, vlan));
	uint32_t port;

	if (to == ND_NONE && sw->config.learning) {
		flood(sw, index, now);
		return;
	}
	if (to == ND_NONE) {
		nd_switch_drop(sw, index, &counters->dropped_unknown);
		return;
	}
	port = nd_switch_resolve(sw, to, index);
	if (port == ND_NONE)
		nd_switch_drop(sw, index, &counters->dropped_no_path);
	else if (port == buffer->ingress && !buffer->returned)
		nd_switch_drop(sw, index, &counters->dropped_hairpin);
	else
		enqueue(sw, port, index, now);
}

void nd_switch_dispatch(struct nd_switch *sw, uint32_t index, nd_ns now)
{
	const uint8_t *frame = nd_switch_frame(sw, index);
	const struct nd_switch_buffer *buffer = &sw->buffers[index];
	uint16_t vlan;

	if (ND_UNLIKELY(buffer->bytes < ND_ETH_BYTES)) {
		nd_switch_drop(sw, index, &sw->ports[buffer->ingress].counters.dropped_malformed);
		return;
	}
	vlan = vlan_of(frame, buffer->bytes);
	if (sw->config.learning && !buffer->returned)
		nd_fdb_learn(&sw->fdb, nd_fdb_key(frame + ND_ETH_SOURCE_AT, vlan),
			     buffer->ingress, now);
	if (nd_eth_is_group(frame + ND_ETH_TARGET_AT))
		flood(sw, index, now);
	else if (is_for_router(sw, index))
		route(sw, index, now);
	else
		bridge(sw, index, vlan, now);
}

/* Makes the bytes say what the discipline decided. False when they cannot. */
static bool finish(struct nd_switch *sw, const struct nd_switch_port *port, uint32_t index)
{
	struct nd_switch_buffer *buffer = &sw->buffers[index];
	uint8_t *frame = nd_switch_frame(sw, index);
	unsigned added = packet_at(sw, index)->marks & (unsigned)~buffer->marks;

	if (added & ND_MARK_TRIMMED) {
		uint32_t bytes = nd_frame_trim(&sw->config.frame, frame, buffer->bytes, &port->trim);

		if (bytes == 0)
			return false;
		buffer->bytes = (uint16_t)bytes;
	}
	if (added & ND_MARK_CE)
		nd_frame_set_ce(frame, buffer->bytes);
	return true;
}

/* A copy of a frame that leaves: as it is now, with the length that it had. */
static void mirror_leaving(struct nd_switch *sw, uint32_t port, uint32_t index, uint32_t arrived,
			   nd_ns now)
{
	const struct nd_packet *packet = packet_at(sw, index);
	const struct nd_switch_buffer *buffer = &sw->buffers[index];
	unsigned added = packet->marks & (unsigned)~buffer->marks;
	enum nd_mirror_verdict verdict = ND_MIRROR_SENT;

	if (added & ND_MARK_TRIMMED)
		verdict = ND_MIRROR_TRIMMED;
	else if (added & ND_MARK_CE)
		verdict = ND_MIRROR_SENT_MARKED;
	if (buffer->marks & ND_MARK_TRIMMED)
		arrived += packet->payload_bytes; /* cut before it came here */
	nd_switch_mirror_tx(sw, port, index, arrived, verdict, now);
}

/*
 * Copies the next frames that the link has time for into blanks; returns how many. Of one that is
 * too long for this link, only what fits: the port drops it by its length, and counts it.
 */
static uint32_t fill(struct nd_switch *sw, uint32_t number, struct nd_frame *blanks, uint32_t room,
		     nd_ns now)
{
	struct nd_switch_port *port = &sw->ports[number];
	uint32_t count = 0;

	while (count < room) {
		uint32_t index = nd_egress_take(&port->egress, now);
		uint32_t arrived;

		if (index == ND_NONE)
			break;
		arrived = sw->buffers[index].bytes;
		if (!finish(sw, port, index)) {
			nd_switch_drop(sw, index, &port->counters.dropped_trim);
			continue;
		}
		if (ND_UNLIKELY(sw->mirrored_tx >> number & 1))
			mirror_leaving(sw, number, index, arrived, now);
		blanks[count].bytes = sw->buffers[index].bytes;
		memcpy(blanks[count].data, nd_switch_frame(sw, index),
		       nd_min_u32(blanks[count].bytes, blanks[count].room));
		nd_pool_put(&sw->pool, index);
		count++;
	}
	port->counters.sent += count;
	return count;
}

uint32_t nd_switch_transmit(struct nd_switch *sw, uint32_t index, nd_ns now)
{
	struct nd_switch_port *port = &sw->ports[index];
	struct nd_frame blanks[TRANSMIT_BATCH];
	uint32_t room;
	uint32_t count;

	if (nd_egress_deadline(&port->egress) > now || !port->port)
		return 0;
	room = nd_port_reserve(port->port, blanks,
			       nd_min_u32(TRANSMIT_BATCH, port->egress.queue->packets));
	if (room == 0) {
		port->full_until = now + ND_SWITCH_AGAIN_NS;
		return 0;
	}
	count = fill(sw, index, blanks, room, now);
	nd_port_commit(port->port, blanks, count);
	port->unflushed = true;
	return count;
}
