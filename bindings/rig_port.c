// SPDX-License-Identifier: Apache-2.0
/* A port driven frame by frame. */
#include "rig.h"

#include <errno.h>
#include <string.h>

int nd_rig_port_send(struct nd_port *port, const uint8_t *frame, uint32_t bytes)
{
	struct nd_frame blank;

	if (bytes > port->frame_bytes_max)
		return -EMSGSIZE;
	if (nd_port_reserve(port, &blank, 1) == 0)
		return -EAGAIN;
	memcpy(blank.data, frame, bytes);
	blank.bytes = bytes;
	nd_port_commit(port, &blank, 1);
	nd_port_flush(port);
	return 0;
}

int nd_rig_port_receive(struct nd_port *port, uint8_t *out, uint32_t room)
{
	struct nd_frame frame;
	uint32_t bytes;

	if (nd_port_receive(port, &frame, 1) == 0)
		return -EAGAIN;
	bytes = nd_min_u32(frame.bytes, room);
	memcpy(out, frame.data, bytes);
	nd_port_release(port);
	return (int)bytes;
}

bool nd_rig_port_is_up(struct nd_port *port, struct nd_error *error)
{
	return nd_port_check(port, 0, error) == ND_PORT_UP;
}
