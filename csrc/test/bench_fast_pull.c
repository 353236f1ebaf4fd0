// SPDX-License-Identifier: Apache-2.0
/*
 * How evenly a host spaces its PULLs (E-N11): a sender that only listens to the clock.
 *
 *	bench_fast_pull MEGABITS PULLS [CPU_OF_CORE CPU_OF_SENDER [FILE]]
 *
 * The receiver is a whole host, core thread and all, on a link of that rate. The sender is an NDP
 * engine that this thread drives over the other end of a memory port, so that the time at which
 * a PULL was there to be taken is known to a fraction of a microsecond. Where this thread was
 * itself kept from looking for longer than AWAY, what it found then is not counted ("unseen").
 */
#include "test/bench_fast.h"
#include "transport/ndp.h"

#define MTU 1500u
#define BATCH 64u
#define AWAY (2 * ND_USEC)

static struct nd_ndp_config ndp_config;
static struct nd_frame_config frame_config;
static struct nd_frame_template to_receiver;
static struct nd_port *port;
static void *engine;
static nd_ns *pulls; /* 0: unseen */
static uint32_t pull_count, pull_limit;

static void open_receiver(uint64_t link_bps, const char *name, int cpu)
{
	struct nd_stack_config config = {
		.ports = { { .backend = ND_PORT_MEMORY, .name = name, .memory.listen = true,
			     .mtu = MTU } },
		.port_count = 1,
		.link_bps = link_bps,
		.no_homa = true,
		.seed = 1,
		.cpu = cpu,
		.channel.receive_bytes = 64u << 20,
	};

	bench_address(config.address_v4, 1);
	bench_listen(bench_open(&config), ND_PROTO_NDP);
}

static void open_sender(uint64_t link_bps, const char *name)
{
	struct nd_port_config config = { .backend = ND_PORT_MEMORY, .name = name, .mtu = MTU };
	struct nd_frame_peer peer = { .vlan = ND_ETH_VLAN_NONE };
	struct nd_setup setup = { .seed = 2, .self = 0, .config = &ndp_config };
	struct nd_error error;
	const char *why;
	size_t bytes;

	ndp_config = nd_ndp_config_default(link_bps, MTU);
	frame_config = nd_frame_config_default();
	bench_address(peer.source, 2);
	bench_address(peer.target, 1);
	nd_frame_prepare(&frame_config, &peer, &to_receiver);
	if (nd_ndp_config_check(&ndp_config, &why) < 0)
		bench_fail("%s", why);
	bytes = (nd_ndp_ops.bytes(&ndp_config) + 63) & ~(size_t)63;
	engine = aligned_alloc(64, bytes);
	bench_check(engine, "memory for the engine");
	memset(engine, 0, bytes);
	nd_ndp_ops.init(engine, &setup);
	port = nd_port_open(&config, &error);
	if (!port)
		bench_fail("%s", error.text);
}

/* One message that is as long as it takes. */
static void send_message(void)
{
	uint32_t bytes = (pull_limit + 2 * ndp_config.initial_window) * ndp_config.mss_bytes;
	struct nd_command connect = { .kind = ND_COMMAND_CONNECT, .peer = 1, .port = BENCH_PORT };
	struct nd_command send = { .kind = ND_COMMAND_SEND, .bytes = bytes };
	uint8_t *payload = calloc(1, bytes);

	bench_check(payload, "memory for the message");
	bench_check(nd_ndp_ops.submit(engine, &connect, bench_now()) == 0, "connect");
	send.id = connect.id;
	send.payload = payload;
	bench_check(nd_ndp_ops.submit(engine, &send, bench_now()) == 0, "send");
}

static void receive(void)
{
	static nd_ns looked_at;
	struct nd_frame frames[BATCH];
	nd_ns before = bench_now();
	uint32_t count = nd_port_receive(port, frames, BATCH);
	nd_ns now = bench_now();
	bool away = now - looked_at > AWAY;

	looked_at = before;

	for (uint32_t i = 0; i < count; i++) {
		struct nd_frame_peer addresses;
		struct nd_packet packet;

		if (nd_frame_decode(&frame_config, frames[i].data, frames[i].bytes, &addresses,
				    &packet) != ND_WIRE_OK)
			continue;
		if (packet.type == ND_NDP_PULL && pull_count < pull_limit)
			pulls[pull_count++] = away ? 0 : now;
		packet.source = 1;
		packet.target = 0;
		nd_ndp_ops.receive(engine, &packet, now);
	}
	if (count)
		nd_port_release(port);
}

static bool next_packet(struct nd_packet *packet)
{
	nd_ns now = bench_now();

	return nd_ndp_ops.transmit(engine, packet, ND_CLASS_CONTROL, now) ||
	       nd_ndp_ops.transmit(engine, packet, ND_CLASS_DATA, now);
}

static void transmit(void)
{
	struct nd_frame frames[BATCH];
	struct nd_packet packet;
	uint32_t room = nd_port_reserve(port, frames, BATCH), used = 0;

	while (used < room && next_packet(&packet)) {
		frames[used].bytes = nd_frame_encode(&to_receiver, &packet, frames[used].data,
						     frames[used].room);
		used++;
	}
	nd_port_commit(port, frames, used);
	if (used)
		nd_port_flush(port);
}

static void run(void)
{
	nd_ns check_at = 0;

	while (pull_count < pull_limit) {
		nd_ns now = bench_now();

		receive();
		if (nd_ndp_ops.deadline(engine) <= now)
			nd_ndp_ops.on_deadline(engine, now);
		transmit();
		if (now >= check_at) {
			struct nd_error error;

			nd_port_check(port, now, &error);
			check_at = now + 100 * ND_MSEC;
		}
	}
}

/* A PULL that comes early makes up for one that was late: 0. */
static void write_lateness(const char *path, const nd_ns *sorted, uint32_t count, nd_ns target)
{
	FILE *file = fopen(path, "w");

	if (!file)
		bench_fail("cannot write %s: %s", path, strerror(errno));
	for (uint32_t percent = 1; percent < 100; percent++) {
		nd_ns spacing = sorted[(uint64_t)count * percent / 100];

		fprintf(file, "%lluns\n",
			(unsigned long long)(spacing > target ? spacing - target : 0));
	}
	fclose(file);
}

int main(int argc, char **argv)
{
	uint64_t link_bps;
	char name[64];
	uint32_t seen = 0;
	double target;

	if (argc != 3 && argc != 5 && argc != 6)
		bench_fail("usage: bench_fast_pull MEGABITS PULLS "
			   "[CPU_OF_CORE CPU_OF_SENDER [FILE]]");
	link_bps = strtoull(argv[1], NULL, 10) * 1000000;
	pull_limit = (uint32_t)strtoul(argv[2], NULL, 10);
	snprintf(name, sizeof(name), "bench-pull-%d", getpid());
	pulls = calloc(pull_limit, sizeof(*pulls));
	open_receiver(link_bps, name, argc > 3 ? atoi(argv[3]) + 1 : 0);
	open_sender(link_bps, name);
	if (argc > 3)
		bench_bind(atoi(argv[4]) + 1);
	send_message();
	run();
	for (uint32_t i = 0; i + 1 < pull_limit; i++)
		if (pulls[i] && pulls[i + 1])
			pulls[seen++] = pulls[i + 1] - pulls[i];
	if (!seen)
		bench_fail("this machine is too busy: the listener was away at every PULL");
	target = (double)(ndp_config.data_header_bytes + ndp_config.mss_bytes) * 8e9 /
		 (double)link_bps;
	printf("{\"bench\": \"pull\", \"megabits\": %s, \"target_ns\": %.0f, \"unseen\": %u, ",
	       argv[1], target, pull_limit - 1 - seen);
	bench_print_quantiles("ns", pulls, seen);
	printf("}\n");
	if (argc == 6)
		write_lateness(argv[5], pulls, seen, (nd_ns)target);
	return 0;
}
