// SPDX-License-Identifier: Apache-2.0
/* Learning, moving and aging of MAC addresses. */
#include "switch/fdb.h"

#include <errno.h>

ND_COUNTERS_TABLE(nd_fdb_counters, "fdb", ND_FDB_COUNTERS);

#define MULTICAST_BIT (UINT64_C(1) << 40)

static size_t round_up_64(size_t bytes)
{
	return (bytes + 63) & ~(size_t)63;
}

size_t nd_fdb_bytes(uint32_t limit)
{
	return round_up_64(nd_map_bytes(limit)) +
	       round_up_64((size_t)limit * sizeof(struct nd_fdb_entry)) +
	       round_up_64(nd_heap_bytes(limit)) + round_up_64((size_t)limit * sizeof(uint32_t));
}

void nd_fdb_init(struct nd_fdb *fdb, void *memory, uint32_t limit, nd_ns aging, uint64_t salt)
{
	uint8_t *at = memory;

	/* What never ages is still added to the present. */
	*fdb = (struct nd_fdb){ .limit = limit, .aging = nd_min_u64(aging, ND_NEVER / 2) };
	nd_map_init(&fdb->map, at, limit, salt);
	at += round_up_64(nd_map_bytes(limit));
	fdb->entries = (struct nd_fdb_entry *)(void *)at;
	at += round_up_64((size_t)limit * sizeof(struct nd_fdb_entry));
	nd_heap_init(&fdb->ages, at, limit);
	at += round_up_64(nd_heap_bytes(limit));
	fdb->free = (uint32_t *)(void *)at;
	for (uint32_t i = limit; i > 0; i--)
		fdb->free[fdb->free_count++] = i - 1;
}

uint32_t nd_fdb_lookup(const struct nd_fdb *fdb, uint64_t key)
{
	uint32_t index = nd_map_get(&fdb->map, key);

	return index == ND_NONE ? ND_NONE : fdb->entries[index].port;
}

/* A fresh entry under key, or NULL when the table is full. */
static struct nd_fdb_entry *add(struct nd_fdb *fdb, uint64_t key)
{
	uint32_t index;

	if (fdb->free_count == 0)
		return NULL;
	index = fdb->free[--fdb->free_count];
	nd_map_set(&fdb->map, key, index);
	fdb->entries[index] = (struct nd_fdb_entry){ .key = key };
	return &fdb->entries[index];
}

static void drop(struct nd_fdb *fdb, uint32_t index)
{
	nd_map_remove(&fdb->map, fdb->entries[index].key);
	nd_heap_remove(&fdb->ages, index);
	fdb->free[fdb->free_count++] = index;
}

void nd_fdb_learn(struct nd_fdb *fdb, uint64_t key, uint16_t port, nd_ns now)
{
	uint32_t index = nd_map_get(&fdb->map, key);
	struct nd_fdb_entry *entry;

	if (key & MULTICAST_BIT)
		return;
	if (index != ND_NONE) {
		entry = &fdb->entries[index];
		if (entry->is_static)
			return;
		fdb->counters.moved += entry->port != port;
		entry->port = port;
		entry->seen = now;
		return;
	}
	entry = add(fdb, key);
	if (!entry) {
		fdb->counters.full++;
		return;
	}
	entry->port = port;
	entry->seen = now;
	fdb->counters.learned++;
	nd_heap_set(&fdb->ages, (uint32_t)(entry - fdb->entries), now + fdb->aging);
}

int nd_fdb_set(struct nd_fdb *fdb, uint64_t key, uint16_t port)
{
	uint32_t index = nd_map_get(&fdb->map, key);
	struct nd_fdb_entry *entry;

	if (index == ND_NONE && fdb->free_count == 0 && fdb->ages.count)
		drop(fdb, nd_heap_id(&fdb->ages));
	entry = index == ND_NONE ? add(fdb, key) : &fdb->entries[index];
	if (!entry)
		return -ENOSPC;
	entry->port = port;
	entry->is_static = true;
	nd_heap_remove(&fdb->ages, (uint32_t)(entry - fdb->entries));
	return 0;
}

bool nd_fdb_remove(struct nd_fdb *fdb, uint64_t key)
{
	uint32_t index = nd_map_get(&fdb->map, key);

	if (index == ND_NONE)
		return false;
	drop(fdb, index);
	return true;
}

/* Entries in use are those that no free slot names: found by way of the map. */
void nd_fdb_forget(struct nd_fdb *fdb, uint16_t port)
{
	uint32_t slot = 0;

	while (slot <= fdb->map.mask) {
		uint32_t index = fdb->map.slots[slot].value;

		/* Taking one out may move another into this slot. */
		if (index != ND_NONE && fdb->entries[index].port == port)
			drop(fdb, index);
		else
			slot++;
	}
}

void nd_fdb_flush_port(struct nd_fdb *fdb, uint16_t port)
{
	for (uint32_t i = 0; i < fdb->limit; i++) {
		if (nd_heap_has(&fdb->ages, i) && fdb->entries[i].port == port)
			drop(fdb, i);
	}
}

void nd_fdb_age(struct nd_fdb *fdb, nd_ns now)
{
	while (nd_heap_key(&fdb->ages) <= now) {
		uint32_t index = nd_heap_id(&fdb->ages);
		nd_ns expiry = fdb->entries[index].seen + fdb->aging;

		/* Frames only stamp the entry; its place in the heap is corrected here. */
		if (expiry > now) {
			nd_heap_set(&fdb->ages, index, expiry);
			continue;
		}
		drop(fdb, index);
		fdb->counters.aged++;
	}
}

uint32_t nd_fdb_list(const struct nd_fdb *fdb, uint32_t *cursor, struct nd_fdb_entry *out,
		     uint32_t limit)
{
	uint32_t count = 0;
	uint32_t slot = *cursor;

	for (; slot <= fdb->map.mask && count < limit; slot++) {
		uint32_t index = fdb->map.slots[slot].value;

		if (index != ND_NONE)
			out[count++] = fdb->entries[index];
	}
	*cursor = slot <= fdb->map.mask ? slot : ND_NONE;
	return count;
}
