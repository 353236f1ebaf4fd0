// SPDX-License-Identifier: Apache-2.0
/* Encoding of pcapng blocks, in host byte order as the format wants. */
#include "wire/pcapng.h"

#include <string.h>

#define BLOCK_SECTION 0x0a0d0d0au
#define BLOCK_INTERFACE 1u
#define BLOCK_PACKET 6u
#define BYTE_ORDER_MAGIC 0x1a2b3c4du
#define LINKTYPE_ETHERNET 1u

#define OPTION_COMMENT 1u
#define OPTION_EPB_FLAGS 2u
#define OPTION_IF_NAME 2u
#define OPTION_USER_APPLICATION 4u
#define OPTION_IF_TSRESOL 9u
#define NANOSECONDS 9u

/* A block under construction; `at` runs past limit when it does not fit. */
struct block {
	uint8_t *out;
	size_t limit;
	size_t at;
};

static void put(struct block *block, const void *bytes, size_t count)
{
	if (block->at + count <= block->limit && count)
		memcpy(block->out + block->at, bytes, count);
	block->at += count;
}

static void put_u32(struct block *block, uint32_t value)
{
	put(block, &value, sizeof(value));
}

static void put_padded(struct block *block, const void *bytes, size_t count)
{
	static const uint8_t zeros[4];

	put(block, bytes, count);
	put(block, zeros, (4 - count % 4) % 4);
}

static void put_option(struct block *block, uint32_t code, const void *value, size_t count)
{
	put_u32(block, code | (uint32_t)count << 16);
	put_padded(block, value, count);
}

static struct block begin(uint8_t *out, size_t limit, uint32_t type)
{
	struct block block = { .out = out, .limit = limit };

	put_u32(&block, type);
	put_u32(&block, 0); /* total length: known at the end */
	return block;
}

static size_t end(struct block *block)
{
	uint32_t total = (uint32_t)block->at + 8;

	put_u32(block, 0); /* end of options */
	put_u32(block, total);
	if (block->at > block->limit)
		return 0;
	memcpy(block->out + 4, &total, sizeof(total));
	return block->at;
}

static size_t text_bytes(const char *text)
{
	return strnlen(text, ND_PCAPNG_COMMENT_MAX);
}

size_t nd_pcapng_section(uint8_t *out, size_t limit, const char *application)
{
	struct block block = begin(out, limit, BLOCK_SECTION);

	put_u32(&block, BYTE_ORDER_MAGIC);
	put_u32(&block, 1); /* version 1.0 */
	put_u32(&block, UINT32_MAX);
	put_u32(&block, UINT32_MAX); /* section length not stated */
	put_option(&block, OPTION_USER_APPLICATION, application, text_bytes(application));
	return end(&block);
}

size_t nd_pcapng_interface(uint8_t *out, size_t limit, const char *name, uint32_t snap_bytes)
{
	struct block block = begin(out, limit, BLOCK_INTERFACE);
	uint8_t resolution = NANOSECONDS;

	put_u32(&block, LINKTYPE_ETHERNET);
	put_u32(&block, snap_bytes);
	put_option(&block, OPTION_IF_NAME, name, text_bytes(name));
	put_option(&block, OPTION_IF_TSRESOL, &resolution, 1);
	return end(&block);
}

size_t nd_pcapng_packet(uint8_t *out, size_t limit, const struct nd_pcapng_packet *packet)
{
	struct block block = begin(out, limit, BLOCK_PACKET);
	uint32_t flags = (uint32_t)packet->direction;

	put_u32(&block, packet->interface);
	put_u32(&block, (uint32_t)(packet->time >> 32));
	put_u32(&block, (uint32_t)packet->time);
	put_u32(&block, packet->captured_bytes);
	put_u32(&block, packet->original_bytes);
	put_padded(&block, packet->frame, packet->captured_bytes);
	if (flags)
		put_option(&block, OPTION_EPB_FLAGS, &flags, sizeof(flags));
	if (packet->comment)
		put_option(&block, OPTION_COMMENT, packet->comment, text_bytes(packet->comment));
	return end(&block);
}
