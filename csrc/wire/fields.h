/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The header formats as data: where each field lies, for whoever shows or builds packets.
 *
 * Python's decoders read this table; a test holds it
 * against the codecs, bit by bit. If a field or type is added, add it here, to the codec and to
 * docs/protocol-*.md; csrc/test/test_fields.c fails until table and codec agree.
 */
#ifndef ND_WIRE_FIELDS_H
#define ND_WIRE_FIELDS_H

#include "base/types.h"

/* How a value is best shown. */
enum nd_field_view {
	ND_FIELD_DECIMAL,
	ND_FIELD_HEX,
	ND_FIELD_SIGNED,
	ND_FIELD_FLAGS, /* bits have names: values[] with the protocol, this field's name and a bit */
	ND_FIELD_NAMED, /* values have names */
};

struct nd_field {
	const char *name;    /* unique within protocol and type */
	const char *text;    /* full sentence */
	uint32_t types;      /* bit t: the field exists in type t (NDP), 0x10 + t (Homa) */
	uint16_t bit_offset; /* from the start of the NDP or Homa header; bit 0 is the uppermost */
	uint16_t bit_width;  /* 1..64 */
	uint8_t repeat;      /* occurrences, 1 for most */
	uint8_t bit_stride;  /* from one occurrence to the next */
	uint8_t protocol;    /* enum nd_protocol */
	uint8_t view;        /* enum nd_field_view */
};

/* Names of values and of flag bits. */
struct nd_field_value {
	const char *field;
	const char *name;
	const char *text;
	uint32_t value;      /* of a flag: the bit's mask */
	uint32_t protocol;   /* enum nd_protocol */
};

extern const struct nd_field nd_fields[];
extern const uint32_t nd_fields_count;
extern const struct nd_field_value nd_field_values[];
extern const uint32_t nd_field_values_count;

/* First type number of a protocol: what bit 0 of nd_field.types stands for. */
uint32_t nd_field_type_base(uint8_t protocol);

/* One occurrence of a field out of a header of bytes; false when it lies beyond them. */
bool nd_field_get(const struct nd_field *field, uint32_t occurrence, const uint8_t *header,
		  uint32_t bytes, uint64_t *value);

#endif
