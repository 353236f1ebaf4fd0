/* SPDX-License-Identifier: Apache-2.0 */
/* A group of equal-cost ports: per packet at random or in turn, or per flow by hash. */
#ifndef ND_SWITCH_ECMP_H
#define ND_SWITCH_ECMP_H

#include "base/rng.h"
#include "base/types.h"

#define ND_ECMP_MEMBERS_MAX 32

enum nd_ecmp_mode {
	ND_ECMP_RANDOM,      /* every packet: uniformly at random (R-EC-2) */
	ND_ECMP_ROUND_ROBIN, /* every packet: the next member */
	ND_ECMP_FLOW,        /* hash of the flow and this switch: one flow, one port (R-EC-1) */
	ND_ECMP_PATH,        /* chosen by the sender: one digit of the packet's path id, which
			      * is a label or a source route (R-NRT-01); by flow without one */
};

/* The path of a packet that carries none. */
#define ND_ECMP_NO_PATH UINT32_MAX

/* A member whose port is no more. */
#define ND_ECMP_NO_PORT UINT16_MAX

struct nd_ecmp {
	uint8_t mode; /* enum nd_ecmp_mode */
	uint8_t members;
	uint8_t live; /* members whose link is up */
	uint8_t turn;
	uint16_t port[ND_ECMP_MEMBERS_MAX];      /* live ones first */
	uint16_t by_digit[ND_ECMP_MEMBERS_MAX];  /* as configured: what path digits mean */
	uint32_t up;                             /* bit n: by_digit[n] is live */
	uint32_t divisor; /* PATH: member = path / divisor % members */
	uint64_t salt; /* differs from switch to switch, so hashes do not polarise */
	struct nd_rng rng;
};

/* -EINVAL when there are no members or more than ND_ECMP_MEMBERS_MAX, -EEXIST when one is named
 * twice. All count as live. */
int nd_ecmp_init(struct nd_ecmp *group, enum nd_ecmp_mode mode, const uint16_t *ports,
		 uint32_t count, uint64_t salt);

/* Takes a port's member out of use or back in; nothing when it is no member. */
void nd_ecmp_set_live(struct nd_ecmp *group, uint16_t port, bool live);

/* A port that is no more stays a member that is down, so that path digits keep their meaning. */
void nd_ecmp_forget(struct nd_ecmp *group, uint16_t port);

/* PATH only: which digit of the path id this group reads; 1 unless set. */
void nd_ecmp_set_divisor(struct nd_ecmp *group, uint32_t divisor);

static inline uint32_t nd_ecmp_by_flow(const struct nd_ecmp *group, uint64_t flow)
{
	return group->port[((nd_mix64(flow ^ group->salt) >> 32) * group->live) >> 32];
}

/* A path whose link is down has no port here: the packet is dropped and its sender learns it. */
static inline uint32_t nd_ecmp_by_path(const struct nd_ecmp *group, uint32_t path)
{
	uint32_t digit = path / group->divisor % group->members;

	return group->up >> digit & 1 ? group->by_digit[digit] : ND_NONE;
}

/* The port for a packet of this flow and path, or ND_NONE when there is none. */
static inline uint32_t nd_ecmp_pick(struct nd_ecmp *group, uint64_t flow, uint32_t path)
{
	if (ND_UNLIKELY(group->live == 0))
		return ND_NONE;
	switch (group->mode) {
	case ND_ECMP_RANDOM:
		return group->port[nd_rng_below(&group->rng, group->live)];
	case ND_ECMP_ROUND_ROBIN:
		group->turn = (uint8_t)(group->turn + 1 < group->live ? group->turn + 1 : 0);
		return group->port[group->turn];
	case ND_ECMP_PATH:
		if (path != ND_ECMP_NO_PATH)
			return nd_ecmp_by_path(group, path);
		return nd_ecmp_by_flow(group, flow);
	default:
		return nd_ecmp_by_flow(group, flow);
	}
}

#endif
