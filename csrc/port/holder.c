// SPDX-License-Identifier: Apache-2.0
/* Sockets that hold our UDP ports and our IP protocol on an interface. */
#include "port/holder.h"

#include "port/fds.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/filter.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

#define PROTOCOL_HOMA 146

/* A socket of the family that drops all it gets; -EAFNOSUPPORT when the host has no IPv6. */
static int deaf_socket(int family, int type, int protocol, const char *interface)
{
	struct sock_filter drop = { .code = BPF_RET | BPF_K, .k = 0 };
	struct sock_fprog program = { .len = 1, .filter = &drop };
	int fd = socket(family, type | SOCK_CLOEXEC, protocol);
	int one = 1, code = 0;

	if (fd < 0)
		return -errno;
	if (setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof(program)) < 0 ||
	    setsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, interface,
		       (socklen_t)strlen(interface)) < 0)
		code = -errno;
	if (family == AF_INET6 && type == SOCK_DGRAM &&
	    setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &one, sizeof(one)) < 0)
		code = -errno;
	if (code < 0)
		nd_fds_close(&fd);
	return code < 0 ? code : fd;
}

static int bind_port(int fd, int family, uint16_t port)
{
	struct sockaddr_in v4 = { .sin_family = AF_INET, .sin_port = htons(port) };
	struct sockaddr_in6 v6 = { .sin6_family = AF_INET6, .sin6_port = htons(port) };
	int bound = family == AF_INET ? bind(fd, (struct sockaddr *)&v4, sizeof(v4))
				      : bind(fd, (struct sockaddr *)&v6, sizeof(v6));

	return bound < 0 ? -errno : 0;
}

/* Holds one UDP port, or the Homa protocol when port is 0. */
static int hold(struct nd_holder *holder, int family, uint16_t port, const char *interface)
{
	int fd = port ? deaf_socket(family, SOCK_DGRAM, 0, interface)
		      : deaf_socket(family, SOCK_RAW, PROTOCOL_HOMA, interface);
	int code;

	if (fd == -EAFNOSUPPORT)
		return 0;
	if (fd < 0)
		return fd;
	holder->sockets[holder->count++] = fd;
	code = port ? bind_port(fd, family, port) : 0;
	return code == -EADDRNOTAVAIL ? 0 : code; /* IPv6 is switched off on this host */
}

int nd_holder_open(struct nd_holder *holder, const struct nd_port_filter *filter,
		   const char *interface, struct nd_error *error)
{
	static const int families[] = { AF_INET, AF_INET6 };
	int code = 0;

	holder->count = 0;
	if (filter->everything)
		return 0;
	for (uint32_t f = 0; f < ND_ARRAY_SIZE(families); f++) {
		for (uint32_t i = 0; i < filter->udp_count && code == 0; i++) {
			code = hold(holder, families[f], filter->udp_ports[i], interface);
			if (code == -EADDRINUSE)
				return nd_error_set(error, code,
						    "interface %s: UDP port %u belongs to another "
						    "program or stack on this host; stop it (`ss "
						    "-lunp` names it) or choose another port",
						    interface, filter->udp_ports[i]);
		}
		if (filter->homa && code == 0)
			code = hold(holder, families[f], 0, interface);
	}
	if (code < 0)
		return nd_error_set(error, code,
				    "interface %s: cannot hold our UDP ports: %s", interface,
				    strerror(-code));
	return 0;
}

void nd_holder_close(struct nd_holder *holder)
{
	for (uint32_t i = 0; i < holder->count; i++)
		nd_fds_close(&holder->sockets[i]);
	holder->count = 0;
}
