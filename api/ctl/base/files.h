/* SPDX-License-Identifier: Apache-2.0
 *
 * Files for commands: reading whole texts, and a private directory for files that another
 * program (an editor, diff) reads. */
#ifndef NEAP_API_CTL_BASE_FILES_H
#define NEAP_API_CTL_BASE_FILES_H

#include <limits.h>

#include "engine/base/buf.h"
#include "engine/base/error.h"

/* Reads a file, or standard input for "-", up to the ceiling of ret (initialised by the
 * caller, cleared here). Errors name the file. */
int neap_file_read(const char *file, struct neap_buf *ret, struct neap_error *err);

struct neap_scratch {
	char dir[PATH_MAX]; /* "" while it does not exist */
};

/* Creates a directory of mode 0700 below $TMPDIR or /tmp. */
int neap_scratch_open(struct neap_scratch *ret, struct neap_error *err);
/* Creates a file of mode 0600 in it. name has no "/"; ret_path has PATH_MAX bytes. */
int neap_scratch_add(const struct neap_scratch *scratch, const char *name,
		     const char *text, size_t len, char *ret_path,
		     struct neap_error *err);
/* Removes the directory with all files in it, including those of an editor. */
void neap_scratch_close(struct neap_scratch *scratch);

/* Runs a program from PATH and waits for it. out NULL: it inherits stdout; else its
 * output is appended to out. Returns its exit status, or 128 plus the signal that ended
 * it. args is NULL-terminated. */
int neap_program_run(const char *const *args, struct neap_buf *out,
		     struct neap_error *err);

#endif
