/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The core of a host: one thread that owns ports and engines and serves applications.
 *
 * Each round: commands of applications, packets to send, received packets, timers, events. When
 * nothing was done it spins for a while or blocks, as the profile says (core_wait.c). The thread is
 * the core's own, or an application's that polls (core_loop.c) or waits (core_loan.c).
 *
 * DESIGN NOTES
 * 1. Everything here belongs to the thread that runs the rounds. Other threads reach it by
 *    nd_core_call(), which runs a function between two rounds; nothing in a round takes a lock.
 * 2. An application's credit is what it holds: received messages (memory, and their number) and
 *    events not taken. One that takes none gets no more messages and its commands wait; what
 *    still comes (failures, say) goes to a bounded backlog; beyond that it is detached.
 * 3. A packet to a peer whose way is unknown is dropped and counted, and the control plane is
 *    asked for it: engines send the packet again, and the neighbour is known by then. Who asks for
 *    a peer by its address waits for the answer, so that nobody connects to where no way leads.
 * 4. Most rounds find nothing, and most others concern one engine. So an engine is asked for
 *    packets, events and its deadline only when it was told something since, or its time has come
 *    (transport.h, note 5).
 */
#ifndef ND_HOST_CORE_H
#define ND_HOST_CORE_H

#include "base/spin.h"
#include "host/channel.h"
#include "host/peers.h"
#include "host/recorder.h"
#include "host/turn.h"
#include "ndpstack.h"
#include "port/reopener.h"
#include "transport/nic.h"

#include <pthread.h>

#define ND_CORE_ENGINES_MAX 2
#define ND_CORE_BATCH 64u /* frames, commands, events taken at once */
#define ND_CORE_TELL_AFTER ND_MSEC /* word that is no hurry */
#define ND_CORE_ASKED_MAX 256u   /* peers whose way is asked for at once */
#define ND_CORE_WAITING_MAX 256u /* commands that wait for a way at once */

#define ND_CORE_COUNTERS(X) \
	X(rounds, "Rounds of the core's loop.") \
	X(sleeps, "Times the core blocked because there was nothing to do.") \
	X(loans, "Times an application that waited or sent ran rounds in the core's place.") \
	X(rounds_lent, "Rounds that applications ran so.") \
	X(commands, "Commands taken from applications.") \
	X(commands_refused, "Commands that were refused; the application got the reason.") \
	X(commands_over_share, "Of those: by applications of a user who is neither root nor the core's, " \
			       "and would have more of an engine's connections, RPCs, messages or " \
			       "ports than stay free.") \
	X(commands_malformed, "Commands that named memory outside the send region.") \
	X(events, "Events given to applications.") \
	X(events_delayed, "Events that waited because an application did not take its events.") \
	X(events_orphaned, "Events for an application that was gone.") \
	X(messages_withheld, "Messages not accepted because the application holds its full share.") \
	X(apps_attached, "Applications that attached.") \
	X(apps_refused, "Applications refused because of a limit, memory or credentials.") \
	X(apps_put_off, "Times that applications had to wait because the process had no descriptor, " \
			"or the system no memory, to accept them; raise LimitNOFILE.") \
	X(apps_ended, "Applications that closed or died, and were reclaimed.") \
	X(apps_overrun, "Applications detached because they let too many events pile up.") \
	X(apps_corrupt, "Applications detached because they wrote nonsense into their rings.") \
	X(rx_not_ours, "Frames received that are not for this host or no protocol of ours.") \
	X(rx_peers_refused, "Packets dropped because peers_max addresses are known.") \
	X(tx_packets, "Packets given to a port.") \
	X(tx_no_way, "Packets dropped because the way to their peer is not known (yet).") \
	X(ways_not_asked, "Ways not asked for at once because many others were being asked for.") \
	X(peers_evicted, "Addresses forgotten because they were idle and others needed room.") \
	X(tx_unencodable, "Packets dropped because they do not fit in a frame.") \
	X(ports_reopened, "Ports opened again after their interface was gone or changed.") \
	X(mtu_followed, "Times that an engine was told another packet size because the MTU of an " \
			"interface, or the one in the settings, changed; its peers' MTU must be " \
			"changed too.") \
	X(settings_taken, "Times that other settings came into force.") \
	X(settings_refused, "Settings that were refused; all stayed as it was.")
ND_COUNTERS_STRUCT(nd_core_counters, ND_CORE_COUNTERS);
extern const struct nd_counters_table nd_core_counters_table;

struct nd_core;

struct nd_core_engine {
	const struct nd_transport_ops *ops;
	void *endpoint;
	size_t bytes; /* of it */
	uint32_t mss;       /* that it sends packets with now */
	uint32_t mss_link;  /* ... and could at most on these links */
	uint32_t mss_given; /* by the application's config: never more; 0: what the MTU allows */
	uint8_t bit;        /* in masks of engines, and of the NIC's members */
};

/* Which engines are to be asked for what, as bits: they were told something since they were asked. */
struct nd_core_news {
	uint8_t packets;
	uint8_t events;
	uint8_t deadlines;
};

struct nd_core_port {
	struct nd_port_config config; /* strings are the core's copies */
	struct nd_port *port;         /* NULL while it waits to be opened again */
	struct nd_reopener *reopener; /* that does it meanwhile, or NULL */
	enum nd_port_state state;
	struct nd_error why;          /* of the state */
	uint8_t mac[6];               /* the port's own, or derived from our address */
	bool derive;                  /* its link needs no neighbour discovery */
	bool watched;                 /* by the core's epoll */
	nd_ns bulk_at;                /* when a frame of a long message was taken in last */
	uint64_t armed_at;            /* frames that had come when somebody was about to block */
	struct nd_frame blanks[ND_CORE_BATCH]; /* reserved frames */
	uint32_t blank_count, blank_used;
	uint32_t pending;             /* frames that the link has not taken yet */
};

struct nd_core_app {
	bool used;
	uint16_t group;       /* 0: root or our own user, who may have all; else one for each user */
	uint64_t serial;      /* of its attachment, from 1 on */
	nd_ns tell_at;        /* when to wake it for events that it has not taken by then; ND_NEVER */
	bool polls;           /* in the thread of these rounds, or in none: it is never woken */
	int connection;       /* sign of life, both ways */
	uint32_t user;        /* at its other end */
	struct nd_channel channel;
	uint32_t held;        /* received messages that it has not released */
	struct nd_event *backlog; /* ring of channel.layout.events that found no room */
	uint32_t backlog_head, backlog_count;
	uint64_t last[ND_PROTO_COUNT]; /* ids of the last CONNECT or REQUEST */
};

/* A command PEER whose answer has to wait for the way. */
struct nd_core_waiting {
	struct nd_event event; /* the answer, but for what becomes of it */
	nd_ns give_up_at;
};

/* What the control plane is asked, and who waits for its answers. */
struct nd_core_resolver {
	int bell; /* eventfd, readable when something is asked; -1: nobody answers */
	uint32_t asked[ND_CORE_ASKED_MAX]; /* ring of handles */
	uint32_t head, count;
	struct nd_core_waiting waiting[ND_CORE_WAITING_MAX];
	uint32_t waiting_count;
};

/* A call from another thread; it lies on that thread's stack. */
struct nd_core_request {
	void (*call)(struct nd_core *core, void *argument);
	void *argument;
	bool done;
};

/* What an application finds while it runs the rounds. */
struct nd_core_loan {
	uint64_t frames; /* received by the ports before that */
	bool news;       /* there have been events that are worth waking an application for at once */
	bool owner;      /* the core's own thread has to go on */
};

struct nd_core {
	struct nd_stack_config config;
	struct nd_frame_config frame;
	struct nd_stack_settings settings; /* in force; .frame is the one above */
	struct nd_peers peers;
	struct nd_core_engine engines[ND_CORE_ENGINES_MAX];
	uint32_t engine_count;
	struct nd_core_news news;
	nd_ns due; /* the earliest deadline of the engines as of the last time that timers were run */
	struct nd_rx_memory rx_memory;
	struct nd_nic nic;
	struct nd_core_port ports[ND_STACK_PORTS_MAX];
	struct nd_core_app apps[ND_STACK_APPS_MAX];
	uint32_t apps_limit; /* apps below this index may be in use */
	uint64_t sole_app;   /* serial of the only application; 0: none, or several; also read by those */
	struct nd_core_resolver resolver;
	struct nd_core_counters counters;
	struct nd_wire_counters wire;
	struct nd_recorder *recorder; /* NULL: nothing is recorded */

	int epoll;
	int service;         /* listening socket, or -1 */
	nd_ns check_at;      /* when ports and applications are looked after next */
	nd_ns busy_at;       /* when there was work last */
	bool may_spin;       /* there is a CPU to spare */
	struct nd_spin spin; /* after work, before blocking */
	struct nd_spin linger; /* of an event loop, after it sent one message */
	bool unread;         /* a port had more frames than a round takes */
	uint32_t timers_waited; /* rounds in which they were put off for unread frames */
	bool woken;          /* something rang while it blocked */
	struct nd_turn turn; /* to run the rounds; its owner is the core's own thread */
	struct nd_core_loan loan;

	/* Calls from other threads. */
	pthread_t thread; /* the core's own, or the one that polls it */
	pthread_mutex_t mutex;
	pthread_cond_t done;
	int bell;            /* eventfd that ends the core's sleep */
	bool stopping;
	struct nd_core_request *request; /* waits; also read without the mutex */
	uint32_t handles;    /* of applications in this process */
};

/*
 * The parts of opening that a replay has in common with a live core, in order: the struct, from a
 * config that was checked; addresses, and what the thread waits by; when the ports are there, the
 * engines. And the end of all that.
 */
struct nd_core *nd_core_make(const struct nd_stack_config *config, struct nd_error *error);
int nd_core_prepare(struct nd_core *core, struct nd_error *error);
int nd_core_add_engines(struct nd_core *core, struct nd_error *error);
void nd_core_tear_down(struct nd_core *core);

/* Opens ports, sets engines up, starts the thread if it is to have one. NULL on failure. */
struct nd_core *nd_core_open(const struct nd_stack_config *config, struct nd_error *error);
/* Stops the thread, detaches all applications, closes the ports. Any thread, as the last one. */
void nd_core_close(struct nd_core *core);

/*
 * Runs call in the core thread, between two rounds, and waits for it. Any other thread; a polled
 * core's own, and -EPERM for others.
 */
int nd_core_call(struct nd_core *core, void (*call)(struct nd_core *core, void *argument),
		 void *argument);

static inline bool nd_core_is_polled(const struct nd_core *core)
{
	return core->config.profile == ND_STACK_POLLED;
}

/* True where it need not copy what an application of this process sends; see nd_stack_close(). */
static inline bool nd_core_reads_anywhere(const struct nd_core *core)
{
	return !nd_core_is_polled(core) && !core->recorder;
}

/* NULL when the host does without this protocol. */
static inline struct nd_core_engine *nd_core_engine_of(struct nd_core *core, uint8_t protocol)
{
	for (uint32_t i = 0; i < core->engine_count; i++)
		if (core->engines[i].ops->protocol == protocol)
			return &core->engines[i];
	return NULL;
}

/* The bits of all engines. */
static inline uint8_t nd_core_every_engine(const struct nd_core *core)
{
	return (uint8_t)((1u << core->engine_count) - 1);
}

/* It was told something: it is to be asked again for all that it may have. */
static inline void nd_core_stir(struct nd_core *core, const struct nd_core_engine *engine)
{
	core->news.packets |= engine->bit;
	core->news.events |= engine->bit;
	core->news.deadlines |= engine->bit;
}

/* True in the thread that runs the rounds. */
static inline bool nd_core_is_ours(const struct nd_core *core)
{
	return pthread_equal(core->thread, pthread_self());
}

/* core_loop.c. One round; false when there was nothing to do. */
bool nd_core_round(struct nd_core *core, nd_ns now);
/* Runs what another thread asked for by nd_core_call(); false when none did. */
bool nd_core_answer_call(struct nd_core *core);
/* Ends the sleep of whoever runs the rounds. */
void nd_core_ring(const struct nd_core *core);
/* Whoever was woken by that has seen it. */
void nd_core_hush(const struct nd_core *core);
/* The core's own thread: rounds and waiting until it is told to stop. */
void *nd_core_run(void *core);
/* All that is open ends, and the peers hear of it as far as the link takes it at once. */
void nd_core_wind_up(struct nd_core *core);

/* ---- the parts of a round; core thread only ---- */

/* core_app.c. Each returns whether there was something to do. */
bool nd_core_take_commands(struct nd_core *core, nd_ns now);
bool nd_core_deliver_events(struct nd_core *core, nd_ns now);
/*
 * Makes a channel and hands it to whoever is at the other end of the connection, in this process
 * or another; takes the connection. Index of the new application, or -errno.
 */
int nd_core_attach(struct nd_core *core, int connection);
void nd_core_detach(struct nd_core *core, uint32_t app, nd_ns now);
/* The longest message that an application's receive region can hold: its largest block. */
uint32_t nd_core_longest_message(const struct nd_core *core);
void nd_core_answer_service(struct nd_core *core);
void nd_core_check_apps(struct nd_core *core, nd_ns now);
/* True for one whose commands wait because it does not take its events. */
static inline bool nd_core_app_is_behind(struct nd_core_app *app)
{
	uint32_t least = app->channel.layout.events / 2;

	return app->backlog_count || nd_channel_room(&app->channel, least) < least;
}

/* When the application is to be woken for what it has been given, and has not taken yet. */
static inline nd_ns nd_core_app_tell_at(struct nd_core_app *app)
{
	uint32_t events = app->channel.layout.events;

	return app->tell_at == ND_NEVER || nd_channel_room(&app->channel, events) == events
		       ? ND_NEVER
		       : app->tell_at;
}

void nd_core_init_memory(struct nd_core *core);

/* core_command.c */
void nd_core_command(struct nd_core *core, uint32_t app, const struct nd_submission *submission,
		     nd_ns now);
/* The application is woken for it at that time, 0: at once, and takes it earlier if it is awake. */
void nd_core_post(struct nd_core *core, uint32_t app, const struct nd_event *event, nd_ns tell_at);

/* core_resolve.c */
/* Asks the control plane; false when no answer is going to come. */
bool nd_core_ask_way(struct nd_core *core, struct nd_peer *peer, nd_ns now);
/* 0: the event is posted when the way is known or lost; or what the command fails with. */
int nd_core_await_way(struct nd_core *core, uint32_t app, const struct nd_event *event, nd_ns now);
/* Answers all who wait for the way to this peer. */
void nd_core_settle_way(struct nd_core *core, const struct nd_peer *peer);
void nd_core_check_waiting(struct nd_core *core, nd_ns now);
void nd_core_forget_waiting(struct nd_core *core, uint32_t app);
/* The control plane's side. Descriptor or -errno; count; 0 or -errno. */
int nd_core_open_resolver(struct nd_core *core);
uint32_t nd_core_take_unresolved(struct nd_core *core, uint8_t (*out)[16], uint32_t limit);
int nd_core_find_way(struct nd_core *core, const uint8_t address[16], uint32_t port_index,
		     const uint8_t mac[6], nd_ns now);
int nd_core_lose_way(struct nd_core *core, const uint8_t address[16], uint8_t reason, nd_ns now);

/* core_packet.c */
bool nd_core_receive(struct nd_core *core, nd_ns now);
bool nd_core_transmit(struct nd_core *core, nd_ns now);
/* One frame that a port received. */
void nd_core_receive_frame(struct nd_core *core, uint32_t port_index, const struct nd_frame *frame,
			   nd_ns now);
/* Gives the blanks of a port back unused. */
void nd_core_return_blanks(struct nd_core_port *port);

/* core_port.c. The port has another opening: what is said of its link holds for that one. */
void nd_core_set_link(struct nd_core *core, uint32_t port, const uint8_t mac[6], bool derive);
int nd_core_open_ports(struct nd_core *core, struct nd_error *error);
void nd_core_check_ports(struct nd_core *core, nd_ns now);
void nd_core_close_ports(struct nd_core *core);
/* True when what comes by the ports is going to wake whoever watches them. */
bool nd_core_arm_ports(struct nd_core *core);
/* Frames have come: watches the port no more when so many did that nobody will need to be woken. */
void nd_core_forget_port(struct nd_core *core, struct nd_core_port *self);
/* The next round may be run by another thread. */
void nd_core_disown_ports(struct nd_core *core);

/* core_mtu.c. MTU that an engine may count on: the smallest of all open ports'. */
uint32_t nd_core_engine_mtu(const struct nd_core *core, uint8_t protocol);
/* Message bytes of a full packet at that MTU, 0 when it carries none. */
uint32_t nd_core_mss_of(const struct nd_core *core, uint8_t protocol);
/* A port was opened again, or settings came: the MTU may be another. */
void nd_core_follow_mtu(struct nd_core *core, nd_ns now);

/* core_settings.c. Takes all of them, or none; 0 or -EINVAL. */
int nd_core_set(struct nd_core *core, const struct nd_stack_settings *settings, nd_ns now,
		struct nd_error *error);
/* What windows and the spacing of pulls are made for; 0: nobody knows. */
uint64_t nd_core_link_bps(const struct nd_core *core);
/* What settings come to, and what is recorded of them. 0 or what the engine says. */
int nd_core_tell(struct nd_core *core, uint32_t engine, struct nd_command *command, nd_ns now);
/* Code points and PCPs of that config, and a rate to keep. */
void nd_core_set_wire(struct nd_core *core, const struct nd_frame_config *frame,
		      uint64_t link_bps, nd_ns now);

/* core_wait.c: spins or blocks until there may be work, at most until then. 0 or -EINTR. */
int nd_core_wait(struct nd_core *core, nd_ns now, nd_ns until);
/* When there is something to do, should nothing come. */
nd_ns nd_core_due_at(struct nd_core *core, nd_ns now);
/* core_loan.c; called by threads of applications. */
/*
 * Runs rounds until the completions of the application have events: 1; or until a time: 0; or
 * -EINTR. -EAGAIN: the core's own thread runs, or has to.
 */
int nd_core_run_until(struct nd_core *core, uint64_t app, struct nd_ring *completions, nd_ns until);
/* Sees to commands that were just submitted; false: whoever runs the rounds has to. */
bool nd_core_push(struct nd_core *core);
/*
 * Runs the rounds there are for the event loop of an application, which is woken by core->epoll
 * from then on. False when the core's own thread runs, or has to. woken: by that, and there are no
 * events.
 */
bool nd_core_serve(struct nd_core *core, uint64_t app, bool woken);

/* True when an application has the turn; asked by whoever has it. */
static inline bool nd_core_is_lent(const struct nd_core *core)
{
	return nd_turn_state(&core->turn) == ND_TURN_LENT;
}

nd_ns nd_core_now(void);

/* How many CPUs this process may use. */
int nd_core_cpus(void);

/* stack.c. The core that a handle is on, NULL when it is in another process. For tests. */
struct nd_core *nd_stack_core(struct nd_stack *stack);

#endif
