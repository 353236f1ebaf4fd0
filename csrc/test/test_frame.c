// SPDX-License-Identifier: Apache-2.0
/* Whole frames to and from packets: every form, every cut, foreign and hostile frames. */
#include "test/frame_fixture.h"

/* HM#81/#82: Homa also inside UDP. */
TEST(nd_frame_decode__inverts_encode)
{
	for (unsigned form = 0; form < WIRE_FORMS; form++) {
		begin(form);
		round_trip(wire_ndp_data(payload));
		for (uint8_t type = ND_NDP_ACK; type <= ND_NDP_CLOSE; type++)
			round_trip(wire_ndp_control(type));
		for (unsigned in_udp = 0; in_udp < 2; in_udp++) {
			config.homa_in_udp = in_udp;
			round_trip(wire_homa_data(payload));
			for (uint8_t type = ND_HOMA_GRANT; type <= ND_HOMA_ACK; type++)
				round_trip(wire_homa_control(type));
		}
	}
}

TEST(nd_frame_decode__keeps_marks_and_priorities)
{
	static const uint8_t marks[] = {
		0,
		ND_MARK_TRIMMABLE,
		ND_MARK_TRIMMABLE | ND_MARK_ECT,
		ND_MARK_TRIMMABLE | ND_MARK_ECT | ND_MARK_CE,
		ND_MARK_TRIMMABLE | ND_MARK_TRIMMED,
		ND_MARK_TRIMMABLE | ND_MARK_TRIMMED | ND_MARK_LAST_HOP,
		ND_MARK_TRIMMABLE | ND_MARK_TRIMMED | ND_MARK_BOUNCED | ND_MARK_ECT,
	};

	for (unsigned form = 0; form < WIRE_FORMS; form++) {
		begin(form);
		for (unsigned i = 0; i < ND_ARRAY_SIZE(marks); i++) {
			for (uint8_t priority = 0; priority < 8; priority++) {
				struct nd_packet data = wire_ndp_data(payload);
				struct nd_packet homa = wire_homa_data(payload);

				data.marks = marks[i];
				data.priority = homa.priority = priority;
				if (data.marks & ND_MARK_TRIMMED)
					data.payload = NULL;
				round_trip(data);
				homa.marks = marks[i] & (ND_MARK_ECT | ND_MARK_CE);
				round_trip(homa);
			}
		}
	}
}

/* The simulator's packets carry lengths alone. */
TEST(nd_frame_encode__payload_that_is_not_there_is_zeros)
{
	struct nd_packet data = wire_ndp_data(NULL);

	begin(WIRE_V4);
	CHECK_EQ(encode(&data), 14 + 20 + 8 + 40 + 1000);
	CHECK_EQ(decode(), ND_WIRE_OK);
	for (unsigned i = 0; i < 1000; i++)
		CHECK_EQ(packet.payload[i], 0);
}

/* R-NSW-15: what a packet takes on a link is known and exact. */
TEST(nd_frame_overhead__says_what_frames_take)
{
	static const uint32_t ndp[] = { 82, 102, 86, 106 };
	static const uint32_t homa[] = { 90, 110, 94, 114 };

	for (unsigned form = 0; form < WIRE_FORMS; form++) {
		struct nd_packet data = wire_ndp_data(payload);
		struct nd_packet busy = wire_homa_control(ND_HOMA_BUSY);

		begin(form);
		CHECK_EQ(nd_frame_overhead(&config, &peer, ND_PROTO_NDP, ND_NDP_DATA),
			 ndp[form] + 24);
		CHECK_EQ(nd_frame_overhead(&config, &peer, ND_PROTO_HOMA, ND_HOMA_DATA),
			 homa[form] + 24);
		encode(&data);
		CHECK_EQ(decode(), ND_WIRE_OK);
		CHECK_EQ(packet.wire_bytes, ndp[form] + 1000 + 24);
		CHECK_EQ(packet.header_bytes, ndp[form] + 24);
		encode(&busy);
		CHECK_EQ(decode(), ND_WIRE_OK);
		CHECK_EQ(packet.wire_bytes,
			 nd_frame_overhead(&config, &peer, ND_PROTO_HOMA, ND_HOMA_BUSY));
	}
	/* 62 bytes of frame; Ethernet's least is 60. */
	config.framing_bytes = 0;
	peer = wire_peer(WIRE_V4);
	CHECK_EQ(nd_frame_overhead(&config, &peer, ND_PROTO_HOMA, ND_HOMA_BUSY), 62);
}

/* Writes the headers alone, which leaves what is behind them as it is, and puts the payload there. */
static void check_headers(const struct nd_packet *sent)
{
	static uint8_t pieces[sizeof(frame)];
	struct nd_frame_template template;
	uint32_t headers, whole = encode(sent);

	nd_frame_prepare(&config, &peer, &template);
	memset(pieces, 0xee, sizeof(pieces));
	headers = nd_frame_encode_headers(&template, sent, pieces, whole);
	CHECK_EQ(headers, whole - sent->payload_bytes);
	for (uint32_t i = headers; i < sizeof(pieces); i++)
		CHECK_EQ(pieces[i], 0xee);
	memcpy(pieces + headers, sent->payload, sent->payload_bytes);
	CHECK_EQ(memcmp(pieces, frame, whole), 0);
}

TEST(nd_frame_encode_headers__with_the_payload_behind_is_the_whole)
{
	for (unsigned form = 0; form < WIRE_FORMS; form++) {
		for (unsigned in_udp = 0; in_udp < 2; in_udp++) {
			struct nd_packet data = wire_ndp_data(payload);
			struct nd_packet homa = wire_homa_data(payload);

			begin(form);
			config.homa_in_udp = in_udp;
			config.homa_checksum = false;
			check_headers(&data);
			data.marks |= ND_MARK_ECT | ND_MARK_CE;
			data.payload_bytes = 1;
			check_headers(&data);
			check_headers(&homa);
			homa.homa.ack_count = 0;
			homa.payload_bytes = 1999;
			check_headers(&homa);
		}
	}
}

static void check_refuses_headers(struct nd_packet sent, uint32_t room)
{
	struct nd_frame_template template;

	nd_frame_prepare(&config, &peer, &template);
	CHECK_EQ(nd_frame_encode_headers(&template, &sent, frame, room), 0);
}

/* What has to be encoded whole: no payload, none that could be looked at, or a check of everything. */
TEST(nd_frame_encode_headers__refuses_what_is_only_whole)
{
	for (unsigned form = 0; form < WIRE_FORMS; form++) {
		struct nd_packet data[] = { wire_ndp_data(payload), wire_homa_data(payload) };

		begin(form);
		check_refuses_headers(data[1], sizeof(frame)); /* with its checksum */
		config.homa_checksum = false;
		for (unsigned i = 0; i < ND_ARRAY_SIZE(data); i++) {
			struct nd_packet none = data[i], empty = data[i], trimmed = data[i];

			check_refuses_headers(data[i], encode(&data[i]) - 1);
			none.payload = NULL;
			check_refuses_headers(none, sizeof(frame));
			empty.payload_bytes = 0;
			check_refuses_headers(empty, sizeof(frame));
			trimmed.marks |= ND_MARK_TRIMMED;
			check_refuses_headers(trimmed, sizeof(frame));
		}
		check_refuses_headers(wire_ndp_control(ND_NDP_ACK), sizeof(frame));
		check_refuses_headers(wire_homa_control(ND_HOMA_GRANT), sizeof(frame));
		check_refuses_headers(wire_homa_control(0x19), sizeof(frame));
	}
}

TEST(nd_frame_encode__needs_room)
{
	struct nd_packet data = wire_ndp_data(payload);
	struct nd_packet odd = wire_homa_control(0x19);

	begin(WIRE_V6);
	CHECK_EQ(wire_encode(&config, &peer, &data, frame, 1102), 1102);
	CHECK_EQ(wire_encode(&config, &peer, &data, frame, 1101), 0);
	CHECK_EQ(wire_encode(&config, &peer, &odd, frame, sizeof(frame)), 0);
	data.payload_bytes = UINT16_MAX;
	CHECK_EQ(wire_encode(&config, &peer, &data, frame, 1u << 20), 0);
	data.protocol = ND_PROTO_OTHER;
	CHECK_EQ(wire_encode(&config, &peer, &data, frame, sizeof(frame)), 0);
}

TEST(nd_frame_encode__one_template_for_any_packet)
{
	static uint8_t alone[2048];
	struct nd_packet sent[] = { wire_ndp_data(payload), wire_ndp_control(ND_NDP_PULL),
				    wire_homa_data(payload), wire_homa_control(ND_HOMA_GRANT),
				    wire_homa_control(ND_HOMA_ACK) };
	struct nd_frame_template template;

	for (unsigned form = 0; form < WIRE_FORMS; form++) {
		begin(form);
		nd_frame_prepare(&config, &peer, &template);
		memset(frame, 0xee, sizeof(frame));
		for (unsigned i = 0; i < 2 * ND_ARRAY_SIZE(sent); i++) {
			const struct nd_packet *one = &sent[i % ND_ARRAY_SIZE(sent)];

			bytes = nd_frame_encode(&template, one, frame, sizeof(frame));
			memset(alone, 0x11, sizeof(alone));
			CHECK_EQ(wire_encode(&config, &peer, one, alone, sizeof(alone)), bytes);
			CHECK_EQ(memcmp(frame, alone, bytes), 0);
			CHECK_EQ(decode(), ND_WIRE_OK);
		}
	}
}

TEST(nd_frame_encode__path_is_the_source_port)
{
	struct nd_packet data = wire_ndp_data(payload);

	begin(WIRE_V6);
	encode(&data);
	CHECK_EQ(nd_get_u16(frame + 54), 49152 + 0x1234);
	CHECK_EQ(nd_get_u16(frame + 56), ND_NDP_UDP_PORT);
	CHECK_EQ(nd_get_u32(frame + 14) & 0xfffff, 49152 + 0x1234);
	config.source_port_count = 16;
	encode(&data);
	CHECK_EQ(nd_get_u16(frame + 54), 49152 + 4);
	CHECK_EQ(decode(), ND_WIRE_OK);
	CHECK_EQ(packet.path, 0x1234);
}

/* U17: what a header looks like to a switch, by kind of packet. */
TEST(nd_frame_encode__code_points)
{
	struct nd_packet data = wire_ndp_data(payload), pull = wire_ndp_control(ND_NDP_PULL);
	struct nd_packet homa = wire_homa_data(payload);

	begin(WIRE_V4_TAGGED);
	encode(&data);
	CHECK_EQ(frame[19], 11 << 2);
	CHECK_EQ(nd_get_u16(frame + 14), 5 << 13 | 42);
	data.marks = 0;
	encode(&data);
	CHECK_EQ(frame[19], 3 << 2);
	encode(&pull);
	CHECK_EQ(frame[19], 46 << 2);
	homa.marks = ND_MARK_ECT;
	encode(&homa);
	CHECK_EQ(frame[19], 6 << 5 | 2);
	begin(WIRE_V6);
	encode(&homa);
	CHECK_EQ(nd_get_u32(frame + 14), 0x6c200000);
}

/* HM#23/#24: IPv4 identification is 0 with DF set. */
TEST(nd_frame_encode__ipv4_header)
{
	struct nd_packet homa = wire_homa_data(payload);
	uint8_t expected[20];

	begin(WIRE_V4);
	encode(&homa);
	wire_hex("45 c0 02a4 0000 4000 40 92 0000 0a00000b 0a00000a", expected);
	memcpy(expected + 10, frame + 24, 2);
	CHECK_EQ(memcmp(frame + 14, expected, 20), 0);
	CHECK_EQ(nd_checksum_fold(nd_checksum_add(0, frame + 14, 20)), 0xffff);
}

/*
 * Hardware cuts anywhere from the end of the header up to 1024 bytes, with or without new lengths,
 * and with code points of its own.
 */
TEST(nd_frame_decode__accepts_what_hardware_makes)
{
	for (unsigned form = 0; form < WIRE_FORMS; form++) {
		struct nd_packet data = wire_ndp_data(payload);
		uint32_t whole, header;

		begin(form);
		whole = encode(&data);
		header = whole - 1000;
		for (uint32_t cut = header; cut < whole && cut <= 1024; cut++) {
			bytes = cut;
			check_trimmed(0);
		}
		for (uint32_t cut = header; cut < whole && cut <= 1024; cut += 13) {
			encode(&data);
			bytes = cut;
			hardware_lengths(form, cut);
			check_trimmed(0);
			hardware_dscp(form, config.dscp_trimmed_last_hop);
			check_trimmed(ND_MARK_LAST_HOP);
			hardware_dscp(form, config.dscp_trimmed);
			check_trimmed(0);
			hardware_dscp(form, 0);
			check_trimmed(0);
		}
	}
}

/* Where both code points are the same, nobody can tell by them where a frame was cut. */
TEST(nd_frame_decode__one_code_point_tells_no_place)
{
	struct nd_packet data = wire_ndp_data(payload);

	begin(WIRE_V4);
	config.dscp_trimmed = config.dscp_trimmed_last_hop;
	bytes = encode(&data) - 500;
	hardware_lengths(WIRE_V4, bytes);
	hardware_dscp(WIRE_V4, config.dscp_trimmed_last_hop);
	check_trimmed(0);
}

/* Remarked but not cut, because it is shorter than the trim size: all of it is here. */
TEST(nd_frame_decode__remarked_but_whole_is_whole)
{
	struct nd_packet data = wire_ndp_data(payload);

	begin(WIRE_V4);
	encode(&data);
	hardware_dscp(WIRE_V4, config.dscp_trimmed);
	CHECK_EQ(decode(), ND_WIRE_OK);
	CHECK_EQ(packet.marks, 0);
	CHECK(packet.payload != NULL);
}

TEST(nd_frame_decode__a_cut_in_the_header_is_counted)
{
	struct nd_packet data = wire_ndp_data(payload), homa = wire_homa_data(payload);

	begin(WIRE_V4);
	encode(&data);
	for (bytes = 0; bytes < 82; bytes++)
		CHECK_EQ(decode(), bytes < 14 ? ND_WIRE_eth_short :
				   bytes < 34 ? ND_WIRE_ip_short :
				   bytes < 42 ? ND_WIRE_OK : ND_WIRE_ndp_short);
	encode(&homa);
	for (bytes = 34; bytes < 14 + 20 + 56 + 600; bytes++)
		CHECK_EQ(decode(), ND_WIRE_homa_cut);
	config.homa_in_udp = true;
	encode(&homa);
	bytes--;
	CHECK_EQ(decode(), ND_WIRE_homa_cut);
}

/* Padding up to Ethernet's least length, or beyond, is not payload. */
TEST(nd_frame_decode__ignores_padding)
{
	struct nd_packet busy = wire_homa_control(ND_HOMA_BUSY), data = wire_ndp_data(payload);

	begin(WIRE_V4);
	encode(&busy);
	bytes += 50;
	CHECK_EQ(decode(), ND_WIRE_OK);
	CHECK_EQ(packet.type, ND_HOMA_BUSY);
	data.payload_bytes = 3;
	encode(&data);
	bytes += 50;
	CHECK_EQ(decode(), ND_WIRE_OK);
	CHECK_EQ(packet.payload_bytes, 3);
}

/* X15: nothing below verified these bytes; a damaged payload is never handed on. */
TEST(nd_frame_decode__verifies_payload_where_told)
{
	struct nd_packet data = wire_ndp_data(payload), homa = wire_homa_data(payload);

	begin(WIRE_V4);
	encode(&data);
	frame[bytes - 1] ^= 0x10;
	CHECK_EQ(decode(), ND_WIRE_ndp_payload_check);
	CHECK_EQ(packet.protocol, ND_PROTO_OTHER);
	config.verify = ND_FRAME_VERIFY_NONE;
	CHECK_EQ(decode(), ND_WIRE_OK);

	config.verify = ND_FRAME_VERIFY_OURS;
	encode(&homa);
	frame[bytes - 1] ^= 0x10;
	CHECK_EQ(decode(), ND_WIRE_homa_checksum);
	homa.homa.speaker = 0;
	encode(&homa);
	frame[bytes - 1] ^= 0x10;
	CHECK_EQ(decode(), ND_WIRE_OK);
	config.verify = ND_FRAME_VERIFY_ALL;
	CHECK_EQ(decode(), ND_WIRE_homa_checksum);
	config.homa_checksum = false;
	encode(&homa);
	CHECK_EQ(decode(), ND_WIRE_OK);
}

TEST(nd_frame_decode__refuses_what_ip_gets_wrong)
{
	struct nd_packet data = wire_ndp_data(payload);

	begin(WIRE_V4);
	encode(&data);
	frame[14] = 0x65;
	CHECK_EQ(decode(), ND_WIRE_ip_version);
	frame[14] = 0x44;
	CHECK_EQ(decode(), ND_WIRE_ip_header);
	frame[14] = 0x4f;
	CHECK_EQ(decode(), ND_WIRE_OK); /* no UDP where the options end */
	encode(&data);
	nd_put_u16(frame + 16, 19);
	CHECK_EQ(decode(), ND_WIRE_ip_header);
	encode(&data);
	frame[26] ^= 4;
	CHECK_EQ(decode(), ND_WIRE_ip_checksum);
	encode(&data);
	nd_put_u16(frame + 20, 0x2000);
	CHECK_EQ(decode(), ND_WIRE_ip_fragment);
	encode(&data);
	nd_put_u16(frame + 38, 7);
	CHECK_EQ(decode(), ND_WIRE_udp_length);
	begin(WIRE_V6);
	encode(&data);
	frame[14] = 0x40;
	CHECK_EQ(decode(), ND_WIRE_ip_version);
	encode(&data);
	frame[14 + 24 + 3] ^= 1; /* the target address */
	CHECK_EQ(decode(), ND_WIRE_ndp_header_check);
}

TEST(nd_frame_decode__skips_ipv4_options)
{
	struct nd_packet data = wire_ndp_data(payload);
	uint16_t sum;

	begin(WIRE_V4);
	encode(&data);
	memmove(frame + 42, frame + 34, bytes - 34);
	memset(frame + 34, 1, 8); /* no operation */
	frame[14] = 0x47;
	nd_put_u16(frame + 16, (uint16_t)(nd_get_u16(frame + 16) + 8));
	memset(frame + 24, 0, 2);
	sum = (uint16_t)~nd_checksum_fold(nd_checksum_add(0, frame + 14, 28));
	memcpy(frame + 24, &sum, 2);
	bytes += 8;
	CHECK_EQ(decode(), ND_WIRE_OK);
	CHECK_EQ(packet.payload_bytes, 1000);
	CHECK_EQ(packet.protocol, ND_PROTO_NDP);
}

/* What is not ours is forwarded with what a switch needs to know. */
TEST(nd_frame_message_at__is_where_the_header_begins)
{
	static const uint32_t ndp_at[WIRE_FORMS] = { 42, 62, 46, 66 };
	struct nd_packet data = wire_ndp_data(payload);

	for (unsigned form = 0; form < WIRE_FORMS; form++) {
		begin(form);
		encode(&data);
		CHECK_EQ(nd_frame_message_at(&config, frame, bytes), ndp_at[form]);
		CHECK_EQ(nd_frame_message_at(&config, frame, 20), 0);
	}
}

TEST(nd_frame_decode__foreign_frames)
{
	struct nd_packet data = wire_ndp_data(payload);

	begin(WIRE_V4);
	encode(&data);
	nd_put_u16(frame + 36, 53);
	frame[15] = 0xb9; /* EF, ECT(1) */
	CHECK_EQ(decode(), ND_WIRE_OK);
	CHECK_EQ(packet.protocol, ND_PROTO_OTHER);
	CHECK_EQ(packet.priority, 5);
	CHECK_EQ(packet.marks, ND_MARK_ECT);
	CHECK_EQ(packet.wire_bytes, 1082 + 24);
	CHECK_EQ(packet.header_bytes, 1082 + 24);
	memset(frame, 0xff, 6);
	CHECK_EQ(decode(), ND_WIRE_OK);
	CHECK_EQ(packet.marks, ND_MARK_ECT | ND_MARK_FLOOD);
	nd_put_u16(frame + 12, 0x0806);
	bytes = 42;
	CHECK_EQ(decode(), ND_WIRE_OK);
	CHECK_EQ(packet.protocol, ND_PROTO_OTHER);
	CHECK_EQ(packet.marks, ND_MARK_FLOOD);
	CHECK_EQ(packet.wire_bytes, 60 + 24);
	nd_put_u16(frame + 12, 0x8100);
	nd_put_u16(frame + 14, 3 << 13 | 9);
	CHECK_EQ(decode(), ND_WIRE_OK);
	CHECK_EQ(packet.priority, 3);
}

/* Both directions have a flow each, the same for all packets of a connection. */
TEST(nd_frame_decode__flow_is_the_connection)
{
	struct nd_packet data = wire_ndp_data(payload);
	uint16_t flow;

	for (unsigned form = 0; form < WIRE_FORMS; form++) {
		begin(form);
		encode(&data);
		decode();
		flow = packet.flow;
		data.path++;
		data.ndp.sequence++;
		encode(&data);
		decode();
		CHECK_EQ(packet.flow, flow);
		data.ndp.connection++;
		encode(&data);
		decode();
		CHECK(packet.flow != flow);
	}
}

TEST(nd_frame_decode__longer_than_any_ip_packet)
{
	static uint8_t long_frame[70000];
	struct nd_packet data = wire_ndp_data(payload);

	begin(WIRE_V4);
	wire_encode(&config, &peer, &data, long_frame, sizeof(long_frame));
	CHECK_EQ(nd_frame_decode(&config, long_frame, sizeof(long_frame), NULL, &packet),
		 ND_WIRE_eth_oversize);
	CHECK_EQ(packet.wire_bytes, UINT16_MAX);
}

/* Random damage: a result, never a read beyond the end (run under AddressSanitizer too). */
TEST(nd_frame_decode__survives_noise)
{
	struct nd_rng rng = nd_rng_make(11, 5);
	struct nd_packet sent[] = { wire_ndp_data(payload), wire_homa_data(payload),
				    wire_homa_control(ND_HOMA_ACK) };

	for (unsigned round = 0; round < 40000; round++) {
		uint8_t *exact;
		uint32_t cut;

		begin(round % WIRE_FORMS);
		config.homa_in_udp = round & 8;
		encode(&sent[nd_rng_below(&rng, 3)]);
		for (uint32_t flips = nd_rng_below(&rng, 4); flips; flips--)
			frame[nd_rng_below(&rng, 90)] = (uint8_t)nd_rng_u64(&rng);
		cut = nd_rng_below(&rng, 2) ? bytes : nd_rng_below(&rng, bytes + 1);
		exact = malloc(cut ? cut : 1);
		memcpy(exact, frame, cut);
		nd_frame_decode(&config, exact, cut, &got_peer, &packet);
		CHECK(packet.payload == NULL || (packet.payload >= exact &&
			packet.payload + packet.payload_bytes <= exact + cut));
		free(exact);
	}
}

TEST(nd_frame_config_check__names_what_is_wrong)
{
	const char *why;

	begin(WIRE_V4);
	CHECK_EQ(nd_frame_config_check(&config, &why), 0);
	CHECK(why == NULL);
	config.homa_port = config.ndp_port;
	CHECK_EQ(nd_frame_config_check(&config, &why), -EINVAL);
	CHECK(strstr(why, "homa_port") != NULL);
	begin(WIRE_V4);
	config.source_port_first = 60000;
	CHECK_EQ(nd_frame_config_check(&config, &why), -EINVAL);
	begin(WIRE_V4);
	config.dscp_trimmable = config.dscp_trimmed;
	CHECK_EQ(nd_frame_config_check(&config, &why), -EINVAL);
	begin(WIRE_V4);
	config.dscp_homa[3] = 64;
	CHECK_EQ(nd_frame_config_check(&config, &why), -EINVAL);
	begin(WIRE_V4);
	config.pcp[7] = 8;
	CHECK_EQ(nd_frame_config_check(&config, &why), -EINVAL);
	begin(WIRE_V4);
	config.hop_limit = 0;
	CHECK_EQ(nd_frame_config_check(&config, &why), -EINVAL);
	begin(WIRE_V4);
	config.verify = 3;
	CHECK_EQ(nd_frame_config_check(&config, &why), -EINVAL);
}

TEST(nd_wire_count__bumps_the_counter_of_that_name)
{
	struct nd_wire_counters counters = { 0 };

	nd_wire_count(&counters, ND_WIRE_OK);
	nd_wire_count(&counters, ND_WIRE_eth_short);
	nd_wire_count(&counters, ND_WIRE_homa_checksum);
	CHECK_EQ(counters.eth_short, 1);
	CHECK_EQ(counters.homa_checksum, 1);
	CHECK_STR(nd_wire_counters_table.texts[ND_WIRE_ndp_version - 1].name, "ndp_version");
	CHECK_EQ(nd_wire_counters_table.count, ND_WIRE_homa_checksum);
}

int main(int argc, char **argv)
{
	return nd_test_main(argc, argv);
}
