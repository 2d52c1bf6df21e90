/* SPDX-License-Identifier: Apache-2.0
 *
 * Kinds that are known by name, as clients ask for them whether there are any or not: "kubectl apply --prune" lists each of
 * them, and ends when one is unknown. Nothing of them is kept: lists are empty, and watches silent. */
#include "api/kube/types/types_priv.h"

static const struct neap_kube_column columns[] = {
	{.name = "Name",
	 .type = "string",
	 .format = "name",
	 .doc = "Name of the object.",
	 .path = ".metadata.name"},
};

/* The rest of them is nobody's here. */
static const struct neap_schema_field fields[] = {WHOLE};

#define NAMED(x, g, k, p, s, shorts, v, n)                                               \
	static const struct neap_schema x##_schema = {                                   \
		.name = (n),                                                             \
		.doc = "Known by name: none of it is kept.",                             \
		NEAP_SCHEMA_FIELDS(fields)};                                             \
	const struct neap_kube_kind neap_kube_kind_##x = {                               \
		.group = (g),                                                            \
		.versions = (v),                                                         \
		.kind = k,                                                               \
		.list_kind = k "List",                                                   \
		.plural = (p),                                                           \
		.singular = (s),                                                         \
		.short_names = (shorts),                                                 \
		.is_namespaced = true,                                                   \
		.is_named_only = true,                                                   \
		.schema = &x##_schema,                                                   \
		.columns = columns,                                                      \
		.column_count = NEAP_ARRAY_LEN(columns),                                 \
	}

static const char *const both[] = {"v1", "v1beta1", NULL},
			 *const beta[] = {"v1beta1", NULL}, *const ep[] = {"ep", NULL},
			 *const cj[] = {"cj", NULL}, *const ing[] = {"ing", NULL};

NAMED(endpoints, "", "Endpoints", "endpoints", "endpoints", ep, neap_kube_v1,
      CORE("Endpoints"));
NAMED(secret, "", "Secret", "secrets", "secret", NULL, neap_kube_v1, CORE("Secret"));
NAMED(cronjob, "batch", "CronJob", "cronjobs", "cronjob", cj, both,
      "io.k8s.api.batch.v1.CronJob");
NAMED(ingress, "networking.k8s.io", "Ingress", "ingresses", "ingress", ing, neap_kube_v1,
      "io.k8s.api.networking.v1.Ingress");
NAMED(old_ingress, "extensions", "Ingress", "ingresses", "ingress", ing, beta,
      "io.k8s.api.extensions.v1beta1.Ingress");
