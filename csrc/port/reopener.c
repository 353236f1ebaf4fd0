// SPDX-License-Identifier: Apache-2.0
/* Closes a port and opens it again, without holding up the thread that uses it. */
#include "port/reopener.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#define RETRY_MS 200

struct nd_reopener {
	const struct nd_port_config *config;
	pthread_t thread;
	pthread_mutex_t mutex;
	pthread_cond_t news; /* stopping */
	bool stopping;
	struct nd_port *old;
	struct nd_port *port; /* the new opening, until it is taken */
	struct nd_error why;  /* of the last try that failed */
};

/* Waits for the next try; false when there is to be none. The mutex is held. */
static bool wait_to_retry(struct nd_reopener *self)
{
	struct timespec end;

	clock_gettime(CLOCK_MONOTONIC, &end);
	end.tv_nsec += RETRY_MS * (long)ND_MSEC;
	end.tv_sec += end.tv_nsec / (long)ND_SEC;
	end.tv_nsec %= (long)ND_SEC;
	while (!self->stopping &&
	       pthread_cond_timedwait(&self->news, &self->mutex, &end) != ETIMEDOUT)
		;
	return !self->stopping;
}

static void *run(void *argument)
{
	struct nd_reopener *self = argument;
	struct nd_error why = { 0 };

	/* It cannot fail: the name is short. */
	prctl(PR_SET_NAME, "ndpstack-reopen");
	nd_port_close(self->old);
	for (bool again = true; again;) {
		struct nd_port *port = nd_port_open(self->config, &why);
		pthread_mutex_lock(&self->mutex);
		self->port = port;
		self->why = why;
		again = !port && wait_to_retry(self);
		pthread_mutex_unlock(&self->mutex);
	}
	return NULL;
}

/* The CPUs that the process began with: the thread that starts it may be bound to one. */
static int start_thread(struct nd_reopener *self)
{
	pthread_attr_t attributes;
	cpu_set_t cpus;
	int code;

	pthread_attr_init(&attributes);
	if (sched_getaffinity(getpid(), sizeof(cpus), &cpus) == 0)
		pthread_attr_setaffinity_np(&attributes, sizeof(cpus), &cpus);
	code = pthread_create(&self->thread, &attributes, run, self);
	pthread_attr_destroy(&attributes);
	return -code;
}

static void destroy(struct nd_reopener *self)
{
	pthread_mutex_destroy(&self->mutex);
	pthread_cond_destroy(&self->news);
	free(self);
}

struct nd_reopener *nd_reopener_start(const struct nd_port_config *config, struct nd_port *old,
				      struct nd_error *error)
{
	struct nd_reopener *self = calloc(1, sizeof(*self));
	pthread_condattr_t attributes;
	int code;

	if (!self) {
		nd_error_set(error, -ENOMEM, "port %s: no memory", config->name);
		return NULL;
	}
	self->config = config;
	self->old = old;
	nd_error_set(&self->why, -EINPROGRESS, "port %s: it is being opened again", config->name);
	pthread_mutex_init(&self->mutex, NULL);
	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_cond_init(&self->news, &attributes);
	pthread_condattr_destroy(&attributes);
	code = start_thread(self);
	if (code < 0) {
		nd_error_set(error, code, "port %s: no thread to open it again: %s", config->name,
			     strerror(-code));
		destroy(self);
		return NULL;
	}
	return self;
}

struct nd_port *nd_reopener_take(struct nd_reopener *self, struct nd_error *why)
{
	struct nd_port *port;

	/* The thread holds it for moments only, and never while it opens or closes. */
	pthread_mutex_lock(&self->mutex);
	port = self->port;
	self->port = NULL;
	*why = self->why;
	pthread_mutex_unlock(&self->mutex);
	return port;
}

void nd_reopener_stop(struct nd_reopener *self)
{
	pthread_mutex_lock(&self->mutex);
	self->stopping = true;
	pthread_cond_signal(&self->news);
	pthread_mutex_unlock(&self->mutex);
	pthread_join(self->thread, NULL);
	if (self->port)
		nd_port_close(self->port);
	destroy(self);
}
