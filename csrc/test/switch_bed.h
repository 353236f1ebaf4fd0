/* SPDX-License-Identifier: Apache-2.0 */
/* A switch over memory ports with a host at each, stepped by hand. */
#ifndef ND_TEST_SWITCH_BED_H
#define ND_TEST_SWITCH_BED_H

#include "queue/droptail.h"
#include "queue/ndp.h"
#include "switch/switch.h"
#include "test/harness.h"

#include <errno.h>
#include <unistd.h>

#define PORTS 4u
#define PAYLOAD 1000u

static struct nd_error error;
static struct nd_switch *sw;
static struct nd_port *hosts[PORTS];
static struct nd_droptail_config droptail = { .limit = { .packets = 64 } };
static nd_ns now;
static uint32_t mtu; /* of links that are opened, 0: the usual */

static inline uint8_t *mac_of(unsigned host)
{
	static uint8_t macs[PORTS + 1][6];

	memcpy(macs[host], "\x02\x6e\x64\0\0", 5);
	macs[host][5] = (uint8_t)host;
	return macs[host];
}

static inline uint64_t key_of(unsigned host)
{
	return nd_fdb_key(mac_of(host), 0);
}

static inline struct nd_port *open_end(const char *name, bool listen)
{
	const struct nd_port_config config = {
		.backend = ND_PORT_MEMORY,
		.name = name,
		.mtu = mtu,
		.rx_frames = 128,
		.memory.listen = listen,
	};
	struct nd_port *port = nd_port_open(&config, &error);

	if (!port)
		fprintf(stderr, "  %s\n", error.text);
	CHECK(port);
	return port;
}

static inline void add_port(unsigned index, const struct nd_queue_ops *ops, const void *queue_config,
		     uint64_t rate_bps, const struct nd_faults_config *faults)
{
	struct nd_switch_port_settings settings = {
		.discipline = ops,
		.discipline_config = queue_config,
		.rate_bps = rate_bps,
		.catch_up = ND_MSEC,
		.trim = { .dscp = sw->config.frame.dscp_trimmed, .pcp = ND_FRAME_PCP_KEEP,
			  .location = ND_NDP_TRIM_FABRIC },
	};
	char name[64];

	struct nd_port *port;

	if (faults)
		settings.faults = *faults;
	snprintf(name, sizeof(name), "test-switch-%d-%u", getpid(), index);
	port = open_end(name, true);
	hosts[index] = open_end(name, false);
	CHECK_EQ(nd_port_check(port, 0, &error), ND_PORT_UP);
	CHECK_EQ(nd_port_check(hosts[index], 0, &error), ND_PORT_UP);
	CHECK_EQ(nd_switch_add_port(sw, port, &settings, &error), index);
}

static inline void open_switch(bool learning, uint32_t packets_max)
{
	const struct nd_switch_config config = {
		.name = "s0",
		.packets_max = packets_max,
		.frame_bytes_max = 2048,
		.fdb_max = 64,
		.fdb_aging = 300 * ND_SEC,
		.learning = learning,
		.frame = nd_frame_config_default(),
		.seed = 1,
	};

	sw = nd_switch_new(&config, &error);
	CHECK(sw);
	now = ND_SEC;
	memset(hosts, 0, sizeof(hosts));
}

/* A switch of four droptail ports, not paced. */
static inline void open_plain(bool learning)
{
	open_switch(learning, 256);
	for (unsigned i = 0; i < PORTS; i++)
		add_port(i, &nd_droptail_ops, &droptail, 0, NULL);
}

static inline void close_all(void)
{
	CHECK_STR(nd_switch_audit(sw) ? nd_switch_audit(sw) : "sound", "sound");
	nd_switch_free(sw);
	for (unsigned i = 0; i < PORTS; i++) {
		if (hosts[i])
			nd_port_close(hosts[i]);
	}
}

static inline void send_bytes(unsigned host, const void *data, uint32_t bytes)
{
	struct nd_frame blank;

	CHECK_EQ(nd_port_reserve(hosts[host], &blank, 1), 1);
	memcpy(blank.data, data, bytes);
	blank.bytes = bytes;
	nd_port_commit(hosts[host], &blank, 1);
	nd_port_flush(hosts[host]);
}

static inline void send_plain(unsigned from, const uint8_t target[6], uint8_t tag)
{
	uint8_t frame[60] = { 0 };

	memcpy(frame, target, 6);
	memcpy(frame + 6, mac_of(from), 6);
	frame[12] = 0x88;
	frame[13] = 0xb5;
	frame[14] = tag;
	send_bytes(from, frame, sizeof(frame));
}

static inline const struct nd_frame_peer *peer_of(unsigned from, unsigned to)
{
	static struct nd_frame_peer peer;

	peer = (struct nd_frame_peer){ .vlan = ND_ETH_VLAN_NONE };
	memcpy(peer.source_mac, mac_of(from), 6);
	memcpy(peer.target_mac, mac_of(to), 6);
	memcpy(peer.source, "\0\0\0\0\0\0\0\0\0\0\xff\xff\x0a\x01\0", 15);
	memcpy(peer.target, peer.source, 15);
	peer.source[15] = (uint8_t)from;
	peer.target[15] = (uint8_t)to;
	return &peer;
}

static inline void send_ndp(unsigned from, unsigned to, uint32_t sequence, uint16_t path)
{
	static uint8_t payload[PAYLOAD];
	uint8_t frame[2048];
	struct nd_packet packet = {
		.protocol = ND_PROTO_NDP,
		.type = ND_NDP_DATA,
		.marks = ND_MARK_TRIMMABLE,
		.payload_bytes = PAYLOAD,
		.payload = payload,
		.path = path,
		.ndp = { .connection = 7, .sequence = sequence, .message_bytes = PAYLOAD },
	};
	struct nd_frame_template template;
	uint32_t bytes;

	nd_frame_prepare(&sw->config.frame, peer_of(from, to), &template);
	bytes = nd_frame_encode(&template, &packet, frame, sizeof(frame));
	CHECK(bytes > PAYLOAD);
	send_bytes(from, frame, bytes);
}

static inline void rounds(unsigned count)
{
	while (count--) {
		nd_switch_round(sw, now);
		CHECK_STR(nd_switch_audit(sw) ? nd_switch_audit(sw) : "sound", "sound");
		now += 100 * ND_USEC;
	}
}

/* Frames that arrived at a host as a string of their tags. */
static inline const char *arrived(unsigned host)
{
	static char tags[64];
	struct nd_frame frames[32];
	uint32_t count = nd_port_receive(hosts[host], frames, 32);

	for (uint32_t i = 0; i < count; i++)
		tags[i] = (char)frames[i].data[14];
	tags[count] = '\0';
	if (count)
		nd_port_release(hosts[host]);
	return tags;
}

#endif
