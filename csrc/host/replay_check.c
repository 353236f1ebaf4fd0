// SPDX-License-Identifier: Apache-2.0
/* What of a recording must hold before any of it is believed. */
#include "host/replay_check.h"

#include "base/crc32c.h"
#include "host/replay.h"
#include "transport/homa.h"
#include "transport/ndp.h"

#include <string.h>

/* A bool that is neither may not even be looked at. */
static bool are_bools(const void *body, const size_t *offsets, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (((const uint8_t *)body)[offsets[i]] > 1)
			return false;
	return true;
}

bool nd_replay_is_whole(const struct nd_record *record)
{
	struct nd_record header = *record;

	header.check = 0;
	return nd_crc32c_add(nd_crc32c(&header, sizeof(header)), record + 1, record->bytes) ==
	       record->check;
}

const char *nd_replay_check_header(const struct nd_recording_header *header, size_t bytes)
{
	if (bytes < sizeof(*header) || memcmp(header->magic, ND_RECORDING_MAGIC, 8) != 0)
		return "it is no recording of a host (ndpstack host run --record)";
	if (header->version != ND_RECORDING_VERSION)
		return "it is of another version of the format; replay it with the version that "
		       "recorded it";
	if (header->used < sizeof(*header) || header->used > bytes ||
	    header->state > ND_RECORDING_FULL)
		return "its header is damaged, or the file was cut";
	return NULL;
}

const char *nd_replay_check_setup(const struct nd_record_setup *setup)
{
	static const size_t bools[] = {
		offsetof(struct nd_record_setup, frame.homa_in_udp),
		offsetof(struct nd_record_setup, frame.homa_checksum),
	};
	const struct nd_stack_channel_config *channel = &setup->channel;

	if (!are_bools(setup, bools, ND_ARRAY_SIZE(bools)))
		return "a set-up that says neither yes nor no";
	if (channel->commands > ND_CHANNEL_RING_MAX || channel->events > ND_CHANNEL_RING_MAX ||
	    channel->send_bytes > ND_CHANNEL_REGION_MAX ||
	    channel->receive_bytes > ND_CHANNEL_REGION_MAX)
		return "sizes of channels that no core has";
	return NULL;
}

const char *nd_replay_check_port(const struct nd_record_port *port)
{
	static const size_t bools[] = {
		offsetof(struct nd_record_port, derive),
		offsetof(struct nd_record_port, open),
	};

	if (!are_bools(port, bools, ND_ARRAY_SIZE(bools)))
		return "a port that is neither open nor closed";
	if (port->open && (port->mtu < ND_PORT_MTU_MIN || port->mtu > ND_PORT_MTU_MAX ||
			   port->frame_bytes_max < ND_PORT_FRAME_BYTES_MIN ||
			   port->frame_bytes_max > ND_REPLAY_FRAME_BYTES_MAX))
		return "sizes of a port that none has";
	return NULL;
}

bool nd_replay_is_sent(const struct nd_record *record)
{
	const struct nd_record_sent *sent = (const void *)(record + 1);

	return record->bytes >= sizeof(*sent) && sent->bytes <= ND_REPLAY_FRAME_BYTES_MAX;
}

const char *nd_replay_check_ndp(const void *config)
{
	static const size_t bools[] = {
		offsetof(struct nd_ndp_config, ack_carries_pull),
		offsetof(struct nd_ndp_config, nack_carries_pull),
		offsetof(struct nd_ndp_config, score.scoreboard),
	};

	return are_bools(config, bools, ND_ARRAY_SIZE(bools))
		       ? NULL
		       : "settings of NDP that say neither yes nor no";
}

const char *nd_replay_check_homa(const void *config)
{
	static const size_t bools[] = {
		offsetof(struct nd_homa_config, window_dynamic),
		offsetof(struct nd_homa_config, basic),
		offsetof(struct nd_homa_config, own_cutoffs_first),
		offsetof(struct nd_homa_config, at_least_once),
		offsetof(struct nd_homa_config, one_way),
		offsetof(struct nd_homa_config, unknown_resend),
	};

	return are_bools(config, bools, ND_ARRAY_SIZE(bools))
		       ? NULL
		       : "settings of Homa that say neither yes nor no";
}

const char *nd_replay_check_tell(const struct nd_record_tell *tell, struct nd_command *command)
{
	if (tell->kind != ND_COMMAND_MSS && tell->kind != ND_COMMAND_LINK &&
	    tell->kind != ND_COMMAND_LEVELS)
		return "a command that no host gives";
	*command = (struct nd_command){
		.kind = tell->kind,
		.bytes = tell->bytes,
		.message = tell->message,
		.payload = tell->has_cutoffs ? (const uint8_t *)tell->cutoffs : NULL,
	};
	return NULL;
}

const char *nd_replay_check_wire(const struct nd_record_wire *wire)
{
	const char *why;

	/* Of its yeses and noes none is taken. */
	return nd_frame_config_check(&wire->frame, &why) < 0 ? "marks that no packet has" : NULL;
}
