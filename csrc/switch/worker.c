// SPDX-License-Identifier: Apache-2.0
/* The loop of a switch thread: rounds, naps and calls. */
#include "switch/worker.h"

#include "base/spin.h"
#include "port/slice.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#define CHECK_NS (100 * ND_MSEC)
#define CHECK_SOON_NS ND_MSEC
#define PUBLISH_NS ND_MSEC
#define DESCRIPTORS_MAX \
	(1 + ND_WORKER_SWITCHES_MAX * ND_SWITCH_PORTS_MAX * ND_PORT_DESCRIPTORS_MAX)

struct nd_worker {
	struct nd_worker_config config;
	pthread_t thread;
	int wake_fd;
	bool stopping;
	bool woken; /* by a descriptor, not by time */
	nd_ns checked;
	struct nd_switch *switches[ND_WORKER_SWITCHES_MAX];
	uint32_t switch_count;
	struct nd_worker_stats stats;
	struct pollfd polls[DESCRIPTORS_MAX]; /* what is not used costs no memory */

	/* One call at a time: who holds `callers` may leave one, and waits for `answered`. */
	pthread_mutex_t callers;
	sem_t answered;
	int (*call)(void *context);
	void *context;
	int result;
};

nd_ns nd_worker_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (nd_ns)now.tv_sec * ND_SEC + (nd_ns)now.tv_nsec;
}

struct nd_worker_config nd_worker_config_default(void)
{
	return (struct nd_worker_config){
		.profile = ND_WORKER_ADAPTIVE,
		.spin_ns = ND_SPIN_MOST,
		.cpu = -1,
	};
}

/* Only the worker writes; a reader may see a value one round old, never a torn one. */
static void add(uint64_t *counter, uint64_t value)
{
	__atomic_store_n(counter, *counter + value, __ATOMIC_RELAXED);
}

static void answer_call(struct nd_worker *worker)
{
	int (*call)(void *context) = __atomic_load_n(&worker->call, __ATOMIC_ACQUIRE);

	if (ND_LIKELY(!call))
		return;
	worker->result = call(worker->context);
	__atomic_store_n(&worker->call, NULL, __ATOMIC_RELEASE);
	sem_post(&worker->answered);
}

/* Readers of the page see what happened up to now. */
static void publish(struct nd_worker *worker, nd_ns now, nd_ns interval)
{
	for (uint32_t i = 0; i < worker->switch_count; i++) {
		struct nd_switch *sw = worker->switches[i];

		if (sw->page && (sw->news || now - sw->published >= interval))
			nd_page_publish(sw->page, sw, &worker->stats, now);
	}
}

/* Looks after the links. */
static void check(struct nd_worker *worker, nd_ns now)
{
	for (uint32_t i = 0; i < worker->switch_count; i++)
		nd_switch_check(worker->switches[i], now);
	worker->checked = now;
}

static uint32_t round_of(struct nd_worker *worker, nd_ns now)
{
	uint32_t moved = 0;

	for (uint32_t i = 0; i < worker->switch_count; i++)
		moved += nd_switch_round(worker->switches[i], now);
	/* A port that woke us for no frame has other news. */
	if (now - worker->checked >= CHECK_NS ||
	    (worker->woken && moved == 0 && now - worker->checked >= CHECK_SOON_NS))
		check(worker, now);
	worker->woken = false;
	add(&worker->stats.rounds, 1);
	add(&worker->stats.busy_rounds, moved > 0);
	add(&worker->stats.frames, moved);
	publish(worker, now, PUBLISH_NS);
	return moved;
}

/* Fills in what to poll; false when a port has frames waiting and blocking would be wrong. */
static bool arm(struct nd_worker *worker, nfds_t *count)
{
	*count = 1;
	worker->polls[0] = (struct pollfd){ .fd = worker->wake_fd, .events = POLLIN };
	for (uint32_t s = 0; s < worker->switch_count; s++) {
		struct nd_switch *sw = worker->switches[s];

		for (uint32_t p = 0; p < sw->port_count; p++) {
			int descriptors[ND_PORT_DESCRIPTORS_MAX];
			uint32_t found;

			if (!sw->ports[p].port)
				continue;
			if (!nd_port_arm(sw->ports[p].port))
				return false;
			found = nd_port_descriptors(sw->ports[p].port, descriptors);
			nd_assert(*count + found <= DESCRIPTORS_MAX);
			for (uint32_t d = 0; d < found; d++)
				worker->polls[(*count)++] =
					(struct pollfd){ .fd = descriptors[d], .events = POLLIN };
		}
	}
	return true;
}

static nd_ns wake_time(const struct nd_worker *worker)
{
	nd_ns wake = worker->checked + CHECK_NS;

	for (uint32_t i = 0; i < worker->switch_count; i++)
		wake = nd_min_u64(wake, nd_switch_deadline(worker->switches[i]));
	return wake;
}

/* Blocks until a frame, a call or the next deadline. */
static void nap(struct nd_worker *worker)
{
	nd_ns before = nd_worker_now();
	nd_ns after;
	nd_ns wake = wake_time(worker);
	struct timespec timeout;
	uint64_t woken;
	nfds_t count;

	if (wake <= before || !arm(worker, &count))
		return;
	publish(worker, before, 1);
	timeout = (struct timespec){
		.tv_sec = (time_t)((wake - before) / ND_SEC),
		.tv_nsec = (long)((wake - before) % ND_SEC),
	};
	worker->woken = ppoll(worker->polls, count, &timeout, NULL) > 0;
	if (worker->woken && worker->polls[0].revents & POLLIN &&
	    read(worker->wake_fd, &woken, sizeof(woken)) < 0)
		nd_assert(errno == EAGAIN);
	add(&worker->stats.sleeps, 1);
	after = nd_worker_now();
	add(&worker->stats.sleep_ns, after - before);
	for (uint32_t i = 0; i < worker->switch_count; i++)
		nd_switch_rested(worker->switches[i], after);
}

static void *run(void *argument)
{
	struct nd_worker *worker = argument;
	struct nd_spin spin = nd_spin_make(worker->config.spin_ns, ND_SPIN_TRY_EVERY);
	nd_ns last = nd_worker_now();
	nd_ns last_busy = last;

	prctl(PR_SET_NAME, "ndpstack-switch");
	prctl(PR_SET_TIMERSLACK, 1); /* ns that a sleep may be prolonged to save wake-ups */
	nd_slice_shorten(); /* a frame would wait for the slice of whoever has the CPU */
	while (!__atomic_load_n(&worker->stopping, __ATOMIC_ACQUIRE)) {
		nd_ns now = nd_worker_now();

		if (now - last > worker->stats.gap_ns_max)
			__atomic_store_n(&worker->stats.gap_ns_max, now - last, __ATOMIC_RELAXED);
		answer_call(worker);
		if (round_of(worker, now) > 0)
			last_busy = now;
		last = now;
		if (worker->config.profile == ND_WORKER_ADAPTIVE &&
		    !nd_spin_goes_on(&spin, last_busy, now)) {
			nap(worker);
			last = nd_worker_now();
		}
	}
	answer_call(worker);
	return NULL;
}

/* On its CPU from the first instruction, or not at all. */
static int start_thread(struct nd_worker *worker)
{
	pthread_attr_t attributes;
	cpu_set_t cpus;
	int status;

	pthread_attr_init(&attributes);
	if (worker->config.cpu >= 0) {
		CPU_ZERO(&cpus);
		CPU_SET((unsigned)worker->config.cpu, &cpus);
		pthread_attr_setaffinity_np(&attributes, sizeof(cpus), &cpus);
	}
	status = pthread_create(&worker->thread, &attributes, run, worker);
	pthread_attr_destroy(&attributes);
	return -status;
}

static void destroy(struct nd_worker *worker)
{
	if (worker->wake_fd >= 0)
		close(worker->wake_fd);
	pthread_mutex_destroy(&worker->callers);
	sem_destroy(&worker->answered);
	free(worker);
}

struct nd_worker *nd_worker_start(const struct nd_worker_config *config, struct nd_error *error)
{
	struct nd_worker *worker = calloc(1, sizeof(*worker));
	int status;

	if (!worker) {
		nd_error_set(error, -ENOMEM, "no memory for a switch worker");
		return NULL;
	}
	worker->config = *config;
	worker->wake_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	pthread_mutex_init(&worker->callers, NULL);
	sem_init(&worker->answered, 0, 0);
	status = worker->wake_fd < 0 ? -errno : start_thread(worker);
	if (status == 0)
		return worker;
	if (config->cpu >= 0)
		nd_error_set(error, status, "a switch worker cannot be started on CPU %d: %s",
			     config->cpu, strerrordesc_np(-status));
	else
		nd_error_set(error, status, "a switch worker cannot be started: %s",
			     strerrordesc_np(-status));
	destroy(worker);
	return NULL;
}

static void wake(struct nd_worker *worker)
{
	uint64_t one = 1;

	if (write(worker->wake_fd, &one, sizeof(one)) < 0)
		nd_assert(errno == EAGAIN); /* it is awake as it is */
}

void nd_worker_stop(struct nd_worker *worker)
{
	__atomic_store_n(&worker->stopping, true, __ATOMIC_RELEASE);
	wake(worker);
	pthread_join(worker->thread, NULL);
	for (uint32_t i = 0; i < worker->switch_count; i++)
		nd_switch_disown(worker->switches[i]);
	destroy(worker);
}

int nd_worker_call(struct nd_worker *worker, int (*call)(void *context), void *context)
{
	int result;

	pthread_mutex_lock(&worker->callers);
	worker->context = context;
	__atomic_store_n(&worker->call, call, __ATOMIC_RELEASE);
	wake(worker);
	while (sem_wait(&worker->answered) < 0)
		nd_assert(errno == EINTR);
	result = worker->result;
	pthread_mutex_unlock(&worker->callers);
	return result;
}

struct membership {
	struct nd_worker *worker;
	struct nd_switch *sw;
};

static int join_round(void *context)
{
	struct membership *membership = context;
	struct nd_worker *worker = membership->worker;

	if (worker->switch_count == ND_WORKER_SWITCHES_MAX)
		return -ENOSPC;
	worker->switches[worker->switch_count++] = membership->sw;
	return 0;
}

static int leave_round(void *context)
{
	struct membership *membership = context;
	struct nd_worker *worker = membership->worker;

	for (uint32_t i = 0; i < worker->switch_count; i++) {
		if (worker->switches[i] != membership->sw)
			continue;
		worker->switches[i] = worker->switches[--worker->switch_count];
		nd_switch_disown(membership->sw);
		return 0;
	}
	return -ENOENT;
}

int nd_worker_add(struct nd_worker *worker, struct nd_switch *sw)
{
	struct membership membership = { .worker = worker, .sw = sw };

	return nd_worker_call(worker, join_round, &membership);
}

int nd_worker_remove(struct nd_worker *worker, struct nd_switch *sw)
{
	struct membership membership = { .worker = worker, .sw = sw };

	return nd_worker_call(worker, leave_round, &membership);
}

struct nd_worker_stats nd_worker_stats(const struct nd_worker *worker)
{
	const struct nd_worker_stats *stats = &worker->stats;

	return (struct nd_worker_stats){
		.rounds = __atomic_load_n(&stats->rounds, __ATOMIC_RELAXED),
		.busy_rounds = __atomic_load_n(&stats->busy_rounds, __ATOMIC_RELAXED),
		.frames = __atomic_load_n(&stats->frames, __ATOMIC_RELAXED),
		.sleeps = __atomic_load_n(&stats->sleeps, __ATOMIC_RELAXED),
		.sleep_ns = __atomic_load_n(&stats->sleep_ns, __ATOMIC_RELAXED),
		.gap_ns_max = __atomic_load_n(&stats->gap_ns_max, __ATOMIC_RELAXED),
	};
}
