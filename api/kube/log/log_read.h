/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads container output from the directory where its shim writes (hw/keeper/keeper.h):
 * "log", older files "log.1" and so on, and "exit" when there will be no more. Each step
 * examines at most NEAP_LOG_BLOCK bytes and keeps only its position, so a reader costs a
 * few hundred bytes and two descriptors.
 *
 * Files may be renamed and removed meanwhile: a reader holds its present file and finds
 * the next by identity, not by name. Output removed before it was read is skipped. Only
 * complete lines are read; an incomplete one in a finished file is ignored. */
#ifndef NEAP_API_KUBE_LOG_LOG_READ_H
#define NEAP_API_KUBE_LOG_LOG_READ_H

#include "api/kube/log/log_line.h"
#include "engine/base/error.h"

struct neap_log_read;

struct neap_log_wish {
	int64_t tail_lines;  /* the last existing lines; below 0: all */
	int64_t limit_bytes; /* of output; below 0: unlimited */
	int64_t since_usec;  /* Unix; 0: all */
	bool has_times;      /* before each line */
	/* until there will be no more; else only what existed at the start */
	bool is_follow;
};

enum neap_log_state {
	NEAP_LOG_MORE,  /* at once */
	NEAP_LOG_WAITS, /* nothing now: ask again later */
	NEAP_LOG_END,
};

/* Opens a file below a directory without following links. -1 with errno. */
int neap_log_open(int dir_fd, const char *name, int flags);
/* Returns the newest attempt in a container's directory, or the one before it; -1:
 * none. */
int neap_log_attempt(int container_fd, bool is_previous);

/* Takes over dir_fd, an attempt's directory, even on failure. */
int neap_log_read_new_take(int dir_fd, const struct neap_log_wish *wish,
			   struct neap_log_read **ret, struct neap_error *err);
void neap_log_read_free(struct neap_log_read *read);
/* Runs one step. block (NEAP_LOG_BLOCK bytes) receives *ret_len bytes of text, possibly
 * none in any state. Returns the state, or -NEAP_ESYS. */
int neap_log_read_next(struct neap_log_read *read, char *block, size_t *ret_len,
		       struct neap_error *err);
/* The writer is gone: what exists now is all. */
void neap_log_read_finish(struct neap_log_read *read);

#endif
