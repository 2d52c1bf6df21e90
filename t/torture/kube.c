/* SPDX-License-Identifier: Apache-2.0
 *
 * Manifests, kinds that are declared, and the rules for built-in kinds. */
#include <stdlib.h>
#include <string.h>

#include "api/kube/crd/crd.h"
#include "api/yaml/yaml.h"
#include "engine/base/mem.h"
#include "engine/json/json.h"
#include "t/lib/rules_rig.h"
#include "t/torture/torture.h"

static const char manifest[] =
	"apiVersion: apiextensions.k8s.io/v1\n"
	"kind: CustomResourceDefinition\n"
	"metadata: {name: widgets.example.com}\n"
	"spec:\n"
	"  group: example.com\n"
	"  scope: Namespaced\n"
	"  names: {kind: Widget, plural: widgets, shortNames: [w]}\n"
	"  versions:\n"
	"  - name: v1\n"
	"    served: yes\n"
	"    storage: true\n"
	"    subresources: {status: {}, scale: {specReplicasPath: .spec.size, "
	"statusReplicasPath: .status.size}}\n"
	"    additionalPrinterColumns: [{name: Size, type: integer, jsonPath: .spec.size}]\n"
	"    selectableFields: [{jsonPath: .spec.color}]\n"
	"    schema:\n"
	"      openAPIV3Schema:\n"
	"        type: object\n"
	"        properties:\n"
	"          spec: &part\n"
	"            type: object\n"
	"            properties:\n"
	"              size: {type: integer, minimum: 0, default: 1_0}\n"
	"              color: {type: string, enum: [red, green], pattern: '^[a-z]+$'}\n"
	"          status:\n"
	"            <<: *part\n"
	"            description: |\n"
	"              What became of it.\n"
	"--- # nothing\n";

static int yaml_act(void *state, struct neap_error *err)
{
	neap_auto_free char *text = NULL;
	json_t *documents = NULL;
	int rc = neap_yaml_parse(manifest, strlen(manifest), "manifest", &documents, err);

	(void)state;
	if (rc < 0)
		return rc;
	text = neap_json_dump(documents, JSON_COMPACT);
	json_decref(documents);
	if (text == NULL)
		return neap_error_nomem(err);
	torture_tell("%s", text);
	return 0;
}

static void *crd_setup(void)
{
	struct neap_error err = {0};
	json_t *documents = NULL;

	if (neap_yaml_parse(manifest, strlen(manifest), "manifest", &documents, &err) < 0)
		torture_fail("%s", err.msg);
	return documents;
}

static int crd_act(void *state, struct neap_error *err)
{
	struct neap_causes *causes = neap_alloc(sizeof(*causes));
	struct neap_kube_kind *kind = NULL;
	int rc;

	if (causes == NULL)
		return neap_error_nomem(err);
	rc = neap_kube_crd_parse(json_array_get(state, 0), &kind, causes, err);
	if (rc == 0)
		torture_tell("%s %s %s %s %s %s %s %s", kind->kind, kind->list_kind,
			     kind->plural, kind->singular, kind->short_names[0],
			     kind->columns[1].path, kind->replicas_path,
			     kind->schema->name);
	neap_kube_crd_free(kind);
	free(causes);
	return rc;
}

static void crd_teardown(void *state)
{
	json_decref(state);
}

/* A manifest of each kind, one of each that is wrong in many ways. */
static void *rules_setup(void)
{
	static const char wrong[] =
		"@name='a b'; @volumeMounts=[{'name':'a','mountPath':'/a'}]; "
		"@env=[{'name':'1'}]; @ports=[{'name':'a','containerPort':0},{'name':'a',"
		"'containerPort':1}]; @resources={'limits':{'disk':1}}";
	json_t *objects = json_array();

	for (size_t i = 0; rules_kinds[i] != NULL; i++)
		(void)json_array_append_new(objects, rules_object(rules_kinds[i], ""));
	(void)json_array_append_new(objects, rules_object("Pod", wrong));
	(void)json_array_append_new(objects, rules_object("Deployment", wrong));
	return objects;
}

static int rules_act(void *state, struct neap_error *err)
{
	neap_auto_free struct neap_causes *causes = neap_alloc(sizeof(*causes));
	size_t i;
	const json_t *object;

	if (causes == NULL)
		return neap_error_nomem(err);
	json_array_foreach (state, i, object) {
		/* The two that are wrong stand behind one of each kind. */
		size_t kinds = json_array_size(state) - 2;
		const char *name = i < kinds    ? rules_kinds[i]
				   : i == kinds ? "Pod"
						: "Deployment";

		memset(causes, 0, sizeof(*causes));
		rules_kind(name)->check(object, json_array_get(state, 0), causes);
		for (size_t k = 0; k < causes->count; k++)
			if (strcmp(causes->list[k].reason, "InternalError") == 0)
				return neap_error_nomem(err);
		for (size_t k = 0; k < causes->count; k++)
			torture_tell("%s %s", causes->list[k].reason,
				     causes->list[k].field);
	}
	return 0;
}

const struct torture torture_kube[] = {
	{"kube: yaml", NULL, yaml_act},
	{"kube: declared kind", crd_setup, crd_act, .teardown = crd_teardown},
	{"kube: rules", rules_setup, rules_act, .teardown = crd_teardown},
	{0},
};
