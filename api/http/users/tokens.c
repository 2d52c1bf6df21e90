/* SPDX-License-Identifier: Apache-2.0 */
#include "api/http/users/tokens.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "api/http/users/grants.h"
#include "engine/base/file.h"
#include "engine/base/mem.h"
#include "engine/base/sha256.h"

#define FIELDS_MAX 4

struct row {
	uint8_t digest[NEAP_SHA256_BYTES];
	struct neap_http_user *user;
};

struct neap_tokens {
	int refs;
	size_t count, size;
	struct row *rows;
};

struct neap_tokens *neap_tokens_ref(struct neap_tokens *tokens)
{
	if (tokens)
		tokens->refs++;
	return tokens;
}

void neap_tokens_unref(struct neap_tokens *tokens)
{
	if (!tokens || --tokens->refs > 0)
		return;
	for (size_t i = 0; i < tokens->count; i++)
		free(tokens->rows[i].user);
	free(tokens->rows);
	free(tokens);
}

size_t neap_tokens_count(const struct neap_tokens *tokens)
{
	return tokens ? tokens->count : 0;
}

/* Compares every byte, so that the time says nothing. */
static bool is_same(const uint8_t *a, const uint8_t *b)
{
	unsigned char difference = 0;

	for (size_t i = 0; i < NEAP_SHA256_BYTES; i++)
		difference |= a[i] ^ b[i];
	return !difference;
}

const struct neap_http_user *neap_tokens_find(const struct neap_tokens *tokens,
					      const char *token, size_t len)
{
	const struct neap_http_user *found = NULL;
	uint8_t digest[NEAP_SHA256_BYTES];

	if (!tokens || !tokens->count || len > NEAP_TOKEN_MAX)
		return NULL;
	neap_sha256(token, len, digest);
	for (size_t i = 0; i < tokens->count; i++)
		if (is_same(tokens->rows[i].digest, digest))
			found = tokens->rows[i].user;
	return found;
}

/* --- the file --- */

struct place {
	const char *file;
	size_t line;
	struct neap_error *err;
};

static int refuse(const struct place *place, const char *what)
{
	return neap_error_set(place->err, NEAP_EINVAL, "%s:%zu: %s", place->file,
			      place->line, what);
}

/* Cuts one field of a line out in place. Quotes are removed, doubled ones become one.
 * *at: behind its comma, NULL at the end of the line. */
static int take_field(const struct place *place, char **at, char **ret)
{
	char *from = *at, *to = from;
	bool is_closed = false;

	*ret = from;
	if (*from != '"') {
		size_t len = strcspn(from, ",\"");

		if (from[len] == '"')
			return refuse(place, "a quote amid a field");
		*at = from[len] ? from + len + 1 : NULL;
		from[len] = '\0';
		return 0;
	}
	for (from++; *from && !is_closed; from++) {
		if (*from == '"' && from[1] != '"')
			is_closed = true;
		else if (*from == '"')
			*to++ = *from++;
		else
			*to++ = *from;
	}
	if (!is_closed || (*from && *from != ','))
		return refuse(place, "a quoted field must end with a quote and a comma "
				     "or the end of the line");
	*at = *from ? from + 1 : NULL;
	*to = '\0';
	return 0;
}

/* "a,b"; empty groups are ignored. Cuts text. */
static int take_groups(const struct place *place, char *text, const char **groups)
{
	int count = 0;
	char *group;

	for (group = strsep(&text, ","); group; group = strsep(&text, ",")) {
		group += strspn(group, " \t");
		group[strcspn(group, " \t")] = '\0';
		if (!*group)
			continue;
		if (count == NEAP_USER_GROUPS_MAX)
			return refuse(place, "more than 32 groups");
		if (strlen(group) >= NEAP_GRANT_NAME_SIZE)
			return refuse(place, "a group's name has more than 259 bytes");
		groups[count++] = group;
	}
	return count;
}

/* A token that is not one word of a header line could never be sent. */
static bool is_token(const char *text)
{
	for (; *text; text++)
		if (*text <= ' ' || *text > '~')
			return false;
	return true;
}

static int check_fields(const struct place *place, char *const *fields, int count)
{
	size_t len;

	if (count < 3)
		return refuse(place, "a line has 3 or 4 fields: TOKEN,USER,UID or "
				     "TOKEN,USER,UID,\"GROUP1,GROUP2\"");
	len = strlen(fields[0]);
	if (len < NEAP_TOKEN_MIN)
		return refuse(place, "the token has less than 16 bytes");
	if (len > NEAP_TOKEN_MAX)
		return refuse(place, "the token has more than 200 bytes");
	if (!is_token(fields[0]))
		return refuse(place, "the token has a blank or what is no ASCII in it");
	if (!*fields[1] || strlen(fields[1]) >= NEAP_GRANT_NAME_SIZE)
		return refuse(place, "the user's name must have 1 to 259 bytes");
	return 0;
}

static int grow(struct neap_tokens *tokens, const struct place *place)
{
	if (tokens->count == NEAP_TOKENS_MAX)
		return refuse(place, "more than 1000 tokens");
	return neap_grow(&tokens->rows, tokens->count, &tokens->size,
			 sizeof(*tokens->rows))
		       ? 0
		       : neap_error_nomem(place->err);
}

static int add_line(struct neap_tokens *tokens, char *line, const struct place *place)
{
	const char *groups[NEAP_USER_GROUPS_MAX];
	char *fields[FIELDS_MAX] = {NULL};
	int count = 0, group_count = 0;
	struct row *row;

	for (char *at = line; at;) {
		if (count == FIELDS_MAX)
			return refuse(place, "more than 4 fields: groups stand in "
					     "quotes, as in \"GROUP1,GROUP2\"");
		if (take_field(place, &at, &fields[count++]) < 0)
			return -NEAP_EINVAL;
	}
	if (check_fields(place, fields, count) < 0)
		return -NEAP_EINVAL;
	if (count == FIELDS_MAX)
		group_count = take_groups(place, fields[3], groups);
	if (group_count < 0 || grow(tokens, place) < 0)
		return -(int)place->err->code;
	row = &tokens->rows[tokens->count];
	neap_sha256(fields[0], strlen(fields[0]), row->digest);
	for (size_t i = 0; i < tokens->count; i++)
		if (is_same(tokens->rows[i].digest, row->digest))
			return refuse(place, "this token is there already");
	row->user = neap_http_user_new(fields[1], groups, group_count);
	if (!row->user)
		return neap_error_nomem(place->err);
	tokens->count++;
	return 0;
}

static int read_lines(struct neap_tokens *tokens, char *text, struct place *place)
{
	for (char *line = strsep(&text, "\n"); line; line = strsep(&text, "\n")) {
		size_t len = strlen(line);

		place->line++;
		if (len && line[len - 1] == '\r')
			line[len - 1] = '\0';
		if (*line && add_line(tokens, line, place) < 0)
			return -(int)place->err->code;
	}
	return 0;
}

int neap_tokens_parse(char *text, size_t len, const char *name, struct neap_tokens **ret,
		      struct neap_error *err)
{
	struct neap_error unheard = {0};
	struct place place = {.file = name, .err = err ? err : &unheard};
	struct neap_tokens *tokens;

	if (memchr(text, '\0', len))
		return neap_error_set(err, NEAP_EINVAL, "%s: a NUL byte in it", name);
	tokens = neap_alloc(sizeof(*tokens));
	if (!tokens)
		return neap_error_nomem(err);
	tokens->refs = 1;
	if (read_lines(tokens, text, &place) < 0) {
		neap_tokens_unref(tokens);
		return -(int)place.err->code;
	}
	*ret = tokens;
	return 0;
}

static int check_file(const char *file, const struct stat *st, uid_t own_uid,
		      struct neap_error *err)
{
	unsigned mode = st->st_mode & 07777;

	if (!S_ISREG(st->st_mode))
		return neap_error_set(err, NEAP_EINVAL,
				      "--token-file %s: is no regular file", file);
	if (mode & 027)
		return neap_error_set(err, NEAP_EFORBIDDEN,
				      "--token-file %s: others can reach it (mode %04o): "
				      "chmod 600 it, or 640 with a group for neapd",
				      file, mode);
	if (st->st_uid != 0 && st->st_uid != own_uid)
		return neap_error_set(err, NEAP_EFORBIDDEN,
				      "--token-file %s: must belong to root or uid %u, "
				      "not to uid %u",
				      file, (unsigned)own_uid, (unsigned)st->st_uid);
	if (st->st_size > NEAP_TOKEN_FILE_MAX)
		return neap_error_set(err, NEAP_ETOOLARGE,
				      "--token-file %s: over %d bytes", file,
				      NEAP_TOKEN_FILE_MAX);
	return 0;
}

int neap_tokens_load(const char *file, uid_t own_uid, struct neap_tokens **ret,
		     struct neap_error *err)
{
	neap_auto_fd int fd = open(file, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat st;
	ssize_t len;
	char *text;
	int r;

	if (fd < 0 || fstat(fd, &st) < 0)
		return neap_error_sys(err, "--token-file %s", file);
	if (check_file(file, &st, own_uid, err) < 0)
		return -(int)err->code;
	text = neap_alloc((size_t)st.st_size + 1);
	if (!text)
		return neap_error_nomem(err);
	len = neap_fd_read(fd, text, (size_t)st.st_size);
	r = len < 0 ? neap_error_sys(err, "--token-file %s", file)
		    : neap_tokens_parse(text, (size_t)len, file, ret, err);
	explicit_bzero(text, (size_t)st.st_size + 1);
	free(text);
	return r;
}

/* --- bearers --- */

static const char *const admin_groups[] = {"system:masters"};
static const struct neap_http_user admin = {"neap:admin", admin_groups, 1};

/* Returns the text after "Bearer "; NULL when value does not start so. */
static const char *neap_bearer_text(const char *value)
{
	return strncasecmp(value, "Bearer ", 7) == 0 ? value + 7 : NULL;
}

bool neap_bearer_is_right(const char *token, const char *value)
{
	size_t want_len, given_len, i;
	unsigned char difference;

	value = neap_bearer_text(value);
	if (!token || !*token || !value)
		return false;
	want_len = strlen(token);
	given_len = strlen(value);
	difference = want_len != given_len;
	for (i = 0; i < given_len; i++)
		difference |= (unsigned char)(value[i] ^ token[i % want_len]);
	return !difference;
}

bool neap_bearers_find(const struct neap_bearers *bearers, const char *value,
		       enum neap_http_role *ret_role,
		       const struct neap_http_user **ret_user)
{
	const char *text = neap_bearer_text(value);
	const struct neap_http_user *user;

	if (!text)
		return false;
	if (neap_bearer_is_right(bearers->token, value)) {
		*ret_role = NEAP_HTTP_ADMIN;
		*ret_user = &admin;
		return true;
	}
	user = neap_tokens_find(bearers->tokens, text, strlen(text));
	if (!user)
		return false;
	*ret_role = neap_grants_find_user(bearers->grants, user);
	*ret_user = user;
	return true;
}
