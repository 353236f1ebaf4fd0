/* SPDX-License-Identifier: Apache-2.0 */
/* The forwarding database of a learning switch: (VLAN, MAC address) -> port, with aging. */
#ifndef ND_SWITCH_FDB_H
#define ND_SWITCH_FDB_H

#include "base/counters.h"
#include "base/heap.h"
#include "base/map.h"
#include "base/types.h"
#include "wire/bytes.h"

struct nd_fdb_entry {
	uint64_t key;    /* VLAN id above the 48 bits of the MAC address */
	uint16_t port;
	bool is_static;  /* configured: never ages, never moves */
	nd_ns seen;      /* last frame from this address */
};

#define ND_FDB_COUNTERS(X) \
	X(learned, "Addresses learned from arriving frames.") \
	X(moved, "Learned addresses that appeared behind another port.") \
	X(aged, "Learned addresses forgotten after the aging time without a frame.") \
	X(full, "Frames whose address was not learned because the table is full.")
ND_COUNTERS_STRUCT(nd_fdb_counters, ND_FDB_COUNTERS);
extern const struct nd_counters_table nd_fdb_counters_table;

struct nd_fdb {
	struct nd_map map; /* key -> index in entries */
	struct nd_fdb_entry *entries;
	struct nd_heap ages; /* learned entries by expiry; refreshed lazily */
	uint32_t *free;      /* stack of unused entries */
	uint32_t free_count;
	uint32_t limit;
	nd_ns aging;
	struct nd_fdb_counters counters;
};

static inline uint64_t nd_fdb_key(const uint8_t mac[6], uint16_t vlan)
{
	return (uint64_t)vlan << 48 | (uint64_t)nd_get_u32(mac) << 16 | nd_get_u16(mac + 4);
}

size_t nd_fdb_bytes(uint32_t limit);

/* memory is 64-byte aligned; salt makes the slots unpredictable to whoever picks addresses. */
void nd_fdb_init(struct nd_fdb *fdb, void *memory, uint32_t limit, nd_ns aging, uint64_t salt);

/* Port of an address, or ND_NONE: flood. */
uint32_t nd_fdb_lookup(const struct nd_fdb *fdb, uint64_t key);

/* Notes that a frame from key arrived on port. Group addresses (multicast bit) are ignored. */
void nd_fdb_learn(struct nd_fdb *fdb, uint64_t key, uint16_t port, nd_ns now);

/*
 * Adds or replaces a configured entry, in the place of the learned one that ages first when the
 * table is full. 0, or -ENOSPC when all are configured.
 */
int nd_fdb_set(struct nd_fdb *fdb, uint64_t key, uint16_t port);

/* Takes an entry out; false when there is none. */
bool nd_fdb_remove(struct nd_fdb *fdb, uint64_t key);

/* Takes out all entries that lead to a port, configured ones too. O(limit). */
void nd_fdb_forget(struct nd_fdb *fdb, uint16_t port);

/* Forgets what was learned behind a port whose link went down. O(limit). */
void nd_fdb_flush_port(struct nd_fdb *fdb, uint16_t port);

/* Forgets what is older than the aging time; cheap when nothing is due. */
void nd_fdb_age(struct nd_fdb *fdb, nd_ns now);

/*
 * Copies up to limit entries, in no special order, from *cursor on (0 to begin), which is then
 * where to go on, or ND_NONE after the last. Returns how many.
 */
uint32_t nd_fdb_list(const struct nd_fdb *fdb, uint32_t *cursor, struct nd_fdb_entry *out,
		     uint32_t limit);

#endif
