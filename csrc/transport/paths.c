// SPDX-License-Identifier: Apache-2.0
/* Path permutation and scoreboard. */
#include "transport/paths.h"

#include <string.h>

_Static_assert(sizeof(struct nd_path) == 16, "8,192 hosts x 256 paths fit in 50 MB");

size_t nd_paths_bytes(uint32_t limit)
{
	return sizeof(struct nd_paths) + limit * sizeof(struct nd_path);
}

void nd_paths_init(struct nd_paths *paths, uint32_t limit, uint32_t count, struct nd_rng rng)
{
	nd_assert(count >= 1 && count <= limit && limit < ND_PATH_NONE);
	*paths = (struct nd_paths){ .rng = rng, .limit = (uint16_t)limit };
	for (uint32_t i = 0; i < count; i++)
		nd_paths_slots(paths)[i] = (struct nd_path){ .id = (uint16_t)i, .present = true };
	paths->slots = (uint16_t)count;
	paths->count = (uint16_t)count;
}

/* ---- the list ---- */

/* The ids may lie where an application can write to them: each look may find others. */
static uint16_t id_at(const void *ids, uint32_t index)
{
	uint16_t id;

	memcpy(&id, (const uint8_t *)ids + index * sizeof(id), sizeof(id));
	__atomic_signal_fence(__ATOMIC_SEQ_CST); /* from here on only the copy is looked at */
	return id;
}

static struct nd_path *find_id(struct nd_paths *paths, uint16_t id)
{
	for (uint32_t i = 0; i < paths->slots; i++) {
		if (nd_paths_slots(paths)[i].id == id)
			return &nd_paths_slots(paths)[i];
	}
	return NULL;
}

static void forget(struct nd_paths *paths, struct nd_path *path)
{
	paths->acks -= path->acks;
	paths->nacks -= path->nacks;
	paths->losses -= path->losses;
	*path = (struct nd_path){ .id = path->id };
}

/* NULL when there are as many ids as fit, which takes ids that have changed meanwhile. */
static struct nd_path *absent_slot(struct nd_paths *paths)
{
	for (uint32_t i = 0; i < paths->slots; i++) {
		if (!nd_paths_slots(paths)[i].present)
			return &nd_paths_slots(paths)[i];
	}
	return paths->slots < paths->limit ? &nd_paths_slots(paths)[paths->slots++] : NULL;
}

static void add_id(struct nd_paths *paths, uint16_t id)
{
	struct nd_path *path = find_id(paths, id);

	if (path && path->present)
		return;
	if (!path)
		path = absent_slot(paths);
	if (!path)
		return;
	*path = (struct nd_path){ .id = id, .present = true };
	paths->count++;
}

void nd_paths_set(struct nd_paths *paths, const void *ids, uint32_t count)
{
	nd_assert(count >= 1 && count <= paths->limit);
	for (uint32_t i = 0; i < paths->slots; i++)
		nd_paths_slots(paths)[i].present = false;
	paths->count = 0;
	for (uint32_t i = 0; i < count; i++) {
		struct nd_path *path = find_id(paths, id_at(ids, i));

		paths->count = (uint16_t)(paths->count + (path && !path->present));
		if (path)
			path->present = true;
	}
	for (uint32_t i = 0; i < paths->slots; i++) {
		if (!nd_paths_slots(paths)[i].present)
			forget(paths, &nd_paths_slots(paths)[i]);
	}
	for (uint32_t i = 0; i < count; i++)
		add_id(paths, id_at(ids, i));
	paths->usable = 0; /* a new round begins with the next packet */
	paths->at = 0;
	paths->calm = false;
}

/* ---- verdicts ---- */

static bool nacks_stand_out(const struct nd_paths *paths, const struct nd_paths_config *config,
			    uint64_t nacks, uint64_t acks)
{
	return nacks * 100 > config->nack_percent * acks &&
	       nacks * paths->acks * 100 > config->mean_percent * paths->nacks * acks;
}

static bool losses_stand_out(const struct nd_paths *paths, const struct nd_paths_config *config,
			     const struct nd_path *path)
{
	uint64_t sent = (uint64_t)path->acks + path->nacks + path->losses;
	uint64_t all = (uint64_t)paths->acks + paths->nacks + paths->losses;

	return path->losses >= config->loss_min &&
	       path->losses * UINT64_C(100) > config->loss_percent * sent &&
	       path->losses * all * 100 > config->mean_percent * paths->losses * sent;
}

static void halve(struct nd_paths *paths, struct nd_path *path)
{
	paths->acks -= (uint32_t)(path->acks - path->acks / 2);
	paths->nacks -= (uint32_t)(path->nacks - path->nacks / 2);
	paths->losses -= (uint32_t)(path->losses - path->losses / 2);
	path->acks /= 2;
	path->nacks /= 2;
	path->losses /= 2;
}

/* Rounds to skip from now on, given the feedback of the last try. */
static uint8_t probation(struct nd_paths *paths, const struct nd_paths_config *config,
			 struct nd_path *path)
{
	if (path->lost)
		return config->avoid_max;
	if (nacks_stand_out(paths, config, path->bad, path->good))
		return (uint8_t)nd_min_u32(path->avoid + 1u, config->avoid_max);
	halve(paths, path);
	return (uint8_t)(path->avoid - 1);
}

static uint8_t standing(struct nd_paths *paths, const struct nd_paths_config *config,
			struct nd_path *path)
{
	uint32_t feedbacks = (uint32_t)path->acks + path->nacks;
	uint8_t verdict = 0;

	if (losses_stand_out(paths, config, path))
		verdict = config->avoid_max;
	else if (feedbacks > config->judge_feedbacks)
		verdict = nacks_stand_out(paths, config, path->nacks, path->acks);
	if (feedbacks > 2u * config->judge_feedbacks)
		halve(paths, path);
	return verdict;
}

static void judge(struct nd_paths *paths, const struct nd_paths_config *config,
		  struct nd_path *path)
{
	if (path->skip) {
		path->skip--;
		return;
	}
	if (!(path->good | path->bad | path->lost))
		return;
	path->avoid = path->avoid ? probation(paths, config, path) : standing(paths, config, path);
	path->skip = path->avoid;
	path->good = path->bad = path->lost = 0;
}

/* ---- the permutation ---- */

/* The round will come by this slot. */
static void visit(struct nd_paths *paths, uint32_t slot)
{
	nd_paths_slots(paths)[paths->usable++].order = (uint16_t)slot;
}

/* All are set aside: those whose time ends first are used. */
static void take_the_least_bad(struct nd_paths *paths)
{
	uint8_t least = UINT8_MAX;

	for (uint32_t i = 0; i < paths->slots; i++) {
		const struct nd_path *path = &nd_paths_slots(paths)[i];

		if (path->present && path->skip < least)
			least = path->skip;
	}
	for (uint32_t i = 0; i < paths->slots; i++) {
		struct nd_path *path = &nd_paths_slots(paths)[i];

		if (!path->present)
			continue;
		path->skip = (uint8_t)(path->skip - least);
		if (path->skip == 0)
			visit(paths, i);
	}
}

/* Judges all paths and finds those that may be used. */
static void judge_all(struct nd_paths *paths, const struct nd_paths_config *config)
{
	uint32_t against = 0;

	paths->usable = 0;
	for (uint32_t i = 0; i < paths->slots; i++) {
		struct nd_path *path = &nd_paths_slots(paths)[i];

		if (!path->present)
			continue;
		if (config->scoreboard)
			judge(paths, config, path);
		if (path->skip == 0)
			visit(paths, i);
		against |= (uint32_t)path->nacks | path->losses | path->avoid;
	}
	if (paths->usable == 0)
		take_the_least_bad(paths);
	paths->calm = against == 0;
}

/* The only usable path failed this packet: even one that is set aside is the better guess. */
static uint16_t any_but(struct nd_paths *paths, uint16_t avoid)
{
	uint16_t slot;

	do {
		slot = nd_paths_next_control(paths);
	} while (slot == avoid);
	return slot;
}

/* The packet failed on the path that the round has chosen: another of those that are usable. */
static uint16_t swap_next(struct nd_paths *paths)
{
	uint32_t at = paths->at - 1u;

	return nd_paths_swap(paths, at, at + 1 < paths->usable ? at + 1 : 0);
}

uint16_t nd_paths_next_round(struct nd_paths *paths, const struct nd_paths_config *config,
			     uint16_t avoid)
{
	uint16_t slot;

	if (paths->at >= paths->usable) {
		if (!paths->calm)
			judge_all(paths, config);
		paths->at = 0;
	}
	if (paths->usable == 1 && paths->count > 1 && nd_paths_slots(paths)->order == avoid)
		return any_but(paths, avoid);
	slot = nd_paths_next(paths, config, ND_PATH_NONE);
	return slot == avoid && paths->usable > 1 ? swap_next(paths) : slot;
}

/* Any path of the list, also one that is set aside: control packets are never the load. */
uint16_t nd_paths_next_control(struct nd_paths *paths)
{
	do {
		if (++paths->turn >= paths->slots)
			paths->turn = 0;
	} while (!nd_paths_slots(paths)[paths->turn].present);
	return paths->turn;
}

/* ---- feedback ---- */

static void add(uint16_t *total, uint32_t *sum, uint8_t *fresh, uint32_t by)
{
	uint32_t room = UINT16_MAX - *total;

	if (by > room)
		by = room;
	*total = (uint16_t)(*total + by);
	*sum += by;
	*fresh = (uint8_t)nd_min_u32(*fresh + by, UINT8_MAX);
}

/* NULL when nothing is to be counted: a path no longer in the list, or no scoreboard. */
static struct nd_path *scored(struct nd_paths *paths, const struct nd_paths_config *config,
			      uint16_t slot)
{
	struct nd_path *path = &nd_paths_slots(paths)[slot];

	return config->scoreboard && slot < paths->slots && path->present ? path : NULL;
}

void nd_paths_acked(struct nd_paths *paths, const struct nd_paths_config *config, uint16_t slot)
{
	struct nd_path *path = scored(paths, config, slot);

	if (!path)
		return;
	path->acks++;
	paths->acks++;
	if (ND_UNLIKELY(path->acks > 2u * config->judge_feedbacks))
		halve(paths, path);
	/* What is fresh is asked of those alone that have something against them. */
	if (!paths->calm && path->good < UINT8_MAX)
		path->good++;
}

static void blame(struct nd_paths *paths, struct nd_path *path, uint32_t nacks)
{
	if (!path)
		return;
	paths->calm = false;
	add(&path->nacks, &paths->nacks, &path->bad, nacks);
}

void nd_paths_nacked(struct nd_paths *paths, const struct nd_paths_config *config, uint16_t slot)
{
	blame(paths, scored(paths, config, slot), 1);
}

void nd_paths_bounced(struct nd_paths *paths, const struct nd_paths_config *config, uint16_t slot)
{
	blame(paths, scored(paths, config, slot), config->bounce_nacks);
}

void nd_paths_lost(struct nd_paths *paths, const struct nd_paths_config *config, uint16_t slot)
{
	struct nd_path *path = scored(paths, config, slot);

	if (!path)
		return;
	paths->calm = false;
	add(&path->losses, &paths->losses, &path->lost, 1);
}

/* ---- audit ---- */

const char *nd_paths_audit(const struct nd_paths *paths)
{
	uint32_t present = 0, acks = 0, nacks = 0, losses = 0;

	for (uint32_t i = 0; i < paths->slots; i++) {
		const struct nd_path *path = &nd_paths_slots(paths)[i];

		present += path->present;
		acks += path->acks;
		nacks += path->nacks;
		losses += path->losses;
	}
	for (uint32_t i = 0; i < paths->usable; i++) {
		uint16_t slot = nd_paths_slots(paths)[i].order;

		if (slot >= paths->slots || !nd_paths_slots(paths)[slot].present)
			return "a path outside the list is in the permutation";
	}
	if (present != paths->count || present == 0)
		return "the number of paths is wrong";
	if (acks != paths->acks || nacks != paths->nacks || losses != paths->losses)
		return "a sum of the path scoreboard is wrong";
	return NULL;
}
