/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads what a container printed from the folder in which its shim writes (hw/keeper/keeper.h): "log", older ones in
 * "log.1" and so on, and "exit" when there will be no more. Step by step: each looks at NEAP_LOG_BLOCK bytes at most,
 * and nothing is kept between two but where it is, so that a reader costs a few hundred bytes and two descriptors.
 *
 * Files may be renamed and removed meanwhile: a reader holds the one that it is in, and finds the next by what it is,
 * not by its name. What is removed before it was read is left out. Only whole lines are read; one that is not whole
 * in a file that nobody writes any more is none. */
#ifndef NEAP_API_KUBE_LOG_LOG_READ_H
#define NEAP_API_KUBE_LOG_LOG_READ_H

#include "api/kube/log/log_line.h"
#include "engine/base/error.h"

struct neap_log_read;

struct neap_log_wish {
	int64_t tail_lines;  /* the last ones that are there; below 0: all */
	int64_t limit_bytes; /* of what is given; below 0: all */
	int64_t since_usec;  /* Unix; 0: all */
	bool has_times;      /* before each line */
	bool is_follow; /* until there will be no more; else what was there at the start */
};

enum neap_log_state {
	NEAP_LOG_MORE,  /* at once */
	NEAP_LOG_WAITS, /* nothing for now: ask again after a while */
	NEAP_LOG_END,
};

/* Opens a file below a folder, and never through a link. -1 with errno. */
int neap_log_open(int dir_fd, const char *name, int flags);
/* Of the folder of a container the newest attempt, or the one before it; -1: there is none. */
int neap_log_attempt(int container_fd, bool is_previous);

/* Takes dir_fd, the folder of an attempt, also when it fails. */
int neap_log_read_new_take(int dir_fd, const struct neap_log_wish *wish,
			   struct neap_log_read **ret, struct neap_error *err);
void neap_log_read_free(struct neap_log_read *read);
/* One step. block (NEAP_LOG_BLOCK bytes) gets *ret_len bytes of text, which may be none in any state. The state, or
 * -NEAP_ESYS. */
int neap_log_read_next(struct neap_log_read *read, char *block, size_t *ret_len,
		       struct neap_error *err);
/* Nobody writes any more: what is there now is all. */
void neap_log_read_finish(struct neap_log_read *read);

#endif
