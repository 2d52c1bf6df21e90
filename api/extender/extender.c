/* SPDX-License-Identifier: Apache-2.0
 *
 * The four verbs. filter and prioritize decide exactly the requested nodes; preempt tries
 * each node without its proposed victims; bind goes through the scheduler's books. */
#include "api/extender/extender.h"

#include <stdlib.h>
#include <string.h>

#include "api/extender/extender_priv.h"
#include "engine/base/clock.h"
#include "engine/base/mem.h"

/* Pods of one node that are tried together. */
#define VICTIMS_MAX 512
/* Nodes that are left out of a request, one behind the other, until the next is looked
 * for by name. */
#define HOPS_MAX 4

/* --- what was asked --- */

static int see_rows(struct neap_extender *extender, size_t rows, struct neap_error *err)
{
	if (extender->seen_size < rows) {
		free(extender->seen);
		free(extender->after);
		extender->seen = neap_alloc_array(rows * 2, sizeof(*extender->seen));
		extender->after = neap_alloc_array(rows * 2, sizeof(*extender->after));
		extender->seen_size = extender->seen && extender->after ? rows * 2 : 0;
		if (!extender->seen_size)
			return neap_error_nomem(err);
	}
	extender->request++;
	return 0;
}

/* Most names have 8 to 16 bytes: two words, which lie over each other. */
static bool is_same(const char *one, const char *other, size_t len)
{
	uint64_t first, last, its_first, its_last;

	if (len < 8 || len > 16)
		return memcmp(one, other, len) == 0;
	memcpy(&first, one, 8);
	memcpy(&last, one + len - 8, 8);
	memcpy(&its_first, other, 8);
	memcpy(&its_last, other + len - 8, 8);
	return first == its_first && last == its_last;
}

static bool is_named(const struct neap_text *text, const struct neap_columns *columns,
		     uint32_t row)
{
	const struct neap_row_name *name = &columns->names[row];
	const struct neap_cluster_node *node;

	if (name->len)
		return name->len == text->len && is_same(name->text, text->at, text->len);
	node = columns->nodes[row];
	return node && strncmp(text->at, node->name, text->len) == 0 &&
	       !node->name[text->len];
}

/* The row of a name that comes where it is expected, as names are compared in any case;
 * *place: where the row that comes next is remembered. EXTENDER_NO_ROW: it does not. */
static uint32_t expect_row(const struct neap_extender *extender,
			   const struct neap_columns *columns,
			   const struct neap_text *text, uint32_t **place)
{
	uint32_t row = **place;

	for (int i = 0; i < HOPS_MAX && row < columns->rows; i++) {
		if (is_named(text, columns, row)) {
			*place = &extender->after[row];
			return row;
		}
		row = extender->after[row];
	}
	return EXTENDER_NO_ROW;
}

/* The row of any other name, or EXTENDER_NO_ROW, in *ret. */
static int look_up(const struct question *question, const struct neap_columns *columns,
		   const struct neap_text *text, uint32_t **place, uint32_t *ret,
		   struct neap_error *err)
{
	const struct neap_cluster_node *node;
	char name[NEAP_OBJECT_NAME];

	*ret = EXTENDER_NO_ROW;
	if (!neap_text_name(text, name, sizeof(name)))
		return neap_error_set(err, NEAP_EINVAL, "'%.*s' is no name of a node",
				      (int)(text->len < 60 ? text->len : 60), text->at);
	node = neap_cluster_find_node(question->view.cluster, name);
	if (node && node->row < columns->rows) {
		**place = *ret = node->row;
		*place = &question->extender->after[node->row];
	}
	return 0;
}

static int find_nodes(struct question *question, struct neap_error *err)
{
	struct neap_extender *extender = question->extender;
	size_t count = question->args.count;
	const struct neap_columns *columns = neap_cluster_settle(question->view.cluster);
	uint32_t *place = &extender->first;

	question->rows = neap_alloc_array(count, sizeof(*question->rows));
	question->known = neap_alloc_array(count, sizeof(*question->known));
	if (!question->rows || !question->known)
		return neap_error_nomem(err);
	if (likely_holds(&extender->likely, question)) {
		memcpy(question->rows, extender->likely.rows,
		       count * sizeof(*question->rows));
		memcpy(question->known, extender->likely.rows,
		       count * sizeof(*question->known));
		question->known_count = count;
		return 0;
	}
	if (see_rows(extender, columns->rows, err) < 0)
		return -NEAP_ENOMEM;
	for (size_t i = 0; i < count; i++) {
		const struct neap_text *name = &question->args.names[i];
		uint32_t row = expect_row(extender, columns, name, &place);

		if (row == EXTENDER_NO_ROW &&
		    look_up(question, columns, name, &place, &row, err) < 0)
			return -(int)err->code;
		question->rows[i] = EXTENDER_NO_ROW;
		if (row == EXTENDER_NO_ROW || !(columns->flags[row] & NEAP_ROW_IS_THERE))
			continue;
		if (extender->seen[row] == extender->request)
			return neap_error_set(err, NEAP_EINVAL,
					      "node %.200s is there twice",
					      columns->nodes[row]->name);
		extender->seen[row] = extender->request;
		question->rows[i] = row;
		question->known[question->known_count++] = row;
	}
	return 0;
}

static int find_pod(struct question *question, struct neap_error *err)
{
	const struct neap_extender_args *args = &question->args;
	struct neap_pod *pod =
		neap_cluster_find_pod(question->view.cluster, args->ns, args->name);

	question->pod = pod;
	if (!pod || strcmp(pod->object->uid, args->uid) != 0)
		return neap_error_set(err, NEAP_ENOTFOUND,
				      "neap knows no pod %.63s/%.100s with the uid %.63s",
				      args->ns, args->name, args->uid);
	if (pod->seat.node)
		return neap_error_set(err, NEAP_ECONFLICT,
				      "pod %.63s/%.64s is on node %.64s already",
				      args->ns, args->name, pod->seat.node->name);
	question->view.decide = neap_scheduler_decide(question->extender->scheduler, pod);
	return 0;
}

/* Finds the pod and the nodes. Returns 0; -NEAP_EINVAL: malformed or contradictory; other
 * codes: it cannot be decided. */
static int question_open(struct question *question, struct neap_error *err)
{
	int failed;

	if (!neap_scheduler_view(question->extender->scheduler, &question->view))
		return neap_error_set(err, NEAP_EUNAVAILABLE,
				      "neap is still reading the cluster");
	failed = find_nodes(question, err);
	return failed < 0 ? failed : find_pod(question, err);
}

static void question_done(struct question *question)
{
	neap_extender_args_done(&question->args);
	free(question->rows);
	free(question->known);
}

/* Logs errors that the answer has no room for. */
static void log_trouble(const struct neap_extender *extender, const char *verb,
			const struct neap_error *err)
{
	if (extender->log)
		neap_log_line(extender->log, NEAP_LOG_DEBUG, "extender: %s: %s", verb,
			      err->msg);
}

/* --- time --- */

static int64_t end_of(const struct neap_extender *extender)
{
	return extender->now_usec() + extender->deadline_usec;
}

static bool is_over(void *arg)
{
	const struct question *question = arg;

	return question->extender->now_usec() >= question->end_usec;
}

/* --- filter, prioritize --- */

/* The differences between the two verbs about nodes. */
struct about_nodes {
	bool is_filter;
	int (*decide)(struct neap_decide *decide, const struct neap_pod *pod,
		      const uint32_t *rows, size_t count, struct neap_verdict *ret,
		      struct neap_error *err);
	void (*answer)(const struct question *question,
		       const struct neap_verdict *verdict, struct neap_buf *out);
	/* For requests that cannot be decided. */
	void (*fail)(const struct question *question, const struct neap_error *err,
		     struct neap_buf *out);
};

/* Whose kube-scheduler asks chooses a node for it by the answers. That is one decision,
 * though it asks twice: filter, then prioritize of the nodes that are left. */
static bool is_choice(struct question *question, const struct about_nodes *verb)
{
	struct neap_extender *extender = question->extender;
	const char *uid = question->pod->object->uid;

	if (!verb->is_filter)
		return strcmp(extender->filtered, uid) != 0;
	(void)neap_strcopy(extender->filtered, sizeof(extender->filtered), uid);
	return true;
}

static int decide_in_time(struct question *question, const struct about_nodes *verb,
			  struct neap_verdict *ret, struct neap_error *err)
{
	struct neap_decide *decide = question->view.decide;
	int failed;

	neap_decide_set_hurry(decide, is_over, question);
	neap_decide_set_choice(decide, is_choice(question, verb));
	failed = verb->decide(decide, question->pod, question->known,
			      question->known_count, ret, err);
	neap_decide_set_choice(decide, false);
	neap_decide_set_hurry(decide, NULL, NULL);
	return failed;
}

static void judge(struct neap_extender *extender, struct neap_http_request *request,
		  const struct about_nodes *verb)
{
	neap_auto_buf struct neap_buf out = {0};
	struct question question = {.extender = extender,
				    .end_usec = end_of(extender),
				    .args = extender->kept};
	struct neap_verdict verdict;
	struct neap_error err = {0};
	size_t len;
	const char *body = neap_http_body_get(request, &len);

	neap_buf_init(&out, NEAP_BUF_REPLY);
	if (neap_extender_read_nodes(body, len, &extender->likely.list, &question.args,
				     &err) < 0 ||
	    (question_open(&question, &err) < 0 && err.code == NEAP_EINVAL)) {
		answer_malformed(request, &err);
	} else {
		if (err.code || decide_in_time(&question, verb, &verdict, &err) < 0)
			verb->fail(&question, &err, &out);
		else
			verb->answer(&question, &verdict, &out);
		answer_take(request, &out);
	}
	neap_extender_args_clear(&question.args);
	extender->kept = question.args;
	question.args = (struct neap_extender_args){0};
	question_done(&question);
}

static void fail_filter(const struct question *question, const struct neap_error *err,
			struct neap_buf *out)
{
	(void)question;
	answer_trouble(err->msg, out);
}

static void filter(void *arg, struct neap_http_request *request)
{
	static const struct about_nodes verb = {true, neap_decide_rows, answer_filter,
						fail_filter};

	if (!extender_is_open(arg, request))
		return;
	judge(arg, request, &verb);
}

/* A bare list has no room for an error: no node is better than another. */
static void fail_prioritize(const struct question *question, const struct neap_error *err,
			    struct neap_buf *out)
{
	log_trouble(question->extender, "prioritize", err);
	answer_prioritize(question, NULL, out);
}

static void prioritize(void *arg, struct neap_http_request *request)
{
	static const struct about_nodes verb = {false, neap_decide_scores,
						answer_prioritize, fail_prioritize};

	if (!extender_is_open(arg, request))
		return;
	judge(arg, request, &verb);
}

/* --- preempt --- */

static int by_text(const void *a, const void *b)
{
	const struct neap_text *left = a, *right = b;

	if (left->len != right->len)
		return left->len < right->len ? -1 : 1;
	return left->len ? memcmp(left->at, right->at, left->len) : 0;
}

/* Finds the victims, distinct and evictable. The request decides their number, so each
 * pod of the node is searched among them, not the other way round. */
static bool find_victims(const struct question *question,
			 const struct neap_extender_node *asked,
			 const struct neap_cluster_node *node, struct neap_pod **ret)
{
	struct neap_text sorted[VICTIMS_MAX];
	size_t count = asked->victim_count, found = 0;

	if (!count)
		return true;
	if (count > VICTIMS_MAX)
		return false;
	memcpy(sorted, &question->args.victims[asked->victims], count * sizeof(*sorted));
	qsort(sorted, count, sizeof(*sorted), by_text);
	for (size_t i = 1; i < count; i++)
		if (by_text(&sorted[i - 1], &sorted[i]) == 0)
			return false;
	for (size_t i = 0; i < node->pod_count && found < count; i++) {
		struct neap_pod *pod = node->pods[i];
		const struct neap_text uid = {pod->object->uid, strlen(pod->object->uid)};

		if (!bsearch(&uid, sorted, count, sizeof(*sorted), by_text))
			continue;
		if (neap_decide_is_spared(pod))
			return false;
		ret[found++] = pod;
	}
	return found == count;
}

/* 1: a place for the pod when its victims are gone; 0: none. */
static int try_node(const struct question *question, size_t index, bool is_late,
		    struct neap_error *err)
{
	struct neap_cluster *cluster = question->view.cluster;
	const struct neap_extender_node *asked = &question->args.nodes[index];
	const struct neap_cluster_node *node;
	struct neap_pod *victims[VICTIMS_MAX];

	if (question->rows[index] == EXTENDER_NO_ROW)
		return 0;
	node = neap_cluster_settle(cluster)->nodes[question->rows[index]];
	if (!find_victims(question, asked, node, victims))
		return 0;
	return is_late ? 1
		       : neap_decide_without(question->view.decide, question->pod,
					     node->row, victims, asked->victim_count,
					     err);
}

static int try_nodes(const struct question *question, struct neap_buf *out,
		     struct neap_error *err)
{
	int64_t end = question->extender->now_usec() + NEAP_EXTENDER_TRIAL_USEC;
	size_t told = 0;

	end = end < question->end_usec ? end : question->end_usec;

	neap_buf_adds(out, "{\"NodeNameToMetaVictims\":{");
	for (size_t i = 0; i < question->args.count; i++) {
		int helps =
			try_node(question, i, question->extender->now_usec() >= end, err);

		if (helps < 0)
			return helps;
		if (!helps)
			continue;
		neap_buf_adds(out, told++ ? "," : "");
		answer_victims(question, i, out);
	}
	neap_buf_adds(out, "}}\n");
	return 0;
}

/* The answer has no room for an error: no pod is evicted for a pod that cannot be
 * judged. */
static void fail_preempt(const struct neap_extender *extender,
			 const struct neap_error *err, struct neap_buf *out)
{
	log_trouble(extender, "preempt", err);
	neap_buf_clear(out);
	neap_buf_adds(out, "{\"NodeNameToMetaVictims\":{}}\n");
}

static void preempt(void *arg, struct neap_http_request *request)
{
	neap_auto_buf struct neap_buf out = {0};
	struct question question = {.extender = arg, .end_usec = end_of(arg)};
	struct neap_error err = {0};
	size_t len;
	const char *body = neap_http_body_get(request, &len);

	if (!extender_is_open(arg, request))
		return;
	neap_buf_init(&out, NEAP_BUF_REPLY);
	if (neap_extender_read_victims(body, len, &question.args, &err) < 0 ||
	    (question_open(&question, &err) < 0 && err.code == NEAP_EINVAL)) {
		answer_malformed(request, &err);
	} else {
		if (err.code || try_nodes(&question, &out, &err) < 0)
			fail_preempt(question.extender, &err, &out);
		answer_take(request, &out);
	}
	question_done(&question);
}

/* --- who answers --- */

bool extender_is_open(const struct neap_extender *extender,
		      struct neap_http_request *request)
{
	struct neap_error err;

	if (extender->scheduler)
		return true;
	(void)neap_error_set(&err, NEAP_EUNAVAILABLE,
			     "this neapd does not lead, or still reads the cluster: "
			     "another one answers");
	neap_http_answer_error(request, &err);
	return false;
}

void neap_extender_set_scheduler(struct neap_extender *extender,
				 struct neap_scheduler *scheduler)
{
	extender->scheduler = scheduler;
	/* Rows of another picture. */
	likely_done(&extender->likely);
	extender->likely = (struct likely){0};
	extender->first = 0;
}

/* --- routes --- */

static const struct neap_http_route routes[] = {
	{"POST", "/extender/v1/filter", NEAP_HTTP_READER, filter},
	{"POST", "/extender/v1/prioritize", NEAP_HTTP_READER, prioritize},
	{"POST", "/extender/v1/preempt", NEAP_HTTP_READER, preempt},
	{NULL, NULL, NEAP_HTTP_UNSET, NULL},
};
static const struct neap_http_route bind_routes[] = {
	{"POST", "/extender/v1/bind", NEAP_HTTP_EDITOR, bind_verb},
	{NULL, NULL, NEAP_HTTP_UNSET, NULL},
};

static json_t *refusal(int status, const struct neap_error *err)
{
	(void)status;
	return json_pack("{s:s}", "Error", err->msg);
}

int neap_extender_new(const struct neap_extender_config *config,
		      struct neap_extender **ret, struct neap_error *err)
{
	static const char *const paths[] = {"/extender", NULL};
	static const struct neap_http_tree tree = {
		.paths = paths, .body_max = NEAP_EXTENDER_BODY_MAX, .refusal = refusal};
	struct neap_extender *extender = neap_alloc(sizeof(*extender));

	if (!extender)
		return neap_error_nomem(err);
	extender->scheduler = config->scheduler;
	extender->log = config->log;
	extender->bind_role = config->bind_role;
	extender->deadline_usec = config->deadline_usec ? config->deadline_usec
							: NEAP_EXTENDER_DEADLINE_USEC;
	extender->now_usec = config->now_usec ? config->now_usec : neap_clock_steady;
	if (neap_http_add_routes(config->http, routes, extender, err) < 0 ||
	    (config->bind_role &&
	     neap_http_add_routes(config->http, bind_routes, extender, err) < 0)) {
		free(extender);
		return -(int)err->code;
	}
	neap_http_set_tree(config->http, &tree, true);
	*ret = extender;
	return 0;
}

void neap_extender_free(struct neap_extender *extender)
{
	if (!extender)
		return;
	neap_extender_args_done(&extender->kept);
	likely_done(&extender->likely);
	bind_leave_all(extender);
	free(extender->seen);
	free(extender->after);
	free(extender);
}
