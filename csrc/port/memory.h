/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory ports: two rings in shared memory, within a process or between two.
 *
 * One end listens on a name, the other connects to it (see nd_fds_listen for names). They need no
 * privilege, lose nothing (a full ring is backpressure) and are what tests and CI run on.
 */
#ifndef ND_PORT_MEMORY_H
#define ND_PORT_MEMORY_H

#include "port/port.h"

struct nd_port *nd_memory_open(const struct nd_port_config *config, struct nd_error *error);

#endif
