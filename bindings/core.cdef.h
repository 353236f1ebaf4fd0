/* What ndpstack._core shows to Python. Structs repeat the headers of csrc/; cffi checks them. */

/* ---- base ---- */
struct nd_counter_text {
	const char *name;
	const char *help;
};

struct nd_counters_table {
	const char *group;
	const struct nd_counter_text *texts;
	uint32_t count;
};

/* ---- queue ---- */
extern const struct nd_counters_table nd_queue_counters_table;
