/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads one object, or lists: whole, in pages that show the state of the first page, or
 * as Tables. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/kube/read/read.h"
#include "api/kube/request/slow.h"
#include "api/kube/types/metrics.h"
#include "engine/base/mem.h"

/* The size of one list: a hundred thousand objects of 2 KB, and more. */
#define LIST_MAX ((size_t)512 * 1024 * 1024)

/* For a kind that is computed on request. */
static struct neap_object *make_object(struct call *call)
{
	const struct neap_kube_target *target = &call->target;
	struct neap_kube_making *making = target->kind->make(
		call->kube->store, *target->ns ? target->ns : NULL, target->name);
	struct neap_object *const *list = NULL;
	struct neap_object *object = NULL;
	struct neap_error err;
	size_t count = 0;
	int more = making ? 1 : neap_error_nomem(&err);

	/* At most one report, and one pod of it is examined. */
	while (more > 0)
		more = neap_kube_making_step(making, &err);
	if (more < 0)
		(void)call_error(call, &err);
	else
		list = neap_kube_making_get(making, &count);
	if (count)
		object = neap_object_ref(list[0]);
	neap_kube_making_free(making);
	return object;
}

/* A new reference. NULL: not found; or out of memory, with call->failure. */
static struct neap_object *find_object(struct call *call)
{
	const struct neap_kube_target *target = &call->target;
	struct neap_object *object;

	if (target->kind->make)
		return make_object(call);
	object = neap_store_find(call->kube->store, call->resource, target->ns,
				 target->name);
	return object ? neap_object_ref(object) : NULL;
}

int call_get(struct call *call)
{
	struct neap_object *object = NULL;
	neap_auto_buf struct neap_buf out = {0};
	int64_t version;

	neap_buf_init(&out, LIST_MAX);
	/* The present object is newer than any earlier version. */
	if (call_version(call, &version) == 0 && call_check_version(call, version) == 0)
		object = find_object(call);
	if (!object)
		return call->failure.message[0] ? -1 : call_missing(call);
	if (call->shape != SHAPE_TABLE)
		shape_object(call, object, &out);
	else if (!shape_table(call, object, true, &out))
		out.failed = true;
	(void)neap_object_unref(object);
	return call_answer_buf(call, 200, &out);
}

/* {"resourceVersion":"7","continue":"..."} */
static void add_metadata(const struct neap_store_place *place, bool has_more,
			 struct neap_buf *out)
{
	char token[NEAP_KUBE_CONTINUE_SIZE];

	neap_buf_addf(out, "{\"resourceVersion\":\"%lld\"", (long long)place->version);
	if (has_more)
		neap_buf_addf(out, ",\"continue\":\"%s\"",
			      neap_kube_continue_format(place, token));
	neap_buf_addc(out, '}');
}

int call_answer_page_take(struct call *call, const struct neap_store_place *place,
			  bool has_more, struct neap_object **objects, size_t count)
{
	neap_auto_buf struct neap_buf metadata = {0};

	neap_buf_init(&metadata, NEAP_BUF_LINE);
	add_metadata(place, has_more, &metadata);
	if (neap_buf_failed(&metadata)) {
		objects_free(call->kube, objects, 0, count);
		return call_nomem(call);
	}
	if (call->shape == SHAPE_TABLE)
		return call_answer_table_take(call, metadata.data, objects, count);
	return call_answer_list_take(call, metadata.data, objects, count);
}

static int fail_expired(struct call *call, bool is_token)
{
	return call_refuse(
		call, NEAP_CLIENT_EXPIRED, "%s",
		is_token ? "The provided continue parameter is too old to display a "
			   "consistent list result. You must start a new list "
			   "without the continue parameter."
			 : "The resourceVersion for the provided list is too old.");
}

int call_check_version(struct call *call, int64_t version)
{
	int64_t newest = neap_store_version(call->kube->store);
	struct neap_causes *causes = &call->kube->causes;

	if (version <= newest)
		return 0;
	neap_causes_clear(causes);
	neap_causes_add(causes, "ResourceVersionTooLarge", "",
			"Too large resource version");
	(void)call_refuse(call, NEAP_CLIENT_TIMEOUT,
			  "Too large resource version: %lld, current: %lld",
			  (long long)version, (long long)newest);
	call->failure.retry_after_s = 1;
	call->failure.causes = causes;
	return -1;
}

static int bad_match(struct call *call, const char *why)
{
	return call_refuse(call, NEAP_CLIENT_INVALID,
			   "ListOptions.meta.k8s.io \"\" is invalid: "
			   "resourceVersionMatch: %s",
			   why);
}

int call_check_match(struct call *call, bool is_watch)
{
	const char *match = call_query(call, "resourceVersionMatch");
	const char *version = call_query(call, "resourceVersion");
	const char *token = call_query(call, "continue");
	bool is_exact;

	if (!match || !*match)
		return 0;
	is_exact = strcmp(match, "Exact") == 0;
	if (!is_exact && strcmp(match, "NotOlderThan") != 0)
		return bad_match(call, "Unsupported value: supported values: "
				       "\"Exact\", \"NotOlderThan\", \"\"");
	if (is_watch)
		return is_exact ? bad_match(call, "Forbidden: a watch takes "
						  "\"NotOlderThan\" alone")
				: 0;
	if (token && *token)
		return bad_match(call,
				 "Forbidden: resourceVersionMatch is forbidden when "
				 "continue is provided");
	if (!version || !*version)
		return bad_match(call, "Forbidden: resourceVersionMatch is forbidden "
				       "unless resourceVersion is provided");
	if (is_exact && strcmp(version, "0") == 0)
		return bad_match(call, "Forbidden: resourceVersionMatch \"exact\" is "
				       "forbidden for resourceVersion \"0\"");
	return 0;
}

/* Where the list starts: at the present state, at the next page, or at a requested
 * version. */
static int find_place(struct call *call, struct neap_store_place *ret,
		      bool *ret_is_newest)
{
	const char *token = call_query(call, "continue");
	const char *match = call_query(call, "resourceVersionMatch");
	int64_t version, newest = neap_store_version(call->kube->store);
	struct neap_error err;

	*ret = (struct neap_store_place){0};
	if (call_check_match(call, false) < 0)
		return -1;
	if (token && *token) {
		if (neap_kube_continue_parse(token, ret, &err) < 0)
			return call_bad(call, "invalid continue token: %s", err.msg);
		/* The version is of another history, as before a restored backup. Answer
		 * as if it were forgotten. */
		return ret->version > newest ? fail_expired(call, true) : 0;
	}
	if (call_version(call, &version) < 0 || call_check_version(call, version) < 0)
		return -1;
	*ret_is_newest = !match || strcmp(match, "Exact") != 0;
	ret->version = *ret_is_newest ? newest : version;
	return 0;
}

/* --- a list --- */

/* A page in progress. */
struct page {
	struct slow slow;
	struct gather gather;
	bool is_of_token;
};

static void page_free(struct page *page)
{
	gather_done(&page->gather);
	slow_done(&page->slow);
	free(page);
}

static void client_gone(void *arg)
{
	page_free(arg);
}

static void page_end(struct slow *slow)
{
	slow_refuse_end(slow);
	page_free((struct page *)slow);
}

static enum neap_task_next page_step(void *arg)
{
	struct page *page = arg;
	struct gather *gather = &page->gather;
	struct call *call = &page->slow.call;
	struct neap_error err;
	bool has_more = false;
	int more = gather_step(call, page->slow.task, gather, &has_more, &err);

	if (more > 0)
		return NEAP_TASK_GOES_ON;
	if (more == -NEAP_EGONE)
		(void)fail_expired(call, page->is_of_token);
	else if (more < 0)
		(void)call_error(call, &err);
	else
		more = call_answer_page_take(call, &gather->place, has_more,
					     neap_steal(gather->objects), gather->count);
	call_end(call, more);
	page_free(page);
	return NEAP_TASK_IS_OVER;
}

int call_list(struct call *call)
{
	struct page *page = neap_alloc(sizeof(*page));

	if (!page)
		return call_nomem(call);
	if (find_place(call, &page->gather.place, &page->gather.is_newest) < 0 ||
	    call_number(call, "limit", 0, &page->gather.limit) < 0 ||
	    choice_parse(call, &page->gather.choice) < 0 ||
	    slow_begin(&page->slow, call, page_step, page_end) < 0) {
		page_free(page);
		return -1;
	}
	if (page->gather.limit < 0)
		page->gather.limit = 0; /* all */
	page->is_of_token = page->gather.place.name[0];
	page->gather.is_shown = shape_is_other(call);
	slow_defer(&page->slow, call, client_gone);
	neap_task_go(page->slow.task);
	return 0;
}

/* --- computed lists ---
 *
 * Lists computed on request instead of stored: a piece per slice, then the answer. */

struct made {
	struct slow slow;
	struct gather gather; /* the objects made that match */
	int64_t version;
	struct neap_kube_making *making;
};

static void made_free(struct made *made)
{
	struct neap_kube *kube = made->slow.call.kube;

	kube->made_count--;
	neap_kube_making_free(made->making);
	gather_done(&made->gather);
	slow_done(&made->slow);
	free(made);
}

static void maker_gone(void *arg)
{
	made_free(arg);
}

static void made_end(struct slow *slow)
{
	slow_refuse_end(slow);
	made_free((struct made *)slow);
}

static int answer_made(struct made *made)
{
	const struct neap_store_place place = {.version = made->version};
	struct call *call = &made->slow.call;
	struct gather *gather = &made->gather;
	size_t count;
	struct neap_object *const *list = neap_kube_making_get(made->making, &count);

	for (size_t i = 0; i < count && !gather->is_short_of_memory; i++)
		(void)gather_take(call, gather, list[i]);
	if (gather->is_short_of_memory)
		return call_nomem(call);
	return call_answer_page_take(call, &place, false, neap_steal(gather->objects),
				     gather->count);
}

static enum neap_task_next made_step(void *arg)
{
	struct made *made = arg;
	struct neap_error err;
	int more = neap_kube_making_step(made->making, &err);

	if (more > 0)
		return NEAP_TASK_GOES_ON;
	call_end(&made->slow.call,
		 more < 0 ? call_error(&made->slow.call, &err) : answer_made(made));
	made_free(made);
	return NEAP_TASK_IS_OVER;
}

int call_make(struct call *call)
{
	struct neap_kube *kube = call->kube;
	const char *ns = call->target.ns;
	struct neap_error err;
	struct made *made;

	if (kube->made_count >= MADE_MAX) {
		(void)neap_error_set(&err, NEAP_EUNAVAILABLE,
				     "too many such lists are being made");
		return call_error(call, &err);
	}
	made = neap_alloc(sizeof(*made));
	if (!made)
		return call_nomem(call);
	kube->made_count++;
	made->slow.call.kube = kube;
	made->version = neap_store_version(kube->store);
	if (choice_parse(call, &made->gather.choice) < 0) {
		made_free(made);
		return -1;
	}
	made->making = call->target.kind->make(kube->store, *ns ? ns : NULL, NULL);
	if (!made->making || slow_begin(&made->slow, call, made_step, made_end) < 0) {
		made_free(made);
		return call_nomem(call);
	}
	slow_defer(&made->slow, call, maker_gone);
	neap_task_wake(made->slow.task);
	return 0;
}
