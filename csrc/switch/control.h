/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A control thread's handle on a switch, whether a worker runs it or not.
 *
 * Every change is prepared on the calling thread (opening, checking, allocating), made by the
 * worker between two rounds, and cleaned up on the calling thread again (closing, freeing). The
 * data path never waits. Calls may come from several threads; they take turns.
 */
#ifndef ND_SWITCH_CONTROL_H
#define ND_SWITCH_CONTROL_H

#include "switch/worker.h"

struct nd_control;

/* A switch without ports, not running. NULL with *error. */
struct nd_control *nd_control_new(const struct nd_switch_config *config, struct nd_error *error);

/* Stops it, closes its ports and frees it. No other call may be in progress. */
void nd_control_free(struct nd_control *control);

/* A worker begins to run it; one that ends must be left before. 0 or negative errno. */
int nd_control_join(struct nd_control *control, struct nd_worker *worker, struct nd_error *error);
/* The worker runs it no more. Frames wait in the ports meanwhile. */
void nd_control_leave(struct nd_control *control);

/* ---- ports ---- */

/* Opens a port and adds it; may take seconds, which the data path does not notice. Its index. */
int nd_control_add_port(struct nd_control *control, const struct nd_port_config *opening,
			const struct nd_switch_port_settings *settings, struct nd_error *error);

/* What is queued there is dropped; groups, addresses and routes lead there no more. */
int nd_control_remove_port(struct nd_control *control, uint32_t index, struct nd_error *error);

/* Changes all of a port's settings; its queue is built anew unless discipline is NULL. */
int nd_control_set_port(struct nd_control *control, uint32_t index,
			const struct nd_switch_port_settings *settings, struct nd_error *error);

/*
 * Closes a port and opens it again: the remedy for ND_PORT_GONE, CHANGED and STUCK. When that
 * fails the port stays closed, and this may be called again.
 */
int nd_control_reopen_port(struct nd_control *control, uint32_t index,
			   const struct nd_port_config *opening, struct nd_error *error);

int nd_control_enable_port(struct nd_control *control, uint32_t index, bool enabled,
			   struct nd_error *error);

/* What is not in the page. */
struct nd_control_port {
	bool open;
	char mode[32];                     /* in use: "memory", "xdp generic copy", ... */
	char note[ND_ERROR_TEXT_BYTES];    /* what was not as asked for, or "" */
	char why[ND_ERROR_TEXT_BYTES];     /* of a state that is not up, or "" */
	char discipline[16];
	char classes[ND_QUEUE_CLASSES_MAX][16]; /* names, "" beyond the last */
	uint8_t mac[6];
};
int nd_control_describe_port(struct nd_control *control, uint32_t index,
			     struct nd_control_port *out, struct nd_error *error);

/* Looks after the links now instead of at the next tenth of a second. */
void nd_control_check(struct nd_control *control);

/* Watermarks of all ports start again. */
void nd_control_clear_watermarks(struct nd_control *control);

/* ---- forwarding ---- */

/* group is ND_NONE for a new one. Its index. */
int nd_control_set_group(struct nd_control *control, uint32_t group, enum nd_ecmp_mode mode,
			 const uint16_t *ports, uint32_t count, uint32_t divisor,
			 struct nd_error *error);
int nd_control_remove_group(struct nd_control *control, uint32_t group, struct nd_error *error);

/* to: a port, or ND_SWITCH_GROUP | group. */
int nd_control_set_address(struct nd_control *control, const uint8_t mac[6], uint16_t vlan,
			   uint16_t to, struct nd_error *error);
int nd_control_remove_address(struct nd_control *control, const uint8_t mac[6], uint16_t vlan,
			      struct nd_error *error);

/* prefix: IPv4 mapped into ::ffff:0:0/96, its length with it. */
int nd_control_set_route(struct nd_control *control, const uint8_t prefix[16], uint8_t length,
			 const struct nd_route *route, struct nd_error *error);
int nd_control_remove_route(struct nd_control *control, const uint8_t prefix[16], uint8_t length,
			    struct nd_error *error);

/*
 * Copies a part of the forwarding database, from *cursor on (0 to begin), which is then where the
 * next part begins, or ND_NONE when this was the last. Returns how many.
 */
uint32_t nd_control_addresses(struct nd_control *control, uint32_t *cursor,
			      struct nd_fdb_entry *out, uint32_t limit);

/* ---- mirrors ---- */

/* Begins to mirror ports of the switch, to be read by one thread at a time. NULL with *error. */
struct nd_mirror *nd_control_mirror(struct nd_control *control,
				    const struct nd_mirror_config *config, struct nd_error *error);
/* Ends and frees it. */
void nd_control_unmirror(struct nd_control *control, struct nd_mirror *mirror);

/* ---- what it tells ---- */

/* Copies the page: everything as of one moment. */
int nd_control_read(const struct nd_control *control, struct nd_page *copy);

/* The page's descriptor, and one that polls readable when a port's state changed (an eventfd). */
int nd_control_page_fd(const struct nd_control *control);
int nd_control_events_fd(const struct nd_control *control);

/* NULL, or what is wrong; frames wait meanwhile. */
const char *nd_control_audit(struct nd_control *control);

#endif
