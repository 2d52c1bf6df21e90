/* SPDX-License-Identifier: Apache-2.0
 *
 * Where recorded rounds are read from. */
#include "lua/deschedule/round_tape.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/file.h"
#include "engine/base/mem.h"
#include "engine/base/quantity.h"
#include "engine/json/json.h"

struct neap_round_tape {
	char *dir;          /* NULL: they are in list */
	const json_t *list; /* borrowed */
	int64_t *numbers;   /* of the files */
	size_t count, size;
	bool is_listed;
};

int64_t neap_round_tape_number(const char *name)
{
	static const char end[] = ".json";
	size_t len = strspn(name, "0123456789");
	char digits[20];
	int64_t number;

	if (len == 0 || len >= sizeof(digits) || strcmp(name + len, end) != 0)
		return -1;
	memcpy(digits, name, len);
	digits[len] = '\0';
	return neap_int_parse(digits, &number, NULL) < 0 ? -1 : number;
}

static int by_number(const void *a, const void *b)
{
	const int64_t *one = a, *other = b;

	return (*one > *other) - (*one < *other);
}

/* Without memory some are left out. */
static void list_files(struct neap_round_tape *rounds)
{
	DIR *dir = opendir(rounds->dir);
	const struct dirent *entry;

	rounds->is_listed = true;
	if (!dir)
		return;
	while ((entry = readdir(dir)) != NULL) {
		int64_t number = neap_round_tape_number(entry->d_name);

		if (number >= 0 && neap_grow(&rounds->numbers, rounds->count,
					     &rounds->size, sizeof(*rounds->numbers)))
			rounds->numbers[rounds->count++] = number;
	}
	(void)closedir(dir);
	if (rounds->count)
		qsort(rounds->numbers, rounds->count, sizeof(*rounds->numbers),
		      by_number);
}

struct neap_round_tape *neap_round_tape_new(const char *dir)
{
	struct neap_round_tape *rounds = neap_alloc(sizeof(*rounds));

	if (rounds)
		rounds->dir = neap_strdup(dir);
	if (rounds && rounds->dir)
		return rounds;
	neap_round_tape_free(rounds);
	return NULL;
}

struct neap_round_tape *neap_round_tape_of(const json_t *list)
{
	struct neap_round_tape *rounds = neap_alloc(sizeof(*rounds));

	if (rounds) {
		rounds->list = list;
		rounds->count = json_array_size(list);
	}
	return rounds;
}

void neap_round_tape_free(struct neap_round_tape *rounds)
{
	if (!rounds)
		return;
	free(rounds->dir);
	free(rounds->numbers);
	free(rounds);
}

size_t neap_round_tape_count(struct neap_round_tape *rounds)
{
	if (rounds->dir && !rounds->is_listed)
		list_files(rounds);
	return rounds->count;
}

static int load(const struct neap_round_tape *rounds, size_t index, json_t **ret,
		struct neap_error *err)
{
	neap_auto_buf struct neap_buf text = {0};
	char path[1024];
	json_error_t where;
	int rc;

	(void)snprintf(path, sizeof(path), "%s/%012lld.json", rounds->dir,
		       (long long)rounds->numbers[index]);
	neap_buf_init(&text, NEAP_ROUND_BYTES);
	rc = neap_file_load(path, &text, err);
	if (rc < 0)
		return rc;
	rc = neap_json_parse(text.data ? text.data : "", text.len, 0, ret, &where);
	if (rc == -NEAP_EINVAL)
		return neap_error_set(err, NEAP_EINVAL, "%s: line %d: %s", path,
				      where.line, where.text);
	return rc < 0 ? neap_error_nomem(err) : 0;
}

int neap_round_tape_get(const struct neap_round_tape *rounds, size_t index, json_t **ret,
			struct neap_error *err)
{
	json_t *round = NULL;
	int rc = 0;

	if (rounds->dir)
		rc = load(rounds, index, &round, err);
	else
		round = json_incref(json_array_get(rounds->list, index));
	if (rc == 0 && (json_integer_value(json_object_get(round, "version")) != 1 ||
			!json_is_object(json_object_get(round, "cluster"))))
		rc = neap_error_set(err, NEAP_EINVAL,
				    "this is no recorded round of version 1");
	if (rc < 0)
		json_decref(round);
	else
		*ret = round;
	return rc;
}
