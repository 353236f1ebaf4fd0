// SPDX-License-Identifier: Apache-2.0
/* Local rendezvous by name: UNIX sockets that carry descriptors and know their peer. */
#include "port/fds.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define ABSTRACT_PREFIX "ndpstack/"
#define BACKLOG 8
#define ERRNO_MAX 4095 /* of the kernel */

/* Length of the address, or -ENAMETOOLONG. */
static int make_address(const char *name, struct sockaddr_un *address)
{
	size_t room = sizeof(address->sun_path);
	int length;

	memset(address, 0, sizeof(*address));
	address->sun_family = AF_UNIX;
	if (name[0] == '/')
		length = snprintf(address->sun_path, room, "%s", name);
	else /* the leading NUL makes it abstract */
		length = 1 + snprintf(address->sun_path + 1, room - 1, ABSTRACT_PREFIX "%s", name);
	if ((size_t)length >= room)
		return -ENAMETOOLONG;
	return (int)offsetof(struct sockaddr_un, sun_path) + length;
}

static int open_socket(const char *name, struct sockaddr_un *address, socklen_t *length,
		       struct nd_error *error)
{
	int made = make_address(name, address);
	int fd;

	if (made < 0)
		return nd_error_set(error, made, "%s: too long a name for a UNIX socket", name);
	*length = (socklen_t)made;
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return nd_error_set(error, -errno, "%s: no UNIX socket: %s", name, strerror(errno));
	return fd;
}

/* False for a file that has nothing to do with us: to connect to it is refused, too. */
static bool is_socket(const char *path)
{
	struct stat file;

	return lstat(path, &file) == 0 && S_ISSOCK(file.st_mode);
}

/* A path nobody listens on any more was left by a killed process. */
static bool is_stale(const char *name, const struct sockaddr_un *address, socklen_t length)
{
	bool stale = false;
	int fd;

	if (name[0] != '/' || !is_socket(name))
		return false;
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd >= 0) {
		stale = connect(fd, (const struct sockaddr *)address, length) < 0 &&
			errno == ECONNREFUSED;
		close(fd);
	}
	return stale;
}

static int bind_name(int fd, const char *name, const struct sockaddr_un *address,
		     socklen_t length)
{
	int code = bind(fd, (const struct sockaddr *)address, length) < 0 ? -errno : 0;

	if (code == -EADDRINUSE && is_stale(name, address, length)) {
		unlink(address->sun_path);
		code = bind(fd, (const struct sockaddr *)address, length) < 0 ? -errno : 0;
	}
	return code;
}

static int explain_listen(int code, const char *name, struct nd_error *error)
{
	if (code != -EADDRINUSE)
		return nd_error_set(error, code, "%s: cannot listen: %s", name, strerror(-code));
	if (name[0] == '/' && !is_socket(name))
		return nd_error_set(error, code,
				    "%s: there is a file of this name that is no socket; remove it "
				    "or choose another name",
				    name);
	return nd_error_set(error, code,
			    "%s: another process listens on this name; stop it or choose another "
			    "name",
			    name);
}

int nd_fds_listen(const char *name, struct nd_error *error)
{
	struct sockaddr_un address;
	socklen_t length = 0;
	int fd = open_socket(name, &address, &length, error);
	int code;

	if (fd < 0)
		return fd;
	code = bind_name(fd, name, &address, length);
	if (code == 0 && listen(fd, BACKLOG) < 0)
		code = -errno;
	if (code == 0)
		return fd;
	close(fd);
	return explain_listen(code, name, error);
}

int nd_fds_connect(const char *name, struct nd_error *error)
{
	struct sockaddr_un address;
	socklen_t length = 0;
	int fd = open_socket(name, &address, &length, error);
	int code;

	if (fd < 0 || connect(fd, (struct sockaddr *)&address, length) == 0)
		return fd;
	code = -errno;
	close(fd);
	if (code == -ECONNREFUSED || code == -ENOENT)
		return nd_error_set(error, code,
				    "%s: nobody listens on this name; start the listening end "
				    "first (abstract names are seen only in one network namespace)",
				    name);
	if (code == -EAGAIN)
		return nd_error_set(error, code,
				    "%s: the listening end does not accept (%d connections wait); "
				    "is it stopped?",
				    name, BACKLOG);
	return nd_error_set(error, code, "%s: cannot connect: %s", name, strerror(-code));
}

uint32_t nd_fds_user(int socket)
{
	struct ucred peer;
	socklen_t length = sizeof(peer);

	return getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &length) < 0 ? ND_FDS_NOBODY
									       : peer.uid;
}

bool nd_fds_is_own_user(uint32_t user)
{
	return user == 0 || user == geteuid();
}

void nd_fds_refuse(int socket, int code)
{
	int32_t reason = code;

	nd_assert(code < 0);
	/* Should it fail, the other end finds the connection closed, as it would without. */
	(void)send(socket, &reason, sizeof(reason), MSG_NOSIGNAL | MSG_DONTWAIT);
}

int nd_fds_accept(int listener, bool any_user)
{
	int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

	if (fd < 0)
		return -errno;
	if (any_user || nd_fds_is_own_user(nd_fds_user(fd)))
		return fd;
	nd_fds_refuse(fd, -EPERM);
	close(fd);
	return -EPERM;
}

int nd_fds_send(int socket, const void *message, uint32_t bytes, const int *fds, uint32_t count)
{
	_Alignas(struct cmsghdr) uint8_t control[CMSG_SPACE(sizeof(int) * ND_FDS_MAX)] = { 0 };
	struct iovec part = { .iov_base = (void *)(uintptr_t)message, .iov_len = bytes };
	struct msghdr header = {
		.msg_iov = &part,
		.msg_iovlen = 1,
		.msg_control = control,
		.msg_controllen = CMSG_SPACE(sizeof(int) * count),
	};
	struct cmsghdr *rights = CMSG_FIRSTHDR(&header);

	nd_assert(count && count <= ND_FDS_MAX);
	rights->cmsg_level = SOL_SOCKET;
	rights->cmsg_type = SCM_RIGHTS;
	rights->cmsg_len = CMSG_LEN(sizeof(int) * count);
	memcpy(CMSG_DATA(rights), fds, sizeof(int) * count);
	return sendmsg(socket, &header, MSG_NOSIGNAL) < 0 ? -errno : 0;
}

/* The reason of a refusal, 0: it is none. */
static int reason_of(const void *message, ssize_t bytes)
{
	int32_t reason;

	if (bytes != (ssize_t)sizeof(reason))
		return 0;
	memcpy(&reason, message, sizeof(reason));
	/* -EAGAIN would say that the message may still come. */
	return reason < 0 && reason >= -ERRNO_MAX && reason != -EAGAIN ? reason : 0;
}

/* Copies the descriptors out; returns how many came. */
static uint32_t take_descriptors(struct msghdr *header, int *fds)
{
	uint32_t taken = 0;

	for (struct cmsghdr *c = CMSG_FIRSTHDR(header); c; c = CMSG_NXTHDR(header, c)) {
		uint32_t count = (uint32_t)((c->cmsg_len - CMSG_LEN(0)) / sizeof(int));

		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		count = nd_min_u32(count, ND_FDS_MAX - taken);
		memcpy(&fds[taken], CMSG_DATA(c), sizeof(int) * count);
		taken += count;
	}
	return taken;
}

int nd_fds_receive(int socket, void *message, uint32_t bytes, int *fds, uint32_t count)
{
	_Alignas(struct cmsghdr) uint8_t control[CMSG_SPACE(sizeof(int) * ND_FDS_MAX)];
	struct iovec part = { .iov_base = message, .iov_len = bytes };
	struct msghdr header = {
		.msg_iov = &part,
		.msg_iovlen = 1,
		.msg_control = control,
		.msg_controllen = sizeof(control),
	};
	int all[ND_FDS_MAX];
	uint32_t taken;
	int reason;
	ssize_t got = recvmsg(socket, &header, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);

	nd_assert(bytes > sizeof(int32_t)); /* which a refusal has */
	if (got < 0)
		return -errno;
	taken = take_descriptors(&header, all);
	reason = taken ? 0 : reason_of(message, got);
	if (reason)
		return reason;
	if (got != (ssize_t)bytes || taken != count ||
	    (header.msg_flags & (MSG_TRUNC | MSG_CTRUNC))) {
		for (uint32_t i = 0; i < taken; i++)
			close(all[i]);
		/* Nothing at all is the end; but also an empty message may bring descriptors. */
		return got == 0 && taken == 0 ? -EPIPE : -EPROTO;
	}
	memcpy(fds, all, sizeof(int) * count);
	return 0;
}

bool nd_fds_is_sealed(int memory, int seals)
{
	int got = fcntl(memory, F_GET_SEALS);

	return got >= 0 && (got & seals) == seals;
}

bool nd_fds_hung_up(int socket)
{
	struct pollfd entry = { .fd = socket, .events = POLLRDHUP };

	return poll(&entry, 1, 0) > 0 && (entry.revents & (POLLRDHUP | POLLHUP | POLLERR));
}

void nd_fds_close(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}
