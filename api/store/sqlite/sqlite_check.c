/* SPDX-License-Identifier: Apache-2.0 */
#include "api/store/sqlite/sqlite.h"
#include "api/store/sqlite/sqlite_file.h"

static int count_one(void *arg, int64_t resource, const char *name, int64_t id,
		     struct neap_object *object, struct neap_error *err)
{
	struct neap_store_facts *facts = arg;

	(void)resource;
	(void)name;
	(void)id;
	(void)err;
	facts->objects += object != NULL;
	facts->resources += object == NULL;
	neap_object_unref(object);
	return 0;
}

int neap_store_sqlite_check(const char *file, struct neap_store_facts *ret,
			    struct neap_error *err)
{
	const struct neap_sqlite_open what = {
		.path = file, .is_used = true, .is_kept = true};
	struct neap_store_facts facts = {0};
	struct neap_sqlite_file *opened = NULL;
	int r = neap_sqlite_file_open(&what, &opened, &facts.version, err);

	if (r == 0)
		r = neap_sqlite_file_load(opened, count_one, &facts, err);
	if (r == 0)
		r = neap_sqlite_file_check(opened, err);
	if (r == 0) {
		facts.format = neap_sqlite_file_format(opened);
		*ret = facts;
	}
	neap_sqlite_file_close(opened);
	return r;
}
