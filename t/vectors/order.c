/* SPDX-License-Identifier: Apache-2.0
 *
 * Area executor_order: the plan's own order of leveled writes, on files held in memory.
 * Values stay in the kernel's units, so that a quota keeps its microseconds. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "engine/base/mem.h"
#include "engine/base/quantity.h"
#include "engine/machine/level.h"
#include "t/vectors/vectors.h"

#define FILES_MAX 64

/* One wanted value of one directory. */
struct file {
	const char *dir;
	struct neap_value old_value, new_value;
};

struct run {
	enum neap_key key;
	bool v2;
	const struct file *files;
	json_t *writes; /* list of [dir, text] */
	json_t *down,
		*up; /* texts of the last write of each way, NULL when there was none */
};

static bool is_memory(enum neap_key key)
{
	return neap_key_get(key)->controller == NEAP_CTL_MEMORY;
}

/* A value to write: both ways of saying unlimited are taken. */
static int parse_wanted(const struct run *run, const char *text, struct neap_value *ret,
			struct neap_error *err)
{
	char weight[32];
	int rc;

	ret->form = neap_key_get(run->key)->form;
	ret->number = NEAP_UNLIMITED;
	if (ret->form == NEAP_FORM_CPUSET)
		return neap_cpuset_parse_kernel(&ret->cpus, text, err);
	if (neap_key_get(run->key)->has_unlimited && strcmp(text, "max") == 0)
		return 0;
	rc = neap_int_parse(text, &ret->number, err);
	if (rc < 0 || run->key != NEAP_KEY_CPU_SHARES || !run->v2)
		return rc;
	/* Many shares are one weight: compared as the file would give them back. */
	rc = neap_value_check(run->key, ret, err);
	if (rc < 0)
		return rc;
	(void)neap_value_format(run->key, true, NEAP_WEIGHT_LINEAR, ret, weight,
				sizeof(weight));
	return neap_value_parse(run->key, true, weight, ret, err);
}

static int parse_present(const struct run *run, const char *text, struct neap_value *ret,
			 struct neap_error *err)
{
	if (run->key == NEAP_KEY_CPU_MAX_MILLI && run->v2) {
		ret->form = NEAP_FORM_NUMBER;
		return neap_cpu_max_parse(text, &ret->number, err);
	}
	if (is_memory(run->key) || run->key == NEAP_KEY_CPU_SHARES)
		return neap_value_parse(run->key, run->v2, text, ret, err);
	return parse_wanted(run, text, ret, err);
}

static json_t *text_of(const struct run *run, const struct neap_value *value)
{
	neap_auto_free char *text = neap_alloc(NEAP_CPUSET_TEXT);

	if (text == NULL)
		return NULL;
	if (run->key != NEAP_KEY_CPU_MAX_MILLI)
		(void)neap_value_format(run->key, run->v2, NEAP_WEIGHT_LINEAR, value,
					text, NEAP_CPUSET_TEXT);
	else if (run->v2 && value->number == NEAP_UNLIMITED)
		(void)neap_strcopy(text, NEAP_CPUSET_TEXT, "max");
	else
		(void)snprintf(text, NEAP_CPUSET_TEXT, "%" PRId64, value->number);
	return json_string(text);
}

static int note_write(void *arg, size_t item, bool is_exact,
		      const struct neap_value *before, const struct neap_value *value,
		      struct neap_error *err)
{
	struct run *run = arg;
	json_t *text = text_of(run, value);
	/* Shrinking belongs to the way up; a key without levels is written on the way
	 * down. */
	struct neap_value larger;
	bool is_down = !is_exact || !neap_key_get(run->key)->is_leveled ||
		       neap_value_enlarge(run->key, before, value, &larger);

	if (text == NULL)
		return neap_error_nomem(err);
	if (json_array_append_new(run->writes,
				  json_pack("[s, O]", run->files[item].dir, text)) < 0) {
		json_decref(text);
		return neap_error_nomem(err);
	}
	json_decref(is_down ? run->down : run->up);
	if (is_down)
		run->down = text;
	else
		run->up = text;
	return 0;
}

static void run_done(struct run *run)
{
	json_decref(run->writes);
	json_decref(run->down);
	json_decref(run->up);
}

/* The key with this v1 or v2 file, NEAP_KEY_COUNT if none. */
static enum neap_key key_of_file(const char *file)
{
	int key = 0;

	while (key < NEAP_KEY_COUNT &&
	       strcmp(neap_key_get((enum neap_key)key)->v1_file, file) != 0 &&
	       strcmp(neap_key_get((enum neap_key)key)->v2_file, file) != 0)
		key++;
	return (enum neap_key)key;
}

static int run_init(struct run *run, const json_t *given, struct neap_error *err)
{
	const char *file = vector_text(given, "file");

	memset(run, 0, sizeof(*run));
	run->key = file == NULL ? NEAP_KEY_COUNT : key_of_file(file);
	if (run->key == NEAP_KEY_COUNT)
		return vector_bad(err, "file '%.60s' has no key",
				  file == NULL ? "" : file);
	run->v2 = json_is_true(json_object_get(given, "v2"));
	run->writes = json_array();
	return run->writes == NULL ? neap_error_nomem(err) : 0;
}

static int two_pass(struct vector_context *context, json_t *given, json_t **ret,
		    struct neap_error *err)
{
	const char *old_text = vector_text(given, "old"),
		   *new_text = vector_text(given, "new");
	struct file file = {.dir = ""};
	struct neap_level_item item = {0};
	struct run run;
	json_t *down;
	int rc = run_init(&run, given, err);

	(void)context;
	if (rc == 0 && (old_text == NULL || new_text == NULL))
		rc = vector_bad(err, "old or new is no text");
	if (rc == 0)
		rc = parse_present(&run, old_text, &file.old_value, err);
	if (rc == 0)
		rc = parse_wanted(&run, new_text, &file.new_value, err);
	if (rc == 0) {
		run.files = &file;
		item.key = run.key;
		item.old_value = &file.old_value;
		item.new_value = &file.new_value;
		rc = neap_level_order(&item, 1, note_write, &run, err);
	}
	if (rc == 0) {
		/* What no way writes stays as it is. */
		down = run.down != NULL ? json_incref(run.down) : json_string(old_text);
		rc = vector_answer_new(json_pack("{s:O, s:O}", "afterDown", down,
						 "afterUp",
						 run.up != NULL ? run.up : down),
				       ret, err);
		json_decref(down);
	}
	run_done(&run);
	return rc;
}

/* One directory that is there; *ret_is_there false when current does not know it. */
static int take_file(const struct run *run, const json_t *given, const json_t *pair,
		     struct file *file, bool *ret_is_there, struct neap_error *err)
{
	const char *dir = json_string_value(json_array_get(pair, 0));
	const char *text = json_string_value(json_array_get(pair, 1)), *present;
	int rc;

	if (dir == NULL || text == NULL || json_array_size(pair) != 2)
		return vector_bad(err, "levels holds no [directory, text]");
	present = vector_text(json_object_get(given, "current"), dir);
	*ret_is_there = present != NULL;
	if (present == NULL)
		return 0;
	file->dir = dir;
	rc = parse_present(run, present, &file->old_value, err);
	return rc < 0 ? rc : parse_wanted(run, text, &file->new_value, err);
}

static int take_levels(struct run *run, const json_t *given, struct file *files,
		       struct neap_level_item *items, size_t *ret_count,
		       struct neap_error *err)
{
	const json_t *levels = json_object_get(given, "levels");
	size_t count = 0;

	if (!json_is_array(levels) || !json_is_object(json_object_get(given, "current")))
		return vector_bad(err, "levels or current has another form");
	for (size_t depth = 0; depth < json_array_size(levels); depth++) {
		const json_t *level = json_array_get(levels, depth);

		for (size_t i = 0; i < json_array_size(level); i++) {
			bool is_there = false;
			int rc;

			if (count == FILES_MAX)
				return vector_bad(err, "more than %d files", FILES_MAX);
			rc = take_file(run, given, json_array_get(level, i),
				       &files[count], &is_there, err);
			if (rc < 0)
				return rc;
			if (!is_there)
				continue;
			items[count] = (struct neap_level_item){
				.depth = (uint32_t)depth,
				.group = (uint32_t)count,
				.key = run->key,
				.old_value = &files[count].old_value,
				.new_value = &files[count].new_value,
			};
			count++;
		}
	}
	*ret_count = count;
	return 0;
}

static int leveled_writes(struct vector_context *context, json_t *given, json_t **ret,
			  struct neap_error *err)
{
	neap_auto_free struct file *files = neap_alloc_array(FILES_MAX, sizeof(*files));
	struct neap_level_item items[FILES_MAX];
	size_t count = 0;
	struct run run;
	int rc = run_init(&run, given, err);

	(void)context;
	if (files == NULL) {
		run_done(&run);
		return neap_error_nomem(err);
	}
	if (rc == 0)
		rc = take_levels(&run, given, files, items, &count, err);
	if (rc == 0) {
		run.files = files;
		rc = neap_level_order(items, count, note_write, &run, err);
	}
	if (rc == 0)
		rc = vector_answer_new(json_pack("{s:O}", "writes", run.writes), ret,
				       err);
	run_done(&run);
	return rc;
}

static const char *const two_pass_keys[] = {"file", "v2", "old", "new", NULL};
static const char *const leveled_keys[] = {"file",      "v2",     "current",
					   "current.*", "levels", NULL};

const struct vector_row vector_order_rows[] = {
	{"executor_order", "two_pass", two_pass_keys, two_pass},
	{"executor_order", "leveled_writes", leveled_keys, leveled_writes},
	{0},
};
