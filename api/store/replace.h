/* SPDX-License-Identifier: Apache-2.0
 *
 * Replaces the content of a store by that of a backup in one durable commit: missing
 * objects are deleted, others created or changed, and equal ones stay. Changed objects
 * get new, higher versions, so watches see ordinary events. Made for 50,000 objects: the
 * loop's part runs in pieces from neap_store_hear. */
#ifndef NEAP_API_STORE_REPLACE_H
#define NEAP_API_STORE_REPLACE_H

#include "api/store/store.h"

/* Total bytes of the new content as JSON. */
#define NEAP_STORE_REPLACE_BYTES_MAX ((size_t)1024 * 1024 * 1024)

struct neap_store_replace;

struct neap_store_replaced {
	size_t created, updated, deleted, unchanged;
	int64_t version; /* of the store, afterwards */
};

/* err NULL: durable and visible; else nothing has changed. */
typedef void neap_store_replace_done(void *arg,
				     const struct neap_store_replaced *replaced,
				     const struct neap_error *err);

/* One at a time: NEAP_ECONFLICT; NEAP_EUNAVAILABLE when the store cannot write any more;
 * NEAP_EUNSUPPORTED when the store does not support it. */
int neap_store_replace_new(struct neap_store *store, struct neap_store_replace **ret,
			   struct neap_error *err);
/* Adds an object. Nothing becomes visible, and others may still write. NEAP_EEXISTS when
 * it was added before; NEAP_EINVAL, NEAP_ETOOLARGE, NEAP_ENOMEM. */
int neap_store_replace_add_take(struct neap_store_replace *replace, const char *resource,
				json_t *object, const char *const *fields,
				struct neap_error *err);
/* Commits. Until done is called, other writes are refused with NEAP_EUNAVAILABLE. New
 * versions are above version and above all versions this store has given. Takes replace
 * over. */
void neap_store_replace_commit_take(struct neap_store_replace *replace, int64_t version,
				    neap_store_replace_done *done, void *arg);
/* Drops it before a commit; before the store is freed. Accepts NULL. */
void neap_store_replace_free(struct neap_store_replace *replace);

#endif
