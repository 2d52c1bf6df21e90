/* SPDX-License-Identifier: Apache-2.0
 *
 * Parses image names ([DOMAIN/]PATH[:TAG][@DIGEST]) as far as needed to decide when to
 * pull. */
#include <string.h>

#include "api/kube/rules/defaults_priv.h"
#include "engine/base/base.h"

#define LOWER  "abcdefghijklmnopqrstuvwxyz"
#define DIGITS "0123456789"
#define WORD   LOWER "ABCDEFGHIJKLMNOPQRSTUVWXYZ" DIGITS
/* The length of domain and path. The default domain is docker.io, with a default folder
 * if the path has none. */
#define NAME_MAX_BYTES 255
#define HOME           "docker.io/"
#define HOME_FOLDER    "library/"
#define TAG_MAX        128
/* A name of so many digits is an image id. */
#define ID_LEN 64

/* Whether the first part is a server: it has a dot or a port, or is localhost. */
static bool is_domain(const char *image, size_t len)
{
	return memchr(image, '.', len) != NULL || memchr(image, ':', len) != NULL ||
	       (len == strlen("localhost") && memcmp(image, "localhost", len) == 0);
}

/* Labels of letters, digits and inner dashes, separated by dots; then a port. */
static bool domain_fits(const char *at, const char *end)
{
	for (;;) {
		size_t len = strspn(at, WORD "-");

		if (len == 0 || at[0] == '-' || at[len - 1] == '-')
			return false;
		at += len;
		if (at == end)
			return true;
		if (*at == ':')
			return at + 1 < end && at + 1 + strspn(at + 1, DIGITS) == end;
		if (*at++ != '.')
			return false;
	}
}

/* Lower-case letters and digits, separated by ".", "_", "__" or dashes, in folders.
 * Returns the end; NULL: invalid. */
static const char *path_end(const char *at)
{
	for (;;) {
		size_t len = strspn(at, LOWER DIGITS), dashes;

		if (len == 0)
			return NULL;
		at += len;
		dashes = strspn(at, "-");
		if (dashes > 0)
			at += dashes;
		else if (*at == '/' || *at == '.')
			at++;
		else if (*at == '_')
			at += at[1] == '_' ? 2 : 1;
		else
			return at;
	}
}

static bool digest_fits(const char *digest)
{
	static const struct {
		const char *name;
		size_t len;
	} kinds[] = {{"sha256:", 64}, {"sha384:", 96}, {"sha512:", 128}};

	for (size_t i = 0; i < NEAP_ARRAY_LEN(kinds); i++) {
		size_t len = strlen(kinds[i].name);

		if (strncmp(digest, kinds[i].name, len) == 0)
			return strspn(digest + len, "abcdef" DIGITS) == kinds[i].len &&
			       digest[len + kinds[i].len] == '\0';
	}
	return false;
}

static bool name_fits(const char *image, const char **ret_end)
{
	const char *slash = strchr(image, '/'), *path = image, *end;
	size_t extra = 0;

	if (slash != NULL && is_domain(image, (size_t)(slash - image))) {
		if (!domain_fits(image, slash))
			return false;
		path = slash + 1;
	} else {
		extra = strlen(HOME) + (slash == NULL ? strlen(HOME_FOLDER) : 0);
	}
	end = path_end(path);
	if (end == NULL || (size_t)(end - image) + extra > NAME_MAX_BYTES)
		return false;
	*ret_end = end;
	return *end != '\0' || end - image != ID_LEN ||
	       strspn(image, "abcdef" DIGITS) != ID_LEN;
}

bool neap_kube_image_is_latest(const char *image)
{
	const char *at, *tag = NULL;
	size_t len = 0;

	if (!name_fits(image, &at))
		return false;
	if (*at == ':') {
		tag = at + 1;
		len = strspn(tag, WORD "_.-");
		if (len == 0 || len > TAG_MAX || *tag == '.' || *tag == '-')
			return false;
		at = tag + len;
	}
	if (*at == '@' ? !digest_fits(at + 1) : *at != '\0')
		return false;
	if (tag == NULL)
		return *at == '\0';
	return len == strlen("latest") && memcmp(tag, "latest", len) == 0;
}
