// SPDX-License-Identifier: Apache-2.0
/* The internet checksum: RFC 1071's example, odd lengths, updates in place, pseudo-headers. */
#include "base/rng.h"
#include "test/harness.h"
#include "wire/bytes.h"
#include "wire/checksum.h"

/* By the letter of RFC 1071, 16 bits at a time. */
static uint16_t plain_sum(const uint8_t *data, size_t bytes)
{
	uint32_t sum = 0;

	for (size_t i = 0; i < bytes; i++)
		sum += i % 2 ? data[i] : (uint32_t)data[i] << 8;
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t)sum;
}

static uint16_t sum_of(const uint8_t *data, size_t bytes)
{
	return htobe16(nd_checksum_fold(nd_checksum_add(0, data, bytes)));
}

TEST(nd_checksum_add__example_of_rfc_1071)
{
	static const uint8_t data[] = { 0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7 };

	CHECK_EQ(sum_of(data, sizeof(data)), 0xddf2);
}

TEST(nd_checksum_add__agrees_with_the_letter_at_every_length)
{
	struct nd_rng rng = nd_rng_make(3, 1);
	uint8_t data[600]; /* vectors from 256 on */

	for (unsigned round = 0; round < 4; round++) {
		for (unsigned i = 0; i < sizeof(data); i++)
			data[i] = round == 3 ? 0xff : (uint8_t)nd_rng_u64(&rng);
		for (size_t offset = 0; offset < 8; offset++) {
			for (size_t bytes = 0; offset + bytes <= sizeof(data); bytes++)
				CHECK_EQ(sum_of(data + offset, bytes),
					 plain_sum(data + offset, bytes));
		}
	}
}

/* RFC 1624: the update must give what a new sum would, also around 0 and 0xffff. */
TEST(nd_checksum_update__equals_a_new_sum)
{
	struct nd_rng rng = nd_rng_make(3, 2);
	uint8_t header[20];

	for (unsigned round = 0; round < 20000; round++) {
		uint16_t checksum, before, after;
		uint32_t at = 2 * nd_rng_below(&rng, 5);

		for (unsigned i = 0; i < sizeof(header); i++)
			header[i] = nd_rng_below(&rng, 3) ? (uint8_t)nd_rng_u64(&rng) : 0xff;
		header[0] = 0x45;
		nd_put_u16(header + 10, 0);
		checksum = (uint16_t)~nd_checksum_fold(nd_checksum_add_ipv4(header));
		memcpy(header + 10, &checksum, 2);
		CHECK_EQ(sum_of(header, sizeof(header)), 0xffff);
		memcpy(&before, header + at, 2);
		after = nd_rng_below(&rng, 4) ? (uint16_t)nd_rng_u64(&rng) : (uint16_t)~before;
		memcpy(header + at, &after, 2);
		nd_checksum_update(header + 10, before, after);
		CHECK_EQ(sum_of(header, sizeof(header)), 0xffff);
	}
}

TEST(nd_checksum_pseudo__counts_addresses_length_and_protocol)
{
	static const uint8_t addresses[] = { 10, 0, 0, 1, 10, 0, 0, 2 };

	CHECK_EQ(htobe16(nd_checksum_fold(nd_checksum_pseudo(addresses, 8, 6, 0x11223))),
		 0x0a00 + 1 + 0x0a00 + 2 + 6 + 1 + 0x1223);
}

int main(int argc, char **argv)
{
	return nd_test_main(argc, argv);
}
