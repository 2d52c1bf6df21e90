/* SPDX-License-Identifier: Apache-2.0
 *
 * What the files of api/kube share: the server, and one request on its way. */
#ifndef NEAP_API_KUBE_KUBE_PRIV_H
#define NEAP_API_KUBE_KUBE_PRIV_H

#include "api/http/server.h"
#include "api/kube/field_selector.h"
#include "api/kube/kube.h"
#include "api/kube/status.h"
#include "api/kube/target.h"
#include "api/store/store.h"

struct event_base;
struct watcher;

struct neap_kube {
	struct event_base *base;
	struct neap_store *store;
	struct neap_kube_registry *registry;
	struct watcher *watchers;
	size_t watcher_count;
	int64_t (*now)(void); /* Unix microseconds */
};

/* As whom an object is shown: its own JSON, or a row of a Table. */
enum shape { SHAPE_OBJECT, SHAPE_TABLE };
/* What of the object goes with a row. */
enum include { INCLUDE_METADATA, INCLUDE_OBJECT, INCLUDE_NONE };

struct call {
	struct neap_kube *kube;
	struct neap_http_request *request; /* NULL once it is answered */
	struct neap_kube_target target;
	struct neap_kube_failure failure;
	char resource[NEAP_STORE_RESOURCE];
	char api_version[NEAP_OBJECT_NAME + 64]; /* "apps/v1" */
	enum shape shape;
	enum include include;
};

/* Which objects of a collection. */
struct choice {
	struct neap_selector *labels; /* NULL: all */
	struct neap_field_selector fields;
};

/* choice.c: from the query's labelSelector and fieldSelector. -1 with call->failure. */
int choice_parse(struct call *call, struct choice *ret);
void choice_done(struct choice *choice);
bool choice_has(const struct choice *choice, const struct neap_object *object);

/* shape.c: the object as text, or as a Table of one row. columns: with columnDefinitions. */
void shape_object(const struct call *call, const struct neap_object *object,
		  struct neap_buf *out);
bool shape_table(const struct call *call, struct neap_object *const *objects,
		 size_t count, bool columns, const char *metadata, struct neap_buf *out);
/* What the Accept header and the query ask for. -1: nothing that there is. */
int shape_parse(struct call *call);

/* answer.c */
void call_fail(struct call *call);
void call_answer_take(struct call *call, int status, json_t *body);
void call_answer_buf(struct call *call, int status, struct neap_buf *body);
/* The value of a query parameter as a number; fallback when it is absent. -1 when it is none. */
int call_number(struct call *call, const char *name, int64_t fallback, int64_t *ret);
bool call_flag(struct call *call, const char *name); /* "true" or "1" */

/* read.c, watch.c */
void call_get(struct call *call);
void call_list(struct call *call);
void call_watch(struct call *call);

#endif
