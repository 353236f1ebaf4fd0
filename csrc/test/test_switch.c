// SPDX-License-Identifier: Apache-2.0
/* A switch over memory ports: learning, flooding, groups, trimming, returning, faults, removal. */
#include "queue/ecn.h"
#include "switch/worker.h"
#include "test/switch_bed.h"

static struct nd_ndp_queue_config trimming;

TEST(nd_switch_new__names_the_field_that_is_wrong)
{
	struct nd_switch_config config = {
		.name = "s0", .packets_max = 1, .frame_bytes_max = 2048, .fdb_max = 64,
		.frame = nd_frame_config_default(),
	};

	CHECK(!nd_switch_new(&config, &error));
	CHECK_STR(error.text, "switch s0: packets_max is 1, not 64 to 16777216");
	config.packets_max = 256;
	config.name = "a-name-that-is-too-long";
	CHECK(!nd_switch_new(&config, &error));
	CHECK_EQ(error.code, -EINVAL);
}

TEST(nd_switch_add_port__refuses_frames_beyond_its_buffers)
{
	const struct nd_switch_port_settings settings = { .discipline = &nd_droptail_ops,
							  .discipline_config = &droptail };
	struct nd_port *port;

	open_switch(true, 256);
	sw->config.frame_bytes_max = 1000;
	port = open_end("test-switch-mtu", true);
	CHECK_EQ(nd_switch_add_port(sw, port, &settings, &error), -EMSGSIZE);
	CHECK(strstr(error.text, "lower its MTU"));
	nd_port_close(port);
	sw->config.frame_bytes_max = 2048;
	close_all();
}

/* A frame never runs over the end of a blank, into what the link sends next. */
TEST(nd_switch_round__a_longer_frame_than_its_way_out_takes)
{
	static const uint8_t nothing[576];
	uint8_t frame[1514] = { 0 };
	struct nd_frame next;

	open_switch(true, 256);
	add_port(0, &nd_droptail_ops, &droptail, 0, NULL);
	mtu = 576;
	add_port(1, &nd_droptail_ops, &droptail, 0, NULL);
	mtu = 0;
	memset(frame + 6, 'x', sizeof(frame) - 6);
	send_bytes(0, frame, sizeof(frame));
	rounds(1);
	CHECK_EQ(sw->ports[1].port->counters.tx_dropped_oversize, 1);
	CHECK_EQ(nd_port_reserve(sw->ports[1].port, &next, 1), 1);
	CHECK_EQ(memcmp(next.data, nothing, sizeof(nothing)), 0);
	nd_port_commit(sw->ports[1].port, &next, 0);
	close_all();
}

TEST(nd_switch_round__floods_the_unknown_and_learns)
{
	open_plain(true);
	send_plain(0, mac_of(1), 'a');
	rounds(1);
	CHECK_STR(arrived(1), "a");
	CHECK_STR(arrived(2), "a");
	CHECK_STR(arrived(3), "a");
	CHECK_STR(arrived(0), "");
	send_plain(1, mac_of(0), 'b');
	rounds(1);
	CHECK_STR(arrived(0), "b");
	CHECK_STR(arrived(2), "");
	CHECK_EQ(nd_switch_counters(sw).flooded, 1);
	CHECK_EQ(nd_switch_counters(sw).replicated, 2);
	close_all();
}

/* Two switches joined twice: a broadcast must not circle between them for ever. */
TEST(nd_switch_round__off_the_tree_nothing_is_flooded)
{
	static const uint8_t broadcast[6] = { 0xff, 0xff, 0xff, 0xff, 0xff, 0xff };

	open_plain(false);
	sw->ports[3].off_tree = true;
	CHECK_EQ(nd_switch_set_address(sw, key_of(3), 3), 0);
	send_plain(0, broadcast, 'a');
	send_plain(3, broadcast, 'b');
	send_plain(0, mac_of(3), 'c');
	rounds(1);
	CHECK_STR(arrived(1), "a");
	CHECK_STR(arrived(2), "a");
	CHECK_STR(arrived(3), "c");
	CHECK_EQ(nd_switch_counters(sw).dropped_off_tree, 1);
	close_all();
}

TEST(nd_switch_round__without_learning_the_unknown_is_dropped)
{
	open_plain(false);
	send_plain(0, mac_of(1), 'a');
	send_plain(0, (const uint8_t *)"\xff\xff\xff\xff\xff\xff", 'b');
	rounds(1);
	CHECK_STR(arrived(1), "b");
	CHECK_EQ(nd_switch_counters(sw).dropped_unknown, 1);
	CHECK_EQ(nd_switch_set_address(sw, key_of(1), 1), 0);
	send_plain(0, mac_of(1), 'c');
	send_plain(1, mac_of(1), 'd');
	rounds(1);
	CHECK_STR(arrived(1), "c");
	CHECK_EQ(nd_switch_counters(sw).dropped_hairpin, 1);
	CHECK_EQ(nd_switch_set_address(sw, key_of(1), 9), -ENODEV);
	CHECK_EQ(nd_switch_set_address(sw, key_of(1), ND_SWITCH_GROUP), -ENODEV);
	close_all();
}

/* R-NRT-01: the path id names the member; other traffic is spread by flow. */
TEST(nd_switch_round__group_follows_the_path)
{
	const uint16_t members[2] = { 2, 3 };
	int group;

	open_plain(false);
	group = nd_switch_add_group(sw, ND_ECMP_PATH, members, 2, 1);
	CHECK_EQ(group, 0);
	CHECK_EQ(nd_switch_set_address(sw, key_of(1), ND_SWITCH_GROUP), 0);
	for (uint16_t path = 0; path < 6; path++)
		send_ndp(0, 1, path, path);
	rounds(1);
	CHECK_EQ(strlen(arrived(2)), 3);
	CHECK_EQ(strlen(arrived(3)), 3);
	nd_switch_enable_port(sw, 3, false);
	for (uint16_t path = 0; path < 6; path++)
		send_ndp(0, 1, path, path);
	rounds(1);
	CHECK_EQ(strlen(arrived(2)), 3);
	CHECK_EQ(nd_switch_counters(sw).dropped_no_path, 3);
	close_all();
}

static void open_trimming(void)
{
	trimming = nd_ndp_queue_paper(2, 1124);
	open_switch(false, 256);
	for (unsigned i = 0; i < PORTS; i++)
		add_port(i, &nd_ndp_queue_ops, &trimming, 10000000, NULL);
	for (unsigned i = 0; i < PORTS; i++)
		CHECK_EQ(nd_switch_set_address(sw, key_of(i), (uint16_t)i), 0);
}

struct seen {
	unsigned whole, trimmed, bounced;
};

static void decode_arrived(unsigned host, struct seen *seen)
{
	struct nd_frame frames[32];
	uint32_t count = nd_port_receive(hosts[host], frames, 32);

	for (uint32_t i = 0; i < count; i++) {
		struct nd_packet packet;

		CHECK_EQ(nd_frame_decode(&sw->config.frame, frames[i].data, frames[i].bytes, NULL,
					 &packet),
			 ND_WIRE_OK);
		CHECK_EQ(packet.ndp.connection, 7);
		CHECK_EQ(packet.payload_bytes, PAYLOAD);
		CHECK_EQ(frames[i].data[15] >> 2, packet.marks & ND_MARK_TRIMMED
							  ? sw->config.frame.dscp_trimmed
							  : sw->config.frame.dscp_trimmable);
		seen->bounced += (packet.marks & ND_MARK_BOUNCED) != 0;
		seen->trimmed += (packet.marks & ND_MARK_TRIMMED) != 0;
		seen->whole += !(packet.marks & ND_MARK_TRIMMED);
		if (packet.marks & ND_MARK_TRIMMED)
			CHECK(frames[i].bytes < 128);
	}
	if (count)
		nd_port_release(hosts[host]);
}

/*
 * R-NSW-03: what does not fit loses its payload, and its header says which packet it was. U18: the
 * code point of trimmed packets is their own; others keep theirs.
 */
TEST(nd_switch_round__trims_on_a_full_queue)
{
	struct seen seen = { 0 };

	open_trimming();
	for (uint32_t i = 0; i < 10; i++)
		send_ndp(0, 1, i, 0);
	for (unsigned i = 0; i < 100; i++) {
		rounds(1);
		decode_arrived(1, &seen);
	}
	CHECK_EQ(seen.whole + seen.trimmed, 10);
	CHECK(seen.trimmed >= 7);
	CHECK_EQ(seen.bounced, 0);
	CHECK_EQ(nd_switch_counters(sw).dropped_queue, 0);
	close_all();
}

/* R-NSW-08, U18: a header that finds no room goes back to its sender. */
TEST(nd_switch_round__returns_headers_to_their_sender)
{
	struct seen at_target = { 0 };
	struct seen at_source = { 0 };

	open_trimming();
	for (uint32_t i = 0; i < 60; i++)
		send_ndp(0, 1, i, 0);
	for (unsigned i = 0; i < 300; i++) {
		rounds(1);
		decode_arrived(1, &at_target);
		decode_arrived(0, &at_source);
	}
	CHECK(at_source.bounced > 0);
	CHECK_EQ(at_source.bounced, at_source.trimmed);
	/* A returned header that meets a full queue is dropped, not returned again. */
	CHECK_EQ(at_source.bounced + nd_switch_counters(sw).dropped_queue, nd_switch_counters(sw).bounced);
	CHECK_EQ(at_target.whole + at_target.trimmed + nd_switch_counters(sw).bounced, 60);
	close_all();
}

/* The way back may be the port at which it was returned: no loop, for that happens once. */
TEST(nd_switch_round__returns_headers_where_they_were_returned)
{
	struct seen seen = { 0 };

	open_trimming();
	CHECK_EQ(nd_switch_set_address(sw, key_of(0), 1), 0);
	for (uint32_t i = 0; i < 60; i++)
		send_ndp(0, 1, i, 0);
	for (unsigned i = 0; i < 300; i++) {
		rounds(1);
		decode_arrived(1, &seen);
	}
	CHECK(nd_switch_counters(sw).bounced > 0);
	CHECK_EQ(nd_switch_counters(sw).dropped_hairpin, 0);
	close_all();
}

/* A flooded frame is for one host alone: the others' copies are dropped, not cut or returned. */
TEST(nd_switch_round__floods_are_not_trimmed)
{
	struct seen seen = { 0 };

	trimming = nd_ndp_queue_paper(2, 1124);
	open_switch(true, 256);
	for (unsigned i = 0; i < PORTS; i++)
		add_port(i, &nd_ndp_queue_ops, &trimming, 10000000, NULL);
	for (uint32_t i = 0; i < 10; i++)
		send_ndp(0, PORTS, i, 0);
	for (unsigned i = 0; i < 100; i++) {
		rounds(1);
		decode_arrived(1, &seen);
	}
	CHECK(seen.whole > 0);
	CHECK_EQ(seen.trimmed, 0);
	CHECK(nd_switch_counters(sw).dropped_queue > 0);
	CHECK_EQ(nd_switch_counters(sw).bounced, 0);
	close_all();
}

/* What the discipline marks leaves marked, with the checksum right. */
TEST(nd_switch_round__marks_congestion)
{
	static const struct nd_ecn_config ecn = {
		.limit = { .packets = 64 },
		.threshold = { .packets = 2 },
	};
	struct nd_packet packet = {
		.protocol = ND_PROTO_NDP,
		.type = ND_NDP_DATA,
		.marks = ND_MARK_TRIMMABLE | ND_MARK_ECT,
		.payload_bytes = PAYLOAD,
		.ndp = { .connection = 7, .message_bytes = PAYLOAD },
	};
	struct nd_frame frames[32];
	uint8_t frame[2048];
	struct nd_frame_template template;
	uint32_t bytes, count, marked = 0;

	open_switch(false, 256);
	for (unsigned i = 0; i < PORTS; i++)
		add_port(i, &nd_ecn_ops, &ecn, 10000000, NULL);
	CHECK_EQ(nd_switch_set_address(sw, key_of(1), 1), 0);
	nd_frame_prepare(&sw->config.frame, peer_of(0, 1), &template);
	bytes = nd_frame_encode(&template, &packet, frame, sizeof(frame));
	for (uint32_t i = 0; i < 5; i++)
		send_bytes(0, frame, bytes);
	rounds(100);
	count = nd_port_receive(hosts[1], frames, 32);
	CHECK_EQ(count, 5);
	for (uint32_t i = 0; i < count; i++) {
		CHECK_EQ(nd_frame_decode(&sw->config.frame, frames[i].data, frames[i].bytes, NULL,
					 &packet), ND_WIRE_OK);
		marked += (packet.marks & ND_MARK_CE) != 0;
	}
	nd_port_release(hosts[1]);
	CHECK(marked == 2 || marked == 3); /* all that found two before them */
	close_all();
}

/* 10 Mbit/s: a full packet each 0.9 ms, whatever the worker does between two rounds. */
TEST(nd_switch_round__paces_and_makes_up_for_lost_time)
{
	struct seen seen = { 0 };

	open_trimming();
	send_ndp(0, 1, 0, 0);
	send_ndp(0, 1, 1, 0);
	nd_switch_round(sw, now);
	decode_arrived(1, &seen);
	CHECK_EQ(seen.whole, 1);
	CHECK(nd_switch_deadline(sw) > now + 800 * ND_USEC);
	CHECK(nd_switch_deadline(sw) < now + 1000 * ND_USEC);
	nd_switch_round(sw, now + 800 * ND_USEC);
	decode_arrived(1, &seen);
	CHECK_EQ(seen.whole, 1);
	nd_switch_round(sw, now + 1000 * ND_USEC);
	decode_arrived(1, &seen);
	CHECK_EQ(seen.whole, 2);
	CHECK_EQ(nd_switch_deadline(sw), ND_NEVER);
	close_all();
}

static void send_many(unsigned from, uint8_t tag, uint32_t bytes, unsigned count)
{
	uint8_t frame[1000] = { [12] = 0x88, [13] = 0xb5, [14] = tag };

	memcpy(frame, mac_of(3), 6);
	memcpy(frame + 6, mac_of(from), 6);
	for (unsigned i = 0; i < count; i++)
		send_bytes(from, frame, bytes);
}

/* R-NSW-12: a full frame's bytes a turn, what is left of it is kept, and each round begins with
 * another input. */
TEST(nd_switch_round__inputs_take_turns_by_bytes)
{
	open_plain(false);
	CHECK_EQ(nd_switch_set_address(sw, key_of(3), 3), 0);
	for (unsigned i = 0; i < 2; i++) {
		send_many(0, 'a', 1000, 4);
		send_many(1, 'b', 500, 9);
		nd_switch_round(sw, now);
		CHECK_STR(arrived(3), i ? "abbbaabbbabbb" : "bbbabbbaabbba");
		sw->turn = PORTS - 1; /* the next begins with port 0 */
	}
	close_all();
}

/* R-NSW-12: one that brings 30 frames at once does not fill the queue before the two of another,
 * sent no later, are looked at, whoever is the first to be. */
TEST(nd_switch_round__inputs_take_turns)
{
	struct nd_droptail_config eight = { .limit = { .packets = 8 } };

	for (uint32_t turn = 0; turn < PORTS; turn++) {
		const char *got;
		unsigned others = 0;

		open_switch(false, 256);
		for (unsigned i = 0; i < PORTS; i++)
			add_port(i, &nd_droptail_ops, &eight, 1000000, NULL);
		CHECK_EQ(nd_switch_set_address(sw, key_of(3), 3), 0);
		sw->turn = turn;
		for (uint32_t i = 0; i < 30; i++)
			send_ndp(0, 3, i, 0);
		send_plain(1, mac_of(3), 'b');
		send_plain(2, mac_of(3), 'c');
		nd_switch_round(sw, now);
		for (unsigned i = 0; i < 100; i++, now += ND_MSEC) {
			nd_switch_round(sw, now);
			for (got = arrived(3); *got; got++)
				others += *got == 'b' || *got == 'c';
		}
		CHECK_EQ(others, 2);
		CHECK_EQ(sw->ports[3].counters.dropped_queue, 32 - 9);
		close_all();
	}
}

/* A worker that was away finds the rings full; the link would have sent meanwhile, and does. */
TEST(nd_switch_round__a_late_worker_trims_no_more_than_one_in_time)
{
	struct seen seen = { 0 };

	trimming = nd_ndp_queue_paper(8, 1124);
	open_switch(false, 256);
	for (unsigned i = 0; i < PORTS; i++)
		add_port(i, &nd_ndp_queue_ops, &trimming, 1000000000, NULL);
	CHECK_EQ(nd_switch_set_address(sw, key_of(1), 1), 0);
	/* 1 ms of a 1 Gbit/s link is 111 packets; the queue holds 8. */
	for (uint32_t i = 0; i < 60; i++) {
		send_ndp(0, 1, i, 0);
		if (i % 2 == 0 && i < 4)
			rounds(1);
	}
	now += ND_MSEC;
	rounds(2);
	for (unsigned i = 0; i < 10; i++) {
		rounds(1);
		decode_arrived(1, &seen);
	}
	CHECK_EQ(seen.whole + seen.trimmed, 60);
	CHECK(seen.whole >= 40);
	close_all();
}

/* A link that takes nothing more is asked again soon: its worker may sleep until then. */
TEST(nd_switch_round__lets_its_worker_sleep_while_a_link_is_full)
{
	open_plain(false);
	CHECK_EQ(nd_switch_set_address(sw, key_of(1), 1), 0);
	for (uint32_t i = 0; i < 160; i++) {
		send_plain(0, mac_of(1), 'a');
		rounds(1);
	}
	CHECK_EQ(sw->ports[1].egress.queue->packets, 160 - 128);
	nd_switch_round(sw, now);
	CHECK(nd_switch_deadline(sw) > now && nd_switch_deadline(sw) < now + ND_MSEC);
	CHECK_EQ(strlen(arrived(1)), 32);
	rounds(1);
	CHECK_EQ(nd_switch_deadline(sw), ND_NEVER);
	close_all();
}

TEST(nd_switch_round__faults_lose_double_and_delay)
{
	const struct nd_faults_config lossy = { .loss = ND_FAULTS_ALWAYS };
	const struct nd_faults_config doubling = { .duplicate = ND_FAULTS_ALWAYS,
						   .delay_ns = 250 * ND_USEC };

	open_switch(true, 256);
	add_port(0, &nd_droptail_ops, &droptail, 0, &lossy);
	add_port(1, &nd_droptail_ops, &droptail, 0, &doubling);
	add_port(2, &nd_droptail_ops, &droptail, 0, NULL);
	add_port(3, &nd_droptail_ops, &droptail, 0, NULL);
	send_plain(0, mac_of(2), 'a');
	send_plain(1, mac_of(2), 'b');
	rounds(1);
	CHECK_STR(arrived(2), "");
	CHECK_EQ(nd_switch_counters(sw).dropped_faults, 1);
	rounds(3);
	CHECK_STR(arrived(2), "bb");
	close_all();
}

TEST(nd_switch_round__runs_out_of_buffers_and_counts)
{
	open_switch(false, 64);
	for (unsigned i = 0; i < PORTS; i++)
		add_port(i, &nd_droptail_ops, &droptail, 1000000, NULL);
	CHECK_EQ(nd_switch_set_address(sw, key_of(1), 1), 0);
	for (unsigned i = 0; i < 100; i++)
		send_plain(0, mac_of(1), 'x');
	for (unsigned i = 0; i < 4; i++)
		nd_switch_round(sw, now);
	CHECK(nd_switch_counters(sw).dropped_no_buffer + nd_switch_counters(sw).dropped_queue >= 35);
	CHECK(!nd_switch_audit(sw));
	close_all();
}

TEST(nd_switch_remove_port__drops_what_is_queued_and_frees_the_slot)
{
	open_trimming();
	for (uint32_t i = 0; i < 5; i++)
		send_ndp(0, 1, i, 0);
	nd_switch_round(sw, now);
	CHECK(sw->pool.used > 0);
	nd_switch_remove_port(sw, 1);
	CHECK_EQ(sw->pool.used, 0);
	CHECK(nd_switch_counters(sw).dropped_removed > 0);
	nd_port_close(hosts[1]);
	add_port(1, &nd_droptail_ops, &droptail, 0, NULL);
	send_ndp(0, 1, 9, 0);
	rounds(1);
	CHECK_EQ(nd_switch_counters(sw).dropped_unknown, 1);
	CHECK_EQ(nd_switch_set_address(sw, key_of(1), 1), 0);
	send_ndp(0, 1, 9, 0);
	rounds(1);
	CHECK_EQ(strlen(arrived(1)), 1);
	close_all();
}

/* Else it would run anywhere, and the operator would believe in a CPU of its own. */
TEST(nd_worker_start__on_a_cpu_that_is_not_there)
{
	struct nd_worker_config config = nd_worker_config_default();

	config.cpu = CPU_SETSIZE - 1;
	CHECK(!nd_worker_start(&config, &error));
	CHECK_EQ(error.code, -EINVAL);
	CHECK(strstr(error.text, "CPU 1023"));
}

static int count_ports(void *context)
{
	return (int)((struct nd_switch *)context)->port_count;
}

TEST(nd_worker_call__runs_between_rounds_and_frames_flow)
{
	struct nd_worker_config config = nd_worker_config_default();
	struct nd_worker *worker = nd_worker_start(&config, &error);
	char got[8] = "";

	CHECK(worker);
	open_plain(true);
	CHECK_EQ(nd_worker_add(worker, sw), 0);
	CHECK_EQ(nd_worker_call(worker, count_ports, sw), PORTS);
	for (unsigned i = 0; i < 5; i++) {
		send_plain(0, mac_of(1), (uint8_t)('a' + i));
		while (strlen(got) < i + 1)
			strcat(got, arrived(1));
	}
	CHECK_STR(got, "abcde");
	CHECK(nd_worker_stats(worker).frames >= 5);
	CHECK_EQ(nd_worker_remove(worker, sw), 0);
	CHECK_EQ(nd_worker_remove(worker, sw), -ENOENT);
	nd_worker_stop(worker);
	close_all();
}

int main(int argc, char **argv)
{
	return nd_test_main(argc, argv);
}
