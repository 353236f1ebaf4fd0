// SPDX-License-Identifier: Apache-2.0
/* The bpf(2) calls that an XDP port makes. */
#include "port/bpf.h"

#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define LOAD_TRIES 100

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
	memcpy(attributes.map_name, ND_BPF_OBJECT_NAME, sizeof(ND_BPF_OBJECT_NAME));
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
	int program = -EAGAIN;

	attributes.prog_type = BPF_PROG_TYPE_XDP;
	attributes.expected_attach_type = BPF_XDP;
	attributes.insns = pointer(code);
	attributes.insn_cnt = length;
	attributes.license = pointer("Apache-2.0");
	attributes.prog_flags = fragments ? BPF_F_XDP_HAS_FRAGS : 0;
	memcpy(attributes.prog_name, ND_BPF_OBJECT_NAME, sizeof(ND_BPF_OBJECT_NAME));
	/* The kernel gives it up for any signal that comes meanwhile, as a profiler sends many. */
	for (uint32_t tries = 0; program == -EAGAIN && tries < LOAD_TRIES; tries++)
		program = bpf(BPF_PROG_LOAD, &attributes);
	return program;
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

/* Reads what the kernel tells of the object behind a descriptor, which is closed. */
static int read_info(int fd, void *info, uint32_t bytes)
{
	union bpf_attr attributes = { 0 };
	int code;

	if (fd < 0)
		return fd;
	attributes.info.bpf_fd = (uint32_t)fd;
	attributes.info.info = pointer(info);
	attributes.info.info_len = bytes;
	code = bpf(BPF_OBJ_GET_INFO_BY_FD, &attributes);
	close(fd);
	return code;
}

int nd_bpf_program_name(uint32_t id, char name[BPF_OBJ_NAME_LEN])
{
	struct bpf_prog_info info = { 0 };
	union bpf_attr attributes = { .prog_id = id };
	int code = read_info(bpf(BPF_PROG_GET_FD_BY_ID, &attributes), &info, sizeof(info));

	memcpy(name, info.name, BPF_OBJ_NAME_LEN);
	return code;
}

int nd_bpf_find_xdp_link(uint32_t program, uint32_t interface, uint32_t *link)
{
	union bpf_attr next = { 0 };
	int code;

	*link = 0;
	while ((code = bpf(BPF_LINK_GET_NEXT_ID, &next)) == 0) {
		struct bpf_link_info info = { 0 };
		union bpf_attr attributes = { .link_id = next.next_id };

		next.start_id = next.next_id;
		/* It may be gone by now, which ends nothing. */
		if (read_info(bpf(BPF_LINK_GET_FD_BY_ID, &attributes), &info, sizeof(info)) < 0 ||
		    info.type != BPF_LINK_TYPE_XDP || info.prog_id != program ||
		    info.xdp.ifindex != interface)
			continue;
		*link = info.id;
		return 0;
	}
	return code == -ENOENT ? 0 : code;
}
