/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counters that are declared and documented in one place.
 *
 * A module lists its counters once, as an X-macro of (name, help). From that list come the struct
 * (64-bit, free running, never reset) and the table of names and help texts that `ndpstack stat`,
 * switchctl, Prometheus and the docs print:
 *
 *	#define ND_HOMA_COUNTERS(X) \
 *		X(grants_sent, "GRANT packets sent.") \
 *		X(resends_sent, "RESEND packets sent after a silence.")
 *	ND_COUNTERS_STRUCT(nd_homa_counters, ND_HOMA_COUNTERS);
 *	extern const struct nd_counters_table nd_homa_counters_table;     (header)
 *	ND_COUNTERS_TABLE(nd_homa_counters, "homa", ND_HOMA_COUNTERS);    (source)
 */
#ifndef ND_BASE_COUNTERS_H
#define ND_BASE_COUNTERS_H

#include "base/types.h"

struct nd_counter_text {
	const char *name;
	const char *help; /* full sentence; becomes HELP text and documentation */
};

struct nd_counters_table {
	const char *group;
	const struct nd_counter_text *texts;
	uint32_t count; /* the struct is exactly count uint64_t in this order */
};

/* Adds the counters of one struct of the table to another's. */
static inline void nd_counters_add(const struct nd_counters_table *table, void *sum,
				   const void *more)
{
	uint64_t *to = (uint64_t *)sum;
	const uint64_t *from = (const uint64_t *)more;

	for (uint32_t i = 0; i < table->count; i++)
		to[i] += from[i];
}

#define ND_COUNTER_FIELD(name, help) uint64_t name;
#define ND_COUNTER_TEXT(name, help) { #name, help },

#define ND_COUNTERS_STRUCT(type, LIST) \
	struct type { \
		LIST(ND_COUNTER_FIELD) \
	}

#define ND_COUNTERS_TABLE(type, group_name, LIST) \
	static const struct nd_counter_text type##_texts[] = { LIST(ND_COUNTER_TEXT) }; \
	static_assert(sizeof(struct type) == ND_ARRAY_SIZE(type##_texts) * sizeof(uint64_t), \
		      "counters are plain 64-bit words"); \
	const struct nd_counters_table type##_table = { \
		.group = group_name, \
		.texts = type##_texts, \
		.count = ND_ARRAY_SIZE(type##_texts), \
	}

#endif
