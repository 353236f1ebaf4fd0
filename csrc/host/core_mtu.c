// SPDX-License-Identifier: Apache-2.0
/* The size of packets, which follows the MTU of the interfaces while the core runs. */
#include "host/core.h"

#include "transport/homa.h"
#include "transport/ndp.h"

#include <string.h>

#define LINK_BPS_ANY UINT64_C(1000000000) /* the packet size does not depend on it */
#define IPV6_EXTRA_BYTES 20u              /* of its header over that of IPv4 */
#define UDP_BYTES 8u

/* Less what the engines' own reckoning leaves out. */
uint32_t nd_core_engine_mtu(const struct nd_core *core, uint8_t protocol)
{
	uint32_t mtu = ND_PORT_MTU_MAX;

	for (uint32_t i = 0; i < core->config.port_count; i++)
		if (core->ports[i].port)
			mtu = nd_min_u32(mtu, core->ports[i].port->mtu);
	if (memcmp(core->peers.own[1], (uint8_t[16]){ 0 }, 16) != 0)
		mtu -= IPV6_EXTRA_BYTES;
	if (protocol == ND_PROTO_HOMA && core->frame.homa_in_udp)
		mtu -= UDP_BYTES;
	return mtu;
}

uint32_t nd_core_mss_of(const struct nd_core *core, uint8_t protocol)
{
	uint32_t mtu = nd_core_engine_mtu(core, protocol);

	return protocol == ND_PROTO_NDP ? nd_ndp_config_default(LINK_BPS_ANY, mtu).mss_bytes
					: nd_homa_config_default(LINK_BPS_ANY, mtu).mss_bytes;
}

void nd_core_set_mss(struct nd_core *core, uint32_t index, uint32_t mss, nd_ns now)
{
	struct nd_core_engine *engine = &core->engines[index];
	struct nd_command command = { .kind = ND_COMMAND_MSS, .bytes = mss };

	nd_recorder_note(core->recorder, ND_RECORD_MSS, index, mss, now);
	core->counters.mtu_followed++;
	/* Refused where the MTU carries no message bytes at all: what is sent is then counted. */
	if (engine->ops->submit(engine->endpoint, &command, now) == 0)
		engine->mss = mss;
}

void nd_core_follow_mtu(struct nd_core *core, nd_ns now)
{
	for (uint32_t i = 0; i < core->engine_count; i++) {
		const struct nd_core_engine *engine = &core->engines[i];
		uint32_t mss = nd_core_mss_of(core, engine->ops->protocol);

		if (engine->mss_given)
			mss = nd_min_u32(mss, engine->mss_given);
		if (mss != engine->mss)
			nd_core_set_mss(core, i, mss, now);
	}
}
