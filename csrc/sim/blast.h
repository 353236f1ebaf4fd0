/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An engine without any control: every message is sent at line rate at once, nothing is ever
 * acknowledged or repeated. It is the unresponsive sender of the NDP paper's section 3.1, a load
 * for faults and probes, and the plainest test of everything around engines.
 *
 * A message counts as sent when its last packet is handed to the NIC. A message arrives when as
 * many payload bytes as it has are there, which after a loss is never.
 */
#ifndef ND_SIM_BLAST_H
#define ND_SIM_BLAST_H

#include "transport/transport.h"

struct nd_blast_config {
	uint32_t payload_bytes_max; /* of a packet */
	uint32_t header_bytes;      /* on the wire beside the payload, and once trimmed */
	uint32_t connections_max;   /* open at once, both directions together */
	uint32_t paths;             /* path ids are taken in turn below this */
	uint32_t trimmable;         /* 1: switches may cut the payload */
};

#define ND_BLAST_COUNTERS(X) \
	X(packets_sent, "Data packets sent.") \
	X(packets_received, "Whole data packets received.") \
	X(trimmed_received, "Trimmed headers received.") \
	X(refused, "Messages refused and packets not counted because all connections were in use.")
ND_COUNTERS_STRUCT(nd_blast_counters, ND_BLAST_COUNTERS);
extern const struct nd_counters_table nd_blast_counters_table;

extern const struct nd_transport_ops nd_blast_ops;

#endif
