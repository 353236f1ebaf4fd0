// SPDX-License-Identifier: Apache-2.0
/* Where the switch hands frames to its mirrors. */
#include "switch/switch.h"

#include <errno.h>

/* Which ports any mirror wants: what the fast path looks at. */
static void sum_up(struct nd_switch *sw)
{
	sw->mirrored_rx = 0;
	sw->mirrored_tx = 0;
	for (uint32_t i = 0; i < ND_SWITCH_MIRRORS_MAX; i++) {
		if (!sw->mirrors[i])
			continue;
		sw->mirrored_rx |= sw->mirrors[i]->rx_ports;
		sw->mirrored_tx |= sw->mirrors[i]->tx_ports;
	}
}

int nd_switch_add_mirror(struct nd_switch *sw, struct nd_mirror *mirror)
{
	for (uint32_t i = 0; i < ND_SWITCH_MIRRORS_MAX; i++) {
		if (sw->mirrors[i])
			continue;
		sw->mirrors[i] = mirror;
		sum_up(sw);
		return 0;
	}
	return -ENOSPC;
}

void nd_switch_remove_mirror(struct nd_switch *sw, const struct nd_mirror *mirror)
{
	for (uint32_t i = 0; i < ND_SWITCH_MIRRORS_MAX; i++) {
		if (sw->mirrors[i] == mirror)
			sw->mirrors[i] = NULL;
	}
	sum_up(sw);
}

void nd_switch_unmirror_port(struct nd_switch *sw, uint32_t port)
{
	uint64_t others = ~(UINT64_C(1) << port);

	for (uint32_t i = 0; i < ND_SWITCH_MIRRORS_MAX; i++) {
		if (!sw->mirrors[i])
			continue;
		sw->mirrors[i]->rx_ports &= others;
		sw->mirrors[i]->tx_ports &= others;
	}
	sum_up(sw);
}

/* The counter that the last drop went to, as an index of its table. */
static uint8_t reason(const struct nd_switch *sw)
{
	size_t offset = (size_t)((const uint8_t *)sw->dropped_by - (const uint8_t *)sw->ports) %
			sizeof(sw->ports[0]);

	return (uint8_t)((offset - offsetof(struct nd_switch_port, counters)) / sizeof(uint64_t));
}

static void finish(const struct nd_switch *sw, struct nd_mirror_frame *copy, uint32_t port,
		   enum nd_pcapng_direction direction, enum nd_mirror_verdict verdict, nd_ns now)
{
	copy->time = now;
	copy->port = (uint8_t)port;
	copy->direction = (uint8_t)direction;
	copy->verdict = (uint8_t)verdict;
	if (verdict == ND_MIRROR_DROPPED && sw->dropped_by)
		copy->reason = reason(sw);
}

void nd_switch_mirror_rx(struct nd_switch *sw, uint32_t port,
			 struct nd_mirror_frame *copies[ND_SWITCH_MIRRORS_MAX],
			 const uint8_t *frame, uint32_t bytes)
{
	for (uint32_t i = 0; i < ND_SWITCH_MIRRORS_MAX; i++) {
		struct nd_mirror *mirror = sw->mirrors[i];

		copies[i] = mirror && mirror->rx_ports >> port & 1 ?
				    nd_mirror_begin(mirror, frame, bytes) :
				    NULL;
	}
}

void nd_switch_mirror_fate(struct nd_switch *sw, uint32_t port,
			   struct nd_mirror_frame *copies[ND_SWITCH_MIRRORS_MAX], nd_ns now)
{
	for (uint32_t i = 0; i < ND_SWITCH_MIRRORS_MAX; i++) {
		if (!copies[i])
			continue;
		finish(sw, copies[i], port, ND_PCAPNG_INBOUND, sw->fate, now);
		nd_mirror_end(sw->mirrors[i]);
	}
}

void nd_switch_mirror_tx(struct nd_switch *sw, uint32_t port, uint32_t index,
			 uint32_t original_bytes, enum nd_mirror_verdict verdict, nd_ns now)
{
	for (uint32_t i = 0; i < ND_SWITCH_MIRRORS_MAX; i++) {
		struct nd_mirror *mirror = sw->mirrors[i];
		struct nd_mirror_frame *copy;

		if (!mirror || !(mirror->tx_ports >> port & 1))
			continue;
		copy = nd_mirror_begin(mirror, nd_switch_frame(sw, index), sw->buffers[index].bytes);
		if (!copy)
			continue;
		copy->original_bytes = original_bytes;
		finish(sw, copy, port, ND_PCAPNG_OUTBOUND, verdict, now);
		nd_mirror_end(mirror);
	}
}
