// SPDX-License-Identifier: Apache-2.0
/* The shared page: its memory, its writer and its readers. */
#include "switch/page.h"

#include "port/fds.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define SEALS (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_FUTURE_WRITE | F_SEAL_SEAL)

/* ---- memory ---- */

int nd_page_create(struct nd_page **page)
{
	int fd = memfd_create("ndpstack-switch", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	int code;

	if (fd < 0)
		return -errno;
	if (ftruncate(fd, sizeof(**page)) < 0)
		goto failed;
	*page = mmap(NULL, sizeof(**page), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd,
		     0);
	if (*page == MAP_FAILED)
		goto failed;
	if (fcntl(fd, F_ADD_SEALS, SEALS) < 0) {
		munmap(*page, sizeof(**page));
		goto failed;
	}
	(*page)->magic = ND_PAGE_MAGIC;
	(*page)->page_bytes = sizeof(**page);
	return fd;
failed:
	code = -errno;
	close(fd);
	return code;
}

void nd_page_destroy(struct nd_page *page, int fd)
{
	munmap(page, sizeof(*page));
	close(fd);
}

const struct nd_page *nd_page_map(int fd)
{
	const struct nd_page *page;
	struct stat stat;

	if (fstat(fd, &stat) < 0)
		return NULL;
	errno = EPROTO;
	/* Unsealed memory could be cut short under us. */
	if (stat.st_size != sizeof(*page) || !nd_fds_is_sealed(fd, SEALS))
		return NULL;
	page = mmap(NULL, sizeof(*page), PROT_READ, MAP_SHARED, fd, 0);
	if (page == MAP_FAILED)
		return NULL;
	if (page->magic == ND_PAGE_MAGIC && page->page_bytes == sizeof(*page))
		return page;
	nd_page_unmap(page);
	errno = EPROTO;
	return NULL;
}

void nd_page_unmap(const struct nd_page *page)
{
	munmap((void *)(uintptr_t)page, sizeof(*page));
}

/* ---- writing ---- */

static void write_queue(struct nd_page_port *out, struct nd_switch_port *port)
{
	const struct nd_queue *queue = port->egress.queue;
	const struct nd_switch_peaks *peaks = &port->peaks;
	uint32_t i;

	nd_switch_note_peak(port);
	out->queue = (struct nd_page_class){
		.packets = queue->packets,
		.bytes = queue->bytes,
		.packets_max = peaks->packets,
		.bytes_max = peaks->bytes,
	};
	for (i = 0; queue->ops->classes[i]; i++) {
		struct nd_queue_depth depth = queue->ops->depth(queue, i);

		out->classes[i] = (struct nd_page_class){
			.packets = depth.packets,
			.bytes = depth.bytes,
			.packets_max = peaks->classes[i].packets,
			.bytes_max = peaks->classes[i].bytes,
		};
	}
	out->classes_count = i;
	out->queue_counters = port->queue_counters;
}

static void write_port(struct nd_page_port *out, struct nd_switch_port *port, nd_ns now)
{
	out->used = port->used;
	if (!port->used)
		return;
	memcpy(out->name, port->name, sizeof(out->name));
	out->enabled = port->enabled;
	out->up = port->up;
	out->state = port->state;
	out->changes = port->changes;
	out->mtu = port->port ? port->port->mtu : 0;
	out->phantom_bytes =
		port->egress.phantom ? nd_phantom_level(port->egress.phantom, now) : 0;
	write_queue(out, port);
	out->counters = port->counters;
	out->phantom_counters = port->phantom_counters;
	out->faults_counters = port->faults.counters;
	out->port_counters = port->closed;
	if (port->port)
		nd_counters_add(&nd_port_counters_table, &out->port_counters,
				&port->port->counters);
}

static void write_switch(struct nd_page *page, struct nd_switch *sw,
			 const struct nd_worker_stats *worker, nd_ns now)
{
	page->time = now;
	memcpy(page->name, sw->name, sizeof(page->name));
	page->port_count = sw->port_count;
	page->packets_max = sw->config.packets_max;
	page->packets_used = sw->pool.used;
	page->packets_used_max = sw->pool.used_max;
	page->addresses = sw->fdb.map.count;
	page->routes = nd_routes_count(&sw->routes);
	page->worker = *worker;
	page->counters = nd_switch_counters(sw);
	page->fdb_counters = sw->fdb.counters;
	page->wire_counters = sw->wire_counters;
	for (uint32_t i = 0; i < sw->port_count; i++)
		write_port(&page->ports[i], &sw->ports[i], now);
}

static void tell(const struct nd_switch *sw)
{
	uint64_t one = 1;

	if (sw->events_fd >= 0 && write(sw->events_fd, &one, sizeof(one)) < 0)
		nd_assert(errno == EAGAIN); /* there is news already */
}

void nd_page_publish(struct nd_page *page, struct nd_switch *sw,
		     const struct nd_worker_stats *worker, nd_ns now)
{
	uint64_t sequence = page->sequence;

	__atomic_store_n(&page->sequence, sequence + 1, __ATOMIC_RELAXED);
	__atomic_thread_fence(__ATOMIC_RELEASE);
	write_switch(page, sw, worker, now);
	__atomic_store_n(&page->sequence, sequence + 2, __ATOMIC_RELEASE);
	sw->published = now;
	if (sw->news)
		tell(sw);
	sw->news = false;
}

/* ---- reading ---- */

int nd_page_read(const struct nd_page *page, struct nd_page *copy)
{
	for (uint32_t i = 0; i < ND_PAGE_TRIES; i++) {
		uint64_t before = __atomic_load_n(&page->sequence, __ATOMIC_ACQUIRE);

		if (before & 1) {
			sched_yield();
			continue;
		}
		memcpy(copy, page, sizeof(*copy));
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
		if (__atomic_load_n(&page->sequence, __ATOMIC_RELAXED) == before)
			return 0;
	}
	return -EAGAIN;
}
