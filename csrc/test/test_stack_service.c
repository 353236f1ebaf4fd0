// SPDX-License-Identifier: Apache-2.0
/* A core that serves other processes: whom it takes, and what it does when it can take nobody. */
#include "host/core.h"
#include "test/memory_pair.h"

/* ---- opening without memory ---- */

/* This program's own, in place of the system's: has no memory for one text. */
static const char *too_much;

char *strdup(const char *text)
{
	size_t bytes = strlen(text) + 1;
	char *copy = too_much && strcmp(text, too_much) == 0 ? NULL : malloc(bytes);

	return copy ? memcpy(copy, text, bytes) : NULL;
}

/* Not a core that serves nobody. */
TEST(nd_core_open__without_memory_for_the_name)
{
	struct nd_stack_config config = config_of("test-service-memory", 0, false);

	config.service = too_much = "test-service-memory-name";
	CHECK(!nd_stack_open(&config, &error));
	CHECK_EQ(error.code, -ENOMEM);
	too_much = NULL;
}

int main(int argc, char **argv)
{
	return nd_test_main(argc, argv);
}
