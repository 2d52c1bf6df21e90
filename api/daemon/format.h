/* SPDX-License-Identifier: Apache-2.0
 *
 * The number of the format of everything below DATA_DIR, in the file DATA_DIR/format:
 *
 *	neap data 1
 *	written by neapd 0.1.0
 *
 * One number for the whole folder, as its files are read together: whoever changes what one of them
 * holds so that an older neapd would misread it raises NEAP_DATA_FORMAT and adds the step from the
 * number before. Only the first line decides; the second names the neapd that brought the folder to
 * this format, and so the oldest that surely reads it. A folder without the file is one of before
 * there was a number; it holds what format 1 holds. */
#ifndef NEAP_API_DAEMON_FORMAT_H
#define NEAP_API_DAEMON_FORMAT_H

#include "engine/base/error.h"

#define NEAP_DATA_FORMAT 1
#define NEAP_FORMAT_FILE "format"

struct neap_format {
	int version;     /* 0: there is no file, or no folder */
	char writer[64]; /* "neapd 0.1.0", "" when it does not say */
};

/* Reads, and judges nothing but the file itself: NEAP_EINVAL when it is damaged. */
int neap_format_read(const char *data_dir, struct neap_format *ret,
		     struct neap_error *err);
/* NEAP_EUNSUPPORTED when a newer neapd wrote the folder, with what to do; NEAP_EINVAL when the file
 * is damaged. Changes nothing. */
int neap_format_check(const char *data_dir, struct neap_error *err);
/* Brings a checked folder to NEAP_DATA_FORMAT. Killed at any moment it leaves the old format or the
 * new one, whole. As the loop's user. */
int neap_format_raise(const char *data_dir, struct neap_error *err);

#endif
