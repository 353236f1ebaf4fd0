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

/* ---- wire ---- */
enum nd_protocol { ND_PROTO_OTHER, ND_PROTO_NDP, ND_PROTO_HOMA, ND_PROTO_COUNT };

enum {
	ND_MARK_ECT = 1, ND_MARK_CE = 2, ND_MARK_TRIMMABLE = 4, ND_MARK_TRIMMED = 8,
	ND_MARK_LAST_HOP = 16, ND_MARK_BOUNCED = 32, ND_MARK_CONTROL = 64, ND_MARK_FLOOD = 128,
};

enum nd_ndp_type {
	ND_NDP_DATA = 1, ND_NDP_ACK, ND_NDP_NACK, ND_NDP_PULL, ND_NDP_CLOSE,
};

struct nd_ndp_header {
	uint32_t connection;
	uint32_t sequence;
	union {
		uint32_t pull;
		struct {
			uint16_t service;
			uint16_t reserved;
		};
	};
	uint32_t message_bytes;
	uint32_t offset;
	uint16_t message;
	uint16_t backlog;
};

enum nd_homa_type {
	ND_HOMA_DATA = 0x10, ND_HOMA_GRANT, ND_HOMA_RESEND, ND_HOMA_RPC_UNKNOWN, ND_HOMA_BUSY,
	ND_HOMA_CUTOFFS, ND_HOMA_FREEZE, ND_HOMA_NEED_ACK, ND_HOMA_ACK,
};

struct nd_homa_header {
	uint64_t sender_id;
	uint16_t source_port;
	uint16_t target_port;
	uint16_t cutoff_version;
	uint8_t retransmit;
	uint8_t speaker;
	uint8_t note;
	uint8_t level;
	uint32_t message_bytes;
	uint32_t offset;
	uint32_t length;
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
	uint16_t payload_bytes;
	uint16_t path;
	uint16_t flow;
	uint8_t protocol;
	uint8_t type;
	uint8_t priority;
	uint8_t marks;
	uint8_t flags;
	uint8_t spare;
	const uint8_t *payload;
	union {
		struct nd_ndp_header ndp;
		struct nd_homa_header homa;
	};
};

/* ---- transport ---- */
enum nd_command_kind {
	ND_COMMAND_LISTEN, ND_COMMAND_UNLISTEN, ND_COMMAND_CONNECT, ND_COMMAND_SEND,
	ND_COMMAND_CLOSE, ND_COMMAND_RESET, ND_COMMAND_REQUEST, ND_COMMAND_REPLY,
	ND_COMMAND_CANCEL, ND_COMMAND_RELEASE, ND_COMMAND_PATHS, ND_COMMAND_DETACH,
	ND_COMMAND_WINDOW,
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
	ND_EVENT_ACCEPTED, ND_EVENT_MESSAGE, ND_EVENT_REQUEST, ND_EVENT_RESPONSE, ND_EVENT_SENT,
	ND_EVENT_FAILED, ND_EVENT_CLOSED,
};

struct nd_event {
	uint8_t kind;
	uint8_t priority;
	uint16_t app;
	int32_t error;
	uint32_t peer;
	uint16_t port;
	uint16_t spare;
	uint32_t bytes;
	uint32_t detail;
	uint64_t id;
	uint64_t message;
	uint64_t cookie;
	uint8_t *payload;
};

enum nd_class { ND_CLASS_CONTROL, ND_CLASS_DATA };

struct nd_transport_ops {
	const char *name;
	uint8_t protocol;
	const struct nd_counters_table *counters_table;
	...;
};

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
	bool unknown_resend;
	bool freeze_enabled;
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
extern const struct nd_transport_ops nd_homa_ops;

/* ---- queue ---- */
enum nd_verdict { ND_KEPT, ND_TRIMMED, ND_DROPPED, ND_RETURNED };

struct nd_queue_ops {
	const char *name;
	...;
};

extern const struct nd_counters_table nd_queue_counters_table;

/* ---- rigs: what tests in Python drive ---- */
struct nd_packet *nd_rig_packet_new(void);
void nd_rig_packet_free(struct nd_packet *packet);

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
