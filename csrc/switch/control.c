// SPDX-License-Identifier: Apache-2.0
/* Changes to a switch from outside its worker. */
#include "switch/control.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

struct nd_control {
	struct nd_switch *sw;
	struct nd_worker *worker; /* that runs it, or NULL */
	struct nd_page *page;
	int page_fd;
	int events_fd;
	pthread_mutex_t turn; /* one change at a time */
};

/* One change; which members it uses is its own affair. */
struct job {
	struct nd_control *control;
	int (*run)(struct nd_switch *sw, struct job *job);
	uint32_t index;
	bool enabled;
	uint16_t to;
	uint64_t key;
	enum nd_ecmp_mode mode;
	const uint16_t *ports;
	uint32_t count;
	uint32_t divisor;
	const uint8_t *prefix;
	uint8_t length;
	const struct nd_route *route;
	const struct nd_switch_change *change;
	struct nd_port *port;   /* in: to put in; out: to close */
	struct nd_queue *queue; /* out: to free */
	struct nd_control_port *description;
	struct nd_mirror *mirror;
	struct nd_fdb_entry *entries;
	const char *wrong;
	nd_ns now;
};

/* ---- handing over ---- */

static int run_job(void *context)
{
	struct job *job = context;
	struct nd_control *control = job->control;
	static const struct nd_worker_stats idle;
	struct nd_worker_stats stats = control->worker ? nd_worker_stats(control->worker) : idle;
	int result;

	job->now = nd_worker_now();
	result = job->run(control->sw, job);
	nd_page_publish(control->page, control->sw, &stats, job->now);
	return result;
}

/* Has the change made between two rounds. control->turn is held. */
static int make(struct nd_control *control, struct job *job)
{
	int result;

	job->control = control;
	if (control->worker)
		return nd_worker_call(control->worker, run_job, job);
	result = run_job(job);
	nd_switch_disown(control->sw);
	return result;
}

static int make_in_turn(struct nd_control *control, struct job *job)
{
	int result;

	pthread_mutex_lock(&control->turn);
	result = make(control, job);
	pthread_mutex_unlock(&control->turn);
	return result;
}

/* ---- the switch ---- */

struct nd_control *nd_control_new(const struct nd_switch_config *config, struct nd_error *error)
{
	struct nd_control *control = calloc(1, sizeof(*control));

	if (!control) {
		nd_error_set(error, -ENOMEM, "switch %s: no memory", config->name);
		return NULL;
	}
	control->sw = nd_switch_new(config, error);
	if (!control->sw) {
		free(control);
		return NULL;
	}
	pthread_mutex_init(&control->turn, NULL);
	control->events_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	control->page_fd = nd_page_create(&control->page);
	if (control->events_fd < 0 || control->page_fd < 0) {
		nd_error_set(error, -EMFILE, "switch %s: no descriptor; raise LimitNOFILE",
			     config->name);
		nd_control_free(control);
		return NULL;
	}
	control->sw->events_fd = control->events_fd;
	control->sw->page = control->page;
	nd_page_publish(control->page, control->sw, &(struct nd_worker_stats){ 0 },
			nd_worker_now());
	return control;
}

void nd_control_free(struct nd_control *control)
{
	nd_control_leave(control);
	nd_switch_free(control->sw);
	if (control->events_fd >= 0)
		close(control->events_fd);
	if (control->page_fd >= 0)
		nd_page_destroy(control->page, control->page_fd);
	pthread_mutex_destroy(&control->turn);
	free(control);
}

int nd_control_join(struct nd_control *control, struct nd_worker *worker, struct nd_error *error)
{
	int status = -EALREADY;

	pthread_mutex_lock(&control->turn);
	if (!control->worker)
		status = nd_worker_add(worker, control->sw);
	if (status == 0)
		control->worker = worker;
	pthread_mutex_unlock(&control->turn);
	if (status == -ENOSPC)
		nd_error_set(error, status, "switch %s: the worker runs %u switches, which is all "
					    "that it can",
			     control->sw->name, ND_WORKER_SWITCHES_MAX);
	else if (status < 0)
		nd_error_set(error, status, "switch %s is running", control->sw->name);
	return status;
}

void nd_control_leave(struct nd_control *control)
{
	pthread_mutex_lock(&control->turn);
	if (control->worker)
		nd_worker_remove(control->worker, control->sw);
	control->worker = NULL;
	pthread_mutex_unlock(&control->turn);
}

/* ---- ports ---- */

static int run_insert(struct nd_switch *sw, struct job *job)
{
	nd_port_disown(job->port);
	nd_switch_insert_port(sw, job->change, job->port);
	return (int)job->change->index;
}

int nd_control_add_port(struct nd_control *control, const struct nd_port_config *opening,
			const struct nd_switch_port_settings *settings, struct nd_error *error)
{
	struct nd_port *port = nd_port_open(opening, error);
	struct nd_switch_change change;
	struct job job = { .run = run_insert, .change = &change, .port = port };
	int status;

	if (!port)
		return error->code;
	pthread_mutex_lock(&control->turn);
	status = nd_switch_prepare_port(control->sw, port, settings, &change, error);
	if (status == 0)
		status = make(control, &job);
	pthread_mutex_unlock(&control->turn);
	if (status < 0)
		nd_port_close(port);
	return status;
}

static int no_port(const struct nd_control *control, uint32_t index, struct nd_error *error)
{
	return nd_error_set(error, -ENODEV, "switch %s has no port %u", control->sw->name, index);
}

static bool has_port(const struct nd_switch *sw, uint32_t index)
{
	return index < sw->port_count && sw->ports[index].used;
}

static int run_detach(struct nd_switch *sw, struct job *job)
{
	if (!has_port(sw, job->index))
		return -ENODEV;
	job->port = nd_switch_detach_port(sw, job->index, &job->queue);
	return 0;
}

int nd_control_remove_port(struct nd_control *control, uint32_t index, struct nd_error *error)
{
	struct job job = { .run = run_detach, .index = index };

	if (make_in_turn(control, &job) < 0)
		return no_port(control, index, error);
	if (job.port)
		nd_port_close(job.port);
	free(job.queue);
	return 0;
}

static int run_settings(struct nd_switch *sw, struct job *job)
{
	job->queue = nd_switch_apply_settings(sw, job->change, job->now);
	return 0;
}

int nd_control_set_port(struct nd_control *control, uint32_t index,
			const struct nd_switch_port_settings *settings, struct nd_error *error)
{
	struct nd_switch_change change;
	struct job job = { .run = run_settings, .change = &change };
	int status;

	pthread_mutex_lock(&control->turn);
	status = nd_switch_prepare_settings(control->sw, index, settings, &change, error);
	if (status == 0)
		status = make(control, &job);
	pthread_mutex_unlock(&control->turn);
	free(job.queue);
	return status;
}

static int run_swap(struct nd_switch *sw, struct job *job)
{
	if (!has_port(sw, job->index))
		return -ENODEV;
	if (job->port)
		nd_port_disown(job->port);
	job->port = nd_switch_swap_port(sw, job->index, job->port);
	return 0;
}

/* The device may only be open once: the old opening goes first. control->turn is held. */
static int reopen(struct nd_control *control, uint32_t index, const struct nd_port_config *opening,
		  struct nd_error *error)
{
	struct job out = { .run = run_swap, .index = index };
	struct job in = { .run = run_swap, .index = index };

	if (make(control, &out) < 0)
		return no_port(control, index, error);
	if (out.port)
		nd_port_close(out.port);
	in.port = nd_port_open(opening, error);
	if (!in.port)
		return error->code;
	if (in.port->frame_bytes_max > control->sw->config.frame_bytes_max) {
		nd_error_set(error, -EMSGSIZE,
			     "port %s: its MTU is now %u, whose frames do not fit in buffers of %u "
			     "bytes; lower it or raise the switch's frame size",
			     in.port->name, in.port->mtu, control->sw->config.frame_bytes_max);
		nd_port_close(in.port);
		return -EMSGSIZE;
	}
	return make(control, &in);
}

int nd_control_reopen_port(struct nd_control *control, uint32_t index,
			   const struct nd_port_config *opening, struct nd_error *error)
{
	int status;

	pthread_mutex_lock(&control->turn);
	status = reopen(control, index, opening, error);
	pthread_mutex_unlock(&control->turn);
	return status;
}

static int run_enable(struct nd_switch *sw, struct job *job)
{
	if (!has_port(sw, job->index))
		return -ENODEV;
	nd_switch_enable_port(sw, job->index, job->enabled);
	return 0;
}

int nd_control_enable_port(struct nd_control *control, uint32_t index, bool enabled,
			   struct nd_error *error)
{
	struct job job = { .run = run_enable, .index = index, .enabled = enabled };

	return make_in_turn(control, &job) < 0 ? no_port(control, index, error) : 0;
}

static int run_describe(struct nd_switch *sw, struct job *job)
{
	const struct nd_switch_port *port = &sw->ports[job->index];
	struct nd_control_port *out = job->description;
	const struct nd_queue_ops *ops;

	if (!has_port(sw, job->index))
		return -ENODEV;
	ops = port->egress.queue->ops;
	*out = (struct nd_control_port){ .open = port->port != NULL };
	snprintf(out->discipline, sizeof(out->discipline), "%s", ops->name);
	for (uint32_t i = 0; ops->classes[i]; i++)
		snprintf(out->classes[i], sizeof(out->classes[i]), "%s", ops->classes[i]);
	if (port->state != ND_PORT_UP)
		memcpy(out->why, port->why.text, sizeof(out->why));
	if (!port->port)
		return 0;
	snprintf(out->mode, sizeof(out->mode), "%s", port->port->mode);
	memcpy(out->note, port->port->note, sizeof(out->note));
	memcpy(out->mac, port->port->mac, sizeof(out->mac));
	return 0;
}

int nd_control_describe_port(struct nd_control *control, uint32_t index,
			     struct nd_control_port *out, struct nd_error *error)
{
	struct job job = { .run = run_describe, .index = index, .description = out };

	return make_in_turn(control, &job) < 0 ? no_port(control, index, error) : 0;
}

static int run_check(struct nd_switch *sw, struct job *job)
{
	nd_switch_check(sw, job->now);
	return 0;
}

void nd_control_check(struct nd_control *control)
{
	make_in_turn(control, &(struct job){ .run = run_check });
}

static int run_clear(struct nd_switch *sw, struct job *job)
{
	(void)job;
	for (uint32_t i = 0; i < sw->port_count; i++) {
		if (sw->ports[i].used)
			nd_switch_clear_peaks(sw, i);
	}
	return 0;
}

void nd_control_clear_watermarks(struct nd_control *control)
{
	make_in_turn(control, &(struct job){ .run = run_clear });
}

/* ---- forwarding ---- */

static int run_set_group(struct nd_switch *sw, struct job *job)
{
	if (job->index == ND_NONE)
		return nd_switch_add_group(sw, job->mode, job->ports, job->count, job->divisor);
	return nd_switch_set_group(sw, job->index, job->mode, job->ports, job->count, job->divisor);
}

int nd_control_set_group(struct nd_control *control, uint32_t group, enum nd_ecmp_mode mode,
			 const uint16_t *ports, uint32_t count, uint32_t divisor,
			 struct nd_error *error)
{
	struct job job = { .run = run_set_group, .index = group, .mode = mode, .ports = ports,
			   .count = count, .divisor = divisor };
	int status = make_in_turn(control, &job);

	if (status == -EINVAL)
		return nd_error_set(error, status, "switch %s: a group has 1 to %u ports, not %u",
				    control->sw->name, ND_ECMP_MEMBERS_MAX, count);
	if (status == -EEXIST)
		return nd_error_set(error, status, "switch %s: a group names a port twice; name each "
						   "once",
				    control->sw->name);
	if (status == -ENOSPC)
		return nd_error_set(error, status, "switch %s has all of its %u groups",
				    control->sw->name, ND_SWITCH_GROUPS_MAX);
	if (status < 0)
		return nd_error_set(error, status, "switch %s: a group names a port that is not "
						   "there",
				    control->sw->name);
	return group == ND_NONE ? status : (int)group;
}

static int run_remove_group(struct nd_switch *sw, struct job *job)
{
	return nd_switch_remove_group(sw, job->index);
}

int nd_control_remove_group(struct nd_control *control, uint32_t group, struct nd_error *error)
{
	struct job job = { .run = run_remove_group, .index = group };
	int status = make_in_turn(control, &job);

	if (status < 0)
		return nd_error_set(error, status, "switch %s has no group %u", control->sw->name,
				    group);
	return 0;
}

static int run_set_address(struct nd_switch *sw, struct job *job)
{
	return nd_switch_set_address(sw, job->key, job->to);
}

int nd_control_set_address(struct nd_control *control, const uint8_t mac[6], uint16_t vlan,
			   uint16_t to, struct nd_error *error)
{
	struct job job = { .run = run_set_address, .key = nd_fdb_key(mac, vlan), .to = to };
	int status = make_in_turn(control, &job);

	if (status == -ENOSPC)
		return nd_error_set(error, status, "switch %s: all of its %u addresses are "
						   "configured ones; give it room for more",
				    control->sw->name, control->sw->config.fdb_max);
	if (status < 0)
		return nd_error_set(error, status, "switch %s: an address leads to a port or group "
						   "that is not there",
				    control->sw->name);
	return 0;
}

static int run_remove_address(struct nd_switch *sw, struct job *job)
{
	return nd_fdb_remove(&sw->fdb, job->key) ? 0 : -ENOENT;
}

int nd_control_remove_address(struct nd_control *control, const uint8_t mac[6], uint16_t vlan,
			      struct nd_error *error)
{
	struct job job = { .run = run_remove_address, .key = nd_fdb_key(mac, vlan) };
	int status = make_in_turn(control, &job);

	if (status < 0)
		return nd_error_set(error, status, "switch %s does not know the address",
				    control->sw->name);
	return 0;
}

static int run_set_route(struct nd_switch *sw, struct job *job)
{
	return nd_switch_set_route(sw, job->prefix, job->length, job->route);
}

int nd_control_set_route(struct nd_control *control, const uint8_t prefix[16], uint8_t length,
			 const struct nd_route *route, struct nd_error *error)
{
	const char *name = control->sw->name;
	struct job job = { .run = run_set_route, .prefix = prefix, .length = length,
			   .route = route };
	int status = make_in_turn(control, &job);

	switch (status) {
	case -ENODEV:
		return nd_error_set(error, status, "switch %s: a route leads to a port or group that "
						   "is not there",
				    name);
	case -EOPNOTSUPP:
		return nd_error_set(error, status, "switch %s does not route: give it room for routes",
				    name);
	case -ENOSPC:
		return nd_error_set(error, status, "switch %s: all of its %u routes are in use", name,
				    control->sw->config.routes_max);
	case 0:
		return 0;
	default:
		return nd_error_set(error, status, "switch %s: a prefix has bits beyond its length",
				    name);
	}
}

static int run_remove_route(struct nd_switch *sw, struct job *job)
{
	return nd_routes_remove(&sw->routes, job->prefix, job->length) ? 0 : -ENOENT;
}

int nd_control_remove_route(struct nd_control *control, const uint8_t prefix[16], uint8_t length,
			    struct nd_error *error)
{
	struct job job = { .run = run_remove_route, .prefix = prefix, .length = length };
	int status = make_in_turn(control, &job);

	if (status < 0)
		return nd_error_set(error, status, "switch %s has no such route", control->sw->name);
	return 0;
}

static int run_addresses(struct nd_switch *sw, struct job *job)
{
	return (int)nd_fdb_list(&sw->fdb, &job->index, job->entries, job->count);
}

uint32_t nd_control_addresses(struct nd_control *control, uint32_t *cursor,
			      struct nd_fdb_entry *out, uint32_t limit)
{
	struct job job = { .run = run_addresses, .index = *cursor, .entries = out, .count = limit };
	int count = make_in_turn(control, &job);

	*cursor = job.index;
	return (uint32_t)count;
}

/* ---- mirrors ---- */

static int run_mirror(struct nd_switch *sw, struct job *job)
{
	return nd_switch_add_mirror(sw, job->mirror);
}

struct nd_mirror *nd_control_mirror(struct nd_control *control,
				    const struct nd_mirror_config *config, struct nd_error *error)
{
	struct job job = { .run = run_mirror, .mirror = nd_mirror_new(config, error) };

	if (!job.mirror)
		return NULL;
	if (make_in_turn(control, &job) == 0)
		return job.mirror;
	nd_mirror_free(job.mirror);
	nd_error_set(error, -ENOSPC, "switch %s has all of its %u mirrors", control->sw->name,
		     ND_SWITCH_MIRRORS_MAX);
	return NULL;
}

static int run_unmirror(struct nd_switch *sw, struct job *job)
{
	nd_switch_remove_mirror(sw, job->mirror);
	return 0;
}

void nd_control_unmirror(struct nd_control *control, struct nd_mirror *mirror)
{
	make_in_turn(control, &(struct job){ .run = run_unmirror, .mirror = mirror });
	nd_mirror_free(mirror);
}

/* ---- what it tells ---- */

int nd_control_read(const struct nd_control *control, struct nd_page *copy)
{
	return nd_page_read(control->page, copy);
}

int nd_control_page_fd(const struct nd_control *control)
{
	return control->page_fd;
}

int nd_control_events_fd(const struct nd_control *control)
{
	return control->events_fd;
}

static int run_audit(struct nd_switch *sw, struct job *job)
{
	job->wrong = nd_switch_audit(sw);
	return 0;
}

const char *nd_control_audit(struct nd_control *control)
{
	struct job job = { .run = run_audit };

	make_in_turn(control, &job);
	return job.wrong;
}
