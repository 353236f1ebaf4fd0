/* SPDX-License-Identifier: Apache-2.0 */
/* What the parts of a handle need of each other. */
#ifndef ND_BINDINGS_APP_COMMANDS_H
#define ND_BINDINGS_APP_COMMANDS_H

#include "app.h"

#include <errno.h>

#define ND_APP_KEY_MASK ((UINT64_C(1) << ND_APP_KEY_BITS) - 1)

#define ND_APP_UNTIL_MAX 1e10 /* seconds on the clock; later is never */

/* When to give up, as the core counts it: seconds on the monotonic clock, or infinity. */
static inline nd_ns nd_app_deadline(double until)
{
	if (!(until < ND_APP_UNTIL_MAX))
		return ND_NEVER;
	return until > 0 ? (nd_ns)(until * (double)ND_SEC) : 1; /* 0 is none to the core */
}

/* 0 with the mutex held, under which the stack stays open, or why not. */
static inline int nd_app_enter(struct nd_app *app)
{
	if (ND_UNLIKELY(app->foreign))
		return -ECHILD;
	pthread_mutex_lock(&app->mutex);
	if (ND_LIKELY(app->stack != NULL))
		return 0;
	pthread_mutex_unlock(&app->mutex);
	return -EBADF;
}

/* ---- the submit side; under the mutex ---- */

/* Hands over what waits; 0 when nothing does any more. */
int nd_app_flush(struct nd_app *app);

/* Frees the buffer that a cookie names, if it does, or ends the loan. */
void nd_app_free_buffer(struct nd_app *app, uint64_t cookie);

/* A message that its owner lends; the number that it has in the cookie, 0: there is no room. */
uint64_t nd_app_lend(struct nd_app *app, void *owner);
/* It was not sent: the owner knows by that. */
void nd_app_unlend(struct nd_app *app, uint64_t slot);
/* It is not looked at any more. */
void nd_app_end_loan(struct nd_app *app, uint64_t slot);
/* True while there are such that nobody took back. From any thread. */
bool nd_app_owes(const struct nd_app *app);
/* The handle is closed: none is. */
void nd_app_end_loans(struct nd_app *app);

/* ---- the event side ---- */

/* Takes what there is for the handle's owner, without waiting; the count or -errno. */
int nd_app_take_now(struct nd_app *app, struct nd_event *out, uint32_t limit);

/* Counts a batch that is going to be handed out; returns the count of its events. */
int nd_app_end_batch(struct nd_app *app, const struct nd_event *events, int count);

/*
 * Gives back what the last batch brought and was copied, if it was confirmed; if not, that batch is
 * handed out, with what nd_app_take() brought. True when there is none to come again.
 */
bool nd_app_confirm(struct nd_app *app, const struct nd_event *events, uint32_t batches);

#endif
