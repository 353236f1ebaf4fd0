// SPDX-License-Identifier: Apache-2.0
/* The core of a host: how it is set up, started, stopped and taken down. */
#include "host/core.h"

#include "port/fds.h"
#include "transport/homa.h"
#include "transport/ndp.h"
#include "wire/ip.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <unistd.h>

#define PEERS_DEFAULT 16384u
#define PEERS_MIN 2u /* the host itself and somebody to talk to */
#define EVENTS_MIN 2u /* one in two may be a message */
#define VLAN_MAX 4094u /* 4095 is reserved */
/*
 * What two wake-ups take where the other end sleeps, and a batch of a long message there: with 50
 * both ends slept for each of its batches.
 */
#define SPIN_MOST (150 * ND_USEC)
#define LINGER_MOST (100 * ND_USEC) /* in a loop, whose other tasks wait: two wake-ups alone */
#define LINGER_TRY_EVERY 16u /* waits of an event loop: it pays when the other end is awake, too */

ND_COUNTERS_TABLE(nd_core_counters, "core", ND_CORE_COUNTERS);

static int add_engine(struct nd_core *core, const struct nd_transport_ops *ops,
		      const void *config, uint32_t mss_given, struct nd_error *error)
{
	struct nd_core_engine *engine = &core->engines[core->engine_count];
	struct nd_setup setup = {
		.seed = core->config.seed + core->engine_count,
		.self = ND_PEERS_SELF,
		.rx = &core->rx_memory,
		.config = config,
	};
	const char *why = NULL;
	void *memory;

	if (ops->check(config, &why) < 0)
		return nd_error_set(error, -EINVAL, "%s: %s", ops->name, why);
	/* Zeroed by the kernel, page by page as it is used: limits are generous, most are idle. */
	engine->bytes = ops->bytes(config);
	memory = mmap(NULL, engine->bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		      0);
	if (memory == MAP_FAILED)
		return nd_error_set(error, -ENOMEM, "%s: no memory for %zu KiB of state",
				    ops->name, engine->bytes / 1024);
	engine->endpoint = memory;
	engine->ops = ops;
	engine->mss_given = mss_given;
	engine->mss = mss_given ? mss_given : nd_core_mss_of(core, ops->protocol);
	engine->mss_link = engine->mss;
	ops->init(engine->endpoint, &setup);
	engine->bit = (uint8_t)(1u << core->engine_count);
	nd_core_stir(core, engine);
	nd_nic_add(&core->nic, ops, engine->endpoint);
	core->engine_count++;
	nd_recorder_engine(core->recorder, ops->protocol, config);
	return 0;
}

/* Pulls are spaced by what a packet takes on the link, tag and IP version included. */
static struct nd_ndp_config ndp_defaults(const struct nd_core *core, uint64_t link_bps)
{
	struct nd_ndp_config ndp = nd_ndp_config_default(link_bps, nd_core_engine_mtu(core, ND_PROTO_NDP));
	struct nd_frame_peer peer = { .vlan = core->peers.vlan };

	memcpy(peer.source, nd_peers_first_own(&core->peers), sizeof(peer.source));
	memcpy(peer.target, peer.source, sizeof(peer.target));
	ndp.data_header_bytes = nd_frame_overhead(&core->frame, &peer, ND_PROTO_NDP, ND_NDP_DATA);
	ndp.control_bytes = nd_frame_overhead(&core->frame, &peer, ND_PROTO_NDP, ND_NDP_ACK);
	return ndp;
}

int nd_core_add_engines(struct nd_core *core, struct nd_error *error)
{
	const struct nd_stack_config *config = &core->config;
	uint64_t link_bps = nd_core_link_bps(core);
	const struct nd_ndp_config *ndp_given = config->ndp_config;
	const struct nd_homa_config *homa_given = config->homa_config;
	struct nd_ndp_config ndp = ndp_given ? *ndp_given : ndp_defaults(core, link_bps);
	struct nd_homa_config homa =
		homa_given ? *homa_given
			   : nd_homa_config_default(link_bps,
						    nd_core_engine_mtu(core, ND_PROTO_HOMA));
	uint32_t longest = nd_core_longest_message(core);
	int code = 0;

	/* A longer one would wait for memory that nobody can give it: refuse it at once. */
	ndp.message_bytes_max = nd_min_u32(ndp.message_bytes_max, longest);
	homa.message_bytes_max = nd_min_u32(homa.message_bytes_max, longest);
	nd_core_init_memory(core);
	nd_nic_init(&core->nic, config->link_bps,
		    core->ports[0].port->frame_bytes_max + ND_FRAME_FRAMING_BYTES);
	if (!config->no_ndp)
		code = add_engine(core, &nd_ndp_ops, &ndp, ndp_given ? ndp.mss_bytes : 0, error);
	if (code == 0 && !config->no_homa)
		code = add_engine(core, &nd_homa_ops, &homa, homa_given ? homa.mss_bytes : 0,
				  error);
	return code;
}

static int check_ports(const struct nd_stack_config *config, struct nd_error *error)
{
	if (!config->port_count || config->port_count > ND_STACK_PORTS_MAX)
		return nd_error_set(error, -EINVAL, "stack: %u ports; give 1 to %d",
				    config->port_count, ND_STACK_PORTS_MAX);
	for (uint32_t i = 0; i < config->port_count; i++)
		if (config->ports[i].xdp.share)
			return nd_error_set(error, -EINVAL,
					    "stack: port %s is to share memory, but each port is "
					    "opened again by itself when it has to be; leave xdp.share "
					    "out",
					    config->ports[i].name);
	return 0;
}

static int check_channel(const struct nd_stack_channel_config *config, struct nd_error *error)
{
	const struct {
		const char *name;
		uint32_t value, least, most;
	} limits[] = {
		{ "commands", config->commands, 1, ND_CHANNEL_RING_MAX },
		{ "events", config->events, EVENTS_MIN, ND_CHANNEL_RING_MAX },
		{ "send_bytes", config->send_bytes, ND_CHANNEL_BLOCK_BYTES,
		  ND_CHANNEL_REGION_MAX },
		{ "receive_bytes", config->receive_bytes, ND_CHANNEL_BLOCK_BYTES,
		  ND_CHANNEL_REGION_MAX },
	};

	for (uint32_t i = 0; i < ND_ARRAY_SIZE(limits); i++)
		if (limits[i].value &&
		    (limits[i].value < limits[i].least || limits[i].value > limits[i].most))
			return nd_error_set(error, -EINVAL,
					    "stack: %s of the channel is %u; give %u to %u, or 0 "
					    "for the default",
					    limits[i].name, limits[i].value, limits[i].least,
					    limits[i].most);
	return 0;
}

static int check_addresses(const struct nd_stack_config *config, struct nd_error *error)
{
	static const uint8_t none[16];
	bool has_v4 = memcmp(config->address_v4, none, sizeof(none)) != 0;
	bool has_v6 = memcmp(config->address_v6, none, sizeof(none)) != 0;

	if (!has_v4 && !has_v6)
		return nd_error_set(error, -EINVAL, "stack: it has no address; give IPv4, IPv6 or "
						    "both");
	if (has_v4 && !nd_ip_is_v4(config->address_v4))
		return nd_error_set(error, -EINVAL, "stack: address_v4 is no IPv4 address in 16 "
						    "bytes; give ::ffff:a.b.c.d");
	if (has_v6 && nd_ip_is_v4(config->address_v6))
		return nd_error_set(error, -EINVAL,
				    "stack: address_v6 is an IPv4 address; give it as address_v4");
	return 0;
}

static int check_config(const struct nd_stack_config *config, struct nd_error *error)
{
	int code = check_ports(config, error);
	const char *why;

	if (code == 0)
		code = check_channel(&config->channel, error);
	if (code == 0)
		code = check_addresses(config, error);
	if (code < 0)
		return code;
	if (config->vlan > VLAN_MAX)
		return nd_error_set(error, -EINVAL, "stack: VLAN %u; give 1 to %u, or 0 for none",
				    config->vlan, VLAN_MAX);
	if ((uint32_t)config->profile > ND_STACK_POLLED)
		return nd_error_set(error, -EINVAL,
				    "stack: profile %u; give one of enum nd_stack_profile",
				    (uint32_t)config->profile);
	if (config->no_ndp && config->no_homa)
		return nd_error_set(error, -EINVAL, "stack: no protocol is left in");
	if (config->profile == ND_STACK_POLLED && config->cpu)
		return nd_error_set(error, -EINVAL,
				    "stack: a polled one has no thread to bind to CPU %d; bind the "
				    "thread that polls it",
				    config->cpu - 1);
	if (config->peers_max &&
	    (config->peers_max < PEERS_MIN || config->peers_max > ND_PEERS_LIMIT_MAX))
		return nd_error_set(error, -EINVAL, "stack: peers_max is %u; give %u to %u",
				    config->peers_max, PEERS_MIN, ND_PEERS_LIMIT_MAX);
	if (config->frame && nd_frame_config_check(config->frame, &why) < 0)
		return nd_error_set(error, -EINVAL, "stack: %s", why);
	return 0;
}

int nd_core_cpus(void)
{
	cpu_set_t set;

	return sched_getaffinity(0, sizeof(set), &set) < 0 ? 1 : CPU_COUNT(&set);
}

static int check_spinning(struct nd_core *core, struct nd_error *error)
{
	nd_ns given = core->config.spin_ns;
	int cpus = nd_core_cpus();

	core->may_spin = cpus > 1;
	core->spin = nd_spin_make(given ? given : SPIN_MOST, ND_SPIN_TRY_EVERY);
	core->linger = nd_spin_make(given ? given : LINGER_MOST, LINGER_TRY_EVERY);
	if (core->config.profile == ND_STACK_SPIN && cpus < 2)
		return nd_error_set(error, -EINVAL,
				    "stack: profile spin takes a CPU for itself and there is only "
				    "one; use adaptive");
	return 0;
}

static int open_service(struct nd_core *core, struct nd_error *error)
{
	/* By edges: who cannot be accepted yet waits for the next check, and wakes nobody meanwhile. */
	struct epoll_event event = { .events = EPOLLIN | EPOLLET };

	core->service = core->config.service_socket ? core->config.service_socket
						    : nd_fds_listen(core->config.service, error);
	if (core->service < 0)
		return core->service;
	if (fcntl(core->service, F_SETFL, O_NONBLOCK) < 0 ||
	    epoll_ctl(core->epoll, EPOLL_CTL_ADD, core->service, &event) < 0)
		return nd_error_set(error, -errno, "stack: service %s: %s", core->config.service,
				    strerror(errno));
	return 0;
}

static bool needs_peer(const void *context, uint32_t handle, nd_ns now)
{
	const struct nd_core *core = context;

	for (uint32_t i = 0; i < core->engine_count; i++)
		if (core->engines[i].ops->needs_peer(core->engines[i].endpoint, handle, now))
			return true;
	return false;
}

int nd_core_prepare(struct nd_core *core, struct nd_error *error)
{
	const struct nd_stack_config *config = &core->config;
	struct epoll_event event = { .events = EPOLLIN };
	int code;

	core->frame = config->frame ? *config->frame : nd_frame_config_default();
	core->settings = (struct nd_stack_settings){ .frame = core->frame,
						     .link_bps = config->link_bps };
	code = nd_peers_init(&core->peers, config->peers_max ? config->peers_max : PEERS_DEFAULT,
			     config->address_v4, config->address_v6,
			     config->vlan ? config->vlan : ND_ETH_VLAN_NONE, core->config.seed);
	if (code < 0)
		return nd_error_set(error, code, "stack: no memory for peers");
	core->peers.is_needed = needs_peer;
	core->peers.context = core;
	core->epoll = epoll_create1(EPOLL_CLOEXEC);
	core->bell = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (core->epoll < 0 || core->bell < 0 ||
	    epoll_ctl(core->epoll, EPOLL_CTL_ADD, core->bell, &event) < 0)
		return nd_error_set(error, -errno, "stack: epoll: %s", strerror(errno));
	return 0;
}

static int start_recording(struct nd_core *core, struct nd_error *error)
{
	const struct nd_stack_config *config = &core->config;

	if (!config->record)
		return 0;
	core->recorder = nd_recorder_open(config->record, config->record_bytes, error);
	if (!core->recorder)
		return error->code;
	nd_recorder_setup(core->recorder, core);
	return 0;
}

static int set_up(struct nd_core *core, struct nd_error *error)
{
	const struct nd_stack_config *config = &core->config;
	int code;

	if (!config->seed && getrandom(&core->config.seed, sizeof(core->config.seed), 0) < 0)
		return nd_error_set(error, -errno, "stack: no random seed: %s", strerror(errno));
	code = nd_core_prepare(core, error);
	if (code == 0)
		code = check_spinning(core, error);
	if (code == 0)
		code = nd_core_open_ports(core, error);
	if (code == 0)
		code = start_recording(core, error);
	if (code == 0)
		code = nd_core_add_engines(core, error);
	if (code == 0)
		nd_recorder_note(core->recorder, ND_RECORD_READY, 0, 0, 0);
	if (code == 0 && config->service)
		code = open_service(core, error);
	return code;
}

static int start(struct nd_core *core, struct nd_error *error)
{
	pthread_attr_t attributes;
	cpu_set_t set;
	int code;

	core->thread = pthread_self();
	if (nd_core_is_polled(core))
		return 0;
	pthread_attr_init(&attributes);
	if (core->config.cpu) {
		CPU_ZERO(&set);
		CPU_SET((size_t)core->config.cpu - 1, &set);
		pthread_attr_setaffinity_np(&attributes, sizeof(set), &set);
	}
	code = pthread_create(&core->thread, &attributes, nd_core_run, core);
	pthread_attr_destroy(&attributes);
	if (code)
		return nd_error_set(error, -code, "stack: no thread%s: %s",
				    core->config.cpu ? " on this CPU" : "", strerror(code));
	return 0;
}

void nd_core_tear_down(struct nd_core *core)
{
	nd_core_close_ports(core);
	nd_recorder_close(core->recorder);
	for (uint32_t i = 0; i < core->engine_count; i++)
		munmap(core->engines[i].endpoint, core->engines[i].bytes);
	nd_peers_free(&core->peers);
	if (core->service >= 0 && !core->config.service_socket && core->config.service[0] == '/')
		unlink(core->config.service);
	free((void *)(uintptr_t)core->config.service);
	nd_fds_close(&core->service);
	nd_fds_close(&core->epoll);
	nd_fds_close(&core->bell);
	nd_fds_close(&core->resolver.bell);
	pthread_mutex_destroy(&core->mutex);
	pthread_cond_destroy(&core->done);
	nd_turn_free(&core->turn);
	free(core);
}

struct nd_core *nd_core_make(const struct nd_stack_config *config, struct nd_error *error)
{
	struct nd_core *core;

	if (check_config(config, error) < 0)
		return NULL;
	core = calloc(1, sizeof(*core));
	if (!core) {
		nd_error_set(error, -ENOMEM, "stack: no memory");
		return NULL;
	}
	core->config = *config;
	core->config.service = NULL;
	core->epoll = core->bell = core->service = core->resolver.bell = -1;
	pthread_mutex_init(&core->mutex, NULL);
	pthread_cond_init(&core->done, NULL);
	nd_turn_init(&core->turn);
	return core;
}

static int copy_service(struct nd_core *core, const char *service, struct nd_error *error)
{
	if (!service)
		return 0;
	core->config.service = strdup(service);
	return core->config.service ? 0 : nd_error_set(error, -ENOMEM, "stack: no memory");
}

struct nd_core *nd_core_open(const struct nd_stack_config *config, struct nd_error *error)
{
	struct nd_core *core = nd_core_make(config, error);

	if (!core)
		return NULL;
	if (copy_service(core, config->service, error) < 0 || set_up(core, error) < 0 ||
	    start(core, error) < 0) {
		nd_core_tear_down(core);
		return NULL;
	}
	return core;
}

static void stop(struct nd_core *core, void *unused)
{
	(void)unused;
	core->stopping = true;
}

void nd_core_close(struct nd_core *core)
{
	if (nd_core_is_polled(core)) {
		nd_core_disown_ports(core); /* any thread may close what nobody uses any more */
		nd_core_wind_up(core);
	} else {
		nd_core_call(core, stop, NULL);
		pthread_join(core->thread, NULL);
		nd_core_disown_ports(core);
	}
	nd_core_tear_down(core);
}
