/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What of a recording must hold before any of it is believed: the structs are bytes of a
 * file, and some of their values no program ever wrote. What cores and engines check of their
 * settings themselves is theirs.
 */
#ifndef ND_HOST_REPLAY_CHECK_H
#define ND_HOST_REPLAY_CHECK_H

#include "host/recording.h"

/* True when a record, which lies in the file with its body, is as it was written. */
bool nd_replay_is_whole(const struct nd_record *record);

/* True when what a SENT says may have been a frame. */
bool nd_replay_is_sent(const struct nd_record *record);

/* NULL, or what is wrong. */
const char *nd_replay_check_header(const struct nd_recording_header *header, size_t bytes);
const char *nd_replay_check_setup(const struct nd_record_setup *setup);
const char *nd_replay_check_port(const struct nd_record_port *port);
const char *nd_replay_check_ndp(const void *config);
const char *nd_replay_check_homa(const void *config);
/* And the command that it was. */
const char *nd_replay_check_tell(const struct nd_record_tell *tell, struct nd_command *command);
const char *nd_replay_check_wire(const struct nd_record_wire *wire);

#endif
