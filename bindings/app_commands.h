/* SPDX-License-Identifier: Apache-2.0 */
/* What the parts of a handle need of each other. */
#ifndef ND_BINDINGS_APP_COMMANDS_H
#define ND_BINDINGS_APP_COMMANDS_H

#include "app.h"

#define ND_APP_KEY_MASK ((UINT64_C(1) << ND_APP_KEY_BITS) - 1)

/* ---- the submit side; under the mutex ---- */

/* Hands over what waits; 0 when nothing does any more. */
int nd_app_flush(struct nd_app *app);

/* Frees the buffer that a cookie names, if it does. */
void nd_app_free_buffer(struct nd_app *app, uint64_t cookie);

/* ---- the event side ---- */

/* True when all that has come is that requests were taken. */
bool nd_app_only_opened(const struct nd_event *events, int count);

/* Leaves out word that requests were taken whose ends came with it; how many events are left. */
int nd_app_leave_out_opened(struct nd_event *events, int count);

/* Counts a batch that is going to be handed out; returns how many of its events are left. */
int nd_app_end_batch(struct nd_app *app, struct nd_event *events, int count);

/*
 * What nd_app_take() brought is given back if its batch was confirmed; if not, it is handed out
 * with that batch. True when there is none to come again.
 */
bool nd_app_confirm(struct nd_app *app, uint32_t batches);

#endif
