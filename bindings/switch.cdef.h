/* SPDX-License-Identifier: Apache-2.0 */
/* Switches, their control and their worker; csrc/switch/ has the comments. */
enum nd_ecmp_mode { ND_ECMP_RANDOM, ND_ECMP_ROUND_ROBIN, ND_ECMP_FLOW, ND_ECMP_PATH };
#define ND_SWITCH_GROUP ...
#define ND_FRAME_PCP_KEEP ...
#define ND_NDP_TRIM_FABRIC ...
#define ND_NDP_TRIM_LAST_HOP ...
#define ND_FAULTS_ALWAYS ...

struct nd_port_counters { ...; };
struct nd_switch_counters { ...; };
struct nd_fdb_counters { ...; };
struct nd_faults_counters { ...; };
struct nd_wire_counters { ...; };
extern const struct nd_counters_table nd_port_counters_table;
extern const struct nd_counters_table nd_switch_counters_table;
extern const struct nd_counters_table nd_fdb_counters_table;
extern const struct nd_counters_table nd_faults_counters_table;

struct nd_faults_config {
	uint32_t loss;
	uint32_t corrupt;
	uint32_t duplicate;
	uint32_t reorder;
	nd_ns delay_ns;
	nd_ns reorder_ns_max;
};

struct nd_switch_config {
	const char *name;
	uint32_t packets_max;
	uint32_t frame_bytes_max;
	uint32_t fdb_max;
	uint32_t routes_max;
	nd_ns fdb_aging;
	bool learning;
	struct nd_frame_config frame;
	uint64_t seed;
};

struct nd_switch_port_settings {
	const struct nd_queue_ops *discipline;
	const void *discipline_config;
	uint64_t rate_bps;
	nd_ns catch_up;
	struct nd_phantom_config phantom;
	struct nd_frame_trim trim;
	struct nd_faults_config faults;
	uint8_t mac[6];
	bool off_tree;
};

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
struct nd_worker_stats nd_worker_stats(const struct nd_worker *worker);

struct nd_page_class {
	uint32_t packets;
	uint32_t bytes;
	uint32_t packets_max;
	uint32_t bytes_max;
};

struct nd_page_port {
	char name[108];
	uint32_t used;
	uint32_t enabled;
	uint32_t up;
	uint32_t state;
	uint32_t changes;
	uint32_t mtu;
	uint32_t classes_count;
	uint32_t phantom_bytes;
	struct nd_page_class queue;
	struct nd_page_class classes[8];
	struct nd_switch_counters counters;
	struct nd_queue_counters queue_counters;
	struct nd_phantom_counters phantom_counters;
	struct nd_faults_counters faults_counters;
	struct nd_port_counters port_counters;
};

struct nd_page {
	uint64_t magic;
	uint32_t page_bytes;
	uint32_t port_count;
	uint64_t sequence;
	nd_ns time;
	char name[16];
	uint32_t packets_max;
	uint32_t packets_used;
	uint32_t packets_used_max;
	uint32_t addresses;
	uint32_t routes;
	uint32_t spare;
	struct nd_worker_stats worker;
	struct nd_switch_counters counters;
	struct nd_fdb_counters fdb_counters;
	struct nd_wire_counters wire_counters;
	struct nd_page_port ports[64];
};
const struct nd_page *nd_page_map(int fd);
void nd_page_unmap(const struct nd_page *page);
int nd_page_read(const struct nd_page *page, struct nd_page *copy);

struct nd_fdb_entry {
	uint64_t key;
	uint16_t port;
	bool is_static;
	nd_ns seen;
};

struct nd_route_hop {
	uint16_t port;
	uint8_t mac[6];
};

struct nd_route {
	uint16_t to;
	uint8_t count;
	struct nd_route_hop hops[32];
};

#define ND_MIRROR_NO_REASON ...
struct nd_mirror_config {
	const uint8_t *ports;
	const char *const *names;
	uint32_t port_count;
	bool rx;
	bool tx;
	uint32_t snap_bytes;
	uint32_t frames;
};
struct nd_mirror_frame {
	nd_ns time;
	uint32_t captured_bytes;
	uint32_t original_bytes;
	uint8_t port;
	uint8_t direction;
	uint8_t verdict;
	uint8_t reason;
};
struct nd_mirror;
uint32_t nd_mirror_read(struct nd_mirror *mirror, struct nd_mirror_frame *frames, uint8_t *bytes,
			uint32_t count);
size_t nd_mirror_header(const struct nd_mirror *mirror, uint8_t *out, size_t limit);
size_t nd_mirror_pcapng(struct nd_mirror *mirror, uint8_t *out, size_t limit);
uint64_t nd_mirror_dropped(const struct nd_mirror *mirror);
const char *nd_mirror_comment(const struct nd_mirror_frame *frame, char *out);

struct nd_control_port {
	bool open;
	char mode[32];
	char note[320];
	char why[320];
	char discipline[16];
	char classes[8][16];
	uint8_t mac[6];
};

struct nd_control;
struct nd_control *nd_control_new(const struct nd_switch_config *config, struct nd_error *error);
void nd_control_free(struct nd_control *control);
int nd_control_join(struct nd_control *control, struct nd_worker *worker, struct nd_error *error);
void nd_control_leave(struct nd_control *control);
int nd_control_add_port(struct nd_control *control, const struct nd_port_config *opening,
			const struct nd_switch_port_settings *settings, struct nd_error *error);
int nd_control_remove_port(struct nd_control *control, uint32_t index, struct nd_error *error);
int nd_control_set_port(struct nd_control *control, uint32_t index,
			const struct nd_switch_port_settings *settings, struct nd_error *error);
int nd_control_reopen_port(struct nd_control *control, uint32_t index,
			   const struct nd_port_config *opening, struct nd_error *error);
int nd_control_enable_port(struct nd_control *control, uint32_t index, bool enabled,
			   struct nd_error *error);
int nd_control_describe_port(struct nd_control *control, uint32_t index,
			     struct nd_control_port *out, struct nd_error *error);
void nd_control_check(struct nd_control *control);
void nd_control_clear_watermarks(struct nd_control *control);
int nd_control_set_group(struct nd_control *control, uint32_t group, enum nd_ecmp_mode mode,
			 const uint16_t *ports, uint32_t count, uint32_t divisor,
			 struct nd_error *error);
int nd_control_remove_group(struct nd_control *control, uint32_t group, struct nd_error *error);
int nd_control_set_address(struct nd_control *control, const uint8_t mac[6], uint16_t vlan,
			   uint16_t to, struct nd_error *error);
int nd_control_remove_address(struct nd_control *control, const uint8_t mac[6], uint16_t vlan,
			      struct nd_error *error);
int nd_control_set_route(struct nd_control *control, const uint8_t prefix[16], uint8_t length,
			 const struct nd_route *route, struct nd_error *error);
int nd_control_remove_route(struct nd_control *control, const uint8_t prefix[16], uint8_t length,
			    struct nd_error *error);
struct nd_mirror *nd_control_mirror(struct nd_control *control,
				    const struct nd_mirror_config *config, struct nd_error *error);
void nd_control_unmirror(struct nd_control *control, struct nd_mirror *mirror);
uint32_t nd_control_addresses(struct nd_control *control, uint32_t *cursor,
			      struct nd_fdb_entry *out, uint32_t limit);
int nd_control_read(const struct nd_control *control, struct nd_page *copy);
int nd_control_page_fd(const struct nd_control *control);
int nd_control_events_fd(const struct nd_control *control);
const char *nd_control_audit(struct nd_control *control);

/* Ports, frame by frame. */
struct nd_port;
#define ND_PORT_DESCRIPTORS_MAX ...
struct nd_port *nd_port_open(const struct nd_port_config *config, struct nd_error *error);
void nd_port_close(struct nd_port *port);
bool nd_port_arm(struct nd_port *port);
uint32_t nd_port_descriptors(const struct nd_port *port, int *descriptors);
int nd_rig_port_send(struct nd_port *port, const uint8_t *frame, uint32_t bytes);
int nd_rig_port_receive(struct nd_port *port, uint8_t *out, uint32_t room);
bool nd_rig_port_is_up(struct nd_port *port, struct nd_error *error);

/* Interfaces, as ports find them; device.h and xdp_occupant.h have the comments. */
struct nd_device {
	uint32_t index;
	uint32_t mtu;
	uint32_t queues;
	bool ethernet;
	bool set_up;
	char name[16];
	char driver[32];
	...;
};
#define ND_XDP_OCCUPANT_TEXT_BYTES ...
struct nd_xdp_occupant {
	uint32_t program;
	uint32_t link;
	bool seen;
	bool ours;
	const char *mode;
	const char *keyword;
	char name[16];
};
int nd_device_open(struct nd_device *device, const char *name, struct nd_error *error);
void nd_device_close(struct nd_device *device);
bool nd_device_is_default_route(const struct nd_device *device);
bool nd_xdp_prefers_generic(const char *driver);
void nd_xdp_occupant_find(struct nd_xdp_occupant *self, uint32_t interface);
void nd_xdp_occupant_describe(const struct nd_xdp_occupant *self, char *text);
void nd_xdp_occupant_remedy(const struct nd_xdp_occupant *self, const char *interface,
			    char *text);
