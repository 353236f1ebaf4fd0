// SPDX-License-Identifier: Apache-2.0
/* Shrinking of failing swarm options. */
#include "sim/swarm_shrink.h"

#include <string.h>

#include "sim/swarm.h"

/* Events of all runs together, so that it ends in time: some ten seconds. */
#define SHRINK_EVENTS_MAX UINT64_C(10000000)

struct shrink {
	struct nd_swarm *swarm;
	struct nd_swarm_options *options;
	const struct nd_swarm_protocol *const *protocols;
	char kind[sizeof(((struct nd_swarm_report *)0)->failure)];
	uint64_t events; /* of all runs so far */
};

/* Copies a failure without its numbers, so that it can be compared. */
static void kind_of(const char *failure, char *kind, size_t size)
{
	size_t length = 0;

	for (; *failure && length + 1 < size; failure++) {
		if (*failure < '0' || *failure > '9')
			kind[length++] = *failure;
	}
	kind[length] = '\0';
}

static bool still_fails(struct shrink *shrink)
{
	char now[sizeof(shrink->kind)];
	bool passed;

	if (shrink->events >= SHRINK_EVENTS_MAX)
		return false;
	passed = nd_swarm_run(shrink->swarm, shrink->options, shrink->protocols, NULL);
	shrink->events += shrink->swarm->report.events;
	kind_of(shrink->swarm->report.failure, now, sizeof(now));
	return !passed && strcmp(now, shrink->kind) == 0;
}

/* Tries the calm value, then half the way to it, again and again. */
static bool shrink_one(struct shrink *shrink, uint32_t at)
{
	uint32_t *value = nd_swarm_options_at(shrink->options, at);
	uint32_t calm = nd_swarm_option_texts[at].calm, best = *value;
	bool changed = false;

	for (*value = calm; *value != best;) {
		if (still_fails(shrink)) {
			best = *value;
			changed = true;
			*value = calm;
			continue;
		}
		*value += *value < best ? (best - *value + 1) / 2 : 0;
		if (*value > best)
			break;
	}
	*value = best;
	return changed;
}

uint32_t nd_swarm_shrink(struct nd_swarm *swarm, struct nd_swarm_options *options,
			 const struct nd_swarm_protocol *const protocols[ND_SWARM_PROTOCOLS])
{
	struct shrink shrink = { .swarm = swarm, .options = options, .protocols = protocols };
	uint32_t left = 0;
	bool changed;

	if (nd_swarm_run(swarm, options, protocols, NULL))
		return 0;
	kind_of(swarm->report.failure, shrink.kind, sizeof(shrink.kind));
	do {
		changed = false;
		/* The first option is which protocols there are: not to be varied. */
		for (uint32_t i = 1; i < nd_swarm_option_count; i++)
			changed |= shrink_one(&shrink, i);
	} while (changed);
	for (uint32_t i = 1; i < nd_swarm_option_count; i++)
		left += *nd_swarm_options_at(options, i) != nd_swarm_option_texts[i].calm;
	nd_swarm_run(swarm, options, protocols, NULL);
	return left;
}

void nd_swarm_shrink_print(struct nd_swarm_options *options, FILE *out)
{
	for (uint32_t i = 1; i < nd_swarm_option_count; i++) {
		if (*nd_swarm_options_at(options, i) != nd_swarm_option_texts[i].calm)
			fprintf(out, " --set %s=%" PRIu32, nd_swarm_option_texts[i].name,
				*nd_swarm_options_at(options, i));
	}
	fputc('\n', out);
}
