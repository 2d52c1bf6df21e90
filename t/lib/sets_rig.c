/* SPDX-License-Identifier: Apache-2.0 */
#include "t/lib/sets_rig.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "engine/base/mem.h"

void sets_start(struct sets_rig *rig)
{
	struct neap_workload_config config = workload_config(rig->kube);
	struct neap_error err = {0};

	assert_int_equal(neap_replicasets_new(&config, &rig->sets, &err), 0);
}

void sets_restart(struct sets_rig *rig)
{
	neap_replicasets_free(rig->sets);
	sets_start(rig);
}

int sets_setup(void **state)
{
	struct sets_rig *rig = neap_alloc(sizeof(*rig));

	assert_non_null(rig);
	assert_int_equal(kube_rig_setup((void **)&rig->kube), 0);
	sets_start(rig);
	*state = rig;
	return 0;
}

int sets_teardown(void **state)
{
	struct sets_rig *rig = *state;

	neap_replicasets_free(rig->sets);
	(void)kube_rig_teardown((void **)&rig->kube);
	free(rig);
	return 0;
}

void sets_must(struct sets_rig *rig, const char *ask, const char *body, int status)
{
	int got = kube_ask(rig->kube, ask, body);

	if (got != status)
		fail_msg("%s: %d: %s", ask, got, kube_text(rig->kube->body, "message"));
}

void sets_until(struct sets_rig *rig, struct kube_step step)
{
	workload_until(rig->kube, &step);
}

size_t sets_count_pods(struct sets_rig *rig)
{
	json_t *pods = workload_list(rig->kube, "pods", "default"), *pod;
	size_t n = 0, i;

	json_array_foreach (pods, i, pod) {
		n += *kube_text(pod, "metadata.deletionTimestamp") == '\0';
	}
	json_decref(pods);
	return n;
}

int sets_count_owned(struct sets_rig *rig)
{
	json_t *pods = workload_list(rig->kube, "pods", "default");
	const json_t *pod;
	int count = 0;
	size_t i;

	json_array_foreach (pods, i, pod)
		count += *kube_text(pod, "metadata.ownerReferences.0.uid") != '\0';
	json_decref(pods);
	return count;
}
