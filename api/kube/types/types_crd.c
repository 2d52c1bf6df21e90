/* SPDX-License-Identifier: Apache-2.0
 *
 * CustomResourceDefinition: the kind by which kinds are declared. */
#include "api/kube/types/types_priv.h"

#define EXTENSIONS(x) "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1." x

/* --- schemas --- */

static const struct neap_schema any_list = {.type = NEAP_SCHEMA_LIST,
					    .items = &neap_schema_any};

/* It contains itself; the table follows. */
static const struct neap_schema json_schema, json_schema_or_other;
LIST(json_schema);
static const struct neap_schema json_schema_map = {.type = NEAP_SCHEMA_MAP,
						   .items = &json_schema};

static const struct neap_schema_field external_docs_fields[] = {
	FIELD("description", STR, "What is there."),
	FIELD("url", STR, "Where it is."),
};
OBJECT(external_docs, EXTENSIONS("ExternalDocumentation"), "A text elsewhere.");

static const struct neap_schema_field validation_rule_fields[] = {
	FIELD("fieldPath", STR, "Field that is named when it does not hold."),
	FIELD("message", STR, "What is told when it does not hold."),
	FIELD("messageExpression", STR, "Expression that makes the message."),
	PTR("optionalOldSelf", BOOL,
	    "It is checked of new objects too, with oldSelf an optional."),
	PTR("reason", STR,
	    "Reason that is told: FieldValueInvalid, FieldValueForbidden, FieldValueRequired, FieldValueDuplicate."),
	NEED("rule", STR, "Expression (CEL) that has to hold."),
};
OBJECT(validation_rule, EXTENSIONS("ValidationRule"), "An expression that has to hold.");
LIST(validation_rule);

ENUM(list_type, "atomic", "map", "set");
ENUM(map_type, "atomic", "granular");

static const struct neap_schema_field json_schema_fields[] = {
	PTR("$ref", STR, "Not allowed."),
	FIELD("$schema", STR, "Which JSON schema this is."),
	PTR("additionalItems", ANY, "Not allowed."),
	PTR("additionalProperties", &json_schema_or_other,
	    "Schema of members that are not named, or whether there may be any."),
	FIELD("allOf", &json_schema_list, "Schemas, all of which have to hold."),
	FIELD("anyOf", &json_schema_list, "Schemas, one of which has to hold."),
	PTR("default", ANY, "Value of a member that is missing."),
	FIELD("definitions", &json_schema_map, "Not allowed."),
	FIELD("dependencies", ANY, "Not allowed."),
	FIELD("description", STR, "What it is."),
	FIELD("enum", &any_list, "Values that there may be."),
	PTR("example", ANY, "An example."),
	FIELD("exclusiveMaximum", BOOL, "maximum itself is too large."),
	FIELD("exclusiveMinimum", BOOL, "minimum itself is too small."),
	FIELD("externalDocs", &external_docs, NULL),
	FIELD("format", STR, "What a string or number is, as date-time or int32."),
	FIELD("id", STR, "Not allowed."),
	FIELD("items", &json_schema_or_other, "Schema of the elements of an array."),
	PTR("maxItems", I64, "How many elements there may be."),
	PTR("maxLength", I64, "How many characters there may be."),
	PTR("maxProperties", I64, "How many members there may be."),
	PTR("maximum", &neap_schema_number, "Largest value."),
	PTR("minItems", I64, "How many elements there have to be."),
	PTR("minLength", I64, "How many characters there have to be."),
	PTR("minProperties", I64, "How many members there have to be."),
	PTR("minimum", &neap_schema_number, "Smallest value."),
	PTR("multipleOf", &neap_schema_number, "What it has to be a multiple of."),
	FIELD("not", &json_schema, "Schema that must not hold."),
	FIELD("nullable", BOOL, "It may be null."),
	FIELD("oneOf", &json_schema_list, "Schemas, exactly one of which has to hold."),
	FIELD("pattern", STR, "Regular expression that a string has to match."),
	FIELD("patternProperties", &json_schema_map, "Not allowed."),
	FIELD("properties", &json_schema_map, "Schemas of the members."),
	FIELD("required", STRS, "Names of members that have to be there."),
	FIELD("title", STR, "What it is, in short."),
	FIELD("type", STR, "array, boolean, integer, number, object or string."),
	FIELD("uniqueItems", BOOL, "Not allowed but as false."),
	FIELD("x-kubernetes-embedded-resource", BOOL,
	      "It is an object with apiVersion, kind and metadata."),
	FIELD("x-kubernetes-int-or-string", BOOL, "It is an integer or a string."),
	FIELD("x-kubernetes-list-map-keys", STRS,
	      "Members that tell elements of a map apart."),
	PTR("x-kubernetes-list-type", &list_type,
	    "How a list is merged: atomic, set, map."),
	PTR("x-kubernetes-map-type", &map_type,
	    "How an object is merged: granular, atomic."),
	PTR("x-kubernetes-preserve-unknown-fields", BOOL,
	    "Members that are not named are kept."),
	FIELD("x-kubernetes-validations", &validation_rule_list,
	      "Expressions that have to hold."),
};
static const struct neap_schema json_schema = {
	.name = EXTENSIONS("JSONSchemaProps"),
	.doc = "A JSON schema, as OpenAPI v3 has it.",
	NEAP_SCHEMA_FIELDS(json_schema_fields),
	.fallback = "{}"};
/* items and additionalProperties: a schema, or something else that the check of the whole
 * schema refuses. */
static const struct neap_schema json_schema_or_other = {
	.type = NEAP_SCHEMA_ANY,
	.fields = json_schema_fields,
	.field_count = NEAP_ARRAY_LEN(json_schema_fields)};

static const struct neap_schema_field validation_fields[] = {
	FIELD("openAPIV3Schema", &json_schema,
	      "Schema of the objects; it has to be structural."),
};
OBJECT(validation, EXTENSIONS("CustomResourceValidation"), "What objects may look like.");

/* --- versions --- */

static const struct neap_schema_field column_fields[] = {
	FIELD("description", STR, "What the column shows."),
	FIELD("format", STR, "What the value is, as name or int32."),
	NEED("jsonPath", STR, "Where the value is, as .spec.replicas."),
	NEED("name", STR, "Name of the column."),
	FIELD("priority", I32, "Over 0: shown with -o wide only."),
	NEED("type", STR, "boolean, date, integer, number or string."),
};
OBJECT(column, EXTENSIONS("CustomResourceColumnDefinition"), "A column of kubectl get.");
LIST(column);

static const struct neap_schema_field selectable_fields[] = {
	NEED("jsonPath", STR, "Where the value is, as .spec.color."),
};
OBJECT(selectable, EXTENSIONS("SelectableField"),
       "A field that field selectors may name.");
LIST(selectable);

static const struct neap_schema_field scale_fields[] = {
	PTR("labelSelectorPath", STR, "Where the selector is, as .status.labelSelector."),
	NEED("specReplicasPath", STR, "Where the wanted number is, as .spec.replicas."),
	NEED("statusReplicasPath", STR,
	     "Where the present number is, as .status.replicas."),
};
OBJECT(scale, EXTENSIONS("CustomResourceSubresourceScale"), "There is a /scale.");

static const struct neap_schema status = {
	.name = EXTENSIONS("CustomResourceSubresourceStatus"),
	.doc = "There is a /status.",
	.type = NEAP_SCHEMA_OBJECT,
};

static const struct neap_schema_field subresources_fields[] = {
	FIELD("scale", &scale, NULL),
	FIELD("status", &status, NULL),
};
OBJECT(subresources, EXTENSIONS("CustomResourceSubresources"),
       "Which subresources objects have.");

static const struct neap_schema_field version_fields[] = {
	FIELD("additionalPrinterColumns", &column_list,
	      "Columns of kubectl get after Name; Age where there are none."),
	FIELD("deprecated", BOOL, "Clients are warned."),
	PTR("deprecationWarning", STR, "What they are told."),
	NEED("name", STR, "Name of the version, as v1alpha1."),
	FIELD("schema", &validation, NULL),
	FIELD("selectableFields", &selectable_list,
	      "Fields that field selectors may name."),
	ZERO("served", BOOL, "false", "It is served."),
	ZERO("storage", BOOL, "false", "Objects are stored in it; true of one version."),
	FIELD("subresources", &subresources, NULL),
};
OBJECT(version, EXTENSIONS("CustomResourceDefinitionVersion"), "A version of the kind.");
LIST(version);

/* --- conversion --- */

static const struct neap_schema_field service_fields[] = {
	NEED("name", STR, "Name of the service."),
	NEED("namespace", STR, "Namespace of the service."),
	PTR("path", STR, "Path of the request."),
	GIVE("port", I32, "443", "Port of the service."),
};
OBJECT(service, EXTENSIONS("ServiceReference"), "A service that is asked.");

static const struct neap_schema_field client_config_fields[] = {
	FIELD("caBundle", &neap_schema_bytes, "Certificates that are trusted, in PEM."),
	FIELD("service", &service, NULL),
	PTR("url", STR, "Address that is asked."),
};
OBJECT(client_config, EXTENSIONS("WebhookClientConfig"), "How the webhook is reached.");

static const struct neap_schema_field webhook_fields[] = {
	FIELD("clientConfig", &client_config, NULL),
	NEED("conversionReviewVersions", STRS,
	     "Versions of ConversionReview that it knows."),
};
OBJECT(webhook, EXTENSIONS("WebhookConversion"), "Who converts.");

ENUM(conversion_strategy, "None", "Webhook");

static const struct neap_schema_field conversion_fields[] = {
	NEED("strategy", &conversion_strategy, "None: only apiVersion changes; Webhook."),
	FIELD("webhook", &webhook, NULL),
};
OBJECT(conversion, EXTENSIONS("CustomResourceConversion"), "How versions are converted.");

/* --- the definition --- */

static const struct neap_schema_field names_fields[] = {
	FIELD("categories", STRS, "Groups of kinds that it is of, as all."),
	NEED("kind", STR, "Kind of the objects, as Reservation."),
	FIELD("listKind", STR, "Kind of their lists; KINDList."),
	NEED("plural", STR, "Name in paths, as reservations."),
	FIELD("shortNames", STRS, "Short names for kubectl."),
	FIELD("singular", STR, "Name of one; the kind in lower case."),
};
OBJECT(names, EXTENSIONS("CustomResourceDefinitionNames"), "What the kind is called.");

ENUM(scope, "Cluster", "Namespaced");

static const struct neap_schema_field crd_spec_fields[] = {
	GIVE("conversion", &conversion, "{\"strategy\":\"None\"}", NULL),
	NEED("group", STR, "Group of the kind."),
	NEED("names", &names, NULL),
	FIELD("preserveUnknownFields", BOOL, "Not allowed but as false."),
	NEED("scope", &scope, "Cluster or Namespaced."),
	NEED("versions", &version_list, "Versions of the kind."),
};
OBJECT(crd_spec, EXTENSIONS("CustomResourceDefinitionSpec"), "What a kind is.");

static const struct neap_schema_field crd_condition_fields[] = {
	FIELD("lastTransitionTime", TIME, "When the status changed last."),
	FIELD("message", STR, "What it is like, for people."),
	FIELD("reason", STR, "Why, in one word."),
	NEED("status", STR, "True, False or Unknown."),
	NEED("type", STR,
	     "Established, NamesAccepted, NonStructuralSchema, Terminating."),
};
OBJECT(crd_condition, EXTENSIONS("CustomResourceDefinitionCondition"),
       "One thing that is so, or not, of a definition.");
LIST(crd_condition);

static const struct neap_schema_field crd_status_fields[] = {
	FIELD("acceptedNames", &names, "Names under which it is served."),
	FIELD("conditions", &crd_condition_list, "What is so, or not."),
	FIELD("storedVersions", STRS, "Versions in which objects may be stored."),
};
OBJECT(crd_status, EXTENSIONS("CustomResourceDefinitionStatus"),
       "What is known of a definition.");

static const struct neap_schema_field crd_fields[] = {
	WHOLE,
	NEED("spec", &crd_spec, NULL),
	FIELD("status", &crd_status, NULL),
};
OBJECT(crd, EXTENSIONS("CustomResourceDefinition"), "Declares a kind.");

/* --- the form of v1beta1, of which a definition is made --- */

#define BETA(x) "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1beta1." x

static const struct neap_schema_field beta_column_fields[] = {
	FIELD("JSONPath", STR, "Where the value is, as .spec.replicas."),
	FIELD("description", STR, "What the column shows."),
	FIELD("format", STR, "What the value is, as name or int32."),
	FIELD("jsonPath", STR, "JSONPath as v1 calls it."),
	NEED("name", STR, "Name of the column."),
	FIELD("priority", I32, "Over 0: shown with -o wide only."),
	NEED("type", STR, "boolean, date, integer, number or string."),
};
OBJECT(beta_column, BETA("CustomResourceColumnDefinition"), "A column of kubectl get.");
LIST(beta_column);

static const struct neap_schema_field beta_version_fields[] = {
	FIELD("additionalPrinterColumns", &beta_column_list,
	      "Columns of kubectl get after Name; Age where there are none."),
	FIELD("deprecated", BOOL, "Clients are warned."),
	PTR("deprecationWarning", STR, "What they are told."),
	NEED("name", STR, "Name of the version, as v1alpha1."),
	FIELD("schema", &validation, NULL),
	FIELD("selectableFields", &selectable_list,
	      "Fields that field selectors may name."),
	NEED("served", BOOL, "It is served."),
	NEED("storage", BOOL, "Objects are stored in it; true of one version."),
	FIELD("subresources", &subresources, NULL),
};
OBJECT(beta_version, BETA("CustomResourceDefinitionVersion"), "A version of the kind.");
LIST(beta_version);

static const struct neap_schema_field beta_spec_fields[] = {
	FIELD("additionalPrinterColumns", &beta_column_list, "Columns of all versions."),
	FIELD("conversion", &conversion, NULL),
	NEED("group", STR, "Group of the kind."),
	NEED("names", &names, NULL),
	PTR("preserveUnknownFields", BOOL,
	    "Members that no schema names are kept, as they are where this is not said."),
	NEED("scope", &scope, "Cluster or Namespaced."),
	FIELD("subresources", &subresources, "Subresources of all versions."),
	FIELD("validation", &validation, "Schema of all versions."),
	FIELD("version", STR, "The only version, or the first of versions."),
	FIELD("versions", &beta_version_list, "Versions of the kind."),
};
OBJECT(beta_spec, BETA("CustomResourceDefinitionSpec"), "What a kind is.");

static const struct neap_schema_field beta_fields[] = {
	WHOLE,
	NEED("spec", &beta_spec, NULL),
	FIELD("status", &crd_status, NULL),
};
OBJECT(beta, BETA("CustomResourceDefinition"), "Declares a kind.");

static const char *const crd_versions[] = {"v1", "v1beta1", NULL};
static const struct neap_schema *const crd_bodies[] = {NULL, &beta};
static const char *const crd_warnings[] = {
	NULL,
	"apiextensions.k8s.io/v1beta1 CustomResourceDefinition is deprecated in v1.16+, "
	"unavailable in v1.22+; use apiextensions.k8s.io/v1 CustomResourceDefinition"};
static const char *const crd_short[] = {"crd", "crds", NULL};
static const char *const crd_categories[] = {"api-extensions", NULL};

const struct neap_kube_kind neap_kube_kind_customresourcedefinition = {
	.group = "apiextensions.k8s.io",
	.versions = crd_versions,
	.warnings = crd_warnings,
	.kind = "CustomResourceDefinition",
	.list_kind = "CustomResourceDefinitionList",
	.plural = "customresourcedefinitions",
	.needs_version = true,
	.singular = "customresourcedefinition",
	.short_names = crd_short,
	.categories = crd_categories,
	.has_status = true,
	.generation = NEAP_GENERATION_SPEC,
	.schema = &crd,
	.bodies = crd_bodies,
	.from_version = neap_kube_definition_from_version,
	COLUMNS(customresourcedefinition),
	.cells = neap_kube_cells_customresourcedefinition,
	.complete = neap_kube_complete_customresourcedefinition,
	.check = neap_kube_check_customresourcedefinition,
};
