/* SPDX-License-Identifier: Apache-2.0
 *
 * Pods: one word for a pod's state, from its phase, conditions and containers. Users know
 * these words from kubectl, so they are identical. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "api/kube/print/cells_priv.h"
#include "api/kube/print/table.h"

/* A prefix and a text, which may be borrowed from the object. */
struct word {
	const char *prefix, *text;
	char own[64];
};

struct restarts {
	int64_t count;
	int64_t last; /* NEAP_MISSING: unknown */
};

struct pod {
	const json_t *spec, *status;
	json_t *sidecars; /* names of init containers that keep running; NULL: none */
	struct word word;
	struct restarts restarts;
	size_t ready, total;
	bool is_initializing;
};

/* --- words --- */

static void set_word(struct word *word, const char *prefix, const char *text)
{
	word->prefix = prefix;
	word->text = text;
}

/* The reason why a container ended. */
static void set_ended(struct word *word, const char *prefix, const json_t *terminated)
{
	const char *reason = neap_kube_cell_text(terminated, "reason");
	int64_t signal = neap_kube_cell_int(terminated, "signal", 0);

	if (*reason) {
		set_word(word, prefix, reason);
		return;
	}
	if (signal != 0)
		(void)snprintf(word->own, sizeof(word->own), "Signal:%" PRId64, signal);
	else
		(void)snprintf(word->own, sizeof(word->own), "ExitCode:%" PRId64,
			       neap_kube_cell_int(terminated, "exitCode", 0));
	set_word(word, prefix, word->own);
}

static bool is_word(const struct word *word, const char *text)
{
	return !*word->prefix && strcmp(word->text, text) == 0;
}

/* --- containers --- */

/* The container state at path; NULL: it is in another state. */
static const json_t *state_get(const json_t *container, const char *path)
{
	const json_t *state = neap_kube_cell_get(container, path);

	return json_is_object(state) ? state : NULL;
}

static void count_restarts(const json_t *container, struct restarts *sum)
{
	int64_t count = neap_kube_cell_int(container, "restartCount", 0);
	int64_t last = neap_kube_cell_time(container, "lastState.terminated.finishedAt");

	if (count > 0)
		sum->count += count < INT32_MAX ? count : INT32_MAX;
	if (last > sum->last)
		sum->last = last;
}

/* Init containers that always restart run beside the others, and count as they do. False
 * without memory. */
static bool find_sidecars(struct pod *pod)
{
	const json_t *list = neap_kube_cell_get(pod->spec, "initContainers");

	for (size_t i = 0; i < json_array_size(list); i++) {
		const json_t *container = json_array_get(list, i);

		if (strcmp(neap_kube_cell_text(container, "restartPolicy"), "Always") !=
		    0)
			continue;
		pod->total++;
		if (pod->sidecars == NULL)
			pod->sidecars = json_object();
		if (json_object_set_new(pod->sidecars,
					neap_kube_cell_text(container, "name"),
					json_true()) < 0)
			return false;
	}
	return true;
}

/* The first init container that is not finished gives the word. */
static void read_init_containers(struct pod *pod, struct restarts *sidecars)
{
	const json_t *list = neap_kube_cell_get(pod->status, "initContainerStatuses");
	size_t count = json_array_size(neap_kube_cell_get(pod->spec, "initContainers"));

	for (size_t i = 0; i < json_array_size(list) && !pod->is_initializing; i++) {
		const json_t *container = json_array_get(list, i);
		const json_t *ended = state_get(container, "state.terminated");
		const char *waits =
			neap_kube_cell_text(container, "state.waiting.reason");
		bool is_sidecar =
			json_object_get(pod->sidecars,
					neap_kube_cell_text(container, "name")) != NULL;

		count_restarts(container, &pod->restarts);
		if (is_sidecar)
			count_restarts(container, sidecars);
		if (ended != NULL && neap_kube_cell_int(ended, "exitCode", 0) == 0)
			continue;
		if (is_sidecar && neap_kube_cell_is_true(container, "started")) {
			pod->ready += neap_kube_cell_is_true(container, "ready");
			continue;
		}
		pod->is_initializing = true;
		if (ended != NULL) {
			set_ended(&pod->word, "Init:", ended);
		} else if (*waits && strcmp(waits, "PodInitializing") != 0) {
			set_word(&pod->word, "Init:", waits);
		} else {
			(void)snprintf(pod->word.own, sizeof(pod->word.own), "%zu/%zu", i,
				       count);
			set_word(&pod->word, "Init:", pod->word.own);
		}
	}
}

/* The first container that is not plainly running gives the word. */
static void read_containers(struct pod *pod)
{
	const json_t *list = neap_kube_cell_get(pod->status, "containerStatuses");
	bool is_running = false;

	for (size_t i = json_array_size(list); i-- > 0;) {
		const json_t *container = json_array_get(list, i);
		const json_t *ended = state_get(container, "state.terminated");
		const char *waits =
			neap_kube_cell_text(container, "state.waiting.reason");

		count_restarts(container, &pod->restarts);
		if (*waits) {
			set_word(&pod->word, "", waits);
		} else if (ended != NULL) {
			set_ended(&pod->word, "", ended);
		} else if (neap_kube_cell_is_true(container, "ready") &&
			   state_get(container, "state.running") != NULL) {
			is_running = true;
			pod->ready++;
		}
	}
	/* One finished container does not finish the pod. */
	if (is_word(&pod->word, "Completed") && is_running)
		set_word(&pod->word, "",
			 strcmp(neap_kube_cell_condition(
					neap_kube_cell_get(pod->status, "conditions"),
					"Ready"),
				"True") == 0
				 ? "Running"
				 : "NotReady");
}

/* --- the pod --- */

static void read_conditions(struct pod *pod)
{
	const json_t *list = neap_kube_cell_get(pod->status, "conditions");

	for (size_t i = 0; i < json_array_size(list); i++) {
		const json_t *c = json_array_get(list, i);

		if (strcmp(neap_kube_cell_text(c, "type"), "PodScheduled") == 0 &&
		    strcmp(neap_kube_cell_text(c, "reason"), "SchedulingGated") == 0)
			set_word(&pod->word, "", "SchedulingGated");
	}
}

/* A pod that is being deleted. A finished one keeps its word. */
static void read_deletion(struct pod *pod, const json_t *object)
{
	const char *phase = neap_kube_cell_text(pod->status, "phase");

	if (neap_kube_cell_get(object, "metadata.deletionTimestamp") == NULL)
		return;
	if (strcmp(neap_kube_cell_text(pod->status, "reason"), "NodeLost") == 0)
		set_word(&pod->word, "", "Unknown");
	else if (strcmp(phase, "Succeeded") != 0 && strcmp(phase, "Failed") != 0)
		set_word(&pod->word, "", "Terminating");
}

/* False without memory. */
static bool read_pod(struct pod *pod, const json_t *object)
{
	struct restarts sidecars = {0, NEAP_MISSING};
	const json_t *conditions = neap_kube_cell_get(pod->status, "conditions");

	pod->total = json_array_size(neap_kube_cell_get(pod->spec, "containers"));
	set_word(&pod->word, "",
		 neap_kube_cell_or(
			 neap_kube_cell_text(pod->status, "reason"),
			 neap_kube_cell_or(neap_kube_cell_text(pod->status, "phase"),
					   "Pending")));
	read_conditions(pod);
	if (!find_sidecars(pod))
		return false;
	read_init_containers(pod, &sidecars);
	if (!pod->is_initializing ||
	    strcmp(neap_kube_cell_condition(conditions, "Initialized"), "True") == 0) {
		pod->restarts = sidecars;
		read_containers(pod);
	}
	read_deletion(pod, object);
	return true;
}

/* "3 (5m ago)" */
static void add_restarts(struct neap_kube_row *row, const struct restarts *restarts)
{
	char age[24];

	neap_buf_addf(&row->buf, "%" PRId64, restarts->count);
	if (restarts->count != 0 && restarts->last != NEAP_MISSING)
		neap_buf_addf(&row->buf, " (%s ago)",
			      neap_kube_age(restarts->last, row->now, age, sizeof(age)));
	neap_kube_row_buf(row);
}

/* Readiness gates name conditions; there may be many of both. False without memory. */
static bool add_gates(struct neap_kube_row *row, const struct pod *pod)
{
	const json_t *gates = neap_kube_cell_get(pod->spec, "readinessGates");
	const json_t *conditions = neap_kube_cell_get(pod->status, "conditions");
	json_t *by_type;
	int64_t open = 0;

	if (json_array_size(gates) == 0) {
		neap_kube_row_text(row, "<none>");
		return true;
	}
	by_type = json_object();
	if (by_type == NULL)
		return false;
	for (size_t i = json_array_size(conditions); i-- > 0;) {
		const json_t *c = json_array_get(conditions, i);

		if (json_object_set(by_type, neap_kube_cell_text(c, "type"),
				    (json_t *)c) < 0) {
			json_decref(by_type);
			return false;
		}
	}
	for (size_t i = 0; i < json_array_size(gates); i++) {
		const char *type =
			neap_kube_cell_text(json_array_get(gates, i), "conditionType");

		open += strcmp(neap_kube_cell_text(json_object_get(by_type, type),
						   "status"),
			       "True") == 0;
	}
	json_decref(by_type);
	neap_kube_row_ratio(row, open, (int64_t)json_array_size(gates));
	return true;
}

static const char *address_get(const struct pod *pod)
{
	const json_t *addresses = neap_kube_cell_get(pod->status, "podIPs");
	const char *first = neap_kube_cell_text(json_array_get(addresses, 0), "ip");

	return neap_kube_cell_or(first, neap_kube_cell_text(pod->status, "podIP"));
}

json_t *neap_kube_cells_pod(const struct neap_kube_kind *kind, const json_t *object,
			    int64_t now)
{
	struct pod pod = {
		.spec = neap_kube_cell_get(object, "spec"),
		.status = neap_kube_cell_get(object, "status"),
		.restarts.last = NEAP_MISSING,
	};
	struct neap_kube_row row;
	json_t *cells;
	bool is_whole;

	(void)kind;
	is_whole = read_pod(&pod, object);
	neap_kube_row_init(&row, object, now);
	neap_kube_row_name(&row);
	neap_kube_row_ratio(&row, (int64_t)pod.ready, (int64_t)pod.total);
	neap_buf_adds(&row.buf, pod.word.prefix);
	neap_buf_adds(&row.buf, pod.word.text);
	neap_kube_row_buf(&row);
	add_restarts(&row, &pod.restarts);
	neap_kube_row_age(&row);
	neap_kube_row_text(&row, neap_kube_cell_or(address_get(&pod), "<none>"));
	neap_kube_row_text(
		&row,
		neap_kube_cell_or(neap_kube_cell_text(pod.spec, "nodeName"), "<none>"));
	neap_kube_row_text(
		&row,
		neap_kube_cell_or(neap_kube_cell_text(pod.status, "nominatedNodeName"),
				  "<none>"));
	is_whole = add_gates(&row, &pod) && is_whole;
	json_decref(pod.sidecars);
	cells = neap_kube_row_take(&row);
	if (is_whole)
		return cells;
	json_decref(cells);
	return NULL;
}
