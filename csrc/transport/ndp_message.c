// SPDX-License-Identifier: Apache-2.0
/* Outgoing messages, from the application's command to its event. */
#include "transport/ndp_internal.h"

#include <errno.h>

static void link_message(struct nd_ndp *ndp, struct nd_ndp_connection *connection,
			 struct nd_ndp_message *message)
{
	uint32_t index = nd_pool_index(&ndp->messages, message);

	message->linked = true;
	message->next = ND_NONE;
	message->prev = connection->messages_tail;
	if (connection->messages_tail == ND_NONE)
		connection->messages_head = index;
	else
		nd_ndp_message_at(ndp, connection->messages_tail)->next = index;
	connection->messages_tail = index;
	if (connection->sending == ND_NONE)
		connection->sending = index;
}

static void unlink_message(struct nd_ndp *ndp, struct nd_ndp_connection *connection,
			   struct nd_ndp_message *message)
{
	message->linked = false;
	if (message->prev == ND_NONE)
		connection->messages_head = message->next;
	else
		nd_ndp_message_at(ndp, message->prev)->next = message->next;
	if (message->next == ND_NONE)
		connection->messages_tail = message->prev;
	else
		nd_ndp_message_at(ndp, message->next)->prev = message->prev;
}

static void count(struct nd_ndp *ndp, struct nd_ndp_connection *connection, uint32_t more)
{
	connection->message_count += more;
	if (connection->app < ND_NDP_APPS_TOLD)
		ndp->queued[connection->app] += more;
}

static void free_if_done(struct nd_ndp *ndp, struct nd_ndp_message *message)
{
	if (message->linked || message->reported)
		return;
	count(ndp, nd_ndp_connection_at(ndp, message->connection), -1u);
	nd_pool_put(&ndp->messages, nd_pool_index(&ndp->messages, message));
}

int nd_ndp_message_send(struct nd_ndp *ndp, struct nd_ndp_connection *connection,
			struct nd_command *command, nd_ns now)
{
	struct nd_ndp_message *message;
	uint32_t index;

	if (command->deadline && command->deadline <= now)
		return -ETIMEDOUT;
	if (connection->message_count >= ndp->config.connection_messages_max)
		return -EAGAIN;
	index = nd_pool_get(&ndp->messages);
	if (index == ND_NONE)
		return -ENOBUFS;
	message = nd_ndp_message_at(ndp, index);
	*message = (struct nd_ndp_message){
		.payload = command->payload,
		.number = connection->number_next++,
		.cookie = command->cookie,
		.deadline = command->deadline ? command->deadline : ND_NEVER,
		.bytes = command->bytes,
		.connection = connection->slot,
	};
	command->message = message->number;
	if (!nd_ndp_has_unsent(connection))
		nd_ndp_send_begin_train(ndp, connection);
	link_message(ndp, connection, message);
	count(ndp, connection, 1);
	connection->backlog += message->bytes;
	if (message->deadline < connection->message_deadline) {
		connection->message_deadline = message->deadline;
		nd_ndp_connection_arm(ndp, connection, message->deadline);
	}
	nd_ndp_send_schedule(ndp, connection);
	return 0;
}

void nd_ndp_message_cancel(struct nd_ndp *ndp, struct nd_ndp_message *message, int32_t error)
{
	struct nd_ndp_connection *connection = nd_ndp_connection_at(ndp, message->connection);

	nd_assert(message->linked && !message->cancelled);
	connection->backlog -= message->bytes - message->sent;
	message->cancelled = true;
	message->payload = NULL;
	message->error = error;
	message->detail = connection->state;
	ndp->counters.messages_failed++;
	nd_ndp_event_message(ndp, message);
}

void nd_ndp_message_end(struct nd_ndp *ndp, struct nd_ndp_message *message)
{
	unlink_message(ndp, nd_ndp_connection_at(ndp, message->connection), message);
	if (message->cancelled) {
		free_if_done(ndp, message);
		return;
	}
	ndp->counters.messages_sent++;
	ndp->counters.bytes_sent += message->bytes;
	nd_ndp_event_message(ndp, message);
}

void nd_ndp_message_fail_all(struct nd_ndp *ndp, struct nd_ndp_connection *connection,
			     int32_t error, uint32_t detail)
{
	uint32_t index;

	connection->sending = ND_NONE;
	connection->backlog = 0;
	while ((index = connection->messages_head) != ND_NONE) {
		struct nd_ndp_message *message = nd_ndp_message_at(ndp, index);

		unlink_message(ndp, connection, message);
		if (message->cancelled) {
			free_if_done(ndp, message);
			continue;
		}
		message->error = error;
		message->detail = detail;
		ndp->counters.messages_failed++;
		nd_ndp_event_message(ndp, message);
	}
}

nd_ns nd_ndp_message_expire(struct nd_ndp *ndp, struct nd_ndp_connection *connection, nd_ns now)
{
	nd_ns earliest = ND_NEVER;
	uint32_t next;

	if (now < connection->message_deadline)
		return connection->message_deadline;
	for (uint32_t index = connection->messages_head; index != ND_NONE; index = next) {
		struct nd_ndp_message *message = nd_ndp_message_at(ndp, index);

		next = message->next;
		if (message->cancelled)
			continue;
		if (message->deadline <= now)
			nd_ndp_message_cancel(ndp, message, -ETIMEDOUT);
		else
			earliest = nd_min_u64(earliest, message->deadline);
	}
	connection->message_deadline = earliest;
	return earliest;
}

void nd_ndp_message_done(struct nd_ndp *ndp, uint32_t index)
{
	struct nd_ndp_message *message = nd_ndp_message_at(ndp, index);

	message->reported = false;
	free_if_done(ndp, message);
}
