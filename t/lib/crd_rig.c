/* SPDX-License-Identifier: Apache-2.0
 *
 * Definitions in, rows and causes as text out. */
#include "t/lib/crd_rig.h"
#include "api/yaml/yaml.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

struct neap_causes crd_causes;

const char crd_base[] = "apiVersion: apiextensions.k8s.io/v1\n"
			"kind: CustomResourceDefinition\n"
			"metadata:\n"
			"  name: widgets.example.com\n"
			"spec:\n"
			"  group: example.com\n"
			"  scope: Namespaced\n"
			"  names:\n"
			"    kind: Widget\n"
			"    plural: widgets\n"
			"  versions:\n"
			"  - name: v1\n"
			"    served: true\n"
			"    storage: true\n"
			"    schema:\n"
			"      openAPIV3Schema:\n"
			"        type: object\n"
			"        properties:\n"
			"          spec:\n"
			"            type: object\n"
			"            properties:\n"
			"              size: {type: integer}\n"
			"              color: {type: string}\n"
			"              parts: {type: array, items: {type: string}}\n";

json_t *crd_yaml(const char *text, const char *name)
{
	struct neap_error err = {0};
	json_t *all = NULL, *one;

	if (neap_yaml_parse(text, strlen(text), name, &all, &err) < 0)
		fail_msg("%s", err.msg);
	if (json_array_size(all) != 1)
		fail_msg("%s: %zu documents", name, json_array_size(all));
	one = json_incref(json_array_get(all, 0));
	json_decref(all);
	return one;
}

int crd_parse(const json_t *definition, struct neap_kube_kind **ret,
	      struct neap_error *err)
{
	memset(&crd_causes, 0, sizeof(crd_causes));
	return neap_kube_crd_parse(definition, ret, &crd_causes, err);
}

/* "field: message" of each, with " | " between them. */
const char *crd_causes_text(void)
{
	static char text[sizeof(crd_causes)];
	size_t used = 0, i;

	*text = '\0';
	for (i = 0; i < crd_causes.count; i++)
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%s: %s",
					 i ? " | " : "", crd_causes.list[i].field,
					 crd_causes.list[i].message);
	return text;
}

static void add_list(struct neap_buf *buf, const char *name, const char *const *list)
{
	if (list == NULL || *list == NULL)
		return;
	neap_buf_addf(buf, " %s", name);
	for (; *list != NULL; list++)
		neap_buf_addf(buf, ",%s", *list);
}

/* A row in one line. */
void crd_add_row(struct neap_buf *buf, const struct neap_kube_kind *kind)
{
	size_t i;

	neap_buf_addf(buf, "%s %s %s.%s %s %s", kind->kind, kind->list_kind, kind->plural,
		      kind->group, kind->singular,
		      kind->is_namespaced ? "namespaced" : "cluster");
	add_list(buf, "versions", kind->versions);
	add_list(buf, "short", kind->short_names);
	add_list(buf, "categories", kind->categories);
	add_list(buf, "fields", kind->fields);
	if (kind->has_status)
		neap_buf_adds(buf, " status");
	if (kind->replicas_path)
		neap_buf_addf(buf, " scale %s %s %s", kind->replicas_path,
			      kind->status_replicas_path,
			      kind->selector_path ? kind->selector_path : "-");
	for (i = 0; i < kind->column_count; i++) {
		const struct neap_kube_column *column = &kind->columns[i];

		neap_buf_addf(buf, " | %s %s%s%s %s", column->name, column->type,
			      *column->format ? "/" : "", column->format, column->path);
		if (column->priority)
			neap_buf_addf(buf, " %d", column->priority);
	}
}

void crd_build(const char *name, const struct crd_change *changes, struct neap_buf *text)
{
	neap_auto_buf struct neap_buf before = {0};
	size_t i;

	neap_buf_init(&before, NEAP_BUF_LINE);
	neap_buf_adds(text, crd_base);
	for (i = 0; i < CRD_CHANGES && changes[i].from; i++) {
		const struct crd_change *change = &changes[i];
		const char *at;

		neap_buf_clear(&before);
		neap_buf_add(&before, text->data, text->len);
		at = strstr(before.data, change->from);
		if (at == NULL)
			fail_msg("%s: no '%s' in it", name, change->from);
		neap_buf_clear(text);
		neap_buf_add(text, before.data, (size_t)(at - before.data));
		neap_buf_adds(text, change->to);
		neap_buf_adds(text, at + strlen(change->from));
	}
}
