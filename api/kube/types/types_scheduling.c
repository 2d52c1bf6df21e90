/* SPDX-License-Identifier: Apache-2.0
 *
 * What schedulers and those who evict go by, beside pods and nodes: PodDisruptionBudget, PriorityClass,
 * StorageClass, CSINode, Lease. */
#include "api/kube/types/types_priv.h"

/* --- PodDisruptionBudget --- */

#define POLICY(x) "io.k8s.api.policy.v1." x

static const struct neap_schema disrupted_map = {.type = NEAP_SCHEMA_MAP,
						 .items = &neap_schema_time};
ENUM(unhealthy_policy, "AlwaysAllow", "IfHealthyBudget");

static const struct neap_schema_field poddisruptionbudget_spec_fields[] = {
	PTR("maxUnavailable", INT_STR,
	    "How many pods may be missing, a number or percentage; it, or minAvailable."),
	PTR("minAvailable", INT_STR,
	    "How many pods have to be there, a number or percentage."),
	{.name = "selector",
	 .schema = &neap_kube_label_selector,
	 .retains_keys = true,
	 .doc = "Selects the pods; an empty one all of the namespace."},
	PTR("unhealthyPodEvictionPolicy", &unhealthy_policy,
	    "When pods that are not ready may be evicted: IfHealthyBudget, AlwaysAllow."),
};
OBJECT(poddisruptionbudget_spec, POLICY("PodDisruptionBudgetSpec"),
       "How many pods have to be there.");

static const struct neap_schema_field poddisruptionbudget_status_fields[] = {
	KEYED("conditions", &neap_kube_condition_list, "type", "What is so, or not."),
	ZERO("currentHealthy", I32, "0", "Pods that are healthy."),
	ZERO("desiredHealthy", I32, "0", "Pods that have to be."),
	FIELD("disruptedPods", &disrupted_map,
	      "Pods whose eviction was allowed and that are not gone yet, with the time."),
	ZERO("disruptionsAllowed", I32, "0", "How many pods may be evicted now."),
	ZERO("expectedPods", I32, "0", "Pods that are counted."),
	FIELD("observedGeneration", I64, "Generation that was acted on."),
};
OBJECT(poddisruptionbudget_status, POLICY("PodDisruptionBudgetStatus"),
       "How many pods there are.");

static const struct neap_schema_field poddisruptionbudget_fields[] = {
	WHOLE,
	FIELD("spec", &poddisruptionbudget_spec, NULL),
	FIELD("status", &poddisruptionbudget_status, NULL),
};
OBJECT(poddisruptionbudget, POLICY("PodDisruptionBudget"),
       "Bounds how many pods are evicted at a time.");

/* --- PriorityClass --- */

#define SCHEDULING(x) "io.k8s.api.scheduling.v1." x

ENUM(preemption_policy, "PreemptLowerPriority", "Never");

static const struct neap_schema_field priorityclass_fields[] = {
	WHOLE,
	FIELD("description", STR, "What the class is for."),
	FIELD("globalDefault", BOOL, "Pods that name no class have this one."),
	GIVE("preemptionPolicy", &preemption_policy, "\"PreemptLowerPriority\"",
	     "Whether pods of lower priority make room for its pods: PreemptLowerPriority, Never."),
	ZERO("value", I32, "0", "The priority; higher goes first."),
};
OBJECT(priorityclass, SCHEDULING("PriorityClass"), "A name for a priority of pods.");

/* --- StorageClass and CSINode --- */

#define STORAGE(x) "io.k8s.api.storage.v1." x

static const struct neap_schema_field topology_requirement_fields[] = {
	NEED("key", STR, "Name of the label."),
	NEED("values", STRS, "Values, one of which it has to have."),
};
OBJECT(topology_requirement, CORE("TopologySelectorLabelRequirement"),
       "What one label of a node has to be.");
LIST(topology_requirement);

static const struct neap_schema_field topology_term_fields[] = {
	FIELD("matchLabelExpressions", &topology_requirement_list,
	      "Requirements, all of which have to hold."),
};
OBJECT(topology_term, CORE("TopologySelectorTerm"), "Selects nodes by their labels.");
LIST(topology_term);

/* "" is one that nobody looks at. */
ENUM(reclaim_policy, "", "Delete", "Retain");
ENUM(binding_mode, "Immediate", "WaitForFirstConsumer");

static const struct neap_schema_field storageclass_fields[] = {
	WHOLE,
	PTR("allowVolumeExpansion", BOOL, "Volumes can be made larger."),
	FIELD("allowedTopologies", &topology_term_list, "Where volumes are made."),
	FIELD("mountOptions", STRS, "Options for mounting its volumes."),
	FIELD("parameters", STR_MAP, "What the provisioner is told."),
	NEED("provisioner", STR, "Who makes volumes."),
	GIVE("reclaimPolicy", &reclaim_policy, "\"Delete\"",
	     "What becomes of its volumes when the claim is gone: Delete, Retain."),
	GIVE("volumeBindingMode", &binding_mode, "\"Immediate\"",
	     "When volumes are made: Immediate, WaitForFirstConsumer."),
};
OBJECT(storageclass, STORAGE("StorageClass"),
       "A kind of storage that is made on demand.");

static const struct neap_schema_field node_resources_fields[] = {
	PTR("count", I32, "How many volumes the node can use."),
};
OBJECT(node_resources, STORAGE("VolumeNodeResources"),
       "How many volumes a node can use.");

static const struct neap_schema_field driver_fields[] = {
	FIELD("allocatable", &node_resources, NULL),
	NEED("name", STR, "Name of the driver."),
	NEED("nodeID", STR, "Name of the node, as the driver calls it."),
	FIELD("topologyKeys", STRS, "Labels by which the driver tells nodes apart."),
};
OBJECT(driver, STORAGE("CSINodeDriver"), "A CSI driver on a node.");
LIST(driver);

static const struct neap_schema_field csinode_spec_fields[] = {
	{.name = "drivers",
	 .schema = &driver_list,
	 .is_required = true,
	 .merge = NEAP_LIST_MAP,
	 .merge_key = "name",
	 .doc = "Drivers that are on the node."},
};
OBJECT(csinode_spec, STORAGE("CSINodeSpec"), "Which CSI drivers are on a node.");

static const struct neap_schema_field csinode_fields[] = {
	WHOLE,
	NEED("spec", &csinode_spec, NULL),
};
OBJECT(csinode, STORAGE("CSINode"), "The CSI drivers of the node of the same name.");

/* --- Lease --- */

#define COORDINATION(x) "io.k8s.api.coordination.v1." x

static const struct neap_schema_field lease_spec_fields[] = {
	PTR("acquireTime", MICRO, "When the holder got it."),
	PTR("holderIdentity", STR, "Who holds it; empty: nobody."),
	PTR("leaseDurationSeconds", I32,
	    "Seconds after renewTime when others may take it."),
	PTR("leaseTransitions", I32, "How often it changed hands."),
	PTR("preferredHolder", STR, "Who should take it over."),
	PTR("renewTime", MICRO, "When the holder renewed it last."),
	PTR("strategy", STR,
	    "How a holder is chosen, where one is: OldestEmulationVersion."),
};
OBJECT(lease_spec, COORDINATION("LeaseSpec"), "Who holds a lease, and for how long.");

static const struct neap_schema_field lease_fields[] = {
	WHOLE,
	FIELD("spec", &lease_spec, NULL),
};
OBJECT(lease, COORDINATION("Lease"),
       "Something that one at a time holds, as leadership.");

/* --- kinds --- */

static const char *const poddisruptionbudget_versions[] = {"v1", "v1beta1", NULL};
static const char *const poddisruptionbudget_short[] = {"pdb", NULL};

const struct neap_kube_kind neap_kube_kind_poddisruptionbudget = {
	.group = "policy",
	.versions = poddisruptionbudget_versions,
	.kind = "PodDisruptionBudget",
	.list_kind = "PodDisruptionBudgetList",
	.plural = "poddisruptionbudgets",
	.from_version = neap_kube_budget_from_version,
	.needs_version = true,
	.singular = "poddisruptionbudget",
	.short_names = poddisruptionbudget_short,
	.is_namespaced = true,
	.has_status = true,
	.generation = NEAP_GENERATION_SPEC,
	.schema = &poddisruptionbudget,
	COLUMNS(poddisruptionbudget),
	.cells = neap_kube_cells_poddisruptionbudget,
	.check = neap_kube_check_poddisruptionbudget,
};

static const char *const priorityclass_short[] = {"pc", NULL};

const struct neap_kube_kind neap_kube_kind_priorityclass = {
	.group = "scheduling.k8s.io",
	.versions = neap_kube_v1,
	.kind = "PriorityClass",
	.list_kind = "PriorityClassList",
	.plural = "priorityclasses",
	.singular = "priorityclass",
	.short_names = priorityclass_short,
	.generation = NEAP_GENERATION_FIXED,
	.schema = &priorityclass,
	COLUMNS(priorityclass),
	.cells = neap_kube_cells_priorityclass,
	.check = neap_kube_check_priorityclass,
};

static const char *const storageclass_short[] = {"sc", NULL};

const struct neap_kube_kind neap_kube_kind_storageclass = {
	.group = "storage.k8s.io",
	.versions = neap_kube_v1,
	.kind = "StorageClass",
	.list_kind = "StorageClassList",
	.plural = "storageclasses",
	.shows_deleted = true,
	.singular = "storageclass",
	.short_names = storageclass_short,
	.schema = &storageclass,
	COLUMNS(storageclass),
	.cells = neap_kube_cells_storageclass,
	.check = neap_kube_check_storageclass,
};

const struct neap_kube_kind neap_kube_kind_csinode = {
	.group = "storage.k8s.io",
	.versions = neap_kube_v1,
	.kind = "CSINode",
	.list_kind = "CSINodeList",
	.plural = "csinodes",
	.needs_version = true,
	.shows_deleted = true,
	.singular = "csinode",
	.schema = &csinode,
	COLUMNS(csinode),
	.cells = neap_kube_cells_csinode,
	.check = neap_kube_check_csinode,
};

const struct neap_kube_kind neap_kube_kind_lease = {
	.group = "coordination.k8s.io",
	.versions = neap_kube_v1,
	.kind = "Lease",
	.list_kind = "LeaseList",
	.plural = "leases",
	.needs_version = true,
	.is_made_by_update = true,
	.singular = "lease",
	.is_namespaced = true,
	.schema = &lease,
	COLUMNS(lease),
	.cells = neap_kube_cells_lease,
	.check = neap_kube_check_lease,
};
