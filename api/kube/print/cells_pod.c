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
	const char *reason = cell_text(terminated, "reason");
	int64_t signal = cell_int(terminated, "signal", 0);

	if (*reason) {
		set_word(word, prefix, reason);
		return;
	}
	if (signal != 0)
		(void)snprintf(word->own, sizeof(word->own), "Signal:%" PRId64, signal);
	else
		(void)snprintf(word->own, sizeof(word->own), "ExitCode:%" PRId64,
			       cell_int(terminated, "exitCode", 0));
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
	const json_t *state = cell_get(container, path);

	return json_is_object(state) ? state : NULL;
}

static void count_restarts(const json_t *container, struct restarts *sum)
{
	int64_t count = cell_int(container, "restartCount", 0);
	int64_t last = cell_time(container, "lastState.terminated.finishedAt");

	if (count > 0)
		sum->count += count < INT32_MAX ? count : INT32_MAX;
	if (last > sum->last)
		sum->last = last;
}

/* Init containers that always restart run beside the others, and count as they do. False
 * without memory. */
static bool find_sidecars(struct pod *pod)
{
	const json_t *list = cell_get(pod->spec, "initContainers");

	for (size_t i = 0; i < json_array_size(list); i++) {
		const json_t *container = json_array_get(list, i);

		if (strcmp(cell_text(container, "restartPolicy"), "Always") != 0)
			continue;
		pod->total++;
		if (!pod->sidecars)
			pod->sidecars = json_object();
		if (json_object_set_new(pod->sidecars, cell_text(container, "name"),
					json_true()) < 0)
			return false;
	}
	return true;
}

/* The first init container that is not finished gives the word. */
static void read_init_containers(struct pod *pod, struct restarts *sidecars)
{
	const json_t *list = cell_get(pod->status, "initContainerStatuses");
	size_t count = json_array_size(cell_get(pod->spec, "initContainers"));

	for (size_t i = 0; i < json_array_size(list) && !pod->is_initializing; i++) {
		const json_t *container = json_array_get(list, i);
		const json_t *ended = state_get(container, "state.terminated");
		const char *waits = cell_text(container, "state.waiting.reason");
		bool is_sidecar = json_object_get(pod->sidecars,
						  cell_text(container, "name")) != NULL;

		count_restarts(container, &pod->restarts);
		if (is_sidecar)
			count_restarts(container, sidecars);
		if (ended && cell_int(ended, "exitCode", 0) == 0)
			continue;
		if (is_sidecar && cell_is_true(container, "started")) {
			pod->ready += cell_is_true(container, "ready");
			continue;
		}
		pod->is_initializing = true;
		if (ended) {
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
	const json_t *list = cell_get(pod->status, "containerStatuses");
	bool is_running = false;

	for (size_t i = json_array_size(list); i-- > 0;) {
		const json_t *container = json_array_get(list, i);
		const json_t *ended = state_get(container, "state.terminated");
		const char *waits = cell_text(container, "state.waiting.reason");

		count_restarts(container, &pod->restarts);
		if (*waits) {
			set_word(&pod->word, "", waits);
		} else if (ended) {
			set_ended(&pod->word, "", ended);
		} else if (cell_is_true(container, "ready") &&
			   state_get(container, "state.running")) {
			is_running = true;
			pod->ready++;
		}
	}
	/* One finished container does not finish the pod. */
	if (is_word(&pod->word, "Completed") && is_running)
		set_word(&pod->word, "",
			 strcmp(cell_condition(cell_get(pod->status, "conditions"),
					       "Ready"),
				"True") == 0
				 ? "Running"
				 : "NotReady");
}

/* --- the pod --- */

static void read_conditions(struct pod *pod)
{
	const json_t *list = cell_get(pod->status, "conditions");

	for (size_t i = 0; i < json_array_size(list); i++) {
		const json_t *c = json_array_get(list, i);

		if (strcmp(cell_text(c, "type"), "PodScheduled") == 0 &&
		    strcmp(cell_text(c, "reason"), "SchedulingGated") == 0)
			set_word(&pod->word, "", "SchedulingGated");
	}
}

/* A pod that is being deleted. A finished one keeps its word. */
static void read_deletion(struct pod *pod, const json_t *object)
{
	const char *phase = cell_text(pod->status, "phase");

	if (!cell_get(object, "metadata.deletionTimestamp"))
		return;
	if (strcmp(cell_text(pod->status, "reason"), "NodeLost") == 0)
		set_word(&pod->word, "", "Unknown");
	else if (strcmp(phase, "Succeeded") != 0 && strcmp(phase, "Failed") != 0)
		set_word(&pod->word, "", "Terminating");
}

/* False without memory. */
static bool read_pod(struct pod *pod, const json_t *object)
{
	struct restarts sidecars = {0, NEAP_MISSING};
	const json_t *conditions = cell_get(pod->status, "conditions");

	pod->total = json_array_size(cell_get(pod->spec, "containers"));
	set_word(&pod->word, "",
		 cell_or(cell_text(pod->status, "reason"),
			 cell_or(cell_text(pod->status, "phase"), "Pending")));
	read_conditions(pod);
	if (!find_sidecars(pod))
		return false;
	read_init_containers(pod, &sidecars);
	if (!pod->is_initializing ||
	    strcmp(cell_condition(conditions, "Initialized"), "True") == 0) {
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
	row_buf(row);
}

/* Readiness gates name conditions; there may be many of both. False without memory. */
static bool add_gates(struct neap_kube_row *row, const struct pod *pod)
{
	const json_t *gates = cell_get(pod->spec, "readinessGates");
	const json_t *conditions = cell_get(pod->status, "conditions");
	json_t *by_type;
	int64_t open = 0;

	if (json_array_size(gates) == 0) {
		row_text(row, "<none>");
		return true;
	}
	by_type = json_object();
	if (!by_type)
		return false;
	for (size_t i = json_array_size(conditions); i-- > 0;) {
		const json_t *c = json_array_get(conditions, i);

		if (json_object_set(by_type, cell_text(c, "type"), (json_t *)c) < 0) {
			json_decref(by_type);
			return false;
		}
	}
	for (size_t i = 0; i < json_array_size(gates); i++) {
		const char *type = cell_text(json_array_get(gates, i), "conditionType");

		open += strcmp(cell_text(json_object_get(by_type, type), "status"),
			       "True") == 0;
	}
	json_decref(by_type);
	row_ratio(row, open, (int64_t)json_array_size(gates));
	return true;
}

static const char *address_get(const struct pod *pod)
{
	const json_t *addresses = cell_get(pod->status, "podIPs");
	const char *first = cell_text(json_array_get(addresses, 0), "ip");

	return cell_or(first, cell_text(pod->status, "podIP"));
}

json_t *neap_kube_cells_pod(const struct neap_kube_kind *kind NEAP_UNUSED,
			    const json_t *object, int64_t now)
{
	struct pod pod = {
		.spec = cell_get(object, "spec"),
		.status = cell_get(object, "status"),
		.restarts.last = NEAP_MISSING,
	};
	struct neap_kube_row row;
	json_t *cells;
	bool is_whole;

	is_whole = read_pod(&pod, object);
	row_init(&row, object, now);
	row_name(&row);
	row_ratio(&row, (int64_t)pod.ready, (int64_t)pod.total);
	neap_buf_adds(&row.buf, pod.word.prefix);
	neap_buf_adds(&row.buf, pod.word.text);
	row_buf(&row);
	add_restarts(&row, &pod.restarts);
	row_age(&row);
	row_text(&row, cell_or(address_get(&pod), "<none>"));
	row_text(&row, cell_or(cell_text(pod.spec, "nodeName"), "<none>"));
	row_text(&row, cell_or(cell_text(pod.status, "nominatedNodeName"), "<none>"));
	is_whole = add_gates(&row, &pod) && is_whole;
	json_decref(pod.sidecars);
	cells = row_take(&row);
	if (is_whole)
		return cells;
	json_decref(cells);
	return NULL;
}
