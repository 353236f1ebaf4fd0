// SPDX-License-Identifier: Apache-2.0
/* Ways to peers: asked of the control plane, waited for, found, lost. */
#include "host/core.h"

#include <errno.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define ASK_AGAIN ND_SEC          /* a way that is still missing is asked for this often */
/*
 * What waits longer for a way fails. The kernel takes three seconds to give up a neighbour, and a
 * resolver that is asked first imports its netlink library then: seconds where CPUs are overloaded.
 */
#define ANSWER_WITHIN (20 * ND_SEC)

const char *nd_stack_unreachable_text(enum nd_stack_unreachable reason)
{
	static const char *const texts[] = {
#define ND_TEXT(name, text) [ND_UNREACHABLE_##name] = text,
		ND_STACK_UNREACHABLE(ND_TEXT)
#undef ND_TEXT
	};

	return (uint32_t)reason < ND_ARRAY_SIZE(texts) ? texts[reason] : texts[0];
}

/* ---- asking ---- */

static void ring(const struct nd_core_resolver *resolver)
{
	uint64_t one = 1;

	if (write(resolver->bell, &one, sizeof(one)) < 0)
		nd_assert(errno == EAGAIN || errno == EINTR);
}

bool nd_core_ask_way(struct nd_core *core, struct nd_peer *peer, nd_ns now)
{
	struct nd_core_resolver *resolver = &core->resolver;

	if (resolver->bell < 0 || peer->handle == ND_PEERS_SELF)
		return false;
	if (peer->asked_at && now - peer->asked_at < ASK_AGAIN)
		return !peer->lost;
	if (resolver->count == ND_CORE_ASKED_MAX) {
		core->counters.ways_not_asked++;
		return false;
	}
	peer->asked_at = now;
	resolver->asked[(resolver->head + resolver->count++) % ND_CORE_ASKED_MAX] = peer->handle;
	ring(resolver);
	return true;
}

int nd_core_open_resolver(struct nd_core *core)
{
	nd_recorder_note(core->recorder, ND_RECORD_RESOLVER, 0, 0, 0);
	if (core->resolver.bell < 0)
		core->resolver.bell = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	return core->resolver.bell < 0 ? -errno : core->resolver.bell;
}

uint32_t nd_core_take_unresolved(struct nd_core *core, uint8_t (*out)[16], uint32_t limit)
{
	struct nd_core_resolver *resolver = &core->resolver;
	uint32_t count = 0;
	uint64_t rings;

	if (resolver->bell < 0)
		return 0;
	nd_recorder_note(core->recorder, ND_RECORD_ASKED, 0, limit, 0);
	if (read(resolver->bell, &rings, sizeof(rings)) < 0)
		nd_assert(errno == EAGAIN || errno == EINTR);
	while (resolver->count && count < limit) {
		const struct nd_peer *peer = nd_peers_find(&core->peers,
							   resolver->asked[resolver->head]);

		resolver->head = (resolver->head + 1) % ND_CORE_ASKED_MAX;
		resolver->count--;
		if (peer && peer->way == ND_PEER_NO_WAY)
			memcpy(out[count++], peer->frame.target, 16);
	}
	if (resolver->count)
		ring(resolver);
	return count;
}

/* ---- waiting ---- */

/* Of these places, too, nobody but root and our own user has more than stay free. */
static bool leaves_room(const struct nd_core *core, uint32_t app)
{
	const struct nd_core_resolver *resolver = &core->resolver;
	uint32_t left = ND_CORE_WAITING_MAX - resolver->waiting_count, held = 0;
	uint16_t group = core->apps[app].group;

	for (uint32_t i = 0; group && i < resolver->waiting_count; i++)
		held += core->apps[resolver->waiting[i].event.app].group == group;
	return left && (!group || held + 1 <= left - 1);
}

/* 0: the answer comes later; or what the command failed with. */
int nd_core_await_way(struct nd_core *core, uint32_t app, const struct nd_event *event, nd_ns now)
{
	struct nd_core_resolver *resolver = &core->resolver;

	if (!leaves_room(core, app))
		return -EAGAIN;
	resolver->waiting[resolver->waiting_count] = (struct nd_core_waiting){
		.event = *event,
		.give_up_at = now + ANSWER_WITHIN,
	};
	resolver->waiting[resolver->waiting_count++].event.app = (uint16_t)app;
	return 0;
}

static void answer(struct nd_core *core, uint32_t index, uint8_t lost)
{
	struct nd_core_resolver *resolver = &core->resolver;
	struct nd_event event = resolver->waiting[index].event;

	resolver->waiting[index] = resolver->waiting[--resolver->waiting_count];
	event.kind = lost ? ND_EVENT_FAILED : ND_EVENT_OPENED;
	event.error = lost ? -EHOSTUNREACH : 0;
	event.detail = lost;
	nd_core_post(core, event.app, &event, 0);
}

void nd_core_settle_way(struct nd_core *core, const struct nd_peer *peer)
{
	for (uint32_t i = core->resolver.waiting_count; i-- > 0;)
		if (core->resolver.waiting[i].event.peer == peer->handle)
			answer(core, i, peer->lost);
}

void nd_core_check_waiting(struct nd_core *core, nd_ns now)
{
	for (uint32_t i = core->resolver.waiting_count; i-- > 0;)
		if (core->resolver.waiting[i].give_up_at <= now)
			answer(core, i, ND_UNREACHABLE_NO_ANSWER);
}

void nd_core_forget_waiting(struct nd_core *core, uint32_t app)
{
	struct nd_core_resolver *resolver = &core->resolver;

	for (uint32_t i = resolver->waiting_count; i-- > 0;)
		if (resolver->waiting[i].event.app == app)
			resolver->waiting[i] = resolver->waiting[--resolver->waiting_count];
}

/* ---- found and lost ---- */

int nd_core_find_way(struct nd_core *core, const uint8_t address[16], uint32_t port_index,
		     const uint8_t mac[6], nd_ns now)
{
	struct nd_core_port *port = &core->ports[port_index];
	uint32_t handle = nd_peers_get(&core->peers, address, (uint8_t)port_index, port->mac,
				       port->derive, now);
	struct nd_peer *peer;

	nd_recorder_way(core->recorder, ND_RECORD_FOUND, port_index, 0, address, mac, now);
	if (handle == ND_NONE)
		return -ENOBUFS;
	if (handle == ND_PEERS_SELF)
		return -EINVAL;
	peer = nd_peers_name(&core->peers, handle, now);
	nd_peers_set_way(peer, (uint8_t)port_index, port->mac, mac, ND_PEER_SET);
	peer->lost = 0;
	nd_core_settle_way(core, peer);
	return 0;
}

int nd_core_lose_way(struct nd_core *core, const uint8_t address[16], uint8_t reason, nd_ns now)
{
	struct nd_core_port *port = &core->ports[0];
	uint32_t handle = nd_peers_get(&core->peers, address, 0, port->mac, port->derive, now);
	struct nd_peer *peer;

	nd_recorder_way(core->recorder, ND_RECORD_LOST, 0, reason, address, NULL, now);
	if (handle == ND_NONE)
		return -ENOBUFS;
	if (handle == ND_PEERS_SELF || reason == ND_UNREACHABLE_UNKNOWN)
		return -EINVAL;
	peer = nd_peers_find(&core->peers, handle);
	peer->way = ND_PEER_NO_WAY;
	peer->lost = reason;
	nd_core_settle_way(core, peer);
	return 0;
}
