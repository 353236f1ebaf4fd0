// SPDX-License-Identifier: Apache-2.0
/* Trains: datagrams that the kernel takes, passes on and gives in one piece. */
#include "port/udp_train.h"

#include <netinet/udp.h>
#include <string.h>

static bool is_v4(const struct nd_udp_train *train)
{
	return train->address.any.sa_family == AF_INET;
}

static socklen_t address_bytes(const struct nd_udp_train *train)
{
	return is_v4(train) ? sizeof(struct sockaddr_in) : sizeof(struct sockaddr_in6);
}

static void append_part(struct nd_udp_train *train, const uint8_t *data, uint32_t bytes)
{
	train->parts[train->part_count++] = (struct iovec){
		.iov_base = (void *)(uintptr_t)data,
		.iov_len = bytes,
	};
}

static void append(struct nd_udp_train *train, const struct nd_udp_datagram *datagram)
{
	append_part(train, datagram->payload, datagram->payload_bytes - datagram->tail_bytes);
	if (datagram->tail_bytes)
		append_part(train, datagram->tail, datagram->tail_bytes);
	train->count++;
	train->last = datagram->payload_bytes;
	train->bytes += datagram->payload_bytes;
}

void nd_udp_train_begin(struct nd_udp_train *train, const struct nd_udp_datagram *datagram)
{
	train->address = datagram->target;
	train->traffic_class = datagram->traffic_class;
	train->segment = datagram->payload_bytes;
	train->part_count = train->count = train->bytes = 0;
	append(train, datagram);
}

bool nd_udp_train_add(struct nd_udp_train *train, const struct nd_udp_datagram *datagram)
{
	if (train->count == ND_UDP_TRAIN_MAX || !datagram->payload_bytes ||
	    datagram->payload_bytes > train->segment || train->last < train->segment ||
	    train->bytes + datagram->payload_bytes > ND_UDP_TRAIN_BYTES_MAX ||
	    datagram->traffic_class != train->traffic_class ||
	    memcmp(&datagram->target, &train->address, address_bytes(train)) != 0)
		return false;
	append(train, datagram);
	return true;
}

static struct cmsghdr *put(struct cmsghdr *control, int level, int type, const void *data,
			   size_t bytes)
{
	control->cmsg_level = level;
	control->cmsg_type = type;
	control->cmsg_len = CMSG_LEN(bytes);
	memcpy(CMSG_DATA(control), data, bytes);
	return (struct cmsghdr *)(void *)((uint8_t *)control + CMSG_SPACE(bytes));
}

struct msghdr nd_udp_train_message(struct nd_udp_train *train)
{
	struct cmsghdr *control = (struct cmsghdr *)(void *)train->control;
	uint16_t segment = (uint16_t)train->segment;
	int class = train->traffic_class;

	control = put(control, is_v4(train) ? IPPROTO_IP : IPPROTO_IPV6,
		      is_v4(train) ? IP_TOS : IPV6_TCLASS, &class, sizeof(class));
	if (train->count > 1)
		control = put(control, IPPROTO_UDP, UDP_SEGMENT, &segment, sizeof(segment));
	return (struct msghdr){
		.msg_name = &train->address,
		.msg_namelen = address_bytes(train),
		.msg_iov = train->parts,
		.msg_iovlen = train->part_count,
		.msg_control = train->control,
		.msg_controllen = (size_t)((uint8_t *)control - train->control),
	};
}

void nd_udp_train_read(struct msghdr *message, uint32_t bytes, uint8_t *traffic_class,
		       uint32_t *segment)
{
	int wide;

	*traffic_class = 0;
	*segment = bytes;
	for (struct cmsghdr *c = CMSG_FIRSTHDR(message); c; c = CMSG_NXTHDR(message, c)) {
		if (c->cmsg_level == IPPROTO_IP && c->cmsg_type == IP_TOS) {
			*traffic_class = *CMSG_DATA(c);
			continue;
		}
		if (c->cmsg_len < CMSG_LEN(sizeof(wide)))
			continue;
		memcpy(&wide, CMSG_DATA(c), sizeof(wide));
		if (c->cmsg_level == IPPROTO_IPV6 && c->cmsg_type == IPV6_TCLASS)
			*traffic_class = (uint8_t)wide;
		else if (c->cmsg_level == IPPROTO_UDP && c->cmsg_type == UDP_GRO && wide > 0)
			*segment = (uint32_t)wide;
	}
}
