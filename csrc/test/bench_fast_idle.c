// SPDX-License-Identifier: Apache-2.0
/*
 * What a host costs that nobody talks to: CPU time of the whole process over some seconds.
 *
 *	bench_fast_idle SECONDS
 *
 * It has an application and a service name, runs both protocols, and waits as adaptive hosts do.
 */
#include "test/bench_fast.h"

static double cpu_seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

int main(int argc, char **argv)
{
	struct nd_stack_config config = {
		.ports = { { .backend = ND_PORT_MEMORY, .memory.listen = true } },
		.port_count = 1,
		.seed = 1,
	};
	char port[64], service[64];
	struct nd_stack *stack;
	unsigned seconds;
	double used;

	if (argc != 2)
		bench_fail("usage: bench_fast_idle SECONDS");
	seconds = (unsigned)strtoul(argv[1], NULL, 10);
	snprintf(port, sizeof(port), "bench-idle-%d", getpid());
	snprintf(service, sizeof(service), "bench-idle-service-%d", getpid());
	config.ports[0].name = port;
	config.service = service;
	bench_address(config.address_v4, 1);
	stack = bench_open(&config);
	sleep(1);
	used = cpu_seconds();
	sleep(seconds);
	used = cpu_seconds() - used;
	printf("{\"bench\": \"idle\", \"seconds\": %u, \"cpu_percent\": %.3f}\n", seconds,
	       100 * used / seconds);
	nd_stack_close(stack);
	return 0;
}
