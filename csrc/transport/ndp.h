/* SPDX-License-Identifier: Apache-2.0 */
/*
 * NDP: receiver-driven pulls, packet trimming, per-packet multipath (SIGCOMM'17).
 *
 * docs/protocol-ndp.md describes the behaviour with its state tables.
 *
 * Ids: a connection is named by a handle of this host, never reused while it could be confused; a
 * stale one is -ENOENT. Messages of one direction of a connection are numbered from 0, and both
 * ends use the same number. They are sent in the order of their numbers and delivered as they
 * complete: a lost packet delays no message but its own; who wants order has the numbers.
 */
#ifndef ND_TRANSPORT_NDP_H
#define ND_TRANSPORT_NDP_H

#include "transport/paths.h"
#include "transport/transport.h"

/* Messages of one direction of a connection that may be on the wire or unreleased at once. */
#define ND_NDP_MESSAGE_WINDOW 64

struct nd_ndp_config {
	/* What hardly any packet does not ask for, in one cache line: what packets take on the link,
	 * framing included, windows, timers. */
	uint32_t data_header_bytes; /* of a DATA packet beside its payload, and of its header */
	uint32_t control_bytes;     /* of ACK, NACK, PULL and CLOSE */
	uint32_t control_max;       /* ACK, NACK, PULL and CLOSE waiting for the NIC */
	uint32_t initial_window;    /* packets sent without a pull (IW) */
	uint32_t window_packets;    /* most packets between the oldest unacknowledged and the newest:
				     * a power of two, 64..1024, no smaller than the peers' */
	uint32_t futile_max;        /* arrivals that cannot be kept (trimmed, no memory) beyond those
				     * that can, after which they earn a connection no pulls: what it
				     * pulls goes down to what gets through */
	nd_ns rto_min_ns;           /* shortest time-out of a packet without an answer */
	nd_ns repull_ns;            /* a pull brought nothing: it is repeated; doubles */
	nd_ns congested_ns;         /* own link busy for so long: DATA says FLAG_CONGESTED */
	bool ack_carries_pull;      /* a pull that is due at once rides on the ACK (R-NTP-15) */
	bool nack_carries_pull;     /* ... and on the NACK: retransmit now (R-NTP-16) */
	struct nd_paths_config score; /* which paths stand out and are set aside */

	/* The link. */
	uint64_t link_bps;       /* of the receiving link; spaces the pulls */
	uint32_t mss_bytes;      /* message bytes in a full DATA packet */
	nd_ns pull_slack_ns;     /* a late pull may be made up for by this much */

	/* Loss and return to sender. */
	nd_ns rto_initial_ns;        /* before a round trip to the peer has been measured */
	nd_ns rto_max_ns;            /* longest time-out, doubled or not */
	nd_ns solicit_ns;            /* packets wait for a pull that does not come: ask for it */
	nd_ns give_up_ns;            /* no sign of the peer while waiting for it: it is gone */
	uint32_t bounce_history;     /* feedbacks that R-RTS-02 looks at, 1..32 */
	uint32_t bounce_ack_divisor; /* ... an asymmetric path: ACKs >= history / divisor */

	/* Other times. */
	nd_ns time_wait_ns;  /* a closed connection answers duplicates for so long: twice
			      * rto_max_ns, or a peer whose last ACK was lost finds nobody */
	nd_ns reset_wait_ns; /* ... one whose peer may not know of its end */
	nd_ns keepalive_ns;  /* an idle connection is tried this often, 0 = never */

	/* Paths. */
	uint32_t paths;         /* of a peer that nobody told more about: ids 0..paths-1 */
	uint32_t paths_max;     /* of one peer */
	uint32_t path_sets_max; /* peers that data is sent to, or paths are given for */

	/* Limits. */
	uint32_t message_bytes_max;       /* longest message sent or accepted */
	uint32_t connections_max;         /* connected, accepted and reserved by listeners */
	uint32_t time_wait_max;           /* further ones that have ended but are remembered */
	uint32_t listeners_max;           /* ports listened on */
	uint32_t listen_backlog;          /* connections a listener reserves by default */
	uint32_t peers_max;               /* remembered; idle ones make room */
	uint32_t sending_max;             /* connections with packets on the wire */
	uint32_t messages_max;            /* being sent, 1..65535 */
	uint32_t connection_messages_max; /* ... on one connection */
	uint32_t receive_messages_max;    /* arriving or unreleased */
};
static_assert(offsetof(struct nd_ndp_config, score) + 4 <= 64, "so much of it is asked for");

/* For a link of this speed (0: unknown) and IP MTU (IPv4, Ethernet framing counted). */
struct nd_ndp_config nd_ndp_config_default(uint64_t link_bps, uint32_t mtu);

/* 0 or -EINVAL with *why naming field, limit and remedy. */
int nd_ndp_config_check(const struct nd_ndp_config *config, const char **why);

/* State of a connection; the detail of FAILED and CLOSED events. */
enum nd_ndp_state {
	ND_NDP_FREE = 0,
	ND_NDP_NEW = 1,        /* connect was called, nothing sent (R-NHA-08) */
	ND_NDP_OPENING = 2,    /* first window sent, no sign of the peer yet */
	ND_NDP_OPEN = 3,
	ND_NDP_CLOSING = 4,    /* no more messages are taken; FIN follows the last one */
	ND_NDP_TIME_WAIT = 5,  /* ended in order, duplicates are acknowledged and dropped */
	ND_NDP_RESET_WAIT = 6, /* ended by force, duplicates are answered with CLOSE */
	ND_NDP_ENDED = 7,      /* an event or a received message is still to be taken */
};

#define ND_NDP_COUNTERS(X) \
	X(data_sent, "DATA packets sent, retransmissions included.") \
	X(data_resent, "DATA packets sent again after a NACK, a bounce or a loss.") \
	X(data_received, "DATA packets that arrived with their payload.") \
	X(headers_received, "DATA packets that arrived trimmed.") \
	X(headers_last_hop, "DATA packets that arrived trimmed by the switch that this host hangs on.") \
	X(duplicates_received, "DATA packets that had arrived before: acknowledged, dropped.") \
	X(acks_sent, "ACK packets sent.") \
	X(nacks_sent, "NACK packets sent.") \
	X(pulls_sent, "PULL packets sent, pulls on ACKs and NACKs not included.") \
	X(closes_sent, "CLOSE packets sent.") \
	X(pulls_carried, "Pulls that rode on an ACK or a NACK.") \
	X(pulls_repeated, "PULL packets repeated because the last one brought nothing.") \
	X(pulls_put_off, "Pulls put off because nothing that arrived could be kept.") \
	X(pulls_removed, "Queued pulls removed because the last packet had arrived.") \
	X(acks_received, "ACK packets received.") \
	X(nacks_received, "NACK packets received.") \
	X(pulls_received, "Pulls received that released a packet.") \
	X(pulls_stale, "PULL packets received with a counter already seen.") \
	X(pulls_unused, "Pulls received with nothing to send.") \
	X(pulls_excessive, "Pulls ignored because no packet can have earned them.") \
	X(feedback_stale, "ACK and NACK packets about no packet in flight.") \
	X(closes_received, "CLOSE packets received for a known connection.") \
	X(bounces_received, "Own headers that a switch returned.") \
	X(bounces_resent, "Returned packets sent again at once.") \
	X(congested_received, "DATA packets whose sender's own link is the bottleneck.") \
	X(timeouts, "Packets taken for lost because no feedback came.") \
	X(solicits_sent, "Headers and packets sent to ask for a pull that did not come.") \
	X(keepalives_sent, "Empty packets sent on idle connections.") \
	X(connections_opened, "Connections opened by this host.") \
	X(connections_accepted, "Connections opened by peers.") \
	X(connections_closed, "Connections ended in order.") \
	X(connections_reset, "Connections ended by force, here or by the peer.") \
	X(connections_failed, "Connections given up because the peer was gone.") \
	X(connections_unpassed, "Connections given up because the peer answers headers, but no full " \
				"packet reaches it: its MTU, or that of a link on the way, is " \
				"smaller than ours.") \
	X(connections_oversize, "Connections ended because the MTU became too small for the " \
				"packets that they had begun with.") \
	X(messages_sent, "Messages fully acknowledged.") \
	X(messages_received, "Messages delivered.") \
	X(messages_failed, "Messages that were not fully acknowledged.") \
	X(messages_abandoned, "Incoming messages that their sender cancelled.") \
	X(bytes_sent, "Message bytes acknowledged.") \
	X(bytes_received, "Message bytes delivered.") \
	X(credit_withheld, "DATA packets refused because the application had no memory for them.") \
	X(receive_messages_full, "DATA packets refused because receive_messages_max was reached.") \
	X(control_full, "ACK, NACK or CLOSE packets dropped because control_max was reached.") \
	X(listen_refused, "Connections refused because nobody listens on the port.") \
	X(listen_full, "Connections dropped because the listener's backlog was used up.") \
	X(connections_full, "Connections dropped because connections_max was reached.") \
	X(peers_full, "Connections dropped because peers_max was reached.") \
	X(path_sets_full, "Peers served by one path because path_sets_max was reached.") \
	X(sending_full, "Times a connection waited because sending_max was reached.") \
	X(window_full, "Times a connection waited because window_packets was reached.") \
	X(unknown_connection, "Packets for no connection of this host.") \
	X(beyond_window, "DATA packets dropped because they were beyond window_packets.") \
	X(bad_type, "Packets dropped because of an unknown type or an impossible mark.") \
	X(bad_connection, "Packets dropped because of an impossible connection id.") \
	X(bad_length, "DATA packets dropped because offset or length did not fit the message.") \
	X(bad_message, "DATA packets dropped because the message number was impossible.") \
	X(state_lost, "Connections reset because the peer had ACKs for what never arrived here.") \
	X(bad_fin, "DATA packets dropped because they lay behind the FIN.") \
	X(too_long, "Connections reset because a message exceeded message_bytes_max.")
ND_COUNTERS_STRUCT(nd_ndp_counters, ND_NDP_COUNTERS);
extern const struct nd_counters_table nd_ndp_counters_table;

/* What an endpoint holds now. */
struct nd_ndp_usage {
	uint32_t connections; /* alive */
	uint32_t remembered;  /* ended, in time-wait or waiting for the application */
	uint32_t messages;    /* being sent */
	uint32_t receive_messages; /* arriving or unreleased */
	uint32_t pulls;       /* queued */
	uint32_t control;     /* packets waiting for the NIC */
	uint32_t peers;
};
void nd_ndp_usage(const void *endpoint, struct nd_ndp_usage *usage);

extern const struct nd_transport_ops nd_ndp_ops;

#endif
