// SPDX-License-Identifier: Apache-2.0
/* pcapng blocks byte for byte (little-endian machine), and what does not fit. */
#include "test/harness.h"
#include "wire/pcapng.h"

static uint8_t out[256];

static void check_hex(size_t bytes, const char *expected)
{
	static char text[2 * sizeof(out) + 1];

	for (size_t i = 0; i < bytes; i++)
		snprintf(text + 2 * i, 3, "%02x", out[i]);
	CHECK_STR(text, expected);
}

TEST(nd_pcapng_section__bytes)
{
	check_hex(nd_pcapng_section(out, sizeof(out), "nd"),
		  "0a0d0d0a" "28000000" "4d3c2b1a" "01000000" "ffffffffffffffff"
		  "04000200" "6e640000" "00000000" "28000000");
}

TEST(nd_pcapng_interface__bytes)
{
	check_hex(nd_pcapng_interface(out, sizeof(out), "p0", 128),
		  "01000000" "28000000" "01000000" "80000000" "02000200" "70300000"
		  "09000100" "09000000" "00000000" "28000000");
}

TEST(nd_pcapng_packet__keeps_time_lengths_direction_and_comment)
{
	const uint8_t frame[5] = { 1, 2, 3, 4, 5 };
	const struct nd_pcapng_packet packet = {
		.interface = 3,
		.time = UINT64_C(0x1122334455667788),
		.frame = frame,
		.captured_bytes = 5,
		.original_bytes = 1500,
		.direction = ND_PCAPNG_OUTBOUND,
		.comment = "trim",
	};
	size_t bytes = nd_pcapng_packet(out, sizeof(out), &packet);

	check_hex(bytes, "06000000" "3c000000" "03000000" "44332211" "88776655" "05000000"
			 "dc050000" "0102030405000000" "02000400" "02000000" "01000400"
			 "7472696d" "00000000" "3c000000");
	for (size_t limit = 0; limit < bytes; limit++)
		CHECK_EQ(nd_pcapng_packet(out, limit, &packet), 0);
}

int main(int argc, char **argv)
{
	return nd_test_main(argc, argv);
}
