/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The addresses that a host knows, by handle: what engines call a peer, and how to reach it.
 *
 * Handle 0 is the host itself. A handle is never given to another address, because engines and
 * applications may hold it as long as they like: it is a slot and how often the slot was used
 * before. An address that nothing was sent to or heard from for a while makes room when the table
 * is full; whoever still holds its handle finds that it names nobody, and asks again. Anybody can
 * write any source into packets: one that nobody here has named, and of which no engine remembers
 * anything, makes room once it was idle for as long as it was in use before, so that a flood of them
 * displaces itself.
 */
#ifndef ND_HOST_PEERS_H
#define ND_HOST_PEERS_H

#include "base/map.h"
#include "wire/frame.h"

#define ND_PEERS_SELF 0u
#define ND_PEERS_LIMIT_MAX (1u << 24)
#define ND_PEERS_IDLE (60 * ND_SEC) /* before an address makes room for another */

/* How we know the way, weakest first. */
enum nd_peer_way {
	ND_PEER_NO_WAY,  /* packets to it cannot be sent yet */
	ND_PEER_DERIVED, /* MAC address made of the IP address: links without neighbours */
	ND_PEER_LEARNED, /* the source of what came from it */
	ND_PEER_SET,     /* by the control plane */
};

struct nd_peer {
	struct nd_frame_peer frame; /* from us to it */
	struct nd_frame_template template; /* ... ready to encode, once prepared */
	bool prepared;
	bool named;                 /* by an application or the control plane */
	uint8_t port;               /* index of the port that leads to it */
	uint8_t way;                /* enum nd_peer_way */
	uint8_t lost;               /* NO_WAY: enum nd_stack_unreachable */
	uint32_t handle;
	nd_ns met_at;               /* when it was new */
	nd_ns used_at;              /* when something was last sent to it or came from it */
	nd_ns asked_at;             /* when the control plane was last asked for the way, or 0 */
};

struct nd_peers {
	struct nd_peer *entries;
	uint32_t count; /* slots in use */
	uint32_t limit;
	uint32_t slot_bits;
	uint32_t hand;  /* slot that is looked at next when room is needed */
	uint32_t recent; /* slot of the address that was asked for last; packets come in bursts */
	uint64_t salt;
	uint64_t evicted;
	struct nd_map map; /* address to slot */
	void *map_memory;
	uint8_t own[2][16]; /* IPv4 (mapped) and IPv6; zero: none */
	uint16_t vlan;      /* of what we send */
	/* Whether somebody still needs a handle; NULL: nobody does. */
	bool (*is_needed)(const void *context, uint32_t handle, nd_ns now);
	const void *context;
};

/* 0 or -ENOMEM. own addresses: zero for none. */
int nd_peers_init(struct nd_peers *peers, uint32_t limit, const uint8_t own_v4[16],
		  const uint8_t own_v6[16], uint16_t vlan, uint64_t salt);
void nd_peers_free(struct nd_peers *peers);

/*
 * Handle of the address, made when it is new; ND_NONE when the table is full of addresses in use
 * or we have no address of its family. A new one is reached by the port, whose MAC address is
 * own_mac; derive says that the port's link needs no neighbour discovery.
 */
uint32_t nd_peers_get(struct nd_peers *peers, const uint8_t address[16], uint8_t port,
		      const uint8_t own_mac[6], bool derive, nd_ns now);

/* The peer of a handle, or NULL when it names nobody (any more). */
static inline struct nd_peer *nd_peers_find(const struct nd_peers *peers, uint32_t handle)
{
	uint32_t slot = handle & ((1u << peers->slot_bits) - 1);

	return slot < peers->count && peers->entries[slot].handle == handle
		       ? &peers->entries[slot]
		       : NULL;
}

/* The peer of a handle as above, which is wanted here from now on; NULL as above. */
static inline struct nd_peer *nd_peers_name(struct nd_peers *peers, uint32_t handle, nd_ns now)
{
	struct nd_peer *peer = nd_peers_find(peers, handle);

	if (peer) {
		peer->named = true;
		peer->used_at = now;
	}
	return peer;
}

/* Sets the way to a peer, unless a stronger one is known already. */
void nd_peers_set_way(struct nd_peer *peer, uint8_t port, const uint8_t own_mac[6],
		      const uint8_t mac[6], enum nd_peer_way way);

/* A port has another MAC address now: packets by it leave from that one. */
void nd_peers_set_own_mac(struct nd_peers *peers, uint8_t port, const uint8_t own_mac[6]);

/* The host's own address: IPv4 where it has both. */
const uint8_t *nd_peers_first_own(const struct nd_peers *peers);

/* True when the host has an address of this one's family. */
bool nd_peers_has_family(const struct nd_peers *peers, const uint8_t address[16]);

/* True for an address of the host. */
bool nd_peers_is_own(const struct nd_peers *peers, const uint8_t address[16]);

/* The locally administered MAC address that stands for an IP address. */
void nd_peers_derive_mac(const uint8_t address[16], uint8_t mac[6]);

#endif
