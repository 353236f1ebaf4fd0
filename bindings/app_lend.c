// SPDX-License-Identifier: Apache-2.0
/*
 * Messages that are sent from where they lie, and whose that is.
 *
 * In a cookie they have numbers beyond those of send buffers. Each has an owner, which is a name to
 * the handle and no more: whoever lent it keeps the bytes as they are until it comes back.
 */
#include "app_commands.h"

#include <stdlib.h>

#define LOANS_FIRST 8u
#define NO_LOAN 0u /* the first entry stands for none */

/* Room for one more: a free entry, or NO_LOAN. */
static uint32_t take_entry(struct nd_app *app)
{
	uint32_t room = app->loans_room ? 2 * app->loans_room : LOANS_FIRST;
	struct nd_app_loan *grown;

	if (app->loans_free == NO_LOAN && app->loans_room < ND_APP_LOANS_MAX) {
		grown = realloc(app->loans, room * sizeof(*grown));
		if (!grown)
			return NO_LOAN;
		for (uint32_t i = room; i-- > nd_max_u32(app->loans_room, 1);) {
			grown[i] = (struct nd_app_loan){ .next = app->loans_free };
			app->loans_free = i;
		}
		app->loans = grown;
		app->loans_room = room;
	}
	return app->loans_free;
}

uint64_t nd_app_lend(struct nd_app *app, void *owner)
{
	uint32_t index = take_entry(app);

	if (index == NO_LOAN)
		return 0;
	app->loans_free = app->loans[index].next;
	app->loans[index] = (struct nd_app_loan){ .owner = owner };
	return app->loans_base + index;
}

void nd_app_unlend(struct nd_app *app, uint64_t slot)
{
	uint32_t index = (uint32_t)(slot - app->loans_base);

	app->loans[index] = (struct nd_app_loan){ .next = app->loans_free };
	app->loans_free = index;
}

static void set_returned(struct nd_app *app, uint32_t first)
{
	__atomic_store_n(&app->loans_returned, first, __ATOMIC_RELAXED);
}

bool nd_app_owes(const struct nd_app *app)
{
	return __atomic_load_n(&app->loans_returned, __ATOMIC_RELAXED) != NO_LOAN;
}

void nd_app_end_loan(struct nd_app *app, uint64_t slot)
{
	uint32_t index = (uint32_t)(slot - app->loans_base);

	nd_assert(index < app->loans_room && app->loans[index].owner &&
		  !app->loans[index].returned);
	app->loans[index].next = app->loans_returned;
	app->loans[index].returned = true;
	set_returned(app, index);
}

/* After the end there are none but those that have returned. */
static void free_if_unused(struct nd_app *app)
{
	if (app->stack || app->loans_returned != NO_LOAN)
		return;
	free(app->loans);
	app->loans = NULL;
	app->loans_room = app->loans_free = 0;
}

void nd_app_end_loans(struct nd_app *app)
{
	for (uint32_t i = 1; i < app->loans_room; i++)
		if (app->loans[i].owner && !app->loans[i].returned)
			nd_app_end_loan(app, app->loans_base + i);
	free_if_unused(app);
}

void *nd_app_take_back(struct nd_app *app)
{
	void *owner = NULL;
	uint32_t index;

	if (app->foreign)
		return NULL;
	pthread_mutex_lock(&app->mutex);
	index = app->loans_returned;
	if (index != NO_LOAN) {
		owner = app->loans[index].owner;
		set_returned(app, app->loans[index].next);
		nd_app_unlend(app, app->loans_base + index);
		free_if_unused(app);
	}
	pthread_mutex_unlock(&app->mutex);
	return owner;
}
