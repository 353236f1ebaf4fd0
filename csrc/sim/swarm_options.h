/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Everything that a swarm run can vary, in one list: drawn from the seed, printed with a failure,
 * set by name to narrow a failure down.
 *
 * Every option is a 32-bit number. "calm" is its most harmless value; what shrinks a failing
 * seed tries to set options to it, one after the other.
 */
#ifndef ND_SIM_SWARM_OPTIONS_H
#define ND_SIM_SWARM_OPTIONS_H

#include "base/rng.h"
#include "base/types.h"

#define ND_SWARM_HOSTS_MAX 8
#define ND_SWARM_PATHS_MAX 8
#define ND_SWARM_APPS_MAX 3
#define ND_SWARM_MTU_MAX 9000

/* options.protocols */
enum { ND_SWARM_NDP = 1 << 0, ND_SWARM_HOMA = 1 << 1 };

/* X(name, calm value, help) */
#define ND_SWARM_OPTIONS(X) \
	X(protocols, 1, "Protocols of every host: 1 NDP, 2 Homa, 3 both.") \
	X(hosts, 2, "Hosts, 2 to 8.") \
	X(apps, 1, "Applications of a host, 1 to 3.") \
	X(paths, 1, "Paths between any two hosts, 1 to 8.") \
	X(link_mbps, 10000, "Rate of a host's link, Mb/s, 1 to 10,000,000.") \
	X(core_percent, 100, "Rate of a core link, percent of a host's link.") \
	X(slow_path_percent, 100, "Rate of the links of path 0, percent of a core link.") \
	X(delay_ns, 500, "Delay of one link.") \
	X(mtu, 1500, "Largest IP packet, bytes.") \
	X(discipline, 0, \
	  "Queues: 0 droptail 1 ecn 2 ndp 3 cut_payload 4 strict 5 pfabric 6 netfpga 7 p4 8 fair.") \
	X(buffer_packets, 64, "Full packets that an output queue holds.") \
	X(shared_buffer, 0, "1: all output queues share one buffer with a dynamic threshold.") \
	X(return_to_sender, 0, "1: headers that overflow an ndp queue go back to their sender.") \
	X(lose_packet, 0, "Number of a packet that is lost, counted from 1 in the order of sending.") \
	X(lose_another, 0, "Number of another one, 0 for none.") \
	X(loss_ppm, 0, "Packets lost on a link.") \
	X(control_loss_ppm, 0, "Control packets lost on a link, on top.") \
	X(corrupt_ppm, 0, "Packets with a flipped bit on a link.") \
	X(duplicate_ppm, 0, "Packets doubled on a link.") \
	X(reorder_ppm, 0, "Packets held back on a link.") \
	X(reorder_ns, 0, "Longest time that a packet is held back.") \
	X(jitter_ns, 0, "Largest random delay of every packet on a link.") \
	X(hardware_trim_ppm, 0, "Trimmable packets cut on a link, as a switch ASIC does.") \
	X(wire, 0, "Packets arrive as frames: 0 no, 1 IPv4, 2 IPv6, 3 VLAN and Homa in UDP.") \
	X(flap_us, 0, "Mean time between link failures, 0 for none.") \
	X(partition_us, 0, "Mean time between partitions, 0 for none.") \
	X(partition_oneway, 0, "1: a partition cuts one direction only.") \
	X(outage_us, 0, "Longest failure of a link, partition or pause.") \
	X(restart_us, 0, "Mean time between restarts of a host, 0 for none.") \
	X(pause_us, 0, "Mean time between pauses of a host, 0 for none.") \
	X(late_ns, 0, "Largest delay of a timer.") \
	X(lazy_ns, 0, "Largest delay until an application looks at its events.") \
	X(reader_us, 0, "Longest time that an application keeps a received message.") \
	X(server_us, 0, "Longest time that a server takes to reply.") \
	X(credit_kib, 65536, "Memory of an application for received messages.") \
	X(arena, 0, "1: that memory is a buddy arena, as on a real host, and may be fragmented.") \
	X(actions, 40, "Things that the applications do, all together.") \
	X(action_ns, 20000, "Mean time between two of them.") \
	X(message_max, 65536, "Largest message, bytes.") \
	X(incast_percent, 0, "Messages that go to host 0.") \
	X(tiny_percent, 0, "Messages of less than 16 bytes.") \
	X(cancel_percent, 0, "Actions that cancel a message or an RPC.") \
	X(reset_percent, 0, "Actions that reset a connection.") \
	X(close_percent, 0, "Actions that close a connection.") \
	X(deadline_percent, 0, "Messages and RPCs with a deadline.") \
	X(deadline_us, 1000, "Longest deadline.") \
	X(detach_percent, 0, "Actions that end an application and start it again.") \
	X(paths_percent, 0, "Actions that change the paths to a host.") \
	X(unlisten_percent, 0, "Actions that stop and start a service.") \
	X(dead_port_percent, 0, "Messages to a port that nobody serves.") \
	X(too_big_percent, 0, "Messages above the configured maximum.") \
	X(dead_hosts, 0, "Hosts that are gone in the liveness phase.") \
	X(config, 0, "Seed of the protocols' own settings, 0 for the defaults.") \
	X(sabotage, 0, "Fault put into the engine on purpose, to test the swarm itself.")

#define ND_SWARM_OPTION_FIELD(name, calm, help) uint32_t name;

struct nd_swarm_options {
	uint64_t seed;
	ND_SWARM_OPTIONS(ND_SWARM_OPTION_FIELD)
};

struct nd_swarm_option_text {
	const char *name;
	const char *help;
	uint32_t calm;
};

/* The list, and its length. */
extern const struct nd_swarm_option_text nd_swarm_option_texts[];
extern const uint32_t nd_swarm_option_count;

/* Draws every option from the seed; protocols is a set of ND_SWARM_*. */
void nd_swarm_options_draw(struct nd_swarm_options *options, uint64_t seed, uint32_t protocols);

/* Every option at its calm value. */
void nd_swarm_options_calm(struct nd_swarm_options *options, uint64_t seed, uint32_t protocols);

/* The option's value by its place in the list. */
uint32_t *nd_swarm_options_at(struct nd_swarm_options *options, uint32_t at);

/* True when nothing is on that could make a peer look dead: then no message fails by itself. */
bool nd_swarm_options_gentle(const struct nd_swarm_options *options);

/* Longest round trip without faults: all links, and full queues at the slowest of them. */
nd_ns nd_swarm_options_rtt_ns(const struct nd_swarm_options *options);

/* Longest life of a packet in the network, copies and what waits in a paused host included. */
nd_ns nd_swarm_options_lifetime_ns(const struct nd_swarm_options *options);

/* 0, -EINVAL when there is no option of that name, -ERANGE when no run can have that value. */
int nd_swarm_options_set(struct nd_swarm_options *options, const char *name, uint32_t value);

#endif
