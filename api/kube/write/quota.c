/* SPDX-License-Identifier: Apache-2.0
 *
 * Limits on the store: objects, bytes, and objects of one owner. So neither a client nor
 * a controller (a ReplicaSet of two billion pods) can fill memory and disk. Essential
 * writes have an extra tenth: Leases, events, status and bindings, and everything that
 * neapd writes except new pods. Deletions, and updates that shrink an object, are always
 * allowed. */
#include <inttypes.h>
#include <string.h>

#include "api/kube/base/meta.h"
#include "api/kube/request/call.h"

#define RESERVE_PART 10 /* the extra tenth */

static bool is_system(const struct call *call, bool is_new)
{
	static const char *const resources[] = {"events", "leases.coordination.k8s.io"};

	for (size_t i = 0; i < NEAP_ARRAY_LEN(resources); i++)
		if (strcmp(call->resource, resources[i]) == 0)
			return true;
	if (call->target.sub[0])
		return true;
	return !call->request && (!is_new || strcmp(call->resource, "pods") != 0);
}

/* Messages are those of a ResourceQuota; the quota's name is the option that sets the
 * limit. */
static int refuse(struct call *call, const json_t *object, const char *option,
		  const char *what, uint64_t used, uint64_t limit)
{
	return neap_kube_fail(
		&call->failure, NEAP_KUBE_FORBIDDEN,
		"%s \"%.253s\" is forbidden: exceeded quota: %s, requested: "
		"%s=1, used: %s=%" PRIu64 ", limited: %s=%" PRIu64,
		call->target.kind->plural, neap_kube_meta_text(object, "name"), option,
		what, what, used, what, limit);
}

/* Checks the controlling owner only: an object may name many others. */
static int check_owner(struct call *call, const json_t *object, size_t limit)
{
	const json_t *list = json_object_get(json_object_get(object, "metadata"),
					     "ownerReferences"),
		     *owner;
	size_t i;

	json_array_foreach (list, i, owner) {
		const char *uid = json_string_value(json_object_get(owner, "uid"));
		size_t used;

		if (!uid || !json_is_true(json_object_get(owner, "controller")))
			continue;
		used = neap_store_owned(call->kube->store, uid);
		if (limit && used >= limit)
			return refuse(call, object, "--max-owned", "owned", used, limit);
	}
	return 0;
}

/* Compares the size as stored, approximately. */
static bool is_smaller(const json_t *object, const struct neap_object *newest)
{
	return json_dumpb(object, NULL, 0, JSON_COMPACT) <= newest->text_len;
}

int call_check_quota(struct call *call, const json_t *object,
		     const struct neap_object *newest)
{
	const struct neap_store *store = call->kube->store;
	struct neap_store_used used = neap_store_used(store);
	struct neap_store_limits limits = neap_store_limits(store);

	if (is_system(call, !newest)) {
		limits.objects += limits.objects / RESERVE_PART;
		limits.bytes += limits.bytes / RESERVE_PART;
	}
	if (!newest && limits.objects && used.objects >= limits.objects)
		return refuse(call, object, "--max-objects", "objects", used.objects,
			      limits.objects);
	if (limits.bytes && used.bytes >= limits.bytes &&
	    !(newest && is_smaller(object, newest)))
		return refuse(call, object, "--max-objects-size", "bytes", used.bytes,
			      limits.bytes);
	return newest ? 0 : check_owner(call, object, limits.owned);
}
