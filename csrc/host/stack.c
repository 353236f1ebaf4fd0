// SPDX-License-Identifier: Apache-2.0
/* The public API: an application's handle, and what the control plane may ask of a core. */
#include "host/core.h"
#include "port/fds.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>

#define ATTACH_WITHIN (2 * ND_SEC)
#define LOOKS_PER_CHECK 1024u /* of who polls for events: a system call for so many */
#define TEXT(value) TEXT_OF(value)
#define TEXT_OF(value) #value

struct nd_stack {
	struct nd_core *core; /* in this process, or NULL */
	uint64_t app;         /* serial that the core in this process has for us */
	int connection;       /* the core's end closes when it lets go of us */
	int epoll;            /* readable for events, and when the core is gone */
	bool armed;
	bool watching; /* epoll is readable also for what the core in this process waits for */
	bool gone;            /* atomic: both sides of the handle find out */
	uint32_t looks;       /* for events, in vain and unarmed */
	struct nd_spin spin; /* for events, before blocking */
	struct nd_channel channel;
};

/* ---- opening ---- */

/* Signals do not end it. */
static int await_answer(int connection)
{
	struct pollfd entry = { .fd = connection, .events = POLLIN };
	nd_ns end = nd_core_now() + ATTACH_WITHIN;
	int ready;

	do {
		nd_ns now = nd_core_now();

		ready = poll(&entry, 1, now < end ? (int)((end - now) / ND_MSEC) : 0);
	} while (ready < 0 && errno == EINTR);
	if (ready < 0)
		return -errno;
	return ready ? 0 : -ETIMEDOUT;
}

/* Takes the channel that the core hands over on the connection. */
static int receive_channel(struct nd_stack *stack)
{
	struct nd_channel_layout layout;
	int fds[ND_CHANNEL_FDS];
	int code = await_answer(stack->connection);

	if (code < 0)
		return code;
	code = nd_fds_receive(stack->connection, &layout, sizeof(layout), fds, ND_CHANNEL_FDS);
	return code < 0 ? code : nd_channel_map(&stack->channel, &layout, fds);
}

static int watch(struct nd_stack *stack)
{
	struct epoll_event bell = { .events = EPOLLIN }, hangup = { .events = EPOLLRDHUP };

	stack->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (stack->epoll < 0 ||
	    epoll_ctl(stack->epoll, EPOLL_CTL_ADD, stack->channel.fds[ND_CHANNEL_WAKE_APP],
		      &bell) < 0 ||
	    epoll_ctl(stack->epoll, EPOLL_CTL_ADD, stack->connection, &hangup) < 0)
		return -errno;
	return 0;
}

static void free_handle(struct nd_stack *stack)
{
	nd_channel_unmap(&stack->channel);
	nd_fds_close(&stack->connection);
	nd_fds_close(&stack->epoll);
	free(stack);
}

/* Why there is no channel. */
static const char *why_not(int code)
{
	switch (code) {
	case -EUSERS:
		return "the core takes at most " TEXT(ND_STACK_APPS_MAX) " applications; end one";
	case -EDQUOT:
		return "who is neither root nor the core's own user gets no more of its places "
		       "than stay free; end an application of this user";
	case -EPERM:
		return "the core serves root and its own user; for others, give its service the "
		       "path of a socket for a name";
	case -ETIMEDOUT:
		return "the core does not answer; it is stopped, or its process has no free "
		       "descriptor (core.apps_put_off): raise its LimitNOFILE";
	default:
		return strerror(-code);
	}
}

/* A handle on the core at the other end of the connection, which it takes. */
static struct nd_stack *make_handle(struct nd_core *core, int connection, struct nd_error *error)
{
	struct nd_stack *stack = calloc(1, sizeof(*stack));
	int code;

	if (!stack) {
		nd_fds_close(&connection);
		nd_error_set(error, -ENOMEM, "stack: no memory");
		return NULL;
	}
	*stack = (struct nd_stack){
		.core = core,
		.connection = connection,
		.epoll = -1,
		.channel.bell = -1,
		.spin = nd_spin_make(nd_core_cpus() > 1 ? ND_SPIN_MOST : 0, ND_SPIN_TRY_EVERY),
	};
	for (uint32_t i = 0; i < ND_CHANNEL_FDS; i++)
		stack->channel.fds[i] = -1;
	code = receive_channel(stack);
	stack->channel.anywhere = core && nd_core_reads_anywhere(core);
	if (code == 0)
		code = watch(stack);
	if (code == 0)
		return stack;
	nd_error_set(error, code, "stack: cannot attach: %s", why_not(code));
	free_handle(stack);
	return NULL;
}

struct attach_call {
	int connection;
	uint64_t app;
};

static void attach(struct nd_core *core, void *argument)
{
	struct attach_call *call = argument;
	int index = nd_core_attach(core, call->connection);

	if (index < 0)
		return;
	call->app = core->apps[index].serial;
	core->apps[index].polls = nd_core_is_polled(core);
	core->apps[index].channel.anywhere = nd_core_reads_anywhere(core);
}

struct nd_stack *nd_stack_share(struct nd_stack *stack, struct nd_error *error)
{
	struct nd_stack *handle;
	struct attach_call call = { 0 };
	int ends[2];

	if (!stack->core) {
		nd_error_set(error, -ENOTSUP,
			     "stack: the core is in another process; attach to it");
		return NULL;
	}
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) < 0) {
		nd_error_set(error, -errno, "stack: no socket: %s", strerror(errno));
		return NULL;
	}
	call.connection = ends[0];
	if (nd_core_call(stack->core, attach, &call) < 0) {
		nd_fds_close(&ends[0]);
		nd_fds_close(&ends[1]);
		nd_error_set(error, -EPERM, "stack: a polled one belongs to the thread that opened "
					    "it; share it there");
		return NULL;
	}
	handle = make_handle(stack->core, ends[1], error);
	if (!handle)
		return NULL;
	handle->app = call.app;
	__atomic_add_fetch(&stack->core->handles, 1, __ATOMIC_RELAXED);
	return handle;
}

struct nd_stack *nd_stack_open(const struct nd_stack_config *config, struct nd_error *error)
{
	struct nd_stack opener = { .core = nd_core_open(config, error) };
	struct nd_stack *stack;

	if (!opener.core)
		return NULL;
	stack = nd_stack_share(&opener, error);
	if (!stack)
		nd_core_close(opener.core);
	return stack;
}

struct nd_stack *nd_stack_attach(const char *service, struct nd_error *error)
{
	int connection = nd_fds_connect(service, error);

	return connection < 0 ? NULL : make_handle(NULL, connection, error);
}

/* By its number: where a child of a fork holds the connection too, that does not hang up. */
static void detach(struct nd_core *core, void *argument)
{
	const uint64_t *app = argument;

	for (uint32_t i = 0; i < core->apps_limit; i++)
		if (core->apps[i].used && core->apps[i].serial == *app)
			nd_core_detach(core, i, nd_core_now());
}

void nd_stack_close(struct nd_stack *stack)
{
	struct nd_core *core = stack->core;
	uint64_t app = stack->app;

	nd_stack_watch(stack, false);
	free_handle(stack);
	if (!core)
		return;
	/*
	 * While it still counts: once it does not, another thread may close the last handle, and
	 * the core is gone. A polled core in another thread finds out by itself.
	 */
	if (__atomic_load_n(&core->handles, __ATOMIC_ACQUIRE) > 1)
		nd_core_call(core, detach, &app);
	if (__atomic_sub_fetch(&core->handles, 1, __ATOMIC_ACQ_REL) == 0)
		nd_core_close(core);
}

/* ---- messages ---- */

void nd_stack_memory(const struct nd_stack *stack, struct nd_stack_memory *memory)
{
	*memory = (struct nd_stack_memory){
		.base = stack->channel.map,
		.bytes = stack->channel.map_bytes,
		.send_bytes = stack->channel.layout.send_bytes,
		.receive_bytes = stack->channel.layout.receive_bytes,
	};
}

void nd_stack_keep_memory(struct nd_stack *stack)
{
	stack->channel.keep = true;
}

uint8_t *nd_stack_buffer(struct nd_stack *stack, uint32_t bytes)
{
	return nd_arena_get(&stack->channel.arena, bytes);
}

int nd_stack_buffer_free(struct nd_stack *stack, const uint8_t *buffer)
{
	return nd_arena_put(&stack->channel.arena, buffer);
}

bool nd_stack_reads_anywhere(const struct nd_stack *stack)
{
	return stack->channel.anywhere;
}

static bool is_gone(const struct nd_stack *stack)
{
	return __atomic_load_n(&stack->gone, __ATOMIC_RELAXED);
}

/* Asks the system, too. */
static bool has_gone(struct nd_stack *stack)
{
	if (nd_fds_hung_up(stack->connection))
		__atomic_store_n(&stack->gone, true, __ATOMIC_RELAXED);
	return is_gone(stack);
}

int nd_stack_submit_later(struct nd_stack *stack, uint8_t protocol,
			  const struct nd_command *command)
{
	int code = is_gone(stack) ? -EPIPE
				  : nd_channel_submit(&stack->channel, protocol, command);

	return ND_UNLIKELY(code == -EAGAIN) && has_gone(stack) ? -EPIPE : code;
}

/* True for one whose core runs in the application's own thread. */
static bool is_polled(const struct nd_stack *stack)
{
	return stack->core && nd_core_is_polled(stack->core);
}

/* Unless it is we who would sleep. */
static void wake_core(struct nd_stack *stack)
{
	if (!is_polled(stack) || !nd_core_is_ours(stack->core))
		nd_channel_wake_core(&stack->channel);
}

void nd_stack_flush(struct nd_stack *stack)
{
	if (!stack->core || !nd_core_push(stack->core))
		wake_core(stack);
}

int nd_stack_submit(struct nd_stack *stack, uint8_t protocol, const struct nd_command *command)
{
	int code = nd_stack_submit_later(stack, protocol, command);

	if (code < 0)
		return code;
	if (command->kind == ND_COMMAND_RELEASE) /* is worth no round */
		wake_core(stack);
	else
		nd_stack_flush(stack);
	return 0;
}

int nd_stack_events(struct nd_stack *stack, struct nd_event *out, uint32_t limit)
{
	uint32_t count = nd_channel_events(&stack->channel, out, limit);
	bool armed = stack->armed;

	stack->armed = false;
	if (ND_LIKELY(count))
		return (int)nd_min_u32(count, INT32_MAX);
	/* Woken for nothing: that is what the end of the core looks like. Who polls is not woken. */
	if (ND_LIKELY(!armed && ++stack->looks % LOOKS_PER_CHECK))
		return 0;
	nd_channel_hush_app(&stack->channel);
	return has_gone(stack) ? -EPIPE : 0;
}

int nd_stack_descriptor(const struct nd_stack *stack)
{
	return is_polled(stack) ? -ENOTSUP : stack->epoll;
}

bool nd_stack_arm(struct nd_stack *stack)
{
	stack->armed = true;
	if (!nd_channel_arm_app(&stack->channel))
		return false;
	if (stack->core && !stack->watching)
		nd_turn_recall(&stack->core->turn);
	return true;
}

void nd_stack_watch(struct nd_stack *stack, bool watch)
{
	struct epoll_event event = { .events = EPOLLIN };
	int operation = watch ? EPOLL_CTL_ADD : EPOLL_CTL_DEL;

	if (stack->watching == watch || !stack->core)
		return;
	if (epoll_ctl(stack->epoll, operation, stack->core->epoll, &event) == 0)
		stack->watching = watch;
	nd_turn_set_watched(&stack->core->turn, stack->watching);
}

bool nd_stack_run(struct nd_stack *stack, bool woken)
{
	nd_channel_disarm_app(&stack->channel);
	woken = woken && !nd_ring_filled(&stack->channel.completions, 1);
	if (stack->core && nd_core_serve(stack->core, stack->app, woken)) {
		stack->armed = false; /* the core lives: woken without events is nothing odd */
		return true;
	}
	nd_channel_wake_core(&stack->channel);
	return false;
}

int nd_stack_poll(struct nd_stack *stack)
{
	if (!is_polled(stack))
		return -ENOTSUP;
	return nd_core_is_ours(stack->core) ? nd_core_round(stack->core, nd_core_now()) : -EPERM;
}

static int wait_polling(struct nd_stack *stack, nd_ns now, nd_ns end)
{
	int code = nd_core_is_ours(stack->core) ? 0 : -EPERM;

	for (; code == 0; now = nd_core_now()) {
		bool busy = nd_core_round(stack->core, now);

		if (nd_ring_filled(&stack->channel.completions, 1))
			return 1;
		if (now >= end)
			return 0;
		if (!busy)
			code = nd_core_wait(stack->core, now, end);
	}
	return code;
}

/* True when events came while it was worth waiting for them awake. */
static bool spin_for_events(struct nd_stack *stack, nd_ns end)
{
	nd_ns since = nd_core_now(), now = since;

	while (now < end && nd_spin_goes_on(&stack->spin, since, now)) {
		if (nd_ring_filled(&stack->channel.completions, 1))
			return true;
		now = nd_core_now();
	}
	return false;
}

/* The core's own thread makes events meanwhile. */
static int wait_blocking(struct nd_stack *stack, nd_ns end)
{
	struct pollfd entry = { .fd = stack->epoll, .events = POLLIN };
	struct timespec left;
	nd_ns now, duration;
	int ready;

	if (spin_for_events(stack, end) || !nd_stack_arm(stack))
		return 1;
	now = nd_core_now();
	duration = end > now ? end - now : 0;
	left = (struct timespec){
		.tv_sec = (time_t)(duration / ND_SEC),
		.tv_nsec = (long)(duration % ND_SEC),
	};
	ready = ppoll(&entry, 1, end == ND_NEVER ? NULL : &left, NULL);
	if (ready < 0)
		return -errno;
	if (ready && has_gone(stack))
		return nd_ring_filled(&stack->channel.completions, 1) ? 1 : -EPIPE;
	return ready;
}

int nd_stack_wait(struct nd_stack *stack, nd_ns timeout)
{
	nd_ns now = nd_core_now(), end = timeout < ND_NEVER - now ? now + timeout : ND_NEVER;
	int code = -EAGAIN;

	if (is_polled(stack))
		return wait_polling(stack, now, end);
	if (stack->core && timeout)
		code = nd_core_run_until(stack->core, stack->app, &stack->channel.completions,
					 end);
	return code == -EAGAIN ? wait_blocking(stack, end) : code;
}

/* ---- control ---- */

/* Runs call in the thread of the core, which is to be in this process. */
static int call_core(struct nd_stack *stack, void (*call)(struct nd_core *core, void *argument),
		     void *argument)
{
	return stack->core ? nd_core_call(stack->core, call, argument) : -ENOTSUP;
}

struct nd_core *nd_stack_core(struct nd_stack *stack)
{
	return stack->core;
}

struct resolver_call {
	uint8_t (*addresses)[16];
	uint32_t limit;
	int result;
};

static void open_resolver(struct nd_core *core, void *argument)
{
	((struct resolver_call *)argument)->result = nd_core_open_resolver(core);
}

int nd_stack_resolver(struct nd_stack *stack)
{
	struct resolver_call call = { 0 };
	int code = call_core(stack, open_resolver, &call);

	return code < 0 ? code : call.result;
}

static void take_unresolved(struct nd_core *core, void *argument)
{
	struct resolver_call *call = argument;

	call->result = (int)nd_core_take_unresolved(core, call->addresses, call->limit);
}

int nd_stack_unresolved(struct nd_stack *stack, uint8_t (*addresses)[16], uint32_t limit)
{
	struct resolver_call call = { .addresses = addresses, .limit = limit };
	int code = call_core(stack, take_unresolved, &call);

	return code < 0 ? code : call.result;
}

struct peer_call {
	const uint8_t *address, *mac;
	uint32_t port;
	uint8_t reason;
	int code;
};

static void set_peer(struct nd_core *core, void *argument)
{
	struct peer_call *call = argument;

	call->code = nd_core_find_way(core, call->address, call->port, call->mac, nd_core_now());
}

int nd_stack_set_peer(struct nd_stack *stack, const uint8_t address[16], uint32_t port,
		      const uint8_t mac[6])
{
	struct peer_call call = { .address = address, .mac = mac, .port = port };
	int code;

	if (stack->core && port >= stack->core->config.port_count)
		return -EINVAL;
	code = call_core(stack, set_peer, &call);
	return code < 0 ? code : call.code;
}

static void lose_peer(struct nd_core *core, void *argument)
{
	struct peer_call *call = argument;

	call->code = nd_core_lose_way(core, call->address, call->reason, nd_core_now());
}

int nd_stack_lose_peer(struct nd_stack *stack, const uint8_t address[16],
		       enum nd_stack_unreachable reason)
{
	struct peer_call call = { .address = address, .reason = (uint8_t)reason };
	int code;

	if (stack->core && (uint32_t)reason > ND_UNREACHABLE_SELF) /* the last one */
		return -EINVAL;
	code = call_core(stack, lose_peer, &call);
	return code < 0 ? code : call.code;
}

static void audit(struct nd_core *core, void *argument)
{
	const char **wrong = argument;

	for (uint32_t i = 0; i < core->engine_count && !*wrong; i++)
		*wrong = core->engines[i].ops->audit(core->engines[i].endpoint);
}

const char *nd_stack_audit(struct nd_stack *stack)
{
	const char *wrong = NULL;

	call_core(stack, audit, &wrong); /* a core elsewhere is not looked into */
	return wrong;
}
