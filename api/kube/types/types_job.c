/* SPDX-License-Identifier: Apache-2.0
 *
 * Jobs. */
#include "api/kube/types/types_priv.h"

#define BATCH(x) "io.k8s.api.batch.v1." x

static const struct neap_schema codes_list = {.type = NEAP_SCHEMA_LIST,
					      .items = &neap_schema_int32};
ENUM(code_operator, "In", "NotIn");

static const struct neap_schema_field exit_codes_fields[] = {
	PTR("containerName", STR, "Name of the container; without it any."),
	NEED("operator", &code_operator, "In or NotIn."),
	NEED("values", &codes_list, "Exit statuses, in order."),
};
OBJECT(exit_codes, BATCH("PodFailurePolicyOnExitCodesRequirement"),
       "Exit statuses that match.");

static const struct neap_schema_field pod_condition_fields[] = {
	ZERO("status", STR, "\"True\"", "Status of the condition."),
	NEED("type", STR, "Type of the condition."),
};
OBJECT(pod_condition, BATCH("PodFailurePolicyOnPodConditionsPattern"),
       "A condition of the pod that matches.");
LIST(pod_condition);

ENUM(failure_action, "Count", "FailIndex", "FailJob", "Ignore");

static const struct neap_schema_field failure_rule_fields[] = {
	NEED("action", &failure_action,
	     "What is done: FailJob, FailIndex, Ignore, Count."),
	FIELD("onExitCodes", &exit_codes, NULL),
	FIELD("onPodConditions", &pod_condition_list,
	      "Conditions, one of which matches."),
};
OBJECT(failure_rule, BATCH("PodFailurePolicyRule"), "What a failed pod leads to.");
LIST(failure_rule);

static const struct neap_schema_field failure_policy_fields[] = {
	NEED("rules", &failure_rule_list, "Rules; the first that matches counts."),
};
OBJECT(failure_policy, BATCH("PodFailurePolicy"), "What failed pods lead to.");

static const struct neap_schema_field success_rule_fields[] = {
	PTR("succeededCount", I32, "How many indexes have to succeed."),
	PTR("succeededIndexes", STR, "Which indexes have to succeed, as \"1,3-5\"."),
};
OBJECT(success_rule, BATCH("SuccessPolicyRule"), "What is enough for success.");
LIST(success_rule);

static const struct neap_schema_field success_policy_fields[] = {
	NEED("rules", &success_rule_list, "Rules; the first that is met counts."),
};
OBJECT(success_policy, BATCH("SuccessPolicy"),
       "When an indexed job has succeeded before all of it has.");

ENUM(completion_mode, "Indexed", "NonIndexed");
ENUM(replacement_policy, "Failed", "TerminatingOrFailed");

static const struct neap_schema_field job_spec_fields[] = {
	PTR("activeDeadlineSeconds", I64, "Seconds the job may run."),
	PTR("backoffLimit", I32, "Failures after which the job has failed; 6."),
	PTR("backoffLimitPerIndex", I32, "Failures after which an index has failed."),
	GIVE("completionMode", &completion_mode, "\"NonIndexed\"",
	     "NonIndexed, or Indexed: each pod has a number."),
	PTR("completions", I32, "How many pods have to succeed."),
	PTR("managedBy", STR,
	    "Controller that runs it; that of Kubernetes where none is named."),
	PTR("manualSelector", BOOL,
	    "selector and labels are given, not made by the server."),
	PTR("maxFailedIndexes", I32, "Failed indexes after which the job has failed."),
	PTR("parallelism", I32, "How many pods run at a time."),
	FIELD("podFailurePolicy", &failure_policy, NULL),
	PTR("podReplacementPolicy", &replacement_policy,
	    "When a pod is replaced: TerminatingOrFailed, Failed."),
	FIELD("selector", &neap_kube_label_selector,
	      "Selects its pods; made by the server."),
	FIELD("successPolicy", &success_policy, NULL),
	GIVE("suspend", BOOL, "false", "It has no pods for now."),
	NEED("template", &neap_kube_pod_template_spec, "What the pods are made from."),
	PTR("ttlSecondsAfterFinished", I32,
	    "Seconds after its end when it is deleted; without it never."),
};
OBJECT(job_spec, BATCH("JobSpec"), "What a job is to do.");

static const struct neap_schema_field job_condition_fields[] = {
	FIELD("lastProbeTime", TIME, "When it was looked at last."),
	FIELD("lastTransitionTime", TIME, "When the status changed last."),
	FIELD("message", STR, "What it is like, for people."),
	FIELD("reason", STR, "Why, in one word."),
	NEED("status", STR, "True, False or Unknown."),
	NEED("type", STR,
	     "Complete, Failed, Suspended, FailureTarget, SuccessCriteriaMet."),
};
OBJECT(job_condition, BATCH("JobCondition"), "One thing that is so, or not, of a job.");
LIST(job_condition);

static const struct neap_schema_field uncounted_fields[] = {
	FIELD("failed", STRS, "UIDs of those that failed."),
	FIELD("succeeded", STRS, "UIDs of those that succeeded."),
};
OBJECT(uncounted, BATCH("UncountedTerminatedPods"),
       "Pods that ended and are not counted yet.");

static const struct neap_schema_field job_status_fields[] = {
	FIELD("active", I32, "Pods that run or wait."),
	FIELD("completedIndexes", STR, "Indexes that succeeded, as \"1,3-5\"."),
	PTR("completionTime", TIME, "When it had succeeded."),
	KEYED("conditions", &job_condition_list, "type", "What is so, or not."),
	FIELD("failed", I32, "Pods that failed."),
	PTR("failedIndexes", STR, "Indexes that failed, as \"1,3-5\"."),
	PTR("ready", I32, "Pods that are ready."),
	PTR("startTime", TIME, "When it began."),
	FIELD("succeeded", I32, "Pods that succeeded."),
	PTR("terminating", I32, "Pods that are being ended."),
	FIELD("uncountedTerminatedPods", &uncounted, NULL),
};
OBJECT(job_status, BATCH("JobStatus"), "What is known of a job.");

static const struct neap_schema_field job_fields[] = {
	WHOLE,
	FIELD("spec", &job_spec, NULL),
	FIELD("status", &job_status, NULL),
};
OBJECT(job, BATCH("Job"), "Pods that run until so many have succeeded.");

/* status.successful is status.succeeded: it has kept its first name. */
static const char *const job_selectable[] = {"status.successful=status.succeeded", NULL};

const struct neap_kube_kind neap_kube_kind_job = {
	.group = "batch",
	.versions = neap_kube_v1,
	.kind = "Job",
	.list_kind = "JobList",
	.plural = "jobs",
	.singular = "job",
	.categories = neap_kube_category_all,
	.is_namespaced = true,
	.has_status = true,
	.generation = NEAP_GENERATION_SPEC,
	.schema = &job,
	.fields = job_selectable,
	COLUMNS(job),
	.cells = neap_kube_cells_job,
	.complete = neap_kube_complete_job,
	.check = neap_kube_check_job,
};
