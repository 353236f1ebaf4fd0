/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A channel: what an application and the core share, and all that they share.
 *
 *	submission ring   application -> core    commands
 *	completion ring   core -> application    events
 *	send region       the application's payloads; it allocates
 *	receive region    messages for the application; the core allocates
 *	a descriptor each way that wakes
 *
 * The core makes the memory, seals it, and never believes what is in it: each command is copied
 * out before it is checked, and positions, offsets and lengths are bounded. Nor does it block on
 * what both hold: it reads the eventfd that the application rings without waiting, and rings one
 * of its own, which the application sees through an epoll. The application trusts the core.
 */
#ifndef ND_HOST_CHANNEL_H
#define ND_HOST_CHANNEL_H

#include "base/arena.h"
#include "base/error.h"
#include "base/ring.h"
#include "transport/transport.h"

#define ND_CHANNEL_BLOCK_BYTES 64u        /* smallest piece of either region */
#define ND_CHANNEL_REGION_MAX (1u << 31)  /* bytes of either region */
#define ND_CHANNEL_RING_MAX (1u << 20)    /* commands or events */

/*
 * A command on its way; command.payload is an offset into the send region plus 1, or NULL; where both
 * ends are of one process (`anywhere`), also an address with the topmost bit set, which none has.
 */
struct nd_submission {
	struct nd_command command;
	uint8_t protocol;
	uint8_t reserved[7];
};

_Static_assert(sizeof(struct nd_submission) == 64, "a command is a cache line");

/* What a command brings of payload: the bytes of a WINDOW are its value. */
static inline uint32_t nd_channel_payload_bytes(const struct nd_command *command)
{
	return command->kind == ND_COMMAND_WINDOW ? 0 : command->bytes;
}

struct nd_channel_layout {
	uint32_t commands;      /* powers of two */
	uint32_t events;
	uint32_t send_bytes;    /* multiples of ND_CHANNEL_BLOCK_BYTES */
	uint32_t receive_bytes;
};

/* Descriptors of a channel in the order in which they are handed over. */
enum { ND_CHANNEL_MEMORY, ND_CHANNEL_WAKE_CORE, ND_CHANNEL_WAKE_APP, ND_CHANNEL_FDS };

/* One end, either one. */
struct nd_channel {
	struct nd_channel_layout layout;
	int fds[ND_CHANNEL_FDS];
	int bell;               /* core: behind ND_CHANNEL_WAKE_APP, and never handed over; or -1 */
	uint8_t *map;
	size_t map_bytes;
	struct nd_ring submissions;
	struct nd_ring completions;
	struct nd_submission *commands;
	struct nd_event *events;
	uint8_t *send;
	uint8_t *receive;
	struct nd_arena arena;  /* of the region that this end allocates from */
	void *arena_memory;
	bool armed;             /* this end blocks, or did since it last looked */
	bool corrupt;           /* the other end wrote nonsense */
	bool keep;              /* the memory stays mapped when this end is let go */
	bool anywhere;          /* payloads may lie anywhere: the other end is of this process */
};

/* Core: makes the memory and its end. 0 or -errno. */
int nd_channel_make(struct nd_channel *channel, const struct nd_channel_layout *layout);

/* Application: maps what the core handed over; takes the descriptors. 0 or -errno. */
int nd_channel_map(struct nd_channel *channel, const struct nd_channel_layout *layout,
		   const int fds[ND_CHANNEL_FDS]);

/* Either end. Memory that the other end maps lives on there. */
void nd_channel_unmap(struct nd_channel *channel);

/* ---- application ---- */

/* Of a command, or several before nd_channel_wake_core(). 0, -EAGAIN (full), -EINVAL (payload is not in the send region, and has to be), -EPIPE (corrupt). */
int nd_channel_submit(struct nd_channel *channel, uint8_t protocol,
		      const struct nd_command *command);
/* After a batch of those: wakes the core if it blocks. */
void nd_channel_wake_core(struct nd_channel *channel);
/* Takes events out, payloads as pointers; returns how many. */
uint32_t nd_channel_events(struct nd_channel *channel, struct nd_event *out, uint32_t limit);
/* True when no event waits and the core will wake us. */
bool nd_channel_arm_app(struct nd_channel *channel);
/* The core need not wake us. */
void nd_channel_disarm_app(struct nd_channel *channel);
/* Silences the bell of the core, which may have come late. */
void nd_channel_hush_app(struct nd_channel *channel);

/* ---- core ---- */

/*
 * Takes a command out, payload as pointer. 1; 0 when there is none; -EINVAL when it names memory
 * that it may not (the command is then consumed, and cookie says which one it was); -EPIPE when
 * the application wrote nonsense into the ring.
 */
int nd_channel_take(struct nd_channel *channel, struct nd_submission *out);
/* Puts an event in, payload as pointer into the receive region; false when the ring is full. */
bool nd_channel_post(struct nd_channel *channel, const struct nd_event *event);
/* After a batch of posts: wakes the application if it blocks. */
void nd_channel_wake_app(struct nd_channel *channel);
/* True when no command waits and the application will wake us. */
bool nd_channel_arm_core(struct nd_channel *channel);
/* Silences the bell of an application whose commands are not going to be taken now. */
void nd_channel_hush_core(struct nd_channel *channel);

/* True when a command waits, or there is something to be said of the ring: then it is to be taken. */
static inline bool nd_channel_has_command(struct nd_channel *channel)
{
	return channel->armed || nd_ring_filled(&channel->submissions, 1);
}

/* Free slots of the completion ring, at most wanted. */
static inline uint32_t nd_channel_room(struct nd_channel *channel, uint32_t wanted)
{
	uint32_t room = nd_ring_room(&channel->completions, wanted);

	if (ND_LIKELY(room != ND_RING_CORRUPT))
		return room;
	channel->corrupt = true;
	return 0;
}

#endif
