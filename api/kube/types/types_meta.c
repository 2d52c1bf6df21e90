/* SPDX-License-Identifier: Apache-2.0
 *
 * What objects of all kinds have: metadata, selectors of labels, references, conditions; and the tables of
 * the kinds. */
#include "api/kube/types/types_priv.h"

static const struct neap_schema_field owner_fields[] = {
	NEED("apiVersion", STR, "Group and version of the owner."),
	PTR("blockOwnerDeletion", BOOL,
	    "The owner stays until this object is gone, in a foreground deletion."),
	PTR("controller", BOOL,
	    "The owner is the controller of this object; there is one at most."),
	NEED("kind", STR, "Kind of the owner."),
	NEED("name", STR, "Name of the owner."),
	NEED("uid", STR, "UID of the owner."),
};
OBJECT(owner, META("OwnerReference"),
       "An object on which this one depends, in the same namespace or cluster-scoped.");
LIST(owner);

static const struct neap_schema fields_v1 = {
	.name = META("FieldsV1"),
	.doc = "A set of fields, as a tree of names.",
	.type = NEAP_SCHEMA_OBJECT,
	.keeps_unknown = true,
};

static const struct neap_schema_field managed_fields[] = {
	FIELD("apiVersion", STR, "Version in which the fields are named."),
	FIELD("fieldsType", STR, "Form of fieldsV1: FieldsV1."),
	FIELD("fieldsV1", &fields_v1, "The fields that are managed."),
	FIELD("manager", STR, "Who manages them."),
	FIELD("operation", STR, "How they were set: Apply or Update."),
	FIELD("subresource", STR, "Subresource through which they were set, if any."),
	PTR("time", TIME, "When they were changed last."),
};
OBJECT(managed, META("ManagedFieldsEntry"), "Fields that one manager set.");
LIST(managed);

static const struct neap_schema_field neap_kube_object_meta_fields[] = {
	FIELD("annotations", STR_MAP, "Texts for tools, not for selecting."),
	FIELD("creationTimestamp", TIME, "When the object was made; set by the server."),
	PTR("deletionGracePeriodSeconds", I64,
	    "Seconds that the object may take to end; set by the server."),
	PTR("deletionTimestamp", TIME,
	    "When the object is to go; set by the server when it is asked to delete it."),
	UNITED("finalizers", STRS,
	       "Names that have to be taken out before a deleted object goes."),
	FIELD("generateName", STR,
	      "Start of the name, to which the server adds some characters; where name is missing."),
	FIELD("generation", I64,
	      "Counts the changes of what is wanted; set by the server."),
	FIELD("labels", STR_MAP, "Names and values by which objects are selected."),
	FIELD("managedFields", &managed_list, "Who set which fields."),
	FIELD("name", STR, "Name, unique among the objects of the kind in a namespace."),
	FIELD("namespace", STR,
	      "Namespace, which names are unique in; default where none is named."),
	KEYED("ownerReferences", &owner_list, "uid",
	      "Objects on which this one depends: it goes when all of them are gone."),
	FIELD("resourceVersion", STR,
	      "Which state of the object this is; compared for equality only."),
	FIELD("selfLink", STR, "Not used any more."),
	FIELD("uid", STR,
	      "Tells the object from all that had its name; set by the server."),
};
SHARED(neap_kube_object_meta, META("ObjectMeta"),
       "Name, labels, and what the server knows of an object.");

static const struct neap_schema_field neap_kube_list_meta_fields[] = {
	FIELD("continue", STR, "Where the next page starts; empty at the end."),
	FIELD("remainingItemCount", I64, "How many objects follow this page."),
	FIELD("resourceVersion", STR, "The state of the store that the list shows."),
	FIELD("selfLink", STR, "Not used any more."),
};
SHARED(neap_kube_list_meta, META("ListMeta"), "What the server knows of a list.");

ENUM(label_operator, "In", "NotIn", "Exists", "DoesNotExist");

static const struct neap_schema_field label_requirement_fields[] = {
	NEED("key", STR, "Name of the label."),
	NEED("operator", &label_operator,
	     "How it is compared: In, NotIn, Exists, DoesNotExist."),
	FIELD("values", STRS, "What it is compared with, by In and NotIn."),
};
OBJECT(label_requirement, META("LabelSelectorRequirement"), "What one label has to be.");
LIST(label_requirement);

static const struct neap_schema_field neap_kube_label_selector_fields[] = {
	FIELD("matchExpressions", &label_requirement_list,
	      "Requirements, all of which have to hold."),
	FIELD("matchLabels", STR_MAP, "Labels with the values that they have to have."),
};
const struct neap_schema neap_kube_label_selector = {
	.name = META("LabelSelector"),
	.doc = "Selects objects by their labels; an empty one selects all.",
	NEAP_SCHEMA_FIELDS(neap_kube_label_selector_fields),
	.is_atomic = true};

static const struct neap_schema_field neap_kube_object_reference_fields[] = {
	FIELD("apiVersion", STR, "Group and version of the object."),
	FIELD("fieldPath", STR, "Part of the object, as \"spec.containers{name}\"."),
	FIELD("kind", STR, "Kind of the object."),
	FIELD("name", STR, "Name of the object."),
	FIELD("namespace", STR, "Namespace of the object."),
	FIELD("resourceVersion", STR, "State of the object that is meant."),
	FIELD("uid", STR, "UID of the object."),
};
SHARED(neap_kube_object_reference, CORE("ObjectReference"),
       "Names another object, or a part of it.");
SHARED_LIST(neap_kube_object_reference);

static const struct neap_schema_field neap_kube_local_reference_fields[] = {
	FIELD("name", STR, "Name of the object."),
};
SHARED(neap_kube_local_reference, CORE("LocalObjectReference"),
       "Names an object in the same namespace.");
SHARED_LIST(neap_kube_local_reference);

static const struct neap_schema_field neap_kube_secret_reference_fields[] = {
	FIELD("name", STR, "Name of the secret."),
	FIELD("namespace", STR, "Namespace of the secret."),
};
SHARED(neap_kube_secret_reference, CORE("SecretReference"),
       "Names a secret in any namespace.");

static const struct neap_schema_field neap_kube_typed_local_reference_fields[] = {
	PTR("apiGroup", STR, "Group of the object; empty for core."),
	NEED("kind", STR, "Kind of the object."),
	NEED("name", STR, "Name of the object."),
};
SHARED(neap_kube_typed_local_reference, CORE("TypedLocalObjectReference"),
       "Names an object of some kind in the same namespace.");

static const struct neap_schema_field neap_kube_typed_reference_fields[] = {
	PTR("apiGroup", STR, "Group of the object; empty for core."),
	NEED("kind", STR, "Kind of the object."),
	NEED("name", STR, "Name of the object."),
	PTR("namespace", STR, "Namespace of the object."),
};
SHARED(neap_kube_typed_reference, CORE("TypedObjectReference"),
       "Names an object of some kind.");

static const struct neap_schema_field neap_kube_condition_fields[] = {
	NEED("lastTransitionTime", TIME, "When the status changed last."),
	NEED("message", STR, "What it is like, for people."),
	FIELD("observedGeneration", I64,
	      "Generation of the object that this was seen with."),
	NEED("reason", STR, "Why, in one word."),
	NEED("status", STR, "True, False or Unknown."),
	NEED("type", STR, "What is told."),
};
SHARED(neap_kube_condition, META("Condition"),
       "One thing that is so, or not, of an object.");
SHARED_LIST(neap_kube_condition);

const char *const neap_kube_v1[] = {"v1", NULL};
const char *const neap_kube_category_all[] = {"all", NULL};

const struct neap_kube_kind *const neap_kube_core_kinds[] = {
	&neap_kube_kind_configmap,
	&neap_kube_kind_endpoints,
	&neap_kube_kind_event,
	&neap_kube_kind_namespace,
	&neap_kube_kind_node,
	&neap_kube_kind_persistentvolumeclaim,
	&neap_kube_kind_persistentvolume,
	&neap_kube_kind_pod,
	&neap_kube_kind_podtemplate,
	&neap_kube_kind_replicationcontroller,
	&neap_kube_kind_secret,
	&neap_kube_kind_serviceaccount,
	&neap_kube_kind_service,
	NULL,
};

const struct neap_kube_kind *const neap_kube_apps_kinds[] = {
	&neap_kube_kind_controllerrevision,
	&neap_kube_kind_daemonset,
	&neap_kube_kind_deployment,
	&neap_kube_kind_replicaset,
	&neap_kube_kind_statefulset,
	&neap_kube_kind_job,
	&neap_kube_kind_cronjob,
	NULL,
};

const struct neap_kube_kind *const neap_kube_other_kinds[] = {
	&neap_kube_kind_poddisruptionbudget,
	&neap_kube_kind_priorityclass,
	&neap_kube_kind_csinode,
	&neap_kube_kind_storageclass,
	&neap_kube_kind_lease,
	&neap_kube_event_view,
	&neap_kube_kind_nodemetrics,
	&neap_kube_kind_podmetrics,
	&neap_kube_kind_ingress,
	&neap_kube_kind_old_ingress,
	&neap_kube_kind_customresourcedefinition,
	NULL,
};
