// SPDX-License-Identifier: Apache-2.0
/* The switch as a router: which frames are for it, and what it makes of them. */
#include "switch/switch.h"

#include <string.h>

#include "wire/layout.h"

#define IPV4_HOP_LIMIT_AT 8u
#define IPV6_HOP_LIMIT_AT 7u

/* One hop fewer; false when there was only this one. */
static bool count_hop(uint8_t *ip, uint8_t version)
{
	uint8_t *limit = ip + (version == 4 ? IPV4_HOP_LIMIT_AT : IPV6_HOP_LIMIT_AT);
	uint16_t before, after;

	if (*limit <= 1)
		return false;
	memcpy(&before, limit, sizeof(before));
	(*limit)--;
	memcpy(&after, limit, sizeof(after));
	if (version == 4)
		nd_checksum_update(ip + ND_IPV4_CHECKSUM_AT, before, after);
	return true;
}

static const struct nd_route *route_of(const struct nd_switch *sw, const uint8_t *ip,
				       uint8_t version)
{
	static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };
	uint8_t address[16];

	if (version == 6)
		return nd_routes_lookup(&sw->routes, nd_ip_target(ip, 6));
	memcpy(address, mapped, sizeof(mapped));
	memcpy(address + 12, nd_ip_target(ip, 4), 4);
	return nd_routes_lookup(&sw->routes, address);
}

uint32_t nd_switch_route(struct nd_switch *sw, uint32_t index, uint64_t **why)
{
	const struct nd_switch_buffer *buffer = &sw->buffers[index];
	struct nd_switch_counters *counters = &sw->ports[buffer->ingress].counters;
	uint8_t *frame = nd_switch_frame(sw, index);
	const struct nd_route *route;
	struct nd_layout layout;
	const uint8_t *mac;
	uint32_t port;

	nd_layout_read(&sw->config.frame, frame, buffer->bytes, &layout);
	*why = &counters->dropped_no_route;
	route = layout.ip.version ? route_of(sw, frame + layout.ip_at, layout.ip.version) : NULL;
	if (!route)
		return ND_NONE;
	*why = &counters->dropped_no_path;
	port = nd_switch_resolve(sw, route->to, index);
	if (port == ND_NONE)
		return ND_NONE;
	*why = &counters->dropped_no_neighbour;
	mac = nd_route_mac(route, port);
	if (!mac)
		return ND_NONE;
	*why = &counters->dropped_hop_limit;
	if (!count_hop(frame + layout.ip_at, layout.ip.version))
		return ND_NONE;
	memcpy(frame + ND_ETH_TARGET_AT, mac, ND_ETH_ADDRESS_BYTES);
	memcpy(frame + ND_ETH_SOURCE_AT, sw->ports[port].mac, ND_ETH_ADDRESS_BYTES);
	counters->routed++;
	return port;
}
