/* SPDX-License-Identifier: Apache-2.0
 *
 * Writing to the store, for the embedded server alone: a write that does not go through
 * its defaults, admission and checks could give a CPU twice. t/layers.sh refuses this
 * header everywhere else. */
#ifndef NEAP_API_STORE_WRITE_H
#define NEAP_API_STORE_WRITE_H

#include "api/store/store.h"

/* Called once from the loop when the write is durable (with the present object, borrowed;
 * after a delete its last state), or failed (object NULL): NEAP_EUNAVAILABLE: the disk
 * refused it; NEAP_ENOMEM; NEAP_EINTERNAL: the store cannot write any more. */
typedef void neap_store_done(void *arg, struct neap_object *object,
			     const struct neap_error *err);

enum neap_store_verb { NEAP_STORE_CREATE, NEAP_STORE_UPDATE, NEAP_STORE_DELETE };

struct neap_store_write {
	enum neap_store_verb verb;
	const char *resource;
	const char *ns, *name; /* as in the object */
	json_t *object;        /* taken; for a DELETE NULL, or the last state to report */
	const char *const *fields; /* selectable fields, as in neap_object_new_take */
	int64_t version;       /* of the newest state this write is based on; 0: any */
	neap_store_done *done; /* may be NULL */
	void *arg;
};

/* Returns 0 when accepted; done will be called. Refused at once, without done:
 * NEAP_EEXISTS, NEAP_ENOTFOUND, NEAP_ECONFLICT (another version), NEAP_EINVAL and
 * NEAP_ETOOLARGE (the object), NEAP_EUNAVAILABLE, NEAP_ENOMEM. An update that changes
 * nothing keeps the version, produces no event, and is answered when the earlier state is
 * durable. */
int neap_store_write_take(struct neap_store *store, struct neap_store_write *write,
			  struct neap_error *err);

#endif
