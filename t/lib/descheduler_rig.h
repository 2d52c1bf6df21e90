/* SPDX-License-Identifier: Apache-2.0
 *
 * The descheduler over the embedded server, with two nodes of four CPUs of which n1 is
 * cordoned, an owner of pods, and strategies that are texts of the rig: MoveAll (every
 * pod leaves n1), Raises, Endless, and the rule keep-b. */
#ifndef NEAP_T_LIB_DESCHEDULER_RIG_H
#define NEAP_T_LIB_DESCHEDULER_RIG_H

#include "api/deschedule/descheduler.h"
#include "t/lib/kube_rig.h"

#define PODS   "/api/v1/namespaces/default/pods"
#define SECOND 1000000
#define CONFIG_MAP                                                                       \
	"/api/v1/namespaces/koordinator-system/configmaps/koord-descheduler-config"

#define POLICY(filter, plugins)                                                          \
	"apiVersion: descheduler/v1alpha2\n"                                             \
	"kind: DeschedulerPolicy\n"                                                      \
	"profiles:\n"                                                                    \
	"- name: p\n"                                                                    \
	"  pluginConfig: [{name: DefaultEvictor}, {name: MoveAll}]\n"                    \
	"  plugins:\n"                                                                   \
	"    filter: {enabled: [" filter "]}\n"                                          \
	"    " plugins "\n"
#define MOVE POLICY("", "balance: {enabled: [MoveAll]}")

extern const char descheduler_move_all[];
/* The time that it sees. */
extern int64_t descheduler_now;

struct descheduler_rig {
	struct kube_rig *kube;
	char dir[64];
	struct neap_tasks *tasks;
	struct neap_registry *registry; /* empty at first */
	struct neap_strategies *strategies;
	struct neap_descheduler_config config;
	struct neap_descheduler *descheduler;
	char owner[64];
	/* Of the last simulation. */
	json_t *record;
	struct neap_error err;
	bool is_done;
	char wished[256]; /* names of pods that were to be migrated */
};

int descheduler_setup(void **state);
int descheduler_teardown(void **state);
void descheduler_must(struct descheduler_rig *rig, const char *ask, const char *body,
		      int status);
/* One CPU; node "": it waits. */
void descheduler_pod(struct descheduler_rig *rig, const char *name, const char *node);
/* Puts that policy in service, or another version of it. */
void descheduler_upload(struct descheduler_rig *rig, const char *text);
void descheduler_begin(struct descheduler_rig *rig);
/* Goes by that text as its file. */
void descheduler_use(struct descheduler_rig *rig, const char *text);
/* Turns the loop until so many rounds are over, and all is written. Returns the status
 * with the last record; a new reference. */
json_t *descheduler_rounds(struct descheduler_rig *rig, int count);
void descheduler_wants(json_t *json, const char *const *want);
/* Asks for a round, which is number count. */
json_t *descheduler_run(struct descheduler_rig *rig, int count);
/* Names of the pods there are, in order; in a static buffer. */
const char *descheduler_pods(struct descheduler_rig *rig);

/* Turns the loop until the status is as wanted. */
void descheduler_wait(struct descheduler_rig *rig, const char *want);
/* The ConfigMap with the configuration; its namespace must be there. */
void descheduler_put_map(struct descheduler_rig *rig, bool is_new, const char *text);
/* Turns the loop until its end: rig->record, rig->err. */
void descheduler_simulate(struct descheduler_rig *rig,
			  const struct neap_simulation *simulation);

#define WANTS(json, ...) descheduler_wants(json, (const char *const[]){__VA_ARGS__, NULL})

#endif
