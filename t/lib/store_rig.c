/* SPDX-License-Identifier: Apache-2.0 */
#include "t/lib/store_rig.h"
#include "api/store/write.h"

#include <dirent.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "engine/base/mem.h"

static void say(void *arg, bool is_problem, const char *text)
{
	struct store_rig *rig = arg;

	(void)neap_strcopy(rig->said, sizeof(rig->said), text);
	rig->problems += is_problem;
}

static void init_below(struct store_rig *rig, const char *folder)
{
	memset(rig, 0, sizeof(*rig));
	(void)snprintf(rig->dir, sizeof(rig->dir), "%s/neap-store.XXXXXX", folder);
	assert_non_null(mkdtemp(rig->dir));
	(void)snprintf(rig->file, sizeof(rig->file), "%s/neap.db", rig->dir);
	rig->config = (struct neap_store_sqlite_config){
		.file = rig->file,
		.history_usec = INT64_C(3600) * 1000000,
		.history_bytes = (size_t)64 * 1024 * 1024,
		.say = say,
		.arg = rig,
	};
}

void store_rig_init(struct store_rig *rig)
{
	init_below(rig, "/tmp");
}

void store_rig_init_quick(struct store_rig *rig)
{
	init_below(rig, access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
}

void store_rig_open(struct store_rig *rig)
{
	struct neap_error err = {0};

	if (neap_store_sqlite_open(&rig->config, &rig->store, &err) < 0)
		fail_msg("%s", err.msg);
}

void store_rig_close(struct store_rig *rig)
{
	neap_store_free(rig->store);
	rig->store = NULL;
}

void store_rig_empty(const struct store_rig *rig)
{
	DIR *dir = opendir(rig->dir);
	const struct dirent *entry;

	assert_non_null(dir);
	while ((entry = readdir(dir)) != NULL)
		(void)unlinkat(dirfd(dir), entry->d_name, 0);
	(void)closedir(dir);
}

void store_rig_done(struct store_rig *rig)
{
	store_rig_close(rig);
	store_rig_empty(rig);
	(void)rmdir(rig->dir);
}

int store_rig_setup(void **state)
{
	struct store_rig *rig = neap_alloc(sizeof(*rig));

	assert_non_null(rig);
	store_rig_init(rig);
	store_rig_open(rig);
	*state = rig;
	return 0;
}

int store_rig_teardown(void **state)
{
	store_rig_done(*state);
	free(*state);
	return 0;
}

void store_rig_answered(void *arg, struct neap_object *object,
			const struct neap_error *err)
{
	struct store_answer *answer = arg;

	assert_false(answer->is_done);
	assert_true((object == NULL) == (err != NULL));
	answer->is_done = true;
	answer->version = object != NULL ? object->version : 0;
	answer->code = err != NULL ? err->code : NEAP_OK;
}

int store_rig_write(struct store_rig *rig, enum neap_store_verb verb, const char *ns,
		    const char *name, int n, int64_t version, struct store_answer *answer,
		    struct neap_error *err)
{
	struct neap_store_write write = {
		.verb = verb,
		.resource = "pods",
		.ns = ns,
		.name = name,
		.version = version,
		.done = answer != NULL ? store_rig_answered : NULL,
		.arg = answer,
	};

	if (verb != NEAP_STORE_DELETE)
		write.object =
			json_pack("{s:s,s:{s:s,s:s},s:{s:i}}", "kind", "Pod", "metadata",
				  "name", name, "namespace", ns, "spec", "n", n);
	return neap_store_write_take(rig->store, &write, err);
}

void store_rig_wait(struct store_rig *rig, const struct store_answer *answer)
{
	while (!answer->is_done) {
		struct pollfd ready = {.fd = neap_store_fd(rig->store), .events = POLLIN};

		assert_int_equal(poll(&ready, 1, 20000), 1);
		neap_store_hear(rig->store);
	}
}

int64_t store_rig_put(struct store_rig *rig, enum neap_store_verb verb, const char *ns,
		      const char *name, int n)
{
	struct store_answer answer = {0};
	struct neap_error err = {0};

	if (store_rig_write(rig, verb, ns, name, n, 0, &answer, &err) < 0)
		fail_msg("%s: %s", name, err.msg);
	store_rig_wait(rig, &answer);
	assert_int_equal(answer.code, NEAP_OK);
	return answer.version;
}

int store_rig_n(const struct neap_object *object)
{
	json_t *tree = neap_object_tree(object);
	int n;

	n = (int)json_integer_value(json_object_get(json_object_get(tree, "spec"), "n"));
	json_decref(tree);
	return n;
}
