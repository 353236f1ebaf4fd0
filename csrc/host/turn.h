/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whose turn it is to run the rounds of a core: its own thread's, the owner, or that of an
 * application which would block meanwhile anyway, and borrows it.
 *
 *	          nd_turn_lend()            nd_turn_borrow()
 *	   OWN ------------------> FREE --------------------> LENT
 *	    ^                       |                         |  ^
 *	    |    nd_turn_resume()   |    nd_turn_give_back()  |  | nd_turn_borrow()
 *	    +-----------------------+                         v  |
 *	    +----------------------------------------------- LEFT
 *	         nd_turn_resume(): nobody came back, or it was recalled
 *
 * DESIGN NOTES
 * 1. What the turn protects is touched by its holder only: the owner in OWN, the borrower in LENT.
 *    Each change of state passes the mutex, which orders what one did before what the next does.
 * 2. An application in a loop of requests borrows again within microseconds. So the owner stays
 *    parked while it is LEFT, and looks every ND_TURN_TICK whether anybody has been there since.
 *    That is how late at most something is done that came just after the application had left to
 *    compute. Who leaves something to be done, or who relies on the owner, recalls it.
 * 3. A borrower that stays for longer than a tick is waited for without one.
 * 4. An event loop does not stay: it watches what the owner waits for, and borrows when something
 *    comes. Then both are woken, and the owner lets the loop go first, for a tick. A loop that does
 *    not come by then is busy with other things and watches no more, as far as the owner knows.
 */
#ifndef ND_HOST_TURN_H
#define ND_HOST_TURN_H

#include "base/types.h"

#include <pthread.h>

#define ND_TURN_TICK ND_MSEC

enum nd_turn_state {
	ND_TURN_OWN,  /* the owner runs */
	ND_TURN_FREE, /* the owner blocks; what it waits for is watched */
	ND_TURN_LENT, /* a borrower runs, or blocks itself */
	ND_TURN_LEFT, /* a borrower has left; nobody watches */
};

struct nd_turn {
	pthread_mutex_t mutex;
	pthread_cond_t changed; /* for the owner where it is parked */
	uint32_t state;   /* enum nd_turn_state; also read without the mutex */
	uint32_t loans;   /* how often it was borrowed */
	bool parked;      /* the owner waits in nd_turn_resume() */
	bool patient;     /* ... for however long the borrower stays */
	bool recalled;    /* the owner is to take over */
	bool watched;     /* an event loop goes first; also read without the mutex */
};

void nd_turn_init(struct nd_turn *turn);
void nd_turn_free(struct nd_turn *turn);

static inline enum nd_turn_state nd_turn_state(const struct nd_turn *turn)
{
	return (enum nd_turn_state)__atomic_load_n(&turn->state, __ATOMIC_ACQUIRE);
}

/* ---- owner ---- */

/* Before it blocks, by something that give_back can end. */
void nd_turn_lend(struct nd_turn *turn);
/*
 * After that: waits until it is its turn; true when somebody else had it meanwhile. woken: by
 * something that an event loop which watches has been woken by, too.
 */
bool nd_turn_resume(struct nd_turn *turn, bool woken);

/* ---- others ---- */

/* True: it is the caller's turn, until it gives it back. */
bool nd_turn_borrow(struct nd_turn *turn);

/*
 * Ends a loan. more is asked, when others can see already that the borrower has left, whether
 * there is something to do that the owner is recalled for. True when the owner still blocks in
 * what it lent the turn for; the caller is to end that.
 */
bool nd_turn_give_back(struct nd_turn *turn, bool (*more)(void *context), void *context);

/* Makes the owner take over if nobody else runs. */
void nd_turn_recall(struct nd_turn *turn);

/* An event loop is woken by whatever wakes the owner and goes first from now on, or no more. */
void nd_turn_set_watched(struct nd_turn *turn, bool watched);

static inline bool nd_turn_is_watched(const struct nd_turn *turn)
{
	return __atomic_load_n(&turn->watched, __ATOMIC_RELAXED);
}

#endif
