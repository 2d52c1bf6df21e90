/* SPDX-License-Identifier: Apache-2.0
 *
 * Objects over HTTP as a kube-apiserver serves them: discovery, reading, watching,
 * writing. The registry has the kinds, the store the objects. Everything runs on the
 * loop's thread. */
#ifndef NEAP_API_KUBE_KUBE_H
#define NEAP_API_KUBE_KUBE_H

#include "api/http/server.h"
#include "api/kube/base/registry.h"
#include "api/store/store.h"

/* Limit on open watches. */
#define NEAP_KUBE_WATCHES_MAX 4096

struct neap_kube;
struct neap_tasks;

struct neap_kube_config {
	struct event_base *base;
	struct neap_store *store;            /* borrowed */
	struct neap_kube_registry *registry; /* borrowed */
	int64_t (*now)(void);                /* Unix microseconds; NULL: the clock */
	bool runs_pods;   /* pods' commands run on this machine: only admins write pods */
	int cpu_refs_max; /* pods that may share a CPU in their resource-status; 0: 1 */
};

int neap_kube_new(const struct neap_kube_config *config, struct neap_kube **ret,
		  struct neap_error *err);
/* Ends all watches. */
void neap_kube_free(struct neap_kube *kube);
/* The queue of its long work: for tests, and for other parts' work. */
struct neap_tasks *neap_kube_tasks(struct neap_kube *kube);
/* Call before it exists: its part of the address space is answered with 503 until it
 * serves. */
void neap_kube_announce(struct neap_http *http);
/* Registers its routes on the server. */
int neap_kube_serve(struct neap_kube *kube, struct neap_http *http,
		    struct neap_error *err);

#endif
