// SPDX-License-Identifier: Apache-2.0
/*
 * One peer's messages that want grants, in a pairing heap woven through their RPCs.
 *
 * DESIGN NOTES
 * 1. Only one message of a sender is granted at a time: a sender serves its shortest message first
 *    anyway, so a second grant to it would waste the overcommitment that another sender could use.
 * 2. A pairing heap needs no memory of its own and no limit. Granting makes the first message
 *    smaller still, which leaves the heap as it is: the common case costs nothing.
 */
#include "transport/homa_internal.h"

static struct nd_homa_order *order_at(const struct nd_homa *homa, uint32_t index)
{
	return &nd_homa_rpc_at(homa, index)->order;
}

/* Joins two heaps; their roots have no siblings. */
static uint32_t meld(struct nd_homa *homa, uint32_t a, uint32_t b)
{
	struct nd_homa_order *parent, *child;

	if (a == ND_NONE)
		return b;
	if (b == ND_NONE)
		return a;
	if (order_at(homa, b)->key < order_at(homa, a)->key) {
		uint32_t swap = a;

		a = b;
		b = swap;
	}
	parent = order_at(homa, a);
	child = order_at(homa, b);
	child->previous = a;
	child->next = parent->child;
	if (parent->child != ND_NONE)
		order_at(homa, parent->child)->previous = b;
	parent->child = b;
	return a;
}

static uint32_t cut(struct nd_homa *homa, uint32_t index)
{
	struct nd_homa_order *order = order_at(homa, index);
	uint32_t next = order->next;

	order->next = ND_NONE;
	order->previous = ND_NONE;
	return next;
}

/* Two passes: pairs from left to right, then all pairs from right to left. */
static uint32_t meld_siblings(struct nd_homa *homa, uint32_t first)
{
	uint32_t pairs = ND_NONE;
	uint32_t root = ND_NONE;

	while (first != ND_NONE) {
		uint32_t a = first;
		uint32_t b = cut(homa, a);

		first = b == ND_NONE ? ND_NONE : cut(homa, b);
		a = meld(homa, a, b);
		order_at(homa, a)->next = pairs;
		pairs = a;
	}
	while (pairs != ND_NONE) {
		uint32_t next = cut(homa, pairs);

		root = meld(homa, root, pairs);
		pairs = next;
	}
	return root;
}

void nd_homa_order_insert(struct nd_homa *homa, struct nd_homa_peer *peer, uint32_t index,
			  uint64_t key)
{
	*order_at(homa, index) = (struct nd_homa_order){
		.key = key,
		.child = ND_NONE,
		.next = ND_NONE,
		.previous = ND_NONE,
	};
	peer->grantable = meld(homa, peer->grantable, index);
	homa->grantable_count++;
}

void nd_homa_order_remove(struct nd_homa *homa, struct nd_homa_peer *peer, uint32_t index)
{
	struct nd_homa_order *order = order_at(homa, index);
	uint32_t rest = meld_siblings(homa, order->child);

	if (peer->grantable == index) {
		peer->grantable = rest;
	} else {
		struct nd_homa_order *left = order_at(homa, order->previous);

		if (left->child == index)
			left->child = order->next;
		else
			left->next = order->next;
		if (order->next != ND_NONE)
			order_at(homa, order->next)->previous = order->previous;
		peer->grantable = meld(homa, peer->grantable, rest);
	}
	order->key = ND_NEVER;
	homa->grantable_count--;
}
