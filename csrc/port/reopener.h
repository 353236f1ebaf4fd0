/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Closes a port and opens it again, without holding up the thread that uses it.
 *
 * Either may take seconds (a queue that is still being released, a carrier after an attach), and
 * the interface may come back an hour later. So a thread of its own does both, and tries again
 * until it has an opening or is stopped.
 */
#ifndef ND_PORT_REOPENER_H
#define ND_PORT_REOPENER_H

#include "port/port.h"

struct nd_reopener;

/*
 * Takes the old opening, which nobody may use any more. config and its strings stay valid until
 * the end. NULL on failure: the old opening is still the caller's.
 */
struct nd_reopener *nd_reopener_start(const struct nd_port_config *config, struct nd_port *old,
				      struct nd_error *error);

/* The new opening, which is the caller's from here; NULL while there is none, and why. */
struct nd_port *nd_reopener_take(struct nd_reopener *reopener, struct nd_error *why);

/* Ends the thread, and closes an opening that was not taken. At most as long as one try takes. */
void nd_reopener_stop(struct nd_reopener *reopener);

#endif
