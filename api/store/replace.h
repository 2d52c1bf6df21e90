/* SPDX-License-Identifier: Apache-2.0
 *
 * Makes the state of a store that of a backup, in one durable commit: objects that are not in it
 * are deleted, others created or changed, those that are equal already stay. What changes gets new, larger
 * versions, so that watches see it as any change. Shaped for 50,000 objects: everything that the loop
 * does for it is done a piece at a time, from neap_store_hear. */
#ifndef NEAP_API_STORE_REPLACE_H
#define NEAP_API_STORE_REPLACE_H

#include "api/store/store.h"

/* Of what is to be, as JSON, in all. */
#define NEAP_STORE_REPLACE_BYTES_MAX ((size_t)1024 * 1024 * 1024)

struct neap_store_replace;

struct neap_store_replaced {
	size_t created, updated, deleted, unchanged;
	int64_t version; /* of the store, afterwards */
};

/* err NULL: it is durable, and everything is shown; else nothing has changed. */
typedef void neap_store_replace_done(void *arg,
				     const struct neap_store_replaced *replaced,
				     const struct neap_error *err);

/* One at a time: NEAP_ECONFLICT; NEAP_EUNAVAILABLE when nothing is written any more; NEAP_EUNSUPPORTED when this
 * store takes none. */
int neap_store_replace_new(struct neap_store *store, struct neap_store_replace **ret,
			   struct neap_error *err);
/* Nothing of it is seen, and others go on writing. NEAP_EEXISTS when it was added before, NEAP_EINVAL,
 * NEAP_ETOOLARGE, NEAP_ENOMEM. */
int neap_store_replace_add_take(struct neap_store_replace *replace, const char *resource,
				json_t *object, const char *const *fields,
				struct neap_error *err);
/* From now on until done other writes are refused with NEAP_EUNAVAILABLE. New versions are above version,
 * and above all that this store has given. Takes replace over. */
void neap_store_replace_commit_take(struct neap_store_replace *replace, int64_t version,
				    neap_store_replace_done *done, void *arg);
/* Forgets it: before a commit, and before the store goes. NULL is fine. */
void neap_store_replace_free(struct neap_store_replace *replace);

#endif
