// SPDX-License-Identifier: Apache-2.0
/* The addresses that a host knows, by handle: what engines call a peer, and how to reach it. */
#include "host/peers.h"

#include "base/rng.h"
#include "wire/ip.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const uint8_t no_address[16];

static uint64_t key_of(const uint8_t address[16])
{
	uint64_t upper, lower;

	memcpy(&upper, address, sizeof(upper));
	memcpy(&lower, address + sizeof(upper), sizeof(lower));
	return nd_mix64(upper) ^ lower;
}

/* Our address of the same family, or NULL. */
static const uint8_t *own_address(const struct nd_peers *peers, const uint8_t address[16])
{
	const uint8_t *own = peers->own[!nd_ip_is_v4(address)];

	return memcmp(own, no_address, sizeof(no_address)) ? own : NULL;
}

int nd_peers_init(struct nd_peers *peers, uint32_t limit, const uint8_t own_v4[16],
		  const uint8_t own_v6[16], uint16_t vlan, uint64_t salt)
{
	*peers = (struct nd_peers){ .limit = limit, .vlan = vlan, .count = 1 };
	memcpy(peers->own[0], own_v4, 16);
	memcpy(peers->own[1], own_v6, 16);
	peers->entries = calloc(limit, sizeof(*peers->entries));
	peers->map_memory = malloc(nd_map_bytes(limit));
	if (!peers->entries || !peers->map_memory)
		return -ENOMEM;
	nd_map_init(&peers->map, peers->map_memory, limit, salt);
	return 0;
}

void nd_peers_free(struct nd_peers *peers)
{
	free(peers->entries);
	free(peers->map_memory);
}

const uint8_t *nd_peers_first_own(const struct nd_peers *peers)
{
	return peers->own[memcmp(peers->own[0], no_address, sizeof(no_address)) == 0];
}

bool nd_peers_is_own(const struct nd_peers *peers, const uint8_t address[16])
{
	return (memcmp(address, peers->own[0], 16) == 0 ||
		memcmp(address, peers->own[1], 16) == 0) &&
	       memcmp(address, no_address, 16) != 0;
}

void nd_peers_derive_mac(const uint8_t address[16], uint8_t mac[6])
{
	uint64_t hash = nd_ip_is_v4(address) ? 0 : key_of(address);

	mac[0] = 0x02; /* locally administered, one station */
	mac[1] = (uint8_t)(hash >> 32);
	memcpy(mac + 2, address + 12, 4);
}

uint32_t nd_peers_get(struct nd_peers *peers, const uint8_t address[16], uint8_t port,
		      const uint8_t own_mac[6], bool derive)
{
	uint64_t key = key_of(address);
	uint32_t handle = nd_map_get(&peers->map, key);
	const uint8_t *own = own_address(peers, address);
	struct nd_peer *peer;

	if (nd_peers_is_own(peers, address))
		return ND_PEERS_SELF;
	if (handle != ND_NONE) /* two addresses of one key are a chance that nobody can steer */
		return memcmp(peers->entries[handle].frame.target, address, 16) ? ND_NONE : handle;
	if (!own || peers->count == peers->limit ||
	    !nd_map_set(&peers->map, key, peers->count))
		return ND_NONE;
	handle = peers->count++;
	peer = &peers->entries[handle];
	*peer = (struct nd_peer){ .port = port, .frame.vlan = peers->vlan };
	memcpy(peer->frame.source, own, 16);
	memcpy(peer->frame.target, address, 16);
	memcpy(peer->frame.source_mac, own_mac, 6);
	if (derive) {
		nd_peers_derive_mac(address, peer->frame.target_mac);
		peer->way = ND_PEER_DERIVED;
	}
	return handle;
}

void nd_peers_set_way(struct nd_peers *peers, uint32_t handle, uint8_t port,
		      const uint8_t own_mac[6], const uint8_t mac[6], enum nd_peer_way way)
{
	struct nd_peer *peer = &peers->entries[handle];

	if (peer->way > way || handle == ND_PEERS_SELF)
		return;
	peer->way = (uint8_t)way;
	peer->port = port;
	memcpy(peer->frame.source_mac, own_mac, 6);
	memcpy(peer->frame.target_mac, mac, 6);
}
