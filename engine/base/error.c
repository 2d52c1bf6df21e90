/* SPDX-License-Identifier: Apache-2.0
 *
 * The error type: filling, wrapping, and the one table of names and HTTP codes. */
#include "engine/base/error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "engine/base/mem.h"
#include "engine/base/utf8.h"

static const struct {
	const char *name;
	int http;
} codes[NEAP_CODE_COUNT] = {
	[NEAP_OK] = {"Success", 200},
	[NEAP_EINVAL] = {"Invalid", 422},
	[NEAP_ENOTFOUND] = {"NotFound", 404},
	[NEAP_EEXISTS] = {"AlreadyExists", 409},
	[NEAP_ECONFLICT] = {"Conflict", 409},
	[NEAP_EPRECONDITION] = {"PreconditionFailed", 412},
	[NEAP_EGONE] = {"Expired", 410},
	[NEAP_EFORBIDDEN] = {"Forbidden", 403},
	[NEAP_EAUTH] = {"Unauthorized", 401},
	[NEAP_ETOOLARGE] = {"RequestEntityTooLarge", 413},
	[NEAP_EBUDGET] = {"BudgetExceeded", 422},
	[NEAP_ELIMIT] = {"MemoryLimit", 422},
	[NEAP_ENOMEM] = {"OutOfMemory", 503},
	[NEAP_ESYS] = {"InternalError", 500},
	[NEAP_EUNSUPPORTED] = {"NotSupported", 501},
	[NEAP_EUNAVAILABLE] = {"ServiceUnavailable", 503},
	[NEAP_ENOFIT] = {"NoFit", 200},
	[NEAP_EINTERNAL] = {"InternalError", 500},
};

/* Prints into a fixed array. A cut text ends at a whole character. Messages quote what
 * somebody sent, and end up in JSON, which takes UTF-8 alone. */
static void NEAP_PRINTF(3, 0) print(char *to, size_t size, const char *fmt, va_list args)
{
	int len = vsnprintf(to, size, fmt, args);

	if (len < 0)
		to[0] = '\0';
	if (len >= 0 && (size_t)len >= size)
		neap_utf8_trim(to);
	neap_utf8_mend(to);
}

/* Inserts head and between before the present text. */
static void prepend(char *text, size_t size, const char *head, const char *between)
{
	size_t head_len = strnlen(head, size - 1);
	size_t between_len = strnlen(between, size - 1 - head_len);
	size_t room = size - 1 - head_len - between_len;
	size_t len = strlen(text);
	bool is_cut = len > room;

	if (is_cut)
		len = room;
	memmove(text + head_len + between_len, text, len);
	memcpy(text, head, head_len);
	memcpy(text + head_len, between, between_len);
	text[head_len + between_len + len] = '\0';
	if (is_cut)
		neap_utf8_trim(text);
}

static void fill(struct neap_error *err, enum neap_code code, int errnum)
{
	err->code = code;
	err->errnum = errnum;
	err->field[0] = '\0';
	err->msg[0] = '\0';
}

int neap_error_set(struct neap_error *err, enum neap_code code, const char *fmt, ...)
{
	va_list args;

	if (!err)
		return -(int)code;
	fill(err, code, 0);
	va_start(args, fmt);
	print(err->msg, sizeof(err->msg), fmt, args);
	va_end(args);
	return -(int)code;
}

int neap_error_field(struct neap_error *err, enum neap_code code, const char *field,
		     const char *fmt, ...)
{
	va_list args;

	if (!err)
		return -(int)code;
	fill(err, code, 0);
	(void)neap_strcopy(err->field, sizeof(err->field), field); /* cut is fine */
	neap_utf8_mend(err->field);
	va_start(args, fmt);
	print(err->msg, sizeof(err->msg), fmt, args);
	va_end(args);
	return -(int)code;
}

int neap_error_sys(struct neap_error *err, const char *fmt, ...)
{
	int errnum = errno;
	enum neap_code code = errnum == ENOMEM ? NEAP_ENOMEM : NEAP_ESYS;
	char reason[128];
	const char *text;
	size_t len;
	va_list args;

	if (!err)
		return -(int)code;
	fill(err, code, errnum);
	va_start(args, fmt);
	print(err->msg, sizeof(err->msg), fmt, args);
	va_end(args);

	/* The reason is worth more than the end of a long path. */
	text = strerror_r(errnum, reason, sizeof(reason));
	len = strnlen(text, sizeof(reason)) + 2;
	if (strlen(err->msg) + len >= sizeof(err->msg)) {
		err->msg[sizeof(err->msg) - 1 - len] = '\0';
		neap_utf8_trim(err->msg);
	}
	len = strlen(err->msg);
	(void)snprintf(err->msg + len, sizeof(err->msg) - len, ": %s", text);
	errno = errnum;
	return -(int)code;
}

int neap_error_nomem(struct neap_error *err)
{
	return neap_error_set(err, NEAP_ENOMEM, "out of memory");
}

/* Puts the text before a part of the error. */
static int lead(struct neap_error *err, bool is_field, const char *fmt, va_list args)
{
	char head[NEAP_ERROR_MSG];
	size_t size = is_field ? NEAP_ERROR_FIELD : NEAP_ERROR_MSG;

	if (!err)
		return -NEAP_EINTERNAL;
	if (err->code == NEAP_OK)
		fill(err, NEAP_EINTERNAL, 0);
	print(head, size, fmt, args);
	if (is_field)
		prepend(err->field, size, head,
			err->field[0] && err->field[0] != '[' ? "." : "");
	else
		prepend(err->msg, size, head, err->msg[0] ? ": " : "");
	return -(int)err->code;
}

int neap_error_wrap(struct neap_error *err, const char *fmt, ...)
{
	va_list args;
	int rc;

	va_start(args, fmt);
	rc = lead(err, false, fmt, args);
	va_end(args);
	return rc;
}

int neap_error_infield(struct neap_error *err, const char *fmt, ...)
{
	va_list args;
	int rc;

	va_start(args, fmt);
	rc = lead(err, true, fmt, args);
	va_end(args);
	return rc;
}

const char *neap_code_name(enum neap_code code)
{
	return (unsigned)code < NEAP_CODE_COUNT ? codes[code].name : "InternalError";
}

int neap_code_http(enum neap_code code)
{
	return (unsigned)code < NEAP_CODE_COUNT ? codes[code].http : 500;
}
