/* SPDX-License-Identifier: Apache-2.0
 *
 * Jobs that a descheduling round creates. A job counts from the moment of the request, so
 * that the check of the round's next pod includes it. */
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "api/migrate/migrate_priv.h"
#include "api/workload/loop/scaled.h"
#include "engine/base/mem.h"
#include "engine/base/quantity.h"
#include "engine/json/json.h"

/* A job that could not be created counts for so long. */
#define FORGET_USEC (INT64_C(10) * 1000000)

void migrate_uuid(char to[MIGRATE_UUID])
{
	unsigned char b[16] = {0};

	/* So few bytes come whole, or the kernel is not ready yet. */
	while (getrandom(b, sizeof(b), 0) != (ssize_t)sizeof(b))
		;
	b[6] = (b[6] & 0x0f) | 0x40; /* version 4 */
	b[8] = (b[8] & 0x3f) | 0x80;
	for (size_t i = 0, at = 0; i < sizeof(b); i++) {
		at += (size_t)snprintf(to + at, MIGRATE_UUID - at, "%s%02x",
				       i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "",
				       b[i]);
	}
}

static json_t *pod_of(struct neap_migrate *migrate, const char *ns, const char *name)
{
	struct neap_object *pod =
		neap_client_find(migrate->config.client, "pods", ns, name);

	return pod ? neap_object_tree(pod) : NULL;
}

static enum neap_migrate_check may(struct neap_migrate *migrate, const json_t *pod)
{
	const struct neap_migrate_question ask = {.args = &migrate->args,
						  .cluster = &migrate->cluster,
						  .pod = pod,
						  .fits_elsewhere =
							  migrate->config.fits_elsewhere,
						  .arg = migrate->config.arg,
						  .limiter = migrate->limiter,
						  .now_usec = migrate->config.now()};

	/* Without an answer yet by what was known before: arbitration waits for it. Where
	 * there is none, the pod stays. */
	if (!neap_scaled_learn(migrate->config.client, &migrate->cluster,
			       neap_json_text_at(pod, "metadata.namespace"),
			       neap_json_text_at(pod, "metadata.name")) &&
	    !migrate->args.arbitrates && !migrate->args.any_replicas)
		return NEAP_CHECK_REPLICAS;
	return pod ? neap_migrate_refuses(&ask) : NEAP_CHECK_TERMINATING;
}

static json_t *job_new(struct neap_migrate *migrate, const struct neap_migrate_wish *wish,
		       const json_t *pod)
{
	const struct neap_migrate_args *args = &migrate->args;
	const json_t *meta = json_object_get(pod, "metadata");
	int64_t ttl = wish->ttl_usec > 0 ? wish->ttl_usec : args->ttl_usec;
	const json_t *options =
		wish->delete_options ? wish->delete_options : args->delete_options;
	const char *mode = wish->mode        ? wish->mode
			   : args->is_direct ? "EvictDirectly"
					     : "ReservationFirst";
	const char *landing = wish->landing && *wish->landing ? wish->landing : NULL;
	const char *profile = wish->profile && *wish->profile ? wish->profile : NULL;
	char name[MIGRATE_UUID], ttl_text[32], now[32];
	json_t *job, *spec;

	migrate_uuid(name);
	(void)neap_duration_format(ttl, ttl_text, sizeof(ttl_text));
	(void)neap_time_format(migrate->config.now(), 0, now, sizeof(now));
	job = json_pack("{s:{s:s, s:s, s:{s:s, s:s*, s:s*, s:s*, s:s*, s:s*}},"
			" s:{s:s, s:{s:s, s:s, s:s}}}",
			"metadata", "name", name, "creationTimestamp", now, "annotations",
			NEAP_KEY_JOB_CREATOR, migrate->creator, NEAP_KEY_EVICT_REASON,
			wish->reason, NEAP_KEY_EVICT_TRIGGER, wish->trigger,
			NEAP_KEY_JOB_LANDING, landing, NEAP_KEY_JOB_PROFILE, profile,
			NEAP_KEY_JOB_EVICTOR, wish->evictor, "spec", "mode", mode,
			"podRef", "namespace", neap_json_text(meta, "namespace"), "name",
			neap_json_text(meta, "name"), "uid", neap_json_text(meta, "uid"));
	spec = json_object_get(job, "spec");
	if (spec && ttl > 0)
		(void)json_object_set_new(spec, "ttl", json_string(ttl_text));
	if (spec && options)
		(void)json_object_set_new(spec, "deleteOptions",
					  neap_json_deep_copy(options));
	return job;
}

/* Of a creation on its way. */
struct creation {
	void (*told)(void *told_arg, const char *trouble);
	void *told_arg;
};

static void created(void *arg, NEAP_UNUSED struct neap_object *object,
		    const struct neap_client_failure *failure)
{
	struct creation *creation = arg;

	creation->told(creation->told_arg, failure ? failure->message : NULL);
	free(creation);
}

static enum neap_migrate_check check_wish(struct neap_migrate *migrate,
					  const struct neap_migrate_wish *wish,
					  const json_t *pod)
{
	if (pod && wish->uid &&
	    strcmp(neap_json_text(json_object_get(pod, "metadata"), "uid"), wish->uid) !=
		    0)
		return NEAP_CHECK_TERMINATING;
	return may(migrate, pod);
}

static void create(struct neap_migrate *migrate, json_t *job, struct creation *creation)
{
	const struct neap_client_ask ask = {
		.resource = JOBS, .ns = "", .told = created, .arg = creation};

	if (job && neap_migrate_set_job(&migrate->cluster, job, NULL) == 0)
		neap_feed_due(migrate->feed, "",
			      neap_json_text(json_object_get(job, "metadata"), "name"),
			      FORGET_USEC);
	neap_client_create_take(migrate->config.client, &ask, job);
}

void neap_migrate_ask(struct neap_migrate *migrate, const struct neap_migrate_wish *wish,
		      void (*told)(void *told_arg, const char *trouble), void *told_arg)
{
	json_t *pod = pod_of(migrate, wish->ns, wish->name);
	enum neap_migrate_check check = check_wish(migrate, wish, pod);
	struct creation *creation = NULL;

	if (check != NEAP_CHECK_NONE) {
		told(told_arg, neap_migrate_check_name(check));
	} else if (migrate->args.dry_run) {
		told(told_arg, NULL);
	} else {
		creation = neap_alloc(sizeof(*creation));
		if (!creation) {
			told(told_arg, "no memory");
		} else {
			*creation = (struct creation){told, told_arg};
			create(migrate, job_new(migrate, wish, pod), creation);
		}
	}
	json_decref(pod);
}

struct neap_limiter *neap_migrate_copy_limiter(const struct neap_migrate *migrate)
{
	return neap_limiter_copy(migrate->limiter);
}
