// SPDX-License-Identifier: Apache-2.0
/* Formats refusals without stdio; the only text that the core ever composes. */
#include "base/refuse.h"

#include <errno.h>

struct text {
	char *bytes;
	size_t used;
};

static void add_string(struct text *text, const char *string)
{
	while (*string && text->used < ND_REFUSE_BYTES_MAX - 1)
		text->bytes[text->used++] = *string++;
	text->bytes[text->used] = '\0';
}

static void add_number(struct text *text, uint64_t value)
{
	char digits[21];
	char *at = digits + sizeof(digits) - 1;

	*at = '\0';
	do {
		*--at = (char)('0' + value % 10);
		value /= 10;
	} while (value);
	add_string(text, at);
}

int nd_refuse(const char **why, const char *field, uint64_t value, const char *rule)
{
	static _Thread_local char bytes[ND_REFUSE_BYTES_MAX];
	struct text text = { .bytes = bytes };

	add_string(&text, field);
	add_string(&text, " is ");
	add_number(&text, value);
	add_string(&text, ", but ");
	add_string(&text, rule);
	*why = bytes;
	return -EINVAL;
}
