/* SPDX-License-Identifier: Apache-2.0 */
/* How a config is refused: one sentence that names the field, its value, the limit and the remedy. */
#ifndef ND_BASE_REFUSE_H
#define ND_BASE_REFUSE_H

#include "base/types.h"

/*
 * Sets *why to "FIELD is VALUE, but RULE" and returns -EINVAL. The rule names the limit and the
 * remedy: "must be 1 to 8: use the number of priorities of the switch". The text belongs to the
 * calling thread and lasts until its next refusal; longer texts are cut at ND_REFUSE_BYTES_MAX.
 */
int nd_refuse(const char **why, const char *field, uint64_t value, const char *rule);

#define ND_REFUSE_BYTES_MAX 256

#endif
