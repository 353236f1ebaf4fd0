// SPDX-License-Identifier: Apache-2.0
/* Mirrors of a switch: order, verdicts, a reader that is late, ports that go; and control. */
#include "switch/control.h"
#include "test/switch_bed.h"

static struct nd_mirror *mirror;
static struct nd_mirror_frame got[64];
static uint8_t bytes[64 * 64];

static void open_mirrored(bool rx, bool tx, uint32_t frames)
{
	static const uint8_t ports[2] = { 0, 1 };
	static const char *const names[2] = { "in", "out" };
	const struct nd_mirror_config config = { .ports = ports, .names = names, .port_count = 2,
						 .rx = rx, .tx = tx, .snap_bytes = 64,
						 .frames = frames };

	open_plain(false);
	CHECK_EQ(nd_switch_set_address(sw, key_of(1), 1), 0);
	mirror = nd_mirror_new(&config, &error);
	CHECK(mirror);
	CHECK_EQ(nd_switch_add_mirror(sw, mirror), 0);
}

static void close_mirrored(void)
{
	nd_switch_remove_mirror(sw, mirror);
	CHECK_EQ(sw->mirrored_rx | sw->mirrored_tx, 0);
	nd_mirror_free(mirror);
	close_all();
}

static const char *comment(uint32_t i)
{
	static char text[ND_PCAPNG_COMMENT_MAX];

	return nd_mirror_comment(&got[i], text);
}

TEST(nd_mirror__shows_the_fate_of_each_frame_in_order)
{
	open_mirrored(true, true, 64);
	send_plain(0, mac_of(1), 'a');
	send_plain(0, mac_of(3), 'b');
	rounds(1);
	CHECK_EQ(nd_mirror_read(mirror, got, bytes, 64), 3);
	CHECK_EQ(got[0].port, 0);
	CHECK_EQ(got[0].direction, ND_PCAPNG_INBOUND);
	CHECK_STR(comment(0), "queued");
	CHECK_EQ(bytes[14], 'a');
	CHECK_EQ(got[0].original_bytes, 60);
	CHECK_STR(comment(1), "dropped: unknown");
	CHECK_EQ(got[2].port, 1);
	CHECK_EQ(got[2].direction, ND_PCAPNG_OUTBOUND);
	CHECK_STR(comment(2), "sent");
	CHECK_EQ(bytes[2 * 64 + 14], 'a');
	CHECK_EQ(nd_mirror_read(mirror, got, bytes, 64), 0);
	close_mirrored();
}

/* A burst makes the queue send while a frame's own copy is not ended yet. */
TEST(nd_mirror__copies_that_begin_within_another_are_whole)
{
	uint32_t count, out = 0;

	open_mirrored(true, true, 64);
	for (uint8_t i = 0; i < 20; i++)
		send_plain(0, mac_of(1), i);
	rounds(1);
	count = nd_mirror_read(mirror, got, bytes, 64);
	CHECK_EQ(count, 40);
	for (uint32_t i = 0, in = 0; i < count; i++) {
		uint32_t *next = got[i].direction == ND_PCAPNG_INBOUND ? &in : &out;

		CHECK_EQ(bytes[i * 64 + 14], *next);
		(*next)++;
	}
	CHECK_EQ(out, 20);
	close_mirrored();
}

TEST(nd_mirror__a_trimmed_frame_keeps_its_length)
{
	static struct nd_ndp_queue_config one;
	struct nd_switch_port_settings settings = { .discipline = &nd_ndp_queue_ops,
						    .discipline_config = &one,
						    .rate_bps = 1000000, .catch_up = ND_USEC };
	struct nd_switch_change change;
	uint32_t count, trimmed = 0;

	one = nd_ndp_queue_paper(1, 1124);
	one.victim = ND_NDP_VICTIM_ARRIVAL;
	open_mirrored(true, true, 64);
	settings.trim.dscp = sw->config.frame.dscp_trimmed;
	settings.trim.pcp = ND_FRAME_PCP_KEEP;
	CHECK_EQ(nd_switch_prepare_settings(sw, 1, &settings, &change, &error), 0);
	free(nd_switch_apply_settings(sw, &change, now));
	for (uint32_t i = 0; i < 4; i++)
		send_ndp(0, 1, i, 0);
	rounds(300);
	count = nd_mirror_read(mirror, got, bytes, 64);
	CHECK_EQ(count, 8);
	for (uint32_t i = 0; i < count; i++) {
		CHECK(got[i].original_bytes > PAYLOAD);
		trimmed += got[i].verdict == ND_MIRROR_TRIMMED;
	}
	/* Two on arrival at the queue, and the same two as they leave. */
	CHECK(trimmed >= 4 && trimmed % 2 == 0);
	close_mirrored();
}

TEST(nd_mirror__a_late_reader_loses_copies_that_are_counted)
{
	uint8_t file[4096];
	size_t used;

	open_mirrored(true, false, 16);
	for (uint8_t i = 0; i < 40; i++) {
		send_plain(0, mac_of(1), i);
		rounds(1);
		arrived(1);
	}
	CHECK_EQ(nd_mirror_dropped(mirror), 24);
	CHECK_EQ(nd_mirror_header(mirror, file, 8), 0);
	CHECK(nd_mirror_header(mirror, file, sizeof(file)) > 0);
	/* Room for one block only, then for all that is left. */
	used = nd_mirror_pcapng(mirror, file, 200);
	CHECK(used > 60 && used <= 200);
	CHECK(nd_mirror_pcapng(mirror, file, sizeof(file)) > used * 10);
	CHECK_EQ(nd_mirror_pcapng(mirror, file, sizeof(file)), 0);
	close_mirrored();
}

TEST(nd_mirror__a_port_that_goes_is_mirrored_no_more)
{
	open_mirrored(true, true, 64);
	nd_switch_remove_port(sw, 1);
	nd_port_close(hosts[1]);
	add_port(1, &nd_droptail_ops, &droptail, 0, NULL);
	CHECK_EQ(nd_switch_set_address(sw, key_of(1), 1), 0);
	send_plain(0, mac_of(1), 'a');
	rounds(1);
	CHECK_EQ(nd_mirror_read(mirror, got, bytes, 64), 1);
	CHECK_EQ(got[0].port, 0);
	close_mirrored();
}

/* Changes from this thread while the worker forwards; the page is always one moment. */
TEST(nd_control__changes_and_reads_beside_the_worker)
{
	const struct nd_switch_config config = { .name = "c0", .packets_max = 256,
						 .frame_bytes_max = 2048, .fdb_max = 64,
						 .learning = true, .fdb_aging = ND_SEC,
						 .frame = nd_frame_config_default(), .seed = 1 };
	const struct nd_switch_port_settings settings = { .discipline = &nd_droptail_ops,
							  .discipline_config = &droptail };
	const struct nd_worker_config spin = { .profile = ND_WORKER_ADAPTIVE, .cpu = -1 };
	struct nd_port_config opening = { .backend = ND_PORT_MEMORY, .memory.listen = true };
	struct nd_control *control = nd_control_new(&config, &error);
	struct nd_worker *worker = nd_worker_start(&spin, &error);
	static struct nd_page page;
	char name[64];

	CHECK(control && worker);
	CHECK_EQ(nd_control_join(control, worker, &error), 0);
	CHECK_EQ(nd_control_join(control, worker, &error), -EALREADY);
	for (uint32_t i = 0; i < 20; i++) {
		snprintf(name, sizeof(name), "test-control-%d-%u", getpid(), i);
		opening.name = name;
		CHECK_EQ(nd_control_add_port(control, &opening, &settings, &error), 0);
		CHECK_EQ(nd_control_set_address(control, mac_of(1), 0, 0, &error), 0);
		CHECK_EQ(nd_control_read(control, &page), 0);
		CHECK_EQ(page.port_count, 1);
		CHECK_EQ(page.addresses, 1);
		CHECK_EQ(page.ports[0].state, ND_PORT_DOWN);
		CHECK(!nd_control_audit(control));
		CHECK_EQ(nd_control_remove_port(control, 0, &error), 0);
		CHECK_EQ(nd_control_remove_port(control, 0, &error), -ENODEV);
		CHECK_EQ(nd_control_read(control, &page), 0);
		CHECK_EQ(page.addresses, 0);
	}
	nd_control_free(control);
	nd_worker_stop(worker);
}

int main(int argc, char **argv)
{
	return nd_test_main(argc, argv);
}
