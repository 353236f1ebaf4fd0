/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The swarm's Homa applications: clients, servers, and the oracle of their RPCs.
 *
 * DESIGN NOTES
 * 1. A request of 16 bytes and more names its RPC. A shorter one is the only one ever between its
 *    two hosts and to its port, so that the port names it.
 * 2. "At most once" holds within one incarnation of the server: after a restart nobody can know
 *    what was executed before.
 */
#ifndef ND_SIM_SWARM_HOMA_H
#define ND_SIM_SWARM_HOMA_H

#include "sim/swarm_host.h"

#define ND_SWARM_RPCS_MAX 2048
#define ND_SWARM_HOMA_SERVICES 24

/* One execution of a request by a server. */
struct nd_swarm_execution {
	uint64_t id;
	uint32_t incarnation;
	uint16_t app;
	bool live;        /* the server's RPC has not ended */
	uint8_t *payload; /* of the response, NULL before and after */
};

struct nd_swarm_rpc {
	uint64_t id;
	nd_ns deadline;
	uint8_t *request; /* NULL once the engine is done with it */
	uint32_t request_bytes;
	uint32_t response_bytes;
	uint32_t incarnation; /* of the client */
	uint32_t executed;    /* times that the request came to a server */
	uint16_t port;
	uint8_t client;
	uint8_t server;
	uint8_t app;
	uint8_t outcome; /* enum nd_swarm_outcome: SENT is answered */
	bool tiny;
	bool cancelled;
	bool probe;
	int32_t error;
	struct nd_swarm_execution execution; /* the last one */
};

struct nd_swarm_homa {
	struct nd_swarm_rpc rpcs[ND_SWARM_RPCS_MAX];
	uint32_t rpc_count;
	uint32_t tiny_ports[ND_SWARM_HOSTS_MAX][ND_SWARM_HOSTS_MAX];
	bool closed[ND_SWARM_HOSTS_MAX][ND_SWARM_HOMA_SERVICES + 1];
	bool at_least_once; /* the engine's setting: requests may be executed again */
};

void nd_swarm_homa_reset(struct nd_swarm *swarm);

/* ND_SWARM_REPLY: the server of an RPC answers. */
void nd_swarm_homa_reply(struct nd_swarm *swarm, uint32_t rpc);

void nd_swarm_homa_start(struct nd_swarm *swarm, uint32_t host, uint32_t app);
void nd_swarm_homa_event(struct nd_swarm *swarm, uint32_t host, const struct nd_event *event);
void nd_swarm_homa_action(struct nd_swarm *swarm, uint32_t host);
void nd_swarm_homa_restarted(struct nd_swarm *swarm, uint32_t host);
void nd_swarm_homa_detached(struct nd_swarm *swarm, uint32_t host, uint32_t app);
void nd_swarm_homa_probe(struct nd_swarm *swarm);
void nd_swarm_homa_finish(struct nd_swarm *swarm);
uint32_t nd_swarm_homa_outstanding(const struct nd_swarm *swarm);
void nd_swarm_homa_verify(struct nd_swarm *swarm);

#endif
