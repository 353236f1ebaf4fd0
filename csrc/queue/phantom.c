// SPDX-License-Identifier: Apache-2.0
/* Fills, drains and compares the phantom queue's counter. */
#include "queue/phantom.h"

#include "base/refuse.h"

/* Units of 1e-9 bits in a byte. */
#define BYTE UINT64_C(8000000000)
#define LEVEL_MAX (ND_PHANTOM_LEVEL_MAX_BYTES * BYTE)

ND_COUNTERS_TABLE(nd_phantom_counters, "phantom", ND_PHANTOM_COUNTERS);

int nd_phantom_check(const struct nd_phantom_config *config, const char **why)
{
	if (config->rate_bps < 1 || config->rate_bps > ND_PHANTOM_RATE_MAX_BPS)
		return nd_refuse(why, "rate_bps", config->rate_bps,
				 "must be 1 to 1e12: use 95 % of the link's rate");
	if (config->threshold_bytes >= ND_PHANTOM_LEVEL_MAX_BYTES)
		return nd_refuse(why, "threshold_bytes", config->threshold_bytes,
				 "must be below 1 GiB: use 1000, or 6000 for bursty senders");
	if (config->quantum > ND_PHANTOM_QUANTUM_MAX_NS)
		return nd_refuse(why, "quantum", config->quantum,
				 "must be at most 1000000 ns: use 0 (continuous) or 800");
	return 0;
}

void nd_phantom_init(struct nd_phantom *phantom, const struct nd_phantom_config *config,
		     struct nd_phantom_counters *counters, nd_ns now)
{
	*phantom = (struct nd_phantom){
		.config = config,
		.drained = config->quantum ? now - now % config->quantum : now,
		.counters = counters,
	};
}

/* Time from the last drain to the next that is due by now. */
static nd_ns undrained(const struct nd_phantom *phantom, nd_ns now)
{
	nd_ns elapsed = now > phantom->drained ? now - phantom->drained : 0;

	return phantom->config->quantum ? elapsed - elapsed % phantom->config->quantum : elapsed;
}

static uint64_t level_after(const struct nd_phantom *phantom, nd_ns elapsed)
{
	uint64_t amount;

	if (__builtin_mul_overflow(phantom->config->rate_bps, elapsed, &amount) ||
	    amount >= phantom->level)
		return 0;
	return phantom->level - amount;
}

void nd_phantom_pass(struct nd_phantom *phantom, struct nd_packet *packet, nd_ns now)
{
	nd_ns elapsed = undrained(phantom, now);

	phantom->level = nd_min_u64(level_after(phantom, elapsed) + packet->wire_bytes * BYTE,
				    LEVEL_MAX);
	phantom->drained += elapsed;
	phantom->counters->passed_packets++;
	phantom->counters->passed_bytes += packet->wire_bytes;
	if (ND_LIKELY(phantom->level <= phantom->config->threshold_bytes * BYTE))
		return;
	if (packet->marks & ND_MARK_ECT) {
		packet->marks |= ND_MARK_CE;
		phantom->counters->marked_packets++;
	} else {
		phantom->counters->unmarked_packets++;
	}
}

uint32_t nd_phantom_level(const struct nd_phantom *phantom, nd_ns now)
{
	uint64_t level = level_after(phantom, undrained(phantom, now));

	return (uint32_t)((level + BYTE - 1) / BYTE);
}
