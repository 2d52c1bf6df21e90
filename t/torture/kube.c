/* SPDX-License-Identifier: Apache-2.0
 *
 * Manifests and kinds that are declared. */
#include <stdlib.h>
#include <string.h>

#include "api/kube/crd.h"
#include "engine/base/json.h"
#include "engine/base/mem.h"
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
	int rc = neap_kube_yaml_parse(manifest, strlen(manifest), "manifest", &documents,
				      err);

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

	if (neap_kube_yaml_parse(manifest, strlen(manifest), "manifest", &documents,
				 &err) < 0)
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

const struct torture torture_kube[] = {
	{"kube: yaml", NULL, yaml_act},
	{"kube: declared kind", crd_setup, crd_act, .teardown = crd_teardown},
	{0},
};
