// SPDX-License-Identifier: Apache-2.0
/* Writes the seed corpora: make_seeds FOLDER makes FOLDER/<target>/<name> for each target. */
#include "base/rng.h"
#include "test/wire.h"
#include "wire/frame.h"

#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>

static const char *folder;
static uint8_t payload[64];

static int write_seed(const char *target, const char *name, unsigned number, const uint8_t *data,
		      uint32_t bytes)
{
	char path[512];
	FILE *file;
	bool whole;

	snprintf(path, sizeof(path), "%s/%s", folder, target);
	if (mkdir(path, 0777) < 0 && errno != EEXIST)
		return -errno;
	snprintf(path, sizeof(path), "%s/%s/%s-%u", folder, target, name, number);
	file = fopen(path, "wb");
	if (!file)
		return -errno;
	whole = fwrite(data, 1, bytes, file) == bytes;
	return fclose(file) == 0 && whole ? 0 : -EIO;
}

/* One packet as the targets want it: its bare message, the frame, the frame behind a mode byte. */
static int write_packet(const char *name, const struct nd_packet *packet, unsigned form)
{
	struct nd_frame_config config = nd_frame_config_default();
	struct nd_frame_peer peer = wire_peer((enum wire_form)(form % WIRE_FORMS));
	static const uint32_t message_at[] = { 34, 54, 38, 58 };
	uint32_t skip = message_at[form % WIRE_FORMS];
	uint8_t frame[512];
	uint32_t bytes;
	int error;

	config.homa_in_udp = form >= WIRE_FORMS;
	frame[0] = (uint8_t)(8 + form);
	bytes = wire_encode(&config, &peer, packet, frame + 1, sizeof(frame) - 1);
	if (packet->protocol == ND_PROTO_NDP || config.homa_in_udp)
		skip += 8;
	error = write_seed("fuzz_frame", name, form, frame, bytes + 1);
	if (!error)
		error = write_seed("fuzz_frame_edit", name, form, frame + 1, bytes);
	if (!error)
		error = write_seed(packet->protocol == ND_PROTO_NDP ? "fuzz_ndp_wire" :
								      "fuzz_homa_wire",
				   name, form, frame + 1 + skip, bytes - skip);
	return error;
}

static int write_packets(void)
{
	int error = 0;

	for (unsigned form = 0; form < 2 * WIRE_FORMS && !error; form++) {
		struct nd_packet packet = wire_ndp_data(payload);

		packet.payload_bytes = sizeof(payload);
		error = write_packet("ndp-data", &packet, form);
		packet.marks |= ND_MARK_TRIMMED | ND_MARK_ECT;
		error = error ? error : write_packet("ndp-trimmed", &packet, form);
		for (uint8_t type = ND_NDP_ACK; type <= ND_NDP_CLOSE && !error; type++) {
			packet = wire_ndp_control(type);
			error = write_packet("ndp-control", &packet, form + type * 10u);
		}
		packet = wire_homa_data(payload);
		packet.payload_bytes = sizeof(payload);
		error = error ? error : write_packet("homa-data", &packet, form);
		for (uint8_t type = ND_HOMA_GRANT; type <= ND_HOMA_ACK && !error; type++) {
			packet = wire_homa_control(type);
			error = write_packet("homa-control", &packet, form + type * 10u);
		}
	}
	return error;
}

/* Programs of recordings: a set-up as it should be, then anything. */
static int write_programs(void)
{
	uint8_t program[1500] = { 0 };
	int error = 0;

	for (unsigned number = 0; number < 16 && !error; number++) {
		struct nd_rng rng = nd_rng_make(number, 0);

		for (size_t i = 5; i < sizeof(program); i++)
			program[i] = (uint8_t)nd_rng_below(&rng, 256);
		error = write_seed("fuzz_replay", "program", number, program, sizeof(program));
	}
	return error;
}

int main(int argc, char **argv)
{
	uint8_t golden[256] = { 0 };
	int error = 0;

	if (argc != 2) {
		fprintf(stderr, "usage: %s FOLDER\n", argv[0]);
		return 2;
	}
	folder = argv[1];
	for (unsigned i = 0; i < ND_ARRAY_SIZE(wire_golden) && !error; i++)
		error = write_seed("fuzz_homa_wire", "golden", i, golden,
				   wire_hex(wire_golden[i].hex, golden));
	if (!error)
		error = write_packets();
	if (!error)
		error = write_programs();
	if (error)
		fprintf(stderr, "%s: %s: %s\n", argv[0], folder, strerror(-error));
	return error ? 1 : 0;
}
