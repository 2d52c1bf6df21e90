/* SPDX-License-Identifier: Apache-2.0
 *
 * What the files of api/kube share: the server, and one request on its way. */
#ifndef NEAP_API_KUBE_KUBE_PRIV_H
#define NEAP_API_KUBE_KUBE_PRIV_H

#include "api/http/server.h"
#include "api/kube/base/field_selector.h"
#include "api/kube/base/status.h"
#include "api/kube/base/target.h"
#include "api/kube/base/view.h"
#include "api/kube/client_local.h"
#include "api/kube/kube.h"
#include "api/kube/patch/patch.h"
#include "api/kube/types/bodies.h"
#include "api/store/store.h"

struct event_base;
struct neap_kube_declared;
struct watcher;
struct kube_trash;
struct neap_task;
struct slow;
struct neap_tasks;
struct kube_notes;
struct kube_logs;
struct kube_cpus;

/* Lists of what is not stored that are made at a time. */
#define MADE_MAX 16

/* /openapi/v2 of the kinds as they were. */
struct document {
	char *text;
	size_t len;
	uint64_t generation; /* of the registry */
	char tag[48];
};

struct neap_kube {
	struct event_base *base;
	struct neap_store *store;
	struct neap_kube_registry *registry;
	struct neap_http *http;   /* that it is served by; NULL before */
	struct neap_tasks *tasks; /* all that is done in slices */
	struct slow *slow;
	struct kube_trash *trash;  /* objects that nobody here needs any more */
	struct neap_task *sweeper; /* NULL until there were many */
	struct watcher *watchers;
	size_t watcher_count;
	size_t made_count;
	struct event *tidy;
	struct kube_logs *logs;              /* NULL: there are none here */
	int64_t (*now)(void);                /* Unix microseconds */
	bool runs_pods;                      /* see rights.h */
	struct neap_kube_declared *declared; /* NULL: the kinds stay as they are */
	struct document document;
	struct neap_kube_shown shown;
	struct kube_notes *notes; /* NULL until there is one */
	struct kube_cpus *cpus;   /* NULL until some pod has CPUs */
	int cpu_refs_max;         /* pods that may share a CPU */
	struct neap_causes
		causes; /* of the request at work: too large for the stack of each */
};

/* As whom an object is shown: its own JSON, its metadata alone (PartialObjectMetadata),
 * or a row of a Table. */
enum shape { SHAPE_OBJECT, SHAPE_METADATA, SHAPE_TABLE };
/* What of the object goes with a row. */
enum include { INCLUDE_METADATA, INCLUDE_OBJECT, INCLUDE_NONE };

/* What an apply patch says beside the object; see apply_priv.h. */
struct apply {
	json_t *set;      /* the fields that it names */
	char *annotation; /* of client-side apply, where kubectl applies; NULL */
	bool is_forced;
};

struct call {
	struct neap_kube *kube;
	/* NULL once it is answered, and of one that nobody waits for */
	struct neap_http_request *request;
	struct neap_kube_target target;
	struct neap_kube_failure failure;
	char resource[NEAP_STORE_RESOURCE];      /* as the store knows it */
	char api_version[NEAP_OBJECT_NAME + 64]; /* "apps/v1" */
	enum shape shape;
	enum include include;
	bool is_meta_beta; /* a Table or metadata alone in their version before v1 */
	bool is_patch;
	bool is_dry; /* nothing is stored */
	/* Gets the answer of a request that has no client (client_local.h); NULL: nobody
	 * does. */
	neap_kube_told *told;
	void *told_arg;
	bool evicts;
	/* Of server-side apply, until the write is handed to the store; NULL of all
	 * else. */
	const struct apply *apply;
	/* What a write is answered with, where it is not the object. */
	bool answers_success, answers_scale, answers_deleted;
};

/* Which objects of a collection. */
struct choice {
	struct neap_selector *labels; /* NULL: all */
	struct neap_field_selector fields;
};

/* list_selection.c: from the query's labelSelector and fieldSelector. -1 with
 * call->failure. */
int choice_parse(struct call *call, struct choice *ret);
void choice_done(struct choice *choice);
bool choice_has(const struct choice *choice, const struct neap_object *object);

/* response_format.c: the object as it is shown: itself, or of a view what it has as
 * names; a new reference, NULL without memory. */
struct neap_object *shape_shown(const struct call *call, struct neap_object *object);
/* Whether that is another object than the stored one. */
bool shape_is_other(const struct call *call);
/* What kind it is shown as, and in which version. */
const char *shape_kind(const struct call *call);
const char *shape_list_kind(const struct call *call);
const char *shape_version(const struct call *call);
/* The object as text, or as a Table of one row; a Table up to its first row, and a row.
 * columns: with columnDefinitions. False without memory. */
void shape_object(const struct call *call, const struct neap_object *object,
		  struct neap_buf *out);
bool shape_table(const struct call *call, const struct neap_object *object, bool columns,
		 struct neap_buf *out);
bool shape_head(const struct call *call, bool columns, const char *metadata,
		struct neap_buf *out);
bool shape_row(const struct call *call, const struct neap_object *object,
	       struct neap_buf *out);
/* What the Accept header and the query ask for. -1: nothing that there is. */
int shape_parse(struct call *call);

/* answer.c */
void call_fail(struct call *call);
void call_answer_take(struct call *call, int status, json_t *body);
void call_answer_buf(struct call *call, int status, struct neap_buf *body);
/* Tells whoever waits inside: object, or NULL and call->failure. Once. */
void call_tell(struct call *call, struct neap_object *object);
/* The value of a query parameter; NULL when it is absent, and without a request. */
const char *call_query(const struct call *call, const char *name);
/* The value of a query parameter as a number; fallback when it is absent. -1 when it is
 * none. */
int call_number(struct call *call, const char *name, int64_t fallback, int64_t *ret);
/* resourceVersion; 0 when it is absent or empty. -1 when it is none. */
int call_version(struct call *call, int64_t *ret);
/* Whether it is there, and neither "0" nor "false" in any case: as Go's clients and
 * servers read it. */
bool call_flag(struct call *call, const char *name);
/* Fails for a version that is yet to come. */
int call_check_version(struct call *call, int64_t version);
/* Whether resourceVersionMatch is one, and of use with what else is asked. */
int call_check_match(struct call *call, bool is_watch);

/* options.c: -1 with call->failure. */
/* What every write may say in its query: dryRun, fieldManager, force, fieldValidation. */
int call_parse_options(struct call *call);
/* One value of dryRun: whether a write is only tried. "All" is the only one; NULL:
 * none. */
int call_parse_dry(struct call *call, const char *value);
/* An option of a write that is not taken; fmt: what is wrong with the field. Returns
 * -1. */
int call_refuse_option(struct call *call, const char *reason, const char *field,
		       const char *fmt, ...) NEAP_PRINTF(4, 5);

/* authorize.c: whether who asks may; before and after as in rights.h. -1 with
 * call->failure. */
int call_permit(struct call *call, const char *verb, const json_t *before,
		const json_t *after);
/* The same for a request as a whole, once what it is for is known. What depends on the
 * object that it brings is for the verbs to ask (call_permit_object). */
int call_permit_request(struct call *call, const char *method);
/* Nobody acts as somebody else here; what asks for it must not be done as whoever
 * asks. */
int call_refuse_impersonation(struct call *call);
/* What depends on what is in an object: nearly all of a node's rights, and of everybody
 * whether owners may be held up. */
int call_permit_object(struct call *call, const char *verb, const json_t *before,
		       const json_t *after);

/* body_json.c: JSON as Go's decoders take it. path: of the first member that stands
 * twice, "" where it lies too deep. 0; -NEAP_EINVAL with *where; -NEAP_ENOMEM. */
#define BODY_PATH 256
int body_json_read(const char *text, size_t len, json_t **ret, bool *ret_is_twice,
		   char path[BODY_PATH], json_error_t *where);
/* body_json.c: the text as JSON, as Go's decoders take it. -1 with call->failure. */
int body_json(struct call *call, const char *text, size_t len, json_t **ret);
/* body.c: what the client sent. -1 with call->failure. */
int body_object(struct call *call, json_t **ret);
/* A JSON or merge patch must leave kind and apiVersion as they are (422). */
int body_check_patched(struct call *call, const json_t *object);
/* What is no object of the kind, decoded by its schema; it names nobody but the object of
 * the path. */
int body_part(struct call *call, const struct neap_kube_body *what, json_t **ret);
/* ... shown with the patch of the body applied. */
int body_patched(struct call *call, const struct neap_kube_body *what,
		 const json_t *shown, json_t **ret);
int body_patch(struct call *call, enum neap_patch_type *ret_type, json_t **ret);
/* ... of server-side apply: an object that says what it is. */
#define NEAP_KUBE_APPLY_TYPE "application/apply-patch+yaml"
int body_apply(struct call *call, json_t **ret);
/* DeleteOptions; {} when there is no body. */
int body_options(struct call *call, json_t **ret);

/* admit.c: brings in what an object gets because of others, and refuses what the server
 * does not want. object is complete and not checked yet, of a deletion the state before
 * it; before: NULL for a new one. -1 with call->failure. */
enum admit_verb { ADMIT_CREATE = 1, ADMIT_UPDATE = 2, ADMIT_DELETE = 4 };
int call_admit(struct call *call, enum admit_verb verb, json_t *object,
	       const json_t *before);

/* apply.c: whether it is a patch of server-side apply; and doing it. */
bool call_is_apply(const struct call *call);
void call_apply(struct call *call);
/* The set of the one field at a path as ".spec.replicas"; NULL without memory. */
json_t *kube_set_of_path(const char *path);
/* apply_managers.c: who owns which fields. */
/* Takes managedFields out of an object; a new reference, NULL: there are none. */
json_t *kube_managers_take(json_t *object);
/* Puts them where they always stand, as what is stored is compared as text. False without
 * memory. */
bool kube_managers_last(json_t *object);
/* Of a new object, and of what becomes of before: once it is whole, and before anything
 * comes in because of others. sent: what the client sent. -1 with call->failure. */
int kube_managers_begin(struct call *call, json_t *object);
int kube_managers_change(struct call *call, json_t *object, const json_t *before,
			 const json_t *sent);

/* decode_write.c: -1 with call->failure. */
/* Unknown fields go, each with a warning, or are refused; types that Go would not decode
 * are refused, of a custom kind those of its metadata. kind and version: for the
 * words. */
/* change_check.c: whether it is /status of a declared kind, of which all but the
 * status is passed over. */
bool call_is_declared_status(const struct call *call);
/* -1 with call->failure. The version that the client has seen must be the
 * newest, where it says one. */
int change_check_version(struct call *call, const json_t *object,
			 const struct neap_object *newest);
/* Before what does not count is taken out of the object. */
int change_check_meta(struct call *call, const json_t *object, const json_t *before);
int call_decode(struct call *call, const char *kind, const char *version,
		const struct neap_schema *schema, bool is_custom, json_t *object);
/* Refuses what is longer than it may be, and than it was before (NULL: a new object). */
int call_check_bounds(struct call *call, const json_t *object, const json_t *before);
/* The two. */
int call_take_in(struct call *call, json_t *object, const json_t *before);
/* Whether it is /status of a kind that has one. */
bool call_is_status(const struct call *call);
/* Defaults come; as it is stored from there on. Of a status all but status and metadata
 * is what before has, and its defaults come into before, too. */
int call_fill_in(struct call *call, json_t *object, json_t *before);
int call_check(struct call *call, const json_t *object, const json_t *before);
/* metadata must be there for everything that follows; kind and apiVersion go. */
int call_need_metadata(struct call *call, json_t *object);
/* quota.c: -1 with call->failure. Whether there is room for object: a new one (newest
 * NULL), or what becomes of newest. */
int call_check_quota(struct call *call, const json_t *object,
		     const struct neap_object *newest);
/* write.c: as POST, PUT and PATCH do once they know what was sent; object is taken. */
/* A body that replaces an object, or is applied, names the one of the path. -1 with
 * call->failure. */
int call_check_named(struct call *call, const json_t *object);
/* Whether the namespace takes anything new: an object, or what is made of one (a binding,
 * an eviction), of that name; not while it ends. -1 with call->failure. */
int call_check_ending(struct call *call, const char *name);
void call_create_take(struct call *call, json_t *object);
void call_update_take(struct call *call, json_t *object);
void call_patch_with(struct call *call, enum neap_patch_type type, const json_t *patch);
/* subresources.c: the newest state of what is named; NULL: there is none, and that is
 * answered. */
struct neap_object *call_need_newest(struct call *call);
/* subresources.c: as POST of pods/NAME/binding; evict.c: of pods/NAME/eviction. */
void call_bind_with(struct call *call, const json_t *binding);
void call_evict_with(struct call *call, const json_t *body);
/* subresources.c: a body that says no name is refused, as one that is sent to another
 * object is. */
int call_need_name(struct call *call, const json_t *body, const char *kind);
/* write.c: hands object to the store and answers when it is durable, with status and the
 * object. */
void call_store_take(struct call *call, int status, enum neap_store_verb verb,
		     json_t *object, int64_t version);
/* answer.c: the object in the shape that is asked for, or what else the call answers
 * of it. */
void call_answer_object(struct call *call, int status, struct neap_object *object);
/* What would have been stored: a change with the version that it was made from, a new one
 * without. */
void call_answer_dry_take(struct call *call, int status, json_t *object);
/* Checks object as a change of before, which is newest as a tree, and is decoded here,
 * too; and stores it. */
void call_change_take(struct call *call, json_t *object, json_t *before,
		      const struct neap_object *newest);

/* delete.c: as DELETE, with DeleteOptions that may be NULL. */
void call_delete_with(struct call *call, json_t *options, struct neap_object *newest,
		      int status);
/* subresources.c: the condition of a pod that is evicted; false without memory. */
bool call_tell_evicted(const struct call *call, json_t *tree);
/* scale.c: the Scale of an object; a new reference, NULL without memory. */
json_t *neap_kube_scale(const struct call *call, const struct neap_object *object);
/* What stands at a path of a kind's scale (".spec.replicas"); borrowed, NULL: nothing. */
const json_t *kube_scale_at(const json_t *object, const char *path);
json_t *neap_kube_scale_of(const struct call *call, const json_t *tree);
/* That numbers and the selector of a declared kind's scale are such, where they are
 * there. */
void kube_scale_check(const struct neap_kube_kind *kind, const json_t *object,
		      struct neap_causes *causes);

/* crd_loop_call.c: what requests have to do with kinds that are declared. */
/* Whether there may be a new object of the kind: not while it goes. -1 with
 * call->failure. */
int call_check_declared(struct call *call);
/* A definition that is being deleted waits for its objects; false without memory. */
bool call_mark_definition(struct call *call, json_t *tree);
/* Warns of what a definition says that is not heeded. */
void call_warn_definition(struct call *call, const json_t *tree);
/* owner.c: of an object's owner references that say the same one stays, with a warning.
 * -1 with call->failure. */
int kube_owners_unite(struct call *call, json_t *object);
/* The kind that a reference names; NULL: nobody knows it, it is not stored, or the
 * reference lacks something. */
const struct neap_kube_kind *kube_owner_kind(struct neap_kube *kube, const json_t *owner);
/* The newest state of what a reference in an object of ns names; NULL when it is not
 * there, or there only under another uid. *ret_kind is NULL when nobody knows the kind,
 * or the reference lacks something. */
struct neap_object *kube_owner_find(struct neap_kube *kube, const char *ns,
				    const json_t *owner,
				    const struct neap_kube_kind **ret_kind);
/* list.c, rows.c: the list of so many objects, which are counted references, as it is or
 * as a Table; takes them and the array that they are in. As neap_store_list gave them
 * they are sent from where they lie. metadata: of the list, as JSON. */
void call_answer_list_take(struct call *call, const char *metadata,
			   struct neap_object **objects, size_t count);
void call_answer_table_take(struct call *call, const char *metadata,
			    struct neap_object **objects, size_t count);

/* slow.c: lets go of what is left. */
void kube_trash_free(struct neap_kube *kube);
/* serve.c: many small blocks are free now; the system gets them back when there is a
 * moment. */
void kube_tidy_later(struct neap_kube *kube);

/* cpus.c */
/* Refuses a pod, as it would be, that would have a CPU of its node which as many other
 * pods have as may share it. before: as it is; NULL: new, or on no node. -1 with
 * call->failure. */
int call_check_cpus(struct call *call, const json_t *pod, const json_t *before);
/* After a write was accepted. */
void kube_cpus_note(const struct call *call);
void kube_cpus_free(struct kube_cpus *cpus); /* NULL is fine */
/* events.c */
void kube_notes_free(struct kube_notes *notes);
/* document.c */
void kube_document(struct neap_kube *kube, struct neap_http_request *request);

/* The verbs. Each answers, now or later. */
void call_get(struct call *call);
void call_list(struct call *call);
/* read.c: so many objects, as in list.c, as they were at a place, in one page of a list
 * that may have more. */
void call_answer_page_take(struct call *call, const struct neap_store_place *place,
			   bool has_more, struct neap_object **objects, size_t count);
/* computed_lists.c: a list of a kind that is made when somebody asks. */
void call_make(struct call *call);
void call_watch(struct call *call);
/* Ends a watch from outside. */
void call_watch_end(struct watcher *watcher);
/* ... all of a kind: it is served no more, or as another. Clients list and watch anew. */
void kube_watch_end(struct neap_kube *kube, const struct neap_kube_kind *kind);
void call_create(struct call *call);
void call_update(struct call *call);
void call_patch(struct call *call);
void call_delete(struct call *call);
void call_delete_collection(struct call *call);
void call_bind(struct call *call);
void call_evict(struct call *call);
void call_finalize(struct call *call);
void call_scale_get(struct call *call);
void call_scale_set(struct call *call);
/* log.c */
void call_log(struct call *call);
/* Ends all that are open. NULL is fine. */
void kube_logs_free(struct kube_logs *logs);

#endif
