/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A handle on a stack as Python needs it: one crossing for each message, from any thread.
 *
 * It copies what is sent into the stack's memory and frees it when the event comes that ends the
 * message, so that Python never holds a buffer that it could forget; only what cannot change is also
 * sent from where it lies. And it keeps the memory of
 * received messages mapped until the last of them is given back, also after the handle is closed.
 *
 * DESIGN NOTES
 * 1. Everything but nd_app_events(), nd_app_batch(), nd_app_request(), nd_app_take(), nd_app_drop(),
 *    nd_app_poll() and nd_app_arm() may be called from any thread. Those have one caller at a time,
 *    the same buffer for events, and nd_app_close() must not run beside them: the caller sees to it.
 * 2. A command's key comes back in the low bits of the event's cookie. The bits above name the
 *    send buffer, so that no table is needed to find it.
 * 3. Commands without payload never fail for want of room: they wait in a list and go out before
 *    the next command or with the next events. The list is bounded by what they end: messages
 *    held, RPCs and connections.
 * 4. After a fork the child calls nd_app_disown(): its copy of the handle then refuses everything,
 *    because the rings are shared with the parent.
 * 5. The caller's memory is the handle. Where Python finds a handle and what was received with it
 *    unreachable together, it finalises them in any order; so a handle that has ended still takes
 *    every call, and its memory goes with the last that refers to it.
 * 6. A signal handler may raise in Python right after any call, whose result is then lost. So what
 *    a call took belongs to the handle until the caller confirms it by its count of batches: an
 *    unconfirmed batch comes again. What Homa brought with it of up to ND_APP_COPY_BYTES is given
 *    back when it is confirmed: the caller has copied it by then, or does not want it.
 */
#ifndef ND_BINDINGS_APP_H
#define ND_BINDINGS_APP_H

#include "ndpstack.h"

#include <pthread.h>

#define ND_APP_KEY_BITS 40
#define ND_APP_KEY_OWN (UINT64_C(1) << (ND_APP_KEY_BITS - 1)) /* in keys of nd_app_request() */
#define ND_APP_COPY_BYTES 4096 /* messages up to it are copied: cheaper than a lease */
#define ND_APP_LEND_BYTES 32768u /* messages from it on may be lent: below, copying is as good */
#define ND_APP_LOANS_MAX 4096u   /* at once, a power of two */
#define ND_APP_LATER_MAX 32 /* below the messages that a connection may leave unreleased */

/* A command without payload that found no room. */
struct nd_app_waiting {
	struct nd_command command;
	uint8_t protocol;
};

/* A message that is sent from where it lies. */
struct nd_app_loan {
	void *owner;   /* NULL: a free entry */
	uint32_t next; /* free or returned entry */
	bool returned; /* no more looked at, and not taken back yet */
};

/* All zero: closed. */
struct nd_app {
	struct nd_stack *stack;        /* NULL: closed */
	struct nd_stack_memory memory; /* still mapped while messages are held */
	pthread_mutex_t mutex;         /* over all but the event side */
	uint32_t held;                 /* messages received and not given back */
	bool foreign;                  /* copied by a fork */
	bool driven;                   /* one event loop runs the rounds that it may */
	bool watching;                 /* ... and is woken for them */
	bool took;                     /* an NDP message of nd_app_take() waits to be confirmed: */
	struct nd_event taken;
	uint64_t requests;             /* sent by nd_app_request() */
	uint32_t batches;              /* of events taken, and how many were in the last */
	int last_count;
	uint32_t copied;               /* messages in it that are given back once it is confirmed */
	struct nd_app_waiting *waiting; /* in order; the first waiting_done have gone */
	uint32_t waiting_count, waiting_done, waiting_room;
	bool lends;                    /* the core reads messages from where they lie */
	struct nd_app_loan *loans;     /* by number, from loans_base on; the first is none */
	uint64_t loans_base;
	uint32_t loans_room, loans_free, loans_returned; /* entries; first of each list */
};

/* 0, or error says why and what to do. app is all zero. */
int nd_app_open(struct nd_app *app, const struct nd_stack_config *config, struct nd_error *error);
int nd_app_share(struct nd_app *app, struct nd_app *other, struct nd_error *error);
int nd_app_attach(struct nd_app *app, const char *service, struct nd_error *error);

/*
 * Lets go of the stack. Messages that are held stay readable, those of the last batch until
 * nd_app_end() unless it is confirmed by the count of batches. Idempotent.
 */
void nd_app_close(struct nd_app *app, uint32_t batches);

/* Closes it if need be, and lets go of what is held; whoever gives that back later does no harm. */
void nd_app_end(struct nd_app *app);

void nd_app_disown(struct nd_app *app);

/* Longest message that the memory of the channel can hold to send and to receive. */
uint32_t nd_app_send_bytes_max(const struct nd_app *app);
uint32_t nd_app_receive_bytes_max(const struct nd_app *app);

/*
 * Copies a message and hands it over. The buffer that it got, 0 for none; -EAGAIN: no room in the
 * ring, -ENOBUFS: no buffer; take events and try again. -EMSGSIZE: it never fits. -EPIPE: the core is
 * gone. -EBADF: closed. -ECHILD: this is the child of a fork.
 */
int nd_app_send(struct nd_app *app, uint8_t protocol, uint8_t kind, uint8_t priority,
		uint32_t peer, uint16_t port, uint64_t id, uint64_t key, nd_ns deadline,
		const char *data, uint32_t bytes);

/*
 * The same for what leaves most often: a Homa request that its peer is to answer until then, in
 * seconds on the monotonic clock or infinity; the reply to one; a message of an NDP connection.
 * later: with others, by the next nd_app_poll() or nd_app_push(). lender: NULL, or data is not copied
 * where that worked, and stays until nd_app_take_back() names its lender; only if the handle lends.
 */
int nd_app_ask(struct nd_app *app, uint8_t priority, uint32_t peer, uint16_t port, uint64_t key,
		 double until, const char *data, uint32_t bytes, bool later, void *lender);
int nd_app_reply(struct nd_app *app, uint64_t id, const char *data, uint32_t bytes, bool later,
		 void *lender);
int nd_app_send_message(struct nd_app *app, uint64_t connection, nd_ns deadline, const char *data,
			uint32_t bytes, bool later);
void nd_app_push(struct nd_app *app);

/*
 * The lender of a message that is not looked at any more, once for each that was sent; or NULL. While
 * there is one, nd_app_request() and nd_app_take() leave what came to a batch, whose owner then asks.
 */
void *nd_app_take_back(struct nd_app *app);

/* Ends a Homa request that was sent with this key and got this buffer. 0 or as above. */
int nd_app_cancel(struct nd_app *app, uint64_t key, int buffer);

/* Hands a command without payload over, at the latest with the next events. 0 or as above. */
int nd_app_tell(struct nd_app *app, uint8_t protocol, uint8_t kind, uint16_t port, uint64_t id,
		uint64_t message, uint64_t key, nd_ns deadline);

/* Gives a received message back; its memory is not looked at any more. Never fails. */
void nd_app_release(struct nd_app *app, uint8_t protocol, uint64_t id, uint64_t message);

/*
 * The same for a short message that has been copied: it goes with the next command or wait, for
 * it is not worth waking the core. At most ND_APP_LATER_MAX wait so.
 */
void nd_app_release_later(struct nd_app *app, uint8_t protocol, uint64_t id, uint64_t message);

/*
 * Waits for events, up to timeout from now (0: not at all), and takes up to limit of them, their
 * cookies reduced to keys. That a request was taken or a reply arrived is no event here. Count, or
 * -EINTR, or as nd_app_send().
 */
int nd_app_events(struct nd_app *app, struct nd_event *out, uint32_t limit, nd_ns timeout);

/*
 * The same for a caller into whose work something may break: batches is how many it has done
 * with. If that is not all that there were, the last one is still in out and its count comes again.
 */
int nd_app_batch(struct nd_app *app, struct nd_event *out, uint32_t limit, nd_ns timeout,
		 uint32_t batches);

#define ND_APP_DROPPED 255 /* kind of an event whose message was given back */

/*
 * Gives back the message of an event of the last batch, if it has one that is not given back with
 * the batch; once, however often called.
 */
void nd_app_drop(struct nd_app *app, struct nd_event *event);

#define ND_APP_SLICE (50 * ND_MSEC) /* longest time here without a look at signals */

/* What became of a request, also for a caller that was interrupted before it saw a result. */
enum nd_app_reply_state {
	ND_APP_UNSENT,   /* the core never got it */
	ND_APP_SENT,     /* its reply comes with a batch */
	ND_APP_ANSWERED, /* its reply is here, and given back */
};

struct nd_app_reply {
	uint32_t state; /* enum nd_app_reply_state */
	int32_t count;  /* SENT: of the batch that came instead, or as of nd_app_batch() */
	int32_t buffer; /* SENT: as of nd_app_send() */
	uint64_t key;   /* of the request */
	uint8_t data[ND_APP_COPY_BYTES];
};

/*
 * Sends a request as nd_app_ask(), and waits as nd_app_batch() does, for a slice at most. The length of a short reply that
 * is all that came; it is in reply. -EINPROGRESS: it was sent, and reply says what came. Otherwise
 * as of nd_app_send().
 */
int nd_app_request(struct nd_app *app, uint8_t priority, uint32_t peer, uint16_t port,
		   double until, const char *data, uint32_t bytes, struct nd_event *out,
		   uint32_t limit, uint32_t batches, struct nd_app_reply *reply);

/* A short message that was all that came, but for word of some that were sent before. */
struct nd_app_message {
	int32_t count;    /* as of nd_app_batch() */
	uint32_t peer;
	uint64_t id;      /* of the RPC or connection */
	uint64_t message; /* NDP: its number */
	uint32_t sent;    /* NDP: how many of those that were sent arrived */
	uint8_t data[ND_APP_COPY_BYTES];
};

/*
 * Waits until then, as above, but for a slice at most, for a request to a port (Homa) or a message
 * of a connection (NDP). Its length if it is short and all that came; it is given back once the
 * batch is confirmed. -EAGAIN: message has the count of the batch that came. alone: nobody else
 * waits, so that word of what was sent before ends no wait: it comes along with the message. Who
 * begins to wait meanwhile has the core make another event.
 */
int nd_app_take(struct nd_app *app, uint8_t protocol, uint64_t subject, double until,
		bool alone, struct nd_event *out, uint32_t limit, uint32_t batches,
		struct nd_app_message *message);

/*
 * For event loops that block on nd_app_descriptor(): sends, takes a batch without waiting, and sees
 * to it that the descriptor becomes readable when there is more, unless this one is full. woken:
 * because it is readable. Count, or as nd_app_batch().
 */
int nd_app_poll(struct nd_app *app, struct nd_event *out, uint32_t limit, uint32_t batches,
		bool woken);

/* True where one event loop polls: it runs the rounds of the core as long as that may be lent. */
void nd_app_drive(struct nd_app *app, bool drive);

/* For a loop that could not poll: the descriptor is readable for events only, until one polls. */
void nd_app_look_away(struct nd_app *app);

/* True when it is safe to block on nd_app_descriptor(). */
bool nd_app_arm(struct nd_app *app);

/* For poll(2). It is the caller's to close, so that it stays what it is while others close the handle. */
int nd_app_descriptor(struct nd_app *app);

/* Messages received and not given back. */
uint32_t nd_app_held(struct nd_app *app);

/* What ndpstack._messages calls of these, which has no copy of the stack. */
struct nd_app_verbs {
	int (*ask)(struct nd_app *app, uint8_t priority, uint32_t peer, uint16_t port, uint64_t key,
		   double until, const char *data, uint32_t bytes, bool later, void *lender);
	int (*reply)(struct nd_app *app, uint64_t id, const char *data, uint32_t bytes, bool later,
		     void *lender);
	int (*tell)(struct nd_app *app, uint8_t protocol, uint8_t kind, uint16_t port, uint64_t id,
		    uint64_t message, uint64_t key, nd_ns deadline);
	void (*release)(struct nd_app *app, uint8_t protocol, uint64_t id, uint64_t message);
	void (*drop)(struct nd_app *app, struct nd_event *event);
	void *(*take_back)(struct nd_app *app);
	void (*close)(struct nd_app *app, uint32_t batches);
};

const struct nd_app_verbs *nd_app_verbs(void);

/* The functions of ndpstack.h of these names; -EBADF when closed. */
int nd_app_set_peer(struct nd_app *app, const uint8_t address[16], uint32_t port,
		    const uint8_t mac[6]);
int nd_app_resolver(struct nd_app *app);
int nd_app_unresolved(struct nd_app *app, uint8_t *addresses, uint32_t limit);
int nd_app_lose_peer(struct nd_app *app, const uint8_t address[16], uint32_t reason);
int nd_app_counters(struct nd_app *app, uint32_t group, uint32_t index,
		    const struct nd_counters_table **table, uint64_t *values, uint32_t limit);
int nd_app_port_state(struct nd_app *app, uint32_t index, uint32_t *state, char *mode,
		      struct nd_error *error);
int nd_app_settings(struct nd_app *app, struct nd_stack_settings *settings);
int nd_app_set(struct nd_app *app, const struct nd_stack_settings *settings,
	       struct nd_error *error);
int nd_app_exchanges(struct nd_app *app, uint64_t *cursor, struct nd_exchange *out, uint32_t limit);
int nd_app_peers(struct nd_app *app, uint64_t *cursor, struct nd_stack_peer *out, uint32_t limit);
int nd_app_apps(struct nd_app *app, uint64_t *cursor, struct nd_stack_app *out, uint32_t limit);
/* NULL, or what is wrong inside the engines. */
const char *nd_app_audit(struct nd_app *app);

#endif
