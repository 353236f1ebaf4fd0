// SPDX-License-Identifier: Apache-2.0
/* Membership of equal-cost groups. */
#include "switch/ecmp.h"

#include <errno.h>
#include <string.h>

/* A port that is in the list before. */
static bool is_repeated(const uint16_t *ports, uint32_t at)
{
	for (uint32_t i = 0; i < at; i++) {
		if (ports[i] == ports[at])
			return true;
	}
	return false;
}

int nd_ecmp_init(struct nd_ecmp *group, enum nd_ecmp_mode mode, const uint16_t *ports,
		 uint32_t count, uint64_t salt)
{
	if (count == 0 || count > ND_ECMP_MEMBERS_MAX)
		return -EINVAL;
	for (uint32_t i = 0; i < count; i++) {
		if (is_repeated(ports, i))
			return -EEXIST;
	}
	*group = (struct nd_ecmp){
		.mode = (uint8_t)mode,
		.members = (uint8_t)count,
		.live = (uint8_t)count,
		.divisor = 1,
		.up = (uint32_t)((UINT64_C(1) << count) - 1),
		.salt = salt,
		.rng = nd_rng_make(salt, 0),
	};
	memcpy(group->port, ports, count * sizeof(*ports));
	memcpy(group->by_digit, ports, count * sizeof(*ports));
	return 0;
}

void nd_ecmp_set_divisor(struct nd_ecmp *group, uint32_t divisor)
{
	nd_assert(divisor > 0);
	group->divisor = divisor;
}

static void swap(struct nd_ecmp *group, unsigned a, unsigned b)
{
	uint16_t port = group->port[a];

	group->port[a] = group->port[b];
	group->port[b] = port;
}

void nd_ecmp_set_live(struct nd_ecmp *group, uint16_t port, bool live)
{
	for (unsigned i = 0; i < group->members; i++) {
		bool was_live = i < group->live;

		if (group->port[i] != port || was_live == live)
			continue;
		if (live)
			swap(group, i, group->live++);
		else
			swap(group, i, --group->live);
		break;
	}
	for (unsigned i = 0; i < group->members; i++) {
		uint32_t bit = UINT32_C(1) << i;

		if (group->by_digit[i] == port)
			group->up = live ? group->up | bit : group->up & ~bit;
	}
}

void nd_ecmp_forget(struct nd_ecmp *group, uint16_t port)
{
	nd_ecmp_set_live(group, port, false);
	for (unsigned i = 0; i < group->members; i++) {
		if (group->port[i] == port)
			group->port[i] = ND_ECMP_NO_PORT;
		if (group->by_digit[i] == port)
			group->by_digit[i] = ND_ECMP_NO_PORT;
	}
}
