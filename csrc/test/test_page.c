// SPDX-License-Identifier: Apache-2.0
/* The shared page: who reads it waits for nobody, and maps nothing that could be cut short. */
#include "switch/worker.h"
#include "test/switch_bed.h"

#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <sys/mman.h>
#include <sys/stat.h>

#ifndef F_SEAL_EXEC
#define F_SEAL_EXEC 0x20 /* younger than the headers of some distributions */
#endif

static sem_t held, go_on;

static int stand_still(void *context)
{
	(void)context;
	sem_post(&held);
	while (sem_wait(&go_on) < 0)
		CHECK_EQ(errno, EINTR);
	return 0;
}

static void *hold_worker(void *worker)
{
	CHECK_EQ(nd_worker_call(worker, stand_still, NULL), 0);
	return NULL;
}

/* T21: whoever reads counters asks nothing of the worker: not even one that stands still delays. */
TEST(nd_page_read__does_not_need_the_worker)
{
	struct nd_worker_config config = nd_worker_config_default();
	struct nd_worker *worker = nd_worker_start(&config, &error);
	static struct nd_page copy;
	struct nd_page *page;
	pthread_t caller;
	int fd = nd_page_create(&page);

	CHECK(worker && fd >= 0);
	open_plain(true);
	sw->page = page;
	nd_page_publish(page, sw, &(struct nd_worker_stats){ 0 }, now);
	CHECK_EQ(nd_worker_add(worker, sw), 0);
	CHECK_EQ(sem_init(&held, 0, 0) | sem_init(&go_on, 0, 0), 0);
	CHECK_EQ(pthread_create(&caller, NULL, hold_worker, worker), 0);
	while (sem_wait(&held) < 0)
		CHECK_EQ(errno, EINTR);
	for (uint32_t i = 0; i < 10000; i++)
		CHECK_EQ(nd_page_read(page, &copy), 0);
	CHECK_EQ(copy.ports[PORTS - 1].used, 1);
	sem_post(&go_on);
	CHECK_EQ(pthread_join(caller, NULL), 0);
	nd_worker_stop(worker);
	close_all();
	nd_page_destroy(page, fd);
}

/* Where no memory may run as code, the kernel adds a seal of its own to all that is made. */
TEST(nd_page_map__takes_what_is_sealed_enough)
{
	int fd = memfd_create("test", MFD_ALLOW_SEALING);
	const struct nd_page *seen;
	struct nd_page *page;

	CHECK_EQ(ftruncate(fd, sizeof(*page)), 0);
	page = mmap(NULL, sizeof(*page), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	page->magic = ND_PAGE_MAGIC;
	page->page_bytes = sizeof(*page);
	CHECK_EQ(fchmod(fd, 0600), 0); /* or it would be sealed against all writing, too */
	fcntl(fd, F_ADD_SEALS, F_SEAL_EXEC); /* kernels before 6.3 have none */
	CHECK_EQ(fcntl(fd, F_ADD_SEALS, F_SEAL_GROW | F_SEAL_FUTURE_WRITE), 0);
	CHECK(!nd_page_map(fd));
	CHECK_EQ(fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_SEAL), 0);
	seen = nd_page_map(fd);
	CHECK(seen);
	nd_page_unmap(seen);
	nd_page_destroy(page, fd);
}

int main(int argc, char **argv)
{
	return nd_test_main(argc, argv);
}
