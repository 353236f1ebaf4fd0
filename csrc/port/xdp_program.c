// SPDX-License-Identifier: Apache-2.0
/* The XDP program: redirects the frames of the filter to our sockets, leaves all else alone. */
/*
 * DESIGN NOTES
 * 1. One 802.1Q tag is stepped over, as nd_eth_decode() does: with two of them, or with a provider's
 *    (802.1ad), a frame is no stack's and stays the kernel's. A tag that the NIC took off is not
 *    there to be seen.
 * 2. IPv6 extension headers are not walked: our senders never use them, and a walk needs a loop.
 * 3. A later IPv4 fragment carries no UDP header, so it is the kernel's.
 */
#include "port/xdp_program.h"

#include <arpa/inet.h>
#include <linux/if_ether.h>

#define PROTOCOL_UDP 17
#define PROTOCOL_HOMA 146
#define TAG_BYTES 4
#define AT_ETHERTYPE 12
#define AT_IP 14
#define AT_IPV4_FRAGMENT (AT_IP + 6)
#define AT_IPV4_PROTOCOL (AT_IP + 9)
#define IPV4_HEADER_BYTES 20
#define FRAGMENT_OFFSET_MASK 0x1fff
#define AT_IPV6_NEXT (AT_IP + 6)
#define IPV6_HEADER_BYTES 40
#define AT_UDP_TARGET 2
#define UDP_PORTS_BYTES 4

enum { R0, R1, R2, R3, CONTEXT = 6, DATA = 7, END = 8, VALUE = 9, AT = 4 };

/* Where a jump goes; labels are set as the program grows and jumps patched at the end. */
enum label { NEXT, PASS, TAKE, IPV4, IPV6, LABELS };

struct program {
	struct bpf_insn *code;
	uint32_t length;
	uint32_t labels[LABELS];
	uint8_t targets[ND_XDP_PROGRAM_MAX]; /* enum label of each jump, NEXT for the others */
};

static void emit(struct program *program, struct bpf_insn instruction)
{
	nd_assert(program->length < ND_XDP_PROGRAM_MAX);
	program->code[program->length++] = instruction;
}

static void set_label(struct program *program, enum label label)
{
	program->labels[label] = program->length;
}

static void load(struct program *program, unsigned size, unsigned to, unsigned from, int at)
{
	emit(program, (struct bpf_insn){ .code = (uint8_t)(BPF_LDX | BPF_MEM | size),
					 .dst_reg = to & 0xf,
					 .src_reg = from & 0xf,
					 .off = (int16_t)at });
}

static void alu_value(struct program *program, unsigned operation, unsigned to, int32_t value)
{
	emit(program, (struct bpf_insn){ .code = (uint8_t)(BPF_ALU64 | BPF_K | operation),
					 .dst_reg = to & 0xf,
					 .imm = value });
}

static void alu_register(struct program *program, unsigned operation, unsigned to, unsigned from)
{
	emit(program, (struct bpf_insn){ .code = (uint8_t)(BPF_ALU64 | BPF_X | operation),
					 .dst_reg = to & 0xf,
					 .src_reg = from & 0xf });
}

/* Jumps to the label when VALUE compares so. */
static void jump_if(struct program *program, unsigned comparison, int32_t value, enum label label)
{
	program->targets[program->length] = (uint8_t)label;
	emit(program, (struct bpf_insn){ .code = (uint8_t)(BPF_JMP | BPF_K | comparison),
					 .dst_reg = VALUE,
					 .imm = value });
}

/* Passes frames that end before pointer + bytes. */
static void require(struct program *program, unsigned pointer, int32_t bytes)
{
	alu_register(program, BPF_MOV, R3, pointer);
	alu_value(program, BPF_ADD, R3, bytes);
	program->targets[program->length] = PASS;
	emit(program, (struct bpf_insn){ .code = BPF_JMP | BPF_X | BPF_JGT,
					 .dst_reg = R3,
					 .src_reg = END });
}

static void jump(struct program *program, enum label label)
{
	program->targets[program->length] = (uint8_t)label;
	emit(program, (struct bpf_insn){ .code = BPF_JMP | BPF_JA });
}

/* With the ethertype in VALUE: steps over a tag, if it is one. */
static void skip_tag(struct program *program)
{
	uint32_t untagged = program->length;

	jump_if(program, BPF_JNE, htons(ETH_P_8021Q), NEXT);
	require(program, DATA, AT_IP + TAG_BYTES);
	load(program, BPF_H, VALUE, DATA, AT_ETHERTYPE + TAG_BYTES);
	alu_value(program, BPF_ADD, DATA, TAG_BYTES);
	program->code[untagged].off = (int16_t)(program->length - untagged - 1);
}

/* With the IP protocol in VALUE: only UDP goes on. */
static void match_protocol(struct program *program, const struct nd_port_filter *filter)
{
	if (filter->homa)
		jump_if(program, BPF_JEQ, PROTOCOL_HOMA, TAKE);
	jump_if(program, BPF_JNE, PROTOCOL_UDP, PASS);
}

/* With AT at the UDP header: the last decision. */
static void match_ports(struct program *program, const struct nd_port_filter *filter)
{
	require(program, AT, UDP_PORTS_BYTES);
	load(program, BPF_H, VALUE, AT, AT_UDP_TARGET);
	for (uint32_t i = 0; i < filter->udp_count; i++)
		jump_if(program, BPF_JEQ, htons(filter->udp_ports[i]), TAKE);
	jump(program, PASS);
}

static void match_ipv4(struct program *program, const struct nd_port_filter *filter)
{
	set_label(program, IPV4);
	require(program, DATA, AT_IP + IPV4_HEADER_BYTES);
	load(program, BPF_H, VALUE, DATA, AT_IPV4_FRAGMENT);
	jump_if(program, BPF_JSET, htons(FRAGMENT_OFFSET_MASK), PASS);
	load(program, BPF_B, VALUE, DATA, AT_IPV4_PROTOCOL);
	match_protocol(program, filter);
	load(program, BPF_B, VALUE, DATA, AT_IP);
	alu_value(program, BPF_AND, VALUE, 0xf);
	alu_value(program, BPF_LSH, VALUE, 2); /* header length in bytes */
	alu_register(program, BPF_MOV, AT, DATA);
	alu_value(program, BPF_ADD, AT, AT_IP);
	alu_register(program, BPF_ADD, AT, VALUE);
	match_ports(program, filter);
}

static void match_ipv6(struct program *program, const struct nd_port_filter *filter)
{
	set_label(program, IPV6);
	require(program, DATA, AT_IP + IPV6_HEADER_BYTES);
	load(program, BPF_B, VALUE, DATA, AT_IPV6_NEXT);
	match_protocol(program, filter);
	alu_register(program, BPF_MOV, AT, DATA);
	alu_value(program, BPF_ADD, AT, AT_IP + IPV6_HEADER_BYTES);
	match_ports(program, filter);
}

static void match(struct program *program, const struct nd_port_filter *filter)
{
	load(program, BPF_W, DATA, CONTEXT, offsetof(struct xdp_md, data));
	load(program, BPF_W, END, CONTEXT, offsetof(struct xdp_md, data_end));
	require(program, DATA, AT_IP);
	load(program, BPF_H, VALUE, DATA, AT_ETHERTYPE);
	skip_tag(program);
	jump_if(program, BPF_JEQ, htons(ETH_P_IP), IPV4);
	jump_if(program, BPF_JEQ, htons(ETH_P_IPV6), IPV6);
	jump(program, PASS);
	match_ipv4(program, filter);
	match_ipv6(program, filter);
}

static void verdicts(struct program *program, int map)
{
	set_label(program, TAKE);
	emit(program, (struct bpf_insn){ .code = BPF_LD | BPF_DW | BPF_IMM,
					 .dst_reg = R1,
					 .src_reg = BPF_PSEUDO_MAP_FD,
					 .imm = map });
	emit(program, (struct bpf_insn){ 0 }); /* upper half of the map's address */
	load(program, BPF_W, R2, CONTEXT, offsetof(struct xdp_md, rx_queue_index));
	alu_value(program, BPF_MOV, R3, XDP_PASS); /* when the queue has no socket */
	emit(program,
	     (struct bpf_insn){ .code = BPF_JMP | BPF_CALL, .imm = BPF_FUNC_redirect_map });
	emit(program, (struct bpf_insn){ .code = BPF_JMP | BPF_EXIT });
	set_label(program, PASS);
	alu_value(program, BPF_MOV, R0, XDP_PASS);
	emit(program, (struct bpf_insn){ .code = BPF_JMP | BPF_EXIT });
}

uint32_t nd_xdp_program(const struct nd_port_filter *filter, int map,
			struct bpf_insn code[ND_XDP_PROGRAM_MAX])
{
	struct program program = { .code = code };

	alu_register(&program, BPF_MOV, CONTEXT, R1);
	if (!filter->everything)
		match(&program, filter);
	verdicts(&program, map);
	if (filter->everything) /* the last verdict cannot be reached, which the kernel refuses */
		program.length = program.labels[PASS];
	for (uint32_t i = 0; i < program.length; i++)
		if (program.targets[i] != NEXT)
			code[i].off = (int16_t)(program.labels[program.targets[i]] - i - 1);
	return program.length;
}
