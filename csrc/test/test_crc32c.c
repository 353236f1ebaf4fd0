// SPDX-License-Identifier: Apache-2.0
/* CRC-32C: published vectors, and vectors and instruction against table. */
#include "base/crc32c.h"
#include "base/rng.h"
#include "test/harness.h"

/* RFC 3720, B.4. */
TEST(nd_crc32c__published_vectors)
{
	uint8_t data[32];

	CHECK_EQ(nd_crc32c("123456789", 9), 0xe3069283);
	CHECK_EQ(nd_crc32c("", 0), 0);
	memset(data, 0, sizeof(data));
	CHECK_EQ(nd_crc32c(data, 32), 0x8a9136aa);
	memset(data, 0xff, sizeof(data));
	CHECK_EQ(nd_crc32c(data, 32), 0x62a8ab43);
	for (unsigned i = 0; i < 32; i++)
		data[i] = (uint8_t)i;
	CHECK_EQ(nd_crc32c(data, 32), 0x46dd794e);
}

static void check_agree(uint32_t before, const uint8_t *data, size_t bytes)
{
	uint32_t crc = nd_crc32c_add_table(before, data, bytes);

	CHECK_EQ(nd_crc32c_add(before, data, bytes), crc);
	CHECK_EQ(nd_crc32c_add_instruction(before, data, bytes), crc);
}

TEST(nd_crc32c__all_ways_agree_at_every_length_and_alignment)
{
	struct nd_rng rng = nd_rng_make(1, 1);
	uint8_t data[900];

	for (unsigned i = 0; i < sizeof(data); i++)
		data[i] = (uint8_t)nd_rng_u64(&rng);
	for (size_t offset = 0; offset < 9; offset++) {
		for (size_t bytes = 0; bytes + offset <= sizeof(data); bytes++)
			check_agree(0, data + offset, bytes);
	}
}

TEST(nd_crc32c__all_ways_agree_on_long_data)
{
	struct nd_rng rng = nd_rng_make(1, 2);
	static uint8_t data[9001];

	for (unsigned i = 0; i < sizeof(data); i++)
		data[i] = (uint8_t)nd_rng_u64(&rng);
	for (size_t bytes = 370; bytes < sizeof(data); bytes += 1 + bytes / 40)
		check_agree((uint32_t)bytes, data + bytes % 7, bytes - 7);
}

TEST(nd_crc32c_add__goes_on_where_it_stopped)
{
	static const char text[] = "The quick brown fox jumps over the lazy dog";
	size_t bytes = sizeof(text) - 1;

	for (size_t cut = 0; cut <= bytes; cut++) {
		uint32_t first = nd_crc32c(text, cut);

		CHECK_EQ(nd_crc32c_add(first, text + cut, bytes - cut), nd_crc32c(text, bytes));
		CHECK_EQ(nd_crc32c_add_table(first, text + cut, bytes - cut),
			 nd_crc32c(text, bytes));
	}
	CHECK_EQ(nd_crc32c(text, bytes), 0x22620404);
}

int main(int argc, char **argv)
{
	return nd_test_main(argc, argv);
}
