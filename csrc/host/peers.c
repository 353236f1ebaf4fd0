// SPDX-License-Identifier: Apache-2.0
/* The addresses that a host knows, by handle: what engines call a peer, and how to reach it. */
#include "host/peers.h"

#include "base/rng.h"
#include "wire/ip.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const uint8_t no_address[16];

#define SCAN_MAX 64u /* slots looked at for one that may make room */

struct halves {
	uint64_t upper, lower;
};

static struct halves halves_of(const uint8_t address[16])
{
	struct halves halves;

	memcpy(&halves, address, sizeof(halves));
	return halves;
}

/* Salted: two addresses of one key must be a chance that nobody can steer. */
static uint64_t key_of(const struct nd_peers *peers, const uint8_t address[16])
{
	struct halves halves = halves_of(address);

	return nd_mix64(nd_mix64(halves.upper ^ peers->salt) ^ halves.lower);
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
	*peers = (struct nd_peers){ .limit = limit, .vlan = vlan, .count = 1, .salt = salt };
	while (1u << peers->slot_bits < limit)
		peers->slot_bits++;
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

bool nd_peers_has_family(const struct nd_peers *peers, const uint8_t address[16])
{
	return own_address(peers, address) != NULL;
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
	struct halves halves = halves_of(address);
	uint64_t hash = nd_ip_is_v4(address) ? 0 : nd_mix64(halves.upper) ^ halves.lower;

	mac[0] = 0x02; /* locally administered, one station */
	mac[1] = (uint8_t)(hash >> 32);
	memcpy(mac + 2, address + 12, 4);
}

/* The handle that a slot gets when its address changes; ND_NONE when it has had them all. */
static uint32_t next_handle(const struct nd_peers *peers, uint32_t handle)
{
	uint32_t step = 1u << peers->slot_bits;

	return handle > ND_NONE - 1 - step ? ND_NONE : handle + step;
}

static bool may_go(const struct nd_peers *peers, const struct nd_peer *peer, nd_ns now)
{
	nd_ns idle = now - peer->used_at;

	if (idle >= ND_PEERS_IDLE)
		return true;
	if (peer->named || idle < peer->used_at - peer->met_at)
		return false;
	return !peers->is_needed || !peers->is_needed(peers->context, peer->handle, now);
}

/* A slot whose address has been idle for long, forgotten; or ND_NONE. */
static uint32_t evict(struct nd_peers *peers, nd_ns now)
{
	for (uint32_t i = 0; i < SCAN_MAX; i++) {
		uint32_t slot = peers->hand;
		struct nd_peer *peer = &peers->entries[slot];

		peers->hand = slot + 1 < peers->count ? slot + 1 : ND_PEERS_SELF + 1;
		if (slot == ND_PEERS_SELF || !may_go(peers, peer, now) ||
		    next_handle(peers, peer->handle) == ND_NONE)
			continue;
		nd_map_remove(&peers->map, key_of(peers, peer->frame.target));
		peers->evicted++;
		return slot;
	}
	return ND_NONE;
}

/* A slot for a new address, with the handle that it is going to have; or ND_NONE. */
static uint32_t take_slot(struct nd_peers *peers, uint32_t *handle, nd_ns now)
{
	uint32_t slot;

	if (peers->count < peers->limit) {
		slot = peers->count++;
		*handle = slot;
		return slot;
	}
	slot = evict(peers, now);
	if (slot != ND_NONE)
		*handle = next_handle(peers, peers->entries[slot].handle);
	return slot;
}

static uint32_t add(struct nd_peers *peers, const uint8_t address[16], const uint8_t own[16],
		    nd_ns now)
{
	uint32_t handle, slot = take_slot(peers, &handle, now);
	struct nd_peer *peer;

	if (slot == ND_NONE)
		return ND_NONE;
	peer = &peers->entries[slot];
	*peer = (struct nd_peer){ .handle = handle, .frame.vlan = peers->vlan };
	memcpy(peer->frame.source, own, 16);
	memcpy(peer->frame.target, address, 16);
	/* The map has room for as many keys as there are slots. */
	nd_assert(nd_map_set(&peers->map, key_of(peers, address), slot));
	return slot;
}

/* An address that is not the one asked for last. */
static ND_NOINLINE uint32_t look_up(struct nd_peers *peers, const uint8_t address[16],
				    uint8_t port, const uint8_t own_mac[6], bool derive, nd_ns now)
{
	uint32_t slot = nd_map_get(&peers->map, key_of(peers, address));
	const uint8_t *own;
	struct nd_peer *peer;

	if (ND_LIKELY(slot != ND_NONE)) {
		peer = &peers->entries[slot];
		peers->recent = slot;
		peer->used_at = now;
		return memcmp(peer->frame.target, address, 16) ? ND_NONE : peer->handle;
	}
	if (nd_peers_is_own(peers, address))
		return ND_PEERS_SELF;
	own = own_address(peers, address);
	slot = own ? add(peers, address, own, now) : ND_NONE;
	if (slot == ND_NONE)
		return ND_NONE;
	peer = &peers->entries[slot];
	peer->met_at = peer->used_at = now;
	peer->port = port;
	memcpy(peer->frame.source_mac, own_mac, 6);
	if (derive) {
		nd_peers_derive_mac(address, peer->frame.target_mac);
		peer->way = ND_PEER_DERIVED;
	}
	return peer->handle;
}

uint32_t nd_peers_get(struct nd_peers *peers, const uint8_t address[16], uint8_t port,
		      const uint8_t own_mac[6], bool derive, nd_ns now)
{
	struct nd_peer *recent = &peers->entries[peers->recent];

	if (ND_UNLIKELY(peers->recent == ND_PEERS_SELF ||
			memcmp(recent->frame.target, address, 16) != 0))
		return look_up(peers, address, port, own_mac, derive, now);
	recent->used_at = now;
	return recent->handle;
}

void nd_peers_set_way(struct nd_peer *peer, uint8_t port, const uint8_t own_mac[6],
		      const uint8_t mac[6], enum nd_peer_way way)
{
	if (peer->way > way || peer->handle == ND_PEERS_SELF)
		return;
	peer->way = (uint8_t)way;
	peer->prepared = false;
	peer->port = port;
	memcpy(peer->frame.source_mac, own_mac, 6);
	memcpy(peer->frame.target_mac, mac, 6);
}

void nd_peers_set_own_mac(struct nd_peers *peers, uint8_t port, const uint8_t own_mac[6])
{
	for (uint32_t slot = ND_PEERS_SELF + 1; slot < peers->count; slot++) {
		struct nd_peer *peer = &peers->entries[slot];

		if (peer->port != port)
			continue;
		peer->prepared = false;
		memcpy(peer->frame.source_mac, own_mac, sizeof(peer->frame.source_mac));
	}
}
