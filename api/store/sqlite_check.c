/* SPDX-License-Identifier: Apache-2.0 */
#include "api/store/sqlite.h"
#include "api/store/sqlite_file.h"

static int count_one(void *arg, int64_t resource, const char *name, int64_t id,
		     struct neap_object *object, struct neap_error *err)
{
	size_t *count = arg;

	(void)resource;
	(void)name;
	(void)id;
	(void)err;
	*count += object != NULL;
	neap_object_unref(object);
	return 0;
}

int neap_store_sqlite_check(const char *file, size_t *ret_objects, struct neap_error *err)
{
	struct neap_sqlite_file *opened = NULL;
	int64_t version;
	size_t count = 0;
	int r = neap_sqlite_file_open(file, &opened, &version, err);

	if (r == 0)
		r = neap_sqlite_file_check(opened, err);
	if (r == 0)
		r = neap_sqlite_file_load(opened, count_one, &count, err);
	neap_sqlite_file_close(opened);
	if (r == 0)
		*ret_objects = count;
	return r;
}
