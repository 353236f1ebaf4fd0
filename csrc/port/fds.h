/* SPDX-License-Identifier: Apache-2.0 */
/* Local rendezvous by name: UNIX sockets that carry descriptors and know their peer. */
#ifndef ND_PORT_FDS_H
#define ND_PORT_FDS_H

#include "base/error.h"

#define ND_FDS_MAX 8
#define ND_FDS_NOBODY UINT32_MAX /* which no user is */

/*
 * Listens on a name: "/..." is a path, anything else an abstract name below "ndpstack/" that
 * vanishes with the process. A path left by a killed process is taken over. Descriptor or -errno.
 */
int nd_fds_listen(const char *name, struct nd_error *error);

/* Connects to a listening name. Descriptor or -errno. */
int nd_fds_connect(const char *name, struct nd_error *error);

/*
 * Next pending connection (non-blocking); -EAGAIN, -EPERM, -errno. Unless any_user, it has to come
 * from root or our own user: an abstract name has no permissions, a path has those of its file.
 */
int nd_fds_accept(int listener, bool any_user);

/* User at the other end of a connection, when it connected; ND_FDS_NOBODY: not known. */
uint32_t nd_fds_user(int socket);
/* True for root and our own user. */
bool nd_fds_is_own_user(uint32_t user);

/* Sends one message of bytes together with count descriptors. 0 or -errno. */
int nd_fds_send(int socket, const void *message, uint32_t bytes, const int *fds, uint32_t count);

/* Says in place of such a message why there is none, as -errno. */
void nd_fds_refuse(int socket, int code);

/*
 * Takes exactly such a message in. 0; -EAGAIN when there is none yet; -EPIPE when the other end
 * is gone; -EPROTO when it is not of this shape (descriptors that came along are closed); or what
 * the other end refused it with.
 */
int nd_fds_receive(int socket, void *message, uint32_t bytes, int *fds, uint32_t count);

/*
 * True when shared memory has at least these seals (F_SEAL_*). It may have others: a kernel that
 * is told to let no memory run as code (vm.memfd_noexec) seals that, too.
 */
bool nd_fds_is_sealed(int memory, int seals);

/* True when the other end has closed or died. */
bool nd_fds_hung_up(int socket);

/* Closes a descriptor that may be -1 and forgets it. */
void nd_fds_close(int *fd);

#endif
