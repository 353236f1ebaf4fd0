/* SPDX-License-Identifier: Apache-2.0 */
/* A network interface as the kernel describes it: what it is now, and what became of it. */
#ifndef ND_PORT_DEVICE_H
#define ND_PORT_DEVICE_H

#include "port/port.h"

#include <net/if.h>

#define ND_DEVICE_DRIVER_BYTES 32

struct nd_device {
	int control;  /* socket in the interface's network namespace, for ioctls */
	uint32_t index;
	uint32_t mtu;
	uint32_t queues; /* receive queues in use */
	uint64_t link_bps; /* rate of the link, 0: unknown */
	bool ethernet;   /* its packets begin with an Ethernet header */
	bool running;    /* set up and with carrier */
	bool set_up;
	uint8_t mac[6];
	char name[IF_NAMESIZE]; /* canonical: an alternative name is resolved */
	char driver[ND_DEVICE_DRIVER_BYTES]; /* "loopback" where ethtool knows none */
};

/*
 * Finds the interface in the calling thread's network namespace. 0 or -errno with its remedy.
 * The control socket is the caller's to close with nd_device_close(), also on failure.
 */
int nd_device_open(struct nd_device *device, const char *name, struct nd_error *error);
void nd_device_close(struct nd_device *device);

/*
 * Gives the port the interface's name, MAC address and MTU; refuses a larger MTU than it has,
 * and an interface without Ethernet.
 */
int nd_device_use(const struct nd_device *device, struct nd_port *port,
		  const struct nd_port_config *config, struct nd_error *error);

/* Takes MTU and flags in anew; the state of a port opened on it with this MTU (0: any). */
enum nd_port_state nd_device_check(struct nd_device *device, uint32_t mtu,
				   struct nd_error *error);

/* ND_PORT_GONE, for whoever knows from a socket on it although another has its index now. */
enum nd_port_state nd_device_gone(const struct nd_device *device, struct nd_error *error);

/* True when a default route of the calling thread's network namespace leaves by this interface. */
bool nd_device_is_default_route(const struct nd_device *device);

/*
 * Lets the calling thread see another network namespace: a name below /run/netns, or a path.
 * back becomes the way back, or -1 when netns is NULL and nothing was to do. 0 or -errno.
 */
int nd_netns_enter(const char *netns, int *back, struct nd_error *error);
void nd_netns_leave(int back);

#endif
