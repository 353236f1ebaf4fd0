// SPDX-License-Identifier: Apache-2.0
/* A handle in an event loop: one crossing to send, run the core's rounds and take what they bring. */
#include "app_commands.h"

#include <errno.h>
#include <fcntl.h>

/* Also by a loop that finds another thread at the events. */
static void set_watching(struct nd_app *app, bool watching)
{
	if (__atomic_load_n(&app->watching, __ATOMIC_RELAXED) == watching)
		return;
	pthread_mutex_lock(&app->mutex);
	if (app->stack)
		nd_stack_watch(app->stack, watching);
	__atomic_store_n(&app->watching, watching, __ATOMIC_RELAXED);
	pthread_mutex_unlock(&app->mutex);
}

void nd_app_drive(struct nd_app *app, bool drive)
{
	__atomic_store_n(&app->driven, drive, __ATOMIC_RELAXED);
}

void nd_app_look_away(struct nd_app *app)
{
	if (!app->foreign)
		set_watching(app, false);
}

/* The rounds that there are to run here, commands that wait included. */
static void run_rounds(struct nd_app *app, bool woken)
{
	pthread_mutex_lock(&app->mutex);
	nd_app_flush(app);
	pthread_mutex_unlock(&app->mutex);
	if (__atomic_load_n(&app->driven, __ATOMIC_RELAXED)) {
		set_watching(app, nd_stack_run(app->stack, woken));
		return;
	}
	set_watching(app, false);
	nd_stack_flush(app->stack);
}

int nd_app_poll(struct nd_app *app, struct nd_event *out, uint32_t limit, uint32_t batches,
		bool woken)
{
	int count = 0, more;

	if (app->foreign)
		return -ECHILD;
	if (!app->stack)
		return -EBADF;
	if (!nd_app_confirm(app, out, batches))
		return app->last_count;
	run_rounds(app, woken);
	while ((uint32_t)count < limit && (woken || !nd_stack_arm(app->stack))) {
		woken = false;
		more = nd_app_take_now(app, out + count, limit - (uint32_t)count);
		if (more < 0)
			return nd_app_end_batch(app, out, count ? count : more);
		count += more;
	}
	return nd_app_end_batch(app, out, count);
}

bool nd_app_arm(struct nd_app *app)
{
	bool armed;

	if (nd_app_enter(app) < 0)
		return true;
	armed = nd_stack_arm(app->stack);
	pthread_mutex_unlock(&app->mutex);
	return armed;
}

/* A copy: the stack's own is closed, and its number used again, by whoever closes the handle. */
static int copy_of(int descriptor)
{
	int copy;

	if (descriptor < 0)
		return descriptor;
	copy = fcntl(descriptor, F_DUPFD_CLOEXEC, 0);
	return copy < 0 ? -errno : copy;
}

int nd_app_descriptor(struct nd_app *app)
{
	int code = nd_app_enter(app);

	if (code < 0)
		return code;
	code = copy_of(nd_stack_descriptor(app->stack));
	pthread_mutex_unlock(&app->mutex);
	return code;
}
