// SPDX-License-Identifier: Apache-2.0
/* Memory and books of the agenda. */
#include "sim/agenda.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int nd_agenda_init(struct nd_agenda *agenda, uint32_t limit, uint32_t lane_limit, uint32_t shift)
{
	nd_assert(lane_limit && (lane_limit & (lane_limit - 1)) == 0);
	memset(agenda, 0, sizeof(*agenda));
	agenda->lane_mask = lane_limit - 1;
	for (uint32_t i = 0; i < ND_AGENDA_LANES; i++) {
		agenda->lanes[i].ring = malloc((size_t)lane_limit * sizeof(struct nd_wheel_event));
		if (!agenda->lanes[i].ring)
			goto no_memory;
	}
	if (nd_wheel_init(&agenda->wheel, limit, shift) == 0)
		return 0;
no_memory:
	nd_agenda_free(agenda);
	return -ENOMEM;
}

uint32_t nd_agenda_find(struct nd_agenda *agenda, nd_ps gap)
{
	uint32_t found = ND_NONE, empty = ND_NONE;

	for (uint32_t i = 0; i < ND_AGENDA_LANES; i++) {
		if (agenda->lanes[i].gap == gap)
			found = i;
		else if (agenda->lanes[i].end == agenda->lanes[i].first &&
			 (empty == ND_NONE || !agenda->lanes[i].gap))
			empty = i;
	}
	if (found == ND_NONE && agenda->rival == gap && empty != ND_NONE) {
		agenda->lanes[empty].gap = gap;
		found = empty;
	}
	agenda->rival = gap;
	if (found != ND_NONE)
		agenda->table[nd_agenda_hash(gap)] = (uint8_t)found;
	return found;
}

void nd_agenda_free(struct nd_agenda *agenda)
{
	for (uint32_t i = 0; i < ND_AGENDA_LANES; i++)
		free(agenda->lanes[i].ring);
	nd_wheel_free(&agenda->wheel);
	memset(agenda, 0, sizeof(*agenda));
}

size_t nd_agenda_bytes(const struct nd_agenda *agenda)
{
	return ((size_t)ND_AGENDA_LANES * (agenda->lane_mask + 1) +
		(size_t)agenda->wheel.limit * 3) * sizeof(struct nd_wheel_event);
}

uint32_t nd_agenda_pending(const struct nd_agenda *agenda)
{
	uint32_t total = nd_wheel_pending(&agenda->wheel);

	for (uint32_t i = 0; i < ND_AGENDA_LANES; i++)
		total += agenda->lanes[i].end - agenda->lanes[i].first;
	return total;
}

uint32_t nd_agenda_count(const struct nd_agenda *agenda, uint32_t shift, uint32_t kind)
{
	uint32_t total = nd_wheel_count(&agenda->wheel, shift, kind);

	for (uint32_t i = 0; i < ND_AGENDA_LANES; i++) {
		const struct nd_lane *lane = &agenda->lanes[i];

		for (uint32_t at = lane->first; at != lane->end; at++)
			total += lane->ring[at & agenda->lane_mask].what >> shift == kind;
	}
	return total;
}

const char *nd_agenda_audit(const struct nd_agenda *agenda)
{
	uint32_t used = 0;

	for (uint32_t i = 0; i < ND_AGENDA_LANES; i++) {
		const struct nd_lane *lane = &agenda->lanes[i];

		if (lane->end - lane->first > agenda->lane_mask + 1)
			return "agenda: a lane holds too much";
		used += lane->end != lane->first;
		for (uint32_t at = lane->first + 1; lane->first != lane->end && at != lane->end; at++) {
			const struct nd_wheel_event *b = &lane->ring[at & agenda->lane_mask];
			const struct nd_wheel_event *a = &lane->ring[(at - 1) & agenda->lane_mask];

			if (nd_agenda_before(b->time, b->key, a->time, a->key))
				return "agenda: a lane is not in order";
		}
	}
	if (used != agenda->used)
		return "agenda: a lane in use has no head";
	return nd_wheel_audit(&agenda->wheel);
}
