/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The simplest engine that keeps the contract, and can be made to break it on purpose.
 *
 * Every message is a transfer of its own: one packet at a time, acknowledged, sent again after a
 * silence. It exists to prove that each checker of the swarm catches what it is there for.
 */
#ifndef ND_TEST_SWARM_FAKE_H
#define ND_TEST_SWARM_FAKE_H

#include "sim/swarm_host.h"

/* options.sabotage */
enum fake_sabotage {
	FAKE_HONEST,
	FAKE_DELIVERS_TWICE,    /* reports a received message a second time */
	FAKE_LOSES_MESSAGE,     /* acknowledges a message and throws it away */
	FAKE_LEAKS_MEMORY,      /* keeps the memory of a message that was released */
	FAKE_LEAKS_PARTIAL,     /* keeps the memory of a message that never became whole */
	FAKE_CORRUPTS_BYTE,     /* flips a bit of a received message */
	FAKE_OVERLAPS,          /* writes into a message that the application holds */
	FAKE_FORGETS_KEYS,      /* takes a late duplicate for a new message */
	FAKE_FORGETS_TO_REPORT, /* never reports the end of a message to its sender */
	FAKE_REPORTS_EARLY,     /* reports a message sent when it was only begun */
	FAKE_ENDS_TWICE,        /* reports the end of a message twice */
	FAKE_SPINS,             /* has a deadline that does not move on */
	FAKE_NEVER_RESTS,       /* keeps a timer armed for ever */
	FAKE_PUTS_WRONG_SIZE,   /* gives memory back with another length */
	FAKE_WRONG_SOURCE,      /* sends a packet in another host's name */
	FAKE_GIVES_UP_SILENTLY, /* stops sending after a few losses and tells nobody */
	FAKE_FAILS_AUDIT,       /* has a broken invariant */
	FAKE_SABOTAGES,
};

/* The fake under the workload of NDP and of Homa. */
extern const struct nd_swarm_protocol fake_ndp;
extern const struct nd_swarm_protocol fake_homa;

#endif
