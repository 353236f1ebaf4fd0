// SPDX-License-Identifier: Apache-2.0
/* Whose turn it is to run the rounds of a core. */
#include "host/turn.h"

#include <errno.h>
#include <time.h>

void nd_turn_init(struct nd_turn *turn)
{
	pthread_condattr_t attributes;

	*turn = (struct nd_turn){ .state = ND_TURN_OWN };
	pthread_mutex_init(&turn->mutex, NULL);
	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_cond_init(&turn->changed, &attributes);
	pthread_condattr_destroy(&attributes);
}

void nd_turn_free(struct nd_turn *turn)
{
	pthread_cond_destroy(&turn->changed);
	pthread_mutex_destroy(&turn->mutex);
}

/* Under the mutex. The fence orders it before what its new state lets others be asked. */
static void set_state(struct nd_turn *turn, enum nd_turn_state state)
{
	__atomic_store_n(&turn->state, state, __ATOMIC_RELEASE);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
}

/* ---- owner ---- */

void nd_turn_lend(struct nd_turn *turn)
{
	pthread_mutex_lock(&turn->mutex);
	set_state(turn, ND_TURN_FREE);
	pthread_mutex_unlock(&turn->mutex);
}

/* Waits for a tick, or for the borrower where it stays; true when nothing happened meanwhile. */
static bool park(struct nd_turn *turn)
{
	uint32_t loans = turn->loans;
	struct timespec end;
	int code = 0;

	if (turn->patient) {
		pthread_cond_wait(&turn->changed, &turn->mutex);
		turn->patient = false;
		return false;
	}
	clock_gettime(CLOCK_MONOTONIC, &end);
	end.tv_nsec += (long)ND_TURN_TICK;
	end.tv_sec += end.tv_nsec / (long)ND_SEC;
	end.tv_nsec %= (long)ND_SEC;
	while (code == 0 && !turn->recalled)
		code = pthread_cond_timedwait(&turn->changed, &turn->mutex, &end);
	return code == ETIMEDOUT && loans == turn->loans;
}

void nd_turn_set_watched(struct nd_turn *turn, bool watched)
{
	__atomic_store_n(&turn->watched, watched, __ATOMIC_RELAXED);
}

bool nd_turn_resume(struct nd_turn *turn, bool woken)
{
	bool first = woken && nd_turn_is_watched(turn); /* the loop is to come first */
	uint32_t loans;
	bool borrowed;

	pthread_mutex_lock(&turn->mutex);
	borrowed = turn->state != ND_TURN_FREE;
	loans = turn->loans;
	if (!borrowed && first)
		set_state(turn, ND_TURN_LEFT);
	turn->parked = true;
	while (turn->state == ND_TURN_LENT || (turn->state == ND_TURN_LEFT && !turn->recalled)) {
		bool still = park(turn);

		if (still && turn->state == ND_TURN_LEFT)
			break;
		turn->patient = still;
	}
	if (!borrowed && first && loans == turn->loans && !turn->recalled)
		nd_turn_set_watched(turn, false);
	borrowed |= loans != turn->loans;
	turn->parked = turn->patient = turn->recalled = false;
	set_state(turn, ND_TURN_OWN);
	pthread_mutex_unlock(&turn->mutex);
	return borrowed;
}

/* ---- others ---- */

bool nd_turn_borrow(struct nd_turn *turn)
{
	enum nd_turn_state state = nd_turn_state(turn);
	bool lent;

	if (state == ND_TURN_OWN || state == ND_TURN_LENT)
		return false;
	pthread_mutex_lock(&turn->mutex);
	lent = (turn->state == ND_TURN_FREE || turn->state == ND_TURN_LEFT) && !turn->recalled;
	if (lent) {
		turn->loans++;
		set_state(turn, ND_TURN_LENT);
	}
	pthread_mutex_unlock(&turn->mutex);
	return lent;
}

bool nd_turn_give_back(struct nd_turn *turn, bool (*more)(void *context), void *context)
{
	bool blocks;

	pthread_mutex_lock(&turn->mutex);
	set_state(turn, ND_TURN_LEFT);
	turn->recalled = more(context);
	if (turn->parked && (turn->recalled || turn->patient))
		pthread_cond_signal(&turn->changed);
	blocks = !turn->parked;
	pthread_mutex_unlock(&turn->mutex);
	return blocks;
}

/* True where the owner waits for others before it goes on, or would when it is woken. */
static bool is_unattended(const struct nd_turn *turn)
{
	enum nd_turn_state state = nd_turn_state(turn);

	return state == ND_TURN_LEFT || (state == ND_TURN_FREE && nd_turn_is_watched(turn));
}

void nd_turn_recall(struct nd_turn *turn)
{
	if (!is_unattended(turn))
		return;
	pthread_mutex_lock(&turn->mutex);
	if (is_unattended(turn)) {
		turn->recalled = true;
		pthread_cond_signal(&turn->changed);
	}
	pthread_mutex_unlock(&turn->mutex);
}
