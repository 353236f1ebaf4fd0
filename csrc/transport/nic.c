// SPDX-License-Identifier: Apache-2.0
/* The NIC scheduler of a host: asks its endpoints in turn for the one packet to send next. */
#include "transport/nic.h"

#define NIC_PACKETS 2 /* full packets that may be on their way, the new one included */
#define BITS_NS 8000000000u

/* Time that bytes take; what the division leaves over is carried on, so no rate drifts. */
static nd_ns book(struct nd_nic *nic, uint32_t bytes)
{
	uint64_t total = (uint64_t)bytes * BITS_NS + nic->carry;

	nic->carry = total % nic->link_bps;
	return total / nic->link_bps;
}

void nd_nic_init(struct nd_nic *nic, uint64_t link_bps, uint32_t packet_bytes)
{
	*nic = (struct nd_nic){ .packet_bytes = packet_bytes, .asked = UINT32_MAX };
	nd_nic_set_rate(nic, link_bps);
}

void nd_nic_set_rate(struct nd_nic *nic, uint64_t link_bps)
{
	nic->link_bps = link_bps;
	nic->carry = 0;
	if (!link_bps) {
		nic->busy_until = nic->allowance_ns = 0;
		return;
	}
	/* One full packet may be out when the next is handed over. */
	nic->allowance_ns = (nd_ns)(NIC_PACKETS - 1) * nic->packet_bytes * BITS_NS / link_bps;
}

void nd_nic_add(struct nd_nic *nic, const struct nd_transport_ops *ops, void *endpoint)
{
	nd_assert(nic->count < ND_NIC_MEMBERS_MAX);
	nic->members[nic->count] = (struct nd_nic_member){ .ops = ops, .endpoint = endpoint };
	nic->order[nic->count] = (uint8_t)nic->count;
	nic->count++;
}

static bool is_asked(const struct nd_nic *nic, uint32_t member)
{
	return nic->asked >> member & 1;
}

static bool next_control(struct nd_nic *nic, struct nd_packet *packet, nd_ns now)
{
	uint32_t turn = nic->turn;

	for (uint32_t i = 0; i < nic->count; i++) {
		struct nd_nic_member *member = &nic->members[turn];
		bool asked = is_asked(nic, turn);

		turn = turn + 1 < nic->count ? turn + 1 : 0;
		if (asked &&
		    member->ops->transmit(member->endpoint, packet, ND_CLASS_CONTROL, now)) {
			nic->turn = turn;
			return true;
		}
	}
	return false;
}

/* True when the member is to be asked for data before the other. */
static bool goes_first(const struct nd_nic *nic, uint32_t member, uint32_t other)
{
	uint64_t served = nic->members[member].served, others = nic->members[other].served;

	return served < others || (served == others && member < other);
}

/* The member at this place has been served: it goes back behind those that were served less. */
static void put_back(struct nd_nic *nic, uint32_t place)
{
	uint8_t member = nic->order[place];

	for (; place + 1 < nic->count && goes_first(nic, nic->order[place + 1], member); place++)
		nic->order[place] = nic->order[place + 1];
	nic->order[place] = member;
}

static bool next_data(struct nd_nic *nic, struct nd_packet *packet, nd_ns now)
{
	for (uint32_t place = 0; place < nic->count; place++) {
		struct nd_nic_member *member = &nic->members[nic->order[place]];

		if (!is_asked(nic, nic->order[place]) ||
		    !member->ops->transmit(member->endpoint, packet, ND_CLASS_DATA, now))
			continue;
		/* Whoever was silent cannot claim the time that it did not use. */
		member->served = nd_max_u64(member->served, nic->virtual_now);
		nic->virtual_now = member->served;
		member->served += packet->wire_bytes;
		put_back(nic, place);
		return true;
	}
	return false;
}

static bool choose(struct nd_nic *nic, struct nd_packet *packet, nd_ns now)
{
	bool data_first = nic->data_first;

	nic->data_first = false;
	if (data_first)
		return next_data(nic, packet, now) || next_control(nic, packet, now);
	return next_control(nic, packet, now) || next_data(nic, packet, now);
}

bool nd_nic_next(struct nd_nic *nic, struct nd_packet *packet, nd_ns now)
{
	if (nic->link_bps && nd_nic_room_at(nic) > now)
		return false;
	if (!choose(nic, packet, now))
		return false;
	if (nic->link_bps) {
		if (nic->busy_until < now) {
			nic->busy_until = now;
			nic->carry = 0;
		}
		nic->busy_until += book(nic, packet->wire_bytes);
	}
	return true;
}
