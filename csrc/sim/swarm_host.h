/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A host of the swarm: its endpoints, its link, the memory that received messages are assembled
 * in, and its misfortunes (restarts, pauses, late timers, applications that look late).
 */
#ifndef ND_SIM_SWARM_HOST_H
#define ND_SIM_SWARM_HOST_H

#include "base/arena.h"
#include "base/rng.h"
#include "sim/swarm_options.h"
#include "transport/transport.h"

#define ND_SWARM_PROTOCOLS 2
#define ND_SWARM_CONFIG_BYTES 1024
#define ND_SWARM_HOLDS_MAX 8192

struct nd_swarm;
struct nd_swarm_block;

/* What the swarm has to know about a protocol, besides its engine. */
struct nd_swarm_protocol {
	const struct nd_transport_ops *ops;
	/* Fills in a config that ops->check accepts; options.config seeds what it varies. */
	void (*configure)(const struct nd_swarm *swarm, void *config);
	/* True when a request may come to its server's application again (NULL: never). */
	bool (*runs_again)(const void *config);
	/* Rules of the protocol that show on the wire: every packet sent and received. */
	void (*watch_sent)(struct nd_swarm *swarm, uint32_t host, const struct nd_packet *packet);
	void (*watch_received)(struct nd_swarm *swarm, uint32_t host,
			       const struct nd_packet *packet);
	/* The applications: what they did, expect, and do next. */
	void (*start)(struct nd_swarm *swarm, uint32_t host, uint32_t app); /* ND_NONE: all */
	void (*event)(struct nd_swarm *swarm, uint32_t host, const struct nd_event *event);
	void (*action)(struct nd_swarm *swarm, uint32_t host);
	void (*restarted)(struct nd_swarm *swarm, uint32_t host);
	void (*detached)(struct nd_swarm *swarm, uint32_t host, uint32_t app);
	/* Liveness: sends one message between each two live hosts, and ends what is open. */
	void (*probe)(struct nd_swarm *swarm);
	void (*finish)(struct nd_swarm *swarm);
	/* Messages and RPCs whose end has not been reported, and once all is closed, connections. */
	uint32_t (*outstanding)(const struct nd_swarm *swarm);
	/* When nothing more comes: everything that only the end shows. */
	void (*verify)(struct nd_swarm *swarm);
};

/* struct nd_rx_memory of one endpoint: every block is known, so a leak or a wrong put shows. */
struct nd_swarm_memory {
	struct nd_swarm *swarm;
	uint32_t host;
	struct nd_swarm_block *blocks;
	uint32_t count;
	uint64_t used[ND_SWARM_APPS_MAX];
	struct nd_arena arenas[ND_SWARM_APPS_MAX];
	uint8_t *regions[ND_SWARM_APPS_MAX]; /* of the arenas, NULL: not used yet */
};

struct nd_swarm_endpoint {
	const struct nd_swarm_protocol *protocol; /* NULL: the host does not speak it */
	void *memory;
	size_t memory_bytes;
	struct nd_swarm_memory rx;
	struct nd_rx_memory rx_ops;
};

struct nd_swarm_host {
	struct nd_swarm_endpoint endpoints[ND_SWARM_PROTOCOLS];
	struct nd_rng rng;
	uint32_t incarnation;
	bool dead;         /* in the liveness phase: gone for good */
	bool nic_busy;
	bool running;      /* guards against running inside itself */
	bool poll_planned;
	uint32_t turn;     /* endpoint that the link asks first */
	uint32_t spins;    /* timer events in a row that moved neither packets nor time */
	nd_ns spin_at;
	nd_ns timer_at;    /* of the ND_SWARM_TIMER event that counts, or ND_NEVER */
	nd_ns resume_at;   /* the host stands still until then */
	uint32_t inbox;    /* packets that came meanwhile: first, last and number */
	uint32_t inbox_tail;
	uint32_t inbox_count;
	uint32_t steps;    /* since the last audit */
	nd_ns broken_at[ND_SWARM_APPS_MAX]; /* when the application last lost its state */
};

/* A received message that an application has not given back yet. */
struct nd_swarm_hold {
	uint8_t host;
	uint8_t protocol;
	uint16_t app;
	uint32_t incarnation;
	uint64_t id;
	uint64_t message;
	const uint8_t *payload;
	uint32_t bytes;
	uint32_t key; /* of the pattern that has to be in it still */
	bool open;
};

int nd_swarm_hosts_open(struct nd_swarm *swarm);
void nd_swarm_hosts_free(struct nd_swarm *swarm);

/* A packet has come over the host's link. */
void nd_swarm_host_receive(struct nd_swarm *swarm, uint32_t host, uint32_t index);

/* ND_SWARM_NIC, ND_SWARM_TIMER, ND_SWARM_POLL, ND_SWARM_RESUME and ND_SWARM_RELEASE events. poll: false
 * when its applications found nothing. */
void nd_swarm_host_nic(struct nd_swarm *swarm, uint32_t host);
void nd_swarm_host_timer(struct nd_swarm *swarm, uint32_t host);
bool nd_swarm_host_poll(struct nd_swarm *swarm, uint32_t host);
void nd_swarm_host_resume(struct nd_swarm *swarm, uint32_t host);
void nd_swarm_host_release(struct nd_swarm *swarm, uint32_t hold);

/* Lets the host stand still until that time. */
void nd_swarm_host_pause(struct nd_swarm *swarm, uint32_t host, nd_ns until);

/* All state is lost; a new incarnation starts with empty endpoints. */
void nd_swarm_host_restart(struct nd_swarm *swarm, uint32_t host);

/* Lets the host do what is due: events out, packets out, timer set. After each command. */
void nd_swarm_host_run(struct nd_swarm *swarm, uint32_t host);

/* Passes a command to the engine, and no more: its events come when the host runs. */
int nd_swarm_host_submit(struct nd_swarm *swarm, uint32_t host, uint32_t protocol,
			 struct nd_command *command);

/* DETACH: the application is gone, with what it held; then it is there again, with nothing. */
void nd_swarm_host_detach(struct nd_swarm *swarm, uint32_t host, uint32_t app);

/* A message was received: keeps it for a while, then gives it back. */
void nd_swarm_host_hold(struct nd_swarm *swarm, uint32_t host, uint32_t protocol,
			const struct nd_event *event, uint32_t key);

/* NULL, or what an endpoint's audit or the host's memory has found. */
const char *nd_swarm_host_audit(struct nd_swarm *swarm, uint32_t host);

/* True when no endpoint has a deadline, a packet to send or an event to report. */
bool nd_swarm_host_idle(struct nd_swarm *swarm, uint32_t host);

#endif
