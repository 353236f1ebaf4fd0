// SPDX-License-Identifier: Apache-2.0
/*
 * Swarm seeds without Python: for sanitizer builds, debuggers and `meson test`.
 *
 *	run_swarm [--protocol ndp|homa|both] [--first N] [--seeds N] [--seconds N] [--verbose]
 *	          [--calm] [--set OPTION=VALUE]... [--shrink]
 */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "sim/swarm.h"
#include "sim/swarm_engine.h"
#include "sim/swarm_shrink.h"

#define SETTINGS_MAX 64

struct arguments {
	uint64_t first;
	uint64_t seeds;
	uint64_t seconds;
	uint32_t protocols;
	const char *settings[SETTINGS_MAX];
	uint32_t setting_count;
	bool verbose;
	bool calm;   /* every option is calm but those set */
	bool shrink; /* narrow the first failure down */
};

static struct nd_swarm *swarm;

static uint32_t parse_protocols(const char *name)
{
	if (strcmp(name, "ndp") == 0)
		return ND_SWARM_NDP;
	if (strcmp(name, "homa") == 0)
		return ND_SWARM_HOMA;
	return ND_SWARM_NDP | ND_SWARM_HOMA;
}

static void parse(struct arguments *arguments, int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		const char *value = i + 1 < argc ? argv[i + 1] : "";

		arguments->verbose |= strcmp(argv[i], "--verbose") == 0;
		arguments->calm |= strcmp(argv[i], "--calm") == 0;
		arguments->shrink |= strcmp(argv[i], "--shrink") == 0;
		if (strcmp(argv[i], "--verbose") == 0 || strcmp(argv[i], "--calm") == 0 ||
		    strcmp(argv[i], "--shrink") == 0)
			continue;
		i++;
		if (strcmp(argv[i - 1], "--first") == 0)
			arguments->first = strtoull(value, NULL, 0);
		else if (strcmp(argv[i - 1], "--seeds") == 0)
			arguments->seeds = strtoull(value, NULL, 0);
		else if (strcmp(argv[i - 1], "--seconds") == 0)
			arguments->seconds = strtoull(value, NULL, 0);
		else if (strcmp(argv[i - 1], "--protocol") == 0)
			arguments->protocols = parse_protocols(value);
		else if (strcmp(argv[i - 1], "--set") == 0 &&
			 arguments->setting_count < SETTINGS_MAX)
			arguments->settings[arguments->setting_count++] = value;
		else
			exit(2);
	}
}

static void apply(const struct arguments *arguments, struct nd_swarm_options *options)
{
	for (uint32_t i = 0; i < arguments->setting_count; i++) {
		char name[64];
		unsigned value;

		if (sscanf(arguments->settings[i], "%63[^=]=%u", name, &value) != 2 ||
		    nd_swarm_options_set(options, name, value) != 0) {
			fprintf(stderr, "no such option, or none that can be this: %s\n", arguments->settings[i]);
			exit(2);
		}
	}
}

/* An assertion in an engine: the run is lost, but not what led to it. */
static void on_abort(int signal_number)
{
	(void)signal_number;
	nd_swarm_fail(swarm, "an assertion failed");
	nd_swarm_print(swarm, stderr);
	_Exit(1);
}

static void draw(const struct arguments *arguments, uint64_t seed,
		 struct nd_swarm_options *options)
{
	if (arguments->calm)
		nd_swarm_options_calm(options, seed, arguments->protocols);
	else
		nd_swarm_options_draw(options, seed, arguments->protocols);
	apply(arguments, options);
}

static void report(const struct arguments *arguments, struct nd_swarm_options *options)
{
	if (arguments->shrink)
		nd_swarm_shrink(swarm, options, nd_swarm_engines);
	nd_swarm_print(swarm, stderr);
	if (!arguments->shrink)
		return;
	fprintf(stderr, "to repeat: --calm --first %" PRIu64, options->seed);
	nd_swarm_shrink_print(options, stderr);
}

int main(int argc, char **argv)
{
	struct arguments arguments = { .seeds = 1, .protocols = ND_SWARM_NDP | ND_SWARM_HOMA };
	time_t end;
	uint64_t seed;

	parse(&arguments, argc, argv);
	swarm = nd_swarm_new();
	if (!swarm)
		return 1;
	signal(SIGABRT, on_abort);
	end = time(NULL) + (time_t)arguments.seconds;
	for (seed = arguments.first; seed < arguments.first + arguments.seeds; seed++) {
		struct nd_swarm_options options;

		draw(&arguments, seed, &options);
		if (!nd_swarm_run(swarm, &options, nd_swarm_engines,
				  arguments.verbose ? stdout : NULL)) {
			report(&arguments, &options);
			nd_swarm_free(swarm);
			return 1;
		}
		if (arguments.seconds != 0 && time(NULL) >= end)
			break;
	}
	printf("%" PRIu64 " seeds passed\n", seed - arguments.first);
	nd_swarm_free(swarm);
	return 0;
}
