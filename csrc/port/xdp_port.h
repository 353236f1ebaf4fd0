/* SPDX-License-Identifier: Apache-2.0 */
/* An XDP port from the inside: shared by what opens it (xdp_open.c) and what runs it (xdp.c). */
#ifndef ND_PORT_XDP_PORT_H
#define ND_PORT_XDP_PORT_H

#include "base/pool.h"
#include "port/device.h"
#include "port/holder.h"
#include "port/port.h"
#include "port/xdp_attachment.h"
#include "port/xdp_socket.h"

#define ND_XDP_RX_BATCH 64u

struct nd_xdp_port {
	struct nd_port port;
	struct nd_device device;
	struct nd_holder holder;
	struct nd_xdp_attachment attachment;
	uint32_t device_mtu; /* when opened */

	struct nd_xdp_umem *umem;
	struct nd_xdp_region region;
	uint32_t chunks_per_frame;
	bool fragments; /* frames may span chunks */

	struct nd_xdp_socket sockets[ND_PORT_QUEUES_MAX];
	uint32_t socket_count;
	uint32_t next;        /* socket to receive from first */
	uint8_t *assembly;    /* ND_XDP_RX_BATCH frames in one piece; NULL without fragments */

	struct nd_pool slots; /* to send from; the item is its count of chunks on their way */
	void *slots_memory;
	uint64_t slots_base;  /* offset of slot 0 in the memory */
	uint32_t slot_bytes;
	uint32_t *out;        /* slots of the reservation */
	uint64_t completed;   /* chunks, ever */
	uint64_t completed_checked;
	nd_ns progress;       /* when completed was last seen to grow, or nothing to be out */
	char mode[48];
};

extern const struct nd_port_ops nd_xdp_ops;

static inline struct nd_xdp_port *nd_xdp_port(struct nd_port *port)
{
	nd_assert(port->ops == &nd_xdp_ops);
	return (struct nd_xdp_port *)port;
}

#endif
