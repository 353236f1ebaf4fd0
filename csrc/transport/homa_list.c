// SPDX-License-Identifier: Apache-2.0
/* Doubly linked lists of RPCs by pool index. */
#include "transport/homa_internal.h"

void nd_homa_list_append(struct nd_homa *homa, struct nd_homa_list *list,
			 enum nd_homa_list_kind kind, uint32_t index)
{
	struct nd_homa_link *link = &nd_homa_rpc_at(homa, index)->links[kind];

	link->next = ND_NONE;
	link->previous = list->last;
	if (list->last == ND_NONE)
		list->first = index;
	else
		nd_homa_rpc_at(homa, list->last)->links[kind].next = index;
	list->last = index;
}

void nd_homa_list_remove(struct nd_homa *homa, struct nd_homa_list *list,
			 enum nd_homa_list_kind kind, uint32_t index)
{
	struct nd_homa_link *link = &nd_homa_rpc_at(homa, index)->links[kind];

	if (link->previous == ND_NONE)
		list->first = link->next;
	else
		nd_homa_rpc_at(homa, link->previous)->links[kind].next = link->next;
	if (link->next == ND_NONE)
		list->last = link->previous;
	else
		nd_homa_rpc_at(homa, link->next)->links[kind].previous = link->previous;
}
