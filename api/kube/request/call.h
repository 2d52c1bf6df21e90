/* SPDX-License-Identifier: Apache-2.0
 *
 * Shared by the files of api/kube: the server, and one request in progress. */
#ifndef NEAP_API_KUBE_REQUEST_CALL_H
#define NEAP_API_KUBE_REQUEST_CALL_H

#include "api/client/client_ops.h"
#include "api/http/server.h"
#include "api/kube/base/field_selector.h"
#include "api/kube/base/registry.h"
#include "api/kube/base/status.h"
#include "api/kube/base/view.h"
#include "api/kube/kube.h"
#include "api/kube/patch/patch.h"
#include "api/kube/types/bodies.h"
#include "api/store/reads.h"
#include "api/store/write.h"

struct event_base;
struct neap_kube_declared;
struct watcher;
struct kube_trash;
struct neap_task;
struct slow;
struct neap_tasks;
struct kube_logs;
struct kube_cpus;

#define KUBE_DEFINITIONS "customresourcedefinitions.apiextensions.k8s.io"
/* Computed lists being built at a time. */
#define MADE_MAX 16

/* /openapi/v2 of the kinds at one generation of the registry. */
struct document {
	char *text;
	size_t len;
	uint64_t generation; /* of the registry */
	char tag[48];
};

/* object, borrowed: as it is now and durable, the last state of one that was deleted;
 * or NULL, and failure. */
typedef void neap_kube_told(void *arg, struct neap_object *object,
			    const struct neap_kube_failure *failure);

/* client_local.c */
struct kube_client {
	struct neap_store_client of; /* first */
	struct neap_kube *kube;
	/* What was read last of objects with a scale, which may be large; by the uid. */
	struct kube_scale {
		char uid[NEAP_OBJECT_UID];
		int64_t version; /* of the object; 0: nothing */
		int64_t replicas;
	} scales[64];
};

struct neap_kube {
	struct event_base *base;
	struct neap_store *store;
	struct neap_kube_registry *registry;
	struct neap_http *http;   /* the server it is registered on; NULL before */
	struct neap_tasks *tasks; /* all work in slices */
	struct slow *slow;
	struct kube_trash *trash;  /* objects to be released */
	struct neap_task *sweeper; /* NULL until many were released */
	struct watcher *watchers;
	size_t watcher_count;
	size_t made_count;
	struct event *tidy;
	struct kube_logs *logs;              /* NULL: pod logs are not served */
	int64_t (*now)(void);                /* Unix microseconds */
	bool runs_pods;                      /* see rights.h */
	struct neap_kube_declared *declared; /* NULL: only built-in kinds */
	struct document document;
	struct neap_kube_shown shown;
	struct kube_client client; /* of the loops of this process */
	struct kube_cpus *cpus;    /* NULL until some pod has CPUs */
	int cpu_refs_max;          /* pods that may share a CPU */
	struct neap_causes causes; /* of the current request: too large for every stack */
};

/* The form in which an object is shown: its JSON, its metadata alone
 * (PartialObjectMetadata), or a row of a Table. */
enum shape { SHAPE_OBJECT, SHAPE_METADATA, SHAPE_TABLE };
/* What a Table row includes of its object. */
enum include { INCLUDE_METADATA, INCLUDE_OBJECT, INCLUDE_NONE };

/* What an apply patch says besides the object; see apply.h. */
struct apply {
	json_t *set;      /* the fields that it names */
	char *annotation; /* of client-side apply, where kubectl applies; NULL */
	bool is_forced;
};

struct call {
	struct neap_kube *kube;
	/* NULL once it is answered, and for calls without a client */
	struct neap_http_request *request;
	struct neap_kube_target target;
	struct neap_kube_failure failure;
	char resource[NEAP_STORE_RESOURCE];      /* as named in the store */
	char api_version[NEAP_OBJECT_NAME + 64]; /* "apps/v1" */
	enum shape shape;
	enum include include;
	bool is_meta_beta; /* a Table or metadata in their version before v1 */
	bool is_patch;
	bool is_dry; /* nothing is stored */
	/* Receives the answer of a call without a request: a part of the server, or a
	 * loop (client_local.h); both NULL: nobody. */
	neap_kube_told *told;
	neap_client_told *client_told;
	void *told_arg;
	bool evicts;
	/* For server-side apply until the write is passed to the store; else NULL. */
	const struct apply *apply;
	/* What a write is answered with, where it is not the object. */
	bool answers_success, answers_scale, answers_deleted;
};

/* A verb answers, now or later, and returns 0; or -1 with call->failure, for call_end. */
typedef int call_fn(struct call *call);

/* The selection of objects in a collection. */
struct choice {
	struct neap_selector *labels; /* NULL: all */
	struct neap_field_selector fields;
};

/* list.c: reads labelSelector and fieldSelector of the query. -1 with
 * call->failure. */
int choice_parse(struct call *call, struct choice *ret);
void choice_done(struct choice *choice);
bool choice_has(const struct choice *choice, const struct neap_object *object);

/* response_format.c: returns the object as shown: itself, or for a view the renamed one;
 * a new reference, NULL without memory. */
struct neap_object *shape_shown(const struct call *call, struct neap_object *object);
/* Returns whether the shown object differs from the stored one. */
bool shape_is_other(const struct call *call);
/* The kind and version it is shown as. */
const char *shape_kind(const struct call *call);
const char *shape_list_kind(const struct call *call);
const char *shape_version(const struct call *call);
/* Write the object as text, or as a Table of one row; a Table up to its first row; and a
 * row. columns: with columnDefinitions. False without memory. */
void shape_object(const struct call *call, const struct neap_object *object,
		  struct neap_buf *out);
bool shape_table(const struct call *call, const struct neap_object *object, bool columns,
		 struct neap_buf *out);
bool shape_head(const struct call *call, bool columns, const char *metadata,
		struct neap_buf *out);
bool shape_row(const struct call *call, const struct neap_object *object,
	       struct neap_buf *out);
/* Reads the Accept header and the query. -1: a form that does not exist. */
int shape_parse(struct call *call);

/* answer.c */
/* Returns the newest state of the object of the path; borrowed, NULL: there is none. */
struct neap_object *call_newest(const struct call *call);
/* Whether it is about objects of the kind. */
bool call_is_of_pods(const struct call *call);
bool call_is_of_definitions(const struct call *call);
/* Fill call->failure, and return -1; call_bad: with the reason BadRequest. */
int call_refuse(struct call *call, enum neap_client_reason reason, const char *fmt, ...)
	NEAP_PRINTF(3, 4);
int call_bad(struct call *call, const char *fmt, ...) NEAP_PRINTF(2, 3);
/* ... with kind and name of the call. */
int call_error(struct call *call, const struct neap_error *err);
int call_nomem(struct call *call);
int call_missing(struct call *call);
int call_conflict(struct call *call, const char *why);
/* -1 with call->failure when kube->causes has any. */
int call_check_causes(struct call *call);
/* -1 with call->failure when the uid is not that of newest. */
int call_check_uid(struct call *call, const char *uid, const struct neap_object *newest);
/* Answers with call->failure. */
void call_fail(struct call *call);
/* The end of a verb: with -1 the call is answered with call->failure. */
void call_end(struct call *call, int rc);
/* Answers return 0, or -1 with call->failure. */
int call_answer_take(struct call *call, int status, json_t *body);
int call_answer_buf(struct call *call, int status, struct neap_buf *body);
/* Reports to the waiting caller inside neapd: object, or NULL and call->failure. Once. */
void call_tell(struct call *call, struct neap_object *object);
/* Returns a query parameter; NULL when it is absent, and without a request. */
const char *call_query(const struct call *call, const char *name);
/* Reads a query parameter as a number; fallback when absent. -1 when it is not one. */
int call_number(struct call *call, const char *name, int64_t fallback, int64_t *ret);
/* Reads resourceVersion; 0 when absent or empty. -1 when it is not a number. */
int call_version(struct call *call, int64_t *ret);
/* Returns whether it is present and neither "0" nor "false" in any case, as Go reads
 * it. */
bool call_flag(struct call *call, const char *name);
/* -1 with call->failure. */
/* Query parameters of every write: dryRun, fieldManager, force, fieldValidation. */
int call_parse_options(struct call *call);
/* Reads a value of dryRun; only "All" is valid; NULL: not set. */
int call_parse_dry(struct call *call, const char *value);
/* Whether it is a patch of server-side apply. */
bool call_is_apply(const struct call *call);
/* Refuses an option of a write; fmt: what is wrong with the field. Returns -1. */
int call_refuse_option(struct call *call, const char *reason, const char *field,
		       const char *fmt, ...) NEAP_PRINTF(4, 5);

/* authorize.c: checks the client's rights; before and after as in rights.h. -1 with
 * call->failure. */
int call_permit(struct call *call, const char *verb, const json_t *before,
		const json_t *after);
/* The same for a request as a whole, once its target is known. The verbs call
 * call_permit_object for what depends on the object. */
int call_permit_request(struct call *call, const char *method);
/* Impersonation is not supported, and a request for it must not run as the client
 * itself. */
int call_refuse_impersonation(struct call *call);
/* Checks rights that depend on an object's content: nearly all of a node's, and for
 * everybody whether owners may be blocked. */
int call_permit_object(struct call *call, const char *verb, const json_t *before,
		       const json_t *after);

/* body.c: parses JSON as Go's decoders do. path: of the first duplicate member, ""
 * where it is too deep. 0; -NEAP_EINVAL with *where; -NEAP_ENOMEM. */
#define BODY_PATH 256
int body_json_read(const char *text, size_t len, json_t **ret, bool *ret_is_twice,
		   char path[BODY_PATH], json_error_t *where);
/* Reads the request's body. -1 with call->failure. */
int body_object(struct call *call, json_t **ret);
/* A JSON or merge patch must not change kind and apiVersion (422). */
int body_check_patched(struct call *call, const json_t *object);
/* Reads a body that is not an object of the kind, decoded by its own schema; it may name
 * only the object of the path. */
int body_part(struct call *call, const struct neap_kube_body *what, json_t **ret);
/* ... after applying the patch in the body to shown. */
int body_patched(struct call *call, const struct neap_kube_body *what,
		 const json_t *shown, json_t **ret);
int body_patch(struct call *call, enum neap_patch_type *ret_type, json_t **ret);
/* ... of server-side apply, whose object states its kind. */
#define NEAP_KUBE_APPLY_TYPE "application/apply-patch+yaml"
int body_apply(struct call *call, json_t **ret);
/* Reads DeleteOptions; {} without a body. */
int body_options(struct call *call, json_t **ret);

/* decode_write.c: removes unknown fields, each with a warning, or refuses them; refuses
 * types that Go would not decode, in custom kinds only those of metadata. kind and
 * version: for the messages. -1 with call->failure. */
int call_decode(struct call *call, const char *kind, const char *version,
		const struct neap_schema *schema, bool is_custom, json_t *object);
/* Refuses lists and maps longer than allowed and than before (NULL: a new object). */
int call_check_bounds(struct call *call, const json_t *object, const json_t *before);
/* The two; and merges duplicate owner references. */
int call_take_in(struct call *call, json_t *object, const json_t *before);
/* Returns whether the request is /status of a kind that has one; and of a declared kind,
 * of which only the status is read. */
bool call_is_status(const struct call *call);
bool call_is_declared_status(const struct call *call);
/* Adds defaults and converts to the stored form. For a status, everything but status and
 * metadata is taken from before, which gets its defaults too. */
int call_fill_in(struct call *call, json_t *object, json_t *before);
int call_check(struct call *call, const json_t *object, const json_t *before);
/* Requires metadata, which everything after relies on; removes kind and apiVersion. */
int call_need_metadata(struct call *call, json_t *object);
/* If the client states a version, it must be the newest. -1 with call->failure. */
int change_check_version(struct call *call, const json_t *object,
			 const struct neap_object *newest);
/* Checks metadata, before ignored members are removed from the object. */
int change_check_meta(struct call *call, const json_t *object, const json_t *before);

/* answer.c: sends the object in the requested form, or the other answer the call
 * wants. */
int call_answer_object(struct call *call, int status, struct neap_object *object);
/* Sends what would have been stored: an update with the version it is based on, a new
 * object without one. */
int call_answer_dry_take(struct call *call, int status, json_t *object);
/* response_format.c: returns the Scale of an object; a new reference, NULL without
 * memory. */
json_t *neap_kube_scale(const struct call *call, const struct neap_object *object);
json_t *neap_kube_scale_of(const struct call *call, const json_t *tree);

/* crd_loop_status.c: requests and declared kinds. Checks that the kind accepts new
 * objects: not while it is being deleted. -1 with call->failure. */
int call_check_declared(struct call *call);
/* A definition that is being deleted waits for its objects; false without memory. */
bool call_mark_definition(struct call *call, json_t *tree);
/* Warns about parts of a definition that are ignored. */
void call_warn_definition(struct call *call, const json_t *tree);
/* authorize.c: returns the kind that a reference names; NULL: unknown, not stored, or an
 * incomplete reference. */
const struct neap_kube_kind *kube_owner_kind(struct neap_kube *kube, const json_t *owner);
/* Returns the newest state of the object that a reference in ns names; NULL when it does
 * not exist, or only under another uid. *ret_kind is NULL for an unknown kind or an
 * incomplete reference. */
struct neap_object *kube_owner_find(struct neap_kube *kube, const char *ns,
				    const json_t *owner,
				    const struct neap_kube_kind **ret_kind);
/* list.c: sends the list of count objects as it is or as a Table; takes the
 * references and their array. Texts from neap_store_list are sent without copying.
 * metadata: of the list, as JSON. */
int call_answer_list_take(struct call *call, const char *metadata,
			  struct neap_object **objects, size_t count);
int call_answer_table_take(struct call *call, const char *metadata,
			   struct neap_object **objects, size_t count);

/* slow.c: releases what is left. */
void kube_trash_free(struct neap_kube *kube);
/* serve.c: many small blocks were freed; returns them to the system at a quiet moment. */
void kube_tidy_later(struct neap_kube *kube);

#endif
