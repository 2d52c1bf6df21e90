/* SPDX-License-Identifier: Apache-2.0 */
#include "t/lib/ordered_rig.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "engine/base/mem.h"

void ordered_start(struct ordered_rig *rig)
{
	struct neap_workload_config config = workload_config(rig->kube);
	struct neap_error err = {0};

	assert_int_equal(neap_statefulsets_new(&config, &rig->sets, &err), 0);
}

int ordered_setup(void **state)
{
	struct ordered_rig *rig = neap_alloc(sizeof(*rig));

	assert_non_null(rig);
	assert_int_equal(kube_rig_setup((void **)&rig->kube), 0);
	ordered_start(rig);
	*state = rig;
	return 0;
}

int ordered_teardown(void **state)
{
	struct ordered_rig *rig = *state;

	neap_statefulsets_free(rig->sets);
	(void)kube_rig_teardown((void **)&rig->kube);
	free(rig);
	return 0;
}

void ordered_must(struct ordered_rig *rig, const char *ask, const char *body, int status)
{
	int got = kube_ask(rig->kube, ask, body);

	if (got != status)
		fail_msg("%s: %d: %s", ask, got, kube_text(rig->kube->body, "message"));
}

void ordered_until(struct ordered_rig *rig, struct kube_step step)
{
	workload_until(rig->kube, &step);
}

void ordered_settle(struct ordered_rig *rig)
{
	workload_settle(rig->kube, NULL, NULL);
}

enum workload_fate ordered_unready(void *arg, const json_t *pod)
{
	const char *name = arg;

	return !name || strcmp(name, kube_text(pod, "metadata.name")) == 0
		       ? WORKLOAD_UNREADY
		       : WORKLOAD_RUN;
}

/* Those of the new template do not become ready. */
enum workload_fate ordered_bad_image(void *arg, const json_t *pod)
{
	return strcmp(kube_text(pod, "spec.containers.0.image"), arg) == 0
		       ? WORKLOAD_UNREADY
		       : WORKLOAD_RUN;
}

/* "web-0 web-1": what there is, by a member of the pods ("metadata.name"). */
static const char *ordered_pods(struct ordered_rig *rig, const char *path)
{
	static char text[4096];
	json_t *pods = workload_list(rig->kube, "pods", "default"), *pod;
	size_t i;

	text[0] = '\0';
	json_array_foreach (pods, i, pod) {
		size_t len = strlen(text);

		(void)snprintf(text + len, sizeof(text) - len, "%s%s", len ? " " : "",
			       kube_text(pod, path));
	}
	json_decref(pods);
	return text;
}

const char *ordered_names(struct ordered_rig *rig)
{
	return ordered_pods(rig, "metadata.name");
}

const char *ordered_images(struct ordered_rig *rig)
{
	return ordered_pods(rig, "spec.containers.0.image");
}

int ordered_events(struct ordered_rig *rig, const char *reason)
{
	json_t *events = workload_list(rig->kube, "events", "default"), *event;
	int n = 0;
	size_t i;

	json_array_foreach (events, i, event) {
		n += strcmp(kube_text(event, "reason"), reason) == 0;
	}
	json_decref(events);
	return n;
}
