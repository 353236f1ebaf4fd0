// SPDX-License-Identifier: Apache-2.0
/* What all ports have in common: checks of the configuration, ownership, sizes, blind sending. */
#include "port/port.h"

#include "port/memory.h"
#include "port/packet.h"
#include "port/udp.h"
#include "port/xdp.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

ND_COUNTERS_TABLE(nd_port_counters, "port", ND_PORT_COUNTERS);

typedef struct nd_port *nd_port_opener(const struct nd_port_config *config,
				       struct nd_error *error);

static nd_port_opener *const openers[] = {
	[ND_PORT_MEMORY] = nd_memory_open,
	[ND_PORT_PACKET] = nd_packet_open,
	[ND_PORT_UDP] = nd_udp_open,
	[ND_PORT_XDP] = nd_xdp_open,
};

static int check_udp_port(const struct nd_port_config *config, uint32_t index,
			  struct nd_error *error)
{
	const uint16_t *ports = config->filter.udp_ports;

	if (!ports[index])
		return nd_error_set(error, -EINVAL,
				    "port %s: the filter's UDP port %u of %u is 0; fill it in, or "
				    "lower udp_count",
				    config->name, index + 1, config->filter.udp_count);
	for (uint32_t i = 0; i < index; i++)
		if (ports[i] == ports[index])
			return nd_error_set(error, -EINVAL,
					    "port %s: the filter names UDP port %u twice; name each "
					    "once",
					    config->name, ports[i]);
	return 0;
}

static int check_filter(const struct nd_port_config *config, struct nd_error *error)
{
	const struct nd_port_filter *filter = &config->filter;

	if (config->backend != ND_PORT_PACKET && config->backend != ND_PORT_XDP)
		return 0;
	if (filter->udp_count > ND_PORT_UDP_PORTS_MAX)
		return nd_error_set(error, -EINVAL,
				    "port %s: filter names %u UDP ports, at most %d are possible",
				    config->name, filter->udp_count, ND_PORT_UDP_PORTS_MAX);
	for (uint32_t i = 0; i < filter->udp_count; i++)
		if (check_udp_port(config, i, error) < 0)
			return error->code;
	if (!filter->everything && !filter->homa && !filter->udp_count)
		return nd_error_set(error, -EINVAL,
				    "port %s: the filter selects nothing; name a UDP port, homa, "
				    "or everything (for a switch)",
				    config->name);
	return 0;
}

static int check_config(const struct nd_port_config *config, struct nd_error *error)
{
	if ((unsigned)config->backend >= ND_ARRAY_SIZE(openers))
		return nd_error_set(error, -EINVAL, "port: unknown back end %d", config->backend);
	if (!config->name || !config->name[0])
		return nd_error_set(error, -EINVAL, "port: it has no name; give the interface, "
						    "address or rendezvous name");
	if (strnlen(config->name, ND_PORT_NAME_BYTES) >= ND_PORT_NAME_BYTES - 16)
		return nd_error_set(error, -ENAMETOOLONG, "port: the name has more than %d bytes",
				    ND_PORT_NAME_BYTES - 17);
	if (config->mtu && (config->mtu < ND_PORT_MTU_MIN || config->mtu > ND_PORT_MTU_MAX))
		return nd_error_set(error, -EINVAL, "port %s: MTU %u is not in %u..%u",
				    config->name, config->mtu, ND_PORT_MTU_MIN, ND_PORT_MTU_MAX);
	if (config->rx_frames > ND_PORT_RING_FRAMES_MAX ||
	    config->tx_frames > ND_PORT_RING_FRAMES_MAX)
		return nd_error_set(error, -EINVAL, "port %s: rings of %u and %u frames; the most "
						    "is %u",
				    config->name, config->rx_frames, config->tx_frames,
				    ND_PORT_RING_FRAMES_MAX);
	return check_filter(config, error);
}

struct nd_port *nd_port_open(const struct nd_port_config *config, struct nd_error *error)
{
	struct nd_port *port;
	struct nd_error ignored;

	if (check_config(config, error) < 0)
		return NULL;
	port = openers[config->backend](config, error);
	if (!port)
		return NULL;
	port->blind = malloc(port->frame_bytes_max);
	if (!port->blind) {
		nd_error_set(error, -ENOMEM, "port %s: no memory", config->name);
		nd_port_close(port);
		return NULL;
	}
	nd_port_check(port, 0, &ignored);
	return port;
}

void nd_port_close(struct nd_port *port)
{
	uint8_t *blind = port->blind;

	port->ops->close(port);
	free(blind);
}

static void claim(struct nd_port *port)
{
	if (ND_UNLIKELY(!port->claimed)) {
		port->claimed = true;
		port->owner = pthread_self();
	}
	nd_assert(pthread_equal(port->owner, pthread_self()));
}

void nd_port_disown(struct nd_port *port)
{
	port->claimed = false;
}

uint32_t nd_port_receive(struct nd_port *port, struct nd_frame *frames, uint32_t limit)
{
	uint32_t count;

	claim(port);
	nd_assert(!port->receiving);
	count = port->ops->receive(port, frames, limit);
	port->receiving = count > 0;
	port->counters.rx_frames += count;
	for (uint32_t i = 0; i < count; i++)
		port->counters.rx_bytes += frames[i].bytes;
	return count;
}

void nd_port_release(struct nd_port *port)
{
	if (!port->receiving)
		return;
	port->receiving = false;
	port->ops->release(port);
}

static uint32_t reserve_blind(struct nd_port *port, struct nd_frame *frames, uint32_t limit)
{
	for (uint32_t i = 0; i < limit; i++)
		frames[i].data = port->blind;
	return limit;
}

uint32_t nd_port_reserve(struct nd_port *port, struct nd_frame *frames, uint32_t limit)
{
	uint32_t count;

	claim(port);
	nd_assert(!port->reserved);
	port->dropping = port->down;
	count = port->dropping ? reserve_blind(port, frames, limit)
			       : port->ops->reserve(port, frames, limit);
	if (count < limit)
		port->counters.tx_backpressure++;
	for (uint32_t i = 0; i < count; i++) {
		frames[i].bytes = 0;
		frames[i].room = port->frame_bytes_max;
	}
	port->reserved = count;
	return count;
}

/* Counts what leaves, and turns what must not leave into 0 bytes. */
static void admit(struct nd_port *port, struct nd_frame *frame)
{
	struct nd_port_counters *counters = &port->counters;

	if (!frame->bytes)
		return;
	if (frame->bytes > port->frame_bytes_max) {
		counters->tx_dropped_oversize++;
		frame->bytes = 0;
	} else if (frame->bytes < ND_PORT_FRAME_BYTES_MIN) {
		counters->tx_dropped_short++;
		frame->bytes = 0;
	} else if (port->dropping) {
		counters->tx_dropped_down++;
	} else {
		counters->tx_frames++;
		counters->tx_bytes += frame->bytes;
	}
}

void nd_port_commit(struct nd_port *port, struct nd_frame *frames, uint32_t count)
{
	nd_assert(count <= port->reserved);
	for (uint32_t i = 0; i < count; i++)
		admit(port, &frames[i]);
	if (!port->dropping)
		port->ops->commit(port, frames, count);
	port->reserved = 0;
}

uint32_t nd_port_flush(struct nd_port *port)
{
	claim(port);
	return port->ops->flush(port);
}

bool nd_port_arm(struct nd_port *port)
{
	nd_assert(!port->receiving);
	return port->ops->arm(port);
}

uint32_t nd_port_descriptors(const struct nd_port *port, int *descriptors)
{
	return port->ops->descriptors(port, descriptors);
}

enum nd_port_state nd_port_check(struct nd_port *port, nd_ns now, struct nd_error *error)
{
	enum nd_port_state state;

	nd_assert(!port->receiving);
	nd_assert(!port->reserved);
	state = port->ops->check(port, now, error);
	port->down = state == ND_PORT_DOWN || state == ND_PORT_GONE;
	return state;
}

const struct nd_port_counters *nd_port_counters(struct nd_port *port)
{
	port->ops->refresh(port);
	return &port->counters;
}
