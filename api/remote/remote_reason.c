/* SPDX-License-Identifier: Apache-2.0
 *
 * Reasons of Status objects. */
#include <string.h>

#include "api/remote/remote_priv.h"

static const char *const reasons[NEAP_CLIENT_REASON_COUNT] = {
	[NEAP_CLIENT_BAD_REQUEST] = "BadRequest",
	[NEAP_CLIENT_UNAUTHORIZED] = "Unauthorized",
	[NEAP_CLIENT_FORBIDDEN] = "Forbidden",
	[NEAP_CLIENT_NOT_FOUND] = "NotFound",
	[NEAP_CLIENT_METHOD_NOT_ALLOWED] = "MethodNotAllowed",
	[NEAP_CLIENT_NOT_ACCEPTABLE] = "NotAcceptable",
	[NEAP_CLIENT_ALREADY_EXISTS] = "AlreadyExists",
	[NEAP_CLIENT_CONFLICT] = "Conflict",
	[NEAP_CLIENT_EXPIRED] = "Expired",
	[NEAP_CLIENT_TOO_LARGE] = "RequestEntityTooLarge",
	[NEAP_CLIENT_UNSUPPORTED_MEDIA_TYPE] = "UnsupportedMediaType",
	[NEAP_CLIENT_INVALID] = "Invalid",
	[NEAP_CLIENT_TOO_MANY_REQUESTS] = "TooManyRequests",
	[NEAP_CLIENT_INTERNAL_ERROR] = "InternalError",
	[NEAP_CLIENT_UNAVAILABLE] = "ServiceUnavailable",
	[NEAP_CLIENT_TIMEOUT] = "Timeout",
};

/* For answers that are not a Status, perhaps from a proxy. */
static enum neap_client_reason reason_of_code(int code)
{
	static const struct {
		int code;
		enum neap_client_reason reason;
	} codes[] = {
		{400, NEAP_CLIENT_BAD_REQUEST},
		{401, NEAP_CLIENT_UNAUTHORIZED},
		{403, NEAP_CLIENT_FORBIDDEN},
		{404, NEAP_CLIENT_NOT_FOUND},
		{405, NEAP_CLIENT_METHOD_NOT_ALLOWED},
		{406, NEAP_CLIENT_NOT_ACCEPTABLE},
		{409, NEAP_CLIENT_CONFLICT},
		{410, NEAP_CLIENT_EXPIRED},
		{413, NEAP_CLIENT_TOO_LARGE},
		{415, NEAP_CLIENT_UNSUPPORTED_MEDIA_TYPE},
		{422, NEAP_CLIENT_INVALID},
		{429, NEAP_CLIENT_TOO_MANY_REQUESTS},
		{500, NEAP_CLIENT_INTERNAL_ERROR},
		{504, NEAP_CLIENT_TIMEOUT},
	};

	for (size_t i = 0; i < NEAP_ARRAY_LEN(codes); i++)
		if (codes[i].code == code)
			return codes[i].reason;
	return code >= 500 || code == 0 ? NEAP_CLIENT_UNAVAILABLE
					: NEAP_CLIENT_BAD_REQUEST;
}

enum neap_client_reason remote_reason(const char *text, int code)
{
	for (int i = 0; text != NULL && i < NEAP_CLIENT_REASON_COUNT; i++)
		if (strcmp(reasons[i], text) == 0)
			return (enum neap_client_reason)i;
	return reason_of_code(code);
}
