/* SPDX-License-Identifier: Apache-2.0
 *
 * Backup and restore of a test's store. */
#ifndef NEAP_T_LIB_BACKUP_RIG_H
#define NEAP_T_LIB_BACKUP_RIG_H

#include "api/store/replace.h"
#include "t/lib/store_rig.h"

struct backup_result {
	bool is_done;
	struct neap_store_replaced replaced;
	struct neap_error err;
};

/* A backup, to be freed. */
char *backup_rig_text(struct store_rig *rig, size_t *ret_len);
/* What the reader says; 0: handed to the store, and result will be filled. */
int backup_rig_start(struct store_rig *rig, const char *text, size_t len,
		     struct backup_result *result);
void backup_rig_wait(struct store_rig *rig, const struct backup_result *result);
/* Both, for what must succeed. */
void backup_rig_restore(struct store_rig *rig, const char *text, size_t len,
			struct backup_result *result);
/* A done that fills a struct backup_result. */
void backup_rig_replaced(void *arg, const struct neap_store_replaced *got,
			 const struct neap_error *err);

#endif
