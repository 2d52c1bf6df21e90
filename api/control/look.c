/* SPDX-License-Identifier: Apache-2.0
 *
 * Routes of the scheduler's views, and their parameters. */
#include "api/control/control.h"

#include <stdlib.h>
#include <string.h>

#include "api/control/look_priv.h"
#include "engine/base/mem.h"
#include "engine/base/quantity.h"
#include "engine/json/json.h"
#include "engine/reserve/book.h"

struct neap_look {
	struct neap_look_source source;
};

static bool view_of(struct neap_look *look, struct neap_http_request *request,
		    struct neap_look_view *ret)
{
	const char *why = "";
	struct neap_error err;

	if (look->source.view(look->source.arg, ret, &why))
		return true;
	(void)neap_error_set(&err, NEAP_EUNAVAILABLE, "%s", why);
	neap_http_answer_error(request, &err);
	return false;
}

/* A whole number from least to most; fallback when it is not said. */
static int number(struct neap_http_request *request, const char *name, int64_t least,
		  int64_t most, size_t fallback, size_t *ret, struct neap_error *err)
{
	const char *text = neap_http_query_find(request, name);
	int64_t value;

	*ret = fallback;
	if (!text)
		return 0;
	if (neap_int_parse(text, &value, NULL) < 0 || value < least || value > most)
		return neap_error_field(err, NEAP_EINVAL, name,
					"a whole number from %lld to %lld",
					(long long)least, (long long)most);
	*ret = (size_t)value;
	return 0;
}

/* --- CPUs --- */

static int by_name(const void *a, const void *b)
{
	const struct neap_cluster_node *const *x = a, *const *y = b;

	return strcmp((*x)->name, (*y)->name);
}

/* Nodes that are there, by name; NULL without memory. */
static const struct neap_cluster_node **sorted(struct neap_cluster *cluster,
					       size_t *ret_count)
{
	const struct neap_columns *columns = neap_cluster_settle(cluster);
	const struct neap_cluster_node **list =
		neap_alloc_array(columns->rows + 1, sizeof(*list));
	size_t count = 0;

	for (size_t row = 0; list && row < columns->rows; row++)
		if (columns->flags[row] & NEAP_ROW_IS_THERE)
			list[count++] = columns->nodes[row];
	if (list)
		qsort(list, count, sizeof(struct neap_cluster_node *), by_name);
	*ret_count = count;
	return list;
}

struct page {
	const char *behind; /* the name that was the last one; NULL: the beginning */
	size_t limit;
	bool is_summary;
};

static json_t *cpus_page(const struct neap_look_view *view, const struct page *page)
{
	json_t *body = json_object(), *nodes = json_array();
	size_t count, i = 0, end;
	const struct neap_cluster_node **list = sorted(view->cluster, &count);
	bool failed = !list || json_object_set_new(body, "nodes", nodes) < 0;

	while (!failed && i < count && page->behind &&
	       strcmp(list[i]->name, page->behind) <= 0)
		i++;
	end = count - i > page->limit ? i + page->limit : count;
	for (; !failed && i < end; i++)
		failed = json_array_append_new(
				 nodes, look_cpus_json(view, list[i], page->is_summary)) <
			 0;
	if (!failed && end < count)
		failed = json_object_set_new(body, "continue",
					     json_string(list[end - 1]->name)) < 0;
	free(list);
	return neap_json_made(!failed, body);
}

static void get_cpus(void *arg, struct neap_http_request *request)
{
	const char *name = neap_http_query_find(request, "node");
	const char *summary = neap_http_query_find(request, "summary");
	struct page page = {.behind = neap_http_query_find(request, "continue")};
	const struct neap_cluster_node *node;
	struct neap_look_view view;
	struct neap_error err = {0};
	int failed = 0;

	page.is_summary = summary && strcmp(summary, "true") == 0;
	if (summary && !page.is_summary && strcmp(summary, "false") != 0)
		failed = neap_error_field(&err, NEAP_EINVAL, "summary", "true or false");
	if (failed == 0)
		failed = number(request, "limit", 1,
				page.is_summary ? NEAP_LOOK_NODES_MAX
						: NEAP_LOOK_CPUS_NODES_MAX,
				NEAP_LOOK_NODES, &page.limit, &err);
	if (failed < 0) {
		neap_http_answer_error(request, &err);
		return;
	}
	if (!view_of(arg, request, &view))
		return;
	if (!name) {
		neap_control_answer_take(request, 200, cpus_page(&view, &page));
		return;
	}
	node = neap_cluster_find_node(view.cluster, name);
	if (!node || !node->object) {
		(void)neap_error_set(&err, NEAP_ENOTFOUND, "there is no node %.200s",
				     name);
		neap_http_answer_error(request, &err);
		return;
	}
	/* A part that is NULL makes json_pack fail. */
	neap_control_answer_take(request, 200,
				 json_pack("{s:[o]}", "nodes",
					   look_cpus_json(&view, node, page.is_summary)));
}

/* --- one pod --- */

/* Reads what is asked, and gets the view; false: answered already. */
static bool begin(struct neap_look *look, struct neap_http_request *request,
		  struct look_ask *ret, struct neap_look_view *ret_view)
{
	struct neap_error err;

	*ret = (struct look_ask){.node = neap_http_query_find(request, "node")};
	if (number(request, "limit", 1, NEAP_LOOK_NODES_MAX, NEAP_LOOK_NODES, &ret->limit,
		   &err) == 0 &&
	    number(request, "continue", 0, NEAP_CLUSTER_NODES_MAX, 0, &ret->from, &err) ==
		    0)
		return view_of(look, request, ret_view);
	neap_http_answer_error(request, &err);
	return false;
}

/* False: not answered yet, and why. */
static bool explain(const struct neap_look *look, struct neap_look_view *view,
		    struct neap_pod *pod, const struct look_ask *ask,
		    struct neap_http_request *request, struct neap_error *err)
{
	const struct neap_cluster_node *node =
		ask->node ? neap_cluster_find_node(view->cluster, ask->node) : NULL;
	json_t *body = NULL;

	if (ask->node && (!node || !node->object)) {
		(void)neap_error_set(err, NEAP_ENOTFOUND, "there is no node %.200s",
				     ask->node);
		return false;
	}
	view->decide = look->source.decide(look->source.arg, pod);
	if (look_explain_json(view, pod, ask, &body, err) < 0)
		return false;
	neap_control_answer_take(request, 200, body);
	return true;
}

static void get_pod(void *arg, struct neap_http_request *request)
{
	const char *ns = neap_http_segment_get(request, 0);
	const char *name = neap_http_segment_get(request, 1);
	struct look_ask ask;
	struct neap_look_view view;
	struct neap_error err = {0};
	struct neap_pod *pod;

	if (!begin(arg, request, &ask, &view))
		return;
	pod = neap_cluster_find_pod(view.cluster, ns, name);
	if (!pod)
		(void)neap_error_set(&err, NEAP_ENOTFOUND,
				     "there is no pod %.63s/%.128s that waits or runs",
				     ns, name);
	else if (explain(arg, &view, pod, &ask, request, &err))
		return;
	neap_http_answer_error(request, &err);
}

/* --- one Reservation, through its placeholder pod --- */

static void get_reservation(void *arg, struct neap_http_request *request)
{
	const char *name = neap_http_segment_get(request, 0);
	const struct neap_reserve_book *book;
	const struct neap_reserve *reserve;
	struct neap_look_view view;
	struct look_ask ask;
	struct neap_error err = {0};

	if (!begin(arg, request, &ask, &view))
		return;
	book = neap_decide_book(view.decide);
	reserve = book ? neap_reserve_book_find(book, name) : NULL;
	if (!reserve)
		(void)neap_error_set(&err, NEAP_ENOTFOUND,
				     "there is no Reservation %.128s", name);
	else if (!reserve->pod)
		(void)neap_error_set(&err, NEAP_EINVAL, "%s",
				     reserve->trouble ? reserve->trouble
						      : "it cannot be read");
	else if (explain(arg, &view, reserve->pod, &ask, request, &err))
		return;
	neap_http_answer_error(request, &err);
}

static const struct neap_http_route routes[] = {
	{"GET", "/control/v1/cpus", NEAP_HTTP_READER, get_cpus},
	{"GET", "/control/v1/explain/pods/{namespace}/{name}", NEAP_HTTP_READER, get_pod},
	{"GET", "/control/v1/explain/reservations/{name}", NEAP_HTTP_READER,
	 get_reservation},
	{0},
};

int neap_look_new(struct neap_http *http, const struct neap_look_source *source,
		  struct neap_look **ret, struct neap_error *err)
{
	struct neap_look *look = neap_alloc(sizeof(*look));
	int failed;

	if (!look)
		return neap_error_nomem(err);
	look->source = *source;
	failed = neap_http_add_routes(http, routes, look, err);
	if (failed < 0) {
		free(look);
		return failed;
	}
	*ret = look;
	return 0;
}

void neap_look_free(struct neap_look *look)
{
	free(look);
}
