// SPDX-License-Identifier: Apache-2.0
/*
 * HULL's pacer, which only counts when it is asked, against a model that steps through every
 * nanosecond: each packet must leave in the same one.
 */
#include "queue/pacer.h"
#include "test/harness.h"

#define BYTE (INT64_C(65536) * 1000000000) /* of tokens, in units of the pacer */
#define LENGTH 40000                       /* ns of a run */
#define PACKETS 24

struct arrival {
	nd_ns time;
	uint16_t bytes;
	nd_ns left; /* what the model says; ND_NEVER when not in this run */
};

static struct arrival arrivals[PACKETS];
static struct nd_pacer_config config;

static void draw(uint64_t seed)
{
	struct nd_rng rng = nd_rng_make(seed, 0);
	nd_ns time = 0;

	config = nd_pacer_testbed();
	config.associate_65536 = ND_PACER_ONE;
	config.period = 1000 + nd_rng_below(&rng, 9000);
	config.eta_65536 = 1 + nd_rng_below(&rng, ND_PACER_ONE);
	config.beta = nd_rng_below(&rng, 2) ? nd_rng_below(&rng, 20000) : 0;
	config.depth_bytes = 500 + nd_rng_below(&rng, 3000);
	if (seed % 2) {
		config.tick = 500 + nd_rng_below(&rng, 3000);
		config.tokens_min = 1 + nd_rng_below(&rng, 10);
		config.tokens_max = config.tokens_min + nd_rng_below(&rng, 2000);
	}
	for (uint32_t i = 0; i < PACKETS; i++) {
		time += nd_rng_below(&rng, 3) ? nd_rng_below(&rng, 2500) : 0;
		arrivals[i] = (struct arrival){ .time = time, .left = ND_NEVER,
						.bytes = (uint16_t)(64 + nd_rng_below(&rng, 1500)) };
	}
}

/* ---- the model ---- */

struct model {
	int64_t tokens;
	uint64_t rate; /* 2^-16 bytes/s */
	uint64_t arrived, waiting; /* bytes: in this period, and now */
	uint32_t first, next;      /* packets that wait: first to next - 1 */
};

static int64_t tokens_of(const struct model *model, nd_ns now)
{
	uint64_t bytes;

	if (!config.tick)
		return (int64_t)model->rate;
	if (now % config.tick)
		return 0;
	bytes = ((model->rate >> 16) * config.tick + ND_SEC / 2) / ND_SEC;
	if (bytes < config.tokens_min)
		bytes = config.tokens_min;
	if (bytes > config.tokens_max)
		bytes = config.tokens_max;
	return (int64_t)bytes * BYTE;
}

/* R = (1 - eta) R + eta M / Tr + beta Q, rounded as the pacer says that it is. */
static void end_period(struct model *model)
{
	unsigned __int128 one = ND_PACER_ONE, eta = config.eta_65536;
	unsigned __int128 measured = (unsigned __int128)model->arrived * ((ND_SEC << 16) /
									  config.period);

	model->rate = (uint64_t)(model->rate - model->rate * eta / one + measured * eta / one) +
		      ((config.beta * model->waiting) << 16);
	model->arrived = 0;
}

static void send(struct model *model, nd_ns now)
{
	while (model->first < model->next) {
		struct arrival *head = &arrivals[model->first];

		if (model->tokens < nd_min_u32(head->bytes, config.depth_bytes) * BYTE)
			return;
		model->tokens -= head->bytes * BYTE;
		model->waiting -= head->bytes;
		model->first++;
		head->left = now;
	}
}

static void run_model(void)
{
	int64_t depth = config.depth_bytes * BYTE;
	struct model model = { .tokens = depth };

	for (nd_ns now = 0; now <= LENGTH; now++) {
		if (now) {
			int64_t more = tokens_of(&model, now);

			model.tokens = more > depth - model.tokens ? depth : model.tokens + more;
			if (now % config.period == 0)
				end_period(&model);
		}
		for (; model.next < PACKETS && arrivals[model.next].time == now; model.next++) {
			model.arrived += arrivals[model.next].bytes;
			model.waiting += arrivals[model.next].bytes;
		}
		send(&model, now);
	}
}

/* ---- the pacer ---- */

static struct nd_pool pool;
static struct nd_pacer pacer;
static uint32_t sent;

static void collect(nd_ns now)
{
	const char *wrong;
	uint32_t index;

	while ((index = nd_pacer_dequeue(&pacer, now)) != ND_NONE) {
		const struct nd_packet *packet = nd_pool_at(&pool, index);

		CHECK_EQ(packet->rank, sent);
		CHECK_EQ(arrivals[sent].left, now);
		nd_pool_put(&pool, index);
		sent++;
	}
	wrong = nd_pacer_audit(&pacer);
	CHECK_STR(wrong ? wrong : "", "");
}

/* From deadline to deadline, as a driver does. */
static void run_until(nd_ns now, nd_ns until)
{
	for (nd_ns next; (next = nd_pacer_deadline(&pacer)) <= until; now = next) {
		CHECK(next >= now);
		collect(next);
	}
}

static void run_pacer(void)
{
	static _Alignas(64) uint8_t memory[PACKETS * 2 * sizeof(struct nd_packet) + 4096];
	static struct nd_pacer_counters counters;
	const char *why = "";
	nd_ns now = 0;

	CHECK(nd_pool_bytes(PACKETS, sizeof(struct nd_packet)) <= sizeof(memory));
	nd_pool_init(&pool, memory, PACKETS, sizeof(struct nd_packet));
	nd_pacer_check(&config, &why);
	CHECK_STR(why, "");
	sent = 0;
	counters = (struct nd_pacer_counters){ 0 };
	nd_pacer_init(&pacer, &config, &pool, &counters, 1, 0);
	nd_pacer_echo(&pacer, 1, 0);
	for (uint32_t i = 0; i < PACKETS && arrivals[i].time <= LENGTH; i++) {
		uint32_t index = nd_pool_get(&pool);

		/* What is due at the time of an arrival goes with it or after it, not before. */
		run_until(now, arrivals[i].time - (arrivals[i].time > 0));
		now = arrivals[i].time;
		*(struct nd_packet *)nd_pool_at(&pool, index) = (struct nd_packet){
			.flow = 1, .rank = i, .wire_bytes = arrivals[i].bytes };
		CHECK_EQ(nd_pacer_enqueue(&pacer, index, now), ND_PACER_QUEUED);
		if (i + 1 == PACKETS || arrivals[i + 1].time != now)
			collect(now);
	}
	run_until(now, LENGTH);
}

/* R-PAC-1, R-PAC-2, R-PAC-3: each packet leaves in the first nanosecond in which it may. */
TEST(nd_pacer__equals_a_model_that_steps)
{
	uint32_t left = 0, waited = 0;

	for (uint64_t seed = 0; seed < 120; seed++) {
		draw(seed);
		run_model();
		run_pacer();
		for (uint32_t i = 0; i < PACKETS; i++) {
			CHECK_EQ(i < sent, arrivals[i].left != ND_NEVER);
			left += arrivals[i].left != ND_NEVER;
			waited += arrivals[i].left != ND_NEVER &&
				  arrivals[i].left > arrivals[i].time;
		}
	}
	CHECK(left > 600 && waited > 300);
}

int main(int argc, char **argv)
{
	return nd_test_main(argc, argv);
}
