// SPDX-License-Identifier: Apache-2.0
/* What applications ask for, what they are refused, and what they leave behind. */
#include "test/homa_hand.h"

static struct nd_command request(uint32_t bytes)
{
	return (struct nd_command){ .kind = ND_COMMAND_REQUEST, .app = 2, .peer = 2,
				    .port = HAND_PORT, .bytes = bytes };
}

static int command(uint8_t kind, uint16_t app, uint16_t port)
{
	return hand_submit((struct nd_command){ .kind = kind, .app = app, .port = port });
}

TEST(nd_homa_submit__refuses_what_it_cannot_know)
{
	hand_start_default();
	CHECK_EQ(command(ND_COMMAND_CONNECT, 1, 1), -EOPNOTSUPP);
	CHECK_EQ(command(ND_COMMAND_SEND, 1, 1), -EOPNOTSUPP);
	CHECK_EQ(command(200, 1, 1), -EOPNOTSUPP);
	CHECK_EQ(command(ND_COMMAND_LISTEN, 64, 50), -EINVAL);
}

TEST(do_listen__ports)
{
	struct nd_homa_config config = hand_defaults();

	config.ports_max = 2;
	hand_start(&config, false);
	CHECK_EQ(command(ND_COMMAND_LISTEN, 1, 0), -EINVAL);
	CHECK_EQ(command(ND_COMMAND_LISTEN, 1, 0x8000), -EINVAL);
	CHECK_EQ(command(ND_COMMAND_LISTEN, 3, HAND_PORT), -EADDRINUSE);
	CHECK_EQ(command(ND_COMMAND_LISTEN, 3, 0x7fff), 0);
	CHECK_EQ(command(ND_COMMAND_LISTEN, 3, 41), -ENOBUFS);
	CHECK_EQ(command(ND_COMMAND_UNLISTEN, 3, HAND_PORT), -ENOENT);
	CHECK_EQ(command(ND_COMMAND_UNLISTEN, 1, HAND_PORT), 0);
	CHECK_EQ(command(ND_COMMAND_LISTEN, 3, HAND_PORT), 0);
}

/* As many RPCs stay free as these applications have: half, then a third for the next ones, ... */
TEST(nd_homa_leaves_room__counts_the_rpcs_of_applications)
{
	struct nd_homa_config config = hand_defaults();
	struct nd_command another = request(100);

	config.rpcs_max = config.server_rpcs_max = 12;
	hand_start(&config, false);
	hand_data(2, 100, 0, 100, 100, 100); /* app 1 serves one */
	for (uint32_t i = 0; i < 5; i++) {
		CHECK(nd_homa_leaves_room(hand, &another, 1 << 2));
		hand_request(2, 100); /* of app 2 */
	}
	CHECK(!nd_homa_leaves_room(hand, &another, 1 << 2));
	CHECK(nd_homa_leaves_room(hand, &another, 1 << 1));
	CHECK(!nd_homa_leaves_room(hand, &another, 1 << 1 | 1 << 2));
	another.kind = ND_COMMAND_CANCEL;
	CHECK(nd_homa_leaves_room(hand, &another, 1 << 2));
}

/* ... and as many ports. */
TEST(nd_homa_leaves_room__counts_ports)
{
	struct nd_homa_config config = hand_defaults();
	struct nd_command listen = { .kind = ND_COMMAND_LISTEN };

	config.ports_max = 6;
	hand_start(&config, false); /* app 1 listens */
	for (uint16_t port = 50; port < 52; port++) {
		CHECK(nd_homa_leaves_room(hand, &listen, 1 << 2));
		CHECK_EQ(command(ND_COMMAND_LISTEN, 2, port), 0);
	}
	CHECK(!nd_homa_leaves_room(hand, &listen, 1 << 2));
	CHECK(nd_homa_leaves_room(hand, &listen, 1 << 1));
}

TEST(do_request__refusals)
{
	struct nd_command bad = request(100);

	hand_start_default();
	bad.port = 0;
	CHECK_EQ(hand_submit(bad), -EINVAL);
	bad.port = 0x8000;
	CHECK_EQ(hand_submit(bad), -EINVAL);
	bad = request(100);
	bad.source_port = 100;
	CHECK_EQ(hand_submit(bad), -EINVAL);
	CHECK_EQ(hand_submit(request(hand_config.message_bytes_max + 1)), -EMSGSIZE);
	CHECK_EQ(hand_submit(request(hand_config.message_bytes_max)), 0);
	CHECK_EQ(hand_counters()->message_too_long, 1);
}

/* Its cookie has come back with the refusal, and is not the RPC's. */
TEST(do_reply__refused)
{
	struct nd_event event;
	uint64_t id;

	hand_start_default();
	id = hand_serve(2, 100, 10);
	CHECK_EQ(hand_submit((struct nd_command){ .kind = ND_COMMAND_REPLY,
						  .app = 1,
						  .id = id,
						  .bytes = hand_config.message_bytes_max + 1,
						  .cookie = 8 }),
		 -EMSGSIZE);
	CHECK_EQ(hand_cancel(1, id), 0);
	event = hand_event();
	CHECK_EQ(event.kind, ND_EVENT_FAILED);
	CHECK_EQ(event.cookie, 0);
}

/* Ids are even, rise by two, and are unique for the host. */
TEST(do_request__ids)
{
	struct nd_packet packet;
	struct nd_command own = request(10);

	hand_start_default();
	own.source_port = 0x9001;
	CHECK_EQ(hand_request(2, 10), 2);
	CHECK_EQ(hand_request(3, 10), 4);
	CHECK_EQ(nd_homa_ops.submit(hand, &own, hand_now), 0);
	CHECK_EQ(own.id, 6);
	hand_next();
	hand_next();
	CHECK(nd_homa_ops.transmit(hand, &packet, ND_CLASS_DATA, hand_now));
	CHECK_EQ(packet.homa.source_port, 0x9001);
}

/* An id whose place in the table of clients is taken is left out; no other id is. */
TEST(nd_homa_rpc_request__leaves_out_a_taken_place)
{
	struct nd_homa_config config = hand_defaults();
	static const uint64_t ids[] = { 4, 6, 8, 12, 14, 16, 20 };

	config.rpcs_max = config.server_rpcs_max = config.peer_rpcs_max = 2; /* four places */
	hand_start(&config, false);
	CHECK_EQ(hand_request(2, 10), 2);
	for (uint32_t i = 0; i < ND_ARRAY_SIZE(ids); i++) {
		CHECK_EQ(hand_request(2, 10), ids[i]);
		CHECK_STR(nd_homa_ops.audit(hand) ? nd_homa_ops.audit(hand) : "", "");
		CHECK_EQ(hand_cancel(2, ids[i]), 0);
		CHECK_EQ(hand_event().id, ids[i]);
	}
	CHECK_EQ(hand_cancel(2, 2), 0);
}

TEST(do_request__limit_of_rpcs)
{
	hand_start_default();
	for (uint32_t i = 0; i < hand_config.rpcs_max; i++)
		hand_request(2, 10);
	CHECK_EQ(hand_submit(request(10)), -ENOBUFS);
	CHECK_EQ(hand_counters()->submits_refused, 1);
	hand_cancel(2, 2);
	hand_event();
	CHECK_EQ(hand_submit(request(10)), 0);
}

/* HM#63: what is freed is never named again; a stale handle is -ENOENT. */
TEST(nd_homa_rpc_by_handle__stale)
{
	struct nd_packet ack = hand_packet(ND_HOMA_ACK, 2, 100);
	uint64_t first, second;

	hand_start_default();
	first = hand_serve(2, 100, 10);
	CHECK_EQ(hand_reply(first, 10), 0);
	CHECK_EQ(hand_reply(first, 10), -ENOENT);
	hand_drain();
	hand_receive(&ack);
	hand_event();
	second = hand_serve(2, 102, 10);
	CHECK(first != second);
	CHECK_EQ((uint32_t)first, (uint32_t)second);
	CHECK_EQ(hand_reply(first, 10), -ENOENT);
	CHECK_EQ(hand_cancel(1, first), -ENOENT);
	CHECK_EQ(hand_reply(UINT64_MAX, 10), -ENOENT);
	CHECK_EQ(hand_reply(0, 10), -ENOENT);
	CHECK_EQ(hand_reply(second, 10), 0);
}

/* Only the application that owns an RPC may touch it. */
TEST(find_own__other_applications)
{
	uint64_t id;

	hand_start_default();
	id = hand_serve(2, 100, 10);
	CHECK_EQ(hand_submit((struct nd_command){ .kind = ND_COMMAND_REPLY, .app = 2, .id = id }),
		 -ENOENT);
	CHECK_EQ(hand_cancel(2, id), -ENOENT);
	hand_request(2, 10);
	CHECK_EQ(hand_cancel(1, 2), -ENOENT);
	CHECK_EQ(hand_reply(2, 10), -ENOENT);
}

/* Cancel: one FAILED event, the peer is told, a late response is dropped. HM#63. */
TEST(do_cancel__client)
{
	struct nd_event event;

	hand_start_default();
	hand_request(2, 100);
	hand_drain();
	CHECK_EQ(hand_cancel(2, 2), 0);
	CHECK_EQ(hand_cancel(2, 2), -ENOENT);
	CHECK_STR(hand_next(), "UNKNOWN 2>2 note 5");
	event = hand_event();
	CHECK_EQ(event.kind, ND_EVENT_FAILED);
	CHECK_EQ(event.error, -ECANCELED);
	hand_data(2, 3, 0, 10, 10, 10);
	CHECK_EQ(hand_event().kind, 255);
	CHECK_EQ(hand_counters()->unknown_responses, 1);
	CHECK_EQ(hand_homa()->rpcs.used, 0);
}

/* Nothing was sent: nobody needs to be told. */
TEST(do_cancel__before_anything_was_sent)
{
	hand_start_default();
	hand_request(2, 100);
	CHECK_EQ(hand_cancel(2, 2), 0);
	CHECK_STR(hand_next(), "");
}

/* Whoever does not wait for the id names its request by its cookie, and nobody else's. */
TEST(do_cancel__by_cookie)
{
	struct nd_command cancel = { .kind = ND_COMMAND_CANCEL, .app = 2, .cookie = 8 };
	struct nd_event event;
	uint64_t served;

	hand_start_default();
	served = hand_serve(2, 100, 10);
	CHECK_EQ(hand_submit((struct nd_command){ .kind = ND_COMMAND_REPLY, .app = 1, .id = served,
						  .bytes = 10, .cookie = 8 }), 0);
	for (uint64_t cookie = 7; cookie <= 9; cookie++)
		CHECK_EQ(hand_submit((struct nd_command){ .kind = ND_COMMAND_REQUEST, .app = 2,
							  .peer = 2, .port = 1, .bytes = 10,
							  .cookie = cookie }), 0);
	cancel.app = 1;
	CHECK_EQ(hand_submit(cancel), -ENOENT);
	cancel.app = 2;
	CHECK_EQ(hand_submit(cancel), 0);
	CHECK_EQ(hand_submit(cancel), -ENOENT);
	event = hand_event();
	CHECK_EQ(event.kind, ND_EVENT_FAILED);
	CHECK_EQ(event.cookie, 8);
	CHECK_EQ(hand_event().kind, 255);
	CHECK_EQ(hand_counters()->rpcs_cancelled, 1);
}

/* One whose response is only not released yet does not hide another of the same cookie. */
TEST(do_cancel__by_cookie_passes_over_ended_requests)
{
	struct nd_command cancel = { .kind = ND_COMMAND_CANCEL, .app = 2, .cookie = 7 };
	struct nd_homa_config config = hand_defaults();
	uint64_t second;

	hand_start(&config, true);
	hand_request(2, 10);
	hand_drain();
	hand_data(2, 3, 0, 10, 10, 10);
	CHECK_EQ(hand_event().kind, ND_EVENT_RESPONSE);
	second = hand_request(2, 10);
	CHECK_EQ(hand_submit(cancel), 0);
	CHECK_EQ(hand_event().id, second);
	CHECK_EQ(hand_submit(cancel), -ENOENT);
}

TEST(do_cancel__server)
{
	uint64_t id;

	hand_start_default();
	id = hand_serve(2, 100, 10);
	CHECK_EQ(hand_cancel(1, id), 0);
	CHECK_STR(hand_next(), "UNKNOWN 101>2 note 2");
	CHECK_EQ(hand_event().error, -ECANCELED);
	hand_data(2, 100, 0, 10, 10, 10);
	CHECK_EQ(hand_event().kind, 255);
}

/* Received memory belongs to the application until RELEASE, also after the RPC is over. T39. */
TEST(do_release__once)
{
	struct nd_homa_config config = hand_defaults();
	struct nd_event event;
	struct nd_command release = { .kind = ND_COMMAND_RELEASE, .app = 2, .id = 2 };

	hand_start(&config, true);
	hand_request(2, 10);
	hand_drain();
	CHECK_EQ(hand_submit(release), -ENOENT);
	hand_data(2, 3, 0, 10, 10, 10);
	CHECK_EQ(hand_submit(release), -ENOENT);
	event = hand_event();
	CHECK(event.payload == hand_lent[0]);
	CHECK_EQ(hand_held, 1);
	CHECK_EQ(hand_usage().client_rpcs, 0);
	CHECK_EQ(hand_usage().closed_rpcs, 1);
	release.app = 1;
	CHECK_EQ(hand_submit(release), -ENOENT);
	release.app = 2;
	CHECK_EQ(hand_submit(release), 0);
	CHECK_EQ(hand_held, 0);
	CHECK_EQ(hand_submit(release), -ENOENT);
	CHECK_EQ(hand_homa()->rpcs.used, 0);
}

/* A server may reply before or after it releases the request. */
TEST(do_release__server_in_any_order)
{
	struct nd_homa_config config = hand_defaults();
	struct nd_packet ack = hand_packet(ND_HOMA_ACK, 2, 100);
	uint64_t id;

	hand_start(&config, true);
	id = hand_serve(2, 100, 10);
	CHECK_EQ(hand_reply(id, 10), 0);
	hand_drain();
	hand_receive(&ack);
	CHECK_EQ(hand_event().kind, ND_EVENT_SENT);
	CHECK_EQ(hand_submit((struct nd_command){ .kind = ND_COMMAND_RELEASE, .app = 1, .id = id }),
		 0);
	CHECK_EQ(hand_homa()->rpcs.used, 0);
	CHECK_EQ(hand_held, 0);
}

/* T4: what has no reply when its port is closed will get none. Replies under way, and requests of
 * other ports, go on. */
TEST(do_unlisten__ends_what_has_no_reply)
{
	struct nd_packet other = hand_packet(ND_HOMA_DATA, 2, 108);
	struct nd_homa_config config = hand_defaults();
	uint64_t seen;

	hand_start(&config, true);
	CHECK_EQ(command(ND_COMMAND_LISTEN, 1, 41), 0);
	other.payload_bytes = 10;
	other.homa.message_bytes = other.homa.length = 10;
	other.homa.target_port = 41;
	seen = hand_serve(2, 102, 10);
	CHECK_EQ(hand_reply(hand_serve(2, 106, 10), 50), 0);
	hand_data(2, 100, 0, 10, 10, 10);
	hand_data(2, 104, 0, 1424, 60000, 10000);
	hand_receive(&other);
	hand_drain();
	CHECK_EQ(command(ND_COMMAND_UNLISTEN, 1, HAND_PORT), 0);
	CHECK(strstr(hand_next(), "UNKNOWN 103>2 note 2"));
	CHECK(strstr(hand_next(), "UNKNOWN 101>2 note 2"));
	CHECK(strstr(hand_next(), "UNKNOWN 105>2 note 2"));
	CHECK_STR(hand_next(), "");
	CHECK_EQ(hand_event().kind, ND_EVENT_REQUEST);
	CHECK_EQ(hand_event().id, seen);
	CHECK_EQ(hand_event().kind, 255);
	CHECK_EQ(hand_homa()->rpcs.used, 3);
}

/* T4: a dead application leaves nothing, and its peers hear of it. */
TEST(do_detach__reclaims_all)
{
	struct nd_homa_config config = hand_defaults();

	hand_start(&config, true);
	hand_data(2, 100, 0, 10, 10, 10);
	hand_serve(2, 102, 10);
	hand_data(2, 104, 0, 1424, 60000, 10000);
	CHECK_EQ(hand_reply(hand_serve(2, 106, 10), 50), 0);
	hand_drain();
	CHECK_EQ(command(ND_COMMAND_LISTEN, 1, 41), 0);
	CHECK_EQ(command(ND_COMMAND_DETACH, 1, 0), 0);
	CHECK_EQ(hand_homa()->rpcs.used, 0);
	CHECK_EQ(hand_held, 0);
	CHECK_EQ(hand_event().kind, 255);
	for (uint32_t i = 0; i < 4; i++)
		CHECK(strstr(hand_next(), "note 2"));
	hand_data(2, 200, 0, 10, 10, 10);
	CHECK_STR(hand_next(), "UNKNOWN 201>2 note 3");
	CHECK_EQ(command(ND_COMMAND_LISTEN, 3, 41), 0);
}

TEST(do_detach__client)
{
	struct nd_homa_config config = hand_defaults();

	hand_start(&config, true);
	hand_request(2, 10);
	hand_request(2, 10);
	hand_request(2, 10);
	hand_drain();
	hand_data(2, 3, 0, 10, 10, 10);
	hand_event();
	hand_data(2, 5, 0, 10, 10, 10);
	CHECK_EQ(hand_held, 2);
	CHECK_EQ(command(ND_COMMAND_DETACH, 2, 0), 0);
	CHECK_EQ(hand_held, 0);
	CHECK_EQ(hand_homa()->rpcs.used, 0);
	CHECK_STR(hand_next(), "UNKNOWN 6>2 note 5");
}

TEST(do_window__limits)
{
	struct nd_command window = { .kind = ND_COMMAND_WINDOW, .app = 1, .peer = 2 };

	hand_start_default();
	window.bytes = hand_config.unscheduled_max_bytes + 1;
	CHECK_EQ(hand_submit(window), -EINVAL);
	window.bytes = 20000;
	CHECK_EQ(hand_submit(window), 0);
	hand_request(2, 60000);
	CHECK_STR(hand_next(), "DATA 2>2 0+1424/60000 in=20000 p6");
	window.bytes = 0;
	CHECK_EQ(hand_submit(window), 0);
	hand_request(2, 50000);
	CHECK_STR(hand_next(), "DATA 4>2 0+1424/50000 in=10000 p6");
}

/* RTTbytes and what hangs on them follow the link's rate; what is remembered stays as long. */
TEST(do_link__windows_follow)
{
	struct nd_command link = { .kind = ND_COMMAND_LINK };
	struct nd_homa_config slow = nd_homa_config_default(100000000, 1500);
	const struct nd_homa_config *now;

	hand_start_default();
	now = &hand_homa()->config;
	CHECK_EQ(hand_submit(link), 0); /* 10 Gb/s is a guess: a message alone may have more */
	CHECK(now->window_dynamic);
	CHECK_EQ(now->rtt_bytes, 30000);
	link.message = UINT64_C(10000000000);
	CHECK_EQ(hand_submit(link), 0);
	CHECK(!now->window_dynamic);
	hand_request(2, 60000);
	CHECK_STR(hand_next(), "DATA 2>2 0+1424/60000 in=30000 p6");
	link.message = 100000000;
	CHECK_EQ(hand_submit(link), 0);
	hand_request(2, 50000);
	CHECK_STR(hand_next(), "DATA 4>2 0+1424/50000 in=10000 p6");
	CHECK_EQ(now->max_incoming_bytes, slow.max_incoming_bytes);
	CHECK_EQ(now->resend_ns, slow.resend_ns);
	CHECK_EQ(now->done_ns, slow.done_ns);
	link.message = UINT64_C(10000000000);
	CHECK_EQ(hand_submit(link), 0);
	CHECK(now->resend_ns < slow.resend_ns);
	CHECK_EQ(now->done_ns, slow.done_ns);
}

/* Idle peers make room for new ones; busy ones do not, and that is counted. */
TEST(nd_homa_peer_get__limits)
{
	struct nd_homa_config config = hand_defaults();

	config.peers_max = 4;
	hand_start(&config, false);
	for (uint32_t peer = 10; peer < 14; peer++)
		hand_data(peer, 100, 0, 10, 100, 100);
	hand_data(20, 100, 0, 10, 100, 100);
	CHECK_EQ(hand_counters()->peers_refused, 1);
	CHECK_EQ(hand_submit((struct nd_command){ .kind = ND_COMMAND_REQUEST, .app = 2, .peer = 30,
						  .port = 1, .bytes = 1 }), -ENOBUFS);
	hand_unknown(12, 100, 0);
	hand_data(20, 100, 0, 10, 100, 100);
	CHECK_EQ(hand_counters()->peers_refused, 3);
	hand_now += config.done_ns + 1;
	hand_data(20, 100, 0, 10, 100, 100);
	CHECK_EQ(hand_counters()->peers_evicted, 1);
	CHECK_EQ(hand_usage().peers, 4);
	CHECK(!nd_homa_peer_find(hand, 12));
}

/* A packet that is smaller than its headers: what is below 0 was the largest of numbers. */
TEST(nd_homa_config_check__asks_for_room_above_the_headers)
{
	const char *why = NULL;

	for (uint32_t mtu = 68; mtu <= 76; mtu++) {
		struct nd_homa_config config = nd_homa_config_default(0, mtu);

		CHECK_EQ(config.mss_bytes, 0);
		CHECK_EQ(nd_homa_config_check(&config, &why), -EINVAL);
		CHECK(strstr(why, "raise the MTU above 76 bytes"));
	}
	CHECK_EQ(nd_homa_config_default(0, 77).mss_bytes, 1);
}

/* Each refusal of a configuration names the field; the ready-made ones are accepted. */
TEST(nd_homa_config_check__names_the_field)
{
	struct nd_homa_config good = hand_defaults(), bad = good;
	const char *why = NULL;

	CHECK_EQ(nd_homa_config_check(&good, &why), 0);
	for (uint32_t unscheduled = 1; unscheduled <= 7; unscheduled++) {
		bad = nd_homa_config_paper(unscheduled, 8 - unscheduled);
		CHECK_EQ(nd_homa_config_check(&bad, &why), 0);
		CHECK_EQ(bad.rtt_bytes, 9700);
	}
#define REFUSED(field, value) \
	do { \
		bad = good; \
		bad.field = value; \
		CHECK_EQ(nd_homa_config_check(&bad, &why), -EINVAL); \
		CHECK(strstr(why, #field)); \
	} while (0)
	REFUSED(mss_bytes, 0);
	REFUSED(mss_bytes, 65535);
	REFUSED(control_bytes, 0);
	REFUSED(message_bytes_max, (1u << 30) + 1);
	REFUSED(rtt_bytes, good.unscheduled_max_bytes + 1);
	REFUSED(max_incoming_bytes, 5000);
	REFUSED(window_dynamic, true);
	REFUSED(levels, 3);
	REFUSED(basic, true);
	REFUSED(first_priority, 8);
	REFUSED(cutoff_mode, 3);
	REFUSED(scheduled_levels, 8);
	REFUSED(overcommit, 17);
	REFUSED(resend_ns, 0);
	REFUSED(resends_max, 0);
	REFUSED(rpcs_max, 0);
	REFUSED(server_rpcs_max, good.rpcs_max + 1);
	REFUSED(ports_max, 0);
	REFUSED(apps_max, 0);
	REFUSED(gaps_max, 0);
	REFUSED(replies_max, 0);
	REFUSED(first_id, 3);
}

/* Idle Homa peer: its entry, its share of the index and of the grant heap, below 512 bytes. */
TEST(nd_homa_bytes__idle_peer)
{
	struct nd_homa_config few = hand_defaults(), many = few;

	few.peers_max = 1024;
	many.peers_max = 2048;
	CHECK((nd_homa_ops.bytes(&many) - nd_homa_ops.bytes(&few)) / 1024 <= 512);
}

int main(int argc, char **argv)
{
	return nd_test_main(argc, argv);
}
