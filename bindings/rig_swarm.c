// SPDX-License-Identifier: Apache-2.0
/* The swarm as Python sees it. */
#include "rig_swarm.h"

#include <stdlib.h>

#include "sim/swarm.h"
#include "sim/swarm_engine.h"
#include "sim/swarm_shrink.h"

#define COUNT_NAME(name, help) #name,
#define COUNT_VALUE(name, help) report->name,

struct nd_rig_swarm {
	struct nd_swarm *swarm;
	struct nd_swarm_options options;
	char *text;
};

struct nd_rig_swarm *nd_rig_swarm_new(void)
{
	struct nd_rig_swarm *rig = calloc(1, sizeof(*rig));

	if (!rig)
		return NULL;
	rig->swarm = nd_swarm_new();
	if (!rig->swarm) {
		free(rig);
		return NULL;
	}
	return rig;
}

void nd_rig_swarm_free(struct nd_rig_swarm *rig)
{
	nd_swarm_free(rig->swarm);
	free(rig->text);
	free(rig);
}

void nd_rig_swarm_draw(struct nd_rig_swarm *rig, uint64_t seed, uint32_t protocols)
{
	nd_swarm_options_draw(&rig->options, seed, protocols);
}

void nd_rig_swarm_calm(struct nd_rig_swarm *rig, uint64_t seed, uint32_t protocols)
{
	nd_swarm_options_calm(&rig->options, seed, protocols);
}

int nd_rig_swarm_set(struct nd_rig_swarm *rig, const char *name, uint32_t value)
{
	return nd_swarm_options_set(&rig->options, name, value);
}

const char *nd_rig_swarm_option_name(uint32_t at)
{
	return at < nd_swarm_option_count ? nd_swarm_option_texts[at].name : NULL;
}

const char *nd_rig_swarm_option_help(uint32_t at)
{
	return at < nd_swarm_option_count ? nd_swarm_option_texts[at].help : NULL;
}

uint32_t nd_rig_swarm_option_calm(uint32_t at)
{
	return at < nd_swarm_option_count ? nd_swarm_option_texts[at].calm : 0;
}

uint32_t nd_rig_swarm_option(struct nd_rig_swarm *rig, uint32_t at)
{
	return *nd_swarm_options_at(&rig->options, at);
}

bool nd_rig_swarm_run(struct nd_rig_swarm *rig, bool verbose)
{
	bool ok = nd_swarm_run(rig->swarm, &rig->options, nd_swarm_engines,
			       verbose ? stdout : NULL);

	if (verbose)
		fflush(stdout);
	return ok;
}

uint32_t nd_rig_swarm_shrink(struct nd_rig_swarm *rig)
{
	return nd_swarm_shrink(rig->swarm, &rig->options, nd_swarm_engines);
}

const char *nd_rig_swarm_failure(const struct nd_rig_swarm *rig)
{
	return rig->swarm->report.failure;
}

nd_ns nd_rig_swarm_time(const struct nd_rig_swarm *rig)
{
	return rig->swarm->report.time;
}

const char *nd_rig_swarm_count_name(uint32_t at)
{
	static const char *const names[] = { ND_SWARM_COUNTS(COUNT_NAME) };

	return at < ND_ARRAY_SIZE(names) ? names[at] : NULL;
}

uint64_t nd_rig_swarm_count(const struct nd_rig_swarm *rig, uint32_t at)
{
	const struct nd_swarm_report *report = &rig->swarm->report;
	const uint64_t values[] = { ND_SWARM_COUNTS(COUNT_VALUE) };

	return at < ND_ARRAY_SIZE(values) ? values[at] : 0;
}

const char *nd_rig_swarm_text(struct nd_rig_swarm *rig)
{
	size_t size;
	FILE *out;

	free(rig->text);
	rig->text = NULL;
	out = open_memstream(&rig->text, &size);
	if (!out)
		return "";
	nd_swarm_print(rig->swarm, out);
	fclose(out);
	return rig->text ? rig->text : "";
}
