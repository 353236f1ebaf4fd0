// SPDX-License-Identifier: Apache-2.0
/* The ring of a mirror: filled by the worker, emptied by a reader. */
#include "switch/mirror.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "switch/switch.h"

#define SLOT_ALIGN 64u

static const char *const verdicts[] = {
#define TEXT(name, text) text,
	ND_MIRROR_VERDICTS(TEXT)
#undef TEXT
};

/* ---- memory ---- */

static int check(const struct nd_mirror_config *config, struct nd_error *error)
{
	if (config->port_count == 0 || config->port_count > ND_MIRROR_PORTS_MAX)
		return nd_error_set(error, -EINVAL, "a mirror has 1 to %u ports, not %u",
				    ND_MIRROR_PORTS_MAX, config->port_count);
	for (uint32_t i = 0; i < config->port_count; i++) {
		if (config->ports[i] >= ND_MIRROR_PORTS_MAX)
			return nd_error_set(error, -ENODEV, "a mirror names a port that is not there");
	}
	if (!config->rx && !config->tx)
		return nd_error_set(error, -EINVAL, "a mirror takes what arrives, what leaves, or "
						    "both");
	if (config->snap_bytes < ND_MIRROR_SNAP_MIN || config->snap_bytes > ND_MIRROR_SNAP_MAX)
		return nd_error_set(error, -EINVAL, "a mirror keeps %u to %u bytes of a frame, not %u",
				    ND_MIRROR_SNAP_MIN, ND_MIRROR_SNAP_MAX, config->snap_bytes);
	if (config->frames < ND_MIRROR_FRAMES_MIN || config->frames > ND_MIRROR_FRAMES_MAX)
		return nd_error_set(error, -EINVAL, "a mirror holds %u to %u frames, not %u",
				    ND_MIRROR_FRAMES_MIN, ND_MIRROR_FRAMES_MAX, config->frames);
	return 0;
}

static nd_ns clock_of(clockid_t id)
{
	struct timespec time;

	clock_gettime(id, &time);
	return (nd_ns)time.tv_sec * ND_SEC + (nd_ns)time.tv_nsec;
}

static void set_ports(struct nd_mirror *mirror, const struct nd_mirror_config *config)
{
	mirror->port_count = config->port_count;
	for (uint32_t i = 0; i < config->port_count; i++) {
		uint64_t bit = UINT64_C(1) << config->ports[i];

		mirror->rx_ports |= config->rx ? bit : 0;
		mirror->tx_ports |= config->tx ? bit : 0;
		mirror->interface[config->ports[i]] = (uint8_t)i;
		strncpy(mirror->names[i], config->names[i], ND_MIRROR_NAME_BYTES - 1);
	}
}

struct nd_mirror *nd_mirror_new(const struct nd_mirror_config *config, struct nd_error *error)
{
	struct nd_mirror *mirror;
	uint32_t frames;

	if (check(config, error) < 0)
		return NULL;
	frames = nd_power_of_two_u32(config->frames);
	mirror = calloc(1, sizeof(*mirror));
	if (mirror) {
		mirror->snap_bytes = config->snap_bytes;
		mirror->slot_bytes = ((uint32_t)sizeof(struct nd_mirror_frame) + config->snap_bytes +
				      SLOT_ALIGN - 1) & ~(SLOT_ALIGN - 1);
		mirror->shared = nd_switch_zeroed(sizeof(*mirror->shared));
		mirror->slots = nd_switch_zeroed((size_t)frames * mirror->slot_bytes);
	}
	if (!mirror || !mirror->shared || !mirror->slots) {
		nd_error_set(error, -ENOMEM, "no memory for a mirror of %u frames", config->frames);
		if (mirror)
			nd_mirror_free(mirror);
		return NULL;
	}
	mirror->writer = nd_ring_make(mirror->shared, frames);
	mirror->reader = nd_ring_make(mirror->shared, frames);
	mirror->epoch = clock_of(CLOCK_REALTIME) - clock_of(CLOCK_MONOTONIC);
	set_ports(mirror, config);
	return mirror;
}

void nd_mirror_free(struct nd_mirror *mirror)
{
	free(mirror->shared);
	free(mirror->slots);
	free(mirror);
}

static struct nd_mirror_frame *slot_at(const struct nd_mirror *mirror, uint32_t slot)
{
	return (struct nd_mirror_frame *)(void *)(mirror->slots +
						  (size_t)slot * mirror->slot_bytes);
}

/* ---- the worker's end ---- */

struct nd_mirror_frame *nd_mirror_begin(struct nd_mirror *mirror, const uint8_t *frame,
					uint32_t bytes)
{
	struct nd_mirror_frame *out;

	if (nd_ring_room(&mirror->writer, mirror->begun + 1) <= mirror->begun) {
		__atomic_store_n(&mirror->dropped, mirror->dropped + 1, __ATOMIC_RELAXED);
		return NULL;
	}
	out = slot_at(mirror, nd_ring_slot(&mirror->writer, mirror->begun++));
	mirror->open++;
	*out = (struct nd_mirror_frame){
		.captured_bytes = nd_min_u32(bytes, mirror->snap_bytes),
		.original_bytes = bytes,
		.reason = ND_MIRROR_NO_REASON,
	};
	memcpy(out + 1, frame, out->captured_bytes);
	return out;
}

void nd_mirror_end(struct nd_mirror *mirror)
{
	/* The reader sees them in the order in which they began. */
	if (--mirror->open)
		return;
	nd_ring_publish(&mirror->writer, mirror->begun);
	mirror->begun = 0;
}

/* ---- the reader's end ---- */

uint32_t nd_mirror_read(struct nd_mirror *mirror, struct nd_mirror_frame *frames, uint8_t *bytes,
			uint32_t count)
{
	uint32_t filled = nd_ring_filled(&mirror->reader, count);

	for (uint32_t i = 0; i < filled; i++) {
		const struct nd_mirror_frame *slot =
			slot_at(mirror, nd_ring_slot(&mirror->reader, i));

		frames[i] = *slot;
		frames[i].time += mirror->epoch;
		memcpy(bytes + (size_t)i * mirror->snap_bytes, slot + 1, slot->captured_bytes);
	}
	nd_ring_retire(&mirror->reader, filled);
	return filled;
}

size_t nd_mirror_header(const struct nd_mirror *mirror, uint8_t *out, size_t limit)
{
	size_t bytes = nd_pcapng_section(out, limit, "ndpstack");

	for (uint32_t i = 0; bytes && i < mirror->port_count; i++) {
		size_t more = nd_pcapng_interface(out + bytes, limit - bytes, mirror->names[i],
						  mirror->snap_bytes);

		bytes = more ? bytes + more : 0;
	}
	return bytes;
}

const char *nd_mirror_comment(const struct nd_mirror_frame *frame, char *out)
{
	const char *verdict = verdicts[frame->verdict];
	const char *reason;

	if (frame->reason >= nd_switch_counters_table.count)
		return verdict;
	/* The counter is called dropped_queue, dropped_unknown and so on. */
	reason = strchr(nd_switch_counters_table.texts[frame->reason].name, '_');
	snprintf(out, ND_PCAPNG_COMMENT_MAX, "%s: %s", verdict, reason ? reason + 1 : "");
	return out;
}

static size_t encode(const struct nd_mirror *mirror, const struct nd_mirror_frame *frame,
		     uint8_t *out, size_t limit)
{
	char comment[ND_PCAPNG_COMMENT_MAX];
	const struct nd_pcapng_packet packet = {
		.interface = mirror->interface[frame->port],
		.time = frame->time + mirror->epoch,
		.frame = (const uint8_t *)(frame + 1),
		.captured_bytes = frame->captured_bytes,
		.original_bytes = frame->original_bytes,
		.direction = (enum nd_pcapng_direction)frame->direction,
		.comment = nd_mirror_comment(frame, comment),
	};

	return nd_pcapng_packet(out, limit, &packet);
}

size_t nd_mirror_pcapng(struct nd_mirror *mirror, uint8_t *out, size_t limit)
{
	size_t bytes = 0;

	while (nd_ring_filled(&mirror->reader, 1)) {
		uint32_t slot = nd_ring_slot(&mirror->reader, 0);
		size_t more = encode(mirror, slot_at(mirror, slot), out + bytes, limit - bytes);

		if (more == 0)
			break;
		bytes += more;
		nd_ring_retire(&mirror->reader, 1);
	}
	return bytes;
}

uint64_t nd_mirror_dropped(const struct nd_mirror *mirror)
{
	return __atomic_load_n(&mirror->dropped, __ATOMIC_RELAXED);
}
