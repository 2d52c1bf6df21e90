/* SPDX-License-Identifier: Apache-2.0
 *
 * Failures as Kubernetes reports them: Status objects with the reason, code and details
 * that clients act on. The reasons are those of api/client/client.h. */
#ifndef NEAP_API_KUBE_BASE_STATUS_H
#define NEAP_API_KUBE_BASE_STATUS_H

#include <stdarg.h>

#include "api/client/client.h"
#include "api/kube/base/kind.h"

struct neap_object;

int neap_kube_reason_http(enum neap_client_reason reason);

/* A failure on its way to the client. kind, name and causes may be missing ("details"
 * then has less). */
struct neap_kube_failure {
	enum neap_client_reason reason;
	const struct neap_kube_kind *kind;
	const char *part; /* "binding": of this subresource; NULL: of the object itself */
	char name[254];
	char message[1024];
	const struct neap_causes *causes; /* borrowed */
	int retry_after_s;                /* 0: none */
};

/* Fills failure and returns -1, so that a step can return the result. */
int neap_kube_fail(struct neap_kube_failure *failure, enum neap_client_reason reason,
		   const char *fmt, ...) NEAP_PRINTF(3, 4);
int neap_kube_fail_list(struct neap_kube_failure *failure, enum neap_client_reason reason,
			const char *fmt, va_list args) NEAP_PRINTF(3, 0);
/* Standard texts: 'pods "x" not found', 'pods "x" already exists', 'Operation cannot be
 * fulfilled on pods "x": ...', 'Pod "x" is invalid: FIELD: MESSAGE', several in
 * brackets. */
int neap_kube_fail_missing(struct neap_kube_failure *failure,
			   const struct neap_kube_kind *kind, const char *name);
int neap_kube_fail_exists(struct neap_kube_failure *failure,
			  const struct neap_kube_kind *kind, const char *name);
int neap_kube_fail_conflict(struct neap_kube_failure *failure,
			    const struct neap_kube_kind *kind, const char *name,
			    const char *why);
/* 'pods "x" is forbidden: WHY' */
int neap_kube_fail_refused(struct neap_kube_failure *failure,
			   const struct neap_kube_kind *kind, const char *name,
			   const char *why);
int neap_kube_fail_invalid(struct neap_kube_failure *failure,
			   const struct neap_kube_kind *kind, const char *name,
			   const struct neap_causes *causes);
/* 'pods "x" is forbidden: User "alice" cannot delete resource "pods" in API group "" in
 * the namespace "default"'; name, sub, ns and why (appended at the end) may be "". */
int neap_kube_fail_denied(struct neap_kube_failure *failure,
			  const struct neap_kube_kind *kind, const char *ns,
			  const char *name, const char *sub, const char *user,
			  const char *verb, const char *why);
/* Translates an error of the store or a decoder about the object kind and name. */
int neap_kube_fail_error(struct neap_kube_failure *failure,
			 const struct neap_kube_kind *kind, const char *name,
			 const struct neap_error *err);

/* Returns the Status; a new reference, NULL without memory. */
json_t *neap_kube_status(const struct neap_kube_failure *failure);
/* Returns {"kind":"Status","status":"Success"} with details of what was done; uid may be
 * NULL. */
json_t *neap_kube_success(const struct neap_kube_kind *kind, const char *name,
			  const char *uid, int code);

/* Returns the Status of a refusal by the HTTP server, for struct neap_http_tree. */
json_t *neap_kube_refusal(int status, const struct neap_error *err);

/* Why an update of an outdated object is refused. */
extern const char neap_kube_modified[];

/* object, borrowed: the present durable state (the last one of a deleted object); or
 * NULL, with failure. */
typedef void neap_kube_told(void *arg, struct neap_object *object,
			    const struct neap_kube_failure *failure);

#endif
