/* SPDX-License-Identifier: Apache-2.0
 *
 * The folder of an uploaded policy on disk with damaged content: history, a change that
 * was cut off, parameters, the link to the active version, stray files. It can be listed
 * and changed, and after a change says what the change was. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "api/policy/history.h"
#include "t/fuzz/lib/fuzz.h"

#define TEXT "return 1\n"

static const struct neap_policy_id id = {"qos", "x"};
static char dir[128], policy[160], version[NEAP_VERSION_SIZE];

static void folders_make(void)
{
	char kind[160];

	snprintf(dir, sizeof(dir), "%s/policies", fuzz_folder());
	snprintf(kind, sizeof(kind), "%s/qos", dir);
	snprintf(policy, sizeof(policy), "%s/qos/x", dir);
	FUZZ_CHECK(mkdir(dir, 0755) == 0 && mkdir(kind, 0755) == 0 &&
		   mkdir(policy, 0755) == 0);
	neap_version_of(TEXT, sizeof(TEXT) - 1, version);
}

static void remove_all(void)
{
	static const char *const names[] = {NEAP_FILE_HISTORY, NEAP_FILE_PENDING,
					    NEAP_FILE_PARAMS, "active"};
	char path[256];

	for (size_t i = 0; i < NEAP_ARRAY_LEN(names); i++) {
		snprintf(path, sizeof(path), "%s/%s", policy, names[i]);
		(void)unlink(path);
	}
}

static void plant(struct fuzz_in *in)
{
	char link[256], name[64];
	const char *text;
	size_t len;

	snprintf(name, sizeof(name), "%s.lua", version);
	fuzz_file_put(policy, name, TEXT, sizeof(TEXT) - 1);
	text = fuzz_text_until(in, '\1', &len);
	snprintf(link, sizeof(link), "%s/active", policy);
	if (*text == '=')
		(void)!symlink(name, link);
	else if (*text)
		(void)!symlink(text, link);
	text = fuzz_text_until(in, '\1', &len);
	if (len)
		fuzz_file_put(policy, NEAP_FILE_PARAMS, text, len);
	text = fuzz_text_until(in, '\1', &len);
	if (len)
		fuzz_file_put(policy, NEAP_FILE_PENDING, text, len);
	text = fuzz_rest(in, &len);
	fuzz_file_put(policy, NEAP_FILE_HISTORY, text, len);
}

static void look(void)
{
	char before[NEAP_VERSION_SIZE], of[NEAP_VERSION_SIZE];
	json_t *list = NULL, *params = NULL;
	struct neap_error err = {0};
	char *text = NULL;
	size_t len;

	if (neap_versions_list(dir, &id, &list, &err) == 0) {
		const char *active = json_string_value(json_object_get(list, "active"));

		FUZZ_CHECK(!active || neap_version_is(active));
		FUZZ_CHECK(json_is_array(json_object_get(list, "versions")));
		FUZZ_CHECK(json_array_size(json_object_get(list, "history")) <=
			   NEAP_HISTORY_KEPT);
	}
	if (neap_versions_load_params(dir, &id, &params, &err) == 0)
		FUZZ_CHECK(json_is_object(params));
	if (neap_versions_find_before(dir, &id, "", before, &err) == 0)
		FUZZ_CHECK(neap_version_is(before));
	if (neap_versions_read(dir, &id, NULL, &text, &len, of, &err) == 0)
		FUZZ_CHECK(strcmp(of, version) == 0 && strcmp(text, TEXT) == 0);
	free(text);
	json_decref(list);
	json_decref(params);
}

static void change(unsigned what)
{
	struct neap_history_line line = {
		.unix_usec = 5, .verb = "put", .by = "uid 0", .why = "w"};
	struct neap_error err = {0};
	json_t *list = NULL, *first;
	int rc;

	snprintf(line.version, sizeof(line.version), "%s", what % 3 == 1 ? "" : version);
	if (what % 3 == 2)
		rc = neap_versions_note(dir, &id, &line, &err);
	else
		rc = neap_versions_put(dir, &id, line.version, what % 3 ? NULL : TEXT,
				       what % 3 ? 0 : sizeof(TEXT) - 1, &line, &err);
	if (rc < 0) {
		FUZZ_CHECK(*err.msg);
		return;
	}
	/* A link that is not ours keeps being refused; a version that was put replaces
	 * it. */
	rc = neap_versions_list(dir, &id, &list, &err);
	FUZZ_CHECK(rc == 0 || what % 3 == 2);
	if (rc < 0)
		return;
	first = json_array_get(json_object_get(list, "history"), 0);
	FUZZ_CHECK(json_integer_value(json_object_get(first, "unix_usec")) == 5);
	if (what % 3 == 0)
		FUZZ_CHECK(strcmp(json_string_value(json_object_get(list, "active")),
				  version) == 0);
	if (what % 3 == 1)
		FUZZ_CHECK(json_is_null(json_object_get(list, "active")));
	json_decref(list);
}

/* A byte: which change; then, with \1 between, the target of the link ("=": the version
 * that is there), parameters, the pending history, the history. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_in in;
	unsigned what;

	if (!*dir)
		folders_make();
	remove_all();
	fuzz_in_init(&in, data, size);
	what = fuzz_byte(&in);
	plant(&in);
	look();
	change(what);
	look();
	fuzz_in_done(&in);
	return 0;
}
