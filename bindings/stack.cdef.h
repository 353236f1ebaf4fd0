/* SPDX-License-Identifier: Apache-2.0 */
/* Stacks and ports; ndpstack.h, port/port.h and app.h have the comments. */
enum nd_port_backend { ND_PORT_MEMORY, ND_PORT_PACKET, ND_PORT_UDP, ND_PORT_XDP };
enum nd_port_xdp_mode { ND_XDP_AUTO, ND_XDP_NATIVE, ND_XDP_GENERIC };
enum nd_port_state {
	ND_PORT_UP, ND_PORT_DOWN, ND_PORT_GONE, ND_PORT_CHANGED, ND_PORT_STUCK,
};

struct nd_port_filter {
	bool everything;
	bool homa;
	uint8_t udp_count;
	uint16_t udp_ports[4];
};

struct nd_port_memory_config {
	bool listen;
};

struct nd_port_xdp_config {
	enum nd_port_xdp_mode mode;
	bool zero_copy;
	bool force;
	uint32_t queue_first;
	uint32_t queue_count;
	uint32_t memory_bytes;
	...;
};

struct nd_port_config {
	enum nd_port_backend backend;
	const char *name;
	const char *netns;
	uint32_t mtu;
	uint32_t rx_frames;
	uint32_t tx_frames;
	struct nd_port_filter filter;
	struct nd_port_memory_config memory;
	struct nd_port_xdp_config xdp;
};

enum { ND_STACK_COMMAND_PEER = 64 };
enum nd_stack_profile {
	ND_STACK_ADAPTIVE, ND_STACK_SPIN, ND_STACK_THROUGHPUT, ND_STACK_POLLED,
};
enum nd_stack_group {
	ND_STACK_GROUP_CORE, ND_STACK_GROUP_WIRE, ND_STACK_GROUP_NDP, ND_STACK_GROUP_HOMA,
	ND_STACK_GROUP_PORT, ...
};

struct nd_stack_channel_config {
	uint32_t commands;
	uint32_t events;
	uint32_t send_bytes;
	uint32_t receive_bytes;
};

struct nd_stack_settings {
	struct nd_frame_config frame;
	uint64_t link_bps;
	uint32_t mtu;
	uint8_t levels;
	uint32_t cutoffs[8];
};

struct nd_stack_config {
	struct nd_port_config ports[8];
	uint32_t port_count;
	uint8_t address_v4[16];
	uint8_t address_v6[16];
	uint16_t vlan;
	const struct nd_frame_config *frame;
	uint64_t link_bps;
	bool no_ndp;
	bool no_homa;
	const void *ndp_config;
	const void *homa_config;
	uint32_t peers_max;
	enum nd_stack_profile profile;
	nd_ns spin_ns;
	int cpu;
	uint64_t seed;
	const char *service;
	int service_socket;
	struct nd_stack_channel_config channel;
	const char *record;
	uint64_t record_bytes;
	...;
};

enum nd_stack_unreachable {
	ND_UNREACHABLE_UNKNOWN, ND_UNREACHABLE_NO_ROUTE, ND_UNREACHABLE_OTHER_INTERFACE,
	ND_UNREACHABLE_NO_NEIGHBOUR, ND_UNREACHABLE_REFUSED, ND_UNREACHABLE_NO_ANSWER,
	ND_UNREACHABLE_NO_ADDRESS, ND_UNREACHABLE_PEERS_FULL, ND_UNREACHABLE_SELF,
};
const char *nd_stack_unreachable_text(enum nd_stack_unreachable reason);

enum nd_recording_state { ND_RECORDING_OPEN, ND_RECORDING_ENDED, ND_RECORDING_FULL };
enum nd_replay_verdict {
	ND_REPLAY_IDENTICAL, ND_REPLAY_DIFFERS, ND_REPLAY_MISSING, ND_REPLAY_EXTRA,
};

struct nd_replay_result {
	uint64_t sent;
	uint64_t received;
	uint64_t commands;
	uint64_t turns;
	nd_ns begin;
	nd_ns end;
	nd_ns epoch;
	uint32_t state;
	uint32_t verdict;
	uint32_t port;
	nd_ns time;
	uint32_t recorded_bytes;
	uint32_t replayed_bytes;
	uint8_t recorded[160];
	uint8_t replayed[16384];
};

struct nd_replay;
struct nd_replay_frame;
typedef int nd_replay_sink(void *context, const struct nd_replay_frame *frame);
struct nd_replay *nd_replay_open(const char *path, struct nd_error *error);
int nd_replay_run(struct nd_replay *replay, nd_replay_sink *sink, void *context,
		  struct nd_error *error);
int nd_replay_capture(struct nd_replay *replay, const char *path, struct nd_error *error);
const struct nd_replay_result *nd_replay_result(const struct nd_replay *replay);
void nd_replay_close(struct nd_replay *replay);

struct nd_app {
	...;
};
int nd_app_open(struct nd_app *app, const struct nd_stack_config *config, struct nd_error *error);
int nd_app_share(struct nd_app *app, struct nd_app *other, struct nd_error *error);
int nd_app_attach(struct nd_app *app, const char *service, struct nd_error *error);
void nd_app_close(struct nd_app *app, uint32_t batches);
void nd_app_end(struct nd_app *app);
void nd_app_disown(struct nd_app *app);
uint32_t nd_app_send_bytes_max(const struct nd_app *app);
uint32_t nd_app_receive_bytes_max(const struct nd_app *app);
int nd_app_send(struct nd_app *app, uint8_t protocol, uint8_t kind, uint8_t priority,
		uint32_t peer, uint16_t port, uint64_t id, uint64_t key, nd_ns deadline,
		const char *data, uint32_t bytes);
int nd_app_send_message(struct nd_app *app, uint64_t connection, nd_ns deadline, const char *data,
			uint32_t bytes, bool later);
void nd_app_push(struct nd_app *app);
int nd_app_cancel(struct nd_app *app, uint64_t key, int buffer);
int nd_app_tell(struct nd_app *app, uint8_t protocol, uint8_t kind, uint16_t port, uint64_t id,
		uint64_t message, uint64_t key, nd_ns deadline);
void nd_app_release(struct nd_app *app, uint8_t protocol, uint64_t id, uint64_t message);
void nd_app_release_later(struct nd_app *app, uint8_t protocol, uint64_t id, uint64_t message);
int nd_app_events(struct nd_app *app, struct nd_event *out, uint32_t limit, nd_ns timeout);
int nd_app_batch(struct nd_app *app, struct nd_event *out, uint32_t limit, nd_ns timeout,
		 uint32_t batches);
void nd_app_drop(struct nd_app *app, struct nd_event *event);
struct nd_app_verbs;
const struct nd_app_verbs *nd_app_verbs(void);
enum nd_app_reply_state { ND_APP_UNSENT, ND_APP_SENT, ND_APP_ANSWERED };
#define ND_APP_KEY_BITS ...
#define ND_APP_COPY_BYTES ...
#define ND_APP_DROPPED ...
#define ND_APP_LEND_BYTES ...
#define ND_APP_SLICE ...

struct nd_app_reply {
	uint32_t state;
	int32_t count;
	int32_t buffer;
	uint64_t key;
	uint8_t data[...];
};

int nd_app_request(struct nd_app *app, uint8_t priority, uint32_t peer, uint16_t port,
		   double until, const char *data, uint32_t bytes, struct nd_event *out,
		   uint32_t limit, uint32_t batches, struct nd_app_reply *reply);

struct nd_app_message {
	int32_t count;
	uint32_t peer;
	uint64_t id;
	uint64_t message;
	uint32_t sent;
	uint8_t data[...];
};

int nd_app_take(struct nd_app *app, uint8_t protocol, uint64_t subject, double until,
		bool alone, struct nd_event *out, uint32_t limit, uint32_t batches,
		struct nd_app_message *message);
bool nd_app_arm(struct nd_app *app);
int nd_app_poll(struct nd_app *app, struct nd_event *out, uint32_t limit, uint32_t batches,
		bool woken);
void nd_app_drive(struct nd_app *app, bool drive);
void nd_app_look_away(struct nd_app *app);
int nd_app_descriptor(struct nd_app *app);
uint32_t nd_app_held(struct nd_app *app);
int nd_app_set_peer(struct nd_app *app, const uint8_t address[16], uint32_t port,
		    const uint8_t mac[6]);
int nd_app_resolver(struct nd_app *app);
int nd_app_unresolved(struct nd_app *app, uint8_t *addresses, uint32_t limit);
int nd_app_lose_peer(struct nd_app *app, const uint8_t address[16], uint32_t reason);
int nd_app_counters(struct nd_app *app, uint32_t group, uint32_t index,
		    const struct nd_counters_table **table, uint64_t *values, uint32_t limit);
int nd_app_port_state(struct nd_app *app, uint32_t index, uint32_t *state, char *mode,
		      struct nd_error *error);
int nd_app_settings(struct nd_app *app, struct nd_stack_settings *settings);
int nd_app_set(struct nd_app *app, const struct nd_stack_settings *settings,
	       struct nd_error *error);

#define ND_NEVER ...

struct nd_exchange {
	uint64_t id;
	uint64_t unsent_bytes;
	uint64_t arrived_bytes;
	uint64_t arriving_bytes;
	nd_ns heard_at;
	uint32_t peer;
	uint32_t messages;
	uint32_t unacked_packets;
	uint32_t allowed;
	uint16_t port;
	uint16_t app;
	uint8_t protocol;
	uint8_t state;
	uint8_t priority;
	bool accepted;
	uint8_t address[16];
};

struct nd_stack_peer {
	uint8_t address[16];
	uint8_t mac[6];
	uint8_t port;
	uint8_t way;
	uint8_t lost;
	uint32_t handle;
	nd_ns used_at;
};

struct nd_stack_app {
	uint32_t index;
	int32_t pid;
	uint32_t held;
	uint32_t events;
	uint32_t backlog;
};

int nd_app_exchanges(struct nd_app *app, uint64_t *cursor, struct nd_exchange *out, uint32_t limit);
int nd_app_peers(struct nd_app *app, uint64_t *cursor, struct nd_stack_peer *out, uint32_t limit);
int nd_app_apps(struct nd_app *app, uint64_t *cursor, struct nd_stack_app *out, uint32_t limit);
const char *nd_app_audit(struct nd_app *app);
