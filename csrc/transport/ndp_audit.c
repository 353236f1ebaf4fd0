// SPDX-License-Identifier: Apache-2.0
/* Every invariant that an endpoint keeps, looked at one by one. */
#include "transport/ndp_internal.h"

#define REQUIRE(condition, text) \
	do { \
		if (!(condition)) \
			return text; \
	} while (0)

static const char *audit_pools(const struct nd_ndp *ndp)
{
	REQUIRE(nd_pool_check(&ndp->connections), "the connection pool is broken");
	REQUIRE(nd_pool_check(&ndp->windows), "the window pool is broken");
	REQUIRE(nd_pool_check(&ndp->messages), "the message pool is broken");
	REQUIRE(nd_pool_check(&ndp->incoming), "the incoming pool is broken");
	REQUIRE(nd_pool_check(&ndp->peers), "the peer pool is broken");
	REQUIRE(nd_pool_check(&ndp->path_sets), "the path pool is broken");
	REQUIRE(ndp->control_tail - ndp->control_head <= ndp->config.control_max,
		"more control packets wait than control_max");
	return nd_pull_audit(&ndp->pull);
}

static const char *audit_window(const struct nd_ndp *ndp,
				const struct nd_ndp_connection *connection)
{
	const uint64_t *waiting;
	uint32_t counts[3] = { 0 };
	uint32_t listed = 0;

	REQUIRE(connection->next - connection->base <= ndp->config.window_packets,
		"more packets are on the wire than window_packets");
	REQUIRE(connection->due >= -(int32_t)nd_min_u32(connection->flying,
							ndp->config.initial_window),
		"more pulls were taken than packets can have earned");
	if (connection->window == ND_NONE) {
		REQUIRE(connection->next == connection->base, "packets are on the wire unseen");
		REQUIRE(connection->flying == 0 && connection->waiting == 0,
			"packets are counted and there is no window");
		return NULL;
	}
	waiting = nd_ndp_waiting(ndp, connection);
	for (uint32_t s = connection->base; s != connection->next; s++)
		counts[nd_ndp_sent_at(ndp, connection, s)->state]++;
	REQUIRE(counts[ND_NDP_FLYING] == connection->flying, "flying is miscounted");
	REQUIRE(counts[ND_NDP_WAITING] == connection->waiting, "waiting is miscounted");
	for (uint32_t i = 0; i < ndp->config.window_packets / 64; i++)
		listed += (uint32_t)__builtin_popcountll(waiting[i]);
	REQUIRE(listed == connection->waiting, "the packets to send again are miscounted");
	return NULL;
}

static const char *audit_receiving(const struct nd_ndp *ndp,
				   const struct nd_ndp_connection *connection)
{
	const uint64_t *bitmap = connection->bitmap;
	uint32_t set = 0;

	for (uint32_t i = 0; i < ndp->config.window_packets / 64; i++)
		set += (uint32_t)__builtin_popcountll(bitmap[i]);
	REQUIRE(set == connection->beyond, "packets beyond the first gap are miscounted");
	REQUIRE((int32_t)(connection->high - connection->arrived) >= 0,
		"more has arrived than was sent");
	REQUIRE(connection->high - connection->arrived <= ndp->config.window_packets,
		"a packet beyond the window was taken");
	REQUIRE(nd_pull_count(&ndp->pull, connection->slot) <=
			ndp->config.window_packets,
		"more pulls are queued than window_packets");
	REQUIRE(connection->withheld <= ndp->config.window_packets &&
			connection->put_off <= ndp->config.window_packets,
		"more pulls wait than window_packets");
	return NULL;
}

static const char *audit_messages(const struct nd_ndp *ndp,
				  const struct nd_ndp_connection *connection)
{
	uint64_t backlog = 0;
	uint32_t packets = 0;

	for (uint32_t i = connection->messages_head; i != ND_NONE;
	     i = nd_ndp_message_at(ndp, i)->next) {
		const struct nd_ndp_message *message = nd_ndp_message_at(ndp, i);

		REQUIRE(message->sent <= message->bytes, "more than a message was sent");
		packets += message->packets;
		backlog += message->cancelled ? 0 : message->bytes - message->sent;
	}
	REQUIRE(backlog == connection->backlog, "the backlog is miscounted");
	REQUIRE(packets <= connection->next - connection->base,
		"messages have more packets than are on the wire");
	return NULL;
}

static const char *audit_connection(const struct nd_ndp *ndp,
				    const struct nd_ndp_connection *connection)
{
	uint32_t slot = connection->slot;
	const char *wrong;

	REQUIRE((connection->timer != ND_NEVER) == nd_heap_has(&ndp->timers, slot),
		"a timer is armed on one side only");
	if (!nd_ndp_is_live(connection)) {
		REQUIRE(connection->list == ND_NDP_UNLISTED, "an ended connection is to send");
		REQUIRE(connection->window == ND_NONE, "an ended connection holds a window");
		return NULL;
	}
	REQUIRE(connection->list != ND_NDP_READY || connection->window != ND_NONE,
		"a connection is ready without a window");
	REQUIRE(connection->list != ND_NDP_UNLISTED || !nd_ndp_send_can(ndp, connection),
		"a connection that can send is in no list");
	wrong = audit_window(ndp, connection);
	wrong = wrong ? wrong : audit_receiving(ndp, connection);
	return wrong ? wrong : audit_messages(ndp, connection);
}

static const char *audit_listeners(const struct nd_ndp *ndp)
{
	uint32_t reserved = 0;

	for (uint32_t i = 0; i < ndp->config.listeners_max; i++) {
		const struct nd_ndp_listener *listener = &ndp->listeners[i];

		if (!listener->used)
			continue;
		REQUIRE(listener->live <= listener->backlog, "a listener has too many connections");
		reserved += listener->closed ? 0 : listener->backlog - listener->live;
	}
	REQUIRE(reserved == ndp->reserved, "reserved connections are miscounted");
	REQUIRE(ndp->live + ndp->reserved <= ndp->config.connections_max,
		"more connections than connections_max");
	return NULL;
}

const char *nd_ndp_audit(const void *endpoint)
{
	const struct nd_ndp *ndp = endpoint;
	const char *wrong = audit_pools(ndp);
	uint32_t live = 0;
	uint32_t users = 0, queued = 0;

	for (uint32_t slot = 0; slot < ndp->connections.limit && !wrong; slot++) {
		if (ndp->connections.next[slot] != ND_POOL_USED)
			continue;
		wrong = audit_connection(ndp, nd_ndp_connection_at(ndp, slot));
		live += nd_ndp_is_live(nd_ndp_connection_at(ndp, slot));
		users++;
	}
	if (wrong)
		return wrong;
	REQUIRE(live == ndp->live, "live connections are miscounted");
	for (uint32_t app = 0; app < ND_NDP_APPS_TOLD; app++)
		live -= ndp->held[app];
	REQUIRE(live <= ndp->live, "more connections are held than live");
	for (uint32_t app = 0; app < ND_NDP_APPS_TOLD; app++)
		queued += ndp->queued[app];
	REQUIRE(queued <= ndp->messages.used, "more messages are queued than there are");
	for (uint32_t i = 0; i < ndp->peers.limit; i++) {
		if (ndp->peers.next[i] == ND_POOL_USED)
			users -= nd_ndp_peer_at(ndp, i)->users;
	}
	REQUIRE(users == 0, "connections and the users of peers differ");
	return audit_listeners(ndp);
}
