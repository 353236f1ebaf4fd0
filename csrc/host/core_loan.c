// SPDX-License-Identifier: Apache-2.0
/* Rounds that an application runs in the place of the core's own thread. */
/*
 * DESIGN NOTES
 * 1. An application that asks and waits would sleep twice for one round trip: the core's thread
 *    has to be woken for the command, and the application for the answer. So it runs the rounds
 *    itself where it would block anyway, and only the packet wakes it: what a socket costs. The
 *    turn (turn.h) says who may.
 * 2. It pays for whoever waits for one thing, however long that is: a long message is received where
 *    it is waited for. Where more arrives the core's thread is better beside the application than in
 *    its place, so it is recalled when the application leaves with several events, or after many
 *    frames that others are waiting behind; it lends again when it has nothing to do.
 * 3. A lender serves one application: another one's events would have to wait until the borrower,
 *    which knows nothing of it, comes back.
 * 4. Between two waits nobody is there to be woken for a command, so whoever submits it runs the
 *    round that sends it. What comes back is read by the next wait, or after a tick.
 * 5. An event loop never waits here. It watches core->epoll, which is to say that it is woken by
 *    whatever wakes the core's thread, and runs the rounds there are (nd_core_serve) before it
 *    takes their events. So a packet wakes one thread, the loop's, and what the tasks of one
 *    iteration have submitted leaves by one round. The core's own thread keeps the time: it looks
 *    after a tick without a round, and takes over for a loop that is busy with other things (turn.h,
 *    note 4), so a timer is late by a tick at most. What is due sooner, such as paced packets, is
 *    left to it. What one turn of the loop does not finish is for the next: recalling the core's
 *    thread for it had the two take over from each other with every second batch of 32 requests.
 * 6. A loop that has sent one message waits awake for what comes of it, as long as that pays
 *    (spin.h) and its other tasks can bear. Both ends then stay awake, and an awaited echo takes two
 *    thirds of the time. Where more was sent it does not, since the first answer would take the
 *    batch apart.
 */
#include "host/core.h"

#include <errno.h>

#define LOAN_FRAMES_MAX 4096u /* received in one loan: then the wait sees signals again */
#define LOAN_FRAMES_MANY 32u  /* where others wait behind them */
#define LOAN_EVENTS_MAX 8u  /* that the application leaves with */
#define PUSH_ROUNDS_MAX 4u  /* until a sender leaves the rest; acknowledgements may come meanwhile */
#define LOOP_ROUNDS_MAX 8u /* of one turn of an event loop, whose other tasks wait meanwhile */
#define LINGER_COMMANDS_MAX 2u
#define DUE_SOON (200 * ND_USEC) /* that the core's own thread is to see to */

static uint64_t frames_received(const struct nd_core *core)
{
	uint64_t frames = 0;

	for (uint32_t i = 0; i < core->config.port_count; i++)
		if (core->ports[i].port)
			frames += core->ports[i].port->counters.rx_frames;
	return frames;
}

static bool borrow(struct nd_core *core)
{
	if (!nd_turn_borrow(&core->turn))
		return false;
	core->counters.loans++;
	core->loan = (struct nd_core_loan){ .frames = frames_received(core) };
	nd_core_disown_ports(core);
	return true;
}

static bool needs_owner(const struct nd_core *core)
{
	return core->loan.owner || !core->sole_app ||
	       frames_received(core) - core->loan.frames > LOAN_FRAMES_MAX;
}

static bool much_arrives(struct nd_core *core)
{
	return frames_received(core) - core->loan.frames > LOAN_FRAMES_MANY &&
	       !nd_core_arm_ports(core);
}

/* What the core's own thread is to do at once, now that nobody else does. */
static bool more_to_do(void *argument)
{
	struct nd_core *core = argument;

	if (needs_owner(core) || __atomic_load_n(&core->request, __ATOMIC_ACQUIRE))
		return true;
	for (uint32_t i = 0; i < core->apps_limit; i++)
		if (core->apps[i].used && nd_ring_filled(&core->apps[i].channel.submissions, 1))
			return true;
	return false;
}

static void give_back(struct nd_core *core)
{
	if (nd_turn_give_back(&core->turn, more_to_do, core))
		nd_core_ring(core);
}

static bool run_round(struct nd_core *core, nd_ns now)
{
	core->counters.rounds_lent++;
	return nd_core_round(core, now);
}

/* Returns as nd_core_run_until() does. */
static int run_rounds(struct nd_core *core, uint64_t app, struct nd_ring *completions, nd_ns until)
{
	int code = 0;

	while (code == 0) {
		nd_ns now = nd_core_now();
		bool busy = run_round(core, now);

		if (nd_ring_filled(completions, 1))
			return 1;
		if (now >= until)
			return 0;
		if (core->sole_app != app || needs_owner(core))
			return -EAGAIN;
		if (!nd_core_answer_call(core) && !busy)
			code = nd_core_wait(core, now, until);
	}
	return code;
}

int nd_core_run_until(struct nd_core *core, uint64_t app, struct nd_ring *completions, nd_ns until)
{
	int code;

	if (__atomic_load_n(&core->sole_app, __ATOMIC_RELAXED) != app ||
	    !borrow(core))
		return -EAGAIN;
	code = run_rounds(core, app, completions, until);
	core->loan.owner |= nd_ring_filled(completions, LOAN_EVENTS_MAX) == LOAN_EVENTS_MAX ||
			    much_arrives(core);
	give_back(core);
	return code;
}

/*
 * Rounds until there is nothing to do. What is left is for the loop's next turn, or the owner's where
 * no loop watches; what comes by itself is the owner's.
 */
static void run_few_rounds(struct nd_core *core)
{
	bool watched = nd_turn_is_watched(&core->turn), busy = true;
	uint32_t most = watched ? LOOP_ROUNDS_MAX : PUSH_ROUNDS_MAX;
	nd_ns now = 0;

	for (uint32_t i = 0; i < most && busy; i++) {
		now = nd_core_now();
		busy = run_round(core, now) || (watched && !nd_core_arm_ports(core));
	}
	if (busy && watched)
		nd_core_ring(core);
	else
		core->loan.owner |= busy ||
				    (watched && nd_core_due_at(core, now) < now + DUE_SOON);
}

/* True where the owner sleeps, and is not what a command wakes. */
static bool pushes(const struct nd_core *core)
{
	enum nd_turn_state state = nd_turn_state(&core->turn);

	return state == ND_TURN_LEFT ||
	       (state == ND_TURN_FREE && nd_turn_is_watched(&core->turn));
}

bool nd_core_push(struct nd_core *core)
{
	if (ND_LIKELY(!pushes(core)) || !borrow(core))
		return false;
	run_few_rounds(core);
	give_back(core);
	return true;
}

/*
 * True for one message, and perhaps the release of another: somebody waits for what comes of it. With
 * more, waking at the first answer would take batches apart.
 */
static bool is_worth_waiting_for(struct nd_core *core)
{
	uint32_t commands = 0;

	for (uint32_t i = 0; i < core->apps_limit; i++)
		if (core->apps[i].used)
			commands += nd_ring_filled(&core->apps[i].channel.submissions,
						   LINGER_COMMANDS_MAX + 1);
	return commands && commands <= LINGER_COMMANDS_MAX;
}

/*
 * Rounds until there is more to tell than that the message was taken, for as long as it pays to
 * wait for that awake. It does not where it took that long because another thread had this CPU.
 */
static void linger(struct nd_core *core)
{
	nd_ns began = nd_core_now(), now = began;

	do {
		run_round(core, now);
		now = nd_core_now();
	} while (nd_spin_goes_on(&core->linger, began, now) && !core->loan.news &&
		 !__atomic_load_n(&core->request, __ATOMIC_RELAXED));
}

bool nd_core_serve(struct nd_core *core, uint64_t app, bool woken)
{
	bool finished;

	if (__atomic_load_n(&core->sole_app, __ATOMIC_RELAXED) != app ||
	    !borrow(core))
		return false;
	nd_turn_set_watched(&core->turn, true);
	core->woken = woken;
	if (core->may_spin && is_worth_waiting_for(core))
		linger(core);
	run_few_rounds(core);
	finished = !needs_owner(core);
	give_back(core);
	return finished;
}
