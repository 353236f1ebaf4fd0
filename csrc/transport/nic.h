/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The NIC scheduler of a host: asks its endpoints in turn for the one packet to send next.
 *
 * Control packets go first, then data. Between protocols data is fair by bytes; inside one the
 * engine decides (SRPT, priorities). What is on its way stays within two full packets of the
 * link's rate, so that the decision is as late as it can be (Homa, section 4).
 *
 * A driver that sends in turns says when one begins. Its first packet may then be data: an answer
 * would otherwise wait while the acknowledgement of its question is sent, and control waits for
 * one packet, which may be on the link anyway. A driver may also say that it knows of members that
 * they have nothing to send (`asked`), which spares asking them.
 */
#ifndef ND_TRANSPORT_NIC_H
#define ND_TRANSPORT_NIC_H

#include "transport/transport.h"

#define ND_NIC_MEMBERS_MAX 4

struct nd_nic_member {
	const struct nd_transport_ops *ops;
	void *endpoint;
	uint64_t served; /* virtual time: data bytes sent, raised to the others' after a pause */
};

struct nd_nic {
	struct nd_nic_member members[ND_NIC_MEMBERS_MAX];
	uint8_t order[ND_NIC_MEMBERS_MAX]; /* of the members, the one that was served least first */
	uint32_t count;
	uint32_t turn;        /* asked first for control */
	uint32_t asked;       /* bits of the members that may have something; all, at first */
	bool data_first;      /* a driver's turn has just begun */
	uint32_t packet_bytes; /* of a full one on the link */
	uint64_t link_bps;    /* 0: the driver's backpressure is the only limit */
	uint64_t carry;       /* of the division that makes time of bytes */
	nd_ns allowance_ns;   /* how far the link may be booked when a packet is handed over */
	nd_ns busy_until;     /* when the link has sent all that was handed over */
	uint64_t virtual_now; /* served of the member that sent last */
};

/* packet_bytes: of a full packet on the link. */
void nd_nic_init(struct nd_nic *nic, uint64_t link_bps, uint32_t packet_bytes);
/* Another rate; what is on its way stays booked as it was. */
void nd_nic_set_rate(struct nd_nic *nic, uint64_t link_bps);
void nd_nic_add(struct nd_nic *nic, const struct nd_transport_ops *ops, void *endpoint);

/* A driver's turn begins. */
static inline void nd_nic_begin(struct nd_nic *nic)
{
	nic->data_first = true;
}

/* Fills in the next packet and books the link for it; false when there is none or no room now. */
bool nd_nic_next(struct nd_nic *nic, struct nd_packet *packet, nd_ns now);

/* When the link has room again: now or later. */
static inline nd_ns nd_nic_room_at(const struct nd_nic *nic)
{
	return nic->busy_until > nic->allowance_ns ? nic->busy_until - nic->allowance_ns : 0;
}

#endif
