/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Endpoints, disciplines and ports to be driven packet by packet from Python.
 *
 * The contracts leave memory, pools and alignment to the driver; a test in Python has none of
 * these to give. A rig brings them along and forwards each call.
 */
#ifndef ND_BINDINGS_RIG_H
#define ND_BINDINGS_RIG_H

#include "base/error.h"
#include "base/rng.h"
#include "port/port.h"
#include "queue/queue.h"
#include "transport/transport.h"

/* A packet with the alignment that its type promises (Python's own memory does not have it). */
struct nd_packet *nd_rig_packet_new(void);
void nd_rig_packet_free(struct nd_packet *packet);

/* The engine of that name, or NULL. */
const struct nd_transport_ops *nd_rig_transport_find(const char *name);

/* 0 or -EINVAL with *why, as the contracts' check. */
int nd_rig_transport_check(const struct nd_transport_ops *ops, const void *config,
			   const char **why);
int nd_rig_discipline_check(const struct nd_queue_ops *ops, const void *config, const char **why);

/* What base/rng.h has inline. */
struct nd_rng nd_rig_rng_make(uint64_t seed, uint64_t entity);
uint32_t nd_rig_rng_below(struct nd_rng *rng, uint32_t bound);

struct nd_rig_endpoint;

/*
 * An endpoint whose received messages are assembled in rx_bytes of memory, shared by its
 * applications; 0: lengths only. NULL with *error filled in when config is refused.
 */
struct nd_rig_endpoint *nd_rig_endpoint_new(const struct nd_transport_ops *ops, const void *config,
					    uint32_t self, uint64_t seed, uint32_t rx_bytes,
					    struct nd_error *error);
void nd_rig_endpoint_free(struct nd_rig_endpoint *rig);

int nd_rig_endpoint_submit(struct nd_rig_endpoint *rig, struct nd_command *command, nd_ns now);
void nd_rig_endpoint_receive(struct nd_rig_endpoint *rig, const struct nd_packet *packet,
			     nd_ns now);
bool nd_rig_endpoint_transmit(struct nd_rig_endpoint *rig, struct nd_packet *packet,
			      enum nd_class class, nd_ns now);
nd_ns nd_rig_endpoint_deadline(const struct nd_rig_endpoint *rig);
void nd_rig_endpoint_on_deadline(struct nd_rig_endpoint *rig, nd_ns now);
uint32_t nd_rig_endpoint_events(struct nd_rig_endpoint *rig, struct nd_event *out,
				uint32_t limit);
const uint64_t *nd_rig_endpoint_counters(const struct nd_rig_endpoint *rig);
/* NULL or what is wrong with the engine or with its receive memory. */
const char *nd_rig_endpoint_audit(const struct nd_rig_endpoint *rig);
/* Bytes of receive memory that are out. */
uint64_t nd_rig_endpoint_rx_used(const struct nd_rig_endpoint *rig);
/* The engine itself, for the protocol's own questions (nd_homa_usage, ...). */
const void *nd_rig_endpoint_engine(const struct nd_rig_endpoint *rig);

struct nd_rig_queue;

/*
 * A discipline with a pool of packets_max packets; config must outlive it. NULL with *error filled
 * in when config is refused.
 */
struct nd_rig_queue *nd_rig_queue_new(const struct nd_queue_ops *ops, const void *config,
				      uint32_t packets_max, uint64_t seed,
				      struct nd_error *error);
void nd_rig_queue_free(struct nd_rig_queue *rig);

/* Copies packet in: enum nd_verdict, or -ENOBUFS when the pool is empty. */
int nd_rig_queue_enqueue(struct nd_rig_queue *rig, const struct nd_packet *packet, nd_ns now);
/* Copies the next packet out; false when there is none. */
bool nd_rig_queue_dequeue(struct nd_rig_queue *rig, struct nd_packet *packet, nd_ns now);
/* Takes out one packet that the last enqueue dropped or returned; false when there is none. */
bool nd_rig_queue_dropped(struct nd_rig_queue *rig, struct nd_packet *packet);
bool nd_rig_queue_returned(struct nd_rig_queue *rig, struct nd_packet *packet);
uint32_t nd_rig_queue_packets(const struct nd_rig_queue *rig);
uint32_t nd_rig_queue_bytes(const struct nd_rig_queue *rig);
const uint64_t *nd_rig_queue_counters(const struct nd_rig_queue *rig);
/* NULL or what is wrong with the discipline or with the pool. */
const char *nd_rig_queue_audit(const struct nd_rig_queue *rig);

/* Sends one frame: 0, -EAGAIN when there is no room, -EMSGSIZE. */
int nd_rig_port_send(struct nd_port *port, const uint8_t *frame, uint32_t bytes);
/* Copies the next frame out, cut to room: its bytes, or -EAGAIN when there is none. */
int nd_rig_port_receive(struct nd_port *port, uint8_t *out, uint32_t room);
/* Looks after the link; false with *error when it is not up. */
bool nd_rig_port_is_up(struct nd_port *port, struct nd_error *error);

#endif
