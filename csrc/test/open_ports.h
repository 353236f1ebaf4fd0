/* SPDX-License-Identifier: Apache-2.0 */
/* Ports on interfaces as hosts and switches open them; one that cannot be opened says why. */
#ifndef ND_TEST_OPEN_PORTS_H
#define ND_TEST_OPEN_PORTS_H

#include "port/port.h"
#include "test/harness.h"

#define OUR_PORT 40000

static struct nd_error error;

/* A host's: Homa and one UDP port are ours, the rest is the kernel's. */
static inline struct nd_port_config config_of(enum nd_port_backend backend, const char *name)
{
	return (struct nd_port_config){
		.backend = backend,
		.name = name,
		.filter = { .homa = true, .udp_count = 1, .udp_ports = { OUR_PORT } },
	};
}

static inline struct nd_port *open_config(const struct nd_port_config *config)
{
	struct nd_port *port = nd_port_open(config, &error);

	if (!port)
		fprintf(stderr, "  %s\n", error.text);
	CHECK(port);
	return port;
}

/* The other end of a pair as the wire sees it: everything, by AF_PACKET. */
static inline struct nd_port *open_wire(const char *name)
{
	return open_config(&(struct nd_port_config){
		.backend = ND_PORT_PACKET,
		.name = name,
		.filter.everything = true,
	});
}

#endif
