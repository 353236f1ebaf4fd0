// SPDX-License-Identifier: Apache-2.0
/* Encodes, decodes and compares packets on their way; writes those of one port to a file. */
#include "sim/capture.h"

#include "wire/frame.h"
#include "wire/pcapng.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* Bytes of a frame that a capture keeps: all headers. */
#define SNAP_BYTES 192

#define FRAME_ROOM ((uint32_t)ND_FRAME_HEADERS_MAX + UINT16_MAX)

struct nd_capture {
	struct nd_frame_config config;
	FILE *file; /* or NULL */
	uint8_t frame[FRAME_ROOM];
	uint8_t block[2 * SNAP_BYTES];
};

static void set_address(uint8_t address[16], uint8_t mac[6], uint32_t host)
{
	memset(address, 0, 10);
	address[10] = address[11] = 0xff;
	address[12] = 10;
	mac[0] = 2;
	mac[1] = mac[2] = 0;
	for (uint32_t i = 0; i < 3; i++)
		address[13 + i] = mac[3 + i] = (uint8_t)(host >> (16 - 8 * i));
}

static struct nd_frame_peer peer_of(const struct nd_packet *packet)
{
	struct nd_frame_peer peer = { .vlan = ND_ETH_VLAN_NONE };

	set_address(peer.source, peer.source_mac, packet->source);
	set_address(peer.target, peer.target_mac, packet->target);
	return peer;
}

static int write_block(struct nd_capture *capture, size_t bytes)
{
	return fwrite(capture->block, 1, bytes, capture->file) == bytes && bytes ? 0 : -EIO;
}

static int open_file(struct nd_sim *sim, struct nd_capture *capture, struct nd_error *error)
{
	const struct nd_sim_probes *probes = &sim->config.probes;
	char name[32];

	if (probes->pcap_port >= sim->topology.ports || !probes->pcap_path)
		return nd_error_set(error, -EINVAL, "pcap_port %u is not one of %u, or has no pcap_path",
				    probes->pcap_port, sim->topology.ports);
	capture->file = fopen(probes->pcap_path, "wb");
	if (!capture->file)
		return nd_error_set(error, -errno, "%s: %s", probes->pcap_path, strerror(errno));
	snprintf(name, sizeof(name), "port %u", probes->pcap_port);
	if (write_block(capture, nd_pcapng_section(capture->block, sizeof(capture->block),
						   "ndpstack simulator")) ||
	    write_block(capture, nd_pcapng_interface(capture->block, sizeof(capture->block), name,
						     SNAP_BYTES)))
		return nd_error_set(error, -EIO, "%s: cannot be written", probes->pcap_path);
	return 0;
}

int nd_capture_init(struct nd_sim *sim, struct nd_error *error)
{
	bool file = sim->config.probes.pcap_port != ND_NONE;

	if (!file && !sim->config.wire_check)
		return 0;
	sim->capture = nd_keep_get(&sim->keep, sizeof(*sim->capture));
	if (!sim->capture)
		return nd_error_set(error, -ENOMEM, "no room for frames");
	sim->capture->config = nd_frame_config_default();
	sim->capture->config.verify = ND_FRAME_VERIFY_ALL;
	return file ? open_file(sim, sim->capture, error) : 0;
}

void nd_capture_free(struct nd_sim *sim)
{
	if (sim->capture && sim->capture->file)
		fclose(sim->capture->file);
}

static const char *homa_difference(const struct nd_packet *in, const struct nd_packet *out)
{
	const struct nd_homa_header *a = &in->homa, *b = &out->homa;

	if (a->sender_id != b->sender_id)
		return "RPC id";
	if (a->source_port != b->source_port || a->target_port != b->target_port)
		return "ports";
	if (a->speaker != b->speaker || a->note != b->note)
		return "speaker or note";
	switch (in->type) {
	case ND_HOMA_DATA:
		if (a->message_bytes != b->message_bytes || a->retransmit != b->retransmit ||
		    a->cutoff_version != b->cutoff_version || a->ack_count != b->ack_count)
			return "DATA header";
		/* Fall through: what they have in common. */
		__attribute__((fallthrough));
	case ND_HOMA_RESEND:
		if (a->length != b->length)
			return "length";
		__attribute__((fallthrough));
	case ND_HOMA_GRANT:
		if (a->offset != b->offset)
			return "offset";
		return in->type != ND_HOMA_DATA && a->level != b->level ? "level" : NULL;
	case ND_HOMA_CUTOFFS:
		return memcmp(a->cutoffs, b->cutoffs, sizeof(a->cutoffs)) ? "cutoffs" : NULL;
	case ND_HOMA_ACK:
		return a->ack_count != b->ack_count ? "acknowledgements" : NULL;
	default:
		return NULL;
	}
}

/* What the wire did not carry, or NULL. */
static const char *difference(const struct nd_capture *capture, const struct nd_packet *in,
			      const struct nd_packet *out)
{
	if (in->protocol != out->protocol || in->type != out->type)
		return "protocol or type";
	if (in->priority != out->priority)
		return "priority";
	if (in->marks != out->marks)
		return "marks";
	if (in->flags != out->flags)
		return "flags";
	if (in->payload_bytes != out->payload_bytes)
		return "payload length";
	if (in->protocol == ND_PROTO_HOMA)
		return homa_difference(in, out);
	if (in->path % capture->config.source_port_count != out->path)
		return "path";
	return memcmp(&in->ndp, &out->ndp, sizeof(in->ndp)) ? "NDP header" : NULL;
}

static void check(struct nd_sim *sim, const struct nd_packet *in, uint32_t bytes)
{
	struct nd_capture *capture = sim->capture;
	struct nd_frame_peer peer = peer_of(in), seen = { 0 };
	struct nd_packet out;
	enum nd_wire_error wrong = ND_WIRE_OK;
	const char *what = "frame: it does not fit";

	if (bytes) {
		wrong = nd_frame_decode(&capture->config, capture->frame, bytes, &seen, &out);
		if (wrong != ND_WIRE_OK)
			what = nd_wire_counters_table.texts[wrong - 1].name;
		else if (memcmp(peer.source, seen.source, 16) || memcmp(peer.target, seen.target, 16))
			what = "addresses";
		else
			what = difference(capture, in, &out);
	}
	if (!what)
		return;
	snprintf(sim->error, sizeof(sim->error), "the wire changes a packet of protocol %u, type %u: %s",
		 in->protocol, in->type, what);
	nd_sim_stop(sim, ND_SIM_BROKEN);
}

static void cannot_write(struct nd_sim *sim)
{
	snprintf(sim->error, sizeof(sim->error), "%s: cannot be written",
		 sim->config.probes.pcap_path);
	nd_sim_stop(sim, ND_SIM_BROKEN);
}

static void write_packet(struct nd_sim *sim, const struct nd_packet *packet, uint32_t bytes,
			 nd_ps start)
{
	struct nd_capture *capture = sim->capture;
	struct nd_pcapng_packet record = {
		.time = start / ND_PS_PER_NS,
		.frame = capture->frame,
		.captured_bytes = nd_min_u32(bytes, SNAP_BYTES),
		.original_bytes = bytes,
		.direction = ND_PCAPNG_OUTBOUND,
	};

	if (packet->marks & ND_MARK_TRIMMED)
		record.original_bytes += packet->payload_bytes;
	if (write_block(capture, nd_pcapng_packet(capture->block, sizeof(capture->block), &record)))
		cannot_write(sim);
}

void nd_capture_flush(struct nd_sim *sim)
{
	if (sim->capture && sim->capture->file && fflush(sim->capture->file))
		cannot_write(sim);
}

void nd_capture_launch(struct nd_sim *sim, uint32_t number, uint32_t index, nd_ps start)
{
	bool wanted = sim->capture->file && number == sim->config.probes.pcap_port;
	struct nd_packet packet = *nd_sim_packet(sim, index);
	struct nd_frame_peer peer = peer_of(&packet);
	struct nd_frame_template template;
	uint32_t bytes;

	if (packet.protocol == ND_PROTO_OTHER || (!wanted && !sim->config.wire_check))
		return;
	/* The pointer is a flow's number: see state.h. Payload that is NULL is written as zeros. */
	packet.payload = NULL;
	nd_frame_prepare(&sim->capture->config, &peer, &template);
	bytes = nd_frame_encode(&template, &packet, sim->capture->frame,
				sizeof(sim->capture->frame));
	if (wanted && bytes)
		write_packet(sim, &packet, bytes, start);
	if (sim->config.wire_check)
		check(sim, &packet, bytes);
}
