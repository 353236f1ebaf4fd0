// SPDX-License-Identifier: Apache-2.0
/* The frame filter as a classic BPF program, for AF_PACKET sockets. */
#include "port/packet_filter.h"

#include <linux/if_ether.h>

#define PROTOCOL_UDP 17
#define PROTOCOL_HOMA 146
#define ACCEPT 0x40000u
#define AT_ETHERTYPE 12u
#define AT_IP ETH_HLEN
#define AT_IPV4_FRAGMENT (AT_IP + 6u)
#define AT_IPV4_PROTOCOL (AT_IP + 9u)
#define AT_IPV6_NEXT (AT_IP + 6u)
#define IPV6_HEADER_BYTES 40u
#define FRAGMENT_OFFSET_MASK 0x1fffu

struct program {
	struct sock_filter *code;
	uint32_t length;
};

static void emit(struct program *program, unsigned code, uint32_t k, uint32_t yes, uint32_t no)
{
	nd_assert(program->length < ND_PACKET_FILTER_MAX);
	program->code[program->length++] = (struct sock_filter){
		.code = (uint16_t)code,
		.jt = (uint8_t)yes,
		.jf = (uint8_t)no,
		.k = k,
	};
}

static void load(struct program *program, unsigned size, uint32_t at)
{
	emit(program, BPF_LD | size | BPF_ABS, at, 0, 0);
}

/* Returns the verdict when the accumulator is the value, goes on otherwise. */
static void verdict_if(struct program *program, uint32_t value, uint32_t verdict)
{
	emit(program, BPF_JMP | BPF_JEQ | BPF_K, value, 0, 1);
	emit(program, BPF_RET | BPF_K, verdict, 0, 0);
}

static void drop(struct program *program)
{
	emit(program, BPF_RET | BPF_K, 0, 0, 0);
}

/* With the IP protocol in the accumulator: goes on when it is UDP, else gives the verdict. */
static void match_protocol(struct program *program, const struct nd_port_filter *filter)
{
	if (filter->homa)
		verdict_if(program, PROTOCOL_HOMA, ACCEPT);
	emit(program, BPF_JMP | BPF_JEQ | BPF_K, PROTOCOL_UDP, 1, 0);
	drop(program);
}

/* With the UDP target port in the accumulator: the last verdict. */
static void match_ports(struct program *program, const struct nd_port_filter *filter)
{
	for (uint32_t i = 0; i < filter->udp_count; i++)
		verdict_if(program, filter->udp_ports[i], ACCEPT);
	drop(program);
}

static void match_ipv4(struct program *program, const struct nd_port_filter *filter)
{
	load(program, BPF_H, AT_IPV4_FRAGMENT);
	emit(program, BPF_JMP | BPF_JSET | BPF_K, FRAGMENT_OFFSET_MASK, 0, 1);
	drop(program);
	load(program, BPF_B, AT_IPV4_PROTOCOL);
	match_protocol(program, filter);
	emit(program, BPF_LDX | BPF_B | BPF_MSH, AT_IP, 0, 0);
	emit(program, BPF_LD | BPF_H | BPF_IND, AT_IP + 2, 0, 0);
	match_ports(program, filter);
}

static void match_ipv6(struct program *program, const struct nd_port_filter *filter)
{
	load(program, BPF_B, AT_IPV6_NEXT);
	match_protocol(program, filter);
	load(program, BPF_H, AT_IP + IPV6_HEADER_BYTES + 2);
	match_ports(program, filter);
}

uint32_t nd_packet_filter(const struct nd_port_filter *filter,
			  struct sock_filter code[ND_PACKET_FILTER_MAX])
{
	struct program program = { .code = code };
	uint32_t skip;

	if (filter->everything) {
		emit(&program, BPF_RET | BPF_K, ACCEPT, 0, 0);
		return program.length;
	}
	load(&program, BPF_H, AT_ETHERTYPE);
	skip = program.length;
	emit(&program, BPF_JMP | BPF_JEQ | BPF_K, ETH_P_IP, 0, 0);
	match_ipv4(&program, filter);
	code[skip].jf = (uint8_t)(program.length - skip - 1);
	emit(&program, BPF_JMP | BPF_JEQ | BPF_K, ETH_P_IPV6, 1, 0);
	drop(&program);
	match_ipv6(&program, filter);
	return program.length;
}
