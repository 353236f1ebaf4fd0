// SPDX-License-Identifier: Apache-2.0
/* Arbitrary frames through every edit in place: nothing outside, and still what it was. */
#include "test/fuzz/fuzz.h"

#include "test/fuzz/heal.h"
#include "wire/frame.h"

static const struct nd_frame_trim how = {
	.size = 100,
	.dscp = 43,
	.pcp = 6,
	.location = ND_NDP_TRIM_FABRIC,
};

static struct nd_frame_config config;

static struct nd_packet decode(const uint8_t *frame, uint32_t bytes)
{
	struct nd_packet packet;

	FUZZ_CHECK(nd_frame_decode(&config, frame, bytes, NULL, &packet) == ND_WIRE_OK);
	return packet;
}

static void check_trim(const uint8_t *data, uint32_t size)
{
	uint8_t *frame = fuzz_copy(data, size);
	uint32_t bytes = nd_frame_trim(&config, frame, size, &how);

	if (bytes) {
		struct nd_packet before = decode(data, size), after = decode(frame, bytes);

		FUZZ_CHECK(bytes <= size);
		FUZZ_CHECK(before.marks & ND_MARK_TRIMMABLE && !(before.marks & ND_MARK_TRIMMED));
		FUZZ_CHECK(after.payload_bytes == before.payload_bytes);
		FUZZ_CHECK(memcmp(&after.ndp, &before.ndp, sizeof(after.ndp)) == 0);
		FUZZ_CHECK(bytes == size || after.marks & ND_MARK_TRIMMED);
		FUZZ_CHECK(nd_frame_trim(&config, frame, bytes, &how) == 0);
	} else {
		FUZZ_CHECK(memcmp(frame, data, size) == 0);
	}
	free(frame);
}

static void check_bounce(const uint8_t *data, uint32_t size)
{
	uint8_t *frame = fuzz_copy(data, size);
	uint32_t bytes = nd_frame_bounce(&config, frame, size, &how);

	if (bytes) {
		struct nd_packet after = decode(frame, bytes);

		FUZZ_CHECK(bytes <= size);
		FUZZ_CHECK(after.marks & ND_MARK_BOUNCED && after.marks & ND_MARK_TRIMMED);
		FUZZ_CHECK(nd_frame_bounce(&config, frame, bytes, &how) == 0);
		FUZZ_CHECK(nd_frame_trim(&config, frame, bytes, &how) == 0);
	} else {
		FUZZ_CHECK(memcmp(frame, data, size) == 0);
	}
	free(frame);
}

/* A mark changes nothing about whether a frame decodes. */
static void check_mark(const uint8_t *data, uint32_t size)
{
	uint8_t *frame = fuzz_copy(data, size);
	struct nd_packet before, after;
	enum nd_wire_error error = nd_frame_decode(&config, frame, size, NULL, &before);

	if (nd_frame_set_ce(frame, size) && error == ND_WIRE_OK) {
		FUZZ_CHECK(nd_frame_decode(&config, frame, size, NULL, &after) == ND_WIRE_OK);
		FUZZ_CHECK(after.marks == (before.marks | ND_MARK_ECT | ND_MARK_CE));
	}
	free(frame);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint32_t bytes = (uint32_t)size;
	uint8_t *frame;

	if (size > UINT16_MAX - 100)
		return 0;
	config = nd_frame_config_default();
	config.verify = ND_FRAME_VERIFY_NONE;
	frame = fuzz_copy(data, size);
	heal_frame(&config, frame, bytes);
	check_trim(frame, bytes);
	check_bounce(frame, bytes);
	check_mark(frame, bytes);
	free(frame);
	return 0;
}
