// SPDX-License-Identifier: Apache-2.0
/* Programs of others on an interface: each is told apart, and its remedy takes it off. */
#include "port/bpf.h"
#include "port/xdp.h"
#include "port/xdp_occupant.h"
#include "test/netns.h"
#include "test/open_ports.h"

#include <sys/syscall.h>
#include <sys/wait.h>

#define PINNED "/sys/fs/bpf/foreign"

static int call_bpf(int command, union bpf_attr *attributes)
{
	return (int)syscall(SYS_bpf, command, attributes, sizeof(*attributes));
}

/* Loads a program that lets all frames pass and has a name, and pins it for `ip` to attach. */
static int load_foreign(const char *name)
{
	static const struct bpf_insn code[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .imm = XDP_PASS },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	union bpf_attr load = { 0 }, pin = { 0 };
	int program;

	load.prog_type = BPF_PROG_TYPE_XDP;
	load.insns = (uint64_t)(uintptr_t)code;
	load.insn_cnt = ND_ARRAY_SIZE(code);
	load.license = (uint64_t)(uintptr_t) "Apache-2.0";
	snprintf(load.prog_name, sizeof(load.prog_name), "%s", name);
	program = call_bpf(BPF_PROG_LOAD, &load);
	CHECK(program >= 0);
	pin.pathname = (uint64_t)(uintptr_t)PINNED;
	pin.bpf_fd = (uint32_t)program;
	CHECK_EQ(call_bpf(BPF_OBJ_PIN, &pin), 0);
	return program;
}

static void unload(int program)
{
	CHECK_EQ(unlink(PINNED), 0);
	close(program);
}

static struct nd_xdp_occupant find(const char *name)
{
	struct nd_xdp_occupant occupant;

	nd_xdp_occupant_find(&occupant, if_nametoindex(name));
	return occupant;
}

static void check_texts(const char *name, const char *description, const char *wanted)
{
	struct nd_xdp_occupant occupant = find(name);
	char expected[ND_XDP_OCCUPANT_TEXT_BYTES], text[ND_XDP_OCCUPANT_TEXT_BYTES];

	snprintf(expected, sizeof(expected), description, occupant.program, occupant.link);
	nd_xdp_occupant_describe(&occupant, text);
	CHECK_STR(text, expected);
	snprintf(expected, sizeof(expected), wanted, occupant.link);
	nd_xdp_occupant_remedy(&occupant, name, text);
	CHECK_STR(text, expected);
}

TEST(nd_xdp_occupant_find__nobody)
{
	struct nd_xdp_occupant occupant;
	char text[ND_XDP_OCCUPANT_TEXT_BYTES];

	veth_add("x0", "x1", 1500);
	occupant = find("x0");
	CHECK(!occupant.program && !occupant.ours);
	nd_xdp_occupant_describe(&occupant, text);
	CHECK_STR(text, "no program");
	nd_xdp_occupant_remedy(&occupant, "x0", text);
	CHECK_STR(text, "look for one on the interfaces above it, such as a bond, or try again");
	veth_delete("x0");
}

/* `xdp off` takes native programs off and leaves generic ones: the remedy names the mode. */
TEST(nd_xdp_occupant_remedy__takes_it_off)
{
	static const struct {
		const char *keyword, *description, *remedy;
	} modes[] = {
		{ "xdpdrv", "program foreign (id %u, native mode)",
		  "stop its owner, or run `ip link set dev x0 xdpdrv off` if nobody owns it" },
		{ "xdpgeneric", "program foreign (id %u, generic mode)",
		  "stop its owner, or run `ip link set dev x0 xdpgeneric off` if nobody owns it" },
	};
	int program = load_foreign("foreign");

	veth_add("x0", "x1", 1500);
	for (uint32_t i = 0; i < ND_ARRAY_SIZE(modes); i++) {
		shell("ip link set dev x0 %s pinned " PINNED, modes[i].keyword);
		CHECK(!find("x1").program);
		check_texts("x0", modes[i].description, modes[i].remedy);
		shell("ip link set dev x0 %s off", modes[i].keyword);
		CHECK(!find("x0").program);
	}
	veth_delete("x0");
	unload(program);
}

TEST(nd_xdp_occupant_find__on_a_link)
{
	int program = load_foreign(""), link;

	veth_add("x0", "x1", 1500);
	link = nd_bpf_link_xdp(program, if_nametoindex("x0"), XDP_FLAGS_DRV_MODE);
	CHECK(link >= 0);
	check_texts("x0", "program without a name (id %u, native mode, BPF link %u)",
		    "stop its owner, or run `bpftool link detach id %u` if nobody owns it");
	CHECK(!find("x0").ours);
	close(link);
	CHECK(!find("x0").program);
	veth_delete("x0");
	unload(program);
}

/* A port that finds the interface taken says all of it. */
TEST(nd_xdp_open__says_how_another_program_comes_off)
{
	struct nd_port_config config = config_of(ND_PORT_XDP, "x0");
	int program = load_foreign("foreign");

	veth_add("x0", "x1", 1500);
	shell("ip link set dev x0 xdpgeneric pinned " PINNED);
	CHECK(!nd_port_open(&config, &error));
	CHECK(strstr(error.text, "another XDP program is attached: program foreign (id "));
	CHECK(strstr(error.text, "run `ip link set dev x0 xdpgeneric off` if nobody owns it"));
	shell("ip link set dev x0 xdpgeneric off");
	nd_port_close(open_config(&config));
	veth_delete("x0");
	unload(program);
}

/* Whose it is remains root's to see; that there is one does not. */
TEST(nd_xdp_occupant_find__without_rights)
{
	int status, program = load_foreign("foreign");
	pid_t child;

	veth_add("x0", "x1", 1500);
	shell("ip link set dev x0 xdpgeneric pinned " PINNED);
	child = fork();
	if (child == 0) {
		CHECK_EQ(setgid(65534) + setuid(65534), 0);
		CHECK(!find("x0").seen);
		check_texts("x0",
			    "program with a name that only root may see (id %u, generic mode)",
			    "stop its owner, or run `ip link set dev x0 xdpgeneric off` if nobody "
			    "owns it");
		_exit(0);
	}
	CHECK_EQ(waitpid(child, &status, 0), child);
	CHECK_EQ(status, 0);
	veth_delete("x0");
	unload(program);
}

int main(int argc, char **argv)
{
	netns_enter();
	shell("mkdir -p /sys/fs/bpf && mount -t bpf none /sys/fs/bpf");
	return nd_test_main(argc, argv);
}
