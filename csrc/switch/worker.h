/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The thread that runs switches: it spins while there is work, and blocks when there is none.
 *
 * Control never locks the data path. A change is a call that the worker makes for the caller
 * between two rounds (nd_worker_call), so no switch needs a lock and every change is atomic to
 * packets. The heartbeat counts rounds: a watchdog that sees it stand still knows that the data
 * path hangs, whatever the control plane does.
 */
#ifndef ND_SWITCH_WORKER_H
#define ND_SWITCH_WORKER_H

#include "switch/switch.h"

#define ND_WORKER_SWITCHES_MAX 16u

enum nd_worker_profile {
	ND_WORKER_ADAPTIVE, /* spin for spin_ns after the last frame, then block */
	ND_WORKER_SPIN,     /* never block: needs a CPU of its own */
};

struct nd_worker_config {
	enum nd_worker_profile profile;
	nd_ns spin_ns;
	int cpu; /* to run on, or -1 */
};

/* Written by the worker only; read at any time without a lock. */
struct nd_worker_stats {
	uint64_t rounds;      /* the heartbeat */
	uint64_t busy_rounds; /* that moved frames */
	uint64_t frames;      /* moved */
	uint64_t sleeps;      /* times that it blocked */
	uint64_t sleep_ns;    /* time spent blocked */
	uint64_t gap_ns_max;  /* longest time between two rounds that was not slept */
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

/* A copy of the stats as of now. */
struct nd_worker_stats nd_worker_stats(const struct nd_worker *worker);

#endif
