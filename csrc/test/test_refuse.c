// SPDX-License-Identifier: Apache-2.0
/* The sentence that a refused config gets. */
#include "base/refuse.h"
#include "test/harness.h"

#include <errno.h>

TEST(nd_refuse__names_field_value_and_rule)
{
	const char *why = NULL;

	CHECK_EQ(nd_refuse(&why, "levels", 9, "must be 1 to 8: lower it"), -EINVAL);
	CHECK_STR(why, "levels is 9, but must be 1 to 8: lower it");
}

TEST(nd_refuse__prints_the_largest_number)
{
	const char *why = NULL;

	nd_refuse(&why, "n", UINT64_MAX, "no");
	CHECK_STR(why, "n is 18446744073709551615, but no");
}

TEST(nd_refuse__cuts_what_does_not_fit)
{
	char rule[2 * ND_REFUSE_BYTES_MAX];
	const char *why = NULL;

	memset(rule, 'x', sizeof(rule) - 1);
	rule[sizeof(rule) - 1] = '\0';
	nd_refuse(&why, "n", 0, rule);
	CHECK_EQ(strlen(why), ND_REFUSE_BYTES_MAX - 1);
}

int main(int argc, char **argv)
{
	return nd_test_main(argc, argv);
}
