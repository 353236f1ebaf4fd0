// SPDX-License-Identifier: Apache-2.0
/* The core's ports: opened, looked after, and opened again when their interface comes back. */
/*
 * DESIGN NOTES
 * 1. What nobody waits for is not watched. The kernel calls a watcher for each frame of an AF_XDP
 *    socket that comes, and again for each that has left, with locks held; a host that only polls
 *    would pay for it with every packet (docs/performance.md, note 22). So epoll learns of a port
 *    when the core is about to block, and forgets it when much has come since.
 */
#include "host/core.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

#define AWAKE_FRAMES 64u /* that came while nobody was about to block; epoll_ctl() takes as long */

/* What the kernel polls on behalf of the port. True once it is all watched. */
static bool watch(struct nd_core *core, struct nd_core_port *self)
{
	struct epoll_event event = { .events = EPOLLIN };
	int fds[ND_PORT_DESCRIPTORS_MAX];
	uint32_t count = nd_port_descriptors(self->port, fds);

	self->watched = true;
	for (uint32_t i = 0; i < count; i++)
		if (epoll_ctl(core->epoll, EPOLL_CTL_ADD, fds[i], &event) < 0 && errno != EEXIST)
			self->watched = false; /* polled instead, until it can be */
	return self->watched;
}

static void unwatch(struct nd_core *core, struct nd_core_port *self)
{
	int fds[ND_PORT_DESCRIPTORS_MAX];
	uint32_t count = nd_port_descriptors(self->port, fds);

	for (uint32_t i = 0; i < count; i++)
		epoll_ctl(core->epoll, EPOLL_CTL_DEL, fds[i], NULL);
	self->watched = false;
}

void nd_core_forget_port(struct nd_core *core, struct nd_core_port *self)
{
	if (self->port->counters.rx_frames - self->armed_at > AWAKE_FRAMES)
		unwatch(core, self);
}

bool nd_core_arm_ports(struct nd_core *core)
{
	for (uint32_t i = 0; i < core->config.port_count; i++) {
		struct nd_core_port *self = &core->ports[i];

		if (!self->port)
			continue;
		if (ND_UNLIKELY(!self->watched) && !watch(core, self))
			return false;
		self->armed_at = self->port->counters.rx_frames;
		if (!nd_port_arm(self->port))
			return false;
	}
	return true;
}

void nd_core_set_link(struct nd_core *core, uint32_t index, const uint8_t mac[6], bool derive)
{
	struct nd_core_port *self = &core->ports[index];

	self->pending = self->blank_count = self->blank_used = 0;
	self->derive = derive;
	memcpy(self->mac, mac, sizeof(self->mac));
	nd_peers_set_own_mac(&core->peers, (uint8_t)index, self->mac);
}

/* Takes an opening into use, which is the core's from here whether that works or not. */
static void use_port(struct nd_core *core, struct nd_core_port *self, struct nd_port *port)
{
	static const uint8_t none[6];
	bool derive = memcmp(port->mac, none, sizeof(none)) == 0;
	uint8_t mac[6];

	self->port = port;
	self->armed_at = 0;
	/* The core thread is going to use it, whoever opened it. */
	nd_port_disown(port);
	memcpy(mac, port->mac, sizeof(mac));
	if (derive)
		nd_peers_derive_mac(nd_peers_first_own(&core->peers), mac);
	nd_core_set_link(core, (uint32_t)(self - core->ports), mac, derive);
	self->state = nd_port_check(port, nd_core_now(), &self->why);
}

/* Keeps its own copies of the strings: the port may have to be opened again much later. */
static int copy_config(struct nd_core_port *self, const struct nd_port_config *config)
{
	self->config = *config;
	self->config.name = config->name ? strdup(config->name) : NULL;
	self->config.netns = config->netns ? strdup(config->netns) : NULL;
	self->config.xdp.map_path = config->xdp.map_path ? strdup(config->xdp.map_path) : NULL;
	return (config->name && !self->config.name) || (config->netns && !self->config.netns) ||
			       (config->xdp.map_path && !self->config.xdp.map_path)
		       ? -ENOMEM
		       : 0;
}

static int open_port(struct nd_core *core, struct nd_core_port *self,
		     const struct nd_port_config *config, struct nd_error *error)
{
	struct nd_port *port;

	if (copy_config(self, config) < 0)
		return nd_error_set(error, -ENOMEM, "no memory");
	port = nd_port_open(&self->config, error);
	if (!port)
		return error->code;
	use_port(core, self, port);
	return 0;
}

int nd_core_open_ports(struct nd_core *core, struct nd_error *error)
{
	int code = 0;

	for (uint32_t i = 0; i < core->config.port_count && code == 0; i++)
		code = open_port(core, &core->ports[i], &core->config.ports[i], error);
	return code;
}

/* Its opening is of no use any more. Without a thread to spare it is kept, and this repeated. */
static void give_up_port(struct nd_core *core, struct nd_core_port *self, nd_ns now)
{
	unwatch(core, self);
	self->reopener = nd_reopener_start(&self->config, self->port, &self->why);
	if (!self->reopener)
		return;
	self->port = NULL;
	nd_recorder_port(core->recorder, (uint8_t)(self - core->ports), self, now);
}

static void take_reopened(struct nd_core *core, struct nd_core_port *self, nd_ns now)
{
	struct nd_port *port = nd_reopener_take(self->reopener, &self->why);

	if (!port)
		return;
	nd_reopener_stop(self->reopener);
	self->reopener = NULL;
	use_port(core, self, port);
	watch(core, self); /* somebody may be asleep who armed the others */
	core->counters.ports_reopened++;
	nd_recorder_port(core->recorder, (uint8_t)(self - core->ports), self, now);
	nd_core_follow_mtu(core, now);
}

void nd_core_disown_ports(struct nd_core *core)
{
	for (uint32_t i = 0; i < core->config.port_count; i++)
		if (core->ports[i].port)
			nd_port_disown(core->ports[i].port);
}

/* What opens a port again is to be in the namespace of the core's own thread. */
static void leave_to_owner(struct nd_core *core, nd_ns now)
{
	core->loan.owner = true;
	core->check_at = now;
}

void nd_core_check_ports(struct nd_core *core, nd_ns now)
{
	for (uint32_t i = 0; i < core->config.port_count; i++) {
		struct nd_core_port *self = &core->ports[i];

		if (!self->port) {
			take_reopened(core, self, now);
			continue;
		}
		nd_core_return_blanks(self);
		self->state = nd_port_check(self->port, now, &self->why);
		if (self->state == ND_PORT_UP || self->state == ND_PORT_DOWN)
			continue;
		if (nd_core_is_lent(core))
			leave_to_owner(core, now);
		else
			give_up_port(core, self, now);
	}
}

static void close_port(struct nd_core_port *self)
{
	if (self->reopener)
		nd_reopener_stop(self->reopener);
	self->reopener = NULL;
	if (!self->port)
		return;
	nd_core_return_blanks(self);
	nd_port_close(self->port);
	self->port = NULL;
}

void nd_core_close_ports(struct nd_core *core)
{
	for (uint32_t i = 0; i < core->config.port_count; i++) {
		struct nd_core_port *self = &core->ports[i];

		close_port(self);
		free((void *)(uintptr_t)self->config.name);
		free((void *)(uintptr_t)self->config.netns);
		free((void *)(uintptr_t)self->config.xdp.map_path);
	}
}
