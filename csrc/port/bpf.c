// SPDX-License-Identifier: Apache-2.0
/* The bpf(2) calls that an XDP port makes. */
#include "port/bpf.h"

#include <errno.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define OBJECT_NAME "ndpstack"
#define REPLY_BYTES 16384

static int bpf(int command, union bpf_attr *attributes)
{
	long result = syscall(SYS_bpf, command, attributes, sizeof(*attributes));

	return result < 0 ? -errno : (int)result;
}

static uint64_t pointer(const void *address)
{
	return (uint64_t)(uintptr_t)address;
}

int nd_bpf_socket_map(uint32_t queues)
{
	union bpf_attr attributes = { 0 };

	attributes.map_type = BPF_MAP_TYPE_XSKMAP;
	attributes.key_size = sizeof(uint32_t);
	attributes.value_size = sizeof(uint32_t);
	attributes.max_entries = queues;
	memcpy(attributes.map_name, OBJECT_NAME, sizeof(OBJECT_NAME));
	return bpf(BPF_MAP_CREATE, &attributes);
}

int nd_bpf_map_set(int map, uint32_t queue, int socket)
{
	union bpf_attr attributes = { 0 };

	attributes.map_fd = (uint32_t)map;
	attributes.key = pointer(&queue);
	attributes.value = pointer(&socket);
	return bpf(BPF_MAP_UPDATE_ELEM, &attributes);
}

int nd_bpf_map_clear(int map, uint32_t queue)
{
	union bpf_attr attributes = { 0 };

	attributes.map_fd = (uint32_t)map;
	attributes.key = pointer(&queue);
	return bpf(BPF_MAP_DELETE_ELEM, &attributes);
}

int nd_bpf_open_pinned(const char *path)
{
	union bpf_attr attributes = { 0 };

	attributes.pathname = pointer(path);
	return bpf(BPF_OBJ_GET, &attributes);
}

int nd_bpf_load_xdp(const struct bpf_insn *code, uint32_t length, bool fragments)
{
	union bpf_attr attributes = { 0 };

	attributes.prog_type = BPF_PROG_TYPE_XDP;
	attributes.expected_attach_type = BPF_XDP;
	attributes.insns = pointer(code);
	attributes.insn_cnt = length;
	attributes.license = pointer("Apache-2.0");
	attributes.prog_flags = fragments ? BPF_F_XDP_HAS_FRAGS : 0;
	memcpy(attributes.prog_name, OBJECT_NAME, sizeof(OBJECT_NAME));
	return bpf(BPF_PROG_LOAD, &attributes);
}

int nd_bpf_link_xdp(int program, uint32_t interface, uint32_t mode_flags)
{
	union bpf_attr attributes = { 0 };

	attributes.link_create.prog_fd = (uint32_t)program;
	attributes.link_create.target_ifindex = interface;
	attributes.link_create.attach_type = BPF_XDP;
	attributes.link_create.flags = mode_flags;
	return bpf(BPF_LINK_CREATE, &attributes);
}

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

/* Id of the program in the answer to RTM_GETLINK, or 0. */
static uint32_t id_in_reply(const struct nlmsghdr *reply, ssize_t bytes)
{
	const struct rtattr *xdp, *id;
	uint32_t value = 0;

	if (!NLMSG_OK(reply, (uint32_t)bytes) || reply->nlmsg_type != RTM_NEWLINK)
		return 0;
	xdp = attribute(IFLA_RTA(NLMSG_DATA(reply)), IFLA_PAYLOAD(reply), IFLA_XDP);
	if (!xdp)
		return 0;
	id = attribute(RTA_DATA(xdp), RTA_PAYLOAD(xdp), IFLA_XDP_PROG_ID);
	if (id)
		memcpy(&value, RTA_DATA(id), sizeof(value));
	return value;
}

static uint32_t program_id(uint32_t interface)
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
	uint32_t id = 0;
	ssize_t got;

	if (fd < 0)
		return 0;
	if (send(fd, &request, sizeof(request), 0) == (ssize_t)sizeof(request)) {
		got = recv(fd, reply, sizeof(reply), 0);
		if (got > 0)
			id = id_in_reply((const struct nlmsghdr *)(const void *)reply, got);
	}
	close(fd);
	return id;
}

/* The program's name; empty when it has none or we may not see it. */
static void program_name(uint32_t id, char name[BPF_OBJ_NAME_LEN])
{
	struct bpf_prog_info info = { 0 };
	union bpf_attr attributes = { 0 };
	int fd;

	name[0] = '\0';
	attributes.prog_id = id;
	fd = bpf(BPF_PROG_GET_FD_BY_ID, &attributes);
	if (fd < 0)
		return;
	memset(&attributes, 0, sizeof(attributes));
	attributes.info.bpf_fd = (uint32_t)fd;
	attributes.info.info = pointer(&info);
	attributes.info.info_len = sizeof(info);
	if (bpf(BPF_OBJ_GET_INFO_BY_FD, &attributes) == 0)
		memcpy(name, info.name, BPF_OBJ_NAME_LEN);
	close(fd);
}

void nd_bpf_describe_xdp(uint32_t interface, char *text, uint32_t text_bytes)
{
	uint32_t id = program_id(interface);
	char name[BPF_OBJ_NAME_LEN];

	if (!id) {
		snprintf(text, text_bytes, "no program");
		return;
	}
	program_name(id, name);
	snprintf(text, text_bytes, "program %s (id %u)", name[0] ? name : "without a name", id);
}
