/* SPDX-License-Identifier: Apache-2.0
 *
 * The one error type. It lies on the caller's stack and is never allocated, so that
 * running out of memory can be reported. Set once where the failure happened, wrapped
 * with context on the way up, logged once at the top. Functions that can fail return 0
 * or a count, or -code. */
#ifndef NEAP_ENGINE_BASE_ERROR_H
#define NEAP_ENGINE_BASE_ERROR_H

#include "engine/base/base.h"

#define NEAP_ERROR_FIELD 64
#define NEAP_ERROR_MSG   256

enum neap_code {
	NEAP_OK = 0,
	NEAP_EINVAL,    /* input that can never be right */
	NEAP_ENOTFOUND, /* the named thing does not exist */
	NEAP_EEXISTS,   /* the named thing exists already */
	NEAP_ECONFLICT, /* right by itself, but not in the present state */
	/* a condition that the caller set ("If-Match") does not hold */
	NEAP_EPRECONDITION,
	NEAP_EGONE,        /* existed once, but its history is gone */
	NEAP_EFORBIDDEN,   /* the caller may not */
	NEAP_EAUTH,        /* the caller is not known */
	NEAP_ETOOLARGE,    /* over a ceiling */
	NEAP_EBUDGET,      /* a script spent its CPU budget */
	NEAP_ELIMIT,       /* a script reached its memory limit */
	NEAP_ENOMEM,       /* the machine has no memory */
	NEAP_ESYS,         /* a system call failed, see errnum */
	NEAP_EUNSUPPORTED, /* this machine or kernel cannot */
	NEAP_EUNAVAILABLE, /* not now: no hand, frozen, starting */
	NEAP_ENOFIT,       /* an answer, not a failure: there is no room */
	NEAP_EINTERNAL,    /* a defect of neap */
	NEAP_CODE_COUNT
};

/* field names the input at fault ("spec.owners[0].name"), "" if none is to blame. Texts
 * that do not fit are cut at the end. Where a text is not UTF-8, each byte that is not
 * ASCII is a "?". */
struct neap_error {
	enum neap_code code;
	int errnum; /* errno at the failing call, 0 if none */
	char field[NEAP_ERROR_FIELD];
	char msg[NEAP_ERROR_MSG];
};

/* Fill *err (which may be NULL) and return -code. */
int neap_error_set(struct neap_error *err, enum neap_code code, const char *fmt, ...)
	NEAP_PRINTF(3, 4);
int neap_error_field(struct neap_error *err, enum neap_code code, const char *field,
		     const char *fmt, ...) NEAP_PRINTF(4, 5);
/* As set with NEAP_ESYS (NEAP_ENOMEM for ENOMEM), takes errno and appends ": strerror".
 */
int neap_error_sys(struct neap_error *err, const char *fmt, ...) NEAP_PRINTF(2, 3);
int neap_error_nomem(struct neap_error *err);

/* Puts "context: " before the message; code, errnum and field stay. Returns -code.
 * Without an err the code is not known and it returns -NEAP_EINTERNAL: pass one where
 * the code matters. */
int neap_error_wrap(struct neap_error *err, const char *fmt, ...) NEAP_PRINTF(2, 3);

/* Puts "prefix." (or "prefix" before a "[") before the field. Returns -code. */
int neap_error_infield(struct neap_error *err, const char *fmt, ...) NEAP_PRINTF(2, 3);

/* "Invalid", "NotFound", ... as in the reason of an HTTP answer. */
const char *neap_code_name(enum neap_code code);
/* 422, 404, ...; ENOFIT has none and gives 200. */
int neap_code_http(enum neap_code code);

#endif
