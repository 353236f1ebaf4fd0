// SPDX-License-Identifier: Apache-2.0
/* The core's rounds, who runs them, and calls between two of them. */
/*
 * DESIGN NOTES
 * 1. A core has a thread of its own, or (ND_STACK_POLLED) none: the thread that opened it runs the
 *    rounds whenever it polls. Both run nd_core_round(); nothing else knows the difference.
 * 2. Timers fire only when what arrived before has been read. A core that was not scheduled for
 *    longer than a retransmission timeout finds the acknowledgements in its rings; asking the
 *    timers first would send everything again. A port that never runs empty may not silence the
 *    timers, so they are put off for no more frames than a ring holds.
 * 3. A round sends before it receives, and ends with events. So applications hear of a message
 *    before the system call that acknowledges it, and where one answers at once its answer and the
 *    acknowledgement leave together.
 */
#include "host/core.h"

#include "port/slice.h"

#include <errno.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#define CHECK_EVERY (100 * ND_MSEC)
#define WIND_UP_WITHIN (20 * ND_MSEC)
#define TIMERS_WAIT_MAX (4096u / ND_CORE_BATCH) /* rounds: a ring full of frames */

nd_ns nd_core_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (nd_ns)now.tv_sec * ND_SEC + (nd_ns)now.tv_nsec;
}

/* ---- calls from other threads ---- */

void nd_core_ring(const struct nd_core *core)
{
	uint64_t one = 1;

	if (write(core->bell, &one, sizeof(one)) < 0)
		nd_assert(errno == EAGAIN || errno == EINTR);
}

int nd_core_call(struct nd_core *core, void (*call)(struct nd_core *core, void *argument),
		 void *argument)
{
	struct nd_core_request request = { .call = call, .argument = argument };

	if (nd_core_is_polled(core)) {
		if (!nd_core_is_ours(core))
			return -EPERM;
		call(core, argument);
		return 0;
	}
	pthread_mutex_lock(&core->mutex);
	while (core->request)
		pthread_cond_wait(&core->done, &core->mutex);
	__atomic_store_n(&core->request, &request, __ATOMIC_RELEASE);
	nd_core_ring(core);
	nd_turn_recall(&core->turn);
	while (!request.done)
		pthread_cond_wait(&core->done, &core->mutex);
	pthread_mutex_unlock(&core->mutex);
	return 0;
}

void nd_core_hush(const struct nd_core *core)
{
	uint64_t rings;

	if (read(core->bell, &rings, sizeof(rings)) < 0)
		nd_assert(errno == EAGAIN || errno == EINTR);
}

bool nd_core_answer_call(struct nd_core *core)
{
	if (ND_LIKELY(!__atomic_load_n(&core->request, __ATOMIC_ACQUIRE)))
		return false;
	pthread_mutex_lock(&core->mutex);
	nd_core_hush(core);
	core->request->call(core, core->request->argument);
	core->request->done = true;
	__atomic_store_n(&core->request, NULL, __ATOMIC_RELEASE);
	pthread_cond_broadcast(&core->done);
	pthread_mutex_unlock(&core->mutex);
	return true;
}

/* ---- a round ---- */

/* When the first engine is due; they are asked if one may have changed its mind. */
static nd_ns find_due(struct nd_core *core)
{
	nd_ns due = ND_NEVER;

	if (!core->news.deadlines)
		return core->due;
	core->news.deadlines = 0;
	for (uint32_t i = 0; i < core->engine_count; i++)
		due = nd_min_u64(due, core->engines[i].ops->deadline(core->engines[i].endpoint));
	return due;
}

static bool run_due(struct nd_core *core, nd_ns now)
{
	bool busy = false;

	for (uint32_t i = 0; i < core->engine_count; i++) {
		const struct nd_core_engine *engine = &core->engines[i];

		if (engine->ops->deadline(engine->endpoint) > now)
			continue;
		nd_recorder_timer(core->recorder, i, now);
		engine->ops->on_deadline(engine->endpoint, now);
		nd_core_stir(core, engine);
		busy = true;
	}
	return busy;
}

static bool run_timers(struct nd_core *core, nd_ns now)
{
	if (core->unread && ++core->timers_waited < TIMERS_WAIT_MAX)
		return true;
	core->timers_waited = 0;
	core->due = find_due(core);
	return ND_UNLIKELY(core->due <= now) && run_due(core, now);
}

/* The slow things, and whatever a bell may have rung for that was no packet and no command. */
static void look_after(struct nd_core *core, nd_ns now)
{
	core->check_at = now + CHECK_EVERY;
	nd_core_hush(core);
	nd_core_answer_service(core);
	nd_core_check_apps(core, now);
	nd_recorder_note(core->recorder, ND_RECORD_CHECK, 0, 0, now);
	nd_core_check_waiting(core, now);
	nd_core_check_ports(core, now);
}

bool nd_core_round(struct nd_core *core, nd_ns now)
{
	bool busy = nd_core_take_commands(core, now);

	core->counters.rounds++;
	nd_recorder_turn(core->recorder, now);
	busy |= nd_core_transmit(core, now);
	busy |= nd_core_receive(core, now);
	busy |= run_timers(core, now);
	busy |= nd_core_deliver_events(core, now);
	nd_recorder_round_end(core->recorder, now);
	if (busy)
		core->busy_at = now;
	if (ND_UNLIKELY(now >= core->check_at || (core->woken && !busy))) {
		look_after(core, now);
		busy = true; /* there may be something to send */
	}
	core->woken = false;
	return busy;
}

static bool transmit_last(struct nd_core *core, nd_ns now)
{
	bool busy;

	nd_recorder_turn(core->recorder, now);
	busy = nd_core_transmit(core, now);
	nd_recorder_last_turn_end(core->recorder);
	return busy;
}

void nd_core_wind_up(struct nd_core *core)
{
	nd_ns now = nd_core_now(), end = now + WIND_UP_WITHIN;

	for (uint32_t i = 0; i < core->apps_limit; i++)
		if (core->apps[i].used)
			nd_core_detach(core, i, now);
	while (now < end && (transmit_last(core, now) || nd_nic_room_at(&core->nic) > now))
		now = nd_core_now();
}

void *nd_core_run(void *argument)
{
	struct nd_core *core = argument;

	/* Neither can fail: the name is short, the slack a number. */
	prctl(PR_SET_NAME, "ndpstack-core");
	prctl(PR_SET_TIMERSLACK, 1); /* ns that a sleep may be prolonged to save wake-ups */
	nd_slice_shorten();
	core->busy_at = nd_core_now();
	while (!core->stopping) {
		nd_ns now = nd_core_now();
		bool busy = nd_core_round(core, now);

		if (!nd_core_answer_call(core) && !busy)
			nd_core_wait(core, now, ND_NEVER);
	}
	nd_core_wind_up(core);
	return NULL;
}
