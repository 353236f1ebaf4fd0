/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Trains: datagrams to one target and of one length, which the kernel takes, passes on and gives in
 * one piece (UDP_SEGMENT and UDP_GRO). Only the last may be shorter.
 */
#ifndef ND_PORT_UDP_TRAIN_H
#define ND_PORT_UDP_TRAIN_H

#include "port/udp_frame.h"

#include <sys/socket.h>

#define ND_UDP_TRAIN_MAX 64u          /* datagrams: more some kernels refuse */
#define ND_UDP_TRAIN_BYTES_MAX 65000u /* of their payload; with headers it has to fit a packet */

/* A train, or a single datagram, and what the kernel is told and tells beside it. */
struct nd_udp_train {
	union nd_udp_address address;
	_Alignas(struct cmsghdr) uint8_t control[2 * CMSG_SPACE(sizeof(int))];
	struct iovec parts[2 * ND_UDP_TRAIN_MAX]; /* one of each datagram and one of each tail */
	uint32_t part_count;
	uint32_t count, bytes;  /* datagrams, and bytes of all */
	uint32_t segment, last; /* bytes of the first, and of the last */
	uint8_t traffic_class;
};

/* Begins a train to be sent. */
void nd_udp_train_begin(struct nd_udp_train *train, const struct nd_udp_datagram *datagram);

/* Adds a datagram behind; false, and nothing is changed, when it cannot be of this train. */
bool nd_udp_train_add(struct nd_udp_train *train, const struct nd_udp_datagram *datagram);

/* The message that sends it, as long as the train and its payloads stay. */
struct msghdr nd_udp_train_message(struct nd_udp_train *train);

/* Reads the traffic class of what came, and how long its datagrams are but for the last. */
void nd_udp_train_read(struct msghdr *message, uint32_t bytes, uint8_t *traffic_class,
		       uint32_t *segment);

#endif
