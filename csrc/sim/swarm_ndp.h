/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The swarm's NDP applications: what they do at random, and the oracle of what may happen then.
 *
 * DESIGN NOTES
 * 1. The contract does not say which of the peer's connections an accepted one is. Messages of 16
 *    bytes and more tell by their contents. Shorter ones are sent only on a "tiny" connection,
 *    the only one in the whole run between its two hosts and to its port, so that the port tells.
 * 2. Exactly once holds within one incarnation of the receiver: nobody can know what an
 *    application got before its host lost its memory.
 */
#ifndef ND_SIM_SWARM_NDP_H
#define ND_SIM_SWARM_NDP_H

#include "sim/swarm_host.h"

#define ND_SWARM_SIDES_MAX 1024
#define ND_SWARM_MESSAGES_MAX 2048
#define ND_SWARM_SERVICES 32       /* ports 1.. of every host are served by its applications */
#define ND_SWARM_DEAD_PORT 20000   /* nobody serves it */

enum nd_swarm_outcome {
	ND_SWARM_PENDING,
	ND_SWARM_SENT,
	ND_SWARM_FAILED,
	ND_SWARM_ORPHANED, /* its sender is gone: nobody is told */
};

/* One end of a connection. */
struct nd_swarm_side {
	uint64_t id;
	uint32_t incarnation; /* of its host */
	uint32_t initiator;   /* index of the connecting side, ND_NONE until it is known */
	uint32_t acceptors;   /* initiator: accepting sides found so far */
	uint32_t acceptor;    /* initiator: the first of them */
	uint32_t pending;     /* messages without an end */
	uint32_t sent;        /* messages accepted by the engine */
	uint16_t port;
	uint8_t host;
	uint8_t peer;
	uint8_t app;
	bool accepting;
	bool tiny;    /* may carry messages without an identity */
	bool live;    /* has neither ended nor been lost */
	bool closing; /* its application has closed it */
	bool broken;  /* reset, detached or lost: what was delivered on it may be lost */
};

struct nd_swarm_message {
	uint64_t number;
	nd_ns submitted;
	nd_ns deadline;
	uint8_t *payload; /* NULL once the engine is done with it */
	uint32_t side;
	uint32_t bytes;
	uint32_t got_in; /* 1 + incarnation of the receiver that got it last, 0 for none */
	int32_t error;
	uint8_t outcome;
	bool cancelled;
	bool probe;
};

struct nd_swarm_ndp {
	struct nd_swarm_side sides[ND_SWARM_SIDES_MAX];
	struct nd_swarm_message messages[ND_SWARM_MESSAGES_MAX];
	uint32_t side_count;
	uint32_t message_count;
	uint32_t tiny_ports[ND_SWARM_HOSTS_MAX][ND_SWARM_HOSTS_MAX];
	bool closed[ND_SWARM_HOSTS_MAX][ND_SWARM_SERVICES + 1]; /* services not listened on */
};

/* Empties the oracle for a new run. */
void nd_swarm_ndp_reset(struct nd_swarm *swarm);

/* The application closes or resets its side of a connection. */
void nd_swarm_ndp_end(struct nd_swarm *swarm, uint32_t side, enum nd_command_kind kind);

/* The workload and oracle, for any engine that speaks the contract as NDP does. */
void nd_swarm_ndp_start(struct nd_swarm *swarm, uint32_t host, uint32_t app);
void nd_swarm_ndp_event(struct nd_swarm *swarm, uint32_t host, const struct nd_event *event);
void nd_swarm_ndp_action(struct nd_swarm *swarm, uint32_t host);
void nd_swarm_ndp_restarted(struct nd_swarm *swarm, uint32_t host);
void nd_swarm_ndp_detached(struct nd_swarm *swarm, uint32_t host, uint32_t app);
void nd_swarm_ndp_probe(struct nd_swarm *swarm);
void nd_swarm_ndp_finish(struct nd_swarm *swarm);
uint32_t nd_swarm_ndp_outstanding(const struct nd_swarm *swarm);
void nd_swarm_ndp_verify(struct nd_swarm *swarm);

#endif
