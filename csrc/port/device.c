// SPDX-License-Identifier: Apache-2.0
/* A network interface as the kernel describes it: what it is now, and what became of it. */
#include "port/device.h"

#include "port/fds.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/ethtool.h>
#include <linux/rtnetlink.h>
#include <linux/sockios.h>
#include <net/if_arp.h>
#include <sched.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#define NETNS_FOLDER "/run/netns/"
#define NETNS_PATH_BYTES 256
#define ROUTES_BYTES 16384 /* more than the kernel tells at once to who takes so much */

static struct ifreq request_of(const struct nd_device *device)
{
	struct ifreq request = { 0 };

	memcpy(request.ifr_name, device->name, sizeof(device->name));
	return request;
}

/* Asks by ethtool; command begins with the command's number. */
static int ethtool(const struct nd_device *device, void *command)
{
	struct ifreq request = request_of(device);

	request.ifr_data = command;
	return ioctl(device->control, SIOCETHTOOL, &request);
}

static void read_driver(struct nd_device *device, short flags)
{
	struct ethtool_drvinfo info = { .cmd = ETHTOOL_GDRVINFO };
	const char *driver = "";

	if (ethtool(device, &info) == 0)
		driver = info.driver;
	else if (flags & IFF_LOOPBACK)
		driver = "loopback";
	snprintf(device->driver, sizeof(device->driver), "%.*s",
		 (int)sizeof(device->driver) - 1, driver);
}

static void read_queues(struct nd_device *device)
{
	struct ethtool_channels channels = { .cmd = ETHTOOL_GCHANNELS };

	device->queues = 1;
	if (ethtool(device, &channels) == 0)
		device->queues = nd_max_u32(1, channels.combined_count + channels.rx_count);
}

/*
 * Devices without a link of their own have no rate, and some that have no carrier yet. The 10 Gb/s of a
 * veth are a constant in its driver, whatever it can do and leads to.
 */
static void read_rate(struct nd_device *device)
{
	struct ethtool_cmd settings = { .cmd = ETHTOOL_GSET };
	uint32_t mbps = (uint32_t)SPEED_UNKNOWN;

	if (strcmp(device->driver, "veth") != 0 && ethtool(device, &settings) == 0)
		mbps = (uint32_t)settings.speed_hi << 16 | settings.speed; /* the kernel's own overflows */
	device->link_bps = mbps == (uint32_t)SPEED_UNKNOWN ? 0 : mbps * UINT64_C(1000000);
}

/* The name may be an alternative one: the kernel finds both, and knows the canonical one. */
static int find(struct nd_device *device, const char *name, struct nd_error *error)
{
	struct ifreq request = { 0 };

	if (strnlen(name, IF_NAMESIZE) >= IF_NAMESIZE)
		return nd_error_set(error, -ENODEV,
				    "interface %s: names have at most %d characters", name,
				    IF_NAMESIZE - 1);
	snprintf(request.ifr_name, sizeof(request.ifr_name), "%s", name);
	if (ioctl(device->control, SIOCGIFINDEX, &request) < 0)
		return nd_error_set(error, -errno,
				    "interface %s: there is none of this name in this network "
				    "namespace; `ip link` lists them, or give the netns it is in",
				    name);
	device->index = (uint32_t)request.ifr_ifindex;
	if (ioctl(device->control, SIOCGIFNAME, &request) < 0)
		return nd_error_set(error, -errno, "interface %s: it was just deleted", name);
	memcpy(device->name, request.ifr_name, sizeof(device->name));
	return 0;
}

/* Flags, MTU; -errno when the interface is gone. */
static int read_state(struct nd_device *device, short *flags)
{
	struct ifreq request = request_of(device);

	if (ioctl(device->control, SIOCGIFFLAGS, &request) < 0)
		return -errno;
	*flags = request.ifr_flags;
	device->set_up = request.ifr_flags & IFF_UP;
	device->running = device->set_up && (request.ifr_flags & IFF_RUNNING);
	request = request_of(device);
	if (ioctl(device->control, SIOCGIFMTU, &request) < 0)
		return -errno;
	device->mtu = (uint32_t)request.ifr_mtu;
	return 0;
}

int nd_device_open(struct nd_device *device, const char *name, struct nd_error *error)
{
	struct ifreq request;
	short flags;
	int code;

	*device = (struct nd_device){ 0 };
	device->control = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (device->control < 0)
		return nd_error_set(error, -errno, "interface %s: no socket: %s", name,
				    strerror(errno));
	code = find(device, name, error);
	if (code < 0)
		return code;
	code = read_state(device, &flags);
	if (code < 0)
		return nd_error_set(error, code, "interface %s: it was just deleted", name);
	request = request_of(device);
	device->ethernet = ioctl(device->control, SIOCGIFHWADDR, &request) == 0 &&
			   (request.ifr_hwaddr.sa_family == ARPHRD_ETHER ||
			    request.ifr_hwaddr.sa_family == ARPHRD_LOOPBACK);
	if (device->ethernet)
		memcpy(device->mac, request.ifr_hwaddr.sa_data, sizeof(device->mac));
	read_driver(device, flags);
	read_queues(device);
	read_rate(device);
	return 0;
}

void nd_device_close(struct nd_device *device)
{
	nd_fds_close(&device->control);
}

int nd_device_use(const struct nd_device *device, struct nd_port *port,
		  const struct nd_port_config *config, struct nd_error *error)
{
	if (!device->ethernet)
		return nd_error_set(error, -EPROTONOSUPPORT,
				    "interface %s: its packets have no Ethernet header, as those of "
				    "tunnels (tun, WireGuard); use a udp port on its address",
				    device->name);
	if (config->mtu > device->mtu)
		return nd_error_set(error, -EMSGSIZE,
				    "interface %s: its MTU is %u, less than the %u asked for; run "
				    "`ip link set %s mtu %u` at both ends",
				    device->name, device->mtu, config->mtu, device->name,
				    config->mtu);
	port->mtu = config->mtu ? config->mtu : nd_min_u32(device->mtu, ND_PORT_MTU_MAX);
	port->frame_bytes_max = port->mtu + ND_PORT_FRAMING_BYTES;
	port->link_bps = device->link_bps;
	memcpy(port->mac, device->mac, sizeof(port->mac));
	snprintf(port->name, sizeof(port->name), "%s", device->name);
	return 0;
}

enum nd_port_state nd_device_gone(const struct nd_device *device, struct nd_error *error)
{
	struct ifreq request = request_of(device);
	bool again = ioctl(device->control, SIOCGIFINDEX, &request) == 0;

	nd_error_set(error, -ENODEV,
		     again ? "interface %s was deleted and re-created; reopen the port"
			   : "interface %s was deleted; create it and reopen the port",
		     device->name);
	return ND_PORT_GONE;
}

enum nd_port_state nd_device_check(struct nd_device *device, uint32_t mtu,
				   struct nd_error *error)
{
	struct ifreq request = { .ifr_ifindex = (int)device->index };
	short flags;

	if (ioctl(device->control, SIOCGIFNAME, &request) < 0)
		return nd_device_gone(device, error);
	memcpy(device->name, request.ifr_name, sizeof(device->name)); /* it may be renamed */
	if (read_state(device, &flags) < 0)
		return nd_device_gone(device, error);
	if (mtu && device->mtu != mtu) {
		nd_error_set(error, -EMSGSIZE,
			     "interface %s: its MTU was changed from %u to %u; reopen the port",
			     device->name, mtu, device->mtu);
		return ND_PORT_CHANGED;
	}
	if (device->running)
		return ND_PORT_UP;
	nd_error_set(error, -ENETDOWN,
		     device->set_up ? "interface %s has no carrier; check the cable, or the other "
				      "end of the pair"
				    : "interface %s is down; run `ip link set %s up`",
		     device->name, device->name);
	return ND_PORT_DOWN;
}

/* True when a list of next hops has the interface. */
static bool has_hop(const struct rtattr *hops, uint32_t interface)
{
	const struct rtnexthop *hop = RTA_DATA(hops);
	int left = (int)RTA_PAYLOAD(hops);

	for (; left >= (int)sizeof(*hop) && RTNH_OK(hop, left); hop = RTNH_NEXT(hop)) {
		if ((uint32_t)hop->rtnh_ifindex == interface)
			return true;
		left -= RTNH_ALIGN(hop->rtnh_len);
	}
	return false;
}

/* True when what the kernel tells of a route is a default route by the interface, be it one of several. */
static bool is_default_by(const struct nlmsghdr *message, uint32_t interface)
{
	const struct rtmsg *route = NLMSG_DATA(message);
	uint32_t left = (uint32_t)RTM_PAYLOAD(message), by = 0;

	if (message->nlmsg_type != RTM_NEWROUTE || route->rtm_dst_len ||
	    route->rtm_type != RTN_UNICAST ||
	    (route->rtm_family != AF_INET && route->rtm_family != AF_INET6))
		return false;
	for (const struct rtattr *a = RTM_RTA(route); RTA_OK(a, left); a = RTA_NEXT(a, left)) {
		if (a->rta_type == RTA_MULTIPATH && has_hop(a, interface))
			return true;
		if (a->rta_type == RTA_OIF)
			memcpy(&by, RTA_DATA(a), sizeof(by));
	}
	return by == interface;
}

/* Reads answers until one is of a default route by the interface, or they end. */
static bool read_routes(int netlink, uint32_t interface)
{
	_Alignas(struct nlmsghdr) char answers[ROUTES_BYTES];
	ssize_t got;

	while ((got = recv(netlink, answers, sizeof(answers), 0)) > 0) {
		const struct nlmsghdr *message = (const struct nlmsghdr *)(const void *)answers;
		uint32_t left = (uint32_t)got;

		for (; NLMSG_OK(message, left); message = NLMSG_NEXT(message, left)) {
			if (message->nlmsg_type == NLMSG_DONE || message->nlmsg_type == NLMSG_ERROR)
				return false;
			if (is_default_by(message, interface))
				return true;
		}
	}
	return false;
}

bool nd_device_is_default_route(const struct nd_device *device)
{
	struct {
		struct nlmsghdr header;
		struct rtmsg body; /* of any family and table */
	} request = {
		.header = {
			.nlmsg_len = sizeof(request),
			.nlmsg_type = RTM_GETROUTE,
			.nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP,
		},
	};
	int netlink = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
	bool found = false;

	if (netlink < 0)
		return false;
	if (send(netlink, &request, sizeof(request), 0) == (ssize_t)sizeof(request))
		found = read_routes(netlink, device->index);
	close(netlink);
	return found;
}

int nd_netns_enter(const char *netns, int *back, struct nd_error *error)
{
	char path[NETNS_PATH_BYTES];
	int there, code;

	*back = -1;
	if (!netns)
		return 0;
	snprintf(path, sizeof(path), "%s%s", netns[0] == '/' ? "" : NETNS_FOLDER, netns);
	there = open(path, O_RDONLY | O_CLOEXEC);
	if (there < 0)
		return nd_error_set(error, -errno,
				    "network namespace %s: cannot open %s: %s; `ip netns list` "
				    "names those that exist",
				    netns, path, strerror(errno));
	*back = open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);
	code = *back < 0 || setns(there, CLONE_NEWNET) < 0 ? -errno : 0;
	close(there);
	if (code < 0) {
		nd_fds_close(back);
		return nd_error_set(error, code, "network namespace %s: cannot enter it: %s%s",
				    netns, strerror(-code),
				    code == -EPERM ? "; it needs CAP_SYS_ADMIN" : "");
	}
	return 0;
}

void nd_netns_leave(int back)
{
	if (back < 0)
		return;
	/* To go on in the wrong namespace would put every later socket where nobody expects it. */
	nd_assert(setns(back, CLONE_NEWNET) == 0);
	close(back);
}
