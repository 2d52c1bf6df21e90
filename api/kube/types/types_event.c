/* SPDX-License-Identifier: Apache-2.0
 *
 * Events, as core has them and as events.k8s.io shows them: regarding is involvedObject, note is message,
 * reportingController is reportingComponent, and what begins with deprecated is the field of core without
 * it. They are stored in the form of core; the other is a view of that. */
#include "api/kube/types/types_priv.h"

static const struct neap_schema_field source_fields[] = {
	FIELD("component", STR, "Who tells it."),
	FIELD("host", STR, "Node on which that is."),
};
OBJECT(source, CORE("EventSource"), "Who tells an event.");

/* --- core --- */

static const struct neap_schema_field series_fields[] = {
	PTR("count", I32, "How often it happened so far."),
	FIELD("lastObservedTime", MICRO, "When it happened last."),
};
OBJECT(series, CORE("EventSeries"), "Something that happens again and again.");

static const struct neap_schema_field event_fields[] = {
	WHOLE,
	FIELD("action", STR, "What was done, or failed."),
	FIELD("count", I32, "How often it happened."),
	FIELD("eventTime", MICRO, "When it happened first."),
	FIELD("firstTimestamp", TIME, "When it was told first."),
	ZERO("involvedObject", &neap_kube_object_reference, "{}", "What it is about."),
	FIELD("lastTimestamp", TIME, "When it was told last."),
	FIELD("message", STR, "What happened, for people."),
	FIELD("reason", STR, "What happened, in one word."),
	FIELD("related", &neap_kube_object_reference,
	      "Another object that has to do with it."),
	GIVE("reportingComponent", STR, "\"\"",
	     "Who tells it, as \"example.com/controller\"."),
	GIVE("reportingInstance", STR, "\"\"", "Which one of those."),
	FIELD("series", &series, NULL),
	GIVE("source", &source, "{}", NULL),
	FIELD("type", STR, "Normal or Warning."),
};
OBJECT(event, CORE("Event"), "Something that happened to an object.");

/* --- events.k8s.io --- */

#define EVENTS(x) "io.k8s.api.events.v1." x

static const struct neap_schema_field view_series_fields[] = {
	NEED("count", I32, "How often it happened so far."),
	NEED("lastObservedTime", MICRO, "When it happened last."),
};
OBJECT(view_series, EVENTS("EventSeries"), "Something that happens again and again.");

static const struct neap_schema_field view_fields[] = {
	WHOLE,
	FIELD("action", STR, "What was done, or failed."),
	FIELD("deprecatedCount", I32, "The count of core."),
	FIELD("deprecatedFirstTimestamp", TIME, "The firstTimestamp of core."),
	FIELD("deprecatedLastTimestamp", TIME, "The lastTimestamp of core."),
	GIVE("deprecatedSource", &source, "{}", "The source of core."),
	NEED("eventTime", MICRO, "When it happened first."),
	FIELD("note", STR, "What happened, for people."),
	FIELD("reason", STR, "What happened, in one word."),
	FIELD("regarding", &neap_kube_object_reference, "What it is about."),
	FIELD("related", &neap_kube_object_reference,
	      "Another object that has to do with it."),
	FIELD("reportingController", STR, "Who tells it, as \"example.com/controller\"."),
	FIELD("reportingInstance", STR, "Which one of those."),
	FIELD("series", &view_series, NULL),
	FIELD("type", STR, "Normal or Warning."),
};
OBJECT(view, EVENTS("Event"), "Something that happened to an object.");

static const char *const event_short[] = {"ev", NULL};
static const char *const event_selectable[] = {
	"involvedObject.kind",
	"involvedObject.namespace",
	"involvedObject.name",
	"involvedObject.uid",
	"involvedObject.apiVersion",
	"involvedObject.resourceVersion",
	"involvedObject.fieldPath",
	"reason",
	"reportingComponent",
	"type",
	"source=source.component|reportingComponent",
	NULL};

const struct neap_kube_kind neap_kube_kind_event = {
	.group = "",
	.versions = neap_kube_v1,
	.kind = "Event",
	.list_kind = "EventList",
	.plural = "events",
	.is_made_by_update = true,
	.singular = "event",
	.short_names = event_short,
	.is_namespaced = true,
	.schema = &event,
	.fields = event_selectable,
	COLUMNS(event),
	.cells = neap_kube_cells_event,
	.check = neap_kube_check_event,
};

/* As this view names them, in the order above; source has no name here. */
static const char *const view_selectable[] = {"regarding.kind",
					      "regarding.namespace",
					      "regarding.name",
					      "regarding.uid",
					      "regarding.apiVersion",
					      "regarding.resourceVersion",
					      "regarding.fieldPath",
					      "reason",
					      "reportingController",
					      "type",
					      NULL};

static const struct neap_kube_name view_names[] = {
	{"involvedObject", "regarding"},
	{"message", "note"},
	{"reportingComponent", "reportingController"},
	{"source", "deprecatedSource"},
	{"firstTimestamp", "deprecatedFirstTimestamp"},
	{"lastTimestamp", "deprecatedLastTimestamp"},
	{"count", "deprecatedCount"},
	{NULL, NULL},
};

static const struct neap_kube_view view_of_core = {
	.of = &neap_kube_kind_event, .names = view_names, .nulled = "eventTime"};

const struct neap_kube_kind neap_kube_event_view = {
	.group = "events.k8s.io",
	.versions = neap_kube_v1,
	.kind = "Event",
	.list_kind = "EventList",
	.plural = "events",
	.is_made_by_update = true,
	.singular = "event",
	.short_names = event_short,
	.is_namespaced = true,
	.schema = &view,
	.fields = view_selectable,
	COLUMNS(event),
	.cells = neap_kube_cells_event,
	.check = neap_kube_check_event_view,
	.view = &view_of_core,
};
