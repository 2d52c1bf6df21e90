/* SPDX-License-Identifier: Apache-2.0
 *
 * A store of a test's own in a temporary folder. */
#ifndef NEAP_T_LIB_STORE_RIG_H
#define NEAP_T_LIB_STORE_RIG_H

#include "api/store/sqlite/sqlite.h"
#include "api/store/write.h"

struct store_rig {
	char dir[64], file[96];
	struct neap_store *store;
	struct neap_store_sqlite_config config;
	char said[512]; /* the last line for the log */
	int problems;
};

void store_rig_init(struct store_rig *rig);
/* In memory, where there is a place, for thousands of starts. */
void store_rig_init_quick(struct store_rig *rig);
void store_rig_open(struct store_rig *rig);
void store_rig_close(struct store_rig *rig);
/* No file is left in its folder. */
void store_rig_empty(const struct store_rig *rig);
void store_rig_done(struct store_rig *rig);
/* Both as cmocka wants them: *state is an open one. */
int store_rig_setup(void **state);
int store_rig_teardown(void **state);
/* What became of a write. */
struct store_answer {
	bool is_done;
	int64_t version; /* 0 after a failure */
	enum neap_code code;
};
/* A done whose arg is a struct store_answer. */
void store_rig_answered(void *arg, struct neap_object *object,
			const struct neap_error *err);
/* {"metadata":{"name","namespace"},"spec":{"n":n}} as a write; the return of
 * neap_store_write_take. */
int store_rig_write(struct store_rig *rig, enum neap_store_verb verb, const char *ns,
		    const char *name, int n, int64_t version, struct store_answer *answer,
		    struct neap_error *err);
/* Hears until the answer is there. */
void store_rig_wait(struct store_rig *rig, const struct store_answer *answer);
/* Both, for writes that must succeed; the new version. */
int64_t store_rig_put(struct store_rig *rig, enum neap_store_verb verb, const char *ns,
		      const char *name, int n);
/* spec.n */
int store_rig_n(const struct neap_object *object);

#endif
