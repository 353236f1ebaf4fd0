// SPDX-License-Identifier: Apache-2.0
/* Slices: a core's thread asks for short ones and changes nothing else. */
#include "port/slice.h"
#include "test/memory_pair.h"

#include <dirent.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>

/* struct sched_attr of the kernel. */
struct attributes {
	uint32_t size, policy;
	uint64_t flags;
	int32_t nice;
	uint32_t priority;
	uint64_t runtime, deadline, period;
};

static struct attributes attributes_of(pid_t thread)
{
	struct attributes attributes = { .size = sizeof(attributes) };

	CHECK_EQ(syscall(SYS_sched_getattr, thread, &attributes, sizeof(attributes), 0), 0);
	return attributes;
}

/* Kernels before 6.12 tell no slices. */
static bool kernel_grants_slices(void)
{
	return attributes_of(0).runtime != 0;
}

/* In a thread of its own, as what is set stays with the thread. */
static void in_a_thread(void *(*body)(void *unused))
{
	pthread_t thread;

	CHECK_EQ(pthread_create(&thread, NULL, body, NULL), 0);
	CHECK_EQ(pthread_join(thread, NULL), 0);
}

static void *shorten_when_nice(void *unused)
{
	struct attributes attributes;

	CHECK_EQ(setpriority(PRIO_PROCESS, 0, 3), 0);
	nd_slice_shorten();
	attributes = attributes_of(0);
	CHECK_EQ(attributes.policy, SCHED_OTHER);
	CHECK_EQ(attributes.nice, 3);
	CHECK(!kernel_grants_slices() || attributes.runtime == ND_SLICE_NS);
	return unused;
}

TEST(nd_slice_shorten__leaves_policy_and_niceness_alone)
{
	in_a_thread(shorten_when_nice);
}

static void *shorten_when_idle(void *unused)
{
	struct sched_param parameter = { 0 };

	CHECK_EQ(sched_setscheduler(0, SCHED_IDLE, &parameter), 0);
	nd_slice_shorten();
	CHECK_EQ(attributes_of(0).policy, SCHED_IDLE);
	CHECK(attributes_of(0).runtime != ND_SLICE_NS);
	return unused;
}

TEST(nd_slice_shorten__leaves_other_policies_alone)
{
	in_a_thread(shorten_when_idle);
}

/* True for the task of this process whose thread has the name. */
static bool is_named(const char *task, const char *name)
{
	char path[288], comm[32] = "";
	FILE *file;

	snprintf(path, sizeof(path), "/proc/self/task/%s/comm", task);
	file = fopen(path, "r");
	CHECK(file);
	CHECK(fgets(comm, sizeof(comm), file));
	fclose(file);
	comm[strcspn(comm, "\n")] = '\0';
	return strcmp(comm, name) == 0;
}

TEST(nd_core_run__asks_for_short_slices)
{
	struct pair pair = open_pair("slices", false);
	DIR *folder = opendir("/proc/self/task");
	uint64_t usual = attributes_of(0).runtime;
	struct dirent *entry;
	uint32_t cores = 0;

	CHECK(folder);
	while ((entry = readdir(folder))) {
		if (entry->d_name[0] == '.' || !is_named(entry->d_name, "ndpstack-core"))
			continue;
		cores++;
		CHECK(!usual || attributes_of(atoi(entry->d_name)).runtime == ND_SLICE_NS);
	}
	closedir(folder);
	CHECK_EQ(cores, 2);
	CHECK_EQ(attributes_of(0).runtime, usual); /* the application is left alone */
	close_pair(&pair);
}

int main(int argc, char **argv)
{
	return nd_test_main(argc, argv);
}
