// SPDX-License-Identifier: Apache-2.0
/* RPCs as an operator is shown them. */
#include "transport/homa_internal.h"

static void show(const struct nd_homa *homa, const struct nd_homa_rpc *rpc, struct nd_exchange *out)
{
	bool server = nd_homa_is_server(rpc);

	*out = (struct nd_exchange){
		.id = rpc->handle,
		.unsent_bytes = rpc->out.bytes - rpc->out.sent,
		.arrived_bytes = rpc->in.received,
		.arriving_bytes = rpc->in.bytes,
		.heard_at = rpc->quiet_since,
		.peer = nd_homa_peer_at(homa, rpc->peer)->handle,
		.messages = rpc->out.bytes != 0,
		.allowed = nd_max_u32(rpc->out.granted, rpc->out.sent) - rpc->out.sent,
		.port = server ? rpc->own_port : rpc->peer_port,
		.app = rpc->app,
		.protocol = ND_PROTO_HOMA,
		.state = rpc->state,
		.priority = rpc->out.granted_priority,
		.accepted = server,
	};
}

uint32_t nd_homa_show(const void *endpoint, uint32_t *cursor, struct nd_exchange *out,
		      uint32_t limit)
{
	const struct nd_homa *homa = endpoint;
	uint32_t slot, count = 0;

	while (count < limit && (slot = nd_pool_next_used(&homa->rpcs, cursor)) != ND_NONE)
		show(homa, nd_pool_at(&homa->rpcs, slot), &out[count++]);
	return count;
}
