/* SPDX-License-Identifier: Apache-2.0
 *
 * The format number of everything below DATA_DIR, in the file DATA_DIR/format:
 *
 *      neap data 1
 *      written by neapd 0.1.0
 *
 * One number for the whole directory, because its files are read together: a change that
 * an older neapd would misread raises NEAP_DATA_FORMAT and adds a conversion from the
 * previous number. Only the first line counts; the second names the neapd that converted
 * the directory, which is the oldest that surely reads it. A directory without the file
 * has format 1. */
#ifndef NEAP_API_DAEMON_FORMAT_H
#define NEAP_API_DAEMON_FORMAT_H

#include "engine/base/error.h"

#define NEAP_DATA_FORMAT 1
#define NEAP_FORMAT_FILE "format"

struct neap_format {
	int version;     /* 0: no file, or no directory */
	char writer[64]; /* "neapd 0.1.0", "" when missing */
};

/* Reads the file and checks only its form: NEAP_EINVAL when it is damaged. */
int neap_format_read(const char *data_dir, struct neap_format *ret,
		     struct neap_error *err);
/* NEAP_EUNSUPPORTED when a newer neapd wrote the directory, with what to do; NEAP_EINVAL
 * when the file is damaged. Changes nothing. */
int neap_format_check(const char *data_dir, struct neap_error *err);
/* Converts a checked directory to NEAP_DATA_FORMAT. A kill at any moment leaves the old
 * or the new format complete. As the loop's user. */
int neap_format_raise(const char *data_dir, struct neap_error *err);

#endif
