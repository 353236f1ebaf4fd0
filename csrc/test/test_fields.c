// SPDX-License-Identifier: Apache-2.0
/* The format table against the codecs: what encode writes it finds, and nothing overlaps. */
#include "base/crc32c.h"
#include "base/rng.h"
#include "test/harness.h"
#include "test/wire.h"
#include "wire/bytes.h"
#include "wire/fields.h"

static uint8_t header[128];
static uint32_t header_bytes;
static const struct nd_packet *current;

static bool applies(const struct nd_field *field)
{
	uint32_t index = current->type - nd_field_type_base(current->protocol);

	return field->protocol == current->protocol && (field->types >> index & 1);
}

static const struct nd_field *find(const char *name)
{
	for (uint32_t i = 0; i < nd_fields_count; i++) {
		if (applies(&nd_fields[i]) && strcmp(nd_fields[i].name, name) == 0)
			return &nd_fields[i];
	}
	nd_test_fail(__FILE__, __LINE__, name);
}

static void check(const char *name, uint32_t occurrence, uint64_t expected)
{
	uint64_t value;

	CHECK(nd_field_get(find(name), occurrence, header, header_bytes, &value));
	if (value != expected)
		fprintf(stderr, "  %s of type %u\n", name, current->type);
	CHECK_EQ(value, expected);
}

static void encode_ndp(const struct nd_packet *packet)
{
	current = packet;
	header_bytes = ND_NDP_HEADER_BYTES;
	nd_ndp_encode(packet, 0, 0x5ca1ab1e, header);
}

static void check_ndp(const struct nd_packet *packet)
{
	const struct nd_ndp_header *ndp = &packet->ndp;

	encode_ndp(packet);
	check("version", 0, 1);
	check("type", 0, packet->type);
	check("bounced", 0, (packet->marks & ND_MARK_BOUNCED) != 0);
	check("flags", 0, packet->flags);
	check("priority", 0, packet->priority);
	check("trim_location", 0, !(packet->marks & ND_MARK_TRIMMED) ? ND_NDP_TRIM_NONE :
				  packet->marks & ND_MARK_LAST_HOP   ? ND_NDP_TRIM_LAST_HOP :
								       ND_NDP_TRIM_FABRIC);
	check("spare", 0, 0);
	check("header_words", 0, 10);
	check("connection", 0, ndp->connection);
	check("sequence", 0, ndp->sequence);
	if (packet->type == ND_NDP_DATA) {
		check("service", 0, ndp->service);
		check("base", 0, ndp->base);
	} else if (packet->type != ND_NDP_CLOSE) {
		check("pull", 0, ndp->pull);
	}
	check("message_bytes", 0, ndp->message_bytes);
	if (packet->type == ND_NDP_ACK || packet->type == ND_NDP_NACK)
		check("arrived", 0, ndp->arrived);
	else
		check("offset", 0, ndp->offset);
	check("message", 0, ndp->message);
	check("path", 0, packet->path);
	check("payload_bytes", 0, packet->payload_bytes);
	check("backlog", 0, ndp->backlog);
	check("payload_check", 0, 0x5ca1ab1e);
	check("header_check", 0, nd_crc32c(header, 36));
}

TEST(nd_fields__agree_with_the_ndp_codec)
{
	struct nd_rng rng = nd_rng_make(8, 8);

	for (unsigned round = 0; round < 3000; round++) {
		struct nd_packet packet = {
			.path = (uint16_t)nd_rng_u64(&rng),
			.payload_bytes = (uint16_t)nd_rng_u64(&rng),
			.protocol = ND_PROTO_NDP,
			.type = (uint8_t)(ND_NDP_DATA + round % ND_NDP_CLOSE),
			.priority = (uint8_t)nd_rng_below(&rng, 8),
			.marks = (uint8_t)nd_rng_u64(&rng),
			.flags = (uint8_t)nd_rng_below(&rng, 128),
			.ndp = {
				.connection = (uint32_t)nd_rng_u64(&rng),
				.sequence = (uint32_t)nd_rng_u64(&rng),
				.pull = (uint32_t)nd_rng_u64(&rng),
				.message_bytes = (uint32_t)nd_rng_u64(&rng),
				.offset = (uint32_t)nd_rng_u64(&rng),
				.message = (uint16_t)nd_rng_u64(&rng),
				.backlog = (uint16_t)nd_rng_u64(&rng),
			},
		};

		check_ndp(&packet);
	}
}

static void check_homa_data(const struct nd_homa_header *homa)
{
	check("sequence", 0, homa->offset);
	check("header_length", 0, 0xe0);
	check("message_bytes", 0, homa->message_bytes);
	check("incoming", 0, homa->length);
	check("ack_id", 0, homa->ack_count ? homa->ack_ids[0] : 0);
	check("ack_port", 0, homa->ack_count ? homa->ack_ports[0] : 0);
	check("cutoff_version", 0, homa->cutoff_version);
	check("retransmit", 0, homa->retransmit);
	check("pad", 0, 0);
	check("offset", 0, homa->offset);
}

static void check_homa_lists(const struct nd_packet *packet)
{
	const struct nd_homa_header *homa = &packet->homa;

	if (packet->type == ND_HOMA_CUTOFFS) {
		for (uint32_t i = 0; i < ND_HOMA_PRIORITIES; i++)
			check("cutoff", i, homa->cutoffs[i]);
		check("cutoff_version", 0, homa->cutoff_version);
	}
	if (packet->type == ND_HOMA_ACK) {
		check("ack_count", 0, homa->ack_count);
		for (uint32_t i = 0; i < ND_HOMA_ACKS_MAX; i++) {
			check("ack_id", i, i < homa->ack_count ? homa->ack_ids[i] : 0);
			check("ack_port", i, i < homa->ack_count ? homa->ack_ports[i] : 0);
		}
	}
}

static void check_homa(const struct nd_packet *packet)
{
	const struct nd_homa_header *homa = &packet->homa;

	current = packet;
	header_bytes = nd_homa_encode(packet, header);
	check("source_port", 0, homa->source_port);
	check("target_port", 0, homa->target_port);
	check("speaker", 0, homa->speaker);
	check("note", 0, homa->note);
	check("acknowledgement", 0, 0);
	check("type", 0, packet->type);
	check("tcp_flags", 0, 6);
	check("window", 0, 0);
	check("checksum", 0, 0);
	check("urgent", 0, 0xb97d);
	check("sender_id", 0, homa->sender_id);
	if (packet->type == ND_HOMA_DATA) {
		check_homa_data(homa);
		return;
	}
	check("sequence", 0, 0);
	check("header_length", 0, 0x50);
	if (packet->type == ND_HOMA_GRANT || packet->type == ND_HOMA_RESEND) {
		check("offset", 0, homa->offset);
		check("level", 0, homa->level);
	}
	if (packet->type == ND_HOMA_RESEND)
		check("length", 0, homa->length);
	check_homa_lists(packet);
}

/* R-H32-2: each type has the fields that the paper gives it. */
TEST(nd_fields__agree_with_the_homa_codec)
{
	struct nd_rng rng = nd_rng_make(8, 9);

	for (unsigned round = 0; round < 3000; round++) {
		struct nd_packet packet = {
			.protocol = ND_PROTO_HOMA,
			.type = (uint8_t)(ND_HOMA_DATA + round % 9),
			.homa = {
				.sender_id = nd_rng_u64(&rng),
				.source_port = (uint16_t)nd_rng_u64(&rng),
				.target_port = (uint16_t)nd_rng_u64(&rng),
				.cutoff_version = (uint16_t)nd_rng_u64(&rng),
				.retransmit = (uint8_t)nd_rng_u64(&rng),
				.speaker = (uint8_t)nd_rng_u64(&rng),
				.note = (uint8_t)nd_rng_u64(&rng),
				.level = (uint8_t)nd_rng_u64(&rng),
				.message_bytes = (uint32_t)nd_rng_u64(&rng),
				.offset = (uint32_t)nd_rng_u64(&rng),
				.length = (uint32_t)nd_rng_u64(&rng),
			},
		};

		packet.homa.ack_count = (uint16_t)nd_rng_below(
			&rng, packet.type == ND_HOMA_DATA ? 2 : ND_HOMA_ACKS_MAX + 1);
		for (unsigned i = 0; i < ND_HOMA_ACKS_MAX; i++) {
			packet.homa.ack_ids[i] = nd_rng_u64(&rng);
			packet.homa.ack_ports[i] = (uint16_t)nd_rng_u64(&rng);
		}
		check_homa(&packet);
	}
}

/* Marks the bits of a field; each bit belongs to one. */
static void cover(const struct nd_field *field, bool *covered, uint32_t bits)
{
	for (uint32_t n = 0; n < field->repeat; n++) {
		for (uint32_t i = 0; i < field->bit_width; i++) {
			uint32_t bit = field->bit_offset + n * field->bit_stride + i;

			CHECK(bit < bits);
			CHECK(!covered[bit]);
			covered[bit] = true;
		}
	}
}

TEST(nd_fields__cover_every_header_without_overlap)
{
	for (unsigned type = 0; type < 0x20; type++) {
		bool covered[ND_HOMA_HEADER_BYTES_MAX * 8] = { false };
		struct nd_packet packet = {
			.protocol = type < ND_HOMA_DATA ? ND_PROTO_NDP : ND_PROTO_HOMA,
			.type = (uint8_t)type,
		};
		uint32_t bits = 8 * (type < ND_HOMA_DATA ? ND_NDP_HEADER_BYTES :
							   nd_homa_header_bytes((uint8_t)type));
		uint32_t count = 0;

		current = &packet;
		for (uint32_t i = 0; i < nd_fields_count; i++) {
			if (!applies(&nd_fields[i]))
				continue;
			cover(&nd_fields[i], covered, bits);
			count++;
		}
		if (type == 0 || (type > ND_NDP_CLOSE && type < ND_HOMA_DATA) || type > ND_HOMA_ACK) {
			CHECK_EQ(count, 0);
			continue;
		}
		/* CLOSE has no use for the pull, and GRANT's last byte is padding for old kernels. */
		for (uint32_t bit = 0; bit < bits; bit++)
			CHECK(covered[bit] || (type == ND_NDP_CLOSE && bit / 32 == 3) ||
			      (type == ND_HOMA_GRANT && bit / 8 == 33));
	}
}

TEST(nd_field_values__belong_to_fields_and_fit)
{
	for (uint32_t i = 0; i < nd_field_values_count; i++) {
		const struct nd_field_value *value = &nd_field_values[i];
		bool found = false;

		for (uint32_t j = 0; j < nd_fields_count; j++) {
			const struct nd_field *field = &nd_fields[j];

			if (field->protocol != value->protocol || strcmp(field->name, value->field) != 0)
				continue;
			CHECK(field->view == ND_FIELD_NAMED || field->view == ND_FIELD_FLAGS);
			CHECK(value->value < UINT64_C(1) << field->bit_width);
			found = true;
		}
		CHECK(found);
	}
}

TEST(nd_field_get__stays_inside)
{
	struct nd_packet ack = wire_homa_control(ND_HOMA_ACK);
	uint64_t value;

	current = &ack;
	header_bytes = nd_homa_encode(&ack, header);
	CHECK(nd_field_get(find("ack_port"), 4, header, 80, &value));
	CHECK(!nd_field_get(find("ack_port"), 4, header, 79, &value));
	CHECK(!nd_field_get(find("ack_port"), 5, header, 200, &value));
	CHECK(!nd_field_get(find("source_port"), 0, header, 1, &value));
}

int main(int argc, char **argv)
{
	return nd_test_main(argc, argv);
}
