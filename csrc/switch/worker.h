/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The thread that runs switches: it spins while there is work, and blocks when there is none.
 *
 * Control never locks the data path. A change is a call that the worker makes for the caller
 * between two rounds (nd_worker_call), so no switch needs a lock and every change is atomic to
 * packets. The worker never waits for a caller. The heartbeat counts rounds: a watchdog that sees
 * it stand still knows that the data path hangs, whatever the control plane does.
 */
#ifndef ND_SWITCH_WORKER_H
#define ND_SWITCH_WORKER_H

#include "switch/page.h"

#define ND_WORKER_SWITCHES_MAX 16u

enum nd_worker_profile {
	ND_WORKER_ADAPTIVE, /* spin after the last frame as long as it pays, then block */
	ND_WORKER_SPIN,     /* never block: needs a CPU of its own */
};

struct nd_worker_config {
	enum nd_worker_profile profile;
	nd_ns spin_ns; /* at most */
	int cpu; /* to run on, or -1; one that it may not run on fails the start */
};

struct nd_worker;

/* Spinning defaults that suit a shared machine: 50 us, any CPU. */
struct nd_worker_config nd_worker_config_default(void);

/* Starts the thread, without switches. NULL with *error on failure. */
struct nd_worker *nd_worker_start(const struct nd_worker_config *config, struct nd_error *error);

/* Stops the thread and frees the worker; the switches are the caller's again. */
void nd_worker_stop(struct nd_worker *worker);

/*
 * Has the worker make one call between two rounds and returns its result. Calls of several threads
 * queue up. The call must be short: no frame moves meanwhile.
 */
int nd_worker_call(struct nd_worker *worker, int (*call)(void *context), void *context);

/* Adds a switch to the worker's round, or takes it out. 0, -ENOSPC, -ENOENT. */
int nd_worker_add(struct nd_worker *worker, struct nd_switch *sw);
int nd_worker_remove(struct nd_worker *worker, struct nd_switch *sw);

/* The clock of its rounds. */
nd_ns nd_worker_now(void);

/* A copy of the stats as of now; the worker alone writes them, in whole words. */
struct nd_worker_stats nd_worker_stats(const struct nd_worker *worker);

#endif
