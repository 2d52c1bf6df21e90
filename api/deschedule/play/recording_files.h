/* SPDX-License-Identifier: Apache-2.0
 *
 * The folder of recorded rounds: files "NUMBER.json", of which the oldest go when there
 * are more than NEAP_ROUNDS_MAX or NEAP_ROUNDS_BYTES. A file is there whole or not at
 * all. The functions may run on any thread. */
#ifndef NEAP_API_DESCHEDULE_PLAY_RECORDING_FILES_H
#define NEAP_API_DESCHEDULE_PLAY_RECORDING_FILES_H

#include "api/deschedule/play/recording.h"

#define NEAP_RECORDINGS_SLOW_DISK                                                        \
	"the disk is slow: the recording of an earlier round is still being written"

/* Makes the folder if it is not there. -NEAP_ETOOLARGE, -NEAP_ENOMEM, -NEAP_EUNAVAILABLE
 * (another thread writes one), or of the system: there is nothing new then, and what was
 * there is as before or less. */
int neap_recordings_write(const char *dir, const struct neap_recording *recording,
			  struct neap_error *err);
/* [ { "number": 12, "bytes": 81234 } ], oldest first; a new reference. */
int neap_recordings_list(const char *dir, json_t **ret, struct neap_error *err);
/* Reads a recording as text. -NEAP_ENOTFOUND: there is none of that number. */
int neap_recordings_load(const char *dir, int64_t number, struct neap_buf *ret,
			 struct neap_error *err);

#endif
