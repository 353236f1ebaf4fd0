// SPDX-License-Identifier: Apache-2.0
/* The filter program on an interface, and the map from its queues to our sockets. */
#include "port/xdp_attachment.h"

#include "port/bpf.h"
#include "port/fds.h"
#include "port/xdp_occupant.h"
#include "port/xdp_program.h"

#include <errno.h>
#include <linux/if_packet.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define RETRY_NS 5000000
#define RETRIES 400

/* Drivers that are software all through: generic mode was measured faster on them than native. */
static const char *const software_drivers[] = {
	"veth", "loopback", "tun", "bridge", "macvlan", "ipvlan", "dummy", "802.1Q VLAN Support",
};

bool nd_xdp_prefers_generic(const char *driver)
{
	for (uint32_t i = 0; i < ND_ARRAY_SIZE(software_drivers); i++)
		if (strcmp(driver, software_drivers[i]) == 0)
			return true;
	return false;
}

static void pause_briefly(void)
{
	const struct timespec pause = { .tv_nsec = RETRY_NS };

	nanosleep(&pause, NULL);
}

/* Links the program, waiting for one that is just going away. */
static int link_patiently(int program, uint32_t interface, uint32_t mode_flags)
{
	for (uint32_t tries = 0;; tries++) {
		int link = nd_bpf_link_xdp(program, interface, mode_flags);

		if ((link != -EBUSY && link != -EEXIST) || tries == RETRIES)
			return link;
		pause_briefly();
	}
}

/* Why native mode is not to be had here, and what to do about it. */
static const char *native_reason(int code)
{
	switch (code) {
	case -EOPNOTSUPP:
		return "its driver has no XDP support";
	case -ERANGE:
		return "its MTU does not fit one page; lower it to 3498";
	case -ENOSPC:
		return "its peer has more transmit queues than it has receive queues; make them "
		       "equal with `ethtool -L`";
	case -ENOMEM:
		return "it has too few queues or buffers for XDP";
	case -EINVAL:
		return "an offload (LRO, checksum) or its number of queues is in the way";
	default:
		return strerror(-code);
	}
}

static int explain_occupied(int code, const struct nd_device *device, struct nd_error *error)
{
	char text[ND_XDP_OCCUPANT_TEXT_BYTES], remedy[ND_XDP_OCCUPANT_TEXT_BYTES];
	struct nd_xdp_occupant occupant;

	nd_xdp_occupant_find(&occupant, device->index);
	nd_xdp_occupant_describe(&occupant, text);
	nd_xdp_occupant_remedy(&occupant, device->name, remedy);
	if (!occupant.program)
		return nd_error_set(error, code,
				    "interface %s: an XDP program is in the way, and it is not on "
				    "it now; %s",
				    device->name, remedy);
	return nd_error_set(error, code, "interface %s: another XDP program is attached: %s; %s",
			    device->name, text, remedy);
}

static int explain_link(int code, const struct nd_device *device, bool native,
			struct nd_error *error)
{
	if (code == -EBUSY || code == -EEXIST)
		return explain_occupied(code, device, error);
	if (code == -EPERM)
		return nd_error_set(error, code,
				    "interface %s: attaching an XDP program needs CAP_NET_ADMIN "
				    "and CAP_BPF; run as root or with these, or use a packet port",
				    device->name);
	return nd_error_set(error, code, "interface %s: no XDP in %s mode: %s%s", device->name,
			    native ? "native" : "generic",
			    native ? native_reason(code) : strerror(-code),
			    native ? "; or use mode generic" : "");
}

static int link_program(struct nd_xdp_attachment *self, const struct nd_device *device,
			enum nd_port_xdp_mode mode, char *note, struct nd_error *error)
{
	bool native = mode == ND_XDP_NATIVE ||
		      (mode == ND_XDP_AUTO && !nd_xdp_prefers_generic(device->driver));
	int link = link_patiently(self->program, device->index,
				  native ? XDP_FLAGS_DRV_MODE : XDP_FLAGS_SKB_MODE);

	if (link < 0 && native && mode == ND_XDP_AUTO && link != -EBUSY && link != -EEXIST &&
	    link != -EPERM) {
		snprintf(note, ND_ERROR_TEXT_BYTES,
			 "interface %s: generic instead of native mode, because %s", device->name,
			 native_reason(link));
		native = false;
		link = link_patiently(self->program, device->index, XDP_FLAGS_SKB_MODE);
	}
	if (link < 0)
		return explain_link(link, device, native, error);
	self->link = link;
	self->native = native;
	return 0;
}

/* Some NICs reset their link when a program comes: traffic before it is back would be lost. */
static void await_carrier(struct nd_device *device)
{
	struct nd_error ignored;

	for (uint32_t tries = 0; tries < RETRIES; tries++) {
		if (nd_device_check(device, 0, &ignored) != ND_PORT_DOWN)
			return;
		pause_briefly();
	}
}

static int make_promiscuous(struct nd_xdp_attachment *self, const struct nd_device *device,
			    struct nd_error *error)
{
	struct packet_mreq request = {
		.mr_ifindex = (int)device->index,
		.mr_type = PACKET_MR_PROMISC,
	};

	self->promiscuous = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);
	if (self->promiscuous < 0 ||
	    setsockopt(self->promiscuous, SOL_PACKET, PACKET_ADD_MEMBERSHIP, &request,
		       sizeof(request)) < 0)
		return nd_error_set(error, -errno, "interface %s: cannot make it promiscuous: %s",
				    device->name, strerror(errno));
	return 0;
}

static int refuse_device(const struct nd_device *device, const struct nd_port_config *config,
			 struct nd_error *error)
{
	if (strcmp(device->driver, "bonding") == 0)
		return nd_error_set(error, -EOPNOTSUPP,
				    "interface %s is a bond, where AF_XDP sockets see nothing; "
				    "open its member interfaces instead",
				    device->name);
	if (config->filter.everything && !config->xdp.force && nd_device_is_default_route(device))
		return nd_error_set(error, -EPERM,
				    "interface %s carries the default route: taking all its frames "
				    "would cut this machine off; use another interface, or force",
				    device->name);
	return 0;
}

static int open_foreign_map(struct nd_xdp_attachment *self, const struct nd_device *device,
			    const char *path, struct nd_error *error)
{
	self->map = nd_bpf_open_pinned(path);
	if (self->map < 0)
		return nd_error_set(error, self->map,
				    "interface %s: cannot open the pinned socket map %s: %s; pin "
				    "the XSKMAP of the attached program there",
				    device->name, path, strerror(-self->map));
	return 0;
}

int nd_xdp_attach(struct nd_xdp_attachment *self, struct nd_device *device,
		  const struct nd_port_config *config, bool fragments, char *note,
		  struct nd_error *error)
{
	struct bpf_insn code[ND_XDP_PROGRAM_MAX];
	bool was_running = device->running;
	int failed = refuse_device(device, config, error);

	if (failed < 0)
		return failed;
	if (config->xdp.map_path)
		return open_foreign_map(self, device, config->xdp.map_path, error);
	self->map = nd_bpf_socket_map(nd_max_u32(device->queues, config->xdp.queue_first + 1));
	if (self->map < 0)
		return explain_link(self->map, device, false, error);
	self->program = nd_bpf_load_xdp(code, nd_xdp_program(&config->filter, self->map, code),
					fragments);
	if (self->program < 0)
		return nd_error_set(error, self->program,
				    "interface %s: the kernel refuses the XDP program: %s",
				    device->name, strerror(-self->program));
	failed = link_program(self, device, config->xdp.mode, note, error);
	if (failed < 0)
		return failed;
	if (was_running && self->native)
		await_carrier(device);
	return config->filter.everything ? make_promiscuous(self, device, error) : 0;
}

void nd_xdp_detach(struct nd_xdp_attachment *self, uint32_t queue_first, uint32_t queue_count)
{
	nd_fds_close(&self->link);
	for (uint32_t i = 0; self->map >= 0 && i < queue_count; i++)
		nd_bpf_map_clear(self->map, queue_first + i);
	nd_fds_close(&self->map);
	nd_fds_close(&self->program);
	nd_fds_close(&self->promiscuous);
}
