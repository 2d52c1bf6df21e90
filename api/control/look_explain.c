/* SPDX-License-Identifier: Apache-2.0
 *
 * A report of engine/decide as JSON: reasons counted over all nodes, then a page of
 * nodes, the pod's own node first. */
#include <stdlib.h>
#include <string.h>

#include "api/control/look_priv.h"
#include "engine/base/mem.h"
#include "engine/decide/decide.h"
#include "engine/decide/report.h"
#include "engine/json/json.h"
#include "engine/reserve/book.h"

#define REASON_BYTES 640

struct maker {
	const struct neap_look_view *view;
	struct neap_pod *pod;
	const struct neap_report *report;
};

static const char *name_of(const struct maker *maker, uint32_t row)
{
	return neap_cluster_settle(maker->view->cluster)->nodes[row]->name;
}

/* --- the pod, or the placeholder of a Reservation --- */

static void add_condition(json_t *row, const struct neap_object *object,
			  const char *wanted)
{
	json_t *tree = neap_object_tree(object);
	const json_t *condition;
	size_t i;

	json_array_foreach (
		json_object_get(json_object_get(tree, "status"), "conditions"), i,
		condition) {
		const char *type = json_string_value(json_object_get(condition, "type"));

		if (!type || strcmp(type, wanted) != 0)
			continue;
		neap_json_set_text(
			row, "reason",
			json_string_value(json_object_get(condition, "reason")));
		neap_json_set_text(
			row, "message",
			json_string_value(json_object_get(condition, "message")));
	}
	json_decref(tree);
}

static const struct neap_reserve *reserve_of(const struct neap_look_view *view,
					     const struct neap_pod *pod)
{
	const struct neap_reserve_book *book = neap_decide_book(view->decide);

	return book ? neap_reserve_book_of(book, pod) : NULL;
}

static json_t *reservation_json(const struct neap_look_view *view,
				const struct neap_pod *stand)
{
	static const char *const phases[] = {[NEAP_RESERVE_PENDING] = "Pending",
					     [NEAP_RESERVE_AVAILABLE] = "Available",
					     [NEAP_RESERVE_WAITING] = "Waiting",
					     [NEAP_RESERVE_SUCCEEDED] = "Succeeded",
					     [NEAP_RESERVE_FAILED] = "Failed"};
	const struct neap_reserve *reserve = reserve_of(view, stand);
	char cpus[NEAP_CPUSET_TEXT];
	json_t *row = json_pack("{s:s, s:s, s:s, s:i}", "name", stand->keep->name, "uid",
				stand->keep->uid, "scheduler", stand->scheduler,
				"priority", (int)stand->priority);

	if (!row)
		return NULL;
	if (stand->seat.node)
		neap_json_set_text(row, "node", stand->seat.node->name);
	if (reserve) {
		neap_json_set_text(row, "phase", phases[reserve->phase]);
		if (!stand->seat.node)
			add_condition(row, reserve->object, "Scheduled");
	}
	neap_json_set_text(row, "nominated", stand->nominated);
	look_pod_cpus(view, stand, cpus, sizeof(cpus));
	neap_json_set_text(row, "cpus", cpus);
	return row;
}

/* Name of the reservation that it uses, while that exists. */
static const char *used_name(const struct neap_look_view *view,
			     const struct neap_pod *pod)
{
	const struct neap_cluster_node *node = pod->seat.node;
	const char *uid = neap_pod_reservation(pod);

	for (size_t i = 0; *uid && node && i < node->pod_count; i++) {
		const struct neap_reserve *reserve = reserve_of(view, node->pods[i]);

		if (reserve && strcmp(node->pods[i]->keep->uid, uid) == 0)
			return reserve->object->name;
	}
	return uid;
}

static json_t *pod_json(const struct neap_look_view *view, const struct neap_pod *pod)
{
	char cpus[NEAP_CPUSET_TEXT];
	json_t *row =
		json_pack("{s:s, s:s, s:s, s:s, s:i, s:s}", "namespace", pod->object->ns,
			  "name", pod->object->name, "uid", pod->object->uid, "scheduler",
			  pod->scheduler, "priority", (int)pod->priority, "state",
			  !pod->seat.node        ? "pending"
			  : pod->seat.is_assumed ? "assumed"
						 : "bound");

	if (!row)
		return NULL;
	if (pod->seat.node)
		neap_json_set_text(row, "node", pod->seat.node->name);
	else
		add_condition(row, pod->object, "PodScheduled");
	neap_json_set_text(row, "reservation", used_name(view, pod));
	neap_json_set_text(row, "nominated", pod->nominated);
	if (pod->is_gated)
		(void)json_object_set_new(row, "gated", json_true());
	look_pod_cpus(view, pod, cpus, sizeof(cpus));
	neap_json_set_text(row, "cpus", cpus);
	return row;
}

/* --- reasons --- */

static int by_reason(const void *a, const void *b)
{
	const struct neap_report_reason *x = a, *y = b;
	int order = strcmp(x->filter, y->filter);

	if (order)
		return order;
	return x->code < y->code ? -1 : x->code > y->code;
}

static json_t *reason_json(const struct maker *maker,
			   const struct neap_report_reason *reason)
{
	char buf[REASON_BYTES];
	const char *text =
		neap_decide_reason(maker->view->decide, reason->code, buf, sizeof(buf));

	return json_pack("{s:s, s:s, s:b}", "filter", reason->filter, "reason", text,
			 "fewer_pods_may_help", neap_decide_can_help(reason->code));
}

static int by_count(const void *a, const void *b)
{
	const json_t *const *x = a, *const *y = b;
	json_int_t m = json_integer_value(json_object_get(*x, "nodes"));
	json_int_t n = json_integer_value(json_object_get(*y, "nodes"));

	if (m != n)
		return m > n ? -1 : 1;
	return strcmp(json_string_value(json_object_get(*x, "reason")),
		      json_string_value(json_object_get(*y, "reason")));
}

/* Different reasons with the number of nodes that they hold of, the most frequent
 * first. */
static json_t *summary_json(const struct maker *maker)
{
	size_t count = maker->report->reason_count, kinds = 0;
	struct neap_report_reason *list = neap_alloc_array(count + 1, sizeof(*list));
	json_t **rows = neap_alloc_array(count + 1, sizeof(*rows));
	json_t *ret = list && rows ? json_array() : NULL;
	bool done = ret != NULL;

	if (done && count) {
		memcpy(list, maker->report->reasons, count * sizeof(*list));
		qsort(list, count, sizeof(*list), by_reason);
	}
	for (size_t i = 0, end; done && i < count; i = end) {
		for (end = i; end < count && by_reason(&list[i], &list[end]) == 0;)
			end++;
		rows[kinds] = reason_json(maker, &list[i]);
		done = rows[kinds] &&
		       json_object_set_new(rows[kinds], "nodes",
					   json_integer((json_int_t)(end - i))) == 0;
		kinds += rows[kinds] != NULL;
	}
	if (done && kinds)
		qsort(rows, kinds, sizeof(json_t *), by_count);
	for (size_t i = 0; i < kinds; i++) {
		if (done && i < NEAP_LOOK_EXPLAIN_REASONS)
			done = json_array_append(ret, rows[i]) == 0;
		json_decref(rows[i]);
	}
	free(rows);
	free(list);
	return neap_json_made(done, ret);
}

/* --- nodes --- */

static bool add_scores(const struct maker *maker, json_t *row,
		       const struct neap_report_node *node)
{
	json_t *list = json_array();

	if (json_object_set_new(row, "score", json_integer(node->score)) < 0 ||
	    json_object_set_new(row, "scores", list) < 0)
		return false;
	for (size_t i = 0; i < maker->report->score_count; i++) {
		const struct neap_report_score *score = &maker->report->scores[i];

		if (score->points &&
		    json_array_append_new(
			    list, json_pack("{s:s, s:I, s:I, s:i}", "score", score->name,
					    "raw", (json_int_t)score->raw[node->at],
					    "points", (json_int_t)score->points[node->at],
					    "weight", score->weight)) < 0)
			return false;
	}
	return true;
}

static bool add_reasons(const struct maker *maker, json_t *row,
			const struct neap_report_node *node)
{
	json_t *list = json_array();

	if (json_object_set_new(row, "reasons", list) < 0)
		return false;
	for (size_t i = node->reason; i < node->reason + node->reason_count; i++)
		if (json_array_append_new(
			    list, reason_json(maker, &maker->report->reasons[i])) < 0)
			return false;
	return true;
}

static bool add_offers(const struct maker *maker, json_t *row,
		       const struct neap_report_node *node)
{
	struct neap_report_offer *offers;
	struct neap_error err;
	size_t count;
	json_t *list;
	bool done;

	if (neap_decide_offers(maker->view->decide, maker->pod, node->row, &offers,
			       &count, &err) < 0)
		return false;
	list = count ? json_array() : NULL;
	done = !count || json_object_set_new(row, "reservations", list) == 0;
	for (size_t i = 0; done && i < count; i++) {
		const struct neap_report_offer *offer = &offers[i];
		json_t *one =
			json_pack("{s:s, s:b, s:b, s:b}", "name",
				  offer->reserve->object->name, "used", offer->is_used,
				  "open", offer->is_open, "first", offer->is_first);

		if (one && offer->reserve->is_pod)
			neap_json_set_text(one, "namespace", offer->reserve->object->ns);
		if (one)
			neap_json_set_text(one, "reason", offer->why);
		done = json_array_append_new(list, one) == 0;
	}
	free(offers);
	return done;
}

static json_t *node_json(const struct maker *maker, const struct neap_report_node *node)
{
	json_t *row = json_pack("{s:s, s:b}", "node", name_of(maker, node->row), "fits",
				node->reason_count == 0);

	look_add_warning(row,
			 neap_cluster_settle(maker->view->cluster)->nodes[node->row]);
	return neap_json_made(row &&
				      (node->reason_count
					       ? add_reasons(maker, row, node)
					       : add_scores(maker, row, node)) &&
				      add_offers(maker, row, node),
			      row);
}

/* The node that it is on comes first, without its place among the others. */
static bool add_nodes(const struct maker *maker, json_t *body, const struct look_ask *ask)
{
	const struct neap_report *report = maker->report;
	const struct neap_cluster_node *on = maker->pod->seat.node;
	json_t *list = json_array();
	size_t at = 0;

	if (json_object_set_new(body, "nodes", list) < 0)
		return false;
	for (int pass = 0; pass < 2; pass++)
		for (size_t i = 0; i < report->node_count; i++) {
			const struct neap_report_node *node = &report->nodes[i];
			bool is_on = on && node->row == on->row;

			if (is_on != (pass == 0) ||
			    (ask->node &&
			     strcmp(ask->node, name_of(maker, node->row)) != 0))
				continue;
			if (at++ < ask->from)
				continue;
			if (json_array_size(list) >= ask->limit)
				return json_object_set_new(
					       body, "continue",
					       json_integer((json_int_t)at - 1)) == 0;
			if (json_array_append_new(list, node_json(maker, node)) < 0)
				return false;
		}
	return true;
}

/* What the pod would get on the best node; a preference can fail there without any filter
 * knowing. */
static bool add_claim(const struct maker *maker, json_t *body)
{
	const struct neap_report *report = maker->report;
	struct neap_claim *claim = NULL;
	struct neap_error err = {0};
	json_t *notes = NULL, *row, *status = NULL;
	json_error_t where;
	const char *text;
	uint32_t best;
	int ret;

	if (maker->pod->seat.node || !report->fitting)
		return true;
	best = report->nodes[0].row;
	ret = neap_decide_claim(maker->view->decide, maker->pod, best, &claim, &err);
	if (ret == -NEAP_ENOMEM)
		return false;
	if (ret == 0)
		return true;
	row = json_pack("{s:s}", "node", name_of(maker, best));
	if (ret < 0)
		neap_json_set_text(row, "trouble",
				   neap_decide_claim_why(maker->view->decide, &err));
	else
		notes = neap_claim_annotations(maker->pod, claim);
	neap_json_set_text(row, "reservation", claim ? claim->reservation : "");
	neap_claim_free(claim);
	text = json_string_value(json_object_get(notes, NEAP_KEY_RESOURCE_STATUS));
	if (text)
		(void)neap_json_parse(text, strlen(text), 0, &status, &where);
	neap_json_set_text(row, "cpus",
			   json_string_value(json_object_get(status, "cpuset")));
	json_decref(status);
	json_decref(notes);
	return json_object_set_new(body, "claim", row) == 0;
}

static const char *subject_name(const struct neap_pod *pod)
{
	return neap_pod_is_stand(pod) ? "reservation" : "pod";
}

static json_t *subject_json(const struct neap_look_view *view, const struct neap_pod *pod)
{
	return neap_pod_is_stand(pod) ? reservation_json(view, pod) : pod_json(view, pod);
}

static json_t *body_json(const struct maker *maker, const struct look_ask *ask)
{
	const struct neap_report *report = maker->report;
	json_t *body =
		json_pack("{s:o, s:I, s:I, s:o}", subject_name(maker->pod),
			  subject_json(maker->view, maker->pod), "node_count",
			  (json_int_t)report->node_count, "fitting",
			  (json_int_t)report->fitting, "reasons", summary_json(maker));

	return neap_json_made(
		body && add_nodes(maker, body, ask) && add_claim(maker, body), body);
}

int look_explain_json(const struct neap_look_view *view, struct neap_pod *pod,
		      const struct look_ask *ask, json_t **ret, struct neap_error *err)
{
	struct neap_report report;
	const struct maker maker = {.view = view, .pod = pod, .report = &report};
	int failed = neap_decide_report(view->decide, pod, &report, err);

	if (failed == 0) {
		*ret = body_json(&maker, ask);
	} else if (failed == -NEAP_EINVAL) {
		*ret = json_pack("{s:o, s:s}", subject_name(pod), subject_json(view, pod),
				 "trouble", err->msg);
		failed = 0;
	}
	if (failed == 0 && !*ret)
		failed = neap_error_nomem(err);
	neap_report_done(&report);
	return failed;
}
