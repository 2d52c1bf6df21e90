/* SPDX-License-Identifier: Apache-2.0
 *
 * One request in progress, shared by the files of api/extender. */
#ifndef NEAP_API_EXTENDER_EXTENDER_PRIV_H
#define NEAP_API_EXTENDER_EXTENDER_PRIV_H

#include "api/extender/args.h"
#include "api/extender/extender.h"
#include "api/http/server.h"
#include "api/schedule/view.h"
#include "engine/base/buf.h"
#include "engine/decide/decide.h"
#include "engine/log/log.h"

/* Row of a node that does not exist. */
#define EXTENDER_NO_ROW UINT32_MAX

struct ask;
struct question;

/* Bytes of names that are kept. */
#define LIKELY_TEXT_MAX (512 * 1024)

/* The names that prioritize will probably ask about. */
struct likely {
	struct neap_extender_list list; /* none: count 0 */
	uint32_t *rows;
	char *text;
	size_t size, text_size;
	uint64_t readings, generation; /* state of the cluster for which it holds */
};

/* Keeps what a filter accepted, and the names as written in its answer. */
void likely_keep(struct likely *likely, const struct question *question,
		 const struct neap_verdict *verdict, const char *text, size_t len);
/* Returns whether the rows are those of the names in the request. */
bool likely_holds(const struct likely *likely, const struct question *question);
void likely_done(struct likely *likely);

struct neap_extender {
	struct neap_scheduler *scheduler;
	const struct neap_log *log; /* NULL: none */
	enum neap_http_role bind_role;
	int64_t deadline_usec, (*now_usec)(void);
	/* By row: the last request that named it, to detect duplicates. */
	uint64_t *seen;
	/* By row: the row that followed it in an earlier request, because nodes come in
	 * nearly the same order each time; and the first row. */
	uint32_t *after, first;
	size_t seen_size;
	uint64_t request;
	struct likely likely;
	char filtered[64]; /* uid of the pod that filter was last asked about */
	struct ask *asks;  /* bindings in progress, of bind.c */
	struct neap_extender_args kept; /* empty: memory of the previous request */
};

/* The request and what is known about it. */
struct question {
	struct neap_extender *extender;
	int64_t end_usec; /* when its time is up */
	struct neap_extender_args args;
	struct neap_schedule_view view;
	struct neap_pod *pod;
	uint32_t *rows;  /* of args.names, or EXTENDER_NO_ROW */
	uint32_t *known; /* the existing ones */
	size_t known_count;
};

/* --- answer.c --- */

/* out is taken. */
void answer_take(struct neap_http_request *request, struct neap_buf *out);
void answer_malformed(struct neap_http_request *request, const struct neap_error *err);
/* Write the answers; that of filter also keeps the likely next request. */
void answer_filter(const struct question *question, const struct neap_verdict *verdict,
		   struct neap_buf *out);
/* verdict NULL: nothing is known, and all nodes get 0 points. */
void answer_prioritize(const struct question *question,
		       const struct neap_verdict *verdict, struct neap_buf *out);
/* Writes {"Error": text}, with % escaped against use as a format. */
void answer_trouble(const char *text, struct neap_buf *out);
/* Writes one node of the answer of preempt. */
void answer_victims(const struct question *question, size_t index, struct neap_buf *out);

/* --- bind.c --- */

void bind_verb(void *arg, struct neap_http_request *request);
/* Detaches bindings in progress, which finish without the extender. */
/* False: no scheduler works here, which was answered. */
bool extender_is_open(const struct neap_extender *extender,
		      struct neap_http_request *request);
void bind_leave_all(struct neap_extender *extender);

#endif
