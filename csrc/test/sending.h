/* SPDX-License-Identifier: Apache-2.0 */
/* sendmmsg(2) as a port in this program finds it: it takes what a test says, and is looked at. */
#ifndef ND_TEST_SENDING_H
#define ND_TEST_SENDING_H

#include "base/types.h"

#include <errno.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

static uint32_t sending_room = UINT32_MAX; /* messages that the kernel has room for */
static uint32_t sending_gathered;          /* ... whose first datagram was in two pieces */

/* In place of the C library's. */
int sendmmsg(int socket, struct mmsghdr *messages, unsigned int count, int flags)
{
	int sent = -1;

	errno = EAGAIN;
	if (__atomic_load_n(&sending_room, __ATOMIC_RELAXED))
		sent = (int)syscall(SYS_sendmmsg, socket, messages,
				    nd_min_u32(count, sending_room), flags);
	for (int i = 0; i < sent; i++) {
		const struct iovec *pieces = messages[i].msg_hdr.msg_iov;

		/* Of a train no datagram is longer than the first. */
		if (messages[i].msg_hdr.msg_iovlen > 1 && pieces[0].iov_len < pieces[1].iov_len)
			__atomic_fetch_add(&sending_gathered, 1, __ATOMIC_RELAXED);
		if (sending_room != UINT32_MAX)
			sending_room--;
	}
	return sent;
}

#endif
