/* SPDX-License-Identifier: Apache-2.0
 *
 * One request at work, shared by the files of api/extender. */
#ifndef NEAP_API_EXTENDER_EXTENDER_PRIV_H
#define NEAP_API_EXTENDER_EXTENDER_PRIV_H

#include "api/extender/args.h"
#include "api/extender/extender.h"
#include "api/http/server.h"
#include "api/schedule/view.h"
#include "engine/base/buf.h"
#include "engine/base/log.h"
#include "engine/decide/decide.h"

/* Of a node that is not there. */
#define EXTENDER_NO_ROW UINT32_MAX

struct ask;
struct question;

/* Bytes of names that are kept. */
#define LIKELY_TEXT_MAX (512 * 1024)

/* What prioritize is likely to be asked about. */
struct likely {
	struct neap_extender_list list; /* none: count 0 */
	uint32_t *rows;
	char *text;
	size_t size, text_size;
	uint64_t readings, generation; /* of the cluster that it is true of */
};

/* What a filter let pass, and the names as its answer has them. */
void likely_keep(struct likely *likely, const struct question *question,
		 const struct neap_verdict *verdict, const char *text, size_t len);
/* The rows are those of the names that were asked about. */
bool likely_holds(const struct likely *likely, const struct question *question);
void likely_done(struct likely *likely);

struct neap_extender {
	struct neap_scheduler *scheduler;
	const struct neap_log *log; /* NULL: none */
	enum neap_http_role bind_role;
	int64_t deadline_usec, (*now_usec)(void);
	/* By row: the request that named it last, so that twice is seen. */
	uint64_t *seen;
	/* By row: the one that followed it in a request before, as nodes come in much the same order each time; and the
	 * one that came first. */
	uint32_t *after, first;
	size_t seen_size;
	uint64_t request;
	struct likely likely;
	struct ask *asks;               /* of bind.c, on their way */
	struct neap_extender_args kept; /* empty: room of the request before */
};

/* What was asked, and what is known of it. */
struct question {
	struct neap_extender *extender;
	int64_t end_usec; /* when its time is over */
	struct neap_extender_args args;
	struct neap_schedule_view view;
	struct neap_pod *pod;
	uint32_t *rows;  /* of args.names, or EXTENDER_NO_ROW */
	uint32_t *known; /* those that are there */
	size_t known_count;
};

/* Finds the pod and the nodes. 0; -NEAP_EINVAL: malformed, or it contradicts itself; any other code: it cannot be
 * judged. */
int question_open(struct question *question, struct neap_error *err);
void question_done(struct question *question);

/* --- answer.c --- */

/* out is taken. */
void answer_take(struct neap_http_request *request, struct neap_buf *out);
void answer_malformed(struct neap_http_request *request, const struct neap_error *err);
/* Texts of answers; with that of filter, what is likely to be asked next is kept. */
void answer_filter(const struct question *question, const struct neap_verdict *verdict,
		   struct neap_buf *out);
/* verdict NULL: nothing is known, and all have 0 points. */
void answer_prioritize(const struct question *question,
		       const struct neap_verdict *verdict, struct neap_buf *out);
/* {"Error": text}, in which no % can be taken for a format. */
void answer_trouble(const char *text, struct neap_buf *out);
/* A node of the answer of preempt. */
void answer_victims(const struct question *question, size_t index, struct neap_buf *out);

/* --- bind.c --- */

void bind_verb(void *arg, struct neap_http_request *request);
/* Bindings on their way are told of without the extender. */
void bind_leave_all(struct neap_extender *extender);

#endif
