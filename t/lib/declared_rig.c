/* SPDX-License-Identifier: Apache-2.0 */
#include "t/lib/declared_rig.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

void declared_define(struct kube_rig *rig, const char *body, const char *name)
{
	char ask[256];
	struct kube_step step = {
		ask,
		NULL,
		200,
		{"status.conditions~" IS("Established", "True", "InitialNamesAccepted")}};

	if (kube_ask(rig, "POST " CRDS, body) != 201)
		fail_msg("%s: %s", name, kube_text(rig->body, "message"));
	(void)snprintf(ask, sizeof(ask), "GET " CRDS "/%s", name);
	kube_until(rig, &step);
}
