// SPDX-License-Identifier: Apache-2.0
/* A handle on a stack as Python needs it: one crossing for each message, from any thread. */
#include "app_commands.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define SLOT_BYTES 64u /* send buffers begin at multiples of it */
#define SLOTS_MAX ((UINT64_C(1) << (64 - ND_APP_KEY_BITS)) - 1)

/* ---- opening and closing ---- */

static int begin(struct nd_app *app, struct nd_stack *stack, struct nd_error *error)
{
	if (!stack)
		return error->code;
	nd_stack_memory(stack, &app->memory);
	if (app->memory.bytes / SLOT_BYTES >= SLOTS_MAX - ND_APP_LOANS_MAX) {
		nd_stack_close(stack);
		return nd_error_set(error, -EINVAL,
				    "stack: send_bytes and receive_bytes are %zu together, the "
				    "most is %llu",
				    app->memory.bytes,
				    (unsigned long long)((SLOTS_MAX - ND_APP_LOANS_MAX) * SLOT_BYTES));
	}
	app->stack = stack;
	app->loans_base = app->memory.bytes / SLOT_BYTES + 1;
	app->lends = nd_stack_reads_anywhere(stack);
	pthread_mutex_init(&app->mutex, NULL);
	return 0;
}

int nd_app_open(struct nd_app *app, const struct nd_stack_config *config, struct nd_error *error)
{
	return begin(app, nd_stack_open(config, error), error);
}

int nd_app_attach(struct nd_app *app, const char *service, struct nd_error *error)
{
	return begin(app, nd_stack_attach(service, error), error);
}

int nd_app_share(struct nd_app *app, struct nd_app *other, struct nd_error *error)
{
	struct nd_stack *stack = NULL;

	if (other->foreign)
		return nd_error_set(error, -ECHILD,
				    "stack: it was opened before a fork; open one in the child, or "
				    "start processes by spawn");
	pthread_mutex_lock(&other->mutex);
	if (other->stack)
		stack = nd_stack_share(other->stack, error);
	else
		nd_error_set(error, -EBADF, "stack: it is closed");
	pthread_mutex_unlock(&other->mutex);
	return begin(app, stack, error);
}

static void unmap_if_unused(struct nd_app *app)
{
	if (app->stack || app->held || !app->memory.base)
		return;
	munmap(app->memory.base, app->memory.bytes);
	app->memory.base = NULL;
}

void nd_app_close(struct nd_app *app, uint32_t batches)
{
	if (app->foreign)
		return;
	pthread_mutex_lock(&app->mutex);
	if (app->stack) {
		nd_stack_keep_memory(app->stack);
		nd_stack_close(app->stack);
		app->stack = NULL;
		nd_app_end_loans(app);
		if (batches == app->batches) {
			app->held -= app->took + app->copied;
			app->took = false;
			app->copied = 0;
			app->last_count = 0;
		}
		unmap_if_unused(app);
	}
	pthread_mutex_unlock(&app->mutex);
}

void nd_app_end(struct nd_app *app)
{
	if (app->foreign)
		return; /* the child of a fork: its copy is small, and its locks may be held */
	nd_app_close(app, app->batches);
	pthread_mutex_lock(&app->mutex);
	app->held = 0;
	unmap_if_unused(app);
	free(app->waiting);
	app->waiting = NULL;
	app->waiting_count = app->waiting_done = app->waiting_room = 0;
	pthread_mutex_unlock(&app->mutex);
}

void nd_app_disown(struct nd_app *app)
{
	app->foreign = true;
}

static uint32_t largest_block(uint32_t region_bytes)
{
	uint32_t above = nd_power_of_two_u32(region_bytes);

	return above == region_bytes ? above : above / 2;
}

uint32_t nd_app_send_bytes_max(const struct nd_app *app)
{
	return largest_block(app->memory.send_bytes);
}

uint32_t nd_app_receive_bytes_max(const struct nd_app *app)
{
	return largest_block(app->memory.receive_bytes);
}

/* ---- the submit side, under the mutex ---- */

int nd_app_flush(struct nd_app *app)
{
	while (ND_UNLIKELY(app->waiting_done < app->waiting_count)) {
		const struct nd_app_waiting *first = &app->waiting[app->waiting_done];
		int code = nd_stack_submit(app->stack, first->protocol, &first->command);

		if (code == -EAGAIN)
			return code;
		app->waiting_done++;
	}
	app->waiting_done = app->waiting_count = 0;
	return 0;
}

static int make_room(struct nd_app *app)
{
	uint32_t room = app->waiting_room ? 2 * app->waiting_room : 64;
	struct nd_app_waiting *grown;

	if (app->waiting_count < app->waiting_room)
		return 0;
	grown = realloc(app->waiting, room * sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	app->waiting = grown;
	app->waiting_room = room;
	return 0;
}

static int submit_or_wait(struct nd_app *app, uint8_t protocol, const struct nd_command *command)
{
	int code = nd_app_flush(app);

	if (ND_LIKELY(code == 0))
		code = nd_stack_submit(app->stack, protocol, command);
	if (ND_LIKELY(code != -EAGAIN))
		return code;
	code = make_room(app);
	if (code == 0)
		app->waiting[app->waiting_count++] =
			(struct nd_app_waiting){ .command = *command, .protocol = protocol };
	return code;
}

void nd_app_free_buffer(struct nd_app *app, uint64_t cookie)
{
	uint64_t slot = cookie >> ND_APP_KEY_BITS;

	if (slot >= app->loans_base)
		nd_app_end_loan(app, slot);
	else if (slot)
		nd_stack_buffer_free(app->stack, app->memory.base + (slot - 1) * SLOT_BYTES);
}

/* Puts the payload where the core finds it; the number of that place, 0: there is no room. */
static uint64_t place(struct nd_app *app, struct nd_command *command, const char *data, void *lender)
{
	uint8_t *buffer;

	if (lender) {
		command->payload = (const uint8_t *)data;
		return nd_app_lend(app, lender);
	}
	buffer = nd_stack_buffer(app->stack, command->bytes);
	if (!buffer)
		return 0;
	command->payload = memcpy(buffer, data, command->bytes);
	return (uint64_t)(buffer - app->memory.base) / SLOT_BYTES + 1;
}

/* It was not sent from there. */
static void give_up_place(struct nd_app *app, uint64_t slot)
{
	if (slot >= app->loans_base)
		nd_app_unlend(app, slot);
	else
		nd_app_free_buffer(app, slot << ND_APP_KEY_BITS);
}

static int send_locked(struct nd_app *app, uint8_t protocol, struct nd_command *command,
		       const char *data, void *lender)
{
	uint64_t slot = 0;
	int code = nd_app_flush(app);

	if (code < 0)
		return code;
	if (command->bytes) {
		slot = place(app, command, data, lender);
		if (!slot)
			return command->bytes > nd_app_send_bytes_max(app) ? -EMSGSIZE : -ENOBUFS;
	}
	command->cookie = (command->cookie & ND_APP_KEY_MASK) | slot << ND_APP_KEY_BITS;
	code = nd_stack_submit_later(app->stack, protocol, command);
	if (ND_LIKELY(code == 0))
		return (int)slot;
	give_up_place(app, slot);
	return code;
}

/* later: what the core gets so leaves by the next nd_app_poll(). */
static int hand_over(struct nd_app *app, uint8_t protocol, struct nd_command *command, const char *data,
		bool later, void *lender)
{
	int code = nd_app_enter(app);

	if (code < 0)
		return code;
	code = send_locked(app, protocol, command, data, lender);
	if (code >= 0 && !later)
		nd_stack_flush(app->stack);
	pthread_mutex_unlock(&app->mutex);
	return code;
}

int nd_app_ask(struct nd_app *app, uint8_t priority, uint32_t peer, uint16_t port, uint64_t key,
		 double until, const char *data, uint32_t bytes, bool later, void *lender)
{
	struct nd_command command = {
		.kind = ND_COMMAND_REQUEST,
		.priority = priority,
		.peer = peer,
		.port = port,
		.bytes = bytes,
		.cookie = key,
		.deadline = nd_app_deadline(until),
	};

	return hand_over(app, ND_PROTO_HOMA, &command, data, later, lender);
}

int nd_app_reply(struct nd_app *app, uint64_t id, const char *data, uint32_t bytes, bool later,
		 void *lender)
{
	struct nd_command command = { .kind = ND_COMMAND_REPLY, .bytes = bytes, .id = id };

	return hand_over(app, ND_PROTO_HOMA, &command, data, later, lender);
}

int nd_app_send_message(struct nd_app *app, uint64_t connection, nd_ns deadline, const char *data,
			uint32_t bytes, bool later)
{
	struct nd_command command = {
		.kind = ND_COMMAND_SEND,
		.bytes = bytes,
		.id = connection,
		.deadline = deadline,
	};

	return hand_over(app, ND_PROTO_NDP, &command, data, later, NULL);
}

int nd_app_send(struct nd_app *app, uint8_t protocol, uint8_t kind, uint8_t priority,
		uint32_t peer, uint16_t port, uint64_t id, uint64_t key, nd_ns deadline,
		const char *data, uint32_t bytes)
{
	struct nd_command command = {
		.kind = kind,
		.priority = priority,
		.peer = peer,
		.port = port,
		.bytes = bytes,
		.id = id,
		.cookie = key,
		.deadline = deadline,
	};

	return hand_over(app, protocol, &command, data, false, NULL);
}

void nd_app_push(struct nd_app *app)
{
	if (nd_app_enter(app) < 0)
		return;
	nd_stack_flush(app->stack);
	pthread_mutex_unlock(&app->mutex);
}

/* Hands a command without payload over, now or as soon as there is room. */
static int tell(struct nd_app *app, uint8_t protocol, const struct nd_command *command)
{
	int code = nd_app_enter(app);

	if (code < 0)
		return code;
	code = submit_or_wait(app, protocol, command);
	pthread_mutex_unlock(&app->mutex);
	return code;
}

int nd_app_cancel(struct nd_app *app, uint64_t key, int buffer)
{
	struct nd_command command = {
		.kind = ND_COMMAND_CANCEL,
		.cookie = (key & ND_APP_KEY_MASK) | (uint64_t)buffer << ND_APP_KEY_BITS,
	};

	return tell(app, ND_PROTO_HOMA, &command);
}

int nd_app_tell(struct nd_app *app, uint8_t protocol, uint8_t kind, uint16_t port, uint64_t id,
		uint64_t message, uint64_t key, nd_ns deadline)
{
	struct nd_command command = {
		.kind = kind,
		.port = port,
		.id = id,
		.message = message,
		.cookie = key & ND_APP_KEY_MASK,
		.deadline = deadline,
	};

	return tell(app, protocol, &command);
}

static void release(struct nd_app *app, uint8_t protocol, uint64_t id, uint64_t message,
		    uint32_t later_max)
{
	struct nd_command command = {
		.kind = ND_COMMAND_RELEASE,
		.id = id,
		.message = message,
	};

	if (app->foreign)
		return;
	pthread_mutex_lock(&app->mutex);
	nd_assert(app->held > 0 || !app->memory.base);
	app->held -= app->held > 0;
	/* Out of memory for the list: the core keeps the message until the handle is closed. */
	if (!app->stack)
		unmap_if_unused(app);
	else if (app->waiting_count - app->waiting_done < later_max && make_room(app) == 0)
		app->waiting[app->waiting_count++] =
			(struct nd_app_waiting){ .command = command, .protocol = protocol };
	else
		submit_or_wait(app, protocol, &command);
	pthread_mutex_unlock(&app->mutex);
}

void nd_app_release(struct nd_app *app, uint8_t protocol, uint64_t id, uint64_t message)
{
	release(app, protocol, id, message, 0);
}

void nd_app_release_later(struct nd_app *app, uint8_t protocol, uint64_t id, uint64_t message)
{
	release(app, protocol, id, message, ND_APP_LATER_MAX);
}

uint32_t nd_app_held(struct nd_app *app)
{
	uint32_t held;

	if (app->foreign)
		return 0;
	pthread_mutex_lock(&app->mutex);
	held = app->held - __atomic_load_n(&app->took, __ATOMIC_RELAXED) -
	       __atomic_load_n(&app->copied, __ATOMIC_RELAXED);
	pthread_mutex_unlock(&app->mutex);
	return held;
}

/* ---- control ---- */

int nd_app_set_peer(struct nd_app *app, const uint8_t address[16], uint32_t port,
		    const uint8_t mac[6])
{
	int code = nd_app_enter(app);

	if (code < 0)
		return code;
	code = nd_stack_set_peer(app->stack, address, port, mac);
	pthread_mutex_unlock(&app->mutex);
	return code;
}

int nd_app_resolver(struct nd_app *app)
{
	int code = nd_app_enter(app);

	if (code < 0)
		return code;
	code = nd_stack_resolver(app->stack);
	pthread_mutex_unlock(&app->mutex);
	return code;
}

int nd_app_unresolved(struct nd_app *app, uint8_t *addresses, uint32_t limit)
{
	int code = nd_app_enter(app);

	if (code < 0)
		return code;
	code = nd_stack_unresolved(app->stack, (uint8_t(*)[16])addresses, limit);
	pthread_mutex_unlock(&app->mutex);
	return code;
}

int nd_app_lose_peer(struct nd_app *app, const uint8_t address[16], uint32_t reason)
{
	int code = nd_app_enter(app);

	if (code < 0)
		return code;
	code = nd_stack_lose_peer(app->stack, address, (enum nd_stack_unreachable)reason);
	pthread_mutex_unlock(&app->mutex);
	return code;
}

int nd_app_counters(struct nd_app *app, uint32_t group, uint32_t index,
		    const struct nd_counters_table **table, uint64_t *values, uint32_t limit)
{
	int code = nd_app_enter(app);

	if (code < 0)
		return code;
	code = nd_stack_counters(app->stack, (enum nd_stack_group)group, index, table, values,
				 limit);
	pthread_mutex_unlock(&app->mutex);
	return code;
}

int nd_app_port_state(struct nd_app *app, uint32_t index, uint32_t *state, char *mode,
		      struct nd_error *error)
{
	enum nd_port_state found = ND_PORT_GONE;
	int code = nd_app_enter(app);

	if (code < 0)
		return code;
	code = nd_stack_port_state(app->stack, index, &found, mode, error);
	*state = found;
	pthread_mutex_unlock(&app->mutex);
	return code;
}

int nd_app_settings(struct nd_app *app, struct nd_stack_settings *settings)
{
	int code = nd_app_enter(app);

	if (code < 0)
		return code;
	code = nd_stack_settings(app->stack, settings);
	pthread_mutex_unlock(&app->mutex);
	return code;
}

int nd_app_set(struct nd_app *app, const struct nd_stack_settings *settings,
	       struct nd_error *error)
{
	int code = nd_app_enter(app);

	if (code < 0)
		return nd_error_set(error, code, "the stack is closed");
	code = nd_stack_set(app->stack, settings, error);
	pthread_mutex_unlock(&app->mutex);
	return code;
}

int nd_app_exchanges(struct nd_app *app, uint64_t *cursor, struct nd_exchange *out, uint32_t limit)
{
	int code = nd_app_enter(app);

	if (code < 0)
		return code;
	code = nd_stack_exchanges(app->stack, cursor, out, limit);
	pthread_mutex_unlock(&app->mutex);
	return code;
}

int nd_app_peers(struct nd_app *app, uint64_t *cursor, struct nd_stack_peer *out, uint32_t limit)
{
	int code = nd_app_enter(app);

	if (code < 0)
		return code;
	code = nd_stack_peers(app->stack, cursor, out, limit);
	pthread_mutex_unlock(&app->mutex);
	return code;
}

int nd_app_apps(struct nd_app *app, uint64_t *cursor, struct nd_stack_app *out, uint32_t limit)
{
	int code = nd_app_enter(app);

	if (code < 0)
		return code;
	code = nd_stack_apps(app->stack, cursor, out, limit);
	pthread_mutex_unlock(&app->mutex);
	return code;
}

const char *nd_app_audit(struct nd_app *app)
{
	const char *wrong;

	if (nd_app_enter(app) < 0)
		return NULL;
	wrong = nd_stack_audit(app->stack);
	pthread_mutex_unlock(&app->mutex);
	return wrong;
}
