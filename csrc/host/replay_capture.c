// SPDX-License-Identifier: Apache-2.0
/* Writes the frames of a replayed core into a capture file, as it received and sent them. */
#include "host/replay.h"

#include "wire/pcapng.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define BLOCK_BYTES (ND_REPLAY_FRAME_BYTES_MAX + 2 * ND_PCAPNG_HEADER_MAX)

struct capture {
	FILE *file;
	uint32_t interfaces; /* blocks written: ports below this one are known to readers */
	nd_ns epoch;
	uint8_t block[BLOCK_BYTES];
};

static int write_block(struct capture *capture, size_t bytes)
{
	return bytes && fwrite(capture->block, 1, bytes, capture->file) == bytes ? 0 : -EIO;
}

static int write_interface(struct capture *capture, const char *name)
{
	capture->interfaces++;
	return write_block(capture, nd_pcapng_interface(capture->block, BLOCK_BYTES, name,
							ND_REPLAY_FRAME_BYTES_MAX));
}

static int write_frame(void *context, const struct nd_replay_frame *frame)
{
	struct capture *capture = context;
	struct nd_pcapng_packet packet = {
		.interface = frame->port,
		.time = capture->epoch + frame->time,
		.frame = frame->data,
		.captured_bytes = nd_min_u32(frame->bytes, ND_REPLAY_FRAME_BYTES_MAX),
		.original_bytes = frame->bytes,
		.direction = frame->sent ? ND_PCAPNG_OUTBOUND : ND_PCAPNG_INBOUND,
	};
	char name[24];
	int code = 0;

	while (code == 0 && capture->interfaces <= frame->port) {
		snprintf(name, sizeof(name), "port %u", capture->interfaces);
		code = write_interface(capture,
				       capture->interfaces == frame->port ? frame->name : name);
	}
	return code ? code
		    : write_block(capture, nd_pcapng_packet(capture->block, BLOCK_BYTES, &packet));
}

int nd_replay_capture(struct nd_replay *replay, const char *path, struct nd_error *error)
{
	struct capture *capture;
	int code;

	if (nd_replay_is_of(replay, path))
		return nd_error_set(error, -EINVAL, "%s: it is the recording itself; name another "
						    "file for the capture",
				    path);
	capture = calloc(1, sizeof(*capture));
	if (!capture)
		return nd_error_set(error, -ENOMEM, "%s: no memory", path);
	capture->epoch = nd_replay_result(replay)->epoch;
	capture->file = fopen(path, "wb");
	if (!capture->file) {
		code = nd_error_set(error, -errno, "%s: %s", path, strerror(errno));
		free(capture);
		return code;
	}
	code = write_block(capture, nd_pcapng_section(capture->block, BLOCK_BYTES,
						      "ndpstack replay"));
	if (code == 0)
		code = nd_replay_run(replay, write_frame, capture, error);
	if (fclose(capture->file) != 0 || code == -EIO)
		code = nd_error_set(error, -EIO, "%s: it cannot be written", path);
	free(capture);
	return code;
}
