/*
 * What ndpstack._core shows to Python. Structs repeat the headers of csrc/; the compiler checks
 * each field. After a change: make stubs.
 */

typedef uint64_t nd_ns;

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

struct nd_error {
	int code;
	char text[320];
};

struct nd_rng {
	uint64_t key;
	uint64_t draw;
};

/* ---- wire ---- */
enum nd_protocol { ND_PROTO_OTHER, ND_PROTO_NDP, ND_PROTO_HOMA, ND_PROTO_COUNT };

enum {
	ND_MARK_ECT = 1, ND_MARK_CE = 2, ND_MARK_TRIMMABLE = 4, ND_MARK_TRIMMED = 8,
	ND_MARK_LAST_HOP = 16, ND_MARK_BOUNCED = 32, ND_MARK_CONTROL = 64, ND_MARK_FLOOD = 128,
};

enum nd_ndp_type {
	ND_NDP_DATA = 1, ND_NDP_ACK, ND_NDP_NACK, ND_NDP_PULL, ND_NDP_CLOSE,
};

enum {
	ND_NDP_FLAG_SYN = 1, ND_NDP_FLAG_LAST = 2, ND_NDP_FLAG_FIN = 4, ND_NDP_FLAG_REPLY = 8,
	ND_NDP_FLAG_RTX = 16, ND_NDP_FLAG_PULL = 32, ND_NDP_FLAG_CONGESTED = 64,
};

struct nd_ndp_header {
	union {
		uint32_t pull;
		struct {
			uint16_t base;
			uint16_t service;
		};
	};
	uint32_t sequence;
	uint32_t offset;
	uint32_t message_bytes;
	uint32_t connection;
	uint16_t backlog;
	uint16_t message;
};

enum nd_homa_type {
	ND_HOMA_DATA = 0x10, ND_HOMA_GRANT, ND_HOMA_RESEND, ND_HOMA_RPC_UNKNOWN, ND_HOMA_BUSY,
	ND_HOMA_CUTOFFS, ND_HOMA_FREEZE, ND_HOMA_NEED_ACK, ND_HOMA_ACK,
};

struct nd_homa_header {
	uint64_t sender_id;
	uint32_t message_bytes;
	uint32_t length;
	uint32_t offset;
	uint16_t target_port;
	uint16_t source_port;
	uint8_t speaker;
	uint8_t note;
	uint8_t retransmit;
	uint8_t level;
	uint16_t cutoff_version;
	uint16_t ack_count;
	uint16_t ack_ports[5];
	union {
		uint64_t ack_ids[5];
		uint32_t cutoffs[8];
	};
};

struct nd_packet {
	uint32_t next;
	uint32_t source;
	uint32_t target;
	uint32_t rank;
	uint16_t wire_bytes;
	uint16_t header_bytes;
	uint16_t flow;
	uint8_t protocol;
	uint8_t marks;
	uint16_t payload_bytes;
	uint16_t path;
	uint8_t type;
	uint8_t flags;
	uint8_t priority;
	uint8_t spare;
	const uint8_t *payload;
	union {
		struct nd_ndp_header ndp;
		struct nd_homa_header homa;
	};
};

extern const struct nd_counters_table nd_wire_counters_table;

struct nd_frame_config {
	uint16_t ndp_port;
	uint16_t homa_port;
	uint16_t source_port_first;
	uint16_t source_port_count;
	uint8_t dscp_data;
	uint8_t dscp_trimmable;
	uint8_t dscp_trimmed;
	uint8_t dscp_trimmed_last_hop;
	uint8_t dscp_control;
	uint8_t dscp_homa[8];
	uint8_t pcp[8];
	uint8_t hop_limit;
	uint8_t framing_bytes;
	uint8_t verify;
	bool homa_in_udp;
	bool homa_checksum;
};

struct nd_frame_peer {
	uint8_t target_mac[6];
	uint8_t source_mac[6];
	uint8_t source[16];
	uint8_t target[16];
	uint16_t vlan;
};

enum nd_frame_verify { ND_FRAME_VERIFY_NONE, ND_FRAME_VERIFY_OURS, ND_FRAME_VERIFY_ALL };

struct nd_frame_template { ...; };

struct nd_frame_trim {
	uint32_t size;
	uint8_t dscp;
	uint8_t pcp;
	uint8_t location;
};

enum nd_wire_error { ND_WIRE_OK, ... };

struct nd_frame_config nd_frame_config_default(void);
int nd_frame_config_check(const struct nd_frame_config *config, const char **why);
void nd_frame_prepare(const struct nd_frame_config *config, const struct nd_frame_peer *peer,
		      struct nd_frame_template *template);
uint32_t nd_frame_encode(const struct nd_frame_template *template, const struct nd_packet *packet,
			 uint8_t *out, uint32_t room);
enum nd_wire_error nd_frame_decode(const struct nd_frame_config *config, const uint8_t *in, uint32_t bytes,
		    struct nd_frame_peer *peer, struct nd_packet *packet);
uint32_t nd_frame_message_at(const struct nd_frame_config *config, const uint8_t *in,
			     uint32_t bytes);
uint32_t nd_frame_trim(const struct nd_frame_config *config, uint8_t *frame, uint32_t bytes,
		       const struct nd_frame_trim *trim);
uint32_t nd_frame_bounce(const struct nd_frame_config *config, uint8_t *frame, uint32_t bytes,
			 const struct nd_frame_trim *trim);

enum nd_pcapng_direction { ND_PCAPNG_UNKNOWN, ND_PCAPNG_INBOUND, ND_PCAPNG_OUTBOUND };

struct nd_pcapng_packet {
	uint32_t interface;
	nd_ns time;
	const uint8_t *frame;
	uint32_t captured_bytes;
	uint32_t original_bytes;
	enum nd_pcapng_direction direction;
	const char *comment;
};

size_t nd_pcapng_section(uint8_t *out, size_t limit, const char *application);
size_t nd_pcapng_interface(uint8_t *out, size_t limit, const char *name, uint32_t snap_bytes);
size_t nd_pcapng_packet(uint8_t *out, size_t limit, const struct nd_pcapng_packet *packet);

#define ND_HOMA_PROTOCOL ...

struct nd_field {
	const char *name;
	const char *text;
	uint32_t types;
	uint16_t bit_offset;
	uint16_t bit_width;
	uint8_t repeat;
	uint8_t bit_stride;
	uint8_t protocol;
	uint8_t view;
};

struct nd_field_value {
	const char *field;
	const char *name;
	const char *text;
	uint32_t value;
	uint32_t protocol;
};

enum nd_field_view { ND_FIELD_DECIMAL, ND_FIELD_HEX, ND_FIELD_SIGNED, ND_FIELD_FLAGS, ND_FIELD_NAMED };

extern const struct nd_field nd_fields[];
extern const uint32_t nd_fields_count;
extern const struct nd_field_value nd_field_values[];
extern const uint32_t nd_field_values_count;
uint32_t nd_field_type_base(uint8_t protocol);
bool nd_field_get(const struct nd_field *field, uint32_t occurrence, const uint8_t *header,
		  uint32_t bytes, uint64_t *value);

/* ---- transport ---- */
enum nd_command_kind {
	ND_COMMAND_LISTEN, ND_COMMAND_UNLISTEN, ND_COMMAND_CONNECT, ND_COMMAND_SEND,
	ND_COMMAND_CLOSE, ND_COMMAND_RESET, ND_COMMAND_REQUEST, ND_COMMAND_REPLY,
	ND_COMMAND_CANCEL, ND_COMMAND_RELEASE, ND_COMMAND_PATHS, ND_COMMAND_DETACH,
	ND_COMMAND_WINDOW, ND_COMMAND_MSS, ND_COMMAND_LINK, ND_COMMAND_LEVELS,
};

struct nd_command {
	uint8_t kind;
	uint8_t priority;
	uint16_t app;
	uint32_t peer;
	uint16_t port;
	uint16_t source_port;
	uint32_t bytes;
	uint64_t id;
	uint64_t message;
	uint64_t cookie;
	nd_ns deadline;
	const uint8_t *payload;
};

enum nd_event_kind {
	ND_EVENT_ACCEPTED, ND_EVENT_MESSAGE, ND_EVENT_ABANDONED, ND_EVENT_REQUEST,
	ND_EVENT_RESPONSE, ND_EVENT_SENT, ND_EVENT_FAILED, ND_EVENT_CLOSED, ND_EVENT_OPENED,
};

struct nd_event {
	uint8_t kind;
	uint8_t priority;
	uint16_t app;
	int32_t error;
	uint32_t peer;
	uint16_t port;
	uint8_t protocol;
	uint8_t spare;
	uint32_t bytes;
	uint32_t detail;
	uint64_t id;
	uint64_t message;
	uint64_t cookie;
	uint8_t *payload;
};

enum nd_ndp_state {
	ND_NDP_FREE, ND_NDP_NEW, ND_NDP_OPENING, ND_NDP_OPEN, ND_NDP_CLOSING, ND_NDP_TIME_WAIT,
	ND_NDP_RESET_WAIT, ND_NDP_ENDED,
};
enum nd_homa_state {
	ND_HOMA_FREE, ND_HOMA_OUTGOING, ND_HOMA_INCOMING, ND_HOMA_SERVICE, ND_HOMA_REPLYING,
	ND_HOMA_UNACKED, ND_HOMA_CLOSED,
};
#define ND_MESSAGE_BYTES_MAX ...

enum nd_class { ND_CLASS_CONTROL, ND_CLASS_DATA };

struct nd_transport_ops {
	const char *name;
	uint8_t protocol;
	const struct nd_counters_table *counters_table;
	...;
};

struct nd_paths_config {
	bool scoreboard;
	uint16_t judge_feedbacks;
	uint16_t nack_percent;
	uint16_t mean_percent;
	uint16_t bounce_nacks;
	uint16_t loss_min;
	uint16_t loss_percent;
	uint8_t avoid_max;
};

struct nd_ndp_config {
	uint32_t data_header_bytes;
	uint32_t control_bytes;
	uint32_t control_max;
	uint32_t initial_window;
	uint32_t window_packets;
	uint32_t futile_max;
	uint64_t rto_min_ns;
	uint64_t repull_ns;
	uint64_t congested_ns;
	bool ack_carries_pull;
	bool nack_carries_pull;
	struct nd_paths_config score;
	uint64_t link_bps;
	uint32_t mss_bytes;
	uint64_t pull_slack_ns;
	uint64_t rto_initial_ns;
	uint64_t rto_max_ns;
	uint64_t solicit_ns;
	uint64_t give_up_ns;
	uint32_t bounce_history;
	uint32_t bounce_ack_divisor;
	uint64_t time_wait_ns;
	uint64_t reset_wait_ns;
	uint64_t keepalive_ns;
	uint32_t paths;
	uint32_t paths_max;
	uint32_t path_sets_max;
	uint32_t message_bytes_max;
	uint32_t connections_max;
	uint32_t time_wait_max;
	uint32_t listeners_max;
	uint32_t listen_backlog;
	uint32_t peers_max;
	uint32_t sending_max;
	uint32_t messages_max;
	uint32_t connection_messages_max;
	uint32_t receive_messages_max;
};

struct nd_ndp_config nd_ndp_config_default(uint64_t link_bps, uint32_t mtu);

struct nd_ndp_usage {
	uint32_t connections;
	uint32_t remembered;
	uint32_t messages;
	uint32_t receive_messages;
	uint32_t pulls;
	uint32_t control;
	uint32_t peers;
};

void nd_ndp_usage(const void *endpoint, struct nd_ndp_usage *usage);

enum nd_homa_cutoff_mode {
	ND_HOMA_CUTOFFS_AUTO, ND_HOMA_CUTOFFS_FIXED, ND_HOMA_CUTOFFS_STATIC,
};

struct nd_homa_config {
	uint32_t mss_bytes;
	uint32_t data_header_bytes;
	uint32_t control_bytes;
	uint32_t rtt_bytes;
	uint32_t window_bytes;
	uint32_t max_incoming_bytes;
	uint32_t unscheduled_max_bytes;
	uint32_t message_bytes_max;
	bool window_dynamic;
	bool basic;
	bool by_length;
	bool own_cutoffs_first;
	uint8_t first_priority;
	uint8_t levels;
	uint8_t cutoff_mode;
	uint8_t unscheduled_levels;
	uint8_t scheduled_levels;
	uint8_t overcommit;
	uint32_t cutoffs[8];
	nd_ns learn_ns;
	uint32_t learn_messages;
	uint32_t send_fifo_permille;
	uint32_t grant_fifo_permille;
	uint32_t grant_fifo_bytes;
	uint32_t incast_rpcs;
	uint32_t incast_bytes;
	nd_ns resend_ns;
	uint32_t resend_jitter_permille;
	uint32_t resends_max;
	nd_ns need_ack_ns;
	nd_ns need_ack_ns_max;
	uint32_t need_acks_max;
	nd_ns cutoffs_ns;
	nd_ns done_ns;
	uint32_t rpcs_max;
	uint32_t server_rpcs_max;
	uint32_t peer_rpcs_max;
	uint32_t peers_max;
	uint32_t ports_max;
	uint32_t apps_max;
	uint32_t gaps_max;
	uint32_t message_gaps_max;
	uint32_t replies_max;
	uint32_t done_max;
	bool at_least_once;
	bool one_way;
	bool unknown_resend;
	uint64_t first_id;
};

struct nd_homa_config nd_homa_config_default(uint64_t link_bps, uint32_t mtu);
struct nd_homa_config nd_homa_config_paper(uint32_t unscheduled_levels, uint32_t scheduled_levels);

struct nd_homa_usage {
	uint32_t client_rpcs;
	uint32_t server_rpcs;
	uint32_t closed_rpcs;
	uint32_t peers;
	uint32_t gaps;
	uint32_t active;
	uint32_t grantable;
	uint32_t starved;
	uint32_t done;
	uint64_t incoming;
	uint32_t degree;
	uint32_t unscheduled_levels;
	uint32_t scheduled_levels;
	uint16_t cutoff_version;
	uint32_t cutoffs[8];
};

void nd_homa_usage(const void *endpoint, struct nd_homa_usage *usage);

/* ---- queue ---- */
enum nd_verdict { ND_KEPT, ND_TRIMMED, ND_DROPPED, ND_RETURNED };

struct nd_queue_ops {
	const char *name;
	const char *const *classes;
	...;
};

const struct nd_queue_ops *nd_queue_find(const char *name);

struct nd_limit {
	uint32_t bytes;
	uint32_t packets;
};

struct nd_shared_config {
	uint32_t total_bytes;
	uint32_t alpha_256;
};

struct nd_shared {
	uint32_t total_bytes;
	uint32_t alpha_256;
	uint32_t used_bytes;
	uint32_t used_max_bytes;
	uint64_t refused;
};

void nd_shared_init(struct nd_shared *shared, const struct nd_shared_config *config);

struct nd_droptail_config {
	struct nd_limit limit;
	struct nd_shared *shared;
};

struct nd_ecn_config {
	struct nd_limit limit;
	struct nd_limit threshold;
	struct nd_shared *shared;
};

struct nd_cut_payload_config {
	struct nd_limit threshold;
	struct nd_limit limit;
	struct nd_shared *shared;
	bool last_hop;
};

struct nd_ndp_queue_config {
	struct nd_limit data;
	struct nd_limit headers;
	uint32_t control_reserve_bytes;
	uint16_t header_weight;
	uint16_t data_weight;
	bool strict;
	bool return_to_sender;
	bool last_hop;
	bool empty_to_headers;
	uint8_t victim;
	struct nd_shared *shared;
};

struct nd_ndp_queue_config nd_ndp_queue_paper(uint32_t packets, uint32_t packet_bytes);
struct nd_ndp_queue_config nd_ndp_queue_netfpga(void);
struct nd_ndp_queue_config nd_ndp_queue_p4(uint32_t threshold_packets);

struct nd_strict_config {
	uint32_t levels;
	struct nd_limit level;
	struct nd_limit total;
	uint32_t weights[8];
	struct nd_shared *shared;
};

struct nd_pfabric_config {
	struct nd_limit limit;
	uint32_t flow_bits;
};

struct nd_fair_child {
	const struct nd_queue_ops *ops;
	const void *config;
	uint32_t quantum_bytes;
};

struct nd_fair_config {
	struct nd_fair_child child[2];
	uint8_t child_of[3];
};

extern const struct nd_counters_table nd_queue_counters_table;

/* ---- sim ---- */
typedef uint64_t nd_ps;

#define ND_NONE ...
#define ND_FLOW_ENDLESS ...
#define ND_FLOW_NEVER ...

enum nd_flow_kind { ND_FLOW_ONEWAY, ND_FLOW_ECHO };
enum nd_flow_state {
	ND_FLOW_WAITING, ND_FLOW_STARTED, ND_FLOW_RECEIVED, ND_FLOW_DONE, ND_FLOW_FAILED,
};

struct nd_flow {
	nd_ps start_ps;
	uint64_t bytes;
	uint32_t reply_bytes;
	uint32_t source;
	uint32_t target;
	uint32_t starts_on;
	uint32_t on_sent;
	uint32_t on_received;
	uint8_t kind;
	uint8_t priority;
	uint8_t engine;
	uint8_t background;
	uint32_t spare;
};

struct nd_flow_row {
	nd_ps start_ps;
	nd_ps first_ps;
	nd_ps received_ps;
	nd_ps done_ps;
	nd_ps best_ps;
	uint64_t payload_bytes;
	uint32_t packets;
	uint32_t lag_ns;
	uint32_t wait_ns;
	int16_t error;
	uint8_t state;
	uint8_t spare;
};

struct nd_trigger {
	uint32_t needs;
};

struct nd_sizes {
	const uint64_t *bytes;
	const uint32_t *cumulative;
	uint32_t count;
	uint32_t linear;
};

uint64_t nd_sizes_quantile(const struct nd_sizes *sizes, uint32_t probability);
uint64_t nd_sizes_mean_256(const struct nd_sizes *sizes, uint32_t payload_bytes_max,
			   uint32_t overhead_bytes);
nd_ps nd_traffic_exponential(struct nd_rng *rng, nd_ps mean);
uint64_t nd_sizes_draw(const struct nd_sizes *sizes, struct nd_rng *rng);
nd_ps nd_traffic_gap(uint64_t mean_bytes_256, uint64_t rate_bps, uint32_t load_ppm);
void nd_traffic_derangement(uint32_t *targets, uint32_t hosts, uint64_t seed);
void nd_traffic_permutation(struct nd_flow *flows, uint32_t hosts, const struct nd_flow *pattern,
			    uint64_t seed);
void nd_traffic_random(struct nd_flow *flows, uint32_t hosts, uint32_t flows_each,
		       const struct nd_flow *pattern, uint64_t seed);
void nd_traffic_incast(struct nd_flow *flows, uint32_t hosts, uint32_t count,
		       const struct nd_flow *pattern, uint64_t seed);
void nd_traffic_outcast(struct nd_flow *flows, uint32_t hosts, uint32_t count,
			const struct nd_flow *pattern, uint64_t seed);
void nd_traffic_all_to_all(struct nd_flow *flows, uint32_t hosts, const struct nd_flow *pattern);

struct nd_traffic_open {
	uint32_t first_source;
	uint32_t sources;
	uint32_t first_target;
	uint32_t targets;
	nd_ps gap_ps;
	nd_ps until_ps;
	uint32_t flows_max;
	uint32_t spare;
	struct nd_sizes sizes;
};

uint64_t nd_traffic_open_loop(struct nd_flow *flows, uint64_t limit,
			      const struct nd_traffic_open *open, const struct nd_flow *pattern,
			      uint64_t seed);

struct nd_traffic_closed {
	uint32_t hosts;
	uint32_t slots;
	uint32_t rounds;
	uint32_t spare;
	nd_ps think_ps;
	struct nd_sizes sizes;
};

void nd_traffic_closed_loop(struct nd_flow *flows, struct nd_trigger *triggers,
			    const struct nd_traffic_closed *closed, const struct nd_flow *pattern,
			    uint64_t seed);

enum nd_topology_kind { ND_TOPOLOGY_CLOS, ND_TOPOLOGY_BACK_TO_BACK, ND_TOPOLOGY_GRAPH };
enum nd_level { ND_LEVEL_EDGE, ND_LEVEL_AGG, ND_LEVEL_CORE, ND_LEVEL_COUNT };
enum nd_tier {
	ND_TIER_NIC, ND_TIER_EDGE_DOWN, ND_TIER_EDGE_UP, ND_TIER_AGG_DOWN, ND_TIER_AGG_UP,
	ND_TIER_CORE_DOWN, ND_TIER_COUNT,
};

struct nd_cable {
	uint64_t rate_bps;
	nd_ps delay_ps;
};

struct nd_topology_edge {
	uint32_t a;
	uint32_t b;
	struct nd_cable cable;
};

struct nd_topology_config {
	uint32_t kind;
	uint32_t pods;
	uint32_t edges;
	uint32_t hosts;
	uint32_t aggs;
	uint32_t uplinks;
	uint32_t switches;
	uint32_t edge_count;
	uint32_t spare;
	const struct nd_topology_edge *edge_list;
	struct nd_cable cables[3];
	nd_ps latency_ps[3];
};

struct nd_topology {
	uint32_t hosts;
	uint32_t switches;
	uint32_t ports;
	uint32_t agg_base;
	uint32_t core_base;
	uint32_t paths_max;
	...;
};

int nd_topology_init(struct nd_topology *topology, const struct nd_topology_config *config,
		     struct nd_error *error);
void nd_topology_free(struct nd_topology *topology);
void nd_topology_fat_tree(struct nd_topology_config *config, uint32_t k, struct nd_cable cable);
uint32_t nd_topology_paths(const struct nd_topology *topology, uint32_t source, uint32_t target);
uint32_t nd_topology_peer(const struct nd_topology *topology, uint32_t port);
uint32_t nd_topology_port_node(const struct nd_topology *topology, uint32_t port);
uint32_t nd_topology_port_first(const struct nd_topology *topology, uint32_t node);
uint32_t nd_topology_port_count(const struct nd_topology *topology, uint32_t node);
uint32_t nd_topology_port_reverse(const struct nd_topology *topology, uint32_t port);
enum nd_tier nd_topology_tier(const struct nd_topology *topology, uint32_t port);
struct nd_cable nd_topology_cable(const struct nd_topology *topology, uint32_t port);

struct nd_hops {
	uint32_t first;
	uint32_t count;
	uint32_t digit;
	const uint32_t *ports;
};
struct nd_hops nd_topology_hops(const struct nd_topology *topology, uint32_t node, uint32_t target,
				uint32_t path);

struct nd_sim_engine {
	const struct nd_transport_ops *ops;
	const void *const *configs;
	const uint8_t *host_class;
	uint32_t classes;
	uint32_t message_bytes_max;
	uint32_t payload_bytes_max;
	uint32_t overhead_bytes;
	uint32_t wire_bytes_min;
	uint32_t service;
};

struct nd_phantom_config {
	uint64_t rate_bps;
	uint32_t threshold_bytes;
	nd_ns quantum;
};

struct nd_sim_egress {
	const struct nd_queue_ops *ops;
	const void *config;
	uint32_t config_bytes;
	uint32_t shared_offset;
	uint32_t shared_bytes;
	uint32_t shared_alpha_256;
	const struct nd_phantom_config *phantom;
};

enum nd_sim_route {
	ND_SIM_ROUTE_SOURCE, ND_SIM_ROUTE_RANDOM, ND_SIM_ROUTE_ROUND_ROBIN, ND_SIM_ROUTE_FLOW,
};

struct nd_sim_delay {
	nd_ps fixed_ps;
	const uint32_t *quantiles_ps;
	uint32_t count;
	uint32_t spare;
};

enum nd_sim_change_kind {
	ND_SIM_CHANGE_RATE, ND_SIM_CHANGE_DOWN, ND_SIM_CHANGE_UP, ND_SIM_CHANGE_LOSS,
	ND_SIM_CHANGE_CORRUPT, ND_SIM_CHANGE_DELAY,
};

struct nd_sim_change {
	nd_ps time_ps;
	uint64_t value;
	uint32_t port;
	uint16_t kind;
	uint16_t both_ways;
};

struct nd_sim_probes {
	nd_ps goodput_bin_ps;
	uint32_t goodput_bins;
	uint32_t goodput_by_flow;
	uint32_t queues;
	uint32_t delays;
	uint32_t waste;
	uint32_t timeline;
	uint32_t timeline_host;
	uint32_t pcap_port;
	uint32_t spare;
	const char *pcap_path;
};

struct nd_sim_config {
	uint64_t seed;
	struct nd_topology_config topology;
	const struct nd_sim_engine *engines;
	uint32_t engine_count;
	uint32_t route;
	struct nd_sim_egress egress[6];
	uint32_t nic_packets;
	uint32_t packet_bytes;
	struct nd_sim_delay receive_delay;
	struct nd_sim_delay send_delay;
	struct nd_sim_delay timer_delay;
	const struct nd_sim_change *changes;
	uint32_t change_count;
	uint32_t packets_max;
	uint32_t events_max;
	uint32_t wire_check;
	struct nd_sim_probes probes;
};

enum nd_sim_status {
	ND_SIM_DONE, ND_SIM_UNTIL, ND_SIM_STUCK, ND_SIM_LIMIT, ND_SIM_BROKEN,
};

/* Counters are read as words; the tables name them. */
struct nd_sim_counters { ...; };
struct nd_queue_counters { ...; };
struct nd_phantom_counters { ...; };
extern const struct nd_counters_table nd_phantom_counters_table;
extern const struct nd_counters_table nd_sim_counters_table;

struct nd_sim_depth {
	uint64_t bytes_ns;
	uint32_t bytes_max;
	uint32_t packets_max;
	nd_ps changed_ps;
};

struct nd_sim_host_row {
	uint64_t payload_bytes;
	uint64_t wire_bytes;
	nd_ps idle_ps;
	nd_ps expecting_ps;
};

enum nd_sim_record_kind {
	ND_SIM_RECORD_SEND = 1, ND_SIM_RECORD_RECEIVE, ND_SIM_RECORD_TRIM, ND_SIM_RECORD_DROP,
	ND_SIM_RECORD_BOUNCE, ND_SIM_RECORD_LOSE,
};

struct nd_sim_record {
	nd_ps time_ps;
	uint32_t duration_ns;
	uint32_t port;
	uint32_t packet;
	uint32_t source;
	uint32_t target;
	uint32_t flow;
	uint32_t sequence;
	uint16_t wire_bytes;
	uint8_t kind;
	uint8_t protocol;
	uint8_t type;
	uint8_t priority;
	uint8_t marks;
	uint8_t spare;
};

struct nd_sim;
struct nd_sim *nd_sim_new(const struct nd_sim_config *config, const struct nd_flow *flows,
			  uint32_t flow_count, const struct nd_trigger *triggers,
			  uint32_t trigger_count, struct nd_error *error);
void nd_sim_free(struct nd_sim *sim);
int nd_sim_run(struct nd_sim *sim, nd_ps until_ps);
const char *nd_sim_error(const struct nd_sim *sim);
const char *nd_sim_audit(struct nd_sim *sim);
nd_ps nd_sim_now(const struct nd_sim *sim);
uint64_t nd_sim_trace_hash(const struct nd_sim *sim);
uint32_t nd_sim_unfinished(const struct nd_sim *sim);
const struct nd_topology *nd_sim_topology(const struct nd_sim *sim);
const struct nd_sim_counters *nd_sim_counters(const struct nd_sim *sim);
size_t nd_sim_memory(const struct nd_sim *sim);
const struct nd_flow *nd_sim_flows(const struct nd_sim *sim, uint32_t *count);
const struct nd_flow_row *nd_sim_rows(const struct nd_sim *sim, uint32_t *count);
const struct nd_sim_host_row *nd_sim_hosts(struct nd_sim *sim, uint32_t *count);
const struct nd_queue_counters *nd_sim_queue_counters(const struct nd_sim *sim, uint32_t port);
const struct nd_phantom_counters *nd_sim_phantom_counters(const struct nd_sim *sim, uint32_t port);
const uint64_t *nd_sim_engine_counters(const struct nd_sim *sim, uint32_t host, uint32_t engine);
const struct nd_sim_depth *nd_sim_depths(struct nd_sim *sim, uint32_t *count);
const uint64_t *nd_sim_goodput(const struct nd_sim *sim, uint32_t *rows, uint32_t *bins);
const uint64_t *nd_sim_priority_bytes(const struct nd_sim *sim);
const struct nd_sim_record *nd_sim_timeline(const struct nd_sim *sim, uint32_t *count,
					    uint64_t *lost);
nd_ps nd_sim_best(const struct nd_sim *sim, uint32_t engine, uint32_t source, uint32_t target,
		  uint64_t bytes);

struct nd_blast_config {
	uint32_t payload_bytes_max;
	uint32_t header_bytes;
	uint32_t connections_max;
	uint32_t paths;
	uint32_t trimmable;
};


/* ---- rigs: what tests in Python drive ---- */
struct nd_packet *nd_rig_packet_new(void);
void nd_rig_packet_free(struct nd_packet *packet);
const struct nd_transport_ops *nd_rig_transport_find(const char *name);
int nd_rig_transport_check(const struct nd_transport_ops *ops, const void *config,
			   const char **why);
int nd_rig_discipline_check(const struct nd_queue_ops *ops, const void *config, const char **why);

struct nd_rng nd_rig_rng_make(uint64_t seed, uint64_t entity);
uint32_t nd_rig_rng_below(struct nd_rng *rng, uint32_t bound);

struct nd_rig_endpoint;
struct nd_rig_endpoint *nd_rig_endpoint_new(const struct nd_transport_ops *ops, const void *config,
					    uint32_t self, uint64_t seed, uint32_t rx_bytes,
					    struct nd_error *error);
void nd_rig_endpoint_free(struct nd_rig_endpoint *rig);
int nd_rig_endpoint_submit(struct nd_rig_endpoint *rig, struct nd_command *command, nd_ns now);
void nd_rig_endpoint_receive(struct nd_rig_endpoint *rig, const struct nd_packet *packet,
			     nd_ns now);
bool nd_rig_endpoint_transmit(struct nd_rig_endpoint *rig, struct nd_packet *packet,
			      enum nd_class class, nd_ns now);
nd_ns nd_rig_endpoint_deadline(const struct nd_rig_endpoint *rig);
void nd_rig_endpoint_on_deadline(struct nd_rig_endpoint *rig, nd_ns now);
uint32_t nd_rig_endpoint_events(struct nd_rig_endpoint *rig, struct nd_event *out,
				uint32_t limit);
const uint64_t *nd_rig_endpoint_counters(const struct nd_rig_endpoint *rig);
const char *nd_rig_endpoint_audit(const struct nd_rig_endpoint *rig);
uint64_t nd_rig_endpoint_rx_used(const struct nd_rig_endpoint *rig);
const void *nd_rig_endpoint_engine(const struct nd_rig_endpoint *rig);

struct nd_rig_queue;
struct nd_rig_queue *nd_rig_queue_new(const struct nd_queue_ops *ops, const void *config,
				      uint32_t packets_max, uint64_t seed,
				      struct nd_error *error);
void nd_rig_queue_free(struct nd_rig_queue *rig);
int nd_rig_queue_enqueue(struct nd_rig_queue *rig, const struct nd_packet *packet, nd_ns now);
bool nd_rig_queue_dequeue(struct nd_rig_queue *rig, struct nd_packet *packet, nd_ns now);
bool nd_rig_queue_dropped(struct nd_rig_queue *rig, struct nd_packet *packet);
bool nd_rig_queue_returned(struct nd_rig_queue *rig, struct nd_packet *packet);
uint32_t nd_rig_queue_packets(const struct nd_rig_queue *rig);
uint32_t nd_rig_queue_bytes(const struct nd_rig_queue *rig);
const uint64_t *nd_rig_queue_counters(const struct nd_rig_queue *rig);
const char *nd_rig_queue_audit(const struct nd_rig_queue *rig);

/* ---- swarm: rig_swarm.h has the comments ---- */
struct nd_rig_swarm;
struct nd_rig_swarm *nd_rig_swarm_new(void);
void nd_rig_swarm_free(struct nd_rig_swarm *rig);
void nd_rig_swarm_draw(struct nd_rig_swarm *rig, uint64_t seed, uint32_t protocols);
void nd_rig_swarm_calm(struct nd_rig_swarm *rig, uint64_t seed, uint32_t protocols);
int nd_rig_swarm_set(struct nd_rig_swarm *rig, const char *name, uint32_t value);
const char *nd_rig_swarm_option_name(uint32_t at);
const char *nd_rig_swarm_option_help(uint32_t at);
uint32_t nd_rig_swarm_option_calm(uint32_t at);
uint32_t nd_rig_swarm_option(struct nd_rig_swarm *rig, uint32_t at);
bool nd_rig_swarm_run(struct nd_rig_swarm *rig, bool verbose);
uint32_t nd_rig_swarm_shrink(struct nd_rig_swarm *rig);
const char *nd_rig_swarm_failure(const struct nd_rig_swarm *rig);
nd_ns nd_rig_swarm_time(const struct nd_rig_swarm *rig);
const char *nd_rig_swarm_count_name(uint32_t at);
uint64_t nd_rig_swarm_count(const struct nd_rig_swarm *rig, uint32_t at);
const char *nd_rig_swarm_text(struct nd_rig_swarm *rig);
