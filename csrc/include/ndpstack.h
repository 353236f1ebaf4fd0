/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The public C API: messages and RPCs over NDP and Homa, without a kernel module.
 *
 * A stack is an application's handle on a running core: one that this process runs itself
 * (nd_stack_open), a second one on the same core (nd_stack_share), or the host service's
 * (nd_stack_attach). All three are the same shared-memory channel; only who maps it differs.
 *
 *	struct nd_stack *stack = nd_stack_open(&config, &error);
 *	uint8_t *request = nd_stack_buffer(stack, 100);
 *	nd_stack_submit(stack, ND_PROTO_HOMA, &(struct nd_command){
 *		.kind = ND_COMMAND_REQUEST, .peer = peer, .port = 4000,
 *		.payload = request, .bytes = 100, .cookie = 1 });
 *	...
 *	count = nd_stack_events(stack, events, 32);
 *
 * Commands and events are those of transport/transport.h. In addition:
 *
 * - Every CONNECT, REQUEST, LISTEN and PEER is answered by ND_EVENT_OPENED, which carries the
 *   command's cookie and the id it got, or by ND_EVENT_FAILED. SEND and REPLY have no such
 *   answer: what becomes of the message is ND_EVENT_SENT or ND_EVENT_FAILED. A CANCEL, CLOSE, RESET,
 *   UNLISTEN or RELEASE of something that has just ended is nothing to report. Nobody who
 *   blocks is woken at once for OPENED of a REQUEST or SENT of a REPLY, but for what comes next, or
 *   after a millisecond.
 * - A command that names ND_STACK_ID_LAST means the connection or RPC of the last CONNECT or
 *   REQUEST on this handle, so that connecting and sending need no round trip to the core.
 * - A payload to send lies in memory of nd_stack_buffer(), or anywhere if nd_stack_reads_anywhere().
 *   It is the stack's from submit until the message's last event (SENT, RESPONSE, FAILED, CLOSED) or
 *   until nd_stack_close() returns, then it may be used again or freed.
 * - The payload of a received message lies in the stack's memory until ND_COMMAND_RELEASE, and
 *   counts against the application's credit until then.
 *
 * - Events carry their protocol (enum nd_protocol) in the field of that name.
 * - Deadlines are absolute times of CLOCK_MONOTONIC in nanoseconds; 0 and ND_NEVER are none.
 *
 * docs/how-to/c.md has examples for both protocols, and how to build against the library.
 *
 * A handle has two sides that may be used by one thread each at a time: buffers and commands
 * (nd_stack_buffer, nd_stack_buffer_free, nd_stack_submit), and events (nd_stack_events,
 * nd_stack_arm, nd_stack_run, nd_stack_wait); nd_stack_flush() and nd_stack_watch() are of either.
 * Nothing else may run beside nd_stack_close(). After fork() the child must not use it. Every function
 * that returns int returns 0 or a negative errno.
 */
#ifndef NDPSTACK_H
#define NDPSTACK_H

/* C++ gets C's names of what follows, but not of the system's headers: those come first. */
#include <assert.h>
#include <pthread.h>
#include <stdalign.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#ifdef __cplusplus
extern "C" {
/* g++ says of functions that are named like structs that they hide constructors. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wshadow"
#endif

#include "base/error.h"
#include "port/port.h"
#include "transport/homa.h"
#include "transport/ndp.h"
#include "transport/transport.h"
#include "wire/frame_config.h"

#define ND_STACK_PORTS_MAX 8
#define ND_STACK_APPS_MAX 64
#define ND_STACK_ID_LAST UINT64_MAX

/*
 * Commands of the core itself, beside enum nd_command_kind. PEER: 16 bytes of payload are an
 * address (IPv4 mapped), and OPENED brings its handle in peer as soon as a way to it is known, or
 * FAILED says -EHOSTUNREACH and in detail why (enum nd_stack_unreachable); -EAGAIN when too many
 * wait for an answer. Without payload, peer is a handle, and OPENED brings its address, the first
 * 8 bytes in id and the others in message.
 *
 * A handle is good for as long as it is used. An address without traffic for a minute may make
 * room for others when peers_max are known, one that no command has named earlier: once nothing is
 * under way with it, and it is silent for as long as it was heard. Commands with its old handle fail with -ESTALE.
 */
enum { ND_STACK_COMMAND_PEER = 64 };

/* Why a peer cannot be reached, and what to do: detail of FAILED with -EHOSTUNREACH. */
#define ND_STACK_UNREACHABLE(X) \
	X(UNKNOWN, "the way to it is not known") \
	X(NO_ROUTE, "the kernel has no route to it; add one, or check the address") \
	X(OTHER_INTERFACE, "its route leads out of an interface that this host does not use; " \
			   "start the host on that interface, or change the route") \
	X(NO_NEIGHBOUR, "nobody answers for it on the link; check that it is up and in the same " \
			"network, or that the gateway is") \
	X(REFUSED, "the kernel has a route that prohibits it (blackhole, unreachable or " \
		   "prohibit); remove that route") \
	X(NO_ANSWER, "the control plane of the host does not answer; see its log, or restart it") \
	X(NO_ADDRESS, "the host has no address of this family; give it one") \
	X(PEERS_FULL, "the host knows peers_max addresses, all in use; raise peers_max") \
	X(SELF, "it is the host itself; applications on one host talk over a UNIX socket")
enum nd_stack_unreachable {
#define ND_UNREACHABLE_NAME(name, text) ND_UNREACHABLE_##name,
	ND_STACK_UNREACHABLE(ND_UNREACHABLE_NAME)
#undef ND_UNREACHABLE_NAME
};
const char *nd_stack_unreachable_text(enum nd_stack_unreachable reason);

/* How the core waits when there is nothing to do. */
enum nd_stack_profile {
	ND_STACK_ADAPTIVE,   /* spins after work for as long as that pays, then blocks; lends itself
			      * to an application that waits, see nd_stack_wait() */
	ND_STACK_SPIN,       /* never blocks: lowest latency, one CPU all for itself */
	ND_STACK_THROUGHPUT, /* blocks at once and works in large batches */
	ND_STACK_POLLED,     /* no thread: the application's runs it, see nd_stack_poll() */
};

/* Memory of one application's channel: rings of up to 2^20, regions of 64 bytes to 2 GiB. */
struct nd_stack_channel_config {
	uint32_t commands;  /* submission ring, 0: 1024 */
	uint32_t events;    /* completion ring, from 2 on, 0: 4096 */
	uint32_t send_bytes;    /* buffers to send from, 0: 16 MiB */
	uint32_t receive_bytes; /* messages being received or held, 0: 32 MiB */
};

/*
 * What may change while a core runs. All of them come into force together, between two rounds, or
 * none does; the next packet is sent by them.
 */
struct nd_stack_settings {
	struct nd_frame_config frame; /* of it code points and PCPs; all else stays as opened */
	uint64_t link_bps;  /* as nd_stack_config.link_bps; engines that were given their config
			     * keep what it says */
	uint32_t mtu;       /* most bytes of an IP packet, if the ports take more; 0: what they
			     * take. NDP connections go on in the packets that they began with,
			     * unless the ports do not take them any more */
	uint8_t levels;     /* Homa's priority levels: 8, 4, 2 or 1; 0: as its config says */
	uint32_t cutoffs[ND_HOMA_PRIORITIES]; /* largest unscheduled message of each priority, from
					       * the highest down; all 0: as its config says */
};

struct nd_stack_config {
	struct nd_port_config ports[ND_STACK_PORTS_MAX];
	uint32_t port_count;
	uint8_t address_v4[16]; /* the host's own, mapped: ::ffff:a.b.c.d; zero: none */
	uint8_t address_v6[16];
	uint16_t vlan;          /* id of an 802.1Q tag on everything sent, to 4094; 0: untagged */
	const struct nd_frame_config *frame; /* ports, code points, checks; NULL: defaults */
	uint64_t link_bps;      /* that engines are made for and the NIC scheduler keeps; 0: made for
				 * what the kernel says of the first port, for 10 Gb/s and Homa's
				 * window_dynamic where it says nothing; sent as the port takes it */
	bool no_ndp, no_homa;   /* leave a protocol out */
	const void *ndp_config;  /* struct nd_ndp_config (transport/ndp.h), NULL: defaults for link
				  * and MTU */
	const void *homa_config; /* struct nd_homa_config (transport/homa.h), NULL: likewise */
	uint32_t peers_max;     /* addresses known at once, 0: 16384 */
	enum nd_stack_profile profile;
	nd_ns spin_ns;          /* ADAPTIVE, POLLED: most to spin, 0: 150 us */
	int cpu;                /* that the core's own thread is bound to, and 1: 3 is CPU 2; 0: any */
	uint64_t seed;          /* of all random choices, 0: from the system */
	const char *service;    /* name that other processes attach by, NULL: none */
	int service_socket;     /* it listens already (socket activation); 0: the core makes it */
	struct nd_stack_channel_config channel; /* of each application */
	const char *record;     /* file of all that the core is given, for a replay; NULL: none */
	uint64_t record_bytes;  /* most that it takes, 0: 256 MiB */
};

struct nd_stack;

/*
 * Starts a core in this process. NULL on failure: error names cause and remedy. What config points
 * to is copied. On an interface nobody finds the MAC addresses of peers, unless this process does
 * (nd_stack_resolver()); the host service of nd_stack_attach() does it for its applications.
 */
struct nd_stack *nd_stack_open(const struct nd_stack_config *config, struct nd_error *error);

/* A second application handle on the core that this process runs. */
struct nd_stack *nd_stack_share(struct nd_stack *stack, struct nd_error *error);

/*
 * Attaches to the core of another process by its service name. Among the errors: -EUSERS: all places
 * are taken; -EDQUOT: this user, who is neither root nor the core's own, has its share of them;
 * -EPERM: the service has no path for a name, and this is another user; -ETIMEDOUT.
 *
 * Such a user has no more of the core's NDP connections and Homa RPCs than stay free, either: LISTEN
 * (its backlog counts), CONNECT and REQUEST fail with -ENOBUFS.
 */
struct nd_stack *nd_stack_attach(const char *service, struct nd_error *error);

/*
 * Lets go of the handle: connections are reset, RPCs cancelled, memory reclaimed. The last handle
 * of a core in this process stops it: peers hear of the end of all that is open, applications in
 * other processes get -EPIPE, and the ports are closed.
 */
void nd_stack_close(struct nd_stack *stack);

/* The memory that a handle shares with its core. */
struct nd_stack_memory {
	uint8_t *base;
	size_t bytes;
	uint32_t send_bytes;    /* of it for nd_stack_buffer() */
	uint32_t receive_bytes; /* ... for messages being received or held */
};
void nd_stack_memory(const struct nd_stack *stack, struct nd_stack_memory *memory);

/*
 * Closing will leave that memory mapped, so that messages which are still being read stay
 * readable; it is then the caller's to munmap(2).
 */
void nd_stack_keep_memory(struct nd_stack *stack);

/* Memory to send from; NULL when there is none of this size now. */
uint8_t *nd_stack_buffer(struct nd_stack *stack, uint32_t bytes);

/* -EINVAL when it is not a buffer in use. */
int nd_stack_buffer_free(struct nd_stack *stack, const uint8_t *buffer);

/*
 * True where payloads need not lie in such memory: the core is of this process, has a thread of its
 * own, which closing the handle waits for, and keeps no record.
 */
bool nd_stack_reads_anywhere(const struct nd_stack *stack);

/*
 * Hands a command to the core and wakes it, or runs the core's round. protocol is enum nd_protocol; PEER has none.
 * -EAGAIN: the ring is full, take events and try again. -EINVAL: the payload is no buffer.
 * -EPIPE: the core is gone; close this handle and attach again.
 */
int nd_stack_submit(struct nd_stack *stack, uint8_t protocol, const struct nd_command *command);

/* The same in two steps, for several commands that are to leave together. */
int nd_stack_submit_later(struct nd_stack *stack, uint8_t protocol,
			  const struct nd_command *command);
void nd_stack_flush(struct nd_stack *stack);

/* Takes up to limit events out; returns how many, or -EPIPE when the core is gone. */
int nd_stack_events(struct nd_stack *stack, struct nd_event *out, uint32_t limit);

/*
 * A descriptor that is readable when events are there, or -ENOTSUP (polled stack). Before blocking
 * on it call nd_stack_arm(): true when it is safe to block, false when events are waiting.
 */
int nd_stack_descriptor(const struct nd_stack *stack);
bool nd_stack_arm(struct nd_stack *stack);

/*
 * For an event loop on the descriptor: runs the rounds that there are for the core of this process
 * while its own thread sleeps, commands that were submitted later included, so that their events
 * can be taken. After a single message it also waits for events awake, for spin_ns at most (by
 * default 100 us) and less where that does not pay. woken: because the descriptor is readable.
 * True when the loop may do so whenever there is something: nd_stack_watch() makes the descriptor
 * readable for what that thread waits for, too, and the loop goes first. It takes over from a loop
 * that does not come for a millisecond. False when it runs, or has to (as for nd_stack_wait()):
 * then do not watch.
 */
bool nd_stack_run(struct nd_stack *stack, bool woken);
void nd_stack_watch(struct nd_stack *stack, bool watch);

/*
 * Waits for events up to a time in nanoseconds from now: 1, 0 when it passed, -EPIPE, -EINTR.
 *
 * Where the core of this process (adaptive, without a CPU or a service of its own) sleeps and this
 * is its only application, the caller runs the core's rounds meanwhile, so that a packet wakes one
 * thread and not two. A command that is submitted soon after is then sent by nd_stack_submit()
 * itself. The core's own thread takes over when the application has not been back for a
 * millisecond, or much arrives. Both are counted (loans, rounds_lent). Don't cancel a thread in here.
 */
int nd_stack_wait(struct nd_stack *stack, nd_ns timeout);

/*
 * Runs one round of a polled stack (ND_STACK_POLLED): takes commands, sends, receives, runs timers,
 * and posts events. 1 when there was something to do, 0 when not.
 *
 * Nothing moves between polls, retransmissions included, and the acknowledgement of what one
 * received leaves with the next, beside an answer that was submitted. So poll in a loop, or call
 * nd_stack_wait(), which polls until there are events, and blocks when there has been nothing to
 * do for a while (spin_ns at most). No thread is woken and nothing crosses between CPUs: the lowest latency
 * there is, from one CPU.
 *
 * A polled stack belongs to the thread that opened it: from any other, nd_stack_poll(),
 * nd_stack_wait(), nd_stack_share() and the control calls below fail with -EPERM. Other processes
 * may attach to its service; they are served while it is polled. nd_stack_descriptor() is -ENOTSUP:
 * nobody would make it readable. A stack with a thread of its own is not for polling: -ENOTSUP.
 */
int nd_stack_poll(struct nd_stack *stack);

/* What the control plane tells the core of this process; the same calls from any thread. */

/*
 * Makes the caller the one who finds ways: the descriptor, which stays the core's, is readable
 * when nd_stack_unresolved() has addresses. From then on PEER waits for nd_stack_set_peer() or
 * nd_stack_lose_peer(). Links without neighbours (memory, udp) never ask. Or -errno.
 */
int nd_stack_resolver(struct nd_stack *stack);

/* Takes up to limit addresses whose ways are missing; returns how many, or -ENOTSUP. */
int nd_stack_unresolved(struct nd_stack *stack, uint8_t (*addresses)[16], uint32_t limit);

/*
 * Where packets to an address go: port by index, MAC address of it or of the next hop. -EINVAL: there
 * is no such port, or the address is the host's own. -ENOBUFS: peers_max addresses are in use, or the
 * host has no address of this family.
 */
int nd_stack_set_peer(struct nd_stack *stack, const uint8_t address[16], uint32_t port,
		      const uint8_t mac[6]);

/*
 * There is no way, or none any more: new connections and RPCs to it are refused with the reason
 * (not UNKNOWN, which is what a peer is before anybody answers).
 */
int nd_stack_lose_peer(struct nd_stack *stack, const uint8_t address[16],
		       enum nd_stack_unreachable reason);

/* The settings in force. */
int nd_stack_settings(struct nd_stack *stack, struct nd_stack_settings *settings);

/* Other ones. -EINVAL: error names what is wrong, and all stays as it is. */
int nd_stack_set(struct nd_stack *stack, const struct nd_stack_settings *settings,
		 struct nd_error *error);

/*
 * Counters of the core and of what it runs, as of now: copies up to limit values and returns how
 * many there are, in the order of the table; -ENOENT when there is no such group or port. The table
 * is then NULL, or that of a port that is closed now.
 */
enum nd_stack_group {
	ND_STACK_GROUP_CORE,
	ND_STACK_GROUP_WIRE,
	ND_STACK_GROUP_NDP,
	ND_STACK_GROUP_HOMA,
	ND_STACK_GROUP_PORT, /* of the port of the given index */
};
int nd_stack_counters(struct nd_stack *stack, enum nd_stack_group group, uint32_t index,
		      const struct nd_counters_table **table, uint64_t *values, uint32_t limit);

/*
 * What the core has open, for whoever wants to look at it. Each call copies some rows from *cursor
 * (first 0) on, moves it, and returns how many, or -ENOTSUP when the core is in another process;
 * there are no more when the cursor is ND_NEVER. The core runs on between calls: what changes
 * meanwhile may be missed or come twice.
 */
struct nd_stack_peer {
	uint8_t address[16];
	uint8_t mac[6];  /* of it or of the next hop */
	uint8_t port;    /* index of the port that leads to it */
	uint8_t way;     /* how the way is known: 0 not, 1 derived, 2 learned, 3 set */
	uint8_t lost;    /* not known: enum nd_stack_unreachable */
	uint32_t handle;
	nd_ns used_at;   /* when something was last sent to it or came from it */
};

struct nd_stack_app {
	uint32_t index;  /* nd_exchange.app */
	int32_t pid;
	uint32_t held;    /* received messages that it has not given back */
	uint32_t events;  /* in its ring, not taken */
	uint32_t backlog; /* ... and that found no room there */
};

int nd_stack_exchanges(struct nd_stack *stack, uint64_t *cursor, struct nd_exchange *out,
		       uint32_t limit);
int nd_stack_peers(struct nd_stack *stack, uint64_t *cursor, struct nd_stack_peer *out,
		   uint32_t limit);
int nd_stack_apps(struct nd_stack *stack, uint64_t *cursor, struct nd_stack_app *out,
		  uint32_t limit);

/* State of a port, its mode in use, and what was not as asked for; text of state in error. */
int nd_stack_port_state(struct nd_stack *stack, uint32_t index, enum nd_port_state *state,
			char mode[64], struct nd_error *error);

/* NULL or what is wrong inside the engines. For tests. */
const char *nd_stack_audit(struct nd_stack *stack);

#ifdef __cplusplus
#pragma GCC diagnostic pop
}
#endif

#endif
