/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The swarm test: a few hosts, a bad network and busy applications, all drawn from one seed.
 *
 * DESIGN NOTES
 * 1. It drives the real engines and disciplines through their contracts and knows nothing else
 *    about them. Speed comes from small runs: thousands of seeds a minute find more than one long
 *    run does.
 * 2. Two phases. Safety: faults are on and the checkers must hold at every step. Liveness: faults
 *    go off for the hosts that are left; all that is outstanding has to end, each pair of hosts
 *    has to get a new message across, and afterwards nothing may be left anywhere.
 * 3. The first failure ends the run. Everything in it follows from the options, so the seed (and
 *    the options that were set by hand) repeat it.
 */
#ifndef ND_SIM_SWARM_H
#define ND_SIM_SWARM_H

#include <inttypes.h>

#include "sim/swarm_check.h"
#include "sim/swarm_homa.h"
#include "sim/swarm_host.h"
#include "sim/swarm_loop.h"
#include "sim/swarm_ndp.h"
#include "sim/swarm_network.h"
#include "sim/swarm_options.h"
#include "sim/swarm_queue.h"
#include "sim/swarm_trace.h"
#include "sim/swarm_wire.h"

/* What a run did; all zero-based counts. */
#define ND_SWARM_COUNTS(X) \
	X(events, "Events of the loop.") \
	X(packets, "Packets sent by hosts.") \
	X(lost, "Packets lost on links, corrupted ones included.") \
	X(dropped, "Packets dropped by queues.") \
	X(trimmed, "Packets trimmed by queues.") \
	X(returned, "Headers returned to their sender.") \
	X(duplicated, "Packets doubled on links.") \
	X(messages, "Messages and RPCs started.") \
	X(delivered, "Messages, requests and responses delivered.") \
	X(failed, "Messages and RPCs reported failed.") \
	X(restarts, "Restarts of hosts.")

#define ND_SWARM_COUNT_FIELD(name, help) uint64_t name;

struct nd_swarm_report {
	bool ok;
	nd_ns time; /* virtual, at the end or at the failure */
	ND_SWARM_COUNTS(ND_SWARM_COUNT_FIELD)
	char failure[512]; /* one line; empty when ok */
};

struct nd_swarm {
	struct nd_swarm_options options;
	const struct nd_swarm_protocol *protocols[ND_SWARM_PROTOCOLS];
	uint8_t configs[ND_SWARM_PROTOCOLS][ND_SWARM_CONFIG_BYTES] __attribute__((aligned(64)));
	struct nd_swarm_loop loop;
	uint64_t idle_polls; /* events at which applications found nothing: no part of a storm */
	struct nd_swarm_trace trace;
	struct nd_swarm_network network;
	struct nd_swarm_queue queues[2]; /* core ports, edge ports */
	struct nd_swarm_host hosts[ND_SWARM_HOSTS_MAX];
	struct nd_swarm_hold holds[ND_SWARM_HOLDS_MAX];
	uint32_t hold_count;
	struct nd_swarm_ndp ndp;
	struct nd_swarm_homa homa;
	struct nd_swarm_check check;
	struct nd_swarm_wire wire;
	struct nd_rng faults;
	struct nd_rng workload;
	uint32_t actions_left;
	bool calm;      /* liveness phase: no more faults */
	bool finishing; /* everything has been closed */
	struct nd_swarm_report report;
};

/* A swarm of its own memory, which its runs use again; NULL when there is none. */
struct nd_swarm *nd_swarm_new(void);
void nd_swarm_free(struct nd_swarm *swarm);

/*
 * One run. protocols[i] answers to the options' bit i. Returns true when no checker complained;
 * swarm->report tells the rest. live is where events are printed as they happen, or NULL.
 */
bool nd_swarm_run(struct nd_swarm *swarm, const struct nd_swarm_options *options,
		  const struct nd_swarm_protocol *const protocols[ND_SWARM_PROTOCOLS], FILE *live);

/* Writes options, failure and the last events. */
void nd_swarm_print(struct nd_swarm *swarm, FILE *out);

/* Records the first failure; the run ends at the next event. */
__attribute__((format(printf, 2, 3)))
void nd_swarm_fail(struct nd_swarm *swarm, const char *format, ...);

/* True with that many percent of the workload's draws. */
static inline bool nd_swarm_percent(struct nd_rng *rng, uint32_t percent)
{
	return percent != 0 && nd_rng_below(rng, 100) < percent;
}

#endif
