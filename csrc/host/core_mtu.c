// SPDX-License-Identifier: Apache-2.0
/* The size of packets, which follows the MTU of the interfaces while the core runs. */
#include "host/core.h"

#include "transport/homa.h"
#include "transport/ndp.h"

#include <string.h>

#define IPV6_EXTRA_BYTES 20u              /* of its header over that of IPv4 */
#define UDP_BYTES 8u

/* Less what the engines' own reckoning leaves out. */
static uint32_t engine_mtu(const struct nd_core *core, uint8_t protocol, uint32_t most)
{
	uint32_t mtu = most ? most : ND_PORT_MTU_MAX;

	for (uint32_t i = 0; i < core->config.port_count; i++)
		if (core->ports[i].port)
			mtu = nd_min_u32(mtu, core->ports[i].port->mtu);
	if (memcmp(core->peers.own[1], (uint8_t[16]){ 0 }, 16) != 0)
		mtu -= IPV6_EXTRA_BYTES;
	if (protocol == ND_PROTO_HOMA && core->frame.homa_in_udp)
		mtu -= UDP_BYTES;
	return mtu;
}

uint32_t nd_core_engine_mtu(const struct nd_core *core, uint8_t protocol)
{
	return engine_mtu(core, protocol, 0);
}

/* Message bytes of a full packet when an IP packet has so many bytes at most; 0: any. */
static uint32_t mss_below(const struct nd_core *core, uint8_t protocol, uint32_t most)
{
	uint32_t mtu = engine_mtu(core, protocol, most);

	return protocol == ND_PROTO_NDP ? nd_ndp_config_default(0, mtu).mss_bytes
					: nd_homa_config_default(0, mtu).mss_bytes;
}

uint32_t nd_core_mss_of(const struct nd_core *core, uint8_t protocol)
{
	return mss_below(core, protocol, 0);
}

/* The same, of an engine that may have been given less. */
static uint32_t mss_of_engine(const struct nd_core *core, const struct nd_core_engine *engine,
			      uint32_t most)
{
	uint32_t mss = mss_below(core, engine->ops->protocol, most);

	return engine->mss_given ? nd_min_u32(mss, engine->mss_given) : mss;
}

void nd_core_follow_mtu(struct nd_core *core, nd_ns now)
{
	for (uint32_t i = 0; i < core->engine_count; i++) {
		struct nd_core_engine *engine = &core->engines[i];
		uint32_t mss = mss_of_engine(core, engine, core->settings.mtu);
		uint32_t most = mss_of_engine(core, engine, 0);
		struct nd_command command = {
			.kind = ND_COMMAND_MSS, .bytes = mss, .message = most };

		if (mss == engine->mss && most == engine->mss_link)
			continue;
		core->counters.mtu_followed++;
		/* Refused where the MTU carries no message bytes at all: what is sent is counted. */
		if (nd_core_tell(core, i, &command, now) < 0)
			continue;
		engine->mss = mss;
		engine->mss_link = most;
	}
}
