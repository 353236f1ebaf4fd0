// SPDX-License-Identifier: Apache-2.0
/* Receiving trains over slots, and cutting them. */
#include "port/udp_arrivals.h"

#include "base/types.h"
#include "port/udp_train.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define PIECE_BYTES_MAX 65536u  /* what one receive brings */
#define FULL_BYTES_MIN 512u     /* of less, a piece would have too many parts for the kernel */
#define PAYLOAD_AT 64u          /* in a slot */
#define SLOT_ALIGN 64u

_Static_assert(PAYLOAD_AT >= ND_UDP_HEADERS_MAX, "headers are put in front");

static uint8_t *payload_of(const struct nd_udp_arrivals *self, uint32_t piece, uint32_t slot)
{
	return self->memory + ((size_t)piece * self->slots + slot) * self->slot_bytes + PAYLOAD_AT;
}

static void spread(struct nd_udp_arrivals *self, uint32_t piece)
{
	struct iovec *parts = self->parts + (size_t)piece * self->slots;

	for (uint32_t i = 0; i < self->slots; i++)
		parts[i] = (struct iovec){
			.iov_base = payload_of(self, piece, i),
			.iov_len = self->full_bytes,
		};
	self->messages[piece].msg_hdr = (struct msghdr){
		.msg_name = &self->arrivals[piece].source,
		.msg_iov = parts,
		.msg_iovlen = self->slots,
		.msg_control = self->arrivals[piece].control,
	};
}

int nd_udp_arrivals_open(struct nd_udp_arrivals *self, uint32_t full_bytes, uint32_t bytes_max)
{
	size_t slots;

	self->full_bytes = nd_max_u32(full_bytes, FULL_BYTES_MIN);
	self->bytes_max = bytes_max;
	self->slot_bytes = (nd_max_u32(self->full_bytes, bytes_max) + PAYLOAD_AT + SLOT_ALIGN - 1) &
			   ~(SLOT_ALIGN - 1);
	self->slots = (PIECE_BYTES_MAX + self->full_bytes - 1) / self->full_bytes;
	slots = (size_t)ND_UDP_ARRIVALS_MAX * self->slots;
	self->memory = aligned_alloc(SLOT_ALIGN, slots * self->slot_bytes);
	self->copies = aligned_alloc(SLOT_ALIGN, (size_t)ND_UDP_ARRIVALS_MAX * self->slot_bytes);
	self->parts = calloc(slots, sizeof(*self->parts));
	if (!self->memory || !self->copies || !self->parts)
		return -ENOMEM;
	for (uint32_t i = 0; i < ND_UDP_ARRIVALS_MAX; i++)
		spread(self, i);
	return 0;
}

void nd_udp_arrivals_close(struct nd_udp_arrivals *self)
{
	free(self->memory);
	free(self->copies);
	free(self->parts);
}

bool nd_udp_arrivals_receive(struct nd_udp_arrivals *self, int socket)
{
	int count;

	for (uint32_t i = 0; i < ND_UDP_ARRIVALS_MAX; i++) { /* the kernel shortened them last time */
		self->messages[i].msg_hdr.msg_namelen = sizeof(union nd_udp_address);
		self->messages[i].msg_hdr.msg_controllen = sizeof(self->arrivals[i].control);
	}
	count = recvmmsg(socket, self->messages, ND_UDP_ARRIVALS_MAX, MSG_DONTWAIT, NULL);
	self->count = count > 0 ? (uint32_t)count : 0;
	self->at = self->cut = 0;
	return count > 0;
}

/* Makes one piece of bytes from there on. */
static uint8_t *gather(struct nd_udp_arrivals *self, uint32_t from, uint32_t bytes, uint8_t *to)
{
	for (uint32_t done = 0, part; done < bytes; done += part) {
		uint32_t slot = (from + done) / self->full_bytes;
		uint32_t offset = (from + done) % self->full_bytes;

		part = nd_min_u32(self->full_bytes - offset, bytes - done);
		memcpy(to + done, payload_of(self, self->at, slot) + offset, part);
	}
	return to;
}

/* Where a frame can be made of bytes from there on. */
static uint8_t *piece_of(struct nd_udp_arrivals *self, uint32_t from, uint32_t bytes, uint32_t copy)
{
	if (bytes > self->bytes_max)
		return NULL;
	if (from % self->full_bytes == 0 && bytes <= self->full_bytes)
		return payload_of(self, self->at, from / self->full_bytes);
	return gather(self, from, bytes,
		      self->copies + (size_t)copy * self->slot_bytes + PAYLOAD_AT);
}

struct nd_udp_part nd_udp_arrivals_cut(struct nd_udp_arrivals *self, uint32_t copy)
{
	struct mmsghdr *message = &self->messages[self->at];
	struct nd_udp_part part = { .source = &self->arrivals[self->at].source };
	uint32_t segment;

	nd_udp_train_read(&message->msg_hdr, message->msg_len, &part.traffic_class, &segment);
	part.bytes = nd_min_u32(segment, message->msg_len - self->cut);
	part.payload = piece_of(self, self->cut, part.bytes, copy);
	self->cut += part.bytes;
	if (self->cut == message->msg_len) {
		self->at++;
		self->cut = 0;
	}
	return part;
}
