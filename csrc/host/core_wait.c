// SPDX-License-Identifier: Apache-2.0
/* What the core does when there is nothing to do. */
/*
 * DESIGN NOTES
 * 1. A sleep ends late by some microseconds, so one that a timer is to end is cut short by that
 *    much and the rest is spun: paced packets leave on time, and an idle core (no timer) still
 *    sleeps soundly. The kernel may by default add 50 us to any sleep to save wake-ups; the core
 *    thread asks for none of that.
 * 2. Everything that may wake the core is armed first and looked at once more; only then it
 *    blocks. What arrives in between rings a bell that is already watched.
 * 3. PULLs are paced here, by the deadline of the engine that queues them, and not by a thread of
 *    their own. Measured by bench_fast_pull with two CPUs, the median spacing is within 0.5 % of
 *    the target at 100 Mb/s, 300 Mb/s and 1 Gb/s. A thread that does nothing but sleep and spin
 *    until the next one is due had medians no better than 0.1 % and the same tail of milliseconds,
 *    which is the scheduler's: it is a third spinning thread where the core and its application
 *    already want both CPUs. It would need a transmit ring of its own (a ring has one owner) and
 *    a lock around the pull queue that every arrival fills.
 * 4. While the core's own thread blocks, an application may step in (core_loan.c). Not in the
 *    profiles throughput, where the two are to work side by side, and spin, which never blocks; not
 *    where the thread has a CPU to itself; and not where other processes are served.
 *    One that an event loop stands in for does not spin: the loop comes by itself, and its tasks
 *    want the CPU.
 */
#include "host/core.h"

#include <errno.h>
#include <sys/epoll.h>
#include <time.h>

#define SLEEP_SLACK (30 * ND_USEC)   /* that a sleep may end late */
#define RETRY_AFTER (100 * ND_USEC)  /* a link that did not take all frames */
#define BEHIND_AFTER ND_MSEC         /* an application that does not take its events */
#define WAKES_MAX 16

static nd_ns deadline_of(const struct nd_core *core)
{
	nd_ns deadline = core->check_at;

	for (uint32_t i = 0; i < core->engine_count; i++)
		deadline = nd_min_u64(deadline,
				      core->engines[i].ops->deadline(core->engines[i].endpoint));
	return deadline;
}

/*
 * Packets that wait for room, on the link or in a port; commands that wait for their owner, and owners
 * for events.
 */
static nd_ns room_at(struct nd_core *core, nd_ns now)
{
	nd_ns at = nd_nic_room_at(&core->nic);

	if (at <= now)
		at = ND_NEVER;
	for (uint32_t i = 0; i < core->config.port_count; i++)
		if (core->ports[i].pending)
			at = nd_min_u64(at, now + RETRY_AFTER);
	for (uint32_t i = 0; i < core->apps_limit; i++) {
		struct nd_core_app *app = &core->apps[i];

		if (!app->used)
			continue;
		at = nd_min_u64(at, nd_core_app_tell_at(app));
		if (nd_core_app_is_behind(app))
			at = nd_min_u64(at, now + BEHIND_AFTER);
	}
	return at;
}

/* The rest of nd_core_arm_ports(), for a thread that commands have to wake. */
static bool arm_apps(struct nd_core *core)
{
	for (uint32_t i = 0; i < core->apps_limit; i++) {
		struct nd_core_app *app = &core->apps[i];

		if (!app->used)
			continue;
		if (nd_core_app_is_behind(app))
			nd_channel_hush_core(&app->channel);
		else if (!nd_channel_arm_core(&app->channel))
			return false;
	}
	return true;
}

/* True when nothing came meanwhile and everything that may come rings a bell. */
static bool arm(struct nd_core *core)
{
	return !__atomic_load_n(&core->request, __ATOMIC_ACQUIRE) && arm_apps(core) &&
	       nd_core_arm_ports(core);
}

nd_ns nd_core_due_at(struct nd_core *core, nd_ns now)
{
	return nd_min_u64(deadline_of(core), room_at(core, now));
}

/* True in a thread which somebody else may stand in for while it blocks. */
static bool lends(const struct nd_core *core)
{
	return core->config.profile == ND_STACK_ADAPTIVE && !core->config.cpu &&
	       core->service < 0 && !nd_core_is_lent(core);
}

static int block(struct nd_core *core, nd_ns duration)
{
	struct timespec timeout = {
		.tv_sec = (time_t)(duration / ND_SEC),
		.tv_nsec = (long)(duration % ND_SEC),
	};
	struct epoll_event events[WAKES_MAX];
	bool lent = lends(core);
	int ready;

	core->counters.sleeps++;
	if (lent)
		nd_turn_lend(&core->turn);
	ready = epoll_pwait2(core->epoll, events, WAKES_MAX, &timeout, NULL);
	if (lent && ready > 0 && nd_turn_is_watched(&core->turn))
		nd_core_hush(core); /* it would go on waking the loop */
	if (lent && nd_turn_resume(&core->turn, ready > 0))
		nd_core_disown_ports(core);
	core->woken = ready > 0;
	return ready < 0 && errno == EINTR ? -EINTR : 0;
}

static bool spins(struct nd_core *core, nd_ns now)
{
	switch (core->config.profile) {
	case ND_STACK_SPIN:
		return true;
	case ND_STACK_THROUGHPUT:
		return false;
	case ND_STACK_ADAPTIVE:
	case ND_STACK_POLLED:
		break;
	}
	return core->may_spin && !nd_turn_is_watched(&core->turn) &&
	       nd_spin_goes_on(&core->spin, core->busy_at, now);
}

int nd_core_wait(struct nd_core *core, nd_ns now, nd_ns until)
{
	nd_ns slack = core->may_spin ? SLEEP_SLACK : 0;

	if (spins(core, now))
		return 0;
	until = nd_min_u64(until, nd_core_due_at(core, now));
	if (until <= now + slack || !arm(core))
		return 0;
	return block(core, until - now - slack);
}
