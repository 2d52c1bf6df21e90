/* SPDX-License-Identifier: Apache-2.0
 *
 * Kinds that are declared: what rows definitions become, and what is said of broken
 * ones. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "engine/base/mem.h"
#include "engine/json/json.h"
#include "t/lib/crd_rig.h"

#define CHANGES CRD_CHANGES

struct row {
	const char *name;
	struct crd_change changes[CHANGES];
	const char *want; /* the row, or the causes */
};

static const char storage[] = "    storage: true\n";

#define WITH(more)                                                                       \
	{                                                                                \
		{                                                                        \
			storage, "    storage: true\n" more                              \
		}                                                                        \
	}
/* Versions in front of v1. */
#define BEFORE(more)                                                                     \
	{                                                                                \
		{                                                                        \
			"  - name: v1\n", more "  - name: v1\n"                          \
		}                                                                        \
	}
#define WIDGET "Widget WidgetList widgets.example.com widget namespaced versions,v1"

static const struct row good[] = {
	{"the least", {{0}}, WIDGET NAME_AGE},
	{"cluster",
	 {{"Namespaced", "Cluster"}},
	 "Widget WidgetList widgets.example.com widget cluster versions,v1" NAME_AGE},
	{"as the store has it",
	 {{"apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\n", ""}},
	 WIDGET NAME_AGE},
	{"all names",
	 {{"    plural: widgets\n",
	   "    plural: widgets\n    singular: wid\n    listKind: Widgets\n"
	   "    shortNames: [w, wi]\n    categories: [all, things]\n"}},
	 "Widget Widgets widgets.example.com wid namespaced versions,v1 short,w,wi "
	 "categories,all,things" NAME_AGE},
	{"empty names are defaults",
	 {{"    plural: widgets\n",
	   "    plural: widgets\n    singular: \"\"\n    listKind: \"\"\n    shortNames: []\n"}},
	 WIDGET NAME_AGE},
	{"nulls are absent",
	 {{"    plural: widgets\n",
	   "    plural: widgets\n    singular: ~\n    shortNames: ~\n"},
	  {storage,
	   "    storage: true\n    subresources: ~\n    additionalPrinterColumns: ~\n"}},
	 WIDGET NAME_AGE},
	{"columns",
	 WITH("    additionalPrinterColumns:\n"
	      "    - {name: Size, type: integer, jsonPath: .spec.size, format: int32}\n"
	      "    - {name: Ready, type: string, priority: 10, description: Whether it is,\n"
	      "       jsonPath: \".status.conditions[?(@.type=='Ready')].status\"}\n"
	      "    - {name: Old, type: date, jsonPath: .metadata.creationTimestamp}\n"),
	 WIDGET
	 " | Name string/name .metadata.name | Size integer/int32 .spec.size | Ready "
	 "string .status.conditions[?(@.type=='Ready')].status 10 | Old date "
	 ".metadata.creationTimestamp"},
	{"status", WITH("    subresources: {status: {}}\n"), WIDGET " status" NAME_AGE},
	{"scale",
	 WITH("    subresources:\n      scale: {specReplicasPath: .spec.size, "
	      "statusReplicasPath: .status.size}\n"),
	 WIDGET " scale .spec.size .status.size -" NAME_AGE},
	{"scale with a selector",
	 WITH("    subresources:\n      status: {}\n      scale: {specReplicasPath: .spec.size, "
	      "statusReplicasPath: .status.size, labelSelectorPath: .spec.color}\n"),
	 WIDGET " status scale .spec.size .status.size .spec.color" NAME_AGE},
	{"fields of selectors",
	 WITH("    selectableFields: [{jsonPath: .spec.size}, {jsonPath: .spec.color}]\n"),
	 WIDGET " fields,spec.size,spec.color" NAME_AGE},
	{"versions in their order",
	 BEFORE("  - {name: v2alpha1, served: true, storage: false}\n"
		"  - {name: v1beta2, served: true, storage: false}\n"
		"  - {name: old, served: true, storage: false}\n"
		"  - {name: v10beta1, served: true, storage: false}\n"
		"  - {name: v2, served: true, storage: false}\n"
		"  - {name: v0, served: false, storage: false, schema: {openAPIV3Schema: "
		"{type: object}}}\n"
		"  - {name: v11alpha2, served: true, storage: false}\n"
		"  - {name: v1beta10, served: true, storage: false}\n"
		"  - {name: new, served: true, storage: false}\n"),
	 "Widget WidgetList widgets.example.com widget namespaced versions,v2,v1,v10beta1,"
	 "v1beta10,v1beta2,v11alpha2,v2alpha1,new,old" NAME_AGE},
	{"a second version with the same schema",
	 {{"  - name: v1\n", "  - name: v1\n"},
	  {"    schema:\n", "    schema: &schema\n"},
	  {"items: {type: string}}\n",
	   "items: {type: string}}\n  - {name: v1beta1, served: true, storage: false, schema: "
	   "*schema}\n"}},
	 "Widget WidgetList widgets.example.com widget namespaced versions,v1,v1beta1" NAME_AGE},
	{"the one that stores is not served",
	 {{"served: true", "served: false"},
	  {"    schema:\n", "    schema: &schema\n"},
	  {"items: {type: string}}\n",
	   "items: {type: string}}\n  - {name: v1beta1, served: true, storage: false, schema: "
	   "*schema}\n"}},
	 "Widget WidgetList widgets.example.com widget namespaced versions,v1beta1" NAME_AGE},
	{"no type, and nothing is unknown",
	 {{"        type: object\n        prop",
	   "        x-kubernetes-preserve-unknown-fields: true\n        prop"}},
	 WIDGET NAME_AGE},
	{"no conversion",
	 {{"  versions:\n", "  conversion: {strategy: None}\n  versions:\n"}},
	 WIDGET NAME_AGE},
	{"a webhook that is never asked",
	 {{"  versions:\n", "  conversion: {strategy: Webhook}\n  versions:\n"}},
	 WIDGET NAME_AGE},
	{"a group of the community",
	 {{"example.com\n", "widgets.k8s.io\n"},
	  {"group: example.com", "group: widgets.k8s.io"},
	  {"metadata:\n",
	   "metadata:\n  annotations: {api-approved.kubernetes.io: https://example.com/1}\n"}},
	 "Widget WidgetList widgets.widgets.k8s.io widget namespaced versions,v1" NAME_AGE},
	{"not approved, and says so",
	 {{"example.com\n", "widgets.k8s.io\n"},
	  {"group: example.com", "group: widgets.k8s.io"},
	  {"metadata:\n",
	   "metadata:\n  annotations: {api-approved.kubernetes.io: \"unapproved, a trial\"}\n"}},
	 "Widget WidgetList widgets.widgets.k8s.io widget namespaced versions,v1" NAME_AGE},
};

#define LABEL                                                                            \
	"a DNS-1035 label must consist of lower case alphanumeric characters or '-', "   \
	"start with an alphabetic character, and end with an alphanumeric character "    \
	"(e.g. 'my-name',  or 'abc-123', regex used for validation is "                  \
	"'[a-z]([-a-z0-9]*[a-z0-9])?')"
#define DOMAIN                                                                           \
	"a lowercase RFC 1123 subdomain must consist of lower case alphanumeric "        \
	"characters, '-' or '.', and must start and end with an alphanumeric character " \
	"(e.g. 'example.com', regex used for validation is "                             \
	"'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
#define COLUMN(text)                                                                     \
	WITH("    additionalPrinterColumns:\n    - {name: A, type: string, jsonPath: "   \
	     ".a}\n    - {" text "}\n")
#define COLUMN_1    "spec.versions[0].additionalPrinterColumns[1]"
#define SCALE(text) WITH("    subresources: {scale: {" text "}}\n")
#define SCALE_0     "spec.versions[0].subresources.scale"
#define SCHEMA_0    "spec.versions[0].schema.openAPIV3Schema"

static const struct row bad[] = {
	{"another kind",
	 {{"kind: CustomResourceDefinition", "kind: Deployment"}},
	 "kind: Invalid value: \"Deployment\": must be CustomResourceDefinition"},
	{"an older version",
	 {{"k8s.io/v1\n", "k8s.io/v1beta1\n"}},
	 "apiVersion: Invalid value: \"apiextensions.k8s.io/v1beta1\": must be "
	 "apiextensions.k8s.io/v1"},
	{"no spec", {{"\nspec:\n", "\nspek:\n"}}, "spec: Required value"},
	{"spec is a text",
	 {{"\nspec:\n", "\nspec: a\nspek:\n"}},
	 "spec: Invalid value: must be of type object"},
	{"name",
	 {{"widgets.example.com", "gadgets.example.com"}},
	 "metadata.name: Invalid value: \"gadgets.example.com\": must be "
	 "spec.names.plural+\".\"+spec.group"},
	{"no name",
	 {{"  name: widgets.example.com", "  labels: {a: b}"}},
	 "metadata.name: Required value: name or generateName is required"},
	{"no metadata",
	 {{"metadata:\n  name: widgets.example.com\n", ""}},
	 "metadata.name: Required value: name or generateName is required"},
	{"no group", {{"  group: example.com\n", ""}}, "spec.group: Required value"},
	{"group is a number",
	 {{"  group: example.com\n", "  group: 5\n"}},
	 "spec.group: Invalid value: must be of type string"},
	{"group without a dot",
	 {{"group: example.com", "group: example"},
	  {"widgets.example.com", "widgets.example"}},
	 "spec.group: Invalid value: \"example\": should be a domain with at least one dot"},
	{"group in capitals",
	 {{"group: example.com", "group: Example.com"},
	  {"widgets.example.com", "widgets.Example.com"}},
	 "spec.group: Invalid value: \"Example.com\": " DOMAIN},
	{"group with two dots",
	 {{"group: example.com", "group: example..com"},
	  {"widgets.example.com", "widgets.example..com"}},
	 "spec.group: Invalid value: \"example..com\": " DOMAIN},
	{"group that ends in a dash",
	 {{"group: example.com", "group: example-.com"},
	  {"widgets.example.com", "widgets.example-.com"}},
	 "spec.group: Invalid value: \"example-.com\": " DOMAIN},
	{"no scope", {{"  scope: Namespaced\n", ""}}, "spec.scope: Required value"},
	{"scope",
	 {{"scope: Namespaced", "scope: Node"}},
	 "spec.scope: Unsupported value: \"Node\": supported values: \"Cluster\", "
	 "\"Namespaced\""},
	{"no names",
	 {{"  names:\n    kind: Widget\n    plural: widgets\n", ""}},
	 "spec.names.plural: Required value | spec.names.kind: Required value"},
	{"no plural",
	 {{"    plural: widgets\n", ""}},
	 "spec.names.plural: Required value"},
	{"plural in capitals",
	 {{"plural: widgets", "plural: Widgets"},
	  {"widgets.example.com", "Widgets.example.com"}},
	 "spec.names.plural: Invalid value: \"Widgets\": " LABEL},
	{"plural that begins with a digit",
	 {{"plural: widgets", "plural: 1widgets"},
	  {"widgets.example.com", "1widgets.example.com"}},
	 "spec.names.plural: Invalid value: \"1widgets\": " LABEL},
	{"plural with a dot",
	 {{"plural: widgets", "plural: wid.gets"},
	  {"widgets.example.com", "wid.gets.example.com"}},
	 "spec.names.plural: Invalid value: \"wid.gets\": " LABEL},
	{"plural too long",
	 {{"plural: widgets",
	   "plural: a234567890123456789012345678901234567890123456789012345678901234"},
	  {"widgets.example.com",
	   "a234567890123456789012345678901234567890123456789012345678901234.example.com"}},
	 "spec.names.plural: Invalid value: "
	 "\"a234567890123456789012345678901234567890123456789012345678901234\": must be no more "
	 "than 63 characters"},
	{"kind with a dash at its end",
	 {{"kind: Widget\n", "kind: Widget-\n"}},
	 "spec.names.kind: Invalid value: \"Widget-\": may have mixed case, but should "
	 "otherwise match: " LABEL},
	{"list kind like the kind",
	 {{"kind: Widget\n", "kind: Widget\n    listKind: Widget\n"}},
	 "spec.names.listKind: Invalid value: \"Widget\": kind and listKind may not be the same"},
	{"short name",
	 {{"kind: Widget\n", "kind: Widget\n    shortNames: [w, W_]\n"}},
	 "spec.names.shortNames[1]: Invalid value: \"W_\": " LABEL},
	{"short names are a text",
	 {{"kind: Widget\n", "kind: Widget\n    shortNames: w\n"}},
	 "spec.names.shortNames: Invalid value: must be of type array"},
	{"short name is a number",
	 {{"kind: Widget\n", "kind: Widget\n    shortNames: [7]\n"}},
	 "spec.names.shortNames[0]: Invalid value: must be of type string"},
	{"category",
	 {{"kind: Widget\n", "kind: Widget\n    categories: [all, \"\"]\n"}},
	 "spec.names.categories[1]: Invalid value: \"\": " LABEL},
	{"not approved",
	 {{"example.com\n", "widgets.k8s.io\n"},
	  {"group: example.com", "group: widgets.k8s.io"}},
	 "metadata.annotations[api-approved.kubernetes.io]: Required value: protected groups "
	 "must have approval annotation \"api-approved.kubernetes.io\", see "
	 "https://github.com/kubernetes/enhancements/pull/1111"},
	{"approved by a word",
	 {{"example.com\n", "kubernetes.io\n"},
	  {"group: example.com", "group: kubernetes.io"},
	  {"metadata:\n",
	   "metadata:\n  annotations: {api-approved.kubernetes.io: really}\n"}},
	 "metadata.annotations[api-approved.kubernetes.io]: Invalid value: \"really\": protected "
	 "groups must have approval annotation \"api-approved.kubernetes.io\" with either a URL or "
	 "a reason starting with \"unapproved\", see "
	 "https://github.com/kubernetes/enhancements/pull/1111"},
	{"keeps unknown fields",
	 {{"  scope:", "  preserveUnknownFields: true\n  scope:"}},
	 "spec.preserveUnknownFields: Invalid value: true: must be false"},
	{"no versions",
	 {{"  versions:\n", "  vers:\n"}},
	 "spec.versions: Required value"},
	{"empty versions",
	 {{"  versions:\n", "  versions: []\n  vers:\n"}},
	 "spec.versions: Invalid value: must have exactly one version marked as storage "
	 "version"},
	{"no version stores",
	 {{storage, "    storage: false\n"}},
	 "spec.versions: Invalid value: must have exactly one version marked as storage version"},
	{"two versions store", BEFORE("  - {name: v2, served: true, storage: true}\n"),
	 "spec.versions: Invalid value: must have exactly one version marked as storage version"},
	{"a version twice", BEFORE("  - {name: v1, served: true, storage: false}\n"),
	 "spec.versions: Invalid value: must contain unique version names"},
	{"version name",
	 {{"- name: v1\n", "- name: V1.0\n"}},
	 "spec.versions[0].name: Invalid value: \"V1.0\": " LABEL},
	{"version without a name", BEFORE("  - {served: true, storage: false}\n"),
	 "spec.versions[0].name: Required value"},
	{"version is a text", BEFORE("  - v2\n"),
	 "spec.versions[0].name: Required value"},
	{"no version is served",
	 {{"served: true", "served: false"}},
	 "spec.versions: Invalid value: one of them must be served: nobody could ask for "
	 "the kind"},
	{"served is a text",
	 {{"served: true", "served: \"true\""}},
	 "spec.versions[0].served: Invalid value: must be of type boolean | "
	 "spec.versions: Invalid value: one of them must be served: nobody could ask for "
	 "the kind"},
	{"no schema",
	 {{"    schema:\n", "    scheme:\n"}},
	 SCHEMA_0 ": Required value: schemas are required"},
	{"schema is a text",
	 {{"openAPIV3Schema:\n", "openAPIV3Schema: a\n      other:\n"}},
	 SCHEMA_0 ": Required value: schemas are required"},
	{"another schema",
	 BEFORE("  - name: v2\n    served: true\n    storage: false\n    schema: "
		"{openAPIV3Schema: {type: object}}\n"),
	 "spec.versions[0].schema.openAPIV3Schema: Forbidden: may differ from that of the version "
	 "that stores only in what describes and what validates: objects are not converted"},
	{"other subresources",
	 {{"    schema:\n", "    schema: &schema\n"},
	  {"items: {type: string}}\n",
	   "items: {type: string}}\n  - {name: v1beta1, served: true, storage: false, schema: "
	   "*schema, subresources: {status: {}}}\n"}},
	 "spec.versions[1].subresources: Forbidden: must be equal to those of the version that "
	 "stores: objects are not converted"},
	{"a webhook between versions",
	 {{"  versions:\n",
	   "  conversion: {strategy: Webhook}\n  versions:\n  - {name: v2, served: true, storage: "
	   "false}\n"}},
	 "spec.conversion.strategy: Forbidden: objects are not converted: serve one version"},
	{"conversion",
	 {{"  versions:\n", "  conversion: {strategy: Magic}\n  versions:\n"}},
	 "spec.conversion.strategy: Unsupported value: \"Magic\": supported values: \"None\", "
	 "\"Webhook\""},
	{"no strategy",
	 {{"  versions:\n", "  conversion: {}\n  versions:\n"}},
	 "spec.conversion.strategy: Required value"},
	{"column without all", COLUMN("description: x"),
	 COLUMN_1
	 ".name: Required value | " COLUMN_1
	 ".type: Required value: must be one of boolean,date,integer,number,string | " COLUMN_1
	 ".JSONPath: Required value"},
	{"column type", COLUMN("name: B, type: text, jsonPath: .b"),
	 COLUMN_1 ".type: Invalid value: \"text\": must be one of "
		  "boolean,date,integer,number,string"},
	{"column format", COLUMN("name: B, type: string, jsonPath: .b, format: nice"),
	 COLUMN_1 ".format: Invalid value: \"nice\": must be one of "
		  "byte,date,date-time,double,float,int32,int64,password"},
	{"column path without a dot",
	 COLUMN("name: B, type: string, jsonPath: spec.size"),
	 COLUMN_1
	 ".JSONPath: Invalid value: \"spec.size\": must be a simple json path starting "
	 "with ."},
	{"column path", COLUMN("name: B, type: string, jsonPath: '.spec[?(@.a'"),
	 COLUMN_1 ".JSONPath: Invalid value: \".spec[?(@.a\": "},
	{"column priority", COLUMN("name: B, type: string, jsonPath: .b, priority: high"),
	 COLUMN_1 ".priority: Invalid value: \"high\": must be a 32 bit integer"},
	{"columns are a map", WITH("    additionalPrinterColumns: {}\n"),
	 "spec.versions[0].additionalPrinterColumns: Invalid value: must be of type array"},
	{"columns of a version that is not stored",
	 BEFORE("  - {name: v2, served: true, storage: false, additionalPrinterColumns: [{name: "
		"A, type: x, jsonPath: .a}]}\n"),
	 "spec.versions[0].additionalPrinterColumns[0].type: Invalid value: \"x\": must be one of "
	 "boolean,date,integer,number,string"},
	{"scale without paths", SCALE("labelSelectorPath: .status.s"),
	 SCALE_0 ".specReplicasPath: Required value | " SCALE_0
		 ".statusReplicasPath: Required value"},
	{"scale outside of spec",
	 SCALE("specReplicasPath: .status.a, statusReplicasPath: .spec.b"),
	 SCALE_0
	 ".specReplicasPath: Invalid value: \".status.a\": should be a json path under "
	 ".spec | " SCALE_0
	 ".statusReplicasPath: Invalid value: \".spec.b\": should be a json path under "
	 ".status"},
	{"scale in a list",
	 SCALE("specReplicasPath: '.spec.a[0]', statusReplicasPath: .status.b, "
	       "labelSelectorPath: status.c"),
	 SCALE_0
	 ".specReplicasPath: Invalid value: \".spec.a[0]\": must be a json path in the dot "
	 "notation | " SCALE_0
	 ".labelSelectorPath: Invalid value: \"status.c\": must be a simple json path "
	 "starting with ."},
	{"selector outside",
	 SCALE("specReplicasPath: .spec.a, statusReplicasPath: .status.b, labelSelectorPath: "
	       ".metadata.labels"),
	 SCALE_0
	 ".labelSelectorPath: Invalid value: \".metadata.labels\": should be a json path "
	 "under either .status or .spec"},
	{"status is a flag", WITH("    subresources: {status: true}\n"),
	 "spec.versions[0].subresources.status: Invalid value: must be of type object"},
	{"fields of selectors",
	 WITH("    selectableFields: [{jsonPath: .spec.size}, {jsonPath: .spec.none}, {jsonPath: "
	      ".spec.parts}, {jsonPath: .metadata.name}, {jsonPath: .spec.size}, {}]\n"),
	 "spec.versions[0].selectableFields[1].jsonPath: Invalid value: \".spec.none\": is an "
	 "invalid path: no such field | spec.versions[0].selectableFields[2].jsonPath: Invalid "
	 "value: \".spec.parts\": must point to a field of type string, boolean or integer | "
	 "spec.versions[0].selectableFields[3].jsonPath: Invalid value: \".metadata.name\": must "
	 "not point to fields in metadata | spec.versions[0].selectableFields[4].jsonPath: "
	 "Duplicate value: \".spec.size\" | spec.versions[0].selectableFields[5].jsonPath: "
	 "Required value"},
	{"nine fields of selectors",
	 WITH("    selectableFields: [{}, {}, {}, {}, {}, {}, {}, {}, {}]\n"),
	 "spec.versions[0].selectableFields: Too many: 9: must have at most 8 items"},
	{"logic at the root",
	 {{storage, "    storage: true\n    subresources: {status: {}}\n"},
	  {"        type: object\n        prop",
	   "        type: object\n        anyOf: [{required: [spec]}]\n        prop"}},
	 SCHEMA_0
	 ".anyOf: Forbidden: not allowed at the root of the schema if the status "
	 "subresource is enabled"},
	{"the schema is not structural",
	 {{"size: {type: integer}", "size: {minimum: 1}"}},
	 SCHEMA_0 ".properties[spec].properties[size].type: Required value"},
	{"the schema of the second version is not structural",
	 {{"size: {type: integer}", "size: {type: int}"},
	  {"  - name: v1\n",
	   "  - {name: v2, served: true, storage: false}\n  - name: v1\n"}},
	 "spec.versions[1].schema.openAPIV3Schema.properties[spec].properties[size].type: "},
	{"the root is a list",
	 {{"        type: object\n        prop", "        type: array\n        prop"}},
	 SCHEMA_0},
	{"the root is a map",
	 {{"        properties:\n          spec:\n",
	   "        additionalProperties:\n          type: object\n          properties:\n"
	   "           spec:\n"},
	  {"            type: object\n            properties:\n",
	   "            type: object\n"
	   "            properties:\n"}},
	 SCHEMA_0 ".additionalProperties: Forbidden: must not be used at the root"},
	{"much at once",
	 {{"group: example.com", "group: example"},
	  {"scope: Namespaced", "scope: Node"},
	  {"size: {type: integer}", "size: {minimum: 1}"}},
	 "spec.group: Invalid value: \"example\": should be a domain with at least one dot | "
	 "spec.scope: Unsupported value: \"Node\": supported values: \"Cluster\", \"Namespaced\" | "
	 "metadata.name: Invalid value: \"widgets.example.com\": must be "
	 "spec.names.plural+\".\"+spec.group | " SCHEMA_0
	 ".properties[spec].properties[size].type: Required value"},
};

static void test_good(void **state)
{
	size_t i;

	(void)state;
	for (i = 0; i < NEAP_ARRAY_LEN(good); i++) {
		neap_auto_buf struct neap_buf text = {0}, got = {0};
		struct neap_kube_kind *kind = NULL;
		struct neap_error err = {0};
		json_t *definition;

		neap_buf_init(&text, NEAP_BUF_LINE);
		neap_buf_init(&got, NEAP_BUF_LINE);
		crd_build(good[i].name, good[i].changes, &text);
		definition = crd_yaml(text.data, good[i].name);
		if (crd_parse(definition, &kind, &err) < 0)
			fail_msg("%s: %s: %s", good[i].name, err.msg, crd_causes_text());
		/* It keeps nothing. */
		json_decref(definition);
		crd_add_row(&got, kind);
		if (strcmp(got.data, good[i].want) != 0)
			fail_msg("%s: %s", good[i].name, got.data);
		assert_true(kind->is_custom && kind->generation == NEAP_GENERATION_SPEC);
		assert_non_null(neap_schema_find(kind->schema, "metadata.labels"));
		assert_non_null(neap_schema_find(kind->schema, "kind"));
		assert_non_null(neap_schema_find(kind->schema, "spec.size"));
		neap_kube_crd_free(kind);
	}
}

/* want is the beginning: words of the schema and of paths are tested elsewhere. */
static void test_bad(void **state)
{
	size_t i;

	(void)state;
	for (i = 0; i < NEAP_ARRAY_LEN(bad); i++) {
		neap_auto_buf struct neap_buf text = {0};
		struct neap_kube_kind *kind = NULL;
		struct neap_error err = {0};
		json_t *definition;
		int r;

		neap_buf_init(&text, NEAP_BUF_LINE);
		crd_build(bad[i].name, bad[i].changes, &text);
		definition = crd_yaml(text.data, bad[i].name);
		r = crd_parse(definition, &kind, &err);
		json_decref(definition);
		if (r != -NEAP_EINVAL || err.code != NEAP_EINVAL || crd_causes.count == 0)
			fail_msg("%s: %d: %s", bad[i].name, r, err.msg);
		assert_null(kind);
		assert_int_equal(crd_causes.more, 0);
		/* Which has less room. */
		assert_memory_equal(err.field, crd_causes.list[0].field,
				    strlen(err.field));
		if (strncmp(crd_causes_text(), bad[i].want, strlen(bad[i].want)) != 0)
			fail_msg("%s: %s", bad[i].name, crd_causes_text());
	}
}

static int setup(void **state)
{
	(void)state;
	neap_json_setup();
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_good),
		cmocka_unit_test(test_bad),
	};

	return cmocka_run_group_tests(tests, setup, NULL);
}
