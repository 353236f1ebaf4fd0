/* SPDX-License-Identifier: Apache-2.0 */
/* Switches and their worker; switch/switch.h and switch/worker.h have the comments. */
enum nd_ecmp_mode { ND_ECMP_RANDOM, ND_ECMP_ROUND_ROBIN, ND_ECMP_FLOW, ND_ECMP_PATH };
#define ND_SWITCH_GROUP ...
#define ND_FRAME_PCP_KEEP ...
#define ND_NDP_TRIM_FABRIC ...
#define ND_NDP_TRIM_LAST_HOP ...

struct nd_port {
	const char *mode;
	uint32_t mtu;
	uint8_t mac[6];
	...;
};
struct nd_port *nd_port_open(const struct nd_port_config *config, struct nd_error *error);
void nd_port_close(struct nd_port *port);

struct nd_switch_config {
	const char *name;
	uint32_t packets_max;
	uint32_t frame_bytes_max;
	uint32_t fdb_max;
	nd_ns fdb_aging;
	bool learning;
	struct nd_frame_config frame;
	uint64_t seed;
};

struct nd_switch_port_config {
	struct nd_port *port;
	const struct nd_queue_ops *discipline;
	const void *discipline_config;
	uint64_t rate_bps;
	nd_ns catch_up;
	struct nd_frame_trim trim;
	bool off_tree;
	...;
};

struct nd_switch_port {
	struct nd_queue_counters queue_counters;
	bool up;
	...;
};

struct nd_switch {
	struct nd_switch_port ports[64];
	...;
};

struct nd_switch *nd_switch_new(const struct nd_switch_config *config, struct nd_error *error);
void nd_switch_free(struct nd_switch *sw);
int nd_switch_add_port(struct nd_switch *sw, const struct nd_switch_port_config *config,
		       struct nd_error *error);
int nd_switch_add_group(struct nd_switch *sw, enum nd_ecmp_mode mode, const uint16_t *ports,
			uint32_t count, uint32_t divisor);
int nd_switch_set_address(struct nd_switch *sw, const uint8_t mac[6], uint16_t to);
const char *nd_switch_audit(const struct nd_switch *sw);

enum nd_worker_profile { ND_WORKER_ADAPTIVE, ND_WORKER_SPIN };
struct nd_worker_config {
	enum nd_worker_profile profile;
	nd_ns spin_ns;
	int cpu;
};
struct nd_worker_stats {
	uint64_t rounds;
	uint64_t busy_rounds;
	uint64_t frames;
	uint64_t sleeps;
	uint64_t sleep_ns;
	uint64_t gap_ns_max;
};
struct nd_worker;
struct nd_worker_config nd_worker_config_default(void);
struct nd_worker *nd_worker_start(const struct nd_worker_config *config, struct nd_error *error);
void nd_worker_stop(struct nd_worker *worker);
int nd_worker_add(struct nd_worker *worker, struct nd_switch *sw);
int nd_worker_remove(struct nd_worker *worker, struct nd_switch *sw);
struct nd_worker_stats nd_worker_stats(const struct nd_worker *worker);
