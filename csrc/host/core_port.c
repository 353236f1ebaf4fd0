// SPDX-License-Identifier: Apache-2.0
/* The core's ports: opened, looked after, and opened again when their interface comes back. */
#include "host/core.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

#define REOPEN_EVERY (500 * ND_MSEC)

static int watch(struct nd_core *core, const struct nd_port *port)
{
	struct epoll_event event = { .events = EPOLLIN };
	int fds[ND_PORT_DESCRIPTORS_MAX];
	uint32_t count = nd_port_descriptors(port, fds);

	for (uint32_t i = 0; i < count; i++)
		if (epoll_ctl(core->epoll, EPOLL_CTL_ADD, fds[i], &event) < 0)
			return -errno;
	return 0;
}

static int open_port(struct nd_core *core, struct nd_core_port *self, struct nd_error *error)
{
	static const uint8_t none[6];
	struct nd_port *port = nd_port_open(&self->config, error);
	int code;

	if (!port)
		return error->code;
	code = watch(core, port);
	if (code < 0) {
		nd_port_close(port);
		return nd_error_set(error, code, "port %s: epoll: %s", self->config.name,
				    strerror(-code));
	}
	/* The core thread is going to use it, whoever opened it. */
	nd_port_disown(port);
	self->port = port;
	self->pending = self->blank_count = self->blank_used = 0;
	self->derive = memcmp(port->mac, none, sizeof(none)) == 0;
	if (self->derive)
		nd_peers_derive_mac(nd_peers_first_own(&core->peers), self->mac);
	else
		memcpy(self->mac, port->mac, sizeof(self->mac));
	return 0;
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

int nd_core_open_ports(struct nd_core *core, struct nd_error *error)
{
	for (uint32_t i = 0; i < core->config.port_count; i++) {
		struct nd_core_port *self = &core->ports[i];
		int code = copy_config(self, &core->config.ports[i]);

		if (code < 0)
			return nd_error_set(error, code, "no memory");
		code = open_port(core, self, error);
		if (code < 0)
			return code;
		self->state = nd_port_check(self->port, nd_core_now(), &self->why);
	}
	return 0;
}

static void close_port(struct nd_core_port *self)
{
	if (!self->port)
		return;
	nd_core_return_blanks(self);
	nd_port_close(self->port);
	self->port = NULL;
}

static void reopen_port(struct nd_core *core, struct nd_core_port *self, nd_ns now)
{
	if (now < self->reopen_at)
		return;
	self->reopen_at = now + REOPEN_EVERY;
	if (open_port(core, self, &self->why) < 0)
		return;
	core->counters.ports_reopened++;
	nd_recorder_port(core->recorder, (uint8_t)(self - core->ports), self, now);
	nd_core_follow_mtu(core, now);
	self->state = nd_port_check(self->port, now, &self->why);
}

void nd_core_check_ports(struct nd_core *core, nd_ns now)
{
	for (uint32_t i = 0; i < core->config.port_count; i++) {
		struct nd_core_port *self = &core->ports[i];

		if (!self->port) {
			reopen_port(core, self, now);
			continue;
		}
		nd_core_return_blanks(self);
		self->state = nd_port_check(self->port, now, &self->why);
		if (self->state == ND_PORT_UP || self->state == ND_PORT_DOWN)
			continue;
		close_port(self);
		nd_recorder_port(core->recorder, (uint8_t)i, self, now);
		self->reopen_at = now;
		reopen_port(core, self, now);
	}
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
