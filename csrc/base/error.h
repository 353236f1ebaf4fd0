/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Why something could not be done: a code for programs and a sentence for people.
 *
 * The text names what failed, the value and the limit where there is one, and the remedy.
 */
#ifndef ND_BASE_ERROR_H
#define ND_BASE_ERROR_H

#include "base/types.h"

#include <stdarg.h>
#include <stdio.h>

#define ND_ERROR_TEXT_BYTES 320

struct nd_error {
	int code; /* 0 or negative errno */
	char text[ND_ERROR_TEXT_BYTES];
};

/* Fills in the error and returns code, so that a failing function ends in one line. */
__attribute__((format(printf, 3, 4))) static inline int nd_error_set(struct nd_error *error,
								      int code, const char *format,
								      ...)
{
	va_list arguments;

	va_start(arguments, format);
	error->code = code;
	vsnprintf(error->text, sizeof(error->text), format, arguments);
	va_end(arguments);
	return code;
}

#endif
