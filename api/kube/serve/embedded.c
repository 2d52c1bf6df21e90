/* SPDX-License-Identifier: Apache-2.0 */
#include "api/kube/serve/embedded.h"

#include <stdlib.h>

#include "api/kube/loops/budget_loop.h"
#include "api/kube/loops/crd_loop.h"
#include "api/kube/loops/event_ttl.h"
#include "api/kube/loops/gc.h"
#include "api/kube/serve/bootstrap.h"
#include "engine/base/mem.h"

struct neap_kube_embedded {
	struct neap_kube_collect *collect;
	struct neap_kube_budgets *budgets;
	struct neap_kube_expire *expire;
	struct neap_kube_declared *declared;
};

int neap_kube_embedded_start(const struct neap_kube_embedded_config *config,
			     struct neap_kube_embedded **ret, struct neap_error *err)
{
	struct neap_kube_embedded *embedded = neap_alloc(sizeof(*embedded));
	const struct neap_kube_expire_config expire = {.ttl_s = config->event_ttl_s};
	const struct neap_kube_declared_config declared = {
		.kube = config->kube, .folder = config->folder, .log = config->log};

	*ret = embedded;
	if (!embedded)
		return neap_error_nomem(err);
	if (neap_kube_bootstrap(config->kube, err) < 0 ||
	    neap_kube_collect_new(config->kube, &embedded->collect, err) < 0 ||
	    neap_kube_budgets_new(config->kube, &embedded->budgets, err) < 0 ||
	    neap_kube_expire_new(config->kube, &expire, &embedded->expire, err) < 0)
		return -(int)err->code;
	return neap_kube_declared_new(&declared, &embedded->declared, err);
}

void neap_kube_embedded_free(struct neap_kube_embedded *embedded)
{
	if (!embedded)
		return;
	neap_kube_expire_free(embedded->expire);
	neap_kube_budgets_free(embedded->budgets);
	neap_kube_collect_free(embedded->collect);
	neap_kube_declared_free(embedded->declared);
	free(embedded);
}
