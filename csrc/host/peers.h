/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The addresses that a host knows, by handle: what engines call a peer, and how to reach it.
 *
 * Handle 0 is the host itself. A handle is never given to another address, because engines and
 * applications may hold it as long as they like; hence the limit.
 */
#ifndef ND_HOST_PEERS_H
#define ND_HOST_PEERS_H

#include "base/map.h"
#include "wire/frame.h"

#define ND_PEERS_SELF 0u

/* How we know the way, weakest first. */
enum nd_peer_way {
	ND_PEER_NO_WAY,  /* packets to it cannot be sent yet */
	ND_PEER_DERIVED, /* MAC address made of the IP address: links without neighbours */
	ND_PEER_LEARNED, /* the source of what came from it */
	ND_PEER_SET,     /* by the control plane */
};

struct nd_peer {
	struct nd_frame_peer frame; /* ready to encode: from us to it */
	uint8_t port;               /* index of the port that leads to it */
	uint8_t way;                /* enum nd_peer_way */
};

struct nd_peers {
	struct nd_peer *entries;
	uint32_t count;
	uint32_t limit;
	struct nd_map map;
	void *map_memory;
	uint8_t own[2][16]; /* IPv4 (mapped) and IPv6; zero: none */
	uint16_t vlan;      /* of what we send */
};

/* 0 or -ENOMEM. own addresses: zero for none. */
int nd_peers_init(struct nd_peers *peers, uint32_t limit, const uint8_t own_v4[16],
		  const uint8_t own_v6[16], uint16_t vlan, uint64_t salt);
void nd_peers_free(struct nd_peers *peers);

/*
 * Handle of the address, made when it is new; ND_NONE when the table is full or we have no address
 * of its family. A new one is reached by the port, whose MAC address is own_mac; derive says that
 * the port's link needs no neighbour discovery.
 */
uint32_t nd_peers_get(struct nd_peers *peers, const uint8_t address[16], uint8_t port,
		      const uint8_t own_mac[6], bool derive);

/* Sets the way to a peer, unless a stronger one is known already. */
void nd_peers_set_way(struct nd_peers *peers, uint32_t handle, uint8_t port,
		      const uint8_t own_mac[6], const uint8_t mac[6], enum nd_peer_way way);

static inline bool nd_peers_has(const struct nd_peers *peers, uint32_t handle)
{
	return handle < peers->count;
}

/* The host's own address: IPv4 where it has both. */
const uint8_t *nd_peers_first_own(const struct nd_peers *peers);

/* True for an address of the host. */
bool nd_peers_is_own(const struct nd_peers *peers, const uint8_t address[16]);

/* The locally administered MAC address that stands for an IP address. */
void nd_peers_derive_mac(const uint8_t address[16], uint8_t mac[6]);

#endif
