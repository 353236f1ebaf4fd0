/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Homa: receiver-driven RPCs with grants, dynamic priorities and SRPT, in HomaModule's dialect.
 *
 * docs/protocol-homa.md describes the behaviour with its state tables.
 */
#ifndef ND_TRANSPORT_HOMA_H
#define ND_TRANSPORT_HOMA_H

#include "transport/transport.h"

/* Longest message between our endpoint and one that does not speak our extension, in bytes. */
#define ND_HOMA_OTHERS_MESSAGE_MAX 1000000u

/* Highest degree of overcommitment. */
#define ND_HOMA_OVERCOMMIT_MAX 16

/* First port that belongs to clients; servers listen below. */
#define ND_HOMA_CLIENT_PORTS 0x8000

/* Longest wait, in resend_ns, before a request that a full server refused is offered again. */
#define ND_HOMA_PUT_OFF_MAX 8

/* How a receiver splits the eight priority levels and chooses its unscheduled cutoffs. */
enum nd_homa_cutoff_mode {
	ND_HOMA_CUTOFFS_AUTO = 0,   /* share of levels = unscheduled share of traffic (the text) */
	ND_HOMA_CUTOFFS_FIXED = 1,  /* unscheduled_levels given, cutoffs learned (the figures) */
	ND_HOMA_CUTOFFS_STATIC = 2, /* cutoffs[] given, nothing learned */
};

struct nd_homa_config {
	/* What a packet takes on the link, framing included. */
	uint32_t mss_bytes;         /* message bytes in a full DATA packet */
	uint32_t data_header_bytes; /* of a DATA packet beside its payload */
	uint32_t control_bytes;     /* of a packet without payload */

	/* Windows. */
	uint32_t rtt_bytes;             /* RTTbytes: sent without a grant; peers may override it */
	uint32_t window_bytes;          /* granted but not received of a message, 0 = RTTbytes */
	uint32_t max_incoming_bytes;    /* ... of all messages together, 0 = no limit */
	uint32_t unscheduled_max_bytes; /* most unscheduled bytes that a peer's claim counts for */
	uint32_t message_bytes_max;     /* longest message sent or accepted */
	bool window_dynamic;            /* window = max_incoming / (active messages + 1); by default
					 * where the link's rate is unknown */

	/* Priorities. */
	bool basic;                 /* Homa's "Basic": one priority, no limit of overcommitment */
	bool by_length;             /* serve the shortest message, not the one with the least left */
	bool own_cutoffs_first;     /* before a peer's first CUTOFFS: assume it has ours */
	uint8_t first_priority;     /* ... else this one; HomaModule: 6 */
	uint8_t levels;             /* 8, 4, 2 or 1: adjacent levels are collapsed */
	uint8_t cutoff_mode;        /* who sets cutoffs and levels: enum nd_homa_cutoff_mode */
	uint8_t unscheduled_levels; /* FIXED: highest levels for unscheduled packets, 1..7 */
	uint8_t scheduled_levels;   /* lowest levels for granted packets, 0 = all the others */
	uint8_t overcommit;         /* messages granted at once, 0 = number of scheduled levels */
	uint32_t cutoffs[ND_HOMA_PRIORITIES]; /* STATIC, and the others' first ones */
	nd_ns learn_ns;             /* cutoffs are recomputed, and history halved, this often */
	uint32_t learn_messages;    /* ... once this many messages arrived */

	/* Shares of the oldest message, in 1/1000 of the bytes. */
	uint32_t send_fifo_permille;
	uint32_t grant_fifo_permille;
	uint32_t grant_fifo_bytes; /* such a grant's size */

	/* Incast control (section 3.6). */
	uint32_t incast_rpcs;  /* above this many outstanding RPCs requests are flagged, 0 = never */
	uint32_t incast_bytes; /* unscheduled bytes of the response to a flagged request */

	/* Times. */
	nd_ns resend_ns;       /* silence before a RESEND, and between two of them */
	uint32_t resend_jitter_permille; /* ... and up to this much longer, drawn anew each time */
	uint32_t resends_max;  /* RESENDs without any answer before giving up */
	nd_ns need_ack_ns;     /* response sent, no ACK: first NEED_ACK; doubles from there */
	nd_ns need_ack_ns_max; /* ... up to this */
	uint32_t need_acks_max; /* NEED_ACKs without any answer before giving up */
	nd_ns cutoffs_ns;      /* least time between two CUTOFFS to a peer */
	nd_ns done_ns;         /* completed RPCs are remembered this long, packets live shorter */

	/* Limits. */
	uint32_t rpcs_max;         /* RPCs of both kinds, unreleased messages included */
	uint32_t server_rpcs_max;  /* ... that peers may open */
	uint32_t peer_rpcs_max;    /* ... that one peer may open */
	uint32_t peers_max;        /* remembered; idle ones make room */
	uint32_t ports_max;        /* listening */
	uint32_t apps_max;         /* app numbers are below this */
	uint32_t gaps_max;         /* holes in all incoming messages */
	uint32_t message_gaps_max; /* ... in one */
	uint32_t replies_max;      /* queued control packets that belong to no RPC */
	uint32_t done_max;         /* completed RPCs remembered */

	/* Semantics. */
	bool at_least_once;   /* the paper's: no ACKs, no memory, a late duplicate runs again */
	bool one_way;         /* the simulations': requests get no response; their client is done
			       * when the last byte is sent. Needs a network that loses nothing. */
	bool unknown_resend;  /* the paper's: RESEND of an unknown RPC is answered by RESEND */
	uint64_t first_id;    /* of our RPCs, 0 = from the seed; must not repeat within done_ns */
};

/* For a link of this speed (0: unknown) and IP MTU, to talk to HomaModule and to ourselves. */
struct nd_homa_config nd_homa_config_default(uint64_t link_bps, uint32_t mtu);

/* What hangs on the link's rate, 0: unknown: RTTbytes and all that is reckoned by them. */
void nd_homa_config_set_link(struct nd_homa_config *config, uint64_t link_bps);

/* The paper's simulations: 10 Gb/s, RTTbytes 9,700, the levels of its figures, no ACKs. */
struct nd_homa_config nd_homa_config_paper(uint32_t unscheduled_levels, uint32_t scheduled_levels);

/* 0 or -EINVAL with *why naming field, limit and remedy. */
int nd_homa_config_check(const struct nd_homa_config *config, const char **why);

/*
 * True for cutoffs that can be in force: the highest priority has one, the others down from it have
 * one each that is not smaller, or none.
 */
bool nd_homa_cutoffs_are_sound(const uint32_t cutoffs[ND_HOMA_PRIORITIES]);

/* State of an RPC; FAILED events carry it. */
enum nd_homa_state {
	ND_HOMA_FREE = 0,
	ND_HOMA_OUTGOING = 1, /* client: request on its way, nothing of the response here */
	ND_HOMA_INCOMING = 2, /* server: request arriving; client: response arriving */
	ND_HOMA_SERVICE = 3,  /* server: the application works on it */
	ND_HOMA_REPLYING = 4, /* server: response on its way */
	ND_HOMA_UNACKED = 5,  /* server: response sent, client has not said that it has it */
	ND_HOMA_CLOSED = 6,   /* off the wire; an event or a received message is still to be taken */
};

/*
 * A FAILED event says how far the RPC came:
 *	detail  = state | RESENDs or NEED_ACKs without answer << 8 | priority of last grant << 16
 *	message = bytes sent of our message << 32 | bytes of it that we were allowed to send
 *	bytes   = bytes received of the peer's message
 */
static inline enum nd_homa_state nd_homa_failed_state(const struct nd_event *event)
{
	return (enum nd_homa_state)(event->detail & 0xff);
}

static inline uint32_t nd_homa_failed_attempts(const struct nd_event *event)
{
	return event->detail >> 8 & 0xff;
}

static inline uint32_t nd_homa_failed_sent(const struct nd_event *event)
{
	return (uint32_t)(event->message >> 32);
}

static inline uint32_t nd_homa_failed_granted(const struct nd_event *event)
{
	return (uint32_t)event->message;
}

/* What an endpoint holds right now. */
struct nd_homa_usage {
	uint32_t client_rpcs;   /* outstanding requests of our applications */
	uint32_t server_rpcs;   /* open requests of peers */
	uint32_t closed_rpcs;   /* off the wire, waiting for the application */
	uint32_t peers;
	uint32_t gaps;
	uint32_t active;        /* messages that get grants */
	uint32_t grantable;     /* messages that want grants, active ones included */
	uint32_t starved;       /* messages whose application is out of memory */
	uint32_t done;          /* completed RPCs remembered */
	uint64_t incoming;      /* bytes granted or sent unasked, and not yet here */
	uint32_t degree;        /* messages that may be active */
	uint32_t unscheduled_levels;
	uint32_t scheduled_levels;
	uint16_t cutoff_version;
	uint32_t cutoffs[ND_HOMA_PRIORITIES];
};

void nd_homa_usage(const void *endpoint, struct nd_homa_usage *usage);

#define ND_HOMA_COUNTERS(X) \
	X(requests_submitted, "Requests handed in by applications.") \
	X(replies_submitted, "Responses handed in by applications.") \
	X(requests_received, "Requests that arrived whole and went to an application.") \
	X(responses_received, "Responses that arrived whole.") \
	X(rpcs_acked, "Responses that the client acknowledged.") \
	X(rpcs_failed, "RPCs that ended with an error, cancelled ones included.") \
	X(rpcs_timed_out, "RPCs given up because the peer stayed silent.") \
	X(rpcs_unpassed, "RPCs given up because the peer answers, but no full packet of the request " \
			 "reaches it: its MTU, or that of a link on the way, is smaller than ours.") \
	X(rpcs_expired, "RPCs that failed because their deadline passed.") \
	X(rpcs_cancelled, "RPCs cancelled by our application.") \
	X(rpcs_peer_cancelled, "RPCs of ours as a server that the client gave up.") \
	X(rpcs_peer_lost, "RPCs that failed because the server no longer knew them.") \
	X(rpcs_peer_refused, "RPCs that failed because nobody listens on the server's port.") \
	X(requests_abandoned, "Partly received requests dropped because the client went silent.") \
	X(data_sent, "DATA packets sent.") \
	X(data_bytes_sent, "Message bytes sent, retransmissions included.") \
	X(data_received, "DATA packets received.") \
	X(data_bytes_received, "New message bytes received.") \
	X(grants_sent, "GRANT packets sent.") \
	X(grants_received, "GRANT packets received.") \
	X(fifo_grants, "Grants given to the oldest message out of turn.") \
	X(fifo_packets, "DATA packets of the oldest message sent out of turn.") \
	X(resends_sent, "RESEND packets sent after a silence.") \
	X(resends_received, "RESEND packets received.") \
	X(data_resent, "DATA packets sent again.") \
	X(busys_sent, "BUSY packets sent.") \
	X(busys_received, "BUSY packets received.") \
	X(unknowns_sent, "RPC_UNKNOWN packets sent.") \
	X(unknowns_received, "RPC_UNKNOWN packets received.") \
	X(requests_restarted, "Requests sent again from the start because the server had not got them.") \
	X(requests_put_off, "Times that a full server refused a request, which is offered again later.") \
	X(need_acks_sent, "NEED_ACK packets sent.") \
	X(need_acks_received, "NEED_ACK packets received.") \
	X(acks_sent, "ACK packets sent.") \
	X(acks_received, "ACK packets received.") \
	X(acks_piggybacked, "Acknowledgements sent inside DATA packets.") \
	X(cutoffs_sent, "CUTOFFS packets sent.") \
	X(cutoffs_received, "CUTOFFS packets received.") \
	X(cutoffs_learned, "Times the unscheduled cutoffs changed with the traffic.") \
	X(freezes_received, "FREEZE packets received; they are ignored.") \
	X(incast_flagged, "Requests flagged because of many outstanding RPCs.") \
	X(incast_limited, "Responses whose unscheduled part was cut for incast control.") \
	X(grant_stalled, "Grants held back because max_incoming_bytes was in use.") \
	X(memory_stalled, "Messages that found their application out of receive memory.") \
	X(memory_dropped_bytes, "Message bytes dropped because the application had no memory.") \
	X(ungranted_bytes, "Bytes that arrived above what we had granted.") \
	X(ungranted_dropped, "DATA dropped because it was far beyond what we had granted.") \
	X(claims_clamped, "Messages whose unscheduled claim exceeded unscheduled_max_bytes.") \
	X(parameter_mismatch, "Peers whose RTTbytes differ from ours, counted once a peer.") \
	X(duplicate_bytes, "Message bytes that were already here.") \
	X(duplicate_requests, "DATA of requests that had ended; not executed again.") \
	X(stale_requests, "New requests refused because ids that old are no longer told apart.") \
	X(unknown_responses, "DATA for an RPC that this client does not have.") \
	X(unknown_grants, "GRANTs for an RPC that is not here.") \
	X(unknown_ports, "Requests to a port that nobody listens on.") \
	X(bad_type, "Packets of an unknown type.") \
	X(bad_id, "Packets whose RPC id cannot be.") \
	X(bad_length, "DATA beyond its message's end or with another message length than before.") \
	X(bad_ack, "ACK packets with more than five entries or impossible ids.") \
	X(message_too_long, "Messages refused because of message_bytes_max.") \
	X(others_too_long, "Messages that a peer of another make cannot take: 0 or above 1,000,000 bytes.") \
	X(rpcs_refused, "Requests of peers refused because an RPC limit was reached.") \
	X(submits_refused, "Requests of applications refused because rpcs_max was reached.") \
	X(peers_refused, "Packets and requests refused because peers_max busy peers are known.") \
	X(peers_evicted, "Idle peers forgotten to make room.") \
	X(gaps_refused, "DATA dropped because its message has too many holes.") \
	X(gapless, "Times that a message found no hole free and went on packet by packet.") \
	X(replies_dropped, "Control packets not sent because replies_max were waiting.") \
	X(done_evicted_early, "Completed RPCs forgotten before done_ns because of done_max.") \
	X(priority_bytes_0, "Bytes sent at priority 0, headers included.") \
	X(priority_bytes_1, "Bytes sent at priority 1, headers included.") \
	X(priority_bytes_2, "Bytes sent at priority 2, headers included.") \
	X(priority_bytes_3, "Bytes sent at priority 3, headers included.") \
	X(priority_bytes_4, "Bytes sent at priority 4, headers included.") \
	X(priority_bytes_5, "Bytes sent at priority 5, headers included.") \
	X(priority_bytes_6, "Bytes sent at priority 6, headers included.") \
	X(priority_bytes_7, "Bytes sent at priority 7, headers included.")
ND_COUNTERS_STRUCT(nd_homa_counters, ND_HOMA_COUNTERS);
extern const struct nd_counters_table nd_homa_counters_table;

extern const struct nd_transport_ops nd_homa_ops;

#endif
