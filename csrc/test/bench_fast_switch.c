// SPDX-License-Identifier: Apache-2.0
/*
 * How many frames a second a switch forwards on one core, with the ndp discipline on.
 *
 *	bench_fast_switch memory BYTES [CPU FRAMES]
 *	bench_fast_switch xdp BYTES [CPU BATCHES]
 *
 * This thread plays the hosts and the worker in turns, and only the switch's rounds are timed, by
 * the CPU time that they take: that is the rate of a core which does nothing else, and it is the
 * same on a busy machine. xdp: from one veth pair to another, in turns with a bare forwarder over
 * the same ports, which copies each frame and looks at nothing.
 */
#include "test/bench_fast.h"
#include "test/netns.h"

#include "queue/ndp.h"
#include "switch/switch.h"
#include "wire/frame.h"

#define FRAMES 3000000u /* of a memory run, unless said otherwise */
#define RUNS 9u
#define BATCHES 1000u       /* of an xdp run */
#define BATCH 32u
#define FRAME_BYTES_MAX 2048u

static const uint8_t source_mac[6] = { 2, 0, 0, 0, 0, 1 };
static const uint8_t target_mac[6] = { 2, 0, 0, 0, 0, 9 };
static uint8_t frame[FRAME_BYTES_MAX];
static uint32_t frame_bytes;
static struct nd_ndp_queue_config discipline;
static struct nd_switch *sw;

/* CPU time of this thread. */
static nd_ns cpu_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (nd_ns)now.tv_sec * ND_SEC + (nd_ns)now.tv_nsec;
}

/* NDP data where it fits, else a frame of no protocol of ours. */
static void make_frame(uint32_t bytes)
{
	const struct nd_frame_config config = nd_frame_config_default();
	struct nd_frame_peer peer = { .vlan = ND_ETH_VLAN_NONE };
	struct nd_packet packet = { .protocol = ND_PROTO_NDP, .type = ND_NDP_DATA,
				    .marks = ND_MARK_TRIMMABLE };
	const uint32_t headers = ND_ETH_BYTES + 20 + 8 + ND_NDP_HEADER_BYTES;
	struct nd_frame_template template;

	frame_bytes = bytes;
	memcpy(frame, target_mac, 6);
	memcpy(frame + 6, source_mac, 6);
	frame[12] = 0x88;
	frame[13] = 0xb5;
	if (bytes <= headers)
		return;
	memcpy(peer.source_mac, source_mac, 6);
	memcpy(peer.target_mac, target_mac, 6);
	bench_address(peer.source, 1);
	bench_address(peer.target, 2);
	packet.payload_bytes = (uint16_t)(bytes - headers);
	packet.ndp.message_bytes = packet.payload_bytes;
	nd_frame_prepare(&config, &peer, &template);
	frame_bytes = nd_frame_encode(&template, &packet, frame, sizeof(frame));
}

static struct nd_port *open_port(const struct nd_port_config *config)
{
	struct nd_error error;
	struct nd_port *port = nd_port_open(config, &error);

	if (!port)
		bench_fail("%s", error.text);
	return port;
}

static void open_switch(struct nd_port *in, struct nd_port *out)
{
	struct nd_switch_config config = {
		.name = "bench", .packets_max = 4096, .frame_bytes_max = FRAME_BYTES_MAX,
		.fdb_max = 1024, .fdb_aging = 300 * ND_SEC, .learning = true,
		.frame = nd_frame_config_default(), .seed = 1,
	};
	struct nd_switch_port_settings settings = { .discipline = &nd_ndp_queue_ops,
						    .discipline_config = &discipline };
	struct nd_error error;

	config.frame.verify = ND_FRAME_VERIFY_NONE;
	discipline = nd_ndp_queue_paper(8, 1538);
	sw = nd_switch_new(&config, &error);
	if (!sw || nd_switch_add_port(sw, in, &settings, &error) != 0 ||
	    nd_switch_add_port(sw, out, &settings, &error) != 1)
		bench_fail("%s", error.text);
	nd_switch_set_address(sw, nd_fdb_key(target_mac, 0), 1);
}

static void send_batch(struct nd_port *port)
{
	struct nd_frame blanks[BATCH];
	uint32_t room = nd_port_reserve(port, blanks, BATCH);

	for (uint32_t i = 0; i < room; i++) {
		memcpy(blanks[i].data, frame, frame_bytes);
		blanks[i].bytes = frame_bytes;
	}
	nd_port_commit(port, blanks, room);
	nd_port_flush(port);
}

static uint32_t take_batch(struct nd_port *port)
{
	struct nd_frame frames[BATCH];
	uint32_t count = nd_port_receive(port, frames, BATCH);

	if (count)
		nd_port_release(port);
	return count;
}

/* ---- memory ---- */

static struct nd_port *memory_end(const char *name, bool listen)
{
	const struct nd_port_config config = { .backend = ND_PORT_MEMORY, .name = name,
					       .memory.listen = listen };

	return open_port(&config);
}

static void run_memory(uint64_t frames)
{
	struct nd_port *ends[4];
	struct nd_error error;
	uint64_t moved = 0;
	nd_ns spent = 0;
	char name[64];

	for (uint32_t i = 0; i < 2; i++) {
		snprintf(name, sizeof(name), "bench-switch-%d-%u", getpid(), i);
		ends[i] = memory_end(name, true);
		ends[i + 2] = memory_end(name, false);
		nd_port_check(ends[i], 0, &error);
		nd_port_check(ends[i + 2], 0, &error);
	}
	open_switch(ends[0], ends[1]);
	while (moved < frames) {
		nd_ns begin;

		send_batch(ends[2]);
		begin = cpu_now();
		nd_switch_round(sw, bench_now());
		spent += cpu_now() - begin;
		moved += take_batch(ends[3]);
	}
	printf("{\"bench\": \"switch\", \"port\": \"memory\", \"bytes\": %u, \"frames\": %llu, "
	       "\"ns_per_frame\": %.1f, \"mpps\": %.2f}\n",
	       frame_bytes, (unsigned long long)moved, (double)spent / (double)moved,
	       (double)moved * 1000 / (double)spent);
}

/* ---- xdp ---- */

static struct nd_port *xdp_end(const char *name)
{
	const struct nd_port_config config = { .backend = ND_PORT_XDP, .name = name,
					       .filter.everything = true };

	return open_port(&config);
}

/* Copies what comes by one port to the other, and looks at nothing. */
static void forward_bare(struct nd_port *in, struct nd_port *out)
{
	struct nd_frame frames[BATCH], blanks[BATCH];
	uint32_t count = nd_port_receive(in, frames, BATCH);
	uint32_t room;

	if (count == 0)
		return;
	room = nd_port_reserve(out, blanks, count);
	for (uint32_t i = 0; i < room; i++) {
		memcpy(blanks[i].data, frames[i].data, frames[i].bytes);
		blanks[i].bytes = frames[i].bytes;
	}
	nd_port_commit(out, blanks, room);
	nd_port_release(in);
	nd_port_flush(out);
}

/* CPU nanoseconds that a frame takes, over one run. */
static double run_once(struct nd_port *sender, struct nd_port *in, struct nd_port *out,
		       uint32_t batches, bool bare)
{
	uint64_t before = out->counters.tx_frames;
	nd_ns spent = 0;

	for (uint32_t i = 0; i < batches; i++) {
		nd_ns begin;

		send_batch(sender);
		begin = cpu_now();
		if (bare)
			forward_bare(in, out);
		else
			nd_switch_round(sw, bench_now());
		spent += cpu_now() - begin;
	}
	return (double)spent / (double)(out->counters.tx_frames - before);
}

static int compare(const void *left, const void *right)
{
	const double *a = left, *b = right;

	return (*a > *b) - (*a < *b);
}

static void run_xdp(uint32_t batches)
{
	double bare[RUNS], switched[RUNS], ratio[RUNS];
	struct nd_port *in, *out, *sender;

	netns_enter();
	veth_add("a0", "a1", 1500);
	veth_add("b0", "b1", 1500);
	in = xdp_end("a0");
	out = xdp_end("b0");
	sender = xdp_end("a1");
	open_switch(in, out);
	run_once(sender, in, out, batches, true);
	for (uint32_t i = 0; i < RUNS; i++) {
		bare[i] = run_once(sender, in, out, batches, true);
		switched[i] = run_once(sender, in, out, batches, false);
		ratio[i] = bare[i] / switched[i];
	}
	qsort(bare, RUNS, sizeof(*bare), compare);
	qsort(switched, RUNS, sizeof(*switched), compare);
	qsort(ratio, RUNS, sizeof(*ratio), compare);
	printf("{\"bench\": \"switch\", \"port\": \"%s\", \"bytes\": %u, "
	       "\"bare_ns_per_frame\": %.0f, \"ns_per_frame\": %.0f, \"mpps\": %.3f, "
	       "\"ratio\": %.3f, \"ratio_min\": %.3f, \"ratio_max\": %.3f}\n",
	       in->mode, frame_bytes, bare[RUNS / 2], switched[RUNS / 2], 1000 / switched[RUNS / 2],
	       ratio[RUNS / 2], ratio[0], ratio[RUNS - 1]);
}

int main(int argc, char **argv)
{
	uint64_t count = argc > 4 ? strtoull(argv[4], NULL, 10) : 0;

	if (argc < 3)
		bench_fail("bench_fast_switch memory|xdp BYTES [CPU COUNT]");
	make_frame((uint32_t)atoi(argv[2]));
	bench_bind(argc > 3 ? atoi(argv[3]) : 0);
	if (strcmp(argv[1], "memory") == 0)
		run_memory(count ? count : FRAMES);
	else
		run_xdp(count ? (uint32_t)count : BATCHES);
	return 0;
}
