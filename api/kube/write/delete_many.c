/* SPDX-License-Identifier: Apache-2.0
 *
 * Deletes a collection, each object like a single request. It works in slices and leaves
 * room in the write queue for others. Deletions that the store refuses for now are
 * retried. The response comes when all objects are gone or durably terminating: the
 * former list, or the error of one that stays. */
#include <stdlib.h>
#include <string.h>

#include "api/kube/read/read.h"
#include "api/kube/request/slow.h"
#include "api/kube/write/delete_priv.h"
#include "api/kube/write/write.h"
#include "engine/base/clock.h"
#include "engine/base/mem.h"

/* The most removals that are not durable yet: a part of NEAP_STORE_WRITES_MAX. */
#define WAITING_MAX 1024
#define WAITING_LOW 512
/* Between two tries; and after how long without any accepted it gives up. */
#define RETRY_USEC    100000
#define PATIENCE_USEC (10 * 1000000LL)

struct one {
	struct removal *removal;
	struct neap_object *object; /* counted */
	struct one *next;
};

struct removal {
	struct slow slow;
	struct wish wish;
	struct gather gather;
	struct one *ones; /* all objects; NULL: not gathered yet */
	size_t count;
	struct one *left, *refused; /* of ones: those to request, and those to retry */
	size_t waiting, kept;       /* not durable yet; cannot be deleted */
	int64_t taken_usec;         /* when the store last accepted one */
	struct neap_kube_failure failure;
	bool is_at_work,
		is_over; /* ended, without a waiting client; freed with its last write */
};

static void removal_free(struct removal *removal)
{
	for (size_t i = 0; i < removal->count; i++)
		(void)neap_object_unref(removal->ones[i].object);
	free(removal->ones);
	free(removal);
}

static void leave(struct removal *removal)
{
	removal->is_over = true;
	json_decref(removal->wish.options);
	removal->wish.options = NULL;
	gather_done(&removal->gather);
	slow_done(&removal->slow);
	if (!removal->waiting)
		removal_free(removal);
}

/* Accepted deletions still happen. */
static void client_gone(void *arg)
{
	leave(arg);
}

static void removal_end(struct slow *slow)
{
	slow_refuse_end(slow);
	leave((struct removal *)slow);
}

/* Failures that may pass: the disk is slow or full, or another write came first. */
static bool is_worth_another_try(const struct neap_kube_failure *failure)
{
	return failure->reason == NEAP_CLIENT_TOO_MANY_REQUESTS ||
	       failure->reason == NEAP_CLIENT_UNAVAILABLE ||
	       failure->reason == NEAP_CLIENT_CONFLICT;
}

/* The end of a removal, called from remove_one or when it is durable. */
static void told(void *arg, struct neap_object *object NEAP_UNUSED,
		 const struct neap_kube_failure *failure)
{
	struct one *one = arg;
	struct removal *removal = one->removal;

	removal->waiting--;
	if (removal->is_over) {
		if (!removal->waiting)
			removal_free(removal);
		return;
	}
	if (!failure || failure->reason == NEAP_CLIENT_NOT_FOUND) {
		removal->taken_usec = neap_clock_steady();
		one->object = neap_object_unref(one->object);
	} else {
		removal->failure = *failure;
		removal->failure.causes = NULL; /* borrowed from a single request */
		if (is_worth_another_try(failure)) {
			one->next = removal->refused;
			removal->refused = one;
		} else {
			removal->kept++;
		}
	}
	if (!removal->is_at_work &&
	    (removal->waiting == WAITING_LOW || !removal->waiting))
		neap_task_wake(removal->slow.task);
}

static void remove_one(struct removal *removal, struct one *one)
{
	struct call call = removal->slow.call;
	const struct neap_object *object = one->object;
	struct neap_object *newest;

	call.request = NULL;
	call.told = told;
	call.told_arg = one;
	(void)neap_strcopy(call.target.ns, sizeof(call.target.ns), object->ns);
	(void)neap_strcopy(call.target.name, sizeof(call.target.name), object->name);
	removal->waiting++;
	newest = neap_store_newest(call.kube->store, call.resource, object->ns,
				   object->name);
	/* The object is gone. A new one of the same name is not part of this request. */
	if (!newest || strcmp(newest->uid, object->uid) != 0) {
		call_tell(&call, one->object);
		return;
	}
	if (remove_check(&call, &removal->wish, newest) < 0) {
		/* Another version would fail too. */
		removal->waiting--;
		removal->failure = call.failure;
		removal->kept++;
		return;
	}
	call_end(&call, remove_checked(&call, &removal->wish, newest, 200));
}

/* False: the step ends with *ret. */
static bool gather(struct removal *removal, enum neap_task_next *ret)
{
	struct gather *gather = &removal->gather;
	struct call *call = &removal->slow.call;
	struct neap_error err;
	bool has_more;
	int more = gather_step(call, removal->slow.task, gather, &has_more, &err);

	*ret = NEAP_TASK_GOES_ON;
	if (more > 0)
		return false;
	if (more == 0) {
		removal->ones = neap_alloc_array(gather->count + 1, sizeof(struct one));
		if (!removal->ones)
			more = neap_error_nomem(&err);
	}
	if (more < 0) {
		call_end(call, call_error(call, &err));
		leave(removal);
		*ret = NEAP_TASK_IS_OVER;
		return false;
	}
	for (size_t i = gather->count; i-- > 0;) {
		removal->ones[i] = (struct one){
			removal, neap_object_ref(gather->objects[i]), removal->left};
		removal->left = &removal->ones[i];
	}
	removal->count = gather->count;
	removal->taken_usec = neap_clock_steady();
	return true;
}

static void answer(struct removal *removal)
{
	struct call *call = &removal->slow.call;
	size_t kept = removal->kept;

	for (const struct one *one = removal->refused; one; one = one->next)
		kept++;
	for (const struct one *one = removal->left; one; one = one->next)
		kept++;
	if (!kept) {
		struct gather *gather = &removal->gather;
		struct neap_object **objects = gather->objects;

		gather->objects = NULL;
		call_end(call, call_answer_page_take(call, &gather->place, false, objects,
						     gather->count));
		gather->count = 0;
		return;
	}
	call->failure = removal->failure;
	if (kept > 1) {
		char why[sizeof(call->failure.message)];

		(void)neap_strcopy(why, sizeof(why), removal->failure.message);
		(void)snprintf(call->failure.message, sizeof(call->failure.message),
			       "%zu of %zu %s were not deleted, of the last one: %.800s",
			       kept, removal->count, call->target.kind->plural, why);
	}
	call_fail(call);
}

/* Requests deletions until the slice is over, the queue has enough of them, or the store
 * takes no more. */
static void ask(struct removal *removal)
{
	removal->is_at_work = true;
	do {
		struct one *one = removal->left;

		if (!one || removal->refused || removal->waiting >= WAITING_MAX)
			break;
		removal->left = one->next;
		remove_one(removal, one);
	} while (neap_task_has_time(removal->slow.task));
	removal->is_at_work = false;
}

static enum neap_task_next step(void *arg)
{
	struct removal *removal = arg;
	enum neap_task_next next;

	if (!removal->ones && !gather(removal, &next))
		return next;
	if (removal->slow.call.is_dry)
		removal->left = NULL;
	ask(removal);
	if (removal->waiting >= WAITING_MAX || (removal->refused && removal->waiting))
		return NEAP_TASK_WAITS;
	if (removal->refused &&
	    neap_clock_steady() - removal->taken_usec < PATIENCE_USEC) {
		struct one *last = removal->refused;

		while (last->next)
			last = last->next;
		last->next = removal->left;
		removal->left = removal->refused;
		removal->refused = NULL;
		neap_task_wake_later(removal->slow.task, RETRY_USEC);
		return NEAP_TASK_WAITS;
	}
	if (removal->left && !removal->refused)
		return NEAP_TASK_GOES_ON;
	if (removal->waiting)
		return NEAP_TASK_WAITS;
	answer(removal);
	leave(removal);
	return NEAP_TASK_IS_OVER;
}

/* The version of options is v1, or that of any served group. */
static int check_options(struct call *call, const json_t *options)
{
	const char *version = json_string_value(json_object_get(options, "apiVersion"));
	const struct neap_kube_registry *registry = call->kube->registry;

	if (!version || !*version)
		return 0;
	if (!json_object_get(options, "kind"))
		return call->target.kind->is_custom
			       ? call_bad(call, "Object 'Kind' is missing in the options")
			       : 0;
	if (strcmp(version, "v1") == 0)
		return 0;
	for (size_t i = 0; i < neap_kube_registry_count(registry); i++) {
		const struct neap_kube_kind *kind = neap_kube_registry_at(registry, i);
		size_t len = strlen(kind->group);

		if (!len || strncmp(version, kind->group, len) != 0 ||
		    version[len] != '/')
			continue;
		for (const char *const *at = kind->versions; *at; at++)
			if (strcmp(*at, version + len + 1) == 0)
				return 0;
	}
	return call_bad(call,
			"no kind \"DeleteOptions\" is registered for version "
			"\"%.100s\"",
			version);
}

int call_delete_collection(struct call *call)
{
	struct removal *removal = neap_alloc(sizeof(*removal));
	int64_t ignored;

	if (!removal)
		return call_nomem(call);
	removal->gather.is_newest = true;
	removal->gather.place.version = neap_store_version(call->kube->store);
	removal->gather.is_shown = shape_is_other(call);
	if (call_version(call, &ignored) < 0 ||
	    choice_parse(call, &removal->gather.choice) < 0 ||
	    remove_parse(call, &removal->wish) < 0 ||
	    check_options(call, removal->wish.options) < 0 ||
	    slow_begin(&removal->slow, call, step, removal_end) < 0) {
		leave(removal);
		return -1;
	}
	slow_defer(&removal->slow, call, client_gone);
	neap_task_go(removal->slow.task);
	return 0;
}
