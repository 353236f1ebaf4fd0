// SPDX-License-Identifier: Apache-2.0
/* The XDP program that an interface has: whose it is, how it hangs there, how it comes off. */
#include "port/xdp_occupant.h"

#include "port/bpf.h"

#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define REPLY_BYTES 16384

/*
 * Native and generic mode exclude each other. One that is offloaded to the NIC stands in nobody's
 * way, so it is told of only where it is alone.
 */
static const struct mode {
	unsigned short attribute; /* has the program's id */
	const char *name, *keyword;
} modes[] = {
	{ IFLA_XDP_DRV_PROG_ID, "native", "xdpdrv" },
	{ IFLA_XDP_SKB_PROG_ID, "generic", "xdpgeneric" },
	{ IFLA_XDP_HW_PROG_ID, "offload", "xdpoffload" },
};

/* Looks for an attribute in a list of them; NULL when it is not there. */
static const struct rtattr *attribute(const struct rtattr *list, size_t bytes,
				      unsigned short type)
{
	while (bytes >= sizeof(*list) && list->rta_len >= sizeof(*list) &&
	       list->rta_len <= bytes) {
		size_t step = RTA_ALIGN(list->rta_len);

		if ((list->rta_type & NLA_TYPE_MASK) == type)
			return list;
		if (step >= bytes)
			break;
		list = (const struct rtattr *)(const void *)((const char *)list + step);
		bytes -= step;
	}
	return NULL;
}

/* Program and mode in the answer to RTM_GETLINK. */
static void take_reply(struct nd_xdp_occupant *self, const struct nlmsghdr *reply, ssize_t bytes)
{
	const struct rtattr *xdp, *id;

	if (!NLMSG_OK(reply, (uint32_t)bytes) || reply->nlmsg_type != RTM_NEWLINK)
		return;
	xdp = attribute(IFLA_RTA(NLMSG_DATA(reply)), IFLA_PAYLOAD(reply), IFLA_XDP);
	for (uint32_t i = 0; xdp && i < ND_ARRAY_SIZE(modes) && !self->program; i++) {
		id = attribute(RTA_DATA(xdp), RTA_PAYLOAD(xdp), modes[i].attribute);
		if (!id)
			continue;
		memcpy(&self->program, RTA_DATA(id), sizeof(self->program));
		self->mode = modes[i].name;
		self->keyword = modes[i].keyword;
	}
}

static void ask_link(struct nd_xdp_occupant *self, uint32_t interface)
{
	struct {
		struct nlmsghdr header;
		struct ifinfomsg body;
	} request = {
		.header = {
			.nlmsg_len = sizeof(request),
			.nlmsg_type = RTM_GETLINK,
			.nlmsg_flags = NLM_F_REQUEST,
		},
		.body.ifi_index = (int)interface,
	};
	static _Thread_local _Alignas(struct nlmsghdr) char reply[REPLY_BYTES];
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
	ssize_t got;

	if (fd < 0)
		return;
	if (send(fd, &request, sizeof(request), 0) == (ssize_t)sizeof(request)) {
		got = recv(fd, reply, sizeof(reply), 0);
		if (got > 0)
			take_reply(self, (const struct nlmsghdr *)(const void *)reply, got);
	}
	close(fd);
}

void nd_xdp_occupant_find(struct nd_xdp_occupant *self, uint32_t interface)
{
	*self = (struct nd_xdp_occupant){ .mode = "", .keyword = "" };
	ask_link(self, interface);
	if (!self->program)
		return;
	self->seen = nd_bpf_program_name(self->program, self->name) == 0 &&
		     nd_bpf_find_xdp_link(self->program, interface, &self->link) == 0;
	self->ours = strcmp(self->name, ND_BPF_OBJECT_NAME) == 0;
}

void nd_xdp_occupant_describe(const struct nd_xdp_occupant *self,
			      char text[ND_XDP_OCCUPANT_TEXT_BYTES])
{
	const char *name = self->name[0] ? self->name
			   : self->seen  ? "without a name"
					 : "with a name that only root may see";
	char link[32] = "";

	if (!self->program) {
		snprintf(text, ND_XDP_OCCUPANT_TEXT_BYTES, "no program");
		return;
	}
	if (self->link)
		snprintf(link, sizeof(link), ", BPF link %u", self->link);
	snprintf(text, ND_XDP_OCCUPANT_TEXT_BYTES, "program %s (id %u, %s mode%s)", name,
		 self->program, self->mode, link);
}

void nd_xdp_occupant_remedy(const struct nd_xdp_occupant *self, const char *interface,
			    char text[ND_XDP_OCCUPANT_TEXT_BYTES])
{
	if (!self->program) /* Linux counts a bond's, too; or it has just gone. */
		snprintf(text, ND_XDP_OCCUPANT_TEXT_BYTES,
			 "look for one on the interfaces above it, such as a bond, or try again");
	else if (self->link) /* Linux refuses to take it off by netlink. */
		snprintf(text, ND_XDP_OCCUPANT_TEXT_BYTES,
			 "stop its owner, or run `bpftool link detach id %u` if nobody owns it",
			 self->link);
	else
		snprintf(text, ND_XDP_OCCUPANT_TEXT_BYTES,
			 "stop its owner, or run `ip link set dev %s %s off` if nobody owns it",
			 interface, self->keyword);
}
