// SPDX-License-Identifier: Apache-2.0
/* Packets between ports and engines: decode and hand in, pull out and encode. */
#include "host/core.h"

#include <string.h>

#define BLANKS_FIRST 3u /* most rounds send a packet or two; asking for more blanks is for bulk */

/*
 * A port that gathers takes payloads of so many bytes from the message itself. Of less, copying costs
 * no more than one more piece does, and has the payload in the cache when the kernel copies it: on a
 * loopback with trains 512 bytes cost 10 ns more without our copy, 2048 up to 30 ns less, 8900 200 ns
 * less, each while the message is in the cache.
 */
#define TAIL_BYTES_MIN 2048u

#define COALESCE_PACKETS 16u /* expected behind those that are left, so that no sender waits */
#define COALESCE_BYTES_MIN 1024u /* of a frame: shorter ones are hardly a long message's */
#define COALESCE_FOR (5 * ND_USEC)

/* ---- receive ---- */

/* The way that a packet came is the way back, unless the control plane has named one. */
static void learn_way(struct nd_core *core, struct nd_peer *peer, uint32_t port_index,
		      const uint8_t mac[6])
{
	if (peer->way == ND_PEER_LEARNED && peer->port == port_index &&
	    memcmp(peer->frame.target_mac, mac, sizeof(peer->frame.target_mac)) == 0)
		return;
	nd_peers_set_way(peer, (uint8_t)port_index, core->ports[port_index].mac, mac,
			 ND_PEER_LEARNED);
	peer->lost = 0;
	nd_core_settle_way(core, peer);
}

/* Names the sender by its handle, and remembers the way that its packet came. */
static uint32_t sender_of(struct nd_core *core, uint32_t port_index,
			  const struct nd_frame_peer *addresses, nd_ns now)
{
	struct nd_core_port *port = &core->ports[port_index];
	uint32_t handle = nd_peers_get(&core->peers, addresses->source, (uint8_t)port_index,
				       port->mac, port->derive, now);
	struct nd_peer *peer;

	if (ND_UNLIKELY(handle == ND_NONE)) {
		core->counters.rx_peers_refused++;
		return ND_NONE;
	}
	peer = nd_peers_find(&core->peers, handle);
	if (peer->way <= ND_PEER_LEARNED && !port->derive)
		learn_way(core, peer, port_index, addresses->source_mac);
	return handle;
}

void nd_core_receive_frame(struct nd_core *core, uint32_t port_index, const struct nd_frame *frame,
			   nd_ns now)
{
	struct nd_frame_peer addresses;
	struct nd_packet packet;
	struct nd_core_engine *engine;
	enum nd_wire_error error;

	error = nd_frame_decode(&core->frame, frame->data, frame->bytes, &addresses, &packet);
	if (ND_UNLIKELY(error != ND_WIRE_OK)) {
		nd_wire_count(&core->wire, error);
		return;
	}
	engine = nd_core_engine_of(core, packet.protocol);
	if (ND_UNLIKELY(!engine || !nd_peers_is_own(&core->peers, addresses.target))) {
		core->counters.rx_not_ours++;
		return;
	}
	packet.source = sender_of(core, port_index, &addresses, now);
	packet.target = ND_PEERS_SELF;
	if (ND_UNLIKELY(packet.source == ND_NONE))
		return;
	engine->ops->receive(engine->endpoint, &packet, now);
	nd_core_stir(core, engine);
}

/* Bytes on their way to us that nobody has to ask for. */
static uint64_t expected(const struct nd_core *core)
{
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < core->engine_count; i++)
		if (core->engines[i].ops->expected)
			bytes += core->engines[i].ops->expected(core->engines[i].endpoint);
	return bytes;
}

/*
 * True shortly after frames of a long message of which much more is on its way: the next are left to
 * become a few. What is sent for a batch, a GRANT, takes longer than to receive a frame, and a ring that
 * is looked at all the time is slow to write for who fills it. An event loop comes late enough by itself.
 */
static bool coalesces(const struct nd_core *core, const struct nd_core_port *self, nd_ns now)
{
	return now - self->bulk_at < COALESCE_FOR && !nd_turn_is_watched(&core->turn) &&
	       expected(core) > (uint64_t)COALESCE_PACKETS * self->port->mtu;
}

bool nd_core_receive(struct nd_core *core, nd_ns now)
{
	struct nd_frame frames[ND_CORE_BATCH];
	bool busy = false;

	core->unread = false;
	for (uint32_t i = 0; i < core->config.port_count; i++) {
		struct nd_core_port *self = &core->ports[i];
		uint32_t count;

		if (!self->port || coalesces(core, self, now))
			continue;
		count = nd_port_receive(self->port, frames, ND_CORE_BATCH);
		for (uint32_t k = 0; k < count; k++) {
			/* Another CPU may just have written the next one. */
			__builtin_prefetch(frames[nd_min_u32(k + 1, count - 1)].data);
			nd_recorder_frame(core->recorder, i, &frames[k], now);
			nd_core_receive_frame(core, i, &frames[k], now);
		}
		if (!count)
			continue;
		if (frames[0].bytes >= COALESCE_BYTES_MIN)
			self->bulk_at = now;
		nd_port_release(self->port);
		if (ND_UNLIKELY(self->watched))
			nd_core_forget_port(core, self);
		busy = true;
		core->unread |= count == ND_CORE_BATCH;
	}
	return busy;
}

/* ---- transmit ---- */

/* Hands over what was written into the blanks of the port, and gives the others back. */
static void commit(struct nd_core_port *port)
{
	if (port->blank_count)
		nd_port_commit(port->port, port->blanks, port->blank_used);
	port->pending += port->blank_used; /* until the link is told */
	port->blank_count = port->blank_used = 0;
}

void nd_core_return_blanks(struct nd_core_port *port)
{
	nd_assert(!port->blank_used);
	commit(port);
}

/* Hands over the blanks of the port that were used, and asks it for others. */
static void renew_blanks(struct nd_core *core, uint32_t index, uint32_t batch, nd_ns now)
{
	struct nd_core_port *port = &core->ports[index];

	commit(port);
	port->blank_count = nd_port_reserve(port->port, port->blanks, batch);
	nd_recorder_room(core->recorder, index, port->blank_count, now);
}

/* How many packets every open port has a blank for, whoever they are for; at most limit. */
static uint32_t take_blanks(struct nd_core *core, uint32_t batch, uint32_t limit, nd_ns now)
{
	for (uint32_t i = 0; i < core->config.port_count; i++) {
		struct nd_core_port *port = &core->ports[i];

		if (!port->port)
			continue;
		if (port->blank_used == port->blank_count)
			renew_blanks(core, i, batch, now);
		limit = nd_min_u32(limit, port->blank_count - port->blank_used);
	}
	return limit;
}

/* Made when the first packet goes to a peer, and again when the way to it changes. */
static const struct nd_frame_template *template_of(const struct nd_core *core,
						   struct nd_peer *peer)
{
	if (ND_UNLIKELY(!peer->prepared)) {
		nd_frame_prepare(&core->frame, &peer->frame, &peer->template);
		peer->prepared = true;
	}
	return &peer->template;
}

static void drop(struct nd_core *core, uint64_t *counter)
{
	(*counter)++;
	nd_recorder_unsent(core->recorder);
}

/*
 * A frame of headers, its payload left where it lies; false when that is not possible. The payload is
 * the application's, in its send region or, in this process, anywhere. Until tell_link() flushes the
 * port, in this same call of nd_core_transmit(), nothing runs that could detach it and so unmap the
 * region, and no event leaves by which it would learn that the payload is its again. One that writes there all the same spoils
 * its own message: NDP's check of the payload then does not hold.
 */
static bool encode_headers(const struct nd_frame_template *template, const struct nd_packet *packet,
			  struct nd_frame *blank)
{
	uint32_t headers = nd_frame_encode_headers(template, packet, blank->data, blank->room);

	if (headers == 0)
		return false;
	blank->tail = packet->payload;
	blank->tail_bytes = packet->payload_bytes;
	blank->bytes = headers + packet->payload_bytes;
	return true;
}

static void send_packet(struct nd_core *core, const struct nd_packet *packet, nd_ns now)
{
	struct nd_peer *peer = nd_peers_find(&core->peers, packet->target);
	const struct nd_frame_template *template;
	struct nd_core_port *port;
	struct nd_frame *blank;

	if (ND_UNLIKELY(!peer || peer->way == ND_PEER_NO_WAY)) {
		drop(core, &core->counters.tx_no_way);
		if (peer)
			nd_core_ask_way(core, peer, now);
		return;
	}
	peer->used_at = now;
	port = &core->ports[peer->port];
	if (ND_UNLIKELY(!port->port)) {
		drop(core, &core->counters.tx_no_way);
		return;
	}
	blank = &port->blanks[port->blank_used];
	template = template_of(core, peer);
	/* A recorder wants whole frames. */
	if (!port->port->gathers || packet->payload_bytes < TAIL_BYTES_MIN || core->recorder ||
	    !encode_headers(template, packet, blank))
		blank->bytes = nd_frame_encode(template, packet, blank->data, blank->room);
	if (ND_UNLIKELY(!blank->bytes)) {
		drop(core, &core->counters.tx_unencodable);
		return;
	}
	nd_recorder_sent(core->recorder, peer->port, blank, now);
	port->blank_used++;
	core->counters.tx_packets++;
}

/* All that were asked have no more packets; had there been no room for one, nobody was asked. */
static void note_nothing(struct nd_core *core, nd_ns now)
{
	if (nd_nic_room_at(&core->nic) <= now)
		core->news.packets &= (uint8_t)~core->nic.asked;
}

/* What the engines have to send now, at most a batch; returns how many packets. */
static uint32_t send_packets(struct nd_core *core, nd_ns now)
{
	uint32_t most = core->config.profile == ND_STACK_THROUGHPUT ? ND_CORE_BATCH
								    : ND_CORE_BATCH / 4;
	uint32_t batch = BLANKS_FIRST, count = 0, room;
	struct nd_packet packet;

	for (; (room = take_blanks(core, batch, ND_CORE_BATCH - count, now)) > 0; batch = most) {
		for (; room; room--, count++) {
			if (!nd_nic_next(&core->nic, &packet, now)) {
				note_nothing(core, now);
				return count;
			}
			send_packet(core, &packet, now);
		}
	}
	return count;
}

/*
 * The link takes what was written, or did not take before. Room is asked for behind packets only: a
 * replay does not know what the link has not taken, and is to ask when this core did.
 */
static void tell_link(struct nd_core *core, uint32_t index, nd_ns now)
{
	struct nd_core_port *port = &core->ports[index];
	bool sent = port->blank_used > 0;

	if (sent)
		commit(port);
	if (port->pending)
		port->pending = nd_port_flush(port->port);
	/* While the peer has these to read: what leaves next shall not wait for it. */
	if (sent)
		renew_blanks(core, index, BLANKS_FIRST, now);
}

bool nd_core_transmit(struct nd_core *core, nd_ns now)
{
	uint8_t asked = core->due <= now ? nd_core_every_engine(core) : core->news.packets;
	uint32_t count = 0;

	if (asked) {
		core->nic.asked = asked;
		core->news.packets |= asked; /* until they have no more */
		core->news.events |= asked;  /* being asked may change them */
		core->news.deadlines |= asked;
		nd_nic_begin(&core->nic);
		count = send_packets(core, now);
	}
	for (uint32_t i = 0; i < core->config.port_count; i++)
		if (core->ports[i].port)
			tell_link(core, i, now);
	return count > 0;
}
