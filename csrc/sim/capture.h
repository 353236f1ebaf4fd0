/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Simulated packets as bytes: a capture of one link for Wireshark, and the check that what the
 * wire formats carry is what the engines meant.
 *
 * Host h is 10.x.y.z with h in the lower 24 bits. Payload is not simulated: it is zeros, and a
 * capture leaves it out. Packets that are no protocol of ours have no bytes and are passed over.
 */
#ifndef ND_SIM_CAPTURE_H
#define ND_SIM_CAPTURE_H

#include "sim/state.h"

/* Opens what the config asks for. 0 or a negative errno. */
int nd_capture_init(struct nd_sim *sim, struct nd_error *error);
void nd_capture_free(struct nd_sim *sim);

/* A port starts to send the packet. A difference on the wire breaks the run. */
void nd_capture_launch(struct nd_sim *sim, uint32_t port, uint32_t index, nd_ps start);

/* The file holds all of it. A file that does not breaks the run. */
void nd_capture_flush(struct nd_sim *sim);

#endif
