/* SPDX-License-Identifier: Apache-2.0
 *
 * Files of a command: texts that are read whole, and a private folder for those that another
 * program (an editor, diff) is to see. */
#ifndef NEAP_API_CTL_BASE_FILES_H
#define NEAP_API_CTL_BASE_FILES_H

#include <limits.h>

#include "engine/base/buf.h"
#include "engine/base/error.h"

/* A whole file, or standard input for "-", up to the ceiling of ret (initialised by the caller,
 * cleared here). Errors name the file. */
int neap_file_read(const char *file, struct neap_buf *ret, struct neap_error *err);

struct neap_scratch {
	char dir[PATH_MAX]; /* "" while there is none */
};

/* A new folder of mode 0700 below $TMPDIR or /tmp. */
int neap_scratch_open(struct neap_scratch *ret, struct neap_error *err);
/* A new file of mode 0600 in it. name has no "/"; ret_path has PATH_MAX bytes. */
int neap_scratch_add(const struct neap_scratch *scratch, const char *name,
		     const char *text, size_t len, char *ret_path,
		     struct neap_error *err);
/* Removes the folder with all files in it, also those that an editor left. */
void neap_scratch_close(struct neap_scratch *scratch);

/* Runs a program from PATH and waits for it. out NULL: it has our own standard output; else what it
 * writes is added there. Returns its exit status, 128 and the signal when one ended it. args ends
 * with NULL. */
int neap_program_run(const char *const *args, struct neap_buf *out,
		     struct neap_error *err);

#endif
