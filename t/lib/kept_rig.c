/* SPDX-License-Identifier: Apache-2.0 */
#include "t/lib/kept_rig.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "engine/base/mem.h"
#include "t/lib/cpus_rig.h"

#define TEXT 4096

struct kept_rig *kept_new(void)
{
	struct neap_decide_config config = {.percentage = 100};
	struct kept_rig *rig = neap_alloc(sizeof(*rig));
	struct neap_error err;

	assert_non_null(rig);
	rig->cluster = cluster_new();
	assert_int_equal(neap_reserve_book_new(rig->cluster, &rig->book, &err), 0);
	config.cluster = rig->cluster;
	config.book = rig->book;
	assert_int_equal(neap_decide_new(&config, &rig->decide, &err), 0);
	return rig;
}

void kept_free(struct kept_rig *rig)
{
	neap_decide_free(rig->decide);
	neap_reserve_book_free(rig->book);
	neap_cluster_free(rig->cluster);
	free(rig);
}

static const char *or_none(const char *text)
{
	return text ? text : "";
}

static void write_meta(char *ret, const char *labels, const char *notes)
{
	(void)snprintf(ret, TEXT, "'labels':{%s},'annotations':{%s}", or_none(labels),
		       or_none(notes));
}

/* --- Reservations --- */

unsigned kept_set(struct kept_rig *rig, const struct kept_reservation *kept)
{
	char meta[TEXT], spec[TEXT], status[TEXT] = "{}";
	struct neap_error err = {0};
	struct neap_object *object;
	unsigned moved = 0;

	write_meta(meta, kept->labels, kept->notes);
	(void)snprintf(
		spec, sizeof(spec),
		"{'template':{'metadata':{'labels':{%s}},'spec':{'containers':[{'resources':{'requests':{%s}},"
		"'ports':[%s]}]%s%s}},'owners':[%s]%s%s}",
		or_none(kept->template_labels), kept->requests, or_none(kept->ports),
		kept->template ? "," : "", or_none(kept->template),
		kept->owners ? kept->owners
			     : "{'labelSelector':{'matchLabels':{'app':'x'}}}",
		*or_none(kept->spec) ? "," : "", or_none(kept->spec));
	if (kept->node)
		(void)snprintf(status, sizeof(status),
			       "{'phase':'%s','nodeName':'%s','allocatable':{%s}}",
			       kept->phase ? kept->phase : "Available", kept->node,
			       kept->requests);
	object = cluster_object(kept->name, "", meta, spec, status);
	if (neap_reserve_book_set(rig->book, object, &moved, &err) < 0)
		fail_msg("%s: %s", kept->name, err.msg);
	(void)neap_object_unref(object);
	return moved;
}

void kept_remove(struct kept_rig *rig, const char *name)
{
	unsigned moved;

	neap_reserve_book_remove(rig->book, name, &moved);
}

/* --- pods --- */

static struct neap_object *pod_object(const struct kept_pod *pod)
{
	char meta[TEXT], spec[TEXT], status[TEXT];

	write_meta(meta, pod->labels, pod->notes);
	(void)snprintf(spec, sizeof(spec),
		       "{'containers':[{'resources':{'requests':{%s}},'ports':[%s]}]"
		       "%s%s%s%s%s}",
		       or_none(pod->requests), or_none(pod->ports),
		       pod->node ? ",'nodeName':'" : "", or_none(pod->node),
		       pod->node ? "'" : "", pod->spec ? "," : "", or_none(pod->spec));
	(void)snprintf(status, sizeof(status), "{%s}", or_none(pod->status));
	return cluster_object(pod->name, "default", meta, spec, status);
}

unsigned kept_set_pod(struct kept_rig *rig, const struct kept_pod *pod)
{
	struct neap_object *object = pod_object(pod);
	struct neap_error err = {0};
	unsigned moved = 0;

	if (neap_cluster_set_pod(rig->cluster, object, &moved, &err) < 0 ||
	    neap_reserve_book_set_pod(rig->book, object, &moved, &err) < 0)
		fail_msg("%s: %s", pod->name, err.msg);
	(void)neap_object_unref(object);
	return moved;
}

unsigned kept_remove_pod(struct kept_rig *rig, const char *name)
{
	unsigned moved;

	neap_cluster_remove_pod(rig->cluster, "default", name, &moved);
	neap_reserve_book_remove_pod(rig->book, "default", name);
	return moved;
}

/* --- deciding --- */

static void tell(const struct neap_pod *pod, const struct neap_claim *claim,
		 const char *node, char *ret, size_t size)
{
	json_t *notes = claim ? neap_claim_annotations(pod, claim) : NULL;
	const char *status =
		json_string_value(json_object_get(notes, KEPT_KEY "resource-status"));
	char cpus[256] = "";

	if (status)
		(void)cpus_of(status, cpus, sizeof(cpus));
	(void)snprintf(ret, size, "%s%s%s%s%s", node,
		       claim && *claim->reservation ? " " : "",
		       claim ? claim->reservation : "", *cpus ? " " : "", cpus);
	json_decref(notes);
}

static void explain(struct kept_rig *rig, char *ret, size_t size)
{
	struct neap_buf message = {0};

	neap_buf_init(&message, size - 1);
	neap_decide_explain(rig->decide, &message);
	(void)snprintf(ret, size, "%s", message.data);
	neap_buf_done(&message);
}

const char *kept_decide(struct kept_rig *rig, struct neap_pod *pod, bool keeps)
{
	static char text[TEXT];
	struct neap_choice choice;
	struct neap_claim *claim = NULL;
	struct neap_error err = {0};
	int rc = neap_decide_pod(rig->decide, pod, &choice, &err);

	if (rc == 0) {
		explain(rig, text, sizeof(text));
		return text;
	}
	if (rc > 0)
		rc = neap_decide_claim(rig->decide, pod, choice.row, &claim, &err);
	if (rc < 0) {
		(void)snprintf(text, sizeof(text), "%s", err.msg);
		return text;
	}
	tell(pod, claim, choice.node, text, sizeof(text));
	if (keeps &&
	    neap_cluster_assume_with(rig->cluster, pod, choice.row, claim, &err) < 0)
		fail_msg("%s", err.msg);
	neap_claim_free(claim);
	return text;
}

const char *kept_place(struct kept_rig *rig, const struct kept_pod *pod, bool keeps)
{
	struct neap_object *object = pod_object(pod);
	struct neap_pod *read = NULL;
	struct neap_error err = {0};
	const char *ret;

	if (keeps) {
		(void)kept_set_pod(rig, pod);
		read = neap_cluster_find_pod(rig->cluster, "default", pod->name);
		ret = kept_decide(rig, read, true);
	} else {
		if (neap_pod_new(object, neap_cluster_resources(rig->cluster), &read,
				 &err) < 0)
			fail_msg("%s: %s", pod->name, err.msg);
		ret = kept_decide(rig, read, false);
		(void)neap_pod_unref(read);
	}
	(void)neap_object_unref(object);
	return ret;
}

int64_t kept_used(struct kept_rig *rig, const char *node, const char *resource)
{
	const struct neap_columns *columns = neap_cluster_settle(rig->cluster);
	const struct neap_cluster_node *found =
		neap_cluster_find_node(rig->cluster, node);
	uint32_t number = 0;
	struct neap_error err;

	assert_non_null(found);
	assert_int_equal(neap_resources_add(neap_cluster_resources(rig->cluster),
					    resource, &number, &err),
			 0);
	return columns->used[number] ? columns->used[number][found->row] : 0;
}

static void add_all(struct kept_rig *rig, const struct kept_row *row)
{
	for (size_t i = 0; i < KEPT_ITEMS && row->nodes[i].name; i++) {
		char meta[256], allocatable[256];

		(void)snprintf(meta, sizeof(meta), "'labels':{%s}",
			       row->nodes[i].labels ? row->nodes[i].labels : "");
		(void)snprintf(allocatable, sizeof(allocatable), "%s%s",
			       row->nodes[i].allocatable,
			       strstr(row->nodes[i].allocatable, "'pods'")
				       ? ""
				       : ",'pods':'110'");
		(void)cluster_set_node(rig->cluster, row->nodes[i].name, meta, "{}",
				       allocatable);
	}
	for (size_t i = 0; i < KEPT_ITEMS && row->kept[i].name; i++)
		(void)kept_set(rig, &row->kept[i]);
	for (size_t i = 0; i < KEPT_ITEMS && row->pods[i].name; i++)
		(void)kept_set_pod(rig, &row->pods[i]);
}

void kept_run(const struct kept_row *rows, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		struct kept_rig *rig = kept_new();
		const char *answer;

		add_all(rig, &rows[i]);
		answer = kept_place(rig, &rows[i].pod, false);
		if (strcmp(answer, rows[i].want) != 0)
			fail_msg("%s: '%s', want '%s'", rows[i].name, answer,
				 rows[i].want);
		/* Once more, as nothing was changed. */
		answer = kept_place(rig, &rows[i].pod, false);
		if (strcmp(answer, rows[i].want) != 0)
			fail_msg("%s: '%s', want '%s' (again)", rows[i].name, answer,
				 rows[i].want);
		kept_free(rig);
	}
}
