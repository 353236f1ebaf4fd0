// SPDX-License-Identifier: Apache-2.0
/* Connections as an operator is shown them. */
#include "transport/ndp_internal.h"

/* What has arrived of messages that are not whole, and how long they are going
 * to be. */
static void add_incoming(const struct nd_ndp *ndp, const struct nd_ndp_connection *connection,
			 struct nd_exchange *out)
{
	for (uint32_t i = connection->incoming; i != ND_NONE;) {
		const struct nd_ndp_incoming *incoming = nd_ndp_incoming_at(ndp, i);

		out->arrived_bytes += incoming->received;
		out->arriving_bytes += incoming->bytes;
		i = incoming->next;
	}
}

static void show(const struct nd_ndp *ndp, const struct nd_ndp_connection *connection,
		 struct nd_exchange *out)
{
	*out = (struct nd_exchange){
		.id = nd_ndp_handle(connection),
		.unsent_bytes = connection->backlog,
		.heard_at = connection->alive,
		.peer = connection->address,
		.messages = connection->message_count,
		.unacked_packets = (uint32_t)connection->flying + connection->waiting,
		.allowed = (uint32_t)connection->credit + connection->push,
		.port = connection->port,
		.app = connection->app,
		.protocol = ND_PROTO_NDP,
		.state = connection->state,
		.priority = connection->priority,
		.accepted = connection->accepted,
	};
	if (nd_ndp_is_live(connection))
		add_incoming(ndp, connection, out);
}

uint32_t nd_ndp_show(const void *endpoint, uint32_t *cursor, struct nd_exchange *out,
		     uint32_t limit)
{
	const struct nd_ndp *ndp = endpoint;
	uint32_t slot, count = 0;

	while (count < limit && (slot = nd_pool_next_used(&ndp->connections, cursor)) != ND_NONE)
		show(ndp, nd_ndp_connection_at(ndp, slot), &out[count++]);
	return count;
}
