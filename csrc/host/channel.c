// SPDX-License-Identifier: Apache-2.0
/* A channel: what an application and the core share, and all that they share. */
#include "host/channel.h"

#include "port/fds.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#define PAGE_BYTES 4096u
#define SEALS (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL)
#define ELSEWHERE (UINTPTR_MAX / 2 + 1) /* beside an address, for one that is no offset */

/* Where things lie in the memory. */
struct plan {
	size_t submissions, completions, commands, events, send, receive, bytes;
};

static size_t append(size_t *at, size_t bytes)
{
	size_t here = *at;

	*at += (bytes + PAGE_BYTES - 1) & ~(size_t)(PAGE_BYTES - 1);
	return here;
}

static struct plan plan_of(const struct nd_channel_layout *layout)
{
	struct plan plan = { 0 };

	plan.submissions = append(&plan.bytes, sizeof(struct nd_ring_shared));
	plan.completions = append(&plan.bytes, sizeof(struct nd_ring_shared));
	plan.commands = append(&plan.bytes, layout->commands * sizeof(struct nd_submission));
	plan.events = append(&plan.bytes, layout->events * sizeof(struct nd_event));
	plan.send = append(&plan.bytes, layout->send_bytes);
	plan.receive = append(&plan.bytes, layout->receive_bytes);
	return plan;
}

/* Maps the memory and lays out this end; own_bytes of region own are allocated here. */
static int map_memory(struct nd_channel *channel, bool core)
{
	const struct nd_channel_layout *layout = &channel->layout;
	struct plan plan = plan_of(layout);
	uint32_t own_bytes = core ? layout->receive_bytes : layout->send_bytes;
	void *map = mmap(NULL, plan.bytes, PROT_READ | PROT_WRITE, MAP_SHARED,
			 channel->fds[ND_CHANNEL_MEMORY], 0);

	if (map == MAP_FAILED)
		return -errno;
	channel->map = map;
	channel->map_bytes = plan.bytes;
	channel->submissions = nd_ring_make((void *)(channel->map + plan.submissions),
					    layout->commands);
	channel->completions = nd_ring_make((void *)(channel->map + plan.completions),
					    layout->events);
	channel->commands = (void *)(channel->map + plan.commands);
	channel->events = (void *)(channel->map + plan.events);
	channel->send = channel->map + plan.send;
	channel->receive = channel->map + plan.receive;
	channel->arena_memory = malloc(nd_arena_bytes(own_bytes, ND_CHANNEL_BLOCK_BYTES));
	if (!channel->arena_memory)
		return -ENOMEM;
	nd_arena_init(&channel->arena, channel->arena_memory,
		      core ? channel->receive : channel->send, own_bytes, ND_CHANNEL_BLOCK_BYTES);
	return 0;
}

static void forget(struct nd_channel *channel, const struct nd_channel_layout *layout)
{
	*channel = (struct nd_channel){ .layout = *layout, .bell = -1 };
	for (uint32_t i = 0; i < ND_CHANNEL_FDS; i++)
		channel->fds[i] = -1;
}

/* Whatever the application does with what it gets, the core's write to its own eventfd returns. */
static int make_bell(struct nd_channel *channel)
{
	struct epoll_event each_ring = { .events = EPOLLIN | EPOLLET };
	int outer = epoll_create1(EPOLL_CLOEXEC);

	channel->fds[ND_CHANNEL_WAKE_APP] = outer;
	channel->bell = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	return outer < 0 || channel->bell < 0 ||
			       epoll_ctl(outer, EPOLL_CTL_ADD, channel->bell, &each_ring) < 0
		       ? -errno
		       : 0;
}

int nd_channel_make(struct nd_channel *channel, const struct nd_channel_layout *layout)
{
	int code;

	forget(channel, layout);
	channel->fds[ND_CHANNEL_MEMORY] =
		memfd_create("ndpstack-channel", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (channel->fds[ND_CHANNEL_MEMORY] < 0)
		return -errno;
	channel->fds[ND_CHANNEL_WAKE_CORE] = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	code = channel->fds[ND_CHANNEL_WAKE_CORE] < 0 ? -errno : make_bell(channel);
	if (code == 0 &&
	    (ftruncate(channel->fds[ND_CHANNEL_MEMORY], (off_t)plan_of(layout).bytes) < 0 ||
	     fcntl(channel->fds[ND_CHANNEL_MEMORY], F_ADD_SEALS, SEALS) < 0))
		code = -errno;
	if (code == 0)
		code = map_memory(channel, true);
	if (code < 0)
		nd_channel_unmap(channel);
	return code;
}

int nd_channel_map(struct nd_channel *channel, const struct nd_channel_layout *layout,
		   const int fds[ND_CHANNEL_FDS])
{
	int code;

	forget(channel, layout);
	memcpy(channel->fds, fds, sizeof(channel->fds));
	code = map_memory(channel, false);
	if (code < 0)
		nd_channel_unmap(channel);
	return code;
}

void nd_channel_unmap(struct nd_channel *channel)
{
	if (channel->map && !channel->keep)
		munmap(channel->map, channel->map_bytes);
	free(channel->arena_memory);
	for (uint32_t i = 0; i < ND_CHANNEL_FDS; i++)
		nd_fds_close(&channel->fds[i]);
	nd_fds_close(&channel->bell);
	channel->map = NULL;
	channel->arena_memory = NULL;
}

/* Pointers cross as offset + 1, so that NULL stays NULL. */
static void *offset_of(const uint8_t *payload, const uint8_t *region)
{
	return payload ? (void *)(uintptr_t)(payload - region + 1) : NULL;
}

static uintptr_t offset_from(const void *crossed)
{
	return (uintptr_t)crossed - 1;
}

static bool is_in_send_region(const struct nd_channel *channel, const uint8_t *payload,
			      uint32_t bytes)
{
	uint32_t region = channel->layout.send_bytes;

	return payload >= channel->send && bytes <= region &&
	       (size_t)(payload - channel->send) <= region - bytes;
}

static void ring_bell(int fd)
{
	uint64_t one = 1;

	/* It fails only when the counter is full, and then the other end is awake anyway. */
	if (write(fd, &one, sizeof(one)) < 0)
		nd_assert(errno == EAGAIN || errno == EINTR);
}

/* O_NONBLOCK is of the open file, so the application may have taken it off: each read says it. */
static void hush_bell(int fd)
{
	uint64_t rings;
	struct iovec all = { .iov_base = &rings, .iov_len = sizeof(rings) };

	if (preadv2(fd, &all, 1, -1, RWF_NOWAIT) < 0)
		nd_assert(errno == EAGAIN || errno == EINTR);
}

/* ---- application ---- */

int nd_channel_submit(struct nd_channel *channel, uint8_t protocol,
		      const struct nd_command *command)
{
	struct nd_submission *slot;
	const uint8_t *payload = command->payload;
	uint32_t bytes = nd_channel_payload_bytes(command);
	uint32_t room = nd_ring_room(&channel->submissions, 1);
	bool inside;

	if (room == ND_RING_CORRUPT)
		return -EPIPE;
	if (!room)
		return -EAGAIN;
	inside = is_in_send_region(channel, payload, bytes);
	if (bytes && !inside && (!channel->anywhere || !payload))
		return -EINVAL;
	slot = &channel->commands[nd_ring_slot(&channel->submissions, 0)];
	slot->command = *command;
	if (!bytes)
		slot->command.payload = NULL;
	else
		slot->command.payload = inside ? offset_of(payload, channel->send)
					       : (void *)((uintptr_t)payload | ELSEWHERE);
	slot->protocol = protocol;
	nd_ring_publish(&channel->submissions, 1);
	return 0;
}

void nd_channel_wake_core(struct nd_channel *channel)
{
	if (nd_ring_must_wake(&channel->submissions))
		ring_bell(channel->fds[ND_CHANNEL_WAKE_CORE]);
}

void nd_channel_hush_app(struct nd_channel *channel)
{
	struct epoll_event rung;

	if (epoll_wait(channel->fds[ND_CHANNEL_WAKE_APP], &rung, 1, 0) < 0)
		nd_assert(errno == EINTR);
}

void nd_channel_disarm_app(struct nd_channel *channel)
{
	if (channel->armed && !nd_ring_disarm(&channel->completions))
		nd_channel_hush_app(channel);
	channel->armed = false;
}

uint32_t nd_channel_events(struct nd_channel *channel, struct nd_event *out, uint32_t limit)
{
	uint32_t count;

	nd_channel_disarm_app(channel);
	count = nd_ring_filled(&channel->completions, limit);
	nd_assert(count != ND_RING_CORRUPT); /* the core is trusted */
	for (uint32_t i = 0; i < count; i++) {
		out[i] = channel->events[nd_ring_slot(&channel->completions, i)];
		if (out[i].payload)
			out[i].payload = channel->receive + offset_from(out[i].payload);
	}
	if (count)
		nd_ring_retire(&channel->completions, count);
	return count;
}

bool nd_channel_arm_app(struct nd_channel *channel)
{
	channel->armed = nd_ring_arm(&channel->completions);
	return channel->armed;
}

/* ---- core ---- */

/* Makes a pointer of what crossed. 1, or -EINVAL when that is not where a payload may be. */
static int find_payload(const struct nd_channel *channel, struct nd_command *command)
{
	uint32_t bytes = nd_channel_payload_bytes(command), region = channel->layout.send_bytes;
	uintptr_t crossed = (uintptr_t)command->payload, offset = offset_from(command->payload);

	if (!bytes) {
		command->payload = NULL;
		return 1;
	}
	if (ND_UNLIKELY(crossed & ELSEWHERE) && channel->anywhere) {
		command->payload = (void *)(crossed & ~ELSEWHERE);
		return 1;
	}
	if (bytes > region || offset > region - bytes)
		return -EINVAL;
	command->payload = channel->send + offset;
	return 1;
}

int nd_channel_take(struct nd_channel *channel, struct nd_submission *out)
{
	uint32_t filled;

	if (channel->armed)
		nd_channel_hush_core(channel);
	filled = nd_ring_filled(&channel->submissions, 1);
	if (ND_UNLIKELY(filled == ND_RING_CORRUPT))
		channel->corrupt = true;
	if (ND_UNLIKELY(channel->corrupt))
		return -EPIPE;
	if (!filled)
		return 0;
	/* From here on only the copy is looked at: the slot may still change. */
	memcpy(out, &channel->commands[nd_ring_slot(&channel->submissions, 0)], sizeof(*out));
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	nd_ring_retire(&channel->submissions, 1);
	return find_payload(channel, &out->command);
}

bool nd_channel_post(struct nd_channel *channel, const struct nd_event *event)
{
	uint32_t room = nd_ring_room(&channel->completions, 1);
	struct nd_event *slot;

	if (ND_UNLIKELY(room == ND_RING_CORRUPT)) {
		channel->corrupt = true;
		return false;
	}
	if (!room)
		return false;
	slot = &channel->events[nd_ring_slot(&channel->completions, 0)];
	*slot = *event;
	slot->payload = offset_of(event->payload, channel->receive);
	nd_ring_publish(&channel->completions, 1);
	return true;
}

void nd_channel_wake_app(struct nd_channel *channel)
{
	if (nd_ring_must_wake(&channel->completions))
		ring_bell(channel->bell);
}

bool nd_channel_arm_core(struct nd_channel *channel)
{
	channel->armed = nd_ring_arm(&channel->submissions);
	return channel->armed;
}

void nd_channel_hush_core(struct nd_channel *channel)
{
	channel->armed = false;
	nd_ring_disarm(&channel->submissions);
	hush_bell(channel->fds[ND_CHANNEL_WAKE_CORE]);
}
